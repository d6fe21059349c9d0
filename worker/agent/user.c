/* SPDX-License-Identifier: MIT */
/* user.c - those whose jobs this agent runs */

#include "worker/agent/user.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/account.h"
#include "worker/agent/agent.h"

/* Its stager and publisher stay that long, as the next job may come any moment. */
enum { REST_AFTER_MS = 60 * 1000 };

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

static struct user *create(struct agent *ag, const char *name)
{
    const struct user_events *events = ag->user_events;
    struct user *u = mem_alloc(sizeof *u);

    u->agent = ag;
    u->name = name == NULL ? NULL : mem_strdup(name);
    u->owner.name = name == NULL ? NULL : mem_strdup(name);
    u->account_arena = arena_create();
    init_timer(u, &u->account_timer);
    init_timer(u, &u->rest_timer);
    init_timer(u, &u->staging_timer);
    init_timer(u, &u->pause_timer);
    init_timer(u, &u->clerk_timer);
    init_timer(u, &u->survey_timer);
    init_service(u, &u->stager, "stager", CHILD_STAGER, events->stager);
    init_service(u, &u->publisher, "publisher", CHILD_PUBLISHER, events->publisher);
    u->stager.address = u->publisher.address =
        ag->conf.server.kind == ENDPOINT_SSH && ag->conf.server.keys == NULL
            ? ag->conf.server.text
            : ""; /* a key for messages alone brings no files */
    events->made(u);
    u->stager.extra_fd = u->guard_fd;
    init_service(u, &u->clerk, "clerk", CHILD_CLERK, events->clerk);
    init_service(u, &u->packer, "packer", CHILD_PACKER, events->packer);
    ring_add_last(&ag->users, &u->ring);
    return u;
}

struct user *user_create_self(struct agent *ag, const char *scratch)
{
    struct user *u = create(ag, NULL);

    u->owner.scratch = mem_strdup(scratch);
    u->state = USER_KNOWN;
    return u;
}

static struct user *find(const struct agent *ag, const char *name)
{
    struct ring *at, *after;

    for (RING_EACH(&ag->users, at, after)) {
        struct user *u = RING_ITEM(at, struct user, ring);

        if (u->name == NULL || name == NULL ? u->name == name : strcmp(u->name, name) == 0)
            return u;
    }
    return NULL;
}

/* What root runs as itself must be its own. */
static struct user *refuse_others(struct agent *ag, const char *name)
{
    struct user *u = create(ag, name);

    u->state = USER_REFUSED;
    u->why = mem_strdup("this worker runs as root, and jobs of its own account only: "
                        "kind: node is for those of others");
    return u;
}

struct user *user_of(struct agent *ag, const char *name)
{
    bool is_self =
        !ag->changes_uid && (geteuid() != 0 || name == NULL || account_is_own_name(name));
    struct user *u = find(ag, is_self ? NULL : name);

    if (u == NULL)
        u = ag->changes_uid ? create(ag, name) : refuse_others(ag, name);
    return u;
}

/* ---- those of earlier agents ---- */

/* "publisher.NAME.lock" was made when its first publisher was. */
static char *name_of_lock(const char *entry)
{
    static const char begin[] = "publisher.", end[] = ".lock";
    size_t n = strlen(entry), n_begin = sizeof begin - 1, n_end = sizeof end - 1;

    if (n <= n_begin + n_end || strncmp(entry, begin, n_begin) != 0 ||
        strcmp(entry + n - n_end, end) != 0)
        return NULL;
    return mem_strndup(entry + n_begin, n - n_begin - n_end);
}

void user_recall_all(struct agent *ag)
{
    int fd = openat(ag->home_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (d == NULL && fd >= 0)
        close(fd);
    while (d != NULL && (entry = readdir(d)) != NULL) {
        char *name = name_of_lock(entry->d_name);

        if (name != NULL)
            user_lookup(user_of(ag, name));
        free(name);
    }
    if (d != NULL)
        closedir(d);
}

/* ---- resting ---- */

static bool has_attempts(const struct user *u)
{
    struct ring *at, *after;

    for (RING_EACH(&u->agent->attempts.all, at, after))
        if (RING_ITEM(at, struct attempt, ring)->user == u)
            return true;
    return false;
}

static bool is_busy(const struct user *u)
{
    return u->state != USER_KNOWN || u->is_surveying || u->n_strangers > 0 || u->n_leftovers > 0 ||
           u->clerk.chan != NULL || has_attempts(u) || u->agent->user_events->is_busy(u) ||
           u->expected.n > 0;
}

/* When it comes again it is asked anew who it is: its groups may have changed. */
static void on_rest(uv_timer_t *timer)
{
    struct user *u = timer->data;

    if (is_busy(u)) {
        if (!has_attempts(u))
            uv_timer_start(timer, on_rest, REST_AFTER_MS, 0);
        return;
    }
    service_rest(&u->stager);
    service_rest(&u->publisher);
    tree_states_free(&u->staging);
    owner_clear(&u->owner);
    u->state = USER_UNKNOWN;
}

void user_may_rest(struct user *u)
{
    if (u->owner.rights != NULL && !uv_is_active((uv_handle_t *)&u->rest_timer))
        uv_timer_start(&u->rest_timer, on_rest, REST_AFTER_MS, 0);
}

/* ---- their end ---- */

void user_close(struct user *u)
{
    user_lookup_close(u);
    service_close(&u->stager);
    service_close(&u->publisher);
    service_close(&u->clerk);
    service_close(&u->packer);
}

void user_free(struct user *u)
{
    ring_remove(&u->ring);
    u->agent->user_events->gone(u);
    tree_states_free(&u->staging);
    cache_trees_free(&u->cached);
    cache_news_free(&u->holds);
    if (u->guard_fd >= 0)
        close(u->guard_fd);
    owner_clear(&u->owner);
    free(u->owner.name);
    free(u->leftovers);
    free(u->pause_why);
    free(u->why);
    free(u->name);
    free(u);
}

bool user_reaped(struct user *u, pid_t pid)
{
    return user_lookup_reaped(u, pid) || service_reaped(&u->stager, pid) ||
           service_reaped(&u->publisher, pid) || service_reaped(&u->clerk, pid) ||
           service_reaped(&u->packer, pid);
}
