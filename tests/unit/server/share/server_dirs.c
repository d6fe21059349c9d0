/* SPDX-License-Identifier: MIT */
/* server_dirs.c - tests of what ludwigd leaves on the share to be found by */
#include "tests/unit/server_fixture.h"

#include "server/share/server_dirs.h"

static void the_id_is_not_written_through_a_link(void **state)
{
    struct fixture *f = fixture_open();
    char *dir = mem_printf("%s/share/.ludwig", f->dir), *away = mem_printf("%s/away", f->dir);
    char *id = mem_printf("%s/id", away);
    struct stat before, after;

    (void)state;
    assert_int_equal(server_dirs_id(&f->sv, NULL), 0);
    assert_int_equal(rename(dir, away), 0);
    assert_int_equal(lstat(id, &before), 0);
    assert_int_equal(symlink(away, dir), 0);
    server_dirs_take_id_back(&f->sv);
    assert_int_equal(lstat(id, &after), 0);
    assert_int_equal(after.st_ino, before.st_ino);
    assert_int_equal(unlink(dir), 0);
    assert_int_equal(rename(away, dir), 0);
    server_dirs_take_id_back(&f->sv);
    free(id);
    id = mem_printf("%s/id", dir);
    assert_int_equal(lstat(id, &after), 0);
    assert_int_not_equal(after.st_ino, before.st_ino);
    fixture_close(f);
    free(id);
    free(away);
    free(dir);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_id_is_not_written_through_a_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
