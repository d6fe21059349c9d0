/* SPDX-License-Identifier: MIT */
/* projectdir.c - make folders of projects, check their owners and which users may read them */
#include "server/share/projectdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/fs.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "server/base/identity.h"
#include "server/share/server_dirs.h"

#define NO_GROUP ((gid_t)-1)

/* A folder that is not given away yet; no other program makes one like that. */
#define UNFINISHED_MODE 01700

/* ---- the folder's owner ---- */

struct folder {
    int parent_fd;
    bool has_owners; /* else the file system gives all files one owner */
    const char *name;
};

static int folder_open(const struct server *sv, const char *name, struct folder *f, struct err *e)
{
    *f = (struct folder){ .name = name, .parent_fd = server_dirs_open_projects(sv, false, e) };
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

int projectdir_refuse(const char *name, const char *owner, struct err *e)
{
    return err_set(e, ERR_DENIED,
                   "project '%s' belongs to %s; choose another name with project: NAME", name,
                   owner);
}

static int check_folder(const struct folder *f, const struct stat *st, uid_t uid, struct err *e)
{
    char *owner;

    if (!S_ISDIR(st->st_mode))
        return err_set(e, ERR_DENIED,
                       "project '%s': what has that name on the share is no folder%s; choose"
                       " another with project: NAME",
                       f->name, S_ISLNK(st->st_mode) ? " but a link" : "");
    if (!f->has_owners || st->st_uid == uid)
        return 0;
    owner = identity_user_name(st->st_uid);
    projectdir_refuse(f->name, owner, e);
    free(owner);
    return -1;
}

int projectdir_check(const struct server *sv, const char *name, uid_t uid, struct err *e)
{
    struct folder f;
    struct stat st;
    int rc;

    if (folder_open(sv, name, &f, e) < 0)
        return -1;
    rc = folder_look(&f, &st, e);
    if (rc == 1)
        rc = check_folder(&f, &st, uid, e);
    else if (rc == 0)
        rc = err_set(e, ERR_FAILED, "the folder of project '%s' is not on the share", name);
    close(f.parent_fd);
    return rc;
}

int projectdir_owner(const struct server *sv, const char *name, uid_t *uid, struct err *e)
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

bool projectdir_is_made_here(uid_t uid)
{
    return geteuid() == 0 || uid == geteuid();
}

/* Workers of a service account write into projects through the group. */
static struct plan plan_of(const struct server *sv, uid_t uid, bool is_private)
{
    bool is_own = uid == geteuid();
    struct plan p = { .owner = uid,
                      .group = sv->share_gid,
                      .is_ours = projectdir_is_made_here(uid) };

    if (is_private)
        p.mode = 0700;
    else if (p.is_ours)
        p.mode = is_own && p.group == NO_GROUP ? 0755 : 02750;
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

/* Gives it away, unless another was put in its place: other users may be able to write beside it. */
static int finish_made(const struct folder *f, const struct plan *p, struct err *e)
{
    int fd = openat(f->parent_fd, f->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    uid_t owner = p->owner == geteuid() ? (uid_t)-1 : p->owner;
    gid_t group = p->group;
    struct stat st;
    int rc = 0;

    if (fd < 0 && errno != ENOTDIR && errno != ELOOP && errno != ENOENT)
        return err_sys(e, "open the folder of project '%s'", f->name);
    if (fd < 0 || fstat(fd, &st) < 0 || (f->has_owners && st.st_uid != geteuid()) ||
        !is_empty(fd)) {
        if (fd >= 0)
            close(fd);
        return err_set(e, ERR_DENIED, "the folder of project '%s' was exchanged while it was made",
                       f->name);
    }
    if (owner != (uid_t)-1 && group == NO_GROUP)
        rc = identity_primary_group(owner, &group, e);
    if (rc == 0 && f->has_owners && (owner != (uid_t)-1 || group != NO_GROUP) &&
        fchown(fd, owner, group) < 0)
        rc = err_sys(e, "give the folder of project '%s' to uid %u and group %d", f->name, p->owner,
                     (int)group);
    if (rc == 0 && fchmod(fd, p->mode) < 0 && f->has_owners)
        rc = err_sys(e, "set the mode of the folder of project '%s'", f->name);
    close(fd);
    if (rc < 0)
        (void)unlinkat(f->parent_fd, f->name, AT_REMOVEDIR); /* goes only while it is empty */
    else if (fsync(f->parent_fd) < 0 && errno != EINVAL && errno != ENOTSUP)
        rc = err_sys(e, "sync the folder of projects");
    return rc;
}

/* By another thread, or by a ludwigd that was killed meanwhile. */
static bool may_be_unfinished(const struct plan *p, const struct stat *st)
{
    const mode_t inherited = S_ISGID;

    return p->is_ours && S_ISDIR(st->st_mode) && st->st_uid == geteuid() &&
           (st->st_mode & 07777 & ~inherited) == UNFINISHED_MODE;
}

/* One thread at a time, so that no other is at work on a folder that it finds unfinished.  0, or 1 when
 * another program was faster. */
static int make_alone(const struct folder *f, const struct plan *p, struct folder_order *order,
                      struct err *e)
{
    static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
    bool is_left_to_client = false;
    struct stat st;
    int rc;

    pthread_mutex_lock(&alone);
    rc = folder_look(f, &st, e);
    if (rc == 0 && !p->is_ours) {
        is_left_to_client = true;
    } else if (rc == 0 && mkdirat(f->parent_fd, f->name, UNFINISHED_MODE) == 0) {
        rc = finish_made(f, p, e);
    } else if (rc == 0) {
        /* Root on a share where root is nobody leaves it to the client. */
        is_left_to_client = geteuid() == 0 && (errno == EACCES || errno == EPERM);
        if (errno == EEXIST)
            rc = 1;
        else if (!is_left_to_client)
            rc = err_sys(e, "make the folder of project '%s'", f->name);
    } else if (rc == 1 && may_be_unfinished(p, &st)) {
        int fd = openat(f->parent_fd, f->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (fd >= 0 && is_empty(fd))
            rc = finish_made(f, p, e);
        if (fd >= 0)
            close(fd);
    }
    if (is_left_to_client) {
        order->mode = (int64_t)p->mode;
        order->group = p->group == NO_GROUP ? SCHEMA_NONE : (int64_t)p->group;
    }
    pthread_mutex_unlock(&alone);
    return rc;
}

int projectdir_prepare(const struct server *sv, const char *name, uid_t uid, bool is_private,
                       struct folder_order *order, struct err *e)
{
    struct plan p = plan_of(sv, uid, is_private);
    struct folder f;
    struct stat st;
    int rc;

    *order = (struct folder_order){ .group = SCHEMA_NONE };
    if (folder_open(sv, name, &f, e) < 0)
        return -1;
    rc = folder_look(&f, &st, e);
    if (rc == 0 || (rc == 1 && may_be_unfinished(&p, &st))) {
        rc = make_alone(&f, &p, order, e);
        if (rc == 1)
            rc = folder_look(&f, &st, e);
    }
    if (rc == 1)
        rc = check_folder(&f, &st, uid, e) < 0 ? -1 : 1;
    close(f.parent_fd);
    if (rc == 1 && is_private && f.has_owners && (st.st_mode & 077) != 0)
        return err_set(e, ERR_USAGE,
                       "private: the folder of project '%s' is there already and open to others"
                       " (mode %04o); close it with chmod 700, or leave private: out",
                       f.name, st.st_mode & 07777u);
    return rc < 0 ? -1 : 0;
}

/* ---- may a user read it? ---- */

/* bits: of 4, 2, 1. */
static bool has_access(const struct reader *r, const struct stat *st, mode_t bits)
{
    int shift = st->st_uid == r->uid ? 6 : 0;

    for (size_t i = 0; shift == 0 && i < r->groups.n; i++)
        if (r->groups.items[i] == st->st_gid)
            shift = 3;
    return (st->st_mode >> shift & bits) == bits;
}

/* Every folder on the way to it, and itself. */
static bool may_enter(const struct reader *r, const char *path)
{
    struct stat st;
    char *parent;
    bool may;

    if (stat(path, &st) < 0 || !has_access(r, &st, 1))
        return false;
    if (strcmp(path, "/") == 0)
        return true;
    parent = path_dirname(path);
    may = may_enter(r, parent);
    free(parent);
    return may;
}

bool projectdir_may_read(const struct server *sv, const char *name, const struct reader *r)
{
    char *projects = server_dirs_projects(sv);
    char *real = path_real(projects, NULL);
    struct folder f;
    struct stat st;
    bool may = false;

    if (real != NULL && folder_open(sv, name, &f, NULL) == 0) {
        may = f.has_owners && folder_look(&f, &st, NULL) == 1 && S_ISDIR(st.st_mode) &&
              has_access(r, &st, 5) && may_enter(r, real);
        close(f.parent_fd);
    }
    free(real);
    free(projects);
    return may;
}
