/* SPDX-License-Identifier: MIT */
/* courier_run.c - carry a stream as files, in both directions, to its end */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "common/base/io.h"
#include "common/base/units.h"
#include "common/connect/courier_parts.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* SIGPIPE is ignored here */
#endif

enum {
    PUT_MAX = 16, /* parcels in one turn, in each direction */
    MORE_COMES_BYTES = 64 * 1024,
    DOWN_MAX_BYTES = 4 * 1024 * 1024, /* for a reader that is slow */
    PAUSE_MIN_MS = 1,
    PAUSE_MAX_MS = 1000,
    OWED_MAX = 8, /* parcels got, and not acknowledged yet */
    OWED_MAX_MS = 500,
    ID_EVERY_MS = 3000,
    PART_MAX_MS = 3000 /* for the last words to be taken */
};

struct stream {
    struct courier *c;
    int fd;
    struct token conn;
    struct post_turn turn;
    struct arena *arena; /* of the parcel that is looked at */
    struct buf input;    /* a parcel's data */
    struct buf down;     /* got, and not given to fd yet */

    /* Ours: how many were put into the inbox, are acknowledged, and are removed again. */
    int64_t put, taken, dropped;
    size_t sizes[PARCEL_WINDOW]; /* of the data in those that are not acknowledged, by seq */
    size_t unacked_bytes;
    /* Theirs: how many we have, and have said so of. */
    int64_t got, told;

    int64_t put_ms;  /* when the last one was put */
    int64_t wait_ms; /* since when nothing of what was put is acknowledged */
    int64_t owes_ms; /* since when an acknowledgement is owed; 0: none */
    int64_t id_ms;   /* when the id was read */
    int64_t end_ms;  /* when our end was said; 0: not yet */
    int pause_ms;
    size_t ahead; /* how many of theirs to look for at once */
    bool is_input_over, has_heard_end, has_swept;
    int n_points; /* for tests */
    bool is_deaf; /* nobody holds the other end of fd any more */
};

/* ---- what is put ---- */

static bool has_window(const struct stream *s)
{
    return s->put - s->taken < PARCEL_WINDOW - PARCEL_RESERVE &&
           s->unacked_bytes < PARCEL_WINDOW_BYTES;
}

static void add_parcel(struct stream *s, int end)
{
    struct post_file *file = post_add(&s->turn.put);
    struct parcel p = { .v = PARCEL_VERSION,
                        .server = s->c->server,
                        .incarnation = s->c->incarnation,
                        .conn = s->conn,
                        .seq = s->put,
                        .ack = s->got,
                        .data = buf_bytes(&s->input),
                        .end = end };

    parcel_inbox_name(file->name, &s->conn, s->put);
    parcel_encode(&p, &file->content);
    s->sizes[s->put % PARCEL_WINDOW] = s->input.n;
    s->unacked_bytes += s->input.n;
    buf_clear(&s->input);
    if (s->put == s->taken)
        s->wait_ms = units_monotonic_ms();
    s->put++;
    s->told = s->got;
    s->put_ms = units_monotonic_ms();
    s->owes_ms = 0;
}

/* Reads what there is, up to a parcel.  A writer that waits for room writes on at once, so that a
 * long message does not travel in pieces as small as the socket's buffer. */
static int read_input(struct stream *s, struct err *e)
{
    struct pollfd more = { .fd = s->fd, .events = POLLIN };

    while (s->input.n < PARCEL_DATA_MAX && !s->is_input_over) {
        size_t room = PARCEL_DATA_MAX - s->input.n;
        ssize_t n = recv(s->fd, buf_reserve(&s->input, room), room, MSG_DONTWAIT);

        if (n > 0)
            buf_added(&s->input, (size_t)n);
        else if (n == 0 || errno == ECONNRESET)
            s->is_input_over = true;
        else if (errno == EAGAIN && (s->input.n < MORE_COMES_BYTES || poll(&more, 1, 1) <= 0))
            return 0;
        else if (errno != EAGAIN && errno != EINTR)
            return err_sys(e, "courier");
    }
    return 0;
}

static int take_input(struct stream *s, struct err *e)
{
    while (has_window(s) && s->turn.put.n < PUT_MAX && s->end_ms == 0) {
        if (read_input(s, e) < 0)
            return -1;
        if (s->is_input_over && s->put == 0 && s->input.n == 0)
            break; /* nobody has heard of us */
        if (s->is_input_over) {
            add_parcel(s, PARCEL_END);
            s->end_ms = s->put_ms;
        } else if (s->input.n > 0) {
            add_parcel(s, PARCEL_GOES_ON);
        } else {
            break;
        }
    }
    return 0;
}

/* An acknowledgement, or that we live. */
static void add_word(struct stream *s, int64_t now_ms)
{
    bool owes =
        s->got - s->told >= OWED_MAX || (s->owes_ms != 0 && now_ms - s->owes_ms >= OWED_MAX_MS);

    if (s->turn.put.n == 0 && s->end_ms == 0 && s->put > 0 && s->put - s->taken < PARCEL_WINDOW &&
        (owes || now_ms - s->put_ms >= PARCEL_ALIVE_EVERY_MS))
        add_parcel(s, PARCEL_GOES_ON);
}

static void add_drops(struct stream *s, int64_t up_to)
{
    struct post_file *file;

    while (s->dropped < up_to && (file = post_add(&s->turn.drop)) != NULL)
        parcel_inbox_name(file->name, &s->conn, s->dropped++);
}

/* ---- what is got ---- */

/* The reset comes behind those that are looked for by number. */
static void look_for(struct stream *s, int64_t now_ms)
{
    const uid_t uid = s->c->post->uid;

    if (s->put == 0 || s->has_heard_end || s->down.n > DOWN_MAX_BYTES) {
        s->ahead = 0;
        return;
    }
    if (s->ahead == 0)
        s->ahead = 1;
    for (size_t i = 0; i < s->ahead; i++)
        parcel_outbox_name(post_add(&s->turn.get)->name, uid, &s->conn, s->got + (int64_t)i);
    if (now_ms - s->id_ms < ID_EVERY_MS)
        return;
    parcel_outbox_name(post_add(&s->turn.get)->name, uid, &s->conn, -1);
    s->turn.wants_id = true;
    s->id_ms = now_ms;
}

static int check_parcel(const struct stream *s, const struct parcel *p, struct err *e)
{
    if (strcmp(p->server, s->c->server) != 0 || !token_equal(&p->conn, &s->conn) ||
        !token_equal(&p->incarnation, &s->c->incarnation))
        return err_set(e, ERR_PROTOCOL, "outbox: a parcel of another connection");
    if (p->end != PARCEL_RESET && (p->seq != s->got || p->ack > s->put))
        return err_set(e, ERR_PROTOCOL, "outbox: parcel %" PRId64 " says what cannot be", s->got);
    return 0;
}

static void take_ack(struct stream *s, int64_t ack, int64_t now_ms)
{
    if (ack > s->taken)
        s->wait_ms = now_ms;
    for (; s->taken < ack; s->taken++)
        s->unacked_bytes -= s->sizes[s->taken % PARCEL_WINDOW];
}

static int take_parcel(struct stream *s, const struct post_file *file, int64_t now_ms,
                       struct err *e)
{
    struct parcel p;

    arena_reset(s->arena);
    if (parcel_decode(&p, buf_bytes(&file->content), s->arena, e) < 0 || check_parcel(s, &p, e) < 0)
        return -1;
    if (p.end == PARCEL_RESET)
        return err_set(e, ERR_UNREACHABLE, "ludwigd on %s does not know this connection any more",
                       s->c->host);
    s->got++;
    take_ack(s, p.ack, now_ms);
    if (p.data.n > 0 && s->owes_ms == 0)
        s->owes_ms = now_ms;
    if (!s->is_deaf)
        buf_add(&s->down, p.data.data, p.data.n);
    s->has_heard_end = p.end == PARCEL_END;
    return 0;
}

/* Those that are there up to the first that is not. */
static int take_parcels(struct stream *s, int64_t now_ms, struct err *e)
{
    const struct post_file *items = s->turn.get.items;
    size_t n = 0;

    while (n < s->ahead && items[n].is_there && !s->has_heard_end)
        if (take_parcel(s, &items[n++], now_ms, e) < 0)
            return -1;
    if (s->turn.get.n > s->ahead && items[s->ahead].is_there &&
        take_parcel(s, &items[s->ahead], now_ms, e) < 0)
        return -1;
    if (n == s->ahead && n < PUT_MAX)
        s->ahead = 2 * n;
    else if (n == 0)
        s->ahead = 1;
    return n > 0;
}

static int look_at_id(const struct stream *s, struct err *e)
{
    struct shareid id;
    struct token now;

    arena_reset(s->arena);
    if (s->turn.id.n == 0 ||
        shareid_decode(&id, buf_bytes(&s->turn.id), s->arena, NULL) < 0) /* we look again */
        return 0;
    if (id.incarnation == NULL)
        return err_set(e, ERR_UNREACHABLE, "ludwigd on %s was stopped", s->c->host);
    if (token_parse(id.incarnation, &now) == 0 && token_equal(&now, &s->c->incarnation))
        return 0;
    return err_set(e, ERR_UNREACHABLE, "ludwigd on %s was started anew", s->c->host);
}

static void give(struct stream *s)
{
    while (s->down.n > 0 && !s->is_deaf) {
        ssize_t n = send(s->fd, s->down.bytes, s->down.n, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n > 0)
            buf_drop_front(&s->down, (size_t)n);
        else if (n < 0 && errno == EAGAIN)
            return;
        else if (n < 0 && errno != EINTR)
            s->is_deaf = true;
    }
    if (s->is_deaf)
        buf_clear(&s->down);
}

/* ---- turns ---- */

#ifdef LUDWIG_TEST_HOOKS
/* Dies at the point of this number, once: $LUDWIG_CRASH_ONCE is a file that says so. */
static void crash_point(struct stream *s)
{
    const char *at = getenv("LUDWIG_COURIER_CRASH"), *once = getenv("LUDWIG_CRASH_ONCE");
    int fd;

    if (at == NULL || once == NULL || s->n_points++ != atoi(at))
        return;
    fd = open(once, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        (void)raise(SIGKILL);
}
#else
static void crash_point(struct stream *s)
{
    (void)s;
}
#endif

static int check_patience(const struct stream *s, int64_t now_ms, struct err *e)
{
    if (s->taken == s->put || now_ms - s->wait_ms < s->c->patience_ms)
        return 0;
    return err_set(e, ERR_UNREACHABLE, "ludwigd on %s takes nothing from its inbox", s->c->host);
}

static int do_turn(struct stream *s, struct err *e)
{
    int64_t now_ms = units_monotonic_ms();
    int got;

    post_turn_clear(&s->turn);
    if (take_input(s, e) < 0)
        return -1;
    add_word(s, now_ms);
    add_drops(s, s->taken);
    look_for(s, now_ms);
    if (s->turn.put.n > 0)
        crash_point(s);
    if (s->c->post->way->turn(s->c->post, &s->turn, e) < 0)
        return -1;
    if (s->turn.put.n > 0)
        crash_point(s);
    got = take_parcels(s, now_ms, e);
    if (got < 0 || look_at_id(s, e) < 0 || check_patience(s, now_ms, e) < 0)
        return -1;
    if (got > 0)
        crash_point(s);
    give(s);
    if (got > 0)
        crash_point(s);
    if (got > 0 || s->turn.put.n > 0)
        s->pause_ms = PAUSE_MIN_MS;
    else if (s->pause_ms < PAUSE_MAX_MS)
        s->pause_ms = 2 * s->pause_ms < PAUSE_MAX_MS ? 2 * s->pause_ms : PAUSE_MAX_MS;
    return 0;
}

/* Until there is something to put or to give, or it is time to look for an answer. */
static void rest(struct stream *s)
{
    struct pollfd fd = { .fd = s->is_deaf ? -1 : s->fd };

    if (!s->is_input_over && has_window(s))
        fd.events |= POLLIN;
    if (s->down.n > 0)
        fd.events |= POLLOUT;
    /* Nothing is looked for before the first word. */
    if (poll(&fd, 1, s->put == 0 ? -1 : s->pause_ms) > 0 && (fd.revents & POLLHUP) != 0 &&
        (fd.revents & POLLIN) == 0)
        s->is_deaf = true;
}

static bool is_done(const struct stream *s)
{
    if (s->has_heard_end)
        return s->down.n == 0;
    if (s->put == 0)
        return s->is_input_over;
    return s->end_ms != 0 && s->is_deaf &&
           (s->taken == s->put || units_monotonic_ms() - s->end_ms > PART_MAX_MS);
}

/* Nobody has to acknowledge these any more. */
static void take_files_away(struct stream *s)
{
    post_turn_clear(&s->turn);
    add_drops(s, s->put);
    if (s->turn.drop.n > 0)
        (void)s->c->post->way->turn(s->c->post, &s->turn, NULL);
}

/* While nobody waits for us. */
static void sweep_once(struct stream *s, bool has_time)
{
    if (!has_time || s->has_swept)
        return;
    s->has_swept = true;
    s->c->post->way->sweep(s->c->post);
}

static void name_process(void)
{
#ifdef __linux__
    (void)prctl(PR_SET_NAME, "ludwig-courier");
#endif
}

int courier_run(struct courier *c, int stream_fd, struct err *e)
{
    struct stream s = { .c = c,
                        .fd = stream_fd,
                        .arena = arena_create(),
                        .pause_ms = PAUSE_MIN_MS,
                        .id_ms = units_monotonic_ms() };
    int rc = 0;

    token_make(&s.conn);
    name_process();
    while (rc == 0 && !is_done(&s)) {
        rest(&s);
        sweep_once(&s, s.pause_ms >= PAUSE_MAX_MS);
        rc = do_turn(&s, e);
    }
    close(stream_fd);
    take_files_away(&s);
    sweep_once(&s, rc == 0);
    post_turn_free(&s.turn);
    buf_free(&s.input);
    buf_free(&s.down);
    arena_destroy(s.arena);
    courier_close(c);
    return rc;
}
