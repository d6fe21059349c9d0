/* SPDX-License-Identifier: MIT */
/*
 * file_request.h - requests and replies that are files, where only files get through
 *
 * A client puts numbered requests into a folder of its user, and ludwigd answers each in a file:
 *
 *   <share>/.ludwig/inbox/<uid>/<conn>.<no>     a request; the folder is the user's own
 *   <share>/.ludwig/outbox/<uid>.<conn>.<no>    its reply
 *
 * conn is a token, so that no other user can guess the names.  Numbers count from 0.  A file is
 * written under its name with a dot before it and renamed, and never changes then.
 *
 * Both carry the bytes of one connection: a request those of the client, its reply those of
 * ludwigd.  ludwigd answers a request once, as soon as it has bytes, or the next request has come,
 * or FILE_REQUEST_HOLD_MS have gone by.  A client without bytes puts an empty request, so that
 * ludwigd always holds a request to answer; while ludwigd holds one the client puts at most one
 * more.  A reply tells the client that its request was taken; request n + 2 tells ludwigd that
 * reply n was read.  Then the writer of the request or reply removes the file.
 *
 * A connection ends with a reply marked is_end: after a request marked is_end, when ludwigd closes
 * the connection, or when the client has been silent for FILE_REQUEST_SILENCE_MS.  That reply may
 * come before its request.  A restarted ludwigd takes no request meant for its predecessor;
 * clients see the restart in <share>/.ludwig/id.  docs/internals/file-requests.md says more.
 */
#ifndef LUDWIG_COMMON_CONNECT_FILE_REQUEST_H
#define LUDWIG_COMMON_CONNECT_FILE_REQUEST_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/data/schema.h"

/* Folders below the share. */
#define FILE_REQUEST_INBOX  ".ludwig/inbox"
#define FILE_REQUEST_OUTBOX ".ludwig/outbox"
/* "@NAME" below the inbox is a link to the folder of the user of that name. */
#define FILE_REQUEST_OF_USER "@"
/* Precedes the name of a file that is being written. */
#define FILE_REQUEST_TEMPORARY "."

enum {
    FILE_REQUEST_VERSION = 2,             /* 1 was a stream of acknowledged files */
    FILE_REQUEST_MAX_BYTES = 1024 * 1024, /* of a file */
    FILE_REQUEST_DATA_MAX = FILE_REQUEST_MAX_BYTES - 4096,
    FILE_REQUEST_AHEAD = 2, /* requests of a connection that may be without a reply */
    FILE_REQUEST_HOLD_MS = 25 * 1000,
    FILE_REQUEST_SILENCE_MS = 120 * 1000,
    FILE_REQUEST_STALE_MS = 24 * 3600 * 1000, /* no living connection has a file this old */
    FILE_REQUEST_NAME_BYTES = 80
};

struct file_request {
    int64_t v;
    const char *server;       /* ludwigd's id */
    struct token incarnation; /* of the running ludwigd */
    struct token conn;
    int64_t no;
    struct bytes data;
    bool is_end; /* the client sends nothing more */
};

struct file_reply {
    int64_t v;
    const char *server;
    struct token conn;
    int64_t no;
    struct bytes data;
    bool is_end;     /* no reply follows, and no request is taken any more */
    const char *why; /* with is_end: why ludwigd gave the connection up; NULL: in good order */
};

/* Both append the content of the file to out. */
void file_request_encode(const struct file_request *r, struct buf *out);
void file_request_encode_reply(const struct file_reply *r, struct buf *out);
/* Texts and data live in a.  -1 with ERR_PROTOCOL for a file that is damaged or of another
 * version. */
int file_request_decode(struct file_request *r, struct bytes file, struct arena *a, struct err *e);
int file_request_decode_reply(struct file_reply *r, struct bytes file, struct arena *a,
                              struct err *e);

/* The names of a request below the user's inbox, and of its reply below the outbox. */
void file_request_name(char name[FILE_REQUEST_NAME_BYTES], const struct token *conn, int64_t no);
void file_request_reply_name(char name[FILE_REQUEST_NAME_BYTES], uid_t uid,
                             const struct token *conn, int64_t no);
/* Parses a name in the exact spelling of file_request_name; if is_temporary is not NULL, also a
 * temporary name.  -1: the name is not that of a request. */
int file_request_parse_name(const char *name, struct token *conn, int64_t *no, bool *is_temporary);

#endif
