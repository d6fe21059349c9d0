/* SPDX-License-Identifier: MIT */
/* checkpoint_publish.c - what an attempt leaves for the next one goes the way of its result */

#include "worker/publisher/checkpoint_publish.h"

#include <string.h>

#include "common/base/log.h"
#include "common/proto/layout.h"
#include "common/base/crash_point.h"
#include "worker/publisher/checkpoint_copy.h"

static const char *take_text(struct buf *b, struct arena *a)
{
    const char *text = arena_strndup(a, buf_text(b), b->n);

    buf_free(b);
    return text;
}

static const char *folder_path(const struct order *o, struct arena *a)
{
    struct buf path = { 0 };

    layout_checkpoints(&path, o->work.project, o->assignment.param_name);
    return take_text(&path, a);
}

static void warn(const struct result *r, const char *event, const struct err *why)
{
    log_event(LOG_WARN, event, "attempt", "%s", r->hex, "error", "%s", why->text, NULL);
}

/* ---- prepare ---- */

static int job_has_result(const struct result *r, const struct publish_group *g, struct err *e)
{
    const struct assignment *x = &r->order.assignment;
    struct buf path = { 0 };
    struct token winner;

    layout_run(&path, r->order.work.project, x->param_name, x->job_name);
    return jobjson_read_token(r->carry.folder->share->dir, take_text(&path, g->arena), &winner, e);
}

static int find_newest(struct result *r, struct checkpoint_list *newest, struct err *e)
{
    const struct assignment *x = &r->order.assignment;
    const struct checkpoint_list up_to = { x->attempt, CHECKPOINT_LIST_AT_END };

    return checkpoint_list_newest(r->carry.folder->dir, x->job_name, &up_to, newest, e);
}

/* The newest one is the same: copied while the job ran, by a publisher that was killed, or what it
 * was given and did not change. */
static int is_kept(struct result *r, const struct publish_group *g, const struct checkpoint_copy *k,
                   struct err *e)
{
    struct digest ours, theirs;
    struct buf name = { 0 };
    int rc = find_newest(r, &r->carry.as, e);

    if (rc <= 0)
        return rc;
    checkpoint_list_add_name(&name, r->order.assignment.job_name, &r->carry.as);
    if (checkpoint_copy_digest(k, &ours, e) < 0)
        rc = -1;
    else
        rc = checkpoint_copy_digest_of(r->carry.folder->dir, take_text(&name, g->arena), &theirs,
                                       NULL) == 0 &&
             memcmp(&ours, &theirs, sizeof ours) == 0;
    buf_free(&name);
    return rc;
}

struct adding {
    struct publish_group *group;
    struct publish_group_folder *folder;
};

static void add_path(void *context, const char *path)
{
    struct adding *in = context;

    publish_group_add_file(in->group, in->folder, arena_strdup(in->group->arena, path));
}

static int copy(struct result *r, struct publish_group *g, struct checkpoint_copy *k, struct err *e)
{
    struct publish_group_folder *f = r->carry.folder;
    struct adding in = { g, f };
    struct buf name = { 0 };
    int rc;

    r->carry.as = (struct checkpoint_list){ r->order.assignment.attempt, CHECKPOINT_LIST_AT_END };
    checkpoint_list_add_temporary(&name, r->order.assignment.job_name, r->carry.as.attempt,
                                  &r->token);
    r->carry.temporary = take_text(&name, g->arena);
    if (checkpoint_copy_begin(k, f->dir, r->carry.temporary, &f->modes, e) < 0)
        return -1;
    while ((rc = checkpoint_copy_go_on(k, e)) == 1)
        CRASH_POINT_POINT(checkpoint_begun);
    if (rc < 0)
        return -1;
    if (!f->share->is_synced_whole)
        checkpoint_copy_each_path(k, add_path, &in);
    r->carry.step = CARRY_COPIED;
    CRASH_POINT_POINT(checkpoint_copied);
    return 0;
}

static int carry(struct result *r, struct publish_group *g, struct checkpoint_copy *k,
                 struct err *e)
{
    struct carry *c = &r->carry;
    int rc;

    c->folder = publish_group_folder(g, r->order.share, folder_path(&r->order, g->arena), e);
    if (c->folder == NULL)
        return -1;
    rc = job_has_result(r, g, e);
    if (rc == 1)
        c->step = CARRY_DROPPED;
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    rc = is_kept(r, g, k, e);
    if (rc == 1) {
        c->step = CARRY_KEPT;
        c->folder->has_changed = true; /* perhaps it was killed before it synced that */
    }
    return rc != 0 ? (rc < 0 ? -1 : 0) : copy(r, g, k, e);
}

/* Where we may not write it, the job begins anew. */
int checkpoint_publish_prepare(struct result *r, struct publish_group *g, struct err *e)
{
    struct err why = { 0 };
    struct checkpoint_copy k;
    int rc;

    if (r->outcome.event == EV_DONE || r->outcome.event == EV_SUPERSEDE)
        return 0;
    rc = checkpoint_copy_open(&k, g->scratch->ended_fd, r->hex, e);
    if (rc <= 0)
        return rc;
    if (k.now.n_left_out > 0)
        log_event(LOG_WARN, "checkpoint-incomplete", "attempt", "%s", r->hex, "left_out", "%zu",
                  k.now.n_left_out, NULL);
    rc = carry(r, g, &k, &why);
    checkpoint_copy_close(&k);
    if (rc == 0)
        return 0;
    if (why.kind != ERR_DENIED)
        return err_set(e, why.kind, "checkpoint: %s", why.text);
    warn(r, "checkpoint-not-kept", &why);
    r->carry.step = CARRY_NOTHING;
    return 0;
}

/* ---- fence ---- */

int checkpoint_publish_fence(struct result *r, struct err *e)
{
    struct carry *c = &r->carry;

    if (c->step != CARRY_COPIED)
        return 0;
    if (checkpoint_list_name(c->folder->dir, c->temporary, r->order.assignment.job_name, &c->as,
                             r->hex, e) < 0)
        return -1;
    CRASH_POINT_POINT(checkpoint_renamed);
    c->folder->has_changed = true;
    c->step = CARRY_KEPT;
    return 0;
}

/* ---- finish ---- */

/* Without it there was none before, and no copy while it ran. */
static bool may_have_some(const struct order *o)
{
    return o->assignment.attempt > 1 || o->assignment.restart > 0 ||
           o->work.work.checkpoint.every_ms > 0;
}

/* Nothing is made where there is none. */
static struct share_dir *open_folder(const struct result *r, struct publish_group *g,
                                     const char *path)
{
    const struct publish_group_share *share = publish_group_share(g, r->order.share, NULL);

    return share == NULL ? NULL : share_open_dir(share->dir, path, NULL);
}

static void drop_all(const struct result *r, struct publish_group *g)
{
    const char *path = folder_path(&r->order, g->arena);
    struct share_dir *d = open_folder(r, g, path);
    struct err why = { 0 };

    if (d == NULL)
        return;
    if (checkpoint_list_remove_all(d, r->order.assignment.job_name, r->hex, &why) < 0)
        warn(r, "checkpoints-not-removed", &why);
    share_close(d);
    /* Others of this configuration may have theirs in it. */
    (void)share_remove_dir(publish_group_share(g, r->order.share, NULL)->dir, path, NULL);
    CRASH_POINT_POINT(checkpoints_dropped);
}

/* Also what a publisher that was killed left half-made. */
static void drop_older(const struct result *r, struct publish_group *g,
                       const struct checkpoint_list *than)
{
    const struct assignment *x = &r->order.assignment;
    struct share_dir *d = open_folder(r, g, folder_path(&r->order, g->arena));
    struct err why = { 0 };

    if (d == NULL)
        return;
    if (checkpoint_list_remove_older(d, x->job_name, than, x->attempt, r->hex, &why) < 0)
        warn(r, "checkpoints-not-removed", &why);
    share_close(d);
    CRASH_POINT_POINT(checkpoint_alone);
}

void checkpoint_publish_finish(struct result *r, struct publish_group *g)
{
    static const struct checkpoint_list none = { 0, 0 };
    bool has_result = r->outcome.event == EV_DONE || r->outcome.event == EV_SUPERSEDE;

    if (!r->has_order)
        return;
    if (r->carry.step == CARRY_DROPPED || (has_result && may_have_some(&r->order)))
        drop_all(r, g);
    else if (r->carry.step == CARRY_KEPT)
        drop_older(r, g, &r->carry.as);
    else if (!has_result && r->order.work.work.checkpoint.every_ms > 0)
        drop_older(r, g, &none);
}
