/* SPDX-License-Identifier: MIT */
/* why.c - why a job does not run, or how it ended */

#include "server/handle/why.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "server/base/nodes.h"
#include "server/base/turn.h"
#include "server/base/user_limit.h"
#include "server/conn/conn.h"
#include "server/conn/handler.h"
#include "server/conn/permission.h"
#include "server/pilot/pilots.h"
#include "server/queue/fit.h"
#include "server/queue/passed_env.h"
#include "server/queue/rows.h"
#include "server/queue/sched.h"
#include "server/share/project.h"

enum { WHY_LINES_MAX = 200 };

struct why {
    struct server *sv;
    struct arena *arena; /* holds the lines */
    const char **lines;
    size_t n;
    size_t n_could; /* connected workers that could run it at some time */
};

enum { NEVER_SHOWN = 3, BEFORE_MAX = 10000, EARLIER_SHOWN = 3 };

/* What a job of the sweep needs, and where it may run. */
struct wanted {
    int64_t sweep;
    uid_t uid;
    enum sweep_state state;
    int64_t cpus_milli, gpus_milli, memory_bytes, disk_bytes;
    struct bytes nodes;
    const char *user;
    int64_t priority;
    const char *refused; /* why none of its jobs can be handed out */
    bool is_limited;     /* its user has reached a limit: set by say_limit() */
    bool is_secret;      /* its jobs get variables that env: passes from a shell */
    struct pilot_need need;
    struct grown grown; /* what the job asks for, if it grew */
    struct sweep_pools pools;
};

struct machine {
    int64_t id;
    const char *node, *user;
    bool is_drained;
    int64_t cpus_milli, gpus_milli, memory_bytes, disk_bytes; /* disk_bytes 0: not known */
    int64_t used_cpus_milli, used_gpus_milli, used_memory_bytes, used_disk_bytes;
};

static __attribute__((format(printf, 2, 3))) void why_say(struct why *to, const char *format, ...)
{
    va_list ap;
    char *text;

    if (to->n == WHY_LINES_MAX)
        return;
    va_start(ap, format);
    text = mem_vprintf(format, ap);
    va_end(ap);
    to->lines[to->n++] = arena_strdup(to->arena, text);
    free(text);
}

static struct why why_begin(struct server *sv, struct arena *a)
{
    return (struct why){ sv, a, arena_alloc(a, WHY_LINES_MAX * sizeof(char *)), 0, 0 };
}

/* ---- machines ---- */

static bool lacks_disk(const struct machine *m, const struct wanted *w)
{
    return m->disk_bytes > 0 && w->disk_bytes > m->disk_bytes;
}

static void say_too_small(struct why *to, const struct machine *m, const struct wanted *w)
{
    struct buf size = { 0 };

    if (m->cpus_milli < w->cpus_milli) {
        why_say(to, "%s: it needs %g cpus, and there are %g", m->node, (double)w->cpus_milli / 1000,
                (double)m->cpus_milli / 1000);
    } else if (m->gpus_milli < w->gpus_milli) {
        why_say(to, "%s: it needs %g GPUs, and there are %g", m->node, (double)w->gpus_milli / 1000,
                (double)m->gpus_milli / 1000);
    } else if (lacks_disk(m, w)) {
        units_add_size(&size, w->disk_bytes);
        buf_add_str(&size, " on scratch (resources: disk), and there are ");
        units_add_size(&size, m->disk_bytes);
        why_say(to, "%s: it needs %s", m->node, buf_text(&size));
    } else {
        units_add_size(&size, w->memory_bytes);
        buf_add_str(&size, " of memory, and there are ");
        units_add_size(&size, m->memory_bytes);
        why_say(to, "%s: it needs %s", m->node, buf_text(&size));
    }
    buf_free(&size);
}

static bool is_too_small(const struct machine *m, const struct wanted *w)
{
    return m->cpus_milli < w->cpus_milli || m->gpus_milli < w->gpus_milli ||
           (m->memory_bytes > 0 && w->memory_bytes > m->memory_bytes) || lacks_disk(m, w);
}

/* Says that the machine's scratch is promised to the jobs that run there, if too little of it is
 * left for the job; returns whether it said so. */
static bool say_promised(struct why *to, const struct machine *m, const struct wanted *w)
{
    struct buf text = { 0 };

    if (m->disk_bytes == 0 || w->disk_bytes == 0 ||
        w->disk_bytes <= m->disk_bytes - m->used_disk_bytes)
        return false;
    units_add_size(&text, m->used_disk_bytes);
    buf_add_str(&text, " of ");
    units_add_size(&text, m->disk_bytes);
    why_say(to, "%s: it is busy, %s on scratch are promised to jobs that run there", m->node,
            buf_text(&text));
    buf_free(&text);
    return true;
}

/* Whether the worker is a pilot that does not serve the sweep. */
static bool is_other_pilot(const struct conn *c, const struct wanted *w)
{
    return c->pilot != 0 && (c->uid != w->uid || !sweep_pools_have(&w->pools, c->pool));
}

static bool is_listed(const struct why *to, const struct conn *c, const struct machine *m,
                      const struct wanted *w)
{
    return c->pilot != 0 || nodes_match(&to->sv->conf, w->nodes, m->node);
}

/* Says why the sweep's jobs cannot run on the worker; NULL if nothing there forbids it. */
static const char *find_refusal(const struct conn *c, const struct wanted *w)
{
    const char *refusal = conn_refusal(c, w->user);

    if (refusal == NULL && w->is_secret && c->is_open)
        refusal = "its messages are files that others may read, so it gets no variable that env: "
                  "passes";
    return refusal != NULL ? refusal : fit_lack(c, w->sweep);
}

static void say_machine(struct why *to, const struct machine *m, const struct wanted *w)
{
    const struct conn *c = conn_of_worker(to->sv, m->id);
    const char *refusal = c == NULL ? NULL : find_refusal(c, w);
    const char *avoided = fit_avoided(to->sv, m->node, (int64_t)w->uid, NULL);
    double cpus = (double)m->cpus_milli / 1000, used_cpus = (double)m->used_cpus_milli / 1000;
    bool is_busy =
        m->cpus_milli - m->used_cpus_milli < w->cpus_milli ||
        m->gpus_milli - m->used_gpus_milli < w->gpus_milli ||
        (m->memory_bytes > 0 && m->memory_bytes - m->used_memory_bytes < w->memory_bytes);

    if (c == NULL || is_other_pilot(c, w))
        return;
    if (!may_run(to->sv, c, w->uid))
        why_say(to, "%s: its worker runs jobs of %s only", m->node, m->user);
    else if (c->is_retiring)
        why_say(to, "%s: its pilot is about to leave", m->node);
    else if (!pilot_has_time(c, &w->need, turn_now_ms(to->sv)))
        why_say(to, "%s: its pilot ends before the job would", m->node);
    else if (!is_listed(to, c, m, w))
        why_say(to, "%s: it is not in the sweep's list of nodes", m->node);
    else if (refusal != NULL)
        why_say(to, "%s: %s", m->node, refusal);
    else if (avoided != NULL)
        why_say(to, "%s: these jobs avoid it (ludwig undrain %s), as %s", m->node, m->node,
                avoided);
    else if (m->is_drained)
        why_say(to, "%s: it is drained (ludwig undrain %s)", m->node, m->node);
    else if (is_too_small(m, w))
        say_too_small(to, m, w);
    else if (!is_busy && say_promised(to, m, w))
        return;
    else if (is_busy && m->gpus_milli == 0)
        why_say(to, "%s: it is busy, %g of %g cpus are taken", m->node, used_cpus, cpus);
    else if (is_busy)
        why_say(to, "%s: it is busy, %g of %g cpus and %g of %g GPUs are taken", m->node, used_cpus,
                cpus, (double)m->used_gpus_milli / 1000, (double)m->gpus_milli / 1000);
    else
        why_say(to, "%s: there is room%s", m->node,
                w->is_limited ? ", but for that limit" : "; it is about to be handed out");
}

typedef void (*machine_fn)(struct why *to, const struct machine *m, const struct wanted *w);

static int each_machine(struct why *to, const struct wanted *w, machine_fn each, struct err *e)
{
    struct stmt *s = db_ask(to->sv->db, SQL_WHY_WORKERS, "");
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        struct machine m = { .id = stmt_int(s, 0),
                             .node = stmt_text(s, 1),
                             .user = stmt_text(s, 2),
                             .is_drained = stmt_int(s, 3) != 0,
                             .cpus_milli = stmt_int(s, 4),
                             .gpus_milli = stmt_int(s, 5),
                             .memory_bytes = stmt_int(s, 6) };
        const struct conn *c = conn_of_worker(to->sv, m.id);

        m.disk_bytes = c == NULL ? 0 : c->disk_bytes;
        if (db_get(to->sv->db, e, SQL_WHY_LOAD, "i>iiii", m.id, &m.used_cpus_milli,
                   &m.used_gpus_milli, &m.used_memory_bytes, &m.used_disk_bytes) < 0) {
            stmt_end(s);
            return -1;
        }
        each(to, &m, w);
    }
    return rc;
}

/* ---- workers that could never run it ---- */

static void say_if_never(struct why *to, const struct machine *m, const struct wanted *w)
{
    const struct conn *c = conn_of_worker(to->sv, m->id);

    if (c == NULL || is_other_pilot(c, w) || !may_run(to->sv, c, w->uid))
        return;
    if (is_listed(to, c, m, w) && find_refusal(c, w) == NULL && !is_too_small(m, w))
        to->n_could++;
    else
        say_machine(to, m, w);
}

/* ---- the queue ---- */

/* What a user's jobs occupy now, as the scheduler counts it. */
struct user_load {
    int64_t jobs, cpus_milli, gpus_milli;
    int64_t shared_cpus_milli, shared_gpus_milli; /* part of these: on workers for all users */
};

static int user_load(struct why *to, uid_t uid, struct user_load *h, struct err *e)
{
    *h = (struct user_load){ 0 };
    for (struct conn *c = conn_after(to->sv, 0); c != NULL; c = conn_after(to->sv, c->number)) {
        int64_t jobs = 0, cpus_milli = 0, gpus_milli = 0;

        if (c->worker != 0 && !c->is_retiring &&
            db_get(to->sv->db, e, SQL_WHY_USER_LOAD, "ii>iii", c->worker, (int64_t)uid, &jobs,
                   &cpus_milli, &gpus_milli) < 0)
            return -1;
        h->jobs += jobs;
        h->cpus_milli += cpus_milli;
        h->gpus_milli += gpus_milli;
        if (!fit_is_private(to->sv, c)) {
            h->shared_cpus_milli += cpus_milli;
            h->shared_gpus_milli += gpus_milli;
        }
    }
    return 0;
}

/* Says so if the user has reached a limit (0: there is none).  what: the unit, "GPU"; key: of
 * `limits:` in ludwigd.yaml. */
static void say_limit(struct why *to, struct wanted *w, const char *what, const char *key,
                      int64_t has_milli, int64_t needs_milli, int64_t limit_milli)
{
    char *name;

    if (limit_milli == 0 || has_milli + needs_milli <= limit_milli)
        return;
    w->is_limited = true;
    name = mem_printf("%s%s", what, has_milli == 1000 ? "" : "s");
    if (has_milli == limit_milli)
        why_say(to, "%s already has %g %s, the limit per user (limits: %s in ludwigd.yaml)",
                w->user, (double)has_milli / 1000, name, key);
    else
        why_say(to,
                "%s already has %g %s, and the limit per user is %g (limits: %s in ludwigd.yaml)",
                w->user, (double)has_milli / 1000, name, (double)limit_milli / 1000, key);
    free(name);
}

static double share_of(const struct user_load *h, const struct user_load *all)
{
    return sched_share(h->shared_cpus_milli, h->shared_gpus_milli, (double)all->shared_cpus_milli,
                       (double)all->shared_gpus_milli);
}

/* Says which limits the sweep's user has reached, and which other users come first, as their jobs
 * hold a smaller share of the machines (sched.h). */
static int say_users(struct why *to, struct wanted *w, struct err *e)
{
    const struct conf *conf = &to->sv->conf;
    struct user_load own, all = { 0 };
    struct stmt *s;
    int rc = user_load(to, w->uid, &own, e);

    if (rc < 0)
        return -1;
    say_limit(to, w, "GPU", "gpus_per_user", own.gpus_milli, w->gpus_milli,
              conf->gpus_per_user_milli);
    say_limit(to, w, "CPU", "cpus_per_user", own.cpus_milli, w->cpus_milli,
              conf->cpus_per_user_milli);
    say_limit(to, w, "running job", "jobs_per_user", 1000 * own.jobs, 1000,
              1000 * conf->jobs_per_user);
    for (struct conn *c = conn_after(to->sv, 0); c != NULL; c = conn_after(to->sv, c->number)) {
        int64_t cpus_milli = 0, gpus_milli = 0;

        if (c->worker != 0 && !c->is_retiring && !fit_is_private(to->sv, c) &&
            db_get(to->sv->db, e, SQL_WHY_SIZE, "i>ii", c->worker, &cpus_milli, &gpus_milli) < 0)
            return -1;
        all.shared_cpus_milli += cpus_milli;
        all.shared_gpus_milli += gpus_milli;
    }
    s = db_ask(to->sv->db, SQL_WHY_OTHERS, "i", (int64_t)w->uid);
    while (rc == 0 && (rc = stmt_step(s, e)) == 1) {
        struct user_load h;

        rc = user_load(to, (uid_t)stmt_int(s, 0), &h, e);
        if (rc == 0 && share_of(&h, &all) < share_of(&own, &all))
            why_say(to,
                    "share: %s waits as well, and has %.1f %% of the machines to %s's %.1f %%: "
                    "so %s comes first",
                    stmt_text(s, 1), 100 * share_of(&h, &all), w->user, 100 * share_of(&own, &all),
                    stmt_text(s, 1));
    }
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

/* Says that a job that grew (retry: grow) asks for more than its sweep, and raises w to that. */
static int take_grown(struct why *to, int64_t job, struct wanted *w, struct err *e)
{
    struct buf text = { 0 };

    if (db_get(to->sv->db, e, SQL_JOB_ASKS, "i>ii", job, &w->grown.memory_bytes,
               &w->grown.time_ms) < 0)
        return -1;
    if (!grown_is(w->grown))
        return 0;
    if (w->grown.memory_bytes > w->memory_bytes) {
        units_add_size(&text, w->grown.memory_bytes);
        buf_add_str(&text, " of memory, not ");
        units_add_size(&text, w->memory_bytes);
    }
    if (w->grown.time_ms > w->need.time_ms) {
        buf_add_str(&text, text.n > 0 ? ", and " : "");
        units_add_duration(&text, w->grown.time_ms);
        buf_add_str(&text, ", not ");
        units_add_duration(&text, w->need.time_ms);
    }
    why_say(to, "it grew after an attempt that was in vain (retry: grow): it asks for %s",
            buf_text(&text));
    buf_free(&text);
    w->memory_bytes = w->grown.memory_bytes;
    w->need.time_ms = w->grown.time_ms;
    return 0;
}

static int wanted_load(struct why *to, int64_t sweep, struct wanted *w, struct err *e)
{
    struct stmt *s = db_ask(to->sv->db, SQL_WHY_SWEEP, "i", sweep);
    int rc = stmt_step(s, e);

    if (rc == 1) {
        struct bytes nodes = stmt_bytes(s, 5);

        *w = (struct wanted){ .sweep = sweep,
                              .uid = (uid_t)stmt_int(s, 0),
                              .state = (enum sweep_state)stmt_enum(s, 1, SWEEP_STATE_COUNT),
                              .cpus_milli = stmt_int(s, 2),
                              .gpus_milli = stmt_int(s, 3),
                              .memory_bytes = stmt_int(s, 4),
                              .user = stmt_copy(s, 6, to->arena),
                              .priority = stmt_int(s, 7),
                              .refused = stmt_copy(s, 8, to->arena),
                              .need = { stmt_int(s, 9),
                                        stmt_int(s, 10) *
                                            row_mean_ms(stmt_int(s, 11), stmt_int(s, 12)) },
                              .disk_bytes = stmt_int(s, 13) };
        nodes.data = (const uint8_t *)arena_strndup(to->arena, (const char *)nodes.data, nodes.n);
        w->nodes = nodes;
    }
    stmt_end(s);
    if (rc == 1)
        rc = sweep_pools_read(to->sv, sweep, to->arena, &w->pools, e);
    if (rc >= 0) {
        rc = passed_env_is_there(to->sv, sweep, e);
        w->is_secret = rc == 1;
    }
    return rc < 0 ? -1 : 0;
}

/* ---- pilots ---- */

/* Says how long a time the pool's pilots ask for when nothing says how long their jobs take. */
static void say_default_time(struct why *to, const struct pilot_owner *of)
{
    int64_t ms = of->spec->extra.n > 0 ? 0 : pilots_default_time_ms(to->sv, of->user, of->spec);
    struct buf text = { 0 };

    if (ms > 0) {
        units_add_duration(&text, ms);
        why_say(
            to,
            "partition %s: its pilots ask for %s, the default there, as nothing says how long a job "
            "takes; with resources: {time: 10min}, the longest that one may run, Slurm starts them sooner",
            of->spec->partition, buf_text(&text));
    }
    buf_free(&text);
}

static int say_pool(struct why *to, const struct pilot_owner *of, bool is_time_known, struct err *e)
{
    const char *trouble = pilots_trouble(to->sv, of->pool, to->arena);
    const char *limit = pilots_limit(to->sv, of, to->arena);
    const char *partition = of->spec->partition;
    struct stmt *s = db_ask(to->sv->db, SQL_WHY_PILOTS, "i", of->pool);
    bool is_any_waiting = false;
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        int64_t job = stmt_int(s, 0), n = stmt_int(s, 2);
        const char *words =
            stmt_is_null(s, 1) ? "Slurm was not asked about it yet" : stmt_text(s, 1);

        is_any_waiting = true;
        if (job == 0)
            why_say(to, "partition %s: %" PRId64 " pilot%s about to be submitted", partition, n,
                    n == 1 ? " is" : "s are");
        else if (n == 1)
            why_say(to, "partition %s: a pilot, Slurm's job %" PRId64 ": %s", partition, job,
                    words);
        else
            why_say(to, "partition %s: %" PRId64 " pilots, Slurm's job %" PRId64 ": %s", partition,
                    n, job, words);
    }
    if (rc == 0 && is_any_waiting && !is_time_known)
        say_default_time(to, of);
    if (trouble != NULL)
        why_say(to, "partition %s: %s%s", partition,
                rc < 0 || is_any_waiting ? "" : "no pilot at the moment: ", trouble);
    else if (limit != NULL)
        why_say(to, "partition %s: %s", partition, limit);
    return rc;
}

/* Says what keeps the sweep from getting pilots. */
static int why_pilots(struct why *to, const struct wanted *w, struct err *e)
{
    struct stmt *s = db_ask(to->sv->db, SQL_WHY_POOLS, "i", w->sweep);
    struct slurm_pool pool;
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        rc = pool_read(stmt_bytes(s, 1), to->arena, &pool, e);
        if (rc == 0 && !stmt_is_null(s, 2))
            why_say(to, "partition %s: no pilots: %s", pool.partition, stmt_text(s, 2));
        else if (rc == 0 && grown_is(w->grown) && !stmt_is_null(s, 5) &&
                 w->grown.memory_bytes >= stmt_int(s, 6) && w->grown.time_ms >= stmt_int(s, 7))
            why_say(to, "partition %s: no pilots for a job that grew so far: %s", pool.partition,
                    stmt_text(s, 5));
        else if (rc == 0)
            rc = say_pool(to,
                          &(struct pilot_owner){ (uid_t)stmt_int(s, 3), stmt_text(s, 4),
                                                 stmt_int(s, 0), &pool },
                          pilot_need_ms(&w->need) > 0, e);
        if (rc < 0)
            break;
    }
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

/* ---- a job, a sweep ---- */

static int why_queued(struct why *to, int64_t sweep, int64_t no, int64_t job, bool is_paused,
                      struct err *e)
{
    int64_t before = 0, above = 0, slots = 0;
    struct wanted w = { 0 };
    size_t n_before;

    if (wanted_load(to, sweep, &w, e) < 0)
        return -1;
    if (w.refused != NULL) {
        why_say(to, "%s", w.refused);
        return 0;
    }
    if (w.state == SWEEP_PAUSED)
        why_say(to, "sweep %" PRId64 " is paused (ludwig resume %" PRId64 ")", sweep, sweep);
    if (is_paused)
        why_say(to, "it is paused (ludwig resume %" PRId64 ".%" PRId64 ")", sweep, no);
    if (take_grown(to, job, &w, e) < 0)
        return -1;
    if (is_paused || w.state == SWEEP_PAUSED)
        return 0;
    if (db_get(to->sv->db, e, SQL_WHY_BEFORE, "ii>i", sweep, no, &before) < 0 ||
        db_get(to->sv->db, e, SQL_WHY_SLOTS, "i>i", sweep, &slots) < 0 ||
        db_get(to->sv->db, e, SQL_WHY_ABOVE, "ii>i", (int64_t)w.uid, w.priority, &above) < 0)
        return -1;
    if (slots > 0)
        why_say(to, "at most %" PRId64 " of its sweep run at once (ludwig limit %" PRId64 " N)",
                slots, sweep);
    if (above > 0)
        why_say(to, "%" PRId64 " jobs of %s's sweeps with a higher priority come first", above,
                w.user);
    if (before > BEFORE_MAX)
        why_say(to, "more than %d jobs of its sweep come before it", BEFORE_MAX);
    else if (before > 0)
        why_say(to, "%" PRId64 " job%s of its sweep come%s before it", before,
                before == 1 ? "" : "s", before == 1 ? "s" : "");
    if (say_users(to, &w, e) < 0)
        return -1;
    n_before = to->n;
    if (each_machine(to, &w, say_machine, e) < 0)
        return -1;
    if (to->n == n_before && w.pools.n == 0)
        why_say(to, "no worker is connected (ludwig nodes shows those that were)");
    return why_pilots(to, &w, e);
}

int why_nobody(struct server *sv, int64_t sweep, struct arena *a, const char **note, struct err *e)
{
    struct why to = why_begin(sv, a);
    struct wanted w = { 0 };
    struct buf text = { 0 };

    *note = NULL;
    if (wanted_load(&to, sweep, &w, e) < 0)
        return -1;
    if (w.pools.n > 0)
        return 0; /* Slurm may have nodes for it */
    if (each_machine(&to, &w, say_if_never, e) < 0)
        return -1;
    if (to.n == 0 || to.n_could > 0)
        return 0;
    for (size_t i = 0; i < to.n && i < NEVER_SHOWN; i++)
        buf_printf(&text, "%s%s", i > 0 ? "; " : "", to.lines[i]);
    if (to.n > NEVER_SHOWN)
        buf_printf(&text, "; and %zu more", to.n - NEVER_SHOWN);
    *note = buf_to_arena(&text, a);
    return 0;
}

/* Says that a retry is refused now, if the owner may have no more jobs queued. */
static void say_if_full(struct why *to, uid_t owner)
{
    const struct user_limit queued = user_limit_queued(to->sv);
    struct err full = { 0 };

    if (user_limit_check(to->sv, owner, &queued, 1, &full) < 0 && full.kind == ERR_BUSY)
        why_say(to, "a retry is refused now: %s", full.text);
}

static int say_staging(struct why *to, int64_t sweep, const char *node, struct err *e)
{
    struct stmt *s = db_ask(to->sv->db, SQL_SWEEP_WORK, "i", sweep);
    int rc = stmt_step(s, e);
    struct jobspec w = { 0 };

    if (rc == 1)
        (void)schema_read(&work_schema, stmt_bytes(s, 2), to->arena, &w, NULL);
    if (w.environment.tool != NULL)
        why_say(to,
                "its data are being brought to %s, or its environment is being built there by %s",
                node, w.environment.tool);
    else
        why_say(to, "its data are being brought to %s", node);
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

/* Says what the job reported last, and what the rule of `stop:` said of it. */
static int say_measured(struct why *to, int64_t job, const struct sweep_info *info, struct err *e)
{
    struct stmt *s = db_ask(to->sv->db, SQL_MEASURED_GET, "i", job);
    int rc = stmt_step(s, e);

    if (rc == 1 && info->ranking.metric != NULL) {
        bool has_begun = stmt_int(s, 0) >= 0;

        if (has_begun && stmt_is_null(s, 1))
            why_say(to, "%s is nan at step %" PRId64, info->ranking.metric, stmt_int(s, 0));
        else if (has_begun)
            why_say(to, "%s is %.6g at step %" PRId64, info->ranking.metric, stmt_float(s, 1),
                    stmt_int(s, 0));
        if (!stmt_is_null(s, 2))
            why_say(to, "%s%s", stmt_int(s, 3) == STOP_DECIDED ? "it is to end early: " : "",
                    stmt_text(s, 2));
    }
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

/* Says why a job that had been stopped early was taken up again. */
static int say_resumed(struct why *to, int64_t job, struct err *e)
{
    struct stmt *s = db_ask(to->sv->db, SQL_MEASURED_GET, "i", job);
    int rc = stmt_step(s, e);

    if (rc == 1 && !stmt_is_null(s, 4))
        why_say(to, "it was stopped early, and taken up again from its checkpoint: %s",
                stmt_text(s, 4));
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

/* Says why the job was stopped: its attempt's reason, else the one recorded with the decision. */
static int say_stopped(struct why *to, int64_t id, const struct job_info *job, struct err *e)
{
    struct stmt *s = db_ask(to->sv->db, SQL_MEASURED_GET, "i", id);
    int rc = stmt_step(s, e);
    bool is_said = rc == 1 && !stmt_is_null(s, 2);

    why_say(to, "%s: %s",
            rc == 1 && stmt_int(s, 3) == STOP_RACED ? "it was not begun" : "it was stopped early",
            job->reason != NULL ? job->reason
            : is_said           ? stmt_text(s, 2)
                                : "the rule said so");
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

/* Says whether a stopped job may be taken up again without a user's retry. */
static int say_may_resume(struct why *to, int64_t sweep, int64_t job, struct err *e)
{
    int64_t n_ready, waits = 0, one;
    int rc = db_get(to->sv->db, e, SQL_STOP_READY, "i>ii", sweep, &n_ready, &waits);

    if (rc == 1 && waits != 0)
        rc = db_get(to->sv->db, e, SQL_STOP_MAY_RESUME, "i>i", job, &one);
    if (rc == 1 && waits != 0)
        why_say(to, "it goes on from its checkpoint if it is among the best of those known later");
    return rc < 0 ? -1 : 0;
}

static int say_all(struct why *to, const struct msg_ask_why *req, int64_t id,
                   const struct sweep_info *info, const struct job_info *job, uid_t owner,
                   bool is_paused, struct err *e)
{
    const char *node = job->node != NULL ? job->node : "its node";

    switch (job->state) {
    case JOB_QUEUED:
        if (job->follows != NULL) {
            why_say(to,
                    "job %s does the same: this one takes its result, or is queued itself if "
                    "that one comes to nothing",
                    job->follows);
            why_say(to, "ludwig why %s says where that one stands", job->follows);
            return 0;
        }
        if (job->node != NULL)
            why_say(to, "it was given to %s and waits for a slot there", node);
        return job->node != NULL ? 0 : why_queued(to, req->sweep, req->job, id, is_paused, e);
    case JOB_STAGING: return say_staging(to, req->sweep, node, e);
    case JOB_RUNNING: why_say(to, "it runs on %s", node); return say_measured(to, id, info, e);
    case JOB_PUBLISHING:
        why_say(to, "it has ended on %s; its results are being published", node);
        if (job->reason != NULL)
            why_say(to, "they are not on the shared drive yet: %s (%s tries again)", job->reason,
                    node);
        break;
    case JOB_HELD:
        why_say(to, "%s", job->reason != NULL ? job->reason : "held: its like failed");
        if (job->follows != NULL)
            why_say(to, "job %s does the same: this one takes its result", job->follows);
        why_say(to, "ludwig resume %s runs it alone, ludwig triage %" PRId64 " says what failed",
                job->job, req->sweep);
        break;
    case JOB_FAILED:
        why_say(to, "it failed: %s", job->reason != NULL ? job->reason : "no reason is known");
        if (job->run_path != NULL)
            why_say(to, "what it left: %s", job->run_path);
        why_say(to, "ludwig retry %s runs it again", job->job);
        say_if_full(to, owner);
        break;
    case JOB_STOPPED:
        if (say_stopped(to, id, job, e) < 0)
            return -1;
        if (job->run_path != NULL)
            why_say(to, "what it saved: %s", job->run_path);
        if (say_may_resume(to, req->sweep, id, e) < 0)
            return -1;
        why_say(to, "ludwig retry --stopped %s runs it to its end", job->job);
        say_if_full(to, owner);
        break;
    case JOB_CANCELLED:
        why_say(to, "it was cancelled; ludwig retry %s runs it again", job->job);
        say_if_full(to, owner);
        break;
    default:
        why_say(to, "it is %s; its files: %s", job_state_names[job->state], job->run_path);
        if (job->reason != NULL)
            why_say(to, "%s", job->reason);
        break;
    }
    return 0;
}

/* Says how earlier attempts of the job ended, EARLIER_SHOWN of them at most. */
static int why_earlier(struct why *to, int64_t job, const struct job_info *info, struct err *e)
{
    bool is_waiting = info->state == JOB_QUEUED && info->node == NULL;
    struct stmt *s = db_ask(to->sv->db, SQL_WHY_EARLIER, "iii", job,
                            is_waiting ? (int64_t)0 : info->attempt, (int64_t)EARLIER_SHOWN);
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        const char *node = stmt_is_null(s, 1) ? "its node" : stmt_text(s, 1);
        const char *state = attempt_state_names[stmt_enum(s, 3, ATTEMPT_STATE_COUNT)];
        const char *cause = cause_names[stmt_enum(s, 4, CAUSE_COUNT)];

        why_say(to, "attempt %" PRId64 " on %s was in vain: %s", stmt_int(s, 0), node,
                !stmt_is_null(s, 2)          ? stmt_text(s, 2)
                : strcmp(cause, "none") == 0 ? state
                                             : cause);
    }
    return rc;
}

/* Says how an advised job's configuration was chosen, and from which checkpoint it begins. */
static int say_point(struct why *to, int64_t job, struct err *e)
{
    int64_t no, by, asked, origin;
    int rc = db_get(to->sv->db, e, SQL_POINT_BY, "i>iii", job, &no, &by, &asked);

    if (rc == 1 && by == POINT_BY_LATE)
        why_say(to,
                "its configuration is random, as the advisor had not answered in time "
                "(advisor-late, question %" PRId64 ")",
                asked);
    else if (rc == 1 && by == POINT_BY_FALLBACK)
        why_say(to, "its configuration is random, as the advisor had failed too often");
    else if (rc == 1)
        why_say(to, "the advisor chose its configuration (question %" PRId64 ")", asked);
    if (rc >= 0)
        rc = db_get(to->sv->db, e, SQL_JOB_ORIGIN, "i>i", job, &origin);
    if (rc == 1)
        why_say(to, "it begins with the checkpoint of param_%03" PRId64, origin);
    return rc;
}

int handle_ask_why(struct server *sv, struct ask *ask, const void *request, void *reply,
                   struct err *e)
{
    const struct msg_ask_why *req = request;
    struct msg_why *rep = reply;
    struct why to = why_begin(sv, ask->arena);
    struct sweep_info info;
    size_t size_bytes = 0;
    int64_t owner, job = 0, state, paused = 0;
    int rc = row_sweep(sv, req->sweep, ask->arena, &info, &owner, e);

    if (rc == 0)
        rc = project_may_see(sv, ask, owner, &info, e);
    if (rc != 0)
        return rc;
    rc = db_get(sv->db, e, SQL_JOB_BY_NO, "ii>iii", req->sweep, req->job, &job, &state, &paused);
    if (rc == 0)
        return err_set(e, ERR_NOT_FOUND, "there is no job %" PRId64 ".%" PRId64, req->sweep,
                       req->job);
    if (rc < 0 || row_job(sv, info.project, job, ask->arena, &rep->job, &size_bytes, e) < 0 ||
        say_all(&to, req, job, &info, &rep->job, (uid_t)owner, paused != 0, e) < 0 ||
        say_resumed(&to, job, e) < 0 || why_earlier(&to, job, &rep->job, e) < 0 ||
        say_point(&to, job, e) < 0)
        return -1;
    rep->lines = (struct list){ to.lines, to.n };
    return 0;
}
