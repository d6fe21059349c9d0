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
#include "worker/agent/pilot_end.h"
#include "worker/base/scratch.h"
#include "worker/flow/flow.h"
#include "worker/node/pilot_cleanup.h"
#include "common/share/share.h"

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
            !share_probe_reaped(&ag->share_ask, pid) && ag->runners.loop != NULL)
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

static int write_registry(struct agent *ag)
{
    struct err e = { 0 };
    int rc = registry_is_wasteful(ag->registry) ? runtime_dir_compact(ag, &e)
                                                : registry_flush(ag->registry, &e);

    if (rc < 0 && !ag->is_registry_stuck)
        log_event(LOG_ERROR, "registry", "why", "%s", e.text, NULL);
    ag->is_registry_stuck = rc < 0;
    return rc;
}

/* The turn it makes is all that is wanted of it. */
static void on_write_again(uv_timer_t *timer)
{
    (void)timer;
}

/* Before the loop waits: what this turn brought is written, then sent and removed. */
static void on_prepare(uv_prepare_t *handle)
{
    struct agent *ag = handle->data;

    pilot_end_turn(ag);
    flow_send_news(ag);
    if (ag->registry == NULL || uv_is_active((uv_handle_t *)&ag->write_timer))
        return;
    if (write_registry(ag) < 0) {
        uv_timer_start(&ag->write_timer, on_write_again, WRITE_AGAIN_MS, 0);
        return;
    }
    flow_discard_settled(ag);
    outbox_pump(&ag->outbox);
}

void lifecycle_ready(struct agent *ag)
{
    char *last = runtime_dir_last_server(ag);
    struct err e = { 0 };

    if (last != NULL && runtime_dir_settle(ag, last, &e) < 0)
        agent_fail(ag, &e);
    else
        server_link_start(ag->link);
    free(last);
}

/* ---- start and end ---- */

static void init_timer(struct agent *ag, uv_timer_t *timer)
{
    uv_timer_init(&ag->loop, timer);
    timer->data = ag;
}

static void init_signal(struct agent *ag, uv_signal_t *handle, uv_signal_cb callback, int number)
{
    uv_signal_init(&ag->loop, handle);
    handle->data = ag;
    uv_signal_start(handle, callback, number);
}

static void init_loop(struct agent *ag)
{
    init_signal(ag, &ag->sigchld, on_child, SIGCHLD);
    init_signal(ag, &ag->sigterm, on_terminate, SIGTERM);
    init_signal(ag, &ag->sigint, on_terminate, SIGINT);
    uv_prepare_init(&ag->loop, &ag->prepare);
    ag->prepare.data = ag;
    uv_prepare_start(&ag->prepare, on_prepare);
    init_timer(ag, &ag->orphan_timer);
    init_timer(ag, &ag->young_timer);
    init_timer(ag, &ag->adopt_timer);
    init_timer(ag, &ag->write_timer);
    share_probe_init(&ag->share_ask, &ag->loop, server_messages_share, ag);
    outbox_init(&ag->outbox, &ag->loop, &flow_outbox_events, ag);
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

static struct server_link *make_link(struct agent *ag)
{
    struct server_link_self self = { .host = ag->node.host,
                                     .pilot = { .token = ag->retire->pilot.token,
                                                .slurm_job = ag->slurm.id,
                                                .ends_at_ms = ag->retire->pilot.ends_at_ms } };

    return server_link_create(&ag->loop, ag->conf.servers, ag->conf.n_servers, &self, &serve_events,
                              ag);
}

static const struct pilot_end_events retire_events = { flow_recall, flow_preempted };

static int agent_start(struct agent *ag, const struct options *o, struct err *e)
{
    if (look_around(ag, o, e) < 0)
        return -1;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return err_sys(e, "become the reaper of orphaned processes");
    token_make(&ag->incarnation);
    init_loop(ag);
    if (pilot_end_is_pilot(ag))
        pilot_end_init(ag, &retire_events);
    ag->link = make_link(ag);
    log_event(LOG_INFO, "start", "version", "%s", LUDWIG_VERSION, "server", "%s",
              ag->conf.server.text, "scratch", "%s", ag->folders.pattern, "runtime", "%s",
              ag->folders.runtime, NULL);
    on_child(&ag->sigchld, SIGCHLD);
    gpus_start(ag);
    return 0;
}

static void close_rest(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* Runners with jobs go on; all other children end when their connections do. */
static void close_loop(struct agent *ag)
{
    struct ring *at, *after;

    if (ag->registry != NULL)
        registry_flush(ag->registry, NULL);
    server_link_destroy(ag->link);
    runners_close(&ag->runners);
    for (RING_EACH(&ag->users, at, after))
        user_close(RING_ITEM(at, struct user, ring));
    gpu_poll_close(&ag->gpuwatch);
    share_probe_close(&ag->share_ask);
    outbox_close(&ag->outbox);
    uv_walk(&ag->loop, close_rest, NULL);
    while (uv_run(&ag->loop, UV_RUN_DEFAULT) != 0)
        ; /* what ran may have been stopped once more */
    uv_loop_close(&ag->loop);
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* Nobody comes back to the folders of a Slurm job. */
static bool leaves_nothing(const struct agent *ag)
{
    return ag->slurm.id != NULL &&
           (ag->end == AGENT_LEAVES || (ag->end == AGENT_FAILS && pilot_end_has_nothing(ag)));
}

static void agent_free(struct agent *ag)
{
    bool removes = leaves_nothing(ag);
    struct ring *at, *after;

    close_loop(ag);
    registry_close(ag->registry);
    attempts_free(&ag->attempts);
    foreign_attempts_free(ag);
    flow_free_passes(ag);
    for (RING_EACH(&ag->users, at, after))
        user_free(RING_ITEM(at, struct user, ring));
    slots_destroy(ag->slots);
    gpu_list_free(&ag->gpus);
    close_fd(ag->home_fd);
    close_fd(ag->lock_fd);
    close_fd(ag->scratch_lock_fd);
    if (removes)
        folders_remove(&ag->folders);
    folders_free(&ag->folders);
    slurm_job_free(&ag->slurm);
    node_free(&ag->node);
    conf_free(&ag->conf);
    free(ag->settled);
    free(ag->retire);
    free(ag->server_id);
    free(ag->share);
    free(ag->drive);
    free(ag->told_user);
    free(ag->told_server);
    free(ag->told_share);
    free(ag->told_projects);
    free(ag);
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
    struct agent *ag = mem_alloc(sizeof *ag);
    struct err e = { 0 };
    enum exit_code code = EXIT_WELL;

    ag->home_fd = ag->lock_fd = ag->scratch_lock_fd = -1;
    ag->retire = mem_alloc(sizeof *ag->retire);
    ag->user_events = &flow_user_events;
    ring_init(&ag->users);
    ring_init(&ag->passes);
    attempts_init(&ag->attempts);
    ring_init(&ag->young);
    ring_init(&ag->orphans);
    ring_init(&ag->strangers);
    uv_loop_init(&ag->loop);
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
    agent_free(ag);
    return (int)code;
}
