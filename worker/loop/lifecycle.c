/* SPDX-License-Identifier: MIT */
/* lifecycle.c - start, loop, stop */

#include "worker/loop/lifecycle.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/units.h"
#include "worker/agent/runtime_dir.h"
#include "worker/base/scratch.h"
#include "worker/flow/flow.h"
#include "worker/flow/flow_publish.h"
#include "worker/flow/flow_stage.h"
#include "worker/flow/flow_users.h"
#include "worker/flow/pilot_end.h"
#include "worker/loop/gpus.h"
#include "worker/loop/register.h"
#include "worker/loop/server_messages.h"
#include "worker/node/pilot_cleanup.h"

enum { WRITE_AGAIN_MS = 1000 };

/* ---- callbacks of the loop ---- */

static bool users_reaped(struct agent *ag, pid_t pid)
{
    struct ring *at, *after;

    for (RING_EACH(&ag->users, at, after))
        if (user_reaped(RING_ITEM(at, struct user, ring), pid))
            return true;
    return false;
}

static void on_child(uv_signal_t *handle, int number)
{
    struct agent *ag = handle->data;
    pid_t pid;

    (void)number;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        if (!users_reaped(ag, pid) && !gpu_poll_reaped(&ag->gpuwatch, pid) &&
            !child_question_reaped(&ag->share_question, pid) && ag->runners.loop != NULL)
            runners_reaped(&ag->runners, pid);
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

/* The turn it makes is all that is wanted of it. */
static void on_write_again(uv_timer_t *timer)
{
    (void)timer;
}

/* While it cannot be written nothing is started and nothing is sent. */
static int write_registry(struct agent *ag)
{
    struct err e = { 0 };
    bool was_stuck = ag->is_registry_stuck;
    int rc = registry_is_wasteful(ag->registry) ? runtime_dir_compact(ag, &e)
                                                : registry_flush(ag->registry, &e);

    if (rc < 0 && !was_stuck)
        log_event(LOG_ERROR, "registry", "why", "%s", e.text, NULL);
    ag->is_registry_stuck = rc < 0;
    if (rc < 0 || was_stuck) /* what could not be started is tried in the next turn */
        uv_timer_start(&ag->write_timer, on_write_again, rc < 0 ? WRITE_AGAIN_MS : 0, 0);
    return rc;
}

/* Before the loop waits: what this turn brought is decided, written, then sent and removed. */
static void on_prepare(uv_prepare_t *handle)
{
    struct agent *ag = handle->data;

    flow_turn(ag);
    pilot_end_turn(ag);
    register_if_due(ag);
    flow_stage_send_news(ag);
    if (ag->registry == NULL || uv_is_active((uv_handle_t *)&ag->write_timer) ||
        write_registry(ag) < 0)
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

static int init_signal(struct agent *ag, uv_signal_t *handle, uv_signal_cb callback, int number,
                       struct err *e)
{
    int rc = uv_signal_init(&ag->loop, handle);

    handle->data = ag;
    if (rc == 0)
        rc = uv_signal_start(handle, callback, number);
    return rc < 0 ? err_set(e, ERR_FAILED, "watch signal %d: %s", number, uv_strerror(rc)) : 0;
}

static int init_loop(struct agent *ag, struct err *e)
{
    uv_timer_t *timers[] = { &ag->orphan_timer, &ag->young_timer, &ag->adopt_timer,
                             &ag->write_timer };

    uv_prepare_init(&ag->loop, &ag->prepare);
    ag->prepare.data = ag;
    uv_prepare_start(&ag->prepare, on_prepare);
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++) {
        uv_timer_init(&ag->loop, timers[i]);
        timers[i]->data = ag;
    }
    if (init_signal(ag, &ag->sigchld, on_child, SIGCHLD, e) < 0 ||
        init_signal(ag, &ag->sigterm, on_terminate, SIGTERM, e) < 0)
        return -1;
    return init_signal(ag, &ag->sigint, on_terminate, SIGINT, e);
}

/* Says at once what its children would stumble over. */
static int prepare_scratch(const char *path, struct err *e)
{
    struct scratch s;

    if (scratch_open(&s, path, e) < 0)
        return -1;
    scratch_close(&s);
    return folders_link_ludwig(path, e);
}

/* One that was started for somebody, or by Slurm, is theirs alone. */
static bool may_change_uid(const struct conf *c)
{
    return geteuid() == 0 && node_kind_parse(c->kind) == NODE_PLAIN;
}

/* What Slurm gave, unless the configuration says otherwise.  Where it leaves us more processors than
 * those, others have them, too: then jobs are not bound to any. */
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

static int look_around(struct agent *ag, const struct options *o, struct err *e)
{
    if (conf_read(o->conf_path, o->servers, &ag->conf, e) < 0 || node_look(&ag->node, e) < 0)
        return -1;
    ag->retire->pilot = o->pilot;
    ag->is_in_slurm = getenv("SLURM_JOB_ID") != NULL;
    if (pilot_end_is_pilot(ag))
        look_at_slurm(ag);
    ag->changes_uid = may_change_uid(&ag->conf);
    if (folders_find(&ag->conf, ag->node.host, ag->slurm.id, ag->changes_uid, &ag->folders, e) <
            0 ||
        (!ag->changes_uid && prepare_scratch(ag->folders.scratch, e) < 0))
        return -1;
    if (!ag->changes_uid)
        pilot_cleanup_start(&ag->folders);
    return runtime_dir_read_worker_id(ag, e);
}

static int agent_start(struct agent *ag, const struct options *o, struct err *e)
{
    if (look_around(ag, o, e) < 0)
        return -1;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return err_sys(e, "become the reaper of orphaned processes");
    token_make(&ag->incarnation);
    if (init_loop(ag, e) < 0 || (pilot_end_is_pilot(ag) && pilot_end_init(ag, e) < 0))
        return -1;
    server_messages_init(ag);
    log_event(LOG_INFO, "start", "version", "%s", LUDWIG_VERSION, "server", "%s",
              ag->conf.server.text, "scratch", "%s", ag->folders.pattern, "runtime", "%s",
              ag->folders.runtime, NULL);
    on_child(&ag->sigchld, SIGCHLD);
    gpus_start(ag, on_gpus_known);
    return 0;
}

/* Nobody comes back to the folders of a Slurm job. */
static bool leaves_nothing(const struct agent *ag)
{
    return ag->slurm.id != NULL &&
           (ag->end == AGENT_LEAVES || (ag->end == AGENT_FAILS && pilot_end_has_nothing(ag)));
}

/* Another ludwigd answers at this address: the one before keeps its folder and its runners. */
static int start_anew(struct agent *ag, char **argv, struct err *e)
{
    if (runtime_dir_remember_server(ag, e) < 0)
        return -1;
    execv("/proc/self/exe", argv);
    return err_sys(e, "start anew");
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
    ag->retire = mem_alloc(sizeof *ag->retire);
    ag->user_events = &flow_users_events;
    signal(SIGPIPE, SIG_IGN);
    if (agent_start(ag, o, &e) < 0)
        agent_fail(ag, &e);
    else if (ag->end == AGENT_GOES_ON)
        uv_run(&ag->loop, UV_RUN_DEFAULT);
    if (ag->end == AGENT_STARTS_ANEW && start_anew(ag, argv, &e) < 0)
        ag->why = e;
    if (ag->why.kind != ERR_NONE) {
        fprintf(stderr, "ludwig-worker: %s\n", ag->why.text);
        code = err_exit_code(ag->why.kind);
    }
    removes = leaves_nothing(ag);
    agent_close(ag);
    flow_free(ag);
    if (removes)
        folders_remove(&ag->folders);
    agent_free(ag);
    return (int)code;
}
