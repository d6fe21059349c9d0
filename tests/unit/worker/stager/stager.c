/* SPDX-License-Identifier: MIT */
/* stager.c - tests of the child that fills the cache */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/pack_share.h"
#include "tests/unit/worker_child.h"
#include "worker/base/cache_locks.h"
#include "worker/saved/checkpoint.h"
#include "worker/stager/stager.h"

struct stager_site {
    struct site site;
    struct store store;
    struct agent agent;
    struct dataset set;
    char hex[DIGEST_HEX];
};

static void start_stager(struct stager_site *s)
{
    char *argv[3];

    argv[0] = mem_strdup(CHILD_STAGER);
    argv[1] = s->site.scratch.path;
    argv[2] = "";
    s->agent = agent_start(stager_main, 3, argv, -1, -1);
    free(argv[0]);
}

static void open_stager(struct stager_site *s)
{
    *s = (struct stager_site){ .store = { 0 } };
    site_open(&s->site, NULL);
    digest_of("tree", 4, &s->set.tree);
    digest_of("id", 2, &s->set.id);
    start_stager(s);
}

static void close_stager(struct stager_site *s)
{
    assert_int_equal(agent_leave(&s->agent), 0);
    store_free(&s->store);
    site_close(&s->site);
}

static void pack(struct stager_site *s, const char *text)
{
    struct packing p;

    packing_begin(&p, &s->site, &s->store);
    packing_file(&p, "file", text);
    s->set = packing_end(&p);
    digest_hex(&s->set.tree, s->hex);
}

static void ask(struct stager_site *s)
{
    const struct order_stage order = {
        .set = s->set, .project = "demo", .share = s->site.share, .drive = s->site.share
    };

    agent_tell(&s->agent, ORDER_STAGE, &order);
}

static struct note_staged hear_staged(struct stager_site *s)
{
    struct note_staged staged;

    agent_hear(&s->agent, NOTE_STAGED, &staged);
    assert_memory_equal(&staged.tree, &s->set.tree, sizeof staged.tree);
    return staged;
}

static struct note_staged stage(struct stager_site *s)
{
    ask(s);
    return hear_staged(s);
}

static void hear_cached(struct stager_site *s)
{
    struct note_cached cached;

    agent_hear(&s->agent, NOTE_CACHED, &cached);
    assert_memory_equal(&cached.tree, &s->set.tree, sizeof cached.tree);
    assert_int_equal(cached.files, s->set.files);
    assert_int_equal(cached.bytes, s->set.bytes);
    assert_false(cached.is_gone);
}

static void what_was_uploaded_is_staged(void **state)
{
    struct stager_site s;

    (void)state;
    open_stager(&s);
    pack(&s, "text");
    for (int i = 0; i < 2; i++) {
        ask(&s);
        hear_cached(&s);
        assert_null(hear_staged(&s).error);
    }
    assert_string_equal(
        site_read(&s.site, arena_printf(s.site.arena, "scratch/cache/%s/file", s.hex)), "text");
    assert_int_equal(agent_leave(&s.agent), 0);
    start_stager(&s);
    hear_cached(&s); /* what there is, unasked */
    close_stager(&s);
}

static void what_was_never_uploaded_is_not_asked_for_again(void **state)
{
    struct stager_site s;
    struct note_staged staged;
    char hex[DIGEST_HEX];
    struct dataset missing;

    (void)state;
    open_stager(&s);
    missing = s.set;
    digest_hex(&missing.id, hex);
    staged = stage(&s);
    assert_non_null(staged.error);
    assert_false(staged.retry);
    pack(&s, "text");
    s.set = missing;
    staged = stage(&s);
    assert_non_null(strstr(staged.error, hex));
    assert_false(staged.retry);
    close_stager(&s);
}

static void a_share_that_is_away_is_asked_again(void **state)
{
    struct stager_site s;
    struct note_staged staged;

    (void)state;
    open_stager(&s);
    assert_int_equal(renameat(s.site.top_fd, "share/demo", s.site.top_fd, "away"), 0);
    staged = stage(&s); /* as below a mount point */
    assert_true(staged.error != NULL && staged.retry);
    assert_int_equal(renameat(s.site.top_fd, "share", s.site.top_fd, "gone"), 0);
    staged = stage(&s);
    assert_true(staged.error != NULL && staged.retry);
    close_stager(&s);
}

/* In the order that it was released, or not. */
static void what_is_released_makes_room(void **state)
{
    struct stager_site s;
    struct order_stage order = { .project = "demo", .settings = { .cache_size_bytes = 10 } };
    struct order_release release;
    struct note_cached cached;
    struct dataset first;

    (void)state;
    open_stager(&s);
    pack(&s, "first");
    first = s.set;
    ask(&s);
    hear_cached(&s);
    assert_null(hear_staged(&s).error);
    pack(&s, "the second");
    order.set = s.set;
    order.share = order.drive = s.site.share;
    agent_tell(&s.agent, ORDER_STAGE, &order);
    assert_true(hear_staged(&s).retry);
    release = (struct order_release){ .tree = first.tree };
    agent_tell(&s.agent, ORDER_RELEASE, &release);
    agent_tell(&s.agent, ORDER_STAGE, &order);
    agent_hear(&s.agent, NOTE_CACHED, &cached);
    assert_true(cached.is_gone);
    assert_memory_equal(&cached.tree, &first.tree, sizeof first.tree);
    hear_cached(&s);
    assert_null(hear_staged(&s).error);
    close_stager(&s);
}

/* ---- one cache, several stagers ---- */

static void lock_cache(struct stager_site *s, struct cache_locks *l)
{
    assert_true(cache_locks_open(l, s->site.scratch.cache_fd));
}

/* There would be nothing to bring it from. */
static void what_another_stager_brings_is_waited_for(void **state)
{
    struct stager_site s;
    struct cache_locks other;
    char *cache, *away;
    int64_t until_ms = units_monotonic_ms() + CHILD_LONGEST_MS;

    (void)state;
    open_stager(&s);
    pack(&s, "text");
    ask(&s);
    hear_cached(&s);
    assert_null(hear_staged(&s).error);
    assert_int_equal(agent_leave(&s.agent), 0);
    cache = mem_printf("%s/cache/%s", s.site.scratch.path, s.hex);
    away = mem_printf("%s.away", cache);
    assert_int_equal(rename(cache, away), 0);
    assert_int_equal(rename(s.site.share_path, arena_printf(s.site.arena, "%s/no", s.site.top)), 0);
    lock_cache(&s, &other);
    assert_true(cache_lock_work(&other, &s.set.tree));
    start_stager(&s);
    ask(&s);
    while (cache_lock_use_alone(&other, &s.set.tree)) { /* until it says that it is to use it */
        cache_unlock_use(&other, &s.set.tree);
        assert_true(units_monotonic_ms() < until_ms);
        usleep(1000);
    }
    assert_int_equal(rename(away, cache), 0);
    cache_unlock_work(&other, &s.set.tree);
    hear_cached(&s);
    assert_null(hear_staged(&s).error);
    cache_locks_close(&other);
    free(cache);
    free(away);
    close_stager(&s);
}

static void what_another_stager_uses_stays(void **state)
{
    struct stager_site s;
    struct order_stage order = { .project = "demo", .settings = { .cache_size_bytes = 10 } };
    struct order_release release;
    struct cache_locks other;
    struct note_cached cached;
    struct dataset first;

    (void)state;
    open_stager(&s);
    pack(&s, "first");
    first = s.set;
    ask(&s);
    hear_cached(&s);
    assert_null(hear_staged(&s).error);
    lock_cache(&s, &other);
    assert_true(cache_lock_use(&other, &first.tree));
    release = (struct order_release){ .tree = first.tree };
    agent_tell(&s.agent, ORDER_RELEASE, &release);
    pack(&s, "the second");
    order.set = s.set;
    order.share = order.drive = s.site.share;
    agent_tell(&s.agent, ORDER_STAGE, &order);
    assert_true(hear_staged(&s).retry);
    cache_locks_close(&other);
    agent_tell(&s.agent, ORDER_STAGE, &order);
    agent_hear(&s.agent, NOTE_CACHED, &cached);
    assert_true(cached.is_gone);
    hear_cached(&s);
    assert_null(hear_staged(&s).error);
    close_stager(&s);
}

static void put_order(struct stager_site *s, const struct scratch *where)
{
    struct order o = site_order(&s->site, '1', "true");
    struct err e = { 0 };

    o.work.work.source = s->set;
    assert_int_equal(mkdirat(where->run_fd, "11111111111111111111111111111111", 0700), 0);
    assert_int_equal(scratch_write(where->run_fd, "11111111111111111111111111111111/" JOB_ORDER,
                                   &order_schema, &o, &e),
                     0);
}

/* After it was released. */
static void stays_as_there_is_an_order_for_it(struct stager_site *s, const struct scratch *where)
{
    struct order_stage order = { .project = "demo", .settings = { .cache_size_bytes = 10 } };
    struct order_release release;

    pack(s, "first");
    ask(s);
    hear_cached(s);
    assert_null(hear_staged(s).error);
    release = (struct order_release){ .tree = s->set.tree };
    agent_tell(&s->agent, ORDER_RELEASE, &release);
    put_order(s, where);
    pack(s, "the second");
    order.set = s->set;
    order.share = order.drive = s->site.share;
    agent_tell(&s->agent, ORDER_STAGE, &order);
    assert_true(hear_staged(s).retry);
}

/* Whoever lists what is in use when no agent of ours knows it. */
static void what_an_older_agents_job_uses_stays(void **state)
{
    struct stager_site s;

    (void)state;
    open_stager(&s);
    stays_as_there_is_an_order_for_it(&s, &s.site.scratch);
    close_stager(&s);
}

/* Also while its stager is not there to say so. */
static void what_a_pilots_job_beside_ours_uses_stays(void **state)
{
    struct stager_site s;
    struct scratch pilots;
    struct err e = { 0 };
    char *path;

    (void)state;
    open_stager(&s);
    path = mem_printf("%s/ludwig-me-here-slurm-1", s.site.top);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(symlinkat("../scratch/cache", s.site.top_fd, "ludwig-me-here-slurm-1/cache"),
                     0);
    assert_int_equal(scratch_open(&pilots, path, &e), 0);
    stays_as_there_is_an_order_for_it(&s, &pilots);
    scratch_close(&pilots);
    free(path);
    close_stager(&s);
}

static void expect(struct stager_site *s, int64_t cache_size_bytes)
{
    const struct order_expect order = { { &s->set, s->set.bytes > 0 },
                                        "demo",
                                        s->site.share,
                                        s->site.share,
                                        { .cache_size_bytes = cache_size_bytes } };

    agent_tell(&s->agent, ORDER_EXPECT, &order);
}

static void hear_expected(struct stager_site *s)
{
    struct order_nothing expected;

    agent_hear(&s->agent, NOTE_EXPECTED, &expected);
    assert_true(expected.all);
}

static void what_is_expected_is_brought_and_in_nobodys_way(void **state)
{
    struct stager_site s;
    struct order_stage order = { .project = "demo", .settings = { .cache_size_bytes = 10 } };
    struct note_cached cached;
    struct dataset first;

    (void)state;
    open_stager(&s);
    expect(&s, 0);
    hear_expected(&s); /* nothing */
    pack(&s, "first");
    first = s.set;
    expect(&s, 10);
    hear_cached(&s);
    hear_expected(&s);
    expect(&s, 10); /* it is there */
    hear_expected(&s);
    pack(&s, "the second");
    order.set = s.set;
    order.share = order.drive = s.site.share;
    agent_tell(&s.agent, ORDER_STAGE, &order);
    agent_hear(&s.agent, NOTE_CACHED, &cached);
    assert_true(cached.is_gone);
    assert_memory_equal(&cached.tree, &first.tree, sizeof first.tree);
    hear_cached(&s);
    assert_null(hear_staged(&s).error);
    close_stager(&s);
}

static void what_is_expected_gets_no_room_from_what_is_in_use(void **state)
{
    struct stager_site s;
    struct dataset first;
    char *there;

    (void)state;
    open_stager(&s);
    pack(&s, "first");
    first = s.set;
    there = mem_printf("scratch/cache/%s/file", s.hex);
    ask(&s);
    hear_cached(&s);
    assert_null(hear_staged(&s).error);
    pack(&s, "the second");
    expect(&s, 10);
    hear_expected(&s);
    assert_string_equal(site_read(&s.site, there), "first");
    assert_false(site_has(&s.site, arena_printf(s.site.arena, "scratch/cache/%s", s.hex)));
    assert_false(site_has(&s.site, arena_printf(s.site.arena, "scratch/cache/.%s.new", s.hex)));
    s.set = first;
    ask(&s);
    hear_cached(&s);
    assert_null(hear_staged(&s).error);
    free(there);
    close_stager(&s);
}

/* Of these the answer, in whatever order they come. */
static void hear_staged_and_expected(struct stager_site *s, size_t n_cached)
{
    struct pollfd p = { s->agent.wire.fd, POLLIN, 0 };
    struct note_staged staged;
    struct envelope m;
    struct err e = { 0 };
    bool is_expected = false, is_staged = false;

    while (!is_expected || !is_staged || n_cached > 0) {
        if (!wire_is_ready(&s->agent.wire))
            assert_int_equal(poll(&p, 1, CHILD_LONGEST_MS), 1);
        assert_int_equal(wire_receive(&s->agent.wire, &m, &e), 1);
        is_expected |= m.type == NOTE_EXPECTED;
        n_cached -= m.type == NOTE_CACHED && n_cached > 0;
        if (m.type != NOTE_STAGED)
            continue;
        is_staged = true;
        assert_int_equal(message_body(&orders, &m, s->agent.wire.arena, &staged, &e), 0);
        assert_null(staged.error);
        assert_memory_equal(&staged.tree, &s->set.tree, sizeof staged.tree);
    }
}

static void a_job_that_waits_comes_before_what_is_expected(void **state)
{
    struct stager_site s;

    (void)state;
    for (int is_same = 0; is_same <= 1; is_same++) {
        char first[DIGEST_HEX];

        open_stager(&s);
        pack(&s, "expected");
        memcpy(first, s.hex, sizeof first);
        expect(&s, 0);
        if (!is_same)
            pack(&s, "wanted");
        ask(&s);
        hear_staged_and_expected(&s, is_same ? 1 : 2);
        assert_true(site_has(&s.site, arena_printf(s.site.arena, "scratch/cache/%s", first)));
        assert_true(site_has(&s.site, arena_printf(s.site.arena, "scratch/cache/%s", s.hex)));
        close_stager(&s);
    }
}

static struct note_restored restore_from(struct stager_site *s, struct checkpoint_origin from)
{
    struct order_restore order = { .share = s->site.share,
                                   .project = "demo",
                                   .param_name = "param_003",
                                   .job_name = "n",
                                   .attempt = 2,
                                   .from = from };
    struct note_restored restored;

    token_parse("0123456789abcdef0123456789abcdef", &order.token);
    agent_tell(&s->agent, ORDER_RESTORE, &order);
    agent_hear(&s->agent, NOTE_RESTORED, &restored);
    assert_true(token_equal(&restored.token, &order.token));
    return restored;
}

static struct note_restored restore(struct stager_site *s)
{
    return restore_from(s, (struct checkpoint_origin){ .param_name = NULL });
}

/* Makes a checkpoint of an empty folder. */
static void keep_checkpoint(struct stager_site *s, const char *path)
{
    struct checkpoint_snapshot none = { .n = 0 };
    struct buf index = { 0 };
    struct err e = { 0 };
    char *kept = mem_printf("%s/%s", s->site.top, path);

    assert_int_equal(io_make_dirs(kept, 0755, &e), 0);
    assert_int_equal(checkpoint_snapshot_add_index(&index, &none, &e), 0);
    assert_int_equal(io_write_file_at(s->site.top_fd,
                                      arena_printf(s->site.arena, "%s/" CHECKPOINT_INDEX, path),
                                      index.bytes, index.n, 0644, &e),
                     0);
    free(kept);
    buf_free(&index);
}

static void a_checkpoint_is_brought(void **state)
{
    struct stager_site s;

    (void)state;
    open_stager(&s);
    assert_null(restore(&s).error); /* there is none */
    assert_false(site_has(&s.site, "scratch/checkpoints/0123456789abcdef0123456789abcdef"));
    keep_checkpoint(&s, "share/demo/.ludwig/checkpoints/param_003/n.a1");
    assert_int_equal(renameat(s.site.top_fd, "share/demo", s.site.top_fd, "away"), 0);
    assert_non_null(restore(&s).error);
    assert_int_equal(renameat(s.site.top_fd, "away", s.site.top_fd, "share/demo"), 0);
    assert_null(restore(&s).error);
    assert_true(site_has(&s.site, "scratch/checkpoints/0123456789abcdef0123456789abcdef"));
    close_stager(&s);
}

static void an_attempt_begins_with_another_jobs_checkpoint(void **state)
{
    static const struct checkpoint_origin from = { "param_001", "m", 2 };
    struct stager_site s;
    struct note_restored answer;

    (void)state;
    open_stager(&s);
    /* One that is not there will never be; nor is an older attempt's, or a copy of it while it ran,
     * what the result says. */
    keep_checkpoint(&s, "share/demo/.ludwig/checkpoints/param_001/m.a1");
    keep_checkpoint(&s, "share/demo/.ludwig/checkpoints/param_001/m.a2.7");
    answer = restore_from(&s, from);
    assert_non_null(strstr(answer.error, "no checkpoint of param_001"));
    assert_false(answer.retry);
    answer = restore_from(&s, (struct checkpoint_origin){ .param_name = "param_001" });
    assert_non_null(strstr(answer.error, "no checkpoint of param_001"));
    assert_false(answer.retry);
    assert_false(site_has(&s.site, "scratch/checkpoints/0123456789abcdef0123456789abcdef"));
    /* A share that is away is asked again. */
    keep_checkpoint(&s, "share/demo/.ludwig/checkpoints/param_001/m.a2");
    assert_int_equal(renameat(s.site.top_fd, "share/demo", s.site.top_fd, "away"), 0);
    answer = restore_from(&s, from);
    assert_non_null(answer.error);
    assert_true(answer.retry);
    assert_int_equal(renameat(s.site.top_fd, "away", s.site.top_fd, "share/demo"), 0);
    assert_null(restore_from(&s, from).error);
    assert_true(site_has(&s.site, "scratch/checkpoints/0123456789abcdef0123456789abcdef"));
    close_stager(&s);
}

static void it_looks_who_has_published(void **state)
{
    struct stager_site s;
    struct order_look look = { .run_path = "demo/runs/param_003/n" };
    struct note_found found;
    struct err e = { 0 };
    char *run, hex[TOKEN_HEX];

    (void)state;
    open_stager(&s);
    look.share = s.site.share;
    token_make(&look.token);
    agent_tell(&s.agent, ORDER_LOOK, &look);
    agent_hear(&s.agent, NOTE_FOUND, &found);
    assert_true(token_equal(&found.token, &look.token));
    assert_false(found.found);
    run = mem_printf("%s/%s", s.site.share, look.run_path);
    assert_int_equal(io_make_dirs(run, 0755, &e), 0);
    site_write(s.site.top_fd, "share/demo/runs/param_003/n/job.json",
               "{\n  \"token\": \"0123456789abcdef0123456789abcdef\",\n  \"x\": 1\n}\n");
    agent_tell(&s.agent, ORDER_LOOK, &look);
    agent_hear(&s.agent, NOTE_FOUND, &found);
    assert_true(found.found);
    token_hex(&found.winner, hex);
    assert_string_equal(hex, "0123456789abcdef0123456789abcdef");
    free(run);
    close_stager(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_uploaded_is_staged),
        cmocka_unit_test(what_was_never_uploaded_is_not_asked_for_again),
        cmocka_unit_test(a_share_that_is_away_is_asked_again),
        cmocka_unit_test(what_is_released_makes_room),
        cmocka_unit_test(what_another_stager_brings_is_waited_for),
        cmocka_unit_test(what_another_stager_uses_stays),
        cmocka_unit_test(what_a_pilots_job_beside_ours_uses_stays),
        cmocka_unit_test(what_an_older_agents_job_uses_stays),
        cmocka_unit_test(what_is_expected_is_brought_and_in_nobodys_way),
        cmocka_unit_test(what_is_expected_gets_no_room_from_what_is_in_use),
        cmocka_unit_test(a_job_that_waits_comes_before_what_is_expected),
        cmocka_unit_test(a_checkpoint_is_brought),
        cmocka_unit_test(an_attempt_begins_with_another_jobs_checkpoint),
        cmocka_unit_test(it_looks_who_has_published),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
