/* SPDX-License-Identifier: MIT */
/* jails.c - look which users have a jail, keep a socket in each */
#include "server/conn/jails.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/base/path.h"
#include "server/base/identity.h"
#include "server/base/conf.h"
#include "server/base/thread_task.h"
#include "server/conn/listen.h"
#include "server/conn/trusted_dir.h"

enum {
    SETTLE_MS = 100, /* who makes a jail does more than one thing */
    LOOK_EVERY_MS = 30 * 1000,
    /* Folders may be made before their users are: so often, and each time twice as long after. */
    UNKNOWN_TRIES = 7,
    UNKNOWN_FIRST_MS = 1000,
    /* After what may pass, such as too many open files; doubled each time. */
    AGAIN_FIRST_MS = 1000,
    AGAIN_MAX_MS = LOOK_EVERY_MS
};

struct jail {
    struct pattern *of;
    char *user;
    uid_t uid;
    uv_fs_event_t watch;       /* of the socket's folder, or of the last one on the way to it */
    struct listener *listener; /* NULL: there is none */
    char *why;                 /* there is none, as it was logged last */
    bool is_dirty;             /* to be looked after */
    bool is_put_off;           /* the same, a little later */
    bool is_seen;
};

/* Who the folders are called after: asked for where it holds up nobody. */
struct accounts {
    struct pattern *of; /* for the loop alone */
    char **names;
    size_t n, capacity;
    bool *are_known;
    uid_t *uids;
};

struct pattern {
    struct server *sv;
    char *text;
    char *dir;            /* that holds the jails */
    char *below;          /* "ludwig/server.sock" */
    uv_fs_event_t *watch; /* handles free themselves when closed */
    uv_timer_t *settle;
    uv_timer_t *again;
    struct jail **jails;
    size_t n, capacity;
    bool lists;               /* jails may have come or gone */
    bool polls;               /* nobody tells */
    struct accounts *wanted;  /* of the folders that were found now */
    struct accounts *answers; /* to what was wanted when they were listed before; NULL: none */
    struct thread_task *asked;
    int n_tries;
    bool looks_again; /* as something failed that may pass */
    int again_ms;     /* what it waited last */
    char *why;        /* the folder of the jails cannot be listed */
};

struct jails {
    struct pattern **items;
    size_t n, capacity;
};

/* Logs a reason once. */
static void keep_why(char **kept, const char *what, const char *path, const struct err *why)
{
    if (*kept != NULL && strcmp(*kept, why->text) == 0)
        return;
    free(*kept);
    *kept = mem_strdup(why->text);
    log_event(LOG_WARN, what, "path", "%s", path, "why", "%s", why->text, NULL);
}

static void forget_why(char **kept)
{
    free(*kept);
    *kept = NULL;
}

/* Neither gone nor unsafe. */
static bool may_pass(const struct err *why)
{
    return why->kind != ERR_NOT_FOUND && why->kind != ERR_DENIED;
}

/* ---- one jail ---- */

static void settle_soon(struct pattern *p);

static void on_jail_event(uv_fs_event_t *watch, const char *name, int events, int status)
{
    struct jail *j = watch->data;

    (void)name, (void)events, (void)status;
    j->is_dirty = true;
    settle_soon(j->of);
}

static void set_watch(struct jail *j, const char *path)
{
    int rc;

    uv_fs_event_stop(&j->watch);
    rc = uv_fs_event_start(&j->watch, on_jail_event, path, 0);
    if (rc < 0 && rc != UV_ENOENT && !j->of->polls) {
        log_event(LOG_WARN, "not-followed", "path", "%s", path, "error", "%s", uv_strerror(rc),
                  NULL);
        j->of->polls = true;
    }
}

/* Goes down to the socket's folder, making what is missing; *path is how far it came. */
static int walk(const struct jail *j, char **path, struct err *e)
{
    const char *rest = j->of->below;
    char *step = mem_strdup(j->user);
    int fd = trusted_dir_open(j->of->dir, e);
    bool makes = false;

    *path = mem_strdup(j->of->dir);
    while (fd >= 0 && step != NULL) {
        char *next = path_join(*path, step);
        int below = trusted_dir_step(fd, step, next, makes, e);
        size_t n = strcspn(rest, "/");

        close(fd);
        fd = below;
        if (fd >= 0) {
            free(*path);
            *path = next;
        } else {
            free(next);
        }
        free(step);
        step = rest[n] == '/' ? mem_strndup(rest, n) : NULL;
        rest += rest[n] == '/' ? n + 1 : 0;
        makes = true;
    }
    free(step);
    return fd;
}

static void end_listening(struct jail *j)
{
    if (j->listener != NULL)
        listener_stop(j->of->sv, j->listener);
    j->listener = NULL;
}

static int listen_in(struct jail *j, int dir_fd, const char *dir, struct err *e)
{
    char *path;

    if (j->listener != NULL && listener_lies_in(j->listener, dir_fd)) {
        close(dir_fd);
        return 0;
    }
    end_listening(j);
    path = path_join(dir, path_basename(j->of->below));
    j->listener = listen_for(j->of->sv, dir_fd, path, j->uid, j->user, e);
    free(path);
    return j->listener == NULL ? -1 : 0;
}

static void try_once(struct jail *j)
{
    struct err why = { 0 };
    char *path;
    int dir_fd = walk(j, &path, &why);

    if (dir_fd < 0 && !may_pass(&why))
        end_listening(j);
    if (dir_fd < 0 || listen_in(j, dir_fd, path, &why) < 0) {
        keep_why(&j->why, "jail-refused", path, &why);
        j->is_put_off = may_pass(&why);
    } else {
        forget_why(&j->why);
        j->is_put_off = false;
    }
    set_watch(j, path);
    free(path);
}

/* Again once it is watched: nothing is missed between. */
static void look_after(struct jail *j)
{
    j->is_dirty = false;
    try_once(j);
    try_once(j);
}

static void jail_add(struct pattern *p, const char *user, uid_t uid)
{
    struct jail *j = mem_alloc(sizeof *j);

    j->of = p;
    j->user = mem_strdup(user);
    j->uid = uid;
    j->is_dirty = j->is_seen = true;
    uv_fs_event_init(&p->sv->loop, &j->watch);
    j->watch.data = j;
    mem_grow((void **)&p->jails, &p->capacity, p->n, sizeof(struct jail *));
    p->jails[p->n++] = j;
}

static void on_jail_closed(uv_handle_t *handle)
{
    struct jail *j = handle->data;

    free(j->user);
    free(j->why);
    free(j);
}

static void jail_drop(struct jail *j)
{
    end_listening(j);
    uv_close((uv_handle_t *)&j->watch, on_jail_closed);
}

/* ---- whose they are ---- */

static struct accounts *accounts_create(struct pattern *p)
{
    struct accounts *all = mem_alloc(sizeof *all);

    all->of = p;
    return all;
}

static void accounts_add(struct accounts *all, const char *name)
{
    mem_grow((void **)&all->names, &all->capacity, all->n, sizeof(char *));
    all->names[all->n++] = mem_strdup(name);
}

static void accounts_free(void *context)
{
    struct accounts *all = context;

    if (all == NULL)
        return;
    for (size_t i = 0; i < all->n; i++)
        free(all->names[i]);
    free(all->names);
    free(all->are_known);
    free(all->uids);
    free(all);
}

static void find_all(void *context)
{
    struct accounts *all = context;

    all->are_known = mem_alloc(all->n * sizeof *all->are_known);
    all->uids = mem_alloc(all->n * sizeof *all->uids);
    for (size_t i = 0; i < all->n; i++)
        all->are_known[i] = identity_find_user(all->names[i], &all->uids[i]);
}

/* ---- which there are ---- */

static struct jail *jail_find(const struct pattern *p, const char *user)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->jails[i]->user, user) == 0)
            return p->jails[i];
    return NULL;
}

static bool may_submit(const struct server *sv, uid_t uid)
{
    return uid == geteuid() || (int64_t)uid >= sv->conf.min_uid;
}

/* 1, 0 for a folder that is nobody's yet, -1 when that is to be asked for. */
static int find_account(const struct accounts *all, const char *name, uid_t *uid)
{
    for (size_t i = 0; all != NULL && i < all->n; i++)
        if (strcmp(all->names[i], name) == 0) {
            *uid = all->uids[i];
            return all->are_known[i];
        }
    return -1;
}

/* False for a folder that is nobody's yet. */
static bool take_name(struct pattern *p, const char *name)
{
    struct jail *j = jail_find(p, name);
    uid_t uid = 0;
    int found = j != NULL ? 1 : find_account(p->answers, name, &uid);

    if (j != NULL)
        j->is_seen = true;
    else if (found < 0)
        accounts_add(p->wanted, name);
    else if (found > 0 && may_submit(p->sv, uid))
        jail_add(p, name, uid);
    return found != 0;
}

static void drop_unseen(struct pattern *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++)
        if (p->jails[i]->is_seen)
            p->jails[n++] = p->jails[i];
        else
            jail_drop(p->jails[i]);
    p->n = n;
}

static DIR *open_jails(const struct pattern *p, struct err *e)
{
    int fd = trusted_dir_open(p->dir, e);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL && fd >= 0) {
        err_sys(e, "list %s", p->dir);
        close(fd);
    }
    return dir;
}

/* How many folders have no user; -1 with e set. */
static int take_names(struct pattern *p, DIR *dir, struct err *e)
{
    struct dirent *entry;
    int n_unknown = 0;

    while (errno = 0, (entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.' && entry->d_type != DT_REG)
            n_unknown += !take_name(p, entry->d_name);
    return errno != 0 ? err_sys(e, "list %s", p->dir) : n_unknown;
}

/* The same; what cannot be listed for now has not gone. */
static int list_jails(struct pattern *p, struct err *e)
{
    DIR *dir = open_jails(p, e);
    int n_unknown = -1;

    for (size_t i = 0; i < p->n; i++)
        p->jails[i]->is_seen = false;
    if (dir != NULL) {
        n_unknown = take_names(p, dir, e);
        closedir(dir);
    }
    if (n_unknown >= 0 || !may_pass(e))
        drop_unseen(p);
    else
        p->looks_again = true;
    return n_unknown;
}

static void on_again(uv_timer_t *timer)
{
    struct pattern *p = timer->data;

    p->lists = true;
    for (size_t i = 0; i < p->n; i++)
        p->jails[i]->is_dirty |= p->polls || p->jails[i]->is_put_off;
    settle_soon(p);
}

static uint64_t next_again_ms(struct pattern *p)
{
    p->again_ms = p->again_ms == 0 ? AGAIN_FIRST_MS : p->again_ms * 2;
    if (p->again_ms > AGAIN_MAX_MS)
        p->again_ms = AGAIN_MAX_MS;
    return (uint64_t)p->again_ms;
}

static void plan_next(struct pattern *p, int n_unknown)
{
    if (p->looks_again)
        uv_timer_start(p->again, on_again, next_again_ms(p), 0);
    else if (p->polls)
        uv_timer_start(p->again, on_again, LOOK_EVERY_MS, 0);
    else if (n_unknown > 0 && p->n_tries < UNKNOWN_TRIES)
        uv_timer_start(p->again, on_again, (uint64_t)UNKNOWN_FIRST_MS << p->n_tries++, 0);
    if (!p->looks_again)
        p->again_ms = 0;
}

static void on_dir_event(uv_fs_event_t *watch, const char *name, int events, int status)
{
    struct pattern *p = watch->data;
    struct jail *j = name == NULL ? NULL : jail_find(p, name);

    (void)events, (void)status;
    if (j != NULL)
        j->is_dirty = true;
    p->lists = true;
    p->n_tries = 0;
    settle_soon(p);
}

/* Anew each time: the folder may be another by the same name. */
static void watch_dir(struct pattern *p)
{
    int rc;

    uv_fs_event_stop(p->watch);
    rc = uv_fs_event_start(p->watch, on_dir_event, p->dir, 0);
    p->polls = rc < 0 || fs_is_network(p->dir);
}

static void on_settled(uv_timer_t *timer);

static void after_find(void *context, const struct err *why)
{
    struct accounts *all = context;
    struct pattern *p = all->of;

    if (why != NULL) {
        p->asked = NULL;
        p->lists = true;
        uv_timer_start(p->settle, on_settled, AGAIN_FIRST_MS, 0);
        return;
    }
    p->answers = accounts_create(p);
    *p->answers = *all;
    *all = (struct accounts){ 0 };
    p->asked = NULL;
    p->lists = true;
    uv_timer_start(p->settle, on_settled, 0, 0);
}

/* One at a time: once that is answered they are listed again. */
static void ask_for_wanted(struct pattern *p)
{
    struct thread_job task = { find_all, after_find, accounts_free, p->wanted };

    if (p->wanted->n > 0 && p->asked == NULL)
        p->asked = thread_task_begin(&p->sv->loop, &task);
    else
        accounts_free(p->wanted);
    p->wanted = NULL;
}

static int list_anew(struct pattern *p, struct err *e)
{
    int n_unknown;

    p->lists = false;
    watch_dir(p);
    p->wanted = accounts_create(p);
    n_unknown = list_jails(p, e);
    accounts_free(p->answers);
    p->answers = NULL;
    ask_for_wanted(p);
    return n_unknown;
}

static int look_around(struct pattern *p, struct err *e)
{
    int n_unknown;

    p->looks_again = false;
    n_unknown = p->lists ? list_anew(p, e) : 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->jails[i]->is_dirty)
            look_after(p->jails[i]);
    for (size_t i = 0; i < p->n; i++)
        p->looks_again |= p->jails[i]->is_put_off;
    plan_next(p, n_unknown);
    return n_unknown < 0 ? -1 : 0;
}

static void on_settled(uv_timer_t *timer)
{
    struct pattern *p = timer->data;
    struct err why = { 0 };

    if (look_around(p, &why) < 0)
        keep_why(&p->why, "jails-refused", p->dir, &why);
    else
        forget_why(&p->why);
}

static void settle_soon(struct pattern *p)
{
    if (!uv_is_active((uv_handle_t *)p->settle))
        uv_timer_start(p->settle, on_settled, SETTLE_MS, 0);
}

/* ---- all of them ---- */

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

static uv_timer_t *make_timer(struct pattern *p)
{
    uv_timer_t *timer = mem_alloc(sizeof *timer);

    uv_timer_init(&p->sv->loop, timer);
    timer->data = p;
    return timer;
}

static struct pattern *pattern_create(struct server *sv, const char *text)
{
    struct pattern *p = mem_alloc(sizeof *p);

    p->sv = sv;
    p->text = mem_strdup(text);
    conf_pattern_split(text, &p->dir, &p->below);
    p->lists = true;
    p->watch = mem_alloc(sizeof *p->watch);
    uv_fs_event_init(&sv->loop, p->watch);
    p->watch->data = p;
    p->settle = make_timer(p);
    p->again = make_timer(p);
    return p;
}

static void pattern_destroy(struct pattern *p)
{
    for (size_t i = 0; i < p->n; i++)
        jail_drop(p->jails[i]);
    if (p->asked != NULL)
        thread_task_drop(p->asked);
    accounts_free(p->answers);
    uv_close((uv_handle_t *)p->watch, free_handle);
    uv_close((uv_handle_t *)p->settle, free_handle);
    uv_close((uv_handle_t *)p->again, free_handle);
    free(p->jails);
    free(p->why);
    free(p->below);
    free(p->dir);
    free(p->text);
    free(p);
}

int jails_follow(struct server *sv, const char *pattern, struct err *e)
{
    struct pattern *p = pattern_create(sv, pattern);
    struct jails *all;

    if (look_around(p, e) < 0) {
        pattern_destroy(p);
        return err_wrap(e, "sockets: %s", pattern);
    }
    if (sv->jails == NULL)
        sv->jails = mem_alloc(sizeof *sv->jails);
    all = sv->jails;
    mem_grow((void **)&all->items, &all->capacity, all->n, sizeof(struct pattern *));
    all->items[all->n++] = p;
    return 0;
}

void jails_destroy(struct server *sv)
{
    struct jails *all = sv->jails;

    if (all == NULL)
        return;
    for (size_t i = 0; i < all->n; i++)
        pattern_destroy(all->items[i]);
    free(all->items);
    free(all);
    sv->jails = NULL;
}
