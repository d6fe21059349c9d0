/* SPDX-License-Identifier: MIT */
/* sftp_explain.c - what a failed request means, in words */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/path.h"
#include "common/base/units.h"
#include "common/sftp/sftp_explain.h"

/* With less than that free beyond what was needed, a disk counts as full. */
enum { SLACK_BYTES = 1024 * 1024 };

enum { STATVFS_READ_ONLY = 1 };

struct explanation {
    struct sftp *s;
    struct sftp_deed deed;
    struct sftp_failure failure;
    sftp_explained *done;
    void *context;
    int n_waiting;
    bool is_there;           /* what was to be made */
    struct sftp_attrs attrs; /* of it */
    bool knows_space;
    struct sftp_space space;
};

static void add_printable(char *text, size_t capacity, struct bytes said)
{
    size_t n = said.n < capacity - 1 ? said.n : capacity - 1;

    for (size_t i = 0; i < n; i++)
        text[i] = said.data[i] >= ' ' && said.data[i] < 0x7f ? (char)said.data[i] : '?';
    text[n] = '\0';
}

void sftp_failure_keep(struct sftp_failure *f, const struct sftp_reply *r)
{
    f->status = r->status;
    add_printable(f->text, sizeof f->text, r->text);
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
    /* Blocks beyond all disks: whoever sent that knows nothing. */
    if (unit_bytes == 0 || n[2] > UINT64_MAX / unit_bytes || n[4] > UINT64_MAX / unit_bytes)
        return false;
    *space = (struct sftp_space){ .total_bytes = n[2] * unit_bytes,
                                  .free_bytes = n[4] * unit_bytes,
                                  /* btrfs and others count none */
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

static int say(const struct sftp_deed *d, enum err_kind kind, const char *words, struct err *e)
{
    if (d->to != NULL)
        return err_set(e, kind, "%s %s to %s on the server: %s", d->verb, d->path, d->to, words);
    return err_set(e, kind, "%s %s on the server: %s", d->verb, d->path, words);
}

static void add_free(struct buf *out, const struct sftp_space *space)
{
    units_add_size(out, space->free_bytes < INT64_MAX ? (int64_t)space->free_bytes : INT64_MAX);
    buf_add_str(out, " free");
}

static bool is_full(const struct explanation *x)
{
    return x->knows_space && x->space.free_bytes < x->deed.needed_bytes + SLACK_BYTES;
}

static int say_about_space(const struct explanation *x, struct err *e)
{
    struct buf words = { 0 };
    int result;

    buf_add_str(&words, "no space is left on the server's disk (");
    add_free(&words, &x->space);
    buf_add_char(&words, ')');
    result = say(&x->deed, ERR_NO_SPACE, buf_text(&words), e);
    buf_free(&words);
    return result;
}

static bool says_more(const struct explanation *x)
{
    return x->failure.text[0] != '\0' && strcmp(x->failure.text, "Failure") != 0;
}

static int say_what_is_known(const struct explanation *x, struct err *e)
{
    struct buf words = { 0 };
    int result;

    if (says_more(x))
        buf_printf(&words, "the server says: %s", x->failure.text);
    else
        buf_add_str(&words, "the server says no more than that it failed");
    if ((x->deed.flags & DEED_MAKES) && x->knows_space) {
        buf_add_str(&words, " (its disk has ");
        add_free(&words, &x->space);
        buf_add_str(&words, "; is a quota used up?)");
    }
    result = say(&x->deed, ERR_FAILED, buf_text(&words), e);
    buf_free(&words);
    return result;
}

static int word(const struct explanation *x, struct err *e)
{
    unsigned flags = x->deed.flags;
    bool is_folder = x->is_there && (x->attrs.has & SFTP_MODE) && S_ISDIR(x->attrs.mode);

    if ((flags & DEED_CLAIMS) && x->is_there)
        return err_set(e, ERR_EXISTS, "%s on the server is there already", made_path(&x->deed));
    if ((flags & DEED_OF_FILE) && is_folder)
        return say(&x->deed, ERR_FAILED, "it is a folder", e);
    if (x->knows_space && x->space.read_only)
        return say(&x->deed, ERR_DENIED, "the file system there is read-only", e);
    if ((flags & DEED_EMPTIES) && is_folder)
        return say(&x->deed, ERR_EXISTS, "it is not empty", e);
    if ((flags & DEED_MAKES) && is_full(x))
        return say_about_space(x, e);
    if ((flags & DEED_MAKES) && x->knows_space && x->space.free_files == 0)
        return say(&x->deed, ERR_NO_SPACE, "no file more fits on the server's disk (no inodes)", e);
    return say_what_is_known(x, e);
}

/* --- asking -------------------------------------------------------------------- */

static void finish(struct explanation *x)
{
    struct err why = { 0 };

    if (x->s->is_broken)
        sftp_check(x->s, &why);
    else
        word(x, &why);
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
        finish(x);
}

static void on_space(void *context, const struct sftp_reply *r)
{
    struct explanation *x = context;

    x->knows_space = r->type == FXP_EXTENDED_REPLY && sftp_read_space(r->body, &x->space);
    if (--x->n_waiting == 0)
        finish(x);
}

static void ask_attrs(struct explanation *x)
{
    struct sftp_wait wait = { FXP_ATTRS, on_attrs, x, 0, 0 };

    packet_add_str(sftp_begin(x->s, FXP_LSTAT, &wait), made_path(&x->deed));
    sftp_end(x->s);
    x->n_waiting++;
}

static void ask_space(struct explanation *x)
{
    struct sftp_wait wait = { FXP_EXTENDED_REPLY, on_space, x, 0, 0 };
    char *folder = path_dirname(made_path(&x->deed));

    packet_add_str(sftp_begin_extended(x->s, "statvfs@openssh.com", &wait), folder);
    sftp_end(x->s);
    x->n_waiting++;
    free(folder);
}

static int say_plain(const struct sftp_deed *d, uint32_t status, struct err *e)
{
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (plain[i].status == status)
            return say(d, plain[i].kind, plain[i].words, e);
    return say(d, ERR_PROTOCOL, "the server answers with an unknown status", e);
}

void sftp_explain(struct sftp *s, const struct sftp_deed *deed, const struct sftp_failure *f,
                  sftp_explained *done, void *context)
{
    struct explanation *x;
    struct err why = { 0 };

    if (s->is_broken || f->status != FX_FAILURE) {
        if (s->is_broken)
            sftp_check(s, &why);
        else
            say_plain(deed, f->status, &why);
        done(context, &why);
        return;
    }
    x = mem_alloc(sizeof *x);
    *x = (struct explanation){
        .s = s, .deed = *deed, .failure = *f, .done = done, .context = context
    };
    ask_attrs(x);
    if (sftp_can(s, SFTP_CAN_TELL_SPACE))
        ask_space(x);
}
