/* SPDX-License-Identifier: MIT */
/* listen.c - make unix sockets, take connections from them */
#include "server/conn/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/path.h"
#include "server/base/identity.h"
#include "server/conn/conn.h"

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
    int dir_fd; /* where it lies, AT_FDCWD: path says */
    char *path;
    char *name; /* of the one user whose it is, only; NULL: everybody's */
    uid_t only;
    dev_t device; /* of the socket we made */
    ino_t inode;
};

/* Where a socket is to lie, for the kernel and for people. */
struct way {
    struct sockaddr_un address;
    int dir_fd;
    const char *path;
};

struct listeners {
    struct listener **items;
    size_t n, capacity;
};

/* ---- taking connections ---- */

static void on_readable(uv_poll_t *poll, int status, int events);
static void on_closed(uv_handle_t *handle);

static void on_rested(uv_timer_t *timer)
{
    struct listener *l = timer->data;
    int rc = uv_poll_start(&l->poll, UV_READABLE, on_readable);

    if (rc < 0)
        log_event(LOG_ERROR, "accept", "socket", "%s", l->path, "error", "%s", uv_strerror(rc),
                  NULL);
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
    if ((l->name != NULL ? conn_add_of(l->sv, fd, l->only, l->name, &e)
                         : conn_add(l->sv, fd, &e)) == NULL)
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

/* In a folder that is open already the name alone counts; the way to it, and how long that is,
 * does not. */
static int find_way(struct way *w, int dir_fd, const char *path, struct err *e)
{
    char *text = dir_fd < 0 ? mem_strdup(path)
                            : mem_printf("/proc/self/fd/%d/%s", dir_fd, path_basename(path));
    size_t n = strlen(text);

    *w = (struct way){ .address = { .sun_family = AF_UNIX }, .dir_fd = dir_fd, .path = path };
    if (n < sizeof w->address.sun_path)
        memcpy(w->address.sun_path, text, n + 1);
    free(text);
    if (n < sizeof w->address.sun_path)
        return 0;
    return err_set(e, ERR_USAGE, "socket %s: the path is longer than %zu bytes", path,
                   sizeof w->address.sun_path - 1);
}

/* Whether anybody listens there: 1, 0, or -1. */
static int is_answered(const struct way *w, struct err *e)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int rc;

    if (fd < 0)
        return err_sys(e, "socket");
    rc = connect(fd, (const struct sockaddr *)&w->address, sizeof w->address);
    if (rc == 0 || errno == EAGAIN)
        rc = 1;
    else if (errno == ECONNREFUSED || errno == ENOENT)
        rc = 0;
    else
        rc = err_sys(e, "connect to %s", w->path);
    close(fd);
    return rc;
}

/* Takes away what a killed ludwigd left. */
static int clear_way(const struct way *w, struct err *e)
{
    struct stat st;
    int rc;

    if (lstat(w->address.sun_path, &st) < 0)
        return errno == ENOENT ? 0 : err_sys(e, "look at %s", w->path);
    if (!S_ISSOCK(st.st_mode))
        return err_set(e, ERR_EXISTS, "socket %s: there lies something else", w->path);
    rc = is_answered(w, e);
    if (rc == 1)
        return err_set(e, ERR_BUSY, "socket %s: somebody answers on it already", w->path);
    if (rc == 0 && unlink(w->address.sun_path) < 0 && errno != ENOENT)
        return err_sys(e, "remove %s", w->path);
    return rc;
}

/* Before listen(): until then nobody can connect. */
static int set_access(const struct way *w, const char *group, struct err *e)
{
    gid_t gid = 0;

    if (group != NULL) {
        if (identity_group(group, &gid, e) < 0)
            return -1;
        if (lchown(w->address.sun_path, (uid_t)-1, gid) < 0)
            return err_sys(e, "give %s to group %s", w->path, group);
    }
    if (chmod(w->address.sun_path, group != NULL ? 0660 : 0666) < 0)
        return err_sys(e, "chmod %s", w->path);
    return 0;
}

static int make_socket(const struct way *w, const char *group, struct err *e)
{
    int fd;

    if (clear_way(w, e) < 0)
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_sys(e, "socket");
    if (bind(fd, (const struct sockaddr *)&w->address, sizeof w->address) < 0) {
        err_sys(e, "socket %s", w->path);
        goto fail;
    }
    if (set_access(w, group, e) < 0)
        goto fail_bound;
    if (listen(fd, BACKLOG) < 0) {
        err_sys(e, "listen on %s", w->path);
        goto fail_bound;
    }
    return fd;
fail_bound:
    unlink(w->address.sun_path);
fail:
    close(fd);
    return -1;
}

/* Takes fd over, also when it fails. */
static struct listener *start(struct server *sv, int fd, const struct way *w, struct err *e)
{
    struct listener *l = mem_alloc(sizeof *l);
    struct stat st = { 0 };
    int rc;

    if (lstat(w->address.sun_path, &st) < 0)
        log_event(LOG_WARN, "listen", "socket", "%s", w->path, "error", "%s", strerror(errno),
                  NULL);
    *l = (struct listener){ .sv = sv,
                            .fd = fd,
                            .dir_fd = w->dir_fd,
                            .path = mem_strdup(w->path),
                            .n_handles = 2,
                            .device = st.st_dev,
                            .inode = st.st_ino };
    l->poll.data = l->rest.data = l;
    uv_timer_init(&sv->loop, &l->rest);
    rc = uv_poll_init(&sv->loop, &l->poll, fd);
    if (rc == 0) {
        rc = uv_poll_start(&l->poll, UV_READABLE, on_readable);
        if (rc == 0)
            return l;
        uv_close((uv_handle_t *)&l->poll, on_closed);
    } else {
        l->n_handles = 1;
    }
    err_set(e, ERR_FAILED, "listen on %s: %s", w->path, uv_strerror(rc));
    (void)unlink(w->address.sun_path);
    l->dir_fd = AT_FDCWD; /* it stays the caller's */
    uv_close((uv_handle_t *)&l->rest, on_closed);
    return NULL;
}

static struct listener *listen_there(struct server *sv, int dir_fd, const char *path,
                                     const char *group, struct err *e)
{
    struct listeners *all = sv->listeners;
    struct listener *l;
    struct way w;
    int fd;

    if (find_way(&w, dir_fd, path, e) < 0)
        return NULL;
    fd = make_socket(&w, group, e);
    if (fd < 0)
        return NULL;
    l = start(sv, fd, &w, e);
    if (l == NULL)
        return NULL;
    mem_grow((void **)&all->items, &all->capacity, all->n, sizeof(struct listener *));
    all->items[all->n++] = l;
    log_event(LOG_INFO, "listen", "socket", "%s", path, NULL);
    return l;
}

int listen_on(struct server *sv, const char *path, const char *group, struct err *e)
{
    return listen_there(sv, AT_FDCWD, path, group, e) == NULL ? -1 : 0;
}

struct listener *listen_for(struct server *sv, int dir_fd, const char *path, uid_t only,
                            const char *name, struct err *e)
{
    struct listener *l = listen_there(sv, dir_fd, path, NULL, e);

    if (l == NULL) {
        close(dir_fd);
        return NULL;
    }
    l->name = mem_strdup(name);
    l->only = only;
    return l;
}

bool listener_lies_in(const struct listener *l, int dir_fd)
{
    const char *name = dir_fd < 0 ? l->path : path_basename(l->path);
    struct stat st;

    return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == l->device &&
           st.st_ino == l->inode;
}

/* ---- the end ---- */

static void on_closed(uv_handle_t *handle)
{
    struct listener *l = handle->data;

    if (--l->n_handles > 0)
        return;
    close(l->fd);
    if (l->dir_fd >= 0)
        close(l->dir_fd);
    free(l->name);
    free(l->path);
    free(l);
}

static void stop(struct listener *l)
{
    const char *name = l->dir_fd < 0 ? l->path : path_basename(l->path);

    if (listener_lies_in(l, l->dir_fd) && unlinkat(l->dir_fd, name, 0) < 0)
        log_event(LOG_WARN, "unlink", "socket", "%s", l->path, "error", "%s", strerror(errno),
                  NULL);
    uv_close((uv_handle_t *)&l->poll, on_closed);
    uv_close((uv_handle_t *)&l->rest, on_closed);
}

void listener_stop(struct server *sv, struct listener *l)
{
    struct listeners *all = sv->listeners;
    size_t i = 0;

    while (all->items[i] != l)
        i++;
    all->items[i] = all->items[--all->n];
    log_event(LOG_INFO, "listen-no-more", "socket", "%s", l->path, NULL);
    stop(l);
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
