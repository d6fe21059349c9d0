/* SPDX-License-Identifier: MIT */
/* lifecycle.c - starts the agent of a worker, runs its event loop, and ends it */

#include "worker/loop/lifecycle.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/capability.h>

#include "common/base/capabilities.h"
#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/units.h"
#include "worker/agent/runtime_dir.h"
#include "worker/base/child_start.h"
#include "worker/base/scratch.h"
#include "worker/flow/disk_room.h"
#include "worker/flow/flow.h"
#include "worker/flow/flow_peek.h"
#include "worker/flow/flow_publish.h"
#include "worker/flow/flow_stage.h"
#include "worker/flow/gpus.h"
#include "worker/flow/pilot_end.h"
#include "worker/loop/server_messages.h"
#include "worker/node/job_cgroup.h"
#include "worker/node/pilot_cleanup.h"

enum { WRITE_AGAIN_MS = 1000 };

/* ---- callbacks of the loop ---- */

static void on_child(uv_signal_t *handle, int number)
{
    struct agent *ag = handle->data;
    bool may_leave_strangers = false;
    pid_t pid;

    (void)number;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
        bool is_known;

        child_forget(pid); /* first, as the next child may get the same pid */
        is_known = gpus_reaped(ag, pid) || child_question_reaped(&ag->share_question, pid) ||
                   flow_peek_reaped(ag, pid);
        for (RING_EACH(struct user, u, &ag->users, ring))
            is_known = is_known || user_reaped(u, pid);
        if (!is_known && ag->runners.loop != NULL)
            runners_reaped(&ag->runners, pid);
        may_leave_strangers |= !is_known;
    }
    if (may_leave_strangers)
        strangers_end(&ag->strangers);
}

static void on_terminate(uv_signal_t *handle, int number)
{
    struct agent *ag = handle->data;

    if (pilot_end_is_pilot(ag)) {
        pilot_end_told(ag, number);
        return;
    }
    log_event(LOG_INFO, "stop", "signal", "%d", number, NULL);
    agent_stop(ag, AGENT_LEAVES);
}

/* Does nothing: the timer only makes the loop run a turn. */
static void on_write_again(uv_timer_t *timer)
{
    (void)timer;
}

/* Before the loop waits: decides the effects of this turn, writes the registry, then sends and
 * removes.  While the registry cannot be written, the agent starts and sends nothing. */
static void on_prepare(uv_prepare_t *handle)
{
    struct agent *ag = handle->data;
    struct err e = { 0 };
    bool was_stuck;
    int rc;

    flow_turn(ag);
    pilot_end_turn(ag);
    server_messages_register(ag);
    flow_stage_send_news(ag);
    if (ag->registry == NULL || uv_is_active((uv_handle_t *)&ag->write_timer))
        return;
    was_stuck = ag->is_registry_stuck;
    rc = registry_is_wasteful(ag->registry) ? runtime_dir_compact(ag, &e)
                                            : registry_flush(ag->registry, &e);
    if (rc < 0 && !was_stuck)
        log_event(LOG_ERROR, "registry", "why", "%s", e.text, NULL);
    ag->is_registry_stuck = rc < 0;
    if (rc < 0 || was_stuck) /* the next turn tries again what could not be started */
        uv_timer_start(&ag->write_timer, on_write_again, rc < 0 ? WRITE_AGAIN_MS : 0, 0);
    if (rc < 0)
        return;
    flow_publish_discard_settled(ag);
    outbox_pump(&ag->outbox);
}

static void on_gpus_known(struct agent *ag)
{
    char *last = runtime_dir_last_server(ag);
    struct err e = { 0 };

    if (last != NULL && flow_meet_server(ag, last, &e) < 0)
        agent_fail(ag, &e);
    else
        server_link_start(ag->link);
    free(last);
}

/* ---- start and end ---- */

/* Takes the resources that Slurm gave, except those that the configuration sets.  If our mask has
 * another number of processors, other Slurm jobs may use them, and ours are bound to none. */
static void look_at_slurm(struct agent *ag)
{
    struct conf_resources *r = &ag->conf.resources;

    slurm_job_read(&ag->slurm, slurm_job_env);
    ag->conf.kind = node_kind_names[NODE_SLURM];
    if (r->cpus_milli == CONF_AUTO && ag->slurm.cpus > 0)
        r->cpus_milli = ag->slurm.cpus * 1000;
    if (r->memory_bytes == CONF_AUTO && ag->slurm.memory_bytes > 0)
        r->memory_bytes = ag->slurm.memory_bytes;
    if (r->gpus == CONF_AUTO)
        r->gpus = (int64_t)ag->slurm.n_gpus;
    if (ag->slurm.cpus > 0 && (int64_t)ag->node.n_cpus != ag->slurm.cpus)
        ag->node.n_cpus = 0;
}

/* Keeps the capabilities that a worker needs to run jobs as their owners; a test compares them with
 * examples/systemd/ludwig-worker.service.  Jobs that may have set-user-ID programs find for these
 * what root has. */
static int give_up_rights(const struct agent *ag, struct err *e)
{
    static const int kept[] = {
        CAP_CHOWN,   CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER,
        CAP_FSETID,  CAP_KILL,         CAP_SETGID,          CAP_SETUID,
        CAP_SETPCAP, CAP_SYS_ADMIN,    CAP_SYS_PTRACE,      CAP_SYS_RESOURCE
    };

    return capabilities_keep(kept, sizeof kept / sizeof kept[0], ag->conf.confine.no_new_privs == 1,
                             e);
}

static int look_around(struct agent *ag, const struct options *o, struct err *e)
{
    struct scratch s;

    if (conf_read(o->conf_path, o->servers, &ag->conf, e) < 0 || node_look(&ag->node, e) < 0)
        return -1;
    ag->pilot_end->pilot = o->pilot;
    ag->is_in_slurm = getenv("SLURM_JOB_ID") != NULL;
    if (pilot_end_is_pilot(ag))
        look_at_slurm(ag);
    /* A worker that a user or Slurm has started runs only that user's jobs. */
    ag->changes_uid = geteuid() == 0 && node_kind_parse(ag->conf.kind) == NODE_PLAIN;
    confine_fill(&ag->conf.confine, ag->changes_uid);
    if (ag->changes_uid && give_up_rights(ag, e) < 0)
        return -1;
    if (folders_find(&ag->conf, ag->node.host, ag->slurm.id, ag->changes_uid, &ag->folders, e) < 0)
        return -1;
    if (!ag->changes_uid) { /* fails at once where its children would fail later */
        if (scratch_open(&s, ag->folders.scratch, e) < 0)
            return -1;
        scratch_close(&s);
        if (folders_link_ludwig(ag->folders.scratch, e) < 0)
            return -1;
        pilot_cleanup_start(&ag->folders, user_share_address(&ag->conf));
    }
    return runtime_dir_read_worker_id(ag, e);
}

static int agent_start(struct agent *ag, const struct options *o, struct err *e)
{
    uv_timer_t *timers[] = { &ag->orphan_timer, &ag->young_timer, &ag->adopt_timer,
                             &ag->write_timer,  &ag->gpu_timer,   &ag->gpu_use_timer,
                             &ag->disk_timer };
    const struct {
        uv_signal_t *handle;
        uv_signal_cb callback;
        int number;
    } signals[] = { { &ag->sigchld, on_child, SIGCHLD },
                    { &ag->sigterm, on_terminate, SIGTERM },
                    { &ag->sigint, on_terminate, SIGINT } };

    child_know_own();
    if (look_around(ag, o, e) < 0)
        return -1;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return err_sys(e, "become the reaper of orphaned processes");
    strangers_init(&ag->strangers, &ag->loop, ag->changes_uid);
    token_make(&ag->incarnation);
    uv_prepare_init(&ag->loop, &ag->prepare);
    ag->prepare.data = ag;
    uv_prepare_start(&ag->prepare, on_prepare);
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++) {
        uv_timer_init(&ag->loop, timers[i]);
        timers[i]->data = ag;
    }
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        int rc = uv_signal_init(&ag->loop, signals[i].handle);

        signals[i].handle->data = ag;
        if (rc == 0)
            rc = uv_signal_start(signals[i].handle, signals[i].callback, signals[i].number);
        if (rc < 0)
            return err_set(e, ERR_FAILED, "watch signal %d: %s", signals[i].number,
                           uv_strerror(rc));
    }
    if (pilot_end_is_pilot(ag) && pilot_end_init(ag, e) < 0)
        return -1;
    flow_peek_init(ag);
    server_messages_init(ag);
    log_event(LOG_INFO, "start", "version", "%s", LUDWIG_VERSION, "server", "%s",
              ag->conf.server.text, "scratch", "%s", ag->folders.pattern, "runtime", "%s",
              ag->folders.runtime, NULL);
    ag->lacks_groups = !ag->is_in_slurm && !job_cgroup_is_possible();
    if (ag->lacks_groups)
        log_event(LOG_INFO, "no-control-group", "means", "%s",
                  "what a job hides from its runner is found by its ancestors and its environment "
                  "only, and not always",
                  "mend", "%s",
                  "start ludwig-worker by systemd with Delegate=yes (control groups of version 2)",
                  NULL);
    if (!ag->changes_uid && node_kind_parse(ag->conf.kind) == NODE_PLAIN)
        log_event(LOG_INFO, "one-account", "means", "%s",
                  "all jobs run as this worker's account: where ludwigd gives it those of several "
                  "users, each of them can read its key and the others' files",
                  "mend", "%s", "run ludwig-worker as root, or give it the jobs of one user", NULL);
    on_child(&ag->sigchld, SIGCHLD);
    gpus_start(ag, on_gpus_known);
    disk_room_start(ag);
    return 0;
}

int lifecycle_run(const struct options *o, char **argv)
{
    struct err e = { 0 };
    struct agent *ag = agent_create(&e);
    enum exit_code code = EXIT_WELL;
    bool removes;

    if (ag == NULL) {
        fprintf(stderr, "ludwig-worker: %s\n", e.text);
        return (int)err_exit_code(e.kind);
    }
    ag->pilot_end = mem_alloc(sizeof *ag->pilot_end);
    signal(SIGPIPE, SIG_IGN);
    if (agent_start(ag, o, &e) < 0)
        agent_fail(ag, &e);
    else if (ag->end == AGENT_GOES_ON)
        uv_run(&ag->loop, UV_RUN_DEFAULT);
    /* Another ludwigd answers at this address; the state of the one before stays in its folder. */
    if (ag->end == AGENT_STARTS_ANEW) {
        if (runtime_dir_remember_server(ag, &e) == 0) {
            execv("/proc/self/exe", argv);
            err_sys(&e, "start anew");
        }
        ag->why = e;
    }
    if (ag->why.kind != ERR_NONE) {
        fprintf(stderr, "ludwig-worker: %s\n", ag->why.text);
        code = err_exit_code(ag->why.kind);
    }
    /* No later worker uses the folders of a Slurm job. */
    removes = ag->slurm.id != NULL &&
              (ag->end == AGENT_LEAVES || (ag->end == AGENT_FAILS && pilot_end_has_nothing(ag)));
    flow_peek_close(ag);
    agent_close(ag);
    flow_free(ag);
    if (removes)
        folders_remove(&ag->folders);
    agent_free(ag);
    return (int)code;
}
