/* SPDX-License-Identifier: MIT */
/* user.c - those whose jobs this agent runs */

#include "worker/user.h"

#include <stdlib.h>
#include <string.h>

#include "worker/flow.h"

static void init_timer(struct user *u, uv_timer_t *timer)
{
    uv_timer_init(&u->agent->loop, timer);
    timer->data = u;
}

static void init_service(struct user *u, struct service *s, const char *name, const char *mode,
                         const struct service_events *events)
{
    service_init(s, &u->agent->loop);
    s->name = name;
    s->mode = mode;
    s->owner = &u->owner;
    s->dir_fd = u->agent->home_fd;
    s->events = *events;
    s->context = u;
}

static struct user *create(struct agent *ag)
{
    struct user *u = mem_alloc(sizeof *u);

    u->agent = ag;
    init_timer(u, &u->staging_timer);
    init_timer(u, &u->pause_timer);
    init_timer(u, &u->clerk_timer);
    init_timer(u, &u->survey_timer);
    init_service(u, &u->stager, "stager", CHILD_STAGER, &flow_stager_events);
    init_service(u, &u->publisher, "publisher", CHILD_PUBLISHER, &flow_publisher_events);
    u->stager.address = u->publisher.address =
        ag->conf.server.kind == ENDPOINT_SSH ? ag->conf.server.text : "";
    init_service(u, &u->clerk, "clerk", CHILD_CLERK, &flow_clerk_events);
    ring_add_last(&ag->users, &u->ring);
    return u;
}

struct user *user_create_self(struct agent *ag, const char *scratch)
{
    struct user *u = create(ag);

    u->owner.scratch = mem_strdup(scratch);
    return u;
}

struct user *user_of(struct agent *ag, const char *name)
{
    (void)name;
    return RING_ITEM(ag->users.next, struct user, ring);
}

void user_close(struct user *u)
{
    service_close(&u->stager);
    service_close(&u->publisher);
    service_close(&u->clerk);
}

void user_free(struct user *u)
{
    ring_remove(&u->ring);
    staging_free(&u->staging);
    free(u->leftovers);
    free(u->owner.name);
    free(u->owner.scratch);
    free(u->name);
    free(u);
}

bool user_reaped(struct user *u, pid_t pid)
{
    return service_reaped(&u->stager, pid) || service_reaped(&u->publisher, pid) ||
           service_reaped(&u->clerk, pid);
}
