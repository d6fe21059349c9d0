/* SPDX-License-Identifier: MIT */
/*
 * probes.h - children of the agent that ask what may hang: a network file system, a GPU driver
 */
#ifndef LUDWIG_WORKER_AGENT_PROBES_H
#define LUDWIG_WORKER_AGENT_PROBES_H

/* --share PATH SERVER_ID: answers in one NOTE_SHARE whether that ludwigd's share lies at PATH. */
int share_probe_main(int argc, char **argv);
/* --gpus: answers with one NOTE_GPUS: the lines that gpu_ask() got from the driver. */
int gpu_probe_main(int argc, char **argv);

#endif
