/* SPDX-License-Identifier: MIT */
/*
 * share_probe.h - whether ludwigd's share is to be seen on this machine as well
 *
 * It may lie on a network file system that hangs, so a child of the agent looks.
 */
#ifndef LUDWIG_WORKER_AGENT_SHARE_PROBE_H
#define LUDWIG_WORKER_AGENT_SHARE_PROBE_H

#include <stdbool.h>

/* Whether the folder's .ludwig/id names that server.  Waits for the file system. */
bool share_is_of(const char *path, const char *server_id);
/* --share PATH SERVER_ID: answers with one NOTE_SHARE. */
int share_probe_main(int argc, char **argv);

#endif
