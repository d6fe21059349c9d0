/* SPDX-License-Identifier: MIT */
/* jails.c - finds the users' jails, and keeps a socket in each */
#include "server/conn/jails.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/base/path.h"
#include "server/base/identity.h"
#include "server/base/conf.h"
#include "server/base/thread_task.h"
#include "server/conn/listen.h"

enum {
    SETTLE_MS = 100, /* making a jail takes several steps */
    LOOK_EVERY_MS = 30 * 1000,
    /* Folders may be made before their users: ludwigd looks again so often, each time after twice
     * the delay. */
    UNKNOWN_TRIES = 7,
    UNKNOWN_FIRST_MS = 1000,
    /* Delays after failures that may pass, such as too many open files; doubled each time. */
    AGAIN_FIRST_MS = 1000,
    AGAIN_MAX_MS = LOOK_EVERY_MS
};

struct jail {
    struct pattern *of;
    char *user;
    uid_t uid;
    uv_fs_event_t watch;       /* of the socket's folder, or of the last one on the way to it */
    struct listener *listener; /* NULL: there is no socket */
    char *why;                 /* why there is no socket, as it was logged last */
    bool is_dirty;             /* is to be looked at */
    bool is_put_off;           /* is to be looked at later, after a failure that may pass */
    bool is_seen;              /* is in this listing */
};

/* The accounts whose names the folders have; looked up on a thread. */
struct accounts {
    struct pattern *of; /* used on the loop alone */
    char **names;
    size_t n, capacity;
    bool *are_known;
    uid_t *uids;
};

/* A pattern of sockets, and its jails. */
struct pattern {
    struct server *sv;
    char *dir;            /* the folder that holds the jails */
    char *below;          /* "ludwig/server.sock" */
    uv_fs_event_t *watch; /* of dir; this and the timers are freed when closed */
    uv_timer_t *settle;   /* collects changes for SETTLE_MS, then looks */
    uv_timer_t *again;    /* until the next look that no event asks for */
    struct jail **jails;
    size_t n, capacity;
    bool lists;                /* the next look lists dir: jails may have come or gone */
    bool polls;                /* the kernel does not tell of changes: dir is looked at regularly */
    struct accounts *wanted;   /* accounts to look up for folders of this listing */
    struct accounts *answers;  /* accounts looked up for the listing before; NULL: none */
    struct thread_task *asked; /* looks accounts up; NULL: none is running */
    int n_tries;               /* looks for users of folders that have none, see UNKNOWN_TRIES */
    bool looks_again;          /* something failed that may pass */
    int again_ms;              /* the last delay after such a failure */
    char *why;                 /* why the folder of the jails cannot be listed */
};

struct jails {
    struct pattern **items;
    size_t n, capacity;
};

/* Logs a reason unless it is the one in *kept, which was logged last. */
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

/* Whether the failure may pass: the folder is neither gone nor unsafe. */
static bool may_pass(const struct err *why)
{
    return why->kind != ERR_NOT_FOUND && why->kind != ERR_DENIED;
}

/* ---- trusted folders: only root and ludwigd's own account can change them ---- */

/* Returns fd if its folder is trusted: only root and ludwigd's account can change or exchange what
 * is in it.  Else closes fd and returns -1; fd may be -1, with errno of the open() that failed. */
static int check_trusted(int fd, const char *path, struct err *e)
{
    struct stat st;

    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        return err_set(e, ERR_DENIED, "%s is no folder, and links are not followed", path);
    if (fd < 0)
        return err_sys(e, "open %s", path);
    if (fstat(fd, &st) < 0)
        err_sys(e, "look at %s", path);
    else if (st.st_uid != 0 && st.st_uid != geteuid())
        err_set(e, ERR_DENIED,
                "%s belongs to uid %u, who could change what is in it; it must be root's", path,
                st.st_uid);
    else if ((st.st_mode & 022) != 0)
        err_set(e, ERR_DENIED, "others may write into %s (mode %04o); chmod go-w it", path,
                st.st_mode & 07777u);
    else
        return fd;
    close(fd);
    return -1;
}

/* Opens the folder of the jails; links on the way to it are followed. */
static int open_trusted(const char *path, struct err *e)
{
    return check_trusted(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), path, e);
}

/* Opens a folder, but no link, in a trusted folder; makes: a missing one is made. */
static int step_into(int dir_fd, const char *name, const char *path, bool makes, struct err *e)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT && makes) {
        if (mkdirat(dir_fd, name, 0755) < 0 && errno != EEXIST)
            return err_sys(e, "make %s", path);
        fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    return check_trusted(fd, path, e);
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

/* Opens the socket's folder; missing folders below the jail are made.  *path, which the caller
 * frees: the last folder that was reached.  -1 with e set. */
static int walk(const struct jail *j, char **path, struct err *e)
{
    const char *rest = j->of->below;
    char *step = mem_strdup(j->user);
    int fd = open_trusted(j->of->dir, e);
    bool makes = false;

    *path = mem_strdup(j->of->dir);
    while (fd >= 0 && step != NULL) {
        char *next = path_join(*path, step);
        int below = step_into(fd, step, next, makes, e);
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

static void try_once(struct jail *j)
{
    struct err why = { 0 };
    char *path, *socket_path;
    int dir_fd = walk(j, &path, &why), rc;
    bool is_well = false;

    if (dir_fd < 0) {
        if (!may_pass(&why))
            end_listening(j);
    } else if (j->listener != NULL && listener_lies_in(j->listener, dir_fd)) {
        close(dir_fd);
        is_well = true;
    } else {
        end_listening(j);
        socket_path = path_join(path, path_basename(j->of->below));
        j->listener = listen_for(j->of->sv, dir_fd, socket_path, j->uid, j->user, &why);
        free(socket_path);
        is_well = j->listener != NULL;
    }
    if (is_well)
        forget_why(&j->why);
    else
        keep_why(&j->why, "jail-refused", path, &why);
    j->is_put_off = !is_well && may_pass(&why);
    uv_fs_event_stop(&j->watch);
    rc = uv_fs_event_start(&j->watch, on_jail_event, path, 0);
    if (rc < 0 && rc != UV_ENOENT && !j->of->polls) {
        log_event(LOG_WARN, "not-followed", "path", "%s", path, "error", "%s", uv_strerror(rc),
                  NULL);
        j->of->polls = true;
    }
    free(path);
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

/* ---- accounts ---- */

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

/* ---- the list of jails ---- */

static struct jail *jail_find(const struct pattern *p, const char *user)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->jails[i]->user, user) == 0)
            return p->jails[i];
    return NULL;
}

/* Makes a jail of a folder whose account is known, or has the account looked up.  False: the folder
 * has no user's name yet. */
static bool take_name(struct pattern *p, const char *name)
{
    const struct accounts *answers = p->answers;
    struct jail *j = jail_find(p, name);
    size_t i = 0;

    if (j != NULL) {
        j->is_seen = true;
        return true;
    }
    while (answers != NULL && i < answers->n && strcmp(answers->names[i], name) != 0)
        i++;
    if (answers == NULL || i == answers->n) {
        struct accounts *wanted = p->wanted;

        mem_grow((void **)&wanted->names, &wanted->capacity, wanted->n, sizeof(char *));
        wanted->names[wanted->n++] = mem_strdup(name);
        return true;
    }
    if (!answers->are_known[i])
        return false;
    if (answers->uids[i] == geteuid() || (int64_t)answers->uids[i] >= p->sv->conf.min_uid) {
        j = mem_alloc(sizeof *j);
        j->of = p;
        j->user = mem_strdup(name);
        j->uid = answers->uids[i];
        j->is_dirty = j->is_seen = true;
        uv_fs_event_init(&p->sv->loop, &j->watch);
        j->watch.data = j;
        mem_grow((void **)&p->jails, &p->capacity, p->n, sizeof(struct jail *));
        p->jails[p->n++] = j;
    }
    return true;
}

/* Lists the folder of the jails; returns how many folders in it have no user, or -1 with e set.
 * After a failure that may pass the jails stay. */
static int list_jails(struct pattern *p, struct err *e)
{
    int fd = open_trusted(p->dir, e), n_unknown = -1;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++)
        p->jails[i]->is_seen = false;
    if (dir != NULL) {
        n_unknown = 0;
        while (errno = 0, (entry = readdir(dir)) != NULL)
            if (entry->d_name[0] != '.' && entry->d_type != DT_REG)
                n_unknown += !take_name(p, entry->d_name);
        if (errno != 0)
            n_unknown = err_sys(e, "list %s", p->dir);
        closedir(dir);
    } else if (fd >= 0) {
        err_sys(e, "list %s", p->dir);
        close(fd);
    }
    if (n_unknown < 0 && may_pass(e)) {
        p->looks_again = true;
        return -1;
    }
    for (size_t i = 0; i < p->n; i++)
        if (p->jails[i]->is_seen)
            p->jails[n++] = p->jails[i];
        else
            jail_drop(p->jails[i]);
    p->n = n;
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

static void plan_next(struct pattern *p, int n_unknown)
{
    uint64_t ms = 0;

    if (p->looks_again) {
        p->again_ms = p->again_ms == 0 ? AGAIN_FIRST_MS : p->again_ms * 2;
        if (p->again_ms > AGAIN_MAX_MS)
            p->again_ms = AGAIN_MAX_MS;
        ms = (uint64_t)p->again_ms;
    } else {
        p->again_ms = 0;
        if (p->polls)
            ms = LOOK_EVERY_MS;
        else if (n_unknown > 0 && p->n_tries < UNKNOWN_TRIES)
            ms = (uint64_t)UNKNOWN_FIRST_MS << p->n_tries++;
    }
    if (ms > 0)
        uv_timer_start(p->again, on_again, ms, 0);
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

static void on_settled(uv_timer_t *timer);

static void after_find(void *context, const struct err *why)
{
    struct accounts *all = context;
    struct pattern *p = all->of;

    if (why == NULL) {
        p->answers = mem_copy(all, sizeof *all);
        *all = (struct accounts){ 0 };
    }
    p->asked = NULL;
    p->lists = true;
    uv_timer_start(p->settle, on_settled, why == NULL ? 0 : AGAIN_FIRST_MS, 0);
}

/* Lists and watches the folder anew; returns as list_jails does.  Accounts are looked up for one
 * listing at a time; once they are known the folder is listed again. */
static int list_anew(struct pattern *p, struct err *e)
{
    int n_unknown, rc;

    p->lists = false;
    uv_fs_event_stop(p->watch); /* another folder may have the name by now */
    rc = uv_fs_event_start(p->watch, on_dir_event, p->dir, 0);
    p->polls = rc < 0 || fs_is_network(p->dir);
    p->wanted = mem_alloc(sizeof *p->wanted);
    p->wanted->of = p;
    n_unknown = list_jails(p, e);
    accounts_free(p->answers);
    p->answers = NULL;
    if (p->wanted->n > 0 && p->asked == NULL) {
        struct thread_job task = { find_all, after_find, accounts_free, p->wanted };

        p->asked = thread_task_begin(&p->sv->loop, &task);
    } else {
        accounts_free(p->wanted);
    }
    p->wanted = NULL;
    return n_unknown;
}

static int look_around(struct pattern *p, struct err *e)
{
    int n_unknown;

    p->looks_again = false;
    n_unknown = p->lists ? list_anew(p, e) : 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->jails[i]->is_dirty) {
            p->jails[i]->is_dirty = false;
            try_once(p->jails[i]);
            try_once(p->jails[i]); /* again once it is watched: nothing is missed between */
        }
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

/* ---- all jails ---- */

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

static struct pattern *pattern_create(struct server *sv, const char *text)
{
    struct pattern *p = mem_alloc(sizeof *p);

    p->sv = sv;
    conf_pattern_split(text, &p->dir, &p->below);
    p->lists = true;
    p->watch = mem_alloc(sizeof *p->watch);
    p->settle = mem_alloc(sizeof *p->settle);
    p->again = mem_alloc(sizeof *p->again);
    uv_fs_event_init(&sv->loop, p->watch);
    uv_timer_init(&sv->loop, p->settle);
    uv_timer_init(&sv->loop, p->again);
    p->watch->data = p->settle->data = p->again->data = p;
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
