/* SPDX-License-Identifier: MIT */
/*
 * share_connection.h - the shared drive, as this machine reaches it
 *
 * Where it is mounted here it is a folder; else files go through SFTP, on the session's connection.
 */
#ifndef LUDWIG_CLIENT_SHARE_SHARE_CONNECTION_H
#define LUDWIG_CLIENT_SHARE_SHARE_CONNECTION_H

#include "common/share/share.h"
#include "common/sftp/sftp.h"

/* Connections for files, at most; with so many bytes there are no more. */
enum { SHARE_CONNECTION_LANES_MAX = 8, SHARE_CONNECTION_BYTES_ENOUGH = 64 * 1024 * 1024 };

struct share_connection {
    const char *mount; /* where projects lie on this machine; NULL: over SFTP */
    /* over SFTP */
    const char *root; /* where they lie as the server's SFTP shows it: "" or an absolute path */
    const char *server_id; /* whose drive it is */
    struct sftp *sftp;
    int64_t round_trip_ms;
    /* A descriptor that speaks SFTP, another each time. */
    int (*connect)(void *context, struct err *e);
    /* The same on connections of their own, with numbers from 1 on: 1 with *fd; 0: it is being made,
     * ask again when *fd, which is not the caller's, can be read from; -1: there will be none.  NULL:
     * there are none. */
    int (*lane)(void *context, size_t number, int *fd, struct err *e);
    void *context;
};

/* To read from.  The drive must last as long. */
struct share_dir *share_connection_read(const struct share_connection *d, struct err *e);
/* Over SFTP: connects again if the connection broke. */
int share_connection_mend(struct share_connection *d, struct err *e);
/* Over how many connections, the first included, so much should go. */
size_t share_connection_lanes(const struct share_connection *d, uint64_t bytes);

#endif
