/* SPDX-License-Identifier: MIT */
/* jobjson.c - tests of job.json, which lies with every result */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/data/json.h"
#include "tests/unit/worker_publish.h"

static void job_json_says_whose_it_is(void **state)
{
    static const struct {
        const char *key, *text;
    } cases[] = {
        { "token", "\"" HEX_A "\"" },
        { "server_id", "\"server\"" },
        { "job", "\"7.13\"" },
        { "attempt", "1" },
        { "project", "\"demo\"" },
        { "param_name", "\"param_003\"" },
        { "job_name", "\"20261121-101500_num0\"" },
        { "rep", "0" },
        { "seed", "99" },
        { "host", "\"host\"" },
        { "command", "\"train 0.1\"" },
        { "exit_code", "0" },
        { "signal", "null" },
        { "cause", "null" },
        { "reason", "null" },
        { "started_at", "\"1970-01-01T00:00:01Z\"" },
        { "ended_at", "\"1970-01-01T00:01:01Z\"" },
        { "max_rss_bytes", "4096" },
        { "cpu_seconds", "1.5" },
        { "memory_bytes", "null" },
        { "time_ms", "null" },
        { "git", "null" },
        { "metrics", "{\"accuracy\":0.9,\"loss\":0.5}" },
        { "metric_ranges", "{\"accuracy\":{\"min\":0.5,\"max\":0.9,\"n\":2,\"step\":4},"
                           "\"loss\":{\"min\":0.5,\"max\":0.5,\"n\":1,\"step\":0}}" },
    };
    struct site s;
    struct value v;
    const char *text;
    const struct value *files;

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_DONE);
    (void)must_publish(&s, 'a');
    text = site_read(&s, FINAL "/job.json");
    assert_int_equal(json_read(text, strlen(text), s.arena, &v, NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf found = { 0 };

        assert_non_null(value_get(&v, cases[i].key));
        json_add_value(&found, value_get(&v, cases[i].key));
        assert_string_equal(buf_text(&found), cases[i].text);
        buf_free(&found);
    }
    files = value_get(&v, "files");
    assert_int_equal(files->list.n, 3);
    assert_string_equal(value_get(&files->list.items[1], "path")->str.s, "metrics.jsonl");
    assert_int_equal(value_get(&files->list.items[1], "size")->i, strlen(METRICS));
    assert_string_equal(value_get(&files->list.items[2], "path")->str.s, "model");
    assert_int_equal(value_get(&files->list.items[2], "size")->i, 32);
    assert_string_equal(value_get(&files->list.items[2], "sha256")->str.s,
                        "3ba3f5f43b92602683c19aee62a20342b084dd5971ddd33808d81a328879a547");
    site_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_json_says_whose_it_is),
    };

    umask(0); /* as the publisher has it */
    return SITE_EITHER_WAY(tests);
}
