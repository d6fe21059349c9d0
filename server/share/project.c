/* SPDX-License-Identifier: MIT */
/* project.c - a project's owner, row and folder on the share, and the users that may read it */
#include "server/share/project.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/fs.h"
#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/path.h"
#include "common/proto/layout.h"
#include "server/base/identity.h"
#include "server/base/user_limit.h"
#include "server/conn/handler.h"
#include "server/conn/permission.h"
#include "server/share/folder_access.h"
#include "server/share/server_dirs.h"

#define NO_GROUP ((gid_t)-1)

/* The mode of a folder that is not given away yet; no other program makes folders like that. */
#define UNFINISHED_MODE 01700

int project_check_name(const char *name, struct err *e)
{
    if (layout_is_project_name(name))
        return 0;
    return err_set(e, ERR_USAGE,
                   "project '%s': no name that every system can show (letters, digits, - and _"
                   " are safe)",
                   name);
}

static int refuse_name(const char *name, const char *owner, struct err *e)
{
    return err_set(e, ERR_DENIED,
                   "project '%s' belongs to %s; choose another name with project: NAME", name,
                   owner);
}

/* ---- row ---- */

/* The project's id, 0 when there is none, -1 if it belongs to another user. */
static int64_t find_own(struct server *sv, const struct conn *c, const char *name, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_PROJECT_GET, "s", name);
    int rc = stmt_step(s, e);
    int64_t id = rc == 1 ? stmt_int(s, 0) : rc;

    if (rc == 1 && stmt_int(s, 1) != (int64_t)c->uid)
        id = refuse_name(name, stmt_text(s, 2), e);
    stmt_end(s);
    return id;
}

enum whose { NOBODYS, OWN, ANOTHERS };

/* enum whose, or -1. */
static int whose(struct server *sv, const struct conn *c, const char *name, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_PROJECT_GET, "s", name);
    int rc = stmt_step(s, e);

    if (rc == 1)
        rc = stmt_int(s, 1) == (int64_t)c->uid ? OWN : ANOTHERS;
    stmt_end(s);
    return rc;
}

/* NAME.USER for the connection's user; NULL: name has that form already, or that is no valid name.
 * */
static const char *name_beside(const struct conn *c, const char *name, struct arena *a)
{
    size_t n = strlen(name), m = strlen(c->user);
    const char *beside = arena_printf(a, "%s.%s", name, c->user);
    bool has_form = n > m && name[n - m - 1] == '.' && strcmp(name + n - m, c->user) == 0;

    return has_form || c->user[0] == '#' || project_check_name(beside, NULL) < 0 ? NULL : beside;
}

/* ERR_DENIED if the name is NAME.USER of another user who has projects here. */
static int check_not_anothers(struct server *sv, const struct conn *c, const char *name,
                              struct err *e)
{
    int rc = 0;

    for (const char *dot = strchr(name, '.'); rc == 0 && dot != NULL; dot = strchr(dot + 1, '.')) {
        int64_t n = 0;

        if (strcmp(dot + 1, c->user) == 0)
            continue;
        rc = db_get(sv->db, e, SQL_PROJECTS_NAMED_USER, "si>i", dot + 1, (int64_t)c->uid, &n);
        if (rc >= 0)
            rc = n == 0
                     ? 0
                     : err_set(e, ERR_DENIED,
                               "project '%s': names that end in .%s are kept for that user; choose "
                               "another name with project: NAME",
                               name, dot + 1);
    }
    return rc;
}

int project_choose(struct server *sv, const struct conn *c, const char *name, struct arena *a,
                   struct project_names *names, struct err *e)
{
    const char *beside = name_beside(c, name, a);
    int of_name = whose(sv, c, name, e);
    int of_beside = of_name < 0 || beside == NULL ? NOBODYS : whose(sv, c, beside, e);

    *names = (struct project_names){ .name = name };
    if (of_name < 0 || of_beside < 0)
        return -1;
    if (of_name == OWN)
        return 0;
    if (beside != NULL && (of_beside == OWN || (of_name == ANOTHERS && of_beside == NOBODYS)))
        names->name = beside;
    else if (of_name == NOBODYS && of_beside == NOBODYS)
        names->beside = beside;
    return of_beside == OWN ? 0 : check_not_anothers(sv, c, name, e);
}

/* Checks the limit of projects for one more. */
static int check_room(const struct server *sv, const struct conn *c, struct err *e)
{
    const struct user_limit projects = { "projects", "projects",
                                         "submit to one that you have (project: NAME)",
                                         sv->conf.user_projects, SQL_PROJECTS_OF_USER };

    return user_limit_check(sv, c->uid, &projects, 1, e);
}

int64_t project_take(struct server *sv, const struct conn *c, const char *name, struct err *e)
{
    int64_t id = find_own(sv, c, name, e);

    if (id != 0)
        return id;
    if (check_room(sv, c, e) < 0 ||
        db_run(sv->db, e, SQL_PROJECT_ADD, "sis", name, (int64_t)c->uid, c->user) < 0)
        return -1;
    return db_last_id(sv->db);
}

/* ---- folder ---- */

/* A task about the folder, for a request.  As the share may be slow, it runs on a thread, which
 * uses only members of sv that are set before the loop runs.  It never opens, makes or changes
 * anything inside a project. */
struct look {
    const struct server *sv;
    char *name;
    char *beside; /* takes name's place if that folder is another user's; NULL: nothing does */
    uid_t asker;
    bool is_private;
    bool has_groups;      /* groups was told by the kernel */
    struct groups groups; /* the asker's */
    int parent_fd;
    bool has_owners; /* false: the file system shows one owner for all files */
    /* Results. */
    struct folder_order order;
    uid_t owner;
    char *owner_name; /* NULL: there is no folder */
    bool may_read;
};

static void look_free(void *context)
{
    struct look *l = context;

    free(l->groups.items);
    free(l->owner_name);
    free(l->beside);
    free(l->name);
    free(l);
}

static struct look *look_at(const struct server *sv, const struct conn *c, const char *name)
{
    struct look *l = mem_alloc(sizeof *l);

    l->sv = sv;
    l->name = mem_strdup(name);
    l->asker = c->uid;
    return l;
}

static struct look *look_at_either(const struct server *sv, const struct conn *c,
                                   const struct project_names *names)
{
    struct look *l = look_at(sv, c, names->name);

    l->beside = names->beside != NULL ? mem_strdup(names->beside) : NULL;
    return l;
}

/* Called when the folder is another user's: takes the name beside.  False: there is none. */
static bool take_beside(struct look *l)
{
    if (l->beside == NULL)
        return false;
    free(l->name);
    l->name = l->beside;
    l->beside = NULL;
    return true;
}

static bool is_anothers(const struct look *l, const struct stat *st)
{
    return S_ISDIR(st->st_mode) && l->has_owners && st->st_uid != l->asker;
}

/* Names of a system's top folders.  If users are jailed to the share, they see folders of these
 * names there as the system's: sshd runs /bin/sh in it as the user who logs in if there is an
 * /etc/ssh/sshrc, begins in /home/USER, and connects to /run/ludwig/server.sock.  So only ludwigd's
 * own account gets projects of these names. */
static const char *const kept_names[] = { "bin",   "boot",  "dev",    "etc",   "home", "lib",
                                          "lib32", "lib64", "libx32", "media", "mnt",  "nix",
                                          "opt",   "proc",  "root",   "run",   "sbin", "srv",
                                          "sys",   "tmp",   "usr",    "var" };
enum { N_KEPT = sizeof kept_names / sizeof kept_names[0] };

/* Whether folders of projects lie at the top of the share, and belong to their users. */
static bool keeps_names(const struct server *sv)
{
    return geteuid() == 0 && sv->conf.projects == NULL;
}

static bool is_kept(const struct look *l)
{
    if (l->asker == geteuid() || !keeps_names(l->sv))
        return false;
    for (size_t i = 0; i < N_KEPT; i++)
        if (strcasecmp(l->name, kept_names[i]) == 0)
            return true;
    return false;
}

void project_look_for_kept(const struct server *sv)
{
    for (size_t i = 0; i < N_KEPT && keeps_names(sv); i++) {
        char *path = path_join(sv->conf.share, kept_names[i]);
        struct stat st;

        if (lstat(path, &st) == 0 && st.st_uid != 0)
            log_event(LOG_WARN, "unsafe-folder", "path", "%s", path, "uid", "%lld",
                      (long long)st.st_uid, "why", "%s",
                      "users who are jailed to the share see it as a folder of the system, and its "
                      "owner can run programs as them; rename it",
                      NULL);
        free(path);
    }
}

static int folder_open(struct look *l, struct err *e)
{
    l->parent_fd = server_dirs_open_projects(l->sv, false, e);
    if (l->parent_fd < 0)
        return -1;
    l->has_owners = fs_type_of_fd(l->parent_fd).keeps_owners;
    return 0;
}

/* Looks at what lies under the project's name: 1, 0 if nothing does, -1 with e set. */
static int folder_look(const struct look *l, struct stat *st, struct err *e)
{
    if (fstatat(l->parent_fd, l->name, st, AT_SYMLINK_NOFOLLOW) == 0)
        return 1;
    return errno == ENOENT ? 0 : err_sys(e, "look at the folder of project '%s'", l->name);
}

static int check_folder(const struct look *l, const struct stat *st, struct err *e)
{
    char *owner;

    if (!S_ISDIR(st->st_mode))
        return err_set(e, ERR_DENIED,
                       "project '%s': what has that name on the share is no folder%s; choose"
                       " another with project: NAME",
                       l->name, S_ISLNK(st->st_mode) ? " but a link" : "");
    if (!l->has_owners || st->st_uid == l->asker)
        return 0;
    owner = identity_user_name(st->st_uid);
    refuse_name(l->name, owner, e);
    free(owner);
    return -1;
}

static int check_existing(void *context, struct err *e)
{
    struct look *l = context;
    struct stat st;
    int rc;

    if (folder_open(l, e) < 0)
        return -1;
    rc = folder_look(l, &st, e);
    if (rc == 1)
        rc = check_folder(l, &st, e);
    else if (rc == 0)
        rc = err_set(e, ERR_FAILED, "the folder of project '%s' is not on the share", l->name);
    close(l->parent_fd);
    return rc;
}

int project_check_folder(struct server *sv, struct ask *ask, const char *name, struct err *e)
{
    if (request_task_context(ask) == NULL)
        return request_task_begin(sv, ask, check_existing, look_free, look_at(sv, ask->conn, name));
    return request_task_end(ask, e);
}

static int find_owner(void *context, struct err *e)
{
    struct look *l = context;
    struct stat st;
    int rc;

    if (folder_open(l, e) < 0)
        return -1;
    rc = l->has_owners ? folder_look(l, &st, e) : 0;
    if (((rc == 1 && is_anothers(l, &st)) || (rc == 0 && is_kept(l))) && take_beside(l))
        rc = folder_look(l, &st, e);
    if (rc == 1) {
        l->owner = st.st_uid;
        l->owner_name = identity_user_name(l->owner);
    }
    close(l->parent_fd);
    return rc < 0 ? -1 : 0;
}

int project_folder_owner(struct server *sv, struct ask *ask, const struct project_names *names,
                         const char **chosen, uid_t *uid, const char **owner, struct err *e)
{
    struct look *l = request_task_context(ask);

    if (l == NULL)
        return request_task_begin(sv, ask, find_owner, look_free,
                                  look_at_either(sv, ask->conn, names));
    *uid = l->owner;
    *owner = l->owner_name == NULL ? NULL : arena_strdup(ask->arena, l->owner_name);
    *chosen = arena_strdup(ask->arena, l->name);
    return request_task_end(ask, e);
}

/* ---- creation ---- */

struct plan {
    gid_t group;
    mode_t mode;
    bool is_ours; /* ludwigd makes the folder, not the client */
};

bool project_is_made_here(uid_t uid)
{
    return geteuid() == 0 || uid == geteuid();
}

/* The group and mode of a new folder.  Workers of a service account write through the group. */
static struct plan plan_of(const struct look *l)
{
    bool is_own = l->asker == geteuid();
    struct plan p = { .group = l->sv->share_gid, .is_ours = project_is_made_here(l->asker) };

    /* The user's own ludwigd, without share_group, shows projects to nobody else. */
    if (l->is_private || (is_own && p.group == NO_GROUP))
        p.mode = 0700;
    else if (p.is_ours)
        p.mode = 02750;
    else
        p.mode = p.group == NO_GROUP ? 0755 : 02770;
    return p;
}

static bool is_empty(int fd)
{
    DIR *dir = io_list_dir_at(fd, ".", NULL);
    int n = 0;

    if (dir == NULL)
        return false;
    while (n <= 2 && readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n <= 2; /* "." and ".." */
}

/* Gives the folder that was just made to the asker.  ERR_DENIED if another folder was put in its
 * place, as others may be able to write into the folder above. */
static int finish_made(const struct look *l, const struct plan *p, struct err *e)
{
    int fd = openat(l->parent_fd, l->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    uid_t owner = l->asker == geteuid() ? (uid_t)-1 : l->asker;
    gid_t group = p->group;
    struct stat st;
    int rc = 0;

    if (fd < 0 && errno != ENOTDIR && errno != ELOOP && errno != ENOENT)
        return err_sys(e, "open the folder of project '%s'", l->name);
    if (fd < 0 || fstat(fd, &st) < 0 || (l->has_owners && st.st_uid != geteuid()) ||
        !is_empty(fd)) {
        if (fd >= 0)
            close(fd);
        return err_set(e, ERR_DENIED, "the folder of project '%s' was exchanged while it was made",
                       l->name);
    }
    if (owner != (uid_t)-1 && group == NO_GROUP)
        rc = identity_primary_group(owner, &group, e);
    if (rc == 0 && l->has_owners && (owner != (uid_t)-1 || group != NO_GROUP) &&
        fchown(fd, owner, group) < 0)
        rc = err_sys(e, "give the folder of project '%s' to uid %u and group %d", l->name, l->asker,
                     (int)group);
    if (rc == 0 && fchmod(fd, p->mode) < 0 && l->has_owners)
        rc = err_sys(e, "set the mode of the folder of project '%s'", l->name);
    /* Without CAP_FSETID the kernel drops the setgid bit and says nothing. */
    if (rc == 0 && l->has_owners && (fstat(fd, &st) < 0 || (st.st_mode & 07777) != p->mode))
        rc = err_set(e, ERR_DENIED,
                     "the folder of project '%s' got the mode %04o and not %04o: ludwigd needs the "
                     "capability CAP_FSETID to give folders to other groups",
                     l->name, st.st_mode & 07777u, p->mode & 07777u);
    close(fd);
    if (rc < 0)
        (void)unlinkat(l->parent_fd, l->name, AT_REMOVEDIR); /* succeeds only while it is empty */
    else if (fsync(l->parent_fd) < 0 && errno != EINVAL && errno != ENOTSUP)
        rc = err_sys(e, "sync the folder of projects");
    return rc;
}

/* Whether another thread, or a ludwigd that was killed, may have left the folder unfinished. */
static bool may_be_unfinished(const struct plan *p, const struct stat *st)
{
    const mode_t inherited = S_ISGID;

    return p->is_ours && S_ISDIR(st->st_mode) && st->st_uid == geteuid() &&
           (st->st_mode & 07777 & ~inherited) == UNFINISHED_MODE;
}

/* Makes the folder, or finishes one; on one thread at a time, so that no other thread works on an
 * unfinished folder.  0, 1 if another program was faster, -1 with e set. */
static int make_alone(struct look *l, const struct plan *p, struct err *e)
{
    static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
    bool is_left_to_client = false;
    struct stat st;
    int rc;

    pthread_mutex_lock(&alone);
    rc = folder_look(l, &st, e);
    if (rc == 0 && !p->is_ours) {
        is_left_to_client = true;
    } else if (rc == 0 && mkdirat(l->parent_fd, l->name, UNFINISHED_MODE) == 0) {
        rc = finish_made(l, p, e);
    } else if (rc == 0) {
        /* Where the share maps root to nobody, the client makes the folder. */
        is_left_to_client = geteuid() == 0 && (errno == EACCES || errno == EPERM);
        if (errno == EEXIST)
            rc = 1;
        else if (!is_left_to_client)
            rc = err_sys(e, "make the folder of project '%s'", l->name);
    } else if (rc == 1 && may_be_unfinished(p, &st)) {
        int fd = openat(l->parent_fd, l->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (fd >= 0 && is_empty(fd))
            rc = finish_made(l, p, e);
        if (fd >= 0)
            close(fd);
    }
    if (is_left_to_client) {
        l->order.mode = (int64_t)p->mode;
        l->order.group = p->group == NO_GROUP ? SCHEMA_NONE : (int64_t)p->group;
    }
    pthread_mutex_unlock(&alone);
    return rc;
}

static int prepare(void *context, struct err *e)
{
    struct look *l = context;
    struct plan p = plan_of(l);
    bool is_refused;
    struct stat st;
    int rc;

    l->order = (struct folder_order){ .group = SCHEMA_NONE };
    if (folder_open(l, e) < 0)
        return -1;
    rc = folder_look(l, &st, e);
    is_refused = rc == 0 && is_kept(l);
    if (!is_refused && (rc == 0 || (rc == 1 && may_be_unfinished(&p, &st)))) {
        rc = make_alone(l, &p, e);
        if (rc == 1)
            rc = folder_look(l, &st, e);
    }
    if ((is_refused || (rc == 1 && is_anothers(l, &st))) && take_beside(l)) {
        close(l->parent_fd);
        return prepare(context, e);
    }
    if (is_refused)
        rc = err_set(e, ERR_DENIED,
                     "project '%s': the name is kept for a folder of the system; choose another "
                     "name with project: NAME",
                     l->name);
    if (rc == 1)
        rc = check_folder(l, &st, e) < 0 ? -1 : 1;
    close(l->parent_fd);
    if (rc == 1 && l->is_private && l->has_owners && (st.st_mode & 077) != 0)
        return err_set(e, ERR_USAGE,
                       "private: the folder of project '%s' is there already and open to others"
                       " (mode %04o); close it with chmod 700, or leave private: out",
                       l->name, st.st_mode & 07777u);
    return rc < 0 ? -1 : 0;
}

int project_prepare(struct server *sv, struct ask *ask, const char *name, bool is_private,
                    struct folder_order *order, const char **chosen, struct err *e)
{
    struct look *l = request_task_context(ask);
    struct project_names names = { .name = name };

    if (l == NULL) {
        int64_t id;

        if (chosen != NULL && project_choose(sv, ask->conn, name, ask->arena, &names, e) < 0)
            return -1;
        id = find_own(sv, ask->conn, names.name, e);
        if (id < 0 || (id == 0 && check_room(sv, ask->conn, e) < 0))
            return -1;
        l = look_at_either(sv, ask->conn, &names);
        l->is_private = is_private;
        return request_task_begin(sv, ask, prepare, look_free, l);
    }
    *order = l->order;
    if (chosen != NULL)
        *chosen = arena_strdup(ask->arena, l->name);
    return request_task_end(ask, e);
}

/* ---- a user's access ---- */

/* Whether the asker may enter the folder and every folder on the way to it. */
static bool may_enter(const struct look *l, const char *path)
{
    struct stat st;
    char *parent;
    bool may;

    if (stat(path, &st) < 0 || !folder_access(path, &st, l->asker, &l->groups, 1))
        return false;
    if (strcmp(path, "/") == 0)
        return true;
    parent = path_dirname(path);
    may = may_enter(l, parent);
    free(parent);
    return may;
}

static int find_access(void *context, struct err *e)
{
    struct look *l = context;
    char *projects = server_dirs_projects(l->sv), *real = path_real(projects, NULL);
    struct stat st;

    (void)e;
    if (!l->has_groups)
        identity_groups(l->asker, &l->groups);
    if (real != NULL && folder_open(l, NULL) == 0) {
        char *path = path_join(real, l->name);

        l->may_read = l->has_owners && folder_look(l, &st, NULL) == 1 && S_ISDIR(st.st_mode) &&
                      folder_access(path, &st, l->asker, &l->groups, 5) && may_enter(l, real);
        free(path);
        close(l->parent_fd);
    }
    free(real);
    free(projects);
    return 0;
}

int project_may_see(struct server *sv, struct ask *ask, int64_t uid, const struct sweep_info *sweep,
                    struct err *e)
{
    const struct owner owner = { uid, sweep->user };
    const struct conn *c = ask->conn;
    struct look *l = request_task_context(ask);

    if (may_see(c, &owner, sweep->sweep, NULL) == 0)
        return 0;
    if (l != NULL)
        return l->may_read ? 0 : may_see(c, &owner, sweep->sweep, e);
    l = look_at(sv, c, sweep->project);
    l->has_groups = c->has_groups;
    if (c->groups.n > 0)
        l->groups =
            (struct groups){ mem_copy(c->groups.items, c->groups.n * sizeof(gid_t)), c->groups.n };
    return request_task_begin(sv, ask, find_access, look_free, l);
}
