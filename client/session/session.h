/* SPDX-License-Identifier: MIT */
/*
 * session.h - a command's connection to its server and the shared drive
 */
#ifndef LUDWIG_CLIENT_SESSION_SESSION_H
#define LUDWIG_CLIENT_SESSION_SESSION_H

#include "client/session/embedded.h"
#include "client/session/rpc.h"
#include "client/share/share_connection.h"
#include "client/term/command.h"
#include "client/util/conf.h"

/* A further SSH connection, for files. */
struct session_lane {
    struct mux *mux; /* NULL: none */
    bool is_asked;   /* a channel for SFTP was asked for */
};

struct session {
    struct conf conf;
    struct server_choice choice;
    struct rpc rpc;
    const char *share;    /* path of the folder of projects on this machine */
    const char *projects; /* the same folder, relative to the drive; "": the drive's own folder */
    struct arena *arena;  /* lasts until the program ends */
    struct share_connection drive; /* see session_drive */
    struct session_lane lanes[SHARE_CONNECTION_LANES_MAX];
    bool has_no_worker; /* see embedded_up */
    struct embedded_reader reader;
    bool is_subscribed; /* a subscription makes a lost connection anew */
};

/* What a command that starts a session needs. */
struct session_wants {
    bool worker;          /* see embedded_up */
    bool sends_files;     /* connections for files are begun early, without waiting for them */
    uint64_t files_bytes; /* bytes to send, as far as is known */
};

/* Connects to the server that the command line and the configuration name. */
int session_open(struct cli *cli, struct session *s, struct err *e);
/* As session_open, for a command that only reads; see embedded_read. */
int session_read(struct cli *cli, struct session *s, struct err *e);
/* As session_open, but starts the user's own server if need be. */
int session_start(struct cli *cli, struct session *s, const struct session_wants *wants,
                  struct err *e);
void session_close(struct session *s);
/* Opens the folder of projects after session_read failed with ERR_UNREACHABLE, if the drive is
 * mounted here; the caller closes it.  NULL with e set. session_shown_path works afterwards. */
struct share_dir *session_without_server(struct session *s, struct err *e);

/* Returns the shared drive, connected on first use, and again when the connection broke.  It
 * belongs to the session; NULL with e set. */
struct share_connection *session_drive(struct session *s, struct err *e);
/* Returns the shared drive without connecting to it. */
struct share_connection *session_drive_here(struct session *s);
/* Opens the drive's folder to read from; the caller closes it. */
struct share_dir *session_open_drive(struct session *s, struct err *e);
/* Whether the connection is alive, as far as is known. */
bool session_is_connected(const struct session *s);

/* Returns a path from the server as people see it: absolute where this machine sees the drive, else
 * relative to the drive. */
const char *session_shown_path(const struct session *s, struct arena *a, const char *path);
bool session_sees_drive(const struct session *s);
/* Makes the paths of a job, which are relative to the folder of projects, relative to the drive;
 * they live in a. */
void session_job_paths(const struct session *s, struct arena *a, struct job_info *j);

#endif
