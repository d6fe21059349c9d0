/* SPDX-License-Identifier: MIT */
/* log.c - one event is one line that can be split again */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/log.h"

/* What log_event writes lands here instead of on the terminal. */
struct capture {
    FILE *file;
    int stderr_fd;
    char text[4096];
};

static int capture_begin(void **state)
{
    struct capture *c = calloc(1, sizeof *c);

    *state = c;
    c->file = tmpfile();
    c->stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    return dup2(fileno(c->file), STDERR_FILENO) < 0 ? -1 : 0;
}

static int capture_end(void **state)
{
    struct capture *c = *state;

    log_set_level(LOG_INFO);
    if (dup2(c->stderr_fd, STDERR_FILENO) < 0)
        return -1;
    close(c->stderr_fd);
    fclose(c->file);
    free(c);
    return 0;
}

static const char *captured(struct capture *c)
{
    ssize_t n = pread(fileno(c->file), c->text, sizeof c->text - 1, 0);

    assert_true(n >= 0);
    c->text[n] = '\0';
    return c->text;
}

/* Behind the time, which has a fixed length. */
static const char *captured_event(struct capture *c)
{
    return captured(c) + strlen("2026-11-21T10:15:00.123Z ");
}

static void an_event_is_a_line_of_pairs(void **state)
{
    log_event(LOG_INFO, "submit", "sweep", "%lld", 7LL, "user", "%s", "alice", "jobs", "%d", -24,
              "bytes", "%zu", (size_t)4096, "load", "%g", 0.25, NULL);
    assert_string_equal(captured_event(*state),
                        "info submit sweep=7 user=alice jobs=-24 bytes=4096 load=0.25\n");
}

static void a_line_begins_with_the_time_in_utc(void **state)
{
    struct tm utc = { 0 };
    int ms = -1;
    time_t now = time(NULL);

    setenv("TZ", "JST-9", 1);
    tzset();
    log_event(LOG_WARN, "x", NULL);
    assert_int_equal(sscanf(captured(*state), "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ warn x\n", &utc.tm_year,
                            &utc.tm_mon, &utc.tm_mday, &utc.tm_hour, &utc.tm_min, &utc.tm_sec, &ms),
                     7);
    utc.tm_year -= 1900;
    utc.tm_mon -= 1;
    assert_in_range(timegm(&utc), now, now + 5);
    assert_in_range(ms, 0, 999);
}

static void values_that_would_break_the_line_are_json_strings(void **state)
{
    static const struct {
        const char *value, *written;
    } cases[] = {
        { "plain", "v=plain\n" },    { "a=b", "v=a=b\n" },     { "\xc3\xa4", "v=\xc3\xa4\n" },
        { "", "v=\"\"\n" },          { NULL, "v=\"\"\n" },     { "a b", "v=\"a b\"\n" },
        { "a\nb", "v=\"a\\nb\"\n" }, { "\"", "v=\"\\\"\"\n" }, { "a\tb", "v=\"a\\tb\"\n" },
    };
    const char *line = captured(*state);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        log_event(LOG_INFO, "x", "v", "%s", cases[i].value, NULL);
        captured(*state);
        line = strstr(line, "v=");
        assert_non_null(line);
        assert_string_equal(line, cases[i].written);
        line += strlen(line);
    }
}

static void only_events_of_the_level_and_above_are_written(void **state)
{
    log_event(LOG_DEBUG, "a", NULL);
    assert_string_equal(captured(*state), "");
    log_set_level(LOG_ERROR);
    log_event(LOG_WARN, "b", NULL);
    assert_string_equal(captured(*state), "");
    log_event(LOG_ERROR, "c", NULL);
    assert_string_equal(captured_event(*state), "error c\n");
}

static void a_format_nobody_knows_ends_the_line(void **state)
{
    log_event(LOG_INFO, "x", "a", "%d", 1, "b", "%p", (void *)0, "c", "%d", 3, NULL);
    assert_string_equal(captured_event(*state), "info x a=1 b=\n");
}

static void what_anybody_can_cause_is_written_so_often(void **state)
{
    struct log_brake limit = { 0 };
    int n = 0;

    for (int i = 0; i < 3 * LOG_LIMIT_PER_MINUTE; i++)
        n += log_may(&limit, "bad");
    assert_int_equal(n, LOG_LIMIT_PER_MINUTE);
    assert_string_equal(captured(*state), "");
    limit.until_ms = 0; /* as if a minute had gone */
    assert_true(log_may(&limit, "bad"));
    assert_string_equal(captured_event(*state), "warn lines-left-out event=bad lines=120\n");
    assert_true(log_may(&limit, "bad"));
    assert_int_equal(limit.left_out, 0);
}

static void levels_have_names(void **state)
{
    (void)state;
    assert_int_equal(log_parse_level("debug"), LOG_DEBUG);
    assert_int_equal(log_parse_level("info"), LOG_INFO);
    assert_int_equal(log_parse_level("warn"), LOG_WARN);
    assert_int_equal(log_parse_level("error"), LOG_ERROR);
    assert_int_equal(log_parse_level("loud"), -1);
}

#define CAPTURED(test) cmocka_unit_test_setup_teardown(test, capture_begin, capture_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CAPTURED(an_event_is_a_line_of_pairs),
        CAPTURED(a_line_begins_with_the_time_in_utc),
        CAPTURED(values_that_would_break_the_line_are_json_strings),
        CAPTURED(only_events_of_the_level_and_above_are_written),
        CAPTURED(a_format_nobody_knows_ends_the_line),
        CAPTURED(what_anybody_can_cause_is_written_so_often),
        cmocka_unit_test(levels_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
