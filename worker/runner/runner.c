/* SPDX-License-Identifier: MIT */
/* runner.c - runs one job after the other, and outlives its agent */

#include "worker/runner/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "worker/base/child_start.h"
#include "worker/base/confine.h"
#include "worker/base/process_tree.h"
#include "worker/runner/advisor_pipes.h"
#include "worker/runner/batch_jobs.h"
#include "worker/runner/job.h"
#include "worker/runner/live.h"

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
    struct job job;             /* what runs: an attempt's process, or that of the mates */
    struct live live;           /* what an attempt with a process of its own reports */
    struct batch_jobs mates;    /* of a batch */
    struct advisor_pipes pipes; /* of an advisor; closed: what runs is none */
    bool has_emptied_tmp;       /* since the job began */
    struct disk_told {          /* what the agent was told last of the job's use of disk */
        unsigned n_looks;
        int64_t used_bytes, free_bytes; /* -1: it was not told */
        bool is_wanted;                 /* by the agent, of a job that did not ask for disk */
    } disk;
    int64_t grace_ms;     /* for the mates' process, once no mate is wanted */
    int64_t say_again_ms; /* when it may be said again that an outcome could not be written */
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

static void tell_measured(struct runner *r)
{
    struct note_measured note = { .values = { r->live.values, r->live.n } };

    if (r->live.n == 0 || r->wire.fd < 0 || r->is_deaf)
        return;
    send_note(r, NOTE_MEASURED, &note);
    r->live.n = 0;
}

/* Tells the agent how much disk the job takes when that may matter to other jobs: since the last
 * note the job or others took 1/64 of its limit, or less is free than it may still take. */
static void tell_disk(struct runner *r)
{
    const struct diskwatch *w = &r->job.diskwatch;
    int64_t free_bytes, part = w->limit_bytes / 64;
    struct disk_told *told = &r->disk;
    struct statvfs fs;

    if (!is_busy(r) || w->n_looks == told->n_looks || r->wire.fd < 0)
        return;
    told->n_looks = w->n_looks;
    if (fstatvfs(r->scratch.run_fd, &fs) < 0)
        return;
    free_bytes = (int64_t)((uint64_t)fs.f_bavail * fs.f_frsize);
    if (!told->is_wanted && told->used_bytes >= 0 && free_bytes > w->limit_bytes - w->used_bytes &&
        w->used_bytes < told->used_bytes + part && free_bytes > told->free_bytes - part)
        return;
    told->used_bytes = w->used_bytes;
    told->free_bytes = free_bytes;
    send_note(r, NOTE_DISK,
              &(struct note_disk){ r->mates.n > 0 ? r->mates.token : r->job.token, w->used_bytes });
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

static void take_advice(void *context, const char *line)
{
    struct runner *r = context;

    send_note(r, NOTE_ADVICE, &(struct note_advice){ r->job.token, line, false });
}

/* Passes on what lies in the pipes of the advisor. */
static void relay(struct runner *r, short to, short from)
{
    if (to != 0 && r->pipes.to.n > 0 && advisor_pipes_write(&r->pipes))
        send_note(r, NOTE_ADVICE, &(struct note_advice){ r->job.token, NULL, true });
    if (from != 0)
        advisor_pipes_read(&r->pipes, take_advice, r);
}

static void save_job(struct runner *r)
{
    struct note_ended ended = { .token = r->job.token, .trouble = trouble_of(&r->job.outcome) };
    struct err e = { 0 };

    live_finish(&r->live);
    tell_measured(r);
    live_end(&r->live);
    relay(r, 0, POLLIN); /* its last words */
    advisor_pipes_close(&r->pipes);
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
    struct job_site site = { .scratch = &r->scratch,
                             .spares = &r->spares,
                             .user = &r->user,
                             .null_fd = r->null_fd,
                             .oom = &r->oom,
                             .limit = &r->limit,
                             .chunk = chunk };
    struct note_started started = { .token = o->assignment.token };
    struct err e = { 0 };

    /* Opened only now: the agent has put us into our control group by now. */
    if (r->oom.root == NULL)
        oom_open(&r->oom, "");
    /* An advisor without pipes ends at once, as its input does. */
    if (o->assignment.advises && advisor_pipes_open(&r->pipes, &site.in_fd, &site.out_fd, &e) < 0) {
        log_event(LOG_ERROR, "advisor-pipes", "error", "%s", e.text, NULL);
        site.in_fd = site.out_fd = 0;
    }
    job_start(&r->job, &site, o, r->arena);
    if (site.in_fd > 0)
        close(site.in_fd);
    if (site.out_fd > 0)
        close(site.out_fd);
    if (r->job.phase == JOB_PHASE_OVER)
        return false;
    r->has_emptied_tmp = false;
    r->disk = (struct disk_told){ .used_bytes = -1 };
    started.at = r->job.outcome.started_at;
    send_note(r, NOTE_STARTED, &started);
    if (chunk == NULL && o->work.live.metric != NULL)
        live_begin(
            &r->live, &o->work.live, &o->assignment.token,
            openat(r->scratch.run_fd, r->job.hex, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (r->pipes.to_fd >= 0)
        send_note(r, NOTE_ADVICE, &(struct note_advice){ r->job.token, NULL, true });
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
    else {
        r->job.diskwatch.member = batch_jobs_folder;
        r->job.diskwatch.context = &r->mates;
        batch_jobs_follow(&r->mates, r->job.outcome.started_at);
    }
    free(run_path);
}

/* ---- orders ---- */

static int take_order(struct runner *r, const struct envelope *m, struct err *e)
{
    static const int types[] = { ORDER_RUN,        ORDER_STOP,     ORDER_PREEMPT,
                                 ORDER_STOP_EARLY, ORDER_ADVISE,   ORDER_MEASURE,
                                 ORDER_SHED,       ORDER_SEE_GPUS, -1 };
    union {
        struct order_run run;
        struct order_stop stop;
        struct order_preempt preempt;
        struct order_stop_early stop_early;
        struct order_advise advise;
        struct order_see_gpus see_gpus;
        struct order_nothing measure;
        struct order_shed shed;
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
    } else if (m->type == ORDER_STOP_EARLY) {
        if (token_equal(&x.stop_early.token, &r->job.token))
            job_stop_early(&r->job, x.stop_early.reason);
    } else if (m->type == ORDER_SEE_GPUS) {
        if (token_equal(&x.see_gpus.token, &r->job.token))
            job_see_gpus(&r->job, &x.see_gpus);
    } else if (m->type == ORDER_MEASURE) {
        r->disk.is_wanted = true;
        job_measure_disk(&r->job);
    } else if (m->type == ORDER_SHED) {
        if (token_equal(&x.shed.token, r->mates.n > 0 ? &r->mates.token : &r->job.token))
            job_end_full(&r->job, x.shed.reason);
    } else if (m->type == ORDER_ADVISE) {
        if (token_equal(&x.advise.token, &r->job.token)) {
            advisor_pipes_pass(&r->pipes, x.advise.text);
            relay(r, POLLOUT, 0);
        }
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
    r->disk.used_bytes = -1;
    live_again(&r->live);
    return true;
}

/* ---- what the job reports ---- */

static void look_at_reports(struct runner *r)
{
    struct buf why = { 0 };

    live_look(&r->live);
    tell_measured(r);
    if (!r->live.ends_nan || !r->live.has_nan || r->job.stop != JOB_NOT_STOPPED)
        return;
    buf_printf(&why, "%s was %s at step %" PRId64 " (guard: {nan: stop})", r->live.metric,
               isnan(r->live.nan.value) ? "nan" : "infinite", r->live.nan.step);
    job_end_nan(&r->job, buf_text(&why));
    buf_free(&why);
}

/* ---- the loop ---- */

/* The sooner one; -1 is never. */
static int sooner(int a_ms, int b_ms)
{
    return a_ms < 0 || (b_ms >= 0 && b_ms < a_ms) ? b_ms : a_ms;
}

static void turn_once(struct runner *r, struct err *e)
{
    struct pollfd p[7] = {
        { r->signal_fd, POLLIN, 0 },      { r->wire.fd, POLLIN, 0 },
        { CHILD_LISTEN_FD, POLLIN, 0 },   { batch_jobs_fd(&r->mates), POLLIN, 0 },
        { live_fd(&r->live), POLLIN, 0 }, { r->pipes.to.n > 0 ? r->pipes.to_fd : -1, POLLOUT, 0 },
        { r->pipes.from_fd, POLLIN, 0 }
    };
    int job_ms = r->job.phase == JOB_PHASE_OVER ? SAVE_PAUSE_MS : job_wait_ms(&r->job);
    int n =
        poll(p, 7, sooner(sooner(job_ms, batch_jobs_wait_ms(&r->mates)), live_wait_ms(&r->live)));
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
    if (n > 0)
        relay(r, p[5].revents, p[6].revents);
    if (n > 0 && p[0].revents != 0) {
        while ((got = read(r->signal_fd, &info, sizeof info)) > 0 || (got < 0 && errno == EINTR))
            should_end |= got > 0 && info.ssi_signo == SIGTERM;
        if (should_end && r->job.phase != JOB_PHASE_NONE &&
            r->job.in_slurm) /* elsewhere SIGTERM means nothing */
            job_preempt(&r->job, CAUSE_PREEMPTED, "its Slurm job was told to end", TOLD_BUDGET_MS);
        job_reap(&r->job);
    }
    look_at_reports(r);
    job_tick(&r->job);
    tell_disk(r);
    if (r->job.phase == JOB_PHASE_OVER && !r->has_emptied_tmp) {
        confine_empty_tmp();
        r->has_emptied_tmp = true;
    }
    if (r->mates.n > 0 && r->job.phase == JOB_PHASE_OVER) {
        batch_jobs_over(&r->mates, &r->job.outcome);
        r->job.phase = JOB_PHASE_NONE;
    } else if (r->mates.n > 0 && r->job.phase != JOB_PHASE_NONE) {
        batch_jobs_look(&r->mates, &r->job.outcome);
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
    struct runner r = { .oom = { .kills_fd = -1 },
                        .job = { .deadline_ms = -1 },
                        .pipes = { .to_fd = -1, .from_fd = -1 } };
    struct confine confine;
    struct err e = { 0 };
    sigset_t set;

    if (argc != 3 || argv[1][0] != '/') {
        err_set(&e, ERR_USAGE, "--runner SCRATCH CONFINEMENT, absolute");
        return child_fail("runner", &e);
    }
    umask(027); /* the jobs' as well */
    if (child_begin(&e) < 0 || confine_read(argv[2], &confine, &e) < 0 ||
        confine_self(&confine, argv[1], &e) < 0 || process_tree_become_reaper(&e) < 0)
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
    live_end(&r.live);
    spares_free(&r.spares);
    oom_close(&r.oom);
    memlimit_close(&r.limit);
    wire_close(&r.wire);
    scratch_close(&r.scratch);
    arena_destroy(r.arena);
    arena_destroy(r.user_arena);
    return 0; /* the lock goes with the process */
}
