/* SPDX-License-Identifier: MIT */
/*
 * sftp_explain.h - finds the cause of a failed request and words it as an error
 */
#ifndef LUDWIG_COMMON_SFTP_SFTP_EXPLAIN_H
#define LUDWIG_COMMON_SFTP_SFTP_EXPLAIN_H

#include "common/sftp/sftp_conn.h"

enum sftp_deed_flag {
    DEED_CLAIMS = 1,  /* fails where the path exists */
    DEED_MAKES = 2,   /* needs space */
    DEED_OF_FILE = 4, /* fails on a folder */
    DEED_EMPTIES = 8  /* fails on a folder that is not empty */
};

/* The operation that was tried. */
struct sftp_deed {
    const char *path;
    const char *to;      /* of a rename: the path that it makes; otherwise NULL, and path is made */
    unsigned flags;      /* enum sftp_deed_flag */
    size_t needed_bytes; /* disk space that the operation needs */
};

/* The first request that failed, and the server's answer. */
struct sftp_failure {
    const char *verb; /* "make folder"; NULL: none failed */
    uint32_t status;  /* enum sftp_status */
    char text[160];   /* printable */
};

/* Keeps the reply if it is a failure and f holds none yet. */
void sftp_failure_keep(struct sftp_failure *f, const struct sftp_reply *r);

/* Calls done with the error, at once or when the server has answered what it is asked for this.
 * The strings of the deed must last until then. */
typedef void sftp_explained(void *context, const struct err *why);
void sftp_explain(struct sftp *s, const struct sftp_deed *deed, const struct sftp_failure *f,
                  sftp_explained *done, void *context);
/* The same, but waits and sets e.  Always returns -1. */
int sftp_explain_now(struct sftp *s, const struct sftp_deed *deed, const struct sftp_failure *f,
                     struct err *e);

/* Reads a reply to statvfs@openssh.com; false when it is damaged. */
bool sftp_read_space(struct packet body, struct sftp_space *space);

#endif
