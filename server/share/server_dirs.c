/* SPDX-License-Identifier: MIT */
/* server_dirs.c - make folders, check whose they are, lock the state */
#include "server/share/server_dirs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/fs.h"
#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/path.h"
#include "common/proto/layout.h"
#include "common/proto/shareid.h"
#include "server/base/identity.h"
#include "server/inbox/inbox.h"

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

int server_dirs_state(const char *state, struct err *e)
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

/* ---- where projects lie ---- */

char *server_dirs_projects(const struct server *sv)
{
    return sv->conf.projects == NULL ? mem_strdup(sv->conf.share)
                                     : path_join(sv->conf.share, sv->conf.projects);
}

static int open_share(const struct server *sv, struct err *e)
{
    int fd = open(sv->conf.share, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 ? err_sys(e, "share %s", sv->conf.share) : fd;
}

/* One step down from fd, which is closed; -1 with errno. */
static int step_down(int fd, const char *name, bool makes)
{
    int below = -1;

    if (!makes || mkdirat(fd, name, 0755) == 0 || errno == EEXIST)
        below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close(fd);
    return below;
}

/* Who may write into the share could put links there. */
static int open_projects(const struct server *sv, bool makes, struct err *e)
{
    const char *rest = sv->conf.projects;
    int fd = open_share(sv, e);

    while (fd >= 0 && rest != NULL && *rest != '\0') {
        size_t n = strcspn(rest, "/");
        char *name = mem_strndup(rest, n);

        fd = step_down(fd, name, makes);
        if (fd < 0)
            err_sys(e, "the folder of projects, %s below %s", sv->conf.projects, sv->conf.share);
        free(name);
        rest += rest[n] == '/' ? n + 1 : n;
    }
    return fd;
}

int server_dirs_open_projects(const struct server *sv, struct err *e)
{
    return open_projects(sv, false, e);
}

/* ---- share ---- */

static char *host_name(void)
{
    char name[256] = "";

    if (gethostname(name, sizeof name - 1) < 0)
        return mem_strdup("?");
    return mem_strdup(name);
}

static void id_text(const struct server *sv, bool is_running, struct buf *out)
{
    char *host = host_name(), incarnation[TOKEN_HEX];
    struct shareid id = { .v = 1,
                          .server = sv->server_id,
                          .host = host,
                          .incarnation = is_running ? incarnation : NULL,
                          .inbox = (int)inbox_kind(sv->inbox),
                          .why = inbox_why_none(sv->inbox) };

    token_hex(&sv->incarnation, incarnation);
    shareid_encode(&id, out);
    free(host);
}

/* What others could exchange would be theirs to speak in our name. */
static int check_ours(const char *dir, int fd, struct err *e)
{
    struct stat st;
    char *owner;

    if (fstat(fd, &st) < 0)
        return err_sys(e, "look at %s", dir);
    if (st.st_uid != geteuid() && fs_type_of_fd(fd).keeps_owners) {
        owner = identity_user_name(st.st_uid);
        err_set(e, ERR_DENIED,
                "%s belongs to %s, and ludwigd runs as uid %u; remove it, or chown it", dir, owner,
                geteuid());
        free(owner);
        return -1;
    }
    if ((st.st_mode & 022) != 0 && fchmod(fd, st.st_mode & 0755) < 0)
        return err_sys(e, "close %s to others", dir);
    return 0;
}

/* Others may be able to write into the share itself: no link is followed. */
static int open_server_dir(const struct server *sv, struct err *e)
{
    char *dir = path_join(sv->conf.share, LAYOUT_SERVER_DIR);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        err_sys(e, "open %s", dir);
    if (fd >= 0 && check_ours(dir, fd, e) < 0) {
        close(fd);
        fd = -1;
    }
    free(dir);
    return fd;
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

/* The mark of who had the share before goes. */
static int keep_own_mark(int dir_fd, const char *own, struct err *e)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (dir == NULL) {
        err_sys(e, "list " LAYOUT_SERVER_DIR);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    while ((entry = readdir(dir)) != NULL)
        if (shareid_is_mark(entry->d_name) && strcmp(entry->d_name, own) != 0 &&
            unlinkat(dir_fd, entry->d_name, 0) < 0)
            err_sys(e, "remove another server's mark, %s", entry->d_name);
    closedir(dir);
    return e->kind == ERR_NONE ? 0 : -1;
}

static int make_own_mark(int dir_fd, const char *own, struct err *e)
{
    int fd = openat(dir_fd, own, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

    if (fd < 0)
        return errno == EEXIST ? 0 : err_sys(e, "make the mark %s", own);
    close(fd);
    return 0;
}

/* Without it clients read the id, which takes them longer. */
static void make_mark(const struct server *sv, int dir_fd)
{
    char *mark = shareid_mark(sv->server_id);
    struct err e = { 0 };

    if (keep_own_mark(dir_fd, mark, &e) < 0 || make_own_mark(dir_fd, mark, &e) < 0)
        log_event(LOG_WARN, "mark", "error", "%s", e.text, NULL);
    free(mark);
}

static int write_id(const struct server *sv, bool is_running, struct err *e)
{
    int rc, dir_fd = open_server_dir(sv, e);
    struct buf text = { 0 };
    char *path;

    if (dir_fd < 0)
        return err_wrap(e, "share");
    path = mem_printf("/proc/self/fd/%d/%s", dir_fd, SHAREID_NAME);
    if (is_running)
        look_at_old_id(sv, path);
    id_text(sv, is_running, &text);
    rc = io_replace_file(path, text.bytes, text.n, 0644, e);
    if (rc == 0 && is_running)
        make_mark(sv, dir_fd);
    buf_free(&text);
    free(path);
    close(dir_fd);
    return rc < 0 ? err_wrap(e, "share %s", sv->conf.share) : 0;
}

int server_dirs_id(const struct server *sv, struct err *e)
{
    return write_id(sv, true, e);
}

void server_dirs_take_id_back(const struct server *sv)
{
    struct err e = { 0 };

    if (write_id(sv, false, &e) < 0)
        log_event(LOG_WARN, "id", "error", "%s", e.text, NULL);
}

static int make_server_dir(const struct server *sv, const char *dir, struct err *e)
{
    int fd;

    if (io_make_dirs(sv->conf.share, 0755, e) < 0)
        return -1;
    if (mkdir(dir, 0755) < 0 && errno != EEXIST)
        return err_sys(e, "make %s", dir);
    fd = open_server_dir(sv, e);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? -1 : 0;
}

static int make_projects(const struct server *sv, struct err *e)
{
    int fd = open_projects(sv, true, e);

    if (fd >= 0)
        close(fd);
    return fd < 0 ? -1 : 0;
}

static int find_group(struct server *sv, struct err *e)
{
    sv->share_gid = (gid_t)-1;
    if (sv->conf.share_group == NULL)
        return 0;
    return identity_group(sv->conf.share_group, &sv->share_gid, e) < 0 ? err_wrap(e, "share_group")
                                                                       : 0;
}

int server_dirs_share(struct server *sv, struct err *e)
{
    char *dir = path_join(sv->conf.share, LAYOUT_SERVER_DIR);
    int rc = find_group(sv, e);

    if (rc == 0)
        rc = make_server_dir(sv, dir, e) < 0 || make_projects(sv, e) < 0 ? err_wrap(e, "share") : 0;
    free(dir);
    return rc;
}

/* ---- sockets ---- */

static bool is_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);

    return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* In its place others could put one of their own. */
static int check_socket_dir(const char *dir, struct err *e)
{
    struct stat st;

    if (stat(dir, &st) < 0)
        return err_sys(e, "%s", dir);
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return err_set(e, ERR_DENIED, "%s belongs to uid %u, who could exchange what is in it", dir,
                       st.st_uid);
    if ((st.st_mode & 022) != 0 && (st.st_mode & S_ISVTX) == 0)
        return err_set(e, ERR_DENIED, "others may write into %s (mode %04o); chmod go-w it", dir,
                       st.st_mode & 07777u);
    return 0;
}

int server_dirs_socket_dir(const struct server *sv, const char *socket, struct err *e)
{
    char *dir = path_dirname(socket);
    int rc = io_make_dirs(dir, is_below(dir, sv->conf.state) ? 0700 : 0755, e);

    if (rc == 0)
        rc = check_socket_dir(dir, e);
    free(dir);
    return rc < 0 ? err_wrap(e, "socket") : 0;
}
