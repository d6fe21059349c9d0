/* SPDX-License-Identifier: MIT */
/* store.c - trees arrive on the shared drive as they are, mounted or over SFTP */
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

#include "client/pack/datasets.h"
#include "client/pack/inputs.h"
#include "tests/unit/skip.h"
#include "tests/unit/unpack.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* A folder with what is sent, a share with the project p, and state. */
struct site {
    char folder[64];
    struct arena *a;
    struct share_connection drive;
    struct place to;
    mode_t server_umask;
    int fd;       /* of the newest connection */
    bool is_away; /* nobody can connect */
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
    struct site *s = context;
    int ends[2];

    if (s->is_away)
        return err_set(e, ERR_UNREACHABLE, "the server is away");
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
    s->fd = ends[0];
    return ends[0];
}

static int connect_lane(void *context, size_t number, int *fd, struct err *e)
{
    assert_true(number > 0 && number < 4);
    *fd = connect_child(context, e);
    return *fd < 0 ? -1 : 1;
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
    if (mkdtemp(s->folder) == NULL || setenv("XDG_CACHE_HOME", below(s, "cache"), 1) < 0)
        return -1;
    s->server_umask = 022;
    s->to = (struct place){ .drive = &s->drive, .project = "p" };
    if (is_mounted) {
        s->drive.mount = below(s, "share");
    } else {
        s->drive.root = below(s, "share");
        s->drive.server_id = "server";
        s->drive.connect = connect_child;
        s->drive.lane = connect_lane;
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
        skip_because("takes sftp-server");
    err_clear(&s->e);
    return s;
}

static void must(struct site *s, int result)
{
    if (result < 0)
        fail_msg("%s", s->e.text);
}

/* What a submit with these data does. */
static int send_tree(struct site *s, const char *path, struct dataset *set)
{
    const char *whole = below(s, path);
    struct inputs c;
    int result;

    *set = (struct dataset){ 0 };
    inputs_plan_paths(&c, &whole, 1, &s->to);
    result = inputs_send(&c, &s->e);
    if (result == 0)
        *set = c.data[0].set;
    inputs_free(&c);
    return result;
}

/* What is in a tree, wherever it lies. */
static struct digest tree_of(const char *path)
{
    struct tree tree = { .plan = { .top = path, .everything = true } };
    struct pack_inventory *nothing = pack_inventory_open(NULL, NULL);
    struct err e = { 0 };

    if (tree_look(&tree, nothing, &e) < 0)
        fail_msg("%s", e.text);
    pack_inventory_close(nothing);
    return tree.set.tree;
}

#define PACKS "share/p/.ludwig/packs"

/* Unpacks it, and looks whether it is the same. */
static void assert_arrived(struct site *s, const char *from, const struct dataset *set)
{
    const char *to = below(s, "unpacked");
    struct digest here = tree_of(below(s, from)), there;

    must(s, unpack(below(s, PACKS), &set->id, to, &s->e));
    there = tree_of(to);
    assert_memory_equal(here.bytes, there.bytes, DIGEST_BYTES);
    assert_memory_equal(here.bytes, set->tree.bytes, DIGEST_BYTES);
    assert_int_equal(io_remove_tree(to, NULL), 0);
}

/* Files in a folder whose names end so. */
static size_t count(const struct site *s, const char *folder, const char *ending)
{
    DIR *dir = opendir(below(s, folder));
    struct dirent *d;
    size_t n = 0;

    while (dir != NULL && (d = readdir(dir)) != NULL)
        n += d->d_type == DT_REG && strlen(d->d_name) >= strlen(ending) &&
             strcmp(d->d_name + strlen(d->d_name) - strlen(ending), ending) == 0;
    if (dir != NULL)
        closedir(dir);
    return n;
}

static size_t count_all(const struct site *s)
{
    return count(s, PACKS, "") + count(s, PACKS "/parts", "") + count(s, PACKS "/blocks", "");
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
    struct dataset set, again;

    make_source(s);
    must(s, send_tree(s, "from", &set));
    assert_int_equal(set.files, 5);
    assert_arrived(s, "from", &set);
    assert_int_equal(count(s, PACKS "/parts", ".tar.zst"), 1);
    assert_int_equal(count_all(s), 4);
    must(s, send_tree(s, "from", &again));
    assert_memory_equal(&again, &set, sizeof set);
    assert_int_equal(count_all(s), 4);
}

static void only_what_changed_is_sent_again(void **state)
{
    struct site *s = here(state);
    struct dataset set;

    make_source(s);
    for (int i = 0; i < 400; i++)
        put(s, arena_printf(s->a, "from/d%d/e%d/f%d", i % 7, i % 3, i),
            arena_printf(s->a, "%d", i * i), 0644);
    must(s, send_tree(s, "from", &set));
    assert_arrived(s, "from", &set);
    put(s, "from/c.txt", "another", 0600);
    must(s, send_tree(s, "from", &set));
    assert_arrived(s, "from", &set);
    assert_int_equal(count(s, PACKS "/parts", ".tar.zst"), 2);
    assert_int_equal(count(s, PACKS, ".manifest"), 2);
    put(s, "from/c.txt", "text", 0600);
    must(s, send_tree(s, "from", &set));
    assert_int_equal(count(s, PACKS "/parts", ".tar.zst"), 2);
    assert_int_equal(count(s, PACKS, ".manifest"), 2);
}

static void a_file_alone_arrives_as_a_file(void **state)
{
    struct site *s = here(state);
    struct dataset set;

    put(s, "one.csv", "1,2,3\n", 0644);
    must(s, send_tree(s, "one.csv", &set));
    must(s, send_tree(s, "one.csv", &set));
    assert_arrived(s, "one.csv", &set);
    assert_int_equal(set.files, 1);
    assert_int_equal(count_all(s), 4);
}

static void an_empty_folder_arrives(void **state)
{
    struct site *s = here(state);
    struct dataset set;

    assert_int_equal(mkdir(below(s, "from"), 0755), 0);
    must(s, send_tree(s, "from", &set));
    assert_arrived(s, "from", &set);
    assert_int_equal(count_all(s), 1);
}

static void a_large_file_arrives(void **state)
{
    struct site *s = here(state);
    size_t n = 9 * 1000 * 1000 + 1;
    char *bytes = mem_alloc(n + 1);
    struct dataset set;

    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)('a' + i * i % 23);
    put(s, "from/large", bytes, 0755);
    put(s, "from/small", "x", 0644);
    must(s, send_tree(s, "from", &set));
    assert_arrived(s, "from", &set);
    free(bytes);
}

static void names_of_any_bytes_arrive(void **state)
{
    struct site *s = here(state);
    struct dataset set;

    put(s, "from/new\nline", "1", 0644);
    put(s, "from/\xff\xfe not utf-8 \x80/\x01", "2", 0644);
    put(s, "from/ \\ * ? \"", "3", 0644);
    put(s, arena_printf(s->a, "from/%0255d/%0255d", 1, 2), "4", 0644);
    must(s, send_tree(s, "from", &set));
    assert_arrived(s, "from", &set);
}

static void links_arrive_as_links(void **state)
{
    struct site *s = here(state);
    struct dataset set;
    struct stat a, b;

    put(s, "from/b/file", "content", 0644);
    assert_int_equal(link(below(s, "from/b/file"), below(s, "from/a")), 0);
    assert_int_equal(link(below(s, "from/b/file"), below(s, "elsewhere")), 0);
    assert_int_equal(symlink(".", below(s, "from/loop")), 0);
    assert_int_equal(symlink("../../out", below(s, "from/b/out")), 0);
    must(s, send_tree(s, "from", &set));
    assert_arrived(s, "from", &set);
    must(s, unpack(below(s, PACKS), &set.id, below(s, "unpacked"), &s->e));
    assert_int_equal(stat(below(s, "unpacked/a"), &a), 0);
    assert_int_equal(stat(below(s, "unpacked/b/file"), &b), 0);
    assert_int_equal(a.st_ino, b.st_ino);
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

static void assert_modes(struct site *s, const struct dataset *set, size_t i)
{
    static const struct store_text file = { "sweep.yaml", { (const uint8_t *)"x", 1 } };
    struct store *store = store_open(&s->to, &s->e);
    struct buf manifest = { 0 };

    must(s, store == NULL ? -1 : 0);
    must(s, store_add_sweep(store, (int64_t)i, &file, 1, &s->e));
    must(s, store_settle(store, &s->e));
    assert_int_equal(store_settled_bytes(store), 0);
    store_close(store);
    pack_object_path(&manifest, PACK_MANIFEST, &set->id);
    assert_int_equal(mode_of(s, PACKS), modes[i].folder);
    assert_int_equal(mode_of(s, PACKS "/parts"), modes[i].folder);
    assert_int_equal(mode_of(s, PACKS "/blocks"), modes[i].folder);
    assert_int_equal(mode_of(s, arena_printf(s->a, PACKS "/%s", buf_text(&manifest))),
                     modes[i].file);
    assert_int_equal(mode_of(s, arena_printf(s->a, "share/p/sweeps/%zu", i)), modes[i].folder);
    assert_int_equal(mode_of(s, arena_printf(s->a, "share/p/sweeps/%zu/sweep.yaml", i)),
                     modes[i].file);
    buf_free(&manifest);
}

static void modes_are_those_of_the_project(void **state)
{
    static const mode_t masks[] = { 0, 022, 077 };
    struct site *s = here(state);
    struct dataset set;

    put(s, "from/b/file", "content",
        0644); /* what fewer may read would close the project to others */
    for (size_t i = 0; i < LENGTH(modes) * LENGTH(masks); i++) {
        size_t which = i / LENGTH(masks);

        s->server_umask = masks[i % LENGTH(masks)];
        umask(s->server_umask);
        sftp_close(s->drive.sftp);
        s->drive.sftp = NULL;
        assert_int_equal(io_remove_tree(below(s, "share/p"), NULL), 0);
        assert_int_equal(mkdir(below(s, "share/p"), 0755), 0);
        assert_int_equal(chmod(below(s, "share/p"), modes[which].project), 0);
        must(s, send_tree(s, "from", &set));
        assert_modes(s, &set, which);
    }
}

static void a_project_is_made_as_ordered(void **state)
{
    struct site *s = here(state);
    struct folder_order order = { 02770, (int64_t)getegid() };

    assert_int_equal(rmdir(below(s, "share/p")), 0);
    must(s, store_make_project(&s->to, &order, &s->e));
    must(s, store_make_project(&s->to, &order, &s->e));
    assert_int_equal(mode_of(s, "share/p"), 02770);
    assert_int_equal(rmdir(below(s, "share/p")), 0);
    assert_int_equal(symlink(s->folder, below(s, "share/p")), 0);
    assert_int_equal(store_make_project(&s->to, &order, &s->e), -1);
}

static void a_project_gets_its_group(void **state)
{
    struct site *s = here(state);
    struct folder_order order = { 02770, 12345 };
    struct stat st;

    if (geteuid() != 0)
        skip_because("takes root");
    must(s, store_make_project(&s->to, &order, &s->e));
    assert_int_equal(lstat(below(s, "share/p"), &st), 0);
    assert_int_equal(st.st_gid, 12345);
    assert_int_equal(st.st_uid, 0);
    assert_int_equal(st.st_mode & 07777, 02770);
}

static void nothing_is_sent_where_no_project_is(void **state)
{
    struct site *s = here(state);
    struct dataset set;

    make_source(s);
    assert_int_equal(rmdir(below(s, "share/p")), 0);
    assert_int_equal(send_tree(s, "from", &set), -1);
    assert_int_equal(s->e.kind, ERR_NOT_FOUND);
    assert_non_null(strstr(s->e.text, "the project's folder on the share"));
    assert_int_equal(access(below(s, "share/p"), F_OK), -1);
}

static void what_cannot_be_sent_leaves_nothing_behind(void **state)
{
    struct site *s = here(state);
    struct dataset set;

    make_source(s);
    assert_int_equal(mkfifo(below(s, "from/x"), 0600), 0);
    assert_int_equal(send_tree(s, "from", &set), -1);
    assert_non_null(strstr(s->e.text, "from/x is a pipe and cannot be sent"));
    assert_int_equal(count_all(s), 0);
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
    struct dataset set;

    make_source(s);
    put(s, PACKS "/parts/.tmp-" HEX, "x", 0644);
    put(s, PACKS "/blocks/.tmp-" HEX, "x", 0644);
    put(s, PACKS "/.tmp-" HEX, "x", 0644);
    put(s, PACKS "/mine", "x", 0644);
    age(s, PACKS "/parts/.tmp-" HEX, 6);
    age(s, PACKS "/blocks/.tmp-" HEX, 8);
    age(s, PACKS "/.tmp-" HEX, 8);
    age(s, PACKS "/mine", 8);
    must(s, send_tree(s, "from", &set));
    assert_int_equal(count(s, PACKS "/parts", HEX), 1);
    assert_int_equal(count(s, PACKS "/blocks", HEX), 0);
    assert_int_equal(count_all(s), 6);
}

/* ---- while somebody tidies up ---- */

/* Calls act for each file whose name has that in it; how many it said yes to. */
static size_t for_packs(const struct site *s, const char *words,
                        bool (*act)(const struct site *s, const char *path))
{
    static const char *const folders[] = { PACKS, PACKS "/parts", PACKS "/blocks" };
    size_t n = 0;

    for (size_t i = 0; i < LENGTH(folders); i++) {
        DIR *dir = opendir(below(s, folders[i]));
        struct dirent *d;

        while (dir != NULL && (d = readdir(dir)) != NULL)
            if (d->d_type == DT_REG && strstr(d->d_name, words) != NULL)
                n += act(s, arena_printf(s->a, "%s/%s", folders[i], d->d_name));
        if (dir != NULL)
            closedir(dir);
    }
    return n;
}

static bool make_old(const struct site *s, const char *path)
{
    age(s, path, 40);
    return true;
}

static bool take_away(const struct site *s, const char *path)
{
    assert_int_equal(unlink(below(s, path)), 0);
    return true;
}

static bool is_young(const struct site *s, const char *path)
{
    struct stat st;

    assert_int_equal(stat(below(s, path), &st), 0);
    return st.st_mtime > time(NULL) - 3600;
}

static void what_is_relied_on_gets_young(void **state)
{
    struct site *s = here(state);
    struct dataset set;

    make_source(s);
    must(s, send_tree(s, "from", &set));
    assert_int_equal(for_packs(s, ".", make_old), 4);
    put(s, "from/d", "new", 0644);
    must(s, send_tree(s, "from", &set));
    assert_int_equal(for_packs(s, ".tar.zst", is_young), 2);
    assert_int_equal(for_packs(s, ".list", is_young), 2);
    assert_int_equal(for_packs(s, ".manifest", is_young), 1);
    for_packs(s, ".", make_old);
    must(s, send_tree(s, "from", &set));
    assert_int_equal(for_packs(s, ".manifest", is_young), 1);
}

/* What is called so goes after it was seen there. */
static void send_while_it_goes(struct site *s, const char *words, struct dataset *set)
{
    const char *whole = below(s, "from");
    const struct inputs_counted *counted;
    const struct inputs_packed *packed;
    const struct inputs_arrived *arrived;
    struct err why = { 0 };
    struct inputs c;

    inputs_plan_paths(&c, &whole, 1, &s->to);
    counted = inputs_count(&c, &s->e);
    assert_non_null(counted);
    assert_true(for_packs(s, words, take_away) > 0);
    packed = inputs_pack(counted, &why);
    arrived = packed != NULL ? inputs_arrive(packed, &why) : NULL;
    if (arrived == NULL || inputs_settle(arrived, &why) == NULL) {
        assert_int_equal(why.kind, ERR_BUSY);
        must(s, inputs_try_again(&c, &why, &s->e));
        must(s, inputs_send(&c, &s->e));
    }
    *set = c.data[0].set;
    inputs_free(&c);
}

static void what_goes_meanwhile_is_sent_again(void **state)
{
    static const char *const words[] = { ".tar.zst", ".list", ".", ".manifest" };
    struct site *s = here(state);
    struct dataset set;

    make_source(s);
    must(s, send_tree(s, "from", &set));
    for (size_t i = 0; i < LENGTH(words); i++) {
        put(s, arena_printf(s->a, "from/%zu", i), words[i], 0644);
        send_while_it_goes(s, words[i], &set);
        assert_arrived(s, "from", &set);
    }
    /* An unchanged tree relies on its manifest. */
    send_while_it_goes(s, ".", &set);
    assert_arrived(s, "from", &set);
}

static void what_somebody_relies_on_is_not_removed(void **state)
{
    struct site *s = here(state);
    struct dataset set, more;
    struct datasets_stored p;

    make_source(s);
    must(s, send_tree(s, "from", &set));
    for_packs(s, ".", make_old);
    must(s, datasets_stored_open(&p, &s->to, &s->e));
    datasets_stored_find_waste(&p, time(NULL));
    assert_int_equal(p.n_waste, 4);
    must(s, send_tree(s, "from", &set));
    must(s, datasets_stored_remove_waste(&p, time(NULL), &s->e));
    assert_int_equal(p.n_waste, 0);
    datasets_stored_close(&p);
    assert_arrived(s, "from", &set);
    for_packs(s, ".", make_old);
    must(s, datasets_stored_open(&p, &s->to, &s->e));
    datasets_stored_find_waste(&p, time(NULL));
    put(s, "from/d", "new", 0644);
    must(s, send_tree(s, "from", &more));
    must(s, datasets_stored_remove_waste(&p, time(NULL), &s->e));
    assert_int_equal(p.n_waste, 2); /* the manifest, and a block */
    datasets_stored_close(&p);
    assert_arrived(s, "from", &more);
}

/* ---- what is more than waits in memory ---- */

static void put_noise(const struct site *s, const char *path, size_t n)
{
    char *text = mem_alloc(n + 1);
    uint32_t x = 1;

    for (size_t i = 0; i < n; i++) {
        x = x * 1664525 + 1013904223;
        text[i] = (char)(x >> 24 | 1);
    }
    put(s, path, text, 0644);
    free(text);
}

static void what_is_larger_than_memory_arrives(void **state)
{
    struct site *s = here(state);
    struct dataset set;

    make_source(s);
    put_noise(s, "from/before", 20000000);
    put_noise(s, "from/c", SEND_QUEUE_MAX_BYTES + 1);
    put_noise(s, "from/d", 10000000);
    must(s, send_tree(s, "from", &set));
    assert_arrived(s, "from", &set);
}

static void what_is_the_same_in_two_folders_is_packed_once(void **state)
{
    struct site *s = here(state);
    const char *both[2] = { below(s, "one"), below(s, "two") };
    struct inputs c;

    put(s, "one/a", "the same", 0644);
    put(s, "two/b", "the same", 0644);
    inputs_plan_paths(&c, both, 2, &s->to);
    must(s, inputs_send(&c, &s->e));
    assert_arrived(s, "one", &c.data[0].set);
    assert_arrived(s, "two", &c.data[1].set);
    assert_int_equal(count(s, PACKS "/parts", ".tar.zst"), 1);
    inputs_free(&c);
}

static void what_was_packed_outlives_a_connection(void **state)
{
    struct site *s = here(state);
    const char *whole = below(s, "from");
    const struct inputs_counted *counted;
    struct dataset set;
    struct err why = { 0 };
    struct inputs c;

    make_source(s);
    put_noise(s, "from/noise", 10000000);
    inputs_plan_paths(&c, &whole, 1, &s->to);
    counted = inputs_count(&c, &s->e);
    assert_non_null(counted);
    assert_int_equal(shutdown(s->fd, SHUT_RDWR), 0);
    assert_null(inputs_pack(counted, &why));
    must(s, inputs_try_again(&c, &why, &s->e));
    must(s, inputs_send(&c, &s->e));
    set = c.data[0].set;
    inputs_free(&c);
    assert_arrived(s, "from", &set);
}

/* ---- connections that break ---- */

static const struct inputs_packed *pack_source(struct site *s, struct inputs *c)
{
    const char *whole = below(s, "from");
    const struct inputs_packed *packed;

    inputs_plan_paths(c, &whole, 1, &s->to);
    packed = inputs_pack(inputs_count(c, &s->e), &s->e);
    must(s, packed == NULL ? -1 : 0);
    return packed;
}

/* Whichever step it breaks in, there is nothing, and after three tries in vain nobody goes on. */
static void a_connection_that_broke_is_told_by_the_next_step(void **state)
{
    struct site *s = here(state);

    make_source(s);
    for (int arrives = 0; arrives < 2; arrives++) {
        const struct inputs_packed *packed;
        const struct inputs_arrived *arrived = NULL;
        struct err why = { 0 };
        struct inputs c;

        s->is_away = false;
        put(s, "from/more", arrives ? "more" : "less", 0644);
        packed = pack_source(s, &c);
        if (arrives)
            arrived = inputs_arrive(packed, &s->e);
        assert_int_equal(shutdown(s->fd, SHUT_RDWR), 0);
        s->is_away = true;
        /* If all arrived through others than the connection that broke, the next step says so. */
        if (!arrives)
            arrived = inputs_arrive(packed, &why);
        if (arrives || arrived != NULL)
            assert_null(inputs_settle(arrived, &why));
        assert_int_equal(why.kind, ERR_UNREACHABLE);
        assert_int_equal(inputs_try_again(&c, &why, &s->e), 0);
        assert_int_equal(inputs_send(&c, &s->e), -1);
        assert_non_null(strstr(s->e.text, "the server is away"));
        err_clear(&s->e);
        inputs_free(&c);
        if (arrives || arrived == NULL) /* else other connections may have brought it all */
            assert_int_equal(count(s, PACKS, ".manifest"), 0);
    }
}

#define SFTP(name) cmocka_unit_test_prestate_setup_teardown(name, begin_sftp, end, NULL)

#define BOTH(name)                                                            \
    cmocka_unit_test_prestate_setup_teardown(name, begin_mounted, end, NULL), \
        cmocka_unit_test_prestate_setup_teardown(name, begin_sftp, end, NULL)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(a_tree_arrives_as_it_is_and_once),
        BOTH(only_what_changed_is_sent_again),
        BOTH(a_file_alone_arrives_as_a_file),
        BOTH(an_empty_folder_arrives),
        BOTH(a_large_file_arrives),
        BOTH(names_of_any_bytes_arrive),
        BOTH(links_arrive_as_links),
        BOTH(modes_are_those_of_the_project),
        BOTH(a_project_is_made_as_ordered),
        BOTH(a_project_gets_its_group),
        BOTH(nothing_is_sent_where_no_project_is),
        BOTH(what_cannot_be_sent_leaves_nothing_behind),
        BOTH(what_was_left_long_ago_goes),
        BOTH(what_is_relied_on_gets_young),
        BOTH(what_goes_meanwhile_is_sent_again),
        BOTH(what_somebody_relies_on_is_not_removed),
        BOTH(what_is_larger_than_memory_arrives),
        BOTH(what_is_the_same_in_two_folders_is_packed_once),
        SFTP(what_was_packed_outlives_a_connection),
        SFTP(a_connection_that_broke_is_told_by_the_next_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
