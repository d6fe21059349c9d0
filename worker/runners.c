/* SPDX-License-Identifier: MIT */
/* runners.c - start, order, adopt and miss runners */

#include "worker/runners.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io.h"
#include "common/log.h"
#include "worker/children.h"
#include "worker/sock.h"

enum {
    QUEUED_MAX_BYTES = 32 * 1024 * 1024,
    CHECK_AT_FIRST_MS = 10,
    CHECK_AT_MOST_MS = 1000
};

struct runner {
    struct ring ring;
    struct ring idle;
    struct runners *all;
    char *name; /* runner.N */
    int dir_fd;
    pid_t pid; /* 0: not a child of ours, or reaped */
    struct chan *chan; /* NULL: being looked for, or leaving */
    struct attempt *attempt;
    uint64_t idle_since;
    bool is_unknown; /* adopted, and has not said what it runs */
    bool is_leaving; /* idle, told to go */
    uv_timer_t check; /* while it is not known whether it lives */
    uint64_t check_ms;
};

static void on_timer_closed(uv_handle_t *handle)
{
    struct runner *r = handle->data;

    free(r->name);
    free(r);
}

static void forget(struct runner *r)
{
    if (r->is_unknown)
        r->all->n_unknown--;
    ring_remove(&r->ring);
    ring_remove(&r->idle);
    chan_destroy(r->chan);
    if (r->dir_fd >= 0)
        close(r->dir_fd);
    uv_close((uv_handle_t *)&r->check, on_timer_closed);
}

static struct runner *runner_create(struct runners *rs, const char *name)
{
    struct runner *r = mem_alloc(sizeof *r);

    r->all = rs;
    r->name = mem_strdup(name);
    r->dir_fd = -1;
    ring_init(&r->idle);
    ring_add_last(&rs->all, &r->ring);
    uv_timer_init(rs->loop, &r->check);
    r->check.data = r;
    return r;
}

/* ---- idle ones leave ---- */

static void on_idle_timer(uv_timer_t *timer);

static void watch_idle(struct runners *rs)
{
    const struct runner *oldest;
    uint64_t now = uv_now(rs->loop), age;

    if (ring_is_empty(&rs->idle) || uv_is_active((uv_handle_t *)&rs->idle_timer))
        return;
    oldest = RING_ITEM(rs->idle.prev, struct runner, idle);
    age = now - oldest->idle_since;
    uv_timer_start(&rs->idle_timer, on_idle_timer, age < RUNNER_IDLE_MS ? RUNNER_IDLE_MS - age : 0,
                   0);
}

static void look_for(struct runner *r);

/* It leaves when its connection ends; its lock says when it is gone. */
static void let_go(struct runner *r)
{
    ring_remove(&r->idle);
    chan_destroy(r->chan);
    r->chan = NULL;
    r->is_leaving = true;
    look_for(r);
}

static void on_idle_timer(uv_timer_t *timer)
{
    struct runners *rs = timer->data;
    struct ring *at, *after;

    RING_EACH (&rs->idle, at, after) {
        struct runner *r = RING_ITEM(at, struct runner, idle);

        if (uv_now(rs->loop) - r->idle_since >= RUNNER_IDLE_MS)
            let_go(r);
    }
    watch_idle(rs);
}

static void set_idle(struct runner *r)
{
    r->attempt = NULL;
    r->idle_since = uv_now(r->all->loop);
    ring_insert(&r->all->idle, &r->idle);
    watch_idle(r->all);
}

/* ---- what they say ---- */

static void break_off(struct runner *r, const struct err *why)
{
    log_event(LOG_ERROR, "runner-refused", "runner", "%s", r->name, "why", "%s", why->text, NULL);
    chan_destroy(r->chan);
    r->chan = NULL;
    ring_remove(&r->idle);
    look_for(r);
}

/* It is idle: what it had ended while nobody was connected. */
static void miss_attempt(struct runner *r)
{
    struct attempt *a = r->attempt;

    set_idle(r);
    if (a != NULL) {
        a->runner = NULL;
        r->all->events.lost(r->all->context, a);
    }
}

/* A new runner's first hello says nothing; one that was looked for tells what it runs. */
static void take_hello(struct runner *r, const struct note_hello *hello)
{
    if (!r->is_unknown)
        return;
    r->is_unknown = false;
    r->all->n_unknown--;
    if (token_is_zero(&hello->token))
        miss_attempt(r);
    r->all->events.adopted(r->all->context, r, hello);
}

static void take_ended(struct runner *r, const struct token *token)
{
    if (r->attempt != NULL && !token_equal(&r->attempt->token, token))
        return;
    if (r->attempt != NULL)
        r->attempt->runner = NULL;
    set_idle(r);
    r->all->events.ended(r->all->context, r, token);
}

static int take_note(struct runner *r, const struct envelope *m, struct arena *a, struct err *e)
{
    union {
        struct note_hello hello;
        struct note_started started;
        struct note_ended ended;
    } note;

    if (m->type != NOTE_HELLO && m->type != NOTE_STARTED && m->type != NOTE_ENDED)
        return err_set(e, ERR_PROTOCOL, "unexpected %s", orders.messages[m->type].name);
    if (message_body(&orders, m, a, &note, e) < 0)
        return -1;
    if (m->type == NOTE_HELLO)
        take_hello(r, &note.hello);
    else if (m->type == NOTE_STARTED)
        r->all->events.started(r->all->context, r, &note.started);
    else
        take_ended(r, &note.ended.token);
    return 0;
}

static void on_readable(void *context, struct chan *c)
{
    struct runner *r = context;
    struct arena *a = r->all->arena;
    struct err e = { 0 };
    struct envelope m;
    int rc;

    while (r->chan == c && (rc = chan_next(c, a, &m, &e)) != 0) {
        if (rc == 1)
            rc = take_note(r, &m, a, &e);
        arena_reset(a);
        if (rc < 0) {
            break_off(r, &e);
            return;
        }
    }
}

static void on_closed(void *context, struct chan *c, const struct err *why)
{
    struct runner *r = context;

    (void)why;
    chan_destroy(c);
    r->chan = NULL;
    ring_remove(&r->idle);
    look_for(r);
}

static int connect_chan(struct runner *r, int fd, struct err *e)
{
    static const struct chan_events events = { on_readable, NULL, on_closed };

    r->chan = chan_create(r->all->loop, fd, &orders, &events, r, QUEUED_MAX_BYTES, e);
    return r->chan == NULL ? -1 : 0;
}

/* ---- does it live? ---- */

static void remove_folder(const struct runner *r)
{
    struct err e = { 0 };

    if (io_remove_tree_at(r->all->dir_fd, r->name, &e) < 0)
        log_event(LOG_WARN, "runner-folder", "why", "%s", e.text, NULL);
}

static void on_gone(struct runner *r)
{
    struct runners *rs = r->all;
    struct attempt *a = r->attempt;
    bool was_asked_to = r->is_leaving;

    remove_folder(r);
    forget(r);
    if (a != NULL)
        a->runner = NULL;
    if (!was_asked_to)
        rs->events.lost(rs->context, a);
}

static bool is_gone(const struct runner *r)
{
    struct err e = { 0 };
    int lock_fd;

    if (r->dir_fd < 0)
        return true;
    if (child_lock(r->dir_fd, "lock", &lock_fd, &e) == 0) {
        close(lock_fd);
        return true;
    }
    if (e.kind != ERR_BUSY)
        log_event(LOG_WARN, "runner-lock", "runner", "%s", r->name, "why", "%s", e.text, NULL);
    return false;
}

static void on_check(uv_timer_t *timer)
{
    look_for(timer->data);
}

/* Also one that lives may have lost its connection: then it listens again. */
static void look_for(struct runner *r)
{
    struct err e = { 0 };
    int fd;

    if (is_gone(r)) {
        on_gone(r);
        return;
    }
    if (!r->is_leaving) {
        fd = sock_connect_at(r->dir_fd, "sock", &e);
        if (fd >= 0 && connect_chan(r, fd, &e) == 0) {
            if (!r->is_unknown)
                r->all->n_unknown++;
            r->is_unknown = true;
            return;
        }
    }
    r->check_ms = r->check_ms == 0                    ? CHECK_AT_FIRST_MS
                  : r->check_ms * 2 < CHECK_AT_MOST_MS ? r->check_ms * 2
                                                       : CHECK_AT_MOST_MS;
    uv_timer_start(&r->check, on_check, r->check_ms, 0);
}

void runners_reaped(struct runners *rs, pid_t pid)
{
    struct ring *at, *after;

    RING_EACH (&rs->all, at, after) {
        struct runner *r = RING_ITEM(at, struct runner, ring);

        if (r->pid != pid)
            continue;
        r->pid = 0;
        if (r->chan == NULL)
            look_for(r);
        return;
    }
}

/* ---- starting ---- */

static int open_folder(struct runner *r, struct err *e)
{
    struct stat st;

    r->dir_fd = openat(r->all->dir_fd, r->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (r->dir_fd < 0)
        return err_sys(e, "open %s", r->name);
    if (fstat(r->dir_fd, &st) < 0)
        return err_sys(e, "stat %s", r->name);
    return st.st_uid == geteuid() ? 0 : err_set(e, ERR_DENIED, "%s is not ours", r->name);
}

static int make_folder(struct runner *r, struct err *e)
{
    if (mkdirat(r->all->dir_fd, r->name, 0700) < 0)
        return err_sys(e, "create %s", r->name);
    return open_folder(r, e);
}

static char *folder_path(const struct runner *r, struct err *e)
{
    char link[64];
    char *path;

    snprintf(link, sizeof link, "/proc/self/fd/%d", r->dir_fd);
    path = realpath(link, NULL);
    if (path == NULL)
        err_sys(e, "path of %s", r->name);
    return path;
}

static int start_process(struct runner *r, int lock_fd, struct err *e)
{
    char *path = folder_path(r, e);
    struct child child = { .args = { CHILD_RUNNER, path, r->all->scratch },
                           .stdout_fd = -1,
                           .lock_fd = lock_fd };
    int ours, rc = -1;

    if (path != NULL && sock_pair(&ours, &child.channel_fd, e) == 0) {
        rc = child_start(&child, &r->pid, e);
        close(child.channel_fd);
        if (rc < 0)
            close(ours);
        else
            rc = connect_chan(r, ours, e);
    }
    free(path);
    return rc;
}

static struct runner *start_runner(struct runners *rs, struct err *e)
{
    char *name = mem_printf("runner.%u", rs->next_number++);
    struct runner *r = runner_create(rs, name);
    int lock_fd = -1, rc;

    free(name);
    rc = make_folder(r, e);
    if (rc == 0)
        rc = child_lock(r->dir_fd, "lock", &lock_fd, e);
    if (rc == 0)
        rc = start_process(r, lock_fd, e);
    if (lock_fd >= 0)
        close(lock_fd);
    if (rc == 0)
        return r;
    remove_folder(r);
    forget(r);
    err_wrap(e, "runner");
    return NULL;
}

/* ---- orders ---- */

static struct runner *take_idle(struct runners *rs)
{
    struct runner *r;

    if (ring_is_empty(&rs->idle))
        return NULL;
    r = RING_ITEM(rs->idle.next, struct runner, idle);
    ring_remove(&r->idle);
    return r;
}

int runners_run(struct runners *rs, struct attempt *a, struct err *e)
{
    struct order_run run = { a->order };
    struct runner *r = take_idle(rs);

    if (r == NULL)
        r = start_runner(rs, e);
    if (r == NULL)
        return -1;
    if (chan_send(r->chan, ORDER_RUN, 0, NULL, &run, e) < 0) {
        chan_destroy(r->chan);
        r->chan = NULL;
        look_for(r);
        return -1;
    }
    r->attempt = a;
    a->runner = r;
    return 0;
}

void runner_stop(struct runner *r)
{
    struct order_stop stop = { .grace_ms = RUNNER_GRACE_MS };

    if (r->chan == NULL || r->attempt == NULL)
        return;
    stop.token = r->attempt->token;
    chan_send(r->chan, ORDER_STOP, 0, NULL, &stop, NULL);
}

void runner_assign(struct runner *r, struct attempt *a)
{
    r->attempt = a;
    a->runner = r;
}

/* ---- all of them ---- */

void runners_init(struct runners *rs, uv_loop_t *loop, int dir_fd, const char *scratch,
                  const struct runner_events *events, void *context)
{
    *rs = (struct runners){ .loop = loop,
                            .events = *events,
                            .context = context,
                            .scratch = scratch,
                            .dir_fd = dir_fd,
                            .arena = arena_create() };
    ring_init(&rs->all);
    ring_init(&rs->idle);
    uv_timer_init(loop, &rs->idle_timer);
    rs->idle_timer.data = rs;
}

void runners_close(struct runners *rs)
{
    struct ring *at, *after;

    if (rs->loop == NULL)
        return;
    RING_EACH (&rs->all, at, after)
        forget(RING_ITEM(at, struct runner, ring));
    uv_close((uv_handle_t *)&rs->idle_timer, NULL);
    arena_destroy(rs->arena);
    rs->loop = NULL;
}

static void find_runner(struct runners *rs, const char *name)
{
    struct runner *r = runner_create(rs, name);
    unsigned number = (unsigned)strtoul(name + strlen("runner."), NULL, 10);
    struct err e = { 0 };

    if (number >= rs->next_number)
        rs->next_number = number + 1;
    r->is_unknown = true;
    rs->n_unknown++;
    if (open_folder(r, &e) < 0)
        log_event(LOG_WARN, "runner-folder", "why", "%s", e.text, NULL);
}

int runners_adopt(struct runners *rs, struct err *e)
{
    int fd = fcntl(rs->dir_fd, F_DUPFD_CLOEXEC, 0);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct ring *at, *after;
    const struct dirent *entry;

    if (d == NULL) {
        err_sys(e, "list the runners");
        if (fd >= 0)
            close(fd);
        return -1;
    }
    rewinddir(d);
    while ((entry = readdir(d)) != NULL)
        if (strncmp(entry->d_name, "runner.", strlen("runner.")) == 0)
            find_runner(rs, entry->d_name);
    closedir(d);
    RING_EACH (&rs->all, at, after)
        look_for(RING_ITEM(at, struct runner, ring));
    return 0;
}
