/* SPDX-License-Identifier: MIT */
/*
 * ssh.h - one SSH session, for one process that does nothing else
 *
 * For common/ssh, routes.c and mux_run.c alone: all others speak to a mux (mux.h).  No libssh type
 * leaves common/ssh.  Nothing waits longer than its patience says.
 */
#ifndef LUDWIG_COMMON_SSH_SSH_H
#define LUDWIG_COMMON_SSH_SSH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/buf.h"
#include "common/ssh/connect_facts.h"
#include "common/ssh/ssh_conf.h"

/* How long a step may take, and a descriptor whose closing means that nobody wants it any more. */
struct ssh_patience {
    int64_t deadline_ms; /* units_monotonic_ms */
    int watch_fd;
};

/* Until fd is ready for events (of poll(2)).  -1: ERR_BUSY when time is up, ERR_FAILED when nobody
 * waits for us any more. */
int ssh_wait(int fd, short events, const struct ssh_patience *p, struct err *e);

/* ---- ssh_dial.c: a byte stream to sshd ---- */

struct ssh_dialed {
    int fd;
    pid_t proxy;           /* of the ProxyCommand; 0: none */
    char *address;         /* the IP address; "" with a proxy; caller frees */
    int64_t round_trip_ms; /* as long as connecting took; SCHEMA_NONE: not known, with a proxy */
};

/* The server's first line lies unread in fd.  Tries again, for as long as patience allows, where the
 * server drops connections that have hardly begun. */
int ssh_dial(const struct ssh_conf *c, const struct ssh_patience *p, struct ssh_dialed *d,
             struct err *e);
/* "HOST (ADDRESS) port N", for messages; caller frees. */
char *ssh_dial_name(const struct ssh_conf *c, const char *address);
/* Puts that before the error.  Returns -1. */
int ssh_dial_wrap(const struct ssh_conf *c, const char *address, struct err *e);

/* ---- ssh.c: the session ---- */

/* Asks the user; the answer is wiped and freed (prompt_wipe).  NULL with e set when nobody can be
 * asked. */
typedef char *(*ssh_ask_fn)(void *context, const char *text, bool echo, struct err *e);

struct ssh; /* a session that can be used */

struct ssh_plan {
    const struct endpoint *to;
    int watch_fd;
    ssh_ask_fn ask;
    void (*dialed)(void *context, const struct ssh *s); /* an SSH server answers; no proxy's */
    const char *conf_said; /* as struct ssh_conf has it, of an earlier session with it; NULL: ask */
    void *context;         /* of ask and dialed */
};

struct ssh *ssh_start(const struct ssh_plan *plan, struct err *e);
/* Says good-bye, if it can do so at once. */
void ssh_stop(struct ssh *s);

/* Fills what is known of the connection itself; texts are copied to a. */
void ssh_tell(const struct ssh *s, struct arena *a, struct connect_facts *facts);
const struct ssh_conf *ssh_conf_of(const struct ssh *s);

/* As struct ssh_dialed has it. */
int64_t ssh_round_trip_ms(const struct ssh *s);

/* What to poll(2) for, until when, and what to do when either has come.  ssh_turn feeds the pumps of
 * ssh_pump.h; -1: the connection is lost, for the reason in e. */
int ssh_fd(const struct ssh *s);
short ssh_poll_events(const struct ssh *s);
int64_t ssh_next_turn_ms(const struct ssh *s); /* units_monotonic_ms */
int ssh_turn(struct ssh *s, struct err *e);
/* More may be written: what was written before is on its way. */
bool ssh_may_write(const struct ssh *s);

#endif
