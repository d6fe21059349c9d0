/* SPDX-License-Identifier: MIT */
/* node_guard.c - nodes on which a user's jobs fail at once while such jobs run well elsewhere */

#include "server/queue/node_guard.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/proto/failure.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/queue/attempts.h"
#include "server/queue/fit.h"
#include "server/queue/hold_notes.h"
#include "server/queue/holds.h"

/* How many failures are remembered, of all nodes together. */
enum { FAILURES_KEPT = 1000 };

/* ---- the record ---- */

struct recorded {
    struct node_failure f;
    bool is_cleared; /* no evidence: it only tells that this cause was seen on that node */
};

struct node_record {
    struct recorded *items; /* in the order in which they came */
    size_t n, capacity;
    size_t n_speaking; /* how many are not cleared */
};

struct node_record *node_record_create(void)
{
    struct node_record *r = mem_alloc(sizeof *r);

    *r = (struct node_record){ 0 };
    return r;
}

static void drop_first(struct node_record *r)
{
    r->n_speaking -= !r->items[0].is_cleared;
    free((char *)r->items[0].f.node);
    free((char *)r->items[0].f.cause);
    memmove(&r->items[0], &r->items[1], --r->n * sizeof *r->items);
}

void node_record_destroy(struct node_record *r)
{
    if (r == NULL)
        return;
    while (r->n > 0)
        drop_first(r);
    free(r->items);
    free(r);
}

void node_record_failure(struct node_record *r, const struct node_failure *f)
{
    struct recorded *to;

    if (r->n == FAILURES_KEPT)
        drop_first(r);
    mem_grow((void **)&r->items, &r->capacity, r->n, sizeof *r->items);
    to = &r->items[r->n++];
    *to = (struct recorded){ .f = *f, .is_cleared = !f->is_at_once };
    to->f.node = mem_strdup(f->node);
    to->f.cause = mem_strdup(f->cause);
    r->n_speaking += f->is_at_once;
}

void node_record_clear(struct node_record *r, const char *node, int64_t uid)
{
    for (size_t i = 0; i < r->n; i++)
        if (!r->items[i].is_cleared && (uid < 0 || r->items[i].f.uid == uid) &&
            strcmp(r->items[i].f.node, node) == 0) {
            r->items[i].is_cleared = true;
            r->n_speaking--;
        }
}

bool node_record_is_empty(const struct node_record *r)
{
    return r->n_speaking == 0;
}

/* Whether the cause also struck jobs of the sweep on another node: then it is the program's. */
static bool is_seen_elsewhere(const struct node_record *r, const struct node_failure *f)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->items[i].f.sweep == f->sweep && strcmp(r->items[i].f.cause, f->cause) == 0 &&
            strcmp(r->items[i].f.node, f->node) != 0)
            return true;
    return false;
}

const struct node_failure *node_record_next(const struct node_record *r, const char *node,
                                            int64_t uid, const struct node_failure *after)
{
    bool is_behind = after == NULL;

    for (size_t i = 0; i < r->n; i++) {
        const struct recorded *x = &r->items[i];

        if (is_behind && !x->is_cleared && x->f.uid == uid && strcmp(x->f.node, node) == 0 &&
            !is_seen_elsewhere(r, &x->f))
            return &x->f;
        is_behind |= &x->f == after;
    }
    return NULL;
}

int64_t node_record_evidence(const struct node_record *r, const char *node, int64_t uid)
{
    const struct node_failure *f = NULL;
    int64_t n = 0;

    while ((f = node_record_next(r, node, uid, f)) != NULL) {
        const struct node_failure *before = NULL;
        bool is_new = true;

        while (is_new && (before = node_record_next(r, node, uid, before)) != f)
            is_new = before->sweep != f->sweep || before->config != f->config;
        n += is_new;
    }
    return n;
}

/* ---- what follows ---- */

/* A node that a user's jobs avoid, or are trying again. */
struct suspect {
    char *node;
    int64_t uid;
    int64_t wait_ms; /* time from since_ms to the trial */
    int64_t since_ms;
};

struct node_guard {
    struct node_record *record;
    struct suspect *suspects;
    size_t n, capacity;
};

/* The pointer does not outlast a call of acquit(), which moves suspects. */
static struct suspect *find_suspect(const struct node_guard *g, const char *node, int64_t uid)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->suspects[i].uid == uid && strcmp(g->suspects[i].node, node) == 0)
            return &g->suspects[i];
    return NULL;
}

/* Trusts the node again, and frees the suspect. */
static void acquit(struct server *sv, struct suspect *s, const char *why)
{
    struct node_guard *g = sv->node_guard;

    log_event(LOG_INFO, "node-trusted", "node", "%s", s->node, "uid", "%lld", (long long)s->uid,
              "why", "%s", why, NULL);
    fit_trust(sv, s->node, s->uid);
    node_record_clear(g->record, s->node, s->uid);
    free(s->node);
    *s = g->suspects[--g->n];
    turn_want_schedule(sv);
}

/* How an attempt ended. */
struct end {
    struct node_failure failure;
    bool is_good;
    char *words; /* the failure, for people */
};

static void end_free(struct end *x)
{
    free((char *)x->failure.node);
    free((char *)x->failure.cause);
    free(x->words);
}

/* Reads how an attempt ended: 1, -1; 0 when its program neither did well nor failed by itself,
 * which says nothing about its node. */
static int read_end(struct server *sv, int64_t attempt, struct end *x, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_NODE_GUARD_END, "i", attempt);
    struct buf cause = { 0 }, words = { 0 };
    int rc = stmt_step(s, e);

    *x = (struct end){ 0 };
    if (rc == 1) {
        enum attempt_state state = (enum attempt_state)stmt_enum(s, 0, ATTEMPT_STATE_COUNT);
        struct failure f = { stmt_is_null(s, 7) ? CAUSE_NONE
                                                : (enum cause)stmt_enum(s, 7, CAUSE_COUNT),
                             stmt_int(s, 8), stmt_int(s, 9), stmt_text(s, 10) };
        int64_t started_at = stmt_int(s, 11), ended_at = stmt_int(s, 12);

        x->is_good = attempt_has_published(state);
        rc = x->is_good || (state == ATTEMPT_FAILED && failure_is_own(f.cause));
        if (rc == 1 && !x->is_good) {
            failure_add_name(&cause, &f);
            failure_add_words(&words, &f);
        }
        x->words = mem_strdup(buf_text(&words));
        x->failure = (struct node_failure){
            .node = mem_strdup(stmt_text(s, 1)),
            .uid = stmt_int(s, 2),
            .sweep = stmt_int(s, 3),
            .config = stmt_int(s, 4),
            .job = stmt_int(s, 5),
            .attempt_no = stmt_int(s, 6),
            .at_ms = ended_at,
            .cause = mem_strdup(buf_text(&cause)),
            .is_at_once = started_at > 0 && ended_at - started_at <= NODE_GUARD_AT_ONCE_MS,
        };
    }
    stmt_end(s);
    buf_free(&cause);
    buf_free(&words);
    return rc;
}

/* Whether jobs of the sweep run, or ended well, on another node: 1, 0, -1. */
static int runs_elsewhere(struct server *sv, int64_t sweep, const char *node, struct err *e)
{
    int64_t one;
    int rc = db_get(sv->db, e, SQL_NODE_GUARD_RUNS, "is>i", sweep, node, &one);

    return rc != 0 ? rc : db_get(sv->db, e, SQL_NODE_GUARD_RAN, "is>i", sweep, node, &one);
}

static int give_back(struct server *sv, const struct node_failure *f, struct tally *t,
                     struct err *e)
{
    if (db_run(sv->db, e, SQL_JOB_GIVE_BACK, "ii", f->job, f->attempt_no) < 0)
        return -1;
    return job_refresh(sv, f->job, t, e);
}

/* Recalls the user's unstarted attempts on the node, and ends the user's pilots there: Slurm puts
 * the next ones elsewhere. */
static int leave_node(struct server *sv, const char *node, int64_t uid, const char *why,
                      struct err *e)
{
    for (struct conn *c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number)) {
        const char *its_node = NULL;
        struct arena *a;
        int rc;

        if (c->worker == 0)
            continue;
        a = arena_create();
        rc = db_get(sv->db, e, SQL_WORKER_NODE, "i>s", c->worker, a, &its_node);
        if (rc == 1 && strcmp(its_node, node) == 0) {
            rc = recall_of_user(sv, c->worker, uid, e);
            if (c->pilot != 0 && (int64_t)c->uid == uid)
                conn_retire(sv, c, why);
        }
        arena_destroy(a);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* Makes the user's jobs avoid the node.  failed_alike: how many configurations did; 0: trial. */
static int avoid(struct server *sv, struct suspect *s, int64_t failed_alike, const char *words,
                 struct err *e)
{
    struct buf why = { 0 };
    int rc;

    if (failed_alike > 0)
        buf_printf(&why,
                   "%" PRId64 " configurations failed at once there and others do not elsewhere",
                   failed_alike);
    else
        buf_add_str(&why, "it was tried again, and a job failed at once there");
    buf_printf(&why, ": %s", words);
    s->since_ms = turn_now_ms(sv);
    fit_avoid(sv, s->node, s->uid, buf_text(&why), s->since_ms + s->wait_ms);
    turn_want_schedule(sv); /* the scheduler sets the time of the trial */
    log_event(LOG_WARN, "node-avoided", "node", "%s", s->node, "uid", "%lld", (long long)s->uid,
              "for_ms", "%lld", (long long)s->wait_ms, "why", "%s", buf_text(&why), NULL);
    rc = leave_node(sv, s->node, s->uid, buf_text(&why), e);
    buf_free(&why);
    return rc;
}

/* There is enough evidence against the node: avoids it if jobs of these sweeps can run elsewhere,
 * and queues the jobs that failed there again. */
static int accuse(struct server *sv, const char *node, int64_t uid, const char *words,
                  struct err *e)
{
    struct node_guard *g = sv->node_guard;
    int64_t n = node_record_evidence(g->record, node, uid);
    const struct node_failure *f = NULL;
    struct suspect *s;
    struct tally t = { 0 };
    bool is_there = true;

    while ((f = node_record_next(g->record, node, uid, f)) != NULL) {
        int rc = runs_elsewhere(sv, f->sweep, node, e);

        if (rc <= 0)
            return rc;
    }
    mem_grow((void **)&g->suspects, &g->capacity, g->n, sizeof *g->suspects);
    s = &g->suspects[g->n++];
    *s = (struct suspect){ mem_strdup(node), uid, sv->conf.avoid_for_ms, 0 };
    if (avoid(sv, s, n, words, e) < 0)
        return -1;
    while (is_there && (f = node_record_next(g->record, node, uid, f)) != NULL)
        if (fit_is_there(sv, f->sweep, (struct grown){ 0 }, &is_there, e) < 0)
            return -1;
    if (!is_there) {
        acquit(sv, s, "nothing else can run these jobs");
        return 0;
    }
    while ((f = node_record_next(g->record, node, uid, f)) != NULL)
        if (give_back(sv, f, &t, e) < 0)
            return -1;
    if (tally_flush(sv, &t, e) < 0)
        return -1;
    while ((f = node_record_next(g->record, node, uid, f)) != NULL)
        if (holds_take_back(sv, f->sweep, f->at_ms, e) < 0)
            return -1;
    return 0;
}

static int take_failure(struct server *sv, const struct end *x, struct err *e)
{
    struct node_guard *g = sv->node_guard;
    const struct node_failure *f = &x->failure;
    struct suspect *s = find_suspect(g, f->node, f->uid);
    struct tally t = { 0 };

    node_record_failure(g->record, f);
    for (size_t i = g->n; i-- > 0;)
        if (g->suspects[i].uid == f->uid && strcmp(g->suspects[i].node, f->node) != 0 &&
            node_record_evidence(g->record, g->suspects[i].node, f->uid) == 0)
            acquit(sv, &g->suspects[i], "the same failures are seen on another node");
    if (s == NULL)
        return sv->conf.avoid_for_ms == 0 ||
                       node_record_evidence(g->record, f->node, f->uid) < NODE_GUARD_FAILURES
                   ? 0
                   : accuse(sv, f->node, f->uid, x->words, e);
    s = find_suspect(g, f->node, f->uid); /* acquit() may have moved it */
    if (s == NULL || !f->is_at_once)
        return 0;
    if (turn_now_ms(sv) >= s->since_ms + s->wait_ms) {
        s->wait_ms =
            s->wait_ms < NODE_GUARD_LAST_WAIT_MS / 2 ? 2 * s->wait_ms : NODE_GUARD_LAST_WAIT_MS;
        if (avoid(sv, s, 0, x->words, e) < 0)
            return -1;
    }
    if (give_back(sv, f, &t, e) < 0 || tally_flush(sv, &t, e) < 0)
        return -1;
    return holds_take_back(sv, f->sweep, f->at_ms, e);
}

/* After a good end: accuses a node if only proof was missing that the sweep runs elsewhere. */
static int look_at_others(struct server *sv, const struct end *x, struct err *e)
{
    const struct node_record *r = sv->node_guard->record;

    for (size_t i = r->n; i-- > 0;) {
        const struct node_failure *f = &r->items[i].f;

        if (f->sweep == x->failure.sweep && !r->items[i].is_cleared &&
            find_suspect(sv->node_guard, f->node, f->uid) == NULL && sv->conf.avoid_for_ms > 0 &&
            node_record_evidence(r, f->node, f->uid) >= NODE_GUARD_FAILURES)
            return accuse(sv, f->node, f->uid, f->cause, e);
    }
    return 0;
}

/* Turn work; the key is an attempt that ended. */
static int look(struct server *sv, int64_t attempt, struct err *e)
{
    struct node_guard *g = sv->node_guard;
    struct suspect *s;
    struct end x;
    int rc = read_end(sv, attempt, &x, e);

    if (rc == 1 && x.is_good) {
        s = find_suspect(g, x.failure.node, x.failure.uid);
        node_record_clear(g->record, x.failure.node, x.failure.uid);
        if (s != NULL)
            acquit(sv, s, "a job ended well there");
        rc = look_at_others(sv, &x, e);
    } else if (rc == 1) {
        rc = take_failure(sv, &x, e);
    }
    hold_notes_want_good(sv->hold_notes, g->n > 0 || !node_record_is_empty(g->record));
    end_free(&x);
    return rc < 0 ? -1 : 0;
}

bool node_guard_trust(struct server *sv, const char *node, int64_t uid)
{
    struct node_guard *g = sv->node_guard;
    bool was_avoided = false;

    for (size_t i = g->n; i-- > 0;)
        if ((uid < 0 || g->suspects[i].uid == uid) && strcmp(g->suspects[i].node, node) == 0) {
            acquit(sv, &g->suspects[i], "a user said so");
            was_avoided = true;
        }
    node_record_clear(g->record, node, uid);
    return was_avoided;
}

struct node_guard *node_guard_create(struct server *sv)
{
    struct node_guard *g = mem_alloc(sizeof *g);

    *g = (struct node_guard){ .record = node_record_create() };
    hold_notes_watch_ends(sv->hold_notes, look);
    return g;
}

void node_guard_destroy(struct node_guard *g)
{
    if (g == NULL)
        return;
    while (g->n > 0)
        free(g->suspects[--g->n].node);
    free(g->suspects);
    node_record_destroy(g->record);
    free(g);
}
