/* SPDX-License-Identifier: MIT */
/* runners_life.c - start a runner, find one again, notice that it is gone */

#include "worker/agent/runners_life.h"

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
#include "worker/base/child_start.h"
#include "worker/node/job_cgroup.h"
#include "worker/node/unix_socket.h"

/* In its folder, beside lock and sock. */
#define USER_FILE "user"
#define CAGE_FILE "cage"

enum {
    QUEUED_MAX_BYTES = 32 * 1024 * 1024,
    CAGE_MAX_BYTES = 4096,
    CHECK_AT_FIRST_MS = 10,
    CHECK_AT_MOST_MS = 1000
};

static void on_timer_closed(uv_handle_t *handle)
{
    struct runner *r = handle->data;

    free(r->name);
    free(r->user);
    free(r->cage);
    free(r);
}

void runner_forget(struct runner *r)
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

static int connect_chan(struct runner *r, int fd, struct err *e)
{
    r->chan = chan_create(r->all->loop, fd, &orders, &runner_chan_events, r, QUEUED_MAX_BYTES, e);
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
    struct batch *b = r->batch;
    bool was_asked_to = r->is_leaving;

    remove_folder(r);
    runner_forget(r);
    if (b != NULL)
        b->runner = NULL;
    if (!was_asked_to)
        rs->events.lost(rs->context, b);
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
    runner_look_for(timer->data);
}

/* All that it started goes with it.  Also one that lives may have lost its connection: then it
 * listens again. */
void runner_look_for(struct runner *r)
{
    struct err e = { 0 };
    int fd;

    if (is_gone(r)) {
        if (r->cage == NULL || job_cgroup_end(r->cage)) {
            on_gone(r);
            return;
        }
    } else if (!r->is_leaving) {
        fd = unix_socket_connect_at(r->dir_fd, "sock", &e);
        if (fd >= 0 && connect_chan(r, fd, &e) == 0) {
            if (!r->is_unknown)
                r->all->n_unknown++;
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

static int make_folder(struct runner *r, struct err *e)
{
    if (mkdirat(r->all->dir_fd, r->name, 0700) < 0)
        return err_sys(e, "create %s", r->name);
    return open_folder(r, e);
}

/* So that a later agent knows whose it is. */
static int write_user(const struct runner *r, struct err *e)
{
    return r->user == NULL
               ? 0
               : io_write_file_at(r->dir_fd, USER_FILE, r->user, strlen(r->user), 0600, e);
}

static char *read_text(const struct runner *r, const char *name, size_t max_bytes)
{
    struct buf text = { 0 };

    if (io_read_file_at(r->dir_fd, name, max_bytes, &text, NULL) == 0 && text.n > 0)
        return buf_take(&text);
    buf_free(&text);
    return NULL;
}

static uid_t uid_of(const struct owner *owner)
{
    return owner->rights == NULL ? geteuid() : (uid_t)strtoul(owner->rights, NULL, 10);
}

static void drop_cage(struct runner *r)
{
    if (r->cage != NULL)
        (void)job_cgroup_end(r->cage);
    free(r->cage);
    r->cage = NULL;
}

/* First its name, so that whoever comes after us finds it. */
static void make_cage(struct runner *r, const struct owner *owner, int *limit_fd)
{
    struct err e = { 0 };

    *limit_fd = -1;
    r->cage = job_cgroup_name();
    if (r->cage == NULL)
        return;
    if (io_write_file_at(r->dir_fd, CAGE_FILE, r->cage, strlen(r->cage), 0600, &e) < 0)
        log_event(LOG_WARN, "runner-folder", "why", "%s", e.text, NULL);
    if (!job_cgroup_make(r->cage, uid_of(owner), limit_fd))
        drop_cage(r);
}

/* Before it is told to start anything. */
static void enter_cage(struct runner *r)
{
    if (r->cage != NULL && !job_cgroup_put(r->cage, r->pid))
        drop_cage(r);
}

static int start_process(struct runner *r, const struct owner *owner, int fds[3], struct err *e)
{
    struct child child = { .owner = owner,
                           .args = { CHILD_RUNNER, owner->scratch },
                           .stdout_fd = -1,
                           .lock_fd = fds[0],
                           .listen_fd = fds[1],
                           .limit_fd = fds[2] };
    int ours, rc;

    if (unix_socket_pair(&ours, &child.channel_fd, e) < 0)
        return -1;
    rc = child_start(&child, &r->pid, e);
    close(child.channel_fd);
    if (rc == 0)
        return connect_chan(r, ours, e);
    close(ours);
    return -1;
}

/* It is handed its lock and the socket at which later agents find it: the folder stays ours. */
static int start_in_folder(struct runner *r, const struct owner *owner, struct err *e)
{
    int fds[3] = { -1, -1, -1 }; /* lock, socket, limit */
    int rc = child_lock(r->dir_fd, "lock", &fds[0], e);

    if (rc == 0)
        rc = fds[1] = unix_socket_listen_at(r->dir_fd, "sock", e);
    if (rc >= 0) {
        make_cage(r, owner, &fds[2]);
        rc = start_process(r, owner, fds, e);
    }
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return rc;
}

struct runner *runner_start(struct runners *rs, const struct owner *owner, struct err *e)
{
    char *name = mem_printf("runner.%u", rs->next_number++);
    struct runner *r = runner_create(rs, name);

    free(name);
    r->user = owner->name == NULL ? NULL : mem_strdup(owner->name);
    if (make_folder(r, e) == 0 && write_user(r, e) == 0 && start_in_folder(r, owner, e) == 0) {
        enter_cage(r);
        return r;
    }
    drop_cage(r);
    remove_folder(r);
    runner_forget(r);
    err_wrap(e, "runner");
    return NULL;
}

static void read_records(struct runner *r)
{
    r->user = read_text(r, USER_FILE, NAME_MAX_BYTES);
    r->cage = read_text(r, CAGE_FILE, CAGE_MAX_BYTES);
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
    else
        read_records(r);
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
    for (RING_EACH(&rs->all, at, after))
        runner_look_for(RING_ITEM(at, struct runner, ring));
    return 0;
}
