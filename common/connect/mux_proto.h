/* SPDX-License-Identifier: MIT */
/*
 * mux_proto.h - the messages between a mux and its caller over the control socket, and the
 * functions of the mux's own process
 *
 * Only mux.c and mux_run.c use it; both ends are the same build.  A descriptor travels beside its
 * message.
 */
#ifndef LUDWIG_COMMON_CONNECT_MUX_PROTO_H
#define LUDWIG_COMMON_CONNECT_MUX_PROTO_H

#include <stdbool.h>

#include "common/connect/mux.h"
#include "common/proto/message.h"

enum mux_what { MUX_SERVER, MUX_SFTP, MUX_WHAT_COUNT };

enum mux_type {
    MUX_DIALED,   /* to the caller: an SSH server answers; not sent with a proxy */
    MUX_READY,    /* to the caller: connected and authenticated */
    MUX_ENDED,    /* to the caller: the connection could not be made, or is lost */
    MUX_QUESTION, /* to the caller: a question for the user */
    MUX_ANSWER,
    MUX_ASK, /* for a descriptor; answered in order by MUX_GIVEN or MUX_REFUSED */
    MUX_GIVEN,
    MUX_REFUSED,
    MUX_ASK_FACTS,
    MUX_FACTS,
    MUX_TYPE_COUNT
};

struct mux_nothing {
    bool unused;
};

struct mux_ready {         /* body of MUX_READY and MUX_DIALED */
    int64_t round_trip_ms; /* see mux_round_trip_ms */
    const char *conf_said; /* see mux_conf_said */
};

struct mux_error {
    int kind; /* enum err_kind */
    const char *text;
};

struct mux_question {
    const char *text;
    bool echo;
};

struct mux_answer {
    struct bytes text;
    struct mux_error error; /* kind ERR_NONE: the user answered */
};

struct mux_ask {
    int what; /* enum mux_what */
};

struct mux_given {
    int way; /* enum way */
};

extern const struct protocol mux_protocol;

enum { MUX_FDS_MAX = 8 };

/* One end of the control socket.  A struct with fd set and zero elsewhere is a valid start. */
struct mux_link {
    int fd;
    struct frame_reader reader;
    int fds[MUX_FDS_MAX]; /* received and not taken yet; -1: lost on the way */
    size_t n_fds;
    int64_t seq;
};

void mux_link_init(struct mux_link *l, int fd); /* takes over fd */
void mux_link_close(struct mux_link *l);

/* Sends a message, and waits while the other end does not read.  give: a descriptor that travels
 * along, or -1; the caller keeps its own. */
int mux_link_send(struct mux_link *l, enum mux_type type, const void *body, int give,
                  struct err *e);
/* Returns 1 with a message, which lives in a; 0 when no whole message has come and fd is
 * non-blocking; -1 with e set, ERR_UNREACHABLE when the other end is gone. */
int mux_link_receive(struct mux_link *l, struct arena *a, struct envelope *m, struct err *e);
/* The oldest received descriptor; -1 when none came, or when it was lost because this process has
 * too many files open. */
int mux_link_take_fd(struct mux_link *l);

/* ---- the mux's own process ---- */

/* Connects and serves until the control socket or the connection closes. */
void mux_run(int control_fd, const struct endpoint *to, const struct mux_options *o);

/* The same without SSH: each descriptor is one end of a courier that works with the share mounted
 * at this path (common/connect/courier.h). */
void mux_run_share(int control_fd, const char *share);

#endif
