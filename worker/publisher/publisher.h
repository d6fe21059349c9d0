/* SPDX-License-Identifier: MIT */
/*
 * publisher.h - ships logs, publishes results and keeps checkpoints, for one user
 *
 *   ludwig-worker --publisher SCRATCH ADDRESS
 *
 * A straight-line process that may hang with the share.  It tries again by itself what it could not
 * publish.  Descriptor 3 is the connection to the agent.  ADDRESS is ludwigd's, for shares that are
 * not mounted here (sftplink.h).
 */
#ifndef LUDWIG_WORKER_PUBLISHER_PUBLISHER_H
#define LUDWIG_WORKER_PUBLISHER_PUBLISHER_H

/* argv[0] is "--publisher". */
int publisher_main(int argc, char **argv);

#endif
