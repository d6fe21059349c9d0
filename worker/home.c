/* SPDX-License-Identifier: MIT */
/* home.c - the folder of one server: who else is here, and what was held */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/io.h"
#include "common/log.h"
#include "common/path.h"
#include "worker/children.h"
#include "worker/flow.h"

#define AGENT_LOCK "agent.lock"

enum {
    ID_MAX_BYTES = 256,
    /* An agent that was killed a moment ago may still be going. */
    LOCK_TRIES = 100,
    LOCK_PAUSE_NS = 20 * 1000 * 1000
};

/* ---- small files ---- */

/* The server's id by the address it was met at: one worker may have several configurations. */
static char *last_server_path(const struct agent *ag)
{
    const struct endpoint *server = &ag->conf.server;
    const char *address = server->kind == ENDPOINT_UNIX ? server->path : server->text;
    struct digest d;
    char hex[DIGEST_HEX];

    digest_of(address, strlen(address), &d);
    digest_hex(&d, hex);
    return mem_printf("%s/server-%.16s", ag->folders.runtime, hex);
}

static char *read_id(const char *path)
{
    struct buf text = { 0 };
    char *id;

    if (io_read_file(path, ID_MAX_BYTES, &text, NULL) < 0 || text.n == 0) {
        buf_free(&text);
        return NULL;
    }
    id = buf_take(&text);
    id[strcspn(id, "\n")] = '\0';
    return id;
}

char *home_last_server(const struct agent *ag)
{
    char *path = last_server_path(ag);
    char *id = read_id(path);

    free(path);
    return id;
}

int home_remember_server(const struct agent *ag, struct err *e)
{
    char *path = last_server_path(ag);
    char *old = read_id(path);
    int rc = 0;

    if (old == NULL || strcmp(old, ag->server_id) != 0)
        rc = io_replace_file(path, ag->server_id, strlen(ag->server_id), 0600, e);
    free(old);
    free(path);
    return rc;
}

int home_read_worker_id(struct agent *ag, struct err *e)
{
    char *path = path_join(ag->folders.runtime, "id");
    char *text = read_id(path);
    char hex[TOKEN_HEX];
    int rc = 0;

    if (text == NULL || token_parse(text, &ag->worker) < 0) {
        token_make(&ag->worker);
        token_hex(&ag->worker, hex);
        rc = io_replace_file(path, hex, strlen(hex), 0600, e);
    }
    free(text);
    free(path);
    return rc;
}

/* ---- lock ---- */

static int open_home(struct agent *ag, struct err *e)
{
    char *path;
    int rc;

    if (!path_is_portable_name(ag->server_id))
        return err_set(e, ERR_PROTOCOL, "'%s' cannot be a server's id", ag->server_id);
    path = path_join(ag->folders.runtime, ag->server_id);
    rc = folders_own(path, e);
    if (rc == 0)
        ag->home_fd = io_open_dir(path, e);
    free(path);
    return rc < 0 || ag->home_fd < 0 ? -1 : 0;
}

static int lock_patiently(int dir_fd, const char *name, int *lock_fd, struct err *e)
{
    const struct timespec pause = { 0, LOCK_PAUSE_NS };

    for (int i = 0; i < LOCK_TRIES; i++) {
        if (child_lock(dir_fd, name, lock_fd, e) == 0)
            return 0;
        if (e->kind != ERR_BUSY)
            return -1;
        nanosleep(&pause, NULL);
    }
    return -1;
}

static int lock_home(struct agent *ag, struct err *e)
{
    if (lock_patiently(ag->home_fd, AGENT_LOCK, &ag->lock_fd, e) == 0)
        return 0;
    if (e->kind != ERR_BUSY)
        return -1;
    return err_set(e, ERR_BUSY,
                   "another ludwig-worker of this user works for server %s on this machine",
                   ag->server_id);
}

/* An agent with another runtime folder would take our jobs for remains, and kill them. A scratch
 * that is full, or whose file system knows no locks, must not keep us from working. */
static int lock_scratch(struct agent *ag, struct err *e)
{
    char *name = mem_printf("%s.lock", ag->server_id);
    struct err why = { 0 };
    int rc = lock_patiently(ag->scratch.fd, name, &ag->scratch_lock_fd, &why);

    free(name);
    if (rc == 0)
        return 0;
    if (why.kind == ERR_BUSY)
        return err_set(e, ERR_BUSY,
                       "another ludwig-worker works for server %s on the scratch folder %s, with "
                       "another state folder than %s: stop one of them, or give it a scratch of "
                       "its own",
                       ag->server_id, ag->scratch.path, ag->folders.runtime);
    log_event(LOG_WARN, "scratch-not-locked", "why", "%s", why.text, NULL);
    return 0;
}

/* ---- servers before this one ---- */

/* Of what lies in the folder under such a name, is there one of which the test is true? */
static bool any_entry(const char *path, const char *prefix,
                      bool (*test)(const char *path, const char *id), const char *id)
{
    DIR *d = opendir(path);
    const struct dirent *entry;
    bool found = false;

    while (d != NULL && !found && (entry = readdir(d)) != NULL) {
        char *inner = path_join(path, entry->d_name);

        found = strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && test(inner, id);
        free(inner);
    }
    if (d != NULL)
        closedir(d);
    return found;
}

static bool leads_to(const char *path, const char *id)
{
    char *there = read_id(path);
    bool is_it = there != NULL && strcmp(there, id) == 0;

    free(there);
    return is_it;
}

static bool is_locked(const char *folder, const char *name)
{
    struct err e = { 0 };
    int dir_fd = io_open_dir(folder, NULL);
    int lock_fd = -1;

    if (dir_fd < 0)
        return false;
    if (child_lock(dir_fd, name, &lock_fd, &e) == 0)
        close(lock_fd);
    close(dir_fd);
    return e.kind == ERR_BUSY;
}

static bool lives(const char *path, const char *id)
{
    (void)id;
    return is_locked(path, "lock");
}

bool home_is_abandoned(const struct agent *ag, const char *server_id)
{
    char *home = path_join(ag->folders.runtime, server_id);
    bool is = path_is_portable_name(server_id) && access(home, F_OK) == 0 &&
              !is_locked(home, AGENT_LOCK) &&
              !any_entry(ag->folders.runtime, "server-", leads_to, server_id);

    free(home);
    return is;
}

bool home_has_runner(const struct agent *ag, const char *server_id)
{
    char *home = path_join(ag->folders.runtime, server_id);
    bool has = any_entry(home, "runner.", lives, NULL);

    free(home);
    return has;
}

/* ---- registry ---- */

struct opening {
    struct agent *ag;
    bool is_stale;
};

static void on_boot(void *context, const char *boot_id)
{
    struct opening *o = context;

    o->is_stale = strcmp(boot_id, o->ag->node.boot_id) != 0;
}

static void on_assigned(void *context, struct arena *arena, const struct order *order)
{
    struct opening *o = context;
    struct attempt *a = attempts_add(&o->ag->attempts, arena, order);

    if (a != NULL)
        a->is_stale = o->is_stale;
}

static void on_gone(void *context, const struct token *token)
{
    struct opening *o = context;
    struct attempt *a = attempts_find(&o->ag->attempts, token);

    if (a != NULL)
        attempts_remove(&o->ag->attempts, a);
}

struct iteration {
    struct agent *ag;
    struct ring *at;
};

/* What is settled, or was told without having started, is not in the registry any more. */
static bool is_registered(const struct attempt *a)
{
    return a->phase != PHASE_DISCARDING && (a->phase != PHASE_OUTCOME || a->may_be_on_scratch);
}

static const struct order *next_order(void *context)
{
    struct iteration *in = context;

    while (in->at != &in->ag->attempts.all) {
        const struct attempt *a = RING_ITEM(in->at, struct attempt, ring);

        in->at = in->at->next;
        if (is_registered(a))
            return &a->order;
    }
    return NULL;
}

int home_compact(struct agent *ag, struct err *e)
{
    struct iteration in = { ag, ag->attempts.all.next };

    return registry_rewrite(ag->registry, ag->node.boot_id, next_order, &in, e);
}

static int open_registry(struct agent *ag, struct err *e)
{
    static const struct registry_events events = { on_boot, on_assigned, on_gone };
    char *path = mem_printf("%s/%s/registry", ag->folders.runtime, ag->server_id);
    struct opening o = { ag, false };
    struct ring *at, *after;

    ag->registry = registry_open(path, &events, &o, e);
    free(path);
    if (ag->registry == NULL)
        return -1;
    if (o.is_stale)
        for (RING_EACH(&ag->attempts.all, at, after))
            adopt_spoil(ag, RING_ITEM(at, struct attempt, ring));
    return home_compact(ag, e);
}

/* ---- all of it ---- */

static void init_service(struct agent *ag, struct service *s, const char *name, const char *mode,
                         const struct service_events *events)
{
    s->name = name;
    s->mode = mode;
    s->scratch = ag->folders.scratch;
    s->dir_fd = ag->home_fd;
    s->events = *events;
    s->context = ag;
}

int home_settle(struct agent *ag, const char *server_id, struct err *e)
{
    ag->server_id = mem_strdup(server_id);
    if (open_home(ag, e) < 0 || lock_home(ag, e) < 0 || lock_scratch(ag, e) < 0 ||
        open_registry(ag, e) < 0 || home_remember_server(ag, e) < 0)
        return -1;
    init_service(ag, &ag->stager, "stager", CHILD_STAGER, &flow_stager_events);
    init_service(ag, &ag->publisher, "publisher", CHILD_PUBLISHER, &flow_publisher_events);
    runners_init(&ag->runners, &ag->loop, ag->home_fd, ag->folders.scratch, &adopt_runner_events,
                 ag);
    adopt_begin(ag);
    return 0;
}
