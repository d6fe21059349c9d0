/* SPDX-License-Identifier: MIT */
/* conf.h - the settings of ludwigd.yaml, read and checked */
#ifndef LUDWIG_SERVER_BASE_CONF_H
#define LUDWIG_SERVER_BASE_CONF_H

#include "common/data/yaml_keys.h"
#include "common/proto/endpoint.h"
#include "common/proto/jobspec.h"

enum { PILOT_IDLE_MS = 60 * 1000, PILOT_CPUS_MAX = 1000 * 1000 };

struct node_group {
    const char *name;
    struct list nodes; /* const char * */
};

/* ludwigd.yaml's settings for the pilots of one Slurm partition; a sweep may name others. */
struct slurm_site {
    const char *partition;
    const char *account;   /* NULL: Slurm's default */
    const char *qos;       /* NULL: Slurm's default */
    int64_t max_pilots;    /* of one user, running or waiting; 0: as many as Slurm allows */
    int64_t idle_ms;       /* how long a pilot stays without work; 0: slurm.idle_ms */
    int64_t pilot_jobs;    /* 1: each pilot takes one job, as in struct slurm_pool; 0: several */
    int64_t pilot_cpus;    /* most CPUs of a pilot shared by several jobs; 0: see pilot_plan.h */
    int64_t pilot_gpus;    /* most GPUs of such a pilot; 0: see pilot_plan.h */
    int64_t pilot_time_ms; /* a pilot's time limit if its jobs need no more; 0: the partition's */
};

struct slurm_conf {
    struct list endpoints;  /* const char *: where pilots find ludwigd; empty: pilot_endpoint.c */
    bool has_login_key;     /* pilots may get a key for this machine's sshd */
    const char *login_host; /* as configured; NULL: this machine's names */
    struct endpoint login;  /* login_host, parsed; host NULL, port 0: not configured */
    const char *worker;     /* path of the worker's program on nodes; NULL: beside ludwigd */
    int64_t idle_ms;        /* how long a pilot stays without work */
    struct list sites;      /* struct slurm_site */
};

struct conf {
    struct arena *arena;
    const char *share;        /* absolute path; a leading ~ is expanded */
    const char *state;        /* the same, of the state folder */
    const char *projects;     /* folder of the projects, relative to share; NULL: share itself */
    const char *share_group;  /* its members may read projects; NULL: the owners' own groups */
    struct list sockets;      /* const char *: absolute paths, and patterns with %u */
    bool has_usual_sockets;   /* no key names sockets: <share>/.ludwig/server.sock, and root's */
    const char *socket_group; /* sockets are 0660 for it; NULL: 0666 */
    struct list admins;       /* const char * */
    struct list worker_users; /* const char * */
    struct list groups;       /* struct node_group */
    int64_t lease_ms;
    int64_t avoid_for_ms;    /* how long a node is avoided at first; 0: never */
    int64_t min_uid;         /* smallest uid whose jobs are taken */
    const char *sshd_listen; /* where ludwigd's own sshd listens, see sshdconf.h; NULL: no sshd */
    /* Limits of each user; 0: no limit.  The first three are of jobs that run at once. */
    int64_t gpus_per_user_milli;
    int64_t cpus_per_user_milli;
    int64_t jobs_per_user;
    int64_t open_submits;
    int64_t queued_jobs;
    int64_t sweeps; /* sweeps that were not removed */
    int64_t user_projects;
    int64_t configurations;
    int64_t sweep_bytes;
    int64_t buffered_bytes;
    int64_t changes_per_second;
    struct slurm_conf slurm;
};

extern const struct key conf_keys[]; /* ends with a key without a name */

/* Reads and checks the file.  0: free *c with conf_free.  -1 with e set: nothing to free. */
int conf_read(const char *path, struct conf *c, struct err *e);
/* The partition's entry in slurm: partitions; NULL: there is none. */
const struct slurm_site *conf_slurm_site(const struct conf *c, const char *partition);
/* Whether each pilot of the pool takes one job and ends: as the pool or its partition's entry says.
 * */
bool conf_has_one_job_each(const struct conf *c, const struct slurm_pool *pool);
void conf_free(struct conf *c);

/* Whether the path has a "%u", which stands for each user's name: one socket in each folder. */
bool conf_is_pattern(const char *socket);
/* Splits a pattern into the folder that holds the users' folders and the path below each of these;
 * the caller frees both. */
void conf_pattern_split(const char *pattern, char **dir, char **below);

#endif
