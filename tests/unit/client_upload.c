/* SPDX-License-Identifier: MIT */
/* client_upload.c - trees arrive on the shared drive as they are, mounted or over SFTP */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client/upload.h"
#include "common/io.h"
#include "common/layout.h"
#include "common/path.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* A folder with what is sent, a share with the project p, and state. */
struct site {
    char folder[64];
    struct arena *a;
    struct drive drive;
    struct place to;
    mode_t server_umask;
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

static int connect_child(void *context, struct err *e)
{
    const struct site *s = context;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return err_sys(e, "socketpair");
    if (fork() == 0) {
        dup2(ends[1], STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        umask(s->server_umask);
        execl(server_program(), "sftp-server", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    return ends[0];
}

static const char *below(const struct site *s, const char *path)
{
    return arena_printf(s->a, "%s/%s", s->folder, path);
}

static void put(const struct site *s, const char *path, const char *text, mode_t mode)
{
    const char *whole = below(s, path);
    char *folder = path_dirname(whole);

    assert_int_equal(io_make_dirs(folder, 0755, NULL), 0);
    assert_int_equal(io_write_file_at(AT_FDCWD, whole, text, strlen(text), 0600, NULL), 0);
    assert_int_equal(chmod(whole, mode), 0);
    free(folder);
}

static int begin(void **state, bool is_mounted)
{
    struct site *s = mem_alloc(sizeof *s);

    *state = s;
    umask(022);
    s->a = arena_create();
    strcpy(s->folder, "/tmp/upload-XXXXXX");
    if (mkdtemp(s->folder) == NULL || setenv("XDG_STATE_HOME", below(s, "state"), 1) < 0)
        return -1;
    s->server_umask = 022;
    s->to = (struct place){ &s->drive, "p" };
    if (is_mounted) {
        s->drive.mount = below(s, "share");
    } else {
        s->drive.root = below(s, "share");
        s->drive.server_id = "server";
        s->drive.connect = connect_child;
        s->drive.context = s;
    }
    return io_make_dirs(below(s, "share/p"), 0755, NULL);
}

static int begin_mounted(void **state)
{
    return begin(state, true);
}

static int begin_sftp(void **state)
{
    return begin(state, false);
}

static int end(void **state)
{
    struct site *s = *state;
    int result = io_remove_tree(s->folder, NULL);

    sftp_close(s->drive.sftp);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    arena_destroy(s->a);
    free(s);
    return result;
}

static struct site *here(void **state)
{
    struct site *s = *state;

    if (s->drive.mount == NULL && server_program() == NULL)
        skip();
    err_clear(&s->e);
    return s;
}

static struct tree tree_of(const struct site *s, const char *path)
{
    struct tree t;

    tree_init(&t);
    assert_int_equal(tree_add(&t, below(s, path), "", NULL, NULL), 0);
    assert_int_equal(tree_end(&t, true, NULL), 0);
    return t;
}

static const char *pack_of(const struct site *s, const struct tree *t)
{
    struct buf path = { 0 };
    const char *pack;

    layout_pack(&path, "share/p", &t->digest);
    pack = arena_strdup(s->a, buf_text(&path));
    buf_free(&path);
    return pack;
}

static void must(struct site *s, int result)
{
    if (result < 0)
        fail_msg("%s", s->e.text);
}

static void assert_same(const struct site *s, const struct tree *t)
{
    struct tree there = tree_of(s, pack_of(s, t));

    assert_memory_equal(there.digest.bytes, t->digest.bytes, DIGEST_BYTES);
    tree_free(&there);
}

static size_t count_packs(const struct site *s)
{
    DIR *dir = opendir(below(s, "share/p/.ludwig/packs"));
    struct dirent *d;
    size_t n = 0;

    while (dir != NULL && (d = readdir(dir)) != NULL)
        n += strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
    if (dir != NULL)
        closedir(dir);
    return n;
}

static void make_source(const struct site *s)
{
    put(s, "from/a/b/run.sh", "#!/bin/sh\n", 0755);
    put(s, "from/c.txt", "text", 0600);
    put(s, "from/empty", "", 0644);
    assert_int_equal(mkdir(below(s, "from/nothing"), 0755), 0);
    assert_int_equal(symlink("c.txt", below(s, "from/link")), 0);
    assert_int_equal(symlink("/no/where", below(s, "from/a/dangling")), 0);
}

static void a_tree_arrives_as_it_is_and_once(void **state)
{
    struct site *s = here(state);
    struct tree t;

    make_source(s);
    t = tree_of(s, "from");
    assert_false(upload_has_tree(&s->to, &t.digest));
    must(s, upload_tree(&s->to, &t, NULL, &s->e));
    assert_true(upload_has_tree(&s->to, &t.digest));
    assert_same(s, &t);
    must(s, upload_tree(&s->to, &t, NULL, &s->e));
    assert_int_equal(count_packs(s), 1);
    tree_free(&t);
}

static void many_files_and_folders_arrive(void **state)
{
    struct site *s = here(state);
    struct tree t;

    for (int i = 0; i < 400; i++)
        put(s, arena_printf(s->a, "from/d%d/e%d/f%d", i % 7, i % 3, i),
            arena_printf(s->a, "%d", i * i), 0644);
    t = tree_of(s, "from");
    must(s, upload_tree(&s->to, &t, NULL, &s->e));
    assert_same(s, &t);
    assert_int_equal(count_packs(s), 1);
    tree_free(&t);
}

static void a_file_alone_arrives_as_a_file(void **state)
{
    struct site *s = here(state);
    struct tree t;

    put(s, "one.csv", "1,2,3\n", 0644);
    t = tree_of(s, "one.csv");
    must(s, upload_tree(&s->to, &t, NULL, &s->e));
    must(s, upload_tree(&s->to, &t, NULL, &s->e));
    assert_same(s, &t);
    assert_int_equal(count_packs(s), 1);
    tree_free(&t);
}

static void a_large_file_arrives(void **state)
{
    struct site *s = here(state);
    size_t n = 9 * 1000 * 1000 + 1;
    char *bytes = mem_alloc(n + 1);
    struct tree t;

    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)('a' + i * i % 23);
    put(s, "from/large", bytes, 0755);
    put(s, "from/small", "x", 0644);
    t = tree_of(s, "from");
    must(s, upload_tree(&s->to, &t, NULL, &s->e));
    assert_same(s, &t);
    tree_free(&t);
    free(bytes);
}

static mode_t mode_of(const struct site *s, const char *path)
{
    struct stat st;

    assert_int_equal(lstat(below(s, path), &st), 0);
    return st.st_mode & 07777;
}

static const struct {
    mode_t project, folder, file, program;
} modes[] = {
    { 0755, 0755, 0644, 0755 },
    { 02750, 02750, 0640, 0750 },
    { 02770, 02770, 0660, 0770 },
    { 0700, 0700, 0600, 0700 },
};

static void assert_modes(struct site *s, const struct tree *t, size_t i)
{
    static const struct upload_text file = { "sweep.yaml", { (const uint8_t *)"x", 1 } };
    const char *pack = pack_of(s, t);

    must(s, upload_sweep_files(&s->to, (int64_t)i, &file, 1, &s->e));
    assert_int_equal(mode_of(s, "share/p/.ludwig/packs"), modes[i].folder);
    assert_int_equal(mode_of(s, pack), modes[i].folder);
    assert_int_equal(mode_of(s, arena_printf(s->a, "%s/a/b", pack)), modes[i].folder);
    assert_int_equal(mode_of(s, arena_printf(s->a, "%s/c.txt", pack)), modes[i].file);
    assert_int_equal(mode_of(s, arena_printf(s->a, "%s/a/b/run.sh", pack)), modes[i].program);
    assert_int_equal(mode_of(s, arena_printf(s->a, "share/p/sweeps/%zu", i)), modes[i].folder);
    assert_int_equal(mode_of(s, arena_printf(s->a, "share/p/sweeps/%zu/sweep.yaml", i)),
                     modes[i].file);
}

static void modes_are_those_of_the_project(void **state)
{
    static const mode_t masks[] = { 0, 022, 077 };
    struct site *s = here(state);
    struct tree t;

    make_source(s);
    t = tree_of(s, "from");
    for (size_t i = 0; i < LENGTH(modes) * LENGTH(masks); i++) {
        size_t which = i / LENGTH(masks);

        s->server_umask = masks[i % LENGTH(masks)];
        umask(s->server_umask);
        sftp_close(s->drive.sftp);
        s->drive.sftp = NULL;
        assert_int_equal(io_remove_tree(below(s, "share/p"), NULL), 0);
        assert_int_equal(mkdir(below(s, "share/p"), 0755), 0);
        assert_int_equal(chmod(below(s, "share/p"), modes[which].project), 0);
        must(s, upload_tree(&s->to, &t, NULL, &s->e));
        assert_modes(s, &t, which);
    }
    tree_free(&t);
}

static void a_project_is_made_as_ordered(void **state)
{
    struct site *s = here(state);
    struct folder_order order = { 02770, (int64_t)getegid() };

    assert_int_equal(rmdir(below(s, "share/p")), 0);
    must(s, upload_make_project(&s->to, &order, &s->e));
    must(s, upload_make_project(&s->to, &order, &s->e));
    assert_int_equal(mode_of(s, "share/p"), 02770);
    assert_int_equal(rmdir(below(s, "share/p")), 0);
    assert_int_equal(symlink(s->folder, below(s, "share/p")), 0);
    assert_int_equal(upload_make_project(&s->to, &order, &s->e), -1);
}

static void a_project_gets_its_group(void **state)
{
    struct site *s = here(state);
    struct folder_order order = { 02770, 12345 };
    struct stat st;

    if (geteuid() != 0)
        skip();
    must(s, upload_make_project(&s->to, &order, &s->e));
    assert_int_equal(lstat(below(s, "share/p"), &st), 0);
    assert_int_equal(st.st_gid, 12345);
    assert_int_equal(st.st_uid, 0);
    assert_int_equal(st.st_mode & 07777, 02770);
}

static void nothing_is_sent_where_no_project_is(void **state)
{
    struct site *s = here(state);
    struct tree t;

    make_source(s);
    t = tree_of(s, "from");
    assert_int_equal(rmdir(below(s, "share/p")), 0);
    assert_int_equal(upload_tree(&s->to, &t, NULL, &s->e), -1);
    assert_int_equal(s->e.kind, ERR_NOT_FOUND);
    assert_non_null(strstr(s->e.text, "the project's folder on the share"));
    assert_int_equal(access(below(s, "share/p"), F_OK), -1);
    tree_free(&t);
}

static void a_file_that_changed_leaves_nothing_behind(void **state)
{
    struct site *s = here(state);
    struct tree t;

    make_source(s);
    t = tree_of(s, "from");
    put(s, "from/c.txt", "else", 0600);
    assert_int_equal(upload_tree(&s->to, &t, NULL, &s->e), -1);
    assert_non_null(strstr(s->e.text, "from/c.txt was changed while it was sent; submit again"));
    assert_int_equal(count_packs(s), 0);
    tree_free(&t);
}

static void a_large_file_that_changed_leaves_nothing_behind(void **state)
{
    struct site *s = here(state);
    size_t n = 3 * 1000 * 1000;
    char *bytes = mem_alloc(n + 1);
    struct tree t;

    memset(bytes, 'x', n);
    put(s, "from/large", bytes, 0644);
    t = tree_of(s, "from");
    bytes[n - 1] = 'y';
    put(s, "from/large", bytes, 0644);
    assert_int_equal(upload_tree(&s->to, &t, NULL, &s->e), -1);
    assert_non_null(strstr(s->e.text, "from/large was changed while it was sent; submit again"));
    assert_int_equal(count_packs(s), 0);
    tree_free(&t);
    free(bytes);
}

static void age(const struct site *s, const char *path, int days)
{
    struct timespec at = { .tv_sec = time(NULL) - (time_t)days * 24 * 3600 };
    struct timespec times[2] = { at, at };

    assert_int_equal(utimensat(AT_FDCWD, below(s, path), times, AT_SYMLINK_NOFOLLOW), 0);
}

#define HEX "00112233445566778899aabbccddeeff"

static void what_was_left_long_ago_goes(void **state)
{
    struct site *s = here(state);
    struct tree t;

    make_source(s);
    t = tree_of(s, "from");
    put(s, "share/p/.ludwig/packs/.tmp-" HEX "/d/f", "x", 0644);
    put(s, "share/p/.ludwig/packs/.tmp-a" HEX "/f", "x", 0644);
    put(s, "share/p/.ludwig/packs/mine/f", "x", 0644);
    age(s, "share/p/.ludwig/packs/.tmp-" HEX, 6);
    age(s, "share/p/.ludwig/packs/.tmp-a" HEX, 8);
    age(s, "share/p/.ludwig/packs/mine", 8);
    must(s, upload_tree(&s->to, &t, NULL, &s->e));
    assert_int_equal(count_packs(s), 4);
    put(s, "from/c.txt", "another", 0600);
    tree_free(&t);
    t = tree_of(s, "from");
    age(s, "share/p/.ludwig/packs/.tmp-" HEX, 8);
    must(s, upload_tree(&s->to, &t, NULL, &s->e));
    assert_int_equal(access(below(s, "share/p/.ludwig/packs/.tmp-" HEX), F_OK), -1);
    assert_int_equal(count_packs(s), 4);
    tree_free(&t);
}

#define BOTH(name)                                                            \
    cmocka_unit_test_prestate_setup_teardown(name, begin_mounted, end, NULL), \
        cmocka_unit_test_prestate_setup_teardown(name, begin_sftp, end, NULL)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(a_tree_arrives_as_it_is_and_once),
        BOTH(many_files_and_folders_arrive),
        BOTH(a_file_alone_arrives_as_a_file),
        BOTH(a_large_file_arrives),
        BOTH(modes_are_those_of_the_project),
        BOTH(a_project_is_made_as_ordered),
        BOTH(a_project_gets_its_group),
        BOTH(nothing_is_sent_where_no_project_is),
        BOTH(a_file_that_changed_leaves_nothing_behind),
        BOTH(a_large_file_that_changed_leaves_nothing_behind),
        BOTH(what_was_left_long_ago_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
