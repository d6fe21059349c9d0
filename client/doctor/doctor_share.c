/* SPDX-License-Identifier: MIT */
/* doctor_share.c - checks of the shared drive */
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
#include "common/base/units.h"
#include "common/proto/layout.h"

enum {
    PROJECTS_TRIED_MAX = 20,
    FOLDERS_LOOKED_AT_MAX = 2000,
    CLOCK_NOTE_S = 5,
    CLOCK_PROBLEM_S = 120,
    LEFTOVER_AGE_S = 24 * 3600
};

static const int64_t FREE_LOW_BYTES = INT64_C(1) << 30, FREE_BAD_BYTES = INT64_C(100) << 20;

/* ---- the share ---- */

static void find_share(struct doctor *d)
{
    char *own;

    if (d->is_connected && d->rpc.mux != NULL) {
        d->share = d->conf.share;
    } else if (d->is_connected) {
        d->share =
            d->conf.share != NULL && !d->choice.embedded ? d->conf.share : d->rpc.welcome.share;
    } else if (d->has_choice && d->choice.embedded) {
        own = conf_embedded_share(&d->conf);
        d->share = arena_strdup(d->arena, own);
        free(own);
    } else {
        d->share = d->conf.share;
    }
}

static void find_projects(struct doctor *d)
{
    bool are_below = d->is_connected && d->rpc.welcome.projects[0] != '\0';

    d->projects =
        are_below ? arena_printf(d->arena, "%s/%s", d->share, d->rpc.welcome.projects) : d->share;
}

static void say_missing(struct doctor *d, int number)
{
    if (number == ENOENT && !d->is_connected && d->choice.embedded)
        doctor_say(d, CHECK_OK, NULL, "%s, which is made when the server starts", d->share);
    else
        doctor_say(d, CHECK_PROBLEM,
                   "mount it, or say in config.yaml (share:) where it is on this machine", "%s: %s",
                   d->share, strerror(number));
}

static enum verdict_of_check verdict_of_space(int64_t free_bytes)
{
    if (free_bytes < FREE_BAD_BYTES)
        return CHECK_PROBLEM;
    return free_bytes < FREE_LOW_BYTES ? CHECK_NOTE : CHECK_OK;
}

static void say_space(struct doctor *d)
{
    struct statvfs fs;
    struct buf size = { 0 };
    int64_t free_bytes;

    if (statvfs(d->share, &fs) < 0) {
        doctor_say(d, CHECK_PROBLEM, NULL, "%s: %s", d->share, strerror(errno));
        return;
    }
    free_bytes = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
    units_add_size(&size, free_bytes);
    doctor_say(d, verdict_of_space(free_bytes),
               free_bytes < FREE_LOW_BYTES ? "make room there" : NULL, "%s, %s free%s", d->share,
               buf_text(&size), fs_is_network(d->share) ? ", a network file system" : "");
    buf_free(&size);
}

/* The server leaves its id there: a mount of something else would lack it. */
static void check_id(struct doctor *d)
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
    struct stat st;

    find_share(d);
    if (d->share == NULL && d->root != NULL) {
        doctor_say(d, CHECK_OK, NULL, "not mounted here, so files are read and sent over SFTP");
        return;
    }
    if (d->share == NULL) {
        doctor_say(d, CHECK_NOTE, "say it in config.yaml (share:)",
                   "where it is on this machine is not known without the server");
        return;
    }
    find_projects(d);
    d->has_share = stat(d->share, &st) == 0 && S_ISDIR(st.st_mode);
    if (!d->has_share) {
        say_missing(d, stat(d->share, &st) < 0 ? errno : ENOTDIR);
        return;
    }
    say_space(d);
    if (d->is_connected)
        check_id(d);
}

/* ---- projects ---- */

/* Calls take for each project of this user, at most PROJECTS_TRIED_MAX; how many there are. */
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

/* A file that is gone at once: its time by the clock of the drive, or -1 with errno. */
static int64_t try_to_write(const char *folder)
{
    char *path = mem_printf("%s/.ludwig-doctor.%ld", folder, (long)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int64_t mtime_s = -1;
    struct stat st;
    int number = errno;

    if (fd >= 0) {
        if (io_write_all(fd, "x", 1) == 0 && fsync(fd) == 0 && fstat(fd, &st) == 0)
            mtime_s = st.st_mtime;
        number = errno;
        close(fd);
        (void)unlink(path);
    }
    free(path);
    errno = number;
    return mtime_s;
}

static void check_project(struct doctor *d, const char *path)
{
    struct stat st;

    if (try_to_write(path) < 0)
        doctor_say(d, CHECK_PROBLEM, "see its owner and mode, and whether the drive is read-only",
                   "you cannot write into %s: %s", path, strerror(errno));
    else if (stat(path, &st) == 0 && (st.st_mode & S_IWOTH) != 0)
        doctor_say(d, CHECK_NOTE, "chmod o-w it", "everybody may write into %s", path);
    else
        doctor_say(d, CHECK_OK, NULL, "%s is yours, and you can write into it", path);
}

/* A folder that is gone at once. */
static int try_to_make_here(const struct doctor *d, const char *name, struct err *e)
{
    char *path = path_join(d->projects, name);
    int rc = mkdir(path, 0700);

    if (rc < 0)
        err_sys(e, "%s", d->projects);
    else
        (void)rmdir(path);
    free(path);
    return rc;
}

static int try_to_make_there(const struct doctor *d, const char *name, struct err *e)
{
    const char *below = d->rpc.welcome.projects;
    char *path = mem_printf("%s/%s/%s", d->root, below != NULL ? below : "", name);
    int rc = sftp_mkdir(d->sftp, path, 0700, e);

    if (rc == 0)
        (void)sftp_rmdir(d->sftp, path, NULL);
    free(path);
    return rc;
}

/* Where ludwigd cannot make a project's folder, the first submit has to. */
static void try_to_make(struct doctor *d)
{
    char *name = mem_printf(".ludwig-doctor.%ld", (long)getpid());
    struct err e = { 0 };

    if (d->is_connected && d->rpc.welcome.makes_projects)
        doctor_say(d, CHECK_OK, NULL, "none of yours yet; the server makes the first one's folder");
    else if ((d->has_share ? try_to_make_here(d, name, &e) : try_to_make_there(d, name, &e)) < 0)
        doctor_say(d, CHECK_PROBLEM,
                   "let its admin name a folder that you can write into (projects: in "
                   "ludwigd.yaml), or make one for you",
                   "none of yours yet, and neither you nor the server can make one: %s", e.text);
    else
        doctor_say(d, CHECK_OK, NULL, "none of yours yet; you can make the first one's folder");
    free(name);
}

void check_projects(struct doctor *d)
{
    bool is_there = !d->has_share && d->share == NULL && d->root != NULL;
    bool is_known = d->is_connected || d->choice.embedded;
    const char *own = is_there && is_known ? doctor_own_project(d) : NULL;

    if (each_project(d, check_project) > 0 || !is_known || !(d->has_share || is_there))
        return;
    if (own != NULL)
        doctor_say(d, CHECK_OK, NULL, "%s is yours", own);
    else
        try_to_make(d);
}

/* ---- clocks ---- */

static void say_clock(struct doctor *d, int64_t ahead_s)
{
    int64_t off_s = ahead_s < 0 ? -ahead_s : ahead_s;

    if (off_s < CLOCK_NOTE_S)
        doctor_say(d, CHECK_OK, NULL, "the shared drive's and this machine's agree");
    else
        doctor_say(d, off_s < CLOCK_PROBLEM_S ? CHECK_NOTE : CHECK_PROBLEM,
                   "set both clocks by the network (NTP)",
                   "the shared drive's is %" PRId64 " s %s this machine's", off_s,
                   ahead_s < 0 ? "behind" : "before");
}

/* One project is enough. */
static void compare_clocks(struct doctor *d, const char *path)
{
    bool is_said = d->n > 0 && d->findings[d->n - 1].check == d->check;
    int64_t theirs_s = is_said ? -1 : try_to_write(path);

    if (theirs_s >= 0)
        say_clock(d, theirs_s - (int64_t)time(NULL));
}

/* What is written to the drive gets the drive's time. */
void check_clock(struct doctor *d)
{
    (void)each_project(d, compare_clocks);
}

/* ---- leftovers ---- */

/* ".JOBNAME.TOKEN", a result that was not published, for a day now. */
static bool is_leftover(int dir_fd, const char *name)
{
    const char *dot = strrchr(name, '.');
    struct stat st;

    return name[0] == '.' && dot != name && strlen(dot + 1) == 32 &&
           strspn(dot + 1, "0123456789abcdef") == 32 &&
           fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_ctime < time(NULL) - LEFTOVER_AGE_S;
}

static size_t count_leftovers_in(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    size_t n = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        n += is_leftover(dirfd(dir), entry->d_name);
    if (dir != NULL)
        closedir(dir);
    return n;
}

static void count_leftovers(struct doctor *d, const char *project)
{
    char *runs = path_join(project, "runs");
    DIR *dir = opendir(runs);
    struct dirent *entry;
    size_t n = 0, looked_at = 0;

    while (dir != NULL && looked_at++ < FOLDERS_LOOKED_AT_MAX && (entry = readdir(dir)) != NULL) {
        char *path = path_join(runs, entry->d_name);

        if (entry->d_name[0] != '.')
            n += count_leftovers_in(path);
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
