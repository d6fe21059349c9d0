/* SPDX-License-Identifier: MIT */
/* stager.c - fills the cache ahead of the jobs, brings checkpoints, and looks who has published */

#include "worker/stager.h"

#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "common/layout.h"
#include "worker/cache.h"
#include "worker/child.h"
#include "worker/jobjson.h"
#include "worker/sftplink.h"
#include "worker/restore.h"
#include "worker/scratch.h"
#include "worker/shared.h"

struct stager {
    struct scratch scratch;
    struct shares *access;
    struct wire wire;
};

/* ---- staging ---- */

/* What will be no better the next time: nobody put it there, or nobody may read it. */
static bool is_final(const struct err *e)
{
    return e->kind == ERR_DENIED || e->kind == ERR_USAGE;
}

static int stage_from(struct stager *s, const struct share_dir *share, const struct order_stage *x,
                      bool *retry, struct err *e)
{
    struct buf packs = { 0 }, pack = { 0 };
    char hex[DIGEST_HEX];
    struct share_stat st;
    struct err why = { 0 };
    int result;

    digest_hex(&x->set.tree, hex);
    layout_packs(&packs, x->project);
    layout_pack(&pack, x->project, &x->set.tree);
    if (share_stat(share, buf_text(&pack), &st, &why) == 0) {
        result = cache_add(s->scratch.cache_fd, &x->set.tree, share, buf_text(&pack), e);
        *retry = result < 0 && !is_final(e);
    } else if (why.kind != ERR_NOT_FOUND) {
        result = err_set(e, why.kind, "%s", why.text);
    } else {
        *retry = shared_is_listed(share, buf_text(&packs), hex);
        result = err_set(e, ERR_NOT_FOUND,
                         "%s/%s is not there: the tree was never uploaded, or "
                         "was removed",
                         x->share, buf_text(&pack));
    }
    buf_free(&packs);
    buf_free(&pack);
    return result;
}

static int stage(struct stager *s, const struct order_stage *x, bool *retry, struct err *e)
{
    struct shared_modes modes;
    struct share_dir *share, *project;
    int result = -1;

    *retry = true;
    if (cache_has(s->scratch.cache_fd, &x->set.tree))
        return 0;
    share = share_open(s->access, x->share, e);
    if (share == NULL)
        return -1;
    project = shared_open_project(share, x->project, &modes, e);
    if (project != NULL)
        result = stage_from(s, share, x, retry, e);
    share_close(project);
    share_close(share);
    return result;
}

static int take_stage(struct stager *s, const struct envelope *m, struct err *e)
{
    struct order_stage x;
    struct note_staged staged = { .retry = false };
    struct err why = { 0 };

    if (message_body(&orders, m, s->wire.arena, &x, e) < 0)
        return -1;
    staged.tree = x.set.tree;
    if (stage(s, &x, &staged.retry, &why) < 0)
        staged.error = why.text;
    else
        staged.retry = false;
    return wire_send(&s->wire, NOTE_STAGED, m->seq, NULL, &staged, e) < 0 ? -1 : 0;
}

/* ---- checkpoints ---- */

static int take_restore(struct stager *s, const struct envelope *m, struct err *e)
{
    struct order_restore x;
    struct note_restored restored = { .error = NULL };
    struct err why = { 0 };

    if (message_body(&orders, m, s->wire.arena, &x, e) < 0)
        return -1;
    restored.token = x.token;
    if (restore_checkpoint(&s->scratch, s->access, &x, &why) < 0)
        restored.error = why.text;
    return wire_send(&s->wire, NOTE_RESTORED, m->seq, NULL, &restored, e) < 0 ? -1 : 0;
}

/* ---- looking ---- */

/* What cannot be read now is found out when its own result meets it. */
static bool look(struct stager *s, const struct order_look *x, struct token *winner)
{
    struct share_dir *share = share_open(s->access, x->share, NULL);
    bool found = share != NULL && jobjson_read_token(share, x->run_path, winner, NULL) == 1;

    share_close(share);
    return found;
}

static int take_look(struct stager *s, const struct envelope *m, struct err *e)
{
    struct order_look x;
    struct note_found found = { .found = false };

    if (message_body(&orders, m, s->wire.arena, &x, e) < 0)
        return -1;
    found.token = x.token;
    found.found = look(s, &x, &found.winner);
    return wire_send(&s->wire, NOTE_FOUND, m->seq, NULL, &found, e) < 0 ? -1 : 0;
}

/* ---- the loop ---- */

static int take_order(struct stager *s, const struct envelope *m, struct err *e)
{
    switch (m->type) {
    case ORDER_STAGE: return take_stage(s, m, e);
    case ORDER_RESTORE: return take_restore(s, m, e);
    case ORDER_LOOK: return take_look(s, m, e);
    default:
        return err_set(e, ERR_PROTOCOL, "order %s is not for a stager",
                       orders.messages[m->type].name);
    }
}

/* Until there is an order, or the agent is gone. */
static void rest(struct stager *s)
{
    struct pollfd fd = { s->wire.fd, POLLIN, 0 };
    int64_t left_ms;

    while (!wire_is_ready(&s->wire) && (left_ms = shares_rest_ms(s->access)) >= 0 &&
           poll(&fd, 1, (int)left_ms) == 0)
        shares_rest(s->access);
}

static int serve(struct stager *s, struct err *e)
{
    struct envelope m;
    int rc;

    do {
        rest(s);
        rc = wire_receive(&s->wire, &m, e);
        if (rc == 1 && take_order(s, &m, e) < 0)
            return -1;
    } while (rc == 1);
    return rc;
}

int stager_main(int argc, char **argv)
{
    struct stager s;
    struct share_source source;
    struct sftplink *sftp;
    struct err e = { 0 };
    int rc;

    if (argc != 3 || argv[1][0] != '/') {
        err_set(&e, ERR_USAGE, "--stager SCRATCH ADDRESS");
        return child_fail("stager", &e);
    }
    umask(077);
    if (child_begin(&e) < 0 || scratch_open(&s.scratch, argv[1], &e) < 0)
        return child_fail("stager", &e);
    wire_init(&s.wire, CHILD_CHANNEL_FD, &orders);
    sftp = sftplink_create(argv[2]);
    source = sftplink_source(sftp);
    s.access = shares_create(&source);
    rc = serve(&s, &e);
    shares_destroy(s.access);
    sftplink_destroy(sftp);
    wire_close(&s.wire);
    scratch_close(&s.scratch);
    return rc < 0 && e.kind != ERR_UNREACHABLE ? child_fail("stager", &e) : 0;
}
