/* SPDX-License-Identifier: MIT */
/*
 * cage.h - a control group for a runner and all that it starts, so that the kernel can end them all
 * at once
 *
 * Also those that have cleared their environment and that nobody of us is an ancestor of any more.
 * It takes version 2, Linux 5.14 (cgroup.kill), and a group of our own in which we may make others:
 * systemd's Delegate=yes.  Elsewhere there is none, and reap.c finds what it can.
 *
 * Nothing here waits.
 */
#ifndef LUDWIG_WORKER_CAGE_H
#define LUDWIG_WORKER_CAGE_H

#include <stdbool.h>
#include <sys/types.h>

/* Puts the process, which has started none yet, into a new one below our own group; returns its
 * path, which the caller frees.  NULL: there is none here. */
char *cage_make(pid_t pid);

/* Kills all that is in it; true: it is gone, false: not yet, to be asked again. */
bool cage_end(const char *path);

#endif
