/* SPDX-License-Identifier: MIT */
/*
 * shareid.h - <share>/.ludwig/id: whose share this is
 *
 * One line of JSON, written by ludwigd when it starts and when it ends.  Beside it lies the server's
 * mark, an empty file: over SFTP it takes one question to learn whether that is there, and what is in
 * a file takes two.
 */
#ifndef LUDWIG_COMMON_PROTO_SHAREID_H
#define LUDWIG_COMMON_PROTO_SHAREID_H

#include "common/data/schema.h"

#define SHAREID_NAME "id" /* below LAYOUT_SERVER_DIR */

enum { SHAREID_MAX_BYTES = 4096 };

/* How ludwigd learns of what is put into its inbox. */
enum inbox_kind {
    INBOX_NONE,    /* not at all: it is not open */
    INBOX_WATCHED, /* at once */
    INBOX_LISTED,  /* it looks now and then, as the file system tells it nothing */
    INBOX_KIND_COUNT
};

struct shareid {
    int64_t v;
    const char *server;      /* its id, 16 hex digits */
    const char *host;        /* the machine that ludwigd runs on */
    const char *incarnation; /* a token in hex, new with each start; NULL: it was stopped */
    int inbox;               /* enum inbox_kind */
    const char *why;         /* with INBOX_NONE: what is the matter; or NULL */
};

void shareid_encode(const struct shareid *id, struct buf *out);
/* Texts live in a. */
int shareid_decode(struct shareid *id, struct bytes file, struct arena *a, struct err *e);

/* The name of a server's mark: "id-SERVER".  Caller frees. */
char *shareid_mark(const char *server_id);
bool shareid_is_mark(const char *name);

#endif
