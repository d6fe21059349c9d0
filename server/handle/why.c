/* SPDX-License-Identifier: MIT */
/* why.c - what keeps a job from running, or what became of it */

#include "server/handle/why.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "server/base/nodes.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/conn/handler.h"
#include "server/conn/permission.h"
#include "server/pilot/pilots.h"
#include "server/queue/pilot_rows.h"
#include "server/queue/rows.h"
#include "server/queue/sched.h"
#include "server/share/project.h"

enum { WHY_LINES_MAX = 200 };

struct why {
    struct server *sv;
    struct arena *arena; /* holds the lines */
    const char **lines;
    size_t n;
    size_t n_could; /* workers that could run it at some time */
};

static void why_say(struct why *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What keeps its sweep from getting pilots. */
static int why_pilots(struct why *to, int64_t sweep, struct err *e);

enum { NEVER_SHOWN = 3, BEFORE_MAX = 10000 };

/* What a job of the sweep needs, and who may run it. */
struct wanted {
    int64_t sweep;
    uid_t uid;
    enum sweep_state state;
    int64_t cpus_milli, gpus_milli, memory_bytes;
    struct bytes nodes;
    const char *user;
    int64_t priority;
    const char *refused; /* why no job of it can be handed out */
    bool is_limited;     /* its user has as much as may be had */
    struct pilot_need need;
    struct sweep_pools pools;
};

struct machine {
    int64_t id;
    const char *node, *user;
    bool is_drained;
    int64_t cpus_milli, gpus_milli, memory_bytes;
    int64_t used_cpus_milli, used_gpus_milli, used_memory_bytes;
};

static void why_say(struct why *to, const char *format, ...)
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

/* ---- one machine after the other ---- */

static void say_too_small(struct why *to, const struct machine *m, const struct wanted *w)
{
    struct buf size = { 0 };

    if (m->cpus_milli < w->cpus_milli) {
        why_say(to, "%s: it needs %g cpus, and there are %g", m->node, (double)w->cpus_milli / 1000,
                (double)m->cpus_milli / 1000);
    } else if (m->gpus_milli < w->gpus_milli) {
        why_say(to, "%s: it needs %g GPUs, and there are %g", m->node, (double)w->gpus_milli / 1000,
                (double)m->gpus_milli / 1000);
    } else {
        units_add_size(&size, w->memory_bytes);
        buf_add_str(&size, " of memory, and there are ");
        units_add_size(&size, m->memory_bytes);
        why_say(to, "%s: it needs %s", m->node, buf_text(&size));
    }
    buf_free(&size);
}

static bool lacks_memory(int64_t there, int64_t wanted)
{
    return there > 0 && wanted > there;
}

static bool is_too_small(const struct machine *m, const struct wanted *w)
{
    return m->cpus_milli < w->cpus_milli || m->gpus_milli < w->gpus_milli ||
           lacks_memory(m->memory_bytes, w->memory_bytes);
}

static bool is_busy(const struct machine *m, const struct wanted *w)
{
    return m->cpus_milli - m->used_cpus_milli < w->cpus_milli ||
           m->gpus_milli - m->used_gpus_milli < w->gpus_milli ||
           (m->memory_bytes > 0 && m->memory_bytes - m->used_memory_bytes < w->memory_bytes);
}

static void say_busy(struct why *to, const struct machine *m)
{
    double cpus = (double)m->cpus_milli / 1000, used_cpus = (double)m->used_cpus_milli / 1000;

    if (m->gpus_milli == 0)
        why_say(to, "%s: it is busy, %g of %g cpus are taken", m->node, used_cpus, cpus);
    else
        why_say(to, "%s: it is busy, %g of %g cpus and %g of %g GPUs are taken", m->node, used_cpus,
                cpus, (double)m->used_gpus_milli / 1000, (double)m->gpus_milli / 1000);
}

/* Is it for the sweep at all? */
static bool is_other_pilot(const struct conn *c, const struct wanted *w)
{
    return c->pilot != 0 && (c->uid != w->uid || !sweep_pools_have(&w->pools, c->pool));
}

static bool is_listed(const struct why *to, const struct conn *c, const struct machine *m,
                      const struct wanted *w)
{
    return c->pilot != 0 || nodes_match(&to->sv->conf, w->nodes, m->node);
}

static void say_machine(struct why *to, const struct machine *m, const struct wanted *w)
{
    const struct conn *c = conn_of_worker(to->sv, m->id);
    const char *refusal = c == NULL ? NULL : conn_refusal(c, w->user);

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
    else if (m->is_drained)
        why_say(to, "%s: it is drained (ludwig undrain %s)", m->node, m->node);
    else if (is_too_small(m, w))
        say_too_small(to, m, w);
    else if (is_busy(m, w))
        say_busy(to, m);
    else
        why_say(to, "%s: there is room%s", m->node,
                w->is_limited ? ", but for that limit" : "; it is about to be handed out");
}

static int machine_load(struct server *sv, struct machine *m, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_WHY_LOAD, "i", m->id);
    int rc = stmt_step(s, e);

    if (rc == 1) {
        m->used_cpus_milli = stmt_int(s, 0);
        m->used_gpus_milli = stmt_int(s, 1);
        m->used_memory_bytes = stmt_int(s, 2);
    }
    stmt_end(s);
    return rc < 0 ? -1 : 0;
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
                             .gpus_milli = stmt_int(s, 5) * 1000,
                             .memory_bytes = stmt_int(s, 6) };

        if (machine_load(to->sv, &m, e) < 0) {
            stmt_end(s);
            return -1;
        }
        each(to, &m, w);
    }
    return rc;
}

static int say_machines(struct why *to, const struct wanted *w, struct err *e)
{
    size_t n_before = to->n;

    if (each_machine(to, w, say_machine, e) < 0)
        return -1;
    if (to->n == n_before && w->pools.n == 0)
        why_say(to, "no worker is connected (ludwig nodes shows those that were)");
    return 0;
}

/* ---- nobody could, whatever else runs ---- */

static void say_if_never(struct why *to, const struct machine *m, const struct wanted *w)
{
    const struct conn *c = conn_of_worker(to->sv, m->id);

    if (c == NULL || is_other_pilot(c, w) || !may_run(to->sv, c, w->uid))
        return;
    if (is_listed(to, c, m, w) && conn_refusal(c, w->user) == NULL && !is_too_small(m, w))
        to->n_could++;
    else
        say_machine(to, m, w);
}

static const char *join(struct why *to)
{
    struct buf text = { 0 };
    const char *line;

    for (size_t i = 0; i < to->n && i < NEVER_SHOWN; i++)
        buf_printf(&text, "%s%s", i > 0 ? "; " : "", to->lines[i]);
    if (to->n > NEVER_SHOWN)
        buf_printf(&text, "; and %zu more", to->n - NEVER_SHOWN);
    line = arena_strdup(to->arena, buf_text(&text));
    buf_free(&text);
    return line;
}

/* ---- the queue ---- */

static int say_before(struct why *to, const struct wanted *w, int64_t no, struct err *e)
{
    int64_t before = 0, above = 0;

    if (db_get_int(to->sv->db, e, &before, SQL_WHY_BEFORE, "ii", w->sweep, no) < 0 ||
        db_get_int(to->sv->db, e, &above, SQL_WHY_ABOVE, "ii", (int64_t)w->uid, w->priority) < 0)
        return -1;
    if (above > 0)
        why_say(to, "%" PRId64 " jobs of %s's sweeps with a higher priority come first", above,
                w->user);
    if (before > BEFORE_MAX)
        why_say(to, "more than %d jobs of its sweep come before it", BEFORE_MAX);
    else if (before > 0)
        why_say(to, "%" PRId64 " job%s of its sweep come%s before it", before,
                before == 1 ? "" : "s", before == 1 ? "s" : "");
    return 0;
}

/* What the user's jobs have now: as the scheduler counts it. */
struct user_load {
    int64_t jobs, cpus_milli, gpus_milli;
};

static int add_held(struct why *to, uid_t uid, int64_t worker, struct user_load *h, struct err *e)
{
    struct stmt *s = db_ask(to->sv->db, SQL_WHY_USER_LOAD, "ii", worker, (int64_t)uid);
    int rc = stmt_step(s, e);

    if (rc == 1) {
        h->jobs += stmt_int(s, 0);
        h->cpus_milli += stmt_int(s, 1);
        h->gpus_milli += stmt_int(s, 2);
    }
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

static int user_load(struct why *to, uid_t uid, struct user_load *h, struct err *e)
{
    *h = (struct user_load){ 0 };
    for (struct conn *c = conn_after(to->sv, 0); c != NULL; c = conn_after(to->sv, c->number))
        if (c->worker != 0 && !c->is_retiring && add_held(to, uid, c->worker, h, e) < 0)
            return -1;
    return 0;
}

static void say_limit(struct why *to, struct wanted *w, const char *what, int64_t has_milli,
                      int64_t needs_milli, int64_t limit_milli)
{
    if (limit_milli == 0 || has_milli + needs_milli <= limit_milli)
        return;
    w->is_limited = true;
    why_say(to, "limits: %s has %g %s, and each user may have %g at once", w->user,
            (double)has_milli / 1000, what, (double)limit_milli / 1000);
}

static void say_limits(struct why *to, struct wanted *w, const struct user_load *h)
{
    const struct conf *conf = &to->sv->conf;

    say_limit(to, w, "GPUs", h->gpus_milli, w->gpus_milli, conf->gpus_per_user_milli);
    say_limit(to, w, "cpus", h->cpus_milli, w->cpus_milli, conf->cpus_per_user_milli);
    say_limit(to, w, "jobs", 1000 * h->jobs, 1000, 1000 * conf->jobs_per_user);
}

/* ---- who has less comes first: as sched.h has it ---- */

static int add_size(struct why *to, int64_t worker, struct user_load *all, struct err *e)
{
    struct stmt *s = db_ask(to->sv->db, SQL_WHY_SIZE, "i", worker);
    int rc = stmt_step(s, e);

    if (rc == 1) {
        all->cpus_milli += stmt_int(s, 0);
        all->gpus_milli += stmt_int(s, 1);
    }
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

static double share_of(const struct user_load *h, const struct user_load *all)
{
    return sched_share(h->cpus_milli, h->gpus_milli, (double)all->cpus_milli,
                       (double)all->gpus_milli);
}

static int say_share(struct why *to, const struct wanted *w, const struct user_load *own,
                     struct err *e)
{
    struct user_load all = { 0 };
    struct stmt *s;
    int rc = 0;

    for (struct conn *c = conn_after(to->sv, 0); c != NULL; c = conn_after(to->sv, c->number))
        if (c->worker != 0 && !c->is_retiring && add_size(to, c->worker, &all, e) < 0)
            return -1;
    s = db_ask(to->sv->db, SQL_WHY_OTHERS, "i", (int64_t)w->uid);
    while (rc == 0 && (rc = stmt_step(s, e)) == 1) {
        struct user_load h;

        rc = user_load(to, (uid_t)stmt_int(s, 0), &h, e);
        if (rc == 0 && share_of(&h, &all) < share_of(own, &all))
            why_say(to,
                    "share: %s waits as well, and has %.1f %% of the machines to %s's %.1f %%: "
                    "so %s comes first",
                    stmt_text(s, 1), 100 * share_of(&h, &all), w->user, 100 * share_of(own, &all),
                    stmt_text(s, 1));
    }
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

static int say_users(struct why *to, struct wanted *w, struct err *e)
{
    struct user_load own;

    if (user_load(to, w->uid, &own, e) < 0)
        return -1;
    say_limits(to, w, &own);
    return say_share(to, w, &own, e);
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
                              .user = arena_strdup(to->arena, stmt_text(s, 6)),
                              .priority = stmt_int(s, 7),
                              .need = { stmt_int(s, 9),
                                        stmt_int(s, 10) *
                                            row_mean_ms(stmt_int(s, 11), stmt_int(s, 12)) } };
        if (!stmt_is_null(s, 8))
            w->refused = arena_strdup(to->arena, stmt_text(s, 8));
        w->nodes.data =
            (const uint8_t *)arena_strndup(to->arena, (const char *)nodes.data, nodes.n);
        w->nodes.n = nodes.n;
    }
    stmt_end(s);
    if (rc == 1)
        rc = sweep_pools_read(to->sv, sweep, to->arena, &w->pools, e);
    return rc < 0 ? -1 : 0;
}

static int why_queued(struct why *to, int64_t sweep, int64_t no, bool is_held, struct err *e)
{
    struct wanted w = { 0 };

    if (wanted_load(to, sweep, &w, e) < 0)
        return -1;
    if (w.refused != NULL) {
        why_say(to, "%s", w.refused);
        return 0;
    }
    if (w.state == SWEEP_PAUSED)
        why_say(to, "sweep %" PRId64 " is paused (ludwig resume %" PRId64 ")", sweep, sweep);
    if (is_held)
        why_say(to, "it is paused (ludwig resume %" PRId64 ".%" PRId64 ")", sweep, no);
    if (is_held || w.state == SWEEP_PAUSED)
        return 0;
    if (say_before(to, &w, no, e) < 0 || say_users(to, &w, e) < 0)
        return -1;
    return say_machines(to, &w, e) < 0 ? -1 : why_pilots(to, sweep, e);
}

static int why_last_try(struct why *to, int64_t job, struct err *e)
{
    struct stmt *s = db_ask(to->sv->db, SQL_WHY_LAST, "i", job);
    int rc = stmt_step(s, e);

    if (rc == 1)
        why_say(to, "attempt %" PRId64 " on %s was in vain: %s", stmt_int(s, 0),
                stmt_is_null(s, 1) ? "its node" : stmt_text(s, 1), stmt_text(s, 2));
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

int why_nobody(struct server *sv, int64_t sweep, struct arena *a, const char **note, struct err *e)
{
    struct why to = why_begin(sv, a);
    struct wanted w = { 0 };

    *note = NULL;
    if (wanted_load(&to, sweep, &w, e) < 0)
        return -1;
    if (w.pools.n > 0)
        return 0; /* Slurm may have what it needs */
    if (each_machine(&to, &w, say_if_never, e) < 0)
        return -1;
    if (to.n > 0 && to.n_could == 0)
        *note = join(&to);
    return 0;
}

static void say_pilots(struct why *to, const char *partition, struct stmt *s)
{
    int64_t job = stmt_int(s, 0), n = stmt_int(s, 2);
    const char *words = stmt_is_null(s, 1) ? "Slurm was not asked about it yet" : stmt_text(s, 1);

    if (job == 0)
        why_say(to, "partition %s: %" PRId64 " pilot%s about to be submitted", partition, n,
                n == 1 ? " is" : "s are");
    else if (n == 1)
        why_say(to, "partition %s: a pilot, Slurm's job %" PRId64 ": %s", partition, job, words);
    else
        why_say(to, "partition %s: %" PRId64 " pilots, Slurm's job %" PRId64 ": %s", partition, n,
                job, words);
}

/* Those that wait: how many kinds of them there are, -1. */
static int say_waiting(struct why *to, int64_t pool, const char *partition, struct err *e)
{
    struct stmt *s = db_ask(to->sv->db, SQL_WHY_PILOTS, "i", pool);
    int n = 0, rc;

    for (; (rc = stmt_step(s, e)) == 1; n++)
        say_pilots(to, partition, s);
    return rc < 0 ? -1 : n;
}

static int say_pool(struct why *to, const struct pilot_owner *of, struct err *e)
{
    const char *trouble = pilots_trouble(to->sv, of->pool, to->arena);
    const char *limit = pilots_limit(to->sv, of, to->arena);
    const char *partition = of->spec->partition;
    int n = say_waiting(to, of->pool, partition, e);

    if (n == 0 && trouble != NULL)
        why_say(to, "partition %s: no pilot at the moment: %s", partition, trouble);
    else if (trouble != NULL)
        why_say(to, "partition %s: %s", partition, trouble);
    else if (limit != NULL)
        why_say(to, "partition %s: %s", partition, limit);
    return n < 0 ? -1 : 0;
}

static int why_pilots(struct why *to, int64_t sweep, struct err *e)
{
    struct stmt *s = db_ask(to->sv->db, SQL_WHY_POOLS, "i", sweep);
    struct slurm_pool pool;
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        rc = pool_read(stmt_bytes(s, 1), to->arena, &pool, e);
        if (rc == 0 && !stmt_is_null(s, 2))
            why_say(to, "partition %s: no pilots: %s", pool.partition, stmt_text(s, 2));
        else if (rc == 0)
            rc = say_pool(to,
                          &(struct pilot_owner){ (uid_t)stmt_int(s, 3), stmt_text(s, 4),
                                                 stmt_int(s, 0), &pool },
                          e);
        if (rc < 0)
            break;
    }
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

static int say_all(struct why *to, const struct msg_ask_why *req, const struct job_info *job,
                   bool is_held, struct err *e)
{
    const char *node = job->node != NULL ? job->node : "its node";

    switch (job->state) {
    case JOB_QUEUED:
        if (job->node != NULL)
            why_say(to, "it was given to %s and waits for a slot there", node);
        return job->node != NULL ? 0 : why_queued(to, req->sweep, req->job, is_held, e);
    case JOB_STAGING: why_say(to, "its data are being brought to %s", node); break;
    case JOB_RUNNING: why_say(to, "it runs on %s", node); break;
    case JOB_PUBLISHING:
        why_say(to, "it has ended on %s; results are being published", node);
        break;
    case JOB_FAILED:
        why_say(to, "it failed: %s", job->reason != NULL ? job->reason : "no reason is known");
        if (job->run_path != NULL)
            why_say(to, "what it left: %s", job->run_path);
        why_say(to, "ludwig retry %s runs it again", job->job);
        break;
    case JOB_CANCELLED:
        why_say(to, "it was cancelled; ludwig retry %s runs it again", job->job);
        break;
    default:
        why_say(to, "it is %s; its files: %s", job_state_names[job->state], job->run_path);
        break;
    }
    return 0;
}

static bool is_waiting(enum job_state state)
{
    return state == JOB_QUEUED || state == JOB_STAGING;
}

/* The job's row: 1, 0, -1. */
static int find_job(struct server *sv, const struct msg_ask_why *req, int64_t *id, bool *is_held,
                    struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_JOB_BY_NO, "ii", req->sweep, req->job);
    int rc = stmt_step(s, e);

    if (rc == 1) {
        *id = stmt_int(s, 0);
        *is_held = stmt_int(s, 2) != 0;
    }
    stmt_end(s);
    return rc == 0 ? err_set(e, ERR_NOT_FOUND, "there is no job %" PRId64 ".%" PRId64, req->sweep,
                             req->job)
                   : rc;
}

int handle_ask_why(struct server *sv, struct ask *ask, const void *request, void *reply,
                   struct err *e)
{
    const struct msg_ask_why *req = request;
    struct msg_why *rep = reply;
    struct why to = why_begin(sv, ask->arena);
    struct sweep_info info;
    size_t size_bytes = 0;
    bool is_held = false;
    int64_t owner, job = 0;
    int rc = row_sweep(sv, req->sweep, ask->arena, &info, &owner, e);

    if (rc == 0)
        rc = project_may_see(sv, ask, owner, &info, e);
    if (rc != 0)
        return rc;
    if (find_job(sv, req, &job, &is_held, e) < 0 ||
        row_job(sv, info.project, job, ask->arena, &rep->job, &size_bytes, e) < 0 ||
        say_all(&to, req, &rep->job, is_held, e) < 0)
        return -1;
    if (is_waiting((enum job_state)rep->job.state) && why_last_try(&to, job, e) < 0)
        return -1;
    rep->lines = (struct list){ to.lines, to.n };
    return 0;
}
