/* SPDX-License-Identifier: MIT */
/* sftp.c - fuzz: no reply of an SFTP server may crash the client */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/sftp/sftp.h"
#include "common/sftp/sftp_packet.h"

/*
 * What the server says to each request in turn: how, a length of two bytes, and so many bytes: the
 * type and what follows the id.  Bits of how: 1: with another id, 2: without a length before it,
 * 4: twice, 8: and then hangs up.  It never just keeps silent: that may last.
 */
struct server {
    const uint8_t *data;
    size_t left;
    int fd;
};

enum { OTHER_ID = 1, RAW = 2, TWICE = 4, LAST = 8 };

static void need(int ok)
{
    if (!ok)
        abort();
}

static bool read_all(int fd, uint8_t *bytes, size_t n)
{
    while (n > 0) {
        ssize_t got = read(fd, bytes, n);

        if (got <= 0)
            return false;
        bytes += got;
        n -= (size_t)got;
    }
    return true;
}

static bool read_request(int fd, uint32_t *id)
{
    static _Thread_local uint8_t body[1 << 20];
    uint8_t head[4];
    struct packet p = { head, sizeof head, false };
    uint32_t n;

    if (!read_all(fd, head, sizeof head))
        return false;
    n = packet_u32(&p);
    need(n >= 5 && n <= sizeof body);
    if (!read_all(fd, body, n))
        return false;
    p = (struct packet){ body + 1, n - 1, false };
    *id = packet_u32(&p);
    return true;
}

static bool send_all(int fd, const struct buf *out)
{
    return out->n == 0 || send(fd, out->bytes, out->n, MSG_NOSIGNAL) == (ssize_t)out->n;
}

/* The next answer; false: none is left. */
static bool answer(struct server *s, uint32_t id, struct buf *out)
{
    uint8_t how;
    size_t n;

    if (s->left < 3)
        return false;
    how = s->data[0];
    n = (size_t)s->data[1] << 8 | s->data[2];
    s->data += 3, s->left -= 3;
    if (n > s->left)
        n = s->left;
    buf_clear(out);
    for (int i = 0; i <= (how & TWICE ? 1 : 0) && n > 0; i++) {
        if (!(how & RAW))
            packet_add_u32(out, (uint32_t)n + 4);
        buf_add(out, s->data, 1);
        packet_add_u32(out, how & OTHER_ID ? id ^ (uint32_t)n : id);
        buf_add(out, s->data + 1, n - 1);
    }
    s->data += n, s->left -= n;
    if (how & (LAST | RAW) || n == 0)
        s->left = 0;
    return true;
}

static void *serve(void *context)
{
    struct server *s = context;
    struct buf out = { 0 };
    uint32_t id;

    while (read_request(s->fd, &id) && answer(s, id, &out) && send_all(s->fd, &out) && s->left > 0)
        ;
    shutdown(s->fd, SHUT_RDWR);
    buf_free(&out);
    return NULL;
}

/* --- the client -------------------------------------------------------------------- */

static void check(int result, const struct err *e)
{
    need(result == 0 || (e->kind != ERR_NONE && e->text[0] != '\0'));
}

struct whole {
    struct buf *out;
    struct err *e;
    int result;
};

static void take_whole(void *context, const struct sftp_answer *a)
{
    struct whole *w = context;

    w->result = a->error != NULL ? err_set(w->e, a->error->kind, "%s", a->error->text) : 0;
    if (a->error == NULL && w->out != NULL)
        buf_add(w->out, a->content.data, a->content.n);
}

static int read_whole(struct sftp *s, const char *path, size_t max_bytes, struct buf *out,
                      struct err *e)
{
    struct sftp_op op = { .kind = SFTP_OP_GET, .path = path, .max_bytes = max_bytes };
    struct whole w = { out, e, 0 };

    if (sftp_start(s, &op, take_whole, &w, e) < 0)
        return -1;
    (void)sftp_finish(s, NULL);
    return w.result;
}

static int put_whole(struct sftp *s, const char *path, struct bytes content, mode_t mode,
                     struct err *e)
{
    struct sftp_op op = {
        .kind = SFTP_OP_PUT, .path = path, .content = content, .mode = mode, .sync = true
    };
    struct whole w = { NULL, e, 0 };

    if (sftp_start(s, &op, take_whole, &w, e) < 0)
        return -1;
    (void)sftp_finish(s, NULL);
    return w.result;
}

static void list(struct sftp *s)
{
    struct arena *a = arena_create();
    struct list entries = { 0 };
    struct err e = { 0 };
    int result = sftp_list(s, "folder", a, &entries, &e);
    const struct sftp_entry *items = entries.items;

    check(result, &e);
    for (size_t i = 0; result == 0 && i < entries.n; i++)
        need(items[i].name[0] != '\0' && strchr(items[i].name, '/') == NULL &&
             strcmp(items[i].name, "..") != 0);
    arena_destroy(a);
}

static void ask_paths(struct sftp *s)
{
    struct err e = { 0 };
    struct sftp_attrs attrs;
    struct sftp_space space;
    char *text;

    check(sftp_stat(s, "a", &attrs, &e), &e);
    check(sftp_mkdir(s, "b", 0750, &e), &e);
    check(sftp_rename(s, "b", "c", &e), &e);
    text = sftp_read_link(s, "d", &e);
    check(text != NULL ? 0 : -1, &e);
    free(text);
    check(sftp_space(s, ".", &space, &e), &e);
}

static void read_file(struct sftp *s)
{
    struct err e = { 0 };
    struct buf b = { 0 };
    uint8_t bytes[100];
    struct sftp_file *f;
    ssize_t n;

    check(read_whole(s, "small", 1000, &b, &e), &e);
    need(b.n <= 1000);
    buf_free(&b);
    f = sftp_file_open(s, "file", SFTP_READ, 0, &e);
    check(f != NULL ? 0 : -1, &e);
    if (f == NULL)
        return;
    n = sftp_file_read(f, 0, bytes, sizeof bytes, &e);
    need(n <= (ssize_t)sizeof bytes);
    check(n < 0 ? -1 : 0, &e);
    n = sftp_file_read(f, 100, bytes, sizeof bytes, &e);
    check(n < 0 ? -1 : 0, &e);
    check(sftp_file_close(f, &e), &e);
}

static void write_file(struct sftp *s)
{
    struct err e = { 0 };
    struct sftp_file *f = sftp_file_open(s, "file", SFTP_WRITE | SFTP_CREATE, 0640, &e);

    check(put_whole(s, "e", (struct bytes){ (const uint8_t *)"x", 1 }, 0640, &e), &e);
    if (f == NULL)
        return;
    check(sftp_file_write(f, 0, "abc", 3, &e), &e);
    check(sftp_file_sync(f, &e), &e);
    check(sftp_file_close(f, &e), &e);
    check(sftp_remove_tree(s, "tree", &e), &e);
}

static void use(struct sftp *s, unsigned what)
{
    if (what & 1)
        list(s);
    if (what & 2)
        ask_paths(s);
    if (what & 4)
        read_file(s);
    if (what & 8)
        write_file(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte says what the client does. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct server server;
    struct err e = { 0 };
    pthread_t thread;
    struct sftp *s;
    int ends[2];

    if (size == 0)
        return 0;
    need(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    server = (struct server){ data + 1, size - 1, ends[1] };
    need(pthread_create(&thread, NULL, serve, &server) == 0);
    s = sftp_open(ends[0], &e);
    check(s != NULL ? 0 : -1, &e);
    if (s != NULL)
        use(s, data[0]);
    sftp_close(s);
    pthread_join(thread, NULL);
    close(ends[1]);
    return 0;
}
