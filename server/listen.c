/* SPDX-License-Identifier: MIT */
/* listen.c - make unix sockets, take connections from them */
#include "server/listen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/log.h"
#include "server/identity.h"

enum {
    BACKLOG = 128,
    ACCEPTS_AT_ONCE = 32, /* then others have their turn */
    TIRED_MS = 1000       /* how long to wait when descriptors or memory ran out */
};

struct listener {
    struct server *sv;
    uv_poll_t poll;
    uv_timer_t rest;
    int n_handles;
    int fd;
    char *path;
    dev_t device; /* of the socket we made */
    ino_t inode;
};

struct listeners {
    struct listener **items;
    size_t n, capacity;
};

/* ---- taking connections ---- */

static void on_readable(uv_poll_t *poll, int status, int events);

static void on_rested(uv_timer_t *timer)
{
    struct listener *l = timer->data;

    uv_poll_start(&l->poll, UV_READABLE, on_readable);
}

static void rest(struct listener *l)
{
    log_event(LOG_WARN, "accept", "socket", "%s", l->path, "error", "%s", strerror(errno), NULL);
    uv_poll_stop(&l->poll);
    uv_timer_start(&l->rest, on_rested, TIRED_MS, 0);
}

/* 1, 0 when nobody waits any more. */
static int accept_one(struct listener *l)
{
    int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct err e = { 0 };

    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
        return 1;
    if (fd < 0) {
        if (errno != EAGAIN)
            rest(l);
        return 0;
    }
    if (conn_add(l->sv, fd, &e) == NULL)
        log_event(LOG_WARN, "turned-away", "why", "%s", e.text, NULL);
    return 1;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct listener *l = poll->data;

    (void)status, (void)events; /* accept says what is wrong */
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++)
        if (accept_one(l) == 0)
            return;
}

/* ---- making sockets ---- */

static int fill_address(const char *path, struct sockaddr_un *address, struct err *e)
{
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof address->sun_path)
        return err_set(e, ERR_USAGE, "socket %s: the path is longer than %zu bytes", path,
                       sizeof address->sun_path - 1);
    memcpy(address->sun_path, path, strlen(path) + 1);
    return 0;
}

/* Whether anybody listens there: 1, 0, or -1. */
static int is_answered(const struct sockaddr_un *address, struct err *e)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int rc;

    if (fd < 0)
        return err_sys(e, "socket");
    rc = connect(fd, (const struct sockaddr *)address, sizeof *address);
    if (rc == 0 || errno == EAGAIN)
        rc = 1;
    else if (errno == ECONNREFUSED || errno == ENOENT)
        rc = 0;
    else
        rc = err_sys(e, "connect to %s", address->sun_path);
    close(fd);
    return rc;
}

/* Takes away what a killed ludwigd left. */
static int clear_way(const struct sockaddr_un *address, struct err *e)
{
    const char *path = address->sun_path;
    struct stat st;
    int rc;

    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : err_sys(e, "look at %s", path);
    if (!S_ISSOCK(st.st_mode))
        return err_set(e, ERR_EXISTS, "socket %s: there lies something else", path);
    rc = is_answered(address, e);
    if (rc == 1)
        return err_set(e, ERR_BUSY, "socket %s: somebody answers on it already", path);
    if (rc == 0 && unlink(path) < 0 && errno != ENOENT)
        return err_sys(e, "remove %s", path);
    return rc;
}

/* Before listen(): until then nobody can connect. */
static int set_access(const char *path, const char *group, struct err *e)
{
    gid_t gid = 0;

    if (group != NULL) {
        if (identity_group(group, &gid, e) < 0)
            return -1;
        if (lchown(path, (uid_t)-1, gid) < 0)
            return err_sys(e, "give %s to group %s", path, group);
    }
    if (chmod(path, group != NULL ? 0660 : 0666) < 0)
        return err_sys(e, "chmod %s", path);
    return 0;
}

static int make_socket(const char *path, const char *group, struct err *e)
{
    struct sockaddr_un address;
    int fd;

    if (fill_address(path, &address, e) < 0 || clear_way(&address, e) < 0)
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_sys(e, "socket");
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        err_sys(e, "socket %s", path);
        goto fail;
    }
    if (set_access(path, group, e) < 0)
        goto fail_bound;
    if (listen(fd, BACKLOG) < 0) {
        err_sys(e, "listen on %s", path);
        goto fail_bound;
    }
    return fd;
fail_bound:
    unlink(path);
fail:
    close(fd);
    return -1;
}

static void start(struct server *sv, struct listener *l, int fd, const char *path)
{
    struct stat st = { 0 };

    if (lstat(path, &st) < 0)
        log_event(LOG_WARN, "listen", "socket", "%s", path, "error", "%s", strerror(errno), NULL);
    *l = (struct listener){ .sv = sv,
                            .fd = fd,
                            .path = mem_strdup(path),
                            .n_handles = 2,
                            .device = st.st_dev,
                            .inode = st.st_ino };
    l->poll.data = l->rest.data = l;
    uv_poll_init(&sv->loop, &l->poll, fd);
    uv_timer_init(&sv->loop, &l->rest);
    uv_poll_start(&l->poll, UV_READABLE, on_readable);
}

int listen_on(struct server *sv, const char *path, const char *group, struct err *e)
{
    struct listeners *all = sv->listeners;
    int fd = make_socket(path, group, e);
    struct listener *l;

    if (fd < 0)
        return -1;
    l = mem_alloc(sizeof *l);
    start(sv, l, fd, path);
    mem_grow((void **)&all->items, &all->capacity, all->n, sizeof(struct listener *));
    all->items[all->n++] = l;
    log_event(LOG_INFO, "listen", "socket", "%s", path, NULL);
    return 0;
}

/* ---- the end ---- */

static void on_closed(uv_handle_t *handle)
{
    struct listener *l = handle->data;

    if (--l->n_handles > 0)
        return;
    close(l->fd);
    free(l->path);
    free(l);
}

static void stop(struct listener *l)
{
    struct stat st;

    if (lstat(l->path, &st) == 0 && st.st_dev == l->device && st.st_ino == l->inode &&
        unlink(l->path) < 0)
        log_event(LOG_WARN, "unlink", "socket", "%s", l->path, "error", "%s", strerror(errno),
                  NULL);
    uv_close((uv_handle_t *)&l->poll, on_closed);
    uv_close((uv_handle_t *)&l->rest, on_closed);
}

struct listeners *listeners_create(void)
{
    return mem_alloc(sizeof(struct listeners));
}

void listeners_destroy(struct listeners *all)
{
    if (all == NULL)
        return;
    for (size_t i = 0; i < all->n; i++)
        stop(all->items[i]);
    free(all->items);
    free(all);
}
