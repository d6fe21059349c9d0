/* SPDX-License-Identifier: MIT */
/*
 * ssh_pump.h - pumps bytes between a channel of SSH and a descriptor, both ways
 *
 * What one side does not take the other waits for, so that a slow reader costs at most one window
 * of memory and holds up nobody else.  Either side may end its half.
 */
#ifndef LUDWIG_COMMON_SSH_SSH_PUMP_H
#define LUDWIG_COMMON_SSH_SSH_PUMP_H

#include <poll.h>

#include "common/ssh/ssh.h"

enum ssh_target { SSH_TO_PATH, SSH_TO_PORT, SSH_TO_COMMAND, SSH_TO_SUBSYSTEM };

struct ssh_pump;

/*
 * Asks sshd for a channel: to a socket's path, to a TCP port of its own (text), to a command or a
 * subsystem.  Nothing is pumped before ssh_pump_connect.  What the other side says until then is kept
 * for ssh_pump_heard.
 */
struct ssh_pump *ssh_pump_open(struct ssh *s, enum ssh_target target, const char *text,
                               struct err *e);
/* 1 when it is open, 0 when sshd has not answered yet (ask again after a turn), -1 with e set:
 * ERR_DENIED when sshd says that it is not allowed to, else ERR_UNREACHABLE. */
int ssh_pump_step(struct ssh_pump *l, struct err *e);
/* All has been asked for: should sshd grant it, what is written now is read. */
bool ssh_pump_is_asked(const struct ssh_pump *l);
void ssh_pump_close(struct ssh_pump *l); /* NULL is fine */

/* Writes a few bytes, before it is connected. */
int ssh_pump_say(struct ssh_pump *l, struct bytes bytes, struct err *e);
struct bytes ssh_pump_heard(const struct ssh_pump *l);
void ssh_pump_forget(struct ssh_pump *l,
                     size_t n); /* of what was heard first: not for the descriptor */
/* The last of what came on standard error, at most a few lines. */
const char *ssh_pump_complaints(const struct ssh_pump *l);
bool ssh_pump_has_ended(const struct ssh_pump *l);  /* the other side will say nothing more */
int ssh_pump_exit_status(const struct ssh_pump *l); /* -1: not known */

/* Begins to pump.  The other end of what is pumped, for whoever asked; -1 with e set.  From
 * ssh_pump_is_asked on it may be called; what sshd refuses then ends. */
int ssh_pump_connect(struct ssh_pump *l, struct err *e);

/* What to wait for; fd -1: nothing. */
struct pollfd ssh_pump_poll(const struct ssh_pump *l);
/* Moves what can be moved. */
void ssh_pump_pump(struct ssh_pump *l, short revents);
/* Both sides are done, or one is gone. */
bool ssh_pump_is_over(const struct ssh_pump *l);

#endif
