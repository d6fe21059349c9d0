/* SPDX-License-Identifier: MIT */
/* handle_submit.c - checks a submit, takes it chunk by chunk, ends it; runs a job once more */

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/path.h"
#include "common/data/msgpack.h"
#include "common/data/param_digest.h"
#include "common/proto/jobspec.h"
#include "common/proto/layout.h"
#include "server/base/conf.h"
#include "server/base/nodes.h"
#include "server/base/server.h"
#include "server/base/turn.h"
#include "server/base/user_limit.h"
#include "server/conn/conn.h"
#include "server/conn/handler.h"
#include "server/conn/permission.h"
#include "server/handle/reused.h"
#include "server/handle/why.h"
#include "server/pilot/pilots.h"
#include "server/queue/attempts.h"
#include "server/queue/guard.h"
#include "server/queue/holds.h"
#include "server/queue/other_environment.h"
#include "server/queue/param_index.h"
#include "server/queue/passed_env.h"
#include "server/queue/rows.h"
#include "server/queue/submit_cleanup.h"
#include "server/search/space.h"
#include "server/search/stops.h"
#include "server/share/project.h"

/* ---- checks that the table of messages cannot make; their errors name the wrong key ---- */

#define WORD_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

static int check_text(const char *text, const char *what, struct err *e)
{
    for (; text != NULL && *text != '\0'; text++)
        if (iscntrl((unsigned char)*text))
            return err_set(e, ERR_USAGE, "%s: a control character", what);
    return 0;
}

static int check_nodes(const struct conf *conf, const struct msg_submit_begin *req, struct err *e)
{
    const char *const *nodes = req->nodes.items;

    if (req->no_nodes && req->nodes.n > 0)
        return err_set(e, ERR_USAGE, "nodes: some and none");
    for (size_t i = 0; i < req->nodes.n; i++) {
        size_t n = strlen(nodes[i]);

        if (nodes[i][0] != '@' &&
            (n == 0 || n > NAME_MAX_BYTES || nodes[i][0] == '-' || nodes[i][0] == '.' ||
             strspn(nodes[i], WORD_CHARACTERS "-.") != n))
            return err_set(e, ERR_USAGE, "nodes: '%s' is no name of a node or @group", nodes[i]);
    }
    return nodes_check(conf, &req->nodes, e);
}

/* One that nodes build names its tool and its files. */
static int check_built(const struct environment *x, struct err *e)
{
    const char *const *options = x->options.items;

    if (x->tool == NULL)
        return 0;
    if (x->file == NULL || !path_is_inside(x->file) || x->data == NULL || x->path != NULL)
        return err_set(e, ERR_USAGE, "environment: %s needs a file among its data to build it from",
                       x->tool);
    for (size_t i = 0; i < x->options.n; i++)
        if (check_text(options[i], "environment: options", e) < 0)
            return -1;
    if (check_text(x->tool, "environment", e) < 0 || check_text(x->file, "environment", e) < 0)
        return -1;
    return check_text(x->interpreter, "environment: python", e);
}

static int check_work(const struct jobspec *w, struct err *e)
{
    const struct env_entry *env = w->env.items, *variables = w->environment.variables.items;
    const struct data_entry *data = w->data.items;
    const struct resources *r = &w->resources;

    if (w->command[0] == '\0')
        return err_set(e, ERR_USAGE, "command: it is empty");
    for (size_t i = 0; i < w->env.n; i++)
        if (jobspec_check_variable(env[i].name, e) < 0)
            return -1;
    for (size_t i = 0; i < w->environment.variables.n; i++)
        if (jobspec_check_variable(variables[i].name, e) < 0)
            return err_wrap(e, "environment");
    if (check_built(&w->environment, e) < 0)
        return -1;
    for (size_t i = 0; i < w->data.n; i++)
        if (!path_is_portable_name(data[i].name))
            return err_set(e, ERR_USAGE, "data: '%s' is no name that every system can show",
                           data[i].name);
        else if (data[i].link != NULL && !path_is_inside(data[i].link))
            return err_set(e, ERR_USAGE, "data: '%s' is no path below the folder that jobs run in",
                           data[i].link);
    if (check_text(w->container, "container", e) < 0 ||
        check_text(w->checkpoint.signal, "checkpoint: signal", e) < 0)
        return -1;
    if (r->cpus_milli == 0 && r->gpus_milli == 0)
        return err_set(e, ERR_USAGE, "resources: a job needs processors or GPUs");
    if (r->gpus_milli > 1000 && r->gpus_milli % 1000 != 0)
        return err_set(e, ERR_USAGE,
                       "resources: gpus must be a fraction below 1 or a whole number");
    return 0;
}

/* What grows has something to grow from, by more than nothing. */
static int check_growth(const char *of, int64_t factor_milli, int64_t has, int64_t up_to,
                        struct err *e)
{
    if (factor_milli > 0 && factor_milli <= 1000)
        return err_set(e, ERR_USAGE, "retry: grow: %s: a factor above 1 is needed", of);
    if (factor_milli > 0 && has == 0)
        return err_set(e, ERR_USAGE, "retry: grow: %s: resources: has none to grow from", of);
    if (up_to > 0 && (factor_milli == 0 || up_to <= has))
        return err_set(e, ERR_USAGE, "retry: up_to: %s: it leaves nothing to grow", of);
    return 0;
}

/* Each entry is a cause, or an exit code from "1" to "255", as retry_lists compares them. */
static int check_retry(const struct retry *r, const struct resources *has, struct err *e)
{
    const char *const *on = r->on.items;

    for (size_t i = 0; i < r->on.n; i++) {
        size_t n = strlen(on[i]);
        bool is_known = n >= 1 && n <= 3 && on[i][0] != '0' && strspn(on[i], "0123456789") == n &&
                        strtol(on[i], NULL, 10) <= 255;

        for (int cause = CAUSE_NONE + 1; cause < CAUSE_COUNT; cause++)
            is_known |= strcmp(cause_names[cause], on[i]) == 0;
        if (!is_known)
            return err_set(e, ERR_USAGE,
                           "retry: on: '%s' is neither a cause nor an exit code from 1 to 255",
                           on[i]);
    }
    if (check_growth("memory", r->grow.memory_milli, has->memory_bytes, r->up_to.memory_bytes, e) <
        0)
        return -1;
    return check_growth("time", r->grow.time_milli, has->time_ms, r->up_to.time_ms, e);
}

/* The text becomes an argument of sbatch. */
static int check_argument(const char *text, const char *what, bool is_option, struct err *e)
{
    if (text == NULL)
        return 0;
    if (text[0] == '\0' || (text[0] == '-') != is_option)
        return err_set(e, ERR_USAGE, "slurm: %s: '%s' is none", what, text);
    return check_text(text, "slurm", e);
}

static int check_pools(const struct list *pools, struct err *e)
{
    const struct slurm_pool *p = pools->items;

    for (size_t i = 0; i < pools->n; i++) {
        const char *const *exclude = p[i].exclude.items, *const *extra = p[i].extra.items;

        if (check_argument(p[i].partition, "partition", false, e) < 0 ||
            check_argument(p[i].account, "account", false, e) < 0 ||
            check_argument(p[i].qos, "qos", false, e) < 0 ||
            check_argument(p[i].constraint, "constraint", false, e) < 0 ||
            check_argument(p[i].gres, "gres", false, e) < 0)
            return -1;
        for (size_t k = 0; k < p[i].exclude.n; k++)
            if (check_argument(exclude[k], "exclude", false, e) < 0)
                return -1;
        for (size_t k = 0; k < p[i].extra.n; k++)
            if (check_argument(extra[k], "extra", true, e) < 0)
                return -1;
    }
    return 0;
}

/* Checks that the uid may submit, names that end up in paths, in an environment or in sbatch's
 * arguments, that nodes exist, and values that exclude each other. */
static int check_submit(const struct conf *conf, const struct conn *c,
                        const struct msg_submit_begin *req, struct err *e)
{
    const char *metric = req->ranking.metric;

    if (req->reps < 1)
        return err_set(e, ERR_USAGE, "reps: at least 1");
    if (may_submit(conf, c, e) < 0 || project_check_name(req->project, e) < 0 ||
        check_text(req->name, "name", e) < 0 || check_nodes(conf, req, e) < 0 ||
        check_pools(&req->pools, e) < 0 || check_retry(&req->retry, &req->work.resources, e) < 0)
        return -1;
    if (req->search.n > 0 && metric == NULL)
        return err_set(e, ERR_USAGE, "method: an advisor needs results: metric");
    if (req->search.n > 0 && space_check(req->search.items, e) < 0)
        return -1;
    if (req->notify.n > 0 && notify_check(req->notify.items, e) < 0)
        return err_wrap(e, "notify");
    if (metric != NULL && metric[0] == '\0')
        return err_set(e, ERR_USAGE, "results: metric: it is empty");
    if (check_text(metric, "results: metric", e) < 0 ||
        check_text(req->stop.step, "stop: step", e) < 0 ||
        stops_check(&req->stop, &req->ranking, req->reps, req->work.batch, e) < 0)
        return -1;
    if (req->stop.resume && req->search.n > 0)
        return err_set(
            e, ERR_USAGE,
            "stop: resume: an advisor is told of a job that was stopped, and it stays so");
    return check_work(&req->work, e);
}

/* Records that the sweep needs the dataset. */
static int dataset_take(struct server *sv, int64_t project, int64_t sweep, const char *name,
                        const struct dataset *set, struct err *e)
{
    int64_t dataset = 0;

    if (digest_is_zero(&set->tree))
        return 0;
    if (db_get(sv->db, e, SQL_DATASET_TAKE, "iddsiii>i", project, &set->tree, &set->id, name,
               set->files, set->bytes, turn_now_ms(sv), &dataset) < 0)
        return -1;
    return db_run(sv->db, e, SQL_SWEEP_DATASET_ADD, "ii", sweep, dataset) < 0 ? -1 : 0;
}

/* ---- begin ---- */

static char *stamp_of(int64_t ms, struct arena *a)
{
    time_t seconds = (time_t)(ms / 1000);
    char text[sizeof "20261121-101500"] = "";
    struct tm local;

    if (localtime_r(&seconds, &local) == NULL ||
        strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local) == 0)
        return arena_printf(a, "%lld", (long long)seconds);
    return arena_strdup(a, text);
}

static int64_t sweep_add(struct server *sv, struct ask *ask, const struct msg_submit_begin *req,
                         int64_t project, struct err *e)
{
    const struct resources *r = &req->work.resources;
    const struct slurm_pool *p = req->pools.items;
    const struct conn *c = ask->conn;
    struct digest digest, chain = { { 0 } };
    struct buf nodes = { 0 }, work = { 0 }, pools = { 0 }, retry = { 0 }, stop = { 0 },
               live = { 0 };
    struct live_policy told = stops_live(&req->stop, &req->guard, &req->ranking);
    int rc;

    /* No bytes stand for any node, for no pools, and for a policy that names nothing. */
    if (req->nodes.n > 0 || req->no_nodes)
        nodes_encode(&req->nodes, &nodes);
    if (req->pools.n > 0)
        mp_add_list(&pools, req->pools.n);
    for (size_t i = 0; i < req->pools.n; i++)
        schema_encode(&slurm_pool_schema, &p[i], &pools);
    if (req->retry.on.n > 0)
        schema_encode(&retry_schema, &req->retry, &retry);
    if (req->stop.rule != NULL || req->stop.race > 0)
        schema_encode(&stop_policy_schema, &req->stop, &stop);
    if (told.metric != NULL)
        schema_encode(&live_schema, &told, &live);
    jobspec_digest(&req->work, &digest);
    schema_encode(&work_schema, &req->work, &work);
    rc = db_run(sv->db, e, SQL_SWEEP_ADD, "iissiiibbdiiiiibbsiitdsisibbiii", project,
                (int64_t)c->uid, c->user, req->name, req->priority, req->reps, (int64_t)req->reuse,
                buf_bytes(&nodes), buf_bytes(&work), &digest, r->cpus_milli, r->gpus_milli,
                r->memory_bytes, r->time_ms, req->work.batch > 1 ? req->work.batch : (int64_t)1,
                buf_bytes(&pools), buf_bytes(&retry), req->ranking.metric,
                (int64_t)req->ranking.goal, c->number, &ask->envelope->id, &chain,
                stamp_of(turn_now_ms(sv), ask->arena), turn_now_ms(sv), c->known_as,
                req->guard.off             ? (int64_t)0
                : req->guard.failures == 0 ? (int64_t)GUARD_FAILURES
                                           : req->guard.failures,
                buf_bytes(&stop), buf_bytes(&live),
                req->stop.resume ? (int64_t)RESUMES_SOME : (int64_t)RESUMES_NONE, r->disk_bytes,
                req->max_running);
    buf_free(&stop);
    buf_free(&live);
    buf_free(&nodes);
    buf_free(&work);
    buf_free(&pools);
    buf_free(&retry);
    return rc < 0 ? -1 : db_last_id(sv->db);
}

/* Keeps what the advisor searches.  A search takes memory until it ends: each user may have only
 * SEARCHES_PER_USER_MAX of SEARCH_MAX_BYTES. */
static int search_keep(struct server *sv, uid_t uid, int64_t sweep, const struct search *search,
                       struct err *e)
{
    struct buf bytes = { 0 };
    int64_t n = 0;
    int rc = db_get(sv->db, e, SQL_ADVISED_OF_USER, "i>i", (int64_t)uid, &n);

    if (rc < 0)
        return -1;
    if (n >= SEARCHES_PER_USER_MAX)
        return err_set(e, ERR_BUSY,
                       "%d of your sweeps have an advisor; let some end, or cancel them",
                       SEARCHES_PER_USER_MAX);
    schema_encode(&search_schema, search, &bytes);
    if (bytes.n > SEARCH_MAX_BYTES)
        rc = err_set(e, ERR_USAGE, "search: %zu bytes; at most %d", bytes.n, SEARCH_MAX_BYTES);
    else
        rc = db_run(sv->db, e, SQL_SWEEP_SEARCH, "ib", sweep, buf_bytes(&bytes));
    buf_free(&bytes);
    return rc < 0 ? -1 : 0;
}

static int notify_keep(struct server *sv, int64_t sweep, const struct notify *notify, struct err *e)
{
    struct buf bytes = { 0 };
    int rc;

    schema_encode(&notify_schema, notify, &bytes);
    rc = db_run(sv->db, e, SQL_SWEEP_NOTIFY, "ibi", sweep, buf_bytes(&bytes), notify->when);
    buf_free(&bytes);
    return rc < 0 ? -1 : 0;
}

/* The limit of bytes that a user's sweeps take in the database; checked once the new one is in it.
 * */
static struct user_limit limit_of_bytes(const struct server *sv)
{
    return (struct user_limit){ "sweep_bytes", "bytes of descriptions of sweeps, with this one",
                                "`ludwig rm` removes old ones", sv->conf.sweep_bytes,
                                SQL_BYTES_OF_USER };
}

static int check_limits(struct server *sv, const struct conn *c, struct err *e)
{
    const struct user_limit open_submits = { "open_submits", "submits open",
                                             "let some end, or wait until they are cleared away",
                                             sv->conf.open_submits, SQL_OPEN_OF_USER };
    const struct user_limit sweeps = { "sweeps", "sweeps", "`ludwig rm` removes old ones",
                                       sv->conf.sweeps, SQL_SWEEPS_OF_USER };

    return user_limit_check(sv, c->uid, &open_submits, 1, e) < 0
               ? -1
               : user_limit_check(sv, c->uid, &sweeps, 1, e);
}

int handle_open_project(struct server *sv, struct ask *ask, const void *request, void *reply,
                        struct err *e)
{
    const struct msg_open_project *req = request;
    const struct msg_submit_begin *begin = req->begins.items;
    struct msg_project_open *rep = reply;

    if (project_check_name(req->project, e) < 0 || may_submit(&sv->conf, ask->conn, e) < 0)
        return -1;
    /* What is refused then leaves no folder. */
    if (req->begins.n > 0 &&
        (check_submit(&sv->conf, ask->conn, begin, e) < 0 || check_limits(sv, ask->conn, e) < 0))
        return -1;
    if (req->wants_pilots)
        pilots_expect(sv);
    return project_prepare(sv, ask, req->project, req->private_project, &rep->folder, &rep->project,
                           e);
}

/* Returns the sweep's number, -1 with e set. */
static int64_t open_sweep(struct server *sv, struct ask *ask, const struct msg_submit_begin *req,
                          struct err *e)
{
    const struct user_limit bytes = limit_of_bytes(sv);
    const struct data_entry *data = req->work.data.items;
    int64_t n_open = 0;
    int64_t project, sweep;

    if (db_get(sv->db, e, SQL_OPEN_COUNT, "i>i", ask->conn->number, &n_open) < 0)
        return -1;
    if (n_open >= SUBMITS_OPEN_MAX)
        return err_set(e, ERR_BUSY, "%d submits are open on this connection", SUBMITS_OPEN_MAX);
    if (check_limits(sv, ask->conn, e) < 0)
        return -1;
    project = project_take(sv, ask->conn, req->project, e);
    if (project < 0)
        return -1;
    ask->conn->has_submits = true;
    sweep = sweep_add(sv, ask, req, project, e);
    if (sweep < 0 ||
        (req->search.n > 0 && search_keep(sv, ask->conn->uid, sweep, req->search.items, e) < 0) ||
        (req->notify.n > 0 && notify_keep(sv, sweep, req->notify.items, e) < 0))
        return -1;
    for (size_t i = 0; i < req->work.data.n; i++)
        if (dataset_take(sv, project, sweep, data[i].name, &data[i].set, e) < 0)
            return -1;
    if (passed_env_keep(sv, sweep, &req->work.passed, &req->passed, e) < 0 ||
        dataset_take(sv, project, sweep, "", &req->work.source, e) < 0 ||
        pilots_take_pools(sv, ask->conn, sweep, &req->pools, e) < 0 ||
        user_limit_check(sv, ask->conn->uid, &bytes, 0, e) < 0)
        return -1;
    return sweep;
}

int handle_submit_begin(struct server *sv, struct ask *ask, const void *request, void *reply,
                        struct err *e)
{
    const struct msg_submit_begin *req = request;
    struct msg_submit_open *rep = reply;
    int rc = check_submit(&sv->conf, ask->conn, req, e);

    if (rc == 0)
        rc = project_prepare(sv, ask, req->project, req->private_project, &rep->folder, NULL, e);
    if (rc != 0)
        return rc;
    rc = db_get(sv->db, e, SQL_OPEN_BEGUN, "it>i", ask->conn->number, &ask->envelope->id,
                &rep->sweep);
    if (rc == 0)
        rep->sweep = open_sweep(sv, ask, req, e);
    return rc < 0 || rep->sweep < 0 ? -1 : 0;
}

/* ---- chunks ---- */

/* An open sweep, and what this call of its handler has added to it. */
struct taking {
    struct server *sv;
    struct arena *arena; /* memory of one configuration */
    struct buf name;
    int64_t sweep;
    int64_t project;
    char *project_name;
    int64_t reps;
    enum reuse reuse;
    struct digest work;
    char *stamp;
    bool has_holds;  /* the guard holds jobs of the project */
    bool is_raced;   /* its replications are handed out breadth first */
    bool is_advised; /* its configurations are only used when its advisor is late */
    struct digest chain;
    int64_t chunks;
    struct chunk *chunk; /* the chunk in hand, which gathers reused jobs; NULL: none */
    int64_t sent, configs, jobs, reused;
    int64_t new_jobs, ready; /* jobs of this call; those not ready wait for another sweep's job */
    int64_t params;          /* the project's highest number */
    int64_t now_ms;
    struct job_names names;
};

/* In a sweep's row, in place of the number of configurations that came: a chunk is taken in part.
 * */
enum { CHUNK_IN_HAND = -1 };

/* How far a chunk was taken; kept between the calls of its handler. */
struct chunk {
    struct mp_items configs; /* configurations that were not taken yet */
    struct list early;       /* struct early_config: those that were not passed yet */
    int64_t at;              /* number of the next configuration in the chunk */
    int64_t param, rep;      /* the configuration in hand, and its next replication */
    bool is_new;             /* the project did not have this configuration before this call */
    bool is_early;           /* its first replication runs before others */
    bool all_early;          /* all its replications run before others */
    int64_t sent; /* configurations of the sweep that came; CHUNK_IN_HAND: not known yet */
    struct reused_jobs told; /* reused jobs for the answer */
};

static void taking_end(struct taking *t)
{
    arena_destroy(t->arena);
    buf_free(&t->name);
    free(t->stamp);
    free(t->project_name);
}

static bool is_race(struct bytes policy)
{
    struct stop_policy stop = { 0 };
    struct arena *a = arena_create();
    bool is = policy.n > 0 && schema_read(&stop_policy_schema, policy, a, &stop, NULL) == 0 &&
              stop.race > 0;

    arena_destroy(a);
    return is;
}

static int taking_begin(struct taking *t, struct server *sv, const struct conn *c, int64_t sweep,
                        struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_OPEN_GET, "ii", sweep, c->number);
    int64_t one;
    int rc = stmt_step(s, e);

    if (rc <= 0)
        return rc < 0 ? -1
                      : err_set(e, ERR_NOT_FOUND, "no submit of sweep %" PRId64 " is open here",
                                sweep);
    *t = (struct taking){ .sv = sv,
                          .arena = arena_create(),
                          .sweep = sweep,
                          .project = stmt_int(s, 0),
                          .reps = stmt_int(s, 1),
                          .reuse = (enum reuse)stmt_enum(s, 2, REUSE_COUNT),
                          .stamp = mem_strdup(stmt_text(s, 4)),
                          .chunks = stmt_int(s, 6),
                          .sent = stmt_int(s, 7),
                          .configs = stmt_int(s, 8),
                          .jobs = stmt_int(s, 9),
                          .reused = stmt_int(s, 10),
                          .project_name = mem_strdup(stmt_text(s, 11)),
                          .is_raced = !stmt_is_null(s, 13) && is_race(stmt_bytes(s, 13)),
                          .is_advised = stmt_int(s, 12) != SWEEP_NOT_ADVISED,
                          .now_ms = turn_now_ms(sv) };
    stmt_digest(s, 3, &t->work);
    stmt_digest(s, 5, &t->chain);
    stmt_end(s);
    rc = db_get(sv->db, e, SQL_PROJECT_HOLDS, "i>i", t->project, &one);
    t->has_holds = rc == 1;
    if (rc < 0)
        taking_end(t);
    return rc < 0 ? -1 : 0;
}

/* Takes a replication: reuses a done job that makes it unnecessary, or adds a new job, which waits
 * for another sweep's job if that is the same.  is_new: the configuration is new to the project. */
static int rep_take(struct taking *t, int64_t param, int64_t rep, bool is_new, bool is_early,
                    struct err *e)
{
    /* In a race replication n of all configurations comes before replication n + 1 of any. */
    int64_t rank = t->is_raced ? 2 * (t->reps - rep) + is_early : is_early;
    const struct digest *work = t->reuse == REUSE_ALL ? &t->work : NULL;
    struct db *db = t->sv->db;
    int64_t done = 0, follows = SCHEMA_NONE;
    int rc = 0;

    if (!is_new && t->reuse != REUSE_NONE)
        rc = reused_find(t->sv, param, rep, work, &done, e);
    if (rc < 0)
        return -1;
    if (rc == 1) {
        t->reused++;
        if (db_run(db, e, SQL_REUSED_ADD, "ii", t->sweep, done) < 0)
            return -1;
        return t->chunk == NULL || t->reused > REUSED_TOLD_MAX
                   ? 0
                   : reused_add(t->sv, &t->chunk->told, t->project_name, done, e);
    }
    if (!is_new && t->reuse != REUSE_NONE &&
        db_get(db, e, SQL_LIVE_LIKE, "iiid>i", param, rep, t->sweep, work, &follows) < 0)
        return -1;
    if (is_new) {
        buf_clear(&t->name);
        buf_printf(&t->name, "%s_num%" PRId64, t->stamp, rep);
    } else if (job_name_find(t->sv, &t->names, t->stamp, param, rep, &t->name, e) < 0) {
        return -1;
    }
    t->jobs++;
    t->new_jobs++;
    t->ready += follows == SCHEMA_NONE;
    if (db_run(db, e, SQL_JOB_ADD, "iiiisdiiIIi", t->sweep, t->jobs, param, rep, buf_text(&t->name),
               &t->work, t->now_ms, turn_next_version(t->sv),
               follows == SCHEMA_NONE ? queue_place(t->jobs, rank) : SCHEMA_NONE, follows,
               rank) < 0)
        return -1;
    /* Held jobs that do the same take the new job's result. */
    if (!is_new && t->has_holds && t->reuse != REUSE_NONE &&
        db_run(db, e, SQL_HELD_FOLLOW, "iiidi", param, rep, t->sweep, work, db_last_id(db)) < 0)
        return -1;
    return 0;
}

/* Whether the next configuration is among the early ones, which come in the same order. */
static bool is_next_early(struct chunk *c)
{
    struct early_config *early = c->early.items;

    while (c->early.n > 0 && early->at < c->at) {
        early++;
        c->early.n--;
    }
    c->early.items = early;
    c->all_early = c->early.n > 0 && early->all_reps;
    return c->early.n > 0 && early->at == c->at;
}

/* Takes the chunk's next configuration in hand; all replications of one that the sweep has already
 * count as taken.  1, 0 at the chunk's end, -1 with e set. */
static int config_take(struct taking *t, struct err *e)
{
    struct chunk *c = t->chunk;
    struct digest digest;
    struct value config;
    struct bytes item;
    int rc = mp_items_next(&c->configs, &item, e);

    if (rc <= 0)
        return rc;
    t->sent++;
    arena_reset(t->arena);
    if (mp_read(item.data, item.n, t->arena, &config, e) < 0)
        return -1;
    if (config.type != VALUE_MAP)
        return err_set(e, ERR_PROTOCOL, "a configuration must be a map, found %s",
                       value_type_name(config.type));
    if (item.n > PARAM2VAL_MAX_BYTES)
        return err_set(e, ERR_USAGE, "a configuration is larger than %d bytes",
                       PARAM2VAL_MAX_BYTES);
    if (value_depth(&config) > PARAM2VAL_DEPTH_MAX)
        return err_set(e, ERR_USAGE, "a configuration is nested deeper than %d",
                       PARAM2VAL_DEPTH_MAX);
    if (t->is_advised) {
        if (t->sent > STAND_INS_MAX)
            return err_set(e, ERR_USAGE, "more than %d random points", STAND_INS_MAX);
        c->rep = t->reps;
        return db_run(t->sv->db, e, SQL_STAND_IN_ADD, "iib", t->sweep, t->sent - 1, item) < 0 ? -1
                                                                                              : 1;
    }
    param_digest(&config, &digest);
    rc = param_index_find(t->sv, t->project, &digest, &c->param, e);
    if (rc < 0 || (rc == 0 && param_index_add(t->sv, t->project, ++t->params, &digest, item,
                                              &c->param, e) < 0))
        return -1;
    c->is_new = rc == 0;
    rc = db_run(t->sv->db, e, SQL_CONFIG_ADD, "ii", t->sweep, c->param);
    if (rc < 0)
        return -1;
    t->configs += rc;
    c->rep = rc == 0 ? t->reps : 0;
    c->is_early = is_next_early(c);
    c->at++;
    return 1;
}

/* Takes what is left of the chunk, one replication after the other, until the turn is full.  1 when
 * more is left for a later turn, 0 when done, -1 with e set. */
static int chunk_go_on(struct taking *t, struct err *e)
{
    struct chunk *c = t->chunk;
    int rc = 1;

    /* Takes one step at least, so that each turn comes further. */
    for (bool is_first = true; rc == 1 && (is_first || !turn_is_full(t->sv)); is_first = false)
        if (c->rep == t->reps)
            rc = config_take(t, e);
        else if (rep_take(t, c->param, c->rep, c->is_new,
                          c->is_early && (c->rep == 0 || c->all_early), e) < 0)
            rc = -1;
        else
            c->rep++;
    /* Before the next turn another submit may bring the same configuration. */
    c->is_new = false;
    return rc;
}

/* Takes a chunk: 1 when more is left for a later turn, 0 when done, -1 with e set.  If it fails
 * after a turn that took a part, the chunk cannot be sent again, and the sweep's submit cannot be
 * ended. */
static int chunk_take(struct taking *t, const struct conn *conn, const struct msg_submit_chunk *req,
                      struct err *e)
{
    struct chunk *c = t->chunk;
    struct db *db = t->sv->db;
    const struct user_limit queued = user_limit_queued(t->sv);
    const struct user_limit configurations = { "configurations", "configurations in your projects",
                                               "submit fewer at once", t->sv->conf.configurations,
                                               SQL_PARAMS_OF_USER };
    int64_t params_before;
    int rc;

    if (t->sent == CHUNK_IN_HAND && c->sent == CHUNK_IN_HAND)
        return err_set(e, ERR_PROTOCOL,
                       "a chunk of sweep %" PRId64
                       " was taken in part before ludwigd failed to write;"
                       " submit the sweep again",
                       t->sweep);
    if (t->sent == CHUNK_IN_HAND)
        t->sent = c->sent;
    if (req->index != t->chunks)
        return err_set(e, ERR_PROTOCOL, "chunk %" PRId64 " came where %" PRId64 " was due",
                       req->index, t->chunks);
    if (db_get(db, e, SQL_PROJECT_PARAMS, "i>i", t->project, &params_before) < 0)
        return -1;
    t->params = params_before;
    param_index_begin(t->sv);
    rc = chunk_go_on(t, e);
    if (rc >= 0 && t->new_jobs > 0 &&
        user_limit_check(t->sv, conn->uid, &queued, t->new_jobs, e) < 0)
        rc = -1;
    if (rc >= 0 && t->params != params_before &&
        user_limit_check(t->sv, conn->uid, &configurations, t->params - params_before, e) < 0)
        rc = -1;
    if (rc < 0)
        return err_wrap(e, "chunk %" PRId64, req->index);
    if (rc == 0) {
        struct hasher *h = hasher_create();

        hasher_add(h, t->chain.bytes, DIGEST_BYTES);
        hasher_add(h, req->configs.data, req->configs.n);
        hasher_end(h, &t->chain);
        hasher_destroy(h);
    }
    c->sent = t->sent;
    if (param_index_end(t->sv, e) < 0 ||
        (t->params != params_before &&
         db_run(db, e, SQL_PROJECT_SET_PARAMS, "ii", t->project, t->params) < 0) ||
        db_run(db, e, SQL_OPEN_TAKEN, "idiiiiiii", t->sweep, &t->chain,
               rc == 0 ? t->sent : (int64_t)CHUNK_IN_HAND, t->configs, t->jobs, t->reused,
               t->new_jobs, t->ready, (int64_t)(rc == 0)) < 0)
        return -1;
    return rc;
}

static int chunk_begin(struct chunk *c, const struct msg_submit_chunk *req, struct err *e)
{
    size_t n;

    if (mp_items_begin(&c->configs, req->configs.data, req->configs.n, e) < 0)
        return err_wrap(e, "chunk %" PRId64, req->index);
    n = c->configs.n_left;
    if (n > CONFIGS_PER_CHUNK_MAX || (n > 1 && (int64_t)n * c->rep > JOBS_PER_CHUNK_MAX))
        return err_set(e, ERR_PROTOCOL, "chunk %" PRId64 ": more than %d configurations or %d jobs",
                       req->index, CONFIGS_PER_CHUNK_MAX, JOBS_PER_CHUNK_MAX);
    return 0;
}

int handle_submit_chunk(struct server *sv, struct ask *ask, const void *request, void *reply,
                        struct err *e)
{
    const struct msg_submit_chunk *req = request;
    struct msg_submit_taken *rep = reply;
    struct chunk *c = ask->kept;
    struct taking t;
    int rc = 0;

    if (taking_begin(&t, sv, ask->conn, req->sweep, e) < 0)
        return -1;
    if (c == NULL) {
        ask->kept = c = arena_alloc(ask->arena, sizeof *c);
        *c = (struct chunk){
            .early = req->early, .told.arena = ask->arena, .rep = t.reps, .sent = CHUNK_IN_HAND
        };
        rc = chunk_begin(c, req, e);
    }
    t.chunk = c;
    if (rc == 0)
        rc = chunk_take(&t, ask->conn, req, e);
    taking_end(&t);
    rep->index = req->index;
    rep->reused = c->told.list;
    return rc;
}

/* ---- end ---- */

struct submit_event {
    int64_t sweep;
    char *user;
    char *project;
    int64_t queued, reused;
};

static void submit_event_free(void *context)
{
    struct submit_event *event = context;

    free(event->user);
    free(event->project);
    free(event);
}

static void log_submit(struct server *sv, void *context)
{
    const struct submit_event *event = context;

    (void)sv;
    log_event(LOG_INFO, "submit", "sweep", "%lld", (long long)event->sweep, "user", "%s",
              event->user, "project", "%s", event->project, "queued", "%lld",
              (long long)event->queued, "reused", "%lld", (long long)event->reused, NULL);
    submit_event_free(context);
}

/* Indices into ask->progress while the answer to submit_end is made: how many new jobs were looked
 * at, how many of these are done otherwise, how many of msg_submit_end.gone were taken, how many
 * jobs were looked at for sweeps that they follow, and the first and last of these sweeps. */
enum {
    LOOKED_AT,
    DONE_OTHERWISE,
    GONE_TAKEN,
    FOLLOWS_LOOKED_AT,
    FOLLOWED_FIRST,
    FOLLOWED_LAST,
    LOOK_AT_ONCE = 1000
};

/* Takes the replications of jobs anew that were to be reused, but have no results on the share;
 * these jobs are never reused again.  1 when more is left for a later turn, 0 when done, -1 with e
 * set. */
static int take_gone(struct taking *t, struct ask *ask, const struct list *gone, struct err *e)
{
    const struct gone_job *items = gone->items;
    struct db *db = t->sv->db;
    int64_t *taken = &ask->progress[GONE_TAKEN];
    int64_t param, rep;

    for (size_t n = 0; (size_t)*taken < gone->n; n++, ++*taken) {
        int rc;

        if (n > 0 && turn_is_full(t->sv))
            break;
        rc = db_run(db, e, SQL_REUSED_GONE, "ii", t->sweep, items[*taken].id);
        if (rc == 0)
            continue; /* this sweep does not reuse the job */
        if (rc < 0 || db_get(db, e, SQL_JOB_GONE, "i>ii", items[*taken].id, &param, &rep) < 0)
            return -1;
        t->reused--;
        if (rep_take(t, param, rep, false, false, e) < 0)
            return -1;
    }
    if (gone->n > 0 && db_run(db, e, SQL_OPEN_GREW, "iiiii", t->sweep, t->jobs, t->reused,
                              t->new_jobs, t->ready) < 0)
        return -1;
    return (size_t)*taken < gone->n;
}

/* Counts the new jobs that are done with another command, source, data or environment.  1 when more
 * is left for a later turn, 0 when done, -1 with e set. */
static int count_done_otherwise(const struct taking *t, struct ask *ask, struct err *e)
{
    int64_t most = t->reuse == REUSE_ALL ? t->jobs : 0; /* else such jobs are reused, or unwanted */
    int64_t *progress = ask->progress;

    if (most > DONE_OTHERWISE_MAX)
        most = DONE_OTHERWISE_MAX;
    for (bool is_first = true; progress[LOOKED_AT] < most; is_first = false) {
        int64_t n = 0;

        /* Takes one step at least, so that each turn comes further. */
        if (!is_first && turn_is_full(t->sv))
            return 1;
        if (db_get(t->sv->db, e, SQL_DONE_OTHERWISE, "iii>i", t->sweep, progress[LOOKED_AT],
                   progress[LOOKED_AT] + LOOK_AT_ONCE, &n) < 0)
            return -1;
        progress[LOOKED_AT] += LOOK_AT_ONCE;
        progress[DONE_OTHERWISE] += n;
    }
    return 0;
}

/* Finds the first and the last sweep that its jobs wait for.  1 when more is left for a later turn,
 * 0 when done, -1 with e set. */
static int find_followed(const struct taking *t, struct ask *ask, struct err *e)
{
    int64_t *progress = ask->progress;

    for (bool is_first = true; progress[FOLLOWS_LOOKED_AT] < t->jobs; is_first = false) {
        int64_t first = SCHEMA_NONE, last = SCHEMA_NONE;

        if (!is_first && turn_is_full(t->sv))
            return 1;
        if (db_get(t->sv->db, e, SQL_FOLLOWED_SWEEPS, "iii>ii", t->sweep,
                   progress[FOLLOWS_LOOKED_AT], progress[FOLLOWS_LOOKED_AT] + LOOK_AT_ONCE, &first,
                   &last) < 0)
            return -1;
        progress[FOLLOWS_LOOKED_AT] += LOOK_AT_ONCE;
        if (first == SCHEMA_NONE)
            continue;
        if (progress[FOLLOWED_FIRST] == 0 || first < progress[FOLLOWED_FIRST])
            progress[FOLLOWED_FIRST] = first;
        if (last > progress[FOLLOWED_LAST])
            progress[FOLLOWED_LAST] = last;
    }
    return 0;
}

/* Sets rep->note to why no worker can run the sweep's jobs, or those of a sweep that they follow.
 * */
static int note_nobody(const struct taking *t, struct ask *ask, struct msg_submitted *rep,
                       struct err *e)
{
    if (rep->queued > 0 && why_nobody(t->sv, t->sweep, ask->arena, &rep->note, e) < 0)
        return -1;
    if (rep->followed == 0 || rep->note != NULL)
        return 0;
    return why_nobody(t->sv, rep->followed_last, ask->arena, &rep->note, e);
}

/* Ends a submit that has come completely: makes the sweep visible, and fills the answer. */
static int end_well(const struct taking *t, struct ask *ask, struct msg_submitted *rep,
                    struct err *e)
{
    struct server *sv = t->sv;
    struct tally all_done = { .sweep = t->sweep };
    struct submit_event *event;
    int64_t ran_ms;
    int rc;

    rep->sweep = t->sweep;
    rc = db_get(sv->db, e, SQL_SUBMITTED, "i>siiiii", t->sweep, ask->arena, &rep->project,
                &rep->configs, &rep->reps, &rep->jobs, &rep->queued, &rep->reused);
    if (rc <= 0)
        return rc < 0 ? -1 : err_set(e, ERR_INTERNAL, "sweep %" PRId64 " has no project", t->sweep);
    rep->followed = rep->jobs - rep->queued;
    rep->jobs += rep->reused;
    if (db_get(sv->db, e, SQL_PROJECT_RAN, "i>iiii", t->project, &rep->ran_jobs, &ran_ms,
               &rep->max_rss_bytes, &rep->longest_ms) < 0)
        return -1;
    rc = project_check_folder(sv, ask, rep->project, e);
    if (rc == 0 && rep->followed > 0)
        rc = find_followed(t, ask, e);
    if (rc == 0)
        rc = count_done_otherwise(t, ask, e);
    if (rc != 0)
        return rc;
    rep->followed_first = ask->progress[FOLLOWED_FIRST];
    rep->followed_last = ask->progress[FOLLOWED_LAST];
    rep->done_otherwise = ask->progress[DONE_OTHERWISE];
    if (rep->done_otherwise > 0 &&
        other_environment_find(sv, t->sweep, ask->arena, &rep->done_in, e) < 0)
        return -1;
    /* The sweep is done at once if no job is left to run. */
    if (db_run(sv->db, e, SQL_SWEEP_SHOW, "ii", t->sweep, t->now_ms) < 0 ||
        tally_flush(sv, &all_done, e) < 0)
        return -1;
    if (rep->queued > 0)
        turn_want_schedule(sv);
    if (t->is_raced) /* results of earlier sweeps may have decided already */
        sv->note_search(sv, t->sweep, true);
    if (t->has_holds && holds_try_project(sv, t->project, &t->work, e) < 0)
        return -1;
    if (note_nobody(t, ask, rep, e) < 0)
        return -1;
    event = mem_alloc(sizeof *event);
    *event = (struct submit_event){ rep->sweep, mem_strdup(ask->conn->user),
                                    mem_strdup(rep->project), rep->queued, rep->reused };
    turn_after_with(sv, log_submit, submit_event_free, event);
    return 0;
}

int handle_submit_end(struct server *sv, struct ask *ask, const void *request, void *reply,
                      struct err *e)
{
    const struct msg_submit_end *req = request;
    struct taking t;
    int rc = 0;

    if (taking_begin(&t, sv, ask->conn, req->sweep, e) < 0)
        return -1;
    if (req->configs != t.sent)
        rc = err_set(e, ERR_PROTOCOL, "%" PRId64 " configurations came of %" PRId64, t.sent,
                     req->configs);
    else if (memcmp(req->chain.bytes, t.chain.bytes, DIGEST_BYTES) != 0)
        rc = err_set(e, ERR_PROTOCOL, "the chunks are not those that were sent");
    else if (t.configs == 0 && !t.is_advised)
        rc = err_set(e, ERR_USAGE, "a sweep without configurations");
    if (rc < 0)
        turn_add_work(sv->turn, submit_clear, req->sweep);
    else
        rc = take_gone(&t, ask, &req->gone, e);
    if (rc == 0)
        rc = end_well(&t, ask, reply, e);
    taking_end(&t);
    return rc;
}

/* ---- once more ---- */

/* A sweep of one job, which does what an earlier job did, and belongs to the same user. */
int handle_reproduce(struct server *sv, struct ask *ask, const void *request, void *reply,
                     struct err *e)
{
    const struct msg_reproduce *req = request;
    struct msg_reproduced *rep = reply;
    const struct user_limit queued = user_limit_queued(sv);
    const struct user_limit sweeps = { "sweeps", "sweeps", "`ludwig rm` removes old ones",
                                       sv->conf.sweeps, SQL_SWEEPS_OF_USER };
    const struct user_limit bytes = limit_of_bytes(sv);
    struct digest chain = { { 0 } };
    struct tally none = { 0 };
    struct taking t = { .sv = sv, .reuse = REUSE_NONE, .now_ms = turn_now_ms(sv) };
    struct owner owner;
    int64_t param, replication;
    struct stmt *s;
    const char *name;
    int rc =
        db_get(sv->db, e, SQL_SWEEP_OWNER, "i>is", req->sweep, &owner.uid, ask->arena, &owner.user);

    if (rc == 0)
        return err_set(e, ERR_NOT_FOUND, "there is no sweep %" PRId64, req->sweep);
    if (rc < 0 || may_change(ask->conn, &owner, req->sweep, e) < 0)
        return -1;
    s = db_ask(sv->db, SQL_JOB_DOES, "ii", req->sweep, req->job);
    rc = stmt_step(s, e);
    if (rc <= 0)
        return rc < 0 ? -1
                      : err_set(e, ERR_NOT_FOUND, "there is no job %" PRId64 ".%" PRId64,
                                req->sweep, req->job);
    param = stmt_int(s, 0);
    replication = stmt_int(s, 1);
    stmt_digest(s, 2, &t.work);
    stmt_end(s);
    if (user_limit_check(sv, (uid_t)owner.uid, &sweeps, 1, e) < 0 ||
        user_limit_check(sv, (uid_t)owner.uid, &queued, 1, e) < 0)
        return -1;
    name = arena_printf(ask->arena, "%" PRId64 ".%" PRId64 " once more", req->sweep, req->job);
    t.stamp = mem_strdup(stamp_of(t.now_ms, ask->arena));
    rc = db_run(sv->db, e, SQL_SWEEP_LIKE, "isitdsii", req->sweep, name, ask->conn->number,
                &ask->envelope->id, &chain, t.stamp, t.now_ms, (int64_t)t.reuse);
    rep->sweep = t.sweep = none.sweep = db_last_id(sv->db);
    if (rc >= 0)
        rc = user_limit_check(sv, (uid_t)owner.uid, &bytes, 0, e);
    if (rc >= 0 && db_run(sv->db, e, SQL_DATASETS_LIKE, "ii", t.sweep, req->sweep) >= 0 &&
        db_run(sv->db, e, SQL_POOLS_LIKE, "ii", t.sweep, req->sweep) >= 0 &&
        db_run(sv->db, e, SQL_PASSED_LIKE, "ii", t.sweep, req->sweep) >= 0 &&
        passed_env_renew(sv, t.sweep, &req->passed, e) == 0 &&
        db_run(sv->db, e, SQL_CONFIG_ADD, "ii", t.sweep, param) >= 0 &&
        rep_take(&t, param, replication, false, false, e) == 0 &&
        db_run(sv->db, e, SQL_OPEN_GREW, "iiiii", t.sweep, t.jobs, t.reused, t.new_jobs, t.ready) >=
            0 &&
        db_run(sv->db, e, SQL_SWEEP_SHOW, "ii", t.sweep, t.now_ms) >= 0 &&
        tally_flush(sv, &none, e) == 0)
        rc = 0;
    else
        rc = -1;
    taking_end(&t);
    if (rc == 0) {
        turn_want_schedule(sv);
        log_event(LOG_INFO, "reproduce", "user", "%s", ask->conn->user, "job", "%s", name, "sweep",
                  "%lld", (long long)t.sweep, NULL);
    }
    return rc;
}
