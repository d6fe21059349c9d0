/* SPDX-License-Identifier: MIT */
/* assign.c - asks the scheduler for a plan, and turns it into attempts, hands and recalls */

#include "server/queue/assign.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/queue/attempts.h"
#include "server/queue/fit.h"
#include "server/queue/node_guard.h"
#include "server/queue/passed_env.h"
#include "server/queue/rows.h"
#include "server/queue/sched.h"
#include "server/queue/worker_rows.h"

_Static_assert((int)BATCH_MAX <= (int)HAND_MAX, "a batch fits into a hand");

struct pass {
    struct server *sv;
    struct arena *arena;
    struct sched_worker *workers;
    struct conn **conns; /* of each worker */
    const char **nodes;  /* node name of each worker */
    int64_t *held;       /* of each worker: its attempts that have not ended */
    size_t n_workers;
    struct sched_sweep *sweeps;
    struct grown *grown;             /* of each sweep: its jobs that ask for this are the entry */
    int64_t *batches;                /* of each sweep: jobs per process */
    int64_t *slots;                  /* of each sweep: processes at once; 0: any number */
    int64_t **stage_ms;              /* of each sweep, as in sched_sweep */
    const struct sweep_work **works; /* of each sweep; NULL: its description was not read yet */
    size_t n_sweeps;
    struct sched_load *loads;
    struct grown *load_grown; /* of each load */
    size_t n_loads;
    bool has_pilots;
    bool is_cut; /* a hand became smaller than the plan asked for */
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

enum { NO_SLOT = -1 }; /* in slots: the sweep has as many processes as it may have */

/* Whether the worker is registering on another connection.  There it has listed what it holds; a
 * hand sent on this connection now would not be in the list, and would be lost unnoticed. */
static bool is_registering_anew(struct server *sv, int64_t worker)
{
    for (struct conn *c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number))
        if (c->registering == worker)
            return true;
    return false;
}

static int gather_workers(struct pass *p, struct err *e)
{
    bool is_any_registering = false;
    int rc = 0;

    for (struct conn *c = conn_after(p->sv, 0); c != NULL; c = conn_after(p->sv, c->number))
        is_any_registering |= c->registering != 0;

    for (struct conn *c = conn_after(p->sv, 0); c != NULL && rc >= 0;
         c = conn_after(p->sv, c->number)) {
        size_t n = p->n_workers;
        struct stmt *s;

        /* A worker that registers in this turn may offer something else once that is committed,
         * after which the scheduler runs again. */
        if (c->worker == 0 || c->is_retiring || c->registering != 0 ||
            (is_any_registering && is_registering_anew(p->sv, c->worker)))
            continue;
        s = db_ask(p->sv->db, SQL_SCHED_WORKER, "i", c->worker);
        rc = stmt_step(s, e);
        if (rc == 1) {
            p->workers = grow(p->arena, p->workers, n, sizeof *p->workers);
            p->conns = grow(p->arena, p->conns, n, sizeof *p->conns);
            p->nodes = grow(p->arena, p->nodes, n, sizeof *p->nodes);
            p->workers[n] =
                (struct sched_worker){ .id = c->worker,
                                       .cpus_milli = stmt_int(s, 0),
                                       .gpus_milli = stmt_int(s, 1),
                                       .memory_bytes = stmt_int(s, 2),
                                       .disk_bytes =
                                           c->disk_bytes == 0 ? INT64_C(1) << 60 : c->disk_bytes,
                                       .takes_one = c->takes_one,
                                       .is_private = fit_is_private(p->sv, c),
                                       .uid = c->uid };
            p->conns[n] = c;
            p->has_pilots |= c->pilot != 0;
            p->nodes[n] = stmt_copy(s, 3, p->arena);
            p->n_workers++;
        }
        stmt_end(s);
    }
    return rc < 0 ? -1 : 0;
}

/* Sets *to: which workers may run the sweep's jobs.  Workers that lack something or are avoided are
 * left out while there are others; else they get the jobs, which then fail and say what lacks. */
static int who_may(struct pass *p, struct fit_wanted *w, const bool **to, struct err *e)
{
    bool *may_use = arena_alloc(p->arena, p->n_workers * sizeof *may_use);
    struct sweep_pools pools = { 0 };
    bool is_any_whole = false;
    int is_secret;

    if (p->has_pilots && sweep_pools_read(p->sv, w->sweep, p->arena, &pools, e) < 0)
        return -1;
    is_secret = passed_env_is_there(p->sv, w->sweep, e);
    if (is_secret < 0)
        return -1;
    w->is_secret = is_secret == 1;
    for (size_t i = 0; i < p->n_workers; i++) {
        may_use[i] = fit_may_run(p->sv, p->conns[i], p->nodes[i], w, &pools);
        is_any_whole |= may_use[i] &&
                        fit_has_room(w, p->workers[i].cpus_milli, p->workers[i].gpus_milli,
                                     p->workers[i].memory_bytes) &&
                        !fit_is_unwanted(p->sv, p->conns[i], p->nodes[i], w);
    }
    for (size_t i = 0; i < p->n_workers; i++)
        may_use[i] =
            may_use[i] && (!is_any_whole || !fit_is_unwanted(p->sv, p->conns[i], p->nodes[i], w));
    *to = may_use;
    return 0;
}

/* A modest speed of disk and file server. */
enum { STAGE_BYTES_PER_MS = 100 * 1000, STAGE_FILES_PER_MS = 10 };
/* Smaller data count as being everywhere. */
enum { DATA_MIN_BYTES = 1024 * 1024, DATA_MIN_FILES = 100 };

/* Estimates how long staging the sweep's data takes at each worker; *times NULL: no time. */
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

static int64_t processes_of(int64_t jobs, int64_t batch)
{
    return (jobs + batch - 1) / batch;
}

/* What all jobs of a sweep have in common, also those that grew. */
struct sweep_in {
    struct sched_sweep sweep;
    struct fit_wanted wanted;
    int64_t batch, slots, *stage_ms;
};

/* Adds the sweep's queued jobs that ask for `grown` as one sweep for the scheduler. */
static int add_sweep(struct pass *p, const struct sweep_in *in, struct grown grown, int64_t n_ready,
                     struct err *e)
{
    struct fit_wanted wanted = in->wanted;
    size_t n = p->n_sweeps;

    fit_take_grown(&wanted, grown);
    p->sweeps = grow(p->arena, p->sweeps, n, sizeof *p->sweeps);
    p->grown = grow(p->arena, p->grown, n, sizeof *p->grown);
    p->batches = grow(p->arena, p->batches, n, sizeof *p->batches);
    p->stage_ms = grow(p->arena, p->stage_ms, n, sizeof *p->stage_ms);
    p->slots = grow(p->arena, p->slots, n, sizeof *p->slots);
    p->works = grow(p->arena, p->works, n, sizeof(struct sweep_work *));
    p->grown[n] = grown;
    p->batches[n] = in->batch;
    p->slots[n] = in->slots;
    p->stage_ms[n] = in->stage_ms;
    p->works[n] = NULL;
    p->sweeps[n] = in->sweep;
    p->sweeps[n].ready = processes_of(n_ready, in->batch);
    p->sweeps[n].memory_bytes = wanted.memory_bytes;
    if (who_may(p, &wanted, &p->sweeps[n].may_use, e) < 0)
        return -1;
    p->n_sweeps++;
    return 0;
}

/* Adds the sweep's jobs that grew, each kind as an entry; n_ready: all its ready jobs. */
static int add_grown(struct pass *p, const struct sweep_in *in, int64_t n_ready, struct err *e)
{
    struct stmt *s = db_ask(p->sv->db, SQL_GROWN_READY, "i", in->wanted.sweep);
    size_t others = p->n_sweeps - 1;
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        struct sweep_in of_these = *in;

        if (stmt_int(s, 3) > 0)
            of_these.sweep.waited_ms = turn_now_ms(p->sv) - stmt_int(s, 3);
        n_ready -= stmt_int(s, 2);
        rc = add_sweep(p, &of_these, (struct grown){ stmt_int(s, 0), stmt_int(s, 1) },
                       stmt_int(s, 2), e);
        if (rc < 0)
            break;
    }
    stmt_end(s);
    p->sweeps[others].ready = processes_of(n_ready, in->batch);
    return rc;
}

static int gather_sweeps(struct pass *p, struct err *e)
{
    struct stmt *s = db_ask(p->sv->db, SQL_SCHED_SWEEPS, "");
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        int64_t batch = stmt_int(s, 11);
        int64_t mean_ms = batch * row_mean_ms(stmt_int(s, 7), stmt_int(s, 8));
        struct sweep_in in = { .wanted = { stmt_int(s, 0),
                                           (uid_t)stmt_int(s, 1),
                                           stmt_text(s, 12),
                                           stmt_bytes(s, 10),
                                           { stmt_int(s, 13), mean_ms },
                                           stmt_int(s, 4),
                                           stmt_int(s, 5),
                                           stmt_int(s, 6),
                                           stmt_int(s, 16),
                                           false },
                               .batch = batch,
                               .slots = stmt_int(s, 14) };

        rc = stage_times(p, in.wanted.sweep, in.wanted.user, &in.stage_ms, e);
        in.sweep = (struct sched_sweep){ .id = in.wanted.sweep,
                                         .uid = in.wanted.uid,
                                         .priority = stmt_int(s, 2),
                                         .cpus_milli = in.wanted.cpus_milli,
                                         .gpus_milli = in.wanted.gpus_milli,
                                         .disk_bytes = in.wanted.disk_bytes,
                                         .mean_ms = mean_ms,
                                         .waited_ms = turn_now_ms(p->sv) - stmt_int(s, 9),
                                         .stage_ms = in.stage_ms };
        if (rc >= 0)
            rc = add_sweep(p, &in, (struct grown){ 0 }, stmt_int(s, 3), e);
        if (rc >= 0 && stmt_int(s, 15) != 0)
            rc = add_grown(p, &in, stmt_int(s, 3), e);
        if (rc < 0)
            break;
    }
    stmt_end(s);
    return rc;
}

/* Reads what one process needs; the sweep may have no ready jobs and not be in the list. */
static int load_needs(struct pass *p, struct sched_load *l, struct grown grown, int64_t *batch,
                      bool *has_grown, struct err *e)
{
    struct stmt *s = db_ask(p->sv->db, SQL_SWEEP_NEEDS, "i", l->sweep_id);
    int64_t *stage_ms = NULL;
    int rc = stmt_step(s, e);

    if (rc == 1) {
        struct fit_wanted wanted = { .sweep = l->sweep_id,
                                     .uid = (uid_t)stmt_int(s, 0),
                                     .user = stmt_text(s, 8),
                                     .nodes = stmt_bytes(s, 6),
                                     .cpus_milli = stmt_int(s, 1),
                                     .gpus_milli = stmt_int(s, 2),
                                     .memory_bytes = stmt_int(s, 3),
                                     .disk_bytes = stmt_int(s, 11) };

        *batch = stmt_int(s, 7);
        *has_grown = stmt_int(s, 10) != 0;
        l->mean_ms = *batch * row_mean_ms(stmt_int(s, 4), stmt_int(s, 5));
        wanted.need = (struct pilot_need){ stmt_int(s, 9), l->mean_ms };
        fit_take_grown(&wanted, grown);
        l->uid = wanted.uid;
        l->cpus_milli = wanted.cpus_milli;
        l->gpus_milli = wanted.gpus_milli;
        l->memory_bytes = wanted.memory_bytes;
        l->disk_bytes = wanted.disk_bytes;
        if (who_may(p, &wanted, &l->may_use, e) < 0 ||
            (l->sweep == SIZE_MAX && stage_times(p, l->sweep_id, wanted.user, &stage_ms, e) < 0))
            rc = -1;
        l->stage_ms = stage_ms;
    }
    stmt_end(s);
    return rc;
}

/* Subtracts a worker's processes of a sweep from the slots left; the worker may be away. */
static int take_slots(struct pass *p, int64_t worker, const struct sched_load *l, struct err *e)
{
    int64_t processes = l->jobs, unstarted;

    if (p->batches[l->sweep] > 1 && db_get(p->sv->db, e, SQL_SCHED_PROCESSES, "ii>ii", worker,
                                           l->sweep_id, &processes, &unstarted) < 0)
        return -1;
    p->slots[l->sweep] = p->slots[l->sweep] > processes ? p->slots[l->sweep] - processes : NO_SLOT;
    return 0;
}

static void put_load(struct pass *p, const struct sched_load *l, struct grown grown)
{
    p->loads = grow(p->arena, p->loads, p->n_loads, sizeof *p->loads);
    p->load_grown = grow(p->arena, p->load_grown, p->n_loads, sizeof *p->load_grown);
    p->load_grown[p->n_loads] = grown;
    p->loads[p->n_loads++] = *l;
}

/* The entry, at index `from` or later, of the sweep's jobs that ask for `grown`; SIZE_MAX: none. */
static size_t find_sweep(const struct pass *p, size_t from, int64_t sweep, struct grown grown)
{
    while (from < p->n_sweeps &&
           (p->sweeps[from].id != sweep || !grown_equal(p->grown[from], grown)))
        from++;
    return from < p->n_sweeps ? from : SIZE_MAX;
}

/* Adds a worker's load of a sweep with jobs that grew: one load for each kind. */
static int add_grown_loads(struct pass *p, const struct sched_load *all, int64_t worker,
                           struct err *e)
{
    struct stmt *s = db_ask(p->sv->db, SQL_GROWN_LOADS, "ii", worker, all->sweep_id);
    size_t first = all->sweep;
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        struct grown grown = { stmt_int(s, 0), stmt_int(s, 1) };
        struct sched_load l = *all;
        bool has_grown;
        int64_t batch;

        l.jobs = stmt_int(s, 2);
        l.unstarted = stmt_int(s, 3);
        l.sweep = first == SIZE_MAX ? SIZE_MAX : find_sweep(p, first, l.sweep_id, grown);
        rc = load_needs(p, &l, grown, &batch, &has_grown, e);
        if (rc < 0)
            break;
        put_load(p, &l, grown);
    }
    stmt_end(s);
    return rc;
}

/* Adds a worker's load of a sweep. */
static int add_load(struct pass *p, struct sched_load *l, int64_t worker, struct err *e)
{
    const struct grown as_the_sweep = { 0 };
    bool has_grown = false;
    int64_t batch = 1;

    if (load_needs(p, l, as_the_sweep, &batch, &has_grown, e) < 0)
        return -1;
    if (has_grown)
        return add_grown_loads(p, l, worker, e);
    /* In a sweep with batches processes are counted instead of jobs. */
    if (batch > 1 && db_get(p->sv->db, e, SQL_SCHED_PROCESSES, "ii>ii", worker, l->sweep_id,
                            &l->jobs, &l->unstarted) < 0)
        return -1;
    put_load(p, l, as_the_sweep);
    return 0;
}

/* Bounds ready jobs by the sweeps' slots.  Jobs that grew, whose entries come last, get what the
 * others leave, as there may be no room for them yet. */
static void keep_to_slots(struct pass *p)
{
    for (size_t i = 0, first = 0; i < p->n_sweeps; i++) {
        int64_t *slots;

        if (p->sweeps[i].id != p->sweeps[first].id)
            first = i;
        slots = &p->slots[first];
        if (*slots == 0)
            continue;
        if (*slots == NO_SLOT)
            p->sweeps[i].ready = 0;
        else if (p->sweeps[i].ready > *slots)
            p->sweeps[i].ready = *slots;
        *slots = p->sweeps[i].ready < *slots ? *slots - p->sweeps[i].ready : NO_SLOT;
    }
}

static int gather_loads(struct pass *p, struct err *e)
{
    struct stmt *s = db_ask(p->sv->db, SQL_SCHED_LOADS, "");
    int rc;

    p->held = arena_alloc(p->arena, p->n_workers * sizeof *p->held);
    while ((rc = stmt_step(s, e)) == 1) {
        int64_t worker = stmt_int(s, 0);
        struct sched_load l = { .sweep_id = stmt_int(s, 1),
                                .jobs = stmt_int(s, 2),
                                .unstarted = stmt_int(s, 3) };

        while (l.worker < p->n_workers && p->workers[l.worker].id != worker)
            l.worker++;
        l.sweep = find_sweep(p, 0, l.sweep_id, (struct grown){ 0 });
        if (l.sweep != SIZE_MAX && p->slots[l.sweep] > 0 && take_slots(p, worker, &l, e) < 0) {
            rc = -1;
            break;
        }
        if (l.worker == p->n_workers)
            continue;
        p->held[l.worker] += l.jobs;
        /* Where a worker has jobs of the sweep, its data are there or on their way. */
        if (l.sweep != SIZE_MAX && p->stage_ms[l.sweep] != NULL)
            p->stage_ms[l.sweep][l.worker] = 0;
        if (add_load(p, &l, worker, e) < 0) {
            rc = -1;
            break;
        }
    }
    stmt_end(s);
    keep_to_slots(p);
    return rc;
}

/* ---- carry out ---- */

/* A job's seed of 31 bits, always the same for a configuration and replication. */
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
    int64_t origin; /* the configuration whose checkpoint the job starts from; SCHEMA_NONE: none */
    struct assignment assignment;
};

/* Limit of the bytes of configurations in one hand, so that the hand fits into a frame. */
enum { HAND_PARAMS_MAX_BYTES = 4 * 1024 * 1024 };

/* Reads at most n jobs that ask for `grown` from the head of the sweep's queue. */
static int take_head(struct pass *p, int64_t sweep, struct grown grown, size_t n,
                     struct queued *queued, size_t *taken, struct err *e)
{
    struct stmt *s = db_ask(p->sv->db, SQL_QUEUE_HEAD, "iiii", sweep, grown.memory_bytes,
                            grown.time_ms, (int64_t)n);
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
        q->origin = stmt_int(s, 8);
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

/* Makes the attempts of one process; those of a batch share a token, their rows name the first. */
static int assign_process(struct pass *p, int64_t worker, struct grown grown, struct queued *q,
                          size_t n, bool is_batch, struct err *e)
{
    struct db *db = p->sv->db;
    int64_t first = SCHEMA_NONE;
    struct token token = { { 0 } };

    if (is_batch)
        token_make(&token);
    for (size_t i = 0; i < n; i++) {
        struct assignment *a = &q[i].assignment;
        int64_t attempt;

        if (q[i].attempts > 0 && db_get(db, e, SQL_STARTED_COUNT, "i>i", q[i].job, &a->restart) < 0)
            return -1;
        if (db_run(db, e, SQL_ATTEMPT_INSERT, "iiitiiI", q[i].job, a->sweep, a->attempt, &a->token,
                   worker, turn_now_ms(p->sv), first) < 0)
            return -1;
        attempt = db_last_id(db);
        if ((grown_is(grown) && db_run(db, e, SQL_ATTEMPT_ASKS, "iii", attempt, grown.memory_bytes,
                                       grown.time_ms) < 0) ||
            db_run(db, e, SQL_JOB_ASSIGNED, "iii", q[i].job, a->attempt, attempt) < 0 ||
            (is_batch && i == 0 && db_run(db, e, SQL_ATTEMPT_LEADS, "i", attempt) < 0))
            return -1;
        if (is_batch && i == 0)
            first = attempt;
        a->batch = token;
    }
    return 0;
}

/* How many jobs share the process that begins with this one.  Each time a job is given out again
 * its group is half as large, so that a command that fails at once takes few others along. */
static size_t group_size(const struct queued *first, size_t batch)
{
    size_t n = first->attempts < 32 ? batch >> first->attempts : 0;

    return n > 0 ? n : 1;
}

/* Reads what the sweep's jobs run: 1 with *work, -1; 0 when the description is of another version
 * of ludwig, or a passed variable is lost: the sweep is refused, so that all others go on. */
static int sweep_work_load(struct pass *p, size_t number, const struct sweep_work **work,
                           struct err *e)
{
    int64_t sweep = p->sweeps[number].id;
    const char *missing = NULL;
    struct err why = { 0 };
    struct sweep_work *w;
    struct stmt *s;
    int rc;

    *work = p->works[number];
    if (*work != NULL)
        return 1;
    s = db_ask(p->sv->db, SQL_SWEEP_WORK, "i", sweep);
    rc = stmt_step(s, e);
    if (rc == 0)
        return err_set(e, ERR_INTERNAL, "sweep %lld is not in the database", (long long)sweep);
    if (rc < 0)
        return -1;
    w = arena_alloc(p->arena, sizeof *w);
    *w = (struct sweep_work){ .sweep = sweep,
                              .project = stmt_copy(s, 0, p->arena),
                              .user = stmt_copy(s, 1, p->arena) };
    rc = schema_read(&work_schema, stmt_bytes(s, 2), p->arena, &w->work, &why);
    if (rc == 0 && !stmt_is_null(s, 3))
        rc = schema_read(&live_schema, stmt_bytes(s, 3), p->arena, &w->live, &why);
    stmt_end(s);
    if (rc == 0 && passed_env_add(p->sv, sweep, &w->work, p->arena, &missing, e) < 0)
        return -1;
    if (missing != NULL)
        rc = err_set(&why, ERR_FAILED, "the value of %s is not known any more", missing);
    if (rc < 0) {
        const char *text =
            arena_printf(p->arena,
                         missing != NULL ? "%s: cancel it and submit it again"
                                         : "it was submitted to another version of ludwig, and"
                                           " its description cannot be read any more (%s):"
                                           " cancel it and submit it again",
                         why.text);

        log_event(LOG_WARN, "sweep-refused", "sweep", "%lld", (long long)sweep, "why", "%s",
                  why.text, NULL);
        return db_run(p->sv->db, e, SQL_SWEEP_REFUSE, "is", sweep, text) < 0 ? -1 : 0;
    }
    if (grown_is(p->grown[number])) {
        w->work.resources.memory_bytes = p->grown[number].memory_bytes;
        w->work.resources.time_ms = p->grown[number].time_ms;
    }
    *work = p->works[number] = w;
    return 1;
}

/* A worker may claim any number of processors, and its registration looks at all that it holds. */
enum { HELD_MAX = 20000 };

/* Gives a worker at most HAND_MAX jobs of a sweep in one hand, none if it holds HELD_MAX attempts.
 * Returns how many processes it gave, -1 with e set. */
static int64_t deal(struct pass *p, const struct sched_hand *h, int64_t processes, struct err *e)
{
    struct conn *c = p->conns[h->worker]; // NOLINT(*NullDereference): a hand is of a worker
    int64_t sweep = p->sweeps[h->sweep].id, n_processes = 0;
    struct grown grown = p->grown[h->sweep];
    size_t batch = (size_t)p->batches[h->sweep];
    int64_t most = processes < HAND_MAX / (int64_t)batch ? processes : HAND_MAX / (int64_t)batch;
    size_t max = (size_t)most * batch, taken = 0, n = 0;
    struct queued *queued = arena_alloc(p->arena, max * sizeof *queued);
    struct assignment *assignments = arena_alloc(p->arena, max * sizeof *assignments);
    const struct sweep_work *work;
    struct msg_hand hand;
    int rc = sweep_work_load(p, h->sweep, &work, e);

    if (rc > 0 && p->held[h->worker] >= HELD_MAX)
        return 0;
    if (rc > 0 && take_head(p, sweep, grown, max, queued, &taken, e) < 0)
        return -1;
    if (taken == 0)
        return rc < 0 ? -1 : 0;
    for (; n < taken && n_processes < most; n_processes++) {
        size_t size = group_size(&queued[n], batch);

        if (size > taken - n)
            size = taken - n;
        if (assign_process(p, c->worker, grown, &queued[n], size, batch > 1, e) < 0)
            return -1;
        n += size;
    }
    p->is_cut |= n < taken;
    p->held[h->worker] += (int64_t)n;
    if (db_run(p->sv->db, e, SQL_SWEEP_HANDED, "iii", sweep, (int64_t)n, turn_now_ms(p->sv)) < 0 ||
        worker_row_used(p->sv, c->worker, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct assignment *a = &assignments[i];

        *a = queued[i].assignment;
        if (queued[i].origin != SCHEMA_NONE &&
            row_left_checkpoint(p->sv, queued[i].origin, a->rep, p->sweeps[h->sweep].uid, p->arena,
                                &a->from, e) < 0)
            return -1;
    }
    hand = (struct msg_hand){ ++c->hand_seq, { (void *)(uintptr_t)work, 1 }, { assignments, n } };
    conn_send(p->sv, c->number, MSG_HAND, &hand);
    return n_processes;
}

/* Tells the worker which data to stage for the job that it is likely to get next; once per sweep,
 * as the trees that the worker says it holds show whether it has staged them. */
static int tell_expected(struct pass *p, const struct sched_expectation *x, struct err *e)
{
    struct conn *c = p->conns[x->worker]; // NOLINT(*NullDereference): it is of a worker
    int64_t sweep = p->sweeps[x->sweep].id;
    const struct data_entry *data;
    const struct sweep_work *work;
    struct dataset *sets;
    struct msg_expect m;
    size_t n = 0;
    int rc;

    if (c->expected_sweep == sweep)
        return 0;
    rc = sweep_work_load(p, x->sweep, &work, e);
    if (rc <= 0)
        return rc;
    c->expected_sweep = sweep;
    data = work->work.data.items;
    sets = arena_alloc(p->arena, (work->work.data.n + 1) * sizeof *sets);
    if (!digest_is_zero(&work->work.source.tree))
        sets[n++] = work->work.source;
    for (size_t i = 0; i < work->work.data.n; i++)
        sets[n++] = data[i].set;
    m = (struct msg_expect){ work->user, work->project, { sets, n } };
    conn_send(p->sv, c->number, MSG_EXPECT, &m);
    return 0;
}

/* How long a trial on an avoided node takes to show whether a job fails at once there. */
enum { TRIAL_MS = 2 * NODE_GUARD_AT_ONCE_MS };

static int carry_out(struct pass *p, const struct sched_plan *plan, struct err *e)
{
    for (size_t i = 0; i < plan->n_hands; i++) {
        const struct sched_hand *h = &plan->hands[i];
        const char *node = p->nodes[h->worker]; // NOLINT(*NullDereference): a hand is of a worker
        int64_t most = fit_take_trial(p->sv, node, p->sweeps[h->sweep].uid, TRIAL_MS);

        p->is_cut |= most < h->jobs;
        for (int64_t left = most < h->jobs ? most : h->jobs, n = 1; left > 0 && n > 0; left -= n) {
            n = deal(p, h, left, e);
            if (n < 0)
                return -1;
        }
    }
    for (size_t i = 0; i < plan->n_recalls; i++) {
        const struct sched_load *l = &p->loads[plan->recalls[i].load];
        int64_t worker = p->workers[l->worker].id; // NOLINT(*NullDereference): of a worker

        if (recall_some(p->sv, worker, l->sweep_id, p->load_grown[plan->recalls[i].load],
                        plan->recalls[i].jobs, e) < 0)
            return -1;
    }
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
    int64_t trial_ms;
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
    trial_ms = fit_next_trial_ms(sv);
    if (plan.again_ms > 0)
        turn_want_schedule_in(sv, plan.again_ms);
    if (trial_ms > 0)
        turn_want_schedule_in(sv, trial_ms);
out:
    sched_plan_free(&plan);
    arena_destroy(p.arena);
    return rc;
}
