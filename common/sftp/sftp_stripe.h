/* SPDX-License-Identifier: MIT */
/*
 * sftp_stripe.h - a file whose bytes go to a server over several connections at once
 *
 * One connection carries no more than its window per round trip.  So every lane (connection) opens
 * the file and writes pieces at their offsets; the file is whole when all requests have been
 * answered.  Memory holds only pieces on their way.
 */
#ifndef LUDWIG_COMMON_SFTP_SFTP_STRIPE_H
#define LUDWIG_COMMON_SFTP_SFTP_STRIPE_H

#include <poll.h>

#include "common/sftp/sftp.h"

enum { SFTP_LANES_MAX = 8 };

/* Connections to one server.  The first has its greeting and carries everything else, too.  Others
 * may still wait for theirs: they are asked for the file at once, and one that turns out to be no
 * SFTP server is left out. */
struct sftp_lanes {
    struct sftp *all[SFTP_LANES_MAX];
    size_t unanswered_bytes[SFTP_LANES_MAX];
    size_t n; /* may grow while files are open */
    /* Called while all lanes are busy: adds lanes that have become usable.  Gives the number of
     * lanes still to come, and in coming their descriptors to poll.  NULL: no lanes will come. */
    size_t (*join)(void *context, struct pollfd coming[SFTP_LANES_MAX]);
    void *context;
};

struct sftp_stripe;

/* Asks the server to make the file, without waiting.  The first lane may have been asked just
 * before to make the file's folder. */
struct sftp_stripe *sftp_stripe_open(struct sftp_lanes *lanes, const char *path, mode_t mode);
/* Waits only while too many bytes are on their way; reports errors of earlier writes. */
int sftp_stripe_write(struct sftp_stripe *st, struct bytes bytes, struct err *e);
/* Ends the file: done is called when it is whole, on the disk and closed, or has failed.  -1: done
 * is not called.  A failed file is not removed.  A small file need not be open yet. */
typedef void sftp_stripe_done(void *context, const struct err *error);
int sftp_stripe_end(struct sftp_stripe *st, sftp_stripe_done *done, void *context, struct err *e);
/* For use between sftp_stripe_end and done, when little else will use the lanes: each lane syncs
 * its own writes, a round trip sooner than the first could sync all, but is busy meanwhile. */
void sftp_stripe_hurry(struct sftp_stripe *st);
/* Instead of sftp_stripe_end: removes the file, unless the first lane is broken.  NULL is fine. */
void sftp_stripe_drop(struct sftp_stripe *st);

/* Waits until bytes come on a lane; -1 when a lane is broken. */
int sftp_lanes_wait(struct sftp_lanes *lanes, struct err *e);
/* Waits until all queued bytes are sent, or a lane is broken. */
void sftp_lanes_flush(struct sftp_lanes *lanes);
/* As sftp_lanes_wait, on the lanes that are not broken. */
void sftp_lanes_wait_standing(const struct sftp_lanes *lanes);

/* A folder that is synced again and again: it stays open, so that a sync is one request, which the
 * server carries out after all earlier requests of the connection. */
struct sftp_folder;

/* error: NULL when the effects of all requests before the sync are on the server's disk. */
typedef void sftp_folder_done(void *context, const struct err *error);

/* Asks for the folder without waiting.  The server must have SFTP_CAN_SYNC. */
struct sftp_folder *sftp_folder_open(struct sftp *s, const char *path, sftp_folder_done *done,
                                     void *context);
/* done is called later, once for each sync; -1: done is not called, as the connection is broken. */
int sftp_folder_sync(struct sftp_folder *f, struct err *e);
/* Must be called before sftp_close; done is not called any more.  NULL is fine. */
void sftp_folder_close(struct sftp_folder *f);

#endif
