/* SPDX-License-Identifier: MIT */
/* handle_why.c - why a job is where it is: what keeps it from running, or what became of it */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "server/identity.h"
#include "server/info.h"
#include "server/nodes.h"

enum { LINES_MAX = 200 };

struct answer {
    struct server *sv;
    struct arena *arena;
    const char **lines;
    size_t n;
};

/* What a job of the sweep needs, and who may run it. */
struct wanted {
    int64_t sweep;
    uid_t uid;
    enum sweep_state state;
    int64_t cpus_milli, gpus_milli, memory_bytes;
    struct bytes nodes;
    const char *user;
    int64_t priority;
};

struct machine {
    int64_t id;
    const char *node, *user;
    bool is_drained;
    int64_t cpus_milli, gpus_milli, memory_bytes;
    int64_t used_cpus_milli, used_gpus_milli, used_memory_bytes;
};

static void say(struct answer *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct answer *to, const char *format, ...)
{
    va_list ap;
    char *text;

    if (to->n == LINES_MAX)
        return;
    va_start(ap, format);
    text = mem_vprintf(format, ap);
    va_end(ap);
    to->lines[to->n++] = arena_strdup(to->arena, text);
    free(text);
}

/* ---- one machine after the other ---- */

static void say_too_small(struct answer *to, const struct machine *m, const struct wanted *w)
{
    struct buf size = { 0 };

    if (m->cpus_milli < w->cpus_milli) {
        say(to, "%s: it needs %g cpus, and there are %g", m->node, (double)w->cpus_milli / 1000,
            (double)m->cpus_milli / 1000);
    } else if (m->gpus_milli < w->gpus_milli) {
        say(to, "%s: it needs %g GPUs, and there are %g", m->node, (double)w->gpus_milli / 1000,
            (double)m->gpus_milli / 1000);
    } else {
        units_add_size(&size, w->memory_bytes);
        buf_add_str(&size, " of memory, and there are ");
        units_add_size(&size, m->memory_bytes);
        say(to, "%s: it needs %s", m->node, buf_text(&size));
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

static void say_machine(struct answer *to, const struct machine *m, const struct wanted *w)
{
    const struct conn *c = conn_of_worker(to->sv, m->id);

    if (c == NULL)
        return;
    if (!identity_may_run(to->sv, c, w->uid))
        say(to, "%s: its worker runs jobs of %s only", m->node, m->user);
    else if (!nodes_match(&to->sv->conf, w->nodes, m->node))
        say(to, "%s: it is not in the sweep's list of nodes", m->node);
    else if (m->is_drained)
        say(to, "%s: it is drained (ludwig undrain %s)", m->node, m->node);
    else if (is_too_small(m, w))
        say_too_small(to, m, w);
    else if (is_busy(m, w))
        say(to, "%s: it is busy, %g of %g cpus and %g of %g GPUs are taken", m->node,
            (double)m->used_cpus_milli / 1000, (double)m->cpus_milli / 1000,
            (double)m->used_gpus_milli / 1000, (double)m->gpus_milli / 1000);
    else
        say(to, "%s: there is room; it is about to be handed out", m->node);
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

static int say_machines(struct answer *to, const struct wanted *w, struct err *e)
{
    struct stmt *s = db_ask(to->sv->db, SQL_WHY_WORKERS, "");
    size_t n_before = to->n;
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
        say_machine(to, &m, w);
    }
    if (rc == 0 && to->n == n_before)
        say(to, "no worker is connected (ludwig nodes shows those that were)");
    return rc;
}

/* ---- the queue ---- */

static int say_before(struct answer *to, const struct wanted *w, int64_t no, struct err *e)
{
    int64_t before = 0, above = 0;

    if (db_get_int(to->sv->db, e, &before, SQL_WHY_BEFORE, "ii", w->sweep, no) < 0 ||
        db_get_int(to->sv->db, e, &above, SQL_WHY_ABOVE, "ii", (int64_t)w->uid, w->priority) < 0)
        return -1;
    if (above > 0)
        say(to, "%" PRId64 " jobs of %s's sweeps with a higher priority come first", above,
            w->user);
    if (before > 0)
        say(to, "%" PRId64 " jobs of its sweep come before it", before);
    return 0;
}

static void say_limits(struct answer *to)
{
    const struct conf *conf = &to->sv->conf;

    if (conf->gpus_per_user_milli > 0)
        say(to, "limits: at most %g GPUs for each user", (double)conf->gpus_per_user_milli / 1000);
    if (conf->cpus_per_user_milli > 0)
        say(to, "limits: at most %g cpus for each user", (double)conf->cpus_per_user_milli / 1000);
    if (conf->jobs_per_user > 0)
        say(to, "limits: at most %" PRId64 " jobs at once for each user", conf->jobs_per_user);
}

static int wanted_load(struct answer *to, int64_t sweep, struct wanted *w, struct err *e)
{
    struct stmt *s = db_ask(to->sv->db, SQL_WHY_SWEEP, "i", sweep);
    int rc = stmt_step(s, e);

    if (rc == 1) {
        struct bytes nodes = stmt_bytes(s, 5);

        *w = (struct wanted){ .sweep = sweep,
                              .uid = (uid_t)stmt_int(s, 0),
                              .state = (enum sweep_state)stmt_int(s, 1),
                              .cpus_milli = stmt_int(s, 2),
                              .gpus_milli = stmt_int(s, 3),
                              .memory_bytes = stmt_int(s, 4),
                              .user = arena_strdup(to->arena, stmt_text(s, 6)),
                              .priority = stmt_int(s, 7) };
        w->nodes.data =
            (const uint8_t *)arena_strndup(to->arena, (const char *)nodes.data, nodes.n);
        w->nodes.n = nodes.n;
    }
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

static int say_queued(struct answer *to, const struct msg_ask_why *req, bool is_held, struct err *e)
{
    struct wanted w = { 0 };

    if (wanted_load(to, req->sweep, &w, e) < 0)
        return -1;
    if (w.state == SWEEP_PAUSED)
        say(to, "sweep %" PRId64 " is paused (ludwig resume %" PRId64 ")", req->sweep, req->sweep);
    if (is_held)
        say(to, "it is paused by itself (ludwig resume %" PRId64 ".%" PRId64 ")", req->sweep,
            req->job);
    if (is_held || w.state == SWEEP_PAUSED)
        return 0;
    if (say_before(to, &w, req->job, e) < 0)
        return -1;
    say_limits(to);
    return say_machines(to, &w, e);
}

/* ---- all of it ---- */

static int say_all(struct answer *to, const struct msg_ask_why *req, const struct job_info *job,
                   bool is_held, struct err *e)
{
    const char *node = job->node != NULL ? job->node : "its node";

    switch (job->state) {
    case JOB_QUEUED:
        if (job->node != NULL)
            say(to, "it was given to %s and waits for a slot there", node);
        return job->node != NULL ? 0 : say_queued(to, req, is_held, e);
    case JOB_STAGING: say(to, "its data are being brought to %s", node); break;
    case JOB_RUNNING: say(to, "it runs on %s", node); break;
    case JOB_PUBLISHING: say(to, "it has ended on %s; results are being published", node); break;
    case JOB_DONE: say(to, "it is done; its files: %s", job->run_path); break;
    case JOB_FAILED:
        say(to, "it failed: %s", job->reason != NULL ? job->reason : "no reason is known");
        if (job->run_path != NULL)
            say(to, "what it left: %s", job->run_path);
        say(to, "ludwig retry %s runs it again", job->job);
        break;
    default: say(to, "it was cancelled; ludwig retry %s runs it again", job->job); break;
    }
    return 0;
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
    struct answer to = { sv, ask->arena, arena_alloc(ask->arena, LINES_MAX * sizeof(char *)), 0 };
    struct sweep_info info;
    size_t size_bytes = 0;
    bool is_held = false;
    int64_t owner, job = 0;

    if (info_sweep(sv, req->sweep, ask->arena, &info, &owner, e) < 0 ||
        identity_may_see(ask->conn, owner, req->sweep, e) < 0 ||
        find_job(sv, req, &job, &is_held, e) < 0 ||
        info_job(sv, info.project, job, ask->arena, &rep->job, &size_bytes, e) < 0 ||
        say_all(&to, req, &rep->job, is_held, e) < 0)
        return -1;
    rep->lines = (struct list){ to.lines, to.n };
    return 0;
}
