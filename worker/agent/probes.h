/* SPDX-License-Identifier: MIT */
/*
 * probes.h - children of the agent that look at what may hang: a network file system, a GPU driver
 */
#ifndef LUDWIG_WORKER_AGENT_PROBES_H
#define LUDWIG_WORKER_AGENT_PROBES_H

/* --share PATH SERVER_ID: says in one NOTE_SHARE whether ludwigd's share is seen here as well. */
int share_probe_main(int argc, char **argv);
/* --gpus: answers with one NOTE_GPUS. */
int gpu_probe_main(int argc, char **argv);

#endif
