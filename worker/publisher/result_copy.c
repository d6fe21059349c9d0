/* SPDX-License-Identifier: MIT */
/* result_copy.c - brings what an attempt saved and reported beside its final name, with its job.json */

#include "worker/publisher/result_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/data/msgpack.h"
#include "common/proto/layout.h"
#include "common/base/crash_point.h"

static const char *on_scratch(const struct result *r, const struct publish_group *g,
                              const char *name)
{
    return arena_printf(g->arena, "%s/%s", r->hex, name);
}

static bool is_mounted(const struct result *r)
{
    return share_fd(r->folder->dir) >= 0;
}

/* ---- what it left, wherever that lies by now ---- */

static void read_lines(struct result *r, const struct publish_group *g)
{
    r->metrics = arena_alloc(g->arena, sizeof *r->metrics);
    r->metrics->arena = g->arena;
    metrics_read_lines(r->metrics, g->scratch->ended_fd, on_scratch(r, g, JOB_METRICS));
}

/* The series among what was scanned: most results have none, and need no opening. */
static int read_series(struct result *r, int dir_fd, const char *saved, struct err *e)
{
    int fd = -1;

    for (size_t i = 0; i < r->saved.n; i++) {
        const struct saved_entry *entry = &r->saved.entries[i];

        if (entry->type != SAVED_FILE || !metrics_is_series(entry->path))
            continue;
        if (fd < 0 && (fd = io_open_dir_at(dir_fd, saved, e)) < 0)
            return -1;
        metrics_read_series(r->metrics, fd, entry->path);
    }
    if (fd >= 0)
        close(fd);
    return 0;
}

/* What is not mounted here was copied from scratch, where it lies still, and has been read there. */
static int read_published_metrics(struct result *r, const struct publish_group *g, struct err *e)
{
    struct share_dir *d;

    if (!is_mounted(r)) {
        if (r->metrics == NULL)
            read_lines(r, g);
        return 0;
    }
    d = share_open_dir(r->folder->dir, r->final, e);
    if (d == NULL)
        return -1;
    read_lines(r, g);
    metrics_read_folder(r->metrics, share_fd(d));
    share_close(d);
    return 0;
}

static int scan(struct result *r, const struct publish_group *g, int dir_fd, const char *saved,
                struct err *e)
{
    r->saved.arena = g->arena;
    if (saved_scan(&r->saved, dir_fd, saved, g->scratch->ended_fd, on_scratch(r, g, JOB_RENAMED),
                   &r->folder->modes, e) < 0)
        return -1;
    read_lines(r, g);
    return read_series(r, dir_fd, saved, e);
}

/* ---- what lies there already ---- */

/* Takes the verdict when there is one under the final name. */
static int look_at_final(struct result *r, const struct publish_group *g, struct err *e)
{
    struct token winner;
    int rc = jobjson_read_token(r->folder->dir, r->final, &winner, e);

    if (rc <= 0)
        return rc;
    if (token_equal(&winner, &r->token)) {
        if (read_published_metrics(r, g, e) < 0)
            return -1;
        r->folder->has_changed = true;
    } else if (r->outcome.event == EV_DONE) {
        r->outcome.event = EV_SUPERSEDE;
        r->report.winner = winner;
    }
    r->step = RESULT_DECIDED;
    return share_remove_tree(r->folder->dir, r->temporary, e);
}

/* ---- a rename ---- */

static int rename_saved(struct result *r, const struct publish_group *g)
{
    return renameat(g->scratch->ended_fd, on_scratch(r, g, JOB_SAVE), share_fd(r->folder->dir),
                    r->temporary);
}

/* ---- a copy ---- */

static int fill_copy(struct result *r, const struct publish_group *g, const struct share_dir *to,
                     struct err *e)
{
    int from_fd = io_open_dir_at(g->scratch->ended_fd, on_scratch(r, g, JOB_SAVE), e);
    int result;

    if (from_fd < 0)
        return -1;
    result = saved_copy(&r->saved, from_fd, to, e);
    r->is_durable = result == 0 && is_mounted(r);
    close(from_fd);
    return result;
}

/* A copy that was broken off is not gone on with. */
static int copy_saved(struct result *r, const struct publish_group *g, struct err *e)
{
    struct share_dir *to;
    int result;

    if (look_at_final(r, g, e) < 0)
        return -1;
    if (r->step == RESULT_DECIDED)
        return 0;
    if (share_remove_tree(r->folder->dir, r->temporary, e) < 0 ||
        share_make_dir(r->folder->dir, r->temporary, r->folder->modes.dir, e) < 0)
        return -1;
    to = share_open_dir(r->folder->dir, r->temporary, e);
    if (to == NULL)
        return -1;
    result = fill_copy(r, g, to, e);
    share_close(to);
    return result;
}

static int move_saved(struct result *r, const struct publish_group *g, struct err *e)
{
    if (!is_mounted(r))
        return copy_saved(r, g, e);
    if (rename_saved(r, g) == 0)
        return 0;
    if (errno == ENOTEMPTY || errno == EEXIST) {
        if (share_remove_tree(r->folder->dir, r->temporary, e) < 0)
            return -1;
        if (rename_saved(r, g) == 0)
            return 0;
    }
    /* Another file system; or a folder that a container left behind and only its owner may move. */
    if (errno == EXDEV || errno == EACCES || errno == EPERM)
        return copy_saved(r, g, e);
    return err_sys(e, "move what it saved to %s", r->temporary);
}

/* ---- the series it reported ---- */

/* Where there are no hard links. */
static int copy_series(const struct publish_group *g, const char *from, const char *to,
                       struct err *e)
{
    const char *copy = arena_printf(g->arena, "%s.copy", from);
    int dir_fd = g->scratch->ended_fd;
    int in = openat(dir_fd, from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int out = -1, result = -1;

    if (in < 0)
        return err_sys(e, "open %s", from);
    out = openat(dir_fd, copy, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (out < 0)
        err_sys(e, "create %s", copy);
    else if (io_copy_fd(in, out, NULL, e) == 0)
        result = renameat(dir_fd, copy, dir_fd, to) < 0 ? err_sys(e, "create %s", to) : 0;
    if (out >= 0)
        close(out);
    close(in);
    return result;
}

/* All that it reported lies with what it saved, unless it saved something of that name itself, or
 * a container left us no right to add something. */
static int add_series(const struct result *r, const struct publish_group *g, struct err *e)
{
    const char *from = on_scratch(r, g, JOB_METRICS);
    const char *to = on_scratch(r, g, JOB_SAVE "/" LAYOUT_METRICS);
    int dir_fd = g->scratch->ended_fd;
    struct err why = { 0 };
    struct stat st;

    if (fstatat(dir_fd, from, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
        st.st_size == 0)
        return 0;
    if (linkat(dir_fd, from, dir_fd, to, 0) < 0 && errno != EEXIST &&
        copy_series(g, from, to, &why) < 0 && why.kind != ERR_DENIED)
        return err_set(e, why.kind, "%s", why.text);
    CRASH_POINT_POINT(series_added);
    return 0;
}

static int bring_saved(struct result *r, const struct publish_group *g, struct err *e)
{
    if (add_series(r, g, e) < 0 ||
        scan(r, g, g->scratch->ended_fd, on_scratch(r, g, JOB_SAVE), e) < 0)
        return -1;
    return move_saved(r, g, e);
}

/* ---- a job that put something else in the place of its folder saved that ---- */

/* The second half of wrapping, from wherever the first was killed: save/ is missing or empty, and what
 * the job saved lies aside.  1: it is in save/ now; 0: nothing lies aside. */
static int end_wrapping(const struct result *r, const struct publish_group *g, struct err *e)
{
    const char *aside = on_scratch(r, g, JOB_SAVE ".aside");
    const char *save = on_scratch(r, g, JOB_SAVE);
    int fd = g->scratch->ended_fd;
    struct stat st;

    /* A folder is none of ours; nor is anything beside a save/ that has something in it. */
    if (fstatat(fd, aside, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode))
        return 0;
    if (unlinkat(fd, save, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return errno == ENOTEMPTY || errno == EEXIST ? 0 : err_sys(e, "remove %s", save);
    if (mkdirat(fd, save, 0700) < 0)
        return err_sys(e, "create %s", save);
    CRASH_POINT_POINT(save_replaced);
    return renameat(fd, aside, fd, on_scratch(r, g, JOB_SAVE "/" JOB_SAVE)) < 0
               ? err_sys(e, "make a folder of %s", save)
               : 1;
}

static int wrap(const struct result *r, const struct publish_group *g, struct err *e)
{
    const char *aside = on_scratch(r, g, JOB_SAVE ".aside");
    int fd = g->scratch->ended_fd;

    if (io_remove_tree_at(fd, aside, e) < 0)
        return -1;
    if (renameat(fd, on_scratch(r, g, JOB_SAVE), fd, aside) < 0)
        return err_sys(e, "make a folder of what it saved");
    CRASH_POINT_POINT(save_aside);
    return end_wrapping(r, g, e);
}

/* ---- going on where a publisher was killed ---- */

/* Nothing lies on the share: a publisher was killed while it wrapped what the job saved, or it was the
 * job that removed its folder. */
static int bring_again(struct result *r, const struct publish_group *g, struct err *e)
{
    int rc;

    if (look_at_final(r, g, e) < 0)
        return -1;
    if (r->step == RESULT_DECIDED)
        return 0;
    rc = end_wrapping(r, g, e);
    if (rc == 0 && mkdirat(g->scratch->ended_fd, on_scratch(r, g, JOB_SAVE), 0700) < 0)
        return err_sys(e, "create %s", JOB_SAVE);
    return rc < 0 ? -1 : bring_saved(r, g, e);
}

/* save/ was renamed already, or the job removed it, as nothing is renamed to a share that is not
 * mounted. */
static int go_on(struct result *r, const struct publish_group *g, struct err *e)
{
    const char *job_json = arena_printf(g->arena, "%s/%s", r->temporary, LAYOUT_JOB_JSON);
    struct share_stat st;
    struct err why = { 0 };

    if (!is_mounted(r))
        return bring_again(r, g, e);
    if (share_stat(r->folder->dir, r->temporary, &st, &why) < 0)
        return why.kind == ERR_NOT_FOUND ? bring_again(r, g, e)
                                         : err_set(e, why.kind, "%s", why.text);
    /* Ours, perhaps half-written: one that the job saved got another name before. */
    if (share_remove_file(r->folder->dir, job_json, &why) < 0 && why.kind != ERR_NOT_FOUND)
        return err_set(e, why.kind, "%s", why.text);
    return scan(r, g, share_fd(r->folder->dir), r->temporary, e);
}

/* ---- job.json ---- */

static int write_job_json(struct result *r, struct publish_group *g, const char *host,
                          struct err *e)
{
    const char *path = arena_printf(g->arena, "%s/%s", r->temporary, LAYOUT_JOB_JSON);
    struct jobjson j = { &r->order, &r->outcome, host, &r->saved, r->metrics };
    struct buf text = { 0 };
    int result;

    jobjson_add(&text, &j);
    result = share_write(r->folder->dir, path, text.bytes, text.n, r->folder->modes.file, e);
    buf_free(&text);
    CRASH_POINT_POINT(job_json_written);
    return result;
}

static int add_params(struct result *r, struct publish_group *g, struct err *e)
{
    const struct bytes packed = r->order.assignment.params;
    struct value params;

    if (r->outcome.event != EV_DONE || r->folder->has_params)
        return 0;
    if (mp_read(packed.data, packed.n, g->arena, &params, e) < 0)
        return -1;
    return publish_group_add_params(g, r->folder, &params, r->hex, e);
}

/* Where one syncfs is not enough. */
static void add_files(struct result *r, struct publish_group *g)
{
    if (r->folder->share->is_synced_whole)
        return;
    for (size_t i = 0; i < r->saved.n; i++)
        if (r->saved.entries[i].type == SAVED_FOLDER ||
            (r->saved.entries[i].type == SAVED_FILE && !r->is_durable))
            publish_group_add_file(
                g, r->folder,
                arena_printf(g->arena, "%s/%s", r->temporary, r->saved.entries[i].path));
    publish_group_add_file(g, r->folder,
                           arena_printf(g->arena, "%s/%s", r->temporary, LAYOUT_JOB_JSON));
    publish_group_add_file(g, r->folder, r->temporary);
}

static int bring(struct result *r, const struct publish_group *g, struct err *e)
{
    const char *save = on_scratch(r, g, JOB_SAVE);
    struct stat st;

    if (fstatat(g->scratch->ended_fd, save, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? go_on(r, g, e) : err_sys(e, "look at %s", save);
    if ((S_ISDIR(st.st_mode) ? end_wrapping(r, g, e) : wrap(r, g, e)) < 0)
        return -1;
    return bring_saved(r, g, e);
}

int result_copy(struct result *r, struct publish_group *g, const char *host, struct err *e)
{
    if (bring(r, g, e) < 0)
        return -1;
    if (r->step == RESULT_DECIDED)
        return 0;
    CRASH_POINT_POINT(saved_moved);
    if (write_job_json(r, g, host, e) < 0 || add_params(r, g, e) < 0)
        return -1;
    add_files(r, g);
    r->step = RESULT_PLACED;
    return 0;
}
