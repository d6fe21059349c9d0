/* SPDX-License-Identifier: MIT */
/*
 * process_tree.h - finds, signals and measures the processes of a job
 *
 * A runner is its jobs' subreaper: a process that a job daemonizes becomes the runner's child, so
 * the descendants of the runner are exactly what is left of the job.
 */
#ifndef LUDWIG_WORKER_BASE_PROCESS_TREE_H
#define LUDWIG_WORKER_BASE_PROCESS_TREE_H

#include <stdint.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "common/base/err.h"

struct process_tree_process {
    pid_t pid;
    pid_t parent;
};

/* From now on orphans among the descendants of this process become its children. */
int process_tree_become_reaper(struct err *e);

/* Returns all descendants, parents before their children; the caller frees the array. */
struct process_tree_process *process_tree_list(size_t *n);
/* Returns the children of this process; the caller frees the array. */
struct process_tree_process *process_tree_children(size_t *n);

/* Sends the signal, and continues a stopped process.  false: the process is gone, or not ours. */
bool process_tree_signal_one(pid_t pid, int signal);

/* Sends the signal to all descendants and returns how many there were.  Processes
 * born meanwhile may be missed: ask again until none is left. */
size_t process_tree_signal(int signal);

/*
 * Sends SIGKILL to every process that was started with this entry, "NAME=VALUE", in its
 * environment, and returns how many there were.  Call it again later until it returns 0: a process
 * takes its time to end, and may start another one meanwhile.
 */
size_t process_tree_kill_with(const char *entry);
/* The same with LUDWIG_ATTEMPT=<token>, for an attempt whose runner is gone. */
size_t process_tree_kill_marked(const struct token *token);

/*
 * Sends SIGKILL to the descendants of the process root that belong to the user uid, and returns how
 * many of them were alive.  Call it again until it returns 0, as process_tree_kill_with.
 */
size_t process_tree_kill_below(pid_t root, uid_t uid);

struct process_look {
    char
        state; /* the letter of /proc/PID/status: T, t for a stopped one, Z for one that has ended */
    uid_t uid; /* the real user, even of a set-user-ID program */
};

/* Fills in *look; false: the process is gone. */
bool process_look(pid_t pid, struct process_look *look);

/* Replaces the content of text by that of /proc/PID/NAME; false: it is gone, or not ours. */
bool process_read(pid_t pid, const char *name, size_t max_bytes, struct buf *text);

/* The resources that all living descendants have used so far. */
struct process_usage {
    int64_t cpu_ms;        /* includes children that they have waited for */
    int64_t max_rss_bytes; /* the largest that any one of them has been */
};

/* Fills in *u; leaves out processes that cannot be read. */
void process_usage_look(struct process_usage *u);

#endif
