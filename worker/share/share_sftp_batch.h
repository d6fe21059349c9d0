/* SPDX-License-Identifier: MIT */
/*
 * share_sftp_batch.h - many operations over SFTP for one purpose, such as a tree to be copied
 *
 * Once something failed nothing new is begun, and the first failure is what is told.
 */
#ifndef LUDWIG_WORKER_SHARE_SHARE_SFTP_BATCH_H
#define LUDWIG_WORKER_SHARE_SHARE_SFTP_BATCH_H

#include "worker/share/share_sftp.h"

/* Larger files go one after the other, in pieces. */
enum { TRIP_SMALL_MAX_BYTES = 1024 * 1024 };

struct trip {
    struct sftp *sftp;
    const struct share_dir *there;
    int here_fd;
    uint64_t asked_bytes;
    const struct share_item *damaged; /* not what it should be; NULL: none is known */
    bool has_failed;
    struct err why;
};

struct trip trip_of(const struct share_dir *there, int here_fd);
void trip_fail(struct trip *t, const struct err *why);
bool trip_is_over(const struct trip *t);
void trip_start(struct trip *t, const struct sftp_op *op, sftp_done *done, void *context);
/* Until all that was begun is done. */
void trip_finish(struct trip *t);
/* The same, and how it went: ERR_PROTOCOL when something is damaged. */
int trip_end(struct trip *t, struct err *e);
/* Of an operation about which nothing is to be known but that it failed; context: the trip. */
void trip_on_done(void *context, const struct sftp_answer *answer);

#endif
