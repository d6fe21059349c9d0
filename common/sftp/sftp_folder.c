/* SPDX-License-Identifier: MIT */
/* sftp_folder.c - a folder of a server that is synced again and again */
#include <stdlib.h>
#include <string.h>

#include "common/sftp/sftp_conn.h"
#include "common/sftp/sftp_folder.h"

struct sftp_folder {
    struct sftp *s;
    char *path;
    sftp_folder_done *done; /* NULL: nobody is told any more */
    void *context;
    uint8_t handle[SFTP_HANDLE_MAX_BYTES];
    size_t n;         /* bytes of the handle; 0: there is none yet, or will be none */
    size_t n_wanted;  /* syncs that wait for it */
    size_t n_waiting; /* requests without answer */
};

static void destroy(struct sftp_folder *f)
{
    free(f->path);
    free(f);
}

static struct buf *begin(struct sftp_folder *f, int type, int reply_type, sftp_on_reply *on_reply)
{
    struct sftp_wait wait = { reply_type, on_reply, f, 0, 0 };

    f->n_waiting++;
    return sftp_begin(f->s, type, &wait);
}

static void on_closed(void *context, const struct sftp_reply *r)
{
    (void)r;
    destroy(context);
}

static void ask_close(struct sftp_folder *f)
{
    packet_add_bytes(begin(f, FXP_CLOSE, FXP_STATUS, on_closed), (struct bytes){ f->handle, f->n });
    sftp_end(f->s);
}

/* Nobody wants it any more, and no answer is under way. */
static void go(struct sftp_folder *f)
{
    if (f->n > 0 && !f->s->is_broken)
        ask_close(f);
    else
        destroy(f);
}

static void tell(struct sftp_folder *f, const struct sftp_reply *r)
{
    struct err why = { 0 };

    if (f->done == NULL)
        return;
    if (r->type == FXP_STATUS && r->status == FX_OK) {
        f->done(f->context, NULL);
        return;
    }
    if (r->type == 0)
        sftp_check(f->s, &why);
    else
        err_set(&why, ERR_FAILED, "sync %s: the server cannot", f->path);
    f->done(f->context, &why);
}

static void on_synced(void *context, const struct sftp_reply *r)
{
    struct sftp_folder *f = context;

    f->n_waiting--;
    tell(f, r);
    if (f->done == NULL && f->n_waiting == 0)
        go(f);
}

static void ask_sync(struct sftp_folder *f)
{
    struct sftp_wait wait = { FXP_STATUS, on_synced, f, 0, 0 };
    struct buf *out = sftp_begin_extended(f->s, "fsync@openssh.com", &wait);

    f->n_waiting++;
    packet_add_bytes(out, (struct bytes){ f->handle, f->n });
    sftp_end(f->s);
}

static void on_opened(void *context, const struct sftp_reply *r)
{
    struct sftp_folder *f = context;

    f->n_waiting--;
    if (r->type == FXP_HANDLE) {
        f->n = r->text.n;
        memcpy(f->handle, r->text.data, r->text.n);
    }
    for (; f->n_wanted > 0; f->n_wanted--)
        if (f->n > 0)
            ask_sync(f);
        else
            tell(f, r);
    if (f->done == NULL && f->n_waiting == 0)
        go(f);
}

static void ask_open(struct sftp_folder *f)
{
    struct sftp_attrs attrs = { 0 };
    struct buf *out = begin(f, FXP_OPEN, FXP_HANDLE, on_opened);

    packet_add_str(out, f->path);
    packet_add_u32(out, SFTP_READ);
    packet_add_attrs(out, &attrs);
    sftp_end(f->s);
}

struct sftp_folder *sftp_folder_open(struct sftp *s, const char *path, sftp_folder_done *done,
                                     void *context)
{
    struct sftp_folder *f = mem_alloc(sizeof *f);

    *f = (struct sftp_folder){ .s = s, .path = mem_strdup(path), .done = done, .context = context };
    ask_open(f);
    return f;
}

/* One that could not be opened is asked for again, so that there is an answer to give. */
int sftp_folder_sync(struct sftp_folder *f, struct err *e)
{
    if (sftp_check(f->s, e) < 0)
        return -1;
    if (f->n > 0) {
        ask_sync(f);
        return 0;
    }
    f->n_wanted++;
    if (f->n_waiting == 0)
        ask_open(f);
    return 0;
}

void sftp_folder_close(struct sftp_folder *f)
{
    if (f == NULL)
        return;
    f->done = NULL;
    f->n_wanted = 0;
    if (f->n_waiting == 0)
        go(f);
}
