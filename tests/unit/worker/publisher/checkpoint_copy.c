/* SPDX-License-Identifier: MIT */
/* checkpoint_copy.c - tests of checkpoints on their way to the share and back */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "common/base/beneath.h"
#include "common/base/io.h"
#include "common/proto/layout.h"
#include "tests/unit/worker_site.h"
#include "worker/publisher/checkpoint_copy.h"
#include "worker/saved/checkpoint.h"
#include "worker/stager/checkpoint_restore.h"

#define HEX_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HEX_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define JOB   "20261121-101500_num0"
#define KEPT  "share/demo/.ludwig/checkpoints/param_003"
#define ROOM  HEX_A "/checkpoint/" /* the job's folder, in run/ */

static const struct share_modes modes = { 0755, 0644, (gid_t)-1, -1 };

struct keep_site {
    struct site site;
    int run_fd;
    int kept_fd;
    struct share_dir *kept;
};

static void open_keep(struct keep_site *k)
{
    struct err e = { 0 };
    char *kept, *room;

    site_open(&k->site, NULL);
    k->run_fd = k->site.scratch.run_fd;
    kept = mem_printf("%s/" KEPT, k->site.top);
    room = mem_printf("%s/run/" ROOM, k->site.scratch.path);
    assert_int_equal(io_make_dirs(kept, 0755, &e), 0);
    assert_int_equal(io_make_dirs(room, 0750, &e), 0);
    k->kept_fd = io_open_dir(kept, &e);
    k->kept = share_open_dir(k->site.dir, KEPT, &e);
    assert_non_null(k->kept);
    free(kept);
    free(room);
}

static void close_keep(struct keep_site *k)
{
    close(k->kept_fd);
    share_close(k->kept);
    site_close(&k->site);
}

static void must(int result, const struct err *e)
{
    if (result < 0)
        fail_msg("%s", e->text);
}

/* Copies it under this name, as if nobody else were there. */
static void keep_as(struct keep_site *s, const char *name)
{
    struct err e = { 0 };
    struct checkpoint_copy k;
    int rc;

    assert_int_equal(checkpoint_copy_open(&k, s->run_fd, HEX_A, &e), 1);
    must(checkpoint_copy_begin(&k, s->kept, name, &modes, &e), &e);
    while ((rc = checkpoint_copy_go_on(&k, &e)) == 1)
        ;
    must(rc, &e);
    checkpoint_copy_close(&k);
}

static int restore(struct keep_site *s, int64_t attempt, struct err *e)
{
    struct order_restore x = { .share = s->site.share,
                               .project = "demo",
                               .param_name = "param_003",
                               .job_name = JOB,
                               .attempt = attempt };

    assert_int_equal(token_parse(HEX_B, &x.token), 0);
    return checkpoint_restore(&s->site.scratch, s->site.access, &x, e);
}

static void must_restore(struct keep_site *s, int64_t attempt)
{
    struct err e = { 0 };

    must(restore(s, attempt, &e), &e);
}

static bool is_restored(const struct keep_site *s)
{
    return faccessat(s->site.scratch.checkpoints_fd, HEX_B, F_OK, 0) == 0;
}

static const char *restored(struct keep_site *s, const char *path)
{
    return site_read(&s->site,
                     arena_printf(s->site.arena, "scratch/checkpoints/" HEX_B "/%s", path));
}

/* By name, mode, time, target and content. */
static void must_be_equal(struct keep_site *s)
{
    struct err e = { 0 };
    struct checkpoint_snapshot was, is;
    int was_fd = io_open_dir_at(s->run_fd, HEX_A "/checkpoint", &e);
    int is_fd = io_open_dir_at(s->site.scratch.checkpoints_fd, HEX_B, &e);

    must(checkpoint_snapshot_take(&was, was_fd, &e), &e);
    must(checkpoint_snapshot_take(&is, is_fd, &e), &e);
    assert_true(was.n > 0 && checkpoint_snapshot_equal(&was, &is));
    assert_int_equal(system(arena_printf(s->site.arena,
                                         "diff -r --no-dereference %s/run/" HEX_A "/checkpoint "
                                         "%s/checkpoints/" HEX_B,
                                         s->site.scratch.path, s->site.scratch.path)),
                     0);
    checkpoint_snapshot_free(&was);
    checkpoint_snapshot_free(&is);
    close(was_fd);
    close(is_fd);
}

/* ---- there and back ---- */

static void make_all_there_is(struct keep_site *s)
{
    const struct timespec old[2] = { { 1000000000, 5 }, { 1000000000, 123456789 } };
    char *name = mem_alloc(251);

    memset(name, 'n', 250);
    site_write(s->run_fd, ROOM "model.pt", "weights");
    site_write(s->run_fd, ROOM "Model.pt", "other weights");
    site_write(s->run_fd, ROOM "val:acc", "0.5");
    site_write(s->run_fd, ROOM "empty", "");
    site_write(s->run_fd, ROOM ".checkpoint", "of the job's own");
    site_write(s->run_fd, arena_printf(s->site.arena, ROOM "%s", name), "long");
    assert_int_equal(mkdirat(s->run_fd, ROOM "con", 0750), 0);
    assert_int_equal(mkdirat(s->run_fd, ROOM "con/deep", 0700), 0);
    assert_int_equal(mkdirat(s->run_fd, ROOM "nothing in it", 0700), 0);
    site_write(s->run_fd, ROOM "con/deep/run.sh", "#!/bin/sh\n");
    assert_int_equal(fchmodat(s->run_fd, ROOM "con/deep/run.sh", 0751, 0), 0);
    assert_int_equal(fchmodat(s->run_fd, ROOM "model.pt", 0400, 0), 0);
    assert_int_equal(utimensat(s->run_fd, ROOM "model.pt", old, 0), 0);
    assert_int_equal(symlinkat("../val:acc", s->run_fd, ROOM "con/link"), 0);
    assert_int_equal(symlinkat("/nowhere/at/all", s->run_fd, ROOM "con/dangling"), 0);
    assert_int_equal(symlinkat("con", s->run_fd, ROOM "folder"), 0);
    assert_int_equal(fchmodat(s->run_fd, ROOM "con/deep", 0500, 0), 0);
    free(name);
}

static void what_is_restored_equals_what_was_kept(void **state)
{
    struct keep_site s;
    char *kept;

    (void)state;
    open_keep(&s);
    make_all_there_is(&s);
    keep_as(&s, JOB ".a1");
    kept = mem_printf("%s/" KEPT, s.site.top);
    /* Nothing there that some share could not hold. */
    assert_int_equal(system(arena_printf(s.site.arena,
                                         "test -z \"$(find %s -type l -o -name '*:*' -o -iname con "
                                         "-o -name '%s*')\"",
                                         kept,
                                         "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
                                         "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
                                         "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
                                         "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn")),
                     0);
    must_restore(&s, 2);
    must_be_equal(&s);
    must_restore(&s, 2); /* asked by an agent that did not hear it */
    must_be_equal(&s);
    free(kept);
    close_keep(&s);
}

static void its_modes_on_the_share_are_those_of_the_project(void **state)
{
    struct keep_site s;
    struct stat st;

    (void)state;
    open_keep(&s);
    make_all_there_is(&s);
    keep_as(&s, JOB ".a1");
    assert_int_equal(fstatat(s.kept_fd, JOB ".a1/model.pt", &st, 0),
                     -1); /* "Model.pt" came first */
    assert_int_equal(fstatat(s.kept_fd, JOB ".a1/model~2.pt", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    assert_int_equal(fstatat(s.kept_fd, JOB ".a1/%63on/deep/run.sh", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    assert_int_equal(fstatat(s.kept_fd, JOB ".a1/%63on/deep", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    close_keep(&s);
}

static void large_files_come_in_pieces(void **state)
{
    enum { MIB = 20 };
    struct keep_site s;
    struct err e = { 0 };
    struct checkpoint_copy k;
    char *bytes = mem_alloc(1 << 20);
    int fd, rc, turns = 0;

    (void)state;
    open_keep(&s);
    fd = openat(s.run_fd, ROOM "big", O_WRONLY | O_CREAT, 0640);
    for (int i = 0; i < MIB; i++) {
        memset(bytes, 'a' + i, 1 << 20);
        assert_int_equal(io_write_all(fd, bytes, 1 << 20), 0);
    }
    close(fd);
    assert_int_equal(checkpoint_copy_open(&k, s.run_fd, HEX_A, &e), 1);
    must(checkpoint_copy_begin(&k, s.kept, JOB ".a1", &modes, &e), &e);
    while ((rc = checkpoint_copy_go_on(&k, &e)) == 1)
        turns++;
    must(rc, &e);
    checkpoint_copy_close(&k);
    assert_true(turns >= 3);
    must_restore(&s, 2);
    must_be_equal(&s);
    free(bytes);
    close_keep(&s);
}

static void nothing_is_no_checkpoint(void **state)
{
    struct keep_site s;
    struct err e = { 0 };
    struct checkpoint_copy k;

    (void)state;
    open_keep(&s);
    assert_int_equal(checkpoint_copy_open(&k, s.run_fd, HEX_A, &e), 0);
    assert_int_equal(checkpoint_copy_open(&k, s.run_fd, HEX_B, &e), 0);
    /* The job put something else in its place. */
    assert_int_equal(unlinkat(s.run_fd, HEX_A "/checkpoint", AT_REMOVEDIR), 0);
    assert_int_equal(symlinkat("/etc", s.run_fd, HEX_A "/checkpoint"), 0);
    assert_int_equal(checkpoint_copy_open(&k, s.run_fd, HEX_A, &e), 0);
    assert_int_equal(unlinkat(s.run_fd, HEX_A "/checkpoint", 0), 0);
    site_write(s.run_fd, HEX_A "/checkpoint", "a file");
    assert_int_equal(checkpoint_copy_open(&k, s.run_fd, HEX_A, &e), 0);
    close_keep(&s);
}

static void no_symlink_leads_out_of_the_folder(void **state)
{
    struct keep_site s;
    int fd;

    (void)state;
    open_keep(&s);
    site_write(s.run_fd, "secret", "x");
    assert_int_equal(mkdirat(s.run_fd, ROOM "real", 0700), 0);
    assert_int_equal(symlinkat("../..", s.run_fd, ROOM "real/out"), 0);
    assert_true(faccessat(s.run_fd, ROOM "real/out/../secret", F_OK, 0) == 0);
    fd = beneath_open(s.run_fd, ROOM "real/out/secret", O_RDONLY, 0);
    assert_true(fd < 0 && errno == ELOOP);
    fd = beneath_open(s.run_fd, ROOM "real/out", O_RDONLY, 0);
    assert_true(fd < 0 && errno == ELOOP);
    keep_as(&s, JOB ".a1");
    assert_false(faccessat(s.kept_fd, JOB ".a1/real/out", F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    close_keep(&s);
}

static void fifos_and_what_is_not_ours_are_left_out(void **state)
{
    struct keep_site s;
    struct err e = { 0 };
    struct checkpoint_copy k;

    (void)state;
    site_become_nobody();
    open_keep(&s);
    site_write(s.run_fd, ROOM "state", "x");
    assert_int_equal(mkfifoat(s.run_fd, ROOM "fifo", 0600), 0);
    site_add_foreign(s.run_fd, ROOM "foreign", 0700, "file");
    assert_int_equal(checkpoint_copy_open(&k, s.run_fd, HEX_A, &e), 1);
    assert_int_equal(k.now.n_left_out, 2);
    checkpoint_copy_close(&k);
    keep_as(&s, JOB ".a1");
    must_restore(&s, 2);
    assert_string_equal(restored(&s, "state"), "x");
    site_become_root();
    close_keep(&s);
}

/* ---- while the job writes ---- */

static void append(struct keep_site *s, const char *path, const char *text)
{
    int fd = openat(s->run_fd, path, O_WRONLY | O_APPEND | O_CREAT, 0640);

    assert_true(fd >= 0);
    assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
    close(fd);
}

/* What a job may do to its folder while it is copied. */
static void grows(struct keep_site *s)
{
    append(s, ROOM "log", "line\n");
}

static void removes(struct keep_site *s)
{
    assert_int_equal(unlinkat(s->run_fd, ROOM "b", 0), 0);
}

static void adds(struct keep_site *s)
{
    site_write(s->run_fd, ROOM "new", "n");
}

static void renames(struct keep_site *s)
{
    site_write(s->run_fd, ROOM "a.tmp", "second");
    assert_int_equal(renameat(s->run_fd, ROOM "a.tmp", s->run_fd, ROOM "a"), 0);
}

/* As fast as no clock tells. */
static void replaces(struct keep_site *s)
{
    struct stat st;

    assert_int_equal(fstatat(s->run_fd, ROOM "a", &st, 0), 0);
    site_write(s->run_fd, ROOM "a.tmp", "FIRST");
    assert_int_equal(
        utimensat(s->run_fd, ROOM "a.tmp", (struct timespec[2]){ st.st_mtim, st.st_mtim }, 0), 0);
    assert_int_equal(renameat(s->run_fd, ROOM "a.tmp", s->run_fd, ROOM "a"), 0);
}

static void makes_it_a_folder(struct keep_site *s)
{
    removes(s);
    assert_int_equal(mkdirat(s->run_fd, ROOM "b", 0700), 0);
    site_write(s->run_fd, ROOM "b/inside", "x");
}

static void makes_it_a_link(struct keep_site *s)
{
    assert_int_equal(io_remove_tree_at(s->run_fd, ROOM "d", NULL), 0);
    assert_int_equal(symlinkat("a", s->run_fd, ROOM "d"), 0);
}

static void makes_it_a_program(struct keep_site *s)
{
    assert_int_equal(fchmodat(s->run_fd, ROOM "a", 0755, 0), 0);
}

static void what_changes_meanwhile_is_copied_again(void **state)
{
    static void (*const changes[])(struct keep_site *) = {
        grows,           removes,           adds, renames, replaces, makes_it_a_folder,
        makes_it_a_link, makes_it_a_program
    };
    enum { N = sizeof changes / sizeof changes[0], TURNS = 30 };

    (void)state;
    for (size_t i = 0; i < (size_t)N * TURNS; i++) {
        struct keep_site s;
        struct err e = { 0 };
        struct checkpoint_copy k;
        size_t turn = 0;
        int rc;

        open_keep(&s);
        site_write(s.run_fd, ROOM "a", "first");
        site_write(s.run_fd, ROOM "b", "b");
        site_write(s.run_fd, ROOM "log", "line\n");
        assert_int_equal(mkdirat(s.run_fd, ROOM "d", 0700), 0);
        site_write(s.run_fd, ROOM "d/e", "e");
        assert_int_equal(checkpoint_copy_open(&k, s.run_fd, HEX_A, &e), 1);
        must(checkpoint_copy_begin(&k, s.kept, JOB ".a1", &modes, &e), &e);
        do {
            if (turn++ == i % TURNS)
                changes[i / TURNS](&s);
            rc = checkpoint_copy_go_on(&k, &e);
        } while (rc == 1);
        must(rc, &e);
        checkpoint_copy_close(&k);
        must_restore(&s, 2);
        if (turn > i % TURNS) /* it came before the end */
            must_be_equal(&s);
        close_keep(&s);
    }
}

static void one_that_never_rests_is_not_kept(void **state)
{
    struct keep_site s;
    struct err e = { 0 };
    struct checkpoint_copy k;
    int rc;

    (void)state;
    open_keep(&s);
    site_write(s.run_fd, ROOM "a", "first");
    assert_int_equal(checkpoint_copy_open(&k, s.run_fd, HEX_A, &e), 1);
    must(checkpoint_copy_begin(&k, s.kept, JOB ".a1", &modes, &e), &e);
    do
        grows(&s);
    while ((rc = checkpoint_copy_go_on(&k, &e)) == 1);
    assert_true(rc == -1 && e.kind == ERR_BUSY);
    checkpoint_copy_close(&k);
    must_restore(&s, 2); /* without its index it is none */
    assert_false(is_restored(&s));
    close_keep(&s);
}

static void the_same_folder_is_known_by_its_copy(void **state)
{
    struct keep_site s;
    struct err e = { 0 };
    struct checkpoint_name newest;
    struct checkpoint_copy k;

    (void)state;
    open_keep(&s);
    make_all_there_is(&s);
    assert_int_equal(checkpoint_copy_open(&k, s.run_fd, HEX_A, &e), 1);
    assert_int_equal(checkpoint_copy_is_kept(&k, s.kept, JOB, 2, &newest, &e), 0);
    keep_as(&s, JOB ".a1");
    assert_int_equal(checkpoint_copy_is_kept(&k, s.kept, JOB, 2, &newest, &e), 1);
    assert_int_equal(newest.attempt, 1);
    checkpoint_copy_close(&k);
    grows(&s);
    assert_int_equal(checkpoint_copy_open(&k, s.run_fd, HEX_A, &e), 1);
    assert_int_equal(checkpoint_copy_is_kept(&k, s.kept, JOB, 2, &newest, &e), 0);
    checkpoint_copy_close(&k);
    close_keep(&s);
}

/* ---- which one ---- */

static void make_kept(struct keep_site *s, const char *name)
{
    assert_int_equal(mkdirat(s->kept_fd, name, 0755), 0);
}

static void the_newest_is_found_by_its_name(void **state)
{
    static const char *const names[] = { JOB ".a1",     JOB ".a2.3",  JOB ".a2.10",
                                         JOB "1.a7",    JOB ".a",     JOB ".ax",
                                         JOB ".a3x",    JOB ".a4.5x", "." JOB ".a5." HEX_A,
                                         "x" JOB ".a6", JOB ".a3.",   JOB ".a8.1.2" };
    static const struct {
        struct checkpoint_name up_to;
        const char *newest;
    } cases[] = {
        { { 9, CHECKPOINT_AT_END }, JOB ".a2.10" },
        { { 2, CHECKPOINT_AT_END }, JOB ".a2.10" },
        { { 2, 9 }, JOB ".a2.3" },
        { { 2, 2 }, JOB ".a1" },
        { { 1, CHECKPOINT_AT_END }, JOB ".a1" },
        { { 0, CHECKPOINT_AT_END }, NULL },
    };
    struct keep_site s;
    struct err e = { 0 };

    (void)state;
    open_keep(&s);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        make_kept(&s, names[i]);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf name = { 0 };
        struct checkpoint_name k;

        assert_int_equal(checkpoint_find_newest(s.kept, JOB, &cases[i].up_to, &k, &e),
                         cases[i].newest != NULL);
        if (cases[i].newest == NULL)
            continue;
        checkpoint_add_name(&name, JOB, &k);
        assert_string_equal(buf_text(&name), cases[i].newest);
        buf_free(&name);
    }
    make_kept(&s, JOB ".a2"); /* what it left at its end */
    assert_int_equal(
        checkpoint_find_newest(s.kept, JOB, &cases[0].up_to, &(struct checkpoint_name){ 0 }, &e),
        1);
    close_keep(&s);
}

static void older_ones_go_and_newer_ones_stay(void **state)
{
    static const struct {
        const char *name;
        bool stays;
    } cases[] = {
        { JOB ".a1", false },
        { JOB ".a2.1", false },
        { JOB ".a2.2", true },
        { JOB ".a2.3", true },
        { JOB ".a3.1", true },
        { "." JOB ".a1." HEX_B, false },
        { "." JOB ".a2.1." HEX_A, false },
        { "." JOB ".a3." HEX_B, true },
        { JOB "1.a1", true },
        { "." JOB "1.a1." HEX_B, true },
        { "something else", true },
    };
    const struct checkpoint_name than = { 2, 2 };
    struct keep_site s;
    struct err e = { 0 };

    (void)state;
    open_keep(&s);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        make_kept(&s, cases[i].name);
    must(checkpoint_remove_older(s.kept, JOB, &than, 0, 2, HEX_A, &e), &e);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if ((faccessat(s.kept_fd, cases[i].name, F_OK, 0) == 0) != cases[i].stays)
            fail_msg("%s", cases[i].name);
    must(checkpoint_remove_older(s.kept, JOB, NULL, 0, INT64_MAX, HEX_A, &e), &e);
    assert_int_equal(site_count(arena_printf(s.site.arena, "%s/" KEPT, s.site.top)), 3);
    close_keep(&s);
}

static void an_attempt_goes_on_from_the_newest_before_it(void **state)
{
    static const char *const names[] = { JOB ".a1", JOB ".a2.1", JOB ".a2.2", JOB ".a2",
                                         JOB ".a3" };
    static const struct {
        int64_t attempt;
        const char *from;
    } cases[] = { { 1, NULL }, { 2, JOB ".a1" }, { 3, JOB ".a2" }, { 4, JOB ".a3" } };
    struct keep_site s;

    (void)state;
    open_keep(&s);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        site_write(s.run_fd, ROOM "state", names[i]);
        keep_as(&s, names[i]);
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        must_restore(&s, cases[i].attempt);
        assert_int_equal(is_restored(&s), cases[i].from != NULL);
        if (cases[i].from != NULL)
            assert_string_equal(restored(&s, "state"), cases[i].from);
        assert_int_equal(io_remove_tree_at(s.site.scratch.checkpoints_fd, HEX_B, NULL), 0);
    }
    close_keep(&s);
}

/* ---- what goes wrong ---- */

static void is_cut_short(struct keep_site *s)
{
    site_write(s->kept_fd, JOB ".a2/state", "st");
}

static void lacks_a_file(struct keep_site *s)
{
    assert_int_equal(unlinkat(s->kept_fd, JOB ".a2/state", 0), 0);
}

static void has_a_link_in_it(struct keep_site *s)
{
    lacks_a_file(s);
    assert_int_equal(symlinkat("/etc/passwd", s->kept_fd, JOB ".a2/state"), 0);
}

static void lacks_its_index(struct keep_site *s)
{
    assert_int_equal(unlinkat(s->kept_fd, JOB ".a2/" CHECKPOINT_INDEX, 0), 0);
}

static void has_half_an_index(struct keep_site *s)
{
    struct buf index = { 0 };
    struct err e = { 0 };

    must(io_read_file_at(s->kept_fd, JOB ".a2/" CHECKPOINT_INDEX, 1 << 20, &index, &e), &e);
    must(io_write_file_at(s->kept_fd, JOB ".a2/" CHECKPOINT_INDEX, index.bytes, index.n - 1, 0644,
                          &e),
         &e);
    buf_free(&index);
}

static void write_index(struct keep_site *s, struct checkpoint_entry *entries, size_t n)
{
    struct checkpoint_snapshot forged = { .entries = entries, .n = n };
    struct buf index = { 0 };
    struct err e = { 0 };

    must(checkpoint_snapshot_add_index(&index, &forged, &e), &e);
    must(io_write_file_at(s->kept_fd, JOB ".a2/" CHECKPOINT_INDEX, index.bytes, index.n, 0644, &e),
         &e);
    buf_free(&index);
}

static void climbs_out(struct keep_site *s)
{
    write_index(s,
                (struct checkpoint_entry[]){ { .type = CHECKPOINT_FILE,
                                               .path = "../../evil",
                                               .stored = "state",
                                               .mode = 0600,
                                               .size_bytes = strlen("second") } },
                1);
}

static void reads_from_elsewhere(struct keep_site *s)
{
    write_index(s,
                (struct checkpoint_entry[]){ { .type = CHECKPOINT_FILE,
                                               .path = "state",
                                               .stored = "../" JOB ".a1/state",
                                               .mode = 0600,
                                               .size_bytes = strlen("first") } },
                1);
}

static void writes_through_a_link(struct keep_site *s)
{
    write_index(s,
                (struct checkpoint_entry[]){
                    { .type = CHECKPOINT_LINK, .path = "out", .target = s->site.top },
                    { .type = CHECKPOINT_FILE,
                      .path = "out/evil",
                      .stored = "state",
                      .mode = 0600,
                      .size_bytes = strlen("second") } },
                2);
}

static void a_damaged_one_is_passed_over(void **state)
{
    static void (*const damages[])(struct keep_site *) = {
        is_cut_short,      lacks_a_file, has_a_link_in_it,     lacks_its_index,
        has_half_an_index, climbs_out,   reads_from_elsewhere, writes_through_a_link
    };

    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct keep_site s;

        open_keep(&s);
        site_write(s.run_fd, ROOM "state", "first");
        keep_as(&s, JOB ".a1");
        site_write(s.run_fd, ROOM "state", "second");
        keep_as(&s, JOB ".a2");
        damages[i](&s);
        must_restore(&s, 3);
        assert_string_equal(restored(&s, "state"), "first");
        assert_false(site_has(&s.site, "scratch/evil") || site_has(&s.site, "evil"));
        assert_int_equal(
            site_count(arena_printf(s.site.arena, "%s/checkpoints", s.site.scratch.path)), 2);
        close_keep(&s);
    }
}

static void where_there_is_none_there_is_nothing_to_do(void **state)
{
    struct keep_site s;

    (void)state;
    open_keep(&s);
    must_restore(&s, 2);
    assert_int_equal(unlinkat(s.site.top_fd, KEPT, AT_REMOVEDIR), 0);
    must_restore(&s, 2);
    assert_int_equal(io_remove_tree_at(s.site.top_fd, "share/demo/.ludwig", NULL), 0);
    must_restore(&s, 2);
    assert_false(is_restored(&s));
    close_keep(&s);
}

static void a_share_that_is_away_is_an_error(void **state)
{
    struct keep_site s;
    struct err e = { 0 };

    (void)state;
    open_keep(&s);
    site_write(s.run_fd, ROOM "state", "first");
    keep_as(&s, JOB ".a1");
    assert_int_equal(renameat(s.site.top_fd, "share/demo", s.site.top_fd, "away"), 0);
    assert_int_equal(restore(&s, 2, &e), -1); /* as below a mount point */
    assert_int_equal(renameat(s.site.top_fd, "share", s.site.top_fd, "gone"), 0);
    assert_int_equal(restore(&s, 2, &e), -1);
    assert_int_equal(renameat(s.site.top_fd, "gone", s.site.top_fd, "share"), 0);
    assert_int_equal(renameat(s.site.top_fd, "away", s.site.top_fd, "share/demo"), 0);
    must_restore(&s, 2);
    assert_string_equal(restored(&s, "state"), "first");
    close_keep(&s);
}

static void what_was_begun_before_is_begun_anew(void **state)
{
    struct keep_site s;

    (void)state;
    open_keep(&s);
    site_write(s.run_fd, ROOM "state", "first");
    keep_as(&s, JOB ".a1");
    assert_int_equal(mkdirat(s.site.scratch.checkpoints_fd, "." HEX_B, 0700), 0);
    site_write(s.site.scratch.checkpoints_fd, "." HEX_B "/half", "x");
    must_restore(&s, 2);
    must_be_equal(&s);
    close_keep(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_restored_equals_what_was_kept),
        cmocka_unit_test(its_modes_on_the_share_are_those_of_the_project),
        cmocka_unit_test(large_files_come_in_pieces),
        cmocka_unit_test(nothing_is_no_checkpoint),
        cmocka_unit_test(no_symlink_leads_out_of_the_folder),
        cmocka_unit_test(fifos_and_what_is_not_ours_are_left_out),
        cmocka_unit_test(what_changes_meanwhile_is_copied_again),
        cmocka_unit_test(one_that_never_rests_is_not_kept),
        cmocka_unit_test(the_same_folder_is_known_by_its_copy),
        cmocka_unit_test(the_newest_is_found_by_its_name),
        cmocka_unit_test(older_ones_go_and_newer_ones_stay),
        cmocka_unit_test(an_attempt_goes_on_from_the_newest_before_it),
        cmocka_unit_test(a_damaged_one_is_passed_over),
        cmocka_unit_test(where_there_is_none_there_is_nothing_to_do),
        cmocka_unit_test(a_share_that_is_away_is_an_error),
        cmocka_unit_test(what_was_begun_before_is_begun_anew),
    };

    umask(0); /* as the publisher has it */
    return SITE_EITHER_WAY(tests);
}
