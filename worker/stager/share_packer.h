/* SPDX-License-Identifier: MIT */
/*
 * share_packer.h - packs what lies on the share already, for one user
 *
 *   ludwig-worker --packer SCRATCH
 *
 * The packing itself is done by ludwig, whose uploads do the same.  What it found out lies in
 * packing/ on scratch, so that the next pass over a folder reads only what has changed.
 */
#ifndef LUDWIG_WORKER_STAGER_SHARE_PACKER_H
#define LUDWIG_WORKER_STAGER_SHARE_PACKER_H

/* argv[0] is "--packer". */
int share_packer_main(int argc, char **argv);

#endif
