/* SPDX-License-Identifier: MIT */
/*
 * oom.h - how much memory jobs may have and take, and did one end because it ran out?
 *
 * The kernel counts the processes that it ended for lack of memory, per control group
 * (version 2: memory.events, which counts those of groups below ours too; version 1:
 * memory.oom_control).  Jobs that share a group share the counter, so that it says
 * something about a job only with the job's own SIGKILL.  Where nobody counts, a SIGKILL
 * that came when the job had nearly all the memory it may have is called likely.
 */
#ifndef LUDWIG_WORKER_RUNNER_OOM_H
#define LUDWIG_WORKER_RUNNER_OOM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "worker/node/job_cgroup.h"

struct oom {
    char *root;
    struct own_cgroup group;
    int kills_fd; /* -1: the kernel does not count here */
};

/* Whatever cannot be read counts as not known.  root: what lies below / , "" but
 * for tests. */
void oom_open(struct oom *o, const char *root);
/* The same of another group, of version 2, that this process is not in. */
void oom_open_group(struct oom *o, const char *folder);
void oom_close(struct oom *o);

/* How many processes the kernel ended here so far; -1: not known. */
int64_t oom_kills(const struct oom *o);
/* How often the group itself had as much as it may have, whichever process was ended for that; -1: not known. */
int64_t oom_hits(const struct oom *o);
/* What all processes here may have together: the group's limit, or the machine's memory; 0: not
 * known. */
int64_t oom_limit_bytes(const struct oom *o);

/* The facts about a job that ended without having been told to. */
struct oom_evidence {
    int status;            /* of the main process, as wait(2) tells it */
    bool has_kills;        /* the counter rose while the job ran */
    bool has_own_limit;    /* and it was the job's own that was reached, in a group of its own */
    int64_t max_rss_bytes; /* of its largest process, among those that were waited for */
    int64_t memory_bytes;  /* what the job said it needs; 0: nothing */
    int64_t limit_bytes;   /* see oom_limit_bytes */
};

/* Appends what happened, in words, when memory ran out, or that is likely. */
bool oom_judge(const struct oom_evidence *x, struct buf *reason);

/*
 * The group in which the kernel ends a job that takes more memory than it asked for.  A runner has one for
 * its jobs, one after the other; see job_cgroup.h.  The kernel counts what they read and write as well,
 * but gives that up before it ends anybody, unless it lies in memory alone (/dev/shm).
 */
struct memlimit {
    int max_fd;     /* memory.max of the group; -1: there is none */
    int group_fd;   /* its folder */
    struct oom oom; /* what the kernel counts there */
    int64_t bytes;  /* as it was set last; 0: never */
};

/* fd: what the agent has handed on, if it has. */
void memlimit_open(struct memlimit *m, int fd);
void memlimit_close(struct memlimit *m);

/* Called while the group is empty.  true: a job that is started in group_fd has so much. */
bool memlimit_set(struct memlimit *m, int64_t bytes);

/*
 * Where no group limits a job, it is watched whether it takes more memory than it asked for, as others
 * would have to go with it: the jobs of a pilot share what Slurm gave it.  What counts is memory that only
 * ending its processes frees, one's alone or shared among them, not the files that they have mapped.
 */
struct memwatch {
    int64_t limit_bytes; /* 0: the job is not watched */
    int64_t bytes;       /* that were used when it was looked at last */
    int64_t next_ms;     /* monotonic: when to look again */
};

void memwatch_begin(struct memwatch *w, int64_t limit_bytes);
/* For poll(2), -1: never. */
int memwatch_wait_ms(const struct memwatch *w);
/* If it is due: how much all our descendants use together, when that is too much; else 0. */
int64_t memwatch_look(struct memwatch *w);

/* Until it is looked at again: a second, or less when it is near its limit or grows so fast that it may
 * reach it by then. */
int memwatch_pause_ms(int64_t bytes, int64_t before_bytes, int64_t limit_bytes);

/* "RssAnon" and "RssShmem" of /proc/PID/status, or "Pss_Anon" and "Pss_Shmem" of
 * /proc/PID/smaps_rollup, added up; -1: they are not there. */
int64_t memwatch_parse(const char *text, const char *anon, const char *shmem);

#endif
