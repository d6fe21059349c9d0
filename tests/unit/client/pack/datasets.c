/* SPDX-License-Identifier: MIT */
/* datasets.c - tests of what sweeps make of the datasets on the shared drive */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "client/pack/datasets.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static struct digest digest_named(const char *name)
{
    struct digest d;

    digest_of(name, strlen(name), &d);
    return d;
}

static void add(struct datasets *d, const char *project, const char *name, const char *tree,
                const char *id, int64_t used_at, int64_t unfinished)
{
    *datasets_add(d) = (struct dataset_info){
        .project = project,
        .name = name,
        .set = { .tree = digest_named(tree), .id = digest_named(id) },
        .used_at = used_at,
        .unfinished = unfinished,
    };
}

static void a_set_is_needed_by_those_who_named_it_else_by_those_who_named_the_same(void **state)
{
    static const struct {
        const char *project, *id, *tree, *name;
        int64_t used_at, unfinished;
        bool has_name;
    } cases[] = {
        { "p", "first", "cats", "cats", 1000, 0, true },
        { "p", "second", "cats", "cats", 2000, 1, false },
        { "p", "second", "cats", "tame", 2000, 1, true },
        { "p", "third", "cats", "cats", 2000, 1, true },
        { "p", "third", "dogs", "cats", 0, 0, false },
        { "q", "first", "cats", "cats", 3000, 2, true },
        { "r", "first", "cats", "cats", 0, 0, false },
    };
    struct datasets d = { 0 };

    (void)state;
    add(&d, "p", "cats", "cats", "first", 1000, 0);
    add(&d, "p", "tame", "cats", "second", 2000, 1);
    add(&d, "p", NULL, "source", "fourth", 2500, 1);
    add(&d, "q", "cats", "cats", "first", 3000, 2);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct packed set = { .id = digest_named(cases[i].id), .is_read = true };
        struct dataset_use use;

        set.manifest.tree = digest_named(cases[i].tree);
        use = datasets_use(&d, cases[i].project, &set, cases[i].name);
        assert_int_equal(use.used_at, cases[i].used_at);
        assert_int_equal(use.unfinished, cases[i].unfinished);
        assert_int_equal(use.has_name, cases[i].has_name);
    }
    datasets_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_is_needed_by_those_who_named_it_else_by_those_who_named_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
