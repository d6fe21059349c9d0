/* SPDX-License-Identifier: MIT */
/* handle_worker.c - hello of clients and workers; registration, reports and end of a worker */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/conn/handler.h"
#include "server/conn/permission.h"
#include "server/pilot/pilots.h"
#include "server/queue/attempts.h"
#include "server/queue/lease.h"
#include "server/queue/pilot_rows.h"
#include "server/queue/share_packs.h"
#include "server/queue/subscribe.h"
#include "server/queue/worker_rows.h"
#include "server/search/advice.h"
#include "server/notify/notices.h"
#include "server/search/stops.h"
#include "server/share/project.h"

/* ---- hello ---- */

/* Ties the connection to the pilot whose token its hello has; without a token it does nothing.
 * Fails when no pilot of the connection's user is waited for with this token. */
static int pair_pilot(struct server *sv, struct conn *c, const struct pilot_claim *claim,
                      struct arena *a, struct err *e)
{
    const char *job = claim->slurm_job, *task = job == NULL ? NULL : strchr(job, '_');
    struct pilot_row row;
    int rc;

    if (token_is_zero(&claim->token))
        return 0;
    /* Slurm's job "17_3" is task 3 of an array, "17" task 0. */
    rc = pilot_row_by_token(sv, &claim->token, task == NULL ? 0 : strtoll(task + 1, NULL, 10), a,
                            &row, e);
    if (rc < 0)
        return -1;
    if (rc == 0 || row.uid != c->uid)
        return err_set(e, ERR_DENIED, "no pilot is waited for that Slurm's job %s could be",
                       job == NULL ? "" : job);
    c->pilot = row.id;
    c->pool = row.pool;
    c->takes_one = conf_has_one_job_each(&sv->conf, &row.spec);
    c->pilot_time_ms = row.time_ms;
    c->pilot_ends_at_ms = claim->ends_at_ms;
    if (row.slurm_id == 0 && job != NULL)
        c->pilot_job = pilot_row_claimed_id(job, a);
    return 0;
}

/* hello changes only memory: if the commit fails the client gets an error and may disconnect. */
int handle_hello(struct server *sv, struct ask *ask, const void *request, void *reply,
                 struct err *e)
{
    const struct msg_hello *req = request;
    const char *label = req->user_label;
    struct msg_welcome *rep = reply;
    struct conn *c = ask->conn;

    if (req->version != PROTO_VERSION)
        return err_set(e, ERR_PROTOCOL,
                       "this ludwigd (%s) speaks version %d of the protocol, and your %s version"
                       " %" PRId64 "; install the same release of both",
                       LUDWIG_VERSION, PROTO_VERSION, req->program, req->version);
    c->role = strcmp(req->program, "ludwig") == 0          ? FROM_CLIENT
              : strcmp(req->program, "ludwig-worker") == 0 ? FROM_WORKER
                                                           : 0;
    if (c->role == 0)
        return err_set(e, ERR_PROTOCOL, "'%s' is no program that ludwigd talks to", req->program);
    /* A label must look like a name, as users see it and pick by it; it grants nothing. */
    if (label != NULL && c->known_as == NULL) {
        if (!path_is_portable_name(label))
            return err_set(e, ERR_USAGE, "'%s' cannot be a user's label (config.yaml: user)",
                           label);
        c->known_as = mem_printf("%s/%s", c->user, label);
    }
    if (pair_pilot(sv, c, &req->pilot, ask->arena, e) < 0)
        return -1;
    c->greeted = true;
    c->has_own_turn = c->role == FROM_WORKER && identity_is_worker_user(&sv->conf, c->user);
    chan_limit_frames(c->chan, c->role == FROM_WORKER && c->is_preferred ? FRAME_MAX_BYTES
                                                                         : SMALL_FRAME_MAX_BYTES);
    *rep = (struct msg_welcome){ .version = PROTO_VERSION,
                                 .server_id = sv->server_id,
                                 .server_version = LUDWIG_VERSION,
                                 .user = c->known_as != NULL ? c->known_as : c->user,
                                 .uid = (int64_t)c->uid,
                                 .admin = c->is_admin,
                                 .share = sv->conf.share,
                                 .projects = sv->conf.projects,
                                 .makes_projects = project_is_made_here(c->uid),
                                 .is_open = c->is_open };
    log_event(LOG_DEBUG, "hello", "conn", "%lld", (long long)c->number, "program", "%s",
              req->program, "user", "%s", c->user, "label", "%s", label, NULL);
    return 0;
}

/* ---- clocks ---- */

/* A smaller difference may be the time that the message took to arrive. */
enum { CLOCKS_DIFFER_MS = 2000 };

/* By how many ms a worker's clock, which was said_at when it sent its message, is ahead of ours. */
static int64_t clock_ahead_ms(const struct server *sv, int64_t said_at)
{
    int64_t ahead_ms = said_at - turn_now_ms(sv);

    if (said_at == 0 || (ahead_ms < CLOCKS_DIFFER_MS && ahead_ms > -CLOCKS_DIFFER_MS))
        return 0;
    return ahead_ms;
}

static int64_t by_our_clock(int64_t at, int64_t ahead_ms)
{
    return at > 0 && at > ahead_ms ? at - ahead_ms : at;
}

/* ---- register ---- */

static int compare_tokens(const void *x, const void *y)
{
    return memcmp(x, y, TOKEN_BYTES);
}

/* A registration under way: a worker may hold so many attempts that several turns look at them.
 * It lies in the request's arena. */
struct registering {
    struct server *sv; /* it and the tally are set anew by each call */
    struct tally tally;
    int64_t worker;
    struct held *held; /* what the worker lists, sorted by token */
    size_t n_held;
    int64_t *live; /* ids of the live attempts that the worker has by the database */
    size_t n_live;
    size_t n_looked_for;      /* how many of live were looked for in the worker's list */
    size_t n_settled;         /* how many of the worker's list are settled, in its order */
    struct token_entry *stop; /* attempts that the answer tells the worker to stop */
    size_t n_stop;
};

static int load_live(struct registering *r, struct arena *a, struct err *e)
{
    struct stmt *s = db_ask(r->sv->db, SQL_LIVE_IDS_OF_WORKER, "i", r->worker);
    size_t capacity = 0;
    int64_t *live = NULL;
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        mem_grow((void **)&live, &capacity, r->n_live, sizeof *live);
        live[r->n_live++] = stmt_int(s, 0);
    }
    r->live = arena_alloc(a, r->n_live * sizeof *live);
    if (r->n_live > 0)
        memcpy(r->live, live, r->n_live * sizeof *live);
    free(live);
    return rc;
}

/* Takes back an attempt that ludwigd gave this worker, unless the worker lists it or it ended in an
 * earlier turn: its hand never arrived (EV_RECALL), or the worker forgot it (EV_LOSE). */
static int look_for(struct registering *r, int64_t attempt, struct err *e)
{
    struct stmt *s = db_ask(r->sv->db, SQL_LIVE_ATTEMPT, "i", attempt);
    int rc = stmt_step(s, e);
    bool is_unstarted = rc == 1 && stmt_enum(s, 0, ATTEMPT_STATE_COUNT) == ATTEMPT_ASSIGNED;
    struct token token = { { 0 } };

    if (rc == 1)
        stmt_token(s, 1, &token);
    stmt_end(s);
    if (rc <= 0 || (r->n_held > 0 &&
                    bsearch(&token, r->held, r->n_held, sizeof *r->held, compare_tokens) != NULL))
        return rc < 0 ? -1 : 0;
    return attempt_find(r->sv, attempt, is_unstarted ? EV_RECALL : EV_LOSE, CAUSE_NONE,
                        is_unstarted ? "it never arrived" : "its worker has forgotten it",
                        &r->tally, e);
}

/* Settles a lost attempt that is back: of it and the job's live attempts, the one that has run
 * longest stays, and the others are stopped. */
static int settle_returned(struct registering *r, const struct held *h, int64_t attempt,
                           int64_t job, struct err *e)
{
    struct stmt *s = db_ask(r->sv->db, SQL_RIVALS, "ii", job, attempt);
    bool is_longest = h->started_at > 0;
    bool has_rivals = false;
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        int64_t started_at = stmt_int(s, 3);

        has_rivals = true;
        if (h->started_at == 0 || (started_at > 0 && started_at < h->started_at))
            is_longest = false;
    }
    if (rc < 0)
        return -1;
    if (has_rivals && !is_longest) {
        r->stop[r->n_stop++].token = h->token;
        return 0;
    }
    if (attempt_find(r->sv, attempt, EV_RETURN, CAUSE_NONE, NULL, &r->tally, e) < 0)
        return -1;
    return attempts_stop_rivals(r->sv, job, attempt, e);
}

static int settle_held(struct registering *r, const struct held *h, struct err *e)
{
    struct stmt *s = db_ask(r->sv->db, SQL_HELD, "t", &h->token);
    int rc = stmt_step(s, e);
    enum attempt_state state = ATTEMPT_NO;
    bool is_ours = false, is_over = false;
    int64_t attempt = 0, job = 0;
    int notified;

    /* An attempt that delivers a notification is left alone: its report says how that went. */
    if (rc == 0 && (notified = notices_have(r->sv, r->worker, &h->token, e)) != 0)
        return notified < 0 ? -1 : 0;
    if (rc < 0)
        return -1;
    if (rc == 1) {
        attempt = stmt_int(s, 0);
        job = stmt_int(s, 1);
        state = (enum attempt_state)stmt_enum(s, 2, ATTEMPT_STATE_COUNT);
        is_ours = stmt_int(s, 3) == r->worker;
        is_over = job_is_ended((enum job_state)stmt_enum(s, 4, JOB_STATE_COUNT));
    }
    stmt_end(s);
    /* An attempt that has ended on the worker is reported by it, which a verdict answers. */
    if (!attempt_is_live((enum attempt_state)h->state) || h->state == ATTEMPT_PUBLISHING)
        return 0;
    if (is_ours && state == ATTEMPT_LOST && !is_over)
        return settle_returned(r, h, attempt, job, e);
    if (!is_ours || !attempt_is_live(state) || is_over)
        r->stop[r->n_stop++].token = h->token;
    return 0;
}

/* Settles the attempts that the worker has, by the database and by its own list.  Returns 1 when
 * the turn was full before the end, 0 when all are settled, -1 on error. */
static int settle_attempts(struct registering *r, const struct msg_register *req, struct err *e)
{
    const struct held *listed = req->attempts.items;
    int64_t ahead_ms = clock_ahead_ms(r->sv, req->said_at);
    int rc = 0;

    /* Each turn takes at least one step, so that the registration ends some time. */
    for (bool is_first = true; rc == 0; is_first = false) {
        if (r->n_looked_for == r->n_live && r->n_settled == req->attempts.n)
            return 0;
        if (!is_first && turn_is_full(r->sv))
            return 1;
        if (r->n_looked_for < r->n_live) {
            rc = look_for(r, r->live[r->n_looked_for++], e);
        } else {
            struct held h = listed[r->n_settled++];

            h.started_at = by_our_clock(h.started_at, ahead_ms);
            rc = settle_held(r, &h, e);
        }
    }
    return rc;
}

/* What take_over() needs, as a registration counts only once its turn is committed. */
struct registration {
    struct server *sv;
    int64_t conn, worker;
    struct arena *arena;
    struct msg_register *said; /* the worker's message without its attempts, in the arena */
    size_t n_attempts;
};

static void registration_drop(void *context)
{
    struct registration *n = context;
    struct conn *c = conn_find(n->sv, n->conn);

    if (c != NULL)
        c->registering = 0;
    arena_destroy(n->arena);
    free(n);
}

/*
 * Runs after the commit: from here on the connection is the worker's.  Another connection of the
 * same worker is closed: it is dead, and ludwigd has not noticed.  If a worker registered twice
 * within the turn, this runs twice.
 */
static void take_over(struct server *sv, void *context)
{
    struct registration *n = context;
    const struct msg_register *said = n->said;
    struct conn *c = conn_find(sv, n->conn);
    struct conn *old = c == NULL ? NULL : conn_of_worker(sv, n->worker);

    if (c == NULL) {
        registration_drop(n);
        return;
    }
    c->own_jobs_only = said->own_jobs_only;
    c->disk_bytes = said->disk_bytes;
    c->lacks_groups = said->lacks_groups;
    c->reads_saved = said->reads_saved;
    c->is_one_account = said->is_one_account && serves_all(sv, c);
    conn_keep_claims(c, said);
    log_event(LOG_INFO, "register", "worker", "%lld", (long long)n->worker, "node", "%s",
              said->node, "user", "%s", c->user, "cpus_milli", "%lld", (long long)said->cpus_milli,
              "gpus", "%lld", (long long)said->gpus, "holds", "%zu", n->n_attempts, NULL);
    if (old != NULL && old != c) {
        old->worker = old->registering = 0;
        conn_close(sv, old, "the worker has connected anew");
    }
    c->worker = n->worker;
    lease_begin(sv, c->worker);
    turn_add_work(sv->turn, recall_unwanted, c->worker);
    turn_add_work(sv->turn, attempts_stop_unwanted, c->worker);
    turn_add_work(sv->turn, stops_tell_worker, c->worker);
    turn_add_work(sv->turn, share_packs_give, 0);
    subscribe_registered(sv, c->worker);
    turn_want_schedule(sv);
    registration_drop(n);
}

/* A pilot reaches ludwigd within this time of its start by Slurm. */
enum { PILOT_COMES_MS = 10 * 60 * 1000 };

/* Ties the worker to its pilot's row, and takes the pilot's time and end from the row where the
 * worker's hello did not name them. */
static int pilot_start(struct server *sv, struct conn *c, int64_t worker, struct err *e)
{
    int64_t now_ms = turn_now_ms(sv), begun_ms = c->pilot_ends_at_ms - c->pilot_time_ms;
    struct arena *a;
    struct pilot_row row;
    int rc;

    /* The pilot began before its hello came.  A claimed begin in the future, or more than
     * PILOT_COMES_MS ago, is not believed: the pilot begins now. */
    if (c->pilot_ends_at_ms == 0 || c->pilot_time_ms == 0 || begun_ms > now_ms ||
        begun_ms < now_ms - PILOT_COMES_MS)
        begun_ms = now_ms;
    if (db_run(sv->db, e, SQL_PILOT_PAIR, "iiiii", c->pilot, worker, (int64_t)PILOT_RUNS,
               c->pilot_job, begun_ms) < 0)
        return -1;
    a = arena_create();
    rc = pilot_row_of_worker(sv, worker, a, &row, e);
    if (rc == 1) {
        int64_t started_at = row.started_at > 0 ? row.started_at : turn_now_ms(sv);

        if (c->pilot_time_ms == 0)
            c->pilot_time_ms = pilots_default_time_ms(sv, row.user, &row.spec);
        if (c->pilot_ends_at_ms == 0 && c->pilot_time_ms > 0)
            c->pilot_ends_at_ms = started_at + c->pilot_time_ms;
        if (c->pilot_time_ms == 0 && c->pilot_ends_at_ms > started_at)
            c->pilot_time_ms = c->pilot_ends_at_ms - started_at;
        rc = db_run(sv->db, e, SQL_WORKER_PARTITION, "is", worker, row.spec.partition);
    }
    arena_destroy(a);
    pilots_try_anew(sv, c->pool);
    return rc < 0 ? -1 : 0;
}

static int check_worker(const struct msg_register *req, struct err *e)
{
    if (!path_is_portable_name(req->node))
        return err_set(e, ERR_USAGE, "a node cannot be called '%.80s'", req->node);
    if (node_kind_parse(req->kind) < 0)
        return err_set(e, ERR_USAGE, "node %s: a worker cannot be a '%.80s'", req->node, req->kind);
    if (token_is_zero(&req->worker) || token_is_zero(&req->incarnation) || req->boot_id[0] == '\0')
        return err_set(e, ERR_USAGE, "node %s: its identity is missing", req->node);
    return 0;
}

/* Writes the worker's row and gathers what its registration needs.  NULL with e set on error. */
static struct registering *registering_begin(struct server *sv, struct ask *ask,
                                             const struct msg_register *req, struct err *e)
{
    struct registering *r = arena_alloc(ask->arena, sizeof *r);

    *r = (struct registering){ .sv = sv, .n_held = req->attempts.n };
    r->worker = worker_row_save(sv, ask->conn, req, e);
    if (r->worker < 0 || (ask->conn->pilot != 0 && pilot_start(sv, ask->conn, r->worker, e) < 0))
        return NULL;
    r->stop = arena_alloc(ask->arena, r->n_held * sizeof *r->stop);
    /* Each item begins with its token, so a sorted copy can be searched by token. */
    r->held = arena_alloc(ask->arena, r->n_held * sizeof *r->held);
    if (r->n_held > 0)
        memcpy(r->held, req->attempts.items, r->n_held * sizeof *r->held);
    qsort(r->held, r->n_held, sizeof *r->held, compare_tokens);
    /* On a connection that has registered before, a hand may still be on its way. */
    if (ask->conn->worker != r->worker && load_live(r, ask->arena, e) < 0)
        return NULL;
    return r;
}

/* Runs after a turn that did not end the registration: conn->registering stays set, so that the
 * worker's lease does not run out meanwhile (lease.c). */
static void go_on(struct server *sv, void *context)
{
    (void)sv;
    free(context);
}

int handle_register(struct server *sv, struct ask *ask, const void *request, void *reply,
                    struct err *e)
{
    const struct msg_register *req = request;
    struct msg_registered *rep = reply;
    struct msg_register said = *req;
    struct registering *r = ask->kept;
    struct registration *n;
    int rc;

    if (r == NULL) {
        if (check_worker(req, e) < 0)
            return -1;
        ask->kept = r = registering_begin(sv, ask, req, e);
    }
    if (r == NULL)
        return -1;
    r->sv = sv;
    r->tally = (struct tally){ 0 };
    n = mem_alloc(sizeof *n);
    *n = (struct registration){
        .sv = sv, .conn = ask->conn->number, .worker = r->worker, .n_attempts = req->attempts.n
    };
    ask->conn->registering = r->worker;
    rc = settle_attempts(r, req, e);
    if (rc >= 0 && tally_flush(sv, &r->tally, e) < 0)
        rc = -1;
    if (rc == 0 && ask->conn->worker != r->worker) /* as in registering_begin */
        rc = notices_settle(sv, r->worker, &(struct list){ r->held, r->n_held }, e);
    if (rc == 0)
        rc = recall_at_registration(sv, ask->conn, r->worker, e);
    if (rc < 0) {
        registration_drop(n);
        return -1;
    }
    if (rc == 1) {
        turn_after_with(sv, go_on, registration_drop, n);
        return HANDLER_GOES_ON;
    }
    said.attempts = (struct list){ 0 };
    n->arena = arena_create();
    n->said = schema_copy(proto.messages[MSG_REGISTER].schema, &said, n->arena);
    turn_after_with(sv, take_over, registration_drop, n);
    rep->lease_ms = sv->conf.lease_ms;
    rep->stop = (struct list){ r->stop, r->n_stop };
    return 0;
}

/* ---- took, alive, measured, report ---- */

static int must_be_registered(const struct ask *ask, struct err *e)
{
    if (ask->conn->worker == 0)
        return err_set(e, ERR_PROTOCOL, "register first");
    return 0;
}

int handle_took(struct server *sv, struct ask *ask, const void *request, void *reply, struct err *e)
{
    (void)sv, (void)request, (void)reply;
    return must_be_registered(ask, e);
}

int handle_alive(struct server *sv, struct ask *ask, const void *request, void *reply,
                 struct err *e)
{
    struct msg_ok *rep = reply;

    (void)sv, (void)request;
    rep->well = true;
    return must_be_registered(ask, e);
}

/* How many values of a message were given to advisors, and how many to stop rules. */
struct measured_progress {
    size_t advised, judged;
};

int handle_measured(struct server *sv, struct ask *ask, const void *request, void *reply,
                    struct err *e)
{
    const struct msg_measured *req = request;
    struct msg_ok *rep = reply;
    struct measured_progress *done = ask->kept;
    int rc;

    if (must_be_registered(ask, e) < 0)
        return -1;
    if (done == NULL)
        ask->kept = done = arena_alloc(ask->arena, sizeof *done); /* zeroes */
    rc = advice_take_steps(sv, ask->conn->worker, &req->values, &done->advised, e);
    if (rc == 0)
        rc = stops_take(sv, ask->conn->worker, &req->values, &done->judged, e);
    rep->well = true;
    return rc < 0 ? -1 : rc == 1 ? HANDLER_GOES_ON : 0;
}

int handle_load(struct server *sv, struct ask *ask, const void *request, void *reply, struct err *e)
{
    const struct msg_load *req = request;
    struct conn *c = ask->conn;

    (void)reply;
    if (must_be_registered(ask, e) < 0)
        return -1;
    c->load_milli = req->load_milli;
    c->load_at_ms = turn_now_ms(sv);
    c->asks_gpus = req->asks_gpus;
    if (req->asks_gpus)
        return 0;
    free(c->gpu_use);
    c->n_gpu_use = req->gpu_use.n;
    c->gpu_use = mem_copy(req->gpu_use.items, c->n_gpu_use * sizeof *c->gpu_use);
    c->gpu_use_at_ms = c->load_at_ms;
    return 0;
}

int handle_holds(struct server *sv, struct ask *ask, const void *request, void *reply,
                 struct err *e)
{
    (void)reply;
    if (must_be_registered(ask, e) < 0)
        return -1;
    cached_trees_take(&ask->conn->holdings, request);
    turn_want_schedule(sv);
    return 0;
}

int handle_report(struct server *sv, struct ask *ask, const void *request, void *reply,
                  struct err *e)
{
    const struct msg_report *req = request;
    const struct report *reports = req->reports.items;
    struct msg_verdicts *rep = reply;
    struct verdict_entry *verdicts = arena_alloc(ask->arena, req->reports.n * sizeof *verdicts);
    int64_t ahead_ms = clock_ahead_ms(sv, req->said_at);
    struct tally tally = { 0 };

    if (must_be_registered(ask, e) < 0)
        return -1;
    for (size_t i = 0; i < req->reports.n; i++) {
        struct report r = reports[i];
        enum verdict verdict;
        int rc;

        r.at = by_our_clock(r.at, ahead_ms);
        r.started_at = by_our_clock(r.started_at, ahead_ms);
        r.ended_at = by_our_clock(r.ended_at, ahead_ms);
        rc = advice_take_report(sv, ask->conn, &r, e);
        if (rc == 0)
            rc = notices_take_report(sv, ask->conn, &r, e);
        if (rc < 0)
            return -1;
        verdict = VERDICT_TAKEN;
        if (rc == 0 && attempt_report(sv, ask->conn->worker, &r, &verdict, &tally, e) < 0)
            return -1;
        verdicts[i] = (struct verdict_entry){ r.token, r.seq, (int)verdict };
    }
    rep->verdicts = (struct list){ verdicts, req->reports.n };
    return tally_flush(sv, &tally, e);
}

/* ---- retiring ---- */

/* That a worker retires is kept in memory alone: it says so again when it connects anew. */
int handle_retiring(struct server *sv, struct ask *ask, const void *request, void *reply,
                    struct err *e)
{
    const struct msg_retiring *req = request;
    struct conn *c = ask->conn;
    const char *why = req->reason != NULL ? req->reason : "it has left";

    (void)reply;
    if (must_be_registered(ask, e) < 0)
        return -1;
    c->is_retiring = true;
    advice_left(sv, c);
    c->gives_back = req->gives_back;
    log_event(LOG_INFO, "retiring", "worker", "%lld", (long long)c->worker, "why", "%s", why,
              "is_over", "%s", req->is_over ? "yes" : "no", NULL);
    turn_want_schedule(sv);
    if (!req->is_over || c->pilot == 0)
        return 0;
    /* Attempts that the pilot had and did not report go to other workers at once. */
    if (pilot_row_end(sv, c->pilot, why, e) < 0)
        return -1;
    return attempts_lose_all(sv, c->worker, CAUSE_PREEMPTED, why, e);
}
