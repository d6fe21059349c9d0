/* SPDX-License-Identifier: MIT */
/* stager.c - fills the cache ahead of the jobs, brings checkpoints, and looks for published results */

#include "worker/stager/stager.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "worker/base/child_start.h"
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

/* ---- the loop ---- */

static int take_order(struct stager *s, const struct envelope *m, struct err *e)
{
    static const int types[] = { ORDER_STAGE,   ORDER_RELEASE, ORDER_EXPECT,
                                 ORDER_RESTORE, ORDER_LOOK,    -1 };
    union {
        struct order_stage stage;
        struct order_release release;
        struct order_expect expect;
        struct order_restore restore;
        struct order_look look;
    } x;
    struct note_restored restored = { .error = NULL };
    struct note_found found = { .found = false };
    struct share_dir *share;
    struct err why = { 0 };

    if (child_order_body(&s->wire, m, types, &x, e) < 0)
        return -1;
    switch (m->type) {
    case ORDER_STAGE: stage_queue_stage(s->queue, &x.stage, m->seq); return 0;
    case ORDER_RELEASE: stage_queue_release(s->queue, &x.release); return 0;
    case ORDER_EXPECT: stage_queue_expect(s->queue, &x.expect, m->seq); return 0;
    case ORDER_RESTORE:
        restored.token = x.restore.token;
        if (checkpoint_restore(&s->scratch, s->access, &x.restore, &why) < 0)
            restored.error = why.text;
        return wire_send(&s->wire, NOTE_RESTORED, m->seq, NULL, &restored, e) < 0 ? -1 : 0;
    default: /* has an attempt of this job published?  Else its own result meets that one. */
        found.token = x.look.token;
        share = share_open(s->access, x.look.share, NULL);
        found.found =
            share != NULL && jobjson_read_token(share, x.look.run_path, &found.winner, NULL) == 1;
        share_close(share);
        return wire_send(&s->wire, NOTE_FOUND, m->seq, NULL, &found, e) < 0 ? -1 : 0;
    }
}

/* Until there is an order, or the agent is gone; notes are sent meanwhile. */
static int wait_for_order(struct stager *s, struct err *e)
{
    struct pollfd fds[] = { { s->wire.fd, POLLIN, 0 }, { stage_queue_fd(s->queue), POLLIN, 0 } };

    for (;;) {
        int64_t left_ms, sent = 0;
        struct stage_note *note;

        while (sent >= 0 && (note = stage_queue_next(s->queue)) != NULL) {
            sent = wire_send(&s->wire, note->type, note->re, NULL, &note->body, e);
            free(note);
        }
        if (sent < 0)
            return -1;
        left_ms = shares_rest_ms(s->access);
        if (wire_is_ready(&s->wire))
            return 0;
        if (poll(fds, 2, left_ms > INT_MAX ? INT_MAX : (int)left_ms) == 0)
            shares_rest(s->access);
        else if (fds[0].revents != 0)
            return 0;
    }
}

static int serve(struct stager *s, struct err *e)
{
    struct envelope m;
    int rc;

    stage_queue_list(s->queue);
    do {
        rc = wait_for_order(s, e);
        if (rc == 0)
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
    int guard_fd = fcntl(CHILD_GUARD_FD, F_GETFD) < 0 ? -1 : CHILD_GUARD_FD;
    int rc = -1, code;

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
    s.queue = stage_queue_create(&s.scratch, &source, guard_fd, &e);
    if (s.queue != NULL)
        rc = serve(&s, &e);
    code = rc < 0 && e.kind != ERR_UNREACHABLE ? child_fail("stager", &e) : 0;
    /* What is being staged ends with the process, wherever it is: the next one goes on with it. */
    if (s.queue != NULL && !stage_queue_destroy(s.queue))
        _exit(code);
    shares_destroy(s.access);
    sftplink_destroy(sftp);
    wire_close(&s.wire);
    scratch_close(&s.scratch);
    return code;
}
