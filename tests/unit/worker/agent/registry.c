/* SPDX-License-Identifier: MIT */
/* registry.c - tests of worker/agent/registry.c */

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "worker/agent/registry.h"

enum { HELD_MAX = 16 };

struct seen {
    char boot[64];
    struct token held[HELD_MAX];
    size_t n;
    int64_t last_job;
    struct token last_batch;
    bool last_is_stale;
    struct given given; /* the last one, without its lists */
    size_t n_cpus;
    char gpu[64];
};

static void on_boot(void *context, const char *boot_id)
{
    struct seen *s = context;

    strncpy(s->boot, boot_id, sizeof s->boot - 1);
}

static void on_assigned(void *context, struct arena *a, const struct order *order, bool is_stale)
{
    struct seen *s = context;

    s->last_is_stale = is_stale;
    s->held[s->n++] = order->assignment.token;
    s->last_job = order->assignment.job;
    s->last_batch = order->assignment.batch;
    assert_string_equal(order->work.work.command, "true");
    arena_destroy(a);
}

static void on_given(void *context, const struct given *g)
{
    const struct gpu_entry *gpus = g->gpus.items;
    struct seen *s = context;

    s->given = *g;
    s->n_cpus = g->cpus.n;
    assert_string_equal(g->user, "lab1");
    if (g->gpus.n > 0)
        strncpy(s->gpu, gpus[0].id, sizeof s->gpu - 1);
}

static void on_gone(void *context, const struct token *token)
{
    struct seen *s = context;

    for (size_t i = 0; i < s->n; i++)
        if (token_equal(&s->held[i], token))
            s->held[i--] = s->held[--s->n];
}

static const struct registry_events events = { on_boot, on_assigned, on_given, on_gone };

static struct registry *reopen(const char *path, struct seen *s)
{
    struct err e = { 0 };
    struct registry *r;

    *s = (struct seen){ .n = 0 };
    r = registry_open(path, &events, s, &e);
    assert_string_equal(e.text, "");
    assert_non_null(r);
    return r;
}

static struct order make_order(int64_t job)
{
    struct order o = { .server_id = "server", .share = "/share" };

    token_make(&o.assignment.token);
    o.assignment.sweep = 7;
    o.assignment.job = job;
    o.assignment.attempt = 1;
    o.assignment.param_name = "param_001";
    o.assignment.job_name = "20261121-101500_num0";
    o.work.sweep = 7;
    o.work.project = "project";
    o.work.user = "user";
    o.work.work.command = "true";
    return o;
}

struct orders_left {
    const struct order *orders;
    size_t n;
};

static int add_orders(void *context, struct registry *r, struct err *e)
{
    struct orders_left *left = context;

    while (left->n > 0)
        if (registry_assigned(r, &left->orders[--left->n], false, e) < 0)
            return -1;
    return 0;
}

static off_t size_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static int make_folder(void **state)
{
    char folder[] = "/tmp/ludwig-registry-XXXXXX";

    if (mkdtemp(folder) == NULL)
        return -1;
    *state = mem_printf("%s/registry", folder);
    return 0;
}

static int remove_folder(void **state)
{
    char *path = *state;
    int rc;

    *strrchr(path, '/') = '\0';
    rc = io_remove_tree(path, NULL);
    free(path);
    return rc;
}

static void it_remembers_what_is_assigned_and_not_gone(void **state)
{
    struct order orders_of[3] = { make_order(1), make_order(2), make_order(3) };
    struct orders_left none = { orders_of, 0 };
    struct seen s;
    struct registry *r = reopen(*state, &s);

    assert_int_equal(s.n, 0);
    assert_int_equal(registry_rewrite(r, "boot-1", add_orders, &none, NULL), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(registry_assigned(r, &orders_of[i], false, NULL), 0);
    assert_int_equal(registry_flush(r, NULL), 0);
    assert_int_equal(registry_gone(r, &orders_of[1].assignment.token, NULL), 0);
    assert_int_equal(registry_flush(r, NULL), 0);
    registry_close(r);

    r = reopen(*state, &s);
    assert_string_equal(s.boot, "boot-1");
    assert_int_equal(s.n, 2);
    assert_int_equal(s.last_job, 3);
    registry_close(r);
}

static void what_was_not_flushed_is_not_there(void **state)
{
    struct order o = make_order(1);
    struct seen s;
    struct registry *r = reopen(*state, &s);

    registry_assigned(r, &o, false, NULL);
    registry_close(r);
    registry_close(reopen(*state, &s));
    assert_int_equal(s.n, 0);
}

static void what_could_not_be_written_waits_unless_it_is_dropped(void **state)
{
    struct order o[3] = { make_order(1), make_order(2), make_order(3) };
    struct rlimit whole, small = { 0, 0 };
    struct seen s;
    struct registry *r = reopen(*state, &s);

    signal(SIGXFSZ, SIG_IGN);
    registry_assigned(r, &o[0], false, NULL);
    assert_int_equal(registry_flush(r, NULL), 0);
    registry_gone(r, &o[0].assignment.token, NULL);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &whole), 0);
    small = (struct rlimit){ (rlim_t)size_of(*state) + 10, whole.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(registry_flush(r, NULL), -1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &whole), 0);
    assert_int_equal(registry_flush(r, NULL), 0);
    registry_assigned(r, &o[1], false, NULL);
    registry_drop(r);
    registry_assigned(r, &o[2], false, NULL);
    assert_int_equal(registry_flush(r, NULL), 0);
    registry_close(r);
    registry_close(reopen(*state, &s));
    assert_int_equal(s.n, 1);
    assert_int_equal(s.last_job, 3);
}

/* As libc's, unless a test says that it fails. */
static bool ftruncate_fails;

int ftruncate(int fd, off_t length)
{
    errno = EIO;
    return ftruncate_fails ? -1 : (int)syscall(SYS_ftruncate, fd, length);
}

/* Half of it is on the disk and cannot be cut off at once. */
static void nothing_follows_a_record_that_was_torn(void **state)
{
    struct order first = make_order(1), second = make_order(2);
    const char *path = *state;
    struct rlimit whole, small;
    struct registry *r;
    struct seen s;

    signal(SIGXFSZ, SIG_IGN);
    r = reopen(path, &s);
    assert_int_equal(registry_assigned(r, &first, false, NULL), 0);
    assert_int_equal(registry_flush(r, NULL), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &whole), 0);
    small = (struct rlimit){ (rlim_t)size_of(path) + 10, whole.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(registry_assigned(r, &second, false, NULL), 0);
    ftruncate_fails = true;
    assert_int_equal(registry_flush(r, NULL), -1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &whole), 0);
    assert_int_equal(registry_flush(r, NULL), -1); /* still there */
    ftruncate_fails = false;
    assert_int_equal(registry_flush(r, NULL), 0);
    registry_close(r);
    r = reopen(path, &s);
    assert_int_equal(s.n, 2);
    registry_close(r);
}

static void a_torn_record_is_cut_wherever_it_was_torn(void **state)
{
    struct order o[2] = { make_order(1), make_order(2) };
    struct seen s;
    struct registry *r = reopen(*state, &s);
    off_t whole, both;

    registry_assigned(r, &o[0], false, NULL);
    registry_flush(r, NULL);
    whole = size_of(*state);
    registry_assigned(r, &o[1], false, NULL);
    registry_flush(r, NULL);
    registry_close(r);
    both = size_of(*state);
    for (off_t size = both - 1; size >= whole; size--) {
        assert_int_equal(truncate(*state, size), 0);
        r = reopen(*state, &s);
        assert_int_equal(s.n, 1);
        assert_int_equal(size_of(*state), whole);
        registry_assigned(r, &o[1], false, NULL);
        assert_int_equal(registry_flush(r, NULL), 0);
        registry_close(r);
        assert_int_equal(size_of(*state), both);
    }
    registry_close(reopen(*state, &s));
    assert_int_equal(s.n, 2);
}

static void bytes_that_are_no_record_end_the_journal(void **state)
{
    static const char nonsense[] = "\0\0\0\4abcdefgh";
    struct order o = make_order(1);
    struct seen s;
    struct registry *r = reopen(*state, &s);
    struct buf text = { 0 };
    off_t good;

    registry_assigned(r, &o, false, NULL);
    registry_flush(r, NULL);
    registry_close(r);
    good = size_of(*state);
    assert_int_equal(io_read_file(*state, 1 << 20, &text, NULL), 0);
    buf_add(&text, nonsense, sizeof nonsense);
    assert_int_equal(io_replace_file(*state, text.bytes, text.n, 0600, NULL), 0);
    buf_free(&text);
    registry_close(reopen(*state, &s));
    assert_int_equal(s.n, 1);
    assert_int_equal(size_of(*state), good);
}

static void rewriting_keeps_what_is_held_and_nothing_else(void **state)
{
    struct order o[3] = { make_order(1), make_order(2), make_order(3) };
    struct orders_left two = { o, 2 };
    struct seen s;
    struct registry *r = reopen(*state, &s);

    for (int i = 0; i < 3; i++)
        registry_assigned(r, &o[i], false, NULL);
    registry_flush(r, NULL);
    assert_int_equal(registry_rewrite(r, "boot-2", add_orders, &two, NULL), 0);
    registry_assigned(r, &o[2], false, NULL);
    registry_flush(r, NULL);
    registry_close(r);
    registry_close(reopen(*state, &s));
    assert_string_equal(s.boot, "boot-2");
    assert_int_equal(s.n, 3);
    assert_int_equal(s.last_job, 3);
}

static void it_is_wasteful_when_large_and_mostly_gone(void **state)
{
    struct orders_left none = { NULL, 0 };
    struct seen s;
    struct registry *r = reopen(*state, &s);
    char *command = mem_alloc(COMMAND_MAX_BYTES);

    memset(command, 'x', COMMAND_MAX_BYTES - 1);
    for (int i = 0; i < 100; i++) {
        struct order o = make_order(i);

        o.work.work.command = command;
        registry_assigned(r, &o, false, NULL);
        if (i % 3 != 0)
            registry_gone(r, &o.assignment.token, NULL);
        assert_int_equal(registry_flush(r, NULL), 0);
        assert_int_equal(registry_is_wasteful(r), size_of(*state) > 4 * 1024 * 1024);
    }
    assert_true(registry_is_wasteful(r));
    assert_int_equal(registry_rewrite(r, "boot", add_orders, &none, NULL), 0);
    assert_false(registry_is_wasteful(r));
    registry_close(r);
    free(command);
}

/* Else what was passed to a job from a shell would stay. */
static void it_is_wasteful_with_something_to_be_forgotten(void **state)
{
    struct orders_left none = { NULL, 0 };
    struct order o = make_order(1);
    struct seen s;
    struct registry *r = reopen(*state, &s);

    assert_int_equal(registry_assigned(r, &o, false, NULL), 0);
    assert_int_equal(registry_gone(r, &o.assignment.token, NULL), 0);
    assert_false(registry_is_wasteful(r));
    registry_forget(r);
    assert_true(registry_is_wasteful(r));
    assert_int_equal(registry_rewrite(r, "boot", add_orders, &none, NULL), 0);
    assert_false(registry_is_wasteful(r));
    registry_close(r);
}

static void it_remembers_who_shares_a_process(void **state)
{
    struct order order = make_order(1);
    struct seen s;
    struct registry *r = reopen(*state, &s);

    token_make(&order.assignment.batch);
    assert_int_equal(registry_assigned(r, &order, false, NULL), 0);
    assert_int_equal(registry_flush(r, NULL), 0);
    registry_close(r);
    registry_close(reopen(*state, &s));
    assert_int_equal(s.n, 1);
    assert_true(token_equal(&s.last_batch, &order.assignment.batch));
}

static void it_remembers_what_a_process_was_given(void **state)
{
    struct number cpus[] = { { 2 }, { 3 } };
    struct gpu_entry gpus[] = { { "GPU-1" } };
    struct given g = { .is_shared = true,
                       .user = "lab1",
                       .cpus_milli = 2000,
                       .gpus_milli = 1000,
                       .cpus = { cpus, 2 },
                       .gpus = { gpus, 1 } };
    struct seen s;
    struct registry *r = reopen(*state, &s);

    token_make(&g.process);
    assert_int_equal(registry_given(r, &g, NULL), 0);
    assert_int_equal(registry_flush(r, NULL), 0);
    registry_close(r);
    registry_close(reopen(*state, &s));
    assert_true(token_equal(&s.given.process, &g.process));
    assert_true(s.given.is_shared);
    assert_int_equal(s.given.gpus_milli, 1000);
    assert_int_equal(s.n_cpus, 2);
    assert_string_equal(s.gpu, "GPU-1");
}

static void one_of_before_a_reboot_stays_so(void **state)
{
    struct order order = make_order(1);
    struct seen s;
    struct registry *r = reopen(*state, &s);

    assert_int_equal(registry_assigned(r, &order, true, NULL), 0);
    assert_int_equal(registry_flush(r, NULL), 0);
    registry_close(r);
    registry_close(reopen(*state, &s));
    assert_int_equal(s.n, 1);
    assert_true(s.last_is_stale);
}

static void who_only_looks_changes_nothing(void **state)
{
    struct order order = make_order(1);
    struct seen s;
    struct registry *r = reopen(*state, &s);
    off_t size;

    assert_int_equal(registry_assigned(r, &order, false, NULL), 0);
    assert_int_equal(registry_flush(r, NULL), 0);
    registry_close(r);
    size = size_of(*state) - 1; /* torn */
    assert_int_equal(truncate(*state, size), 0);
    s = (struct seen){ .n = 0 };
    assert_int_equal(registry_scan(*state, &events, &s, NULL), 0);
    assert_int_equal(s.n, 0);
    assert_int_equal(size_of(*state), size);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_remembers_what_is_assigned_and_not_gone),
        TEST(it_remembers_who_shares_a_process),
        TEST(it_remembers_what_a_process_was_given),
        TEST(one_of_before_a_reboot_stays_so),
        TEST(who_only_looks_changes_nothing),
        TEST(what_was_not_flushed_is_not_there),
        TEST(what_could_not_be_written_waits_unless_it_is_dropped),
        TEST(nothing_follows_a_record_that_was_torn),
        TEST(a_torn_record_is_cut_wherever_it_was_torn),
        TEST(bytes_that_are_no_record_end_the_journal),
        TEST(rewriting_keeps_what_is_held_and_nothing_else),
        TEST(it_is_wasteful_when_large_and_mostly_gone),
        TEST(it_is_wasteful_with_something_to_be_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
