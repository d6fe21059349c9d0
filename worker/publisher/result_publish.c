/* SPDX-License-Identifier: MIT */
/* result_publish.c - one attempt's result: what is to be published, the fence, the report */

#include "worker/publisher/result_publish.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/path.h"
#include "common/base/units.h"
#include "common/proto/layout.h"
#include "common/base/crash_point.h"
#include "worker/publisher/checkpoint_publish.h"
#include "worker/publisher/result_copy.h"
#include "worker/publisher/shiplog.h"

/* ---- paths ---- */

static const char *take_text(struct buf *b, struct arena *a)
{
    const char *text = arena_strndup(a, buf_text(b), b->n);

    buf_free(b);
    return text;
}

static const char *final_path_of(const struct order *o, int event, struct arena *a)
{
    const struct assignment *x = &o->assignment;
    struct buf path = { 0 };

    if (event == EV_DONE)
        layout_run(&path, o->work.project, x->param_name, x->job_name);
    else
        layout_failed(&path, o->work.project, x->param_name, x->job_name, x->attempt);
    return take_text(&path, a);
}

static const char *temporary_of(const char *final, const struct token *token, struct arena *a)
{
    struct buf name = { 0 };

    layout_temporary(&name, final, token);
    return take_text(&name, a);
}

static const char *folder_of(const char *path, struct arena *a)
{
    return arena_strndup(a, path, (size_t)(path_basename(path) - path) - 1);
}

/* ---- prepare ---- */

static const char *in_folder(const struct result *r, const struct publish_group *g,
                             const char *name)
{
    return arena_printf(g->arena, "%s/%s", r->hex, name);
}

/* What was on scratch is gone, wiped or broken: the attempt cannot count any more. */
static void lose(struct result *r, const struct publish_group *g, const struct err *why)
{
    r->outcome = (struct outcome){ .event = EV_LOSE,
                                   .exit_code = SCHEMA_NONE,
                                   .signal = SCHEMA_NONE,
                                   .ended_at = units_now_ms() };
    r->outcome.reason = arena_printf(g->arena, "its files on scratch are gone: %.*s",
                                     REASON_MAX_BYTES / 2, why->text);
    r->step = RESULT_DECIDED;
}

/* Whatever the share has to do with it comes later: these files are on scratch. */
static int read_records(struct result *r, const struct publish_group *g, struct err *e)
{
    struct err why = { 0 };

    if (scratch_read(g->scratch->published_fd, in_folder(r, g, JOB_REPORT), &report_schema,
                     g->arena, &r->report, NULL) == 0) {
        r->step = RESULT_PUBLISHED;
        return 0;
    }
    if (scratch_read(g->scratch->ended_fd, in_folder(r, g, JOB_OUTCOME), &outcome_schema, g->arena,
                     &r->outcome, &why) == 0) {
        r->has_order = scratch_read(g->scratch->ended_fd, in_folder(r, g, JOB_ORDER), &order_schema,
                                    g->arena, &r->order, &why) == 0;
        if (r->has_order || r->outcome.event == EV_LOSE)
            return 0;
    }
    if (why.kind != ERR_NOT_FOUND && why.kind != ERR_PROTOCOL)
        return err_set(e, why.kind, "%s", why.text);
    lose(r, g, &why);
    return 0;
}

static int ship_log(struct result *r, struct publish_group *g, struct err *e)
{
    const struct assignment *x = &r->order.assignment;
    struct buf text = { 0 };
    const char *path;
    struct publish_group_folder *f;

    layout_log(&text, r->order.work.project, x->sweep, x->param_name, x->job_name, x->attempt);
    path = take_text(&text, g->arena);
    f = publish_group_folder(g, r->order.share, folder_of(path, g->arena), e);
    if (f == NULL ||
        shiplog_ship(g->scratch->log_fd, r->hex, f->dir, path_basename(path), f->modes.file, e) < 0)
        return -1;
    publish_group_add_file(g, f, path_basename(path));
    CRASH_POINT_POINT(log_shipped);
    return 0;
}

static bool is_published_event(int event)
{
    return event == EV_DONE || event == EV_FAIL;
}

/* Long enough to leave a log that anybody wants. */
static bool has_run(const struct outcome *x)
{
    return x->event == EV_CANCEL || cause_is_preemption((enum cause)x->cause);
}

static int find_folder(struct result *r, struct publish_group *g, struct err *e)
{
    r->final_path = final_path_of(&r->order, r->outcome.event, g->arena);
    r->final = path_basename(r->final_path);
    r->temporary = temporary_of(r->final, &r->token, g->arena);
    r->folder = publish_group_folder(g, r->order.share, folder_of(r->final_path, g->arena), e);
    return r->folder == NULL ? -1 : 0;
}

/* What an earlier try brought beside the final names, if there was one. */
static void remove_temporaries(const struct result *r, struct publish_group *g)
{
    static const int events[] = { EV_DONE, EV_FAIL };

    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        const char *final = final_path_of(&r->order, events[i], g->arena);

        (void)publish_group_remove(g, r->order.share, temporary_of(final, &r->token, g->arena),
                                   NULL);
    }
}

/* Of one that was cancelled or preempted its log is left, and of any its checkpoint. */
static int prepare_nothing(struct result *r, struct publish_group *g, struct err *e)
{
    r->step = RESULT_DECIDED;
    if (r->has_order && has_run(&r->outcome)) {
        (void)ship_log(r, g, NULL); /* nobody waits for it */
        remove_temporaries(r, g);
    }
    return r->has_order ? checkpoint_publish_prepare(r, g, e) : 0;
}

static int prepare(struct result *r, struct publish_group *g, const char *host, struct err *e)
{
    if (read_records(r, g, e) < 0)
        return -1;
    CRASH_POINT_POINT(publish_begun);
    if (r->step != RESULT_NEW)
        return 0;
    if (!is_published_event(r->outcome.event))
        return prepare_nothing(r, g, e);
    if (find_folder(r, g, e) < 0 || result_copy(r, g, host, e) < 0 || ship_log(r, g, e) < 0)
        return -1;
    return checkpoint_publish_prepare(r, g, e);
}

int result_prepare(struct result *r, struct publish_group *g, const char *host, struct err *e)
{
    int result;

    r->first_file = g->n_files;
    result = prepare(r, g, host, e);
    r->n_files = g->n_files - r->first_file;
    return result;
}

static int check_share(const struct publish_group_folder *f, struct err *e)
{
    if (f == NULL || !f->share->has_failed)
        return 0;
    *e = f->share->why;
    return -1;
}

int result_check_synced(const struct result *r, const struct publish_group *g, struct err *e)
{
    for (size_t i = r->first_file; i < r->first_file + r->n_files; i++)
        if (g->files[i].error != 0) {
            errno = g->files[i].error;
            return err_sys(e, "sync %s", g->files[i].path);
        }
    if (check_share(r->folder, e) < 0)
        return -1;
    return check_share(r->carry.folder, e);
}

/* ---- the fence ---- */

static int remove_temporary(const struct result *r, struct publish_group *g, struct err *e)
{
    return publish_group_remove(g, r->order.share, temporary_of(r->final_path, &r->token, g->arena),
                                e);
}

/* A failed attempt's name carries its number, so nobody wins it from us. */
static int lose_fence(struct result *r, struct publish_group *g, const struct token *winner,
                      struct err *e)
{
    if (remove_temporary(r, g, e) < 0)
        return -1;
    CRASH_POINT_POINT(loser_removed);
    if (r->outcome.event == EV_DONE) {
        r->outcome.event = EV_SUPERSEDE;
        r->report.winner = *winner;
    }
    r->step = RESULT_DECIDED;
    return 0;
}

static void add_reason(struct result *r, const struct publish_group *g, const char *more)
{
    const char *was = r->outcome.reason;
    const char *text = arena_printf(g->arena, "%s%s%s exists and is no result%s", was ? was : "",
                                    was ? "; " : "", r->final_path, more);

    r->outcome.reason = arena_strndup(g->arena, text, strnlen(text, REASON_MAX_BYTES));
}

/* Nothing is lost: what was moved there before is the one with something in it. */
static int move_to_failed(const struct result *r, struct publish_group *g, struct err *e)
{
    const char *path = final_path_of(&r->order, EV_FAIL, g->arena);
    const char *name = temporary_of(path_basename(path), &r->token, g->arena);
    struct publish_group_folder *f =
        publish_group_folder(g, r->order.share, folder_of(path, g->arena), e);
    struct err why = { 0 };

    if (f == NULL)
        return -1;
    if (share_rename(r->folder->dir, r->temporary, f->dir, name, &why) == 0)
        return 0;
    if (why.kind == ERR_EXISTS)
        return remove_temporary(r, g, e);
    return err_set(e, why.kind, "%s", why.text);
}

/* Something else lies under the final name and stays: the next try publishes it as a failed one. */
static int give_way(struct result *r, struct publish_group *g, struct err *e)
{
    add_reason(r, g, "");
    r->outcome.event = EV_FAIL;
    r->outcome.cause = CAUSE_FAILED;
    if (move_to_failed(r, g, e) < 0 ||
        scratch_replace(g->scratch->ended_fd, in_folder(r, g, JOB_OUTCOME), &outcome_schema,
                        &r->outcome, e) < 0)
        return -1;
    return err_set(e, ERR_EXISTS, "%s", r->outcome.reason);
}

/* A failed one has no other name to go to. */
static int stay_aside(struct result *r, struct publish_group *g)
{
    const char *path = temporary_of(r->final_path, &r->token, g->arena);

    add_reason(r, g, arena_printf(g->arena, ": what it saved lies in %s", path));
    r->final_path = path;
    r->step = RESULT_DECIDED;
    r->folder->has_changed = true;
    return 0;
}

static int judge_fence(struct result *r, struct publish_group *g, const struct err *renamed,
                       struct err *e)
{
    struct token winner;
    /* First: a network file system that does not show it yet has not looked for its job.json. */
    bool is_there = share_exists(r->folder->dir, r->final);
    int rc = jobjson_read_token(r->folder->dir, r->final, &winner, e);

    if (rc < 0)
        return -1;
    if (rc == 0 && is_there && renamed->kind == ERR_EXISTS)
        return r->outcome.event == EV_DONE ? give_way(r, g, e) : stay_aside(r, g);
    if (rc == 0)
        return renamed->kind != ERR_NONE
                   ? err_set(e, renamed->kind, "%s", renamed->text)
                   : err_set(e, ERR_FAILED, "%s has no %s", r->final_path, LAYOUT_JOB_JSON);
    if (!token_equal(&winner, &r->token))
        return lose_fence(r, g, &winner, e);
    /* It was ours before; what was made again is not needed. */
    if (renamed->kind != ERR_NONE && remove_temporary(r, g, e) < 0)
        return -1;
    r->step = RESULT_DECIDED;
    r->folder->has_changed = true;
    return 0;
}

int result_fence(struct result *r, struct publish_group *g, struct err *e)
{
    struct err renamed = { 0 };

    if (checkpoint_publish_fence(r, e) < 0)
        return -1;
    if (r->step != RESULT_PLACED)
        return 0;
    (void)share_rename(r->folder->dir, r->temporary, r->folder->dir, r->final, &renamed);
    CRASH_POINT_POINT(result_renamed);
    return judge_fence(r, g, &renamed, e);
}

/* ---- the report ---- */

static void fill_report(struct result *r)
{
    const struct outcome *x = &r->outcome;

    r->report.token = r->token;
    r->report.event = x->event;
    r->report.at = units_now_ms();
    r->report.started_at = x->started_at;
    r->report.ended_at = x->ended_at;
    r->report.exit_code = x->exit_code;
    r->report.signal = x->signal;
    r->report.max_rss_bytes = x->max_rss_bytes;
    r->report.cpu_ms = x->cpu_ms;
    r->report.cause = x->cause;
    r->report.reason = x->reason;
    r->report.run_path = r->final_path;
    if (r->metrics != NULL)
        r->report.metrics = (struct list){ r->metrics->items, r->metrics->n };
}

/* Of an attempt whose folder is gone there is still something to tell. */
static int write_report(const struct result *r, const struct publish_group *g, struct err *e)
{
    const char *path = in_folder(r, g, JOB_REPORT);
    int fd = g->scratch->ended_fd;

    if (scratch_write(fd, path, &report_schema, &r->report, NULL) < 0)
        (void)mkdirat(fd, r->hex, 0700);
    else
        return 0;
    return scratch_write(fd, path, &report_schema, &r->report, e);
}

static int check_folder(const struct publish_group_folder *f, struct err *e)
{
    if (f == NULL || !f->has_failed)
        return 0;
    *e = f->why;
    return -1;
}

int result_finish(struct result *r, struct publish_group *g, struct err *e)
{
    if (r->step == RESULT_PUBLISHED)
        return 0;
    if (check_folder(r->folder, e) < 0 || check_folder(r->carry.folder, e) < 0)
        return -1;
    CRASH_POINT_POINT(parents_synced);
    checkpoint_publish_finish(r, g);
    fill_report(r);
    if (write_report(r, g, e) < 0)
        return -1;
    CRASH_POINT_POINT(report_written);
    if (renameat(g->scratch->ended_fd, r->hex, g->scratch->published_fd, r->hex) < 0)
        return err_sys(e, "move %s to %s", r->hex, SCRATCH_PUBLISHED);
    CRASH_POINT_POINT(published_moved);
    return 0;
}

void result_free(struct result *r)
{
    saved_free(&r->saved);
}
