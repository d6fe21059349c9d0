/* SPDX-License-Identifier: MIT */
/* runner.c - runs one job after the other, and outlives its agent */

#include "worker/runner/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "worker/base/child_start.h"
#include "worker/base/process_tree.h"
#include "worker/runner/batch_jobs.h"
#include "worker/runner/job.h"

/* An outcome that could not be written (scratch is full) is tried again after this. */
#define SAVE_PAUSE_MS 1000
/* That an outcome could not be written is logged not more often than this. */
#define SAY_PAUSE_MS (60 * 1000)
/* How long orders of an agent that is just dying are waited for; those of a dead one are here. */
#define DRAIN_MS 1000
/* From SIGTERM, which Slurm sends to all processes of a pilot, until the job should be gone, unless
 * the agent says less: Slurm kills what is left after KillWait, which is 30 s at most sites. */
#define TOLD_BUDGET_MS (20 * 1000)

struct runner {
    struct scratch scratch;
    struct spares spares;
    struct arena *arena; /* of the job being started */
    struct arena *user_arena;
    struct jobenv_user user;
    struct wire wire; /* to the agent; fd -1: there is none */
    bool is_deaf;     /* the agent cannot be told anything any more, but may have sent orders */
    int signal_fd;
    int null_fd;
    struct oom oom;
    struct memlimit limit;
    struct job job;          /* what runs: an attempt's process, or that of the mates */
    struct batch_jobs mates; /* of a batch */
    int64_t grace_ms;        /* for the mates' process, once no mate is wanted */
    int64_t say_again_ms;    /* when it may be said again that an outcome could not be written */
};

/* ---- notes to the agent ---- */

static void lose_agent(struct runner *r)
{
    wire_close(&r->wire);
    r->is_deaf = false;
}

static void send_note(struct runner *r, int type, const void *body)
{
    if (r->wire.fd >= 0 && !r->is_deaf && wire_send(&r->wire, type, 0, NULL, body, NULL) < 0)
        r->is_deaf = true;
}

static bool is_busy(const struct runner *r)
{
    return r->mates.n > 0 || r->job.phase != JOB_PHASE_NONE;
}

static void tell_hello(struct runner *r)
{
    struct token_entry *mates = mem_alloc(r->mates.n * sizeof *mates);
    struct note_hello hello = { .pid = getpid(), .mates = { mates, 0 } };

    if (is_busy(r)) {
        hello.token = r->mates.n > 0 ? r->mates.token : r->job.token;
        hello.started_at = r->job.outcome.started_at;
        hello.mates.n = batch_jobs_list(&r->mates, mates);
    }
    send_note(r, NOTE_HELLO, &hello);
    free(mates);
}

/* ---- the job ---- */

/* Why the job could not be started, if this machine is at fault and starting it elsewhere may help;
 * else NULL. */
static const char *trouble_of(const struct outcome *x)
{
    return x->event == EV_LOSE && x->started_at == 0 ? x->reason == NULL ? "" : x->reason : NULL;
}

static void say_not_written(struct runner *r, const char *hex, const struct err *e)
{
    int64_t now_ms = units_monotonic_ms();

    if (now_ms < r->say_again_ms)
        return;
    log_event(LOG_ERROR, "outcome-not-written", "attempt", "%s", hex, "error", "%s", e->text, NULL);
    r->say_again_ms = now_ms + SAY_PAUSE_MS;
}

static void save_job(struct runner *r)
{
    struct note_ended ended = { .token = r->job.token, .trouble = trouble_of(&r->job.outcome) };
    struct err e = { 0 };

    if (job_save(&r->job, &r->scratch, &e) == 0) {
        send_note(r, NOTE_ENDED, &ended);
        return;
    }
    say_not_written(r, r->job.hex, &e);
    (void)scratch_reopen(&r->scratch, NULL);
}

/* false: the process could not be started, and its outcome says why. */
static bool start_process(struct runner *r, const struct order *o, const struct value *chunk)
{
    struct job_site site = { &r->scratch, &r->spares, &r->user, r->null_fd,
                             &r->oom,     &r->limit,  chunk };
    struct note_started started = { .token = o->assignment.token };

    /* Opened only now: the agent has put us into our control group by now. */
    if (r->oom.root == NULL)
        oom_open(&r->oom, "");
    job_start(&r->job, &site, o, r->arena);
    if (r->job.phase == JOB_PHASE_OVER)
        return false;
    started.at = r->job.outcome.started_at;
    send_note(r, NOTE_STARTED, &started);
    return true;
}

/* ---- a batch ---- */

static void save_mates(struct runner *r)
{
    struct err e = { 0 };
    struct mate *mate;

    while ((mate = batch_jobs_due(&r->mates)) != NULL) {
        struct note_ended ended = { .token = mate->token, .trouble = trouble_of(&mate->outcome) };

        if (batch_jobs_save(&r->mates, mate, &e) == 0) {
            send_note(r, NOTE_ENDED, &ended);
            continue;
        }
        say_not_written(r, mate->hex, &e);
        (void)scratch_reopen(&r->scratch, NULL);
    }
    /* All mates have their outcome: the batch is over when its process is, too. */
    if (r->job.phase == JOB_PHASE_NONE && batch_jobs_are_saved(&r->mates)) {
        struct note_ended ended = { .token = r->mates.token };

        batch_jobs_free(&r->mates);
        send_note(r, NOTE_ENDED, &ended);
    }
}

static void refuse_batch(struct runner *r, int event, const char *reason)
{
    batch_jobs_refuse(&r->mates, event, reason);
    r->job.phase = JOB_PHASE_NONE;
    save_mates(r);
}

static void start_batch(struct runner *r, const struct order_run *run)
{
    struct order process;
    struct value chunk;
    struct err e = { 0 };
    char *run_path = mem_printf("%s/%s", r->scratch.path, SCRATCH_RUN);

    batch_jobs_begin(&r->mates, &r->scratch, run, &process);
    if (chunk_make(run, run_path, r->arena, &chunk, &e) < 0 ||
        batch_jobs_make_folders(&r->mates, &r->spares, run, &chunk, &e) < 0)
        refuse_batch(r, EV_LOSE, e.text);
    else if (chunk_check_command(run->order.work.work.command, &chunk, &e) < 0)
        refuse_batch(r, EV_FAIL, e.text); /* with their folders, to be published as failed */
    else if (!start_process(r, &process, &chunk))
        refuse_batch(r, r->job.outcome.event, r->job.outcome.reason);
    else
        batch_jobs_follow(&r->mates, r->job.outcome.started_at);
    free(run_path);
}

/* ---- orders ---- */

static int take_order(struct runner *r, const struct envelope *m, struct err *e)
{
    static const int types[] = { ORDER_RUN, ORDER_STOP, ORDER_PREEMPT, -1 };
    union {
        struct order_run run;
        struct order_stop stop;
        struct order_preempt preempt;
    } x;

    if (child_order_body(&r->wire, m, types, &x, e) < 0)
        return -1;
    if (m->type == ORDER_RUN) {
        if (is_busy(r))
            return err_set(e, ERR_PROTOCOL, "was told to run a job while it runs %s", r->job.hex);
        if (order_is_mate(&x.run.order))
            start_batch(r, &x.run);
        else if (!start_process(r, &x.run.order, NULL))
            save_job(r);
        arena_reset(r->arena);
    } else if (m->type == ORDER_STOP) {
        r->grace_ms = x.stop.grace_ms;
        batch_jobs_stop(&r->mates, &x.stop.token);
        /* Any other job has ended already, and the agent will hear of it. */
        if (token_equal(&x.stop.token, &r->job.token) || batch_jobs_are_unwanted(&r->mates))
            job_cancel(&r->job, x.stop.grace_ms);
    } else if (token_equal(&x.preempt.token, &r->job.token)) {
        job_preempt(&r->job, (enum cause)x.preempt.cause, x.preempt.reason, x.preempt.budget_ms);
    }
    return 0;
}

/* Takes the orders that can be read now; false: the agent is gone, or its bytes were no orders. */
static bool read_orders(struct runner *r)
{
    struct envelope m;
    struct err e = { 0 };
    int rc;

    do {
        rc = wire_poll(&r->wire, &m, &e);
        if (rc == 1 && take_order(r, &m, &e) < 0)
            rc = -1;
    } while (rc == 1 && wire_is_ready(&r->wire));
    if (rc < 0)
        log_event(LOG_ERROR, "agent-connection", "error", "%s", e.text, NULL);
    if (rc <= 0)
        lose_agent(r);
    return rc > 0;
}

/* ---- agents ---- */

/* Returns whether a new agent came. */
static bool take_agent(struct runner *r)
{
    int fd = accept4(CHILD_LISTEN_FD, NULL, NULL, SOCK_CLOEXEC);
    struct pollfd p = { .fd = r->wire.fd, .events = POLLIN };
    struct ucred peer;
    socklen_t n = sizeof peer;

    if (fd < 0)
        return false;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0 ||
        (peer.uid != geteuid() && peer.uid != 0)) {
        close(fd);
        return false;
    }
    /* The agent before is dead, but an order that it sent may still lie here. */
    while (r->wire.fd >= 0 && poll(&p, 1, DRAIN_MS) > 0 && read_orders(r))
        ;
    lose_agent(r);
    wire_init(&r->wire, fd, &orders);
    tell_hello(r);
    return true;
}

/* ---- the loop ---- */

static void turn_once(struct runner *r, struct err *e)
{
    struct pollfd p[4] = { { r->signal_fd, POLLIN, 0 },
                           { r->wire.fd, POLLIN, 0 },
                           { CHILD_LISTEN_FD, POLLIN, 0 },
                           { batch_jobs_fd(&r->mates), POLLIN, 0 } };
    int job_ms = r->job.phase == JOB_PHASE_OVER ? SAVE_PAUSE_MS : job_wait_ms(&r->job);
    int mates_ms = batch_jobs_wait_ms(&r->mates);
    int n = poll(p, 4, job_ms < 0 || (mates_ms >= 0 && mates_ms < job_ms) ? mates_ms : job_ms);
    struct signalfd_siginfo info;
    bool should_end = false;
    ssize_t got;

    if (n < 0 && errno != EINTR) {
        err_sys(e, "poll");
        return;
    }
    /* Takes orders first: an order that was sent before a process ended counts as such. */
    if (n > 0 && p[1].revents != 0)
        (void)read_orders(r);
    if (n > 0 && p[0].revents != 0) {
        while ((got = read(r->signal_fd, &info, sizeof info)) > 0 || (got < 0 && errno == EINTR))
            should_end |= got > 0 && info.ssi_signo == SIGTERM;
        if (should_end && r->job.phase != JOB_PHASE_NONE &&
            r->job.in_slurm) /* elsewhere SIGTERM means nothing */
            job_preempt(&r->job, CAUSE_PREEMPTED, "its Slurm job was told to end", TOLD_BUDGET_MS);
        job_reap(&r->job);
    }
    job_tick(&r->job);
    if (r->mates.n > 0 && r->job.phase == JOB_PHASE_OVER) {
        batch_jobs_over(&r->mates, &r->job.outcome);
        r->job.phase = JOB_PHASE_NONE;
    } else if (r->mates.n > 0 && r->job.phase != JOB_PHASE_NONE) {
        batch_jobs_look(&r->mates, r->job.outcome.cpu_ms);
        if (batch_jobs_are_unwanted(&r->mates))
            job_cancel(&r->job, r->grace_ms);
    }
    if (r->mates.n > 0)
        save_mates(r);
    else if (r->job.phase == JOB_PHASE_OVER)
        save_job(r);
    if (n > 0 && p[2].revents != 0)
        (void)take_agent(r);
}

int runner_main(int argc, char **argv)
{
    struct runner r = { .oom = { .kills_fd = -1 }, .job = { .deadline_ms = -1 } };
    struct err e = { 0 };
    sigset_t set;

    if (argc != 2 || argv[1][0] != '/') {
        err_set(&e, ERR_USAGE, "--runner SCRATCH, absolute");
        return child_fail("runner", &e);
    }
    umask(027); /* the jobs' as well */
    if (child_begin(&e) < 0 || process_tree_become_reaper(&e) < 0)
        return child_fail("runner", &e);
    wire_init(&r.wire, CHILD_CHANNEL_FD, &orders);
    if (scratch_open(&r.scratch, argv[1], &e) < 0)
        return child_fail("runner", &e);
    r.arena = arena_create();
    r.user_arena = arena_create();
    jobenv_find_user(argv[1], r.user_arena, &r.user);
    memlimit_open(&r.limit, CHILD_LIMIT_FD);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    r.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    r.null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (r.signal_fd < 0 || r.null_fd < 0)
        err_sys(&e, r.signal_fd < 0 ? "signalfd" : "open /dev/null");
    else
        tell_hello(&r);
    /* Idle and without an agent there is nothing left to do, unless a new one is at the door. */
    while (e.kind == ERR_NONE && (is_busy(&r) || r.wire.fd >= 0 || take_agent(&r)))
        turn_once(&r, &e);
    if (e.kind != ERR_NONE)
        return child_fail("runner", &e);
    spares_free(&r.spares);
    oom_close(&r.oom);
    memlimit_close(&r.limit);
    wire_close(&r.wire);
    scratch_close(&r.scratch);
    arena_destroy(r.arena);
    arena_destroy(r.user_arena);
    return 0; /* the lock goes with the process */
}
