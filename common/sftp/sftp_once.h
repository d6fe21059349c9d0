/* SPDX-License-Identifier: MIT */
/*
 * sftp_once.h - one request, whose reply is waited for
 *
 *     out = sftp_begin_once(s, FXP_FSTAT, FXP_ATTRS, &once);
 *     packet_add_bytes(out, handle);
 *     result = sftp_end_once(s, &once, &deed, e);
 */
#ifndef LUDWIG_COMMON_SFTP_SFTP_ONCE_H
#define LUDWIG_COMMON_SFTP_SFTP_ONCE_H

#include "common/sftp/sftp_explain.h"

struct sftp_once {
    bool is_done;
    int type;
    struct buf text, body; /* of the reply: see struct sftp_reply */
    struct sftp_failure failure;
};

struct buf *sftp_begin_once(struct sftp *s, int type, int reply_type, struct sftp_once *once);
struct buf *sftp_begin_extended_once(struct sftp *s, const char *name, int reply_type,
                                     struct sftp_once *once);
/* -1 with e set, in words, for a status other than "ok".  In any case: sftp_once_free. */
int sftp_end_once(struct sftp *s, struct sftp_once *once, const struct sftp_deed *deed,
                  struct err *e);
struct packet sftp_once_body(const struct sftp_once *once);
void sftp_once_free(struct sftp_once *once);

/* sftp_explain, waited for.  -1. */
int sftp_explain_now(struct sftp *s, const struct sftp_deed *deed, const struct sftp_failure *f,
                     struct err *e);

#endif
