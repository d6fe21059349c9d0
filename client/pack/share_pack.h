/* SPDX-License-Identifier: MIT */
/*
 * share_pack.h - packs files that lie on the share already, for a worker
 *
 *     ludwig --pack-share PROJECTS PROJECT DRIVE PATH [only-here]
 *
 * DRIVE is the mount of the shared drive, PATH relative to it, PROJECTS the folder on it where
 * projects lie.  Files as large as a part stay in place; with only-here (no other machine
 * reads them) all files do, if they lie on a file system of this machine.
 * Prints on stdout a line each second in which the numbers changed, then the last one:
 *
 *     at FILES BYTES
 *     done TREE ID FILES BYTES
 */
#ifndef LUDWIG_CLIENT_PACK_SHARE_PACK_H
#define LUDWIG_CLIENT_PACK_SHARE_PACK_H

#define SHARE_PACK_OPTION "--pack-share"

/* Runs `ludwig --pack-share ...`, with the option in argv[1], and returns the exit code. */
int share_pack_main(int argc, char **argv);

#endif
