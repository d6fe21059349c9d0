/* SPDX-License-Identifier: MIT */
/* runners.c - start runners, find them again, notice that they are gone; their orders and notes */

#include "worker/agent/runners.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/log.h"
#include "worker/agent/child_question.h"
#include "worker/node/job_cgroup.h"
#include "worker/node/unix_socket.h"

/* Files in a runner's folder, beside lock and sock. */
#define USER_FILE "user"
#define CAGE_FILE "cage"

enum {
    QUEUED_MAX_BYTES = 32 * 1024 * 1024,
    CAGE_MAX_BYTES = 4096,
    CHECK_AT_FIRST_MS = 10,
    CHECK_AT_MOST_MS = 1000
};

struct runner {
    struct ring ring;
    struct ring idle;
    struct runners *all;
    char *name; /* runner.N */
    char *user; /* the user whose jobs it runs, as in struct owner */
    char *cage; /* its control group, see job_cgroup.h; NULL: none */
    int dir_fd;
    pid_t pid;            /* 0: not a child of ours, or reaped */
    struct chan *chan;    /* NULL: being looked for, or leaving */
    struct batch *batch;  /* NULL: none, or not known */
    struct token process; /* what it runs; zero: nothing */
    uint64_t idle_since;
    bool is_unknown;  /* adopted, and has not said what it runs */
    bool is_leaving;  /* idle, told to go */
    uv_timer_t check; /* while it is not known whether it lives */
    uint64_t check_ms;
};

/* The connection is gone: looks until it is certain that the runner is gone or listens again. */
static void look_for_runner(struct runner *r);

static void lose_connection(struct runner *r)
{
    ring_remove(&r->idle);
    chan_destroy(r->chan);
    r->chan = NULL;
    look_for_runner(r);
}

/* ---- idle runners ---- */

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

static void on_idle_timer(uv_timer_t *timer)
{
    struct runners *rs = timer->data;

    for (RING_EACH(struct runner, r, &rs->idle, idle)) {
        if (uv_now(rs->loop) - r->idle_since < RUNNER_IDLE_MS)
            continue;
        /* The runner leaves when its connection ends; its lock says when it is gone. */
        r->is_leaving = true;
        lose_connection(r);
    }
    watch_idle(rs);
}

static void set_idle(struct runner *r)
{
    r->batch = NULL;
    r->process = (struct token){ { 0 } };
    r->idle_since = uv_now(r->all->loop);
    ring_insert(&r->all->idle, &r->idle);
    watch_idle(r->all);
}

/* ---- notes ---- */

static int take_note(struct runner *r, const struct envelope *m, struct arena *a, struct err *e)
{
    struct runners *rs = r->all;
    struct batch *b = r->batch;
    union {
        struct note_hello hello;
        struct note_started started;
        struct note_ended ended;
    } note;

    if (m->type != NOTE_HELLO && m->type != NOTE_STARTED && m->type != NOTE_ENDED)
        return err_set(e, ERR_PROTOCOL, "unexpected %s", orders.messages[m->type].name);
    if (message_body(&orders, m, a, &note, e) < 0)
        return -1;
    if (m->type == NOTE_STARTED) {
        rs->events.started(rs->ag, r, &note.started);
    } else if (m->type == NOTE_ENDED) {
        if (token_equal(&r->process, &note.ended.token)) { /* else the others of a batch go on */
            set_idle(r);
            if (b != NULL)
                b->runner = NULL;
        }
        rs->events.ended(rs->ag, r, &note.ended.token, note.ended.trouble);
    } else if (r->is_unknown) { /* a new runner's first hello says nothing */
        r->is_unknown = false;
        rs->n_unknown--;
        r->process = note.hello.token;
        if (token_is_zero(&note.hello.token)) { /* its job ended while no agent was connected */
            set_idle(r);
            if (b != NULL) {
                b->runner = NULL;
                rs->events.lost(rs->ag, b);
            }
        }
        rs->events.adopted(rs->ag, r, &note.hello);
    }
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
            log_event(LOG_ERROR, "runner-refused", "runner", "%s", r->name, "why", "%s", e.text,
                      NULL);
            lose_connection(r);
            return;
        }
    }
}

static void on_closed(void *context, struct chan *c, const struct err *why)
{
    (void)c, (void)why;
    lose_connection(context);
}

static const struct chan_events runner_chan_events = { .readable = on_readable,
                                                       .closed = on_closed };

void runners_reaped(struct runners *rs, pid_t pid)
{
    for (RING_EACH(struct runner, r, &rs->all, ring)) {
        if (r->pid == pid) {
            r->pid = 0;
            if (r->chan == NULL)
                look_for_runner(r);
            return;
        }
    }
}

/* ---- a runner ---- */

static void on_timer_closed(uv_handle_t *handle)
{
    struct runner *r = handle->data;

    free(r->name);
    free(r->user);
    free(r->cage);
    free(r);
}

static void forget_runner(struct runner *r)
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

/* ---- lost connections ---- */

static void remove_folder(const struct runner *r)
{
    struct err e = { 0 };

    if (io_remove_tree_at(r->all->dir_fd, r->name, &e) < 0)
        log_event(LOG_WARN, "runner-folder", "why", "%s", e.text, NULL);
}

static void on_check(uv_timer_t *timer)
{
    look_for_runner(timer->data);
}

/* If the runner is gone, all that it started goes with it.  A runner that lives may have lost its
 * connection: then it listens again. */
static void look_for_runner(struct runner *r)
{
    struct runners *rs = r->all;
    struct batch *b = r->batch;
    bool is_gone = r->dir_fd < 0, was_asked_to = r->is_leaving;
    struct err e = { 0 };
    int fd;

    if (!is_gone) {
        is_gone = child_lock(r->dir_fd, "lock", &fd, &e) == 0;
        if (is_gone)
            close(fd);
        else if (e.kind != ERR_BUSY)
            log_event(LOG_WARN, "runner-lock", "runner", "%s", r->name, "why", "%s", e.text, NULL);
    }
    if (is_gone && (r->cage == NULL || job_cgroup_end(r->cage))) {
        remove_folder(r);
        forget_runner(r);
        if (b != NULL)
            b->runner = NULL;
        if (!was_asked_to)
            rs->events.lost(rs->ag, b);
        return;
    }
    if (!is_gone && !r->is_leaving) {
        fd = unix_socket_connect_at(r->dir_fd, "sock", &e);
        if (fd >= 0)
            r->chan =
                chan_create(rs->loop, fd, &orders, &runner_chan_events, r, QUEUED_MAX_BYTES, &e);
        if (r->chan != NULL) {
            rs->n_unknown += !r->is_unknown;
            r->is_unknown = true;
            return;
        }
    }
    r->check_ms = r->check_ms == 0                     ? CHECK_AT_FIRST_MS
                  : r->check_ms * 2 < CHECK_AT_MOST_MS ? r->check_ms * 2
                                                       : CHECK_AT_MOST_MS;
    uv_timer_start(&r->check, on_check, r->check_ms, 0);
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

static void drop_cage(struct runner *r)
{
    if (r->cage != NULL)
        (void)job_cgroup_end(r->cage);
    free(r->cage);
    r->cage = NULL;
}

/* The runner is handed its lock and the socket at which later agents find it: the folder stays
 * ours.  The name of its control group is noted down first, so that a later agent finds it. */
static int start_in_folder(struct runner *r, const struct owner *owner, struct err *e)
{
    uid_t uid = owner->rights == NULL ? geteuid() : (uid_t)strtoul(owner->rights, NULL, 10);
    struct child child = { .owner = owner, .args = { CHILD_RUNNER, owner->scratch } };
    struct err why = { 0 };
    int rc = child_lock(r->dir_fd, "lock", &child.lock_fd, e);

    if (rc == 0)
        rc = child.listen_fd = unix_socket_listen_at(r->dir_fd, "sock", e);
    if (rc >= 0) {
        r->cage = job_cgroup_name();
        if (r->cage != NULL &&
            io_write_file_at(r->dir_fd, CAGE_FILE, r->cage, strlen(r->cage), 0600, &why) < 0)
            log_event(LOG_WARN, "runner-folder", "why", "%s", why.text, NULL);
        if (r->cage != NULL && !job_cgroup_make(r->cage, uid, &child.limit_fd))
            drop_cage(r);
        rc = child_connect(r->all->loop, &child, &runner_chan_events, r, QUEUED_MAX_BYTES, &r->pid,
                           &r->chan, e);
    }
    if (child.lock_fd > 0)
        close(child.lock_fd);
    if (child.listen_fd > 0)
        close(child.listen_fd);
    if (child.limit_fd > 0)
        close(child.limit_fd);
    return rc;
}

static struct runner *start_runner(struct runners *rs, const struct owner *owner, struct err *e)
{
    char *name = mem_printf("runner.%u", rs->next_number++);
    struct runner *r = runner_create(rs, name);

    free(name);
    r->user = owner->name == NULL ? NULL : mem_strdup(owner->name);
    if (mkdirat(rs->dir_fd, r->name, 0700) < 0)
        err_sys(e, "create %s", r->name);
    else if (open_folder(r, e) == 0 &&
             (r->user == NULL ||
              io_write_file_at(r->dir_fd, USER_FILE, r->user, strlen(r->user), 0600, e) == 0) &&
             start_in_folder(r, owner, e) == 0) {
        /* Before the runner is told to start anything */
        if (r->cage != NULL && !job_cgroup_put(r->cage, r->pid))
            drop_cage(r);
        return r;
    }
    drop_cage(r);
    remove_folder(r);
    forget_runner(r);
    err_wrap(e, "runner");
    return NULL;
}

static char *read_text(const struct runner *r, const char *name, size_t max_bytes)
{
    struct buf text = { 0 };

    if (io_read_file_at(r->dir_fd, name, max_bytes, &text, NULL) == 0 && text.n > 0)
        return buf_take(&text);
    buf_free(&text);
    return NULL;
}

int runners_adopt(struct runners *rs, struct err *e)
{
    DIR *d = io_list_dir_at(rs->dir_fd, ".", e);
    const struct dirent *entry;
    struct err why = { 0 };

    if (d == NULL)
        return err_wrap(e, "list the runners");
    while ((entry = readdir(d)) != NULL) {
        unsigned number;
        struct runner *r;

        if (strncmp(entry->d_name, "runner.", strlen("runner.")) != 0)
            continue;
        r = runner_create(rs, entry->d_name);
        number = (unsigned)strtoul(entry->d_name + strlen("runner."), NULL, 10);
        if (number >= rs->next_number)
            rs->next_number = number + 1;
        r->is_unknown = true;
        rs->n_unknown++;
        if (open_folder(r, &why) < 0) {
            log_event(LOG_WARN, "runner-folder", "why", "%s", why.text, NULL);
            continue;
        }
        r->user = read_text(r, USER_FILE, NAME_MAX_BYTES);
        r->cage = read_text(r, CAGE_FILE, CAGE_MAX_BYTES);
    }
    closedir(d);
    for (RING_EACH(struct runner, r, &rs->all, ring))
        look_for_runner(r);
    return 0;
}

/* ---- orders ---- */

bool runner_is_of(const struct runner *r, const struct owner *owner)
{
    return owner_is(owner, r->user);
}

const char *runner_user(const struct runner *r)
{
    return r->user;
}

struct batch *runner_batch(const struct runner *r)
{
    return r->batch;
}

void runner_assign(struct runner *r, struct batch *b)
{
    r->batch = b;
    r->process = b->token;
    b->runner = r;
}

int runners_run(struct runners *rs, struct batch *b, const struct owner *owner, struct err *e)
{
    /* Its first member's order, and what the others have of their own. */
    struct order_run run = { batch_first(b)->order, { NULL, 0 } };
    struct assignment *mates = NULL;
    struct runner *r = NULL;
    size_t capacity = 0;
    int64_t seq;

    for (RING_EACH(struct runner, idle, &rs->idle, idle))
        if (r == NULL && owner_is(owner, idle->user))
            r = idle;
    if (r == NULL)
        r = start_runner(rs, owner, e);
    if (r == NULL)
        return -1;
    ring_remove(&r->idle);
    for (RING_EACH(const struct attempt, a, &b->members, mate)) {
        if (a == batch_first(b))
            continue;
        mem_grow((void **)&mates, &capacity, run.mates.n, sizeof *mates);
        mates[run.mates.n++] = a->order.assignment;
    }
    run.mates.items = mates;
    seq = chan_send(r->chan, ORDER_RUN, 0, NULL, &run, e);
    free(mates);
    if (seq < 0) {
        lose_connection(r);
        return -1;
    }
    runner_assign(r, b);
    return 0;
}

void runner_stop(struct runner *r, const struct token *token)
{
    struct order_stop stop = { .token = *token, .grace_ms = RUNNER_GRACE_MS };

    if (r->chan != NULL)
        chan_send(r->chan, ORDER_STOP, 0, NULL, &stop, NULL);
}

void runner_preempt(struct runner *r, enum cause cause, const char *reason, int64_t budget_ms)
{
    struct order_preempt order = { r->process, (int)cause, reason, budget_ms };

    if (r->chan != NULL)
        chan_send(r->chan, ORDER_PREEMPT, 0, NULL, &order, NULL);
}

/* ---- all runners ---- */

void runners_init(struct runners *rs, uv_loop_t *loop, int dir_fd,
                  const struct runner_events *events, struct agent *ag)
{
    *rs = (struct runners){
        .loop = loop, .events = *events, .ag = ag, .dir_fd = dir_fd, .arena = arena_create()
    };
    ring_init(&rs->all);
    ring_init(&rs->idle);
    uv_timer_init(loop, &rs->idle_timer);
    rs->idle_timer.data = rs;
}

void runners_close(struct runners *rs)
{
    if (rs->loop == NULL)
        return;
    for (RING_EACH(struct runner, r, &rs->all, ring))
        forget_runner(r);
    uv_close((uv_handle_t *)&rs->idle_timer, NULL);
    arena_destroy(rs->arena);
    rs->loop = NULL;
}
