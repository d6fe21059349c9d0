/* SPDX-License-Identifier: MIT */
/*
 * upload_send.h - a tree on its way into a temporary folder of an SFTP server
 */
#ifndef LUDWIG_CLIENT_UPLOAD_SEND_H
#define LUDWIG_CLIENT_UPLOAD_SEND_H

#include "client/journal.h"
#include "client/upload_way.h"

enum { UPLOAD_LANES = 4 }; /* SFTP channels at once, where there are many files */

struct upload_send {
    struct drive *drive;
    const struct tree *tree;
    struct upload_modes modes;
    struct journal *journal;
    struct uploadbar *bar;
    const char *packs;   /* folder of the temporary one, on the server */
    uint64_t sent_bytes; /* in all tries, with so many bytes for each file */
    bool has_looked;     /* at what an earlier program left */
    bool is_stale;       /* a file here is no more what it was: nobody can go on with this */
};

/*
 * Sends, syncs and verifies all that is not there, so that only the rename is left.  May be called
 * again after ERR_UNREACHABLE, when the drive was mended, and goes on then; after other errors
 * another program may.
 */
int upload_send(struct upload_send *u, struct err *e);

#endif
