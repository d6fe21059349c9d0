/* SPDX-License-Identifier: MIT */
/* sftp_once.c - one request, whose reply is waited for; what a server tells about a disk */
#include <stdlib.h>

#include "common/sftp/sftp_once.h"

static void on_reply(void *context, const struct sftp_reply *r)
{
    struct sftp_once *once = context;

    once->is_done = true;
    once->type = r->type;
    buf_add(&once->text, r->text.data, r->text.n);
    buf_add(&once->body, r->body.at, r->body.left);
    sftp_failure_keep(&once->failure, r);
}

struct buf *sftp_begin_once(struct sftp *s, int type, int reply_type, struct sftp_once *once)
{
    struct sftp_wait wait = { .type = reply_type, .on_reply = on_reply, .context = once };

    *once = (struct sftp_once){ 0 };
    return sftp_begin(s, type, &wait);
}

struct buf *sftp_begin_extended_once(struct sftp *s, const char *name, int reply_type,
                                     struct sftp_once *once)
{
    struct sftp_wait wait = { .type = reply_type, .on_reply = on_reply, .context = once };

    *once = (struct sftp_once){ 0 };
    return sftp_begin_extended(s, name, &wait);
}

struct packet sftp_once_body(const struct sftp_once *once)
{
    return (struct packet){ once->body.bytes, once->body.n, false };
}

void sftp_once_free(struct sftp_once *once)
{
    buf_free(&once->text);
    buf_free(&once->body);
}

int sftp_end_once(struct sftp *s, struct sftp_once *once, const struct sftp_deed *deed,
                  struct err *e)
{
    sftp_end(s);
    while (!once->is_done)
        (void)sftp_turn(s, NULL);
    if (once->type == 0)
        return sftp_check(s, e);
    if (once->type == FXP_STATUS && once->failure.status != FX_OK)
        return sftp_explain_now(s, deed, &once->failure, e);
    return 0;
}

/* --- a failure in words ---------------------------------------------------------- */

struct words {
    bool is_done;
    struct err *e;
};

static void on_words(void *context, const struct err *why)
{
    struct words *w = context;

    w->is_done = true;
    err_set(w->e, why->kind, "%s", why->text);
}

int sftp_explain_now(struct sftp *s, const struct sftp_deed *deed, const struct sftp_failure *f,
                     struct err *e)
{
    struct words w = { false, e };

    sftp_explain(s, deed, f, on_words, &w);
    while (!w.is_done)
        (void)sftp_turn(s, NULL);
    return -1;
}

/* --- what a server tells about a disk ---------------------------------------- */

int sftp_space(struct sftp *s, const char *path, struct sftp_space *space, struct err *e)
{
    struct sftp_deed deed = { .verb = "ask for the free space at", .path = path };
    struct sftp_once once;
    int result;

    if (sftp_check(s, e) < 0)
        return -1;
    if (!sftp_can(s, SFTP_CAN_TELL_SPACE))
        return err_set(e, ERR_FAILED, "this SFTP server tells no free space");
    packet_add_str(sftp_begin_extended_once(s, "statvfs@openssh.com", FXP_EXTENDED_REPLY, &once),
                   path);
    result = sftp_end_once(s, &once, &deed, e);
    if (result == 0 && !sftp_read_space(sftp_once_body(&once), space))
        result = err_set(e, ERR_PROTOCOL, "the SFTP server tells an impossible free space");
    sftp_once_free(&once);
    return result;
}
