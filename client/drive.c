/* SPDX-License-Identifier: MIT */
/* drive.c - the shared drive, as this machine reaches it */
#include "client/drive.h"

struct sharefs *drive_read(const struct drive *d, struct err *e)
{
    return d->mount != NULL ? sharefs_open(d->mount, e) : sharefs_open_sftp(d->sftp, d->root);
}
