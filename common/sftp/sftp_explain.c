/* SPDX-License-Identifier: MIT */
/* sftp_explain.c - finds the cause of a failed request and words it as an error */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/path.h"
#include "common/base/units.h"
#include "common/sftp/sftp_explain.h"

/* A disk with less than this free beyond the needed bytes counts as full. */
enum { SLACK_BYTES = 1024 * 1024 };

enum { STATVFS_READ_ONLY = 1 };

struct explanation {
    struct sftp *s;
    struct sftp_deed deed;
    struct sftp_failure failure;
    sftp_explained *done;
    void *context;
    int n_waiting;
    bool is_there;           /* the path to make exists */
    struct sftp_attrs attrs; /* of that path */
    bool knows_space;
    struct sftp_space space;
};

void sftp_failure_keep(struct sftp_failure *f, const struct sftp_reply *r)
{
    size_t n = r->text.n < sizeof f->text - 1 ? r->text.n : sizeof f->text - 1;

    if (f->verb != NULL || r->type != FXP_STATUS || r->status == FX_OK)
        return;
    f->verb = r->verb;
    f->status = r->status;
    for (size_t i = 0; i < n; i++)
        f->text[i] = r->text.data[i] >= ' ' && r->text.data[i] < 0x7f ? (char)r->text.data[i] : '?';
    f->text[n] = '\0';
}

bool sftp_read_space(struct packet body, struct sftp_space *space)
{
    uint64_t n[11];
    uint64_t unit_bytes;

    for (size_t i = 0; i < sizeof n / sizeof n[0]; i++)
        n[i] = packet_u64(&body);
    if (body.bad)
        return false;
    unit_bytes = n[1];
    /* No disk has that many blocks, so the numbers are not used. */
    if (unit_bytes == 0 || n[2] > UINT64_MAX / unit_bytes || n[4] > UINT64_MAX / unit_bytes)
        return false;
    *space = (struct sftp_space){ .total_bytes = n[2] * unit_bytes,
                                  .free_bytes = n[4] * unit_bytes,
                                  /* btrfs and others count no files */
                                  .free_files = n[5] == 0 ? UINT64_MAX : n[7],
                                  .read_only = (n[9] & STATVFS_READ_ONLY) != 0 };
    return true;
}

/* --- words --------------------------------------------------------------------- */

static const struct {
    enum sftp_status status;
    enum err_kind kind;
    const char *words;
} plain[] = {
    { FX_EOF, ERR_PROTOCOL, "the server says that it ends there" },
    { FX_NO_SUCH_FILE, ERR_NOT_FOUND, "no such file or folder" },
    { FX_PERMISSION_DENIED, ERR_DENIED, "permission denied" },
    { FX_BAD_MESSAGE, ERR_FAILED, "the server does not take such a name or request" },
    { FX_NO_CONNECTION, ERR_UNREACHABLE, "the server has lost its connection" },
    { FX_CONNECTION_LOST, ERR_UNREACHABLE, "the server has lost its connection" },
    { FX_UNSUPPORTED, ERR_FAILED, "the server cannot do that" },
};

static const char *made_path(const struct sftp_deed *d)
{
    return d->to != NULL ? d->to : d->path;
}

static int word_error(const struct explanation *x, enum err_kind kind, const char *words,
                      struct err *e)
{
    const struct sftp_deed *d = &x->deed;

    if (d->to != NULL)
        return err_set(e, kind, "%s %s to %s on the server: %s", x->failure.verb, d->path, d->to,
                       words);
    return err_set(e, kind, "%s %s on the server: %s", x->failure.verb, d->path, words);
}

static int word_failure(const struct explanation *x, struct err *e)
{
    unsigned flags = x->deed.flags;
    bool is_folder = x->is_there && (x->attrs.has & SFTP_MODE) && S_ISDIR(x->attrs.mode);
    bool takes_space = (flags & DEED_MAKES) && x->knows_space;
    uint64_t free_bytes = x->space.free_bytes;
    bool is_full = takes_space && free_bytes < x->deed.needed_bytes + SLACK_BYTES;
    struct buf words = { 0 };
    int result;

    if ((flags & DEED_CLAIMS) && x->is_there)
        return err_set(e, ERR_EXISTS, "%s on the server is there already", made_path(&x->deed));
    if ((flags & DEED_OF_FILE) && is_folder)
        return word_error(x, ERR_FAILED, "it is a folder", e);
    if (x->knows_space && x->space.read_only)
        return word_error(x, ERR_DENIED, "the file system there is read-only", e);
    if ((flags & DEED_EMPTIES) && is_folder)
        return word_error(x, ERR_EXISTS, "it is not empty", e);
    if (takes_space && !is_full && x->space.free_files == 0)
        return word_error(x, ERR_NO_SPACE, "no file more fits on the server's disk (no inodes)", e);
    if (is_full)
        buf_add_str(&words, "no space is left on the server's disk (");
    else if (x->failure.text[0] != '\0' && strcmp(x->failure.text, "Failure") != 0)
        buf_printf(&words, "the server says: %s", x->failure.text);
    else
        buf_add_str(&words, "the server says no more than that it failed");
    if (takes_space) {
        if (!is_full)
            buf_add_str(&words, " (its disk has ");
        units_add_size(&words, free_bytes < INT64_MAX ? (int64_t)free_bytes : INT64_MAX);
        buf_add_str(&words, is_full ? " free)" : " free; is a quota used up?)");
    }
    result = word_error(x, is_full ? ERR_NO_SPACE : ERR_FAILED, buf_text(&words), e);
    buf_free(&words);
    return result;
}

/* --- asking -------------------------------------------------------------------- */

static void finish_explanation(struct explanation *x)
{
    struct err why = { 0 };
    size_t i = 0;

    while (i < sizeof plain / sizeof plain[0] && plain[i].status != x->failure.status)
        i++;
    if (x->s->is_broken)
        sftp_check(x->s, &why);
    else if (x->failure.status == FX_FAILURE)
        word_failure(x, &why);
    else if (i < sizeof plain / sizeof plain[0])
        word_error(x, plain[i].kind, plain[i].words, &why);
    else
        word_error(x, ERR_PROTOCOL, "the server answers with an unknown status", &why);
    x->done(x->context, &why);
    free(x);
}

static void on_attrs(void *context, const struct sftp_reply *r)
{
    struct explanation *x = context;
    struct packet body = r->body;

    x->is_there = r->type == FXP_ATTRS;
    if (x->is_there)
        x->attrs = packet_attrs(&body);
    if (--x->n_waiting == 0)
        finish_explanation(x);
}

static void on_space(void *context, const struct sftp_reply *r)
{
    struct explanation *x = context;

    x->knows_space = r->type == FXP_EXTENDED_REPLY && sftp_read_space(r->body, &x->space);
    if (--x->n_waiting == 0)
        finish_explanation(x);
}

void sftp_explain(struct sftp *s, const struct sftp_deed *deed, const struct sftp_failure *f,
                  sftp_explained *done, void *context)
{
    struct explanation *x = mem_alloc(sizeof *x);

    *x = (struct explanation){
        .s = s, .deed = *deed, .failure = *f, .done = done, .context = context
    };
    if (s->is_broken || f->status != FX_FAILURE) {
        finish_explanation(x);
        return;
    }
    x->n_waiting++;
    packet_add_str(sftp_begin(s, FXP_LSTAT, sftp_waiter(FXP_ATTRS, on_attrs, x, NULL)),
                   made_path(deed));
    sftp_end(s);
    if (sftp_can(s, SFTP_CAN_TELL_SPACE)) {
        char *folder = path_dirname(made_path(deed));

        x->n_waiting++;
        packet_add_str(sftp_begin_extended(s, "statvfs@openssh.com",
                                           sftp_waiter(FXP_EXTENDED_REPLY, on_space, x, NULL)),
                       folder);
        sftp_end(s);
        free(folder);
    }
}

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
        (void)sftp_wait(s, NULL);
    return -1;
}
