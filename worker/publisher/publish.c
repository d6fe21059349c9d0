/* SPDX-License-Identifier: MIT */
/* publish.c - brings results beside their final names as a group, syncs, fences, reports them */

#include "worker/publisher/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/beneath.h"
#include "common/base/crash_point.h"
#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "common/data/msgpack.h"
#include "common/proto/layout.h"
#include "common/proto/metric_line.h"
#include "worker/publisher/checkpoint_publish.h"
#include "worker/publisher/reported.h"
#include "worker/publisher/shiplog.h"

/* ---- paths ---- */

static const char *final_path_of(const struct order *o, int event, struct arena *a)
{
    const struct assignment *x = &o->assignment;
    struct buf path = { 0 };

    if (event_is_publication((enum attempt_event)event))
        layout_run(&path, o->work.project, x->param_name, x->job_name);
    else if (event == EV_STOP)
        layout_stopped(&path, o->work.project, x->param_name, x->job_name, x->attempt);
    else
        layout_failed(&path, o->work.project, x->param_name, x->job_name, x->attempt);
    return buf_to_arena(&path, a);
}

/* Whether the attempt's result belongs under runs/. */
static bool has_result(const struct result *r)
{
    return event_is_publication((enum attempt_event)r->outcome.event);
}

static const char *temporary_of(const char *final, const struct token *token, struct arena *a)
{
    struct buf name = { 0 };

    layout_temporary(&name, final, token);
    return buf_to_arena(&name, a);
}

static const char *folder_of(const char *path, struct arena *a)
{
    return arena_strndup(a, path, (size_t)(path_basename(path) - path) - 1);
}

static const char *in_folder(const struct result *r, const struct publish_group *g,
                             const char *name)
{
    return arena_printf(g->arena, "%s/%s", r->hex, name);
}

/* Reads the attempt's report or, if there is none yet, outcome and order, from scratch. */
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
    /* The files on scratch are gone, wiped or broken: the attempt cannot count any more. */
    r->outcome = (struct outcome){ .event = EV_LOSE,
                                   .exit_code = SCHEMA_NONE,
                                   .signal = SCHEMA_NONE,
                                   .ended_at = units_now_ms() };
    r->outcome.reason = arena_printf(g->arena, "its files on scratch are gone: %.*s",
                                     REASON_MAX_BYTES / 2, why.text);
    r->step = RESULT_DECIDED;
    return 0;
}

/* Opens the folder of the attempt's log on the share; its name is set, too. */
static struct publish_group_folder *log_folder(struct result *r, struct publish_group *g,
                                               struct err *e)
{
    const struct assignment *x = &r->order.assignment;
    struct buf text = { 0 };
    const char *path;

    layout_log(&text, r->order.work.project, x->sweep, x->param_name, x->job_name, x->attempt);
    path = buf_to_arena(&text, g->arena);
    r->log_name = path_basename(path);
    return publish_group_folder(g, r->order.share, folder_of(path, g->arena), e);
}

static int ship_log(struct result *r, struct publish_group *g, struct err *e)
{
    struct publish_group_folder *f = log_folder(r, g, e);

    if (f == NULL || shiplog_ship(g->scratch->log_fd, r->hex, order_log_max_bytes(&r->order),
                                  f->dir, r->log_name, f->modes.file, e) < 0)
        return -1;
    publish_group_add_file(g, f, r->log_name);
    CRASH_POINT(log_shipped);
    return 0;
}

static bool is_mounted(const struct result *r)
{
    return share_fd(r->folder->dir) >= 0;
}

/* ---- bringing the result, wherever it lies by now ---- */

/* Reads what the attempt and those before it reported.  saved_fd: the folder with what it saved,
 * or -1. */
static void read_metrics(struct result *r, const struct publish_group *g, int saved_fd)
{
    const struct metrics_files files = { g->scratch->ended_fd, in_folder(r, g, JOB_EARLIER),
                                         in_folder(r, g, JOB_METRICS), saved_fd };

    buf_clear(&r->series);
    r->metrics = arena_alloc(g->arena, sizeof *r->metrics);
    r->metrics->list.arena = g->arena;
    r->metrics->series_lines = &r->series;
    metrics_read(r->metrics, &files);
}

/* Opens all that the job has reported up to this attempt. */
static int open_reported(const struct result *r, const struct publish_group *g,
                         struct reported *all, struct err *e)
{
    int fd = io_open_dir_at(g->scratch->ended_fd, r->hex, e), result;

    if (fd < 0)
        return -1;
    result = reported_open(all, fd, NULL, e);
    if (result == 0 && r->series.n > 0 && (!has_result(r) || all->sizes[REPORTED_EARLIER] > 0)) {
        reported_close(all);
        result = reported_open(all, fd, &r->series, e);
    }
    close(fd);
    return result;
}

/* Scans what the job saved and reads its measures; opens its folder only if it has CSV series. */
static int scan_saved(struct result *r, const struct publish_group *g, int dir_fd,
                      const char *saved, struct err *e)
{
    int fd = -1;

    r->saved.arena = g->arena;
    if (saved_scan(&r->saved, dir_fd, saved, g->scratch->ended_fd, in_folder(r, g, JOB_RENAMED),
                   &r->folder->modes, e) < 0)
        return -1;
    for (size_t i = 0; i < r->saved.n && fd < 0; i++) {
        const struct saved_entry *entry = &r->saved.entries[i];

        if (entry->type == SAVED_FILE && metrics_is_series(entry->path) &&
            (fd = beneath_open(dir_fd, saved, O_RDONLY | O_DIRECTORY, 0)) < 0)
            return err_sys(e, "open %s", saved);
    }
    read_metrics(r, g, fd);
    if (fd >= 0)
        close(fd);
    return 0;
}

/* ---- a result under the final name ---- */

/* Takes the verdict if a result lies under the final name already. */
static int look_at_final(struct result *r, const struct publish_group *g, struct err *e)
{
    struct token winner;
    struct share_dir *d;
    int rc = jobjson_read_token(r->folder->dir, r->final, &winner, e);

    if (rc <= 0)
        return rc;
    if (token_equal(&winner, &r->token)) {
        /* If the share is not mounted the result was copied from scratch, where it lies still. */
        if (is_mounted(r)) {
            d = share_open_dir(r->folder->dir, r->final, e);
            if (d == NULL)
                return -1;
            read_metrics(r, g, share_fd(d));
            share_close(d);
        } else if (r->metrics == NULL) {
            read_metrics(r, g, -1);
        }
        r->folder->has_changed = true;
    } else if (has_result(r)) {
        r->outcome.event = EV_SUPERSEDE;
        r->report.winner = winner;
    }
    r->step = RESULT_DECIDED;
    return share_remove_tree(r->folder->dir, r->temporary, e);
}

/* Copies what the job saved beside the final name; a copy that was broken off is begun anew. */
static int copy_saved(struct result *r, const struct publish_group *g, struct err *e)
{
    struct share_dir *to;
    int from_fd, result;

    if (look_at_final(r, g, e) < 0)
        return -1;
    if (r->step == RESULT_DECIDED)
        return 0;
    if (share_remove_tree(r->folder->dir, r->temporary, e) < 0 ||
        share_project_make_closed(r->folder->dir, r->temporary, &r->folder->modes, e) < 0)
        return -1;
    from_fd =
        beneath_open(g->scratch->ended_fd, in_folder(r, g, JOB_SAVE), O_RDONLY | O_DIRECTORY, 0);
    if (from_fd < 0)
        return err_sys(e, "open what it saved");
    to = share_open_dir(r->folder->dir, r->temporary, e);
    result = to == NULL ? -1 : saved_copy(&r->saved, from_fd, to, e);
    r->is_durable = result == 0 && is_mounted(r);
    share_close(to);
    close(from_fd);
    return result;
}

static int bring_saved(struct result *r, const struct publish_group *g, struct err *e)
{
    const char *save = in_folder(r, g, JOB_SAVE);
    int from_fd = g->scratch->ended_fd, to_fd;

    if (scan_saved(r, g, from_fd, save, e) < 0)
        return -1;
    if (!is_mounted(r))
        return copy_saved(r, g, e);
    to_fd = share_fd(r->folder->dir);
    if (renameat(from_fd, save, to_fd, r->temporary) == 0)
        return 0;
    /* Something has the temporary name: an earlier try left it, or others put it there. */
    if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR) {
        if (share_remove_tree(r->folder->dir, r->temporary, e) < 0)
            return -1;
        if (renameat(from_fd, save, to_fd, r->temporary) == 0)
            return 0;
    }
    /* Another file system; or a folder that a container left behind and only its owner may move. */
    if (errno == EXDEV || errno == EACCES || errno == EPERM)
        return copy_saved(r, g, e);
    return err_sys(e, "move what it saved to %s", r->temporary);
}

/* ---- wrapping: the job put something else in the place of save/ ---- */

/* Does the second half of wrapping, also where a publisher was killed: save/ is missing or empty,
 * and what the job saved lies aside.  Returns 1: it is in save/ now; 0: nothing lay aside. */
static int end_wrapping(const struct result *r, const struct publish_group *g, struct err *e)
{
    const char *aside = in_folder(r, g, JOB_SAVE ".aside");
    const char *save = in_folder(r, g, JOB_SAVE);
    int fd = g->scratch->ended_fd;
    struct stat st;

    /* A folder save.aside was not made by us; and if save/ has content, wrapping is over. */
    if (fstatat(fd, aside, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode))
        return 0;
    if (unlinkat(fd, save, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return errno == ENOTEMPTY || errno == EEXIST ? 0 : err_sys(e, "remove %s", save);
    if (mkdirat(fd, save, 0700) < 0)
        return err_sys(e, "create %s", save);
    CRASH_POINT(save_replaced);
    return renameat(fd, aside, fd, in_folder(r, g, JOB_SAVE "/" JOB_SAVE)) < 0
               ? err_sys(e, "make a folder of %s", save)
               : 1;
}

/* ---- going on where a publisher was killed ---- */

/* Brings the result where neither save/ nor the share has it: a publisher was killed while it
 * wrapped what the job saved, or the job removed save/. */
static int bring_again(struct result *r, const struct publish_group *g, struct err *e)
{
    int rc;

    if (look_at_final(r, g, e) < 0)
        return -1;
    if (r->step == RESULT_DECIDED)
        return 0;
    rc = end_wrapping(r, g, e);
    if (rc == 0 && mkdirat(g->scratch->ended_fd, in_folder(r, g, JOB_SAVE), 0700) < 0)
        return err_sys(e, "create %s", JOB_SAVE);
    return rc < 0 ? -1 : bring_saved(r, g, e);
}

static int bring(struct result *r, const struct publish_group *g, struct err *e)
{
    const char *save = in_folder(r, g, JOB_SAVE), *aside = in_folder(r, g, JOB_SAVE ".aside");
    static const char *const ours[] = { LAYOUT_JOB_JSON, LAYOUT_METRICS };
    int fd = g->scratch->ended_fd;
    struct err why = { 0 };
    struct share_stat there;
    struct stat st;

    if (fstatat(fd, save, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        if (!S_ISDIR(st.st_mode)) {
            if (io_remove_tree_at(fd, aside, e) < 0)
                return -1;
            if (renameat(fd, save, fd, aside) < 0)
                return err_sys(e, "make a folder of what it saved");
            CRASH_POINT(save_aside);
        }
        return end_wrapping(r, g, e) < 0 ? -1 : bring_saved(r, g, e);
    }
    if (errno != ENOENT)
        return err_sys(e, "look at %s", save);
    /* There is no save/: a publisher that was killed had renamed it, which it does only to a
     * mounted share, or the job removed it. */
    if (!is_mounted(r))
        return bring_again(r, g, e);
    if (share_stat(r->folder->dir, r->temporary, &there, &why) < 0)
        return why.kind == ERR_NOT_FOUND ? bring_again(r, g, e)
                                         : err_set(e, why.kind, "%s", why.text);
    /* Removes our own files, perhaps half-written: the job's files of these names have others. */
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        const char *path = arena_printf(g->arena, "%s/%s", r->temporary, ours[i]);

        err_clear(&why);
        if (share_remove_file(r->folder->dir, path, &why) < 0 && why.kind != ERR_NOT_FOUND)
            return err_set(e, why.kind, "%s", why.text);
    }
    return scan_saved(r, g, share_fd(r->folder->dir), r->temporary, e);
}

/* Adds all that the job reported to what it saved.  The CSV series of a job that is done lie with
 * its result, and are among its lines only if those of earlier attempts are. */
static int add_series(struct result *r, struct publish_group *g, struct err *e)
{
    const char *path = arena_printf(g->arena, "%s/%s", r->temporary, LAYOUT_METRICS);
    struct saved_entry entry = { .type = SAVED_FILE,
                                 .path = LAYOUT_METRICS,
                                 .mode = r->folder->modes.file };
    struct reported all;
    int result = 0;

    if (open_reported(r, g, &all, e) < 0)
        return -1;
    entry.size_bytes = (uint64_t)reported_size(&all);
    if (entry.size_bytes > 0) {
        result = reported_digest(&all, &entry.digest, e) < 0 ||
                         reported_ship(&all, r->folder->dir, path, entry.mode, e) < 0
                     ? -1
                     : 0;
        saved_add(&r->saved, &entry);
        if (r->is_durable)
            publish_group_add_file(g, r->folder, path);
        CRASH_POINT(series_added);
    }
    reported_close(&all);
    return result;
}

/* Sets r->step to RESULT_PLACED; or to RESULT_DECIDED when its own result, or another attempt's,
 * lies under the final name already. */
static int bring_result(struct result *r, struct publish_group *g, const char *host, struct err *e)
{
    const struct bytes packed = r->order.assignment.params;
    struct jobjson j = { &r->order, &r->outcome, host, &r->saved, NULL };
    const char *job_json = arena_printf(g->arena, "%s/%s", r->temporary, LAYOUT_JOB_JSON);
    struct buf text = { 0 };
    struct value params;
    int rc;

    if (bring(r, g, e) < 0)
        return -1;
    if (r->step == RESULT_DECIDED)
        return 0;
    CRASH_POINT(saved_moved);
    if (add_series(r, g, e) < 0)
        return -1;
    j.metrics = r->metrics;
    jobjson_add(&text, &j);
    rc = share_write(r->folder->dir, job_json, text.bytes, text.n, r->folder->modes.file, e);
    buf_free(&text);
    CRASH_POINT(job_json_written);
    if (rc < 0)
        return -1;
    if (has_result(r) && !r->folder->has_params &&
        (mp_read(packed.data, packed.n, g->arena, &params, e) < 0 ||
         publish_group_add_params(g, r->folder, &params, r->hex, e) < 0))
        return -1;
    if (!r->folder->share->is_synced_whole) { /* where one syncfs is not enough */
        for (size_t i = 0; i < r->saved.n; i++) {
            const struct saved_entry *x = &r->saved.entries[i];

            if (x->type == SAVED_FOLDER || (x->type == SAVED_FILE && !r->is_durable))
                publish_group_add_file(g, r->folder,
                                       arena_printf(g->arena, "%s/%s", r->temporary, x->path));
        }
        publish_group_add_file(g, r->folder, job_json);
        publish_group_add_file(g, r->folder, r->temporary);
    }
    r->step = RESULT_PLACED;
    return 0;
}

/* ---- what it reported, over its attempts ---- */

static int bring_earlier(struct result *r, struct publish_group *g, struct err *e)
{
    struct publish_group_folder *f;
    int fd, result;

    if (r->order.assignment.attempt < 2)
        return 0;
    f = log_folder(r, g, e);
    fd = f == NULL ? -1 : io_open_dir_at(g->scratch->ended_fd, r->hex, e);
    if (fd < 0)
        return -1;
    result = reported_bring(fd, f->dir, r->log_name, r->order.assignment.attempt, e);
    close(fd);
    return result;
}

/* Reads the measures of an attempt whose files are not published. */
static void read_unpublished(struct result *r, const struct publish_group *g)
{
    int fd =
        beneath_open(g->scratch->ended_fd, in_folder(r, g, JOB_SAVE), O_RDONLY | O_DIRECTORY, 0);

    read_metrics(r, g, fd);
    r->metrics = NULL; /* the next attempt tells them */
    if (fd >= 0)
        close(fd);
}

/* Keeps all that was reported on the share, beside the log, for the next attempt. */
static int keep_reported(struct result *r, struct publish_group *g, struct err *e)
{
    struct publish_group_folder *f;
    struct buf name = { 0 };
    struct reported all;
    int result = 0;

    if (open_reported(r, g, &all, e) < 0)
        return -1;
    if (reported_size(&all) > 0) {
        f = log_folder(r, g, e);
        layout_live_metrics(&name, r->log_name);
        result = f == NULL ? -1 : reported_ship(&all, f->dir, buf_text(&name), f->modes.file, e);
        if (result == 0)
            publish_group_add_file(g, f, buf_to_arena(&name, g->arena));
        buf_free(&name);
        CRASH_POINT(reported_kept);
    }
    reported_close(&all);
    return result;
}

/* Whether the attempt may be followed by another, which goes on with what it reported. */
static bool keeps_reported(const struct result *r)
{
    return r->has_order && !r->order.assignment.advises && !has_result(r) &&
           r->outcome.event != EV_SUPERSEDE;
}

/* What was reported and may not be written to the share is logged and left out. */
static int prepare_reported(struct result *r, struct publish_group *g, struct err *e)
{
    struct err why = { 0 };

    if (!keeps_reported(r))
        return 0;
    if (r->final_path == NULL && bring_earlier(r, g, &why) == 0)
        read_unpublished(r, g);
    if (why.kind == ERR_NONE && keep_reported(r, g, &why) == 0)
        return 0;
    if (why.kind != ERR_DENIED && r->outcome.event != EV_CANCEL)
        return err_set(e, why.kind, "%s", why.text);
    log_event(LOG_WARN, "reported-not-kept", "attempt", "%s", r->hex, "error", "%s", why.text,
              NULL);
    return 0;
}

/* ---- the steps ---- */

static int result_prepare(struct result *r, struct publish_group *g, const char *host,
                          struct err *e)
{
    static const int events[] = { EV_DONE, EV_FAIL, EV_STOP };
    int result = 0;

    r->first_file = g->n_files;
    if (read_records(r, g, e) < 0)
        return -1;
    CRASH_POINT(publish_begun);
    if (r->step != RESULT_NEW)
        return 0;
    if (has_result(r) || r->outcome.event == EV_FAIL || r->outcome.event == EV_STOP) {
        r->final_path = final_path_of(&r->order, r->outcome.event, g->arena);
        r->final = path_basename(r->final_path);
        r->temporary = temporary_of(r->final, &r->token, g->arena);
        r->folder = publish_group_folder(g, r->order.share, folder_of(r->final_path, g->arena), e);
        result = r->folder == NULL || bring_earlier(r, g, e) < 0 ||
                 bring_result(r, g, host, e) < 0 || ship_log(r, g, e) < 0;
    } else {
        r->step = RESULT_DECIDED;
        if (r->has_order &&
            (r->outcome.event == EV_CANCEL || cause_is_preemption((enum cause)r->outcome.cause))) {
            /* The log is shipped if it can be, without waiting for it.  Files that an earlier try
             * brought beside the final names go. */
            (void)ship_log(r, g, NULL);
            for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
                (void)publish_group_remove(
                    g, r->order.share,
                    temporary_of(final_path_of(&r->order, events[i], g->arena), &r->token,
                                 g->arena),
                    NULL);
        }
    }
    if (result == 0)
        result = prepare_reported(r, g, e);
    if (result == 0 && r->has_order)
        result = checkpoint_publish_prepare(r, g, e);
    r->n_files = g->n_files - r->first_file;
    return result == 0 ? 0 : -1;
}

/* Returns 0 if all files of the result are durable, -1 with e set if not. */
static int result_check_synced(const struct result *r, const struct publish_group *g, struct err *e)
{
    const struct publish_group_folder *folders[] = { r->folder, r->carry.folder };

    for (size_t i = r->first_file; i < r->first_file + r->n_files; i++)
        if (g->files != NULL && g->files[i].error != 0) {
            errno = g->files[i].error;
            return err_sys(e, "sync %s", g->files[i].path);
        }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (folders[i] != NULL && folders[i]->share->has_failed) {
            *e = folders[i]->share->why;
            return -1;
        }
    return 0;
}

/* ---- the fence ---- */

static int remove_temporary(const struct result *r, struct publish_group *g, struct err *e)
{
    return publish_group_remove(g, r->order.share, temporary_of(r->final_path, &r->token, g->arena),
                                e);
}

static void add_reason(struct result *r, const struct publish_group *g, const char *more)
{
    const char *was = r->outcome.reason;
    const char *text = arena_printf(g->arena, "%s%s%s exists and is no result%s", was ? was : "",
                                    was ? "; " : "", r->final_path, more);

    r->outcome.reason = arena_strndup(g->arena, text, strnlen(text, REASON_MAX_BYTES));
}

/* Another thing under the final name stays: makes the result a failed one, which the next try
 * publishes.  A folder at the new place already was moved there before, with the content. */
static int give_way(struct result *r, struct publish_group *g, struct err *e)
{
    const char *path = final_path_of(&r->order, EV_FAIL, g->arena);
    struct publish_group_folder *f =
        publish_group_folder(g, r->order.share, folder_of(path, g->arena), e);
    struct err why = { 0 };

    add_reason(r, g, "");
    r->outcome.event = EV_FAIL;
    r->outcome.cause = CAUSE_FAILED;
    if (f == NULL)
        return -1;
    if (share_rename(r->folder->dir, r->temporary, f->dir,
                     temporary_of(path_basename(path), &r->token, g->arena), &why) < 0) {
        if (why.kind != ERR_EXISTS)
            return err_set(e, why.kind, "%s", why.text);
        if (remove_temporary(r, g, e) < 0)
            return -1;
    }
    if (scratch_replace(g->scratch->ended_fd, in_folder(r, g, JOB_OUTCOME), &outcome_schema,
                        &r->outcome, e) < 0)
        return -1;
    return err_set(e, ERR_EXISTS, "%s", r->outcome.reason);
}

static int result_fence(struct result *r, struct publish_group *g, struct err *e)
{
    struct err renamed = { 0 };
    struct token winner;
    bool is_there;
    int rc;

    if (checkpoint_publish_fence(r, e) < 0)
        return -1;
    if (r->step != RESULT_PLACED)
        return 0;
    if (share_project_open_up(r->folder->dir, r->temporary, &r->folder->modes, e) < 0)
        return -1;
    CRASH_POINT(result_opened);
    (void)share_rename(r->folder->dir, r->temporary, r->folder->dir, r->final, &renamed);
    CRASH_POINT(result_renamed);
    /* Look for the folder before job.json: if NFS does not show the folder yet, no missing job.json
     * is remembered. */
    is_there = share_exists(r->folder->dir, r->final);
    rc = jobjson_read_token(r->folder->dir, r->final, &winner, e);
    if (rc < 0)
        return -1;
    if (rc == 0 && is_there && renamed.kind == ERR_EXISTS) {
        const char *path = temporary_of(r->final_path, &r->token, g->arena);

        if (has_result(r))
            return give_way(r, g, e);
        /* A failed result has no other name to go to. */
        add_reason(r, g, arena_printf(g->arena, ": what it saved lies in %s", path));
        r->final_path = path;
        r->step = RESULT_DECIDED;
        r->folder->has_changed = true;
        return 0;
    }
    if (rc == 0)
        return renamed.kind != ERR_NONE
                   ? err_set(e, renamed.kind, "%s", renamed.text)
                   : err_set(e, ERR_FAILED, "%s has no %s", r->final_path, LAYOUT_JOB_JSON);
    if (token_equal(&winner, &r->token)) {
        /* The result was ours before; the one that was made again is not needed. */
        if (renamed.kind != ERR_NONE && remove_temporary(r, g, e) < 0)
            return -1;
        r->folder->has_changed = true;
    } else {
        if (remove_temporary(r, g, e) < 0)
            return -1;
        CRASH_POINT(loser_removed);
        if (has_result(r)) { /* a failed result's name has the attempt's number: none else wins */
            r->outcome.event = EV_SUPERSEDE;
            r->report.winner = winner;
        }
    }
    r->step = RESULT_DECIDED;
    return 0;
}

/* ---- what was stopped before ---- */

/* The number of the attempt that "JOB.a3" names; 0: it is another name. */
static int64_t attempt_of(const char *name, const char *job_name)
{
    size_t n = strlen(job_name);
    char *end = NULL;
    int64_t attempt;

    if (strncmp(name, job_name, n) != 0 || strncmp(name + n, ".a", 2) != 0)
        return 0;
    attempt = strtoll(name + n + 2, &end, 10);
    return *end == '\0' ? attempt : 0;
}

/* Removes what earlier attempts of the job saved when they were stopped, as this result takes its
 * place.  What cannot be removed is logged and left. */
static void replace_stopped(const struct result *r, struct publish_group *g)
{
    const struct assignment *x = &r->order.assignment;
    const struct publish_group_share *share;
    const struct share_entry *items;
    struct share_dir *d = NULL;
    struct buf path = { 0 };
    struct err why = { 0 };
    struct list entries = { 0 };
    const char *folder;

    if (!r->has_order || x->attempt < 2 || (!has_result(r) && r->outcome.event != EV_STOP))
        return;
    layout_stopped(&path, r->order.work.project, x->param_name, x->job_name, x->attempt);
    folder = folder_of(buf_to_arena(&path, g->arena), g->arena);
    share = publish_group_share(g, r->order.share, NULL);
    if (share != NULL)
        d = share_open_dir(share->dir, folder, NULL);
    if (d == NULL) /* nothing was stopped before */
        return;
    if (share_list(d, "", SHARE_NAMES, g->arena, &entries, &why) < 0)
        entries.n = 0;
    items = entries.items;
    for (size_t i = 0; i < entries.n; i++) {
        int64_t attempt = attempt_of(items[i].name, x->job_name);

        if (attempt > 0 && attempt < x->attempt)
            (void)share_remove_tree(d, items[i].name, &why);
    }
    share_close(d);
    if (has_result(r)) /* unless others of its configuration lie there */
        (void)share_remove_dir(share->dir, folder, NULL);
    if (why.kind != ERR_NONE)
        log_event(LOG_WARN, "stopped-not-replaced", "attempt", "%s", r->hex, "error", "%s",
                  why.text, NULL);
}

/* Removes what attempts reported from beside their logs, as the job's result has it. */
static void drop_reported(struct result *r, struct publish_group *g)
{
    struct publish_group_folder *f;
    bool is_over = has_result(r) || r->outcome.event == EV_SUPERSEDE;
    bool has_some =
        r->order.assignment.attempt > 1 || (r->metrics != NULL && r->metrics->list.n > 0);

    if (!r->has_order || !is_over || !has_some)
        return;
    f = log_folder(r, g, NULL);
    if (f != NULL)
        reported_remove(f->dir, r->log_name, r->order.assignment.attempt);
}

/* ---- the report ---- */

/* Why the attempt ended so; of one that is done, what of its report could not be taken. */
static const char *reason_of(const struct result *r, const struct publish_group *g)
{
    const struct metrics *m = r->metrics;

    if (!has_result(r) || r->outcome.reason != NULL || m == NULL || m->n_left_out == 0)
        return r->outcome.reason;
    return m->n_left_out == 1
               ? arena_printf(g->arena, METRICS_LEFT_OUT "%s of what it reported", m->left_out)
               : arena_printf(g->arena,
                              METRICS_LEFT_OUT "%zu lines of what it reported; the first: %s",
                              m->n_left_out, m->left_out);
}

static int result_finish(struct result *r, struct publish_group *g, struct err *e)
{
    const struct publish_group_folder *folders[] = { r->folder, r->carry.folder };
    const struct outcome *x = &r->outcome;
    const char *report = in_folder(r, g, JOB_REPORT);
    int fd = g->scratch->ended_fd;

    if (r->step == RESULT_PUBLISHED)
        return 0;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (folders[i] != NULL && folders[i]->has_failed) {
            *e = folders[i]->why;
            return -1;
        }
    CRASH_POINT(parents_synced);
    checkpoint_publish_finish(r, g);
    replace_stopped(r, g);
    drop_reported(r, g);
    r->report = (struct report){ .token = r->token,
                                 .winner = r->report.winner,
                                 .event = x->event,
                                 .at = units_now_ms(),
                                 .started_at = x->started_at,
                                 .ended_at = x->ended_at,
                                 .exit_code = x->exit_code,
                                 .signal = x->signal,
                                 .max_rss_bytes = x->max_rss_bytes,
                                 .cpu_ms = x->cpu_ms,
                                 .gpu_looks = x->gpu_looks,
                                 .gpu_memory_bytes = x->gpu_memory_bytes,
                                 .gpu_busy_looks = x->gpu_busy_looks,
                                 .gpu_percent = x->gpu_percent,
                                 .cause = x->cause,
                                 .reason = reason_of(r, g),
                                 .run_path = r->final_path,
                                 .has_checkpoint = r->carry.step == CARRY_KEPT };
    if (r->metrics != NULL)
        r->report.metrics = (struct list){ r->metrics->list.items, r->metrics->list.n };
    if (scratch_write(fd, report, &report_schema, &r->report, NULL) < 0) {
        /* An attempt whose folder is gone still gets a report. */
        (void)mkdirat(fd, r->hex, 0700);
        if (scratch_write(fd, report, &report_schema, &r->report, e) < 0)
            return -1;
    }
    CRASH_POINT(report_written);
    if (renameat(fd, r->hex, g->scratch->published_fd, r->hex) < 0)
        return err_sys(e, "move %s to %s", r->hex, SCRATCH_PUBLISHED);
    CRASH_POINT(published_moved);
    return 0;
}

/* ---- a group ---- */

void publish_group(struct scratch *s, struct shares *access, const char *host,
                   struct publish_item *items, size_t n, struct arena *a)
{
    struct publish_group g = { .scratch = s, .access = access, .arena = a };
    struct result *results = arena_alloc(a, n * sizeof *results);
    bool any_is_placed = false;

    for (size_t i = 0; i < n; i++) {
        char hex[TOKEN_HEX];

        token_hex(&items[i].token, hex);
        results[i].token = items[i].token;
        results[i].hex = arena_strdup(a, hex);
        if (result_prepare(&results[i], &g, host, &items[i].error) == 0)
            any_is_placed |=
                results[i].step == RESULT_PLACED || results[i].carry.step == CARRY_COPIED;
    }
    if (any_is_placed) {
        publish_group_sync(&g);
        CRASH_POINT(group_synced);
    }
    for (size_t i = 0; i < n; i++)
        if (items[i].error.kind == ERR_NONE &&
            result_check_synced(&results[i], &g, &items[i].error) == 0)
            (void)result_fence(&results[i], &g, &items[i].error);
    publish_group_sync_folders(&g);
    for (size_t i = 0; i < n; i++) {
        if (items[i].error.kind == ERR_NONE && result_finish(&results[i], &g, &items[i].error) == 0)
            items[i].report = results[i].report;
        saved_free(&results[i].saved);
        buf_free(&results[i].series);
    }
    publish_group_end(&g);
}

/* ---- withdrawal ---- */

/* Removes a result, after renaming it, so that no half-removed result is ever seen. */
static int withdraw_result(struct publish_group *g, const struct order *o,
                           const struct token *token, struct err *e)
{
    const char *path = final_path_of(o, EV_DONE, g->arena), *name = path_basename(path);
    const char *temporary = temporary_of(name, token, g->arena);
    struct publish_group_folder *f =
        publish_group_folder(g, o->share, folder_of(path, g->arena), e);
    struct token owner;
    int rc;

    if (f == NULL)
        return -1;
    rc = jobjson_read_token(f->dir, name, &owner, e);
    if (rc < 0)
        return -1;
    if (rc == 1 && token_equal(&owner, token) &&
        share_rename(f->dir, name, f->dir, temporary, e) < 0)
        return err_wrap(e, "withdraw %s", name);
    CRASH_POINT(withdraw_renamed);
    if (publish_group_remove(g, o->share, temporary_of(path, token, g->arena), e) < 0 ||
        share_sync_dir(f->dir, f->path, e) < 0)
        return -1;
    CRASH_POINT(withdraw_removed);
    return 0;
}

/* The report then tells any later agent that there is no result, and that the job is not to run
 * again.  Without an order the result was withdrawn and discarded before. */
int publish_withdraw(struct scratch *s, struct shares *access, const struct token *token,
                     struct arena *a, struct err *e)
{
    struct publish_group g = { .scratch = s, .access = access, .arena = a };
    char hex[TOKEN_HEX];
    const char *report;
    struct order order;
    struct report r;
    struct err why = { 0 };
    int result;

    token_hex(token, hex);
    report = arena_printf(a, "%s/%s", hex, JOB_REPORT);
    if (scratch_read(s->published_fd, arena_printf(a, "%s/%s", hex, JOB_ORDER), &order_schema, a,
                     &order, &why) < 0)
        return why.kind == ERR_NOT_FOUND ? 0 : err_set(e, why.kind, "%s", why.text);
    result = withdraw_result(&g, &order, token, e);
    publish_group_end(&g);
    if (result < 0)
        return -1;
    if (scratch_read(s->published_fd, report, &report_schema, a, &r, NULL) < 0)
        r = (struct report){ .exit_code = SCHEMA_NONE, .signal = SCHEMA_NONE };
    r.token = *token;
    r.event = EV_WITHDRAW;
    r.at = units_now_ms();
    r.run_path = NULL;
    r.metrics = (struct list){ 0 };
    if (scratch_replace(s->published_fd, report, &report_schema, &r, e) < 0)
        return -1;
    CRASH_POINT(withdraw_reported);
    return 0;
}
