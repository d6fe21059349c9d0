/* SPDX-License-Identifier: MIT */
/*
 * lane.h - pumps bytes between a channel of SSH and a descriptor, both ways
 *
 * What one side does not take the other waits for, so that a slow reader costs at most one window
 * of memory and holds up nobody else.  Either side may end its half.
 */
#ifndef LUDWIG_COMMON_SSH_LANE_H
#define LUDWIG_COMMON_SSH_LANE_H

#include <poll.h>

#include "common/ssh/ssh.h"

struct lane;

/*
 * A channel that is being opened; nothing is pumped before lane_connect.  What the other side says
 * until then is kept for lane_heard.
 */
struct lane *lane_open(struct ssh *s, enum ssh_target target, const char *text, struct err *e);
int lane_step(struct lane *l, struct err *e); /* as ssh_chan_step */
bool lane_is_asked(const struct lane *l);     /* as ssh_chan_is_asked */
void lane_close(struct lane *l);              /* NULL is fine */

/* Writes a few bytes, before it is connected. */
int lane_say(struct lane *l, struct bytes bytes, struct err *e);
struct bytes lane_heard(const struct lane *l);
void lane_forget(struct lane *l, size_t n); /* of what was heard first: not for the descriptor */
/* The last of what came on standard error, at most a few lines. */
const char *lane_complaints(const struct lane *l);
bool lane_has_ended(const struct lane *l);  /* the other side will say nothing more */
int lane_exit_status(const struct lane *l); /* -1: not known */

/* Begins to pump.  The other end of what is pumped, for whoever asked; -1 with e set.  From
 * lane_is_asked on it may be called; what sshd refuses then ends. */
int lane_connect(struct lane *l, struct err *e);

/* What to wait for; fd -1: nothing. */
struct pollfd lane_poll(const struct lane *l);
/* Moves what can be moved.  true: it moved something, and may have more. */
bool lane_pump(struct lane *l, short revents);
/* Both sides are done, or one is gone. */
bool lane_is_over(const struct lane *l);
/* Something that its user wrote was not passed on yet. */
bool lane_is_waiting(const struct lane *l);

#endif
