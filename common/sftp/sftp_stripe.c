/* SPDX-License-Identifier: MIT */
/* sftp_stripe.c - a file whose bytes go to a server over several connections at once */
#include <stdlib.h>
#include <string.h>

#include "common/sftp/sftp_once.h"
#include "common/sftp/sftp_stripe.h"

enum {
    WINDOW_BYTES = 2 * 1024 * 1024, /* what OpenSSH lets be under way on a channel */
    /* More costs small uploads more than it gives large ones: what its SFTP servers have not taken
     * yet sshd keeps, and copies all of that for each 32 KiB that come to it. */
    ALL_LANES_BYTES = 12 * 1024 * 1024
};

enum handle_state { UNASKED, ASKED, EARLY, OPEN, CLOSED };

/* The file on one lane. */
struct handle {
    struct sftp_stripe *stripe;
    size_t lane;
    enum handle_state state;
    bool follows; /* it was asked for when the first lane had the file */
    bool has_written;
    uint8_t bytes[SFTP_HANDLE_MAX_BYTES];
    size_t n;
};

struct sftp_stripe {
    struct sftp_lanes *lanes;
    char *path;
    mode_t mode;
    struct handle handles[SFTP_LANES_MAX];
    uint8_t *piece; /* the next one */
    size_t n_piece, piece_bytes;
    uint64_t offset;  /* of it */
    size_t n_waiting; /* requests without answer */
    bool has_ended, is_closing, is_dropped;
    bool has_failed;
    const char *failed_verb;
    struct sftp_deed deed;
    struct sftp_failure failure;
    sftp_stripe_done *done;
    void *context;
};

/* ---- lanes ---- */

/* Whoever is there already carries what it would have carried. */
static bool never_came(const struct sftp *lane)
{
    return lane->is_broken && !lane->is_greeted;
}

static const struct sftp *broken_lane(const struct sftp_lanes *lanes)
{
    for (size_t i = 0; i < lanes->n; i++)
        if (lanes->all[i]->is_broken && !never_came(lanes->all[i]))
            return lanes->all[i];
    return NULL;
}

/* Those that stand: of others all has been answered, with nothing. */
static size_t find_standing(const struct sftp_lanes *lanes, struct sftp **standing)
{
    size_t n = 0;

    for (size_t i = 0; i < lanes->n; i++)
        if (!lanes->all[i]->is_broken)
            standing[n++] = lanes->all[i];
    return n;
}

static int turn(const struct sftp_lanes *lanes, const struct pollfd *others, size_t n_others,
                int timeout_ms, struct err *e)
{
    struct sftp *standing[SFTP_LANES_MAX];
    size_t n = find_standing(lanes, standing);
    const struct sftp *broken = broken_lane(lanes);

    if (broken == NULL && sftp_turn_beside(standing, n, others, n_others, timeout_ms, NULL) < 0)
        broken = broken_lane(lanes);
    return broken != NULL ? sftp_check(broken, e) : 0;
}

int sftp_lanes_poll(struct sftp_lanes *lanes, struct err *e)
{
    return turn(lanes, NULL, 0, 0, e);
}

int sftp_lanes_wait(struct sftp_lanes *lanes, struct err *e)
{
    return turn(lanes, NULL, 0, -1, e);
}

static bool has_unsent(const struct sftp_lanes *lanes)
{
    for (size_t i = 0; i < lanes->n; i++)
        if (!lanes->all[i]->is_broken && lanes->all[i]->out_at < lanes->all[i]->out.n)
            return true;
    return false;
}

void sftp_lanes_flush(struct sftp_lanes *lanes)
{
    int rc = sftp_lanes_poll(lanes, NULL);

    while (rc == 0 && has_unsent(lanes))
        rc = sftp_lanes_wait(lanes, NULL);
}

static struct sftp *lane_of(const struct handle *h)
{
    return h->stripe->lanes->all[h->lane];
}

/* ---- the end ---- */

static void destroy(struct sftp_stripe *st)
{
    free(st->piece);
    free(st->path);
    free(st);
}

static void finish(struct sftp_stripe *st, const struct err *error)
{
    st->done(st->context, error);
    destroy(st);
}

static void on_words(void *context, const struct err *why)
{
    finish(context, why);
}

static const struct sftp_deed *name_deed(struct sftp_stripe *st)
{
    st->deed = (struct sftp_deed){ .verb = st->failed_verb,
                                   .path = st->path,
                                   .flags = DEED_OF_FILE | DEED_MAKES,
                                   .needed_bytes = st->piece_bytes };
    return &st->deed;
}

static void ask_sync(struct handle *h);
static void ask_close(struct handle *h);

/* What a server is asked on one lane it does in order: nothing need be waited for. */
static void close_all(struct sftp_stripe *st, bool each_syncs)
{
    st->is_closing = true;
    for (size_t i = 0; i < SFTP_LANES_MAX; i++) {
        struct handle *h = &st->handles[i];
        bool syncs = (each_syncs && h->has_written) || (i == 0 && st->offset > 0);

        if (h->state != OPEN)
            continue;
        if (syncs && !st->has_failed && sftp_can(lane_of(h), SFTP_CAN_SYNC))
            ask_sync(h);
        ask_close(h);
    }
}

/* All that was asked is answered. */
static void go_on(struct sftp_stripe *st)
{
    const struct sftp *broken = broken_lane(st->lanes);

    if (st->is_dropped || !st->has_ended)
        return;
    if (broken == NULL && !st->is_closing)
        close_all(st, false);
    if (broken != NULL)
        finish(st, &broken->why);
    else if (st->n_waiting > 0)
        return;
    else if (st->has_failed)
        sftp_explain(st->lanes->all[0], name_deed(st), &st->failure, on_words, st);
    else
        finish(st, NULL);
}

/* ---- requests ---- */

static void keep_failure(struct sftp_stripe *st, const struct sftp_reply *r, const char *verb)
{
    if (st->has_failed || r->type == 0 || (r->type == FXP_STATUS && r->status == FX_OK))
        return;
    st->has_failed = true;
    st->failed_verb = verb;
    sftp_failure_keep(&st->failure, r);
}

static void answered(struct sftp_stripe *st)
{
    if (--st->n_waiting == 0)
        go_on(st);
}

static struct buf *begin(struct handle *h, int type, int reply_type, sftp_on_reply *on_reply,
                         uint64_t tag)
{
    struct sftp_wait wait = { reply_type, on_reply, h, tag, 0 };

    h->stripe->n_waiting++;
    return sftp_begin(lane_of(h), type, &wait);
}

static void add_handle(const struct handle *h, struct buf *out)
{
    packet_add_bytes(out, (struct bytes){ h->bytes, h->n });
}

static void on_mode_set(void *context, const struct sftp_reply *r)
{
    struct handle *h = context;

    keep_failure(h->stripe, r, "set the mode of");
    answered(h->stripe);
}

/* The server's umask may have taken bits off. */
static void ask_mode(struct handle *h)
{
    struct sftp_attrs attrs = { .has = SFTP_MODE, .mode = h->stripe->mode };
    struct buf *out = begin(h, FXP_FSETSTAT, FXP_STATUS, on_mode_set, 0);

    add_handle(h, out);
    packet_add_attrs(out, &attrs);
    sftp_end(lane_of(h));
}

/* What the first lane asked for before, such as the file's folder, was not done yet. */
static bool is_early(const struct handle *h, const struct sftp_reply *r)
{
    return h->lane > 0 && !h->follows && r->type == FXP_STATUS && r->status == FX_NO_SUCH_FILE;
}

static void on_opened(void *context, const struct sftp_reply *r)
{
    struct handle *h = context;

    if (r->type == FXP_HANDLE) {
        h->state = OPEN;
        h->n = r->text.n;
        memcpy(h->bytes, r->text.data, r->text.n);
        if (h->lane == 0)
            ask_mode(h);
        if (h->stripe->is_closing)
            ask_close(h);
    } else if (is_early(h, r)) {
        h->state = EARLY;
    } else {
        h->state = CLOSED;
        keep_failure(h->stripe, r, "write");
    }
    answered(h->stripe);
}

static void ask_open(struct sftp_stripe *st, size_t lane)
{
    struct handle *h = &st->handles[lane];
    bool follows = st->handles[0].state == OPEN;
    struct sftp_attrs attrs = { .has = SFTP_MODE, .mode = st->mode };
    struct buf *out;

    *h = (struct handle){ .stripe = st, .lane = lane, .state = ASKED, .follows = follows };
    out = begin(h, FXP_OPEN, FXP_HANDLE, on_opened, 0);
    packet_add_str(out, st->path);
    packet_add_u32(out, SFTP_WRITE | SFTP_CREATE);
    packet_add_attrs(out, &attrs);
    sftp_end(lane_of(h));
}

static void on_written(void *context, const struct sftp_reply *r)
{
    struct handle *h = context;

    h->stripe->lanes->unanswered_bytes[h->lane] -= (size_t)r->tag;
    keep_failure(h->stripe, r, "write");
    answered(h->stripe);
}

static void send_piece(struct handle *h)
{
    struct sftp_stripe *st = h->stripe;
    struct buf *out = begin(h, FXP_WRITE, FXP_STATUS, on_written, st->n_piece);

    add_handle(h, out);
    packet_add_u64(out, st->offset);
    packet_add_bytes(out, (struct bytes){ st->piece, st->n_piece });
    sftp_end(lane_of(h));
    sftp_push(lane_of(h));
    h->has_written = true;
    st->lanes->unanswered_bytes[h->lane] += st->n_piece;
    st->offset += st->n_piece;
    st->n_piece = 0;
}

static void on_synced(void *context, const struct sftp_reply *r)
{
    struct handle *h = context;

    keep_failure(h->stripe, r, "sync");
    answered(h->stripe);
}

static void ask_sync(struct handle *h)
{
    struct sftp_wait wait = { FXP_STATUS, on_synced, h, 0, 0 };

    h->stripe->n_waiting++;
    add_handle(h, sftp_begin_extended(lane_of(h), "fsync@openssh.com", &wait));
    sftp_end(lane_of(h));
}

static void on_closed(void *context, const struct sftp_reply *r)
{
    struct handle *h = context;

    keep_failure(h->stripe, r, "close");
    answered(h->stripe);
}

static void ask_close(struct handle *h)
{
    h->state = CLOSED;
    add_handle(h, begin(h, FXP_CLOSE, FXP_STATUS, on_closed, 0));
    sftp_end(lane_of(h));
}

/* ---- what callers see ---- */

struct sftp_stripe *sftp_stripe_open(struct sftp_lanes *lanes, const char *path, mode_t mode)
{
    struct sftp_stripe *st = mem_alloc(sizeof *st);

    *st = (struct sftp_stripe){ .lanes = lanes, .path = mem_strdup(path), .mode = mode };
    st->piece_bytes = lanes->all[0]->write_max_bytes;
    st->piece = mem_resize(NULL, SFTP_PIECE_BYTES, 1);
    for (size_t i = 0; i < lanes->n; i++)
        if (!lanes->all[i]->is_broken)
            ask_open(st, i);
    return st;
}

static int check(struct sftp_stripe *st, struct err *e)
{
    const struct sftp *broken = broken_lane(st->lanes);

    if (broken != NULL)
        return sftp_check(broken, e);
    return st->has_failed ? sftp_explain_now(st->lanes->all[0], name_deed(st), &st->failure, e) : 0;
}

static bool is_to_be_asked(const struct sftp_stripe *st, size_t lane)
{
    enum handle_state state = st->handles[lane].state;

    return !st->lanes->all[lane]->is_broken &&
           (state == UNASKED || (state == EARLY && st->handles[0].state == OPEN));
}

static size_t window_bytes(const struct sftp_lanes *lanes)
{
    size_t share = ALL_LANES_BYTES / lanes->n;

    return share < WINDOW_BYTES ? share : WINDOW_BYTES;
}

/* The one with least to do. */
static struct handle *find_lane(struct sftp_stripe *st)
{
    const size_t *unanswered = st->lanes->unanswered_bytes;
    size_t most = window_bytes(st->lanes);
    struct handle *best = NULL;

    for (size_t i = 0; i < st->lanes->n; i++) {
        if (is_to_be_asked(st, i))
            ask_open(st, i);
        if (st->handles[i].state == OPEN && unanswered[i] < most &&
            (best == NULL || unanswered[i] < unanswered[best->lane]))
            best = &st->handles[i];
    }
    return best;
}

static int wait_for_room(struct sftp_lanes *lanes, struct err *e)
{
    struct pollfd coming[SFTP_LANES_MAX];
    size_t n_before = lanes->n, n = lanes->join != NULL ? lanes->join(lanes->context, coming) : 0;

    /* One that has joined has room. */
    return turn(lanes, coming, n, lanes->n > n_before ? 0 : -1, e);
}

static int flush(struct sftp_stripe *st, struct err *e)
{
    struct handle *h;

    if (st->n_piece == 0)
        return 0;
    if (sftp_lanes_poll(st->lanes, e) < 0 || check(st, e) < 0)
        return -1;
    while ((h = find_lane(st)) == NULL)
        if (wait_for_room(st->lanes, e) < 0 || check(st, e) < 0)
            return -1;
    send_piece(h);
    return 0;
}

int sftp_stripe_write(struct sftp_stripe *st, struct bytes bytes, struct err *e)
{
    while (bytes.n > 0) {
        size_t room, n;

        if (st->n_piece == 0) /* the server may have told its limit meanwhile */
            st->piece_bytes = st->lanes->all[0]->write_max_bytes;
        room = st->piece_bytes - st->n_piece;
        n = bytes.n < room ? bytes.n : room;
        memcpy(st->piece + st->n_piece, bytes.data, n);
        st->n_piece += n;
        bytes = (struct bytes){ bytes.data + n, bytes.n - n };
        if (st->n_piece == st->piece_bytes && flush(st, e) < 0)
            return -1;
    }
    return 0;
}

bool sftp_stripe_is_open(const struct sftp_stripe *st)
{
    return st->handles[0].state == OPEN;
}

int sftp_stripe_end(struct sftp_stripe *st, sftp_stripe_done *done, void *context, struct err *e)
{
    if (flush(st, e) < 0)
        return -1;
    while (st->handles[0].state == ASKED)
        if (sftp_lanes_wait(st->lanes, e) < 0)
            return -1;
    if (check(st, e) < 0)
        return -1;
    st->done = done;
    st->context = context;
    st->has_ended = true;
    if (st->n_waiting == 0)
        go_on(st);
    return 0;
}

void sftp_stripe_hurry(struct sftp_stripe *st)
{
    if (!st->is_closing && broken_lane(st->lanes) == NULL)
        close_all(st, true);
}

static void wait_for_answers(const struct sftp_stripe *st)
{
    struct sftp *standing[SFTP_LANES_MAX];
    size_t n;

    while (st->n_waiting > 0 && (n = find_standing(st->lanes, standing)) > 0)
        (void)sftp_turn_any(standing, n, -1, NULL);
}

/* No lane may make it again behind the request that takes it away. */
void sftp_stripe_drop(struct sftp_stripe *st)
{
    if (st == NULL)
        return;
    st->is_dropped = true;
    wait_for_answers(st);
    for (size_t i = 0; i < st->lanes->n; i++)
        if (st->handles[i].state == OPEN && !st->lanes->all[i]->is_broken)
            ask_close(&st->handles[i]);
    wait_for_answers(st);
    if (!st->lanes->all[0]->is_broken)
        (void)sftp_remove(st->lanes->all[0], st->path, NULL);
    destroy(st);
}

void sftp_lanes_wait_standing(const struct sftp_lanes *lanes)
{
    struct sftp *standing[SFTP_LANES_MAX];
    size_t n = find_standing(lanes, standing);

    if (n > 0)
        (void)sftp_turn_any(standing, n, -1, NULL);
}
