/* SPDX-License-Identifier: MIT */
/* stager.c - fills the cache ahead of the jobs, brings checkpoints, and looks who has published */

#include "worker/stager/stager.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "worker/base/child_main.h"
#include "worker/base/scratch.h"
#include "worker/saved/jobjson.h"
#include "worker/share/sftplink.h"
#include "worker/stager/checkpoint_restore.h"
#include "worker/stager/stage_queue.h"

struct stager {
    struct scratch scratch;
    struct shares *access;
    struct wire wire;
    struct stage_queue *queue;
};

/* ---- staging ---- */

static int take_stage(struct stager *s, const struct envelope *m, struct err *e)
{
    struct order_stage x;

    if (message_body(&orders, m, s->wire.arena, &x, e) < 0)
        return -1;
    stage_queue_stage(s->queue, &x, m->seq);
    return 0;
}

static int take_release(struct stager *s, const struct envelope *m, struct err *e)
{
    struct order_release x;

    if (message_body(&orders, m, s->wire.arena, &x, e) < 0)
        return -1;
    stage_queue_release(s->queue, &x);
    return 0;
}

static int take_expect(struct stager *s, const struct envelope *m, struct err *e)
{
    struct order_expect x;

    if (message_body(&orders, m, s->wire.arena, &x, e) < 0)
        return -1;
    stage_queue_expect(s->queue, &x, m->seq);
    return 0;
}

static const void *body_of(const struct stage_note *note)
{
    switch (note->type) {
    case NOTE_STAGED: return &note->staged;
    case NOTE_CACHED: return &note->cached;
    default: return &note->expected;
    }
}

static int send_notes(struct stager *s, struct err *e)
{
    struct stage_note *note;
    int64_t sent = 0;

    while (sent >= 0 && (note = stage_queue_next(s->queue)) != NULL) {
        sent = wire_send(&s->wire, note->type, note->re, NULL, body_of(note), e);
        free(note);
    }
    return sent < 0 ? -1 : 0;
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
    if (checkpoint_restore_checkpoint(&s->scratch, s->access, &x, &why) < 0)
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
    case ORDER_RELEASE: return take_release(s, m, e);
    case ORDER_EXPECT: return take_expect(s, m, e);
    case ORDER_RESTORE: return take_restore(s, m, e);
    case ORDER_LOOK: return take_look(s, m, e);
    default:
        return err_set(e, ERR_PROTOCOL, "order %s is not for a stager",
                       orders.messages[m->type].name);
    }
}

/* Until there is an order, or the agent is gone; notes are sent meanwhile. */
static int rest(struct stager *s, struct err *e)
{
    struct pollfd fds[] = { { s->wire.fd, POLLIN, 0 }, { stage_queue_fd(s->queue), POLLIN, 0 } };

    while (send_notes(s, e) == 0) {
        int64_t left_ms = shares_rest_ms(s->access);

        if (wire_is_ready(&s->wire))
            return 0;
        if (poll(fds, 2, left_ms > INT_MAX ? INT_MAX : (int)left_ms) == 0)
            shares_rest(s->access);
        else if (fds[0].revents != 0)
            return 0;
    }
    return -1;
}

static int serve(struct stager *s, struct err *e)
{
    struct envelope m;
    int rc;

    stage_queue_list(s->queue);
    do {
        rc = rest(s, e);
        if (rc == 0)
            rc = wire_receive(&s->wire, &m, e);
        if (rc == 1 && take_order(s, &m, e) < 0)
            return -1;
    } while (rc == 1);
    return rc;
}

static int guard_fd(void)
{
    return fcntl(CHILD_GUARD_FD, F_GETFD) < 0 ? -1 : CHILD_GUARD_FD;
}

/* What is being staged ends with the process, wherever it is: the next one goes on with it. */
static void end(struct stager *s, struct sftplink *sftp, int code)
{
    if (s->queue != NULL && !stage_queue_destroy(s->queue))
        _exit(code);
    shares_destroy(s->access);
    sftplink_destroy(sftp);
    wire_close(&s->wire);
    scratch_close(&s->scratch);
}

int stager_main(int argc, char **argv)
{
    struct stager s;
    struct share_source source;
    struct sftplink *sftp;
    struct err e = { 0 };
    int guard = guard_fd(), rc = -1, code;

    if (argc != 3 || argv[1][0] != '/') {
        err_set(&e, ERR_USAGE, "--stager SCRATCH ADDRESS");
        return child_main_fail("stager", &e);
    }
    umask(077);
    if (child_begin(&e) < 0 || scratch_open(&s.scratch, argv[1], &e) < 0)
        return child_main_fail("stager", &e);
    wire_init(&s.wire, CHILD_CHANNEL_FD, &orders);
    sftp = sftplink_create(argv[2]);
    source = sftplink_source(sftp);
    s.access = shares_create(&source);
    s.queue = stage_queue_create(&s.scratch, &source, guard, &e);
    if (s.queue != NULL)
        rc = serve(&s, &e);
    code = rc < 0 && e.kind != ERR_UNREACHABLE ? child_main_fail("stager", &e) : 0;
    end(&s, sftp, code);
    return code;
}
