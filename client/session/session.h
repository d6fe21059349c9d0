/* SPDX-License-Identifier: MIT */
/*
 * session.h - what a command needs to talk to the server
 */
#ifndef LUDWIG_CLIENT_SESSION_SESSION_H
#define LUDWIG_CLIENT_SESSION_SESSION_H

#include "client/session/rpc.h"
#include "client/share/share_connection.h"
#include "client/term/command.h"
#include "client/util/conf.h"

/* A further connection for files. */
struct session_lane {
    struct mux *mux; /* NULL: none */
    bool is_asked;   /* for a channel */
};

struct session {
    struct conf conf;
    struct server_choice choice;
    struct rpc rpc;
    const char *share;    /* where projects lie on the shared drive, as this machine sees it */
    const char *projects; /* the same below the shared drive; "": it is the drive's own folder */
    struct arena *arena;  /* lasts until the program ends */
    struct share_connection drive; /* see session_drive */
    struct session_lane lanes[SHARE_CONNECTION_LANES_MAX];
    bool has_no_worker; /* a server of the user's own on a login node: see embedded_up */
    bool is_subscribed; /* a subscription makes the connection anew when that is lost */
};

/* What a session is started for. */
struct session_wants {
    bool worker;          /* of a server of the user's own: see embedded_up */
    bool sends_files;     /* connections for them are begun early, and not waited for */
    uint64_t files_bytes; /* so much is to be sent, as far as is known */
};

/* Connects to the server that the command line and the configuration name. */
int session_open(struct cli *cli, struct session *s, struct err *e);
/* The same, but one of the user's own is started if need be. */
int session_start(struct cli *cli, struct session *s, const struct session_wants *wants,
                  struct err *e);
void session_close(struct session *s);

/* The shared drive, connected to on first use, and again when that connection broke.  Belongs to
 * the session; NULL with e set. */
struct share_connection *session_drive(struct session *s, struct err *e);
/* To read from it; the caller closes it. */
struct share_dir *session_open_drive(struct session *s, struct err *e);
/* Whether the connection stands, as far as is known. */
bool session_is_connected(const struct session *s);

/* A path of the server's for people: the whole one where this machine sees the drive, else as it is
 * on it. */
const char *session_shown_path(const struct session *s, struct arena *a, const char *path);
bool session_sees_drive(const struct session *s);
/* Lets the paths of a job, which begin at the folder of projects, begin at the drive's own; they live
 * in a. */
void session_job_paths(const struct session *s, struct arena *a, struct job_info *j);

#endif
