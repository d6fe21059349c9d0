/* SPDX-License-Identifier: MIT */
/* courier.c - a stream as requests and replies: in order, once, and with an end */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/connect/courier.h"
#include "common/connect/file_request.h"
#include "common/proto/shareid.h"

enum { WAIT_MS = 60000, SPEED = 100 };

/* In the place of libc's: the courier's clock can run faster or be put forward, so that nobody has
 * to wait for half a minute.  The courier is another process. */
static int speed = 1;
static _Atomic int64_t *ahead_ms;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int clock_gettime(clockid_t id, struct timespec *now)
{
    int rc = (int)syscall(SYS_clock_gettime, id, now);

    if (id == CLOCK_MONOTONIC && speed > 1) {
        int64_t ns = ((int64_t)now->tv_sec % 1000000 * 1000000000 + now->tv_nsec) * speed;

        now->tv_sec = (time_t)(ns / 1000000000);
        now->tv_nsec = (long)(ns % 1000000000);
    }
    if (id == CLOCK_MONOTONIC && ahead_ms != NULL)
        now->tv_sec += (time_t)(*ahead_ms / 1000);
    return rc;
}

static int share_clock(void **state)
{
    void *at =
        mmap(NULL, sizeof *ahead_ms, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void)state;
    if (at == MAP_FAILED)
        return -1;
    ahead_ms = at;
    return 0;
}

static int64_t real_ms(void)
{
    struct timespec now;

    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- a share, and what ludwigd does there, by hand ---- */

struct desk {
    char *share, *inbox, *outbox;
    struct shareid id;
    struct token incarnation, conn;
    char hex[TOKEN_HEX];
    int64_t taken, put;
    struct arena *arena;
    int fd; /* the courier's stream */
};

static void write_id(struct desk *d)
{
    char *path = mem_printf("%s/.ludwig/id", d->share);
    struct buf text = { 0 };

    if (d->id.incarnation != NULL)
        d->id.incarnation = d->hex;
    shareid_encode(&d->id, &text);
    assert_int_equal(io_replace_file(path, text.bytes, text.n, 0644, NULL), 0);
    buf_free(&text);
    free(path);
}

static void renew(struct desk *d)
{
    token_make(&d->incarnation);
    token_hex(&d->incarnation, d->hex);
    d->id.incarnation = d->hex;
    write_id(d);
}

static struct desk desk_open(void)
{
    char template[] = "/tmp/ludwig-unit-XXXXXX";
    struct desk d = { .id = { .v = 1,
                              .server = "0011223344556677",
                              .host = "fileserver",
                              .inbox = INBOX_WATCHED },
                      .fd = -1 };

    speed = 1;
    signal(SIGPIPE, SIG_IGN);
    assert_non_null(mkdtemp(template));
    d.share = mem_strdup(template);
    d.inbox = mem_printf("%s/.ludwig/inbox/%u", d.share, geteuid());
    d.outbox = mem_printf("%s/.ludwig/outbox", d.share);
    d.arena = arena_create();
    assert_int_equal(io_make_dirs(d.inbox, 0700, NULL), 0);
    assert_int_equal(io_make_dirs(d.outbox, 0700, NULL), 0);
    renew(&d);
    return d;
}

static void desk_close(struct desk *d)
{
    if (d->fd >= 0)
        close(d->fd);
    /* A courier that ends may still be at it. */
    for (int64_t until_ms = real_ms() + WAIT_MS; io_remove_tree(d->share, NULL) < 0;)
        assert_true(real_ms() < until_ms);
    arena_destroy(d->arena);
    free(d->share);
    free(d->inbox);
    free(d->outbox);
}

static void begin(struct desk *d)
{
    struct err e = { 0 };
    struct courier *c = courier_over_folder(d->share, &e);

    d->fd = c == NULL ? -1 : courier_start(c, &e);
    if (d->fd < 0)
        fail_msg("%s", e.text);
}

/* A name in the inbox that this accepts; the caller frees it. */
static char *find(const struct desk *d, bool (*accepts)(const char *name))
{
    DIR *dir = opendir(d->inbox);
    const struct dirent *entry;
    char *found = NULL;

    assert_non_null(dir);
    while (found == NULL && (entry = readdir(dir)) != NULL)
        if (accepts(entry->d_name))
            found = mem_strdup(entry->d_name);
    closedir(dir);
    return found;
}

static bool is_any(const char *name)
{
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static bool is_first(const char *name)
{
    struct token conn;
    int64_t seq;

    return file_request_parse_name(name, &conn, &seq, NULL) == 0 && seq == 0;
}

static size_t count_requests(const struct desk *d)
{
    DIR *dir = opendir(d->inbox);
    const struct dirent *entry;
    struct token conn;
    int64_t seq;
    size_t n = 0;

    while ((entry = readdir(dir)) != NULL)
        n += file_request_parse_name(entry->d_name, &conn, &seq, NULL) == 0;
    closedir(dir);
    return n;
}

static void rest(int64_t until_ms, const char *what)
{
    if (real_ms() > until_ms)
        fail_msg("waited in vain for %s", what);
    (void)poll(NULL, 0, 1);
}

/* Which connection it is. */
static void meet(struct desk *d)
{
    int64_t until_ms = real_ms() + WAIT_MS, seq;
    char *name;

    while ((name = find(d, is_first)) == NULL)
        rest(until_ms, "the first request");
    assert_int_equal(file_request_parse_name(name, &d->conn, &seq, NULL), 0);
    free(name);
}

/* The next request of the courier. */
static struct file_request take(struct desk *d)
{
    int64_t until_ms = real_ms() + WAIT_MS;
    char name[FILE_REQUEST_NAME_BYTES], *path;
    struct buf file = { 0 };
    struct file_request p;
    struct err e = { 0 };

    if (d->taken == 0)
        meet(d);
    file_request_name(name, &d->conn, d->taken);
    path = mem_printf("%s/%s", d->inbox, name);
    while (access(path, F_OK) < 0)
        rest(until_ms, path);
    assert_int_equal(io_read_file(path, FILE_REQUEST_MAX_BYTES, &file, NULL), 0);
    if (file_request_decode(&p, buf_bytes(&file), d->arena, &e) < 0)
        fail_msg("%s", e.text);
    assert_int_equal(p.no, d->taken);
    assert_true(token_equal(&p.incarnation, &d->incarnation));
    d->taken++;
    buf_free(&file);
    free(path);
    return p;
}

static void reply(struct desk *d, int64_t no, struct bytes data, bool is_end, const char *why)
{
    struct file_reply r = { .v = FILE_REQUEST_VERSION,
                            .server = d->id.server,
                            .conn = d->conn,
                            .no = no,
                            .data = data,
                            .is_end = is_end,
                            .why = why };
    char name[FILE_REQUEST_NAME_BYTES], *path;
    struct buf file = { 0 };

    file_request_reply_name(name, geteuid(), &d->conn, no);
    path = mem_printf("%s/%s", d->outbox, name);
    file_request_encode_reply(&r, &file);
    assert_int_equal(io_replace_file(path, file.bytes, file.n, 0600, NULL), 0);
    buf_free(&file);
    free(path);
}

static void answer(struct desk *d, const char *text)
{
    reply(d, d->put++, (struct bytes){ (const uint8_t *)text, strlen(text) }, false, NULL);
}

static void must_hear(const struct desk *d, const char *text)
{
    struct pollfd fd = { .fd = d->fd, .events = POLLIN };
    size_t n = strlen(text);
    char got[64] = "";

    for (size_t at = 0; at < n;) {
        ssize_t more;

        assert_int_equal(poll(&fd, 1, WAIT_MS), 1);
        more = read(d->fd, got + at, n - at);
        assert_true(more > 0);
        at += (size_t)more;
    }
    assert_string_equal(got, text);
}

/* The stream ends; the last thing in it is a refusal with these words, or nothing. */
static void must_end_with(const struct desk *d, const char *words)
{
    struct pollfd fd = { .fd = d->fd, .events = POLLIN };
    char got[1024];
    size_t n = 0;
    ssize_t more = 1;

    while (more > 0) {
        assert_int_equal(poll(&fd, 1, WAIT_MS), 1);
        more = read(d->fd, got + n, sizeof got - n);
        assert_true(more >= 0);
        n += (size_t)more;
        assert_true(n < sizeof got);
    }
    if (words == NULL)
        assert_int_equal(n, 0);
    else if (memmem(got, n, words, strlen(words)) == NULL)
        fail_msg("'%s' is not in the last %zu bytes", words, n);
}

static void wait_until_empty(const struct desk *d)
{
    int64_t until_ms = real_ms() + WAIT_MS;
    char *name;

    while ((name = find(d, is_any)) != NULL) {
        rest(until_ms, name);
        free(name);
    }
}

static void say(const struct desk *d, const char *text)
{
    assert_int_equal(io_write_all(d->fd, text, strlen(text)), 0);
}

/* ---- before the first byte ---- */

static void without_id(struct desk *d)
{
    char *path = mem_printf("%s/.ludwig/id", d->share);

    assert_int_equal(unlink(path), 0);
    free(path);
}

static void with_garbage_for_id(struct desk *d)
{
    d->id.server = NULL;
    write_id(d);
}

static void stopped(struct desk *d)
{
    d->id.incarnation = NULL;
    write_id(d);
}

static void without_inbox(struct desk *d)
{
    d->id.inbox = INBOX_NONE;
    d->id.why = "it is on a file system of fools";
    write_id(d);
}

static void without_folder(struct desk *d)
{
    assert_int_equal(rmdir(d->inbox), 0);
}

static void with_an_open_folder(struct desk *d)
{
    assert_int_equal(chmod(d->inbox, 0770), 0);
}

static void with_anothers_folder(struct desk *d)
{
    if (chown(d->inbox, 12345, (gid_t)-1) < 0)
        with_an_open_folder(d); /* only root can */
}

static const struct {
    void (*spoil)(struct desk *d);
    enum err_kind kind;
    const char *words;
} obstacles[] = {
    { without_id, ERR_NOT_FOUND, "no ludwigd has made this folder its share" },
    { with_garbage_for_id, ERR_PROTOCOL, "id" },
    { stopped, ERR_UNREACHABLE, "ludwigd on fileserver was stopped" },
    { without_inbox, ERR_DENIED, "a file system of fools" },
    { without_folder, ERR_NOT_FOUND, "install -d" },
    { with_an_open_folder, ERR_DENIED, "chmod go-w" },
    { with_anothers_folder, ERR_DENIED, "ludwigd takes nothing" },
};

static void what_is_in_the_way_is_said_at_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof obstacles / sizeof obstacles[0]; i++) {
        struct desk d = desk_open();
        struct err e = { 0 };

        obstacles[i].spoil(&d);
        assert_null(courier_over_folder(d.share, &e));
        assert_int_equal(e.kind, obstacles[i].kind);
        if (strstr(e.text, obstacles[i].words) == NULL)
            fail_msg("'%s' lacks '%s'", e.text, obstacles[i].words);
        desk_close(&d);
    }
}

/* ---- the stream ---- */

static void what_is_written_comes_as_a_request_and_a_reply_as_bytes(void **state)
{
    struct desk d = desk_open();
    struct file_request p;

    (void)state;
    begin(&d);
    say(&d, "hello");
    p = take(&d);
    assert_int_equal(p.data.n, 5);
    assert_memory_equal(p.data.data, "hello", 5);
    assert_false(p.is_end);
    say(&d, "more"); /* though the first is held */
    p = take(&d);
    assert_memory_equal(p.data.data, "more", 4);
    answer(&d, "wel");
    answer(&d, "come");
    must_hear(&d, "welcome");
    desk_close(&d);
}

/* Sends the signal to all couriers of this process. */
static void signal_couriers(int signal)
{
    char path[64];
    struct buf children = { 0 };
    size_t n = 0;

    (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    assert_int_equal(io_read_file(path, 64 * 1024, &children, NULL), 0);
    for (char *left, *word = strtok_r((char *)(uintptr_t)buf_text(&children), " ", &left);
         word != NULL; word = strtok_r(NULL, " ", &left))
        n += kill((pid_t)strtol(word, NULL, 10), signal) == 0;
    assert_true(n > 0);
    buf_free(&children);
}

static void signals_that_are_meant_for_its_program_do_not_end_it(void **state)
{
    struct desk d = desk_open();
    struct file_request p;

    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    begin(&d);
    say(&d, "hello");
    (void)take(&d);
    signal_couriers(SIGTERM);
    signal_couriers(SIGINT);
    say(&d, "goodbye");
    p = take(&d);
    assert_int_equal(p.data.n, 7);
    assert_memory_equal(p.data.data, "goodbye", 7);
    desk_close(&d);
}

static void replies_are_given_in_their_order(void **state)
{
    struct desk d = desk_open();

    (void)state;
    begin(&d);
    say(&d, "hello");
    (void)take(&d);
    for (int64_t no = 5; no >= 0; no--) {
        char letter = (char)('a' + no);

        reply(&d, no, (struct bytes){ (const uint8_t *)&letter, 1 }, false, NULL);
    }
    must_hear(&d, "abcdef");
    desk_close(&d);
}

static void a_courier_that_has_nothing_to_say_asks(void **state)
{
    struct desk d = desk_open();
    struct file_request p;

    (void)state;
    begin(&d);
    say(&d, "hello");
    (void)take(&d);
    for (int i = 0; i < 3; i++) {
        answer(&d, i == 0 ? "welcome" : "");
        p = take(&d);
        assert_int_equal(p.data.n, 0);
        assert_false(p.is_end);
    }
    must_hear(&d, "welcome");
    desk_close(&d);
}

static void a_request_is_removed_when_its_reply_was_read(void **state)
{
    struct desk d = desk_open();
    int64_t until_ms = real_ms() + WAIT_MS;
    char name[FILE_REQUEST_NAME_BYTES], *path;

    (void)state;
    begin(&d);
    say(&d, "hello");
    (void)take(&d);
    assert_int_equal(count_requests(&d), 1);
    file_request_name(name, &d.conn, 0);
    path = mem_printf("%s/%s", d.inbox, name);
    answer(&d, "");
    while (access(path, F_OK) == 0)
        rest(until_ms, "a request to go");
    free(path);
    desk_close(&d);
}

/* A writer that does not wait for answers; its pid. */
static pid_t write_much(const struct desk *d, size_t n)
{
    pid_t pid = fork();
    char piece[4096];

    if (pid != 0)
        return pid;
    memset(piece, 'x', sizeof piece);
    for (size_t at = 0; at < n; at += sizeof piece)
        if (io_write_all(d->fd, piece, sizeof piece) < 0)
            _exit(1);
    _exit(0);
}

static void two_requests_wait_at_most_and_all_arrives(void **state)
{
    const size_t all = 12 * 1024 * 1024;
    struct desk d = desk_open();
    size_t got = 0;
    int status = 0;
    pid_t pid;

    (void)state;
    begin(&d);
    pid = write_much(&d, all);
    meet(&d);
    (void)poll(NULL, 0, 300);
    assert_int_equal(count_requests(&d), FILE_REQUEST_AHEAD);
    while (got < all) {
        got += take(&d).data.n;
        answer(&d, "");
        assert_true(count_requests(&d) <= 2 * FILE_REQUEST_AHEAD); /* or about to be removed */
    }
    assert_int_equal(got, all);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    desk_close(&d);
}

/* ---- the end ---- */

static void closing_the_descriptor_says_an_end_and_leaves_nothing(void **state)
{
    struct desk d = desk_open();
    struct file_request p;

    (void)state;
    begin(&d);
    say(&d, "last words");
    close(d.fd);
    d.fd = -1;
    p = take(&d);
    assert_int_equal(p.data.n, 10);
    if (!p.is_end)
        p = take(&d);
    assert_true(p.is_end);
    while (d.put < d.taken - 1)
        answer(&d, "");
    reply(&d, d.put, (struct bytes){ 0 }, true, NULL);
    wait_until_empty(&d);
    desk_close(&d);
}

static void an_end_that_is_not_answered_leaves_nothing(void **state)
{
    struct desk d = desk_open();

    (void)state;
    speed = 10;
    begin(&d);
    say(&d, "last words");
    (void)take(&d);
    close(d.fd);
    d.fd = -1;
    wait_until_empty(&d);
    desk_close(&d);
}

static void a_stream_without_a_byte_leaves_nothing(void **state)
{
    struct desk d = desk_open();

    (void)state;
    begin(&d);
    close(d.fd);
    d.fd = -1;
    (void)poll(NULL, 0, 50);
    wait_until_empty(&d);
    desk_close(&d);
}

static void replies_are_read_after_the_own_end(void **state)
{
    struct desk d = desk_open();

    (void)state;
    begin(&d);
    say(&d, "question");
    assert_int_equal(shutdown(d.fd, SHUT_WR), 0);
    while (!take(&d).is_end)
        answer(&d, "");
    answer(&d, "ans");
    assert_int_equal(take(&d).data.n, 0); /* it asks for more */
    reply(&d, d.put++, (struct bytes){ (const uint8_t *)"wer", 3 }, true, NULL);
    must_hear(&d, "answer");
    must_end_with(&d, NULL);
    wait_until_empty(&d);
    desk_close(&d);
}

static void end_by_end(struct desk *d)
{
    reply(d, d->put, (struct bytes){ 0 }, true, NULL);
}

static void end_by_giving_up(struct desk *d)
{
    reply(d, d->put, (struct bytes){ 0 }, true, "it was silent");
}

static void end_by_restart(struct desk *d)
{
    renew(d);
}

static void end_by_stop(struct desk *d)
{
    stopped(d);
}

static void end_by_another_connections_reply(struct desk *d)
{
    struct token mine = d->conn;
    char from[FILE_REQUEST_NAME_BYTES], to[FILE_REQUEST_NAME_BYTES], *path, *target;

    token_make(&d->conn);
    reply(d, 0, (struct bytes){ 0 }, false, NULL);
    file_request_reply_name(from, geteuid(), &d->conn, 0);
    file_request_reply_name(to, geteuid(), &mine, 0);
    path = mem_printf("%s/%s", d->outbox, from);
    target = mem_printf("%s/%s", d->outbox, to);
    assert_int_equal(rename(path, target), 0);
    d->conn = mine;
    free(path);
    free(target);
}

static void end_by_garbage(struct desk *d)
{
    char name[FILE_REQUEST_NAME_BYTES], *path;

    file_request_reply_name(name, geteuid(), &d->conn, 0);
    path = mem_printf("%s/%s", d->outbox, name);
    assert_int_equal(io_replace_file(path, "garbage", 7, 0600, NULL), 0);
    free(path);
}

static void end_by_losing_the_share(struct desk *d)
{
    char *away = mem_printf("%s/away", d->share);

    assert_int_equal(rename(d->outbox, away), 0);
    free(away);
}

static void whatever_ends_it_ends_the_stream_and_leaves_nothing(void **state)
{
    static const struct {
        void (*end)(struct desk *d);
        const char *words;
    } ends[] = {
        { end_by_end, NULL },
        { end_by_giving_up, "it was silent" },
        { end_by_restart, "was started anew" },
        { end_by_stop, "was stopped" },
        { end_by_another_connections_reply, "reply 0 says what its name does not" },
        { end_by_garbage, "reply" },
        { end_by_losing_the_share, "takes nothing from its inbox" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct desk d = desk_open();

        speed = 10;
        begin(&d);
        say(&d, "hello");
        (void)take(&d);
        ends[i].end(&d);
        must_end_with(&d, ends[i].words);
        wait_until_empty(&d);
        desk_close(&d);
    }
}

/* ---- the clock ---- */

static void a_request_may_be_held_for_a_while(void **state)
{
    struct desk d = desk_open();

    (void)state;
    begin(&d);
    say(&d, "hello");
    (void)take(&d);
    answer(&d, "");
    (void)take(&d);
    *ahead_ms += FILE_REQUEST_HOLD_MS + 10 * 1000;
    (void)poll(NULL, 0, 1500);
    answer(&d, "still here");
    must_hear(&d, "still here");
    desk_close(&d);
}

static void a_ludwigd_that_takes_nothing_is_given_up(void **state)
{
    struct desk d = desk_open();

    (void)state;
    speed = SPEED;
    begin(&d);
    say(&d, "hello");
    must_end_with(&d, "takes nothing from its inbox");
    wait_until_empty(&d);
    desk_close(&d);
}

/* ---- leftovers ---- */

static char *leave(const struct desk *d, int64_t age_ms)
{
    struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
                                 { .tv_sec = time(NULL) - age_ms / 1000 } };
    char name[FILE_REQUEST_NAME_BYTES], *path;
    struct token conn;
    int fd;

    token_make(&conn);
    file_request_name(name, &conn, 3);
    path = mem_printf("%s/%s", d->inbox, name);
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
    return path;
}

static void files_of_the_dead_are_removed_and_those_of_the_living_are_not(void **state)
{
    struct desk d = desk_open();
    char *dead = leave(&d, 2 * (int64_t)FILE_REQUEST_STALE_MS),
         *living = leave(&d, FILE_REQUEST_STALE_MS / 2);
    int64_t until_ms = real_ms() + WAIT_MS;

    (void)state;
    begin(&d);
    say(&d, "hello");
    (void)take(&d);
    answer(&d, "");
    while (access(dead, F_OK) == 0)
        rest(until_ms, "an old file to go");
    assert_int_equal(access(living, F_OK), 0);
    free(dead);
    free(living);
    desk_close(&d);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_in_the_way_is_said_at_once),
        cmocka_unit_test(what_is_written_comes_as_a_request_and_a_reply_as_bytes),
        cmocka_unit_test(signals_that_are_meant_for_its_program_do_not_end_it),
        cmocka_unit_test(replies_are_given_in_their_order),
        cmocka_unit_test(a_courier_that_has_nothing_to_say_asks),
        cmocka_unit_test(a_request_is_removed_when_its_reply_was_read),
        cmocka_unit_test(two_requests_wait_at_most_and_all_arrives),
        cmocka_unit_test(closing_the_descriptor_says_an_end_and_leaves_nothing),
        cmocka_unit_test(an_end_that_is_not_answered_leaves_nothing),
        cmocka_unit_test(a_stream_without_a_byte_leaves_nothing),
        cmocka_unit_test(replies_are_read_after_the_own_end),
        cmocka_unit_test(whatever_ends_it_ends_the_stream_and_leaves_nothing),
        cmocka_unit_test(a_request_may_be_held_for_a_while),
        cmocka_unit_test(a_ludwigd_that_takes_nothing_is_given_up),
        cmocka_unit_test(files_of_the_dead_are_removed_and_those_of_the_living_are_not),
    };

    return cmocka_run_group_tests(tests, share_clock, NULL);
}
