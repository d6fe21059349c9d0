/* SPDX-License-Identifier: MIT */
/* doctor_share.c - checks of the shared drive, over SFTP and mounted, and of its content */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "client/doctor/doctor.h"
#include "common/base/fs.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/proto/layout.h"
#include "common/sftp/sftp_root.h"

enum {
    PROJECTS_TRIED_MAX = 20,
    FOLDERS_LOOKED_AT_MAX = 2000,
    CLOCK_NOTE_S = 5,
    CLOCK_PROBLEM_S = 120,
    LEFTOVER_AGE_S = 24 * 3600
};

/* ---- over SFTP ---- */

void check_sftp(struct doctor *d)
{
    const struct msg_welcome *w = &d->rpc.welcome;
    struct err e = { 0 };
    struct sftp_space space;
    const char *where;
    bool known;
    int fd;

    if (!d->is_connected || d->rpc.mux == NULL)
        return;
    fd = mux_sftp(d->rpc.mux, &e);
    d->sftp = fd < 0 ? NULL : sftp_open(fd, &e);
    if (d->sftp == NULL) {
        doctor_say(d, CHECK_PROBLEM, "see its sshd_config", "files cannot be sent or fetched: %s",
                   e.text);
        return;
    }
    d->root = sftp_root_find(d->sftp, w->share, w->server_id, d->arena, &e);
    if (d->root == NULL) {
        doctor_say(d, CHECK_PROBLEM,
                   "its admin: the folder that users are jailed to must be the share, or one above",
                   "%s", e.text);
        return;
    }
    where = d->root[0] == '\0' ? "the folder you are jailed to" : d->root;
    known = sftp_space(d->sftp, d->root[0] == '\0' ? "/" : d->root, &space, &e) == 0;
    if (known && space.read_only)
        doctor_say(d, CHECK_PROBLEM, "mount it for writing there",
                   "the shared drive, %s, is read-only on the server", where);
    else if (known)
        doctor_say_space(d, arena_printf(d->arena, "the shared drive is %s", where),
                         (int64_t)space.free_bytes, "");
    else
        doctor_say(d, CHECK_OK, NULL, "the shared drive is %s", where);
    if (!sftp_can(d->sftp, SFTP_CAN_SYNC))
        doctor_say(d, CHECK_NOTE, NULL,
                   "its SFTP server cannot sync files: an upload may be lost with its power");
}

/* Finds a project of this user over SFTP.  Returns its path relative to the share's root, in the
 * arena; NULL if there is none. */
static const char *find_own_project(struct doctor *d)
{
    const char *projects = d->rpc.welcome.projects;
    char *folder = mem_printf("%s/%s", d->root, projects != NULL ? projects : "");
    const char *found = NULL;
    struct list entries = { 0 };
    const struct sftp_entry *items;

    if (sftp_list(d->sftp, folder, d->arena, &entries, NULL) < 0)
        entries.n = 0;
    items = entries.items;
    for (size_t i = 0; i < entries.n && found == NULL; i++)
        if (items[i].name[0] != '.' && S_ISDIR(items[i].attrs.mode) &&
            (items[i].attrs.has & SFTP_OWNER) != 0 &&
            items[i].attrs.uid == (uint32_t)d->rpc.welcome.uid)
            found = projects != NULL && projects[0] != '\0'
                        ? arena_printf(d->arena, "%s/%s", projects, items[i].name)
                        : items[i].name;
    free(folder);
    return found;
}

/* ---- mounted here ---- */

/* Checks that the share has this server's id: if another file system is mounted there, the id is
 * missing or different. */
static void check_server_id(struct doctor *d)
{
    char *path = mem_printf("%s/%s/id", d->share, LAYOUT_SERVER_DIR);
    struct buf text = { 0 };
    struct err e = { 0 };

    if (io_read_file(path, 4096, &text, &e) < 0)
        doctor_say(d, CHECK_PROBLEM,
                   "see whether share: in config.yaml is where the server's share is mounted",
                   "the server has not left its id in it: %s", e.text);
    else if (strstr(buf_text(&text), d->rpc.welcome.server_id) == NULL)
        doctor_say(d, CHECK_PROBLEM,
                   "see whether share: in config.yaml is where the server's share is mounted",
                   "%s is of another server", path);
    buf_free(&text);
    free(path);
}

void check_share(struct doctor *d)
{
    struct statvfs fs;
    struct stat st;
    char *own;
    int number;

    if (d->is_connected && d->rpc.mux == NULL && (d->conf.share == NULL || d->choice.embedded)) {
        d->share = d->rpc.welcome.share;
    } else if (!d->is_connected && d->has_choice && d->choice.embedded) {
        own = conf_embedded_share(&d->conf);
        d->share = arena_strdup(d->arena, own);
        free(own);
    } else {
        d->share = d->conf.share;
    }
    d->projects = d->share;
    if (d->share != NULL && d->is_connected && d->rpc.welcome.projects[0] != '\0')
        d->projects = arena_printf(d->arena, "%s/%s", d->share, d->rpc.welcome.projects);
    if (d->share == NULL && d->root != NULL) {
        doctor_say(d, CHECK_OK, NULL, "not mounted here, so files are read and sent over SFTP");
        return;
    }
    if (d->share == NULL) {
        doctor_say(d, CHECK_NOTE, "say it in config.yaml (share:)",
                   "where it is on this machine is not known without the server");
        return;
    }
    number = stat(d->share, &st) < 0 ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
    d->has_share = number == 0;
    if (number == ENOENT && !d->is_connected && d->choice.embedded)
        doctor_say(d, CHECK_OK, NULL, "%s, which is made when the server starts", d->share);
    else if (number != 0)
        doctor_say(d, CHECK_PROBLEM,
                   "mount it, or say in config.yaml (share:) where it is on this machine", "%s: %s",
                   d->share, strerror(number));
    else if (statvfs(d->share, &fs) < 0)
        doctor_say(d, CHECK_PROBLEM, NULL, "%s: %s", d->share, strerror(errno));
    else
        doctor_say_space(d, d->share, (int64_t)fs.f_bavail * (int64_t)fs.f_frsize,
                         fs_is_network(d->share) ? ", a network file system" : "");
    if (d->has_share && d->is_connected)
        check_server_id(d);
}

/* ---- projects ---- */

/* Calls take for each of this user's projects on the mounted share, at most PROJECTS_TRIED_MAX.
 * Returns the number of calls. */
static size_t each_project(struct doctor *d, void (*take)(struct doctor *d, const char *path))
{
    DIR *dir = d->has_share ? opendir(d->projects) : NULL;
    struct dirent *entry;
    size_t n = 0;

    while (dir != NULL && n < PROJECTS_TRIED_MAX && (entry = readdir(dir)) != NULL) {
        char *path = path_join(d->projects, entry->d_name), *sweeps = path_join(path, "sweeps");
        struct stat st;

        if (entry->d_name[0] != '.' && lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
            st.st_uid == geteuid() && access(sweeps, F_OK) == 0) {
            take(d, path);
            n++;
        }
        free(sweeps);
        free(path);
    }
    if (dir != NULL)
        closedir(dir);
    return n;
}

static void check_project(struct doctor *d, const char *path)
{
    struct tried_file tried;
    struct stat st;

    if (doctor_try_file(path, &tried) < 0)
        doctor_say(d, CHECK_PROBLEM, "see its owner and mode, and whether the drive is read-only",
                   "you cannot write into %s: %s", path, strerror(errno));
    else if (stat(path, &st) == 0 && (st.st_mode & S_IWOTH) != 0)
        doctor_say(d, CHECK_NOTE, "chmod o-w it", "everybody may write into %s", path);
    else
        doctor_say(d, CHECK_OK, NULL, "%s is yours, and you can write into it", path);
}

/* Makes a test folder beside the projects, on the mounted share or else over SFTP, and removes it.
 * Returns 0, or -1 with e set. */
static int try_to_make_project(struct doctor *d, struct err *e)
{
    char *name = mem_printf(".ludwig-doctor.%ld", (long)getpid()), *path;
    int rc;

    if (d->has_share) {
        path = path_join(d->projects, name);
        rc = mkdir(path, 0700) < 0 ? err_sys(e, "%s", d->projects) : 0;
        if (rc == 0)
            (void)rmdir(path);
    } else {
        path = mem_printf("%s/%s/%s", d->root,
                          d->rpc.welcome.projects != NULL ? d->rpc.welcome.projects : "", name);
        rc = sftp_mkdir(d->sftp, path, 0700, e);
        if (rc == 0)
            (void)sftp_rmdir(d->sftp, path, NULL);
    }
    free(path);
    free(name);
    return rc;
}

/* If ludwigd cannot make a project's folder, the client makes it at the first submit, so this check
 * tries to make one. */
void check_projects(struct doctor *d)
{
    bool is_there = !d->has_share && d->share == NULL && d->root != NULL;
    bool is_known = d->is_connected || d->choice.embedded;
    const char *own = is_there && is_known ? find_own_project(d) : NULL;
    struct err e = { 0 };

    if (each_project(d, check_project) > 0 || !is_known || !(d->has_share || is_there))
        return;
    if (own != NULL)
        doctor_say(d, CHECK_OK, NULL, "%s is yours", own);
    else if (d->is_connected && d->rpc.welcome.makes_projects)
        doctor_say(d, CHECK_OK, NULL, "none of yours yet; the server makes the first one's folder");
    else if (try_to_make_project(d, &e) < 0)
        doctor_say(d, CHECK_PROBLEM,
                   "let its admin name a folder that you can write into (projects: in "
                   "ludwigd.yaml), or make one for you",
                   "none of yours yet, and neither you nor the server can make one: %s", e.text);
    else
        doctor_say(d, CHECK_OK, NULL, "none of yours yet; you can make the first one's folder");
}

/* ---- owners of files ---- */

/* Returns the uid of the file's owner as the SFTP server gives it.  -1: with e set if the file
 * cannot be looked up, without if the server does not give owners. */
static int64_t owner_there(struct doctor *d, const char *path, struct err *e)
{
    char *full = mem_printf("%s/%s", d->root, path);
    struct sftp_attrs attrs;
    int64_t uid = -1;

    if (sftp_lstat(d->sftp, full, &attrs, e) == 0)
        uid = (attrs.has & SFTP_OWNER) != 0 ? (int64_t)attrs.uid : -1;
    free(full);
    return uid;
}

static void say_owner(struct doctor *d, const char *how, const char *folder, int64_t uid)
{
    if (uid == d->rpc.welcome.uid)
        doctor_say(d, CHECK_OK, NULL, "files made %s are yours on the server", how);
    else
        doctor_say(
            d, CHECK_PROBLEM,
            "see root_squash, id mapping (NFS) or uid= (CIFS) of that mount, and the uids of "
            "both machines; until then results made here are not yours, and others may have "
            "your rights there",
            "a file made %s in %s belongs to uid %" PRId64
            " on the server, and you are uid %" PRId64 " there",
            how, folder, uid, d->rpc.welcome.uid);
}

static void try_sftp(struct doctor *d, const char *folder, const char *name)
{
    char *path = mem_printf("%s/%s", d->root, name);
    struct err e = { 0 };
    struct sftp_file *file =
        sftp_file_open(d->sftp, path, SFTP_WRITE | SFTP_CREATE | SFTP_EXCLUSIVE, 0600, &e);
    bool is_made = file != NULL;
    int result = is_made ? sftp_file_write(file, 0, "x", 1, &e) : -1;
    int64_t uid;

    if (sftp_file_close(file, result == 0 ? &e : NULL) < 0 || result < 0) {
        doctor_say(d, CHECK_PROBLEM, "see its owner and mode, and whether there is room",
                   "you cannot write into %s: %s", folder, e.text);
    } else {
        uid = owner_there(d, name, &e);
        if (uid >= 0)
            say_owner(d, "over SFTP", folder, uid);
    }
    if (is_made)
        (void)sftp_remove(d->sftp, path, NULL);
    free(path);
}

static void try_mount(struct doctor *d, const char *folder, const char *name)
{
    char *path = path_join(d->share, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int number = errno;
    struct err e = { 0 };
    struct stat st;
    int64_t uid;

    if (fd < 0 && number == EACCES && geteuid() == 0 && fs_is_network(d->share))
        /* By default NFS gives root no rights; a worker that runs as root writes as the job's
         * owner. */
        doctor_say(
            d, CHECK_NOTE,
            "as root workers write as the jobs' owners, that is as it should be: run this as "
            "one of them to see whose their files become",
            "through the mount at %s root cannot write into %s: its server takes root for "
            "nobody (NFS: root_squash)",
            d->share, folder);
    else if (fd < 0)
        doctor_say(d, CHECK_PROBLEM,
                   "see whether the uids of both machines agree, and how the drive is mounted",
                   "through the mount at %s you cannot write into %s: %s", d->share, folder,
                   strerror(number));
    if (fd < 0)
        goto out;
    if (fstat(fd, &st) == 0 && st.st_uid != geteuid())
        doctor_say(d, CHECK_NOTE,
                   "a mount of each user's own (CIFS: multiuser), or a service account for all "
                   "jobs, whose files these then are",
                   "on this %s mount every file belongs to uid %u, whoever makes it",
                   fs_type_of_fd(fd).name, (unsigned)st.st_uid);
    uid = owner_there(d, name, &e);
    if (uid >= 0)
        say_owner(d, "through the mount", folder, uid);
    else if (e.kind != ERR_NONE)
        doctor_say(d, CHECK_PROBLEM, "see that both are the same folder",
                   "a file made through the mount at %s is not seen on the server: %s", d->share,
                   e.text);
    close(fd);
    (void)unlink(path);
out:
    free(path);
}

void check_owners(struct doctor *d)
{
    const char *folder, *name, *inbox;
    struct sftp_attrs attrs;

    if (d->root == NULL)
        return;
    inbox = arena_printf(d->arena, LAYOUT_SERVER_DIR "/inbox/%" PRId64, d->rpc.welcome.uid);
    folder = find_own_project(d);
    if (folder == NULL &&
        sftp_lstat(d->sftp, arena_printf(d->arena, "%s/%s", d->root, inbox), &attrs, NULL) == 0 &&
        S_ISDIR(attrs.mode) && attrs.uid == (uint32_t)d->rpc.welcome.uid)
        folder = inbox;
    if (folder == NULL) {
        doctor_say(d, CHECK_NOTE, NULL,
                   "nothing there is yours yet, so nothing was tried; your first submit makes a "
                   "project");
        return;
    }
    name = arena_printf(d->arena, "%s/.ludwig-doctor.%ld", folder, (long)getpid());
    try_sftp(d, folder, name);
    if (d->has_share && d->conf.share != NULL)
        try_mount(d, folder, name);
}

/* ---- the clock ---- */

/* Compares this machine's clock with the modification time of a new file, which the drive's server
 * sets.  Does nothing if this was done in another project before. */
static void compare_clocks(struct doctor *d, const char *path)
{
    bool is_said = d->n > 0 && d->findings[d->n - 1].check == d->check;
    struct tried_file tried;
    int64_t ahead_s, off_s;

    if (is_said || doctor_try_file(path, &tried) < 0)
        return;
    ahead_s = tried.mtime_s - (int64_t)time(NULL);
    off_s = ahead_s < 0 ? -ahead_s : ahead_s;
    if (off_s < CLOCK_NOTE_S)
        doctor_say(d, CHECK_OK, NULL, "the shared drive's and this machine's agree");
    else
        doctor_say(d, off_s < CLOCK_PROBLEM_S ? CHECK_NOTE : CHECK_PROBLEM,
                   "set both clocks by the network (NTP)",
                   "the shared drive's is %" PRId64 " s %s this machine's", off_s,
                   ahead_s < 0 ? "behind" : "before");
}

void check_clock(struct doctor *d)
{
    (void)each_project(d, compare_clocks);
}

/* ---- leftovers ---- */

/* Whether the name is ".JOBNAME.TOKEN", as results have before they are published, and the folder
 * has not changed for a day. */
static bool is_half_made(int dir_fd, const char *name)
{
    const char *dot = strrchr(name, '.');
    struct stat st;

    return name[0] == '.' && dot != name && strlen(dot + 1) == 32 &&
           strspn(dot + 1, "0123456789abcdef") == 32 &&
           fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_ctime < time(NULL) - LEFTOVER_AGE_S;
}

static void count_leftovers(struct doctor *d, const char *project)
{
    char *runs = path_join(project, "runs");
    DIR *dir = opendir(runs), *inner;
    struct dirent *entry;
    size_t n = 0, looked_at = 0;

    while (dir != NULL && looked_at++ < FOLDERS_LOOKED_AT_MAX && (entry = readdir(dir)) != NULL) {
        char *path = path_join(runs, entry->d_name);

        inner = entry->d_name[0] != '.' ? opendir(path) : NULL;
        while (inner != NULL && (entry = readdir(inner)) != NULL)
            n += is_half_made(dirfd(inner), entry->d_name);
        if (inner != NULL)
            closedir(inner);
        free(path);
    }
    if (dir != NULL)
        closedir(dir);
    if (n > 0)
        doctor_say(d, CHECK_NOTE, "once no job runs, the folders .*.TOKEN there may be removed",
                   "%zu half-made result%s below %s", n, n == 1 ? "" : "s", runs);
    free(runs);
}

void check_leftovers(struct doctor *d)
{
    size_t before = d->n;

    if (each_project(d, count_leftovers) > 0 && d->n == before)
        doctor_say(d, CHECK_OK, NULL, "no half-made results on the shared drive");
}
