/* SPDX-License-Identifier: MIT */
/*
 * stager.h - fills the cache ahead of the jobs, brings checkpoints, and looks for published results
 *
 *   ludwig-worker --stager SCRATCH ADDRESS
 *
 * A straight-line process that may hang with the share.  Descriptor 3 is the connection to the
 * agent; a note says whether to ask again later.  ADDRESS is ludwigd's (sftplink.h).
 */
#ifndef LUDWIG_WORKER_STAGER_STAGER_H
#define LUDWIG_WORKER_STAGER_STAGER_H

/* argv[0] is "--stager". */
int stager_main(int argc, char **argv);

#endif
