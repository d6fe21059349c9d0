/* SPDX-License-Identifier: MIT */
/*
 * user_inotify.h - an inotify descriptor that counts as a user's
 *
 * The kernel counts inotify instances, and the watches of each, to the user who made the instance,
 * and refuses more than max_user_instances and max_user_watches (/proc/sys/fs/inotify).  What a
 * user's data need must not be taken from root, whom systemd, udev and others share.
 */
#ifndef LUDWIG_WORKER_NODE_USER_INOTIFY_H
#define LUDWIG_WORKER_NODE_USER_INOTIFY_H

#include <sys/types.h>

/* Non-blocking and close-on-exec; -1 with errno.  Only root opens one for another user. */
int user_inotify_open(uid_t uid);

#endif
