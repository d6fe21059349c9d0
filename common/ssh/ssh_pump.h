/* SPDX-License-Identifier: MIT */
/*
 * ssh_pump.h - pumps bytes between a channel of SSH and a descriptor, both ways
 *
 * Each side sends only as fast as the other takes its bytes, so that a slow reader costs at most
 * one window of memory and delays no other pump.  Either side may end its half.
 */
#ifndef LUDWIG_COMMON_SSH_SSH_PUMP_H
#define LUDWIG_COMMON_SSH_SSH_PUMP_H

#include <poll.h>

#include "common/ssh/ssh.h"

enum ssh_target { SSH_TO_PATH, SSH_TO_PORT, SSH_TO_COMMAND, SSH_TO_SUBSYSTEM };

struct ssh_pump;

/*
 * Begins to ask sshd for a channel; text: the path of a socket, a TCP port of the server, a command
 * or the name of a subsystem, as target says.  Nothing is pumped before ssh_pump_connect; until
 * then bytes from the other side are kept for ssh_pump_heard.
 */
struct ssh_pump *ssh_pump_open(struct ssh *s, enum ssh_target target, const char *text,
                               struct err *e);
/* Returns 1 when the channel is open, 0 when sshd has not answered yet (call again after a turn),
 * -1 with e set: ERR_DENIED when sshd forbids the channel, else ERR_UNREACHABLE. */
int ssh_pump_step(struct ssh_pump *l, struct err *e);
/* Whether all requests for the channel are sent: if granted, bytes written now will be read. */
bool ssh_pump_is_asked(const struct ssh_pump *l);
void ssh_pump_close(struct ssh_pump *l); /* NULL is fine */

/* Writes a few bytes, before ssh_pump_connect. */
int ssh_pump_say(struct ssh_pump *l, struct bytes bytes, struct err *e);
struct bytes ssh_pump_heard(const struct ssh_pump *l);
void ssh_pump_forget(struct ssh_pump *l,
                     size_t n); /* drops the first n bytes heard: the descriptor lacks them */
/* The last few lines of the other side's standard error. */
const char *ssh_pump_complaints(const struct ssh_pump *l);
bool ssh_pump_has_ended(const struct ssh_pump *l);  /* the other side sends nothing more */
bool ssh_pump_is_closed(const struct ssh_pump *l);  /* the other side has closed the channel */
int ssh_pump_exit_status(const struct ssh_pump *l); /* -1: not known */

/* Begins to pump; returns the descriptor for the pump's user, or -1 with e set.  May be called as
 * soon as ssh_pump_is_asked; if sshd refuses the channel later, the descriptor reads as ended. */
int ssh_pump_connect(struct ssh_pump *l, struct err *e);

/* The descriptor and events to wait for; fd -1: none. */
struct pollfd ssh_pump_poll(const struct ssh_pump *l);
/* Moves all bytes that can be moved without waiting. */
void ssh_pump_pump(struct ssh_pump *l, short revents);
/* Whether both sides have ended, or one is gone, so that the pump can be closed. */
bool ssh_pump_is_over(const struct ssh_pump *l);

#endif
