/* SPDX-License-Identifier: MIT */
/*
 * process_tree.h - every process that descends from this one, or is of an attempt
 *
 * A runner is its jobs' subreaper: whatever a job daemonizes becomes the runner's
 * own child, so the descendants of the runner are exactly what is left of the job.
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

/* From now on orphans among the descendants become children of this process. */
int process_tree_become_reaper(struct err *e);

/* All descendants, parents before their children; the caller frees it. */
struct process_tree_process *process_tree_list(size_t *n);
/* The children of this process; the caller frees it. */
struct process_tree_process *process_tree_children(size_t *n);

/* false: the process is gone, or not ours.  A stopped process is made to go on, to take notice. */
bool process_tree_signal_one(pid_t pid, int signal);

/* Sends the signal to all descendants and returns how many there were.  Processes
 * born meanwhile may be missed: ask again until none is left. */
size_t process_tree_signal(int signal);

/*
 * Sends SIGKILL to every process that was started with this entry, "NAME=VALUE", in its environment, and
 * returns how many there were.  Call again, later, until none is left: a process may start another
 * meanwhile, and takes its time to end.
 */
size_t process_tree_kill_with(const char *entry);
/* The same with LUDWIG_ATTEMPT=<token>, for an attempt whose runner is gone. */
size_t process_tree_kill_marked(const struct token *token);

/*
 * Sends SIGKILL to the descendants of another process that belong to this user, and returns how many
 * of them were alive.  Call again, later, until none is: as above.
 */
size_t process_tree_kill_below(pid_t root, uid_t uid);

struct process_look {
    char
        state; /* the letter of /proc/PID/status: T, t for a stopped one, Z for one that has ended */
    uid_t uid; /* its real user, whatever program it runs */
};

/* false: the process is gone. */
bool process_look(pid_t pid, struct process_look *look);

/* Reads /proc/PID/NAME in place of text's content; false: the process is gone, or not ours. */
bool process_read(pid_t pid, const char *name, size_t max_bytes, struct buf *text);

/* The resources that all descendants have used so far. */
struct process_usage {
    int64_t cpu_ms;        /* with that of children they waited for */
    int64_t max_rss_bytes; /* of the largest of them, ever */
};

/* A process that cannot be read counts nothing. */
void process_usage_look(struct process_usage *u);

#endif
