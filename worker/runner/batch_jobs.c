/* SPDX-License-Identifier: MIT */
/* batch_jobs.c - names a batch's jobs to their process, follows its reports, ends the jobs */

#include "worker/runner/batch_jobs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/units.h"
#include "common/data/json.h"
#include "common/data/msgpack.h"
#include "common/data/template.h"
#include "worker/base/child_protocol.h"
#include "worker/base/process_tree.h"
#include "worker/runner/job.h"
#include "worker/runner/jobdir.h"

size_t chunk_count(const struct order_run *run)
{
    return 1 + run->mates.n;
}

static const struct assignment *chunk_at(const struct order_run *run, size_t i)
{
    const struct assignment *mates = run->mates.items;

    return i == 0 ? &run->order.assignment : &mates[i - 1];
}

/* ---- the chunk: what its process is told ---- */

static struct value describe(const struct assignment *x, const struct value *params,
                             const char *run_path, struct arena *a)
{
    const char *job = arena_printf(a, "%" PRId64 ".%" PRId64, x->sweep, x->job);
    char hex[TOKEN_HEX];

    token_hex(&x->token, hex);
    const struct member members[] = {
        value_member("job", value_str(job)),
        value_member("param_name", value_str(x->param_name)),
        value_member("job_name", value_str(x->job_name)),
        value_member("rep", value_int(x->rep)),
        value_member("seed", value_int(x->seed)),
        value_member("restart", value_int(x->restart)),
        value_member("params", *params),
        value_member("param2val",
                     value_str(arena_printf(a, "%s/%s/" JOB_PARAM2VAL ".json", run_path, hex))),
        value_member("save_path", value_str(arena_printf(a, "%s/%s/" JOB_SAVE, run_path, hex))),
        value_member("checkpoint",
                     value_str(arena_printf(a, "%s/%s/" JOB_CHECKPOINT, run_path, hex))),
    };

    return value_map(a, members, sizeof members / sizeof members[0]);
}

int chunk_make(const struct order_run *run, const char *run_path, struct arena *a,
               struct value *chunk, struct err *e)
{
    size_t n = chunk_count(run);
    struct value *items = arena_alloc(a, n * sizeof *items);

    for (size_t i = 0; i < n; i++) {
        const struct assignment *x = chunk_at(run, i);
        struct value params;

        if (mp_read(x->params.data, x->params.n, a, &params, e) < 0)
            return err_wrap(e, "parameters of job %" PRId64, x->job);
        if (params.type != VALUE_MAP)
            return err_set(e, ERR_PROTOCOL, "the parameters of job %" PRId64 " are no map", x->job);
        items[i] = describe(x, &params, run_path, a);
    }
    *chunk = value_list(items, n);
    return 0;
}

int chunk_check_command(const char *command, const struct value *chunk, struct err *e)
{
    struct buf first = { 0 };
    int result = 0;

    for (size_t i = 0; result == 0 && i < chunk->list.n; i++) {
        struct buf own = { 0 };

        result = template_expand(command, value_get(&chunk->list.items[i], "params"), &own, e);
        if (result == 0 && i == 0)
            buf_add(&first, own.bytes, own.n);
        else if (result == 0 && strcmp(buf_text(&first), buf_text(&own)) != 0)
            result =
                err_set(e, ERR_USAGE,
                        "the command is another one for each job of a batch, but they have one "
                        "process: take the {placeholders} out, and read $LUDWIG_CHUNK");
        buf_free(&own);
    }
    buf_free(&first);
    return result;
}

enum {
    LINE_MAX_BYTES = 64 * 1024,
    BLOCK_BYTES = 64 * 1024,
    LOOK_MAX_BYTES = 1024 * 1024,
    REST_MAX_MS = 10 * 1000
};

/* ---- following what its process reports, line by line ---- */

static bool is_true(const struct value *v)
{
    return v != NULL && v->type == VALUE_BOOL && v->b;
}

/* Returns the number that text begins with; 0: it begins with no digit, or is too large. */
static int64_t number_of(const char *text, char **end)
{
    long long number;

    errno = 0;
    number = isdigit((unsigned char)*text) ? strtoll(text, end, 10) : 0;
    return errno == 0 ? number : 0;
}

static bool is_named(const struct value *key, const char *name)
{
    return key->str.n == strlen(name) && memcmp(key->str.s, name, key->str.n) == 0;
}

/* The process goes on printing before its line is read: "log": [INODE, SIZE] tells how long its log
 * was. */
static void take_log(struct follow_report *r, const struct value *log)
{
    r->log_size_bytes = -1;
    if (log == NULL || log->type != VALUE_LIST || log->list.n != 2 ||
        log->list.items[0].type != VALUE_INT || log->list.items[1].type != VALUE_INT)
        return;
    r->log_inode = (uint64_t)log->list.items[0].i;
    r->log_size_bytes = log->list.items[1].i;
}

/* Adds the line's measures, as a job with a process of its own would have written them. */
static void add_rest(struct buf *out, const struct value *line, struct arena *a)
{
    static const char *const about_the_job[] = { "job", "done", "failed" };
    struct value rest = { .type = VALUE_MAP };

    rest.map.members = arena_alloc(a, line->map.n * sizeof *rest.map.members);
    for (size_t i = 0; i < line->map.n; i++) {
        const struct value *key = &line->map.members[i].key;
        bool is_measure = true;

        for (size_t k = 0; k < sizeof about_the_job / sizeof about_the_job[0]; k++)
            is_measure &= !is_named(key, about_the_job[k]);
        is_measure &= !is_named(key, "log") || line->map.members[i].value.type != VALUE_LIST;
        if (is_measure)
            rest.map.members[rest.map.n++] = line->map.members[i];
    }
    if (rest.map.n == 0)
        return;
    json_add_value(out, &rest);
    buf_add_char(out, '\n');
}

/* "SWEEP.JOB" */
static void read_job(const struct value *job, struct follow_report *r)
{
    int64_t sweep, number = 0;
    char *end;

    if (job == NULL || job->type != VALUE_STR || strlen(job->str.s) != job->str.n)
        return;
    sweep = number_of(job->str.s, &end);
    if (sweep != 0 && *end == '.')
        number = number_of(end + 1, &end);
    if (number == 0 || *end != '\0')
        return;
    r->sweep = sweep;
    r->job = number;
}

static void take_line(struct follow *f)
{
    struct value line;
    struct follow_report r = { .line = &line };
    struct buf measures = { 0 };
    const struct value *failed;

    if (json_read(buf_text(&f->line), f->line.n, f->arena, &line, NULL) < 0 ||
        line.type != VALUE_MAP)
        return;
    read_job(value_get(&line, "job"), &r);
    if (r.sweep == 0) {
        if (f->takes_all)
            f->each(f->context, &r);
        return;
    }
    failed = value_get(&line, "failed"); /* a reason, or true */
    r.has_failed = is_true(failed) || (failed != NULL && failed->type == VALUE_STR);
    if (failed != NULL && failed->type == VALUE_STR && failed->str.n > 0)
        r.reason = failed->str.s;
    r.is_done = !r.has_failed && is_true(value_get(&line, "done"));
    take_log(&r, value_get(&line, "log"));
    add_rest(&measures, &line, f->arena);
    r.measures = buf_bytes(&measures);
    f->each(f->context, &r);
    buf_free(&measures);
}

static void begin_line(struct follow *f)
{
    buf_clear(&f->line);
    f->is_too_long = false;
}

void follow_end(struct follow *f)
{
    if (!f->is_too_long && f->line.n > 0)
        take_line(f);
    arena_reset(f->arena);
    begin_line(f);
}

void follow_feed(struct follow *f, const char *bytes, size_t n)
{
    while (n > 0) {
        const char *newline = memchr(bytes, '\n', n);
        size_t piece = newline == NULL ? n : (size_t)(newline - bytes);

        f->is_too_long |= f->line.n + piece > LINE_MAX_BYTES;
        if (!f->is_too_long)
            buf_add(&f->line, bytes, piece);
        if (newline != NULL)
            follow_end(f);
        piece += newline != NULL;
        bytes += piece;
        n -= piece;
    }
}

void follow_again(struct follow *f)
{
    begin_line(f);
    f->offset = 0;
}

/* Reads regular files only: a fifo would wait for a writer.  inotify tells of lines written
 * meanwhile. */
bool follow_look(struct follow *f)
{
    _Alignas(struct inotify_event) char events[4096];
    char block[BLOCK_BYTES];
    int64_t until, begin, end;
    struct stat st;
    ssize_t n = 1;
    int fd;

    while (f->inotify_fd >= 0 && read(f->inotify_fd, events, sizeof events) > 0)
        ; /* first: later changes are told anew */
    fd = openat(f->dir_fd, JOB_METRICS, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return false;
    }
    if (f->inode != st.st_ino || st.st_size < f->offset) {
        begin_line(f);
        f->offset = 0;
        f->inode = st.st_ino;
    }
    until = st.st_size - f->offset > LOOK_MAX_BYTES ? f->offset + LOOK_MAX_BYTES : st.st_size;
    while (f->offset < until && n > 0) {
        io_find_data(fd, f->offset, &begin, &end);
        /* A hole ends a line, and is not read: it may be larger than any disk. */
        if (begin > f->offset) {
            begin_line(f);
            f->offset = begin < st.st_size ? begin : st.st_size;
            continue;
        }
        n = io_read_all_at(fd, block, sizeof block, (uint64_t)f->offset);
        if (n > 0) {
            follow_feed(f, block, (size_t)n);
            f->offset += n;
        }
    }
    close(fd);
    return n > 0 && f->offset < st.st_size;
}

/* Stops after a time: the job, which has ended, may have made the file longer than can be read. */
void follow_rest(struct follow *f)
{
    int64_t until_ms = units_monotonic_ms() + REST_MAX_MS;

    while (follow_look(f) && units_monotonic_ms() < until_ms)
        ;
    follow_end(f);
}

/* The folder is watched, as there may be no file yet, or another one later. */
void follow_open(struct follow *f, int dir_fd, follow_fn each, void *context)
{
    char path[sizeof "/proc/self/fd/-2147483648"];
    struct err e = { 0 };

    *f = (struct follow){ .dir_fd = dir_fd, .inotify_fd = -1, .each = each, .context = context };
    f->arena = arena_create();
    if (dir_fd < 0)
        return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", dir_fd);
    f->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (f->inotify_fd >= 0 &&
        inotify_add_watch(f->inotify_fd, path, IN_MODIFY | IN_CREATE | IN_MOVED_TO) >= 0)
        return;
    err_sys(&e, "watch what the process reports");
    log_event(LOG_WARN, "not-watched", "error", "%s", e.text, NULL);
    if (f->inotify_fd >= 0)
        close(f->inotify_fd);
    f->inotify_fd = -1;
}

void follow_close(struct follow *f)
{
    if (f->arena == NULL)
        return;
    if (f->inotify_fd >= 0)
        close(f->inotify_fd);
    if (f->dir_fd >= 0)
        close(f->dir_fd);
    buf_free(&f->line);
    arena_destroy(f->arena);
    *f = (struct follow){ .dir_fd = -1, .inotify_fd = -1 };
}

enum {
    /* An outcome that could not be written (scratch is full) is tried again after this. */
    SAVE_PAUSE_MS = 1000,
    /* What the process prints at its end belongs to the last job, which waits so long for it. */
    LAST_WAIT_MS = 1000,
    /* Between looks, where nothing tells that there is something new. */
    LOOK_PAUSE_MS = 1000,
    LOG_MODE = 0600,
    METRICS_MODE = 0640
};

/* ---- from the order to its process ---- */

void batch_jobs_begin(struct batch_jobs *m, const struct scratch *s, const struct order_run *run,
                      struct order *process)
{
    int64_t all_ms;

    *m = (struct batch_jobs){ .n = chunk_count(run),
                              .scratch = s,
                              .token = run->order.assignment.batch,
                              .sweep = run->order.assignment.sweep };
    token_hex(&m->token, m->hex);
    m->items = mem_alloc(m->n * sizeof *m->items);
    for (size_t i = 0; i < m->n; i++) {
        const struct assignment *x = chunk_at(run, i);

        m->items[i].token = x->token;
        token_hex(&x->token, m->items[i].hex);
        m->items[i].job = x->job;
    }
    *process = run->order;
    process->assignment.token = m->token;
    /* The process gets the sum of its jobs' times, as it alone can tell the jobs apart; an order
     * takes 2^53 ms at most. */
    all_ms = run->order.work.work.resources.time_ms * (int64_t)m->n;
    process->work.work.resources.time_ms = all_ms < INT64_C(1) << 53 ? all_ms : INT64_C(1) << 53;
}

int batch_jobs_make_folders(const struct batch_jobs *m, struct spares *spares,
                            const struct order_run *run, const struct value *chunk, struct err *e)
{
    for (size_t i = 0; i < m->n; i++) {
        struct order order = run->order;
        struct jobdir dir;

        order.assignment = *chunk_at(run, i);
        if (jobdir_make(&dir, m->scratch, spares, &order,
                        value_get(&chunk->list.items[i], "params"), e) < 0)
            return -1;
        jobdir_close(&dir);
    }
    return 0;
}

void batch_jobs_free(struct batch_jobs *m)
{
    follow_close(&m->follow);
    for (size_t i = 0; i < m->n; i++)
        free(m->items[i].reason);
    free(m->items);
    *m = (struct batch_jobs){ .n = 0 };
}

size_t batch_jobs_list(const struct batch_jobs *m, struct token_entry *list)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n; i++)
        if (m->items[i].state != MATE_SAVED)
            list[n++].token = m->items[i].token;
    return n;
}

static struct mate *first_open(const struct batch_jobs *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->items[i].state == MATE_OPEN)
            return &m->items[i];
    return NULL;
}

/* ---- logs ---- */

/* This job's log gets all that the process has printed since the last cut, up to where the report
 * says that the log ended, if it does.  What could not be copied is lost, rather than in another
 * job's log. */
static void cut_log(struct batch_jobs *m, const struct mate *mate, const struct follow_report *r)
{
    int log_fd = m->scratch->log_fd;
    int from = openat(log_fd, m->hex, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    int64_t begin, end;
    char block[BLOCK_BYTES];
    struct stat st;
    ssize_t n = 1;
    int to;

    if (from < 0)
        return;
    if (fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
        st.st_size = 0;
    else if (r != NULL && r->log_size_bytes >= 0 && r->log_size_bytes < st.st_size &&
             r->log_inode == (uint64_t)st.st_ino)
        st.st_size = r->log_size_bytes;
    if (st.st_size > m->log_offset) {
        to = openat(log_fd, mate->hex,
                    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, LOG_MODE);
        for (int64_t at = m->log_offset; to >= 0 && n > 0; at = begin + n) {
            size_t most;

            /* A hole has nothing to tell, and may be larger than the disk. */
            io_find_data(from, at, &begin, &end);
            if (begin >= st.st_size)
                break;
            most = st.st_size - begin < BLOCK_BYTES ? (size_t)(st.st_size - begin) : BLOCK_BYTES;
            n = io_read_all_at(from, block, most, (uint64_t)begin);
            if (n > 0 && io_write_all(to, block, (size_t)n) < 0)
                n = -1;
        }
        if (to < 0 || n < 0)
            log_event(LOG_WARN, "log-not-cut", "attempt", "%s", mate->hex, "error", "%s",
                      strerror(errno), NULL);
        if (to >= 0)
            close(to);
        m->log_offset = st.st_size;
    }
    close(from);
}

/* ---- the end of a job ---- */

static void set_reason(struct mate *mate, const char *reason)
{
    free(mate->reason);
    mate->reason = reason == NULL ? NULL : mem_strndup(reason, strnlen(reason, REASON_MAX_BYTES));
    mate->outcome.reason = mate->reason;
}

static void end_mate(struct mate *mate, int event, const char *reason)
{
    mate->outcome = (struct outcome){
        .event = event, .exit_code = SCHEMA_NONE, .signal = SCHEMA_NONE, .ended_at = units_now_ms()
    };
    set_reason(mate, reason);
    mate->state = MATE_ENDED;
}

/* Copies what GPUs did. */
static void take_gpus(struct outcome *to, const struct outcome *from)
{
    to->gpu_looks = from->gpu_looks;
    to->gpu_memory_bytes = from->gpu_memory_bytes;
    to->gpu_busy_looks = from->gpu_busy_looks;
    to->gpu_percent = from->gpu_percent;
}

/* Ends a job that is reported done or failed, with the log and usage since the report before. */
static void end_reported(struct batch_jobs *m, struct mate *mate, const struct follow_report *r)
{
    struct process_usage now;

    if (mate->is_stopped) {
        end_mate(mate, EV_CANCEL, "cancelled");
    } else if (r->has_failed) {
        end_mate(mate, EV_FAIL, r->reason == NULL ? "its process reported it failed" : r->reason);
        mate->outcome.cause = CAUSE_FAILED;
    } else {
        end_mate(mate, EV_DONE, NULL);
        mate->outcome.exit_code = 0;
    }
    mate->outcome.started_at = m->since_ms;
    m->since_ms = mate->outcome.ended_at;
    m->last = mate;
    cut_log(m, mate, r);
    process_usage_look(&now);
    now.cpu_ms += m->used_cpu_ms;
    if (now.cpu_ms > m->cpu_ms) {
        mate->outcome.cpu_ms = now.cpu_ms - m->cpu_ms;
        m->cpu_ms = now.cpu_ms;
    }
    mate->outcome.max_rss_bytes = now.max_rss_bytes;
    take_gpus(&mate->outcome, &m->gpus);
    if (first_open(m) == NULL)
        mate->not_before_ms = units_monotonic_ms() + LAST_WAIT_MS;
}

static void on_report(void *context, const struct follow_report *r)
{
    const int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    struct batch_jobs *m = context;
    size_t i = 0;

    while (i < m->n && (m->items[i].job != r->job || m->items[i].state != MATE_OPEN))
        i++;
    if (i == m->n || r->sweep != m->sweep)
        return;
    if (r->measures.n > 0) {
        char *path = mem_printf("%s/%s", m->items[i].hex, JOB_METRICS);
        int fd = openat(m->scratch->run_fd, path, flags, METRICS_MODE);

        if (fd < 0 || io_write_all(fd, r->measures.data, r->measures.n) < 0)
            log_event(LOG_WARN, "measure-not-kept", "attempt", "%s", m->items[i].hex, "error", "%s",
                      strerror(errno), NULL);
        if (fd >= 0)
            close(fd);
        free(path);
    }
    if (r->is_done || r->has_failed)
        end_reported(m, &m->items[i], r);
}

/* ---- while the process runs ---- */

void batch_jobs_follow(struct batch_jobs *m, int64_t started_at)
{
    struct err e = { 0 };
    int dir_fd = io_open_dir_at(m->scratch->run_fd, m->hex, &e);

    if (dir_fd < 0)
        log_event(LOG_ERROR, "not-followed", "attempt", "%s", m->hex, "error", "%s", e.text, NULL);
    m->since_ms = started_at;
    m->is_running = true;
    follow_open(&m->follow, dir_fd, on_report, m);
    batch_jobs_look(m, &(struct outcome){ 0 }); /* what it has said already */
}

void batch_jobs_look(struct batch_jobs *m, const struct outcome *process)
{
    if (!m->is_running)
        return;
    m->used_cpu_ms = process->cpu_ms;
    take_gpus(&m->gpus, process);
    m->has_more = follow_look(&m->follow);
}

int batch_jobs_fd(const struct batch_jobs *m)
{
    return m->is_running ? m->follow.inotify_fd : -1;
}

int batch_jobs_wait_ms(const struct batch_jobs *m)
{
    int64_t now_ms = units_monotonic_ms();
    int64_t wait_ms = m->is_running && m->follow.inotify_fd < 0 ? LOOK_PAUSE_MS : -1;

    if (m->is_running && m->has_more)
        return 0;
    for (size_t i = 0; i < m->n; i++) {
        int64_t left_ms = m->items[i].not_before_ms - now_ms;

        if (m->items[i].state != MATE_ENDED)
            continue;
        left_ms = left_ms < 0 ? 0 : left_ms;
        if (wait_ms < 0 || left_ms < wait_ms)
            wait_ms = left_ms;
    }
    return (int)wait_ms;
}

void batch_jobs_stop(struct batch_jobs *m, const struct token *token)
{
    for (size_t i = 0; i < m->n; i++)
        if (token_equal(&m->items[i].token, token))
            m->items[i].is_stopped = true;
}

const char *batch_jobs_folder(void *mates, size_t i)
{
    const struct batch_jobs *m = mates;

    for (size_t k = 0; k < m->n; k++)
        if (m->items[k].state != MATE_SAVED && i-- == 0)
            return m->items[k].hex;
    return NULL;
}

bool batch_jobs_are_unwanted(const struct batch_jobs *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->items[i].state == MATE_OPEN && !m->items[i].is_stopped)
            return false;
    return first_open(m) != NULL;
}

/* ---- the end of the process ---- */

void batch_jobs_refuse(struct batch_jobs *m, int event, const char *reason)
{
    for (size_t i = 0; i < m->n; i++) {
        end_mate(&m->items[i], event, reason);
        if (event == EV_FAIL)
            m->items[i].outcome.cause = CAUSE_FAILED;
    }
}

void batch_jobs_over(struct batch_jobs *m, const struct outcome *process)
{
    struct err e = { 0 };
    struct mate *first;
    bool is_silent;

    if (m->is_running) {
        m->used_cpu_ms = process->cpu_ms;
        follow_rest(&m->follow);
        m->has_more = false;
    }
    is_silent = m->last == NULL && process->event == EV_DONE;
    m->is_running = false;
    if (jobdir_shed(m->scratch, m->hex, &e) <
        0) /* before outcomes are written: scratch may be full */
        log_event(LOG_WARN, "not-shed", "attempt", "%s", m->hex, "error", "%s", e.text, NULL);
    first = first_open(m);
    if (first != NULL)
        cut_log(m, first, NULL);
    else if (m->last != NULL && m->last->state == MATE_ENDED)
        cut_log(m, m->last, NULL);
    for (size_t i = 0; i < m->n; i++) {
        struct mate *mate = &m->items[i];

        if (mate->state == MATE_OPEN && mate->is_stopped) {
            end_mate(mate, EV_CANCEL, "cancelled");
            mate->outcome.started_at = mate == first ? m->since_ms : mate->outcome.ended_at;
        } else if (mate->state == MATE_OPEN && mate == first) { /* the process was at this job */
            end_mate(mate, process->event, process->reason);
            mate->outcome = *process;
            mate->outcome.reason = mate->reason;
            mate->outcome.started_at = m->since_ms;
            mate->outcome.cpu_ms = process->cpu_ms > m->cpu_ms ? process->cpu_ms - m->cpu_ms : 0;
            if (process->event == EV_DONE) {
                mate->outcome.event = EV_FAIL;
                mate->outcome.cause = CAUSE_FAILED;
                set_reason(mate, "the process ended without reporting this job");
            }
        } else if (mate->state == MATE_OPEN) {
            end_mate(mate, EV_RECALL, "its process ended before it came to this job");
        }
        if (is_silent &&
            !mate->is_stopped) { /* a process that does not know that it should report */
            mate->outcome.event = EV_FAIL;
            mate->outcome.cause = CAUSE_FAILED;
            mate->outcome.exit_code = 0;
            if (mate->outcome.started_at == 0) /* the first job has all the time */
                mate->outcome.started_at = mate->outcome.ended_at;
            set_reason(mate, "the process ended without reporting any job: call "
                             "`ludwig report --job JOB --done`");
        }
        mate->not_before_ms = 0;
    }
}

/* ---- saving ---- */

struct mate *batch_jobs_due(struct batch_jobs *m)
{
    int64_t now_ms = units_monotonic_ms();

    for (size_t i = 0; i < m->n; i++)
        if (m->items[i].state == MATE_ENDED && m->items[i].not_before_ms <= now_ms)
            return &m->items[i];
    return NULL;
}

int batch_jobs_save(struct batch_jobs *m, struct mate *mate, struct err *e)
{
    if (mate == m->last && m->is_running && first_open(m) == NULL)
        cut_log(m, mate, NULL);
    if (job_save_outcome(m->scratch, mate->hex, &mate->outcome, e) < 0) {
        mate->not_before_ms = units_monotonic_ms() + SAVE_PAUSE_MS;
        return -1;
    }
    mate->state = MATE_SAVED;
    return 0;
}

bool batch_jobs_are_saved(const struct batch_jobs *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->items[i].state != MATE_SAVED)
            return false;
    return true;
}
