/* SPDX-License-Identifier: MIT */
/* inbox.c - decides when each user's folder is visited, and takes the results of a visit */
#include "server/inbox/inbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/proto/layout.h"
#include "server/inbox/inbox_internal.h"

enum { SCAN_EVERY_MS = 500 };

/* The file of accounts; all tools rename a new one into place. */
#define USERS_FOLDER "/etc"
#define USERS_FILE   "passwd"

enum { EVENTS_BYTES = 64 * 1024 };

struct watched {
    int wd;
    struct box *box;
};

/* Watches of inotify: of the inbox, its users' folders, and the file of accounts. */
struct inbox_watch {
    struct inbox *in;
    uv_poll_t poll;
    int fd;
    int inbox_wd, users_wd;
    struct watched *items; /* by wd, which only grows */
    size_t n, capacity;
    char events[EVENTS_BYTES] __attribute__((aligned(__alignof__(struct inotify_event))));
};

enum inbox_kind inbox_kind(const struct inbox *in)
{
    return in->kind;
}

const char *inbox_why_none(const struct inbox *in)
{
    return in->why_none;
}

/* ---- the folders of users ---- */

/* The index of the user's box, or where it belongs. */
static size_t index_of_uid(const struct inbox *in, uid_t uid)
{
    size_t low = 0, high = in->n_boxes;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (in->boxes[middle]->uid < uid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct box *box_find(const struct inbox *in, uid_t uid)
{
    size_t i = index_of_uid(in, uid);

    return i < in->n_boxes && in->boxes[i]->uid == uid ? in->boxes[i] : NULL;
}

static struct box *box_add(struct inbox *in, uid_t uid)
{
    size_t i = index_of_uid(in, uid);
    struct box *b = mem_alloc(sizeof *b);

    b->in = in;
    b->uid = uid;
    b->wd = -1;
    mem_grow((void **)&in->boxes, &in->capacity, in->n_boxes, sizeof(struct box *));
    memmove(in->boxes + i + 1, in->boxes + i, (in->n_boxes - i) * sizeof(struct box *));
    in->boxes[i] = b;
    in->n_boxes++;
    in->n_unwatched++;
    return b;
}

static bool box_has_dead(const struct box *b, const struct token *token)
{
    size_t n = b->n_dead < INBOX_DEAD_MAX ? b->n_dead : INBOX_DEAD_MAX;

    for (size_t i = 0; i < n; i++)
        if (token_equal(&b->dead[i], token))
            return true;
    return false;
}

/* Takes the first box in the queue that need not rest, or NULL.  *next becomes the time when the
 * first of the resting ones may be visited, unless *next is sooner. */
static struct box *take_queued(struct inbox *in, uint64_t *next)
{
    uint64_t now = inbox_now(in);
    struct box *before = NULL;

    for (struct box *b = in->first_queued; b != NULL; before = b, b = b->next_queued) {
        if (b->rest_ms > now) {
            if (*next == 0 || b->rest_ms < *next)
                *next = b->rest_ms;
            continue;
        }
        if (before != NULL)
            before->next_queued = b->next_queued;
        else
            in->first_queued = b->next_queued;
        if (in->last_queued == b)
            in->last_queued = before;
        b->is_queued = false;
        return b;
    }
    return NULL;
}

/* ---- the kernel's events: new files in folders, new users ---- */

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

static void take_event(struct inbox_watch *w, const struct inotify_event *event)
{
    const char *name = event->len > 0 ? event->name : "";
    struct token token;
    struct box *b;
    int64_t no;

    if ((event->mask & IN_Q_OVERFLOW) != 0) {
        w->in->has_missed = true;
    } else if (event->wd == w->users_wd) {
        w->in->wants_users |= strcmp(name, USERS_FILE) == 0;
    } else if (event->wd == w->inbox_wd) {
        w->in->wants_boxes = true;
    } else if ((b = box_of(w, event->wd)) != NULL && b->wd == event->wd) {
        if ((event->mask & IN_IGNORED) != 0) {
            b->wd = -1; /* the folder is gone; a new one is watched when it is found */
            w->in->n_unwatched++;
        } else if (file_request_parse_name(name, &token, &no, NULL) == 0) {
            /* The folder has to be listed only if the file is of an unknown connection. */
            bool is_known = file_conn_find(b, &token) != NULL;

            if (!is_known && box_has_dead(b, &token))
                return;
            b->wants_list |= !is_known;
            inbox_queue(b);
        }
    }
}

static void on_events(uv_poll_t *poll, int status, int events)
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

static void watch_add(struct inbox_watch *w, struct box *b)
{
    char *path = mem_printf("%s/%u", w->in->path, b->uid);

    /* Only new names are watched: a user who writes to open files there shall not keep ludwigd
     * busy. OpenSSH's SFTP server renames by link(2) and unlink(2) where posix-rename is forbidden.
     * */
    b->wd = inotify_add_watch(w->fd, path, IN_MOVED_TO | IN_CREATE | IN_ONLYDIR | IN_DONT_FOLLOW);
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

static void on_watch_closed(uv_handle_t *handle)
{
    struct inbox_watch *w = handle->data;

    close(w->fd);
    free(w->items);
    free(w);
}

static void watch_destroy(struct inbox_watch *w)
{
    uv_close((uv_handle_t *)&w->poll, on_watch_closed);
}

static struct inbox_watch *watch_create(struct inbox *in, struct err *e)
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
    /* Events of new folders are needed; new users are also noticed when they connect. */
    w->inbox_wd = inotify_add_watch(
        w->fd, in->path, IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_ONLYDIR | IN_DONT_FOLLOW);
    if (in->dirs.is_root && w->inbox_wd >= 0)
        w->users_wd = inotify_add_watch(w->fd, USERS_FOLDER, IN_MOVED_TO | IN_CLOSE_WRITE);
    if (w->inbox_wd < 0) {
        err_sys(e, "inotify: watch %s", in->path);
    } else if ((rc = uv_poll_init(&in->sv->loop, &w->poll, w->fd)) < 0) {
        err_set(e, ERR_FAILED, "inotify: %s", uv_strerror(rc));
    } else {
        w->poll.data = w;
        rc = uv_poll_start(&w->poll, UV_READABLE, on_events);
        if (rc == 0)
            return w;
        err_set(e, ERR_FAILED, "inotify: %s", uv_strerror(rc));
        watch_destroy(w);
        return NULL;
    }
    close(w->fd);
    free(w);
    return NULL;
}

/* ---- a visit ---- */

/* Logs, once until the reason changes, why the folder or the first file of a new connection cannot
 * be trusted.  Only a visit that lists the folder can find that the reason is over. */
static void log_refusal(struct box *b, const struct visit *v)
{
    const struct err *why = &v->error;

    for (size_t i = 0; i < v->n_conns && why->kind == ERR_NONE; i++) {
        const struct visit_conn *c = &v->conns[i];

        if (c->owner == NULL && c->n_got == 0 && c->is_bad && c->why.kind != ERR_PROTOCOL)
            why = &c->why;
    }
    if (why->kind != ERR_NONE && why->kind != ERR_NOT_FOUND) {
        if (strcmp(b->refused.text, why->text) != 0)
            log_event(LOG_WARN, "inbox-refused", "uid", "%lld", (long long)b->uid, "why", "%s",
                      why->text, NULL);
        b->refused = *why;
    } else if (v->lists) {
        err_clear(&b->refused);
    }
}

static void after_visit(struct inbox *in)
{
    struct visit *v = &in->visit;
    struct box *b = in->visited;
    bool was_of_use = v->n_puts + v->n_out_drops > 0;

    in->visited = NULL;
    log_refusal(b, v);
    if (v->put_error.kind != ERR_NONE)
        log_event(LOG_ERROR, "outbox", "error", "%s", v->put_error.text, NULL);
    for (size_t i = 0; i < v->n_puts; i++)
        file_conn_took_put(v->puts[i].owner, &v->puts[i]);
    for (size_t i = 0; i < v->n_conns; i++) {
        const struct visit_conn *c = &v->conns[i];

        was_of_use |= c->n_got > 0;
        /* A file that cannot be trusted begins no connection, and is looked at again.  A file that
         * the user made, but that is no request, is answered. */
        if (c->owner != NULL)
            file_conn_take(c->owner, c);
        else if (c->n_got > 0)
            file_conn_take(file_conn_open(b, &c->token), c);
        else if (c->is_bad && c->why.kind == ERR_PROTOCOL)
            file_conn_refuse(b, &c->token, c->why.text);
    }
    file_conn_bury(b);
    b->pause_ms = was_of_use ? 0 : b->pause_ms == 0 ? 1 : 2 * b->pause_ms;
    if (b->pause_ms > INBOX_REST_MAX_MS)
        b->pause_ms = INBOX_REST_MAX_MS;
    b->rest_ms = inbox_now(in) + b->pause_ms;
    if (v->has_more) {
        b->wants_list |= v->lists;
        inbox_queue(b);
    }
    visit_clear(v);
}

/* ---- a scan for users and folders ---- */

static void after_scan(struct inbox *in)
{
    in->scan_ms = inbox_now(in) + SCAN_EVERY_MS;
    for (size_t i = 0; i < in->scan.n_found; i++) {
        struct box *b = box_find(in, in->scan.found[i]);

        if (b == NULL)
            b = box_add(in, in->scan.found[i]);
        if (b->wd < 0 && in->watch != NULL)
            watch_add(in->watch, b);
        b->wants_list = true; /* files may have come before the watch */
        inbox_queue(b);
    }
}

/* ---- work on threads ---- */

static void run_work(uv_work_t *work)
{
    struct inbox *in = work->data;

    if (in->visited != NULL)
        visit_run(&in->visit);
    else
        inbox_scan_run(&in->scan, &in->dirs);
}

static void after_work(uv_work_t *work, int status)
{
    struct inbox *in = work->data;

    (void)status; /* the work is never cancelled */
    uv_update_time(&in->sv->loop);
    in->is_working = false;
    if (in->is_ending)
        return;
    if (in->visited != NULL)
        after_visit(in);
    else
        after_scan(in);
    inbox_wake(in);
}

/* Begins a visit, or else a scan. */
static void begin_work(struct inbox *in)
{
    in->work.data = in;
    in->is_working = uv_queue_work(&in->sv->loop, &in->work, run_work, after_work) == 0;
}

static void start_visit(struct inbox *in, struct box *b)
{
    int64_t most = in->sv->conf.buffered_bytes;
    struct visit *v = &in->visit;
    size_t waiting = 0;

    in->visited = b;
    v->uid = b->uid;
    v->lists = b->wants_list;
    b->wants_list = false;
    for (struct file_conn *c = b->conns; c != NULL; c = file_conn_next(c))
        waiting += file_conn_waiting_bytes(c);
    b->is_full = most > 0 && waiting > (size_t)most;
    for (struct file_conn *c = b->conns; c != NULL; c = file_conn_next(c))
        file_conn_prepare(c, v);
    for (size_t i = 0; v->lists && i < b->n_dead && i < INBOX_DEAD_MAX; i++)
        visit_add_known(v, &b->dead[i]);
    begin_work(in);
}

/* Folders that are watched, or, if none are, listed regularly, need no look. */
static void start_scan(struct inbox *in)
{
    struct inbox_scan *s = &in->scan;

    s->n_known = 0;
    for (size_t i = 0; i < in->n_boxes; i++)
        if (in->boxes[i]->wd >= 0 || in->watch == NULL) {
            mem_grow((void **)&s->known, &s->known_capacity, s->n_known, sizeof *s->known);
            s->known[s->n_known++] = in->boxes[i]->uid;
        }
    s->makes_all = in->wants_users && in->users_ms <= inbox_now(in);
    s->n_met = 0;
    for (size_t i = 0; i < in->n_met; i++) {
        mem_grow((void **)&s->met, &s->met_capacity, s->n_met, sizeof *s->met);
        s->met[s->n_met++] = in->met[i];
    }
    in->n_met = 0;
    if (s->makes_all) {
        in->wants_users = false;
        in->users_ms = inbox_now(in) + INBOX_USERS_EVERY_MS;
    }
    in->wants_boxes = false;
    begin_work(in);
}

void inbox_meet(struct inbox *in, uid_t uid)
{
    if (in == NULL || in->kind == INBOX_NONE || !in->dirs.is_root || in->is_ending ||
        box_find(in, uid) != NULL || (int64_t)uid < in->sv->conf.min_uid)
        return;
    for (size_t i = 0; i < in->n_met; i++)
        if (in->met[i] == uid)
            return;
    if (in->n_met < INBOX_MET_MAX) {
        mem_grow((void **)&in->met, &in->met_capacity, in->n_met, sizeof *in->met);
        in->met[in->n_met++] = uid;
    } else {
        in->wants_users = true;
    }
    in->wants_boxes = true;
    inbox_wake(in);
}

/* ---- the clock ---- */

static void sooner(uint64_t *next, uint64_t at)
{
    if (*next == 0 || at < *next)
        *next = at;
}

/* Looks at the active boxes; those without connections become inactive.  Returns when the next of
 * their connections is due; 0: none is. */
static uint64_t tick_boxes(struct inbox *in)
{
    uint64_t now = inbox_now(in), next = 0;
    struct box **at = &in->active;

    while (*at != NULL) {
        struct box *b = *at;

        if (b->n_conns == 0) {
            b->is_active = false;
            *at = b->next_active;
            continue;
        }
        for (struct file_conn *c = b->conns; c != NULL; c = file_conn_next(c)) {
            uint64_t due = file_conn_tick(c);

            if (due > now)
                sooner(&next, due);
        }
        in->busy_ms = now;
        at = &b->next_active;
    }
    return next;
}

/* Queues listings of the folders of which no event tells that files are new. */
static void tick_listing(struct inbox *in, uint64_t *next)
{
    uint64_t now = inbox_now(in);
    bool was_busy = in->busy_ms != 0 && now - in->busy_ms < INBOX_LATELY_MS;
    uint64_t every = was_busy            ? INBOX_BUSY_EVERY_MS
                     : in->watch != NULL ? INBOX_UNWATCHED_EVERY_MS
                                         : INBOX_IDLE_EVERY_MS;

    if (in->n_unwatched == 0 && in->watch != NULL)
        return;
    if (in->listed_ms + every <= now) {
        for (size_t i = 0; i < in->n_boxes; i++)
            if (in->boxes[i]->wd < 0) {
                in->boxes[i]->wants_list = true;
                inbox_queue(in->boxes[i]);
            }
        in->wants_boxes |= in->watch == NULL && in->scan_ms + INBOX_IDLE_EVERY_MS <= now;
        in->listed_ms = now;
    }
    sooner(next, in->listed_ms + every);
}

/* Lists all folders after the kernel lost events, but not each time: a user could make it lose
 * events again and again. */
static void tick_missed(struct inbox *in, uint64_t *next)
{
    uint64_t now = inbox_now(in);

    if (!in->has_missed)
        return;
    if (in->missed_ms > now) {
        sooner(next, in->missed_ms);
        return;
    }
    in->has_missed = false;
    in->missed_ms = now + INBOX_UNWATCHED_EVERY_MS;
    for (size_t i = 0; i < in->n_boxes; i++) {
        in->boxes[i]->wants_list = true;
        inbox_queue(in->boxes[i]);
    }
    in->wants_users = in->wants_boxes = true;
}

/* Does what is due, unless work is under way, and sets the timer. */
static void on_timer(uv_timer_t *timer)
{
    struct inbox *in = timer->data;
    struct box *b = NULL;
    uint64_t now = inbox_now(in), next;

    if (in->is_ending)
        return;
    next = tick_boxes(in);
    tick_listing(in, &next);
    tick_missed(in, &next);
    if (!in->is_working && (in->wants_boxes || in->wants_users)) {
        uint64_t due = in->wants_boxes || in->users_ms < in->scan_ms ? in->scan_ms : in->users_ms;

        if (due <= now)
            start_scan(in);
        else
            sooner(&next, due);
    }
    if (!in->is_working)
        b = take_queued(in, &next);
    if (b != NULL)
        start_visit(in, b);
    if (next != 0)
        uv_timer_start(in->timer, on_timer, next > now ? next - now : 1, 0);
}

void inbox_expect(struct inbox *in)
{
    if (in == NULL || in->kind != INBOX_LISTED || in->is_ending)
        return;
    in->busy_ms = inbox_now(in);
    inbox_wake(in);
}

/* ---- beginning and end ---- */

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

struct inbox *inbox_create(struct server *sv)
{
    struct inbox *in = mem_alloc(sizeof *in);
    struct err e = { 0 };

    in->sv = sv;
    in->path = mem_printf("%s/%s/inbox", sv->conf.share, LAYOUT_SERVER_DIR);
    in->timer = mem_alloc(sizeof *in->timer);
    uv_timer_init(&sv->loop, in->timer);
    in->timer->data = in;
    in->on_timer = on_timer;
    if (inbox_dir_open(&in->dirs, sv->conf.share, &e) < 0) {
        in->kind = INBOX_NONE;
        in->why_none = mem_strdup(e.text);
        log_event(LOG_WARN, "no-inbox", "why", "%s", e.text, NULL);
        return in;
    }
    if (!in->dirs.is_network) {
        in->watch = watch_create(in, &e);
        if (in->watch == NULL)
            log_event(LOG_WARN, "inbox-not-watched", "why", "%s", e.text, NULL);
    }
    in->kind = in->watch != NULL ? INBOX_WATCHED : INBOX_LISTED;
    inbox_dir_clear_outbox(&in->dirs);
    in->visit.dirs = &in->dirs;
    in->visit.server_id = sv->server_id;
    in->visit.incarnation = sv->incarnation;
    in->scan.min_uid = (uid_t)sv->conf.min_uid;
    in->wants_users = true;
    in->listed_ms = inbox_now(in);
    inbox_wake(in);
    return in;
}

void inbox_stop(struct inbox *in)
{
    if (in == NULL)
        return;
    in->is_ending = true;
    while (in->is_working)
        uv_run(&in->sv->loop, UV_RUN_ONCE);
}

void inbox_destroy(struct inbox *in)
{
    if (in == NULL)
        return;
    for (size_t i = 0; i < in->n_boxes; i++) {
        struct box *b = in->boxes[i];

        while (b->conns != NULL) {
            struct file_conn *c = b->conns;

            b->conns = file_conn_next(c);
            file_conn_part(c);
        }
        free(b->dead);
        free(b);
    }
    if (in->watch != NULL)
        watch_destroy(in->watch);
    uv_close((uv_handle_t *)in->timer, free_handle);
    inbox_dir_close(&in->dirs);
    visit_free(&in->visit);
    inbox_scan_free(&in->scan);
    free(in->met);
    free(in->boxes);
    free(in->why_none);
    free(in->path);
    free(in);
}
