/* SPDX-License-Identifier: MIT */
/* process_tree.c - finds and signals all descendants of this process */

#include "worker/base/process_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"

enum { CHILDREN_MAX_BYTES = 16 * 1024 * 1024, STAT_MAX_BYTES = 64 * 1024 };

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

/* ---- by /proc/PID/task/TID/children ---- */

/* false: this kernel has no such file (or the process is gone). */
static bool add_children_of_thread(const char *path, pid_t parent, struct pids *p)
{
    struct buf text = { 0 };
    const char *at;
    bool there = io_read_file(path, CHILDREN_MAX_BYTES, &text, NULL) == 0;

    for (at = buf_text(&text); there && *at != '\0';) {
        char *end;
        long pid = strtol(at, &end, 10);

        if (end == at)
            break;
        add_pid(p, (pid_t)pid, parent);
        at = end;
    }
    buf_free(&text);
    return there;
}

static bool add_children(pid_t pid, struct pids *p)
{
    char *tasks = mem_printf("/proc/%ld/task", (long)pid);
    DIR *dir = opendir(tasks);
    struct dirent *entry;
    bool there = false;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char *path;

        if (pid_of_name(entry->d_name) == 0)
            continue;
        path = mem_printf("%s/%s/children", tasks, entry->d_name);
        there |= add_children_of_thread(path, pid, p);
        free(path);
    }
    if (dir != NULL)
        closedir(dir);
    free(tasks);
    return there;
}

/* ---- by /proc/PID/stat, for kernels without the above ---- */

static pid_t parent_of(pid_t pid)
{
    char *path = mem_printf("/proc/%ld/stat", (long)pid);
    struct buf text = { 0 };
    const char *end;
    char state;
    long parent = 0;

    /* The name before the last parenthesis may hold anything. */
    if (io_read_file(path, STAT_MAX_BYTES, &text, NULL) == 0) {
        end = strrchr(buf_text(&text), ')');
        if (end == NULL || sscanf(end, ") %c %ld", &state, &parent) != 2)
            parent = 0;
    }
    buf_free(&text);
    free(path);
    return (pid_t)parent;
}

static struct process_tree_process *list_all(size_t *n)
{
    struct process_tree_process *all = NULL;
    size_t capacity = 0;
    DIR *dir = opendir("/proc");
    struct dirent *entry;

    *n = 0;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        pid_t pid = pid_of_name(entry->d_name);

        if (pid == 0)
            continue;
        mem_grow((void **)&all, &capacity, *n, sizeof *all);
        all[(*n)++] = (struct process_tree_process){ pid, parent_of(pid) };
    }
    if (dir != NULL)
        closedir(dir);
    return all;
}

static void add_descendants_by_stat(pid_t root, struct pids *p)
{
    size_t n;
    struct process_tree_process *all = list_all(&n);
    size_t done = 0;

    for (pid_t at = root;; at = p->items[done++].pid) {
        for (size_t i = 0; i < n; i++)
            if (all[i].parent == at)
                add_pid(p, all[i].pid, at);
        if (done == p->n)
            break;
    }
    free(all);
}

/* ---- both ---- */

static void add_descendants(pid_t root, struct pids *p)
{
    if (!add_children(root, p)) {
        add_descendants_by_stat(root, p);
        return;
    }
    for (size_t done = 0; done < p->n; done++)
        (void)add_children(p->items[done].pid, p);
}

struct process_tree_process *process_tree_list(size_t *n)
{
    struct pids p = { 0 };

    add_descendants(getpid(), &p);
    *n = p.n;
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
