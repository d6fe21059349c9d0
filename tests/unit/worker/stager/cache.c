/* SPDX-License-Identifier: MIT */
/* cache.c - tests of staged trees */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <sys/inotify.h>

#include "common/base/units.h"
#include "tests/unit/worker_cache.h"
#include "worker/stager/cache_record.h"

static struct stat stat_in(struct bench *b, const struct dataset *set, const char *path)
{
    struct stat st;

    if (fstatat(b->site.top_fd, in_cache(b, set, path), &st, AT_SYMLINK_NOFOLLOW) < 0)
        fail_msg("%s is not there", path);
    return st;
}

static void assert_holds(struct bench *b, const struct dataset *set, const char *path,
                         const char *text)
{
    assert_string_equal(site_read(&b->site, in_cache(b, set, path)), text);
}

/* What a job does that wants to. */
static void change(struct bench *b, const struct dataset *set, const char *path, const char *text)
{
    const char *name = in_cache(b, set, path);

    assert_int_equal(fchmodat(b->site.top_fd, name, 0600, 0), 0);
    site_write(b->site.top_fd, name, text);
}

static struct dataset pack_large(struct bench *b)
{
    uint8_t *bytes = large_bytes(1);
    struct dataset set;
    struct packing p;

    packing_begin(&p, &b->site, &b->store);
    packing_bytes(&p, "large", false, bytes, LARGE_BYTES);
    memset(bytes, 0, PACK_PIECE_BYTES); /* a hole */
    packing_bytes(&p, "sparse", false, bytes, LARGE_BYTES);
    set = packing_end(&p);
    free(bytes);
    return set;
}

static void a_tree_is_staged_read_only(void **state)
{
    struct bench b;
    struct dataset set;

    (void)state;
    open_bench(&b);
    set = pack_small(&b);
    assert_int_equal(look(&b, &set, false), CACHE_ABSENT);
    stage(&b, &set);
    assert_int_equal(look(&b, &set, false), CACHE_WHOLE);
    assert_int_equal(look(&b, &set, true), CACHE_WHOLE);
    assert_holds(&b, &set, "sub/file", "text");
    assert_holds(&b, &set, "sub/again", "text");
    assert_holds(&b, &set, "none", "");
    assert_int_equal(stat_in(&b, &set, "sub/file").st_mode, S_IFREG | 0444);
    assert_int_equal(stat_in(&b, &set, "none").st_mode, S_IFREG | 0444);
    assert_int_equal(stat_in(&b, &set, "tool").st_mode, S_IFREG | 0555);
    assert_int_equal(stat_in(&b, &set, "empty").st_mode, S_IFDIR | 0755);
    assert_int_equal(stat_in(&b, &set, "sub/link").st_mode & S_IFMT, S_IFLNK);
    assert_int_equal(stat_in(&b, &set, "sub/hard").st_ino, stat_in(&b, &set, "sub/file").st_ino);
    assert_int_not_equal(stat_in(&b, &set, "sub/again").st_ino,
                         stat_in(&b, &set, "sub/file").st_ino);
    close_bench(&b);
}

static void large_files_keep_their_holes(void **state)
{
    struct bench b;
    struct dataset set;
    struct buf text = { 0 };
    uint8_t *bytes = large_bytes(1);

    (void)state;
    open_bench(&b);
    set = pack_large(&b);
    stage(&b, &set);
    assert_int_equal(
        io_read_file_at(b.site.top_fd, in_cache(&b, &set, "large"), LARGE_BYTES, &text, &b.e), 0);
    assert_int_equal(text.n, LARGE_BYTES);
    assert_memory_equal(text.bytes, bytes, LARGE_BYTES);
    buf_clear(&text);
    memset(bytes, 0, PACK_PIECE_BYTES);
    assert_int_equal(
        io_read_file_at(b.site.top_fd, in_cache(&b, &set, "sparse"), LARGE_BYTES, &text, &b.e), 0);
    assert_memory_equal(text.bytes, bytes, LARGE_BYTES);
    assert_true(stat_in(&b, &set, "sparse").st_blocks * 512 < LARGE_BYTES - PACK_PIECE_BYTES / 2);
    assert_int_equal(stat_in(&b, &set, "large").st_mode, S_IFREG | 0444);
    assert_int_equal(look(&b, &set, true), CACHE_WHOLE);
    buf_free(&text);
    free(bytes);
    close_bench(&b);
}

enum { SEVERAL = 4, TOGETHER_S = 30 };

/* Threads that meet: who comes first waits for the others. */
struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t all_are_there;
    pthread_t who[SEVERAL];
    size_t n, wanted;
};

static bool is_there(const struct meeting *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (pthread_equal(m->who[i], pthread_self()))
            return true;
    return false;
}

/* Called by each thread before it takes a part. */
static bool meet(void *context)
{
    struct meeting *m = context;
    struct timespec until;
    int rc = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += TOGETHER_S;
    pthread_mutex_lock(&m->lock);
    if (m->n < m->wanted && !is_there(m))
        m->who[m->n++] = pthread_self();
    pthread_cond_broadcast(&m->all_are_there);
    while (rc == 0 && m->n < m->wanted)
        rc = pthread_cond_timedwait(&m->all_are_there, &m->lock, &until);
    pthread_mutex_unlock(&m->lock);
    return false;
}

static bool may_go(void *context, const struct digest *tree)
{
    (void)context;
    (void)tree;
    return true;
}

static void each_processor_has_a_thread(void **state)
{
    struct meeting m = { .lock = PTHREAD_MUTEX_INITIALIZER,
                         .all_are_there = PTHREAD_COND_INITIALIZER,
                         .wanted = cache_threads() < SEVERAL ? cache_threads() : SEVERAL };
    struct bench b;
    struct dataset set = { .files = 0 };
    cpu_set_t ours;

    (void)state;
    open_bench(&b);
    b.cache.let_go = may_go;
    b.cache.is_over = meet;
    b.cache.context = &m;
    /* What is added each time has a part of its own. */
    for (size_t n = 1; n <= SEVERAL; n++) {
        struct packing p;

        packing_begin(&p, &b.site, &b.store);
        for (size_t i = 0; i < n; i++) {
            const char *name = arena_printf(b.site.arena, "%zu", i);

            packing_file(&p, name, name);
        }
        set = packing_end(&p);
    }
    assert_int_equal(sched_getaffinity(0, sizeof ours, &ours), 0);
    assert_int_equal(m.wanted, CPU_COUNT(&ours) < SEVERAL ? CPU_COUNT(&ours) : SEVERAL);
    stage(&b, &set);
    assert_int_equal(m.n, m.wanted);
    assert_holds(&b, &set, "3", "3");
    close_bench(&b);
}

static void a_tree_may_be_a_file_or_nothing(void **state)
{
    struct bench b;
    struct dataset file, nothing;
    struct packing p;

    (void)state;
    open_bench(&b);
    packing_begin(&p, &b.site, &b.store);
    packing_file(&p, "", "alone");
    file = packing_end(&p);
    packing_begin(&p, &b.site, &b.store);
    nothing = packing_end(&p);
    stage(&b, &file);
    stage(&b, &nothing);
    assert_holds(&b, &file, "", "alone");
    assert_int_equal(stat_in(&b, &nothing, "").st_mode, S_IFDIR | 0755);
    assert_int_equal(look(&b, &file, true), CACHE_WHOLE);
    assert_int_equal(look(&b, &nothing, false), CACHE_WHOLE);
    change(&b, &file, "", "other");
    assert_int_equal(look(&b, &file, true), CACHE_DAMAGED);
    stage(&b, &file);
    assert_holds(&b, &file, "", "alone");
    assert_int_equal(look(&b, &file, true), CACHE_WHOLE);
    close_bench(&b);
}

/* ---- what is there already ---- */

/* As it was left when it was being filled; what is whole keeps its inode. */
static void half_a_tree(struct bench *b, const struct dataset *set)
{

    char hex[DIGEST_HEX], *new, *record;

    stage(b, set);
    digest_hex(&set->tree, hex);
    new = mem_printf("scratch/cache/.%s.new", hex);
    record = mem_printf("scratch/cache/.%s.record", hex);
    assert_int_equal(renameat(b->site.top_fd, in_cache(b, set, ""), b->site.top_fd, new), 0);
    assert_int_equal(unlinkat(b->site.top_fd, record, 0), 0);
    free(record);
    free(new);
}

static const char *in_new(struct bench *b, const struct dataset *set, const char *path)
{
    char hex[DIGEST_HEX];

    digest_hex(&set->tree, hex);
    return arena_printf(b->site.arena, "scratch/cache/.%s.new%s%s", hex, path[0] ? "/" : "", path);
}

static void begun_in(struct bench *b, const struct dataset *set, const char *boot)
{
    char hex[DIGEST_HEX], id[BOOT_BYTES + 1] = { 0 };

    boot_id(id);
    digest_hex(&set->tree, hex);
    site_write(b->site.top_fd, arena_printf(b->site.arena, "scratch/cache/.%s.begun", hex),
               boot == NULL ? id : boot);
}

static void what_a_crash_left_is_completed(void **state)
{
    struct bench b;
    struct dataset set;
    struct stat file, tool;

    (void)state;
    open_bench(&b);
    set = pack_small(&b);
    stage(&b, &set);
    file = stat_in(&b, &set, "sub/file");
    tool = stat_in(&b, &set, "tool");
    half_a_tree(&b, &set);
    begun_in(&b, &set, NULL);
    /* one was not written to its end, one not at all */
    assert_int_equal(fchmodat(b.site.top_fd, in_new(&b, &set, "tool"), 0600, 0), 0);
    site_write(b.site.top_fd, in_new(&b, &set, "tool"), "#");
    assert_int_equal(fchmodat(b.site.top_fd, in_new(&b, &set, "tool"), 0555, 0), 0);
    assert_int_equal(unlinkat(b.site.top_fd, in_new(&b, &set, "sub/again"), 0), 0);
    stage(&b, &set);
    assert_holds(&b, &set, "tool", "#!");
    assert_holds(&b, &set, "sub/again", "text");
    assert_int_equal(stat_in(&b, &set, "sub/file").st_ino, file.st_ino);
    (void)tool;
    assert_int_equal(look(&b, &set, true), CACHE_WHOLE);
    assert_int_equal(
        site_count(arena_printf(b.site.arena, "%s/cache -maxdepth 1", b.site.scratch.path)), 2);
    close_bench(&b);
}

static void what_an_earlier_boot_left_is_read(void **state)
{
    struct bench b;
    struct dataset set;
    struct stat file;

    (void)state;
    open_bench(&b);
    set = pack_small(&b);
    stage(&b, &set);
    file = stat_in(&b, &set, "sub/file");
    half_a_tree(&b, &set);
    begun_in(&b, &set, "00000000-0000-0000-0000-000000000000");
    /* of the right size and mode, but the disk never got it */
    assert_int_equal(fchmodat(b.site.top_fd, in_new(&b, &set, "tool"), 0600, 0), 0);
    site_write(b.site.top_fd, in_new(&b, &set, "tool"), "xx");
    assert_int_equal(fchmodat(b.site.top_fd, in_new(&b, &set, "tool"), 0555, 0), 0);
    stage(&b, &set);
    assert_holds(&b, &set, "tool", "#!");
    assert_int_equal(stat_in(&b, &set, "sub/file").st_ino, file.st_ino);
    close_bench(&b);
}

static void right_pieces_of_a_large_file_stay(void **state)
{
    struct bench b;
    struct dataset set;
    struct stat before;
    char *part;

    (void)state;
    open_bench(&b);
    set = pack_large(&b);
    half_a_tree(&b, &set);
    begun_in(&b, &set, NULL);
    assert_int_equal(fchmodat(b.site.top_fd, in_new(&b, &set, "large"), 0600, 0), 0);
    assert_int_equal(
        fstatat(b.site.top_fd, in_new(&b, &set, "large"), &before, AT_SYMLINK_NOFOLLOW), 0);
    /* Nothing is needed of the share but the names. */
    part = packs_path(&b.site, "parts");
    for (size_t i = 0; i < b.store.n; i++)
        if (strstr(b.store.items[i].path, ".raw") != NULL ||
            strstr(b.store.items[i].path, ".zst") != NULL) {
            char *path = packs_path(&b.site, b.store.items[i].path);

            assert_int_equal(unlink(path), 0);
            free(path);
        }
    stage(&b, &set);
    assert_int_equal(stat_in(&b, &set, "large").st_ino, before.st_ino);
    assert_int_equal(stat_in(&b, &set, "large").st_mode, S_IFREG | 0444);
    free(part);
    close_bench(&b);
}

static void a_tree_without_a_record_is_read(void **state)
{
    struct bench b;
    struct dataset set;
    struct stat before;
    char hex[DIGEST_HEX];

    (void)state;
    open_bench(&b);
    set = pack_small(&b);
    stage(&b, &set);
    before = stat_in(&b, &set, "sub/file");
    digest_hex(&set.tree, hex);
    assert_int_equal(unlinkat(b.cache.fd, arena_printf(b.site.arena, ".%s.record", hex), 0), 0);
    change(&b, &set, "tool", "xx");
    assert_int_equal(look(&b, &set, false), CACHE_DAMAGED);
    stage(&b, &set);
    assert_int_equal(look(&b, &set, false), CACHE_WHOLE);
    assert_int_equal(stat_in(&b, &set, "sub/file").st_ino, before.st_ino);
    assert_holds(&b, &set, "tool", "#!");
    close_bench(&b);
}

static void a_broken_record_is_none(void **state)
{
    struct bench b;
    struct dataset set;
    char hex[DIGEST_HEX];
    const char *record;

    (void)state;
    open_bench(&b);
    set = pack_small(&b);
    stage(&b, &set);
    digest_hex(&set.tree, hex);
    record = arena_printf(b.site.arena, "scratch/cache/.%s.record", hex);
    for (off_t n = 0; n < 2000; n += 97) {
        struct record r;

        if (truncate(arena_printf(b.site.arena, "%s/%s", b.site.top, record), n) < 0)
            fail();
        assert_false(record_open(&r, b.cache.fd, &set.tree));
    }
    stage(&b, &set);
    assert_int_equal(look(&b, &set, true), CACHE_WHOLE);
    close_bench(&b);
}

/* ---- cleaners and jobs ---- */

static void what_a_cleaner_took_is_put_back(void **state)
{
    static const char *const gone[] = { "sub/file", "sub/hard", "sub/link", "empty", "sub", "" };

    (void)state;
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++) {
        struct bench b;
        struct dataset set;

        open_bench(&b);
        set = pack_small(&b);
        stage(&b, &set);
        assert_int_equal(io_remove_tree_at(b.site.top_fd, in_cache(&b, &set, gone[i]), &b.e), 0);
        for (int n = 0; n < 2; n++) /* however often it is looked at until then */
            assert_int_equal(look(&b, &set, false),
                             gone[i][0] == '\0' ? CACHE_ABSENT : CACHE_DAMAGED);
        stage(&b, &set);
        assert_int_equal(look(&b, &set, false), CACHE_WHOLE);
        assert_int_equal(look(&b, &set, true), CACHE_WHOLE);
        assert_holds(&b, &set, "sub/link", "text");
        assert_int_equal(stat_in(&b, &set, "sub/hard").st_ino,
                         stat_in(&b, &set, "sub/file").st_ino);
        close_bench(&b);
    }
}

static void what_a_job_changed_is_replaced(void **state)
{
    struct bench b;
    struct dataset set;
    struct stat before;
    struct cache_use use;

    (void)state;
    open_bench(&b);
    set = pack_small(&b);
    stage(&b, &set);
    before = stat_in(&b, &set, "sub/again");
    use = (struct cache_use){ .tree = set.tree, .guard_fd = -1 };
    assert_int_equal(cache_open_tree(b.cache.fd, &use), CACHE_WHOLE);
    change(&b, &set, "sub/file", "TEXT");
    /* nobody said that jobs are done: every file is looked at */
    assert_int_equal(cache_open_tree(b.cache.fd, &use), CACHE_DAMAGED);
    stage(&b, &set);
    assert_int_equal(look(&b, &set, true), CACHE_WHOLE);
    assert_holds(&b, &set, "sub/file", "text");
    assert_holds(&b, &set, "sub/hard", "text");
    assert_int_equal(stat_in(&b, &set, "sub/hard").st_ino, stat_in(&b, &set, "sub/file").st_ino);
    assert_int_equal(stat_in(&b, &set, "sub/file").st_mode, S_IFREG | 0444);
    assert_int_equal(stat_in(&b, &set, "sub/again").st_ino, before.st_ino);
    close_bench(&b);
}

/* Its size and its time say nothing then. */
static void what_was_changed_and_given_its_time_back_is_replaced(void **state)
{
    struct bench b;
    struct dataset set;
    struct stat before, after;

    (void)state;
    open_bench(&b);
    set = pack_small(&b);
    stage(&b, &set);
    before = stat_in(&b, &set, "sub/file");
    change(&b, &set, "sub/file", "TEXT");
    assert_int_equal(fchmodat(b.site.top_fd, in_cache(&b, &set, "sub/file"), 0444, 0), 0);
    assert_int_equal(utimensat(b.site.top_fd, in_cache(&b, &set, "sub/file"),
                               (struct timespec[2]){ before.st_atim, before.st_mtim }, 0),
                     0);
    after = stat_in(&b, &set, "sub/file");
    assert_int_equal(after.st_size, before.st_size);
    assert_int_equal(units_ns(&after.st_mtim), units_ns(&before.st_mtim));
    assert_int_equal(look(&b, &set, true), CACHE_DAMAGED);
    stage(&b, &set);
    assert_holds(&b, &set, "sub/file", "text");
    close_bench(&b);
}

static void a_folder_in_place_of_a_file_goes(void **state)
{
    struct bench b;
    struct dataset set;

    (void)state;
    open_bench(&b);
    set = pack_small(&b);
    stage(&b, &set);
    assert_int_equal(unlinkat(b.site.top_fd, in_cache(&b, &set, "tool"), 0), 0);
    assert_int_equal(mkdirat(b.site.top_fd, in_cache(&b, &set, "tool"), 0755), 0);
    site_write(b.site.top_fd, in_cache(&b, &set, "tool/x"), "x");
    assert_int_equal(io_remove_tree_at(b.site.top_fd, in_cache(&b, &set, "sub"), &b.e), 0);
    assert_int_equal(symlinkat("/etc", b.site.top_fd, in_cache(&b, &set, "sub")), 0);
    assert_int_equal(look(&b, &set, false), CACHE_DAMAGED);
    stage(&b, &set);
    assert_holds(&b, &set, "tool", "#!");
    assert_holds(&b, &set, "sub/file", "text");
    assert_int_equal(look(&b, &set, true), CACHE_WHOLE);
    close_bench(&b);
}

static void what_was_only_touched_stays(void **state)
{
    struct bench b;
    struct dataset set;
    struct stat before, after;
    char *share;

    (void)state;
    open_bench(&b);
    set = pack_small(&b);
    stage(&b, &set);
    before = stat_in(&b, &set, "sub/file");
    assert_int_equal(utimensat(b.site.top_fd, in_cache(&b, &set, "sub/file"), NULL, 0), 0);
    assert_int_equal(fchmodat(b.site.top_fd, in_cache(&b, &set, "tool"), 0777, 0), 0);
    share = mem_printf("%s.away", b.site.share_path);
    assert_int_equal(rename(b.site.share_path, share), 0); /* nothing is needed of it */
    assert_int_equal(look(&b, &set, true), CACHE_WHOLE);
    assert_int_equal(look(&b, &set, false), CACHE_WHOLE);
    assert_int_equal(rename(share, b.site.share_path), 0);
    after = stat_in(&b, &set, "sub/file");
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(stat_in(&b, &set, "tool").st_mode, S_IFREG | 0555);
    free(share);
    close_bench(&b);
}

/* The guard is told of all that a job can do to its data, and of nothing else. */
static void a_guard_is_told_of_changes(void **state)
{
    struct bench b;
    struct dataset set;
    struct cache_use use;
    char events[4096];
    struct buf text = { 0 };

    (void)state;
    open_bench(&b);
    set = pack_small(&b);
    stage(&b, &set);
    use = (struct cache_use){ .tree = set.tree,
                              .cache_dir_path =
                                  arena_printf(b.site.arena, "%s/cache", b.site.scratch.path),
                              .guard_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC) };
    for (int round = 0; round < 2; round++) {
        assert_int_equal(cache_open_tree(b.cache.fd, &use), CACHE_WHOLE);
        assert_true(use.is_guarded);
        buf_clear(&text);
        assert_int_equal(
            io_read_file_at(b.site.top_fd, in_cache(&b, &set, "sub/file"), 10, &text, &b.e), 0);
        site_write(b.site.top_fd, in_cache(&b, &set, "sub/.lock"), ""); /* of its own */
        assert_true(read(use.guard_fd, events, sizeof events) != 0);    /* our writing it */
        assert_int_equal(read(use.guard_fd, events, sizeof events), -1);
        change(&b, &set, "sub/file", "TEXT");
        assert_true(read(use.guard_fd, events, sizeof events) > 0);
        use.is_doubted = true;
        assert_int_equal(cache_open_tree(b.cache.fd, &use), CACHE_DAMAGED);
        stage(&b, &set);
        cache_close_tree(b.cache.fd, &use);
        use.is_doubted = false;
        while (read(use.guard_fd, events, sizeof events) > 0)
            ;
        change(&b, &set, "tool", "XX"); /* not watched any more, */
        assert_int_equal(read(use.guard_fd, events, sizeof events), -1);
        assert_int_equal(cache_open_tree(b.cache.fd, &use), CACHE_DAMAGED); /* but doubted */
        stage(&b, &set);
        while (read(use.guard_fd, events, sizeof events) > 0)
            ;
    }
    close(use.guard_fd);
    buf_free(&text);
    close_bench(&b);
}

/* ---- earlier versions ---- */

static void files_of_an_earlier_version_are_linked(void **state)
{
    struct bench b;
    struct dataset old, new;
    struct packing p;
    struct stat before;

    (void)state;
    open_bench(&b);
    packing_begin(&p, &b.site, &b.store);
    packing_file(&p, "changed", "by a job");
    packing_file(&p, "same", "the same");
    packing_bytes(&p, "tool", true, "tool", 4);
    old = packing_end(&p);
    packing_begin(&p, &b.site, &b.store);
    packing_file(&p, "changed", "by a job");
    packing_file(&p, "moved", "the same");
    packing_file(&p, "new", "new");
    packing_file(&p, "tool", "tool"); /* not to be executed */
    new = packing_end(&p);
    stage(&b, &old);
    before = stat_in(&b, &old, "same");
    change(&b, &old, "changed", "BY A JOB");
    stage(&b, &new);
    assert_int_equal(stat_in(&b, &new, "moved").st_ino, before.st_ino);
    assert_int_not_equal(stat_in(&b, &new, "tool").st_ino, stat_in(&b, &old, "tool").st_ino);
    assert_holds(&b, &new, "changed", "by a job");
    assert_holds(&b, &new, "new", "new");
    assert_int_equal(look(&b, &new, true), CACHE_WHOLE);
    /* The old one's record knows the new ctime: nothing of it was changed but that one. */
    stage(&b, &old);
    assert_int_equal(stat_in(&b, &old, "same").st_ino, before.st_ino);
    assert_holds(&b, &old, "changed", "by a job");
    assert_int_equal(look(&b, &old, true), CACHE_WHOLE);
    close_bench(&b);
}

/* What changes a file in place shows in no folder: only who was told looks. */
static void what_others_use_is_not_taken_as_it_is(void **state)
{
    (void)state;
    for (int has_others = 0; has_others <= 1; has_others++) {
        struct bench b;
        struct dataset set;
        struct cache_use use = { .guard_fd = -1, .is_used_by_others = has_others };

        open_bench(&b);
        set = pack_small(&b);
        stage(&b, &set);
        use.tree = set.tree;
        assert_int_equal(cache_open_tree(b.cache.fd, &use), CACHE_WHOLE);
        cache_close_tree(b.cache.fd, &use);
        change(&b, &set, "sub/file", "TEXT");
        assert_int_equal(look(&b, &set, false), has_others ? CACHE_DAMAGED : CACHE_WHOLE);
        close_bench(&b);
    }
}

enum ending { CLOSED_DOUBTED, PUT_RIGHT, WORKER_DIED };

static void end_use(struct bench *b, const struct dataset *set, enum ending ending)
{
    struct cache_use use = { .tree = set->tree, .guard_fd = -1, .is_doubted = true };

    if (ending == CLOSED_DOUBTED)
        cache_close_tree(b->cache.fd, &use);
    if (ending == PUT_RIGHT) {
        assert_int_equal(cache_open_tree(b->cache.fd, &use), CACHE_DAMAGED);
        stage(b, set);
        assert_int_equal(look(b, set, false), CACHE_WHOLE);
    }
}

static void what_is_changed_in_one_tree_is_found_in_another_that_shares_it(void **state)
{
    (void)state;
    for (enum ending ending = CLOSED_DOUBTED; ending <= WORKER_DIED; ending++) {
        struct bench b;
        struct dataset old, new;
        struct packing p;
        struct cache_use use = { .guard_fd = -1 };

        open_bench(&b);
        packing_begin(&p, &b.site, &b.store);
        packing_file(&p, "same", "the same");
        old = packing_end(&p);
        packing_begin(&p, &b.site, &b.store);
        packing_file(&p, "moved", "the same");
        packing_file(&p, "new", "new");
        new = packing_end(&p);
        stage(&b, &old);
        stage(&b, &new);
        assert_int_equal(look(&b, &old, true), CACHE_WHOLE);
        assert_int_equal(look(&b, &new, false), CACHE_WHOLE);
        use.tree = old.tree;
        assert_int_equal(cache_open_tree(b.cache.fd, &use), CACHE_WHOLE);
        change(&b, &old, "same", "not that");
        end_use(&b, &old, ending);
        assert_int_equal(look(&b, &new, false), CACHE_DAMAGED);
        stage(&b, &new);
        assert_holds(&b, &new, "moved", "the same");
        assert_int_equal(look(&b, &new, false), CACHE_WHOLE);
        close_bench(&b);
    }
}

/* ---- damage on the share ---- */

static struct stored *find_part(struct bench *b, const char *suffix)
{
    for (size_t i = 0; i < b->store.n; i++) {
        const char *path = b->store.items[i].path;

        if (strlen(path) > strlen(suffix) &&
            strcmp(path + strlen(path) - strlen(suffix), suffix) == 0)
            return &b->store.items[i];
    }
    fail_msg("there is no %s", suffix);
    return NULL;
}

/* At some of its bytes; what is damaged is set aside, and whoever sends it again makes it good. */
static void damage_is_found_and_set_aside(void **state)
{
    static const char *const suffixes[] = { ".tar.zst", ".list", ".block", ".manifest" };

    (void)state;
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        struct bench b;
        struct dataset set;
        struct stored *part;
        char *path, *aside;

        open_bench(&b);
        set = pack_small(&b);
        part = find_part(&b, suffixes[i]);
        path = packs_path(&b.site, part->path);
        aside = mem_printf("%s.bad", path);
        part->bytes.bytes[part->bytes.n / 2] ^= 4;
        store_to_share(&b.store, &b.site);
        stage_fails(&b, &set, ERR_PROTOCOL);
        assert_non_null(strstr(b.e.text, part->path + (strchr(part->path, '/') != NULL) * 6));
        assert_non_null(strstr(b.e.text, "submit again"));
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(access(aside, F_OK), 0);
        stage_fails(&b, &set, ERR_NOT_FOUND);
        assert_non_null(strstr(b.e.text, "was damaged"));
        part->bytes.bytes[part->bytes.n / 2] ^= 4;
        store_to_share(&b.store, &b.site);
        stage(&b, &set);
        assert_int_equal(look(&b, &set, true), CACHE_WHOLE);
        free(aside);
        free(path);
        close_bench(&b);
    }
}

static void a_truncated_manifest_is_refused(void **state)
{
    struct bench b;
    struct dataset set;

    (void)state;
    open_bench(&b);
    set = pack_small(&b);
    find_part(&b, ".manifest")->bytes.n /= 2;
    store_to_share(&b.store, &b.site);
    stage_fails(&b, &set, ERR_PROTOCOL);
    assert_null(strchr(b.e.text, '\n'));
    close_bench(&b);
}

static void another_trees_manifest_is_refused(void **state)
{
    struct bench b;
    struct dataset set, lie;

    (void)state;
    open_bench(&b);
    set = lie = pack_small(&b);
    lie.tree.bytes[0] ^= 1;
    stage_fails(&b, &lie, ERR_PROTOCOL);
    stage(&b, &set);
    close_bench(&b);
}

static void what_was_never_sent_is_missed(void **state)
{
    struct bench b;
    struct dataset set = { .files = 0 };

    (void)state;
    open_bench(&b);
    digest_of("x", 1, &set.tree);
    digest_of("x", 1, &set.id);
    stage_fails(&b, &set, ERR_NOT_FOUND);
    (void)pack_small(&b);
    stage_fails(&b, &set, ERR_NOT_FOUND);
    assert_int_equal(renameat(b.site.top_fd, "share/demo", b.site.top_fd, "away"), 0);
    stage_fails(&b, &set, ERR_UNREACHABLE);
    close_bench(&b);
}

/* ---- parts in place ---- */

static struct dataset pack_in_place(struct bench *b)
{
    const struct pack_sink sink = store_sink(&b->store);
    struct pack_writer *w = pack_writer_create(&sink);
    struct packing p = { &b->site, &b->store, w };
    uint8_t *bytes = large_bytes(5);
    struct pack_added added;
    char *path = mem_printf("%s/demo/big", b->site.share_path);
    int fd;

    assert_int_equal(io_replace_file(path, bytes, LARGE_BYTES, 0644, &b->e), 0);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (pack_add_in_place(w, "big", false, fd, "demo", &added, &b->e) < 0)
        fail_msg("%s", b->e.text);
    close(fd);
    free(path);
    free(bytes);
    return packing_end(&p);
}

static void what_lies_on_the_share_is_read_there(void **state)
{
    struct bench b;
    struct dataset set;
    char *path;
    int fd;

    (void)state;
    open_bench(&b);
    set = pack_in_place(&b);
    path = mem_printf("%s/demo/big", b.site.share_path);
    stage(&b, &set);
    assert_int_equal(stat_in(&b, &set, "big").st_size, LARGE_BYTES);
    assert_int_equal(cache_remove(b.cache.fd, &set.tree, &b.e), 0);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "changed", 7, PACK_PIECE_BYTES + 3), 7);
    close(fd);
    stage_fails(&b, &set, ERR_PROTOCOL);
    assert_non_null(strstr(b.e.text, "demo/big"));
    assert_int_equal(access(path, F_OK), 0); /* it is somebody's own */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    err_clear(&b.e);
    assert_int_equal(cache_stage(&b.cache, &b.at, &set, &b.e), -1);
    assert_int_not_equal(b.e.kind, ERR_PROTOCOL);
    free(path);
    close_bench(&b);
}

/* A tree of demo/set/f and demo/set/g, which stay there. */
static struct dataset refer_to_files(struct bench *b)
{
    static const char *const names[] = { "f", "g" };
    const struct pack_sink sink = store_sink(&b->store);
    struct pack_writer *w = pack_writer_create(&sink);
    struct packing p = { &b->site, &b->store, w };
    struct pack_added added;

    assert_int_equal(mkdirat(b->site.top_fd, "share/demo/set", 0755), 0);
    for (size_t i = 0; i < 2; i++) {
        const char *path = arena_printf(b->site.arena, "share/demo/set/%s", names[i]);
        int fd;

        site_write(b->site.top_fd, path, names[i]);
        fd = openat(b->site.top_fd, path, O_RDONLY | O_CLOEXEC);
        if (pack_add_in_place(w, names[i], i > 0, fd, "demo/set", &added, &b->e) < 0)
            fail_msg("%s", b->e.text);
        close(fd);
    }
    return packing_end(&p);
}

static void files_are_staged_from_where_they_lie(void **state)
{
    struct bench b;
    struct dataset set;

    (void)state;
    open_bench(&b);
    set = refer_to_files(&b);
    stage(&b, &set);
    assert_holds(&b, &set, "f", "f");
    assert_holds(&b, &set, "g", "g");
    assert_int_equal(stat_in(&b, &set, "f").st_mode & 0777, 0444);
    assert_int_equal(stat_in(&b, &set, "g").st_mode & 0777, 0555);
    /* What is staged stays, whatever becomes of where it came from. */
    site_write(b.site.top_fd, "share/demo/set/f", "x");
    assert_holds(&b, &set, "f", "f");
    close_bench(&b);
}

static void a_file_that_changed_before_it_was_staged_is_found(void **state)
{
    static const char *const texts[] = { "x", "", "ff" };
    struct bench b;
    struct dataset set;

    (void)state;
    open_bench(&b);
    set = refer_to_files(&b);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        site_write(b.site.top_fd, "share/demo/set/f", texts[i]);
        stage_fails(&b, &set, ERR_PROTOCOL);
        assert_non_null(strstr(b.e.text, "demo/set/f is not what it was"));
    }
    assert_int_equal(unlinkat(b.site.top_fd, "share/demo/set/f", 0), 0);
    stage_fails(&b, &set, ERR_NOT_FOUND);
    assert_int_equal(symlinkat("g", b.site.top_fd, "share/demo/set/f"), 0);
    err_clear(&b.e);
    assert_int_equal(cache_stage(&b.cache, &b.at, &set, &b.e), -1);
    assert_int_equal(unlinkat(b.site.top_fd, "share/demo/set/f", 0), 0);
    site_write(b.site.top_fd, "share/demo/set/f", "f");
    err_clear(&b.e);
    stage(&b, &set);
    assert_holds(&b, &set, "f", "f");
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_is_staged_read_only),
        cmocka_unit_test(large_files_keep_their_holes),
        cmocka_unit_test(each_processor_has_a_thread),
        cmocka_unit_test(a_tree_may_be_a_file_or_nothing),
        cmocka_unit_test(what_a_crash_left_is_completed),
        cmocka_unit_test(what_an_earlier_boot_left_is_read),
        cmocka_unit_test(right_pieces_of_a_large_file_stay),
        cmocka_unit_test(a_tree_without_a_record_is_read),
        cmocka_unit_test(a_broken_record_is_none),
        cmocka_unit_test(what_a_cleaner_took_is_put_back),
        cmocka_unit_test(what_a_job_changed_is_replaced),
        cmocka_unit_test(what_was_changed_and_given_its_time_back_is_replaced),
        cmocka_unit_test(a_folder_in_place_of_a_file_goes),
        cmocka_unit_test(what_was_only_touched_stays),
        cmocka_unit_test(a_guard_is_told_of_changes),
        cmocka_unit_test(files_of_an_earlier_version_are_linked),
        cmocka_unit_test(what_others_use_is_not_taken_as_it_is),
        cmocka_unit_test(what_is_changed_in_one_tree_is_found_in_another_that_shares_it),
        cmocka_unit_test(damage_is_found_and_set_aside),
        cmocka_unit_test(a_truncated_manifest_is_refused),
        cmocka_unit_test(another_trees_manifest_is_refused),
        cmocka_unit_test(what_was_never_sent_is_missed),
        cmocka_unit_test(what_lies_on_the_share_is_read_there),
        cmocka_unit_test(files_are_staged_from_where_they_lie),
        cmocka_unit_test(a_file_that_changed_before_it_was_staged_is_found),
    };

    return SITE_EITHER_WAY(tests);
}
