/* SPDX-License-Identifier: MIT */
/* runners.c - starts, finds, orders and ends runners, and notices when one is gone */

#include "worker/agent/runners.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/units.h"
#include "worker/agent/child_question.h"
#include "worker/base/confine.h"
#include "worker/base/process_tree.h"
#include "worker/node/job_cgroup.h"
#include "worker/node/unix_socket.h"

/* Files in a runner's folder, beside lock and sock. */
#define USER_FILE "user"
#define CAGE_FILE "cage"
/* The runner's pid, the process that it runs, and until when: see write_due. */
#define DUE_FILE "due"

enum {
    QUEUED_MAX_BYTES = 32 * 1024 * 1024,
    CAGE_MAX_BYTES = 4096,
    CHECK_AT_FIRST_MS = 10,
    CHECK_AT_MOST_MS = 1000,
    /* How long, beyond the time and the grace of its job, a runner on a slow or busy machine may
     * take to end it, */
    LATE_MAX_MS = 20 * 1000,
    /* and to start it. */
    START_MAX_MS = 30 * 1000,
    /* How long a runner whose job has ended may wait for room on scratch to write the outcome. */
    SAVE_MAX_MS = 60 * 1000,
    /* How long a runner of an earlier agent may take to say what it runs; more than
     * flow_recover.c waits for it. */
    SPEAK_MAX_MS = 10 * 1000,
    /* Processes below a runner are killed first, so often, as they stay there while it lives. */
    KILL_EVERY_MS = 100,
    KILLS_BELOW = 10,
    DUE_MAX_BYTES = 128,
};

struct runner {
    struct ring ring;
    struct ring idle;
    struct runners *all;
    char *name; /* runner.N */
    char *user; /* the user whose jobs it runs, as in struct owner */
    char *cage; /* the runner's control group, see job_cgroup.h; NULL: none */
    int dir_fd;
    pid_t pid;           /* 0: not known, or reaped; if it is no child of ours, it may have ended */
    struct chan *chan;   /* NULL: the runner is being looked for, or leaving */
    struct batch *batch; /* NULL: none, or not known */
    struct token process; /* the process that it runs; zero: none */
    uint64_t idle_since;
    bool is_unknown;  /* it has not said yet what it runs */
    bool is_leaving;  /* idle, told to go */
    uv_timer_t check; /* runs while it is not known whether the runner lives */
    uint64_t check_ms;
    int64_t allowed_ms;   /* how long its process may take from its start; 0: not limited */
    int64_t due_ms;       /* when its process should be gone, by units_monotonic_ms; 0: never */
    bool is_to_stop;      /* due_ms follows from an order to stop, not from the time limit */
    unsigned n_kills;     /* tries to kill since due_ms */
    uv_timer_t due_timer; /* at due_ms */
    unsigned n_closed;    /* how many of the timers are closed */
};

/* After the connection is gone: looks until the runner is found gone, or is connected again. */
static void look_for_runner(struct runner *r);

static void lose_connection(struct runner *r)
{
    ring_remove(&r->idle);
    chan_destroy(r->chan);
    r->chan = NULL;
    look_for_runner(r);
}

/* ---- runners that do not end their jobs ---- */

/* Overwrites the line in place, so that it does not fail for lack of room. */
static int write_due(const struct runner *r, struct err *e)
{
    int fd = openat(r->dir_fd, DUE_FILE, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600), rc;
    char hex[TOKEN_HEX], line[DUE_MAX_BYTES];

    if (fd < 0)
        return err_sys(e, "open %s", DUE_FILE);
    token_hex(&r->process, hex);
    snprintf(line, sizeof line, "%10lld %s %20" PRId64 " %d\n", (long long)r->pid, hex, r->due_ms,
             r->is_to_stop);
    rc = io_write_all(fd, line, strlen(line)) < 0 ? err_sys(e, "write %s", DUE_FILE) : 0;
    close(fd);
    return rc;
}

/* Kills the runner, even if it is stopped or waits for a disk.  A runner that goes on with nothing
 * below it is about to say so, or waits for room on scratch to write the outcome; unless it was
 * told to stop it gets SAVE_MAX_MS more, no longer: its job may have made the write impossible. */
static void on_due(uv_timer_t *timer)
{
    struct runner *r = timer->data;
    struct process_look look;
    size_t n_alive;

    if (r->pid == 0 || !process_look(r->pid, &look) || !child_lock_is_held(r->dir_fd, "lock"))
        return; /* gone: the end of its connection, or r->check, leads to look_for_runner */
    n_alive = process_tree_kill_below(r->pid, look.uid);
    if (r->n_kills == 0 && n_alive == 0 && look.state != 'T' && look.state != 't' &&
        !r->is_to_stop && units_monotonic_ms() < r->due_ms + SAVE_MAX_MS) {
        uv_timer_start(timer, on_due, CHECK_AT_MOST_MS, 0);
        return;
    }
    if (r->n_kills++ == 0)
        r->all->events.overdue(r->all->ag, r, &r->process, r->is_to_stop);
    if (n_alive == 0 || r->n_kills > KILLS_BELOW) {
        if (r->cage != NULL)
            (void)job_cgroup_end(r->cage);
        if (kill(r->pid, SIGKILL) < 0 && errno != ESRCH)
            log_event(LOG_ERROR, "runner-not-killed", "pid", "%lld", (long long)r->pid, "why", "%s",
                      strerror(errno), NULL);
    }
    uv_timer_start(timer, on_due, r->n_kills > KILLS_BELOW ? CHECK_AT_MOST_MS : KILL_EVERY_MS, 0);
}

static void set_due(struct runner *r, int64_t due_ms, bool is_to_stop)
{
    int64_t now_ms = units_monotonic_ms();

    r->due_ms = due_ms;
    r->is_to_stop = is_to_stop;
    r->n_kills = 0;
    if (due_ms > 0)
        uv_timer_start(&r->due_timer, on_due, due_ms > now_ms ? (uint64_t)(due_ms - now_ms) : 0, 0);
    else
        uv_timer_stop(&r->due_timer);
}

/* As set_due, and writes it down; if that fails, a later agent does not know of it. */
static void change_due(struct runner *r, int64_t due_ms, bool is_to_stop)
{
    struct err e = { 0 };

    set_due(r, due_ms, is_to_stop);
    if (write_due(r, &e) < 0)
        log_event(LOG_WARN, "runner-folder", "why", "%s", e.text, NULL);
}

/* Time for the whole process: the limit of each of its jobs, to save, to end; 0: no limit. */
static int64_t allowed_ms(const struct order_run *run)
{
    const struct jobspec *w = &run->order.work.work;
    int64_t save_ms = w->checkpoint.signal == NULL ? 0 : w->checkpoint.grace_ms;

    return w->resources.time_ms == 0 ? 0
                                     : w->resources.time_ms * (int64_t)(1 + run->mates.n) +
                                           save_ms + RUNNER_GRACE_MS + LATE_MAX_MS;
}

/* Reads what an earlier agent has written down by write_due. */
static void read_due(struct runner *r)
{
    struct buf text = { 0 };
    char hex[TOKEN_HEX];
    long long pid, due_ms, soonest_ms = units_monotonic_ms() + SPEAK_MAX_MS;
    int is_to_stop;

    if (io_read_file_at(r->dir_fd, DUE_FILE, DUE_MAX_BYTES, &text, NULL) == 0 &&
        sscanf(buf_text(&text), "%lld %32s %lld %d", &pid, hex, &due_ms, &is_to_stop) == 4 &&
        token_parse(hex, &r->process) == 0) {
        r->pid = (pid_t)pid;
        set_due(r, due_ms > 0 && due_ms < soonest_ms ? soonest_ms : due_ms, is_to_stop != 0);
    }
    buf_free(&text);
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
        /* The runner leaves when its connection ends; its lock shows when it is gone. */
        r->is_leaving = true;
        lose_connection(r);
    }
    watch_idle(rs);
}

static void set_idle(struct runner *r)
{
    r->batch = NULL;
    r->process = (struct token){ { 0 } };
    set_due(r, 0, false);
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
        struct note_measured measured;
        struct note_advice advice;
        struct note_disk disk;
    } note;

    if (m->type != NOTE_HELLO && m->type != NOTE_STARTED && m->type != NOTE_ENDED &&
        m->type != NOTE_MEASURED && m->type != NOTE_ADVICE && m->type != NOTE_DISK)
        return err_set(e, ERR_PROTOCOL, "unexpected %s", orders.messages[m->type].name);
    if (message_body(&orders, m, a, &note, e) < 0)
        return -1;
    if (m->type == NOTE_STARTED) {
        if (r->allowed_ms > 0 && !r->is_to_stop && token_equal(&r->process, &note.started.token))
            change_due(r, units_monotonic_ms() + r->allowed_ms, false);
        rs->events.started(rs->ag, r, &note.started);
    } else if (m->type == NOTE_MEASURED) {
        rs->events.measured(rs->ag, &note.measured);
    } else if (m->type == NOTE_ADVICE) {
        rs->events.advice(rs->ag, r, &note.advice);
    } else if (m->type == NOTE_DISK) {
        rs->events.disk(rs->ag, r, &note.disk);
    } else if (m->type == NOTE_ENDED) {
        if (token_equal(&r->process, &note.ended.token)) { /* else jobs of its batch go on */
            set_idle(r);
            if (b != NULL)
                b->runner = NULL;
        }
        rs->events.ended(rs->ag, r, &note.ended.token, note.ended.trouble);
    } else if (r->is_unknown) { /* the hello of a runner just started is of no use */
        r->is_unknown = false;
        rs->n_unknown--;
        if (!token_equal(&r->process, &note.hello.token))
            set_due(r, 0, false);
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

    if (++r->n_closed < 2)
        return;
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
    uv_close((uv_handle_t *)&r->due_timer, on_timer_closed);
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
    uv_timer_init(rs->loop, &r->due_timer);
    r->check.data = r->due_timer.data = r;
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

/* If the runner is gone, ends its control group and reports it as lost.  If it lives it may have
 * lost its connection: it listens again, and is connected to. */
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

/* Starts the runner with its lock and the socket at which later agents reach it; the folder stays
 * ours.  The control group's name is written down before the group is made, for a later agent. */
static int start_in_folder(struct runner *r, const struct owner *owner, struct err *e)
{
    uid_t uid = owner->rights == NULL ? geteuid() : (uid_t)strtoul(owner->rights, NULL, 10);
    char *confinement = confine_text(r->all->confine);
    struct child child = { .owner = owner, .args = { CHILD_RUNNER, owner->scratch, confinement } };
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
    free(confinement);
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
        read_due(r);
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
    /* The first member's order, and the assignments of the other members. */
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
    r->allowed_ms = allowed_ms(&run);
    runner_assign(r, b);
    set_due(r, r->allowed_ms == 0 ? 0 : units_monotonic_ms() + START_MAX_MS + r->allowed_ms, false);
    if (write_due(r, e) < 0) {
        free(mates);
        b->runner = NULL;
        set_idle(r);
        return err_wrap(e, "runner");
    }
    seq = chan_send(r->chan, ORDER_RUN, 0, NULL, &run, e);
    free(mates);
    if (seq < 0) {
        b->runner = NULL;
        r->batch = NULL;
        lose_connection(r);
        return -1;
    }
    return 0;
}

void runner_stop(struct runner *r, const struct token *token)
{
    struct order_stop stop = { .token = *token, .grace_ms = RUNNER_GRACE_MS };
    int64_t due_ms = units_monotonic_ms() + RUNNER_GRACE_MS + LATE_MAX_MS;

    if (r->chan != NULL)
        chan_send(r->chan, ORDER_STOP, 0, NULL, &stop, NULL);
    if (token_equal(token, &r->process) && !r->is_to_stop && r->n_kills == 0 &&
        (r->due_ms == 0 || due_ms < r->due_ms + SAVE_MAX_MS))
        change_due(r, due_ms, true);
}

void runners_stop(struct runners *rs, const struct token *process)
{
    for (RING_EACH(struct runner, r, &rs->all, ring))
        if (token_equal(&r->process, process))
            runner_stop(r, process);
}

void runner_preempt(struct runner *r, enum cause cause, const char *reason, int64_t budget_ms)
{
    struct order_preempt order = { r->process, (int)cause, reason, budget_ms };

    if (r->chan != NULL)
        chan_send(r->chan, ORDER_PREEMPT, 0, NULL, &order, NULL);
}

void runner_stop_early(struct runner *r, const char *reason)
{
    struct order_stop_early order = { r->process, reason };

    if (r->chan != NULL)
        chan_send(r->chan, ORDER_STOP_EARLY, 0, NULL, &order, NULL);
}

void runner_measure(struct runner *r)
{
    if (r->chan != NULL)
        chan_send(r->chan, ORDER_MEASURE, 0, NULL, &(struct order_nothing){ true }, NULL);
}

void runner_shed(struct runner *r, const char *reason)
{
    int64_t due_ms = units_monotonic_ms() + LATE_MAX_MS;

    if (r->chan != NULL)
        chan_send(r->chan, ORDER_SHED, 0, NULL, &(struct order_shed){ r->process, reason }, NULL);
    if (r->n_kills == 0 && (r->due_ms == 0 || due_ms < r->due_ms))
        change_due(r, due_ms, r->is_to_stop);
}

void runner_advise(struct runner *r, const struct token *token, const char *text)
{
    if (r->chan != NULL)
        chan_send(r->chan, ORDER_ADVISE, 0, NULL, &(struct order_advise){ *token, text }, NULL);
}

void runner_tell_gpus(struct runner *r, const struct order_see_gpus *use)
{
    if (r->chan != NULL)
        chan_send(r->chan, ORDER_SEE_GPUS, 0, NULL, use, NULL);
}

/* ---- all runners ---- */

void runners_init(struct runners *rs, uv_loop_t *loop, int dir_fd, const struct confine *confine,
                  const struct runner_events *events, struct agent *ag)
{
    *rs = (struct runners){ .loop = loop,
                            .events = *events,
                            .ag = ag,
                            .dir_fd = dir_fd,
                            .confine = confine,
                            .arena = arena_create() };
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
