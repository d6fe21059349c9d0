/* SPDX-License-Identifier: MIT */
/* sftp_stripe.c - a file that goes over several connections, with many writes on its way */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/sftp/sftp_packet.h"
#include "common/sftp/sftp_stripe.h"

/* FULL_BYTES: more than all lanes but one carry without an answer. */
enum {
    LANES = 3,
    MIB = 1024 * 1024,
    FULL_BYTES = LANES * 3 * MIB / 2,
    GIVE_UP_MS = 30 * 1000,
    PAUSE_MS = 100 /* without a byte: whoever writes waits, or this machine is slow */
};

/*
 * A server that answers no write before all bytes have come: who waits for an answer to one write, or
 * leaves a lane unused, waits in vain, and is cut off.
 */
struct late_server {
    int fds[SFTP_LANES_MAX];
    size_t n;
    uint8_t *content;
    size_t wanted, came, came_on[SFTP_LANES_MAX];
    struct buf held[SFTP_LANES_MAX]; /* answers */
    size_t refused_at;               /* a write behind this offset fails; 0: none */
    size_t wanted_syncs, syncs;      /* before that it answers no write either; asked for */
    size_t wanted_opens;             /* on a lane, before it opens one there */
    size_t opens[SFTP_LANES_MAX];
    struct buf opened[SFTP_LANES_MAX]; /* answers to these */
    bool is_shy[SFTP_LANES_MAX];       /* it greets once it is asked for a file */
    bool hangs_up, is_gone;            /* on the last lane: instead of greeting; from the start */
    bool is_lazy;                      /* it answers writes in every pause */
    bool is_closed;                    /* it opens no file */
    size_t answered, most_unanswered, pauses;
    struct buf greetings[SFTP_LANES_MAX];
    pthread_t thread;
};

static void add_status(struct buf *out, uint32_t id, enum sftp_status status)
{
    packet_add_u32(out, 1 + 4 + 4 + 4 + 4);
    buf_add_char(out, (char)FXP_STATUS);
    packet_add_u32(out, id);
    packet_add_u32(out, status);
    packet_add_str(out, "");
    packet_add_str(out, "");
}

static void add_handle(struct buf *out, uint32_t id)
{
    packet_add_u32(out, 1 + 4 + 4 + 1);
    buf_add_char(out, (char)FXP_HANDLE);
    packet_add_u32(out, id);
    packet_add_str(out, "h");
}

static void take_write(struct late_server *s, size_t lane, uint32_t id, struct packet *p)
{
    struct bytes piece;
    uint64_t at;

    (void)packet_string(p);
    at = packet_u64(p);
    piece = packet_string(p);
    if (p->bad || at + piece.n > s->wanted)
        return;
    memcpy(s->content + at, piece.data, piece.n);
    s->came += piece.n;
    s->came_on[lane] += piece.n;
    add_status(&s->held[lane], id,
               s->refused_at > 0 && at >= s->refused_at ? FX_PERMISSION_DENIED : FX_OK);
}

static bool say(int fd, struct buf *out)
{
    bool is_said = out->n == 0 || send(fd, out->bytes, out->n, MSG_NOSIGNAL) == (ssize_t)out->n;

    buf_clear(out);
    return is_said;
}

static bool is_absent(const struct late_server *s, size_t lane)
{
    return (s->hangs_up || s->is_gone) && lane == s->n - 1;
}

static void hang_up(struct late_server *s, size_t lane)
{
    assert_int_equal(shutdown(s->fds[lane], SHUT_RDWR), 0);
}

static void greet(struct buf *out)
{
    packet_add_u32(out, 5 + 4 + 17 + 4 + 1);
    buf_add_char(out, FXP_VERSION);
    packet_add_u32(out, SFTP_VERSION);
    packet_add_str(out, "fsync@openssh.com");
    packet_add_str(out, "1");
}

static void answer(struct late_server *s, size_t lane, struct packet *p, struct buf *out)
{
    int type = packet_u8(p);
    uint32_t id = packet_u32(p);

    if (type == FXP_INIT && is_absent(s, lane)) {
        hang_up(s, lane);
    } else if (type == FXP_INIT) {
        greet(s->is_shy[lane] ? &s->greetings[lane] : out);
    } else if (type == FXP_OPEN && s->is_closed) {
        add_status(out, id, FX_PERMISSION_DENIED);
    } else if (type == FXP_OPEN) {
        buf_add(out, s->greetings[lane].bytes, s->greetings[lane].n);
        buf_clear(&s->greetings[lane]);
        add_handle(&s->opened[lane], id);
        if (++s->opens[lane] >= s->wanted_opens) {
            buf_add(out, s->opened[lane].bytes, s->opened[lane].n);
            buf_clear(&s->opened[lane]);
        }
    } else if (type == FXP_WRITE) {
        take_write(s, lane, id, p);
    } else {
        s->syncs += type == FXP_EXTENDED;
        add_status(&s->held[lane], id, FX_OK);
    }
}

static bool has_all(const struct late_server *s)
{
    return s->came == s->wanted && s->syncs >= s->wanted_syncs;
}

static bool say_held(struct late_server *s)
{
    bool goes_on = true;

    for (size_t i = 0; goes_on && i < s->n; i++)
        goes_on = say(s->fds[i], &s->held[i]);
    return goes_on;
}

/* Nothing came for a while. */
static bool catch_up(struct late_server *s)
{
    size_t unanswered = s->came - s->answered;

    s->pauses = unanswered > 0 ? 0 : s->pauses + 1;
    if (unanswered > s->most_unanswered)
        s->most_unanswered = unanswered;
    s->answered = s->came;
    return s->is_lazy && s->pauses < GIVE_UP_MS / PAUSE_MS && say_held(s);
}

static bool serve_one(struct late_server *s, size_t lane)
{
    uint8_t head[4], *body;
    struct packet p = { head, sizeof head, false };
    struct buf out = { 0 };
    uint32_t n;
    bool goes_on;

    if (io_read_all(s->fds[lane], head, sizeof head) != sizeof head)
        return false;
    n = packet_u32(&p);
    body = mem_alloc(n);
    goes_on = io_read_all(s->fds[lane], body, n) == (ssize_t)n;
    p = (struct packet){ body, n, false };
    if (goes_on)
        answer(s, lane, &p, &out);
    goes_on = goes_on && say(s->fds[lane], &out);
    goes_on = goes_on && (!has_all(s) || say_held(s));
    buf_free(&out);
    free(body);
    return goes_on;
}

static void *serve(void *context)
{
    struct late_server *s = context;
    struct pollfd polled[SFTP_LANES_MAX];
    int patience_ms = s->is_lazy ? PAUSE_MS : GIVE_UP_MS, rc;
    bool goes_on = true;

    for (size_t i = 0; i < s->n; i++)
        polled[i] = (struct pollfd){ .fd = s->fds[i], .events = POLLIN };
    while (goes_on && (rc = poll(polled, s->n, patience_ms)) >= 0 && (rc > 0 || catch_up(s)))
        for (size_t i = 0; i < s->n && goes_on; i++) {
            if (polled[i].revents == 0)
                continue;
            goes_on = serve_one(s, i);
            if (is_absent(s, i)) {
                polled[i].fd = -1;
                goes_on = true;
            }
        }
    for (size_t i = 0; i < s->n; i++) {
        close(s->fds[i]);
        buf_free(&s->held[i]);
        buf_free(&s->greetings[i]);
        buf_free(&s->opened[i]);
    }
    return NULL;
}

/* ---- the other end ---- */

static void open_lanes(struct late_server *s, struct sftp_lanes *lanes)
{
    int ours[SFTP_LANES_MAX] = { 0 };

    for (size_t i = 0; i < s->n; i++) {
        int ends[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        ours[i] = ends[0];
        s->fds[i] = ends[1];
    }
    s->content = mem_alloc(s->wanted);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
    *lanes = (struct sftp_lanes){ .n = s->n };
    for (size_t i = 0; i < s->n; i++) {
        bool waits = !s->is_shy[i] && !is_absent(s, i);

        if (s->is_gone && is_absent(s, i))
            hang_up(s, i);
        lanes->all[i] = waits ? sftp_open(ours[i], NULL) : sftp_open_later(ours[i], NULL);
        assert_non_null(lanes->all[i]);
    }
}

static void close_lanes(struct late_server *s, struct sftp_lanes *lanes)
{
    for (size_t i = 0; i < lanes->n; i++)
        sftp_close(lanes->all[i]);
    pthread_join(s->thread, NULL);
    free(s->content);
}

struct ending {
    bool is_there;
    struct err why;
};

static void note_end(void *context, const struct err *error)
{
    struct ending *end = context;

    end->is_there = true;
    if (error != NULL)
        end->why = *error;
}

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

/* In pieces that are none of the connection's. */
static struct ending write_file(struct sftp_lanes *lanes, bool hurries, struct bytes content)
{
    struct sftp_stripe *st = sftp_stripe_open(lanes, "path", 0644);
    struct ending end = { 0 };
    struct err e = { 0 };

    for (size_t at = 0; at < content.n; at += 77777) {
        size_t n = content.n - at < 77777 ? content.n - at : 77777;

        if (sftp_stripe_write(st, (struct bytes){ content.data + at, n }, &e) < 0)
            fail_msg("%s", e.text);
    }
    if (sftp_stripe_end(st, note_end, &end, &e) < 0)
        fail_msg("%s", e.text);
    if (hurries)
        sftp_stripe_hurry(st);
    while (!end.is_there)
        if (sftp_lanes_wait(lanes, &e) < 0)
            fail_msg("%s", e.text);
    return end;
}

/* What lanes have on their way in the end is more than two thirds of what they may. */
static void all_lanes_carry_a_file_and_wait_for_no_answer(void **state)
{
    (void)state;
    for (size_t n = 1; n <= LANES; n++) {
        struct late_server s = { .n = n, .wanted = n * 3 * MIB / 2 + 12345 };
        struct sftp_lanes lanes;
        struct ending end;
        uint8_t *content = make_noise(s.wanted);

        open_lanes(&s, &lanes);
        end = write_file(&lanes, false, (struct bytes){ content, s.wanted });
        assert_string_equal(end.why.text, "");
        assert_int_equal(s.syncs, 1);
        assert_memory_equal(s.content, content, s.wanted);
        for (size_t i = 0; i < n; i++)
            assert_true(s.came_on[i] >= MIB / 2);
        close_lanes(&s, &lanes);
        free(content);
    }
}

/* Of what sshd's channels may carry; what the SFTP servers have not taken yet is copied again and
 * again there. */
static void many_lanes_have_less_on_their_way_each(void **state)
{
    struct late_server s = { .n = SFTP_LANES_MAX, .wanted = 20 * MIB, .is_lazy = true };
    struct sftp_lanes lanes;
    struct ending end;
    uint8_t *content = make_noise(s.wanted);

    (void)state;
    open_lanes(&s, &lanes);
    end = write_file(&lanes, false, (struct bytes){ content, s.wanted });
    assert_string_equal(end.why.text, "");
    close_lanes(&s, &lanes);
    assert_in_range(s.most_unanswered, 1, 14 * MIB);
    free(content);
}

static void each_lane_can_sync_before_a_write_is_answered(void **state)
{
    struct late_server s = { .n = LANES, .wanted = FULL_BYTES, .wanted_syncs = LANES };
    struct sftp_lanes lanes;
    struct ending end;
    uint8_t *content = make_noise(s.wanted);

    (void)state;
    open_lanes(&s, &lanes);
    end = write_file(&lanes, true, (struct bytes){ content, s.wanted });
    assert_string_equal(end.why.text, "");
    assert_int_equal(s.syncs, LANES);
    assert_memory_equal(s.content, content, s.wanted);
    close_lanes(&s, &lanes);
    free(content);
}

static void a_write_that_fails_on_any_lane_is_told(void **state)
{
    (void)state;
    for (int hurries = 0; hurries <= 1; hurries++) {
        struct late_server s = { .n = 2, .wanted = 2 * MIB, .refused_at = MIB };
        struct sftp_lanes lanes;
        struct ending end;
        uint8_t *content = make_noise(s.wanted);

        open_lanes(&s, &lanes);
        end = write_file(&lanes, hurries, (struct bytes){ content, s.wanted });
        assert_int_equal(end.why.kind, ERR_DENIED);
        assert_non_null(strstr(end.why.text, "write path"));
        close_lanes(&s, &lanes);
        free(content);
    }
}

/* Of both the last request comes before the first one is answered, but for being opened. */
static void small_files_end_before_they_are_open(void **state)
{
    (void)state;
    for (int round = 0; round < 4; round++) {
        size_t n = round < 2 ? 1 : LANES;
        struct late_server s = { .n = n, .wanted = 2000, .wanted_syncs = 2, .wanted_opens = 2 };
        struct sftp_lanes lanes;
        struct sftp_stripe *files[2];
        struct ending ends[2] = { 0 };
        struct err e = { 0 };
        uint8_t *content = make_noise(1000);

        open_lanes(&s, &lanes);
        for (int i = 0; i < 2; i++) {
            files[i] = sftp_stripe_open(&lanes, "path", 0644);
            if (sftp_stripe_write(files[i], (struct bytes){ content, 1000 }, &e) < 0 ||
                sftp_stripe_end(files[i], note_end, &ends[i], &e) < 0)
                fail_msg("%s", e.text);
            if (round % 2 == 1)
                sftp_stripe_hurry(files[i]);
        }
        assert_int_equal(lanes.unanswered_bytes[0], 2000);
        while (!ends[0].is_there || !ends[1].is_there)
            if (sftp_lanes_wait(&lanes, &e) < 0)
                fail_msg("%s", e.text);
        assert_string_equal(ends[0].why.text, "");
        assert_string_equal(ends[1].why.text, "");
        assert_int_equal(lanes.unanswered_bytes[0], 0);
        assert_int_equal(s.syncs, 2);
        assert_memory_equal(s.content, content, 1000);
        close_lanes(&s, &lanes);
        free(content);
    }
}

static void a_small_file_that_cannot_be_opened_is_told(void **state)
{
    struct late_server s = { .n = 1, .wanted = 1000, .is_closed = true };
    struct sftp_lanes lanes;
    struct ending end;
    uint8_t *content = make_noise(1000);

    (void)state;
    open_lanes(&s, &lanes);
    end = write_file(&lanes, false, (struct bytes){ content, 1000 });
    assert_int_equal(end.why.kind, ERR_DENIED);
    assert_non_null(strstr(end.why.text, "write path"));
    assert_int_equal(lanes.unanswered_bytes[0], 0);
    close_lanes(&s, &lanes);
    free(content);
}

static void a_lane_is_asked_for_the_file_before_it_is_greeted(void **state)
{
    struct late_server s = { .n = LANES, .wanted = FULL_BYTES, .is_shy = { false, true, true } };
    struct sftp_lanes lanes;
    struct ending end;
    uint8_t *content = make_noise(s.wanted);

    (void)state;
    open_lanes(&s, &lanes);
    end = write_file(&lanes, false, (struct bytes){ content, s.wanted });
    assert_string_equal(end.why.text, "");
    assert_memory_equal(s.content, content, s.wanted);
    for (size_t i = 0; i < s.n; i++)
        assert_true(s.came_on[i] >= MIB / 2);
    close_lanes(&s, &lanes);
    free(content);
}

static void a_lane_that_is_never_greeted_is_left_out(void **state)
{
    (void)state;
    for (int round = 0; round < 4; round++) {
        struct late_server s = {
            .n = LANES, .wanted = 3 * MIB, .hangs_up = round % 2 == 0, .is_gone = round % 2 == 1
        };
        bool is_known = round < 2;
        struct sftp_lanes lanes;
        struct ending end;
        uint8_t *content = make_noise(s.wanted);

        open_lanes(&s, &lanes);
        while (is_known && !sftp_is_broken(lanes.all[LANES - 1]))
            assert_int_equal(sftp_lanes_wait(&lanes, NULL), 0);
        end = write_file(&lanes, true, (struct bytes){ content, s.wanted });
        assert_string_equal(end.why.text, "");
        assert_memory_equal(s.content, content, s.wanted);
        assert_int_equal(s.came_on[LANES - 1], 0);
        sftp_lanes_flush(&lanes);
        close_lanes(&s, &lanes);
        free(content);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_lanes_carry_a_file_and_wait_for_no_answer),
        cmocka_unit_test(many_lanes_have_less_on_their_way_each),
        cmocka_unit_test(each_lane_can_sync_before_a_write_is_answered),
        cmocka_unit_test(a_write_that_fails_on_any_lane_is_told),
        cmocka_unit_test(small_files_end_before_they_are_open),
        cmocka_unit_test(a_small_file_that_cannot_be_opened_is_told),
        cmocka_unit_test(a_lane_is_asked_for_the_file_before_it_is_greeted),
        cmocka_unit_test(a_lane_that_is_never_greeted_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
