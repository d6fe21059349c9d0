/* SPDX-License-Identifier: MIT */
/* listen.c - makes unix sockets, and takes connections from them */
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
    ACCEPTS_AT_ONCE = 32, /* connections taken before other handles have their turn */
    TIRED_MS = 1000       /* pause after accept failed: descriptors or memory may have run out */
};

struct listener {
    struct server *sv;
    uv_poll_t poll;
    uv_timer_t rest;
    int n_handles;
    int fd;
    int dir_fd; /* the socket's folder; AT_FDCWD: the one that path names */
    char *path;
    char *name;   /* of the only user that it serves; NULL: all users */
    uid_t only;   /* this user's uid */
    dev_t device; /* of the socket that was made */
    ino_t inode;
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

static void on_readable(uv_poll_t *poll, int status, int events)
{
    static struct log_brake limit;
    struct listener *l = poll->data;

    (void)status, (void)events; /* accept reports errors */
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        struct err e = { 0 };

        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0 && errno == EAGAIN)
            return;
        if (fd < 0) {
            log_event(LOG_WARN, "accept", "socket", "%s", l->path, "error", "%s", strerror(errno),
                      NULL);
            uv_poll_stop(&l->poll);
            uv_timer_start(&l->rest, on_rested, TIRED_MS, 0);
            return;
        }
        if (conn_add(l->sv, fd, l->only, l->name, &e) == NULL && log_may(&limit, "turned-away"))
            log_event(LOG_WARN, "turned-away", "why", "%s", e.text, NULL);
    }
}

/* ---- making sockets ---- */

/* The address to bind to.  With an open folder only the socket's name has to fit into it, not its
 * path.  ERR_USAGE: it does not fit. */
static int find_address(struct sockaddr_un *to, int dir_fd, const char *path, struct err *e)
{
    char *text = dir_fd < 0 ? mem_strdup(path)
                            : mem_printf("/proc/self/fd/%d/%s", dir_fd, path_basename(path));
    size_t n = strlen(text);

    *to = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (n < sizeof to->sun_path)
        memcpy(to->sun_path, text, n + 1);
    free(text);
    if (n < sizeof to->sun_path)
        return 0;
    return err_set(e, ERR_USAGE, "socket %s: the path is longer than %zu bytes", path,
                   sizeof to->sun_path - 1);
}

/* Removes the socket of a killed ludwigd; -1 with e set if a process listens on it. */
static int clear_way(const struct sockaddr_un *address, const char *path, struct err *e)
{
    struct stat st;
    int fd, rc;

    if (lstat(address->sun_path, &st) < 0)
        return errno == ENOENT ? 0 : err_sys(e, "look at %s", path);
    if (!S_ISSOCK(st.st_mode))
        return err_set(e, ERR_EXISTS, "socket %s: there lies something else", path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_sys(e, "socket");
    rc = connect(fd, (const struct sockaddr *)address, sizeof *address);
    if (rc == 0 || errno == EAGAIN)
        rc = err_set(e, ERR_BUSY, "socket %s: somebody answers on it already", path);
    else if (errno != ECONNREFUSED && errno != ENOENT)
        rc = err_sys(e, "connect to %s", path);
    else if (unlink(address->sun_path) < 0 && errno != ENOENT)
        rc = err_sys(e, "remove %s", path);
    else
        rc = 0;
    close(fd);
    return rc;
}

static int make_socket(const struct sockaddr_un *address, const char *path, const char *group,
                       struct err *e)
{
    gid_t gid = 0;
    int fd;

    if (clear_way(address, path, e) < 0)
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_sys(e, "socket");
    if (bind(fd, (const struct sockaddr *)address, sizeof *address) < 0) {
        err_sys(e, "socket %s", path);
        close(fd);
        return -1;
    }
    /* No peer can connect before listen(). */
    if (group != NULL && identity_group(group, &gid, e) < 0)
        goto fail;
    if (group != NULL && lchown(address->sun_path, (uid_t)-1, gid) < 0)
        err_sys(e, "give %s to group %s", path, group);
    else if (chmod(address->sun_path, group != NULL ? 0660 : 0666) < 0)
        err_sys(e, "chmod %s", path);
    else if (listen(fd, BACKLOG) < 0)
        err_sys(e, "listen on %s", path);
    else
        return fd;
fail:
    unlink(address->sun_path);
    close(fd);
    return -1;
}

static struct listener *listen_there(struct server *sv, int dir_fd, const char *path,
                                     const char *group, struct err *e)
{
    struct listeners *all = sv->listeners;
    struct sockaddr_un address;
    struct stat st = { 0 };
    struct listener *l;
    int fd, rc;

    if (find_address(&address, dir_fd, path, e) < 0)
        return NULL;
    fd = make_socket(&address, path, group, e);
    if (fd < 0)
        return NULL;
    if (lstat(address.sun_path, &st) < 0)
        log_event(LOG_WARN, "listen", "socket", "%s", path, "error", "%s", strerror(errno), NULL);
    l = mem_alloc(sizeof *l);
    *l = (struct listener){ .sv = sv,
                            .fd = fd,
                            .dir_fd = dir_fd,
                            .path = mem_strdup(path),
                            .n_handles = 2,
                            .device = st.st_dev,
                            .inode = st.st_ino };
    l->poll.data = l->rest.data = l;
    uv_timer_init(&sv->loop, &l->rest);
    rc = uv_poll_init(&sv->loop, &l->poll, fd);
    if (rc < 0)
        l->n_handles = 1;
    else if ((rc = uv_poll_start(&l->poll, UV_READABLE, on_readable)) < 0)
        uv_close((uv_handle_t *)&l->poll, on_closed);
    if (rc < 0) {
        err_set(e, ERR_FAILED, "listen on %s: %s", path, uv_strerror(rc));
        (void)unlink(address.sun_path);
        l->dir_fd = AT_FDCWD; /* the caller closes it */
        uv_close((uv_handle_t *)&l->rest, on_closed);
        return NULL;
    }
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
