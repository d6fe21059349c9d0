/* SPDX-License-Identifier: MIT */
/* inbox_dir.c - tests of what may be believed of the files and folders of an inbox */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "server/inbox/inbox_dir.h"
#include "tests/unit/skip.h"

struct place {
    char *dir, *inbox, *box;
    struct inbox_dir d;
};

static struct place place_open(void)
{
    char template[] = "/tmp/ludwig-unit-XXXXXX";
    struct place p = { 0 };
    struct err e = { 0 };

    assert_non_null(mkdtemp(template));
    p.dir = mem_strdup(template);
    p.inbox = mem_printf("%s/.ludwig/inbox", p.dir);
    p.box = mem_printf("%s/%u", p.inbox, geteuid());
    assert_int_equal(io_make_dirs(p.inbox, 0755, NULL), 0);
    if (inbox_dir_open(&p.d, p.dir, &e) < 0)
        fail_msg("%s", e.text);
    inbox_dir_make_box(&p.d, geteuid(), getegid(), "me");
    return p;
}

static void place_close(struct place *p)
{
    inbox_dir_close(&p->d);
    assert_int_equal(io_remove_tree(p->dir, NULL), 0);
    free(p->dir);
    free(p->inbox);
    free(p->box);
}

static char *file_in(const struct place *p)
{
    return mem_printf("%s/file", p->box);
}

static void make_file(const char *path, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

    assert_true(fd >= 0);
    assert_int_equal(io_write_all(fd, "hello", 5), 0);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static void plain(const char *path)
{
    make_file(path, 0600);
}

static void readable(const char *path)
{
    make_file(path, 0644);
}

static void group_writable(const char *path)
{
    make_file(path, 0620);
}

static void world_writable(const char *path)
{
    make_file(path, 0602);
}

static void hard_link(const char *path)
{
    char *other = mem_printf("%s.other", path);

    make_file(other, 0600);
    assert_int_equal(link(other, path), 0);
    free(other);
}

static void soft_link(const char *path)
{
    char *other = mem_printf("%s.other", path);

    make_file(other, 0600);
    assert_int_equal(symlink(other, path), 0);
    free(other);
}

static void a_fifo(const char *path)
{
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void a_folder(const char *path)
{
    assert_int_equal(mkdir(path, 0700), 0);
}

static void a_socket(const char *path)
{
    assert_int_equal(mknod(path, S_IFSOCK | 0600, 0), 0);
}

/* Of holes alone: it takes no room. */
static void a_terabyte(const char *path)
{
    make_file(path, 0600);
    assert_int_equal(truncate(path, (off_t)1 << 40), 0);
}

static void a_byte_too_large(const char *path)
{
    make_file(path, 0600);
    assert_int_equal(truncate(path, FILE_REQUEST_MAX_BYTES + 1), 0);
}

static void of_another_user(const char *path)
{
    make_file(path, 0600);
    if (chown(path, 12345, (gid_t)-1) < 0)
        unlink(path); /* without root there is no such file */
}

static const struct {
    void (*make)(const char *path);
    bool is_believed;
    const char *what;
} files[] = {
    { plain, true, "an ordinary file" },
    { readable, true, "one that others may read" },
    { group_writable, false, "one that its group may write" },
    { world_writable, false, "one that everybody may write" },
    { hard_link, false, "one with a second name" },
    { soft_link, false, "a link" },
    { a_fifo, false, "a fifo" },
    { a_folder, false, "a folder" },
    { a_socket, false, "a socket" },
    { a_terabyte, false, "a terabyte" },
    { a_byte_too_large, false, "a byte more than a request" },
    { of_another_user, false, "somebody else's" },
};

static void a_file_is_believed_only_if_nobody_else_can_have_made_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct place p = place_open();
        char *path = file_in(&p);
        int fd = inbox_dir_open_box(&p.d, geteuid(), NULL);
        struct buf got = { 0 };
        int rc;

        assert_true(fd >= 0);
        files[i].make(path);
        rc = inbox_dir_read(fd, geteuid(), "file", &got, NULL);
        if ((rc == 1) != files[i].is_believed || (rc == 1 && got.n != 5))
            fail_msg("%s: %d", files[i].what, rc);
        if (rc != 1)
            assert_int_equal(got.n, 0);
        buf_free(&got);
        close(fd);
        free(path);
        place_close(&p);
    }
}

static void a_missing_file_is_no_error(void **state)
{
    struct place p = place_open();
    int fd = inbox_dir_open_box(&p.d, geteuid(), NULL);
    struct buf got = { 0 };

    (void)state;
    assert_int_equal(inbox_dir_read(fd, geteuid(), "file", &got, NULL), 0);
    close(fd);
    place_close(&p);
}

static void a_name_that_leads_elsewhere_is_not_followed(void **state)
{
    struct place p = place_open();
    int fd = inbox_dir_open_box(&p.d, geteuid(), NULL);
    char *outside = mem_printf("%s/secret", p.inbox);
    struct buf got = { 0 };

    (void)state;
    make_file(outside, 0600);
    assert_int_equal(inbox_dir_read(fd, geteuid(), "../secret", &got, NULL), -1);
    assert_int_equal(inbox_dir_read(fd, geteuid(), outside, &got, NULL), -1);
    free(outside);
    close(fd);
    place_close(&p);
}

static void open_for_the_group(struct place *p)
{
    assert_int_equal(chmod(p->box, 0720), 0);
}

static void open_for_all(struct place *p)
{
    assert_int_equal(chmod(p->box, 01777), 0);
}

static void replaced_by_a_link(struct place *p)
{
    char *other = mem_printf("%s/other", p->dir);

    assert_int_equal(mkdir(other, 0700), 0);
    assert_int_equal(rmdir(p->box), 0);
    assert_int_equal(symlink(other, p->box), 0);
    free(other);
}

static void replaced_by_a_file(struct place *p)
{
    assert_int_equal(rmdir(p->box), 0);
    make_file(p->box, 0600);
}

static void given_to_another(struct place *p)
{
    if (chown(p->box, 12345, (gid_t)-1) < 0)
        open_for_all(p);
}

static void a_folder_is_believed_only_if_nobody_else_can_write_it(void **state)
{
    static void (*const spoil[])(struct place *) = { open_for_the_group, open_for_all,
                                                     replaced_by_a_link, replaced_by_a_file,
                                                     given_to_another };

    (void)state;
    for (size_t i = 0; i < sizeof spoil / sizeof spoil[0]; i++) {
        struct place p = place_open();
        struct err e = { 0 };
        int fd = inbox_dir_open_box(&p.d, geteuid(), &e);

        assert_true(fd >= 0);
        close(fd);
        spoil[i](&p);
        assert_int_equal(inbox_dir_open_box(&p.d, geteuid(), &e), -1);
        assert_int_equal(e.kind, ERR_DENIED);
        place_close(&p);
    }
}

static void an_inbox_that_others_could_replace_is_not_opened(void **state)
{
    static const char *const folders[] = { ".ludwig", ".ludwig/inbox", ".ludwig/outbox" };

    (void)state;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        struct place p = place_open();
        char *path = mem_printf("%s/%s", p.dir, folders[i]);
        struct inbox_dir again;
        struct err e = { 0 };

        assert_int_equal(chmod(path, 0777), 0);
        assert_int_equal(inbox_dir_open(&again, p.dir, &e), -1);
        assert_int_equal(e.kind, ERR_DENIED);
        free(path);
        place_close(&p);
    }
}

static void answers_are_for_their_user_alone(void **state)
{
    struct place p = place_open();
    char *path = mem_printf("%s/.ludwig/outbox/answer", p.dir);
    const uid_t uid = geteuid() == 0 ? 12345 : geteuid();
    struct stat st;

    (void)state;
    assert_int_equal(
        inbox_dir_put(&p.d, uid, "answer", (struct bytes){ (const uint8_t *)"x", 1 }, NULL), 0);
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(st.st_uid, uid);
    assert_int_equal(st.st_mode & 07777, 0600);
    free(path);
    path = mem_printf("%s/.ludwig/outbox", p.dir);
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0711);
    free(path);
    place_close(&p);
}

static void as_a_service_account_ludwigd_relies_on_names_that_nobody_can_guess(void **state)
{
    struct place p = place_open();
    char *path = mem_printf("%s/.ludwig/outbox/answer", p.dir);
    struct stat st;

    (void)state;
    p.d.is_root = false;
    p.d.self = 4000;
    assert_int_equal(
        inbox_dir_put(&p.d, 4001, "answer", (struct bytes){ (const uint8_t *)"x", 1 }, NULL), 0);
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    assert_true(inbox_dir_may_remove(&p.d, 4000));
    assert_false(inbox_dir_may_remove(&p.d, 4001));
    free(path);
    place_close(&p);
}

static void a_users_folder_has_a_link_by_name(void **state)
{
    struct place p = place_open();
    char *link_path = mem_printf("%s/@me", p.inbox), target[32] = "",
         *uid = mem_printf("%u", geteuid());
    struct stat st;

    (void)state;
    assert_true(readlink(link_path, target, sizeof target - 1) > 0);
    assert_string_equal(target, uid);
    assert_int_equal(lstat(p.box, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    free(uid);
    free(link_path);
    place_close(&p);
}

/* On file systems whose folders stay as large as they were, an empty one takes seconds to list. */
static void a_folder_that_has_had_very_many_files_is_not_opened(void **state)
{
    enum { NAMES = 60 * 1024, NAME_BYTES = 250, LARGE_BYTES = 17 * 1024 * 1024 };
    struct place p = place_open();
    int dir_fd = open(p.box, O_RDONLY | O_DIRECTORY), fd;
    char name[NAME_BYTES + 1];
    struct stat st;

    (void)state;
    fd = openat(dir_fd, "first", O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    close(fd);
    for (int i = 0; i < NAMES; i++) {
        (void)snprintf(name, sizeof name, "%0*d", NAME_BYTES, i);
        assert_int_equal(linkat(dir_fd, "first", dir_fd, name, 0), 0);
    }
    for (int i = 0; i < NAMES; i++) {
        (void)snprintf(name, sizeof name, "%0*d", NAME_BYTES, i);
        assert_int_equal(unlinkat(dir_fd, name, 0), 0);
    }
    assert_int_equal(fstat(dir_fd, &st), 0);
    close(dir_fd);
    fd = inbox_dir_open_box(&p.d, geteuid(), NULL);
    assert_int_equal(fd >= 0, st.st_size < LARGE_BYTES);
    if (fd >= 0)
        close(fd);
    place_close(&p);
    if (fd >= 0)
        skip_because("folders become smaller again on this file system");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_believed_only_if_nobody_else_can_have_made_it),
        cmocka_unit_test(a_missing_file_is_no_error),
        cmocka_unit_test(a_name_that_leads_elsewhere_is_not_followed),
        cmocka_unit_test(a_folder_is_believed_only_if_nobody_else_can_write_it),
        cmocka_unit_test(an_inbox_that_others_could_replace_is_not_opened),
        cmocka_unit_test(answers_are_for_their_user_alone),
        cmocka_unit_test(as_a_service_account_ludwigd_relies_on_names_that_nobody_can_guess),
        cmocka_unit_test(a_users_folder_has_a_link_by_name),
        cmocka_unit_test(a_folder_that_has_had_very_many_files_is_not_opened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
