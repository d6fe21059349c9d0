/* SPDX-License-Identifier: MIT */
/* sftp.c - an SFTP version 3 client: the connection, and one operation at a time */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/sftp/sftp_conn.h"

enum {
    MODEST_PIECE_BYTES = 32 * 1024, /* what every server takes */
    LEAST_PIECE_BYTES = 4096,
    MODEST_HANDLES = 64,
    OWN_HANDLES = 12, /* left for files that are open longer */
    MOST_HANDLES = 512
};

/* --- the beginning and the end -------------------------------------------------- */

static const struct {
    const char *name, *version;
    enum sftp_extension what;
} extensions[] = {
    { "fsync@openssh.com", "1", SFTP_CAN_SYNC },
    { "posix-rename@openssh.com", "1", SFTP_CAN_REPLACE },
    { "statvfs@openssh.com", "2", SFTP_CAN_TELL_SPACE },
};

static void note_extension(struct sftp *s, struct bytes name, struct bytes version)
{
    for (size_t i = 0; i < sizeof extensions / sizeof extensions[0]; i++)
        if (packet_is(name, extensions[i].name) && packet_is(version, extensions[i].version))
            s->can |= (unsigned)extensions[i].what;
    if (packet_is(name, "limits@openssh.com") && packet_is(version, "1"))
        s->has_limits = true;
}

static size_t clamp(uint64_t n, size_t least, size_t most)
{
    return n < least ? least : n > most ? most : (size_t)n;
}

/* Zero: the server has no limit, or does not know it. */
static void on_limits(void *context, const struct sftp_reply *r)
{
    struct sftp *s = context;
    struct packet body = r->body;
    uint64_t read_bytes, write_bytes, handles;

    if (r->type != FXP_EXTENDED_REPLY)
        return;
    packet_u64(&body);
    read_bytes = packet_u64(&body);
    write_bytes = packet_u64(&body);
    handles = packet_u64(&body);
    if (body.bad)
        return;
    if (read_bytes > 0)
        s->read_max_bytes = clamp(read_bytes, LEAST_PIECE_BYTES, SFTP_PIECE_BYTES);
    if (write_bytes > 0)
        s->write_max_bytes = clamp(write_bytes, LEAST_PIECE_BYTES, SFTP_PIECE_BYTES);
    if (handles > 0)
        s->handles_max =
            handles <= 2 * OWN_HANDLES ? 1 : clamp(handles - OWN_HANDLES, 1, MOST_HANDLES);
}

/* Nobody waits for them: until they are here the server is asked modestly. */
static void ask_limits(struct sftp *s)
{
    sftp_begin_extended(s, "limits@openssh.com",
                        &(struct sftp_wait){ FXP_EXTENDED_REPLY, on_limits, s, 0, 0 });
    sftp_end(s);
}

void sftp_take_greeting(struct sftp *s, struct packet p)
{
    uint8_t type = packet_u8(&p);
    uint32_t version = packet_u32(&p);

    if (p.bad || type != FXP_VERSION || version != SFTP_VERSION) {
        sftp_break(s, ERR_PROTOCOL, "the server does not speak version %d of SFTP", SFTP_VERSION);
        return;
    }
    while (p.left > 0 && !p.bad) {
        struct bytes name = packet_string(&p), value = packet_string(&p);

        if (!p.bad)
            note_extension(s, name, value);
    }
    s->is_greeted = true;
    if (s->has_limits)
        ask_limits(s);
}

static void say_hello(struct sftp *s)
{
    packet_add_u32(&s->out, 5);
    buf_add_char(&s->out, FXP_INIT);
    packet_add_u32(&s->out, SFTP_VERSION);
}

static int go_on_greeting(struct sftp *s, int timeout_ms, struct err *e)
{
    return sftp_turn_any(&s, 1, timeout_ms, e) < 0 ? -1 : s->is_greeted;
}

struct sftp *sftp_open_later(int fd, struct err *e)
{
    struct sftp *s = mem_alloc(sizeof *s);

    *s = (struct sftp){ .fd = fd,
                        .read_max_bytes = MODEST_PIECE_BYTES,
                        .write_max_bytes = MODEST_PIECE_BYTES,
                        .handles_max = MODEST_HANDLES,
                        .first_free = UINT32_MAX };
#ifdef SO_NOSIGPIPE
    (void)setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &(int){ 1 }, sizeof(int));
#endif
    if (io_set_nonblocking(fd, e) < 0) {
        sftp_close(s);
        return NULL;
    }
    say_hello(s);
    return s;
}

int sftp_opens(struct sftp *s, struct err *e)
{
    return go_on_greeting(s, 0, e);
}

/* Waits until it can be used. */
static int await_greeting(struct sftp *s, struct err *e)
{
    int rc = s->is_greeted;

    while (rc == 0)
        rc = go_on_greeting(s, -1, e);
    return rc < 0 ? -1 : 0;
}

struct sftp *sftp_open(int fd, struct err *e)
{
    struct sftp *s = sftp_open_later(fd, e);

    if (s == NULL || await_greeting(s, e) == 0)
        return s;
    sftp_close(s);
    return NULL;
}

void sftp_close(struct sftp *s)
{
    if (s == NULL)
        return;
    sftp_break(s, ERR_UNREACHABLE, "the connection for files was closed");
    close(s->fd);
    buf_free(&s->out);
    buf_free(&s->in);
    free(s->requests);
    free(s);
}

bool sftp_can(const struct sftp *s, enum sftp_extension what)
{
    return (s->can & (unsigned)what) != 0;
}

bool sftp_is_broken(const struct sftp *s)
{
    return s->is_broken;
}

/* --- one operation ------------------------------------------------------------------ */

/* Where the answer goes; NULL: nowhere. */
struct one {
    bool is_done;
    int result;
    struct err *e;
    struct sftp_attrs *attrs;
    char **text;
    struct list *entries;
    struct buf *content;
};

static void take_answer(struct one *o, const struct sftp_answer *a)
{
    if (o->attrs != NULL)
        *o->attrs = a->attrs;
    if (o->text != NULL)
        *o->text = mem_strdup(a->text);
    if (o->entries != NULL)
        *o->entries = a->entries;
    if (o->content != NULL)
        buf_add(o->content, a->content.data, a->content.n);
}

static void on_one(void *context, const struct sftp_answer *a)
{
    struct one *o = context;

    o->is_done = true;
    o->result = a->error != NULL ? err_set(o->e, a->error->kind, "%s", a->error->text) : 0;
    if (a->error == NULL)
        take_answer(o, a);
}

static int run(struct sftp *s, const struct sftp_op *op, struct one *o, struct err *e)
{
    o->e = e;
    if (sftp_start(s, op, on_one, o, e) < 0)
        return -1;
    while (!o->is_done)
        (void)sftp_turn(s, NULL);
    return o->result;
}

static int run_plain(struct sftp *s, enum sftp_op_kind kind, const char *path, const char *to,
                     struct err *e)
{
    return run(s, &(struct sftp_op){ .kind = kind, .path = path, .to = to }, &(struct one){ 0 }, e);
}

int sftp_stat(struct sftp *s, const char *path, struct sftp_attrs *attrs, struct err *e)
{
    return run(s, &(struct sftp_op){ .kind = SFTP_OP_STAT, .path = path },
               &(struct one){ .attrs = attrs }, e);
}

int sftp_lstat(struct sftp *s, const char *path, struct sftp_attrs *attrs, struct err *e)
{
    return run(s, &(struct sftp_op){ .kind = SFTP_OP_LSTAT, .path = path },
               &(struct one){ .attrs = attrs }, e);
}

int sftp_setstat(struct sftp *s, const char *path, const struct sftp_attrs *attrs, struct err *e)
{
    return run(s, &(struct sftp_op){ .kind = SFTP_OP_SETSTAT, .path = path, .attrs = *attrs },
               &(struct one){ 0 }, e);
}

int sftp_list(struct sftp *s, const char *path, struct arena *a, struct list *entries,
              struct err *e)
{
    return run(s, &(struct sftp_op){ .kind = SFTP_OP_LIST, .path = path, .arena = a },
               &(struct one){ .entries = entries }, e);
}

char *sftp_read_link(struct sftp *s, const char *path, struct err *e)
{
    char *text = NULL;

    if (run(s, &(struct sftp_op){ .kind = SFTP_OP_READ_LINK, .path = path },
            &(struct one){ .text = &text }, e) < 0)
        return NULL;
    return text;
}

int sftp_symlink(struct sftp *s, const char *target, const char *path, struct err *e)
{
    return run_plain(s, SFTP_OP_SYMLINK, path, target, e);
}

int sftp_mkdir(struct sftp *s, const char *path, mode_t mode, struct err *e)
{
    return run(s, &(struct sftp_op){ .kind = SFTP_OP_MKDIR, .path = path, .mode = mode },
               &(struct one){ 0 }, e);
}

int sftp_rmdir(struct sftp *s, const char *path, struct err *e)
{
    return run_plain(s, SFTP_OP_RMDIR, path, NULL, e);
}

int sftp_remove(struct sftp *s, const char *path, struct err *e)
{
    return run_plain(s, SFTP_OP_REMOVE, path, NULL, e);
}

int sftp_rename(struct sftp *s, const char *from, const char *to, struct err *e)
{
    return run_plain(s, SFTP_OP_RENAME, from, to, e);
}

int sftp_replace(struct sftp *s, const char *from, const char *to, struct err *e)
{
    return run_plain(s, SFTP_OP_REPLACE, from, to, e);
}

int sftp_read_file(struct sftp *s, const char *path, size_t max_bytes, struct buf *out,
                   struct err *e)
{
    return run(s, &(struct sftp_op){ .kind = SFTP_OP_GET, .path = path, .max_bytes = max_bytes },
               &(struct one){ .content = out }, e);
}
