/* SPDX-License-Identifier: MIT */
/* job_cgroup.c - a control group for a runner and all that it starts */

#include "worker/node/job_cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"

/* The groups in a cage with a limit: for the runner itself, and for its jobs. */
#define RUNNER_GROUP "runner"
#define JOBS_GROUP   "jobs"
/* The group into which a pilot moves when it divides the group that it was started in. */
#define PREFIX      "ludwig-"
#define PILOT_GROUP PREFIX "pilot"
/* systemd's mark of groups that it leaves to others: in and below them it changes nothing. */
#define DELEGATED "user.delegate"

enum { FILE_MAX_BYTES = 4 * 1024 * 1024, MOUNT_WORDS_MAX = 32, TRIES = 200, TRY_EVERY_MS = 10 };

/* ---- the group that this process is in ---- */

static char *read_from(const char *folder, const char *name)
{
    char *path = path_join(folder, name);
    struct buf text = { 0 };

    if (io_read_file(path, FILE_MAX_BYTES, &text, NULL) < 0)
        buf_free(&text);
    free(path);
    return buf_take(&text);
}

/* Whether word is one of words, between which there are these separators. */
static bool has_word(const char *words, const char *separators, const char *word)
{
    for (size_t n; *words != '\0'; words += n + (words[n] != '\0')) {
        n = strcspn(words, separators);
        if (n == strlen(word) && strncmp(words, word, n) == 0)
            return true;
    }
    return false;
}

/* Finds the wished group's path in lines ID:CONTROLLERS:PATH ("0::PATH" in version 2); or NULL. */
static char *find_path(char *groups, enum own_cgroup_wish wish, bool *is_v2)
{
    char *found = NULL, *rest;

    for (char *line = strtok_r(groups, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *controllers = strchr(line, ':');
        char *path = controllers == NULL ? NULL : strchr(controllers + 1, ':');

        if (path == NULL)
            continue;
        *controllers++ = '\0';
        *path++ = '\0';
        if (wish == OWN_CGROUP_OF_MEMORY && has_word(controllers, ",", "memory")) {
            *is_v2 = false;
            return path;
        }
        if (*controllers == '\0' && strcmp(line, "0") == 0) {
            *is_v2 = true;
            found = path;
        }
    }
    return found;
}

/* Sets g->folder if this mount has the group path.  line:
 * ID PARENT DEVICE MOUNTED POINT OPTIONS [TAGS] - TYPE SOURCE OPTIONS */
static bool take_mount(struct own_cgroup *g, const char *root, char *line, const char *path)
{
    char *words[MOUNT_WORDS_MAX], *rest;
    size_t n = 0, dash = 6, mounted_n;

    for (char *word = strtok_r(line, " ", &rest); word != NULL && n < MOUNT_WORDS_MAX;
         word = strtok_r(NULL, " ", &rest))
        words[n++] = word;
    while (dash < n && strcmp(words[dash], "-") != 0)
        dash++;
    if (dash + 3 >= n || strcmp(words[dash + 1], g->is_v2 ? "cgroup2" : "cgroup") != 0 ||
        (!g->is_v2 && !has_word(words[dash + 3], ",", "memory")))
        return false;
    mounted_n = strcmp(words[3], "/") == 0 ? 0 : strlen(words[3]);
    if (strncmp(path, words[3], mounted_n) != 0 ||
        (path[mounted_n] != '/' && path[mounted_n] != '\0'))
        return false;
    path += mounted_n;
    g->folder = mem_printf("%s%s%s", root, words[4], strcmp(path, "/") == 0 ? "" : path);
    g->top = strlen(root) + strlen(words[4]);
    return true;
}

void job_cgroup_find_own(struct own_cgroup *g, const char *root, enum own_cgroup_wish wish)
{
    char *proc = mem_printf("%s/proc/self", root), *rest;
    char *groups = read_from(proc, "cgroup"), *mounts = read_from(proc, "mountinfo");
    const char *path;

    *g = (struct own_cgroup){ .folder = NULL };
    path = find_path(groups, wish, &g->is_v2);
    for (char *line = path == NULL ? NULL : strtok_r(mounts, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest))
        if (take_mount(g, root, line, path))
            break;
    free(proc);
    free(groups);
    free(mounts);
}

void job_cgroup_free_own(struct own_cgroup *g)
{
    free(g->folder);
    g->folder = NULL;
}

/* ---- files of groups ---- */

static int open_in(const char *folder, const char *name)
{
    char *path = path_join(folder, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    free(path);
    return fd;
}

static int write_to(const char *folder, const char *name, const char *text)
{
    int fd = open_in(folder, name), rc = -1;

    if (fd >= 0) {
        rc = io_write_all(fd, text, strlen(text));
        close(fd);
    }
    return rc;
}

static bool has_memory(const char *folder)
{
    char *controllers = read_from(folder, "cgroup.controllers");
    bool has = has_word(controllers, " \n", "memory");

    free(controllers);
    return has;
}

/* Lets groups below have limits of memory; fails if processes are in the group itself. */
static bool divide_memory(const char *folder)
{
    return has_memory(folder) && write_to(folder, "cgroup.subtree_control", "+memory") == 0;
}

/* As divide_memory, for the group of cages: also limits of processes, if the kernel has them. */
static bool divide(const char *folder)
{
    if (!divide_memory(folder))
        return false;
    (void)write_to(folder, "cgroup.subtree_control", "+pids");
    return true;
}

/* Limits all that a runner starts to a quarter of the processes that the machine can have. */
static void limit_processes(const char *path)
{
    static const char *const kernel_limits[] = { "pid_max", "threads-max" };
    long long least = LLONG_MAX;

    for (size_t i = 0; i < sizeof kernel_limits / sizeof kernel_limits[0]; i++) {
        char *text = read_from("/proc/sys/kernel", kernel_limits[i]);
        long long most = text == NULL ? 0 : strtoll(text, NULL, 10);

        if (most > 0 && most < least)
            least = most;
        free(text);
    }
    if (least < LLONG_MAX) {
        char *number = mem_printf("%lld", least / 4);

        (void)write_to(path, "pids.max", number);
        free(number);
    }
}

static bool is_delegated(const char *folder)
{
    char mark[2];

    return getxattr(folder, DELEGATED, mark, sizeof mark) == 1 && mark[0] == '1';
}

static char *add_group(const char *folder, const char *name)
{
    char *path = path_join(folder, name);

    if (mkdir(path, 0755) == 0)
        return path;
    free(path);
    return NULL;
}

/* ---- our group ---- */

/* Returns the folder of our group; NULL: there is none, or it is the hierarchy's root. */
static char *find_own(size_t *top)
{
    struct own_cgroup own;
    char *folder;

    job_cgroup_find_own(&own, "", OWN_CGROUP_V2);
    *top = own.top;
    folder = own.folder != NULL && strlen(own.folder) > own.top ? mem_strdup(own.folder) : NULL;
    job_cgroup_free_own(&own);
    return folder;
}

/* A group with processes cannot give limits to groups below.  So if the group above ours is
 * delegated to us (systemd's DelegateSubgroup=), the cage lies there.  We do not divide and leave
 * our own, as systemd could then start no other agent in it while jobs run. */
char *job_cgroup_name(void)
{
    size_t top;
    char *own = find_own(&top), *above = own == NULL ? NULL : mem_strdup(own), *path;
    char hex[TOKEN_HEX];
    struct token name;

    if (own == NULL)
        return NULL;
    *strrchr(above, '/') = '\0';
    token_make(&name);
    token_hex(&name, hex);
    path =
        mem_printf("%s/" PREFIX "%s",
                   strlen(above) > top && is_delegated(above) && divide(above) ? above : own, hex);
    free(own);
    free(above);
    return path;
}

/* ---- creation ---- */

static void remove_groups(const char *path)
{
    char *jobs = path_join(path, JOBS_GROUP), *runner = path_join(path, RUNNER_GROUP);

    (void)rmdir(jobs);
    (void)rmdir(runner);
    free(jobs);
    free(runner);
}

/* Lets the runner's user start jobs in the group, though not take them out of it. */
static bool let_start(const char *folder, uid_t uid)
{
    char *path = path_join(folder, "cgroup.procs");
    bool may = uid == geteuid() || chown(path, uid, (gid_t)-1) == 0;

    free(path);
    return may;
}

/* Makes the groups of runner and jobs and returns a descriptor for the jobs' limit; -1: there is
 * none.  Without memory.oom.group the kernel would end only one process of a job. */
static int make_groups(const char *path, uid_t uid)
{
    char *runner, *jobs;
    int limit_fd = -1;

    if (!divide_memory(path))
        return -1;
    runner = add_group(path, RUNNER_GROUP);
    jobs = add_group(path, JOBS_GROUP);
    if (runner != NULL && jobs != NULL && let_start(path, uid) && let_start(jobs, uid) &&
        write_to(jobs, "memory.oom.group", "1") == 0) {
        (void)write_to(jobs, "memory.swap.max", "0"); /* no such file without swap */
        limit_fd = open_in(jobs, "memory.max");
    }
    if (limit_fd < 0) {
        remove_groups(path);
        (void)write_to(path, "cgroup.subtree_control", "-memory");
    }
    free(runner);
    free(jobs);
    return limit_fd;
}

bool job_cgroup_make(const char *path, uid_t uid, int *limit_fd)
{
    char *kill_path;
    bool can_kill;

    *limit_fd = -1;
    if (mkdir(path, 0755) < 0)
        return false;
    kill_path = path_join(path, "cgroup.kill");
    can_kill = access(kill_path, W_OK) == 0;
    free(kill_path);
    if (can_kill) {
        limit_processes(path);
        *limit_fd = make_groups(path, uid);
    } else {
        (void)rmdir(path);
    }
    return can_kill;
}

bool job_cgroup_is_possible(void)
{
    char *path = job_cgroup_name();
    int limit_fd = -1;
    bool is_possible = path != NULL && job_cgroup_make(path, geteuid(), &limit_fd);

    if (limit_fd >= 0)
        close(limit_fd);
    if (is_possible)
        (void)job_cgroup_end(path);
    free(path);
    return is_possible;
}

bool job_cgroup_put(const char *path, pid_t pid)
{
    char *number = mem_printf("%lld", (long long)pid), *runner = path_join(path, RUNNER_GROUP);
    bool is_in = write_to(access(runner, F_OK) == 0 ? runner : path, "cgroup.procs", number) == 0;

    free(runner);
    free(number);
    return is_in;
}

static bool is_removed(const char *path)
{
    remove_groups(path);
    return rmdir(path) == 0 || errno != EBUSY;
}

bool job_cgroup_end(const char *path)
{
    if (is_removed(path))
        return true;
    (void)write_to(path, "cgroup.kill", "1");
    return is_removed(path);
}

/* ---- a pilot's group ---- */

char *job_cgroup_divide_own(void)
{
    size_t top;
    char *own = find_own(&top), *leaf = NULL, *pids = NULL;
    char *ours = mem_printf("%lld\n", (long long)getpid());
    bool is_divided = false;

    if (own != NULL && !is_delegated(own) && has_memory(own))
        pids = read_from(own, "cgroup.procs");
    if (pids != NULL && strcmp(pids, ours) == 0)
        leaf = add_group(own, PILOT_GROUP);
    if (leaf != NULL) {
        is_divided = write_to(leaf, "cgroup.procs", "0") == 0 &&
                     setxattr(own, DELEGATED, "1", 1, 0) == 0 && divide(own);
        if (!is_divided) {
            (void)removexattr(own, DELEGATED);
            (void)write_to(own, "cgroup.procs", "0");
            (void)rmdir(leaf);
        }
    }
    free(pids);
    free(ours);
    free(leaf);
    if (is_divided)
        return own;
    free(own);
    return NULL;
}

/* Ends all cages in the group.  true: none is left, and the group is no longer divided. */
static bool undivide(const char *folder)
{
    DIR *d = opendir(folder);
    const struct dirent *entry;
    bool is_undivided = true;
    char *leaf;

    while (d != NULL && (entry = readdir(d)) != NULL) {
        char *path = path_join(folder, entry->d_name);

        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 &&
            strcmp(entry->d_name, PILOT_GROUP) != 0)
            is_undivided &= job_cgroup_end(path);
        free(path);
    }
    if (d != NULL)
        closedir(d);
    leaf = path_join(folder, PILOT_GROUP);
    (void)write_to(folder, "cgroup.subtree_control", "-pids");
    is_undivided = is_undivided && write_to(folder, "cgroup.subtree_control", "-memory") == 0 &&
                   write_to(folder, "cgroup.procs", "0") == 0 &&
                   (rmdir(leaf) == 0 || errno != EBUSY);
    free(leaf);
    return is_undivided;
}

void job_cgroup_undivide(const char *folder)
{
    /* Runners and other processes that we have started may take a moment to end. */
    for (int i = 0; i < TRIES && !undivide(folder); i++)
        (void)poll(NULL, 0, TRY_EVERY_MS);
    (void)removexattr(folder, DELEGATED);
}
