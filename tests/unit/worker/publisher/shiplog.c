/* SPDX-License-Identifier: MIT */
/* shiplog.c - tests of logs on their way to the share */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>

#include "common/base/units.h"
#include "tests/unit/skip.h"
#include "tests/unit/worker_site.h"
#include "worker/publisher/shiplog.h"

#define HEX    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SHARED "share/demo/logs/7/x.log"

enum { LONGEST_MS = 60 * 1000 };

static struct shiplog *create_told(struct site *s, shiplog_grew_fn grew, void *context)
{
    const struct share_source source = { .connect = sftp_server_connect, .context = &s->server };
    struct err e = { 0 };
    struct shiplog *log =
        shiplog_create(s->scratch.log_fd, s->scratch.run_fd, &source, grew, context, &e);

    if (log == NULL)
        fail_msg("%s", e.text);
    return log;
}

static struct shiplog *create(struct site *s)
{
    return create_told(s, NULL, NULL);
}

static void watch_attempt(struct shiplog *log, const struct site *s, const struct token *token,
                          const char *path, int64_t attempt)
{
    shiplog_watch(log,
                  &(struct order_watch){
                      .token = *token, .share = s->share, .log_path = path, .attempt = attempt });
}

static void watch(struct shiplog *log, const struct site *s, const struct token *token,
                  const char *path)
{
    watch_attempt(log, s, token, path, 1);
}

/* A job prints. */
static void print(struct site *s, const char *text)
{
    int fd = openat(s->scratch.log_fd, HEX, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
    close(fd);
}

static void wait_for(struct site *s, const char *text)
{
    int64_t until_ms = units_monotonic_ms() + LONGEST_MS;

    while (!site_has(s, SHARED) || strcmp(site_read(s, SHARED), text) != 0) {
        if (units_monotonic_ms() > until_ms)
            fail_msg("waited in vain for: %s", text);
        (void)poll(NULL, 0, 5);
    }
}

static void what_a_job_prints_comes_to_the_share_while_it_runs(void **state)
{
    static const struct {
        const char *says, *then;
    } cases[] = {
        { "before anybody asked\n", "before anybody asked\n" },
        { "more\n", "before anybody asked\nmore\n" },
        { "and\nmore\n", "before anybody asked\nmore\nand\nmore\n" },
        { "!\n", "before anybody asked\nmore\nand\nmore\n!\n" },
    };
    struct site s;
    struct token token;
    struct shiplog *log;

    (void)state;
    site_open(&s, NULL);
    token = site_order(&s, 'a', "").assignment.token;
    log = create(&s);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        print(&s, cases[i].says);
        if (i == 0)
            watch(log, &s, &token, "demo/logs/7/x.log");
        wait_for(&s, cases[i].then);
    }
    shiplog_destroy(log);
    site_close(&s);
}

/* How often a thread of this process went to sleep, which is after it was woken. */
static long count_waits(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_nvcsw;
}

static long waits_in_a_second(void)
{
    long before = count_waits();

    (void)poll(NULL, 0, 1000);
    return count_waits() - before;
}

static void a_log_nobody_writes_to_costs_nothing(void **state)
{
    int64_t until_ms = units_monotonic_ms() + LONGEST_MS;
    struct site s;
    struct token token;
    struct shiplog *log;

    (void)state;
#ifdef __SANITIZE_THREAD__ /* it has a thread of its own, which wakes ten times a second */
    skip_because("ThreadSanitizer has a thread of its own, which wakes ten times a second");
#endif
    site_open(&s, NULL);
    token = site_order(&s, 'a', "").assignment.token;
    log = create(&s);
    watch(log, &s, &token, "demo/logs/7/x.log");
    print(&s, "x\n");
    wait_for(&s, "x\n");
    /* What it had to do ends some time; one is the poll's here. */
    while (waits_in_a_second() > 3)
        assert_true(units_monotonic_ms() < until_ms);
    shiplog_destroy(log);
    site_close(&s);
}

static void a_share_that_was_away_gets_all_of_it(void **state)
{
    struct site s;
    struct token token;
    struct shiplog *log;

    (void)state;
    site_open(&s, NULL);
    token = site_order(&s, 'a', "").assignment.token;
    log = create(&s);
    assert_int_equal(renameat(s.top_fd, "share/demo", s.top_fd, "away"), 0);
    watch(log, &s, &token, "demo/logs/7/x.log");
    print(&s, "one\n");
    (void)poll(NULL, 0, 500);
    print(&s, "two\n");
    assert_int_equal(renameat(s.top_fd, "away", s.top_fd, "share/demo"), 0);
    wait_for(&s, "one\ntwo\n");
    shiplog_destroy(log);
    site_close(&s);
}

/* What it says on its thread. */
struct told {
    pthread_mutex_t lock;
    int64_t size_bytes;
    int n;
    bool is_longer; /* than what is on the share */
    struct site *site;
};

static void keep_told(void *context, const struct token *token, int64_t size_bytes)
{
    struct told *t = context;
    struct stat st;

    (void)token;
    pthread_mutex_lock(&t->lock);
    t->n++;
    t->size_bytes = size_bytes;
    t->is_longer |= fstatat(t->site->top_fd, SHARED, &st, 0) < 0 || st.st_size < size_bytes;
    pthread_mutex_unlock(&t->lock);
}

static int wait_told(struct told *t, int64_t size_bytes)
{
    int64_t until_ms = units_monotonic_ms() + LONGEST_MS;
    int64_t now = -1;
    int n = 0;

    while (now != size_bytes) {
        assert_true(units_monotonic_ms() < until_ms);
        (void)poll(NULL, 0, 5);
        pthread_mutex_lock(&t->lock);
        now = t->size_bytes;
        n = t->n;
        pthread_mutex_unlock(&t->lock);
    }
    return n;
}

static void who_asks_is_told_what_is_on_the_share(void **state)
{
    struct told told = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct site s;
    struct token token;
    struct shiplog *log;
    int n;

    (void)state;
    site_open(&s, NULL);
    told.site = &s;
    token = site_order(&s, 'a', "").assignment.token;
    log = create_told(&s, keep_told, &told);
    watch(log, &s, &token, "demo/logs/7/x.log");
    /* Of the first of two, somebody would have been told before the second came. */
    print(&s, "o");
    wait_for(&s, "o");
    print(&s, "ne\n");
    wait_for(&s, "one\n");
    shiplog_tell(log, &token, true); /* all of it is there already */
    assert_int_equal(wait_told(&told, 4), 1);
    shiplog_tell(log, &token, true);
    print(&s, "two\n");
    assert_int_equal(wait_told(&told, 8), 2);
    shiplog_tell(log, &token, false);
    print(&s, "th");
    wait_for(&s, "one\ntwo\nth");
    print(&s, "ree\n");
    wait_for(&s, "one\ntwo\nthree\n");
    shiplog_tell(log, &token, true);
    n = wait_told(&told, 14);
    assert_int_equal(n, 3);
    assert_false(told.is_longer);
    shiplog_destroy(log);
    site_close(&s);
}

static bool has_text(struct site *s, const char *path, const char *text)
{
    return text == NULL ? !site_has(s, path)
                        : site_has(s, path) && strcmp(site_read(s, path), text) == 0;
}

/* text NULL: nothing is there. */
static void wait_until_it_has(struct site *s, const char *path, const char *text)
{
    int64_t until_ms = units_monotonic_ms() + LONGEST_MS;

    while (!has_text(s, path, text)) {
        if (units_monotonic_ms() > until_ms)
            fail_msg("%s has not become: %s", path, text == NULL ? "nothing" : text);
        (void)poll(NULL, 0, 5);
    }
}

static void what_a_job_reports_lies_beside_its_log_until_it_is_forgotten(void **state)
{
    static const char beside[] = "share/demo/logs/7/x.metrics.jsonl";
    struct shiplog *log;
    struct token token;
    struct site s;

    (void)state;
    site_open(&s, NULL);
    token = site_order(&s, 'a', "").assignment.token;
    log = create(&s);
    assert_int_equal(mkdirat(s.scratch.run_fd, HEX, 0700), 0);
    watch(log, &s, &token, "demo/logs/7/x.log");
    site_write(s.scratch.run_fd, HEX "/metrics", "{\"a\": 1}\n");
    wait_until_it_has(&s, beside, "{\"a\": 1}\n");
    site_write(s.scratch.run_fd, HEX "/metrics", "{\"a\": 1}\n{\"a\": 2}\n");
    wait_until_it_has(&s, beside, "{\"a\": 1}\n{\"a\": 2}\n");
    shiplog_forget(log, &token, true);
    wait_until_it_has(&s, beside, NULL);
    shiplog_destroy(log);
    site_close(&s);
}

/* What the attempts before reported comes first, once, also when they report more meanwhile. */
static void what_earlier_attempts_reported_comes_first(void **state)
{
    static const char first[] = "share/demo/logs/7/x.metrics.jsonl";
    static const char beside[] = "share/demo/logs/7/x.a3.metrics.jsonl";
    struct shiplog *log;
    struct token token;
    struct site s;

    (void)state;
    site_open(&s, NULL);
    token = site_order(&s, 'a', "").assignment.token;
    assert_int_equal(io_make_dirs_at(s.top_fd, "share/demo/logs/7", 0755, NULL), 0);
    site_write(s.top_fd, first, "{\"a\": 1}\n{\"a\"");
    log = create(&s);
    assert_int_equal(mkdirat(s.scratch.run_fd, HEX, 0700), 0);
    watch_attempt(log, &s, &token, "demo/logs/7/x.a3.log", 3);
    wait_until_it_has(&s, beside, "{\"a\": 1}\n{\"a\"\n");
    site_write(s.top_fd, first, "{\"a\": 1}\n{\"a\": 7}\n");
    site_write(s.scratch.run_fd, HEX "/metrics", "{\"a\": 2}\n");
    wait_until_it_has(&s, beside, "{\"a\": 1}\n{\"a\"\n{\"a\": 2}\n");
    shiplog_destroy(log);
    log = create(&s); /* another publisher */
    watch_attempt(log, &s, &token, "demo/logs/7/x.a3.log", 3);
    site_write(s.scratch.run_fd, HEX "/metrics", "{\"a\": 2}\n{\"a\": 3}\n");
    wait_until_it_has(&s, beside, "{\"a\": 1}\n{\"a\"\n{\"a\": 2}\n{\"a\": 3}\n");
    shiplog_forget(log, &token, false);
    shiplog_destroy(log);
    assert_true(has_text(&s, beside, "{\"a\": 1}\n{\"a\"\n{\"a\": 2}\n{\"a\": 3}\n"));
    site_close(&s);
}

static void a_forgotten_log_is_left_alone(void **state)
{
    static const char other_shared[] = "share/demo/logs/7/y.log";
    int64_t until_ms = units_monotonic_ms() + LONGEST_MS;
    struct site s;
    struct token token, other;
    struct shiplog *log;

    (void)state;
    site_open(&s, NULL);
    token = site_order(&s, 'a', "").assignment.token;
    log = create(&s);
    watch(log, &s, &token, "demo/logs/7/x.log");
    watch(log, &s, &token, "demo/logs/7/x.log");
    shiplog_forget(log, &token, true);
    shiplog_forget(log, &token, true);
    other = site_order(&s, 'b', "").assignment.token;
    watch(log, &s, &other, "demo/logs/7/y.log");
    print(&s, "x\n");
    site_write(s.scratch.log_fd, "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "y\n");
    while (!site_has(&s, other_shared) || strcmp(site_read(&s, other_shared), "y\n") != 0) {
        assert_true(units_monotonic_ms() < until_ms);
        (void)poll(NULL, 0, 5);
    }
    assert_false(site_has(&s, SHARED));
    shiplog_destroy(log);
    shiplog_destroy(NULL);
    site_close(&s);
}

static void the_rest_goes_behind_what_is_there(void **state)
{
    static const struct {
        const char *local, *shared;
    } cases[] = {
        { "all of it\n", "" },
        { "all of it\n", "all of" },
        { "all of it\n", "all of it\n" },
    };
    struct site s;
    struct err e = { 0 };

    (void)state;
    site_open(&s, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        site_write(s.top_fd, "local", cases[i].local);
        site_write(s.top_fd, "shared", cases[i].shared);
        assert_int_equal(shiplog_ship(s.top_fd, "local", 0, s.dir, "shared", 0600, &e), 0);
        assert_string_equal(site_read(&s, "shared"), "all of it\n");
    }
    assert_int_equal(shiplog_ship(s.top_fd, "nothing", 0, s.dir, "empty", 0600, &e), 0);
    assert_string_equal(site_read(&s, "empty"), "");
    site_close(&s);
}

/* A job may put anything in the place of its log, and make that as long as it likes. */
/* However much the job prints before its runner looks at the log. */
static void no_more_than_its_limit_is_shipped(void **state)
{
    struct site s;
    struct buf end = { 0 };
    struct err e = { 0 };

    (void)state;
    site_open(&s, NULL);
    site_write(s.top_fd, "local", "0123456789");
    assert_int_equal(shiplog_ship(s.top_fd, "local", 4, s.dir, "shared", 0600, &e), 0);
    assert_string_equal(site_read(&s, "shared"), "0123");
    buf_add_str(&end, "0123");
    scratch_log_end(&end, 4);
    site_write(s.top_fd, "local", arena_printf(s.arena, "%s and more", buf_text(&end)));
    assert_int_equal(shiplog_ship(s.top_fd, "local", 4, s.dir, "shared", 0600, &e), 0);
    assert_string_equal(site_read(&s, "shared"), buf_text(&end));
    assert_non_null(strstr(buf_text(&end), "reached its limit of 4"));
    buf_free(&end);
    site_close(&s);
}

static void neither_pipes_nor_links_nor_holes_are_shipped(void **state)
{
    struct site s;
    struct err e = { 0 };
    struct stat st;
    int fd;

    (void)state;
    site_open(&s, NULL);
    site_write(s.top_fd, "secret", "secret\n");
    assert_int_equal(mkfifoat(s.top_fd, "pipe", 0600), 0);
    assert_int_equal(symlinkat("secret", s.top_fd, "link"), 0);
    assert_int_equal(shiplog_ship(s.top_fd, "pipe", 0, s.dir, "of-pipe", 0600, &e), 0);
    assert_int_equal(shiplog_ship(s.top_fd, "link", 0, s.dir, "of-link", 0600, &e), 0);
    assert_string_equal(site_read(&s, "of-pipe"), "");
    assert_string_equal(site_read(&s, "of-link"), "");
    site_write(s.top_fd, "holes", "log\n");
    fd = openat(s.top_fd, "holes", O_RDWR | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)1 << 26), 0);
    assert_int_equal(pwrite(fd, "more\n", 5, (off_t)1 << 26), 5);
    assert_int_equal(shiplog_ship(s.top_fd, "holes", 0, s.dir, "of-holes", 0600, &e), 0);
    assert_int_equal(fstatat(s.top_fd, "of-holes", &st, 0), 0);
    assert_int_equal(st.st_size, ((off_t)1 << 26) + 5);
    assert_true(st.st_blocks < 2048);
    close(fd);
    site_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_job_prints_comes_to_the_share_while_it_runs),
        cmocka_unit_test(a_log_nobody_writes_to_costs_nothing),
        cmocka_unit_test(a_share_that_was_away_gets_all_of_it),
        cmocka_unit_test(who_asks_is_told_what_is_on_the_share),
        cmocka_unit_test(what_a_job_reports_lies_beside_its_log_until_it_is_forgotten),
        cmocka_unit_test(what_earlier_attempts_reported_comes_first),
        cmocka_unit_test(a_forgotten_log_is_left_alone),
        cmocka_unit_test(the_rest_goes_behind_what_is_there),
        cmocka_unit_test(no_more_than_its_limit_is_shipped),
        cmocka_unit_test(neither_pipes_nor_links_nor_holes_are_shipped),
    };

    return SITE_EITHER_WAY(tests);
}
