/* SPDX-License-Identifier: MIT */
/* server_dirs.c - makes folders, checks their owners, locks the state */
#include "server/share/server_dirs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/beneath.h"
#include "common/base/fs.h"
#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/path.h"
#include "common/proto/layout.h"
#include "common/proto/shareid.h"
#include "server/base/identity.h"
#include "server/inbox/inbox.h"

/* ---- state ---- */

/* Makes the state folder if it is missing. */
static int make_state(const char *state, struct err *e)
{
    char *parent = path_dirname(state);
    int rc = io_make_dirs(parent, 0755, e);
    struct stat st;

    free(parent);
    if (rc < 0)
        return -1;
    if (mkdir(state, 0700) < 0 && errno != EEXIST)
        return err_sys(e, "make state folder %s", state);
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

/* `ludwigd --unfinished`, which commands run while no ludwigd runs, holds the lock for some ms. */
enum { STATE_WAIT_MS = 3000 };

int server_dirs_state(const char *state, struct err *e)
{
    struct buf holder = { 0 };
    char *lock, *text;
    long pid = 0;
    int fd;

    if (make_state(state, e) < 0)
        return -1;
    lock = path_join(state, "lock");
    fd = io_lock_file_within(lock, STATE_WAIT_MS, e);
    if (fd < 0 && e->kind == ERR_BUSY) {
        /* Names the process that holds the lock. */
        if (io_read_file(lock, 64, &holder, NULL) == 0)
            pid = strtol(buf_text(&holder), NULL, 10);
        if (pid > 0)
            err_set(e, ERR_BUSY, "another ludwigd (pid %ld) uses %s", pid, state);
        else
            err_set(e, ERR_BUSY, "another ludwigd uses %s", state);
        buf_free(&holder);
    }
    text = mem_printf("%ld\n", (long)getpid());
    if (fd >= 0 && (ftruncate(fd, 0) < 0 || io_write_all(fd, text, strlen(text)) < 0)) {
        err_sys(e, "write %s", lock);
        close(fd);
        fd = -1;
    }
    free(text);
    free(lock);
    return fd;
}

/* ---- the folder of projects ---- */

char *server_dirs_projects(const struct server *sv)
{
    return sv->conf.projects == NULL ? mem_strdup(sv->conf.share)
                                     : path_join(sv->conf.share, sv->conf.projects);
}

/* Follows no links: users that may write into the share could put links there. */
int server_dirs_open_projects(const struct server *sv, bool makes, struct err *e)
{
    const char *rest = sv->conf.projects;
    int fd = open(sv->conf.share, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return err_sys(e, "share %s", sv->conf.share);
    while (fd >= 0 && rest != NULL && *rest != '\0') {
        size_t n = strcspn(rest, "/");
        char *name = mem_strndup(rest, n);
        int below = -1;

        if (!makes || mkdirat(fd, name, 0755) == 0 || errno == EEXIST)
            below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0)
            err_sys(e, "the folder of projects, %s below %s", sv->conf.projects, sv->conf.share);
        close(fd);
        fd = below;
        free(name);
        rest += rest[n] == '/' ? n + 1 : n;
    }
    return fd;
}

/* ---- share ---- */

/* Opens <share>/.ludwig.  Other users may be able to write into the share: no link is followed, and
 * a folder of another user is refused, as that user could write files in our name. */
static int open_server_dir(const char *share, struct err *e)
{
    char *dir = path_join(share, LAYOUT_SERVER_DIR), *owner;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc = 0;
    struct stat st;

    if (fd < 0) {
        err_sys(e, "open %s", dir);
    } else if (fstat(fd, &st) < 0) {
        rc = err_sys(e, "look at %s", dir);
    } else if (st.st_uid != geteuid() && fs_type_of_fd(fd).keeps_owners) {
        owner = identity_user_name(st.st_uid);
        rc = err_set(e, ERR_DENIED,
                     "%s belongs to %s, and ludwigd runs as uid %u; remove it, or chown it", dir,
                     owner, geteuid());
        free(owner);
    } else if ((st.st_mode & 022) != 0 && fchmod(fd, st.st_mode & 0755) < 0) {
        rc = err_sys(e, "close %s to others", dir);
    }
    if (rc < 0) {
        close(fd);
        fd = -1;
    }
    free(dir);
    return fd;
}

/* Makes this server's mark, and removes that of the server before.  Without a mark clients read the
 * id, which takes them longer. */
static void make_mark(const struct server *sv, int dir_fd)
{
    char *mark = shareid_mark(sv->server_id);
    struct err e = { 0 };
    DIR *dir = io_list_dir_at(dir_fd, ".", &e);
    const struct dirent *entry;
    int fd;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (shareid_is_mark(entry->d_name) && strcmp(entry->d_name, mark) != 0 &&
            unlinkat(dir_fd, entry->d_name, 0) < 0)
            err_sys(&e, "remove another server's mark, %s", entry->d_name);
    if (dir != NULL)
        closedir(dir);
    if (e.kind == ERR_NONE) {
        fd = openat(dir_fd, mark, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        if (fd >= 0)
            close(fd);
        else if (errno != EEXIST)
            err_sys(&e, "make the mark %s", mark);
    }
    if (e.kind != ERR_NONE)
        log_event(LOG_WARN, "mark", "error", "%s", e.text, NULL);
    free(mark);
}

static int write_id(const struct server *sv, bool is_running, struct err *e)
{
    char host[256] = "", incarnation[TOKEN_HEX], *path;
    struct shareid id = { .v = 1,
                          .server = sv->server_id,
                          .host = host,
                          .incarnation = is_running ? incarnation : NULL,
                          .inbox = (int)inbox_kind(sv->inbox),
                          .why = inbox_why_none(sv->inbox),
                          .projects = sv->conf.projects };
    int rc, dir_fd = open_server_dir(sv->conf.share, e);
    struct buf text = { 0 };

    if (dir_fd < 0)
        return err_wrap(e, "share");
    path = mem_printf("/proc/self/fd/%d/%s", dir_fd, SHAREID_NAME);
    /* Another server's id is no reason to stop: the state folder may have been made anew. */
    if (is_running && io_read_file(path, 4096, &text, NULL) == 0 &&
        strstr(buf_text(&text), sv->server_id) == NULL)
        log_event(LOG_WARN, "share-was-anothers", "share", "%s", sv->conf.share, "id", "%s",
                  buf_text(&text), NULL);
    buf_clear(&text);
    if (gethostname(host, sizeof host - 1) < 0)
        id.host = "?";
    token_hex(&sv->incarnation, incarnation);
    shareid_encode(&id, &text);
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

int server_dirs_share(struct server *sv, struct err *e)
{
    char *dir = path_join(sv->conf.share, LAYOUT_SERVER_DIR);
    const char *group = sv->conf.share_group;
    int rc, fd = -1;

    sv->share_gid = (gid_t)-1;
    if (group != NULL && identity_group(group, &sv->share_gid, e) < 0) {
        free(dir);
        return err_wrap(e, "share_group");
    }
    rc = io_make_dirs(sv->conf.share, 0755, e);
    if (rc == 0 && mkdir(dir, 0755) < 0 && errno != EEXIST)
        rc = err_sys(e, "make %s", dir);
    free(dir);
    if (rc == 0)
        fd = open_server_dir(sv->conf.share, e);
    if (fd >= 0) {
        close(fd);
        fd = server_dirs_open_projects(sv, true, e);
    }
    if (fd < 0)
        return err_wrap(e, "share");
    close(fd);
    return 0;
}

/* ---- logs of pilots ---- */

/* Opens the folder that is below dir_fd, or makes it for uid. */
static int open_folder_of(int dir_fd, const char *name, mode_t mode, uid_t uid, gid_t gid)
{
    bool is_new = mkdirat(dir_fd, name, mode) == 0;
    int fd, number;

    if (!is_new && errno != EEXIST)
        return -1;
    fd = beneath_open_here(dir_fd, name, O_RDONLY | O_DIRECTORY);
    /* The mode comes first: after fchown the folder is the user's, who may change it. */
    if (fd >= 0 && is_new &&
        (fchmod(fd, mode) < 0 || (uid != geteuid() && fchown(fd, uid, gid) < 0))) {
        number = errno;
        (void)unlinkat(dir_fd, name, AT_REMOVEDIR);
        close(fd);
        errno = number;
        return -1;
    }
    return fd;
}

int server_dirs_pilots(const char *share, uid_t uid, gid_t gid, struct err *e)
{
    char name[16], *path = server_dirs_pilots_path(share, uid);
    int dir_fd = open_server_dir(share, e), all_fd = -1, fd = -1, rc = -1;
    struct stat st;

    (void)snprintf(name, sizeof name, "%u", uid);
    if (dir_fd >= 0) {
        all_fd = open_folder_of(dir_fd, LAYOUT_PILOTS, 0711, geteuid(), (gid_t)-1);
        fd = all_fd < 0 ? -1 : open_folder_of(all_fd, name, 0700, uid, gid);
        if (fd < 0)
            err_sys(e, "make %s", path);
        else if (fstat(all_fd, &st) < 0)
            err_sys(e, "look at %s", path);
        else if ((st.st_mode & 022) != 0 && (st.st_mode & S_ISVTX) == 0)
            err_set(e, ERR_DENIED, "others may exchange %s; chmod go-w the folder above it", path);
        else if (st.st_uid != geteuid() && fs_type_of_fd(all_fd).keeps_owners)
            err_set(e, ERR_DENIED,
                    "uid %u may exchange %s; chown the folder above it, or remove it", st.st_uid,
                    path);
        else if (fstat(fd, &st) < 0)
            err_sys(e, "look at %s", path);
        else if (st.st_uid != uid && fs_type_of_fd(fd).keeps_owners)
            err_set(e, ERR_DENIED, "%s belongs to uid %u; remove it, or chown it", path, st.st_uid);
        else if ((st.st_mode & 022) != 0)
            err_set(e, ERR_DENIED, "others may write into %s (mode %04o); chmod go-w it", path,
                    st.st_mode & 07777u);
        else
            rc = 0;
    }
    if (fd >= 0)
        close(fd);
    if (all_fd >= 0)
        close(all_fd);
    if (dir_fd >= 0)
        close(dir_fd);
    free(path);
    return rc;
}

char *server_dirs_pilots_path(const char *share, uid_t uid)
{
    return mem_printf("%s/" LAYOUT_SERVER_DIR "/" LAYOUT_PILOTS "/%u", share, uid);
}

/* ---- sockets ---- */

int server_dirs_socket_dir(const struct server *sv, const char *socket, struct err *e)
{
    char *dir = path_dirname(socket);
    size_t n = strlen(sv->conf.state);
    bool is_in_state = strncmp(dir, sv->conf.state, n) == 0 && (dir[n] == '/' || dir[n] == '\0');
    int rc = io_make_dirs(dir, is_in_state ? 0700 : 0755, e);
    struct stat st;

    /* Users who can change the folder could put a socket of their own in place of ours. */
    if (rc == 0 && stat(dir, &st) < 0)
        rc = err_sys(e, "%s", dir);
    else if (rc == 0 && st.st_uid != 0 && st.st_uid != geteuid())
        rc = err_set(e, ERR_DENIED, "%s belongs to uid %u, who could exchange what is in it", dir,
                     st.st_uid);
    else if (rc == 0 && (st.st_mode & 022) != 0 && (st.st_mode & S_ISVTX) == 0)
        rc = err_set(e, ERR_DENIED, "others may write into %s (mode %04o); chmod go-w it", dir,
                     st.st_mode & 07777u);
    free(dir);
    return rc < 0 ? err_wrap(e, "socket") : 0;
}
