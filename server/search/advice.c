/* SPDX-License-Identifier: MIT */
/* advice.c - takes the lines that sweeps' advisors write, and does what follows from the record */

#include "server/search/advice.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/data/json.h"
#include "common/data/msgpack.h"
#include "common/data/param_digest.h"
#include "server/base/turn.h"
#include "server/base/user_limit.h"
#include "server/conn/conn.h"
#include "server/queue/attempts.h"
#include "server/queue/fit.h"
#include "server/queue/param_index.h"
#include "server/queue/rows.h"
#include "server/queue/subscribe.h"
#include "server/search/advice_internal.h"
#include "server/search/space.h"
#include "server/search/stops.h"

enum {
    STOP_WHY_MAX_BYTES = 200,
    STEPS_MAX = 16,         /* steps of one look; the rest is done in the next turn */
    JOBS_AT_ONCE = 500,     /* jobs that one question may lead to, unless one point has more */
    SLOTS_AGAIN_MS = 1000,  /* the number of slots is counted again after this */
    FAILED_AGAIN_MS = 5000, /* when to look again after an error of the database */
    START_AGAIN_MS = 2000   /* when to start again after a session that failed */
};

static int look(struct server *sv, int64_t sweep, struct err *e);

/* ---- what is known of a sweep ---- */

static struct advisee *find(const struct advice *x, int64_t sweep)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->items[i]->sweep == sweep)
            return x->items[i];
    return NULL;
}

static void forget(struct advice *x, struct advisee *a)
{
    size_t i = 0;

    while (x->items[i] != a)
        i++;
    x->items[i] = x->items[--x->n];
    session_forget(a);
    arena_destroy(a->arena);
    free(a);
}

static int load_row(struct server *sv, int64_t sweep, struct arena *arena, struct advised_row *row,
                    struct bytes *search, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_ADVISED_GET, "i", sweep);
    int rc = stmt_step(s, e);

    if (rc == 1) {
        struct bytes bytes = stmt_bytes(s, 2);

        *row = (struct advised_row){ .state = (enum sweep_state)stmt_enum(s, 0, SWEEP_STATE_COUNT),
                                     .is_asked = advised_goes_on(stmt_int(s, 1)),
                                     .told = stmt_int(s, 3),
                                     .metric = stmt_copy(s, 4, arena),
                                     .goal = (enum goal)stmt_enum(s, 5, GOAL_COUNT),
                                     .reps = stmt_int(s, 6),
                                     .project = stmt_int(s, 7),
                                     .stamp = stmt_copy(s, 8, arena),
                                     .reuse = (enum reuse)stmt_enum(s, 10, REUSE_COUNT),
                                     .jobs = stmt_int(s, 11),
                                     .spent_ms = stmt_int(s, 12),
                                     .gpus_milli = stmt_int(s, 13),
                                     .uid = stmt_int(s, 14),
                                     .says = stmt_copy(s, 15, arena),
                                     .project_name = stmt_copy(s, 16, arena),
                                     .has_rule = stmt_int(s, 17) != 0 };
        stmt_digest(s, 9, &row->work);
        *search = (struct bytes){
            (const uint8_t *)arena_strndup(arena, (const char *)bytes.data, bytes.n), bytes.n
        };
    }
    stmt_end(s);
    if (rc != 1)
        return rc;
    s = db_ask(sv->db, SQL_SWEEP_COUNTS, "i", sweep);
    rc = stmt_step(s, e);
    for (int i = 0; rc == 1 && i < JOB_STATE_COUNT; i++)
        if (!job_is_ended((enum job_state)i))
            row->outstanding += stmt_int(s, 2 + i);
    stmt_end(s);
    return rc < 0 ? -1 : 1;
}

/* What keep() and doubt() get after a turn that changed memory and rows of a sweep together. */
struct changing {
    struct server *sv;
    int64_t sweep;
};

static void keep(struct server *sv, void *context)
{
    (void)sv;
    free(context);
}

/* Runs when the turn was undone: has the sweep read again from the database. */
static void doubt(void *context)
{
    struct changing *changed = context;
    struct advisee *a = find(changed->sv->advice, changed->sweep);

    if (a != NULL) {
        a->is_stale = true;
        turn_add_work(changed->sv->turn, look, a->sweep);
    }
    free(changed);
}

/* What take() returns while the sweep's record is still being read: call it in a later turn. */
enum { STILL_LOADING = 2 };

/* Finds a sweep with an advisor, or reads it, so that its memory and rows can be changed together.
 * Returns 1 with *found and *row, 0 when the sweep has no advisor, STILL_LOADING, or -1. */
static int take(struct server *sv, int64_t sweep, struct arena *arena, struct advisee **found,
                struct advised_row *row, struct err *e)
{
    struct advisee *a = find(sv->advice, sweep);
    struct advice *x = sv->advice;
    struct bytes search;
    struct changing *changed;
    int rc = load_row(sv, sweep, arena, row, &search, e);

    if (rc != 1) {
        if (a != NULL && rc == 0) {
            session_stop(sv, a);
            forget(x, a);
        }
        return rc;
    }
    if (a == NULL) {
        a = mem_alloc(sizeof *a);
        *a = (struct advisee){ .sweep = sweep,
                               .arena = arena_create(),
                               .is_stale = true,
                               .stand_ins = SCHEMA_NONE,
                               .asked_ms = advice_now(sv) };
        mem_grow((void **)&x->items, &x->capacity, x->n, sizeof(struct advisee *));
        x->items[x->n++] = a;
        search.data = (const uint8_t *)arena_strndup(a->arena, (const char *)search.data, search.n);
        if (schema_read(&search_schema, search, a->arena, &a->search, e) < 0) {
            forget(x, a);
            return -1;
        }
        a->points_at_once = space_points_at_once(&a->search);
    }
    if (a->is_stale) {
        session_stop(sv, a);
        a->record = (struct record){ 0 };
        a->is_stale = false;
        a->is_loading = true;
    }
    if (a->is_loading) {
        rc = advice_load_record(sv, a, e);
        if (rc != 0) {
            a->is_stale = rc < 0;
            return rc < 0 ? -1 : STILL_LOADING;
        }
        a->is_loading = false;
        a->asked_ms = advice_now(sv);
    }
    changed = mem_alloc(sizeof *changed);
    *changed = (struct changing){ sv, sweep };
    turn_after_with(sv, keep, doubt, changed);
    *found = a;
    return 1;
}

/* ---- points become jobs ---- */

struct giving {
    struct server *sv;
    struct advisee *a;
    struct advised_row *row;
    struct arena *arena;
    struct job_names names;
    int64_t params; /* the project's highest number */
    int64_t configs, new_jobs, reused;
};

/* Adds one replication to the sweep: reuses a job that was done before, or makes a new one. */
static int give_rep(struct giving *g, int64_t param, int64_t rep, bool is_new, struct err *e)
{
    struct db *db = g->sv->db;
    struct advised_row *row = g->row;
    struct buf name = { 0 };
    int64_t done = 0;
    int rc = 0;

    if (!is_new && row->reuse == REUSE_ALL)
        rc = db_get(db, e, SQL_DONE_SAME_WORK, "iid>i", param, rep, &row->work, &done);
    else if (!is_new && row->reuse == REUSE_PARAMS)
        rc = db_get(db, e, SQL_DONE_ANY_WORK, "ii>i", param, rep, &done);
    if (rc < 0)
        return -1;
    if (rc == 1) {
        g->reused++;
        return db_run(db, e, SQL_REUSED_ADD, "ii", g->a->sweep, done) < 0 ? -1 : 0;
    }
    if (is_new)
        buf_printf(&name, "%s_num%" PRId64, row->stamp, rep);
    else
        rc = job_name_find(g->sv, &g->names, row->stamp, param, rep, &name, e);
    if (rc == 0) {
        row->jobs++;
        g->new_jobs++;
        rc = db_run(db, e, SQL_JOB_ADD, "iiiisdiiIIi", g->a->sweep, row->jobs, param, rep,
                    buf_text(&name), &row->work, turn_now_ms(g->sv), turn_next_version(g->sv),
                    queue_place(row->jobs, false), SCHEMA_NONE, (int64_t)0);
    }
    buf_free(&name);
    return rc < 0 ? -1 : 0;
}

/* A configuration that was given, and the checkpoint that its jobs start from. */
struct given_config {
    struct value params;
    int64_t from;   /* the point whose checkpoint its jobs start from; 0: none */
    int64_t origin; /* the row id of that point's configuration */
};

/* Makes a row for one point, and jobs for its configuration if the sweep does not have it yet. */
static int give_point(struct giving *g, int64_t point, const struct given_config *config,
                      int64_t asked, enum point_by by, int64_t *param, struct err *e)
{
    struct server *sv = g->sv;
    struct buf packed = { 0 };
    struct digest digest;
    int rc;

    param_digest(&config->params, &digest);
    mp_add_value(&packed, &config->params);
    rc = param_index_find(sv, g->row->project, &digest, param, e);
    if (rc == 0 && param_index_add(sv, g->row->project, ++g->params, &digest, buf_bytes(&packed),
                                   param, e) < 0)
        rc = -1;
    if (rc >= 0 && config->from != 0 &&
        db_run(sv->db, e, SQL_PARAM_SET_ORIGIN, "ii", *param, config->origin) < 0)
        rc = -1;
    buf_free(&packed);
    if (rc >= 0 && db_run(sv->db, e, SQL_POINT_ADD, "iiiii", g->a->sweep, point, *param, asked,
                          (int64_t)by) >= 0) {
        bool is_new = rc == 0;

        rc = db_run(sv->db, e, SQL_CONFIG_ADD, "ii", g->a->sweep, *param);
        g->configs += rc > 0;
        for (int64_t rep = 0; rc == 1 && rep < g->row->reps; rep++)
            if (give_rep(g, *param, rep, is_new, e) < 0)
                return -1;
        return rc < 0 ? -1 : 0;
    }
    return -1;
}

static int write_counts(const struct giving *g, int64_t params_before, struct err *e)
{
    struct server *sv = g->sv;

    if (param_index_end(sv, e) < 0 ||
        (g->params != params_before &&
         db_run(sv->db, e, SQL_PROJECT_SET_PARAMS, "ii", g->row->project, g->params) < 0) ||
        db_run(sv->db, e, SQL_ADVISED_GREW, "iiiii", g->a->sweep, g->configs, g->row->jobs,
               g->reused, g->new_jobs) < 0)
        return -1;
    g->row->outstanding += g->new_jobs;
    if (g->new_jobs > 0) {
        turn_want_schedule(sv);
        turn_want_pilots(sv);
    }
    subscribe_touch(sv, g->a->sweep);
    return 0;
}

/* Appends the `given` line of these configurations, makes their jobs, and tells the advisor what is
 * known of them already.  flags: further members of the line. */
static int give(struct server *sv, struct advisee *a, struct advised_row *row,
                const struct given_config *configs, size_t n, enum point_by by, const char *flags,
                struct err *e)
{
    static const char *const by_names[] = { "advisor", "late", "fallback" };
    struct giving g = { .sv = sv, .a = a, .row = row, .arena = arena_create() };
    int64_t *params = arena_alloc(g.arena, (n + 1) * sizeof *params);
    int64_t first = a->record.given + 1, asked = a->record.asked, params_before = 0;
    struct buf line = { 0 };
    int rc = db_get(sv->db, e, SQL_PROJECT_PARAMS, "i>i", row->project, &params_before);

    g.params = params_before;
    advice_line_begin(a, &line, "given");
    buf_printf(&line, ", \"re\": %" PRId64 ", \"by\": \"%s\"%s, \"points\": [", asked, by_names[by],
               flags);
    param_index_begin(sv);
    for (size_t i = 0; rc >= 0 && i < n; i++) {
        rc = give_point(&g, first + (int64_t)i, &configs[i], asked, by, &params[i], e);
        buf_printf(&line, "%s{\"id\": %" PRId64, i == 0 ? "" : ", ", first + (int64_t)i);
        if (configs[i].from != 0)
            buf_printf(&line, ", \"from\": %" PRId64, configs[i].from);
        buf_add_str(&line, ", \"params\": ");
        json_add_value(&line, &configs[i].params);
        buf_add_char(&line, '}');
    }
    buf_add_char(&line, ']');
    if (rc >= 0)
        rc = write_counts(&g, params_before, e);
    if (rc >= 0)
        rc = advice_line_end(sv, a, ADVICE_DOWN, &line, e);
    for (size_t i = 0; rc >= 0 && i < n; i++)
        rc = advice_tell_done(sv, a, row, first + (int64_t)i, params[i], e);
    buf_free(&line);
    arena_destroy(g.arena);
    return rc < 0 ? -1 : 0;
}

/* Uses random points of the submit in place of an answer. */
static int give_stand_ins(struct server *sv, struct advisee *a, struct advised_row *row, int64_t n,
                          struct err *e)
{
    enum point_by by = record_has_given_up(&a->record) ? POINT_BY_FALLBACK : POINT_BY_LATE;
    struct arena *arena = arena_create();
    struct given_config *configs = arena_alloc(arena, (size_t)n * sizeof *configs);
    int rc = 1;

    for (int64_t i = 0; rc == 1 && i < n; i++) {
        struct stmt *s = db_ask(sv->db, SQL_STAND_IN_GET, "ii", a->sweep, a->record.stand_ins + i);
        struct bytes bytes;

        rc = stmt_step(s, e);
        bytes = rc == 1 ? stmt_bytes(s, 0) : (struct bytes){ 0 };
        configs[i] = (struct given_config){ .from = 0 };
        if (rc == 1 && mp_read(bytes.data, bytes.n, arena, &configs[i].params, e) < 0)
            rc = -1;
        stmt_end(s);
        if (rc == 0)
            rc = err_set(e, ERR_INTERNAL, "sweep %" PRId64 " lacks a random point", a->sweep);
    }
    if (rc == 1)
        rc = give(sv, a, row, configs, (size_t)n, by, "", e);
    arena_destroy(arena);
    return rc < 0 ? -1 : 0;
}

/* ---- what the advisor says ---- */

/* Whether the jobs that have ended took the GPU hours of the budget. */
static bool is_spent(const struct advisee *a, const struct advised_row *row)
{
    return a->search.gpu_hours_milli > 0 &&
           row->spent_ms / 1000 * row->gpus_milli / 3600 >= a->search.gpu_hours_milli;
}

static int refuse(struct server *sv, struct advisee *a, const char *why, struct err *e)
{
    return advice_append_why(sv, a, ADVICE_DOWN, "refused", why, e);
}

/* Whether the record's line with this seq is a question. */
static bool was_asked(struct server *sv, const struct advisee *a, int64_t seq)
{
    struct stmt *s = db_ask(sv->db, SQL_ADVICE_LINE, "ii", a->sweep, seq);
    bool is_ask = stmt_step(s, NULL) == 1 && strstr(stmt_text(s, 0), "\"type\": \"ask\"") != NULL;

    stmt_end(s);
    return is_ask;
}

/* Records a line of the advisor, unless too many lines without consequence were recorded. */
static int record_said(struct server *sv, struct advisee *a, const char *line, struct err *e)
{
    if (a->record.stray_bytes + (int64_t)strlen(line) > RECORD_STRAY_MAX_BYTES)
        return 0;
    return advice_append(sv, a, ADVICE_UP, line, e);
}

/* Returns 1 if the sweep keeps the checkpoints of done jobs, 0 if not, -1 on error. */
static int keeps_checkpoints(struct server *sv, int64_t sweep, struct arena *arena, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_SWEEP_WORK, "i", sweep);
    struct jobspec work;
    int rc = stmt_step(s, e);

    if (rc == 1)
        rc = schema_read(&work_schema, stmt_bytes(s, 2), arena, &work, e) < 0
                 ? -1
                 : work.checkpoint.keep;
    stmt_end(s);
    return rc;
}

/* For a configuration that goes on from another point's checkpoint: sets its origin, and adds the
 * origin to its parameters, as the same parameters from another checkpoint are another
 * configuration.  -1 with *why or *e set, as check_give(). */
static int take_origin(struct server *sv, const struct advisee *a, const struct advised_row *row,
                       struct arena *arena, struct given_config *config, struct err *why,
                       struct err *e)
{
    size_t n = config->params.map.n;
    struct member *members = arena_alloc(arena, (n + 1) * sizeof *members);
    struct checkpoint_origin left = { .param_name = NULL };
    int64_t resumed;
    int rc;

    if (value_get(&config->params, PARAM_FROM_CHECKPOINT) != NULL)
        return err_set(why, ERR_USAGE,
                       "from: the sweep has a parameter of its own called " PARAM_FROM_CHECKPOINT);
    rc = db_get(sv->db, e, SQL_POINT_PARAM, "ii>ii", a->sweep, config->from, &config->origin,
                &resumed);
    if (rc == 0)
        return err_set(why, ERR_USAGE, "from: there is no configuration %" PRId64, config->from);
    for (int64_t rep = 0; rc == 1 && rep < row->reps; rep++) {
        if (row_left_checkpoint(sv, config->origin, rep, row->uid, arena, &left, e) < 0)
            return -1;
        if (left.job_name == NULL)
            return err_set(why, ERR_USAGE,
                           "from: replication %" PRId64 " of configuration %" PRId64
                           " left no checkpoint: it has not ended, or failed, or wrote nothing to "
                           "$LUDWIG_CHECKPOINT, or is another user's",
                           rep, config->from);
    }
    if (rc < 0)
        return -1;
    memcpy(members, config->params.map.members, n * sizeof *members);
    members[n] = value_member(PARAM_FROM_CHECKPOINT, value_str(left.param_name));
    config->params = value_map(arena, members, n + 1);
    return 0;
}

/* Makes configurations of an answer's points.  -1 with *why set when the answer is refused, or with
 * *e set on error. */
static int check_give(struct server *sv, const struct advisee *a, const struct advised_row *row,
                      const struct said *said, struct arena *arena, struct given_config *configs,
                      struct err *why, struct err *e)
{
    const struct user_limit configurations = { "configurations", "configurations in your projects",
                                               "let the search end", sv->conf.configurations,
                                               SQL_PARAMS_OF_USER };
    const struct user_limit queued = user_limit_queued(sv);
    size_t n = said->points.list.n;
    int keeps = -1; /* keeps_checkpoints(), asked once if a point goes on from another */

    if (said->re != a->record.asked)
        return err_set(why, ERR_USAGE,
                       "re: %" PRId64 " is no question: the question has \"seq\": %" PRId64,
                       said->re, a->record.asked);
    if ((int64_t)n > a->record.asked_n)
        return err_set(why, ERR_USAGE, "%zu points, where at most %" PRId64 " were asked for", n,
                       a->record.asked_n);
    if (n == 0 && said->waits && row->outstanding == 0)
        return err_set(why, ERR_USAGE,
                       "wait: it waits, but no job is left whose end it could be told: give "
                       "points, or done");
    for (size_t i = 0; i < n; i++) {
        if (space_take(&a->search, &said->points.list.items[i], arena, &configs[i].params,
                       &configs[i].from, why) < 0)
            return -1;
        if (configs[i].from == 0)
            continue;
        if (keeps < 0 && (keeps = keeps_checkpoints(sv, a->sweep, arena, e)) < 0)
            return -1;
        if (!keeps)
            return err_set(why, ERR_USAGE,
                           "from: the sweep keeps no checkpoints of jobs that are done; with "
                           "`checkpoint: {keep: true}` it does");
        if (take_origin(sv, a, row, arena, &configs[i], why, e) < 0)
            return -1;
    }
    if (user_limit_check(sv, (uid_t)row->uid, &configurations, (int64_t)n, why) < 0)
        return -1;
    return n == 0 ? 0 : user_limit_check(sv, (uid_t)row->uid, &queued, (int64_t)n * row->reps, why);
}

/* Takes an answer.  The first valid answer to a question counts, and closes the question. */
static int take_give(struct server *sv, struct advisee *a, struct advised_row *row,
                     const char *line, const struct said *said, struct arena *arena, struct err *e)
{
    size_t n = said->points.list.n;
    struct given_config *configs = arena_alloc(arena, (n + 1) * sizeof *configs);
    struct err why = { 0 };

    /* A late answer, such as a second one to a question, is recorded without consequence. */
    if (a->record.has_ended || !row->is_asked || a->record.asked == 0 ||
        (said->re != a->record.asked && was_asked(sv, a, said->re)))
        return record_said(sv, a, line, e);
    if (check_give(sv, a, row, said, arena, configs, &why, e) < 0)
        return why.kind == ERR_NONE || record_said(sv, a, line, e) < 0 ? -1
                                                                       : refuse(sv, a, why.text, e);
    if (advice_append(sv, a, ADVICE_UP, line, e) < 0)
        return -1;
    return give(sv, a, row, configs, n, POINT_BY_ADVISOR,
                arena_printf(arena, "%s%s", said->is_done ? ", \"done\": true" : "",
                             said->waits ? ", \"wait\": true" : ""),
                e);
}

/* Records the advisor's state; only the newest one is kept whole. */
static int take_state(struct server *sv, struct advisee *a, const char *line,
                      const struct said *said, struct err *e)
{
    struct buf less = { 0 };
    int rc = 0;

    if (said->upto > a->record.last || said->upto < a->record.upto)
        return refuse(sv, a, "upto: it was never sent that line, or knew more before", e);
    if (a->record.state != 0) {
        buf_printf(&less, "{\"type\": \"state\", \"blob\": \"\", \"upto\": %" PRId64 "}",
                   a->record.upto);
        rc = db_run(sv->db, e, SQL_ADVICE_SAY_LESS, "iis", a->sweep, a->record.state,
                    buf_text(&less));
        buf_free(&less);
    }
    return rc < 0 ? -1 : advice_append(sv, a, ADVICE_UP, line, e);
}

/* Appends the advisor's reason for a stop or resume, cut to one short line, for `ludwig why` and
 * workers. */
static void add_reason(const struct said *said, struct buf *reason)
{
    const char *why = said->text == NULL ? "" : said->text;
    size_t n = strlen(why);

    n = n > STOP_WHY_MAX_BYTES ? utf8_cut(why, STOP_WHY_MAX_BYTES) : n;

    buf_add_str(reason, n > 0 ? "the advisor said so: " : "the advisor said so");
    for (size_t i = 0; i < n; i++)
        buf_add_char(reason, (unsigned char)why[i] < ' ' || why[i] == 0x7f ? ' ' : why[i]);
}

/* Stops a job early; a job that shares a process cannot end alone, and is cancelled instead. */
static int stop_job(struct server *sv, int64_t job, bool shares, const char *reason,
                    struct tally *t, struct err *e)
{
    return shares ? job_cancel(sv, job, CANCEL_NOW, t, e) : stops_end_early(sv, job, reason, t, e);
}

/* Stops the live jobs of the points that the line names.  *done: 0 at first, then 1 + how many of
 * its ids were looked at.  Returns 1 when the turn is full before the end, 0, or -1. */
static int take_stop(struct server *sv, struct advisee *a, const char *line,
                     const struct said *said, size_t *done, struct err *e)
{
    struct tally t = { 0 };
    struct buf reason = { 0 };
    bool is_first = true;
    int rc = 0;

    add_reason(said, &reason);
    if (*done == 0)
        rc = record_said(sv, a, line, e);
    for (*done += *done == 0; rc >= 0 && *done - 1 < said->ids.list.n; is_first = false) {
        int64_t param, resumed, job, batch;

        if (!is_first && turn_is_full(sv)) {
            buf_free(&reason);
            return tally_flush(sv, &t, e) < 0 ? -1 : 1;
        }
        rc = db_get(sv->db, e, SQL_POINT_PARAM, "ii>ii", a->sweep,
                    said->ids.list.items[*done - 1].i, &param, &resumed);
        if (rc == 1 && said->re != 0 && said->re < resumed)
            rc = 0; /* a new process says again what the one before has said */
        if (rc == 1)
            rc = db_get(sv->db, e, SQL_LIVE_OF_PARAM, "ii>ii", a->sweep, param, &job, &batch);
        if (rc == 0)
            ++*done;
        else if (rc == 1 && stop_job(sv, job, batch > 1, buf_text(&reason), &t, e) < 0)
            rc = -1;
    }
    buf_free(&reason);
    return rc < 0 ? -1 : tally_flush(sv, &t, e);
}

/* Appends `resumed` under each number of the configuration, as its ends are told. */
static int say_resumed(struct server *sv, struct advisee *a, int64_t param, int64_t rep,
                       struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_POINTS_OF_PARAM, "ii", a->sweep, param);
    struct buf line = { 0 };
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        advice_line_begin(a, &line, "resumed");
        buf_printf(&line, ", \"id\": %" PRId64 ", \"rep\": %" PRId64, stmt_int(s, 0), rep);
        if (advice_line_end(sv, a, ADVICE_DOWN, &line, e) < 0) {
            rc = -1;
            break;
        }
    }
    stmt_end(s);
    return rc < 0 ? -1
                  : db_run(sv->db, e, SQL_POINTS_RESUMED, "iii", a->sweep, param, a->record.last);
}

/* Whether the point's stopped jobs may go on, all of them: 1; 0: there are none, or a process says
 * again what the one before has said; -1 with *why set when that is refused, or with *e set. */
static int check_resume(struct server *sv, const struct advisee *a, const struct advised_row *row,
                        int64_t point, int64_t re, int64_t *param, struct err *why, struct err *e)
{
    const struct user_limit queued = user_limit_queued(sv);
    int64_t resumed, n, unfit;
    int rc = db_get(sv->db, e, SQL_POINT_PARAM, "ii>ii", a->sweep, point, param, &resumed);

    if (rc == 0)
        return err_set(why, ERR_USAGE, "resume: there is no configuration %" PRId64, point);
    if (rc < 0 || re < resumed)
        return rc < 0 ? -1 : 0;
    if (db_get(sv->db, e, SQL_STOPPED_COUNT, "ii>ii", a->sweep, *param, &n, &unfit) < 0)
        return -1;
    if (n == 0)
        return 0;
    if (unfit >= 0)
        return err_set(why, ERR_USAGE,
                       "resume: replication %" PRId64 " of configuration %" PRId64
                       " cannot go on: it left no checkpoint, or was cancelled or removed",
                       unfit, point);
    if (a->record.resumed >= RECORD_RESUMES_PER_POINT * a->record.given)
        return err_set(why, ERR_USAGE, "resume: jobs of this sweep were resumed %" PRId64 " times",
                       a->record.resumed);
    return user_limit_check(sv, (uid_t)row->uid, &queued, n, why) < 0 ? -1 : 1;
}

/* Checks the point at its first replication; resumes its next one that is stopped, and moves *rep
 * behind that, or to the number of replications when none is left. */
static int resume_next(struct server *sv, struct advisee *a, const struct advised_row *row,
                       int64_t point, const struct said *said, int64_t *rep, struct tally *t,
                       struct err *why, struct err *e)
{
    struct buf reason = { 0 };
    int64_t param, resumed, job;
    int rc = *rep == 0
                 ? check_resume(sv, a, row, point, said->re, &param, why, e)
                 : db_get(sv->db, e, SQL_POINT_PARAM, "ii>ii", a->sweep, point, &param, &resumed);

    if (rc == 1)
        rc = db_get(sv->db, e, SQL_STOPPED_OF_PARAM, "iii>ii", a->sweep, param, *rep, &job, rep);
    if (rc != 1) {
        *rep = row->reps;
        return rc;
    }
    add_reason(said, &reason);
    rc = stops_resume(sv, job, buf_text(&reason), t, e);
    buf_free(&reason);
    if (rc == 1)
        rc = say_resumed(sv, a, param, *rep, e);
    ++*rep;
    return rc;
}

/*
 * Resumes the stopped jobs of the points that the line names, up to one that cannot go on.  *done: 0
 * at first, then 1 + the number of the next replication, counted through all of its points.
 * Returns as take_stop().
 */
static int take_resume(struct server *sv, struct advisee *a, const struct advised_row *row,
                       const char *line, const struct said *said, size_t *done, struct err *e)
{
    struct tally t = { 0 };
    struct err why = { 0 };
    size_t reps = (size_t)row->reps;
    bool is_first = true;
    int rc = 0;

    if (a->record.has_ended || !row->is_asked)
        return *done == 0 ? record_said(sv, a, line, e) : 0;
    if (*done == 0) {
        /* What is not recorded has no consequence. */
        if (a->record.stray_bytes + (int64_t)strlen(line) > RECORD_STRAY_MAX_BYTES)
            return 0;
        rc = record_said(sv, a, line, e);
        if (rc == 0 && said->re >= a->record.last)
            return refuse(sv, a, "resume: re: that line was never sent", e);
        if (rc == 0 && row->has_rule)
            return refuse(sv, a,
                          "resume: the sweep's stop: or race: decides about its jobs: leave it "
                          "away",
                          e);
        if (rc == 0 && is_spent(a, row))
            return refuse(sv, a, "resume: the budget's gpu_hours are used up", e);
        *done = 1;
    }
    while (rc >= 0 && (*done - 1) / reps < said->ids.list.n) {
        int64_t point = said->ids.list.items[(*done - 1) / reps].i;
        int64_t rep = (int64_t)((*done - 1) % reps);

        if (!is_first && turn_is_full(sv))
            return tally_flush(sv, &t, e) < 0 ? -1 : 1;
        is_first = false;
        rc = resume_next(sv, a, row, point, said, &rep, &t, &why, e);
        *done += (size_t)rep - (*done - 1) % reps;
        /* The user's limit counts what is queued by now. */
        if (rc >= 0 && (*done - 1) % reps == 0 && tally_flush(sv, &t, e) < 0)
            return -1;
    }
    if (why.kind != ERR_NONE)
        rc = refuse(sv, a, why.text, e);
    return rc < 0 ? -1 : tally_flush(sv, &t, e);
}

/* If the advisor wants steps, workers tell the values of jobs that they get from now on; values of
 * jobs that they have already are not told. */
static int take_hello(struct server *sv, struct advisee *a, const struct advised_row *row,
                      const char *line, const struct said *said, struct err *e)
{
    bool is_new = said->wants_steps && !a->record.wants_steps;
    struct live_policy live = { .metric = NULL };
    struct arena *arena;
    struct buf bytes = { 0 };
    struct stmt *s;
    int rc = record_said(sv, a, line, e);

    if (rc < 0 || !is_new || row->metric == NULL)
        return rc;
    arena = arena_create();
    s = db_ask(sv->db, SQL_SWEEP_LIVE, "i", a->sweep);
    rc = stmt_step(s, e);
    if (rc == 1 && !stmt_is_null(s, 0) &&
        schema_read(&live_schema, stmt_bytes(s, 0), arena, &live, e) < 0)
        rc = -1;
    live.metric = row->metric;
    live.tells = true;
    schema_encode(&live_schema, &live, &bytes);
    stmt_end(s);
    if (rc == 1)
        rc = db_run(sv->db, e, SQL_SWEEP_SET_LIVE, "ib", a->sweep, buf_bytes(&bytes));
    buf_free(&bytes);
    arena_destroy(arena);
    return rc < 0 ? -1 : 0;
}

static int take_line(struct server *sv, struct advisee *a, struct advised_row *row,
                     const char *line, struct arena *arena, size_t *done, struct err *e)
{
    struct err why = { 0 };
    struct said said;

    if (record_read(line, arena, &said, &why) < 0)
        return record_said(sv, a, line, e) < 0 ? -1 : refuse(sv, a, why.text, e);
    switch (said.type) {
    case SAID_GIVE: return take_give(sv, a, row, line, &said, arena, e);
    case SAID_STATE: return take_state(sv, a, line, &said, e);
    case SAID_STOP: return take_stop(sv, a, line, &said, done, e);
    case SAID_RESUME: return take_resume(sv, a, row, line, &said, done, e);
    case SAID_HELLO: return take_hello(sv, a, row, line, &said, e);
    default: return record_said(sv, a, line, e);
    }
}

int advice_take(struct server *sv, const struct conn *c, const struct msg_advice *m, size_t *done,
                struct err *e)
{
    struct advisee *a = session_find(sv->advice, c, &m->token);
    struct arena *arena;
    struct advised_row row;
    int rc;

    if (a == NULL) /* the session is over, and the worker was told to stop it */
        return 0;
    turn_add_work(sv->turn, look, a->sweep);
    if (m->is_ready)
        a->session.is_ready = true;
    if (m->line == NULL)
        return 0;
    arena = arena_create();
    rc = take(sv, a->sweep, arena, &a, &row, e);
    if (rc == 1) {
        /* Jobs that have ended are told before the line, also those of points that it repeats. */
        while ((rc = advice_tell_ended(sv, a, &row, e)) == 1 && !turn_is_full(sv))
            ;
        if (rc >= 0)
            rc = take_line(sv, a, &row, m->line, arena, done, e);
    }
    arena_destroy(arena);
    return rc == STILL_LOADING ? 0 : rc; /* its session was ended: the next one repeats the line */
}

/* ---- telling the advisor of running jobs ---- */

/* Appends a `step` line for each point of the job's configuration, unless a value of this step or a
 * later one was told: workers repeat values to which they got no answer. */
static int append_step(struct server *sv, struct advisee *a, const struct reporter *r,
                       const struct measured *v, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_MEASURED_GET, "i", r->job);
    struct buf line = { 0 };
    int rc = stmt_step(s, e);
    bool is_known = rc == 1 && stmt_int(s, 0) >= v->step;

    stmt_end(s);
    if (rc < 0 || is_known)
        return rc < 0 ? -1 : 0;
    s = db_ask(sv->db, SQL_POINTS_OF_PARAM, "ii", a->sweep, r->config);
    while ((rc = stmt_step(s, e)) == 1) {
        advice_line_begin(a, &line, "step");
        buf_printf(&line,
                   ", \"id\": %" PRId64 ", \"rep\": %" PRId64 ", \"step\": %" PRId64
                   ", \"value\": ",
                   stmt_int(s, 0), r->rep, v->step);
        value_add_float(&line, v->value);
        if (advice_line_end(sv, a, ADVICE_DOWN, &line, e) < 0) {
            rc = -1;
            break;
        }
    }
    stmt_end(s);
    return rc < 0 ? -1 : db_run(sv->db, e, SQL_MEASURED_SET, "iif", r->job, v->step, v->value);
}

static int take_step(struct server *sv, int64_t worker, const struct measured *v, struct err *e)
{
    struct arena *arena;
    struct advised_row row;
    struct advisee *a = NULL;
    struct reporter r;
    int rc = reporter_find(sv, worker, &v->token, &r, e);

    if (rc == 0 && r.is_known && !job_is_ended(r.state) && isfinite(v->value))
        a = find(sv->advice, r.sweep);
    /* While the record is being read the value is dropped; the job's next one is told. */
    if (a == NULL || a->is_stale || a->is_loading || !a->record.wants_steps ||
        a->record.has_ended || a->record.step_bytes > RECORD_STEPS_MAX_BYTES)
        return rc;
    arena = arena_create();
    rc = take(sv, r.sweep, arena, &a, &row, e);
    if (rc == 1 && append_step(sv, a, &r, v, e) < 0)
        rc = -1;
    turn_add_work(sv->turn, look, r.sweep);
    arena_destroy(arena);
    return rc < 0 ? -1 : 0;
}

int advice_take_steps(struct server *sv, int64_t worker, const struct list *values, size_t *done,
                      struct err *e)
{
    const struct measured *v = values->items;
    bool is_wanted = false;

    for (size_t i = 0; i < sv->advice->n; i++)
        is_wanted |= sv->advice->items[i]->record.wants_steps;
    for (size_t first = *done; is_wanted && *done < values->n; ++*done) {
        size_t i = *done;

        if (i > first && turn_is_full(sv))
            return 1;
        if ((i + 1 == values->n || !token_equal(&v[i].token, &v[i + 1].token)) &&
            take_step(sv, worker, &v[i], e) < 0)
            return -1;
    }
    return 0;
}

/* ---- sessions ---- */

int advice_take_report(struct server *sv, const struct conn *c, const struct report *r,
                       struct err *e)
{
    struct advisee *a = session_find(sv->advice, c, &r->token);
    struct arena *arena;
    struct advised_row row;
    int rc = 0;

    if (a == NULL)
        return 0;
    if (r->event == EV_STAGE || r->event == EV_RUN || r->event == EV_END)
        return 1;
    arena = arena_create();
    rc = take(sv, a->sweep, arena, &a, &row, e);
    if (rc == 1 && a->session.conn != 0) {
        bool is_own = r->event == EV_FAIL || r->event == EV_DONE || r->event == EV_CANCEL;

        if (r->cause == CAUSE_ENVIRONMENT && conn_find(sv, a->session.conn) != NULL) {
            fit_note_lack(conn_find(sv, a->session.conn), a->sweep,
                          r->reason != NULL ? r->reason : cause_names[CAUSE_ENVIRONMENT]);
        } else if (is_own && row.is_asked && !a->record.has_ended) {
            const char *why = r->reason != NULL ? r->reason : "it has ended";

            rc = advice_append_why(sv, a, ADVICE_NOTE, "failed", why, e) < 0 ? -1 : 1;
        }
        session_forget(a);
        a->start_ms = advice_now(sv) + START_AGAIN_MS;
        turn_add_work(sv->turn, look, a->sweep);
    }
    arena_destroy(arena);
    return rc < 0 ? -1 : 1;
}

void advice_left(struct server *sv, const struct conn *c)
{
    for (size_t i = 0; sv->advice != NULL && i < sv->advice->n; i++)
        if (sv->advice->items[i]->session.conn == c->number)
            turn_add_work(sv->turn, look, sv->advice->items[i]->sweep);
}

/* ---- what is next ---- */

static void add_words(const struct advisee *a, const struct advised_row *row, struct buf *out)
{
    const struct record *r = &a->record;

    buf_add_str(out, r->name[0] != '\0' ? r->name : "the advisor");
    if (r->has_ended) {
        buf_add_str(out, " has ended");
    } else if (record_has_given_up(r)) {
        buf_printf(out, " failed %d times in a row: %s; %s", r->failures, r->why,
                   a->search.falls_back ? "the rest is drawn at random"
                                        : "the sweep is paused (`ludwig resume` asks again)");
        return;
    } else if (a->session.conn == 0) {
        buf_add_str(out, row->state == SWEEP_PAUSED ? " is not asked while the sweep is paused"
                                                    : " waits for a worker");
    } else {
        buf_printf(out, " runs on %s", a->session.node);
    }
    buf_printf(out, ": %" PRId64, r->given);
    if (a->search.configs > 0)
        buf_printf(out, " of %" PRId64, a->search.configs);
    buf_add_str(out, " configurations given");
    if (r->late > 0)
        buf_printf(out, ", of which %" PRId64 " at random, as it was late", r->late);
    if (r->failures > 0)
        buf_printf(out, "; it failed: %s", r->why);
}

static int say(struct server *sv, const struct advisee *a, const struct advised_row *row,
               struct err *e)
{
    struct buf words = { 0 };
    int rc = 0;

    add_words(a, row, &words);
    if (row->says == NULL || strcmp(row->says, buf_text(&words)) != 0) {
        rc = db_run(sv->db, e, SQL_ADVISED_SAY, "isi", a->sweep, buf_text(&words),
                    turn_next_version(sv));
        subscribe_touch(sv, a->sweep);
    }
    buf_free(&words);
    return rc < 0 ? -1 : 0;
}

static int finish(struct server *sv, struct advisee *a, struct err *e)
{
    struct tally t = { .sweep = a->sweep };
    struct buf line = { 0 };

    advice_line_begin(a, &line, "end");
    if (advice_line_end(sv, a, ADVICE_DOWN, &line, e) < 0 ||
        db_run(sv->db, e, SQL_ADVISED_END, "i", a->sweep) < 0)
        return -1;
    return tally_flush(sv, &t, e);
}

static int count_stand_ins(struct server *sv, struct advisee *a, struct err *e)
{
    if (a->stand_ins != SCHEMA_NONE)
        return 0;
    a->stand_ins = 0;
    return db_get(sv->db, e, SQL_STAND_INS, "i>i", a->sweep, &a->stand_ins) < 0 ? -1 : 0;
}

static int set_advised(struct server *sv, const struct advisee *a, enum advised to, struct err *e)
{
    return db_run(sv->db, e, SQL_ADVISED_SET, "ii", a->sweep, (int64_t)to) < 0 ? -1 : 0;
}

static int64_t in_points(int64_t jobs, int64_t reps)
{
    return (jobs + reps - 1) / reps;
}

/* Takes the steps that follow from the record.  Returns 1 when more are left for the next turn, 0
 * with *after_ms, the time until the next look, when none are left, -1 on error. */
static int go_on(struct server *sv, struct advisee *a, struct advised_row *row, int64_t *after_ms,
                 struct err *e)
{
    int rc = 0;

    if (row->state == SWEEP_RUNNING && a->was_paused)
        a->asked_ms = advice_now(sv); /* the advisor gets its whole time to answer again */
    a->was_paused = row->state != SWEEP_RUNNING;
    for (int steps = 0; rc >= 0 && steps < STEPS_MAX && !turn_is_full(sv); steps++) {
        struct record_now now = { .is_running = row->state == SWEEP_RUNNING && row->is_asked,
                                  .outstanding = in_points(row->outstanding, row->reps),
                                  .slots = in_points(a->slots, row->reps),
                                  .waited_ms = (int64_t)(advice_now(sv) - a->asked_ms),
                                  .is_spent = is_spent(a, row),
                                  .stand_ins = a->stand_ins,
                                  .is_there = a->session.conn != 0 };
        struct record_next next = record_next(&a->record, &a->search, &now);

        if (next.n > 1 && next.n > JOBS_AT_ONCE / row->reps)
            next.n = JOBS_AT_ONCE / row->reps > 0 ? JOBS_AT_ONCE / row->reps : 1;
        if (next.n > a->points_at_once)
            next.n = a->points_at_once;
        switch (next.step) {
        case RECORD_NOTHING: *after_ms = next.after_ms; return 0;
        case RECORD_ASK: rc = advice_append_ask(sv, a, next.n, e); break;
        case RECORD_STAND_IN: rc = give_stand_ins(sv, a, row, next.n, e); break;
        case RECORD_RESUME:
            rc = advice_append_why(sv, a, ADVICE_NOTE, "resumed", NULL, e);
            if (rc >= 0)
                rc = set_advised(sv, a, SWEEP_ADVISED, e);
            a->asked_ms = advice_now(sv);
            break;
        case RECORD_PAUSE:
            rc = advice_append_why(sv, a, ADVICE_NOTE, "paused", a->record.why, e);
            if (rc >= 0 && (set_advised(sv, a, SWEEP_ADVICE_FAILED, e) < 0 ||
                            sweep_pause(sv, a->sweep, e) < 0))
                rc = -1;
            row->state = SWEEP_PAUSED;
            break;
        case RECORD_END:
            rc = finish(sv, a, e);
            row->is_asked = false;
            break;
        }
    }
    return rc < 0 ? -1 : 1;
}

static void on_timer(uv_timer_t *timer)
{
    struct advice *x = timer->data;

    for (size_t i = 0; i < x->n; i++)
        if (x->items[i]->due_ms > 0 && x->items[i]->due_ms <= uv_now(timer->loop))
            turn_add_work(x->sv->turn, look, x->items[i]->sweep);
}

/* Sets the timer to the time when the first sweep is due. */
static void set_timer(struct advice *x)
{
    uint64_t at = UINT64_MAX, now = advice_now(x->sv);

    for (size_t i = 0; i < x->n; i++)
        if (x->items[i]->due_ms > 0 && x->items[i]->due_ms < at)
            at = x->items[i]->due_ms;
    if (at == UINT64_MAX)
        uv_timer_stop(x->timer);
    else
        uv_timer_start(x->timer, on_timer, at > now ? at - now : 0, 0);
}

static void look_again(struct server *sv, struct advisee *a, const struct advised_row *row,
                       int64_t after_ms)
{
    uint64_t now_ms = advice_now(sv), at = UINT64_MAX;

    if (after_ms >= 0)
        at = now_ms + (uint64_t)after_ms;
    if (a->session.conn == 0 && row->is_asked && row->state == SWEEP_RUNNING &&
        !record_has_given_up(&a->record) && now_ms + START_AGAIN_MS < at)
        at = now_ms + START_AGAIN_MS; /* a worker may have come that can run the advisor */
    if (a->session.stop_ms > 0 && a->session.stop_ms < at)
        at = a->session.stop_ms;
    a->due_ms = at == UINT64_MAX ? 0 : at > now_ms ? at : now_ms + 1;
    set_timer(sv->advice);
}

/* Turn work: records what happened to the sweep, and takes the steps that follow. */
static int look(struct server *sv, int64_t sweep, struct err *e)
{
    struct arena *arena = arena_create();
    struct advisee *a = NULL;
    char *node = NULL;
    struct advised_row row;
    int64_t conn = 0, after_ms = -1;
    int rc = take(sv, sweep, arena, &a, &row, e);

    if (rc == STILL_LOADING) {
        arena_destroy(arena);
        return 1;
    }
    if (rc == 1 && a->record.last == 0)
        rc = advice_append_space(sv, a, &row, e) < 0 ? -1 : 1;
    if (rc == 1 && (a->slots_ms == 0 || advice_now(sv) - a->slots_ms >= SLOTS_AGAIN_MS ||
                    a->session.conn == 0))
        rc = session_survey(sv, a, &conn, &node, e) < 0 ? -1 : 1;
    if (rc == 1)
        rc = count_stand_ins(sv, a, e) < 0 ? -1 : 1;
    if (rc == 1) {
        rc = advice_tell_ended(sv, a, &row, e);
        if (rc == 0)
            rc = go_on(sv, a, &row, &after_ms, e);
        if (rc >= 0 && (session_look(sv, a, &row, conn, node, e) < 0 || say(sv, a, &row, e) < 0))
            rc = -1;
        if (rc >= 0)
            look_again(sv, a, &row, after_ms);
    }
    if (rc < 0 && a != NULL) {
        a->is_stale = true;
        a->due_ms = advice_now(sv) + FAILED_AGAIN_MS;
        set_timer(sv->advice);
    } else if (a != NULL && !row.is_asked && a->session.conn == 0 && rc == 0) {
        forget(sv->advice, a);
    }
    free(node);
    arena_destroy(arena);
    return rc;
}

int64_t advice_cancel(struct server *sv, int64_t sweep, struct err *e)
{
    struct arena *arena = arena_create();
    struct advisee *a;
    struct advised_row row;
    int rc = take(sv, sweep, arena, &a, &row, e);
    bool is_asked = rc == 1 && row.is_asked;

    if (rc == STILL_LOADING) {
        arena_destroy(arena);
        return ADVICE_GOES_ON;
    }
    if (is_asked && finish(sv, a, e) < 0)
        rc = -1;
    if (rc == 1)
        turn_add_work(sv->turn, look, sweep);
    arena_destroy(arena);
    return rc < 0 ? -1 : is_asked;
}

/* ---- beginning and end ---- */

struct advice *advice_create(struct server *sv)
{
    struct advice *x = mem_alloc(sizeof *x);

    sv->look_at_advice = look;
    *x = (struct advice){ .sv = sv, .timer = mem_alloc(sizeof *x->timer) };
    x->timer->data = x;
    uv_timer_init(&sv->loop, x->timer);
    return x;
}

static void on_closed(uv_handle_t *timer)
{
    free(timer);
}

void advice_destroy(struct advice *x)
{
    if (x == NULL)
        return;
    while (x->n > 0)
        forget(x, x->items[0]);
    uv_close((uv_handle_t *)x->timer, on_closed);
    free(x->items);
    free(x);
}

int advice_load(struct server *sv, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_ADVISED_SWEEPS, "");
    int rc;

    while ((rc = stmt_step(s, e)) == 1)
        turn_add_work(sv->turn, look, stmt_int(s, 0));
    return rc;
}
