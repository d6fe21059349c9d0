/* SPDX-License-Identifier: MIT */
/* sftp_stripe.c - files that go to a server over several connections at once, and their folders */
#include <stdlib.h>
#include <string.h>

#include "common/sftp/sftp_explain.h"
#include "common/sftp/sftp_stripe.h"

enum {
    WINDOW_BYTES = 2 * 1024 * 1024, /* OpenSSH's window of a channel */
    /* A higher limit slows small uploads more than it speeds up large ones: sshd buffers the bytes
     * that its SFTP servers have not taken, and copies the whole buffer per 32 KiB that arrive. */
    ALL_LANES_BYTES = 12 * 1024 * 1024
};

enum handle_state { UNASKED, ASKED, EARLY, OPEN, CLOSED };

/* The file on one lane. */
struct part {
    struct sftp_stripe *stripe;
    size_t lane;
    enum handle_state state;
    bool follows; /* this lane was asked for the file after the first lane had made it */
    bool has_written;
    struct sftp_handle handle;
};

struct sftp_stripe {
    struct sftp_lanes *lanes;
    char *path;
    mode_t mode;
    struct part parts[SFTP_LANES_MAX];
    uint8_t *piece; /* the next piece */
    size_t n_piece, piece_bytes;
    uint64_t offset;  /* of the next piece */
    size_t n_waiting; /* requests without answer */
    bool has_ended, is_closing, each_syncs, is_dropped;
    bool is_late; /* the file has ended before a lane has it open; piece holds all of it */
    struct sftp_failure failure;
    sftp_stripe_done *done;
    void *context;
};

/* ---- lanes ---- */

/* A broken lane or NULL; one that never got its greeting does not count, as others do its work. */
static const struct sftp *broken_lane(const struct sftp_lanes *lanes)
{
    for (size_t i = 0; i < lanes->n; i++)
        if (lanes->all[i]->is_broken && lanes->all[i]->is_greeted)
            return lanes->all[i];
    return NULL;
}

/* Gives the lanes that are not broken, and their number; broken ones need no waiting. */
static size_t find_standing(const struct sftp_lanes *lanes, struct sftp **standing)
{
    size_t n = 0;

    for (size_t i = 0; i < lanes->n; i++)
        if (!lanes->all[i]->is_broken)
            standing[n++] = lanes->all[i];
    return n;
}

static int wait_for_lanes(const struct sftp_lanes *lanes, const struct pollfd *others,
                          size_t n_others, int timeout_ms, struct err *e)
{
    struct sftp *standing[SFTP_LANES_MAX];
    size_t n = find_standing(lanes, standing);
    const struct sftp *broken = broken_lane(lanes);

    if (broken == NULL && sftp_wait_beside(standing, n, others, n_others, timeout_ms, NULL) < 0)
        broken = broken_lane(lanes);
    return broken != NULL ? sftp_check(broken, e) : 0;
}

int sftp_lanes_wait(struct sftp_lanes *lanes, struct err *e)
{
    return wait_for_lanes(lanes, NULL, 0, -1, e);
}

void sftp_lanes_wait_standing(const struct sftp_lanes *lanes)
{
    struct sftp *standing[SFTP_LANES_MAX];
    size_t n = find_standing(lanes, standing);

    if (n > 0)
        (void)sftp_wait_any(standing, n, NULL);
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
    int rc = wait_for_lanes(lanes, NULL, 0, 0, NULL);

    while (rc == 0 && has_unsent(lanes))
        rc = sftp_lanes_wait(lanes, NULL);
}

static struct sftp *lane_of(const struct part *p)
{
    return p->stripe->lanes->all[p->lane];
}

/* ---- requests ---- */

static void go_on(struct sftp_stripe *st);

static void on_answer(void *context, const struct sftp_reply *r)
{
    struct sftp_stripe *st = ((struct part *)context)->stripe;

    sftp_failure_keep(&st->failure, r);
    if (--st->n_waiting == 0)
        go_on(st);
}

static struct sftp_waiter wait_to(struct part *p, int type, sftp_on_reply *on_reply,
                                  const char *verb)
{
    p->stripe->n_waiting++;
    return sftp_waiter(type, on_reply, p, verb);
}

static void on_written(void *context, const struct sftp_reply *r)
{
    struct part *p = context;

    p->stripe->lanes->unanswered_bytes[p->lane] -= (size_t)r->tag;
    on_answer(p, r);
}

/* Writes the next piece on that lane. */
static void ask_write(struct part *p)
{
    struct sftp_stripe *st = p->stripe;
    struct sftp_waiter waiter = wait_to(p, FXP_STATUS, on_written, "write");

    waiter.tag = st->n_piece;
    sftp_ask_write(lane_of(p), &p->handle, st->offset, (struct bytes){ st->piece, st->n_piece },
                   waiter);
    p->has_written = true;
    st->lanes->unanswered_bytes[p->lane] += st->n_piece;
    st->offset += st->n_piece;
    st->n_piece = 0;
}

/* Syncs the lane's writes to the file, if need be, and closes the file on that lane. */
static void ask_close(struct part *p)
{
    struct sftp_stripe *st = p->stripe;
    bool syncs = (st->each_syncs && p->has_written) || (p->lane == 0 && st->offset > 0);

    if (syncs && st->failure.verb == NULL && sftp_can(lane_of(p), SFTP_CAN_SYNC))
        sftp_ask_sync(lane_of(p), &p->handle, wait_to(p, FXP_STATUS, on_answer, "sync"));
    p->state = CLOSED;
    sftp_ask_of(lane_of(p), FXP_CLOSE, &p->handle, wait_to(p, FXP_STATUS, on_answer, "close"));
}

static void on_made_mode(void *context, const struct sftp_reply *r)
{
    struct part *p = context;
    struct sftp_reply judged = sftp_judge_made_mode(r, p->stripe->mode);

    on_answer(p, &judged);
}

static void on_mode(void *context, const struct sftp_reply *r)
{
    static const struct sftp_reply none;
    struct part *p = context;

    if (!sftp_is_mode_refused(lane_of(p), r)) {
        on_answer(p, r);
        return;
    }
    sftp_ask_made_mode(lane_of(p), p->stripe->path, wait_to(p, FXP_ATTRS, on_made_mode, "look at"));
    on_answer(p, &none);
}

static void close_all(struct sftp_stripe *st, bool each_syncs);

/* Writes and closes a file that ended before it was open, without waiting in between. */
static void write_late(struct part *p)
{
    ask_write(p);
    if (p->stripe->is_closing)
        ask_close(p);
    else
        close_all(p->stripe, true);
}

static void on_opened(void *context, const struct sftp_reply *r)
{
    static const struct sftp_reply none;
    struct part *p = context;
    struct sftp_stripe *st = p->stripe;
    bool is_late = st->is_late && p->lane == 0;

    if (is_late) {
        st->is_late = false;
        st->lanes->unanswered_bytes[0] -= st->n_piece;
    }
    /* The first lane's earlier requests, such as to make the file's folder, were not done yet. */
    if (p->lane > 0 && !p->follows && r->type == FXP_STATUS && r->status == FX_NO_SUCH_FILE) {
        p->state = EARLY;
        r = &none;
    } else if (r->type == FXP_HANDLE) {
        p->state = OPEN;
        sftp_take_handle(&p->handle, r);
        /* The server's umask may have cleared bits of the mode. */
        if (p->lane == 0 && lane_of(p)->keeps_modes)
            sftp_ask_made_mode(lane_of(p), st->path,
                               wait_to(p, FXP_ATTRS, on_made_mode, "look at"));
        else if (p->lane == 0)
            sftp_ask_mode(lane_of(p), &p->handle, st->mode,
                          wait_to(p, FXP_STATUS, on_mode, "set the mode of"));
        if (is_late)
            write_late(p);
        else if (st->is_closing)
            ask_close(p);
    } else {
        p->state = CLOSED;
    }
    on_answer(p, r);
}

static void ask_open(struct sftp_stripe *st, size_t lane)
{
    struct part *p = &st->parts[lane];

    *p = (struct part){
        .stripe = st, .lane = lane, .state = ASKED, .follows = st->parts[0].state == OPEN
    };
    sftp_ask_open(lane_of(p), st->path, SFTP_WRITE | SFTP_CREATE, st->mode,
                  wait_to(p, FXP_HANDLE, on_opened, "write"));
}

/* ---- closing ---- */

static void destroy(struct sftp_stripe *st)
{
    free(st->piece);
    free(st->path);
    free(st);
}

static void finish_stripe(struct sftp_stripe *st, const struct err *error)
{
    st->done(st->context, error);
    destroy(st);
}

static void on_words(void *context, const struct err *why)
{
    finish_stripe(context, why);
}

static struct sftp_deed deed_of(const struct sftp_stripe *st)
{
    return (struct sftp_deed){ .path = st->path,
                               .flags = DEED_OF_FILE | DEED_MAKES,
                               .needed_bytes = st->piece_bytes };
}

/* Closes the file on all lanes without waiting, as the server carries out a lane's requests in
 * order. */
static void close_all(struct sftp_stripe *st, bool each_syncs)
{
    st->is_closing = true;
    st->each_syncs = each_syncs;
    for (size_t i = 0; i < SFTP_LANES_MAX; i++)
        if (st->parts[i].state == OPEN)
            ask_close(&st->parts[i]);
}

/* Begins the next step when all requests are answered. */
static void go_on(struct sftp_stripe *st)
{
    const struct sftp *broken = broken_lane(st->lanes);
    struct sftp_deed deed = deed_of(st);

    if (st->is_dropped || !st->has_ended)
        return;
    if (broken == NULL && !st->is_closing)
        close_all(st, false);
    if (broken != NULL)
        finish_stripe(st, &broken->why);
    else if (st->n_waiting > 0)
        return;
    else if (st->failure.verb != NULL)
        sftp_explain(st->lanes->all[0], &deed, &st->failure, on_words, st);
    else
        finish_stripe(st, NULL);
}

/* ---- interface ---- */

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

static int check_stripe(struct sftp_stripe *st, struct err *e)
{
    const struct sftp *broken = broken_lane(st->lanes);
    struct sftp_deed deed = deed_of(st);

    if (broken != NULL)
        return sftp_check(broken, e);
    if (st->failure.verb == NULL)
        return 0;
    return sftp_explain_now(st->lanes->all[0], &deed, &st->failure, e);
}

/* The lane with the fewest unanswered bytes. */
static struct part *find_lane(struct sftp_stripe *st)
{
    const size_t *unanswered = st->lanes->unanswered_bytes;
    size_t share = ALL_LANES_BYTES / st->lanes->n;
    size_t most = share < WINDOW_BYTES ? share : WINDOW_BYTES;
    struct part *best = NULL;

    for (size_t i = 0; i < st->lanes->n; i++) {
        enum handle_state state = st->parts[i].state;

        if (!st->lanes->all[i]->is_broken &&
            (state == UNASKED || (state == EARLY && st->parts[0].state == OPEN)))
            ask_open(st, i);
        if (st->parts[i].state == OPEN && unanswered[i] < most &&
            (best == NULL || unanswered[i] < unanswered[best->lane]))
            best = &st->parts[i];
    }
    return best;
}

static int wait_for_room(struct sftp_lanes *lanes, struct err *e)
{
    struct pollfd coming[SFTP_LANES_MAX];
    size_t n_before = lanes->n, n = lanes->join != NULL ? lanes->join(lanes->context, coming) : 0;

    /* A lane that has just joined has room. */
    return wait_for_lanes(lanes, coming, n, lanes->n > n_before ? 0 : -1, e);
}

static int flush_piece(struct sftp_stripe *st, struct err *e)
{
    struct part *p;

    if (st->n_piece == 0)
        return 0;
    if (wait_for_lanes(st->lanes, NULL, 0, 0, e) < 0 || check_stripe(st, e) < 0)
        return -1;
    while ((p = find_lane(st)) == NULL)
        if (wait_for_room(st->lanes, e) < 0 || check_stripe(st, e) < 0)
            return -1;
    ask_write(p);
    sftp_push(lane_of(p));
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
        if (st->n_piece == st->piece_bytes && flush_piece(st, e) < 0)
            return -1;
    }
    return 0;
}

/* Whether the file is one piece, which can wait in memory until the first lane has it open. */
static bool can_be_late(const struct sftp_stripe *st)
{
    return st->offset == 0 && st->n_piece > 0 && st->parts[0].state == ASKED &&
           st->lanes->unanswered_bytes[0] + st->n_piece <= WINDOW_BYTES;
}

int sftp_stripe_end(struct sftp_stripe *st, sftp_stripe_done *done, void *context, struct err *e)
{
    st->is_late = can_be_late(st);
    if (st->is_late)
        st->lanes->unanswered_bytes[0] += st->n_piece;
    else if (flush_piece(st, e) < 0)
        return -1;
    while (!st->is_late && st->parts[0].state == ASKED)
        if (sftp_lanes_wait(st->lanes, e) < 0)
            return -1;
    if (check_stripe(st, e) < 0)
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

    while (st->n_waiting > 0 && find_standing(st->lanes, standing) > 0)
        sftp_lanes_wait_standing(st->lanes);
}

/* Waits for all lanes, so that none makes the file again after its removal. */
void sftp_stripe_drop(struct sftp_stripe *st)
{
    if (st == NULL)
        return;
    st->is_dropped = true;
    wait_for_answers(st);
    for (size_t i = 0; i < st->lanes->n; i++)
        if (st->parts[i].state == OPEN && !st->lanes->all[i]->is_broken)
            ask_close(&st->parts[i]);
    wait_for_answers(st);
    if (!st->lanes->all[0]->is_broken)
        (void)sftp_remove(st->lanes->all[0], st->path, NULL);
    destroy(st);
}

/* ---- folders ---- */

struct sftp_folder {
    struct sftp *s;
    char *path;
    sftp_folder_done *done; /* NULL: the folder was closed by its user */
    void *context;
    struct sftp_handle handle; /* empty: the folder is not open (yet) */
    size_t n_wanted;           /* syncs that wait for the handle */
    size_t n_waiting;          /* requests without answer */
};

static void on_folder_closed(void *context, const struct sftp_reply *r)
{
    struct sftp_folder *f = context;

    (void)r;
    free(f->path);
    free(f);
}

/* Frees the folder once its user has closed it and no answer is under way. */
static void go(struct sftp_folder *f)
{
    if (f->done != NULL || f->n_waiting > 0)
        return;
    if (f->handle.n > 0 && !f->s->is_broken)
        sftp_ask_of(f->s, FXP_CLOSE, &f->handle,
                    sftp_waiter(FXP_STATUS, on_folder_closed, f, NULL));
    else
        on_folder_closed(f, NULL);
}

static void tell(struct sftp_folder *f, const struct sftp_reply *r)
{
    struct err why = { 0 };

    if (f->done == NULL)
        return;
    if (r->type == FXP_STATUS && r->status == FX_OK) {
        f->done(f->context, NULL);
        return;
    }
    if (r->type == 0)
        sftp_check(f->s, &why);
    else
        err_set(&why, ERR_FAILED, "sync %s: the server cannot", f->path);
    f->done(f->context, &why);
}

static void on_folder_synced(void *context, const struct sftp_reply *r)
{
    struct sftp_folder *f = context;

    f->n_waiting--;
    tell(f, r);
    go(f);
}

static void ask_folder_sync(struct sftp_folder *f)
{
    f->n_waiting++;
    sftp_ask_sync(f->s, &f->handle, sftp_waiter(FXP_STATUS, on_folder_synced, f, NULL));
}

static void on_folder_opened(void *context, const struct sftp_reply *r)
{
    struct sftp_folder *f = context;

    f->n_waiting--;
    if (r->type == FXP_HANDLE)
        sftp_take_handle(&f->handle, r);
    for (; f->n_wanted > 0; f->n_wanted--)
        if (f->handle.n > 0)
            ask_folder_sync(f);
        else
            tell(f, r);
    go(f);
}

static void ask_folder(struct sftp_folder *f)
{
    f->n_waiting++;
    sftp_ask_open(f->s, f->path, SFTP_READ, 0, sftp_waiter(FXP_HANDLE, on_folder_opened, f, NULL));
}

struct sftp_folder *sftp_folder_open(struct sftp *s, const char *path, sftp_folder_done *done,
                                     void *context)
{
    struct sftp_folder *f = mem_alloc(sizeof *f);

    *f = (struct sftp_folder){ .s = s, .path = mem_strdup(path), .done = done, .context = context };
    ask_folder(f);
    return f;
}

/* If the folder could not be opened, it is opened again, so that done gets an answer. */
int sftp_folder_sync(struct sftp_folder *f, struct err *e)
{
    if (sftp_check(f->s, e) < 0)
        return -1;
    if (f->handle.n > 0) {
        ask_folder_sync(f);
        return 0;
    }
    f->n_wanted++;
    if (f->n_waiting == 0)
        ask_folder(f);
    return 0;
}

void sftp_folder_close(struct sftp_folder *f)
{
    if (f == NULL)
        return;
    f->done = NULL;
    f->n_wanted = 0;
    go(f);
}
