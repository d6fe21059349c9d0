/* SPDX-License-Identifier: MIT */
/* project.c - make folders of projects, check whose they are and who may read them */
#include "server/project.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fs.h"
#include "common/io.h"
#include "common/path.h"
#include "server/identity.h"
#include "server/place.h"

#define NO_GROUP ((gid_t)-1)

int project_check_name(const char *name, struct err *e)
{
    if (path_is_portable_name(name) && name[0] != '.')
        return 0;
    return err_set(e, ERR_USAGE,
                   "project '%s': no name that every system can show (letters, digits, - and _"
                   " are safe)",
                   name);
}

int project_refuse(const char *name, const char *owner, struct err *e)
{
    return err_set(e, ERR_DENIED,
                   "project '%s' belongs to %s; choose another name with project: NAME", name,
                   owner);
}

/* ---- its row ---- */

int64_t project_take(struct server *sv, const struct conn *c, const char *name, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_PROJECT_GET, "s", name);
    int rc = stmt_step(s, e);
    int64_t id = rc == 1 ? stmt_int(s, 0) : -1;

    if (rc == 1 && stmt_int(s, 1) != (int64_t)c->uid)
        id = project_refuse(name, stmt_text(s, 2), e);
    stmt_end(s);
    if (rc != 0)
        return id;
    if (db_run(sv->db, e, SQL_PROJECT_ADD, "sis", name, (int64_t)c->uid, c->user) < 0)
        return -1;
    return db_last_id(sv->db);
}

/* ---- whose folder it is ---- */

struct folder {
    int parent_fd;
    bool has_owners; /* else the file system calls everything somebody's */
    const char *name;
};

static int folder_open(struct server *sv, const char *name, struct folder *f, struct err *e)
{
    *f = (struct folder){ .name = name, .parent_fd = place_open_projects(sv, e) };
    if (f->parent_fd < 0)
        return -1;
    f->has_owners = fs_type_of_fd(f->parent_fd).keeps_owners;
    return 0;
}

/* What lies there: 1, 0 when nothing does, -1. */
static int folder_look(const struct folder *f, struct stat *st, struct err *e)
{
    if (fstatat(f->parent_fd, f->name, st, AT_SYMLINK_NOFOLLOW) == 0)
        return 1;
    return errno == ENOENT ? 0 : err_sys(e, "look at the folder of project '%s'", f->name);
}

static int refuse_folder(const struct folder *f, const struct stat *st, struct err *e)
{
    char *owner = identity_user_name(st->st_uid);

    project_refuse(f->name, owner, e);
    free(owner);
    return -1;
}

static int check_folder(const struct folder *f, const struct stat *st, uid_t uid, struct err *e)
{
    if (!S_ISDIR(st->st_mode))
        return err_set(e, ERR_DENIED,
                       "project '%s': what has that name on the share is no folder%s; choose"
                       " another with project: NAME",
                       f->name, S_ISLNK(st->st_mode) ? " but a link" : "");
    return f->has_owners && st->st_uid != uid ? refuse_folder(f, st, e) : 0;
}

static int check_private(const struct folder *f, const struct stat *st, struct err *e)
{
    if (!f->has_owners || (st->st_mode & 077) == 0)
        return 0;
    return err_set(e, ERR_USAGE,
                   "private: the folder of project '%s' is there already and open to others (mode"
                   " %04o); close it with chmod 700, or leave private: out",
                   f->name, st->st_mode & 07777u);
}

int project_check_folder(struct server *sv, const struct conn *c, const char *name, struct err *e)
{
    struct folder f;
    struct stat st;
    int rc;

    if (folder_open(sv, name, &f, e) < 0)
        return -1;
    rc = folder_look(&f, &st, e);
    if (rc == 1)
        rc = check_folder(&f, &st, c->uid, e);
    else if (rc == 0)
        rc = err_set(e, ERR_FAILED, "the folder of project '%s' is not on the share", name);
    close(f.parent_fd);
    return rc;
}

int project_folder_owner(struct server *sv, const char *name, uid_t *uid, struct err *e)
{
    struct folder f;
    struct stat st;
    int rc;

    if (folder_open(sv, name, &f, e) < 0)
        return -1;
    rc = f.has_owners ? folder_look(&f, &st, e) : 0;
    if (rc == 1)
        *uid = st.st_uid;
    close(f.parent_fd);
    return rc;
}

/* ---- making it ---- */

struct plan {
    uid_t owner;
    gid_t group;
    mode_t mode;
    bool is_ours; /* to make */
};

/* Workers of a service account write into projects through the group. */
static struct plan plan_of(const struct server *sv, uid_t uid, bool is_private)
{
    bool is_own = uid == geteuid(), is_root = geteuid() == 0;
    struct plan p = { .owner = uid, .group = sv->share_gid, .is_ours = is_own || is_root };

    if (is_private)
        p.mode = 0700;
    else if (is_own || is_root)
        p.mode = is_own && p.group == NO_GROUP ? 0755 : 02750;
    else
        p.mode = p.group == NO_GROUP ? 0755 : 02770;
    return p;
}

static bool is_empty(int fd)
{
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    int n = 0;

    if (dir == NULL) {
        if (again >= 0)
            close(again);
        return false;
    }
    while (n <= 2 && readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n <= 2; /* "." and ".." */
}

/* Whoever may write beside it could have put another in its place. */
static int open_made(const struct folder *f, struct err *e)
{
    int fd = openat(f->parent_fd, f->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0 && errno != ENOTDIR && errno != ELOOP && errno != ENOENT)
        return err_sys(e, "open the folder of project '%s'", f->name);
    if (fd >= 0 && fstat(fd, &st) == 0 && (!f->has_owners || st.st_uid == geteuid()) &&
        is_empty(fd))
        return fd;
    if (fd >= 0)
        close(fd);
    return err_set(e, ERR_DENIED, "the folder of project '%s' was exchanged while it was made",
                   f->name);
}

static int give_away(const struct folder *f, int fd, const struct plan *p, struct err *e)
{
    uid_t owner = p->owner == geteuid() ? (uid_t)-1 : p->owner;
    gid_t group = p->group;

    if (owner != (uid_t)-1 && group == NO_GROUP && identity_primary_group(owner, &group, e) < 0)
        return -1;
    if (f->has_owners && (owner != (uid_t)-1 || group != NO_GROUP) && fchown(fd, owner, group) < 0)
        return err_sys(e, "give the folder of project '%s' to uid %u and group %d", f->name,
                       p->owner, (int)group);
    if (fchmod(fd, p->mode) < 0 && f->has_owners)
        return err_sys(e, "set the mode of the folder of project '%s'", f->name);
    return 0;
}

static int finish_made(const struct folder *f, const struct plan *p, struct err *e)
{
    int fd = open_made(f, e);
    int rc;

    if (fd < 0)
        return -1;
    rc = give_away(f, fd, p, e);
    close(fd);
    if (rc < 0)
        (void)unlinkat(f->parent_fd, f->name, AT_REMOVEDIR); /* goes only while it is empty */
    else if (fsync(f->parent_fd) < 0 && errno != EINVAL && errno != ENOTSUP)
        rc = err_sys(e, "sync the folder of projects");
    return rc;
}

static void leave_to_client(const struct plan *p, struct folder_order *order)
{
    order->mode = (int64_t)p->mode;
    order->group = p->group == NO_GROUP ? SCHEMA_NONE : (int64_t)p->group;
}

/* 0, or 1 when somebody was faster. */
static int make(const struct folder *f, const struct plan *p, struct folder_order *order,
                struct err *e)
{
    if (!p->is_ours) {
        leave_to_client(p, order);
        return 0;
    }
    if (mkdirat(f->parent_fd, f->name, 0700) == 0)
        return finish_made(f, p, e);
    if (errno == EEXIST)
        return 1;
    /* Root on a share where root is nobody. */
    if (geteuid() == 0 && (errno == EACCES || errno == EPERM)) {
        leave_to_client(p, order);
        return 0;
    }
    return err_sys(e, "make the folder of project '%s'", f->name);
}

int project_prepare(struct server *sv, const struct conn *c, const char *name, bool is_private,
                    struct folder_order *order, struct err *e)
{
    struct plan p = plan_of(sv, c->uid, is_private);
    struct folder f;
    struct stat st;
    int rc;

    *order = (struct folder_order){ .group = SCHEMA_NONE };
    if (folder_open(sv, name, &f, e) < 0)
        return -1;
    rc = folder_look(&f, &st, e);
    if (rc == 0) {
        rc = make(&f, &p, order, e);
        if (rc == 1)
            rc = folder_look(&f, &st, e);
    }
    if (rc == 1)
        rc = check_folder(&f, &st, c->uid, e) < 0 || (is_private && check_private(&f, &st, e) < 0)
                 ? -1
                 : 0;
    close(f.parent_fd);
    return rc;
}

/* ---- who may read it ---- */

static bool is_in_group(struct conn *c, gid_t group)
{
    if (!c->has_groups) {
        identity_groups(c->uid, &c->groups);
        c->has_groups = true;
    }
    for (size_t i = 0; i < c->groups.n; i++)
        if (c->groups.items[i] == group)
            return true;
    return false;
}

/* bits: of 4, 2, 1. */
static bool has_access(struct conn *c, const struct stat *st, mode_t bits)
{
    int shift = st->st_uid == c->uid ? 6 : is_in_group(c, st->st_gid) ? 3 : 0;

    return (st->st_mode >> shift & bits) == bits;
}

/* Every folder on the way to it, and itself. */
static bool may_enter(struct conn *c, const char *path)
{
    struct stat st;
    char *parent;
    bool may;

    if (stat(path, &st) < 0 || !has_access(c, &st, 1))
        return false;
    if (strcmp(path, "/") == 0)
        return true;
    parent = path_dirname(path);
    may = may_enter(c, parent);
    free(parent);
    return may;
}

static bool may_read(struct server *sv, struct conn *c, const char *name)
{
    char *projects = place_projects(sv);
    char *real = path_real(projects, NULL);
    struct folder f;
    struct stat st;
    bool may = false;

    if (real != NULL && folder_open(sv, name, &f, NULL) == 0) {
        may = f.has_owners && folder_look(&f, &st, NULL) == 1 && S_ISDIR(st.st_mode) &&
              has_access(c, &st, 5) && may_enter(c, real);
        close(f.parent_fd);
    }
    free(real);
    free(projects);
    return may;
}

int project_may_see(struct server *sv, struct conn *c, int64_t owner, const char *project,
                    int64_t sweep, struct err *e)
{
    if (identity_may_see(c, owner, sweep, NULL) == 0 || may_read(sv, c, project))
        return 0;
    return identity_may_see(c, owner, sweep, e);
}

/* ---- asked for by itself ---- */

int handle_open_project(struct server *sv, struct ask *ask, const void *request, void *reply,
                        struct err *e)
{
    const struct msg_open_project *req = request;
    struct msg_project_open *rep = reply;
    struct stmt *s;
    int rc;

    if (project_check_name(req->project, e) < 0 || identity_may_submit(&sv->conf, ask->conn, e) < 0)
        return -1;
    s = db_ask(sv->db, SQL_PROJECT_GET, "s", req->project);
    rc = stmt_step(s, e);
    if (rc == 1 && stmt_int(s, 1) != (int64_t)ask->conn->uid)
        rc = project_refuse(req->project, stmt_text(s, 2), e);
    stmt_end(s);
    if (rc < 0)
        return -1;
    return project_prepare(sv, ask->conn, req->project, req->private_project, &rep->folder, e);
}
