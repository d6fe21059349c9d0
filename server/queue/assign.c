/* SPDX-License-Identifier: MIT */
/* assign.c - asks the scheduler, and turns its plan into attempts and hands */

#include "server/queue/assign.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "server/base/nodes.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/conn/permission.h"
#include "server/queue/pilot_rows.h"
#include "server/queue/attempts.h"
#include "server/queue/rows.h"
#include "server/queue/sched.h"

_Static_assert((int)BATCH_MAX <= (int)HAND_MAX, "a batch fits into a hand");

struct pass {
    struct server *sv;
    struct arena *arena;
    struct sched_worker *workers;
    struct conn **conns; /* of each worker */
    const char **nodes;  /* node name of each worker */
    size_t n_workers;
    struct sched_sweep *sweeps;
    int64_t *batches;   /* of each sweep: jobs to a process */
    int64_t **stage_ms; /* of each sweep, as in sched_sweep */
    size_t n_sweeps;
    struct sched_load *loads;
    size_t n_loads;
    bool has_pilots;
    bool is_cut; /* a hand became smaller than it was meant to be */
};

/* Room for one more item of an array in the arena. */
static void *grow(struct arena *a, void *items, size_t n, size_t item_bytes)
{
    void *more;

    if (n < 16 ? n > 0 : (n & (n - 1)) != 0)
        return items;
    more = arena_alloc(a, (n < 16 ? 16 : 2 * n) * item_bytes);
    if (n > 0)
        memcpy(more, items, n * item_bytes);
    return more;
}

/* ---- gather ---- */

static int gather_worker(struct pass *p, struct conn *c, struct err *e)
{
    struct stmt *s;
    int rc;

    /* A worker that registers in this turn may offer something else once that is committed, after
     * which the scheduler runs again. */
    if (c->worker == 0 || c->is_retiring || c->registering != 0)
        return 0;
    s = db_ask(p->sv->db, SQL_SCHED_WORKER, "i", c->worker);
    rc = stmt_step(s, e);
    if (rc == 1) {
        size_t n = p->n_workers++;

        p->workers = grow(p->arena, p->workers, n, sizeof *p->workers);
        p->conns = grow(p->arena, p->conns, n, sizeof *p->conns);
        p->nodes = grow(p->arena, p->nodes, n, sizeof *p->nodes);
        p->workers[n] = (struct sched_worker){ c->worker, stmt_int(s, 0), 1000 * stmt_int(s, 1),
                                               stmt_int(s, 2), c->takes_one };
        p->conns[n] = c;
        p->has_pilots |= c->pilot != 0;
        p->nodes[n] = arena_strdup(p->arena, stmt_text(s, 3));
    }
    stmt_end(s);
    return rc;
}

static int gather_workers(struct pass *p, struct err *e)
{
    for (struct conn *c = conn_after(p->sv, 0); c != NULL; c = conn_after(p->sv, c->number))
        if (gather_worker(p, c, e) < 0)
            return -1;
    return 0;
}

/* What of a sweep decides who may run its jobs. */
struct wanted {
    int64_t sweep;
    uid_t uid;
    const char *user;
    struct bytes nodes;
    struct pilot_need need;
};

/* A pilot serves its owner's sweeps that name its pool; any other worker those that have its node in
 * their list. */
static bool is_meant(const struct pass *p, size_t worker, const struct wanted *w,
                     const struct sweep_pools *pools)
{
    const struct conn *c = p->conns[worker];

    if (c->pilot != 0)
        return c->uid == w->uid && sweep_pools_have(pools, c->pool) &&
               pilot_has_time(c, &w->need, turn_now_ms(p->sv));
    return may_run(p->sv, c, w->uid) && nodes_match(&p->sv->conf, w->nodes, p->nodes[worker]);
}

/* Which workers may run this sweep's jobs: by whose they are, by what the sweep asks for, and by what
 * the workers themselves say of its owner. */
static int who_may(struct pass *p, const struct wanted *w, const bool **to, struct err *e)
{
    bool *may_use = arena_alloc(p->arena, p->n_workers * sizeof *may_use);
    struct sweep_pools pools = { 0 };

    if (p->has_pilots && sweep_pools_read(p->sv, w->sweep, p->arena, &pools, e) < 0)
        return -1;
    for (size_t i = 0; i < p->n_workers; i++)
        may_use[i] = is_meant(p, i, w, &pools) && conn_refusal(p->conns[i], w->user) == NULL;
    *to = may_use;
    return 0;
}

/* What a disk and a file server do without haste, about. */
enum { STAGE_BYTES_PER_MS = 100 * 1000, STAGE_FILES_PER_MS = 10 };
/* Of less it does not matter where it lies. */
enum { DATA_MIN_BYTES = 1024 * 1024, DATA_MIN_FILES = 100 };

/* How long it takes to bring the sweep's data to each worker; *times NULL: no time at all. */
static int stage_times(struct pass *p, int64_t sweep, const char *user, int64_t **times,
                       struct err *e)
{
    struct stmt *s = db_ask(p->sv->db, SQL_SWEEP_DATASETS, "iii", sweep, (int64_t)DATA_MIN_FILES,
                            (int64_t)DATA_MIN_BYTES);
    int rc;

    *times = NULL;
    while ((rc = stmt_step(s, e)) == 1) {
        int64_t ms = stmt_int(s, 1) / STAGE_FILES_PER_MS + stmt_int(s, 2) / STAGE_BYTES_PER_MS;
        struct digest tree;

        if (*times == NULL)
            *times = arena_alloc(p->arena, p->n_workers * sizeof **times);
        stmt_digest(s, 0, &tree);
        for (size_t i = 0; i < p->n_workers; i++)
            if (!cached_trees_has(&p->conns[i]->holdings, user, &tree))
                (*times)[i] += ms;
    }
    return rc;
}

/* How many processes work through so many jobs. */
static int64_t processes_of(int64_t jobs, int64_t batch)
{
    return (jobs + batch - 1) / batch;
}

static int gather_sweeps(struct pass *p, struct err *e)
{
    struct stmt *s = db_ask(p->sv->db, SQL_SCHED_SWEEPS, "");
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        int64_t batch = stmt_int(s, 11);
        int64_t mean_ms = batch * row_mean_ms(stmt_int(s, 7), stmt_int(s, 8));
        const struct wanted wanted = { stmt_int(s, 0),
                                       (uid_t)stmt_int(s, 1),
                                       stmt_text(s, 12),
                                       stmt_bytes(s, 10),
                                       { stmt_int(s, 13), mean_ms } };
        const bool *may_use;
        int64_t *stage_ms;

        if (stage_times(p, wanted.sweep, wanted.user, &stage_ms, e) < 0 ||
            who_may(p, &wanted, &may_use, e) < 0) {
            stmt_end(s);
            return -1;
        }
        p->sweeps = grow(p->arena, p->sweeps, p->n_sweeps, sizeof *p->sweeps);
        p->batches = grow(p->arena, p->batches, p->n_sweeps, sizeof *p->batches);
        p->stage_ms = grow(p->arena, p->stage_ms, p->n_sweeps, sizeof *p->stage_ms);
        p->batches[p->n_sweeps] = batch;
        p->stage_ms[p->n_sweeps] = stage_ms;
        p->sweeps[p->n_sweeps++] =
            (struct sched_sweep){ .id = stmt_int(s, 0),
                                  .uid = (uid_t)stmt_int(s, 1),
                                  .priority = stmt_int(s, 2),
                                  .ready = processes_of(stmt_int(s, 3), batch),
                                  .cpus_milli = stmt_int(s, 4),
                                  .gpus_milli = stmt_int(s, 5),
                                  .memory_bytes = stmt_int(s, 6),
                                  .mean_ms = mean_ms,
                                  .waited_ms = turn_now_ms(p->sv) - stmt_int(s, 9),
                                  .may_use = may_use,
                                  .stage_ms = stage_ms };
    }
    return rc;
}

static size_t worker_index(const struct pass *p, int64_t id)
{
    for (size_t i = 0; i < p->n_workers; i++)
        if (p->workers[i].id == id)
            return i;
    return SIZE_MAX;
}

static size_t sweep_index(const struct pass *p, int64_t id)
{
    for (size_t i = 0; i < p->n_sweeps; i++)
        if (p->sweeps[i].id == id)
            return i;
    return SIZE_MAX;
}

/* What one process of the sweep needs, for a sweep that has none ready and is not in the list. */
static int load_needs(struct pass *p, struct sched_load *l, int64_t *batch, struct err *e)
{
    struct stmt *s = db_ask(p->sv->db, SQL_SWEEP_NEEDS, "i", l->sweep_id);
    int64_t *stage_ms = NULL;
    int rc = stmt_step(s, e);

    if (rc == 1) {
        l->uid = (uid_t)stmt_int(s, 0);
        l->cpus_milli = stmt_int(s, 1);
        l->gpus_milli = stmt_int(s, 2);
        l->memory_bytes = stmt_int(s, 3);
        *batch = stmt_int(s, 7);
        l->mean_ms = *batch * row_mean_ms(stmt_int(s, 4), stmt_int(s, 5));
        if (who_may(p,
                    &(struct wanted){ l->sweep_id,
                                      l->uid,
                                      stmt_text(s, 8),
                                      stmt_bytes(s, 6),
                                      { stmt_int(s, 9), l->mean_ms } },
                    &l->may_use, e) < 0 ||
            (l->sweep == SIZE_MAX &&
             stage_times(p, l->sweep_id, stmt_text(s, 8), &stage_ms, e) < 0))
            rc = -1;
        l->stage_ms = stage_ms;
    }
    stmt_end(s);
    return rc;
}

/* Where several jobs share a process, it is the processes that count. */
static int count_processes(struct pass *p, struct sched_load *l, struct err *e)
{
    int64_t worker = p->workers[l->worker].id; // NOLINT(*NullDereference): a load is of a worker
    struct stmt *s = db_ask(p->sv->db, SQL_SCHED_PROCESSES, "ii", worker, l->sweep_id);
    int rc = stmt_step(s, e);

    if (rc == 1) {
        l->jobs = stmt_int(s, 0);
        l->unstarted = stmt_int(s, 1);
    }
    stmt_end(s);
    return rc;
}

/* Where a worker has jobs of the sweep, its data are there or on their way. */
static void expect_data(struct pass *p, const struct sched_load *l)
{
    // NOLINTNEXTLINE(*NullDereference): there is one for each sweep
    if (l->sweep != SIZE_MAX && p->stage_ms[l->sweep] != NULL)
        p->stage_ms[l->sweep][l->worker] = 0;
}

static int gather_loads(struct pass *p, struct err *e)
{
    struct stmt *s = db_ask(p->sv->db, SQL_SCHED_LOADS, "");
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        struct sched_load l = { .worker = worker_index(p, stmt_int(s, 0)),
                                .sweep = sweep_index(p, stmt_int(s, 1)),
                                .sweep_id = stmt_int(s, 1),
                                .jobs = stmt_int(s, 2),
                                .unstarted = stmt_int(s, 3) };
        int64_t batch = 1;

        if (l.worker == SIZE_MAX)
            continue;
        if (load_needs(p, &l, &batch, e) < 0 || (batch > 1 && count_processes(p, &l, e) < 0)) {
            rc = -1;
            break;
        }
        expect_data(p, &l);
        p->loads = grow(p->arena, p->loads, p->n_loads, sizeof *p->loads);
        p->loads[p->n_loads++] = l;
    }
    stmt_end(s);
    return rc;
}

/* ---- carry out ---- */

/* 31 bits, the same for a configuration and replication wherever and whenever they run. */
static int64_t seed_of(const struct digest *config, int64_t rep)
{
    struct buf text = { 0 };
    struct digest d;

    buf_add(&text, config->bytes, sizeof config->bytes);
    buf_printf(&text, " rep %lld", (long long)rep);
    digest_of(text.bytes, text.n, &d);
    buf_free(&text);
    return (int64_t)(d.bytes[0] & 0x7f) << 24 | d.bytes[1] << 16 | d.bytes[2] << 8 | d.bytes[3];
}

struct queued {
    int64_t job;
    int64_t attempts;
    struct assignment assignment;
};

/* Of configurations in one hand, so that it fits into a frame with all the rest. */
enum { HAND_PARAMS_MAX_BYTES = 4 * 1024 * 1024 };

/* The head of the sweep's queue, at most n jobs. */
static int take_head(struct pass *p, int64_t sweep, size_t n, struct queued *queued, size_t *taken,
                     struct err *e)
{
    struct stmt *s = db_ask(p->sv->db, SQL_QUEUE_HEAD, "ii", sweep, (int64_t)n);
    size_t params_bytes = 0;
    int rc = 0;

    *taken = 0;
    while (*taken < n && params_bytes < HAND_PARAMS_MAX_BYTES && (rc = stmt_step(s, e)) == 1) {
        struct queued *q = &queued[(*taken)++];
        struct bytes params = stmt_bytes(s, 7);
        struct digest digest;

        stmt_digest(s, 6, &digest);
        q->job = stmt_int(s, 0);
        q->attempts = stmt_int(s, 4);
        q->assignment =
            (struct assignment){ .sweep = sweep,
                                 .job = stmt_int(s, 1),
                                 .attempt = q->attempts + 1,
                                 .param_name = row_param_name(p->arena, stmt_int(s, 5)),
                                 .job_name = arena_strdup(p->arena, stmt_text(s, 3)),
                                 .rep = stmt_int(s, 2),
                                 .seed = seed_of(&digest, stmt_int(s, 2)),
                                 .params = { (const uint8_t *)arena_strndup(
                                                 p->arena, (const char *)params.data, params.n),
                                             params.n } };
        params_bytes += params.n;
        token_make(&q->assignment.token);
    }
    stmt_end(s);
    p->is_cut |= params_bytes >= HAND_PARAMS_MAX_BYTES;
    return rc < 0 ? -1 : 0;
}

/* The attempt's row, -1. */
static int64_t assign(struct pass *p, int64_t worker, struct queued *q, int64_t batch,
                      struct err *e)
{
    struct db *db = p->sv->db;
    struct assignment *a = &q->assignment;
    int64_t attempt;

    if (q->attempts > 0 && db_get_int(db, e, &a->restart, SQL_STARTED_COUNT, "i", q->job) < 0)
        return -1;
    if (db_run(db, e, SQL_ATTEMPT_INSERT, "iiitiiI", q->job, a->sweep, a->attempt, &a->token,
               worker, turn_now_ms(p->sv), batch) < 0)
        return -1;
    attempt = db_last_id(db);
    return db_run(db, e, SQL_JOB_ASSIGNED, "iii", q->job, a->attempt, attempt) < 0 ? -1 : attempt;
}

/* One process: those of a batch share a token, and the row of the first stands for all. */
static int assign_batch(struct pass *p, int64_t worker, struct queued *q, size_t n, struct err *e)
{
    int64_t first = SCHEMA_NONE;
    struct token token;

    token_make(&token);
    for (size_t i = 0; i < n; i++) {
        int64_t attempt = assign(p, worker, &q[i], first, e);

        if (attempt < 0 || (i == 0 && db_run(p->sv->db, e, SQL_ATTEMPT_LEADS, "i", attempt) < 0))
            return -1;
        if (i == 0)
            first = attempt;
        q[i].assignment.batch = token;
    }
    return 0;
}

/*
 * How many share the process that begins with this job.  What was given back goes out in smaller
 * groups each time: a command that fails at once takes few others along.
 */
static size_t group_size(const struct queued *first, size_t batch)
{
    size_t n = first->attempts < 32 ? batch >> first->attempts : 0;

    return n > 0 ? n : 1;
}

/* How many of the n jobs so many processes take; *processes: how many that makes. */
static size_t group_end(const struct queued *q, size_t n, size_t batch, int64_t *processes)
{
    int64_t most = *processes;
    size_t end = 0;

    for (*processes = 0; end < n && *processes < most; ++*processes)
        end += group_size(&q[end], batch);
    return end < n ? end : n;
}

static int assign_all(struct pass *p, int64_t worker, struct queued *q, size_t n, size_t batch,
                      struct err *e)
{
    size_t size;

    for (size_t i = 0; i < n; i += size) {
        size_t left = n - i;

        size = group_size(&q[i], batch);
        if (batch == 1 ? assign(p, worker, &q[i], SCHEMA_NONE, e) < 0
                       : assign_batch(p, worker, &q[i], left < size ? left : size, e) < 0)
            return -1;
    }
    return 0;
}

/*
 * Another version of ludwig took it and described it differently.  It is set aside, so that all
 * others go on.
 */
static int set_aside(struct pass *p, int64_t sweep, const struct err *why, struct err *e)
{
    char *text = mem_printf("it was submitted to another version of ludwig, and its description"
                            " cannot be read any more (%s): cancel it and submit it again",
                            why->text);
    int n = db_run(p->sv->db, e, SQL_SWEEP_REFUSE, "is", sweep, text);

    log_event(LOG_WARN, "sweep-refused", "sweep", "%lld", (long long)sweep, "why", "%s", why->text,
              NULL);
    free(text);
    return n < 0 ? -1 : 0;
}

/* ---- descriptions of sweeps, kept as they were decoded ---- */

enum { WORKS_MAX = 16, WORK_MAX_BYTES = 256 * 1024 /* a larger one is read each time */ };

struct works {
    struct {
        struct arena *arena;
        struct sweep_work work; /* sweep 0: none */
    } items[WORKS_MAX];
    size_t next; /* to be replaced */
};

void assign_forget(struct server *sv)
{
    for (size_t i = 0; sv->works != NULL && i < WORKS_MAX; i++)
        arena_destroy(sv->works->items[i].arena);
    free(sv->works);
    sv->works = NULL;
}

static const struct sweep_work *find_work(const struct works *works, int64_t sweep)
{
    for (size_t i = 0; works != NULL && i < WORKS_MAX; i++)
        if (works->items[i].work.sweep == sweep)
            return &works->items[i].work;
    return NULL;
}

static const struct sweep_work *keep_work(struct server *sv, struct arena *a,
                                          const struct sweep_work *work)
{
    size_t i;

    if (sv->works == NULL)
        sv->works = mem_alloc(sizeof *sv->works);
    i = sv->works->next++ % WORKS_MAX;
    arena_destroy(sv->works->items[i].arena);
    sv->works->items[i].arena = a;
    sv->works->items[i].work = *work;
    return &sv->works->items[i].work;
}

/* 1 with *work, which lasts until the next one is loaded; 0 when the sweep was set aside; -1. */
static int sweep_work_load(struct pass *p, int64_t sweep, const struct sweep_work **work,
                           struct err *e)
{
    struct sweep_work *w;
    struct err why = { 0 };
    struct arena *a = p->arena;
    struct stmt *s;
    int rc;

    *work = find_work(p->sv->works, sweep);
    if (*work != NULL)
        return 1;
    s = db_ask(p->sv->db, SQL_SWEEP_WORK, "i", sweep);
    rc = stmt_step(s, e);
    if (rc == 0)
        return err_set(e, ERR_INTERNAL, "sweep %lld is not in the database", (long long)sweep);
    if (rc < 0)
        return -1;
    if (stmt_bytes(s, 2).n <= WORK_MAX_BYTES)
        a = arena_create();
    w = arena_alloc(a, sizeof *w);
    *w = (struct sweep_work){ .sweep = sweep,
                              .project = arena_strdup(a, stmt_text(s, 0)),
                              .user = arena_strdup(a, stmt_text(s, 1)) };
    rc = schema_read(&work_schema, stmt_bytes(s, 2), a, &w->work, &why);
    stmt_end(s);
    if (rc == 0)
        *work = a == p->arena ? w : keep_work(p->sv, a, w);
    else if (a != p->arena)
        arena_destroy(a);
    return rc == 0 ? 1 : set_aside(p, sweep, &why, e);
}

static void send_hand(struct pass *p, struct conn *c, const struct sweep_work *work,
                      const struct queued *queued, size_t n)
{
    struct assignment *assignments = arena_alloc(p->arena, n * sizeof *assignments);
    struct msg_hand hand = { ++c->hand_seq, { (void *)(uintptr_t)work, 1 }, { assignments, n } };

    for (size_t i = 0; i < n; i++)
        assignments[i] = queued[i].assignment;
    conn_send(p->sv, c->number, MSG_HAND, &hand);
}

/* At most HAND_MAX jobs of one sweep to one worker. Returns how many processes, -1 with e set. */
static int64_t deal(struct pass *p, const struct sched_hand *h, int64_t processes, struct err *e)
{
    struct conn *c = p->conns[h->worker]; // NOLINT(*NullDereference): a hand is of a worker
    int64_t sweep = p->sweeps[h->sweep].id;
    int64_t batch = p->batches[h->sweep];
    int64_t most = processes < HAND_MAX / batch ? processes : HAND_MAX / batch;
    size_t max = (size_t)(most * batch);
    struct queued *queued = arena_alloc(p->arena, max * sizeof *queued);
    const struct sweep_work *work;
    size_t taken = 0, n;
    int rc = sweep_work_load(p, sweep, &work, e);

    if (rc > 0 && take_head(p, sweep, max, queued, &taken, e) < 0)
        return -1;
    if (taken == 0)
        return rc < 0 ? -1 : 0;
    n = group_end(queued, taken, (size_t)batch, &most);
    p->is_cut |= n < taken;
    if (assign_all(p, c->worker, queued, n, (size_t)batch, e) < 0 ||
        db_run(p->sv->db, e, SQL_SWEEP_HANDED, "iii", sweep, (int64_t)n, turn_now_ms(p->sv)) < 0)
        return -1;
    send_hand(p, c, work, queued, n);
    return most;
}

static int deal_all(struct pass *p, const struct sched_hand *h, struct err *e)
{
    for (int64_t left = h->jobs; left > 0;) {
        int64_t n = deal(p, h, left, e);

        if (n <= 0)
            return (int)n;
        left -= n;
    }
    return 0;
}

static int take_back(struct pass *p, const struct sched_recall *r, struct err *e)
{
    const struct sched_load *l = &p->loads[r->load];
    int64_t worker = p->workers[l->worker].id; // NOLINT(*NullDereference): a recall is of a load

    return recall_some(p->sv, worker, l->sweep_id, r->jobs, e);
}

static struct list sets_of(struct pass *p, const struct jobspec *w)
{
    struct dataset *sets = arena_alloc(p->arena, (w->data.n + 1) * sizeof *sets);
    const struct data_entry *data = w->data.items;
    size_t n = 0;

    if (!digest_is_zero(&w->source.tree))
        sets[n++] = w->source;
    for (size_t i = 0; i < w->data.n; i++)
        sets[n++] = data[i].set;
    return (struct list){ sets, n };
}

/* Said once: whether it could follow that shows in what it holds. */
static int tell_expected(struct pass *p, const struct sched_expectation *x, struct err *e)
{
    struct conn *c = p->conns[x->worker]; // NOLINT(*NullDereference): it is of a worker
    int64_t sweep = p->sweeps[x->sweep].id;
    const struct sweep_work *work;
    struct msg_expect m;
    int rc;

    if (c->expected_sweep == sweep)
        return 0;
    rc = sweep_work_load(p, sweep, &work, e);
    if (rc <= 0)
        return rc;
    c->expected_sweep = sweep;
    m = (struct msg_expect){ work->user, work->project, sets_of(p, &work->work) };
    conn_send(p->sv, c->number, MSG_EXPECT, &m);
    return 0;
}

static int carry_out(struct pass *p, const struct sched_plan *plan, struct err *e)
{
    for (size_t i = 0; i < plan->n_hands; i++)
        if (deal_all(p, &plan->hands[i], e) < 0)
            return -1;
    for (size_t i = 0; i < plan->n_recalls; i++)
        if (take_back(p, &plan->recalls[i], e) < 0)
            return -1;
    for (size_t i = 0; i < plan->n_expectations; i++)
        if (tell_expected(p, &plan->expectations[i], e) < 0)
            return -1;
    return p->is_cut;
}

int assign_run(struct server *sv, struct err *e)
{
    struct pass p = { .sv = sv, .arena = arena_create() };
    const struct conf *conf = &sv->conf;
    struct sched_plan plan = { 0 };
    int rc = -1;

    if (gather_workers(&p, e) < 0 || gather_sweeps(&p, e) < 0 || gather_loads(&p, e) < 0)
        goto out;
    sched_split(&(struct sched_input){ p.sweeps,
                                       p.n_sweeps,
                                       p.workers,
                                       p.n_workers,
                                       p.loads,
                                       p.n_loads,
                                       { conf->gpus_per_user_milli, conf->cpus_per_user_milli,
                                         conf->jobs_per_user } },
                &plan);
    rc = carry_out(&p, &plan, e);
    turn_want_pilots(sv);
    if (plan.again_ms > 0)
        turn_want_schedule_in(sv, plan.again_ms);
out:
    sched_plan_free(&plan);
    arena_destroy(p.arena);
    return rc;
}
