/* SPDX-License-Identifier: MIT */
/* inbox.c - connections made of files: carried whole, and ended by whoever breaks the rules */
#include "tests/unit/server_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "common/base/units.h"
#include "common/connect/courier.h"
#include "common/connect/file_request.h"
#include "server/inbox/inbox_internal.h"
#include "tests/unit/skip.h"

/* ---- in the place of the libraries' ---- */

static uint64_t ahead_ms; /* the clock is, so that nobody has to wait for minutes */
static uint32_t fs_magic; /* what the share is said to lie on; 0: what it does */

uint64_t uv_now(const uv_loop_t *loop)
{
    return loop->time + ahead_ms;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int fstatfs(int fd, struct statfs *fs)
{
    int rc = (int)syscall(SYS_fstatfs, fd, fs);

    if (fs_magic != 0)
        fs->f_type = (__typeof__(fs->f_type))fs_magic;
    return rc;
}

/* ---- files by hand ---- */

/* A client that does with files what a test wants. */
struct hand {
    struct fixture *f;
    struct token conn;
    char *inbox, *outbox, *server_id;
    uid_t uid;
};

static struct hand hand_begin(struct fixture *f)
{
    struct hand h = { .f = f, .uid = geteuid() };
    struct stat st;

    token_make(&h.conn);
    h.inbox = mem_printf("%s/share/.ludwig/inbox/%u", f->dir, h.uid);
    h.outbox = mem_printf("%s/share/.ludwig/outbox", f->dir);
    h.server_id = mem_strdup(f->sv.server_id);
    while (lstat(h.inbox, &st) < 0)
        fixture_turn(f);
    return h;
}

static void hand_end(struct hand *h)
{
    free(h->inbox);
    free(h->outbox);
    free(h->server_id);
}

static struct file_request request_of(const struct hand *h, int64_t no)
{
    return (struct file_request){ .v = FILE_REQUEST_VERSION,
                                  .server = h->server_id,
                                  .incarnation = h->f->sv.incarnation,
                                  .conn = h->conn,
                                  .no = no };
}

static char *in_path(const struct hand *h, int64_t no)
{
    char name[FILE_REQUEST_NAME_BYTES];

    file_request_name(name, &h->conn, no);
    return mem_printf("%s/%s", h->inbox, name);
}

static char *out_path(const struct hand *h, int64_t no)
{
    char name[FILE_REQUEST_NAME_BYTES];

    file_request_reply_name(name, h->uid, &h->conn, no);
    return mem_printf("%s/%s", h->outbox, name);
}

static void put_file(const char *path, struct bytes content)
{
    char *temporary = mem_printf("%s.new", path);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0600);

    assert_true(fd >= 0);
    assert_int_equal(io_write_all(fd, content.data, content.n), 0);
    close(fd);
    assert_int_equal(rename(temporary, path), 0);
    free(temporary);
}

static void put(const struct hand *h, const struct file_request *p)
{
    struct buf file = { 0 };
    char *path = in_path(h, p->no);

    file_request_encode(p, &file);
    put_file(path, buf_bytes(&file));
    buf_free(&file);
    free(path);
}

static struct bytes hello_bytes(struct buf *out)
{
    struct msg_hello hello = { .version = PROTO_VERSION, .program = "ludwig" };

    assert_int_equal(message_add(out, &proto, MSG_HELLO, 1, 0, NULL, &hello, NULL), 0);
    return buf_bytes(out);
}

static void put_hello(const struct hand *h)
{
    struct file_request p = request_of(h, 0);
    struct buf hello = { 0 };

    p.data = hello_bytes(&hello);
    put(h, &p);
    buf_free(&hello);
}

static bool is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

/* Runs the loop until there is such a file. */
static void wait_for_file(struct fixture *f, const char *path)
{
    int64_t until_ms = units_monotonic_ms() + FIXTURE_WAIT_MS;

    while (!is_there(path)) {
        if (units_monotonic_ms() > until_ms)
            fail_msg("%s does not come", path);
        fixture_turn(f);
    }
}

/* For what must not happen. */
static void run_for(struct fixture *f, int64_t ms)
{
    int64_t until_ms = units_monotonic_ms() + ms;

    while (units_monotonic_ms() < until_ms)
        fixture_turn(f);
}

static void wait_until_gone(struct fixture *f, const char *path)
{
    int64_t until_ms = units_monotonic_ms() + FIXTURE_WAIT_MS;

    while (is_there(path)) {
        if (units_monotonic_ms() > until_ms)
            fail_msg("%s does not go", path);
        fixture_turn(f);
    }
}

/* The reply of that number, in the fixture's arena. */
static struct file_reply get(const struct hand *h, int64_t no)
{
    char *path = out_path(h, no);
    struct buf file = { 0 };
    struct file_reply r;
    struct err e = { 0 };

    wait_for_file(h->f, path);
    assert_int_equal(io_read_file(path, FILE_REQUEST_MAX_BYTES, &file, NULL), 0);
    if (file_request_decode_reply(&r, buf_bytes(&file), h->f->arena, &e) < 0)
        fail_msg("%s", e.text);
    assert_true(token_equal(&r.conn, &h->conn));
    assert_int_equal(r.no, no);
    buf_free(&file);
    free(path);
    return r;
}

/* The type of the message that begins the data, MSG_COUNT when there is no whole one. */
static int message_in(struct hand *h, struct bytes data)
{
    struct frame_reader r = { 0 };
    struct envelope m = { .type = MSG_COUNT };
    struct bytes frame;

    frame_feed(&r, data.data, data.n);
    if (frame_next(&r, &frame, NULL) == 1)
        assert_int_equal(message_read(frame, &proto, h->f->arena, &m, NULL), 0);
    frame_reader_free(&r);
    return m.type;
}

/* What was put before has been looked at, once somebody is served who comes now. */
static void serve_another(struct fixture *f)
{
    struct hand h = hand_begin(f);

    put_hello(&h);
    (void)get(&h, 0);
    hand_end(&h);
}

/* ---- what a connection is ---- */

static void a_request_with_hello_is_answered(void **state)
{
    struct fixture *f = fixture_open();
    struct hand h = hand_begin(f);
    struct file_reply r;

    (void)state;
    put_hello(&h);
    r = get(&h, 0);
    assert_int_equal(message_in(&h, r.data), MSG_WELCOME);
    assert_false(r.is_end);
    assert_int_equal(conn_count(&f->sv), 1);
    hand_end(&h);
    fixture_close(f);
}

static void an_empty_request_is_held_until_the_next_one_comes(void **state)
{
    struct fixture *f = fixture_open();
    struct hand h = hand_begin(f);
    struct file_request p;
    char *second = out_path(&h, 1), *third = out_path(&h, 2);

    (void)state;
    put_hello(&h);
    (void)get(&h, 0);
    p = request_of(&h, 1);
    put(&h, &p);
    run_for(f, 200);
    assert_false(is_there(second));
    p = request_of(&h, 2);
    put(&h, &p);
    assert_int_equal(get(&h, 1).data.n, 0);
    run_for(f, 100);
    assert_false(is_there(third));
    free(second);
    free(third);
    hand_end(&h);
    fixture_close(f);
}

static int say_ok(struct server *sv, int64_t conn, struct err *e)
{
    struct msg_ok ok = { true };

    (void)e;
    conn_send(sv, conn, MSG_OK, &ok);
    return 0;
}

static void what_was_said_before_a_request_came_is_its_reply(void **state)
{
    struct fixture *f = fixture_open();
    struct hand h = hand_begin(f);
    struct file_request p = request_of(&h, 1);
    int64_t put_ms;

    (void)state;
    put_hello(&h);
    (void)get(&h, 0);
    turn_add_work(f->sv.turn, say_ok, conn_after(&f->sv, 0)->number);
    serve_another(f);
    put_ms = units_monotonic_ms();
    put(&h, &p);
    assert_int_equal(message_in(&h, get(&h, 1).data), MSG_OK);
    assert_true(units_monotonic_ms() - put_ms < FILE_REQUEST_HOLD_MS / 2);
    hand_end(&h);
    fixture_close(f);
}

static void a_reply_is_removed_when_the_next_request_but_one_has_come(void **state)
{
    struct fixture *f = fixture_open();
    struct hand h = hand_begin(f);
    struct file_request p;
    char *first = out_path(&h, 0), *second = out_path(&h, 1);

    (void)state;
    put_hello(&h);
    (void)get(&h, 0);
    p = request_of(&h, 1);
    put(&h, &p);
    serve_another(f);
    assert_true(is_there(first));
    p = request_of(&h, 2);
    put(&h, &p);
    (void)get(&h, 1);
    wait_until_gone(f, first);
    assert_true(is_there(second));
    free(first);
    free(second);
    hand_end(&h);
    fixture_close(f);
}

static void requests_count_in_their_order_whichever_comes_first(void **state)
{
    struct fixture *f = fixture_open();
    struct hand h = hand_begin(f);
    struct buf hello = { 0 };
    struct bytes all = hello_bytes(&hello);
    size_t half = all.n / 2;
    struct file_request p = request_of(&h, 1);
    struct file_reply r;

    (void)state;
    p.data = (struct bytes){ all.data + half, all.n - half };
    put(&h, &p);
    run_for(f, 20);
    p = request_of(&h, 0);
    p.data = (struct bytes){ all.data, half };
    put(&h, &p);
    r = get(&h, 0);
    if (r.data.n == 0)
        r = get(&h, 1);
    assert_int_equal(message_in(&h, r.data), MSG_WELCOME);
    buf_free(&hello);
    hand_end(&h);
    fixture_close(f);
}

static void a_request_too_early_waits_for_its_turn(void **state)
{
    struct fixture *f = fixture_open();
    struct hand h = hand_begin(f);
    char *reply = out_path(&h, 3);

    (void)state;
    put_hello(&h);
    (void)get(&h, 0);
    for (int64_t no = 3; no > 0; no--) {
        struct file_request p = request_of(&h, no);

        put(&h, &p);
    }
    (void)get(&h, 2);
    run_for(f, 100);
    assert_false(is_there(reply));
    assert_int_equal(conn_count(&f->sv), 1);
    free(reply);
    hand_end(&h);
    fixture_close(f);
}

static void an_end_closes_the_connection_and_is_answered_by_one(void **state)
{
    struct fixture *f = fixture_open();
    struct hand h = hand_begin(f);
    struct file_request p;

    (void)state;
    put_hello(&h);
    (void)get(&h, 0);
    p = request_of(&h, 1);
    p.is_end = true;
    put(&h, &p);
    assert_true(get(&h, 1).is_end);
    assert_null(get(&h, 1).why);
    assert_int_equal(conn_count(&f->sv), 0);
    hand_end(&h);
    fixture_close(f);
}

static void ludwigds_end_is_told_before_it_is_asked_for(void **state)
{
    struct fixture *f = fixture_open();
    struct hand h = hand_begin(f);

    (void)state;
    put_hello(&h);
    (void)get(&h, 0);
    server_close(&f->sv);
    assert_true(get(&h, 1).is_end);
    fixture_start(f);
    hand_end(&h);
    fixture_close(f);
}

/* ---- what is refused ---- */

static void must_be_given_up(struct hand *h, int64_t no, const char *word)
{
    struct file_reply r = get(h, no);

    assert_true(r.is_end);
    assert_non_null(r.why);
    if (strstr(r.why, word) == NULL)
        fail_msg("'%s' lacks '%s'", r.why, word);
}

static void what_was_for_an_earlier_ludwigd_is_refused(void **state)
{
    struct fixture *f = fixture_open();
    struct hand h = hand_begin(f);

    (void)state;
    server_close(&f->sv);
    put_hello(&h);
    fixture_start(f);
    must_be_given_up(&h, 0, "earlier ludwigd");
    assert_int_equal(conn_count(&f->sv), 0);
    hand_end(&h);
    fixture_close(f);
}

static void a_later_request_of_an_unknown_connection_begins_none(void **state)
{
    struct fixture *f = fixture_open();
    struct hand h = hand_begin(f);
    struct file_request p = request_of(&h, 5);
    char *reply = out_path(&h, 5);

    (void)state;
    put(&h, &p);
    serve_another(f);
    assert_int_equal(conn_count(&f->sv), 1);
    assert_false(is_there(reply));
    free(reply);
    hand_end(&h);
    fixture_close(f);
}

static void for_another_server(struct file_request *p)
{
    p->server = "0000000000000000";
}

static void of_another_connection(struct file_request *p)
{
    token_make(&p->conn);
}

static void of_another_number(struct file_request *p)
{
    p->no++;
}

static void of_another_version(struct file_request *p)
{
    p->v = FILE_REQUEST_VERSION + 1;
}

static void a_request_that_breaks_the_rules_ends_the_connection(void **state)
{
    static const struct {
        void (*spoil)(struct file_request *p);
        const char *word;
    } cases[] = { { for_another_server, "another server" },
                  { of_another_connection, "its name does not" },
                  { of_another_number, "its name does not" },
                  { of_another_version, "version" } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture *f = fixture_open();
        struct hand h = hand_begin(f);
        struct file_request p;
        struct buf file = { 0 };
        char *path = in_path(&h, 1);

        put_hello(&h);
        (void)get(&h, 0);
        p = request_of(&h, 1);
        cases[i].spoil(&p);
        file_request_encode(&p, &file);
        put_file(path, buf_bytes(&file));
        must_be_given_up(&h, 1, cases[i].word);
        fixture_settle(f);
        assert_int_equal(conn_count(&f->sv), 0);
        buf_free(&file);
        free(path);
        hand_end(&h);
        fixture_close(f);
    }
}

static void a_connection_that_was_is_not_begun_again(void **state)
{
    struct fixture *f = fixture_open();
    struct hand h = hand_begin(f);
    struct file_request p;
    char *path = in_path(&h, 0);
    struct buf old = { 0 };

    (void)state;
    put_hello(&h);
    assert_int_equal(io_read_file(path, FILE_REQUEST_MAX_BYTES, &old, NULL), 0);
    (void)get(&h, 0);
    p = request_of(&h, 1);
    p.is_end = true;
    put(&h, &p);
    assert_true(get(&h, 1).is_end);
    unlink(path);
    put_file(path, buf_bytes(&old));
    serve_another(f);
    assert_int_equal(conn_count(&f->sv), 1);
    buf_free(&old);
    free(path);
    hand_end(&h);
    fixture_close(f);
}

/* ---- the clock ---- */

/* A visit's files are there before the loop has heard of them, and so before their time begins. */
static void wait_for_visit(struct fixture *f)
{
    int64_t until_ms = units_monotonic_ms() + FIXTURE_WAIT_MS;

    while (f->sv.inbox->is_working) {
        assert_true(units_monotonic_ms() < until_ms);
        fixture_turn(f);
    }
}

static void pass_time(struct fixture *f, uint64_t ms)
{
    wait_for_visit(f);
    ahead_ms += ms;
    inbox_wake(f->sv.inbox);
    fixture_settle(f);
}

static void an_empty_request_is_answered_after_a_while(void **state)
{
    struct fixture *f = fixture_open();
    struct hand h = hand_begin(f);
    struct file_request p;
    struct file_reply r;

    (void)state;
    put_hello(&h);
    (void)get(&h, 0);
    p = request_of(&h, 1);
    put(&h, &p);
    serve_another(f);
    pass_time(f, FILE_REQUEST_HOLD_MS + 1);
    r = get(&h, 1);
    assert_int_equal(r.data.n, 0);
    assert_false(r.is_end);
    hand_end(&h);
    fixture_close(f);
}

static void a_client_that_is_silent_for_too_long_is_taken_for_dead(void **state)
{
    struct fixture *f = fixture_open();
    struct hand h = hand_begin(f);
    char *first = in_path(&h, 0), *last = out_path(&h, 1);

    (void)state;
    put_hello(&h);
    (void)get(&h, 0);
    pass_time(f, FILE_REQUEST_SILENCE_MS - 1000);
    assert_int_equal(conn_count(&f->sv), 1);
    pass_time(f, 2000);
    must_be_given_up(&h, 1, "silent");
    assert_int_equal(conn_count(&f->sv), 0);
    assert_true(is_there(first));
    /* Its client may come back and look; then nothing is left. */
    pass_time(f, 11 * 60 * 1000);
    wait_until_gone(f, last);
    wait_until_gone(f, first);
    free(first);
    free(last);
    hand_end(&h);
    fixture_close(f);
}

static void a_client_that_asks_now_and_then_lives(void **state)
{
    struct fixture *f = fixture_open();
    struct hand h = hand_begin(f);

    (void)state;
    put_hello(&h);
    (void)get(&h, 0);
    for (int no = 1; no <= 3; no++) {
        struct file_request p = request_of(&h, no);

        pass_time(f, FILE_REQUEST_SILENCE_MS - 1000);
        put(&h, &p);
        serve_another(f);
        pass_time(f, FILE_REQUEST_HOLD_MS + 1);
        assert_false(get(&h, no).is_end);
    }
    hand_end(&h);
    fixture_close(f);
}

static void of_a_connection_that_ended_nothing_is_left(void **state)
{
    struct fixture *f = fixture_open();
    struct hand h = hand_begin(f);
    struct file_request p;
    char *request = in_path(&h, 1), *reply = out_path(&h, 1);

    (void)state;
    put_hello(&h);
    (void)get(&h, 0);
    p = request_of(&h, 1);
    p.is_end = true;
    put(&h, &p);
    (void)get(&h, 1);
    assert_true(is_there(request));
    fixture_settle(f);
    pass_time(f, 60 * 1000);
    wait_until_gone(f, reply);
    wait_until_gone(f, request);
    free(request);
    free(reply);
    hand_end(&h);
    fixture_close(f);
}

/* With the age that it is said to have. */
static void make_old(const char *path, int64_t age_ms)
{
    struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
                                 { .tv_sec = (time_t)((units_now_ms() - age_ms) / 1000) } };

    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void old_files_of_unknown_connections_are_removed(void **state)
{
    struct fixture *f = fixture_open();
    struct hand h = hand_begin(f), other;
    struct file_request p = request_of(&h, 5);
    char *old = in_path(&h, 5);

    (void)state;
    server_close(&f->sv);
    put(&h, &p);
    make_old(old, 2 * (int64_t)FILE_REQUEST_STALE_MS);
    fixture_start(f);
    other = hand_begin(f);
    put_hello(&other);
    wait_until_gone(f, old);
    free(old);
    hand_end(&other);
    hand_end(&h);
    fixture_close(f);
}

/* ---- file systems ---- */

static void where_nobody_is_told_of_changes_it_looks_now_and_then(void **state)
{
    struct fixture *f;
    struct hand h;
    char *answer;

    (void)state;
    fs_magic = 0x6969; /* NFS */
    f = fixture_open();
    h = hand_begin(f);
    assert_int_equal(inbox_kind(f->sv.inbox), INBOX_LISTED);
    while (f->sv.inbox->is_working || f->sv.inbox->first_queued != NULL)
        fixture_turn(f); /* the first look */
    put_hello(&h);
    answer = out_path(&h, 0);
    run_for(f, 200);
    assert_false(is_there(answer));
    pass_time(f, 30 * 1000);
    assert_int_equal(message_in(&h, get(&h, 0).data), MSG_WELCOME);
    /* As long as somebody is connected, every second. */
    h.conn.bytes[0] ^= 1;
    put_hello(&h);
    run_for(f, 20);
    pass_time(f, 1000);
    assert_int_equal(message_in(&h, get(&h, 0).data), MSG_WELCOME);
    fs_magic = 0;
    free(answer);
    hand_end(&h);
    fixture_close(f);
}

static void where_owners_are_not_recorded_there_is_no_inbox(void **state)
{
    static const struct {
        uint32_t magic;
        const char *name;
    } cases[] = { { 0xff534d42, "cifs" },
                  { 0x65735546, "fuse" },
                  { 0x01021997, "9p" },
                  { 0x12345678, "does not know" } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture *f;

        fs_magic = cases[i].magic;
        f = fixture_open();
        assert_int_equal(inbox_kind(f->sv.inbox), INBOX_NONE);
        assert_non_null(strstr(inbox_why_none(f->sv.inbox), cases[i].name));
        fs_magic = 0;
        fixture_close(f);
    }
}

/* ---- over the courier ---- */

/* Waits for the folders, starts a courier and hands back a peer at its end. */
static struct peer *courier_peer(struct fixture *f)
{
    struct peer *p = mem_alloc(sizeof *p);
    struct hand h = hand_begin(f);
    char *share = mem_printf("%s/share", f->dir);
    struct err e = { 0 };
    struct courier *c = courier_over_folder(share, &e);
    int fd = c == NULL ? -1 : courier_start(c, &e);

    if (fd < 0)
        fail_msg("%s", e.text);
    p->f = f;
    wire_init(&p->wire, fd, &proto);
    free(share);
    hand_end(&h);
    return p;
}

static size_t count_files(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    size_t n = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL)
        n += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    closedir(dir);
    return n;
}

static void a_courier_is_greeted_and_leaves_nothing(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = courier_peer(f);
    struct hand h = hand_begin(f);
    int64_t until_ms = units_monotonic_ms() + FIXTURE_WAIT_MS;

    (void)state;
    peer_hello(p, "ludwig");
    peer_close(p);
    while (count_files(h.inbox) > 0 || conn_count(&f->sv) > 0) {
        assert_true(units_monotonic_ms() < until_ms);
        fixture_turn(f);
    }
    hand_end(&h);
    fixture_close(f);
}

static void many_requests_are_under_way_at_once(void **state)
{
    enum { REQUESTS = 500 };
    struct fixture *f = fixture_open();
    struct peer *p = courier_peer(f);
    struct msg_get_sweeps request = { .limit = PAGE_MAX };
    struct envelope m;

    (void)state;
    peer_hello(p, "ludwig");
    for (int i = 0; i < REQUESTS; i++)
        peer_send(p, MSG_GET_SWEEPS, &request);
    for (int i = 0; i < REQUESTS; i++) {
        assert_int_equal(peer_receive_any(p, &m), MSG_SWEEP_PAGE);
        assert_int_equal(m.re, p->asked - REQUESTS + 1 + i);
    }
    peer_close(p);
    fixture_close(f);
}

/* 50 configurations of 3 KB: a socket takes as much while the loop does not run. */
static void add_long_configs(struct buf *out, int64_t first)
{
    char text[3000];

    memset(text, 'x', sizeof text);
    mp_add_list(out, 50);
    for (int64_t x = first; x < first + 50; x++) {
        mp_add_map(out, 2);
        mp_add_str(out, "x", 1);
        mp_add_int(out, x);
        mp_add_str(out, "y", 1);
        mp_add_str(out, text, sizeof text);
    }
}

static void a_long_submit_comes_whole(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = courier_peer(f);
    struct submit s = submit_of("demo", 1);

    (void)state;
    peer_hello(p, "ludwig");
    submit_begin(p, &s);
    for (int i = 0; i < 40; i++) {
        struct buf configs = { 0 };

        add_long_configs(&configs, 50 * i);
        submit_bytes(p, &s, buf_bytes(&configs), 50);
        buf_free(&configs);
    }
    assert_int_equal(submit_end(p, &s).jobs, 40 * 50);
    peer_close(p);
    fixture_close(f);
}

static void a_courier_whose_ludwigd_is_started_anew_ends(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = courier_peer(f);
    struct envelope m;

    (void)state;
    peer_hello(p, "ludwig");
    server_close(&f->sv);
    fixture_start(f);
    assert_int_equal(peer_receive_any(p, &m), -1);
    peer_close(p);
    fixture_close(f);
}

static void who_is_one_too_many_is_told_so(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = courier_peer(f), *many[CONN_PER_UID_MAX];
    struct msg_hello hello = { .version = PROTO_VERSION, .program = "ludwig" };
    struct envelope m;

    (void)state;
    for (size_t i = 0; i < CONN_PER_UID_MAX; i++)
        many[i] = peer_connect(f);
    peer_send(p, MSG_HELLO, &hello);
    assert_int_equal(peer_receive_any(p, &m), MSG_ERROR);
    assert_int_equal(peer_receive_any(p, &m), -1);
    for (size_t i = 0; i < CONN_PER_UID_MAX; i++)
        peer_close(many[i]);
    peer_close(p);
    fixture_close(f);
}

/* ---- who comes, and what the kernel could not tell ---- */

static void settle_scan(struct fixture *f)
{
    int64_t until_ms = units_monotonic_ms() + FIXTURE_WAIT_MS;

    do {
        assert_true(units_monotonic_ms() < until_ms);
        fixture_turn(f);
    } while (f->sv.inbox->is_working || f->sv.inbox->wants_boxes);
}

static bool has_box(const struct fixture *f, uid_t uid)
{
    char *path = mem_printf("%s/share/.ludwig/inbox/%u", f->dir, uid);
    bool has = access(path, F_OK) == 0;

    free(path);
    return has;
}

static void all_who_come_before_there_is_a_look_get_a_folder(void **state)
{
    enum { DAEMON = 1, BIN = 2 };
    struct fixture *f;

    (void)state;
    if (geteuid() != 0 || getpwuid(DAEMON) == NULL || getpwuid(BIN) == NULL)
        skip_because("takes root and the users daemon and bin");
    f = fixture_open();
    settle_scan(f);
    f->sv.conf.min_uid = f->sv.inbox->scan.min_uid = 1;
    inbox_meet(f->sv.inbox, DAEMON);
    inbox_meet(f->sv.inbox, BIN);
    inbox_meet(f->sv.inbox, DAEMON);
    settle_scan(f);
    assert_true(has_box(f, DAEMON));
    assert_true(has_box(f, BIN));
    fixture_close(f);
}

static void look_at_the_clock(struct fixture *f)
{
    inbox_wake(f->sv.inbox);
    fixture_turn(f);
}

static void events_that_are_lost_again_and_again_are_made_up_for_now_and_then(void **state)
{
    struct fixture *f = fixture_open();
    struct inbox *in = f->sv.inbox;

    (void)state;
    settle_scan(f);
    in->has_missed = true;
    look_at_the_clock(f);
    assert_false(in->has_missed); /* at once */
    settle_scan(f);
    in->has_missed = true;
    look_at_the_clock(f);
    assert_true(in->has_missed);
    ahead_ms += INBOX_UNWATCHED_EVERY_MS;
    look_at_the_clock(f);
    assert_false(in->has_missed);
    settle_scan(f);
    ahead_ms = 0;
    fixture_close(f);
}

static void all_users_are_listed_only_now_and_then(void **state)
{
    struct fixture *f = fixture_open();
    struct inbox *in = f->sv.inbox;

    (void)state;
    settle_scan(f);
    in->wants_users = in->wants_boxes = true;
    look_at_the_clock(f);
    settle_scan(f);
    assert_true(in->wants_users); /* the folders were looked at, the users not */
    ahead_ms += INBOX_USERS_EVERY_MS;
    look_at_the_clock(f);
    assert_false(in->wants_users);
    settle_scan(f);
    ahead_ms = 0;
    fixture_close(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_who_come_before_there_is_a_look_get_a_folder),
        cmocka_unit_test(events_that_are_lost_again_and_again_are_made_up_for_now_and_then),
        cmocka_unit_test(all_users_are_listed_only_now_and_then),
        cmocka_unit_test(a_request_with_hello_is_answered),
        cmocka_unit_test(an_empty_request_is_held_until_the_next_one_comes),
        cmocka_unit_test(what_was_said_before_a_request_came_is_its_reply),
        cmocka_unit_test(a_reply_is_removed_when_the_next_request_but_one_has_come),
        cmocka_unit_test(requests_count_in_their_order_whichever_comes_first),
        cmocka_unit_test(a_request_too_early_waits_for_its_turn),
        cmocka_unit_test(an_end_closes_the_connection_and_is_answered_by_one),
        cmocka_unit_test(ludwigds_end_is_told_before_it_is_asked_for),
        cmocka_unit_test(what_was_for_an_earlier_ludwigd_is_refused),
        cmocka_unit_test(a_later_request_of_an_unknown_connection_begins_none),
        cmocka_unit_test(a_request_that_breaks_the_rules_ends_the_connection),
        cmocka_unit_test(a_connection_that_was_is_not_begun_again),
        cmocka_unit_test(an_empty_request_is_answered_after_a_while),
        cmocka_unit_test(a_client_that_is_silent_for_too_long_is_taken_for_dead),
        cmocka_unit_test(a_client_that_asks_now_and_then_lives),
        cmocka_unit_test(of_a_connection_that_ended_nothing_is_left),
        cmocka_unit_test(old_files_of_unknown_connections_are_removed),
        cmocka_unit_test(where_nobody_is_told_of_changes_it_looks_now_and_then),
        cmocka_unit_test(where_owners_are_not_recorded_there_is_no_inbox),
        cmocka_unit_test(a_courier_is_greeted_and_leaves_nothing),
        cmocka_unit_test(many_requests_are_under_way_at_once),
        cmocka_unit_test(a_long_submit_comes_whole),
        cmocka_unit_test(a_courier_whose_ludwigd_is_started_anew_ends),
        cmocka_unit_test(who_is_one_too_many_is_told_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
