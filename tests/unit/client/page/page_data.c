/* SPDX-License-Identifier: MIT */
/* page_data.c - tests of the data in the page */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "client/page/page.h"
#include "client/page/page_files.h"
#include "common/data/json.h"

struct sweep {
    struct aggregate aggregate;
    struct sweep_info info;
    struct gathered page;
    struct buf out;
};

static void add(struct sweep *s, const char *name, const char *params, double value)
{
    struct metric m = {
        .name = "score", .value = value, .step = SCHEMA_NONE, .min = value, .max = value, .n = 1
    };
    struct job_result r = { .job = "7.1",
                            .param_name = name,
                            .state = JOB_DONE,
                            .metrics = { &m, 1 },
                            .reason = "</script>&\033[2J" };

    assert_int_equal(json_read(params, strlen(params), s->page.arena, &r.params, NULL), 0);
    aggregate_add(&s->aggregate, &r);
    gather_job(&s->page, &r);
    s->page.jobs[s->page.n_jobs - 1].config = s->aggregate.n - 1;
}

static void begin(struct sweep *s)
{
    *s = (struct sweep){ .info = { .sweep = 7, .project = "p" } };
    aggregate_init(&s->aggregate);
    s->page = (struct gathered){ .arena = arena_create(),
                                 .aggregate = &s->aggregate,
                                 .sweeps = { &s->info, 1 } };
}

static const char *data_of(struct sweep *s)
{
    aggregate_finish(&s->aggregate);
    page_add_data(&s->out, &s->page);
    return buf_text(&s->out);
}

static void end(struct sweep *s)
{
    struct arena *a = s->page.arena;

    buf_free(&s->out);
    gather_free(&s->page);
    aggregate_free(&s->aggregate);
    arena_destroy(a);
}

static void must_have(const char *data, const char *part)
{
    if (strstr(data, part) == NULL)
        fail_msg("%s\nlacks %s", data, part);
}

static void nothing_in_it_is_html_or_a_control(void **state)
{
    struct sweep s;
    const char *data;

    (void)state;
    begin(&s);
    add(&s, "<a>", "{\"</script>\": \"<!--\", \"x\": \"\\u001b]0;\\u0007\"}", 1);
    add(&s, "<b>", "{\"</script>\": \"]]>\", \"x\": \"&lt;\"}", 2);
    data = data_of(&s);
    assert_null(strpbrk(data, "<>&\033\a"));
    must_have(data, "\"name\":\"\\u003c/script\\u003e\"");
    must_have(data, "\"reasons\":[\"\\u003c/script\\u003e\\u0026\\u001b[2J\"");
    end(&s);
}

static void numbers_stay_what_they_are_written_as(void **state)
{
    struct sweep s;
    const char *data;

    (void)state;
    begin(&s);
    add(&s, "a",
        "{\"f\": 1e-5, \"n\": NaN, \"big\": 9007199254740993, \"b\": true, \"m\": {\"k\": Infinity}, \"z\": null}",
        1e308);
    add(&s, "b", "{\"f\": 0.0, \"n\": 1.0, \"big\": 3, \"b\": false, \"m\": [1], \"z\": \"null\"}",
        (double)NAN);
    data = data_of(&s);
    must_have(data, "\"choices\":[{\"number\":\"1.0\"},{\"number\":\"nan\"}],\"places\":[1,0]");
    must_have(data, "{\"other\":{\"k\":\"inf\"},\"text\":\"{\\\"k\\\":Infinity}\"}");
    must_have(data, "\"choices\":[false,true]");
    must_have(data, "\"choices\":[\"null\",null]");
    must_have(data, "\"mean\":[1e+308,null]");
    /* It is JSON: without NaN and the like. */
    assert_null(strstr(data, "NaN"));
    assert_null(strstr(data, ":nan"));
    must_have(data, "\"name\":\"big\",\"kind\":\"whole\"");
    must_have(data, "\"texts\":[\"9007199254740993\",\"3\"]");
    end(&s);
}

static void what_is_the_same_everywhere_stands_once(void **state)
{
    struct sweep s;

    (void)state;
    begin(&s);
    add(&s, "a", "{\"lr\": 0.1, \"epochs\": 20}", 1);
    add(&s, "b", "{\"lr\": 0.2, \"epochs\": 20, \"only\": 1}", 2);
    must_have(data_of(&s), "\"fixed\":[{\"name\":\"epochs\",\"value\":20}]");
    must_have(
        buf_text(&s.out),
        "{\"name\":\"only\",\"kind\":\"choice\",\"log\":false,\"choices\":[1],\"places\":[null,0]}");
    must_have(buf_text(&s.out), "\"importance\":[\n{\"why\":\"importance takes at least 4 ");
    end(&s);
}

/* Replications of the same steps share them. */
static void curves_name_steps_once(void **state)
{
    static struct curve_point x[] = { { 0, 1 }, { 1, 0.25 } },
                              y[] = { { 0, 2 }, { 1, (double)NAN } };
    struct curve curves[] = { { .job = 0, .points = x, .n = 2 },
                              { .job = 1, .points = y, .n = 2 } };
    struct sweep s;

    (void)state;
    begin(&s);
    add(&s, "a", "{}", 1);
    add(&s, "a", "{}", 2);
    s.page.curves = (struct curves){ .items = curves, .n = 2 };
    must_have(
        data_of(&s),
        "\"curves\":[\n{\"metric\":0,\"jobs\":[{\"job\":0,\"steps\":[0.0,1.0],\"values\":[1,0.25]},"
        "{\"job\":1,\"values\":[2,null]}]}]");
    s.page.curves = (struct curves){ 0 };
    end(&s);
}

static void the_page_is_small_and_its_parts_end_where_they_should(void **state)
{
    struct buf parts = { 0 };

    (void)state;
    page_files_add(&parts, PAGE_BODY);
    page_files_add(&parts, PAGE_STYLE);
    page_files_add(&parts, PAGE_SCRIPT);
    assert_true(parts.n > 10000 && parts.n < 190 * 1000);
    assert_null(strstr(buf_text(&parts), "</script"));
    assert_null(strstr(buf_text(&parts), "</style"));
    assert_null(strstr(buf_text(&parts), "http"));
    assert_int_equal(strlen(buf_text(&parts)), parts.n);
    buf_free(&parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_in_it_is_html_or_a_control),
        cmocka_unit_test(numbers_stay_what_they_are_written_as),
        cmocka_unit_test(what_is_the_same_everywhere_stands_once),
        cmocka_unit_test(curves_name_steps_once),
        cmocka_unit_test(the_page_is_small_and_its_parts_end_where_they_should),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
