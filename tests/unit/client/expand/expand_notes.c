/* SPDX-License-Identifier: MIT */
/* expand_notes.c - tests of what is told of when:, exclude: and include: that come to nothing */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "client/expand/expand_notes.h"
#include "tests/unit/client_expand.h"

static void what_when_drops_from_include_is_told(void **state)
{
#define MOMENTUM "params: {opt: [adam, sgd], momentum: [0.8]}\nwhen: {momentum: {opt: sgd}}\n"
    static const char dropped[] =
        "include: momentum: 0.9 is dropped where when: leaves momentum out\n";
    static const struct {
        const char *text, *notes;
    } cases[] = {
        { MOMENTUM "include: [{opt: sgd, momentum: 0.9}, {opt: adam}]\n", "" },
        { MOMENTUM "include: [{momentum: 0.9}]\n", dropped },
        { "params: {opt: [sgd, sgd], momentum: [0.8]}\nwhen: {momentum: {opt: sgd}}\n"
          "include: [{momentum: 0.9}]\n",
          "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        struct expand *x = expand_from(cases[i].text, a);
        struct buf notes = { 0 };

        expand_add_notes(x, &notes);
        assert_string_equal(buf_text(&notes), cases[i].notes);
        buf_free(&notes);
        expand_destroy(x);
        arena_destroy(a);
    }
}

static void check_notes(const char *text, const char *expected)
{
    struct arena *a = arena_create();
    struct expand *x = expand_from(text, a);
    struct buf notes = { 0 };

    expand_count(x);
    expand_add_notes(x, &notes);
    if (strcmp(buf_text(&notes), expected) != 0)
        fail_msg("%s\nsaid:     %s\nexpected: %s", text, buf_text(&notes), expected);
    buf_free(&notes);
    expand_destroy(x);
    arena_destroy(a);
}

static void what_matches_nothing_is_noted(void **state)
{
    (void)state;
    check_notes("params: {a: [1, 2], b: x}\nexclude: [{a: 1}]\nwhen: {b: {a: 1}}\n", "");
    check_notes("params: {lr: [1, 2]}\nexclude: [{lr: 0.3}, {lr: 1}]\n",
                "exclude: {lr: 0.3} matches no configuration\n");
    check_notes("params: {a: [1, 2], b: [x, y], c: 1}\n"
                "exclude: [{a: 1, b: [z, \"q\\n\", null]}, {c: {value: [1]}}]\n",
                "exclude: {a: 1, b: [z, \"q\\n\", null]} matches no configuration\n"
                "exclude: {c: [1]} matches no configuration\n");
    check_notes("params: {m: [1, 2], opt: [sgd, adam]}\nwhen: {m: {opt: [sdg, adm]}}\n",
                "when: m: {opt: [sdg, adm]} matches no configuration\n");
    check_notes("params: {m: [1, 2], opt: [sgd, adam]}\nwhen: {m: {opt: lars}}\n"
                "include: [{opt: lars}]\n",
                "");
    check_notes("params: {m: [1, 2], u: {uniform: [0, 1]}, c: {choice: [1, 2]}}\n"
                "when: {m: {u: 0.5, c: 2}}\nmethod: random\nsamples: 3\nexclude: [{u: 0.5}]\n",
                "exclude: {u: 0.5} matches no configuration\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_when_drops_from_include_is_told),
        cmocka_unit_test(what_matches_nothing_is_noted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
