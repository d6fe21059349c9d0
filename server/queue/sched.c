/* SPDX-License-Identifier: MIT */
/* sched.c - splits queued jobs over workers: fills slots fairly, then sends short work ahead */

#include "server/queue/sched.h"

#include <stdlib.h>

#include "common/base/mem.h"

static const double ahead_ms = SCHED_AHEAD_MS;

struct user {
    uid_t uid;
    int64_t cpus_milli, gpus_milli, jobs; /* what the user's jobs hold */
    int64_t shared_cpus_milli,
        shared_gpus_milli;                 /* of these, on workers that are not of one user */
    double all_cpus_milli, all_gpus_milli; /* of the workers that the user may use */
};

/* What is free on a worker; negative when work was sent ahead. */
struct room {
    int64_t cpus_milli, gpus_milli, memory_bytes, disk_bytes;
    double work_ms; /* how long the jobs that it holds keep it busy, as far as is known */
    bool is_reserved;
    bool has_next; /* a job is expected to come here when there is room */
};

/* A sweep with jobs to hand out, while sched_split runs. */
struct waiting {
    int64_t ready;
    double held; /* share of the machines that its live jobs hold */
    size_t user;
    bool is_blocked; /* nothing fits at present */
};

struct split {
    const struct sched_input *in;
    struct room *rooms;
    struct waiting *sweeps;
    struct user *users;
    size_t n_users;
    double cpus_milli, gpus_milli; /* of all workers that are not private */
    struct sched_plan *plan;
    size_t hands_capacity, recalls_capacity, expectations_capacity;
};

static size_t user_of(struct split *s, uid_t uid)
{
    for (size_t i = 0; i < s->n_users; i++)
        if (s->users[i].uid == uid)
            return i;
    s->users[s->n_users] = (struct user){ .uid = uid };
    for (size_t i = 0; i < s->in->n_workers; i++) {
        const struct sched_worker *w = &s->in->workers[i];

        if (w->is_private && w->uid != uid)
            continue;
        s->users[s->n_users].all_cpus_milli += (double)w->cpus_milli;
        s->users[s->n_users].all_gpus_milli += (double)w->gpus_milli;
    }
    return s->n_users++;
}

double sched_share(int64_t cpus_milli, int64_t gpus_milli, double all_cpus_milli,
                   double all_gpus_milli)
{
    double cpus = all_cpus_milli > 0 ? (double)cpus_milli / all_cpus_milli : 0;
    double gpus = all_gpus_milli > 0 ? (double)gpus_milli / all_gpus_milli : 0;

    return cpus > gpus ? cpus : gpus;
}

/* The user's share of the machines that are not private; goes_before compares users by it. */
static double share_of(const struct split *s, const struct user *u)
{
    return sched_share(u->shared_cpus_milli, u->shared_gpus_milli, s->cpus_milli, s->gpus_milli);
}

/* Counts jobs that the user holds on a worker from now on. */
static void hold(struct split *s, struct user *u, size_t worker, int64_t jobs, int64_t cpus_milli,
                 int64_t gpus_milli)
{
    u->jobs += jobs;
    u->cpus_milli += jobs * cpus_milli;
    u->gpus_milli += jobs * gpus_milli;
    if (s->in->workers[worker].is_private)
        return;
    u->shared_cpus_milli += jobs * cpus_milli;
    u->shared_gpus_milli += jobs * gpus_milli;
}

/* The share of these resources in all machines that the user may use; goes_before compares the
 * sweeps of one user by it. */
static double held(const struct user *u, int64_t cpus_milli, int64_t gpus_milli)
{
    return sched_share(cpus_milli, gpus_milli, u->all_cpus_milli, u->all_gpus_milli);
}

/* The part of a worker that one job takes, 0 to 1. */
static double part_of(const struct sched_worker *w, int64_t cpus_milli, int64_t gpus_milli)
{
    return sched_share(cpus_milli, gpus_milli, (double)w->cpus_milli, (double)w->gpus_milli);
}

static double work_of(const struct sched_worker *w, int64_t cpus_milli, int64_t gpus_milli,
                      int64_t mean_ms)
{
    return part_of(w, cpus_milli, gpus_milli) * (double)(mean_ms > 0 ? mean_ms : SCHED_AHEAD_MS);
}

static bool is_within_limits(const struct split *s, size_t sweep)
{
    const struct sched_limits *l = &s->in->limits;
    const struct sched_sweep *need = &s->in->sweeps[sweep];
    const struct user *u = &s->users[s->sweeps[sweep].user];

    return (l->cpus_per_user_milli == 0 ||
            u->cpus_milli + need->cpus_milli <= l->cpus_per_user_milli) &&
           (l->gpus_per_user_milli == 0 ||
            u->gpus_milli + need->gpus_milli <= l->gpus_per_user_milli) &&
           (l->jobs_per_user == 0 || u->jobs + 1 <= l->jobs_per_user);
}

/* Whether sweep x goes before y. */
static bool goes_before(const struct split *s, size_t x, size_t y)
{
    const struct waiting *wx = &s->sweeps[x], *wy = &s->sweeps[y];

    if (wx->user != wy->user) {
        double sx = share_of(s, &s->users[wx->user]), sy = share_of(s, &s->users[wy->user]);

        if (sx < sy || sx > sy)
            return sx < sy;
    } else if (s->in->sweeps[x].priority != s->in->sweeps[y].priority) {
        return s->in->sweeps[x].priority > s->in->sweeps[y].priority;
    } else if (wx->held < wy->held || wx->held > wy->held) {
        return wx->held < wy->held;
    }
    return s->in->sweeps[x].id < s->in->sweeps[y].id;
}

static size_t next_sweep(const struct split *s)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < s->in->n_sweeps; i++)
        if (!s->sweeps[i].is_blocked && s->sweeps[i].ready > 0 &&
            (best == SIZE_MAX || goes_before(s, i, best)))
            best = i;
    return best;
}

/* Whether the worker could run such a job if it were empty. */
static bool could_hold(const struct split *s, const struct sched_sweep *need, size_t worker)
{
    const struct sched_worker *w = &s->in->workers[worker];

    return need->may_use[worker] && need->cpus_milli <= w->cpus_milli &&
           need->gpus_milli <= w->gpus_milli && need->memory_bytes <= w->memory_bytes;
}

static bool fits_now(const struct split *s, const struct sched_sweep *need, size_t worker)
{
    const struct room *r = &s->rooms[worker];

    return could_hold(s, need, worker) && need->cpus_milli <= r->cpus_milli &&
           need->gpus_milli <= r->gpus_milli && need->memory_bytes <= r->memory_bytes &&
           (need->disk_bytes == 0 || need->disk_bytes <= r->disk_bytes);
}

static int64_t stage_ms(const int64_t *per_worker, size_t worker)
{
    return per_worker == NULL ? 0 : per_worker[worker];
}

/* Of the unreserved workers that fit, the one with the least to stage, then the emptiest, so that
 * work spreads; SIZE_MAX: none. */
static size_t best_worker(const struct split *s, size_t sweep,
                          bool (*fits)(const struct split *, const struct sched_sweep *, size_t))
{
    const struct sched_sweep *need = &s->in->sweeps[sweep];
    size_t best = SIZE_MAX;
    int64_t least_ms = 0;
    double most = 0;

    for (size_t i = 0; i < s->in->n_workers; i++) {
        double left = part_of(&s->in->workers[i], s->rooms[i].cpus_milli, s->rooms[i].gpus_milli);
        int64_t takes_ms = stage_ms(need->stage_ms, i);

        if (s->rooms[i].is_reserved || !fits(s, need, i) ||
            (best != SIZE_MAX && (takes_ms > least_ms || (takes_ms == least_ms && left <= most))))
            continue;
        best = i;
        most = left;
        least_ms = takes_ms;
    }
    return best;
}

/* Takes jobs out of the queue and counts them as held by their user. */
static void take_jobs(struct split *s, size_t worker, size_t sweep, int64_t jobs)
{
    const struct sched_sweep *need = &s->in->sweeps[sweep];
    struct user *u = &s->users[s->sweeps[sweep].user];

    s->sweeps[sweep].ready -= jobs;
    s->sweeps[sweep].held += held(u, jobs * need->cpus_milli, jobs * need->gpus_milli);
    hold(s, u, worker, jobs, need->cpus_milli, need->gpus_milli);
}

static void give(struct split *s, size_t worker, size_t sweep, int64_t jobs)
{
    const struct sched_sweep *need = &s->in->sweeps[sweep];
    struct room *r = &s->rooms[worker];
    struct sched_plan *p = s->plan;
    size_t i = 0;

    while (i < p->n_hands && (p->hands[i].worker != worker || p->hands[i].sweep != sweep))
        i++;
    if (i == p->n_hands) {
        mem_grow((void **)&p->hands, &s->hands_capacity, p->n_hands, sizeof *p->hands);
        p->hands[p->n_hands++] = (struct sched_hand){ worker, sweep, 0 };
    }
    p->hands[i].jobs += jobs;
    take_jobs(s, worker, sweep, jobs);
    r->cpus_milli -= jobs * need->cpus_milli;
    r->gpus_milli -= jobs * need->gpus_milli;
    r->memory_bytes -= jobs * need->memory_bytes;
    r->disk_bytes -= jobs * need->disk_bytes;
    r->is_reserved |= s->in->workers[worker].takes_one;
    r->work_ms += (double)jobs * work_of(&s->in->workers[worker], need->cpus_milli,
                                         need->gpus_milli, need->mean_ms);
}

/* ---- data ---- */

/* Whether waiting is sooner: workers that have the data, or need at most half of takes_ms to stage
 * them, are through with the sweep's queue within takes_ms, or the jobs' run time is not known. */
static bool is_sooner_elsewhere(const struct split *s, size_t sweep, int64_t takes_ms)
{
    const struct sched_sweep *need = &s->in->sweeps[sweep];
    double at_once = 0, first_ms = -1, mean_ms = (double)need->mean_ms;

    for (size_t i = 0; i < s->in->n_workers; i++) {
        double part = part_of(&s->in->workers[i], need->cpus_milli, need->gpus_milli);
        double busy_ms = s->rooms[i].work_ms;

        if (s->rooms[i].is_reserved || !could_hold(s, need, i) || part <= 0 ||
            stage_ms(need->stage_ms, i) > takes_ms / 2)
            continue;
        at_once += 1 / part;
        if (first_ms < 0 || busy_ms < first_ms)
            first_ms = busy_ms;
    }
    if (at_once <= 0 || need->mean_ms == 0)
        return at_once > 0;
    return first_ms + (double)s->sweeps[sweep].ready * mean_ms / at_once <= (double)takes_ms;
}

/* Whether the sweep is better off waiting for a worker that has its data. */
static bool waits_for_data(struct split *s, size_t sweep, size_t worker)
{
    const struct sched_sweep *need = &s->in->sweeps[sweep];
    int64_t takes_ms = stage_ms(need->stage_ms, worker);
    int64_t left_ms =
        (takes_ms < SCHED_DATA_PATIENCE_MS ? takes_ms : SCHED_DATA_PATIENCE_MS) - need->waited_ms;

    if (takes_ms < SCHED_STAGE_MIN_MS || left_ms <= 0 || !is_sooner_elsewhere(s, sweep, takes_ms))
        return false;
    if (s->plan->again_ms == 0 || left_ms < s->plan->again_ms)
        s->plan->again_ms = left_ms;
    return true;
}

/* ---- splitting ---- */

/* Hands out one job at a time, so that shares stay even while slots fill up. */
static void fill_slots(struct split *s)
{
    size_t sweep;

    while ((sweep = next_sweep(s)) != SIZE_MAX) {
        bool may_have_more = is_within_limits(s, sweep);
        size_t worker = may_have_more ? best_worker(s, sweep, fits_now) : SIZE_MAX;

        if (worker != SIZE_MAX && !waits_for_data(s, sweep, worker)) {
            give(s, worker, sweep, 1);
            continue;
        }
        s->sweeps[sweep].is_blocked = true;
        if (worker != SIZE_MAX || !may_have_more ||
            s->in->sweeps[sweep].waited_ms < SCHED_PATIENCE_MS)
            continue;
        worker = best_worker(s, sweep, could_hold);
        if (worker != SIZE_MAX)
            s->rooms[worker].is_reserved = true;
    }
}

/* Sends the worker at most half of an even share of the jobs that are left. */
static void send_ahead_to(struct split *s, size_t sweep, size_t worker)
{
    const struct sched_sweep *need = &s->in->sweeps[sweep];
    const struct sched_worker *w = &s->in->workers[worker];
    double each_ms = work_of(w, need->cpus_milli, need->gpus_milli, need->mean_ms), all = 0;
    int64_t jobs =
        each_ms > 0 ? (int64_t)((ahead_ms - s->rooms[worker].work_ms) / each_ms) : SCHED_HAND_MAX;
    int64_t tail = 0;

    for (size_t i = 0; i < s->in->n_workers; i++)
        if (could_hold(s, need, i))
            all += (double)s->in->workers[i].cpus_milli;
    if (all > 0)
        tail = (int64_t)((double)s->sweeps[sweep].ready * (double)w->cpus_milli / all / 2);
    if (jobs > tail)
        jobs = tail;
    if (jobs > SCHED_HAND_MAX)
        jobs = SCHED_HAND_MAX;
    for (; jobs > 0 && is_within_limits(s, sweep); jobs--)
        give(s, worker, sweep, 1);
}

static void send_ahead(struct split *s)
{
    size_t sweep;

    for (size_t i = 0; i < s->in->n_sweeps; i++)
        s->sweeps[i].is_blocked =
            s->in->sweeps[i].mean_ms == 0 || s->in->sweeps[i].mean_ms >= SCHED_AHEAD_MS;
    while ((sweep = next_sweep(s)) != SIZE_MAX) {
        s->sweeps[sweep].is_blocked = true;
        /* Workers are topped up when half of the work is used up, so that hands stay large. */
        for (size_t w = 0; w < s->in->n_workers; w++)
            if (could_hold(s, &s->in->sweeps[sweep], w) && !s->rooms[w].is_reserved &&
                s->rooms[w].work_ms < ahead_ms / 2 && !waits_for_data(s, sweep, w))
                send_ahead_to(s, sweep, w);
    }
}

/* Whether another worker could run one of these jobs at once, and staging its data there takes no
 * longer than the work before it on its present worker. */
static bool is_wanted_elsewhere(const struct split *s, const struct sched_load *l)
{
    for (size_t i = 0; i < s->in->n_workers; i++) {
        const struct sched_worker *w = &s->in->workers[i];
        int64_t takes_ms = stage_ms(l->stage_ms, i);

        if (i != l->worker && l->may_use[i] && s->rooms[i].work_ms <= 0 &&
            w->cpus_milli >= l->cpus_milli && w->gpus_milli >= l->gpus_milli &&
            w->memory_bytes >= l->memory_bytes &&
            (takes_ms < SCHED_STAGE_MIN_MS || (double)takes_ms < s->rooms[l->worker].work_ms))
            return true;
    }
    return false;
}

/* Recalls work sent ahead that takes longer than expected, when other workers are idle. */
static void recall_surplus(struct split *s)
{
    struct sched_plan *p = s->plan;

    for (size_t i = 0; i < s->in->n_loads; i++) {
        const struct sched_load *l = &s->in->loads[i];

        if (l->sweep != SIZE_MAX || l->unstarted < 2 || s->rooms[l->worker].cpus_milli >= 0 ||
            !is_wanted_elsewhere(s, l))
            continue;
        mem_grow((void **)&p->recalls, &s->recalls_capacity, p->n_recalls, sizeof *p->recalls);
        p->recalls[p->n_recalls++] = (struct sched_recall){ i, l->unstarted / 2 };
    }
}

/* ---- expectations ---- */

/* Whether one more of the user's jobs may run there, at the latest when one of the user's jobs has
 * ended there.  A worker that has room now was passed over for a reason. */
static bool could_follow(const struct split *s, const struct sched_sweep *need, size_t worker)
{
    bool may_follow = is_within_limits(s, (size_t)(need - s->in->sweeps));

    if (s->in->workers[worker].takes_one || s->rooms[worker].has_next ||
        !could_hold(s, need, worker) || fits_now(s, need, worker))
        return false;
    for (size_t i = 0; !may_follow && i < s->in->n_loads; i++)
        may_follow = s->in->loads[i].worker == worker && s->in->loads[i].uid == need->uid;
    return may_follow;
}

/* Makes expectations.  Which job ends next is unknown: any worker may have room first. */
static void look_ahead(struct split *s)
{
    struct sched_plan *p = s->plan;
    bool is_any_missing = false;
    size_t sweep;

    for (size_t i = 0; i < s->in->n_sweeps; i++) {
        s->sweeps[i].is_blocked = false;
        for (size_t w = 0; s->sweeps[i].ready > 0 && w < s->in->n_workers; w++)
            is_any_missing |= stage_ms(s->in->sweeps[i].stage_ms, w) > 0;
    }
    for (size_t i = 0; i < s->in->n_workers; i++)
        s->rooms[i].is_reserved = false;
    while (is_any_missing && (sweep = next_sweep(s)) != SIZE_MAX) {
        const struct sched_sweep *need = &s->in->sweeps[sweep];
        size_t worker = best_worker(s, sweep, could_follow);

        if (worker == SIZE_MAX ||
            (need->mean_ms > 0 &&
             is_sooner_elsewhere(s, sweep, stage_ms(need->stage_ms, worker)))) {
            s->sweeps[sweep].is_blocked = true;
            continue;
        }
        s->rooms[worker].has_next = true;
        take_jobs(s, worker, sweep, 1);
        if (stage_ms(need->stage_ms, worker) == 0)
            continue;
        mem_grow((void **)&p->expectations, &s->expectations_capacity, p->n_expectations,
                 sizeof *p->expectations);
        p->expectations[p->n_expectations++] = (struct sched_expectation){ worker, sweep };
    }
}

void sched_split(const struct sched_input *in, struct sched_plan *plan)
{
    struct split s = { .in = in, .plan = plan };

    *plan = (struct sched_plan){ 0 };
    s.rooms = mem_alloc(in->n_workers * sizeof *s.rooms);
    s.sweeps = mem_alloc(in->n_sweeps * sizeof *s.sweeps);
    s.users = mem_alloc((in->n_sweeps + in->n_loads) * sizeof *s.users);
    for (size_t i = 0; i < in->n_workers; i++) {
        const struct sched_worker *w = &in->workers[i];

        s.rooms[i] = (struct room){ .cpus_milli = w->cpus_milli,
                                    .gpus_milli = w->gpus_milli,
                                    .memory_bytes = w->memory_bytes,
                                    .disk_bytes = w->disk_bytes };
        if (w->is_private)
            continue;
        s.cpus_milli += (double)w->cpus_milli;
        s.gpus_milli += (double)w->gpus_milli;
    }
    for (size_t i = 0; i < in->n_sweeps; i++) {
        s.sweeps[i].ready = in->sweeps[i].ready;
        s.sweeps[i].user = user_of(&s, in->sweeps[i].uid);
    }
    for (size_t i = 0; i < in->n_loads; i++) {
        const struct sched_load *l = &in->loads[i];
        const struct sched_worker *w = &in->workers[l->worker];
        struct user *u = &s.users[user_of(&s, l->uid)];
        struct room *r = &s.rooms[l->worker];

        hold(&s, u, l->worker, l->jobs, l->cpus_milli, l->gpus_milli);
        r->cpus_milli -= l->jobs * l->cpus_milli;
        r->gpus_milli -= l->jobs * l->gpus_milli;
        r->memory_bytes -= l->jobs * l->memory_bytes;
        r->disk_bytes -= l->jobs * l->disk_bytes;
        r->is_reserved |= w->takes_one;
        r->work_ms += (double)l->jobs * work_of(w, l->cpus_milli, l->gpus_milli, l->mean_ms);
        if (l->sweep != SIZE_MAX)
            s.sweeps[l->sweep].held += held(u, l->jobs * l->cpus_milli, l->jobs * l->gpus_milli);
    }
    fill_slots(&s);
    send_ahead(&s);
    recall_surplus(&s);
    look_ahead(&s);
    free(s.rooms);
    free(s.sweeps);
    free(s.users);
}

void sched_plan_free(struct sched_plan *plan)
{
    free(plan->hands);
    free(plan->recalls);
    free(plan->expectations);
    *plan = (struct sched_plan){ 0 };
}
