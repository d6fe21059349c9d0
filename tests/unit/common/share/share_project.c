/* SPDX-License-Identifier: MIT */
/* share_project.c - tests of the modes and groups that publishers give what they make in a project */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>

#include "tests/unit/share_site.h"
#include "common/share/share_project.h"
#include "tests/unit/skip.h"

enum { GID = 54322 }; /* nobody's */

/* Who makes what, as the design's table has it, and what owners may make of it. */
static const struct {
    const char *what;
    mode_t project;
    mode_t dir, file, program;
} rows[] = {
    { "embedded, and a cluster without root", 0755, 0755, 0644, 0755 },
    { "a lab with one service account", 02770, 02770, 0660, 0770 },
    { "a lab with accounts on every node", 02750, 02750, 0640, 0750 },
    { "private: true", 0700, 0700, 0600, 0700 },
    { "one that its owner cannot write", 0550, 0750, 0640, 0750 },
    { "open to all", 01777, 0777, 0666, 0777 },
};

static struct stat stat_of(const struct site *s, const char *path)
{
    struct stat st;

    assert_int_equal(fstatat(s->top_fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st;
}

static void open_project(struct site *s, mode_t mode)
{
    umask(0); /* as a publisher has it */
    site_open(s, NULL);
    if (geteuid() == 0)
        assert_int_equal(fchownat(s->top_fd, "share/demo", (uid_t)-1, GID, 0), 0);
    assert_int_equal(fchmodat(s->top_fd, "share/demo", mode, 0), 0);
}

static void what_is_made_is_as_open_as_its_project(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct share_modes m;
        struct err e = { 0 };
        struct share_dir *d;
        struct site s;

        if (rows[i].project == 0550 && geteuid() != 0)
            continue;
        open_project(&s, rows[i].project);
        d = share_project_open_folder(s.root, "demo/runs/param_001", &m, &e);
        if (d == NULL)
            fail_msg("%s: %s", rows[i].what, e.text);
        share_close(d);
        assert_int_equal(m.dir, rows[i].dir);
        assert_int_equal(m.file, rows[i].file);
        assert_int_equal(share_project_file_mode(&m, 0644), rows[i].file);
        assert_int_equal(share_project_file_mode(&m, 0755), rows[i].program);
        assert_int_equal(stat_of(&s, "share/demo/runs").st_mode & 07777, rows[i].dir);
        assert_int_equal(stat_of(&s, "share/demo/runs/param_001").st_mode & 07777, rows[i].dir);
        site_close(&s);
    }
}

static void and_of_its_group_where_that_is_handed_on(void **state)
{
    static const struct {
        mode_t project;
        gid_t group;
    } cases[] = { { 02750, GID }, { 02770, GID }, { 0755, (gid_t)-1 }, { 0700, (gid_t)-1 } };

    (void)state;
    if (geteuid() != 0)
        skip_because("takes root");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct share_modes m;
        struct err e = { 0 };
        struct share_dir *d;
        struct site s;
        bool is_handed_on = cases[i].group == GID;

        open_project(&s, cases[i].project);
        d = share_project_open_folder(s.root, "demo/logs/7", &m, &e);
        assert_non_null(d);
        share_close(d);
        assert_int_equal(m.group, cases[i].group);
        assert_int_equal(stat_of(&s, "share/demo/logs/7").st_gid, is_handed_on ? GID : getegid());
        site_close(&s);
    }
}

static void what_lies_there_keeps_its_mode(void **state)
{
    struct share_modes m;
    struct err e = { 0 };
    struct share_dir *d;
    struct site s;

    (void)state;
    open_project(&s, 02750);
    assert_int_equal(mkdirat(s.top_fd, "share/demo/runs", 0755), 0);
    d = share_project_open_folder(s.root, "demo/runs", &m, &e);
    assert_non_null(d);
    share_close(d);
    assert_int_equal(stat_of(&s, "share/demo/runs").st_mode & 0777, 0755);
    site_close(&s);
}

static void a_project_that_is_not_there_is_not_made(void **state)
{
    struct share_modes m;
    struct err e = { 0 };
    struct site s;

    (void)state;
    open_project(&s, 02750);
    assert_null(share_project_open_folder(s.root, "other/runs/param_001", &m, &e));
    assert_int_equal(e.kind, ERR_NOT_FOUND);
    assert_false(site_has(&s, "share/other"));
    site_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_made_is_as_open_as_its_project),
        cmocka_unit_test(and_of_its_group_where_that_is_handed_on),
        cmocka_unit_test(what_lies_there_keeps_its_mode),
        cmocka_unit_test(a_project_that_is_not_there_is_not_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
