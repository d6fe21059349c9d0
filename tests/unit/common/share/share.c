/* SPDX-License-Identifier: MIT */
/* share.c - tests of the shared drive, mounted and over SFTP */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>

#include "common/base/units.h"
#include "common/sftp/sftp_packet.h"
#include "tests/unit/share_site.h"
#include "common/share/share.h"

enum { LARGE_BYTES = 3 * 1024 * 1024 + 7, MANY = 300 };

/* ---- what tests need ---- */

static void must(int result, const struct err *e)
{
    if (result < 0)
        fail_msg("%s: %s", err_kind_name(e->kind), e->text);
}

static void must_fail(int result, enum err_kind kind, struct err *e)
{
    assert_int_equal(result, -1);
    if (e->kind != kind)
        fail_msg("not %s but %s: %s", err_kind_name(kind), err_kind_name(e->kind), e->text);
    err_clear(e);
}

static const char *on_share(struct site *s, const char *path)
{
    return arena_printf(s->arena, "share/%s", path);
}

static void put(struct site *s, const char *path, const char *text)
{
    site_write(s->top_fd, on_share(s, path), text);
}

static const char *get(struct site *s, const char *path)
{
    return site_read(s, on_share(s, path));
}

static bool has(struct site *s, const char *path)
{
    return site_has(s, on_share(s, path));
}

static mode_t mode_of(struct site *s, const char *path)
{
    struct stat st;

    assert_int_equal(fstatat(s->top_fd, on_share(s, path), &st, AT_SYMLINK_NOFOLLOW), 0);
    return st.st_mode & 07777;
}

static void folder(struct site *s, const char *path)
{
    assert_int_equal(mkdirat(s->top_fd, on_share(s, path), 0755), 0);
}

static void fifo(struct site *s, const char *path)
{
    assert_int_equal(mkfifoat(s->top_fd, on_share(s, path), 0644), 0);
}

static void link_to(struct site *s, const char *target, const char *path)
{
    assert_int_equal(symlinkat(target, s->top_fd, on_share(s, path)), 0);
}

/* The test's process, which is a mount's as well as a publisher's, says all modes. */
static void open_site(struct site *s)
{
    umask(0);
    site_open(s, NULL);
}

/* ---- folders and names ---- */

static void folders_are_opened(void **state)
{
    static const struct {
        const char *path;
        enum err_kind kind;
    } cases[] = {
        { "folder", ERR_NONE },
        { "folder/deep", ERR_NONE },
        { "link", ERR_DENIED },
        { "nothing", ERR_NOT_FOUND },
        { "nothing/deep", ERR_NOT_FOUND },
        { "file", ERR_NOT_FOUND },
        { "file/deep", ERR_NOT_FOUND },
        { "dangling", ERR_DENIED },
    };
    struct site s;

    (void)state;
    open_site(&s);
    folder(&s, "folder");
    folder(&s, "folder/deep");
    put(&s, "file", "x");
    link_to(&s, "folder", "link");
    link_to(&s, "nowhere", "dangling");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err e = { 0 };
        struct share_dir *d = share_open_dir(s.root, cases[i].path, &e);

        if ((d != NULL) != (cases[i].kind == ERR_NONE) || e.kind != cases[i].kind)
            fail_msg("%s: %s: %s", cases[i].path, err_kind_name(e.kind), e.text);
        share_close(d);
    }
    site_close(&s);
}

static void it_says_what_lies_there(void **state)
{
    static const struct {
        const char *path;
        enum share_type type;
        mode_t mode;
    } cases[] = {
        { "", SHARE_FOLDER, 0711 },        { "file", SHARE_FILE, 0604 },
        { "folder", SHARE_FOLDER, 02751 }, { "link", SHARE_LINK, 0777 },
        { "fifo", SHARE_OTHER, 0644 },
    };
    struct site s;
    struct share_stat st;
    struct err e = { 0 };

    (void)state;
    open_site(&s);
    put(&s, "file", "five!");
    folder(&s, "folder");
    fifo(&s, "fifo");
    link_to(&s, "file", "link");
    assert_int_equal(chmod(s.share_path, 0711), 0);
    assert_int_equal(fchmodat(s.top_fd, "share/file", 0604, 0), 0);
    assert_int_equal(fchmodat(s.top_fd, "share/folder", 02751, 0), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        must(share_stat(s.root, cases[i].path, &st, &e), &e);
        if (st.type != cases[i].type || st.mode != cases[i].mode)
            fail_msg("%s: type %d, mode %o", cases[i].path, (int)st.type, (unsigned)st.mode);
    }
    must(share_stat(s.root, "file", &st, &e), &e);
    assert_int_equal(st.size_bytes, 5);
    must_fail(share_stat(s.root, "nothing", &st, &e), ERR_NOT_FOUND, &e);
    must_fail(share_stat(s.root, "file/x", &st, &e), ERR_NOT_FOUND, &e);
    assert_true(share_exists(s.root, "link") && !share_exists(s.root, "nothing"));
    site_close(&s);
}

static size_t count_names(const struct share_dir *d, struct err *e)
{
    struct arena *a = arena_create();
    struct list entries;
    const struct share_entry *items;

    must(share_list(d, "", SHARE_NAMES, a, &entries, e), e);
    items = entries.items;
    for (size_t i = 0; i < entries.n; i++)
        assert_true(strncmp(items[i].name, "name", 4) == 0);
    arena_destroy(a);
    return entries.n;
}

static void all_names_are_listed(void **state)
{
    struct site s;
    struct err e = { 0 };
    struct share_dir *d;
    struct arena *a = arena_create();
    struct list entries;

    (void)state;
    open_site(&s);
    folder(&s, "many");
    for (int i = 0; i < MANY; i++)
        put(&s, arena_printf(s.arena, "many/name%d", i), "");
    d = share_open_dir(s.root, "many", &e);
    assert_int_equal(count_names(d, &e), MANY);
    assert_int_equal(io_remove_tree_at(s.top_fd, "share/many", &e), 0);
    if (share_list(d, "", SHARE_NAMES, a, &entries, &e) == 0) /* a mount still has it open */
        assert_int_equal(entries.n, 0);
    arena_destroy(a);
    share_close(d);
    site_close(&s);
}

static void folders_have_the_mode_they_were_given(void **state)
{
    static const mode_t modes[] = { 0700, 0750, 0755, 0770, 0777 };
    struct site s;
    struct err e = { 0 };

    (void)state;
    open_site(&s);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        const char *name = arena_printf(s.arena, "folder%zu", i);

        must(share_make_dir(s.root, name, modes[i], &e), &e);
        assert_int_equal(mode_of(&s, name), modes[i]);
        must_fail(share_make_dir(s.root, name, 0700, &e), ERR_EXISTS, &e);
    }
    put(&s, "file", "");
    must_fail(share_make_dir(s.root, "file", 0700, &e), ERR_EXISTS, &e);
    must_fail(share_make_dir(s.root, "no/where", 0700, &e), ERR_NOT_FOUND, &e);
    site_close(&s);
}

static void what_the_folder_above_gives_stays(void **state)
{
    struct site s;
    struct err e = { 0 };

    (void)state;
    open_site(&s);
    folder(&s, "project");
    assert_int_equal(fchmodat(s.top_fd, "share/project", 02770, 0), 0);
    must(share_make_dir(s.root, "project/runs", 02770, &e), &e);
    assert_int_equal(mode_of(&s, "project/runs"), 02770);
    site_close(&s);
}

static void what_lies_there_is_removed(void **state)
{
    struct site s;
    struct err e = { 0 };

    (void)state;
    open_site(&s);
    put(&s, "file", "");
    folder(&s, "empty");
    folder(&s, "tree");
    folder(&s, "tree/deep");
    put(&s, "tree/deep/file", "x");
    link_to(&s, "/", "tree/root");
    must_fail(share_remove_dir(s.root, "tree", &e), ERR_EXISTS, &e);
    must(share_remove_file(s.root, "file", &e), &e);
    must_fail(share_remove_file(s.root, "file", &e), ERR_NOT_FOUND, &e);
    must(share_remove_dir(s.root, "empty", &e), &e);
    must_fail(share_remove_dir(s.root, "empty", &e), ERR_NOT_FOUND, &e);
    must(share_remove_tree(s.root, "tree", &e), &e);
    must(share_remove_tree(s.root, "tree", &e), &e);
    assert_false(has(&s, "tree") || has(&s, "file") || has(&s, "empty"));
    site_close(&s);
}

/* ---- renaming ---- */

static void names_are_claimed_by_the_first(void **state)
{
    static const struct {
        const char *from, *to;
        enum err_kind kind;
        const char *what;
    } cases[] = {
        { "ours", "free", ERR_NONE, "a free name" },
        { "ours", "theirs", ERR_EXISTS, "a folder with something in it" },
        { "ours", "a file", ERR_EXISTS, "a file in a folder's way" },
        { "ours", "link", ERR_EXISTS, "a link in a folder's way" },
        { "file", "a file", ERR_NONE, "a file takes a file's place" },
        { "nothing", "free", ERR_NOT_FOUND, "what is not there" },
        { "ours", "no/where", ERR_NOT_FOUND, "into a folder that is not there" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct site s;
        struct err e = { 0 };

        open_site(&s);
        folder(&s, "ours");
        folder(&s, "theirs");
        put(&s, "ours/job.json", "ours");
        put(&s, "theirs/job.json", "theirs");
        put(&s, "file", "new");
        put(&s, "a file", "old");
        link_to(&s, "theirs", "link");
        (void)share_rename(s.root, cases[i].from, s.root, cases[i].to, &e);
        if (e.kind != cases[i].kind)
            fail_msg("%s: %s: %s", cases[i].what, err_kind_name(e.kind), e.text);
        assert_string_equal(get(&s, "theirs/job.json"), "theirs");
        assert_string_equal(
            get(&s, strcmp(cases[i].to, "free") == 0 && i == 0 ? "free/job.json" : "ours/job.json"),
            "ours");
        assert_string_equal(get(&s, "a file"), i == 4 ? "new" : "old");
        site_close(&s);
    }
}

static void it_renames_between_folders(void **state)
{
    struct site s;
    struct err e = { 0 };
    struct share_dir *from, *to;

    (void)state;
    open_site(&s);
    folder(&s, "runs");
    folder(&s, "failed");
    folder(&s, "runs/x");
    put(&s, "runs/x/file", "text");
    from = share_open_dir(s.root, "runs", &e);
    to = share_open_dir(s.root, "failed", &e);
    must(share_rename(from, "x", to, "y", &e), &e);
    assert_string_equal(get(&s, "failed/y/file"), "text");
    share_close(from);
    share_close(to);
    site_close(&s);
}

/* ---- small files ---- */

static void files_are_read(void **state)
{
    static const struct {
        const char *path;
        size_t max_bytes;
        enum err_kind kind;
        const char *text;
    } cases[] = {
        { "file", 1000, ERR_NONE, "whole file" },
        { "file", 10, ERR_NONE, "whole file" },
        { "file", 5, ERR_NONE, "whole" },
        { "empty", 10, ERR_NONE, "" },
        { "link", 10, ERR_USAGE, "" },
        { "nothing", 10, ERR_NOT_FOUND, "" },
        { "file/deep", 10, ERR_NOT_FOUND, "" },
        { "dangling", 10, ERR_USAGE, "" },
        { "folder", 10, ERR_USAGE, "" },
    };
    struct site s;

    (void)state;
    open_site(&s);
    put(&s, "file", "whole file");
    put(&s, "empty", "");
    folder(&s, "folder");
    link_to(&s, "file", "link");
    link_to(&s, "nowhere", "dangling");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = { 0 };
        struct err e = { 0 };

        (void)share_read(s.root, cases[i].path, cases[i].max_bytes, &out, &e);
        if (e.kind != cases[i].kind || strcmp(buf_text(&out), cases[i].text) != 0)
            fail_msg("%s: %s: %s", cases[i].path, err_kind_name(e.kind), e.text);
        buf_free(&out);
    }
    site_close(&s);
}

/* Nobody writes to it: whoever opened it would wait. */
static void a_fifo_holds_up_nobody(void **state)
{
    const struct share_item item = { SHARE_FILE, "fifo", "copy", 0600, 0, NULL, NULL };
    struct site s;
    struct buf out = { 0 };
    struct err e = { 0 };
    int fd;

    (void)state;
    open_site(&s);
    fifo(&s, "fifo");
    (void)share_read(s.root, "fifo", 10, &out, &e); /* a mount finds nothing in it */
    assert_int_equal(out.n, 0);
    fd = openat(s.top_fd, "share", O_RDONLY | O_DIRECTORY);
    err_clear(&e);
    must_fail(share_copy_out(s.root, s.top_fd, &item, 1, &e), ERR_PROTOCOL, &e);
    assert_null(share_open_input(s.root, "fifo", 0, &e));
    assert_int_equal(e.kind, ERR_USAGE);
    close(fd);
    buf_free(&out);
    site_close(&s);
}

static int ship(const struct site *s, const char *path, mode_t mode, int fd, struct err *e)
{
    const struct share_part part = { .fd = fd };

    return share_ship(s->root, path, mode, &part, e);
}

static void written_files_are_new(void **state)
{
    static const char *const texts[] = { "some text", "", "longer than before", "x" };
    struct site s;
    struct err e = { 0 };

    (void)state;
    open_site(&s);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        must(share_write(s.root, "file", texts[i], strlen(texts[i]), 0664, &e), &e);
        assert_string_equal(get(&s, "file"), texts[i]);
        assert_int_equal(mode_of(&s, "file"), 0664);
    }
    must_fail(share_write(s.root, "no/where", "x", 1, 0644, &e), ERR_NOT_FOUND, &e);
    put(&s, "precious", "mine");
    link_to(&s, "precious", "planted");
    must(share_write(s.root, "planted", "ours", 4, 0640, &e), &e);
    assert_string_equal(get(&s, "planted"), "ours");
    assert_string_equal(get(&s, "precious"), "mine");
    link_to(&s, "precious", "log");
    must_fail(ship(&s, "log", 0640, -1, &e), site_is_over_sftp ? ERR_FAILED : ERR_DENIED, &e);
    site_close(&s);
}

static void a_log_gets_its_parts_one_behind_the_other(void **state)
{
    struct share_part first = { .max_bytes = 5 }, second = { .begin = 5 };
    struct site s;
    struct err e = { 0 };

    (void)state;
    open_site(&s);
    site_write(s.top_fd, "first", "first and more");
    site_write(s.top_fd, "second", " second");
    first.fd = openat(s.top_fd, "first", O_RDONLY);
    second.fd = openat(s.top_fd, "second", O_RDONLY);
    must_fail(share_ship(s.root, "log", 0640, &second, &e), ERR_FAILED, &e);
    for (int i = 0; i < 2; i++) {
        must(share_ship(s.root, "log", 0640, &first, &e), &e);
        must(share_ship(s.root, "log", 0640, &second, &e), &e);
        assert_string_equal(get(&s, "log"), "first second");
    }
    close(first.fd);
    close(second.fd);
    site_close(&s);
}

static void a_log_is_brought_up_to_date(void **state)
{
    static const struct {
        const char *local, *shared; /* NULL: nothing there */
    } cases[] = {
        { "all of it\n", NULL },          { "all of it\n", "" }, { "all of it\n", "all of" },
        { "all of it\n", "all of it\n" }, { "", NULL },
    };
    struct site s;
    struct err e = { 0 };

    (void)state;
    open_site(&s);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int fd;

        (void)unlinkat(s.top_fd, "share/log", 0);
        site_write(s.top_fd, "local", cases[i].local);
        if (cases[i].shared != NULL)
            put(&s, "log", cases[i].shared);
        fd = openat(s.top_fd, "local", O_RDONLY);
        must(ship(&s, "log", 0640, fd, &e), &e);
        assert_string_equal(get(&s, "log"), cases[i].local);
        if (cases[i].shared == NULL)
            assert_int_equal(mode_of(&s, "log"), 0640);
        close(fd);
    }
    must(ship(&s, "none", 0640, -1, &e), &e);
    assert_string_equal(get(&s, "none"), "");
    site_close(&s);
}

/* ---- trees ---- */

static void make_large(int dir_fd, const char *path)
{
    char *bytes = mem_alloc(LARGE_BYTES);
    struct err e = { 0 };

    for (size_t i = 0; i < LARGE_BYTES; i++)
        bytes[i] = (char)(i * 7 + i / 251);
    must(io_write_file_at(dir_fd, path, bytes, LARGE_BYTES, 0644, &e), &e);
    free(bytes);
}

/* top/tree, and the items that say so. */
static size_t make_tree(struct site *s, struct share_item *items)
{
    size_t n = 0;

    assert_int_equal(mkdirat(s->top_fd, "tree", 0755), 0);
    assert_int_equal(mkdirat(s->top_fd, "tree/deep", 0755), 0);
    assert_int_equal(mkdirat(s->top_fd, "tree/deep/er", 0755), 0);
    make_large(s->top_fd, "tree/deep/er/large");
    site_write(s->top_fd, "tree/deep/empty", "");
    site_write(s->top_fd, "tree/run.sh", "#!/bin/sh\n");
    items[n++] = (struct share_item){ SHARE_FOLDER, "deep", "deep", 0750, 0, NULL, NULL };
    items[n++] = (struct share_item){ SHARE_FILE, "run.sh", "run.sh", 0750, 10, NULL, NULL };
    items[n++] = (struct share_item){ SHARE_FOLDER, "deep/er", "deep/other", 0750, 0, NULL, NULL };
    items[n++] = (struct share_item){ SHARE_FILE, "deep/er/large", "deep/other/large",
                                      0640,       LARGE_BYTES,     NULL,
                                      NULL };
    items[n++] = (struct share_item){ SHARE_FILE, "deep/empty", "deep/empty", 0640, 0, NULL, NULL };
    for (int i = 0; i < MANY; i++) {
        const char *path = arena_printf(s->arena, "deep/f%d", i);

        site_write(s->top_fd, arena_printf(s->arena, "tree/%s", path), path);
        items[n++] =
            (struct share_item){ SHARE_FILE, path, path, 0640, (int64_t)strlen(path), NULL, NULL };
    }
    return n;
}

enum { ITEMS_MAX = MANY + 10 };

static int system_in(struct site *s, const char *command)
{
    return system(arena_printf(s->arena, "cd %s && %s", s->top, command));
}

static void a_tree_is_copied_in(void **state)
{
    struct share_item items[ITEMS_MAX];
    struct site s;
    struct err e = { 0 };
    struct share_dir *to;
    char target[20] = "";
    size_t n;
    int fd;

    (void)state;
    open_site(&s);
    n = make_tree(&s, items);
    assert_int_equal(symlinkat("run.sh", s.top_fd, "tree/link"), 0);
    items[n++] = (struct share_item){ SHARE_LINK, "link", "link", 0, 0, NULL, NULL };
    folder(&s, "to");
    to = share_open_dir(s.root, "to", &e);
    fd = io_open_dir_at(s.top_fd, "tree", &e);
    must(share_copy_in(to, fd, items, n, &e), &e);
    assert_int_equal(system_in(&s, "mv share/to/deep/other share/to/deep/er && "
                                   "diff -r --no-dereference tree share/to"),
                     0);
    assert_int_equal(mode_of(&s, "to/deep/er"), 0750);
    assert_int_equal(mode_of(&s, "to/deep/er/large"), 0640);
    assert_int_equal(mode_of(&s, "to/run.sh"), 0750);
    assert_int_equal(readlinkat(s.top_fd, "share/to/link", target, sizeof target - 1), 6);
    close(fd);
    share_close(to);
    site_close(&s);
}

static void what_cannot_be_copied_in_is_told(void **state)
{
    static const struct digest other = { { 1 } }; /* than that of any file */
    static const struct {
        struct share_item item;
        enum err_kind kind;
    } cases[] = {
        { { SHARE_FILE, "run.sh", "taken", 0640, 10, NULL, NULL }, ERR_EXISTS },
        { { SHARE_FILE, "run.sh", "no/where", 0640, 10, NULL, NULL }, ERR_NOT_FOUND },
        { { SHARE_FILE, "run.sh", "x", 0640, 9, NULL, NULL }, ERR_FAILED },
        { { SHARE_FILE, "run.sh", "x", 0640, 11, NULL, NULL }, ERR_FAILED },
        { { SHARE_FILE, "deep/er/large", "x", 0640, LARGE_BYTES - 1, NULL, NULL }, ERR_FAILED },
        { { SHARE_FILE, "run.sh", "x", 0640, 10, NULL, &other }, ERR_FAILED },
        { { SHARE_FILE, "deep/er/large", "x", 0640, LARGE_BYTES, NULL, &other }, ERR_FAILED },
        { { SHARE_FILE, "gone", "x", 0640, 9, NULL, NULL }, ERR_NOT_FOUND },
        { { SHARE_FOLDER, "deep", "taken", 0750, 0, NULL, NULL }, ERR_EXISTS },
    };
    struct share_item items[ITEMS_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct site s;
        struct err e = { 0 };
        size_t n;
        int fd;

        open_site(&s);
        n = make_tree(&s, items);
        items[n++] = cases[i].item;
        put(&s, "taken", "theirs");
        fd = io_open_dir_at(s.top_fd, "tree", &e);
        (void)share_copy_in(s.root, fd, items, n, &e);
        if (e.kind != cases[i].kind)
            fail_msg("%zu: %s: %s", i, err_kind_name(e.kind), e.text);
        assert_string_equal(get(&s, "taken"), "theirs");
        close(fd);
        site_close(&s);
    }
}

static void a_tree_is_copied_out(void **state)
{
    struct share_item items[ITEMS_MAX];
    struct site s;
    struct err e = { 0 };
    struct share_dir *from;
    size_t n;
    int fd;

    (void)state;
    open_site(&s);
    n = make_tree(&s, items);
    assert_int_equal(renameat(s.top_fd, "tree", s.top_fd, "share/tree"), 0);
    assert_int_equal(mkdirat(s.top_fd, "out", 0700), 0);
    from = share_open_dir(s.root, "tree", &e);
    fd = io_open_dir_at(s.top_fd, "out", &e);
    must(share_copy_out(from, fd, items, n, &e), &e);
    assert_int_equal(system_in(&s, "mv out/deep/other out/deep/er && diff -r out share/tree"), 0);
    must_fail(share_copy_out(from, fd, &items[1], 1, &e), ERR_EXISTS, &e);
    close(fd);
    share_close(from);
    site_close(&s);
}

static void a_damaged_file_is_noticed(void **state)
{
    static const struct {
        struct share_item item;
        enum err_kind kind;
    } cases[] = {
        { { SHARE_FILE, "run.sh", "x", 0640, 9, NULL, NULL }, ERR_PROTOCOL },
        { { SHARE_FILE, "run.sh", "x", 0640, 11, NULL, NULL }, ERR_PROTOCOL },
        { { SHARE_FILE, "deep/er/large", "x", 0640, LARGE_BYTES + 1, NULL, NULL }, ERR_PROTOCOL },
        { { SHARE_FILE, "deep", "x", 0640, 10, NULL, NULL }, ERR_PROTOCOL },
        { { SHARE_FILE, "link", "x", 0640, 10, NULL, NULL }, ERR_PROTOCOL },
        { { SHARE_FILE, "gone", "x", 0640, 10, NULL, NULL }, ERR_NOT_FOUND },
    };
    struct share_item items[ITEMS_MAX];
    struct site s;
    struct share_dir *from;
    struct err e = { 0 };

    (void)state;
    open_site(&s);
    (void)make_tree(&s, items);
    assert_int_equal(symlinkat("run.sh", s.top_fd, "tree/link"), 0);
    assert_int_equal(renameat(s.top_fd, "tree", s.top_fd, "share/tree"), 0);
    from = share_open_dir(s.root, "tree", &e);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)share_copy_out(from, s.top_fd, &cases[i].item, 1, &e);
        if (e.kind != cases[i].kind)
            fail_msg("%zu: %s: %s", i, err_kind_name(e.kind), e.text);
        err_clear(&e);
    }
    share_close(from);
    site_close(&s);
}

/* ---- a large file ---- */

static void read_rest(struct share_input *in, struct buf *out, struct err *e)
{
    ssize_t n;

    while ((n = share_read_input(in, buf_reserve(out, 1000), 1000, e)) > 0)
        buf_added(out, (size_t)n);
    assert_int_equal(n, 0);
}

static void a_file_is_read_from_somewhere_on(void **state)
{
    static const char *const wrong[] = { "sub", "sub/link", "over/file" };
    struct site s;
    struct err e = { 0 };
    struct buf out = { 0 };
    struct share_input *in;

    (void)state;
    open_site(&s);
    assert_int_equal(system_in(&s, "cd share && mkdir sub && seq 1000000 >sub/file && "
                                   "ln -s file sub/link && ln -s sub over"),
                     0);
    in = share_open_input(s.root, "sub/file", 6888890, &e);
    assert_non_null(in);
    read_rest(in, &out, &e);
    assert_string_equal(buf_text(&out), "00000\n");
    share_close_input(in);
    buf_clear(&out);
    in = share_open_input(s.root, "sub/file", 0, &e);
    read_rest(in, &out, &e);
    assert_int_equal(out.n, 6888896);
    share_close_input(in);
    for (size_t i = 0; i < 2 + (size_t)share_is_mounted(s.share); i++) {
        err_clear(&e);
        assert_null(share_open_input(s.root, wrong[i], 0, &e)); /* no plain file, or by a symlink */
    }
    must_fail(share_open_input(s.root, "sub/none", 0, &e) == NULL ? -1 : 0, ERR_NOT_FOUND, &e);
    buf_free(&out);
    site_close(&s);
}

static void a_large_file_is_written_in_pieces(void **state)
{
    struct site s;
    struct err e = { 0 };
    struct share_file *f;
    uint64_t n = 1, all = 0, pieces = 0;
    int fd;

    (void)state;
    open_site(&s);
    make_large(s.top_fd, "large");
    fd = openat(s.top_fd, "large", O_RDONLY);
    f = share_create(s.root, "copy", 0640, &e);
    assert_non_null(f);
    while (n > 0) {
        must(share_put(f, fd, 1 << 20, &n, &e), &e);
        assert_true(n <= 1 << 20);
        all += n;
        pieces++;
    }
    must(share_end(f, &e), &e);
    assert_int_equal(all, LARGE_BYTES);
    assert_true(pieces >= 4);
    assert_int_equal(mode_of(&s, "copy"), 0640);
    assert_int_equal(system_in(&s, "cmp large share/copy"), 0);
    assert_null(share_create(s.root, "copy", 0640, &e));
    assert_int_equal(e.kind, ERR_EXISTS);
    close(fd);
    site_close(&s);
}

/* ---- making it durable ---- */

static void files_and_folders_are_synced(void **state)
{
    struct share_sync files[MANY + 3];
    struct site s;
    struct err e = { 0 };
    size_t n = 0;

    (void)state;
    open_site(&s);
    folder(&s, "folder");
    for (int i = 0; i < MANY; i++) {
        const char *name = arena_printf(s.arena, "folder/f%d", i);

        put(&s, name, "x");
        files[n++] = (struct share_sync){ s.root, name, -1 };
    }
    files[n++] = (struct share_sync){ s.root, "folder", -1 };
    files[n++] = (struct share_sync){ s.root, "nothing", -1 };
    share_sync_each(files, n);
    for (size_t i = 0; i + 1 < n; i++)
        assert_int_equal(files[i].error, 0);
    assert_int_equal(files[n - 1].error, ENOENT);
    share_sync_each(files, 0);
    must(share_sync_dir(s.root, "it", &e), &e);
    if (share_is_synced_whole(s.root))
        must(share_sync(s.root, &e), &e);
    site_close(&s);
}

/* ---- links that others put in the way ---- */

/* Over SFTP it is the server that follows them. */
static void no_link_on_the_way_is_followed(void **state)
{
    struct share_item item = { SHARE_FOLDER, "x", "out/x", 0700, 0, NULL, NULL };
    struct share_sync file = { NULL, "out/precious", 0 };
    struct site s;
    struct share_stat st;
    struct list entries;
    struct buf out = { 0 };
    struct err e = { 0 };

    (void)state;
    if (site_is_over_sftp)
        return;
    open_site(&s);
    assert_int_equal(mkdirat(s.top_fd, "theirs", 0700), 0);
    site_write(s.top_fd, "theirs/precious", "mine");
    folder(&s, "project");
    put(&s, "project/file", "x");
    link_to(&s, "../theirs", "out");
    link_to(&s, "project", "near");
    must_fail(share_stat(s.root, "out/precious", &st, &e), ERR_DENIED, &e);
    must_fail(share_stat(s.root, "near/file", &st, &e), ERR_DENIED, &e);
    must_fail(share_list(s.root, "near/.", SHARE_NAMES, s.arena, &entries, &e), ERR_DENIED, &e);
    must_fail(share_read(s.root, "out/precious", 10, &out, &e), ERR_USAGE, &e);
    assert_null(share_open_input(s.root, "out/precious", 0, &e));
    must_fail(share_write(s.root, "out/precious", "x", 1, 0600, &e), ERR_DENIED, &e);
    must_fail(ship(&s, "out/precious", 0600, -1, &e), ERR_DENIED, &e);
    assert_null(share_create(s.root, "out/new", 0600, &e));
    must_fail(share_make_dir(s.root, "out/new", 0700, &e), ERR_DENIED, &e);
    must_fail(share_set_folder(s.root, "out/.", -1, 0777, &e), ERR_DENIED, &e);
    must_fail(share_copy_in(s.root, s.top_fd, &item, 1, &e), ERR_DENIED, &e);
    must_fail(share_rename(s.root, "project/file", s.root, "out/file", &e), ERR_DENIED, &e);
    must_fail(share_remove_file(s.root, "out/precious", &e), ERR_DENIED, &e);
    must_fail(share_remove_tree(s.root, "out/precious", &e), ERR_DENIED, &e);
    file.dir = s.root;
    share_sync_each(&file, 1);
    assert_int_equal(file.error, ELOOP);
    must(share_remove_tree(s.root, "out", &e), &e);
    assert_string_equal(site_read(&s, "theirs/precious"), "mine");
    site_close(&s);
}

/* ---- the mode of a folder, in one round trip ---- */

enum { PATIENCE_MS = 20 * 1000 };

/* A server that says what came of a mode only when it is also asked what the mode is. */
struct mode_server {
    enum sftp_status status;
    mode_t looks[2]; /* what it says the first time and later */
    int n_looks;
    int fd;
    pthread_t thread;
};

static void say_status(struct buf *out, uint32_t id, enum sftp_status status)
{
    packet_add_u32(out, 1 + 4 + 4 + 4 + 4);
    buf_add_char(out, (char)FXP_STATUS);
    packet_add_u32(out, id);
    packet_add_u32(out, status);
    packet_add_str(out, "");
    packet_add_str(out, "");
}

static void say_mode(struct buf *out, uint32_t id, mode_t mode)
{
    packet_add_u32(out, 1 + 4 + 4 + 4);
    buf_add_char(out, (char)FXP_ATTRS);
    packet_add_u32(out, id);
    packet_add_u32(out, SFTP_MODE);
    packet_add_u32(out, mode); /* with the type, which clients do not send */
}

/* The type of the next request, which comes without an answer to the one before; 0: none came. */
static int next_request(int fd, uint32_t *id)
{
    struct pollfd polled = { .fd = fd, .events = POLLIN };
    uint8_t head[4], body[1024];
    struct packet p = { head, sizeof head, false };
    uint32_t n;
    int type;

    if (poll(&polled, 1, PATIENCE_MS) != 1 || io_read_all(fd, head, sizeof head) != sizeof head)
        return 0;
    n = packet_u32(&p);
    if (n > sizeof body || io_read_all(fd, body, n) != (ssize_t)n)
        return 0;
    p = (struct packet){ body, n, false };
    type = packet_u8(&p);
    *id = packet_u32(&p);
    return type;
}

static void *serve_modes(void *context)
{
    struct mode_server *s = context;
    struct buf out = { 0 }, held = { 0 };
    uint32_t id;
    int type;

    while ((type = next_request(s->fd, &id)) != 0) {
        if (type == FXP_INIT) {
            packet_add_u32(&out, 5);
            buf_add_char(&out, FXP_VERSION);
            packet_add_u32(&out, SFTP_VERSION);
        } else if (type == FXP_SETSTAT) {
            say_status(&held, id, s->status);
        } else if (type == FXP_LSTAT) {
            buf_add(&out, held.bytes, held.n);
            buf_clear(&held);
            say_mode(&out, id, s->looks[s->n_looks++ > 0]);
        }
        if (out.n > 0 && send(s->fd, out.bytes, out.n, MSG_NOSIGNAL) != (ssize_t)out.n)
            break;
        buf_clear(&out);
    }
    buf_free(&out);
    buf_free(&held);
    close(s->fd);
    return NULL;
}

static void a_mode_takes_one_round_trip_and_is_looked_at(void **state)
{
    static const struct {
        enum sftp_status status;
        mode_t looks[2];
        enum err_kind kind;
        int n_looks;
    } cases[] = {
        { FX_OK, { S_IFDIR | 0750 }, ERR_NONE, 1 },
        { FX_OK, { S_IFDIR | 0755, S_IFDIR | 0750 }, ERR_NONE, 2 }, /* it looked before it set */
        { FX_OK, { S_IFDIR | 0755, S_IFDIR | 0755 }, ERR_DENIED, 2 },
        { FX_OK, { S_IFLNK | 0750 }, ERR_DENIED, 1 },
        { FX_PERMISSION_DENIED, { S_IFDIR | 0700 }, ERR_NONE, 1 },
        { FX_PERMISSION_DENIED, { S_IFDIR | 0755 }, ERR_DENIED, 1 },
        { FX_NO_SUCH_FILE, { S_IFDIR | 0700 }, ERR_NOT_FOUND, 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mode_server s = { .status = cases[i].status,
                                 .looks = { cases[i].looks[0], cases[i].looks[1] } };
        struct share_dir *root;
        struct sftp *sftp;
        struct err e = { 0 };
        int ends[2], result;

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        s.fd = ends[1];
        assert_int_equal(pthread_create(&s.thread, NULL, serve_modes, &s), 0);
        sftp = sftp_open(ends[0], &e);
        assert_non_null(sftp);
        root = share_open_sftp(sftp, "/srv");
        result = share_set_folder_mode(root, "project", 0750, &e);
        if (result != (cases[i].kind == ERR_NONE ? 0 : -1) || e.kind != cases[i].kind)
            fail_msg("case %zu: %d, %s: %s", i, result, err_kind_name(e.kind), e.text);
        share_close(root);
        sftp_close(sftp);
        pthread_join(s.thread, NULL);
        assert_int_equal(s.n_looks, cases[i].n_looks);
    }
}

/* ---- what one may not ---- */

static void missing_rights_are_told(void **state)
{
    struct site s;
    struct share_stat st;
    struct buf out = { 0 };
    struct err e = { 0 };

    (void)state;
    site_become_nobody();
    open_site(&s);
    site_add_foreign(s.top_fd, "share/theirs", 0755, "file");
    site_add_foreign(s.top_fd, "share/shut", 0700, "file");
    must(share_stat(s.root, "theirs/file", &st, &e), &e);
    must_fail(share_stat(s.root, "shut/file", &st, &e), ERR_DENIED, &e);
    must_fail(share_read(s.root, "shut/file", 10, &out, &e), ERR_DENIED, &e);
    must_fail(share_write(s.root, "theirs/file", "x", 1, 0644, &e), ERR_DENIED, &e);
    must_fail(share_write(s.root, "theirs/new", "x", 1, 0644, &e), ERR_DENIED, &e);
    must_fail(share_make_dir(s.root, "theirs/new", 0755, &e), ERR_DENIED, &e);
    must_fail(share_remove_file(s.root, "theirs/file", &e), ERR_DENIED, &e);
    must_fail(share_remove_tree(s.root, "theirs", &e), ERR_DENIED, &e);
    must_fail(share_rename(s.root, "theirs/file", s.root, "mine", &e), ERR_DENIED, &e);
    assert_null(share_open_dir(s.root, "shut/deep", &e));
    assert_int_equal(e.kind, ERR_DENIED);
    site_become_root();
    site_close(&s);
}

/* ---- connections ---- */

static void must_be_away(int result, struct err *e)
{
    must_fail(result, ERR_UNREACHABLE, e);
}

static void what_a_lost_connection_interrupts_can_be_tried_again(void **state)
{
    const struct share_item in = { SHARE_FILE, "large", "copy", 0640, LARGE_BYTES, NULL, NULL };
    struct site s;
    struct share_dir *d;
    struct share_file *f;
    struct share_stat st;
    struct share_item item = in;
    struct share_sync sync;
    struct buf out = { 0 };
    struct err e = { 0 };
    uint64_t n = 1;
    int fd, rc = 0;

    (void)state;
    open_site(&s);
    make_large(s.top_fd, "large");
    put(&s, "file", "x");
    f = share_create(s.root, "half", 0640, &e);
    fd = openat(s.top_fd, "large", O_RDONLY);
    sftp_server_kill(&s.server);
    while (rc == 0 && n > 0)
        rc = share_put(f, fd, 1 << 20, &n, &e);
    if (rc < 0) /* or all was under way before we knew */
        must_be_away(rc, &e);
    must_be_away(share_end(f, &e), &e);
    must_be_away(share_stat(s.root, "file", &st, &e), &e);
    must_be_away(share_read(s.root, "file", 10, &out, &e), &e);
    must_be_away(share_write(s.root, "file", "x", 1, 0640, &e), &e);
    must_be_away(ship(&s, "log", 0640, fd, &e), &e);
    must_be_away(share_copy_in(s.root, s.top_fd, &item, 1, &e), &e);
    must_be_away(share_copy_out(s.root, s.top_fd, &in, 1, &e), &e);
    must_be_away(share_rename(s.root, "file", s.root, "other", &e), &e);
    must_be_away(share_remove_tree(s.root, "file", &e), &e);
    sync = (struct share_sync){ s.root, "file", 0 };
    share_sync_each(&sync, 1);
    assert_int_equal(sync.error, ECONNRESET);
    s.server.is_away = true;
    assert_null(share_open(s.access, s.share, &e));
    must_be_away(-1, &e);
    s.server.is_away = false;
    d = share_open(s.access, s.share, &e);
    assert_non_null(d);
    must(share_read(d, "file", 10, &out, &e), &e);
    share_close(d);
    close(fd);
    buf_free(&out);
    site_close(&s);
}

static void a_connection_that_died_unnoticed_is_made_again(void **state)
{
    struct site s;
    struct share_source source = { .connect = sftp_server_connect, .context = &s.server };
    struct shares *access;
    struct share_dir *d;
    struct err e = { 0 };

    (void)state;
    open_site(&s);
    access = shares_create(&source);
    d = share_open(access, s.share, &e);
    assert_non_null(d);
    assert_int_equal(shares_rest_ms(access), -1);
    share_close(d);
    assert_true(shares_rest_ms(access) > 0);
    sftp_server_kill(&s.server);
    usleep(2100 * 1000);
    d = share_open(access, s.share, &e);
    must(d == NULL ? -1 : 0, &e);
    assert_true(share_exists(d, "demo"));
    share_close(d);
    shares_destroy(access);
    site_close(&s);
}

static void note_leaving(void *context)
{
    ((struct sftp_server *)context)->is_away = true;
}

static void a_connection_that_rests_is_ended(void **state)
{
    struct site s;
    struct share_source source = {
        .connect = sftp_server_connect, .leave = note_leaving, .context = &s.server, .rest_ms = 50
    };
    struct shares *access;
    struct share_dir *d;
    struct err e = { 0 };

    (void)state;
    open_site(&s);
    access = shares_create(&source);
    d = share_open(access, s.share, &e);
    assert_non_null(d);
    usleep(60 * 1000);
    shares_rest(access); /* it is in use */
    assert_true(share_exists(d, "demo"));
    share_close(d);
    assert_false(s.server.is_away);
    while (shares_rest_ms(access) > 0)
        usleep(1000);
    shares_rest(access);
    assert_true(s.server.is_away);
    assert_int_equal(shares_rest_ms(access), -1);
    shares_destroy(access);
    s.server.is_away = false;
    site_close(&s);
}

static void a_share_is_found_by_its_id(void **state)
{
    static const struct {
        const char *server_id, *projects, *prefix;
        bool is_found;
    } cases[] = {
        { "server", "", "", true },      { "server", "demo", "", true },
        { "server", "", "/jail", true }, { "server", "demo", "/srv/jail", true },
        { "another", "", "", false },
    };
    struct site s;

    (void)state;
    open_site(&s);
    put(&s, "demo/in it", "");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *path = mem_printf("%s%s", cases[i].prefix, s.share_path);
        char *name = share_sftp_name(cases[i].server_id, cases[i].projects, path);
        struct err e = { 0 };
        struct share_dir *d = share_open(s.access, name, &e);

        if ((d != NULL) != cases[i].is_found)
            fail_msg("%s: %s", name, e.text);
        if (d == NULL) {
            assert_int_equal(e.kind, ERR_UNREACHABLE);
            assert_non_null(strstr(e.text, "of another server"));
        } else {
            assert_true(share_exists(d, cases[i].projects[0] == '\0' ? "demo/in it" : "in it"));
        }
        share_close(d);
        free(name);
        free(path);
    }
    site_close(&s);
}

static void a_name_says_whether_it_is_mounted(void **state)
{
    struct shares *access = shares_create(NULL);
    struct err e = { 0 };
    char *name = share_sftp_name("4711", "lab", "/srv/data");

    (void)state;
    assert_string_equal(name, "sftp:4711:lab:/srv/data");
    assert_false(share_is_mounted(name));
    assert_true(share_is_mounted("/srv/data"));
    assert_null(share_open(access, name, &e));
    must_be_away(-1, &e);
    assert_int_equal(shares_rest_ms(access), -1);
    shares_rest(access);
    free(name);
    shares_destroy(access);
    shares_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_are_opened),
        cmocka_unit_test(it_says_what_lies_there),
        cmocka_unit_test(all_names_are_listed),
        cmocka_unit_test(folders_have_the_mode_they_were_given),
        cmocka_unit_test(what_the_folder_above_gives_stays),
        cmocka_unit_test(what_lies_there_is_removed),
        cmocka_unit_test(names_are_claimed_by_the_first),
        cmocka_unit_test(it_renames_between_folders),
        cmocka_unit_test(files_are_read),
        cmocka_unit_test(a_fifo_holds_up_nobody),
        cmocka_unit_test(written_files_are_new),
        cmocka_unit_test(a_log_is_brought_up_to_date),
        cmocka_unit_test(a_log_gets_its_parts_one_behind_the_other),
        cmocka_unit_test(a_tree_is_copied_in),
        cmocka_unit_test(what_cannot_be_copied_in_is_told),
        cmocka_unit_test(a_tree_is_copied_out),
        cmocka_unit_test(a_damaged_file_is_noticed),
        cmocka_unit_test(a_file_is_read_from_somewhere_on),
        cmocka_unit_test(a_large_file_is_written_in_pieces),
        cmocka_unit_test(files_and_folders_are_synced),
        cmocka_unit_test(no_link_on_the_way_is_followed),
        cmocka_unit_test(missing_rights_are_told),
        cmocka_unit_test(a_name_says_whether_it_is_mounted),
    };
    const struct CMUnitTest connections[] = {
        cmocka_unit_test(what_a_lost_connection_interrupts_can_be_tried_again),
        cmocka_unit_test(a_connection_that_died_unnoticed_is_made_again),
        cmocka_unit_test(a_connection_that_rests_is_ended),
        cmocka_unit_test(a_share_is_found_by_its_id),
        cmocka_unit_test(a_mode_takes_one_round_trip_and_is_looked_at),
    };

    int failed = SITE_EITHER_WAY(tests);

    return failed + SITE_OVER_SFTP(connections);
}
