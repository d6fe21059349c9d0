/* SPDX-License-Identifier: MIT */
/* cmd_reproduce.c - two job.json compared, also such as nobody should write */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "client/cmd/reproduction.h"
#include "common/data/json.h"

/* "metric accuracy 1 2; file a - 0f" */
static const char *compared(struct arena *a, const char *before, const char *now)
{
    struct reproduction r = { 0 };
    struct value x, y;
    struct buf out = { 0 };

    assert_int_equal(json_read(before, strlen(before), a, &x, NULL), 0);
    assert_int_equal(json_read(now, strlen(now), a, &y, NULL), 0);
    reproduction_compare(&r, &x, &y, a);
    assert_int_equal(r.same, r.differences.n == 0);
    buf_printf(&out, "%d %d", (int)r.same_metrics, (int)r.same_files);
    for (size_t i = 0; i < r.differences.n; i++) {
        const struct difference *d = (const struct difference *)r.differences.items + i;

        buf_printf(&out, "; %s %s %s %s", d->of, d->name, d->before != NULL ? d->before : "-",
                   d->now != NULL ? d->now : "-");
    }
    return buf_to_arena(&out, a);
}

static void test_differences_are_named(void **state)
{
    static const struct {
        const char *before, *now, *said;
    } cases[] = {
        { "{}", "{}", "0 0" },
        { "{\"exit_code\":0,\"cause\":null}", "{\"exit_code\":1,\"cause\":\"exit\"}",
          "0 0; end exit_code 0 1; end cause - exit" },
        { "{\"metrics\":{\"a\":1,\"b\":2}}", "{\"metrics\":{\"b\":2.5,\"c\":3}}",
          "0 0; metric a 1 -; metric b 2 2.5; metric c - 3" },
        { "{\"metrics\":{\"a\":0.1}}", "{\"metrics\":{\"a\":0.1}}", "1 0" },
        { "{\"files\":[{\"path\":\"a\",\"sha256\":\"1\"},{\"path\":\"b\",\"sha256\":\"2\"}]}",
          "{\"files\":[{\"path\":\"b\",\"sha256\":\"3\"},{\"path\":\"c\",\"sha256\":\"4\"}]}",
          "0 0; file a 1 -; file b 2 3; file c - 4" },
        { "{\"files\":[{\"path\":\"a\",\"sha256\":\"1\"}]}",
          "{\"files\":[{\"path\":\"a\",\"sha256\":\"1\"}]}", "0 1" },
        /* Members of other types, and files without a path, end the comparison all the same. */
        { "{\"metrics\":[1],\"files\":{\"a\":1}}", "{\"metrics\":7,\"files\":null}", "0 0" },
        { "{\"files\":[{},7,{\"path\":null}]}", "{\"files\":[{\"sha256\":\"1\"}]}",
          "0 0; file  - 1" },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(compared(a, cases[i].before, cases[i].now), cases[i].said);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_differences_are_named) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
