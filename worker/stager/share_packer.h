/* SPDX-License-Identifier: MIT */
/*
 * share_packer.h - packs data that lie on the share already, for one user
 *
 *   ludwig-worker --packer SCRATCH
 *
 * It starts ludwig, which does the packing as for its uploads.  ludwig keeps its findings in
 * packing/ on scratch, so that the next pass over a folder reads only what has changed.
 */
#ifndef LUDWIG_WORKER_STAGER_SHARE_PACKER_H
#define LUDWIG_WORKER_STAGER_SHARE_PACKER_H

/* argv[0] is "--packer". */
int share_packer_main(int argc, char **argv);

#endif
