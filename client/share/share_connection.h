/* SPDX-License-Identifier: MIT */
/*
 * share_connection.h - this machine's connection to the shared drive
 *
 * A drive that is mounted here is a folder; else files go over SFTP, on the session's connection.
 */
#ifndef LUDWIG_CLIENT_SHARE_SHARE_CONNECTION_H
#define LUDWIG_CLIENT_SHARE_SHARE_CONNECTION_H

#include "common/share/share.h"
#include "common/sftp/sftp.h"

/* The most connections for files, and how many bytes are worth all of them. */
enum { SHARE_CONNECTION_LANES_MAX = 8, SHARE_CONNECTION_BYTES_ENOUGH = 64 * 1024 * 1024 };

struct share_connection {
    const char *mount; /* folder of projects on this machine; NULL: over SFTP */
    /* over SFTP */
    const char *root;      /* folder of projects in the server's SFTP: "" or an absolute path */
    const char *server_id; /* of the ludwigd that owns the drive */
    struct sftp *sftp;
    int64_t round_trip_ms;
    /* Returns a new descriptor that speaks SFTP. */
    int (*connect)(void *context, struct err *e);
    /* Gives one over a further connection, numbered from 1 (see share_lane); NULL: none exist. */
    int (*lane)(void *context, size_t number, int *fd, struct err *e);
    void *context;
};

/* Opens the folder of projects for reading.  The connection must outlive it. */
struct share_dir *share_connection_read(const struct share_connection *d, struct err *e);
/* Over SFTP: connects again if the connection broke. */
int share_connection_mend(struct share_connection *d, struct err *e);
/* Returns how many connections, the first included, to use for this many bytes. */
size_t share_connection_lanes(const struct share_connection *d, uint64_t bytes);

#endif
