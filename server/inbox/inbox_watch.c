/* SPDX-License-Identifier: MIT */
/* inbox_watch.c - the kernel tells what comes into the folders, and that there are new users */
#include "server/inbox/inbox_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "common/base/log.h"

/* Where accounts are made; renamed into place by all tools that do. */
#define USERS_FOLDER "/etc"
#define USERS_FILE   "passwd"

enum { EVENTS_BYTES = 64 * 1024 };

struct watched {
    int wd;
    struct box *box;
};

struct inbox_watch {
    struct inbox *in;
    uv_poll_t poll;
    int fd;
    int inbox_wd, users_wd;
    struct watched *items; /* by wd, which only grows */
    size_t n, capacity;
    char events[EVENTS_BYTES] __attribute__((aligned(__alignof__(struct inotify_event))));
};

/* ---- what is told ---- */

static struct box *box_of(const struct inbox_watch *w, int wd)
{
    size_t low = 0, high = w->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (w->items[middle].wd < wd)
            low = middle + 1;
        else
            high = middle;
    }
    return low < w->n && w->items[low].wd == wd ? w->items[low].box : NULL;
}

/* A folder has to be listed only if the name is of no connection we have. */
static void came(struct box *b, const char *name)
{
    struct token token;
    int64_t no;

    if (file_request_parse_name(name, &token, &no, NULL) < 0)
        return;
    if (file_conn_find(b, &token) == NULL) {
        if (box_has_dead(b, &token))
            return;
        b->wants_list = true;
    }
    inbox_queue(b);
}

static void take_event(struct inbox_watch *w, const struct inotify_event *event)
{
    const char *name = event->len > 0 ? event->name : "";
    struct box *b;

    if ((event->mask & IN_Q_OVERFLOW) != 0) {
        w->in->has_missed = true;
    } else if (event->wd == w->users_wd) {
        w->in->wants_users |= strcmp(name, USERS_FILE) == 0;
    } else if (event->wd == w->inbox_wd) {
        w->in->wants_boxes = true;
    } else if ((b = box_of(w, event->wd)) != NULL && b->wd == event->wd) {
        if ((event->mask & IN_IGNORED) == 0) {
            came(b, name);
        } else {
            b->wd = -1; /* it is gone; a new one is watched when it is found */
            w->in->n_unwatched++;
        }
    }
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct inbox_watch *w = poll->data;
    ssize_t n = read(w->fd, w->events, sizeof w->events);

    (void)status, (void)events;
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *event = (const void *)(w->events + at);

        take_event(w, event);
        at += (ssize_t)(sizeof *event + event->len);
    }
    inbox_wake(w->in);
}

/* ---- watching ---- */

void inbox_watch_add(struct inbox_watch *w, struct box *b)
{
    char *path = mem_printf("%s/%u", w->in->path, b->uid);

    /* A user who writes to open files there may not make us busy: only a rename into it counts. */
    b->wd = inotify_add_watch(w->fd, path, IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW);
    if (b->wd < 0 && errno == ENOSPC)
        log_event(LOG_WARN, "inbox-not-watched", "folder", "%s", path, "why", "%s",
                  "fs.inotify.max_user_watches is too small; it is looked at now and then", NULL);
    if (b->wd >= 0)
        w->in->n_unwatched--;
    if (b->wd >= 0 && (w->n == 0 || w->items[w->n - 1].wd < b->wd)) {
        mem_grow((void **)&w->items, &w->capacity, w->n, sizeof *w->items);
        w->items[w->n++] = (struct watched){ b->wd, b };
    }
    free(path);
}

/* New folders must be told of; that there are new users is known when they connect, too. */
static int watch_folders(struct inbox_watch *w, struct err *e)
{
    const struct inbox *in = w->in;

    w->inbox_wd = inotify_add_watch(
        w->fd, in->path, IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_ONLYDIR | IN_DONT_FOLLOW);
    if (w->inbox_wd < 0)
        return err_sys(e, "inotify: watch %s", in->path);
    if (in->dirs.is_root)
        w->users_wd = inotify_add_watch(w->fd, USERS_FOLDER, IN_MOVED_TO | IN_CLOSE_WRITE);
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct inbox_watch *w = handle->data;

    close(w->fd);
    free(w->items);
    free(w);
}

void inbox_watch_destroy(struct inbox_watch *w)
{
    if (w != NULL)
        uv_close((uv_handle_t *)&w->poll, on_closed);
}

struct inbox_watch *inbox_watch_create(struct inbox *in, struct err *e)
{
    struct inbox_watch *w = mem_alloc(sizeof *w);
    int rc;

    w->in = in;
    w->users_wd = -1;
    w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (w->fd < 0) {
        err_sys(e, "inotify");
        free(w);
        return NULL;
    }
    rc = watch_folders(w, e);
    if (rc == 0 && (rc = uv_poll_init(&in->sv->loop, &w->poll, w->fd)) < 0)
        err_set(e, ERR_FAILED, "inotify: %s", uv_strerror(rc));
    if (rc < 0) {
        close(w->fd);
        free(w);
        return NULL;
    }
    w->poll.data = w;
    rc = uv_poll_start(&w->poll, UV_READABLE, on_readable);
    if (rc == 0)
        return w;
    err_set(e, ERR_FAILED, "inotify: %s", uv_strerror(rc));
    inbox_watch_destroy(w);
    return NULL;
}
