/* SPDX-License-Identifier: MIT */
/* user_scratch.c - tests of the folders in which users' attempts live */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/account.h"
#include "tests/unit/skip.h"
#include "worker/janitor/user_scratch.h"

/* Nobody's. */
enum { UID = 54321, GID = 54322, OTHER_GID = 54323 };

static void must_be_root(void)
{
    if (geteuid() != 0)
        skip_because("takes root");
}

/* ---- who ---- */

static void a_user_is_found_by_name_with_all_groups(void **state)
{
    const struct passwd *p = getpwuid(geteuid());
    struct account a;
    struct err e = { 0 };

    (void)state;
    if (p == NULL)
        skip_because("takes a user who has a name");
    assert_int_equal(account_find(p->pw_name, 0, &a, &e), 0);
    assert_int_equal(a.uid, geteuid());
    assert_string_equal(a.home, p->pw_dir);
    assert_true(a.n_groups >= 1);
    assert_true(account_is_own_name(a.name));
    assert_false(account_is_own_name("nobody-of-that-name"));
    account_free(&a);
}

static void nobody_else_is_taken_for_one(void **state)
{
    static const struct {
        const char *name;
        int64_t min_uid;
        enum err_kind kind;
        const char *words;
    } cases[] = {
        { "nobody-of-that-name", 1000, ERR_NOT_FOUND, "no user nobody-of-that-name on this" },
        { "#1234", 1000, ERR_NOT_FOUND, "no user #1234" },
        { "", 1000, ERR_NOT_FOUND, "no user" },
        { "root", 1000, ERR_DENIED, "its uid 0 is below min_uid, which is 1000 here" },
        { "root", 1, ERR_DENIED, "uid 0" },
        { "daemon", 1000, ERR_DENIED, "below min_uid" },
        { "nobody", 1000, ERR_DENIED, "stands for all users that are not known" },
        { "nobody", 0, ERR_DENIED, "uid 65534" },
    };
    struct account a;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err e = { 0 };

        assert_int_equal(account_find(cases[i].name, cases[i].min_uid, &a, &e), -1);
        assert_int_equal(e.kind, cases[i].kind);
        assert_non_null(strstr(e.text, cases[i].words));
        assert_null(a.name);
    }
}

/* ---- rights ---- */

static void rights_are_said_in_one_word(void **state)
{
    gid_t groups[] = { GID, OTHER_GID };
    struct account a = { .uid = UID, .gid = GID, .groups = groups, .n_groups = 2 };
    char *text = account_rights(&a);

    (void)state;
    assert_string_equal(text, "54321:54322:54322,54323");
    free(text);
}

static int status_of(int (*look)(void))
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit(look());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int look_at_nonsense(void)
{
    static const char *const cases[] = {
        "",
        "54321",
        ":54322:",
        "54321:54322",
        "-1:1:1",
        "1:1:1,",
        "1:1:,1",
        "1:1:a",
        "a:1:1",
        "1:1:1 2",
        "1:+1:1",
        " 1:1:1",
        "4294967295:1:1",
        "1:4294967295:",
        "1:1:1,,2",
        "9999999999:1:1",
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err e = { 0 };

        if (account_become(cases[i], &e) == 0 || e.kind != ERR_USAGE)
            return (int)i + 1;
    }
    return 0;
}

/* In a child, lest the test become somebody. */
static void what_says_no_rights_is_refused(void **state)
{
    (void)state;
    assert_int_equal(status_of(look_at_nonsense), 0);
}

/* In a child; 0: all is as it should be. */
static int look_at_rights(void)
{
    uid_t uid[3];
    gid_t gid[3], groups[8];
    struct err e = { 0 };

    if (account_become("54321:54322:54322,54323", &e) < 0)
        return 1;
    if (getresuid(&uid[0], &uid[1], &uid[2]) < 0 || getresgid(&gid[0], &gid[1], &gid[2]) < 0)
        return 2;
    for (int i = 0; i < 3; i++)
        if (uid[i] != UID || gid[i] != GID)
            return 3;
    if (getgroups(8, groups) != 2 || groups[0] != GID || groups[1] != OTHER_GID)
        return 4;
    if (prctl(PR_GET_DUMPABLE) != 0)
        return 5;
    if (setuid(0) == 0 || setgid(0) == 0 || setgroups(0, NULL) == 0)
        return 6;
    return open("/etc/shadow", O_RDONLY | O_CLOEXEC) < 0 ? 0 : 7;
}

static void who_takes_rights_has_those_and_no_way_back(void **state)
{
    (void)state;
    must_be_root();
    assert_int_equal(status_of(look_at_rights), 0);
}

/* ---- the folder ---- */

static char base[] = "/tmp/ludwig-lodge-XXXXXX";

static int make_base(void **state)
{
    (void)state;
    strcpy(base, "/tmp/ludwig-lodge-XXXXXX");
    return mkdtemp(base) == NULL || chmod(base, 0755) < 0 ? -1 : 0;
}

static int remove_base(void **state)
{
    (void)state;
    return io_remove_tree(base, NULL);
}

static struct account lab1(void)
{
    return (struct account){ .name = (char *)(uintptr_t) "lab1", .uid = UID, .gid = GID };
}

static char *prepare(const char *below)
{
    struct account a = lab1();
    char *pattern = mem_printf("%s%s", base, below);
    struct err e = { 0 };
    char *path = user_scratch_prepare(pattern, &a, "node9", &e);

    if (path == NULL)
        fail_msg("%s", e.text);
    free(pattern);
    return path;
}

/* uid 0: root's */
static void assert_folder(const char *below, uid_t uid, mode_t mode)
{
    char *path = mem_printf("%s%s", base, below);
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(st.st_uid, uid);
    assert_int_equal(st.st_mode & 07777, mode);
    free(path);
}

static const char *entered_path;

static int enter(void)
{
    struct err e = { 0 };

    if (account_become("54321:54322:54322", &e) < 0)
        return 1;
    if (user_scratch_enter(entered_path, &e) < 0) {
        fprintf(stderr, "%s\n", e.text);
        return 2;
    }
    return 0;
}

static int enter_as_user(const char *path)
{
    entered_path = path;
    return status_of(enter);
}

static void each_user_gets_a_folder_of_their_own(void **state)
{
    static const struct {
        const char *pattern;
        const char *given; /* what root made and gave away */
        const char *folder;
    } cases[] = {
        { "/{user}", "/lab1", "/lab1/ludwig-lab1-node9" },
        { "/a/{user}/b", "/a/lab1", "/a/lab1/b/ludwig-lab1-node9" },
        { "/c/of-{user}", "/c/of-lab1", "/c/of-lab1/ludwig-lab1-node9" },
        { "/d", "/d/ludwig-lab1-node9", "/d/ludwig-lab1-node9" },
    };

    (void)state;
    must_be_root();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *path = prepare(cases[i].pattern);
        char *expected = mem_printf("%s%s", base, cases[i].folder);

        assert_string_equal(path, expected);
        assert_folder(cases[i].given, UID, 0700);
        assert_int_equal(enter_as_user(path), 0);
        assert_folder(cases[i].folder, UID, 0700);
        free(prepare(cases[i].pattern)); /* again: nothing changes */
        assert_folder(cases[i].given, UID, 0700);
        free(expected);
        free(path);
    }
    assert_folder("/a", 0, 0755);
}

static void make(const char *below, uid_t uid, mode_t mode)
{
    char *path = mem_printf("%s%s", base, below);

    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, mode), 0);
    assert_int_equal(chown(path, uid, 0), 0);
    free(path);
}

/* Where others may rename, root must not give away what a name stands for. */
static void root_makes_nothing_where_others_may_write(void **state)
{
    char *link = mem_printf("%s/safe/lab1", base);
    char *target = mem_printf("%s/roots", base);
    char *path;

    (void)state;
    must_be_root();
    make("/open", 0, 0777);
    make("/anothers", UID + 1, 0755);
    make("/safe", 0, 0755);
    make("/roots", 0, 0700);
    assert_int_equal(symlink(target, link), 0);
    path = prepare("/open/{user}");
    assert_int_not_equal(enter_as_user(path), 0); /* others might rename what they make, too */
    free(path);
    path = prepare("/anothers/{user}");
    assert_int_not_equal(enter_as_user(path), 0);
    free(path);
    path = prepare("/safe/{user}"); /* what lies there already is nobody's to give */
    assert_int_not_equal(enter_as_user(path), 0);
    free(path);
    assert_folder("/roots", 0, 0700);
    free(link);
    free(target);
}

static void a_sticky_folder_is_good_enough(void **state)
{
    char *path;

    (void)state;
    must_be_root();
    make("/tmp", 0, 01777);
    path = prepare("/tmp");
    assert_int_equal(enter_as_user(path), 0);
    assert_folder("/tmp/ludwig-lab1-node9", UID, 0700);
    free(path);
}

static void what_a_stranger_put_in_its_place_is_set_aside(void **state)
{
    char *path, *link;

    (void)state;
    must_be_root();
    make("/tmp", 0, 01777);
    make("/tmp/ludwig-lab1-node9", UID + 1, 0777);
    path = prepare("/tmp");
    assert_int_equal(enter_as_user(path), 0);
    assert_folder("/tmp/ludwig-lab1-node9", UID, 0700);
    free(path);
    /* A link of theirs, too; root's is refused. */
    make("/links", 0, 01777);
    link = mem_printf("%s/links/ludwig-lab1-node9", base);
    assert_int_equal(symlink("/etc", link), 0);
    path = prepare("/links");
    assert_int_not_equal(enter_as_user(path), 0);
    free(path);
    assert_int_equal(lchown(link, UID + 1, UID + 1), 0);
    path = prepare("/links");
    assert_int_equal(enter_as_user(path), 0);
    assert_folder("/links/ludwig-lab1-node9", UID, 0700);
    free(path);
    free(link);
}

#define WITH_BASE(f) cmocka_unit_test_setup_teardown(f, make_base, remove_base)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_user_is_found_by_name_with_all_groups),
        cmocka_unit_test(nobody_else_is_taken_for_one),
        cmocka_unit_test(rights_are_said_in_one_word),
        cmocka_unit_test(what_says_no_rights_is_refused),
        cmocka_unit_test(who_takes_rights_has_those_and_no_way_back),
        WITH_BASE(each_user_gets_a_folder_of_their_own),
        WITH_BASE(root_makes_nothing_where_others_may_write),
        WITH_BASE(a_sticky_folder_is_good_enough),
        WITH_BASE(what_a_stranger_put_in_its_place_is_set_aside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
