/* SPDX-License-Identifier: MIT */
/* readers.c - tests of who may read a project's folder by the files that go there */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client/share/readers.h"

enum { ALICE = 1001, LAB = 2000 };

static const struct {
    const char *what;
    struct {
        mode_t mode;
        gid_t group;
    } files[3];
    mode_t folder, limited;
    bool has_group;
} cases[] = {
    { "nothing", { { 0 } }, 0755, 0755, true },
    { "all for everybody",
      { { S_IFREG | 0644, ALICE }, { S_IFREG | 0644, LAB } },
      0755,
      0755,
      true },
    { "one for oneself",
      { { S_IFREG | 0644, ALICE }, { S_IFREG | 0600, LAB } },
      0755,
      0700,
      false },
    { "one for the lab",
      { { S_IFREG | 0644, ALICE }, { S_IFREG | 0640, LAB } },
      02755,
      02750,
      true },
    { "one for another group", { { S_IFREG | 0640, ALICE } }, 02750, 02700, false },
    { "for two groups", { { S_IFREG | 0640, LAB }, { S_IFREG | 0640, ALICE } }, 0750, 0700, false },
    { "one for oneself first",
      { { S_IFREG | 0600, LAB }, { S_IFREG | 0640, LAB } },
      0750,
      0700,
      false },
    { "a folder that is closed", { { S_IFDIR | 0700, LAB } }, 0755, 0700, false },
    { "a folder to be entered only", { { S_IFDIR | 0711, LAB } }, 0755, 0700, false },
    { "closed already", { { S_IFREG | 0600, LAB } }, 0700, 0700, false },
};

static void nobody_reads_more_than_the_least_readable_file(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct share_stat folder = { .mode = cases[i].folder, .group = LAB };
        struct readers r = { 0 };

        for (size_t k = 0; k < 3 && cases[i].files[k].mode != 0; k++) {
            struct stat st = { .st_mode = cases[i].files[k].mode,
                               .st_gid = cases[i].files[k].group };

            readers_add(&r, &st);
        }
        if (readers_limit(&r, &folder) != cases[i].limited)
            fail_msg("%s: %o", cases[i].what, readers_limit(&r, &folder));
        assert_int_equal(readers_has_group(&r, &folder), cases[i].has_group);
    }
}

static void a_group_that_is_not_known_is_the_right_one(void **state)
{
    struct share_stat folder = { .mode = 02770, .group = (gid_t)-1 };
    struct stat st = { .st_mode = S_IFREG | 0640, .st_gid = ALICE };
    struct readers r = { 0 };

    (void)state;
    readers_add(&r, &st);
    assert_int_equal(readers_limit(&r, &folder), 02770);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_reads_more_than_the_least_readable_file),
        cmocka_unit_test(a_group_that_is_not_known_is_the_right_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
