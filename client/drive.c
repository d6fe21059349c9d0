/* SPDX-License-Identifier: MIT */
/* drive.c - the shared drive, as this machine reaches it */
#include "client/drive.h"

struct sharefs *drive_read(const struct drive *d, struct err *e)
{
    return d->mount != NULL ? sharefs_open(d->mount, e) : sharefs_open_sftp(d->sftp, d->root);
}

struct sftp *drive_another(const struct drive *d, struct err *e)
{
    int fd = d->connect(d->context, e);

    return fd < 0 ? NULL : sftp_open(fd, e);
}

int drive_mend(struct drive *d, struct err *e)
{
    struct sftp *another;

    if (d->sftp != NULL && !sftp_is_broken(d->sftp))
        return 0;
    another = drive_another(d, e);
    if (another == NULL)
        return -1;
    sftp_close(d->sftp);
    d->sftp = another;
    return 0;
}
