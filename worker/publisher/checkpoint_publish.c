/* SPDX-License-Identifier: MIT */
/* checkpoint_publish.c - publishes an attempt's last checkpoint, in the steps of its result */

#include "worker/publisher/checkpoint_publish.h"

#include <string.h>

#include "common/base/log.h"
#include "common/proto/layout.h"
#include "common/base/crash_point.h"
#include "worker/publisher/checkpoint_copy.h"

static void warn(const struct result *r, const char *event, const struct err *why)
{
    log_event(LOG_WARN, event, "attempt", "%s", r->hex, "error", "%s", why->text, NULL);
}

/* Whether the job has a result, of this attempt or of one that had published before. */
static bool has_result(const struct result *r)
{
    return event_is_publication((enum attempt_event)r->outcome.event) ||
           r->outcome.event == EV_SUPERSEDE;
}

/* Whether the attempt's checkpoint stays beside its result, for jobs that go on from it. */
static bool stays(const struct result *r)
{
    return event_is_publication((enum attempt_event)r->outcome.event) && r->has_order &&
           r->order.work.work.checkpoint.keep;
}

/* ---- prepare ---- */

static int copy_checkpoint(struct result *r, struct publish_group *g, struct checkpoint_copy *k,
                           struct err *e)
{
    struct publish_group_folder *f = r->carry.folder;
    struct buf name = { 0 };
    const char **paths;
    size_t n;
    int rc;

    r->carry.as = (struct checkpoint_name){ r->order.assignment.attempt, CHECKPOINT_AT_END };
    checkpoint_add_temporary(&name, r->order.assignment.job_name, r->carry.as.attempt, &r->token);
    r->carry.temporary = buf_to_arena(&name, g->arena);
    if (checkpoint_copy_begin(k, f->dir, r->carry.temporary, &f->modes, e) < 0)
        return -1;
    r->carry.modes = k->modes;
    while ((rc = checkpoint_copy_go_on(k, e)) == 1)
        CRASH_POINT(checkpoint_begun);
    if (rc < 0)
        return -1;
    paths = checkpoint_copy_paths(k, g->arena, &n);
    for (size_t i = 0; i < n; i++)
        publish_group_add_file(g, f, paths[i]);
    r->carry.step = CARRY_COPIED;
    CRASH_POINT(checkpoint_copied);
    return 0;
}

static int prepare_copy(struct result *r, struct publish_group *g, struct checkpoint_copy *k,
                        struct err *e)
{
    const struct assignment *x = &r->order.assignment;
    struct carry *c = &r->carry;
    struct buf path = { 0 };
    struct token winner;
    int rc;

    layout_checkpoints(&path, r->order.work.project, x->param_name);
    c->folder = publish_group_folder(g, r->order.share, buf_to_arena(&path, g->arena), e);
    if (c->folder == NULL)
        return -1;
    layout_run(&path, r->order.work.project, x->param_name, x->job_name);
    rc = jobjson_read_token(c->folder->share->dir, buf_to_arena(&path, g->arena), &winner, e);
    if (rc < 0)
        return -1;
    /* A job with a result needs no checkpoint, but for one that stays beside this attempt's own
     * result, which is there already if a publisher was killed. */
    if (rc == 1 && !(stays(r) && token_equal(&winner, &r->token))) {
        c->step = CARRY_DROPPED;
        return 0;
    }
    /* The newest one may be the same: copied while the job ran, by a publisher that was killed, or
     * what the job was given and did not change. */
    rc = checkpoint_copy_is_kept(k, c->folder->dir, x->job_name, x->attempt, &c->as, e);
    /* A checkpoint that stays needs the name of its attempt's end, by which it is looked for. */
    if (rc == 1 && stays(r) && (c->as.attempt != x->attempt || c->as.number != CHECKPOINT_AT_END))
        rc = 0;
    if (rc <= 0)
        return rc < 0 ? -1 : copy_checkpoint(r, g, k, e);
    c->step = CARRY_KEPT;
    c->folder->has_changed = true; /* a publisher may have been killed before it synced that */
    return 0;
}

/* A checkpoint that may not be written is logged and left out: the job then begins anew. */
int checkpoint_publish_prepare(struct result *r, struct publish_group *g, struct err *e)
{
    struct err why = { 0 };
    struct checkpoint_copy k;
    int rc;

    if (has_result(r) && !stays(r))
        return 0;
    rc = checkpoint_copy_open(&k, g->scratch->ended_fd, r->hex, e);
    if (rc <= 0)
        return rc;
    if (k.now.n_left_out > 0)
        log_event(LOG_WARN, "checkpoint-incomplete", "attempt", "%s", r->hex, "left_out", "%zu",
                  k.now.n_left_out, NULL);
    rc = prepare_copy(r, g, &k, &why);
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
    if (share_project_open_up(c->folder->dir, c->temporary, &c->modes, e) < 0 ||
        checkpoint_give_name(c->folder->dir, c->temporary, r->order.assignment.job_name, &c->as,
                             r->hex, e) < 0)
        return -1;
    CRASH_POINT(checkpoint_renamed);
    c->folder->has_changed = true;
    c->step = CARRY_KEPT;
    return 0;
}

/* ---- finish ---- */

/* Removes checkpoints of these attempts that are older than `than` (NULL: all), and those that a
 * killed publisher left half-made.  NULL: also removes the folder, unless other jobs of this
 * configuration have checkpoints in it.  Makes no folder where there is none. */
static void remove_older(const struct result *r, struct publish_group *g,
                         const struct checkpoint_name *than, int64_t first_attempt,
                         int64_t last_attempt)
{
    const struct assignment *x = &r->order.assignment;
    const struct publish_group_share *share = publish_group_share(g, r->order.share, NULL);
    struct buf text = { 0 };
    struct err why = { 0 };
    struct share_dir *d;
    const char *path;

    layout_checkpoints(&text, r->order.work.project, x->param_name);
    path = buf_to_arena(&text, g->arena);
    d = share == NULL ? NULL : share_open_dir(share->dir, path, NULL);
    if (d == NULL)
        return;
    if (checkpoint_remove_older(d, x->job_name, than, first_attempt, last_attempt, r->hex, &why) <
        0)
        warn(r, "checkpoints-not-removed", &why);
    share_close(d);
    if (than == NULL) {
        (void)share_remove_dir(share->dir, path, NULL);
        CRASH_POINT(checkpoints_dropped);
    } else {
        CRASH_POINT(checkpoint_alone);
    }
}

void checkpoint_publish_finish(struct result *r, struct publish_group *g)
{
    static const struct checkpoint_name none = { 0, 0 };
    const struct order *o = &r->order;
    int64_t attempt = o->assignment.attempt;
    /* If not, there was no checkpoint before the attempt, and no copy while it ran. */
    bool may_have_some =
        attempt > 1 || o->assignment.restart > 0 || o->work.work.checkpoint.every_ms > 0;
    /* The job has a result of another attempt, whose checkpoint may stay beside it. */
    bool has_lost = r->carry.step == CARRY_DROPPED || r->outcome.event == EV_SUPERSEDE;

    if (!r->has_order)
        return;
    if (has_lost && o->work.work.checkpoint.keep) {
        remove_older(r, g, NULL, attempt, attempt);
        r->carry.step = CARRY_DROPPED;
    } else if (r->carry.step == CARRY_KEPT && (stays(r) || !has_result(r))) {
        remove_older(r, g, &r->carry.as, 0, attempt);
    } else if (has_lost || (has_result(r) && may_have_some)) {
        remove_older(r, g, NULL, 0, INT64_MAX);
    } else if (!has_result(r) && o->work.work.checkpoint.every_ms > 0) {
        remove_older(r, g, &none, 0, attempt);
    }
}
