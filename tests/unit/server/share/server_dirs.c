/* SPDX-License-Identifier: MIT */
/* server_dirs.c - tests of what ludwigd leaves on the share to be found by */
#include "tests/unit/server_fixture.h"
#include "tests/unit/skip.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

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

static mode_t mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & (S_IFMT | 07777);
}

static void logs_of_pilots_have_a_folder_of_their_user_s_alone(void **state)
{
    struct fixture *f = fixture_open();
    char *share = mem_printf("%s/share", f->dir),
         *folder = server_dirs_pilots_path(share, getuid());
    char *all = mem_printf("%s/share/.ludwig/pilots", f->dir);
    struct err e = { 0 };
    struct stat st;
    char *others;

    (void)state;
    assert_int_equal(server_dirs_pilots(share, getuid(), getgid(), &e), 0);
    assert_int_equal(server_dirs_pilots(share, getuid(), getgid(), &e), 0);
    assert_int_equal(mode_of(all), S_IFDIR | 0711);
    assert_int_equal(mode_of(folder), S_IFDIR | 0700);
    if (getuid() == 0) {
        others = server_dirs_pilots_path(share, 2001);
        assert_int_equal(server_dirs_pilots(share, 2001, 2002, &e), 0);
        assert_int_equal(stat(others, &st), 0);
        assert_int_equal(st.st_uid, 2001);
        assert_int_equal(st.st_gid, 2002);
        free(others);
    }
    fixture_close(f);
    free(all);
    free(folder);
    free(share);
}

static void what_others_could_change_takes_no_logs_of_pilots(void **state)
{
    struct fixture *f = fixture_open();
    char *share = mem_printf("%s/share", f->dir),
         *folder = server_dirs_pilots_path(share, getuid());
    char *all = mem_printf("%s/share/.ludwig/pilots", f->dir),
         *away = mem_printf("%s/away", f->dir);
    struct err e = { 0 };

    (void)state;
    assert_int_equal(mkdir(away, 0700), 0);
    assert_int_equal(symlink(away, all), 0);
    assert_int_equal(server_dirs_pilots(share, getuid(), getgid(), &e), -1);
    assert_int_equal(unlink(all), 0);
    assert_int_equal(mkdir(all, 0755), 0);
    assert_int_equal(symlink(away, folder), 0);
    assert_int_equal(server_dirs_pilots(share, getuid(), getgid(), &e), -1);
    assert_int_equal(unlink(folder), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(chmod(folder, 0770), 0);
    e = (struct err){ 0 };
    assert_int_equal(server_dirs_pilots(share, getuid(), getgid(), &e), -1);
    assert_int_equal(e.kind, ERR_DENIED);
    assert_non_null(strstr(e.text, "others may write into "));
    assert_int_equal(chmod(folder, 0700), 0);
    assert_int_equal(chmod(all, 0777), 0);
    assert_int_equal(server_dirs_pilots(share, getuid(), getgid(), &e), -1);
    assert_int_equal(chmod(all, 0755), 0);
    assert_int_equal(server_dirs_pilots(share, getuid(), getgid(), &e), 0);
    assert_int_equal(rmdir(folder), 0);
    if (getuid() == 0) {
        assert_int_equal(chown(all, 2001, 2001), 0);
        assert_int_equal(server_dirs_pilots(share, getuid(), getgid(), &e), -1);
        assert_int_equal(chown(all, 0, 0), 0);
        assert_int_equal(rmdir(folder), 0);
        assert_int_equal(mkdir(folder, 0700), 0);
        assert_int_equal(chown(folder, 2001, 2001), 0);
        e = (struct err){ 0 };
        assert_int_equal(server_dirs_pilots(share, 0, 0, &e), -1);
        assert_non_null(strstr(e.text, " belongs to uid 2001"));
    }
    fixture_close(f);
    free(away);
    free(all);
    free(folder);
    free(share);
}

/* 0: it is refused; 1: it is taken; 2: nothing can be mounted here. */
static int with_mount(const char *share, const char *folder)
{
    struct err e = { 0 };

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", folder, "tmpfs", 0, "mode=0700") < 0)
        return 2;
    return server_dirs_pilots(share, getuid(), getgid(), &e) < 0 ? 0 : 1;
}

/* A user may mount FUSE over a folder of theirs, which then answers whenever it likes to. */
static void what_a_user_has_mounted_there_is_not_asked(void **state)
{
    struct fixture *f = fixture_open();
    char *share = mem_printf("%s/share", f->dir),
         *folder = server_dirs_pilots_path(share, getuid());
    int status = 0;
    pid_t pid;

    (void)state;
    assert_int_equal(server_dirs_pilots(share, getuid(), getgid(), NULL), 0);
    pid = fork();
    if (pid == 0)
        _exit(with_mount(share, folder));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    fixture_close(f);
    free(folder);
    free(share);
    if (WEXITSTATUS(status) == 2)
        skip_because("nothing can be mounted here");
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_id_is_not_written_through_a_link),
        cmocka_unit_test(logs_of_pilots_have_a_folder_of_their_user_s_alone),
        cmocka_unit_test(what_others_could_change_takes_no_logs_of_pilots),
        cmocka_unit_test(what_a_user_has_mounted_there_is_not_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
