/* SPDX-License-Identifier: MIT */
/* agent.c - the event loop of a worker: begin and end */

#include "worker/agent/agent.h"

#include <stdlib.h>
#include <unistd.h>

struct agent *agent_create(struct err *e)
{
    struct agent *ag = mem_alloc(sizeof *ag);
    int rc = uv_loop_init(&ag->loop);

    if (rc < 0) {
        err_set(e, ERR_FAILED, "event loop: %s", uv_strerror(rc));
        free(ag);
        return NULL;
    }
    ag->home_fd = ag->lock_fd = ag->scratch_lock_fd = -1;
    ring_init(&ag->users);
    ring_init(&ag->packings);
    ring_init(&ag->events);
    ring_init(&ag->young);
    ring_init(&ag->settled);
    ring_init(&ag->orphans);
    ring_init(&ag->foreign_attempts);
    attempts_init(&ag->attempts);
    return ag;
}

static void close_rest(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

void agent_close(struct agent *ag)
{
    if (ag->registry != NULL)
        registry_flush(ag->registry, NULL);
    server_link_destroy(ag->link);
    runners_close(&ag->runners);
    for (RING_EACH(struct user, u, &ag->users, ring))
        user_close(u);
    child_question_close(&ag->gpu_question);
    child_question_close(&ag->share_question);
    outbox_close(&ag->outbox);
    measures_close(&ag->measures);
    uv_walk(&ag->loop, close_rest, NULL);
    while (uv_run(&ag->loop, UV_RUN_DEFAULT) != 0)
        ; /* a callback may have stopped it once more */
    uv_loop_close(&ag->loop);
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

void agent_free(struct agent *ag)
{
    registry_close(ag->registry);
    attempts_free(&ag->attempts);
    for (RING_EACH(struct user, u, &ag->users, ring))
        user_free(u);
    slots_destroy(ag->slots);
    gpu_list_free(&ag->gpus);
    close_fd(ag->home_fd);
    close_fd(ag->lock_fd);
    close_fd(ag->scratch_lock_fd);
    folders_free(&ag->folders);
    slurm_job_free(&ag->slurm);
    node_free(&ag->node);
    conf_free(&ag->conf);
    free(ag->pilot_end);
    free(ag->server_id);
    free(ag->share);
    free(ag->drive);
    free(ag->told_user);
    free(ag->told_server);
    free(ag->told_share);
    free(ag->told_projects);
    free(ag);
}

void agent_stop(struct agent *ag, enum agent_end end)
{
    if (ag->end == AGENT_GOES_ON)
        ag->end = end;
    uv_stop(&ag->loop);
}

void agent_fail(struct agent *ag, const struct err *why)
{
    if (ag->end == AGENT_GOES_ON)
        ag->why = *why;
    agent_stop(ag, AGENT_FAILS);
}
