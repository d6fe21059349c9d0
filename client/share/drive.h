/* SPDX-License-Identifier: MIT */
/*
 * drive.h - the shared drive, as this machine reaches it
 *
 * Where it is mounted here it is a folder; else files go through SFTP, on the session's connection.
 */
#ifndef LUDWIG_CLIENT_SHARE_DRIVE_H
#define LUDWIG_CLIENT_SHARE_DRIVE_H

#include "client/share/sharefs.h"
#include "common/sftp/sftp.h"

/* Connections for files, at most; with so many bytes there are no more. */
enum { DRIVE_LANES_MAX = 8, DRIVE_BYTES_ENOUGH = 64 * 1024 * 1024 };

struct drive {
    const char *mount; /* where projects lie on this machine; NULL: over SFTP */
    /* over SFTP */
    const char *root; /* where they lie as the server's SFTP shows it: "" or an absolute path */
    const char *server_id; /* whose drive it is */
    struct sftp *sftp;
    struct store_ahead *ahead; /* see store.h; NULL: none */
    int64_t round_trip_ms;
    /* A descriptor that speaks SFTP, another each time. */
    int (*connect)(void *context, struct err *e);
    /* The same on connections of their own, with numbers from 1 on: 1 with *fd; 0: it is being made,
     * ask again when *fd, which is not the caller's, can be read from; -1: there will be none.  NULL:
     * there are none. */
    int (*lane)(void *context, size_t number, int *fd, struct err *e);
    void *context;
    const struct idle *idle; /* see sftp_set_idle */
};

/* To read from.  The drive must last as long. */
struct sharefs *drive_read(const struct drive *d, struct err *e);
/* Over SFTP: connects again if the connection broke. */
int drive_mend(struct drive *d, struct err *e);
/* Over how many connections, the first included, so much should go. */
size_t drive_lanes(const struct drive *d, uint64_t bytes);
/* How much each of the others may send for nothing, to be faster then (see common/ssh/ssh_warmup.h). */
uint64_t drive_warmup_bytes(const struct drive *d, uint64_t bytes);
/* One SFTP channel more; the caller closes it. */
struct sftp *drive_another(const struct drive *d, struct err *e);

#endif
