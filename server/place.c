/* SPDX-License-Identifier: MIT */
/* place.c - make folders, check whose they are, lock the state */
#include "server/place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io.h"
#include "common/json.h"
#include "common/layout.h"
#include "common/log.h"
#include "common/path.h"

/* ---- state ---- */

static int check_private(const char *state, struct err *e)
{
    struct stat st;

    if (stat(state, &st) < 0)
        return err_sys(e, "state folder %s", state);
    if (st.st_uid != geteuid())
        return err_set(e, ERR_DENIED, "state folder %s belongs to uid %u, and ludwigd runs as %u",
                       state, st.st_uid, geteuid());
    if ((st.st_mode & 077) != 0)
        return err_set(e, ERR_DENIED,
                       "state folder %s is open to others (mode %04o); close it with: chmod 700 %s",
                       state, st.st_mode & 07777u, state);
    return 0;
}

static int make_state(const char *state, struct err *e)
{
    char *parent = path_dirname(state);
    int rc = io_make_dirs(parent, 0755, e);

    free(parent);
    if (rc < 0)
        return -1;
    if (mkdir(state, 0700) < 0 && errno != EEXIST)
        return err_sys(e, "make state folder %s", state);
    return check_private(state, e);
}

/* Replaces "is locked" by who it is. */
static int name_holder(const char *lock, const char *state, struct err *e)
{
    struct buf text = { 0 };
    long pid = 0;

    if (io_read_file(lock, 64, &text, NULL) == 0)
        pid = strtol(buf_text(&text), NULL, 10);
    buf_free(&text);
    if (pid > 0)
        return err_set(e, ERR_BUSY, "another ludwigd (pid %ld) uses %s", pid, state);
    return err_set(e, ERR_BUSY, "another ludwigd uses %s", state);
}

static int write_pid(int fd, const char *lock, struct err *e)
{
    char *text = mem_printf("%ld\n", (long)getpid());
    int rc = ftruncate(fd, 0);

    if (rc == 0)
        rc = io_write_all(fd, text, strlen(text));
    free(text);
    return rc < 0 ? err_sys(e, "write %s", lock) : 0;
}

int place_state(const char *state, struct err *e)
{
    char *lock;
    int fd;

    if (make_state(state, e) < 0)
        return -1;
    lock = path_join(state, "lock");
    fd = io_lock_file(lock, e);
    if (fd < 0 && e->kind == ERR_BUSY)
        name_holder(lock, state, e);
    if (fd >= 0 && write_pid(fd, lock, e) < 0) {
        close(fd);
        fd = -1;
    }
    free(lock);
    return fd;
}

/* ---- share ---- */

static char *host_name(void)
{
    char name[256] = "";

    if (gethostname(name, sizeof name - 1) < 0)
        return mem_strdup("?");
    return mem_strdup(name);
}

static void id_text(const struct server *sv, struct buf *out)
{
    char *host = host_name();

    buf_add_str(out, "{\"v\":1,\"server\":");
    json_add_str(out, sv->server_id, strlen(sv->server_id));
    buf_add_str(out, ",\"host\":");
    json_add_str(out, host, strlen(host));
    buf_add_str(out, "}\n");
    free(host);
}

/* Another server's id is no reason to stop: the state folder may have been made anew. */
static void look_at_old_id(const struct server *sv, const char *path)
{
    struct buf old = { 0 };

    if (io_read_file(path, 4096, &old, NULL) == 0 && strstr(buf_text(&old), sv->server_id) == NULL)
        log_event(LOG_WARN, "share-was-anothers", "share", "%s", sv->conf.share, "id", "%s",
                  buf_text(&old), NULL);
    buf_free(&old);
}

static int write_id(const struct server *sv, const char *dir, struct err *e)
{
    char *path = path_join(dir, "id");
    struct buf text = { 0 };
    int rc;

    look_at_old_id(sv, path);
    id_text(sv, &text);
    rc = io_replace_file(path, text.bytes, text.n, 0644, e);
    buf_free(&text);
    free(path);
    return rc;
}

char *place_projects(const struct server *sv)
{
    return sv->conf.projects == NULL ? mem_strdup(sv->conf.share)
                                     : path_join(sv->conf.share, sv->conf.projects);
}

int place_share(struct server *sv, struct err *e)
{
    char *dir = path_join(sv->conf.share, LAYOUT_SERVER_DIR);
    char *projects = place_projects(sv);
    int rc = io_make_dirs(dir, 0755, e);

    if (rc == 0)
        rc = write_id(sv, dir, e);
    if (rc == 0)
        rc = io_make_dirs(projects, 0755, e);
    free(projects);
    free(dir);
    return rc < 0 ? err_wrap(e, "share") : 0;
}

/* ---- sockets ---- */

static bool is_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);

    return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

int place_socket_dir(const struct server *sv, const char *socket, struct err *e)
{
    char *dir = path_dirname(socket);
    int rc = io_make_dirs(dir, is_below(dir, sv->conf.state) ? 0700 : 0755, e);

    free(dir);
    return rc < 0 ? err_wrap(e, "socket") : 0;
}

/* ---- projects ---- */

static int group_of(uid_t uid, gid_t *gid, struct err *e)
{
    size_t n = 1024;
    char *room = mem_alloc(n);
    struct passwd entry;
    struct passwd *found = NULL;

    while (getpwuid_r(uid, &entry, room, n, &found) == ERANGE) {
        n *= 2;
        room = mem_resize(room, n, 1);
    }
    if (found != NULL)
        *gid = found->pw_gid;
    free(room);
    return found != NULL ? 0 : err_set(e, ERR_DENIED, "uid %u is not known here", uid);
}

/* Only what we have just made ourselves is given away, and through a descriptor. */
static int give_to(const char *path, uid_t uid, struct err *e)
{
    struct stat st;
    gid_t gid = 0;
    int fd;
    int rc;

    if (group_of(uid, &gid, e) < 0)
        return -1;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, "open %s", path);
    rc = fstat(fd, &st);
    if (rc == 0 && st.st_uid == geteuid())
        rc = fchown(fd, uid, gid);
    if (rc < 0)
        err_sys(e, "give %s to uid %u", path, uid);
    close(fd);
    return rc;
}

int place_project(struct server *sv, const char *project, uid_t uid, struct err *e)
{
    char *projects = place_projects(sv);
    char *path = path_join(projects, project);
    int rc = 0;

    if (mkdir(path, 0755) < 0) {
        if (errno != EEXIST)
            rc = err_sys(e, "make project folder %s", path);
    } else if (geteuid() == 0 && uid != 0 && give_to(path, uid, e) < 0) {
        rmdir(path);
        rc = -1;
    }
    free(path);
    free(projects);
    return rc;
}
