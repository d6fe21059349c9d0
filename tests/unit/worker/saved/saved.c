/* SPDX-License-Identifier: MIT */
/* saved.c - tests of what a job saved being made fit for the share */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/worker_site.h"
#include "worker/saved/saved.h"

static const struct share_modes modes = { 02750, 0640, (gid_t)-1, -1 };

static void must_scan(struct site *s, struct saved *saved)
{
    struct err e = { 0 };

    *saved = (struct saved){ .arena = s->arena };
    if (saved_scan(saved, s->top_fd, "save", s->top_fd, "renamed", &modes, &e) < 0)
        fail_msg("%s", e.text);
}

static const struct saved_entry *get(const struct saved *saved, const char *path)
{
    for (size_t i = 0; i < saved->n; i++)
        if (strcmp(saved->entries[i].path, path) == 0)
            return &saved->entries[i];
    return NULL;
}

static mode_t mode_of(const struct site *s, const char *path)
{
    struct stat st;

    assert_int_equal(fstatat(s->top_fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st.st_mode & 07777;
}

static void make_tree(struct site *s)
{
    assert_int_equal(mkdirat(s->top_fd, "save", 0700), 0);
    assert_int_equal(mkdirat(s->top_fd, "save/d:", 0700), 0);
    assert_int_equal(mkdirat(s->top_fd, "save/d:/e", 0700), 0);
    site_write(s->top_fd, "save/d:/e/f?", "deep");
    site_write(s->top_fd, "save/run.sh", "#!/bin/sh\n");
    assert_int_equal(fchmodat(s->top_fd, "save/run.sh", 0700, 0), 0);
    site_write(s->top_fd, "save/empty", "");
    site_write(s->top_fd, "save/job.json", "mine");
    assert_int_equal(symlinkat("run.sh", s->top_fd, "save/link"), 0);
    assert_int_equal(mkfifoat(s->top_fd, "save/fifo", 0600), 0);
}

static void files_are_listed_and_get_the_projects_modes(void **state)
{
    struct site s;
    struct saved saved;
    char hex[DIGEST_HEX];

    (void)state;
    site_open(&s, NULL);
    make_tree(&s);
    must_scan(&s, &saved);
    assert_int_equal(get(&saved, "d%3A/e/f%3F")->size_bytes, 4);
    digest_hex(&get(&saved, "empty")->digest, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_int_equal(get(&saved, "link")->type, SAVED_LINK);
    assert_int_equal(mode_of(&s, "save"), 02700); /* until it has its name */
    assert_int_equal(mode_of(&s, "save/d%3A/e"), 02750);
    assert_int_equal(mode_of(&s, "save/run.sh"), 0750);
    assert_int_equal(mode_of(&s, "save/empty"), 0640);
    assert_int_equal(saved.n_left_out, 1);
    assert_string_equal(saved.left_out[0], "fifo");
    assert_false(site_has(&s, "save/fifo"));
    saved_free(&saved);
    site_close(&s);
}

static void a_file_that_lies_elsewhere_too_keeps_its_mode(void **state)
{
    struct site s;
    struct saved saved;

    (void)state;
    site_open(&s, NULL);
    make_tree(&s);
    site_write(s.top_fd, "elsewhere", "private");
    assert_int_equal(fchmodat(s.top_fd, "elsewhere", 0600, 0), 0);
    assert_int_equal(linkat(s.top_fd, "elsewhere", s.top_fd, "save/same", 0), 0);
    site_write(s.top_fd, "closed", "private");
    assert_int_equal(linkat(s.top_fd, "closed", s.top_fd, "save/closed", 0), 0);
    assert_int_equal(fchmodat(s.top_fd, "closed", 0, 0), 0);
    must_scan(&s, &saved);
    assert_int_equal(mode_of(&s, "elsewhere"), 0600);
    assert_int_equal(mode_of(&s, "closed"), 0);
    assert_int_equal(get(&saved, "same")->size_bytes, 7);
    assert_int_equal(get(&saved, "same")->mode, 0640); /* of the copy on the share */
    assert_int_equal(mode_of(&s, "save/empty"), 0640);
    if (geteuid() != 0) {
        assert_null(get(&saved, "closed"));
        assert_int_equal(saved.n_left_out, 2);
    }
    saved_free(&saved);
    site_close(&s);
}

static void what_had_to_be_renamed_is_remembered(void **state)
{
    struct site s;
    struct saved saved;

    (void)state;
    site_open(&s, NULL);
    make_tree(&s);
    must_scan(&s, &saved);
    assert_int_equal(saved.n_renames, 3);
    assert_string_equal(site_read(&s, "save/job~2.json"), "mine");
    assert_string_equal(site_read(&s, "save/d%3A/e/f%3F"), "deep");
    saved_free(&saved);
    must_scan(&s, &saved); /* as a publisher does that was killed after the first */
    assert_int_equal(saved.n_renames, 3);
    assert_string_equal(site_read(&s, "save/job~2.json"), "mine");
    saved_free(&saved);
    site_close(&s);
}

static void renames_that_were_broken_off_are_ended(void **state)
{
    struct site s;
    struct saved saved;

    (void)state;
    site_open(&s, NULL);
    make_tree(&s);
    must_scan(&s, &saved);
    saved_free(&saved);
    /* As if only the last of them had been made. */
    assert_int_equal(renameat(s.top_fd, "save/d%3A", s.top_fd, "save/d:"), 0);
    assert_int_equal(renameat(s.top_fd, "save/job~2.json", s.top_fd, "save/job.json"), 0);
    must_scan(&s, &saved);
    assert_int_equal(saved.n_renames, 3);
    assert_true(site_has(&s, "save/d%3A/e/f%3F") && site_has(&s, "save/job~2.json"));
    assert_non_null(get(&saved, "d%3A/e/f%3F"));
    saved_free(&saved);
    site_close(&s);
}

static void a_tree_without_rights_is_opened_up(void **state)
{
    struct site s;
    struct saved saved;

    (void)state;
    site_open(&s, NULL);
    make_tree(&s);
    assert_int_equal(fchmodat(s.top_fd, "save/empty", 0, 0), 0);
    assert_int_equal(fchmodat(s.top_fd, "save/d:", 0, 0), 0);
    must_scan(&s, &saved);
    assert_non_null(get(&saved, "empty"));
    assert_int_equal(mode_of(&s, "save/empty"), 0640);
    assert_non_null(get(&saved, "d%3A/e/f%3F"));
    assert_int_equal(mode_of(&s, "save/d%3A"), 02750);
    assert_int_equal(saved.n_left_out, 1);
    saved_free(&saved);
    site_close(&s);
}

static void a_copy_is_the_same_tree(void **state)
{
    struct site s;
    struct saved saved;
    struct err e = { 0 };
    struct share_dir *to;
    int from;
    char target[20] = "";

    (void)state;
    site_open(&s, NULL);
    make_tree(&s);
    must_scan(&s, &saved);
    assert_int_equal(mkdirat(s.top_fd, "copy", 0700), 0);
    from = io_open_dir_at(s.top_fd, "save", &e);
    to = share_open_dir(s.dir, "copy", &e);
    if (saved_copy(&saved, from, to, &e) < 0)
        fail_msg("%s", e.text);
    assert_string_equal(site_read(&s, "copy/d%3A/e/f%3F"), "deep");
    assert_string_equal(site_read(&s, "copy/job~2.json"), "mine");
    assert_true((mode_of(&s, "copy/run.sh") & 0100) != 0);
    assert_int_equal(readlinkat(s.top_fd, "copy/link", target, sizeof target - 1), 6);
    assert_string_equal(target, "run.sh");
    assert_true(site_has(&s, "copy/empty"));
    close(from);
    share_close(to);
    saved_free(&saved);
    site_close(&s);
}

static bool is_left_out(const struct saved *saved, const char *path)
{
    for (size_t i = 0; i < saved->n_left_out; i++)
        if (strcmp(saved->left_out[i], path) == 0)
            return true;
    return false;
}

static void what_a_container_left_holds_up_nobody(void **state)
{
    struct site s;
    struct saved saved;
    struct err e = { 0 };
    struct share_dir *to;
    int from;

    (void)state;
    site_become_nobody();
    site_open(&s, NULL);
    make_tree(&s);
    site_add_foreign(s.top_fd, "save/out", 0755, "a:b");
    site_add_foreign(s.top_fd, "save/listed", 0744, "x");
    site_add_foreign(s.top_fd, "save/shut:", 0700, "x");
    site_become_root();
    site_write(s.top_fd, "save/out/good", "good");
    assert_int_equal(mkdirat(s.top_fd, "save/out/d:", 0755), 0);
    site_write(s.top_fd, "save/out/d:/x", "x");
    assert_int_equal(mkfifoat(s.top_fd, "save/out/fifo", 0600), 0);
    assert_int_equal(seteuid(65534), 0);
    assert_int_equal(mkdirat(s.top_fd, "copy", 0700), 0);
    for (int i = 0; i < 2; i++) { /* as a publisher does that was killed after the first */
        must_scan(&s, &saved);
        assert_non_null(get(&saved, "out/good"));
        assert_null(get(&saved, "out/d%3A/x"));
        assert_null(get(&saved, "shut%3A"));
        assert_int_equal(saved.n_renames, 4);
        assert_int_equal(saved.n_left_out, i == 0 ? 6 : 5); /* our own fifo is gone */
        assert_true(is_left_out(&saved, "out/a%3Ab") && is_left_out(&saved, "out/d%3A"));
        assert_true(is_left_out(&saved, "out/fifo") && is_left_out(&saved, "listed/x"));
        assert_true(is_left_out(&saved, "shut%3A"));
        if (i == 0)
            saved_free(&saved);
    }
    from = io_open_dir_at(s.top_fd, "save", &e);
    to = share_open_dir(s.dir, "copy", &e);
    if (saved_copy(&saved, from, to, &e) < 0)
        fail_msg("%s", e.text);
    assert_string_equal(site_read(&s, "copy/out/good"), "good");
    assert_false(site_has(&s, "copy/shut%3A"));
    close(from);
    share_close(to);
    saved_free(&saved);
    site_become_root();
    site_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_listed_and_get_the_projects_modes),
        cmocka_unit_test(a_file_that_lies_elsewhere_too_keeps_its_mode),
        cmocka_unit_test(what_had_to_be_renamed_is_remembered),
        cmocka_unit_test(renames_that_were_broken_off_are_ended),
        cmocka_unit_test(a_tree_without_rights_is_opened_up),
        cmocka_unit_test(a_copy_is_the_same_tree),
        cmocka_unit_test(what_a_container_left_holds_up_nobody),
    };

    return SITE_EITHER_WAY(tests);
}
