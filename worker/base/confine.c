/* SPDX-License-Identifier: MIT */
/* confine.c - takes from a runner, and so from all jobs that it starts, what jobs do not need */

#include "worker/base/confine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/path.h"

/* Folders that every user of a machine may write into. */
static const char *const shared_folders[] = { "/tmp", "/var/tmp", "/dev/shm" };
enum { N_SHARED = sizeof shared_folders / sizeof shared_folders[0], N_FIELDS = 5 };

/* Which of them are this process's own, and the scratch that may lie below one of them. */
static bool is_own[N_SHARED], has_tried, has_own_ipc;
static char *kept_scratch;
static struct rlimit before_helper; /* of this process, if it is one */
static bool is_helper;

/* ---- as an argument ---- */

static int64_t *field(struct confine *c, size_t i)
{
    int64_t *const all[N_FIELDS] = { &c->no_new_privs, &c->private_tmp, &c->core_bytes,
                                     &c->open_files, &c->processes };

    return all[i];
}

char *confine_text(const struct confine *c)
{
    struct confine copy = *c;
    struct buf text = { 0 };

    for (size_t i = 0; i < N_FIELDS; i++)
        buf_printf(&text, "%s%" PRId64, i > 0 ? ":" : "", *field(&copy, i));
    return buf_take(&text);
}

int confine_read(const char *text, struct confine *c, struct err *e)
{
    const char *at = text;
    bool is_sound = true;

    for (size_t i = 0; i < N_FIELDS && is_sound; i++) {
        char *end;

        errno = 0;
        *field(c, i) = strtoll(at, &end, 10);
        is_sound = errno == 0 && end > at && *end == (i + 1 < N_FIELDS ? ':' : '\0');
        at = end + 1;
    }
    return is_sound ? 0 : err_set(e, ERR_USAGE, "'%.80s' does not say how jobs are confined", text);
}

/* A quarter of what the machine can have. */
static int64_t usual_processes(void)
{
    static const char *const kernel_limits[] = { "/proc/sys/kernel/pid_max",
                                                 "/proc/sys/kernel/threads-max" };
    int64_t least = INT64_MAX;

    for (size_t i = 0; i < sizeof kernel_limits / sizeof kernel_limits[0]; i++) {
        struct buf text = { 0 };
        int64_t most = 0;

        if (io_read_file(kernel_limits[i], 64, &text, NULL) == 0)
            most = strtoll(buf_text(&text), NULL, 10);
        if (most > 0 && most < least)
            least = most;
        buf_free(&text);
    }
    return least == INT64_MAX ? CONFINE_UNSET : least / 4;
}

void confine_fill(struct confine *c, bool has_users)
{
    if (c->no_new_privs == CONFINE_UNSET)
        c->no_new_privs = has_users;
    if (c->private_tmp == CONFINE_UNSET)
        c->private_tmp = has_users;
    if (c->core_bytes == CONFINE_UNSET && has_users)
        c->core_bytes = 0;
    if (c->processes == CONFINE_UNSET && has_users)
        c->processes = usual_processes();
}

/* ---- limits ---- */

/* Only root raises a hard limit, and not beyond the kernel's own (nr_open), or in some containers. */
static int limit(unsigned what, int64_t wanted, const char *name, struct err *e)
{
    const struct rlimit all = { (rlim_t)wanted, (rlim_t)wanted };
    struct rlimit now;

    if (wanted == CONFINE_UNSET || setrlimit(what, &all) == 0)
        return 0;
    if (errno != EPERM || getrlimit(what, &now) < 0)
        return err_sys(e, "set the limit %s", name);
    now.rlim_cur = now.rlim_max;
    return setrlimit(what, &now) < 0 ? err_sys(e, "set the limit %s", name) : 0;
}

static int set_limits(const struct confine *c, struct err *e)
{
    if (limit(RLIMIT_CORE, c->core_bytes, "core", e) < 0 ||
        limit(RLIMIT_NOFILE, c->open_files, "open_files", e) < 0)
        return -1;
    return limit(RLIMIT_NPROC, c->processes, "processes", e);
}

/* ---- /tmp ---- */

static void say_shared(const char *what)
{
    log_event(LOG_WARN, "tmp-is-shared", "step", "%s", what, "error", "%s", strerror(errno), NULL);
}

static bool lies_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);

    return strncmp(path, folder, n) == 0 && path[n] == '/';
}

/* Whether this entry of that folder is, or leads to, scratch. */
static bool leads_to_scratch(const char *folder, const char *name)
{
    size_t n = strlen(folder) + 1, n_name = strlen(name);

    return lies_below(kept_scratch, folder) && strncmp(kept_scratch + n, name, n_name) == 0 &&
           (kept_scratch[n + n_name] == '/' || kept_scratch[n + n_name] == '\0');
}

/* Brings the scratch folder back that one of the mounts has hidden. */
static bool bring_back(int fd, const char *path)
{
    char *from = mem_printf("/proc/self/fd/%d", fd);
    bool is_back =
        io_make_dirs(path, 0755, NULL) == 0 && mount(from, path, NULL, MS_BIND | MS_REC, NULL) == 0;

    free(from);
    return is_back;
}

static void own_tmp(uid_t uid, const char *scratch)
{
    const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int scratch_fd = -1;
    struct stat st;

    free(kept_scratch);
    kept_scratch = mem_strdup(scratch);
    for (size_t i = 0; i < N_SHARED && scratch_fd < 0; i++)
        if (lies_below(scratch, shared_folders[i]))
            scratch_fd = open(scratch, flags);
    /* Whatever links lead there, the folder is the user's own: another one would be shown to a user who
     * cannot reach it. */
    if (scratch_fd >= 0 && (fstat(scratch_fd, &st) < 0 || st.st_uid != uid)) {
        errno = EPERM;
        say_shared("look at scratch");
    } else if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0) {
        say_shared("keep mounts to the jobs");
    } else {
        for (size_t i = 0; i < N_SHARED; i++) {
            /* Of two names of one folder, the second is mounted upon the first. */
            is_own[i] = mount("ludwig", shared_folders[i], "tmpfs", MS_NOSUID | MS_NODEV,
                              "mode=1777,size=25%") == 0;
            if (!is_own[i] && errno != ENOENT)
                say_shared(shared_folders[i]);
        }
        if (scratch_fd >= 0 && !bring_back(scratch_fd, scratch))
            say_shared("bring scratch back");
    }
    if (scratch_fd >= 0)
        close(scratch_fd);
}

/* Shared memory of System V and its like, which lasts until it is removed, whoever has ended.  A kernel
 * that has no namespaces for it leaves it to all. */
static int own_mounts(int further)
{
    has_own_ipc = unshare(CLONE_NEWNS | CLONE_NEWIPC | further) == 0;
    return has_own_ipc ? 0 : unshare(CLONE_NEWNS | further);
}

static void remove_ipc(void)
{
    struct shmid_ds segment;
    struct msqid_ds queue;
    struct semid_ds set;
    int last = shmctl(0, SHM_INFO, &segment), id;

    for (int i = 0; i <= last; i++)
        if ((id = shmctl(i, SHM_STAT, &segment)) >= 0)
            (void)shmctl(id, IPC_RMID, NULL);
    last = msgctl(0, MSG_INFO, &queue);
    for (int i = 0; i <= last; i++)
        if ((id = msgctl(i, MSG_STAT, &queue)) >= 0)
            (void)msgctl(id, IPC_RMID, NULL);
    last = semctl(0, 0, SEM_INFO, &set);
    for (int i = 0; i <= last; i++)
        if ((id = semctl(i, 0, SEM_STAT, &set)) >= 0)
            (void)semctl(id, 0, IPC_RMID);
}

void confine_empty_tmp(void)
{
    const struct dirent *entry;

    if (has_own_ipc)
        remove_ipc();

    for (size_t i = 0; i < N_SHARED; i++) {
        DIR *d = is_own[i] ? io_list_dir_at(AT_FDCWD, shared_folders[i], NULL) : NULL;

        while (d != NULL && (entry = readdir(d)) != NULL)
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                !leads_to_scratch(shared_folders[i], entry->d_name))
                (void)io_remove_tree_at(dirfd(d), entry->d_name, NULL);
        if (d != NULL)
            closedir(d);
    }
}

int64_t confine_tmp_bytes(void)
{
    union {
        struct shm_info info;
        struct shmid_ds segment; /* as which shmctl(2) takes it */
    } shared;
    int64_t bytes = 0;
    struct statfs fs;

    if (has_own_ipc && shmctl(0, SHM_INFO, &shared.segment) >= 0)
        bytes = (int64_t)(shared.info.shm_rss + shared.info.shm_swp) * sysconf(_SC_PAGESIZE);

    for (size_t i = 0; i < N_SHARED; i++)
        if (is_own[i] && statfs(shared_folders[i], &fs) == 0)
            bytes += (int64_t)(fs.f_blocks - fs.f_bfree) * (int64_t)fs.f_bsize;
    return bytes;
}

/* ---- rights ---- */

void confine_give_way(void)
{
    static const char score[] = "500"; /* of 1000: as if it took half of the memory more */
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)!write(fd, score, sizeof score - 1);
    close(fd);
}

void confine_helper(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    struct rlimit data;

    confine_give_way();
    if (pages <= 0 || page_bytes <= 0 || getrlimit(RLIMIT_DATA, &before_helper) < 0)
        return;
    data = before_helper;
    data.rlim_cur = (rlim_t)pages / 4 * (rlim_t)page_bytes;
    if (data.rlim_cur < before_helper.rlim_cur)
        is_helper = setrlimit(RLIMIT_DATA, &data) == 0;
}

void confine_no_helper(void)
{
    if (is_helper)
        (void)setrlimit(RLIMIT_DATA, &before_helper);
}

/* For the audit log: whose session the jobs belong to.  A kernel without it has no such file, and
 * one on which it is set already, as root logged in and started the worker, may refuse. */
static void set_login_uid(uid_t uid)
{
    int fd = open("/proc/self/loginuid", O_WRONLY | O_CLOEXEC);
    char *number = mem_printf("%u", (unsigned)uid);

    if (fd >= 0) {
        (void)!write(fd, number, strlen(number));
        close(fd);
    }
    free(number);
}

static int empty_bounding_set(struct err *e)
{
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
            return err_sys(e, "give up capability %d", cap);
    return 0;
}

int confine_as_root(const struct confine *c, uid_t uid, const char *scratch, struct err *e)
{
    set_login_uid(uid);
    /* What root has said no job takes back, and a runner, whose /proc is closed to its user, could not
     * say it.  It needs little itself: its jobs go before it. */
    confine_give_way();
    has_tried = true;
    if (c->private_tmp == 1) {
        if (own_mounts(0) < 0)
            say_shared("unshare");
        else
            own_tmp(uid, scratch);
    }
    if (set_limits(c, e) < 0)
        return -1;
    return c->no_new_privs == 1 ? empty_bounding_set(e) : 0;
}

/* Without root it takes a namespace of users, in which this process is who it was, and mounts. */
static int enter_user_namespace(void)
{
    const unsigned uid = geteuid(), gid = getegid();
    const char *const names[] = { "setgroups", "uid_map", "gid_map" };
    char *const texts[] = { mem_strdup("deny"), mem_printf("%u %u 1", uid, uid),
                            mem_printf("%u %u 1", gid, gid) };
    int rc = own_mounts(CLONE_NEWUSER);

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *path = mem_printf("/proc/self/%s", names[i]);
        int fd = rc < 0 ? -1 : open(path, O_WRONLY | O_CLOEXEC);

        if (rc == 0)
            rc = fd >= 0 && write(fd, texts[i], strlen(texts[i])) > 0 ? 0 : -1;
        if (fd >= 0)
            close(fd);
        free(path);
        free(texts[i]);
    }
    return rc;
}

int confine_self(const struct confine *c, const char *scratch, struct err *e)
{
    if (set_limits(c, e) < 0)
        return -1;
    if (c->private_tmp == 1 && !has_tried) {
        if (enter_user_namespace() < 0)
            say_shared("unshare");
        else
            own_tmp(geteuid(), scratch);
    }
    if (c->no_new_privs == 1 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_sys(e, "let no program get new rights");
    return 0;
}
