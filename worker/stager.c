/* SPDX-License-Identifier: MIT */
/* stager.c - fills the cache ahead of the jobs, brings checkpoints, and looks who has published */

#include "worker/stager.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io.h"
#include "common/layout.h"
#include "worker/cache.h"
#include "worker/child.h"
#include "worker/jobjson.h"
#include "worker/restore.h"
#include "worker/scratch.h"
#include "worker/shared.h"

/* ---- staging ---- */

/* What will be no better the next time: nobody put it there, or nobody may read it. */
static bool is_final(const struct err *e)
{
    return e->kind == ERR_DENIED || e->kind == ERR_USAGE;
}

static int stage_from(struct scratch *s, int share_fd, const struct order_stage *x, bool *retry,
                      struct err *e)
{
    struct buf packs = { 0 }, pack = { 0 };
    char hex[DIGEST_HEX];
    struct stat st;
    int result;

    digest_hex(&x->digest, hex);
    layout_packs(&packs, x->project);
    layout_pack(&pack, x->project, &x->digest);
    if (fstatat(share_fd, buf_text(&pack), &st, AT_SYMLINK_NOFOLLOW) == 0) {
        result = cache_add(s->cache_fd, &x->digest, share_fd, buf_text(&pack), e);
        *retry = result < 0 && !is_final(e);
    } else {
        *retry = errno != ENOENT || shared_is_listed(share_fd, buf_text(&packs), hex);
        result = err_set(e, ERR_NOT_FOUND,
                         "%s/%s is not there: the tree was never uploaded, or "
                         "was removed",
                         x->share, buf_text(&pack));
    }
    buf_free(&packs);
    buf_free(&pack);
    return result;
}

static int stage(struct scratch *s, const struct order_stage *x, bool *retry, struct err *e)
{
    struct shared_modes modes;
    int share_fd, project_fd;
    int result = -1;

    *retry = true;
    if (cache_has(s->cache_fd, &x->digest))
        return 0;
    share_fd = shared_open(x->share, e);
    if (share_fd < 0)
        return -1;
    project_fd = shared_open_project(share_fd, x->project, &modes, e);
    if (project_fd >= 0) {
        result = stage_from(s, share_fd, x, retry, e);
        close(project_fd);
    }
    close(share_fd);
    return result;
}

static int take_stage(struct scratch *s, struct wire *w, const struct envelope *m, struct err *e)
{
    struct order_stage x;
    struct note_staged staged = { .retry = false };
    struct err why = { 0 };

    if (message_body(&orders, m, w->arena, &x, e) < 0)
        return -1;
    staged.digest = x.digest;
    if (stage(s, &x, &staged.retry, &why) < 0)
        staged.error = why.text;
    else
        staged.retry = false;
    return wire_send(w, NOTE_STAGED, m->seq, NULL, &staged, e) < 0 ? -1 : 0;
}

/* ---- checkpoints ---- */

static int take_restore(struct scratch *s, struct wire *w, const struct envelope *m, struct err *e)
{
    struct order_restore x;
    struct note_restored restored = { .error = NULL };
    struct err why = { 0 };

    if (message_body(&orders, m, w->arena, &x, e) < 0)
        return -1;
    restored.token = x.token;
    if (restore_checkpoint(s, &x, &why) < 0)
        restored.error = why.text;
    return wire_send(w, NOTE_RESTORED, m->seq, NULL, &restored, e) < 0 ? -1 : 0;
}

/* ---- looking ---- */

/* What cannot be read now is found out when its own result meets it. */
static bool look(const struct order_look *x, struct token *winner)
{
    int share_fd = shared_open(x->share, NULL);
    bool found = share_fd >= 0 && jobjson_read_token(share_fd, x->run_path, winner, NULL) == 1;

    if (share_fd >= 0)
        close(share_fd);
    return found;
}

static int take_look(struct wire *w, const struct envelope *m, struct err *e)
{
    struct order_look x;
    struct note_found found = { .found = false };

    if (message_body(&orders, m, w->arena, &x, e) < 0)
        return -1;
    found.token = x.token;
    found.found = look(&x, &found.winner);
    return wire_send(w, NOTE_FOUND, m->seq, NULL, &found, e) < 0 ? -1 : 0;
}

/* ---- the loop ---- */

static int take_order(struct scratch *s, struct wire *w, const struct envelope *m, struct err *e)
{
    switch (m->type) {
    case ORDER_STAGE: return take_stage(s, w, m, e);
    case ORDER_RESTORE: return take_restore(s, w, m, e);
    case ORDER_LOOK: return take_look(w, m, e);
    default:
        return err_set(e, ERR_PROTOCOL, "order %s is not for a stager",
                       orders.messages[m->type].name);
    }
}

static int serve(struct scratch *s, struct wire *w, struct err *e)
{
    struct envelope m;
    int rc;

    while ((rc = wire_receive(w, &m, e)) == 1)
        if (take_order(s, w, &m, e) < 0)
            return -1;
    return rc;
}

int stager_main(int argc, char **argv)
{
    struct scratch scratch;
    struct wire wire;
    struct err e = { 0 };
    int rc;

    if (argc != 2 || argv[1][0] != '/') {
        err_set(&e, ERR_USAGE, "--stager SCRATCH, absolute");
        return child_fail("stager", &e);
    }
    umask(077);
    if (child_begin(&e) < 0 || scratch_open(&scratch, argv[1], &e) < 0)
        return child_fail("stager", &e);
    wire_init(&wire, CHILD_CHANNEL_FD, &orders);
    rc = serve(&scratch, &wire, &e);
    wire_close(&wire);
    scratch_close(&scratch);
    return rc < 0 && e.kind != ERR_UNREACHABLE ? child_fail("stager", &e) : 0;
}
