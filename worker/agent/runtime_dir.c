/* SPDX-License-Identifier: MIT */
/* runtime_dir.c - the agent's folder for one server: its locks, small files and registry */

#include "worker/agent/runtime_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/path.h"
#include "worker/base/child_start.h"

#define AGENT_LOCK "agent.lock"

enum {
    ID_MAX_BYTES = 256,
    /* An agent that was killed a moment ago may still be going. */
    LOCK_TRIES = 100,
    LOCK_PAUSE_NS = 20 * 1000 * 1000
};

/* ---- small files ---- */

/* The file with the id of the server met at this address: a worker may have several of these. */
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

char *runtime_dir_last_server(const struct agent *ag)
{
    char *path = last_server_path(ag);
    char *id = read_id(path);

    free(path);
    return id;
}

int runtime_dir_remember_server(const struct agent *ag, struct err *e)
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

int runtime_dir_read_worker_id(struct agent *ag, struct err *e)
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

/* Opens the folder above the users' names in the pattern.  -2: others may write there, so that any
 * user could hold a lock. */
static int open_common_scratch(const struct agent *ag, struct err *e)
{
    const char *pattern = ag->folders.pattern, *user = strstr(pattern, FOLDERS_USER);
    char *folder;
    struct stat st;
    int fd;

    while (user != NULL && user > pattern && *user != '/')
        user--;
    folder =
        user == NULL ? mem_strdup(pattern) : mem_printf("%.*s/", (int)(user - pattern), pattern);
    fd = io_make_dirs(folder, 0755, e) < 0 ? -1 : io_open_dir(folder, e);
    free(folder);
    if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022) != 0)) {
        close(fd);
        return -2;
    }
    return fd;
}

/* Keeps out an agent with another runtime folder, which would take our jobs for remains and kill
 * them.  A scratch that is full or cannot be locked must not keep this agent from working. */
static int lock_scratch(struct agent *ag, struct err *e)
{
    char *name = mem_printf("%s.lock", ag->server_id);
    struct err why = { 0 };
    int dir_fd =
        ag->changes_uid ? open_common_scratch(ag, &why) : io_open_dir(ag->folders.scratch, &why);
    int rc = dir_fd < 0 ? -1 : lock_patiently(dir_fd, name, &ag->scratch_lock_fd, &why);

    if (dir_fd >= 0)
        close(dir_fd);
    free(name);
    if (rc < 0 && why.kind == ERR_BUSY)
        return err_set(e, ERR_BUSY,
                       "another ludwig-worker works for server %s on the scratch folder %s, with "
                       "another state folder than %s: stop one of them, or give it a scratch of "
                       "its own",
                       ag->server_id, ag->changes_uid ? ag->folders.pattern : ag->folders.scratch,
                       ag->folders.runtime);
    if (rc < 0 && why.kind != ERR_NONE)
        log_event(LOG_WARN, "scratch-not-locked", "why", "%s", why.text, NULL);
    return 0;
}

/* ---- servers before this one ---- */

/* Whether test holds for any entry of the folder path whose name begins with prefix. */
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
    int dir_fd = io_open_dir(folder, NULL);
    bool is_held;

    if (dir_fd < 0)
        return false;
    is_held = child_lock_is_held(dir_fd, name);
    close(dir_fd);
    return is_held;
}

static bool lives(const char *path, const char *id)
{
    (void)id;
    return is_locked(path, "lock");
}

bool runtime_dir_is_abandoned(const struct agent *ag, const char *server_id)
{
    char *home = path_join(ag->folders.runtime, server_id);
    bool is = path_is_portable_name(server_id) && access(home, F_OK) == 0 &&
              !is_locked(home, AGENT_LOCK) &&
              !any_entry(ag->folders.runtime, "server-", leads_to, server_id);

    free(home);
    return is;
}

bool runtime_dir_has_runner(const struct agent *ag, const char *server_id)
{
    char *home = path_join(ag->folders.runtime, server_id);
    bool has = any_entry(home, "runner.", lives, NULL);

    free(home);
    return has;
}

/* ---- registry ---- */

/* Fills the slot with what the registry says; GPUs that are not here any more are passed over. */
static void fill_slot(const struct agent *ag, const struct given *g, struct slot_item *slot)
{
    const struct number *cpus = g->cpus.items;
    const struct gpu_entry *gpus = g->gpus.items;

    slots_release(ag->slots, slot);
    slot->need =
        (struct slot_need){ g->cpus_milli, g->gpus_milli, g->memory_bytes, slot->need.disk_bytes };
    slot->cpus = mem_alloc(g->cpus.n * sizeof *slot->cpus);
    for (size_t i = 0; i < g->cpus.n; i++)
        slot->cpus[slot->n_cpus++] = (unsigned)cpus[i].number;
    slot->gpus = mem_alloc(g->gpus.n * sizeof *slot->gpus);
    for (size_t i = 0; i < g->gpus.n; i++) {
        size_t gpu = 0;

        while (gpu < ag->gpus.n && strcmp(ag->gpus.gpus[gpu].id, gpus[i].id) != 0)
            gpu++;
        if (gpu < ag->gpus.n)
            slot->gpus[slot->n_gpus++] = (unsigned)gpu;
    }
    if (g->in_slurm && g->gpus.n == 0) /* all that Slurm gave */
        slots_list_gpus(ag->slots, slot);
}

struct opening {
    struct agent *ag;
    bool is_stale;
};

static void on_boot(void *context, const char *boot_id)
{
    struct opening *o = context;

    o->is_stale = strcmp(boot_id, o->ag->node.boot_id) != 0;
}

static void on_assigned(void *context, struct arena *arena, const struct order *order,
                        bool is_stale)
{
    struct opening *o = context;
    struct user *u = user_of(o->ag, order->work.user);
    struct attempt *a = attempts_add(&o->ag->attempts, arena, order, u, PHASE_LEFT);

    if (a != NULL)
        a->is_stale = is_stale || o->is_stale;
}

static void on_given(void *context, const struct given *g)
{
    struct opening *o = context;
    struct attempts *all = &o->ag->attempts;
    struct batch *b = g->is_shared ? attempts_batch(all, &g->process, user_of(o->ag, g->user))
                                   : attempts_find_process(all, &g->process);

    if (b == NULL || b->slot.is_running)
        return;
    fill_slot(o->ag, g, &b->slot);
    b->phase = PROCESS_GIVEN;
}

static void on_gone(void *context, const struct token *token)
{
    struct opening *o = context;
    struct attempt *a = attempts_find(&o->ag->attempts, token);
    struct batch *b = attempts_find_batch(&o->ag->attempts, token);

    if (a != NULL)
        attempts_remove(&o->ag->attempts, a);
    if (b == NULL)
        return;
    slots_release(o->ag->slots, &b->slot);
    b->phase = PROCESS_NONE;
    if (batch_is_over(b))
        batch_destroy(b);
}

/* A job that gets all of Slurm's GPUs keeps CUDA_VISIBLE_DEVICES as Slurm set it: gpus is empty. */
void runtime_dir_describe_given(const struct agent *ag, const struct batch *b, struct arena *arena,
                                struct given *g)
{
    const struct slot_item *slot = &b->slot;
    struct number *cpus = arena_alloc(arena, slot->n_cpus * sizeof *cpus);
    struct gpu_entry *gpus = arena_alloc(arena, slot->n_gpus * sizeof *gpus);

    for (size_t i = 0; i < slot->n_cpus; i++)
        cpus[i].number = slot->cpus[i];
    for (size_t i = 0; i < slot->n_gpus; i++)
        gpus[i].id = ag->gpus.gpus[slot->gpus[i]].id;
    *g = (struct given){ .process = b->token,
                         .is_shared = b->is_shared,
                         .user = b->user->name,
                         .cpus_milli = slot->need.cpus_milli,
                         .gpus_milli = slot->need.gpus_milli,
                         .memory_bytes = slot->need.memory_bytes,
                         .cpus = { cpus, slot->n_cpus },
                         .gpus = { gpus, slot->n_gpus },
                         .in_slurm = ag->is_in_slurm };
    if (g->in_slurm && g->gpus.n == ag->gpus.n)
        g->gpus.n = 0;
}

static int add_given(const struct agent *ag, const struct batch *b, struct registry *r,
                     struct err *e)
{
    struct arena *arena = arena_create();
    struct given g;
    int rc;

    runtime_dir_describe_given(ag, b, arena, &g);
    rc = registry_given(r, &g, e);
    arena_destroy(arena);
    return rc;
}

static int add_all(void *context, struct registry *r, struct err *e)
{
    struct agent *ag = context;

    for (RING_EACH(const struct attempt, a, &ag->attempts.all, ring)) {
        const struct batch *b = a->batch;

        if (!attempt_is_recorded(a))
            continue;
        if (registry_assigned(r, &a->order, a->is_stale, e) < 0 ||
            (b != NULL && !b->is_shared && b->phase == PROCESS_GIVEN && add_given(ag, b, r, e) < 0))
            return -1;
    }
    for (RING_EACH(const struct batch, b, &ag->attempts.batches, ring)) {
        if (b->phase != PROCESS_NONE && add_given(ag, b, r, e) < 0)
            return -1;
    }
    return 0;
}

int runtime_dir_compact(struct agent *ag, struct err *e)
{
    return registry_rewrite(ag->registry, ag->node.boot_id, add_all, ag, e);
}

/* ---- another server's registry ---- */

struct finding {
    const struct agent *ag;
    const struct token *process;
    struct slot_item *slot;
    bool is_found;
};

static void look_at_given(void *context, const struct given *g)
{
    struct finding *f = context;

    if (!token_equal(&g->process, f->process))
        return;
    fill_slot(f->ag, g, f->slot);
    f->is_found = true;
}

static void look_at_gone(void *context, const struct token *token)
{
    struct finding *f = context;

    f->is_found &= !token_equal(token, f->process);
}

bool runtime_dir_find_given(const struct agent *ag, const char *server_id,
                            const struct token *process, struct slot_item *slot)
{
    static const struct registry_events events = { .given = look_at_given, .gone = look_at_gone };
    char *path = mem_printf("%s/%s/registry", ag->folders.runtime, server_id);
    struct finding f = { ag, process, slot, false };

    registry_scan(path, &events, &f, NULL);
    free(path);
    return f.is_found;
}

/* ---- the whole folder ---- */

int runtime_dir_settle(struct agent *ag, const char *server_id, struct err *e)
{
    static const struct registry_events events = { on_boot, on_assigned, on_given, on_gone };
    struct opening o = { ag, false };
    char *home, *path;
    int rc;

    ag->server_id = mem_strdup(server_id);
    if (!path_is_portable_name(ag->server_id))
        return err_set(e, ERR_PROTOCOL, "'%s' cannot be a server's id", ag->server_id);
    home = path_join(ag->folders.runtime, ag->server_id);
    rc = folders_own(home, e);
    if (rc == 0)
        ag->home_fd = io_open_dir(home, e);
    path = path_join(home, "registry");
    free(home);
    if (rc < 0 || ag->home_fd < 0)
        goto fail;
    if (lock_patiently(ag->home_fd, AGENT_LOCK, &ag->lock_fd, e) < 0) {
        if (e->kind == ERR_BUSY)
            err_set(e, ERR_BUSY,
                    "another ludwig-worker of this user works for server %s on this machine",
                    ag->server_id);
        goto fail;
    }
    if (lock_scratch(ag, e) < 0)
        goto fail;
    if (!ag->changes_uid)
        service_need(&user_create_self(ag, ag->folders.scratch)->stager);
    ag->registry = registry_open(path, &events, &o, e);
    if (ag->registry == NULL || runtime_dir_compact(ag, e) < 0)
        goto fail;
    free(path);
    return runtime_dir_remember_server(ag, e);
fail:
    free(path);
    return -1;
}
