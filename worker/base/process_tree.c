/* SPDX-License-Identifier: MIT */
/* process_tree.c - finds, signals and measures the processes of a job */

#include "worker/base/process_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/proto/envvars.h"

enum {
    CHILDREN_MAX_BYTES = 16 * 1024 * 1024,
    ENVIRON_MAX_BYTES = 16 * 1024 * 1024,
    FILE_MAX_BYTES = 64 * 1024
};

struct pids {
    struct process_tree_process *items;
    size_t n;
    size_t capacity;
};

int process_tree_become_reaper(struct err *e)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return err_sys(e, "become the reaper of orphans");
    return 0;
}

static void add_pid(struct pids *p, pid_t pid, pid_t parent)
{
    mem_grow((void **)&p->items, &p->capacity, p->n, sizeof *p->items);
    p->items[p->n++] = (struct process_tree_process){ pid, parent };
}

static pid_t pid_of_name(const char *name)
{
    long pid = 0;

    for (const char *at = name; *at != '\0'; at++) {
        if (!isdigit((unsigned char)*at) || pid > 100 * 1000 * 1000)
            return 0;
        pid = 10 * pid + (*at - '0');
    }
    return (pid_t)pid;
}

bool process_read(pid_t pid, const char *name, size_t max_bytes, struct buf *text)
{
    char *path = mem_printf("/proc/%ld/%s", (long)pid, name);
    bool is_read;

    buf_clear(text);
    is_read = io_read_file(path, max_bytes, text, NULL) == 0;
    free(path);
    return is_read;
}

/* Adds the children that /proc/PID/task/TID/children names; false: this kernel has no such file, or
 * the process is gone. */
static bool add_children(pid_t pid, struct pids *p)
{
    char *tasks = mem_printf("/proc/%ld/task", (long)pid);
    DIR *dir = opendir(tasks);
    struct buf text = { 0 };
    struct dirent *entry;
    bool there = false;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char *path, *end;

        if (pid_of_name(entry->d_name) == 0)
            continue;
        path = mem_printf("%s/%s/children", tasks, entry->d_name);
        buf_clear(&text);
        if (io_read_file(path, CHILDREN_MAX_BYTES, &text, NULL) == 0) {
            there = true;
            for (const char *at = buf_text(&text); *at != '\0'; at = end) {
                long child = strtol(at, &end, 10);

                if (end == at)
                    break;
                add_pid(p, (pid_t)child, pid);
            }
        }
        free(path);
    }
    if (dir != NULL)
        closedir(dir);
    buf_free(&text);
    free(tasks);
    return there;
}

/* Adds all descendants by /proc/PID/stat, for kernels without .../children. */
static void add_descendants_by_stat(pid_t root, struct pids *p)
{
    struct pids all = { .n = 0 };
    struct buf text = { 0 };
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    size_t done = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        pid_t pid = pid_of_name(entry->d_name);
        const char *end;
        long parent = 0;

        if (pid == 0 || !process_read(pid, "stat", FILE_MAX_BYTES, &text))
            continue;
        /* The process's name before the last parenthesis may hold anything. */
        end = strrchr(buf_text(&text), ')');
        if (end != NULL && sscanf(end, ") %*c %ld", &parent) == 1)
            add_pid(&all, pid, (pid_t)parent);
    }
    if (dir != NULL)
        closedir(dir);
    for (pid_t at = root;; at = p->items[done++].pid) {
        for (size_t i = 0; i < all.n; i++)
            if (all.items[i].parent == at)
                add_pid(p, all.items[i].pid, at);
        if (done == p->n)
            break;
    }
    free(all.items);
    buf_free(&text);
}

static struct process_tree_process *list_below(pid_t root, size_t *n)
{
    struct pids p = { 0 };

    if (!add_children(root, &p))
        add_descendants_by_stat(root, &p);
    else
        for (size_t done = 0; done < p.n; done++)
            (void)add_children(p.items[done].pid, &p);
    *n = p.n;
    return p.items;
}

struct process_tree_process *process_tree_list(size_t *n)
{
    return list_below(getpid(), n);
}

struct process_tree_process *process_tree_children(size_t *n)
{
    struct pids p = { 0 };

    *n = 0;
    if (!add_children(getpid(), &p))
        add_descendants_by_stat(getpid(), &p);
    while (*n < p.n && p.items[*n].parent == getpid()) /* before other descendants */
        ++*n;
    return p.items;
}

bool process_tree_signal_one(pid_t pid, int signal)
{
    if (kill(pid, signal) < 0)
        return false;
    /* A stopped process would take no notice. */
    if (signal != SIGKILL)
        (void)kill(pid, SIGCONT);
    return true;
}

size_t process_tree_signal(int signal)
{
    size_t n;
    struct process_tree_process *all = process_tree_list(&n);

    for (size_t i = 0; i < n; i++)
        (void)process_tree_signal_one(all[i].pid, signal);
    free(all);
    return n;
}

size_t process_tree_kill_below(pid_t root, uid_t uid)
{
    size_t n, n_alive = 0;
    struct process_tree_process *all = list_below(root, &n);
    struct process_look look;

    for (size_t i = 0; i < n; i++)
        n_alive += process_look(all[i].pid, &look) && look.uid == uid && look.state != 'Z' &&
                   kill(all[i].pid, SIGKILL) == 0;
    free(all);
    return n_alive;
}

bool process_look(pid_t pid, struct process_look *look)
{
    static const char state_key[] = "\nState:\t", uid_key[] = "\nUid:\t";
    struct buf text = { 0 };
    const char *state = NULL, *uid = NULL;

    if (process_read(pid, "status", FILE_MAX_BYTES, &text)) {
        state = strstr(buf_text(&text), state_key);
        uid = strstr(buf_text(&text), uid_key);
    }
    if (state != NULL && uid != NULL)
        *look = (struct process_look){ state[sizeof state_key - 1],
                                       (uid_t)strtoul(uid + sizeof uid_key - 1, NULL, 10) };
    buf_free(&text);
    return state != NULL && uid != NULL;
}

void process_usage_look(struct process_usage *u)
{
    static const char key[] = "\nVmHWM:";
    const long ticks_per_s = sysconf(_SC_CLK_TCK);
    struct buf text = { 0 };
    size_t n;
    struct process_tree_process *all = process_tree_list(&n);

    *u = (struct process_usage){ 0 };
    for (size_t i = 0; i < n; i++) {
        long long user, system, childrens_user, childrens_system;
        const char *at = process_read(all[i].pid, "stat", FILE_MAX_BYTES, &text)
                             ? strrchr(buf_text(&text), ')') /* its name may hold anything */
                             : NULL;

        if (at != NULL && ticks_per_s > 0 &&
            sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld", &user,
                   &system, &childrens_user, &childrens_system) == 4)
            u->cpu_ms += (user + system + childrens_user + childrens_system) * 1000 / ticks_per_s;
        at = process_read(all[i].pid, "status", FILE_MAX_BYTES, &text)
                 ? strstr(buf_text(&text), key)
                 : NULL;
        if (at != NULL) {
            int64_t bytes = (int64_t)strtoll(at + strlen(key), NULL, 10) * 1024;

            if (bytes > u->max_rss_bytes)
                u->max_rss_bytes = bytes;
        }
    }
    buf_free(&text);
    free(all);
}

/* ---- by their environment ---- */

/* Kills the process pid if its environment has this entry, and returns whether it has. */
static bool kill_if_of(int proc_fd, const char *pid, const char *entry, struct buf *environment)
{
    int fd = openat(proc_fd, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool found = false;

    if (fd < 0)
        return false;
    buf_clear(environment);
    if (io_read_file_at(fd, "environ", ENVIRON_MAX_BYTES, environment, NULL) == 0)
        for (size_t at = 0, n; at < environment->n && !found; at += n + 1) {
            const char *text = (const char *)environment->bytes + at;

            n = strnlen(text, environment->n - at);
            found = n == strlen(entry) && memcmp(text, entry, n) == 0;
        }
    /* The folder in /proc serves as a pidfd: no other process with the same pid gets the signal. */
    if (found && syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) < 0 &&
        (errno == ENOSYS || errno == EBADF))
        kill((pid_t)strtol(pid, NULL, 10), SIGKILL);
    close(fd);
    return found;
}

size_t process_tree_kill_with(const char *entry)
{
    DIR *all = opendir("/proc");
    struct buf environment = { 0 };
    struct dirent *d;
    size_t n = 0;

    if (all == NULL)
        return 0;
    while ((d = readdir(all)) != NULL)
        if (pid_of_name(d->d_name) != 0 && pid_of_name(d->d_name) != getpid())
            n += kill_if_of(dirfd(all), d->d_name, entry, &environment);
    closedir(all);
    buf_free(&environment);
    return n;
}

size_t process_tree_kill_marked(const struct token *token)
{
    char hex[TOKEN_HEX], *entry;
    size_t n;

    token_hex(token, hex);
    entry = mem_printf("%s=%s", job_envvars[ENV_ATTEMPT].name, hex);
    n = process_tree_kill_with(entry);
    free(entry);
    return n;
}
