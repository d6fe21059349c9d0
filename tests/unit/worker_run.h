/* SPDX-License-Identifier: MIT */
/*
 * worker_run.h - runs real jobs in the test's process, as a runner does
 *
 * Include after cmocka.h.  main must call run_begin first.
 */
#ifndef LUDWIG_TESTS_UNIT_WORKER_RUN_H
#define LUDWIG_TESTS_UNIT_WORKER_RUN_H

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/base/units.h"
#include "tests/unit/worker_site.h"
#include "worker/base/child_start.h"
#include "worker/base/process_tree.h"
#include "worker/runner/job.h"

enum { LONGEST_MS = 60 * 1000 }; /* longest wait for a job */

struct run {
    struct site site;
    struct spares spares;
    struct jobenv_user user;
    struct oom oom;
    struct job_site job_site;
    struct job job;
    sigset_t before; /* the signal mask before open_run */
};

static inline void open_run(struct run *r)
{
    sigset_t child;

    *r = (struct run){ .spares = { NULL, 0 } };
    site_open(&r->site, NULL);
    jobenv_find_user(r->site.scratch.path, r->site.arena, &r->user);
    oom_open(&r->oom, "");
    r->job_site = (struct job_site){ .scratch = &r->site.scratch,
                                     .spares = &r->spares,
                                     .user = &r->user,
                                     .null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC),
                                     .oom = &r->oom };
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &r->before);
}

static inline void close_run(struct run *r)
{
    close(r->job_site.null_fd);
    oom_close(&r->oom);
    spares_free(&r->spares);
    sigprocmask(SIG_SETMASK, &r->before, NULL);
    site_close(&r->site);
}

static inline void start_order(struct run *r, const struct order *o)
{
    job_start(&r->job, &r->job_site, o, r->site.arena);
}

/* Starts a job with this command. */
static inline void start(struct run *r, const char *command)
{
    struct order o = site_order(&r->site, 'a', command);

    start_order(r, &o);
}

/* Does one turn of a runner's loop, which waits for 5 ms at most. */
static inline void turn(struct run *r)
{
    int wait_ms = job_wait_ms(&r->job);

    (void)poll(NULL, 0, wait_ms < 0 || wait_ms > 5 ? 5 : wait_ms);
    job_reap(&r->job);
    job_tick(&r->job);
}

/* Waits until the job is over and saves its outcome; no process of it may be left. */
static inline void end(struct run *r)
{
    int64_t until_ms = units_monotonic_ms() + LONGEST_MS;
    struct err e = { 0 };

    while (r->job.phase != JOB_PHASE_OVER) {
        assert_true(units_monotonic_ms() < until_ms);
        turn(r);
    }
    if (job_save(&r->job, &r->site.scratch, &e) < 0)
        fail_msg("%s", e.text);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static inline void run_command(struct run *r, const char *command)
{
    start(r, command);
    end(r);
}

/* Gives the test's process a runner's umask, signals and role as reaper; -1 on failure. */
static inline int run_begin(void)
{
    umask(027);
    return child_begin(NULL) < 0 || process_tree_become_reaper(NULL) < 0 ? -1 : 0;
}

#endif
