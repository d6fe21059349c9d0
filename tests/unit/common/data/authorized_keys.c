/* SPDX-License-Identifier: MIT */
/* authorized_keys.c - tests of a line, and of what stays around it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/data/authorized_keys.h"
#include "common/base/io.h"
#include "tests/unit/folder.h"

#define MARK "ludwig-pilot:5eed"
#define LINE "restrict KEY " MARK

static void other_lines_stay_as_they_are(void **state)
{
    static const struct {
        const char *before, *line, *after;
    } cases[] = {
        { "", LINE, LINE "\n" },
        { "", NULL, "" },
        { "a b\n", LINE, "a b\n" LINE "\n" },
        { "a b", LINE, "a b\n" LINE "\n" },
        { "a b", NULL, "a b" },
        { "# x\n\n a b \n", LINE, "# x\n\n a b \n" LINE "\n" },
        { LINE "\n", LINE, LINE "\n" },
        { "a\nold " MARK "\nb\n", LINE, "a\n" LINE "\nb\n" },
        { "a\nold " MARK "\r\nb", LINE, "a\n" LINE "\nb" },
        { "old " MARK "\na\nolder " MARK, LINE, LINE "\na\n" },
        { "a\nold " MARK "\nb\n", NULL, "a\nb\n" },
        { "k " MARK "0\nk x" MARK "\nk " MARK " me\n", LINE,
          "k " MARK "0\nk x" MARK "\nk " MARK " me\n" LINE "\n" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = { 0 };

        authorized_keys_replace(cases[i].before, MARK, cases[i].line, &out);
        assert_string_equal(buf_text(&out), cases[i].after);
        buf_free(&out);
    }
}

static void expect_file(const char *path, const char *expected, mode_t mode)
{
    struct buf text = { 0 };
    struct stat st;

    assert_int_equal(io_read_file(path, 1000, &text, NULL), 0);
    assert_string_equal(buf_text(&text), expected);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(st.st_mode & 0777, mode);
    buf_free(&text);
}

static void a_file_keeps_its_mode_and_a_link_stays(void **state)
{
    char *dir = *state, *path = below(dir, "keys"), *link = below(dir, "link");
    struct err e = { 0 };

    if (authorized_keys_edit(path, MARK, LINE, &e) < 0)
        fail_msg("%s", e.text);
    expect_file(path, LINE "\n", 0600);
    put(dir, "keys", "a b\n");
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink("keys", link), 0);
    assert_int_equal(authorized_keys_edit(link, MARK, LINE, &e), 0);
    expect_file(path, "a b\n" LINE "\n", 0640);
    assert_int_equal(authorized_keys_edit(link, MARK, NULL, &e), 0);
    expect_file(path, "a b\n", 0640);
    assert_int_equal(io_write_file_at(AT_FDCWD, path, "a\0b", 3, 0600, NULL), 0);
    assert_int_equal(authorized_keys_edit(path, MARK, LINE, &e), -1);
    assert_non_null(strstr(e.text, "it is no text"));
    free(link);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_lines_stay_as_they_are),
        cmocka_unit_test_setup_teardown(a_file_keeps_its_mode_and_a_link_stays, make_dir, drop_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
