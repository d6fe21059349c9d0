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

/* ---- ssh_agent.c: what keys the agent holds ---- */

/* libssh asks an agent too, and offers all its keys (ssh_userauth_agent), but its functions that list
 * them are not public (libssh/agent.h is not installed). */

struct ssh_agent_key {
    const char *name; /* its comment */
    const char *blob; /* in base64, as in a file of a public key */
};

/* Appends them to keys (struct ssh_agent_key); an agent that does not answer has none. */
void ssh_agent_keys(const char *socket_path, struct arena *a, struct list *keys);

/* ---- ssh.c: the session ---- */

/* Asks the user; the answer is wiped and freed (prompt_wipe).  NULL with e set when nobody can be
 * asked. */
typedef char *(*ssh_ask_fn)(void *context, const char *text, bool echo, struct err *e);

struct ssh; /* a session that can be used */

struct ssh_plan {
    const struct endpoint *to;
    int64_t connect_ms;
    int watch_fd;
    ssh_ask_fn ask;
    void (*dialed)(void *context, const struct ssh *s); /* an SSH server answers; no proxy's */
    const char *conf_said; /* as struct ssh_conf has it, of an earlier session with it; NULL: ask */
    bool is_held;          /* nothing is shown to the server until watch_fd can be read from */
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

/* What to poll(2) for, until when, and what to do when either has come.  ssh_turn calls the
 * channels' events; -1: the connection is lost, for the reason in e. */
int ssh_fd(const struct ssh *s);
short ssh_poll_events(const struct ssh *s);
int64_t ssh_next_turn_ms(const struct ssh *s); /* units_monotonic_ms */
int ssh_turn(struct ssh *s, struct err *e);
/* More may be written: what was written before is on its way. */
bool ssh_may_write(const struct ssh *s);

/* ---- ssh_chan.c: channels ---- */

struct ssh_channel_events {
    /* Bytes came; returns how many were taken.  The rest is kept, and shown again with more; or
     * read it with ssh_channel_take.  Those of standard error must all be taken. */
    size_t (*bytes)(void *context, struct bytes bytes, bool is_stderr);
    void (*eof)(void *context);
    void (*status)(void *context, int exit_status);
    void (*closed)(void *context);
};

enum ssh_target { SSH_TO_PATH, SSH_TO_PORT, SSH_TO_COMMAND, SSH_TO_SUBSYSTEM };

struct ssh_chan;

/* Asks sshd for a channel: to a socket's path, to a TCP port of its own (text), to a command or a
 * subsystem.  events' context is the channel's owner. */
struct ssh_chan *ssh_chan_open(struct ssh *s, enum ssh_target target, const char *text,
                               const struct ssh_channel_events *events, void *context,
                               struct err *e);
/* 1 when it is open, 0 when sshd has not answered yet (ask again after a turn), -1 with e set:
 * ERR_DENIED when sshd says that it is not allowed to, else ERR_UNREACHABLE. */
int ssh_chan_step(struct ssh_chan *c, struct err *e);
/* All has been asked for: should sshd grant it, what is written now is read. */
bool ssh_chan_is_asked(const struct ssh_chan *c);
void ssh_chan_close(struct ssh_chan *c); /* and frees it; not from within its events */

/* How much sshd lets us write now. */
size_t ssh_chan_window(const struct ssh_chan *c);
/* How many bytes were taken: fewer when the window is smaller, or keys are being exchanged anew. */
ssize_t ssh_chan_write(struct ssh_chan *c, struct bytes bytes, struct err *e);
void ssh_chan_end(struct ssh_chan *c); /* nothing more will be written */
/* Takes up to n of what was kept. */
size_t ssh_chan_take(struct ssh_chan *c, void *bytes, size_t n);
bool ssh_chan_is_closed(const struct ssh_chan *c);

#endif
