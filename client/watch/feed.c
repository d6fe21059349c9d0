/* SPDX-License-Identifier: MIT */
/* feed.c - a thread that brings news from server and drive into the model of `ludwig watch` */
#include "client/watch/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/query/change_jobs.h"
#include "client/query/jobinfo.h"
#include "client/query/pages.h"
#include "client/results/ranked.h"
#include "client/session/subscription.h"
#include "client/term/progress.h"
#include "common/base/io.h"
#include "common/base/units.h"
#include "common/data/json.h"
#include "common/proto/metric_line.h"

enum {
    LOG_EVERY_MS = 1000,
    CURVES_EVERY_MS = 2000,
    NODES_EVERY_MS = 5000,
    WHY_EVERY_MS = 10 * 1000,
    SWEEPS_EVERY_MS = 10 * 1000,
    BEST_EVERY_MS = 3000,
    BEST_JOBS_MAX = 2000, /* a sweep with more jobs is not asked for its best result */
    RETRY_MS = 2000,      /* how long a request looks for a server that is away, before it fails */
    END_MS = 2000,        /* how long the thread has when it is told to end */
    LOG_END_BYTES = 64 * 1024,
    PIECE_BYTES = 256 * 1024, /* how much of a file is read at a time */
    LINE_MAX_BYTES = 1024 * 1024
};

/* What only the feed's thread uses. */
struct feeding {
    struct feed *f;
    struct subscription sub;
    bool is_subscribed;
    bool is_lost;         /* the connection broke and was not made anew yet */
    struct share_dir *fs; /* NULL: not opened, or the drive cannot be seen */
    char *log_path;       /* path of the log in the model; NULL: none */
    int64_t log_offset;
    int64_t log_at_ms, nodes_at_ms, why_at_ms, sweeps_at_ms, best_at_ms;
    bool has_more;                 /* a curve is due that had to wait for something else */
    int64_t best_sweep, best_done; /* the sweep whose best was asked for, and its done jobs then */
    int64_t drive_at_ms;           /* when the drive was last tried to be opened */
};

/* ---- turns ---- */

static struct watch_model *lock(struct feeding *g)
{
    (void)pthread_mutex_lock(&g->f->turn);
    return g->f->model;
}

static void unlock(struct feeding *g)
{
    (void)pthread_mutex_unlock(&g->f->turn);
}

/* Unlocks the model, and tells the screen that there is something to draw. */
static void unlock_with_news(struct feeding *g)
{
    unlock(g);
    (void)!write(g->f->news_write_fd, "", 1);
}

static void say_asking(struct feeding *g, bool is_asking)
{
    lock(g)->asking_at_ms = is_asking ? units_monotonic_ms() : 0;
    unlock(g);
}

static bool is_due(int64_t *at_ms, int64_t every_ms)
{
    int64_t now_ms = units_monotonic_ms();

    if (*at_ms != 0 && now_ms - *at_ms < every_ms)
        return false;
    *at_ms = now_ms;
    return true;
}

static bool is_told_to_end(const struct feeding *g)
{
    struct pollfd p = { .fd = g->f->end_pipe[0], .events = POLLIN };

    return poll(&p, 1, 0) > 0;
}

/* Asks the server.  A failure has no consequence: the question is asked again later. */
static bool ask(struct feeding *g, enum msg_type type, const void *request, void *reply)
{
    say_asking(g, true);
    return rpc_call(&g->f->questions, type, request, reply, NULL) == 0;
}

/* ---- the subscription ---- */

/* Subscribes to all sweeps, and to the jobs of sweeps that were chosen once. */
static int subscribe(struct feeding *g, struct err *e)
{
    struct rpc *rpc = &g->f->session->rpc;
    struct msg_subscribe what[WATCH_SWEEPS_MAX];
    struct watch_model *m = lock(g);
    size_t n = m->n_sweeps;

    for (size_t i = 0; i < n; i++) {
        struct watch_sweep *s = &m->sweeps[i];
        bool wants_jobs = s->may_see && (s->jobs != NULL || i == m->sweep);

        what[i] = (struct msg_subscribe){ .sweep = s->info.sweep,
                                          .cursor = wants_jobs ? 0 : -1,
                                          .jobs = wants_jobs };
        for (size_t k = 0; g->is_subscribed && k < g->sub.n; k++)
            if (g->sub.requests[k].sweep == s->info.sweep && g->sub.requests[k].jobs == wants_jobs)
                what[i] = g->sub.requests[k];
    }
    unlock(g);
    if (n == 0)
        return err_set(e, ERR_INTERNAL, "no sweep to watch");
    if ((g->is_lost || g->is_subscribed) && rpc_reopen(rpc, e) < 0)
        return -1;
    if (g->is_subscribed)
        subscription_end(&g->sub);
    g->is_subscribed = false;
    rpc->patience_ms = RETRY_MS;
    if (subscription_begin_all(&g->sub, rpc, what, n, e) < 0)
        return -1;
    g->sub.other_fd = g->f->wake_pipe[0];
    g->is_subscribed = true;
    g->is_lost = false;
    rpc->patience_ms = RETRY_MS;
    return 0;
}

/* Whether to subscribe anew: a sweep is new or was never chosen before, or the connection broke. */
static bool is_subscription_short(struct feeding *g)
{
    struct watch_model *m = lock(g);
    bool is_short = g->is_lost || !g->is_subscribed || g->sub.n != m->n_sweeps;

    for (size_t i = 0; !is_short && i < g->sub.n; i++)
        is_short = i == m->sweep && m->sweeps[i].may_see && !g->sub.requests[i].jobs;
    unlock(g);
    return is_short;
}

static void take_changes(struct feeding *g, const struct msg_changes *changes)
{
    struct watch_model *m = lock(g);
    struct watch_sweep *s = model_sweep(m, changes->sweep.sweep);
    const struct job_info *jobs = changes->jobs.items;
    struct arena *a = arena_create();

    if (s != NULL) {
        model_take_sweep(s, &changes->sweep);
        for (size_t i = 0; i < changes->jobs.n; i++) {
            struct job_info job = jobs[i];

            session_job_paths(g->f->session, a, &job);
            model_take_job(m, s, &job);
        }
        for (size_t i = 0; i < g->sub.n; i++)
            if (g->sub.requests[i].sweep == changes->sweep.sweep && g->sub.requests[i].jobs)
                s->is_whole = s->is_whole || !changes->more;
    }
    if (s != NULL)
        s->is_stale = true;
    m->lost_at_ms = 0;
    arena_destroy(a);
    unlock_with_news(g);
}

/* ---- sweeps that were submitted meanwhile ---- */

static int take_sweeps(void *context, const struct msg_sweep_page *page, struct err *e)
{
    struct feeding *g = context;
    const struct sweep_info *sweeps = page->sweeps.items;
    struct watch_model *m = lock(g);

    (void)e;
    m->slurm_calls = page->slurm_calls;
    m->pilots_waiting = page->pilots_waiting;
    m->pilots_running = page->pilots_running;
    for (size_t i = 0; i < page->sweeps.n && g->f->watches_all; i++) {
        struct watch_sweep *s = model_sweep(m, sweeps[i].sweep);

        if (s != NULL && s->info.user == NULL) {
            model_take_sweep(s, &sweeps[i]);
            s->may_see = true;
        }
    }
    unlock_with_news(g);
    return 1; /* no further page: the newest sweeps are enough */
}

static void read_sweeps(struct feeding *g)
{
    const struct sweep_filter mine = { .user = g->f->session->rpc.welcome.user,
                                       .states = 1u << SWEEP_RUNNING | 1u << SWEEP_PAUSED |
                                                 1u << SWEEP_HELD,
                                       .page = 20 };

    (void)pages_sweeps(&g->f->questions, &mine, take_sweeps, g, NULL);
}

/* ---- nodes, and what waits ---- */

static void read_nodes(struct feeding *g)
{
    const struct msg_get_nodes request = { .limit = PAGE_MAX };
    struct msg_node_page page;

    if (!ask(g, MSG_GET_NODES, &request, &page))
        return;
    model_take_nodes(lock(g), &page);
    unlock_with_news(g);
}

/* The number of the chosen sweep's first waiting job; 0: none waits. */
static int64_t find_waiting(struct feeding *g, int64_t *sweep)
{
    struct watch_model *m = lock(g);
    const struct watch_sweep *s = model_chosen(m);
    int64_t job = 0;

    for (size_t i = 0; s != NULL && i < s->n_jobs && job == 0; i++)
        if (s->jobs[i].info != NULL && s->jobs[i].state == JOB_QUEUED && !s->jobs[i].is_paused)
            job = (int64_t)i + 1;
    *sweep = s != NULL ? s->info.sweep : 0;
    unlock(g);
    return job;
}

static void read_why(struct feeding *g)
{
    int64_t sweep, job = find_waiting(g, &sweep);
    const struct msg_ask_why request = { .sweep = sweep, .job = job };
    struct arena *a = arena_create();
    struct msg_why why = { .job.state = JOB_DONE };
    const char **lines;
    size_t n = 0;

    if (job != 0)
        (void)ask(g, MSG_ASK_WHY, &request, &why);
    lines = arena_alloc(a, (why.lines.n + 1) * sizeof *lines);
    if (why.job.state == JOB_QUEUED && why.lines.n > 0) {
        lines[n++] = arena_printf(a, "%s, the first that waits:", why.job.job);
        for (size_t i = 0; i < why.lines.n; i++)
            lines[n++] = ((const char *const *)why.lines.items)[i];
    }
    model_take_why(lock(g), sweep, &(struct list){ lines, n });
    unlock_with_news(g);
    arena_destroy(a);
}

/* ---- the best so far ---- */

static void read_best(struct feeding *g)
{
    const struct measures_said said = { 0 };
    struct watch_model *m = lock(g);
    const struct watch_sweep *s = model_chosen(m);
    int64_t sweep = s != NULL ? s->info.sweep : 0,
            done = s != NULL ? progress_done(&s->info.jobs) : 0;
    bool is_wanted = s != NULL && progress_jobs(&s->info.jobs) <= BEST_JOBS_MAX && done > 0 &&
                     (sweep != g->best_sweep || done != g->best_done);
    struct arena *a;
    struct aggregate results;
    int ranked_by = -1;

    unlock(g);
    if (!is_wanted || !is_due(&g->best_at_ms, BEST_EVERY_MS))
        return;
    g->best_sweep = sweep;
    g->best_done = done;
    a = arena_create();
    aggregate_init(&results);
    if (ranked_read(&g->f->questions, sweep, &said, a, &results, &ranked_by, NULL) == 0) {
        const struct config_result *c = &results.configs[0];
        struct buf line = { 0 };

        buf_printf(&line, "best so far: %s %.6g, %s  ", results.metrics[ranked_by],
                   aggregate_measure(c, (size_t)ranked_by)->last.mean, c->param_name);
        jobinfo_add_params(&line, &c->params);
        m = lock(g);
        free(m->best);
        m->best = buf_take(&line);
        m->best_sweep = sweep;
        unlock_with_news(g);
    }
    aggregate_free(&results);
    arena_destroy(a);
}

/* ---- files on the drive ---- */

/* Returns the drive, opened if need be; NULL: it cannot be seen now. */
static struct share_dir *drive(struct feeding *g)
{
    if (g->fs != NULL && session_is_connected(g->f->session))
        return g->fs;
    share_close(g->fs);
    g->fs = NULL;
    if (is_due(&g->drive_at_ms, RETRY_MS))
        g->fs = session_open_drive(g->f->session, NULL);
    return g->fs;
}

/* Reads a piece of the file from *offset on, and moves that; -1: it cannot be read now.  A request
 * takes its time over a slow line, so the file's size is asked for only where it matters. */
static ssize_t read_piece(struct feeding *g, const char *path, int64_t *offset, int64_t end_bytes,
                          char *bytes)
{
    struct share_dir *fs;
    struct share_input *in;
    struct err why = { 0 };
    int64_t size_bytes = 0;
    ssize_t n = -1;

    say_asking(g, true);
    fs = drive(g);
    in = fs != NULL ? share_open_input(fs, path, 0, NULL) : NULL;
    if (in == NULL)
        return -1;
    if (end_bytes > 0 && *offset == 0 && share_input_size(in, &size_bytes, &why) == 0 &&
        size_bytes > PIECE_BYTES)
        *offset = size_bytes - end_bytes;
    if (why.kind == ERR_NONE) {
        share_seek_input(in, *offset);
        n = share_read_input(in, bytes, PIECE_BYTES, &why);
        *offset += n > 0 ? n : 0;
    }
    if (n == 0 && *offset > 0 && share_input_size(in, &size_bytes, &why) == 0 &&
        *offset > size_bytes) /* the file was begun anew */
        *offset = 0;
    if (n == PIECE_BYTES && end_bytes > 0 && share_input_size(in, &size_bytes, &why) == 0 &&
        size_bytes - *offset > PIECE_BYTES) /* the file grows faster than it is read */
        *offset = size_bytes - end_bytes;
    share_close_input(in);
    if (why.kind == ERR_UNREACHABLE) {
        share_close(g->fs);
        g->fs = NULL;
    }
    return n;
}

static void read_log(struct feeding *g, char *bytes)
{
    struct arena *a = arena_create();
    struct watch_model *m = lock(g);
    struct watch_sweep *s;
    const struct watch_job *current;
    const char *path = NULL;
    struct job_info job;
    int64_t sweep = 0, number = 0;
    bool is_new = false;
    ssize_t n;

    model_settle(m);
    s = model_chosen(m);
    current = s != NULL ? model_current(s) : NULL;
    if (current != NULL) {
        sweep = s->info.sweep;
        number = current - s->jobs + 1;
        if (model_job(s, number, a, &job) && job.log_path != NULL && job.log_path[0] != '\0')
            path = job.log_path;
    }
    unlock(g);
    if (path != NULL && (g->log_path == NULL || strcmp(path, g->log_path) != 0)) {
        free(g->log_path);
        g->log_path = mem_strdup(path);
        g->log_offset = 0;
        is_new = true;
    }
    n = path != NULL ? read_piece(g, path, &g->log_offset, LOG_END_BYTES, bytes) : -1;
    m = lock(g);
    if (path == NULL && current != NULL && (m->log_sweep != sweep || m->log_job != number)) {
        model_begin_log(m, "", sweep, number);
        free(m->log_path);
        m->log_path = NULL;
        free(g->log_path);
        g->log_path = NULL;
    } else if (path != NULL && (is_new || m->log_path == NULL)) {
        /* The model may have dropped what was read of the log. */
        if (!is_new)
            g->log_offset = 0;
        model_begin_log(m, path, sweep, number);
        if (!is_new)
            n = -1;
    }
    if (n > 0)
        model_add_log(m, bytes, (size_t)n);
    if (n > 0 || is_new || path == NULL)
        unlock_with_news(g);
    else
        unlock(g);
    arena_destroy(a);
}

static void take_value(void *context, const char *name, size_t n, double value, int64_t step)
{
    model_add_point(context, name, n, step == SCHEMA_NONE ? (double)NAN : (double)step, value);
}

/* Adds the values in whole lines to the curve; a line that is no JSON is passed over. */
static void take_lines(struct watch_curve *c, const char *bytes, size_t n)
{
    struct arena *a = arena_create();
    const char *at, *newline;

    if (c->rest.n < LINE_MAX_BYTES)
        buf_add(&c->rest, bytes, n);
    at = buf_text(&c->rest);
    while ((newline = memchr(at, '\n', c->rest.n - (size_t)(at - buf_text(&c->rest)))) != NULL) {
        struct value map;

        if (json_read(at, (size_t)(newline - at), a, &map, NULL) == 0 && map.type == VALUE_MAP)
            metric_line_each(&map, take_value, c);
        arena_reset(a);
        at = newline + 1;
    }
    buf_drop_front(&c->rest, (size_t)(at - buf_text(&c->rest)));
    arena_destroy(a);
}

/* The path of the file with what a job has reported, in the arena; NULL: there is none. */
static const char *curve_path(const struct watch_sweep *s, int64_t number, struct arena *a)
{
    struct job_info job;

    if (!model_job(s, number, a, &job))
        return NULL;
    if (job.metrics_path != NULL && job.metrics_path[0] != '\0')
        return job.metrics_path;
    if (job_has_published((enum job_state)job.state) && job.run_path != NULL)
        return arena_printf(a, "%s/metrics.jsonl", job.run_path);
    return NULL;
}

/* Gives each wanted job a place for its curve, keeping what was read; empties all other places. */
static void settle_curves(struct watch_model *m, struct arena *a)
{
    const struct watch_sweep *s = model_chosen(m);
    int64_t jobs[WATCH_CURVES_MAX];
    size_t n = model_wanted_curves(m, jobs);
    bool has_place[WATCH_CURVES_MAX] = { false };

    for (size_t i = 0; i < WATCH_CURVES_MAX; i++) {
        struct watch_curve *c = &m->curves[i];
        size_t k = 0;

        while (k < n && (s == NULL || c->sweep != s->info.sweep || c->job != jobs[k]))
            k++;
        if (k < n) {
            const char *path = curve_path(s, jobs[k], a);

            /* The job's results moved, or another attempt has begun. */
            if (path != NULL && strcmp(path, c->path) != 0)
                model_begin_curve(c, c->sweep, c->job, path);
            has_place[k] = true;
        } else if (c->sweep != 0) {
            model_begin_curve(c, 0, 0, "");
        }
    }
    for (size_t k = 0; k < n; k++) {
        const char *path = has_place[k] ? NULL : curve_path(s, jobs[k], a);
        size_t i = 0;

        while (i < WATCH_CURVES_MAX && m->curves[i].sweep != 0)
            i++;
        if (path != NULL && i < WATCH_CURVES_MAX)
            model_begin_curve(&m->curves[i], s->info.sweep, jobs[k], path);
    }
}

/* The curve that was not read for the longest time, at least CURVES_EVERY_MS; NULL: none is due. */
static struct watch_curve *find_due(struct watch_model *m)
{
    int64_t until_ms = units_monotonic_ms() - CURVES_EVERY_MS;
    struct watch_curve *due = NULL;

    for (size_t i = 0; i < WATCH_CURVES_MAX; i++) {
        struct watch_curve *c = &m->curves[i];

        if (c->sweep != 0 && !c->is_whole && c->read_at_ms <= until_ms &&
            (due == NULL || c->read_at_ms < due->read_at_ms))
            due = c;
    }
    return due;
}

/* Whether the user did something, or the feed is to end. */
static bool is_woken(const struct feeding *g)
{
    struct pollfd fds[] = { { .fd = g->f->wake_pipe[0], .events = POLLIN },
                            { .fd = g->f->end_pipe[0], .events = POLLIN } };

    return poll(fds, sizeof fds / sizeof fds[0], 0) > 0;
}

/* Whether curves have to wait: for the user, what the server has pushed, or the log's turn. */
static bool is_called_away(const struct feeding *g)
{
    struct pollfd pushed = { .fd = g->f->session->rpc.wire.fd, .events = POLLIN };

    return is_woken(g) || poll(&pushed, 1, 0) > 0 ||
           units_monotonic_ms() - g->log_at_ms >= LOG_EVERY_MS;
}

/* Reads due curves until is_called_away(), as each takes a while over a slow line. */
static void read_curves(struct feeding *g, char *bytes)
{
    struct arena *a = arena_create();
    bool is_away = false;

    for (g->has_more = false; !is_away; is_away = is_called_away(g)) {
        struct watch_model *m = lock(g);
        const struct watch_sweep *s;
        struct watch_curve *c;
        bool has_ended;
        int64_t offset;
        char *path;
        ssize_t n;

        model_settle(m);
        settle_curves(m, a);
        arena_reset(a);
        s = model_chosen(m);
        c = find_due(m);
        has_ended = c != NULL && s != NULL && (size_t)c->job <= s->n_jobs &&
                    job_is_ended((enum job_state)s->jobs[c->job - 1].state);
        path = c != NULL ? mem_strdup(c->path) : NULL;
        offset = c != NULL ? c->offset : 0;
        unlock(g);
        if (path == NULL)
            break;
        n = read_piece(g, path, &offset, 0, bytes);
        (void)lock(g); /* c is still valid: only this thread changes the curves' places */
        c->offset = offset;
        c->read_at_ms = units_monotonic_ms();
        if (n == PIECE_BYTES) /* the file has more: the curve is due again, in its turn */
            c->read_at_ms -= CURVES_EVERY_MS;
        c->is_whole = has_ended && n >= 0 && n < PIECE_BYTES;
        if (n > 0)
            take_lines(c, bytes, (size_t)n);
        unlock_with_news(g);
        free(path);
    }
    if (is_away) {
        g->has_more = find_due(lock(g)) != NULL;
        unlock(g);
    }
    arena_destroy(a);
}

/* ---- orders ---- */

static void do_order(struct feeding *g)
{
    static const struct {
        enum msg_type type;
        const char *done;
    } words[] = { { MSG_CANCEL, "cancelled" },
                  { MSG_PAUSE, "paused" },
                  { MSG_RESUME, "resumed" },
                  { MSG_RETRY, "queued again" } };
    struct watch_model *m = lock(g);
    struct watch_order order = m->order;
    union change_request request = { 0 };
    struct err e = { 0 };
    struct msg_changed changed = { 0 };
    size_t i = 0;
    int result;

    unlock(g);
    if (order.type == 0)
        return;
    say_asking(g, true);
    result = change_jobs_send(&g->f->questions, order.type, &request,
                              &(struct list){ order.targets, order.n }, &changed, &e);
    while (words[i].type != order.type)
        i++;
    m = lock(g);
    free(m->order.targets);
    m->order = (struct watch_order){ 0 };
    if (result < 0)
        model_notice(m, true, "%s", e.text);
    else
        model_notice(m, false, "%" PRId64 " job%s %s%s", changed.jobs, changed.jobs == 1 ? "" : "s",
                     words[i].done, changed.searches > 0 ? "; the search ended" : "");
    unlock_with_news(g);
}

/* ---- the thread ---- */

/* Reads what is wanted beside the subscription, until the user does something. */
static void look_around(struct feeding *g, char *bytes)
{
    do_order(g);
    if (is_due(&g->log_at_ms, LOG_EVERY_MS))
        read_log(g, bytes);
    read_curves(g, bytes);
    if (!is_woken(g) && is_due(&g->nodes_at_ms, NODES_EVERY_MS))
        read_nodes(g);
    if (!is_woken(g) && is_due(&g->sweeps_at_ms, SWEEPS_EVERY_MS))
        read_sweeps(g);
    if (!is_woken(g) && is_due(&g->why_at_ms, WHY_EVERY_MS))
        read_why(g);
    if (!is_woken(g))
        read_best(g);
    say_asking(g, false);
}

static void drain(int fd)
{
    char bytes[64];

    while (read(fd, bytes, sizeof bytes) > 0)
        ;
}

/* Takes what the server pushes until something else is due.  -1: the server is away, or refuses. */
static int wait_for_changes(struct feeding *g, struct err *e)
{
    int64_t until_ms = units_monotonic_ms() + (g->has_more ? 0 : LOG_EVERY_MS);

    for (;;) {
        int64_t left_ms = until_ms - units_monotonic_ms();
        struct msg_changes changes;
        enum event event = subscription_wait(&g->sub, left_ms > 0 ? (int)left_ms : 0, &changes, e);

        if (event == EVENT_ERROR)
            return -1;
        if (event == EVENT_CHANGES)
            take_changes(g, &changes);
        if (event == EVENT_OTHER) {
            drain(g->f->wake_pipe[0]);
            /* The user may have chosen another job: its log is read at once. */
            g->log_at_ms = g->why_at_ms = 0;
            return 0;
        }
        if (event == EVENT_INTERRUPT || (event != EVENT_CHANGES && left_ms <= 0) ||
            left_ms < -LOG_EVERY_MS)
            return 0;
    }
}

/* Waits a moment for a server that is away. */
static void rest(struct feeding *g)
{
    struct pollfd p = { .fd = g->f->end_pipe[0], .events = POLLIN };
    struct watch_model *m = lock(g);

    if (m->lost_at_ms == 0)
        m->lost_at_ms = units_monotonic_ms();
    m->asking_at_ms = 0;
    unlock_with_news(g);
    (void)poll(&p, 1, RETRY_MS / 4);
}

static void *run_feed(void *context)
{
    struct feeding g = { .f = context };
    char *bytes = mem_alloc(PIECE_BYTES);
    struct err e = { 0 };

    while (!is_told_to_end(&g)) {
        err_clear(&e);
        if ((is_subscription_short(&g) && subscribe(&g, &e) < 0) || wait_for_changes(&g, &e) < 0) {
            if (e.kind != ERR_UNREACHABLE)
                break;
            g.is_lost = true;
            rest(&g);
            continue;
        }
        if (is_told_to_end(&g))
            break;
        look_around(&g, bytes);
    }
    if (g.is_subscribed)
        subscription_end(&g.sub);
    share_close(g.fs);
    free(g.log_path);
    free(bytes);
    lock(&g)->is_over = true;
    g.f->model->end = e;
    unlock_with_news(&g);
    return NULL;
}

static int open_pipe(int ends[2], struct err *e)
{
    if (pipe(ends) < 0)
        return err_sys(e, "pipe");
    for (int i = 0; i < 2; i++)
        if (fcntl(ends[i], F_SETFD, FD_CLOEXEC) < 0 || io_set_nonblocking(ends[i], e) < 0)
            return err_sys(e, "pipe");
    return 0;
}

int feed_begin(struct feed *f, struct err *e)
{
    static const int crashes[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
    struct rpc *rpc = &f->session->rpc;
    sigset_t all, before;
    int news[2], error;

    if (open_pipe(news, e) < 0 || open_pipe(f->wake_pipe, e) < 0 || open_pipe(f->end_pipe, e) < 0)
        return -1;
    f->news_fd = news[0];
    f->news_write_fd = news[1];
    if (rpc_open_beside(&f->questions, rpc, e) < 0)
        return -1;
    /* From here on rpc must not use the terminal, and end_pipe interrupts it instead of Ctrl-C. */
    rpc->is_silent = f->questions.is_silent = true;
    rpc->interrupt_fd = f->questions.interrupt_fd = f->end_pipe[0];
    rpc->patience_ms = f->questions.patience_ms = RETRY_MS;
    f->session->is_subscribed = true;
    (void)pthread_mutex_init(&f->turn, NULL);
    /* The screen's thread takes signals, but those of a crash come to the thread that crashes. */
    sigfillset(&all);
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++)
        sigdelset(&all, crashes[i]);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&f->thread, NULL, run_feed, f);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        errno = error;
        return err_sys(e, "a thread");
    }
    return 0;
}

void feed_wake(struct feed *f)
{
    (void)!write(f->wake_pipe[1], "", 1);
}

bool feed_end(struct feed *f)
{
    int64_t until_ms = units_monotonic_ms() + END_MS;
    bool is_over = false;

    (void)!write(f->end_pipe[1], "", 1);
    while (!is_over) {
        struct pollfd p = { .fd = f->news_fd, .events = POLLIN };
        int64_t left_ms = until_ms - units_monotonic_ms();

        (void)pthread_mutex_lock(&f->turn);
        is_over = f->model->is_over;
        (void)pthread_mutex_unlock(&f->turn);
        if (is_over || left_ms <= 0)
            break;
        if (poll(&p, 1, (int)left_ms) > 0)
            drain(f->news_fd);
    }
    if (!is_over)
        return false;
    (void)pthread_join(f->thread, NULL);
    rpc_close(&f->questions);
    close(f->news_fd);
    close(f->news_write_fd);
    for (int i = 0; i < 2; i++) {
        close(f->wake_pipe[i]);
        close(f->end_pipe[i]);
    }
    return true;
}
