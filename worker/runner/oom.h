/* SPDX-License-Identifier: MIT */
/*
 * oom.h - how much memory jobs may have and take, and whether one ended because it ran out
 *
 * The kernel counts the processes that it ended for lack of memory, per control group (version 2:
 * memory.events, which counts those of groups below ours too; version 1: memory.oom_control).  Jobs
 * that share a group share the counter, which tells something only of a job that SIGKILL ended.
 * Where the kernel does not count, lack of memory is called likely if SIGKILL came when the job had
 * nearly all the memory it may have.
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
    int kills_fd; /* the group's counters; -1: the kernel does not count here */
};

/* Opens the counters of the group that this process is in.  What cannot be read counts as not
 * known.  root: "", or in tests a folder that stands for /. */
void oom_open(struct oom *o, const char *root);
/* The same for another group, of version 2, that this process is not in. */
void oom_open_group(struct oom *o, const char *folder);
void oom_close(struct oom *o);

/* How many processes in the group the kernel has ended for lack of memory; -1: not known. */
int64_t oom_kills(const struct oom *o);
/* How often the group itself reached its limit, whichever process was ended then; -1: not known. */
int64_t oom_hits(const struct oom *o);
/* How much memory all processes in the group may have together: the least limit of it and of the
 * groups above, or the machine's memory if that is less; 0: not known. */
int64_t oom_limit_bytes(const struct oom *o);

/* The facts about a job that ended without having been told to. */
struct oom_evidence {
    int status;            /* of the main process, as wait(2) tells it */
    bool has_kills;        /* oom_kills rose while the job ran */
    bool has_own_limit;    /* the job had a limit of its own, and oom_hits rose for that */
    int64_t max_rss_bytes; /* of its largest process, among those that were waited for */
    int64_t memory_bytes;  /* how much the job asked for; 0: it did not say */
    int64_t limit_bytes;   /* see oom_limit_bytes */
};

/* Returns whether memory ran out, or that is likely; if so, appends in words what happened. */
bool oom_judge(const struct oom_evidence *x, struct buf *reason);

/*
 * The control group in which the kernel ends a job that takes more memory than it asked for.  A
 * runner has one group for its jobs, one after the other; see job_cgroup.h.  The kernel counts
 * cached content of files as well, but drops that before it ends a process, unless the files lie in
 * memory alone (/dev/shm).
 */
struct memlimit {
    int max_fd;     /* memory.max of the group; -1: there is no group */
    int group_fd;   /* the group's folder */
    struct oom oom; /* the group's counters */
    int64_t bytes;  /* the limit set last; 0: none was set; -1: setting it failed */
};

/* fd: memory.max of the group, if the agent has handed it on; closed by memlimit_close. */
void memlimit_open(struct memlimit *m, int fd);
void memlimit_close(struct memlimit *m);

/* Sets the limit of an empty group; returns whether jobs started in group_fd have it now. */
bool memlimit_set(struct memlimit *m, int64_t bytes);

/*
 * Where no group limits a job, its runner watches whether the job takes more memory than it asked
 * for, as other jobs would end with it: the jobs of a pilot share what Slurm gave it.  Only memory
 * counts that nothing but the end of the job's processes frees, shared or not, and no mapped files.
 * A job that a group limits is looked at as well, to learn how much it took at most.
 */
struct memwatch {
    int64_t limit_bytes; /* 0: the job is not watched */
    bool only_looks;     /* the kernel limits the job: a look never says that it took too much */
    int64_t bytes;       /* used at the last look; what processes share may count for each */
    int64_t most_bytes;  /* the most of all looks; what processes share counts for each */
    int64_t peak_bytes;  /* the most of all looks; what processes share counts once */
    int64_t next_ms;     /* monotonic: when to look again */
};

void memwatch_begin(struct memwatch *w, int64_t limit_bytes, bool only_looks);
/* How long until the next look, for poll(2); -1: there is none. */
int memwatch_wait_ms(const struct memwatch *w);
/* Looks, if that is due.  Returns how many bytes all our descendants use together if that is more
 * than the limit and the kernel does not limit them; else 0. */
int64_t memwatch_look(struct memwatch *w);

/* Returns how long to wait with the next look: 1 s, or 100 ms when the job uses 80 % of its limit
 * or grows so fast that it may reach the limit by then. */
int memwatch_pause_ms(int64_t bytes, int64_t before_bytes, int64_t limit_bytes);

/* Adds up two lines of a text, in bytes: "RssAnon" and "RssShmem" of /proc/PID/status, or
 * "Pss_Anon" and "Pss_Shmem" of /proc/PID/smaps_rollup; -1: the text does not have both. */
int64_t memwatch_parse(const char *text, const char *anon, const char *shmem);

#endif
