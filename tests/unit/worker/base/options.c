/* SPDX-License-Identifier: MIT */
/* options.c - tests of worker/base/options.c */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "worker/base/options.h"

#define TOKEN "00112233445566778899aabbccddeeff"

static void options_of_a_pilot_are_those_of_pilots_alone(void **state)
{
    enum { WORDS = 8 };
    static const struct {
        const char *words[WORDS];
        bool is_pilot;
        const char *wrong; /* NULL: nothing */
    } cases[] = {
        { { "--config", "f", "--server=unix:/s" }, false, NULL },
        { { "--server=unix:/s", "--pilot", TOKEN, "--idle", "5", "--kill-wait=7", "--one-job" },
          true,
          NULL },
        { { "--pilot", TOKEN }, false, "--pilot" },
        { { "--pilot", "00" }, true, "--pilot" },
        { { "--pilot", "00000000000000000000000000000000" }, true, "--pilot" },
        { { "--idle", "-5" }, true, "--idle" },
        { { "--idle", "5s" }, true, "--idle" },
        { { "--idle=" }, true, "--idle=" },
        { { "--ends" }, true, "--ends" },
        { { "--configuration", "f" }, false, "--configuration" },
    };
    struct options o;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *words[WORDS];
        const char *wrong;

        memcpy(words, cases[i].words, sizeof words);
        wrong = options_read(words, cases[i].is_pilot, &o);
        assert_true((wrong == NULL) == (cases[i].wrong == NULL));
        if (wrong != NULL)
            assert_string_equal(wrong, cases[i].wrong);
    }
}

static void what_is_said_is_taken(void **state)
{
    char *words[] = { "--server", "unix:/s",      "--pilot",       TOKEN, "--idle=5",
                      "--ends=9", "--time=60000", "--submitted=3", NULL };
    struct options o;

    (void)state;
    assert_null(options_read(words, true, &o));
    assert_null(o.conf_path);
    assert_string_equal(o.servers, "unix:/s");
    assert_int_equal(o.pilot.token.bytes[1], 0x11);
    assert_int_equal(o.pilot.idle_ms, 5);
    assert_int_equal(o.pilot.ends_at_ms, 9);
    assert_int_equal(o.pilot.time_ms, 60000);
    assert_int_equal(o.pilot.submitted_at_ms, 3);
    assert_int_equal(o.pilot.kill_wait_ms, 30 * 1000);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_of_a_pilot_are_those_of_pilots_alone),
        cmocka_unit_test(what_is_said_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
