/* SPDX-License-Identifier: MIT */
/*
 * parcel.h - a stream of bytes carried as files, where nothing but files gets through
 *
 * Each side of a connection writes numbered files and reads the other side's:
 *
 *   <share>/.ludwig/inbox/<uid>/<conn>.<seq>     the client's, in a folder of the user's own
 *   <share>/.ludwig/outbox/<uid>.<conn>.<seq>    ludwigd's
 *   <share>/.ludwig/outbox/<uid>.<conn>.reset    ludwigd knows nothing of this connection
 *
 * conn is a token, so that nobody else can guess the names; seq counts from 0 in
 * each direction.  A file is written under its name with a dot before it and
 * renamed, is never changed, and is removed by who wrote it once it is
 * acknowledged: ack says how many of the other's have been passed on.  What lies in
 * the window is read all the same, for its acks, so that two ends that both wait
 * for room do not wait for ever.  ludwigd acknowledges at once, the client data
 * only: neither answers an acknowledgement for ever.
 *
 * Nothing is lost or doubled while both ends live; when one of them is gone, the
 * stream ends: a parcel of another incarnation of ludwigd is never taken.
 */
#ifndef LUDWIG_COMMON_CONNECT_PARCEL_H
#define LUDWIG_COMMON_CONNECT_PARCEL_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/data/schema.h"

enum {
    PARCEL_VERSION = 1,
    PARCEL_MAX_BYTES = 255 * 1024, /* a file: what one request of SFTP carries */
    PARCEL_DATA_MAX = PARCEL_MAX_BYTES - 1024,
    PARCEL_WINDOW = 32,                    /* files that one side may have unacknowledged */
    PARCEL_RESERVE = 4,                    /* of them kept for those without data */
    PARCEL_WINDOW_BYTES = 4 * 1024 * 1024, /* of data in them; one more parcel may begin below */
    PARCEL_ALIVE_EVERY_MS = 30000,         /* a client says so when it has nothing else to say */
    PARCEL_SILENCE_MAX_MS = 120000,        /* then ludwigd takes it for dead */
    PARCEL_STALE_MS = 10 * 60 * 1000       /* so old, a file can belong to no living connection */
};

enum parcel_end {
    PARCEL_GOES_ON,
    PARCEL_END,   /* behind data the stream is closed */
    PARCEL_RESET, /* it is not known here, whatever was sent is not taken */
    PARCEL_END_COUNT
};

struct parcel {
    int64_t v;
    const char *server;       /* its id */
    struct token incarnation; /* of ludwigd */
    struct token conn;
    int64_t seq;
    int64_t ack;
    struct bytes data;
    int end; /* enum parcel_end */
};

extern const struct schema parcel_schema;

/* Appends the file's content. */
void parcel_encode(const struct parcel *p, struct buf *out);
/* Texts live in a, and data.  -1 with ERR_PROTOCOL for what is no whole parcel of this version. */
int parcel_decode(struct parcel *p, struct bytes file, struct arena *a, struct err *e);

/* ---- names ---- */

#define PARCEL_TEMPORARY "." /* before the name of a file that is being written */

enum { PARCEL_NAME_BYTES = 80 };

/* Below the inbox of a user.  Names fit into PARCEL_NAME_BYTES. */
void parcel_inbox_name(char name[PARCEL_NAME_BYTES], const struct token *conn, int64_t seq);
/* Below the outbox; seq < 0: the reset. */
void parcel_outbox_name(char name[PARCEL_NAME_BYTES], uid_t uid, const struct token *conn,
                        int64_t seq);
/* Only the one spelling that parcel_inbox_name gives; temporary ones too, if is_temporary is not
 * NULL.  -1: it is no parcel's name. */
int parcel_parse_inbox_name(const char *name, struct token *conn, int64_t *seq, bool *is_temporary);

#endif
