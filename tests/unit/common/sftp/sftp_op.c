/* SPDX-License-Identifier: MIT */
/* sftp_op.c - an SFTP client beside a real server */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/path.h"
#include "common/sftp/sftp_stripe.h"
#include "tests/unit/skip.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

enum { MANY = 1500 };

/* --- a real server that works in a folder of ours ------------------------------ */

struct session {
    char folder[64];
    pid_t pid;
    struct sftp *s;
    struct err e;
};

static const char *server_program(void)
{
    static const char *const places[] = { "/usr/lib/openssh/sftp-server",
                                          "/usr/libexec/openssh/sftp-server",
                                          "/usr/lib/ssh/sftp-server", "/usr/libexec/sftp-server" };

    for (size_t i = 0; i < LENGTH(places); i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

static void become_server(int fd, const char *folder)
{
    dup2(fd, STDIN_FILENO);
    dup2(fd, STDOUT_FILENO);
    umask(077);
    if (chdir(folder) == 0)
        execl(server_program(), "sftp-server", (char *)NULL);
    _exit(127);
}

static int begin(void **state)
{
    struct session *t = mem_alloc(sizeof *t);
    int ends[2];

    *state = t;
    strcpy(t->folder, "/tmp/sftp-XXXXXX");
    if (mkdtemp(t->folder) == NULL)
        return -1;
    if (server_program() == NULL)
        return 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    t->pid = fork();
    if (t->pid == 0)
        become_server(ends[1], t->folder);
    close(ends[1]);
    t->s = sftp_open(ends[0], &t->e);
    return t->s != NULL ? 0 : -1;
}

static int end(void **state)
{
    struct session *t = *state;
    int result;

    sftp_close(t->s);
    if (t->pid > 0)
        waitpid(t->pid, NULL, 0);
    result = io_remove_tree(t->folder, NULL);
    free(t);
    return result;
}

static struct session *real(void **state)
{
    struct session *t = *state;

    if (t->s == NULL)
        skip_because("takes sftp-server");
    err_clear(&t->e);
    return t;
}

static char *here(const struct session *t, const char *name)
{
    return path_join(t->folder, name);
}

static void must(struct session *t, int result)
{
    if (result < 0)
        fail_msg("%s", t->e.text);
}

static void assert_fails(struct session *t, int result, enum err_kind kind, const char *words)
{
    assert_int_equal(result, -1);
    if (t->e.kind != kind || strstr(t->e.text, words) == NULL)
        fail_msg("not %s and '%s': %s: %s", err_kind_name(kind), words, err_kind_name(t->e.kind),
                 t->e.text);
    err_clear(&t->e);
}

struct whole {
    struct buf *out;
    struct err *e;
    int result;
};

static void take_whole(void *context, const struct sftp_answer *a)
{
    struct whole *w = context;

    w->result = a->error != NULL ? err_set(w->e, a->error->kind, "%s", a->error->text) : 0;
    if (a->error == NULL && w->out != NULL)
        buf_add(w->out, a->content.data, a->content.n);
}

static int read_whole(struct sftp *s, const char *path, size_t max_bytes, struct buf *out,
                      struct err *e)
{
    struct sftp_op op = { .kind = SFTP_OP_GET, .path = path, .max_bytes = max_bytes };
    struct whole w = { out, e, 0 };

    if (sftp_start(s, &op, take_whole, &w, e) < 0)
        return -1;
    (void)sftp_finish(s, NULL);
    return w.result;
}

static int put_whole(struct sftp *s, const char *path, struct bytes content, mode_t mode,
                     struct err *e)
{
    struct sftp_op op = {
        .kind = SFTP_OP_PUT, .path = path, .content = content, .mode = mode, .sync = true
    };
    struct whole w = { NULL, e, 0 };

    if (sftp_start(s, &op, take_whole, &w, e) < 0)
        return -1;
    (void)sftp_finish(s, NULL);
    return w.result;
}

static void make_file(const struct session *t, const char *name, const char *text)
{
    char *path = here(t, name);

    assert_int_equal(io_write_file_at(AT_FDCWD, path, text, strlen(text), 0644, NULL), 0);
    free(path);
}

static void assert_file_is(const struct session *t, const char *name, const void *bytes, size_t n)
{
    struct buf b = { 0 };
    char *path = here(t, name);

    assert_int_equal(io_read_file(path, 1 << 28, &b, NULL), 0);
    assert_int_equal(b.n, n);
    assert_memory_equal(b.bytes, bytes, n);
    buf_free(&b);
    free(path);
}

static mode_t mode_of(const struct session *t, const char *name)
{
    char *path = here(t, name);
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    free(path);
    return st.st_mode & 07777;
}

static void knows_what_the_server_can(void **state)
{
    struct session *t = real(state);

    assert_true(sftp_can(t->s, SFTP_CAN_SYNC));
    assert_true(sftp_can(t->s, SFTP_CAN_REPLACE));
    assert_true(sftp_can(t->s, SFTP_CAN_TELL_SPACE));
    assert_false(sftp_is_broken(t->s));
}

static void tells_what_a_path_is(void **state)
{
    struct session *t = real(state);
    struct sftp_attrs a;

    make_file(t, "file", "hello");
    must(t, sftp_symlink(t->s, "file", "link", &t->e));
    must(t, sftp_stat(t->s, "link", &a, &t->e));
    assert_true(S_ISREG(a.mode));
    assert_int_equal(a.size_bytes, 5);
    assert_int_equal(a.uid, geteuid());
    must(t, sftp_lstat(t->s, "link", &a, &t->e));
    assert_true(S_ISLNK(a.mode));
    assert_fails(t, sftp_lstat(t->s, "nothing", &a, &t->e), ERR_NOT_FOUND,
                 "look at nothing on the server: no such file");
}

static void follows_links_by_request(void **state)
{
    struct session *t = real(state);
    char *target;

    must(t, sftp_symlink(t->s, "some/where", "link", &t->e));
    target = sftp_read_link(t->s, "link", &t->e);
    assert_string_equal(target, "some/where");
    assert_null(sftp_read_link(t->s, "nothing", &t->e));
    assert_int_equal(t->e.kind, ERR_NOT_FOUND);
    free(target);
}

static void modes_are_exact_whatever_the_umask(void **state)
{
    struct session *t = real(state);

    must(t, sftp_mkdir(t->s, "folder", 02750, &t->e));
    assert_int_equal(mode_of(t, "folder"), 02750);
    must(t, sftp_file_close(
                sftp_file_open(t->s, "folder/file", SFTP_WRITE | SFTP_CREATE, 0664, &t->e), &t->e));
    assert_int_equal(mode_of(t, "folder/file"), 0664);
    must(t, put_whole(t->s, "put", (struct bytes){ (const uint8_t *)"x", 1 }, 0640, &t->e));
    assert_int_equal(mode_of(t, "put"), 0640);
}

static pid_t serve_as_nobody(const struct session *t, int fd)
{
    pid_t pid = fork();

    if (pid > 0)
        return pid;
    if (setgid(65534) == 0 && setuid(65534) == 0)
        become_server(fd, t->folder);
    _exit(127);
}

/* Where the owner is no member of the group, setting a mode would take its bit away. */
static void a_folder_keeps_the_group_of_the_one_above(void **state)
{
    struct session *t = real(state);
    struct sftp *s;
    int ends[2];
    pid_t pid;

    if (geteuid() != 0)
        skip_because("takes root");
    assert_int_equal(chown(t->folder, 65534, 4242), 0);
    assert_int_equal(chmod(t->folder, 02770), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pid = serve_as_nobody(t, ends[1]);
    close(ends[1]);
    s = sftp_open(ends[0], &t->e);
    assert_non_null(s);
    must(t, sftp_mkdir(s, "folder", 02700, &t->e));
    assert_int_equal(mode_of(t, "folder"), 02700);
    sftp_close(s);
    waitpid(pid, NULL, 0);
}

static void sets_attributes(void **state)
{
    struct session *t = real(state);
    struct sftp_attrs a = { .has = SFTP_MODE | SFTP_TIMES | SFTP_SIZE,
                            .mode = 0604,
                            .size_bytes = 2,
                            .atime_s = 1000000000,
                            .mtime_s = 1000000001 };

    make_file(t, "file", "hello");
    must(t, sftp_setstat(t->s, "file", &a, &t->e));
    must(t, sftp_stat(t->s, "file", &a, &t->e));
    assert_int_equal(a.mode & 07777, 0604);
    assert_int_equal(a.size_bytes, 2);
    assert_int_equal(a.mtime_s, 1000000001);
}

static void claims_are_exclusive(void **state)
{
    struct session *t = real(state);

    make_file(t, "file", "mine");
    make_file(t, "other", "yours");
    must(t, sftp_mkdir(t->s, "folder", 0755, &t->e));
    must(t, sftp_mkdir(t->s, "filled", 0755, &t->e));
    make_file(t, "filled/file", "");
    assert_fails(t, sftp_mkdir(t->s, "folder", 0700, &t->e), ERR_EXISTS, "folder on the server is");
    assert_int_equal(mode_of(t, "folder"), 0755);
    assert_fails(t, sftp_rename(t->s, "other", "file", &t->e), ERR_EXISTS, "file on the server is");
    assert_fails(t, sftp_rename(t->s, "folder", "filled", &t->e), ERR_EXISTS, "filled on");
    assert_fails(t, sftp_symlink(t->s, "x", "file", &t->e), ERR_EXISTS, "file on the server");
    assert_null(
        sftp_file_open(t->s, "file", SFTP_WRITE | SFTP_CREATE | SFTP_EXCLUSIVE, 0600, &t->e));
    assert_int_equal(t->e.kind, ERR_EXISTS);
    assert_file_is(t, "file", "mine", 4);
}

static void renames_and_removes(void **state)
{
    struct session *t = real(state);

    make_file(t, "a", "A");
    make_file(t, "b", "B");
    must(t, sftp_rename(t->s, "a", "c", &t->e));
    must(t, sftp_replace(t->s, "c", "b", &t->e));
    assert_file_is(t, "b", "A", 1);
    must(t, sftp_remove(t->s, "b", &t->e));
    assert_fails(t, sftp_remove(t->s, "b", &t->e), ERR_NOT_FOUND, "remove b");
    must(t, sftp_mkdir(t->s, "folder", 0755, &t->e));
    must(t, sftp_rmdir(t->s, "folder", &t->e));
    assert_fails(t, sftp_rmdir(t->s, "folder", &t->e), ERR_NOT_FOUND, "remove folder folder");
}

static void vague_failures_are_looked_into(void **state)
{
    struct session *t = real(state);
    struct buf b = { 0 };

    must(t, sftp_mkdir(t->s, "one", 0750, &t->e));
    must(t, sftp_mkdir(t->s, "one/two", 0750, &t->e));
    must(t, sftp_mkdir(t->s, "one/two/three", 0750, &t->e));
    assert_fails(t, sftp_rmdir(t->s, "one/two", &t->e), ERR_EXISTS, "it is not empty");
    assert_fails(t, sftp_remove(t->s, "one/two", &t->e), ERR_FAILED, "it is a folder");
    assert_fails(t, read_whole(t->s, "one/two", 100, &b, &t->e), ERR_FAILED, "it is a folder");
    assert_null(sftp_file_open(t->s, "one/two", SFTP_WRITE, 0, &t->e));
    assert_non_null(strstr(t->e.text, "it is a folder"));
    buf_free(&b);
}

static void a_full_disk_is_called_full(void **state)
{
    struct session *t = real(state);
    struct sftp_file *f;
    uint64_t big = UINT64_C(1) << 30;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        skip_because("takes /dev/full");
    close(fd);
    f = sftp_file_open(t->s, "/dev/full", SFTP_WRITE, 0, &t->e);
    if (f == NULL)
        skip_because("the server refuses to open /dev/full");
    /* The device is full while the disk is not: that it failed is all there is to say. */
    (void)sftp_file_write(f, big, "x", 1, &t->e);
    assert_fails(t, sftp_file_sync(f, &t->e), ERR_FAILED, "/dev/full");
    assert_int_equal(sftp_file_close(f, &t->e), -1);
}

static void permission_is_told_from_absence(void **state)
{
    struct session *t = real(state);
    struct sftp_attrs a;

    if (geteuid() == 0)
        skip_because("root may do it");
    must(t, sftp_mkdir(t->s, "closed", 0, &t->e));
    assert_fails(t, sftp_stat(t->s, "closed/file", &a, &t->e), ERR_DENIED, "permission denied");
    assert_fails(t, sftp_mkdir(t->s, "closed/file", 0700, &t->e), ERR_DENIED, "make folder");
    must(t, sftp_setstat(t->s, "closed", &(struct sftp_attrs){ .has = SFTP_MODE, .mode = 0700 },
                         &t->e));
}

static void tells_space(void **state)
{
    struct session *t = real(state);
    struct sftp_space space;

    must(t, sftp_space(t->s, ".", &space, &t->e));
    assert_true(space.free_bytes <= space.total_bytes && space.total_bytes > 0);
    assert_false(space.read_only);
    assert_fails(t, sftp_space(t->s, "nothing", &space, &t->e), ERR_NOT_FOUND, "nothing");
}

static int compare_names(const void *x, const void *y)
{
    const struct sftp_entry *a = x, *b = y;

    return strcmp(a->name, b->name);
}

static void lists_a_large_folder(void **state)
{
    struct session *t = real(state);
    struct arena *a = arena_create();
    struct list entries;
    struct sftp_entry *items;
    char name[32];

    must(t, sftp_list(t->s, ".", a, &entries, &t->e));
    assert_int_equal(entries.n, 0);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "file%05d", i);
        make_file(t, name, "abc");
    }
    must(t, sftp_list(t->s, ".", a, &entries, &t->e));
    assert_int_equal(entries.n, MANY);
    items = entries.items;
    qsort(items, entries.n, sizeof *items, compare_names);
    assert_string_equal(items[MANY - 1].name, name);
    assert_int_equal(items[0].attrs.size_bytes, 3);
    assert_fails(t, sftp_list(t->s, "nothing", a, &entries, &t->e), ERR_NOT_FOUND, "read folder");
    arena_destroy(a);
}

/* --- files ---------------------------------------------------------------------- */

static uint8_t *make_noise(size_t n)
{
    uint8_t *bytes = mem_alloc(n);
    uint32_t x = 1;

    for (size_t i = 0; i < n; i++) {
        x = x * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(x >> 24);
    }
    return bytes;
}

static void writes_and_reads_a_large_file(void **state)
{
    struct session *t = real(state);
    size_t n = 20 * 1000 * 1000 + 7;
    uint8_t *bytes = make_noise(n), *back = mem_alloc(n + 10);
    struct sftp_file *f =
        sftp_file_open(t->s, "big", SFTP_WRITE | SFTP_CREATE | SFTP_EXCLUSIVE, 0600, &t->e);
    struct sftp_attrs a;

    assert_non_null(f);
    must(t, sftp_file_write(f, 0, bytes, 1000, &t->e));
    must(t, sftp_file_sync_later(f, &t->e));
    must(t, sftp_file_write(f, 1000, bytes + 1000, n - 1000, &t->e));
    must(t, sftp_file_sync(f, &t->e));
    must(t, sftp_file_stat(f, &a, &t->e));
    assert_int_equal(a.size_bytes, n);
    must(t, sftp_file_close(f, &t->e));
    assert_file_is(t, "big", bytes, n);

    f = sftp_file_open(t->s, "big", SFTP_READ, 0, &t->e);
    assert_int_equal(sftp_file_read(f, 0, back, 10, &t->e), 10);
    for (size_t at = 10; at < n; at += 77777)
        assert_int_equal(sftp_file_read(f, at, back + at, 77777 < n - at ? 77777 : n - at, &t->e),
                         77777 < n - at ? 77777 : n - at);
    assert_memory_equal(back, bytes, n);
    assert_int_equal(sftp_file_read(f, 5000000, back, n, &t->e), n - 5000000);
    assert_memory_equal(back, bytes + 5000000, n - 5000000);
    assert_int_equal(sftp_file_read(f, n, back, 10, &t->e), 0);
    assert_int_equal(sftp_file_read(f, n + 1000, back, 10, &t->e), 0);
    assert_int_equal(sftp_file_read(f, 0, back, 10, &t->e), 10);
    must(t, sftp_file_close(f, &t->e));
    free(bytes);
    free(back);
}

static void a_file_that_grows_is_read_on(void **state)
{
    struct session *t = real(state);
    struct sftp_file *f;
    char bytes[16];

    make_file(t, "log", "one\n");
    f = sftp_file_open(t->s, "log", SFTP_READ, 0, &t->e);
    assert_int_equal(sftp_file_read(f, 0, bytes, sizeof bytes, &t->e), 4);
    assert_int_equal(sftp_file_read(f, 4, bytes, sizeof bytes, &t->e), 0);
    make_file(t, "log", "one\ntwo\n");
    assert_int_equal(sftp_file_read(f, 4, bytes, sizeof bytes, &t->e), 4);
    assert_memory_equal(bytes, "two\n", 4);
    must(t, sftp_file_close(f, &t->e));
}

static void a_file_may_be_closed_in_the_middle_of_reads(void **state)
{
    struct session *t = real(state);
    size_t n = 4 * 1000 * 1000;
    uint8_t *bytes = make_noise(n);
    struct sftp_file *f;
    struct sftp_attrs a;

    must(t, put_whole(t->s, "big", (struct bytes){ bytes, n }, 0600, &t->e));
    f = sftp_file_open(t->s, "big", SFTP_READ, 0, &t->e);
    assert_int_equal(sftp_file_read(f, 0, bytes, 600 * 1000, &t->e), 600 * 1000);
    must(t, sftp_file_close(f, &t->e));
    must(t, sftp_stat(t->s, "big", &a, &t->e));
    free(bytes);
}

static void what_a_server_does_not_take_has_no_room(void **state)
{
    struct session *t = real(state);
    uint8_t *bytes = make_noise(SFTP_PIECE_BYTES);
    struct sftp_file *f = sftp_file_open(t->s, "file", SFTP_WRITE | SFTP_CREATE, 0600, &t->e);
    uint64_t at = 0;

    kill(t->pid, SIGSTOP);
    for (; sftp_file_has_room(f) && at < 1 << 30; at += SFTP_PIECE_BYTES)
        must(t, sftp_file_write(f, at, bytes, SFTP_PIECE_BYTES, &t->e));
    assert_in_range(at, SFTP_PIECE_BYTES, 100 * SFTP_PIECE_BYTES);
    kill(t->pid, SIGCONT);
    must(t, sftp_file_sync(f, &t->e));
    assert_true(sftp_file_has_room(f));
    must(t, sftp_file_close(f, &t->e));
    free(bytes);
}

static void a_write_that_fails_is_told(void **state)
{
    struct session *t = real(state);
    struct sftp_file *f;
    int result;

    make_file(t, "file", "");
    f = sftp_file_open(t->s, "file", SFTP_READ, 0, &t->e);
    result = sftp_file_write(f, 0, "x", 1, &t->e);
    if (result == 0)
        result = sftp_file_sync(f, &t->e);
    assert_fails(t, result, ERR_NOT_FOUND, "write file"); /* EBADF is called so */
    assert_int_equal(sftp_file_close(f, &t->e), -1);
    assert_false(sftp_is_broken(t->s));
}

static void reads_whole_files_up_to_a_limit(void **state)
{
    struct session *t = real(state);
    size_t n = 3 * 1000 * 1000;
    uint8_t *bytes = make_noise(n);
    struct buf b = { 0 };

    must(t, put_whole(t->s, "big", (struct bytes){ bytes, n }, 0600, &t->e));
    must(t, read_whole(t->s, "big", n, &b, &t->e));
    assert_int_equal(b.n, n);
    assert_memory_equal(b.bytes, bytes, n);
    buf_clear(&b);
    assert_fails(t, read_whole(t->s, "big", n - 1, &b, &t->e), ERR_USAGE, "larger than");
    must(t, read_whole(t->s, "/proc/self/comm", 100, &b, &t->e));
    assert_string_equal(buf_text(&b), "sftp-server\n");
    buf_free(&b);
    free(bytes);
}

/* --- many at once ------------------------------------------------------------------ */

struct tally {
    size_t n_done, n_failed;
    struct sftp *s;
};

static void count(void *context, const struct sftp_answer *a)
{
    struct tally *y = context;

    y->n_done++;
    y->n_failed += a->error != NULL;
}

static void puts_and_removes_thousands_of_files(void **state)
{
    struct session *t = real(state);
    struct tally y = { 0 };
    uint8_t *bytes = make_noise(8192);
    char name[64];

    must(t, sftp_mkdir(t->s, "tree", 0755, &t->e));
    must(t, sftp_mkdir(t->s, "tree/below", 0755, &t->e));
    for (int i = 0; i < 2 * MANY; i++) {
        snprintf(name, sizeof name, i % 2 ? "tree/%d" : "tree/below/%d", i);
        must(t, sftp_start(t->s,
                           &(struct sftp_op){ .kind = SFTP_OP_PUT,
                                              .path = name,
                                              .mode = 0640,
                                              .flags = SFTP_EXCLUSIVE,
                                              .content = { bytes, 8192 } },
                           count, &y, &t->e));
    }
    must(t, sftp_finish(t->s, &t->e));
    assert_int_equal(y.n_done, 2 * MANY);
    assert_int_equal(y.n_failed, 0);
    assert_file_is(t, name, bytes, 8192);
    assert_int_equal(mode_of(t, name), 0640);
    must(t, sftp_symlink(t->s, "/", "tree/root", &t->e));
    must(t, sftp_remove_tree(t->s, "tree", &t->e));
    must(t, sftp_remove_tree(t->s, "tree", &t->e));
    assert_int_equal(sftp_lstat(t->s, "tree", &(struct sftp_attrs){ 0 }, &t->e), -1);
    free(bytes);
}

static void files_and_folders_are_synced(void **state)
{
    static const char *const names[] = { "file", "folder", "nothing" };
    struct session *t = real(state);
    struct tally y = { 0 };

    make_file(t, "file", "x");
    must(t, sftp_mkdir(t->s, "folder", 0755, &t->e));
    for (int i = 0; i < MANY; i++)
        must(t, sftp_start(t->s, &(struct sftp_op){ .kind = SFTP_OP_SYNC, .path = names[i % 3] },
                           count, &y, &t->e));
    must(t, sftp_finish(t->s, &t->e));
    assert_int_equal(y.n_done, MANY);
    assert_int_equal(y.n_failed, MANY / 3);
}

static void count_sync(void *context, const struct err *error)
{
    count(context, &(struct sftp_answer){ .error = error });
}

static void wait_for(struct session *t, const struct tally *y, size_t n)
{
    while (y->n_done < n)
        must(t, sftp_wait(t->s, &t->e));
}

static void a_folder_that_stays_open_is_synced(void **state)
{
    struct session *t = real(state);
    struct tally good = { 0 }, bad = { 0 };
    struct sftp_folder *folder, *nothing;

    must(t, sftp_mkdir(t->s, "folder", 0755, &t->e));
    folder = sftp_folder_open(t->s, "folder", count_sync, &good);
    nothing = sftp_folder_open(t->s, "nothing", count_sync, &bad);
    for (size_t i = 1; i <= 3; i++) {
        must(t, sftp_folder_sync(folder, &t->e));
        must(t, sftp_folder_sync(folder, &t->e));
        must(t, sftp_folder_sync(nothing, &t->e));
        wait_for(t, &good, 2 * i);
        wait_for(t, &bad, i);
    }
    assert_int_equal(good.n_failed, 0);
    assert_int_equal(bad.n_failed, 3);
    /* Nobody is told of this one. */
    must(t, sftp_folder_sync(folder, &t->e));
    sftp_folder_close(folder);
    sftp_folder_close(nothing);
    must(t, sftp_lstat(t->s, "folder", &(struct sftp_attrs){ 0 }, &t->e));
    assert_int_equal(good.n_done, 6);
}

static void syncs_of_a_folder_end_with_the_server(void **state)
{
    struct session *t = real(state);
    struct tally y = { 0 };
    struct sftp_folder *folder = sftp_folder_open(t->s, ".", count_sync, &y);

    must(t, sftp_folder_sync(folder, &t->e));
    kill(t->pid, SIGKILL);
    while (sftp_wait(t->s, &t->e) == 0)
        ;
    assert_int_equal(y.n_done, 1);
    assert_fails(t, sftp_folder_sync(folder, &t->e), ERR_UNREACHABLE, "the connection");
    sftp_folder_close(folder);
}

/* More than may be open at once. */
static void thousands_of_files_and_folders_are_read(void **state)
{
    struct session *t = real(state);
    struct arena *a = arena_create();
    const struct sftp_op ops[] = { { .kind = SFTP_OP_GET, .path = "folder/file", .max_bytes = 10 },
                                   { .kind = SFTP_OP_LIST, .path = "folder", .arena = a } };
    struct tally y = { 0 };

    must(t, sftp_mkdir(t->s, "folder", 0755, &t->e));
    make_file(t, "folder/file", "x");
    for (int i = 0; i < 2 * MANY; i++)
        must(t, sftp_start(t->s, &ops[i % 2], count, &y, &t->e));
    must(t, sftp_finish(t->s, &t->e));
    assert_int_equal(y.n_done, 2 * MANY);
    assert_int_equal(y.n_failed, 0);
    arena_destroy(a);
}

static void each_failure_among_many_is_told(void **state)
{
    struct session *t = real(state);
    struct tally y = { 0 };

    must(t, sftp_mkdir(t->s, "folder", 0755, &t->e));
    for (int i = 0; i < MANY; i++)
        must(t, sftp_start(t->s,
                           &(struct sftp_op){ .kind = SFTP_OP_MKDIR,
                                              .path = i % 3 ? "folder" : "nothing/folder",
                                              .mode = 0755 },
                           count, &y, &t->e));
    must(t, sftp_finish(t->s, &t->e));
    assert_int_equal(y.n_done, MANY);
    assert_int_equal(y.n_failed, MANY);
}

static void start_another(void *context, const struct sftp_answer *a)
{
    struct tally *y = context;

    count(y, a);
    if (y->n_done < MANY)
        assert_int_equal(sftp_start(y->s, &(struct sftp_op){ .kind = SFTP_OP_STAT, .path = "." },
                                    start_another, y, NULL),
                         0);
}

static void an_answer_may_start_the_next(void **state)
{
    struct session *t = real(state);
    struct tally y = { .s = t->s };

    must(t, sftp_start(t->s, &(struct sftp_op){ .kind = SFTP_OP_STAT, .path = "." }, start_another,
                       &y, &t->e));
    must(t, sftp_finish(t->s, &t->e));
    assert_int_equal(y.n_done, MANY);
    assert_int_equal(y.n_failed, 0);
}

static void a_server_that_dies_is_out_of_reach(void **state)
{
    struct session *t = real(state);
    struct tally y = { 0 };
    struct sftp_file *f = sftp_file_open(t->s, "file", SFTP_WRITE | SFTP_CREATE, 0600, &t->e);

    must(t, sftp_file_write(f, 0, "x", 1, &t->e));
    must(t, sftp_start(t->s, &(struct sftp_op){ .kind = SFTP_OP_STAT, .path = "." }, count, &y,
                       &t->e));
    kill(t->pid, SIGKILL);
    assert_int_equal(sftp_finish(t->s, &t->e), -1);
    assert_int_equal(t->e.kind, ERR_UNREACHABLE);
    assert_int_equal(y.n_done, 1);
    assert_int_equal(y.n_failed, 1);
    assert_true(sftp_is_broken(t->s));
    assert_fails(t, sftp_mkdir(t->s, "folder", 0755, &t->e), ERR_UNREACHABLE, "the connection");
    assert_fails(t, sftp_file_close(f, &t->e), ERR_UNREACHABLE, "the connection");
}

#define REAL(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REAL(knows_what_the_server_can),
        REAL(tells_what_a_path_is),
        REAL(follows_links_by_request),
        REAL(modes_are_exact_whatever_the_umask),
        REAL(a_folder_keeps_the_group_of_the_one_above),
        REAL(sets_attributes),
        REAL(claims_are_exclusive),
        REAL(renames_and_removes),
        REAL(vague_failures_are_looked_into),
        REAL(a_full_disk_is_called_full),
        REAL(permission_is_told_from_absence),
        REAL(tells_space),
        REAL(lists_a_large_folder),
        REAL(writes_and_reads_a_large_file),
        REAL(a_file_that_grows_is_read_on),
        REAL(a_file_may_be_closed_in_the_middle_of_reads),
        REAL(what_a_server_does_not_take_has_no_room),
        REAL(a_write_that_fails_is_told),
        REAL(reads_whole_files_up_to_a_limit),
        REAL(puts_and_removes_thousands_of_files),
        REAL(files_and_folders_are_synced),
        REAL(a_folder_that_stays_open_is_synced),
        REAL(syncs_of_a_folder_end_with_the_server),
        REAL(thousands_of_files_and_folders_are_read),
        REAL(each_failure_among_many_is_told),
        REAL(an_answer_may_start_the_next),
        REAL(a_server_that_dies_is_out_of_reach),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
