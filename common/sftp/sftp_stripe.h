/* SPDX-License-Identifier: MIT */
/*
 * sftp_stripe.h - a file whose bytes go to a server over several connections at once
 *
 * One connection carries no more than its window per round trip.  Here every lane has the file
 * open and writes what comes next to where it belongs, so that the file is whole when all have
 * been answered.  Of its content nothing is kept but what is on its way.
 */
#ifndef LUDWIG_COMMON_SFTP_SFTP_STRIPE_H
#define LUDWIG_COMMON_SFTP_SFTP_STRIPE_H

#include <poll.h>

#include "common/sftp/sftp.h"

enum { SFTP_LANES_MAX = 8 };

/* Connections to one server; the first carries everything else, too, and stands.  Others may not be
 * greeted yet: they are asked for the file at once, and one that turns out to be no SFTP server is
 * left out. */
struct sftp_lanes {
    struct sftp *all[SFTP_LANES_MAX];
    size_t unanswered_bytes[SFTP_LANES_MAX];
    size_t n; /* may grow while files are open */
    /* Called while all are busy: adds those that can be used now.  What the others wait for that come
     * later; 0: no descriptor.  NULL: none are coming. */
    size_t (*join)(void *context, struct pollfd coming[SFTP_LANES_MAX]);
    void *context;
};

struct sftp_stripe;

/* Asks for the file to be made, and waits for nothing.  Its folder may be one that the first lane was
 * asked for before. */
struct sftp_stripe *sftp_stripe_open(struct sftp_lanes *lanes, const char *path, mode_t mode);
/* Waits only while too much is on its way; tells of errors before. */
int sftp_stripe_write(struct sftp_stripe *st, struct bytes bytes, struct err *e);
/* When all of it is there and on the disk, or has failed, done is called, and the file is closed.
 * -1: it was not, and will not be.  A file that failed still lies there. */
typedef void sftp_stripe_done(void *context, const struct err *error);
int sftp_stripe_end(struct sftp_stripe *st, sftp_stripe_done *done, void *context, struct err *e);
/* After that, before done: little else will go over the lanes.  Each syncs what it wrote itself, a
 * round trip sooner than the first can sync all; else the others are free meanwhile. */
void sftp_stripe_hurry(struct sftp_stripe *st);
/* Instead: takes it away, if its first lane stands.  NULL is fine. */
void sftp_stripe_drop(struct sftp_stripe *st);

/* Waits until something comes on a lane; -1: one is broken. */
int sftp_lanes_wait(struct sftp_lanes *lanes, struct err *e);
/* Waits until all that is to be sent has been, or one is broken. */
void sftp_lanes_flush(struct sftp_lanes *lanes);
/* The same where some may be broken. */
void sftp_lanes_wait_standing(const struct sftp_lanes *lanes);

/* A folder that is synced again and again: it stays open, so that a sync is one request, which the
 * server obeys behind all that was asked on the connection before. */
struct sftp_folder;

/* error: NULL when what was asked before the sync is on the server's disk. */
typedef void sftp_folder_done(void *context, const struct err *error);

/* Asks for it, and waits for nothing.  The server must be one that can sync. */
struct sftp_folder *sftp_folder_open(struct sftp *s, const char *path, sftp_folder_done *done,
                                     void *context);
/* done is called once for each, later; -1: it will not be, as the connection is broken. */
int sftp_folder_sync(struct sftp_folder *f, struct err *e);
/* done is called no more.  To be called before sftp_close; NULL is fine. */
void sftp_folder_close(struct sftp_folder *f);

#endif
