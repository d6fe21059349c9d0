/* SPDX-License-Identifier: MIT */
/*
 * embedded.h - the user's own ludwigd and worker, on this machine
 *
 * $XDG_STATE_HOME/ludwig/ (0700) holds their configuration, state and logs, and
 * "address" (see address.h).
 */
#ifndef LUDWIG_CLIENT_SESSION_EMBEDDED_H
#define LUDWIG_CLIENT_SESSION_EMBEDDED_H

#include <stdbool.h>
#include <sys/types.h>

#include "client/session/rpc.h"
#include "client/util/conf.h"

/* A server that was started for one command to read; zero-initialised: none was. */
struct embedded_reader {
    pid_t pid; /* 0: none */
    bool is_locked;
    int lock_fd; /* keeps other commands from starting a server meanwhile */
    char *socket_path;
};

/* Connects to the user's own server; if it does not run, the error says how to start it. */
int embedded_connect(struct rpc *rpc, const struct conf *c, struct err *e);

/* As embedded_connect, but on a login node, which may end users' processes at any time, a server
 * that ended without `ludwig down` is started again, and a note says that. */
int embedded_reach(struct rpc *rpc, const struct conf *c, struct err *e);

/*
 * Connects a command that only reads.  Where no server runs here, but one did, a server is started
 * for this command alone, which reads the database and hands out no jobs; a note says so if there
 * are unfinished sweeps.  Close rpc before embedded_read_end, which needs no server to be there.
 */
int embedded_read(struct rpc *rpc, const struct conf *c, struct embedded_reader *reader,
                  struct err *e);
void embedded_read_end(struct embedded_reader *reader);

/*
 * Starts the server and a worker unless they run, and connects.  On a login node (login_node.h),
 * where people may not compute, a worker is started only if wants_worker. *has_no_worker: none was
 * started for that reason, and there is no other worker but pilots.
 */
int embedded_up(struct rpc *rpc, const struct conf *c, bool wants_worker, bool *has_no_worker,
                struct err *e);

/* Stops only the server; its workers wait for the next one.  Returns 1, 0 if none runs, or -1. */
int embedded_stop_server(const struct conf *c, struct err *e);

/* Stops the server and its workers here; running jobs go on. */
int embedded_down(const struct conf *c, struct err *e);

#endif
