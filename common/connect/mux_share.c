/* SPDX-License-Identifier: MIT */
/* mux_share.c - a mux without SSH: couriers over a share that is mounted here */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "common/connect/courier.h"
#include "common/connect/mux_proto.h"
#include "common/connect/mux_run.h"

static int give(struct mux_link *control, int fd)
{
    struct mux_given given = { .way = WAY_INBOX };
    int rc = mux_link_send(control, MUX_GIVEN, &given, fd, NULL);

    close(fd);
    return rc;
}

static int refuse(struct mux_link *control, const struct err *why)
{
    struct mux_error error = { .kind = (int)why->kind, .text = why->text };

    return mux_link_send(control, MUX_REFUSED, &error, -1, NULL);
}

static int answer(struct mux_link *control, const struct mux_ask *ask, const char *share)
{
    struct err e = { 0 };
    struct courier *c = NULL;
    int fd = -1;

    if (ask->what == MUX_SERVER)
        c = courier_over_folder(share, &e);
    else
        err_set(&e, ERR_DENIED, "there is no connection, only the share %s", share);
    if (c != NULL)
        fd = courier_start(c, &e);
    return fd >= 0 ? give(control, fd) : refuse(control, &e);
}

/* 0: nothing came; -1: the caller is gone, or says what it should not. */
static int serve_one(struct mux_link *control, const char *share, struct arena *a)
{
    struct envelope got;
    struct mux_ask ask;
    int rc = mux_link_receive(control, a, &got, NULL);

    if (rc > 0 && (got.type != MUX_ASK || message_body(&mux_protocol, &got, a, &ask, NULL) < 0 ||
                   answer(control, &ask, share) < 0))
        rc = -1;
    arena_reset(a);
    return rc;
}

static int wait_for_more(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    return poll(&p, 1, -1) < 0 && errno != EINTR ? -1 : 0;
}

void mux_run_share(int control_fd, const char *share)
{
    const struct mux_ready ready = { .round_trip_ms = SCHEMA_NONE };
    struct arena *a = arena_create();
    struct mux_link control;
    int rc = 0;

    (void)signal(SIGPIPE, SIG_IGN);
    mux_link_init(&control, control_fd);
    if (mux_link_send(&control, MUX_READY, &ready, -1, NULL) < 0)
        rc = -1;
    while (rc >= 0) {
        rc = serve_one(&control, share, a);
        if (rc == 0)
            rc = wait_for_more(control_fd);
    }
    mux_link_close(&control);
    arena_destroy(a);
}
