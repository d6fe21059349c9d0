/* SPDX-License-Identifier: MIT */
/*
 * shareid.h - <share>/.ludwig/id: names the ludwigd that owns the share
 *
 * The file is one line of JSON, written by ludwigd when it starts and when it ends.  Beside it lies
 * the server's mark, an empty file with the server's id in its name: over SFTP one round trip tells
 * whether a file exists, and reading a file takes two.
 */
#ifndef LUDWIG_COMMON_PROTO_SHAREID_H
#define LUDWIG_COMMON_PROTO_SHAREID_H

#include "common/data/schema.h"

#define SHAREID_NAME "id" /* below LAYOUT_SERVER_DIR */

enum { SHAREID_MAX_BYTES = 4096 };

/* How ludwigd learns of new files in its inbox. */
enum inbox_kind {
    INBOX_NONE,    /* not at all: the inbox is not open */
    INBOX_WATCHED, /* at once */
    INBOX_LISTED,  /* by listing it now and then, as the file system cannot be watched */
    INBOX_KIND_COUNT
};

struct shareid {
    int64_t v;               /* version of the format: 1 */
    const char *server;      /* ludwigd's id, 16 hex digits */
    const char *host;        /* the machine that ludwigd runs on */
    const char *incarnation; /* a token in hex, new with each start; NULL: ludwigd was stopped */
    int inbox;               /* enum inbox_kind */
    const char *why;         /* with INBOX_NONE: the reason, or NULL */
    const char *projects;    /* where projects lie below the share; NULL: in it */
};

void shareid_encode(const struct shareid *id, struct buf *out);
/* Reads the file's content; texts of *id are in the arena. */
int shareid_decode(struct shareid *id, struct bytes file, struct arena *a, struct err *e);

/* The name of a server's mark, "id-SERVER"; the caller frees it. */
char *shareid_mark(const char *server_id);
bool shareid_is_mark(const char *name);

#endif
