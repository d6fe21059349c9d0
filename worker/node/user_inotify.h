/* SPDX-License-Identifier: MIT */
/*
 * user_inotify.h - opens an inotify descriptor that the kernel counts to a user
 *
 * The kernel counts inotify instances, and their watches, to the user who opened the instance, and
 * refuses more than max_user_instances and max_user_watches (/proc/sys/fs/inotify).  Watches on a
 * user's data must not use up root's, on which systemd, udev and others depend.
 */
#ifndef LUDWIG_WORKER_NODE_USER_INOTIFY_H
#define LUDWIG_WORKER_NODE_USER_INOTIFY_H

#include <sys/types.h>

/* Returns it, non-blocking and close-on-exec; -1 with errno.  Only root may name another user. */
int user_inotify_open(uid_t uid);

#endif
