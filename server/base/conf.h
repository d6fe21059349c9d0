/* SPDX-License-Identifier: MIT */
/*
 * conf.h - ludwigd.yaml
 */
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

/* Settings of pilots of one partition, for sweeps that say nothing else. */
struct slurm_site {
    const char *partition;
    const char *account; /* NULL: Slurm's default, as qos */
    const char *qos;
    int64_t max_pilots;    /* of each user; 0: as many as Slurm allows */
    int64_t idle_ms;       /* 0: as slurm: idle */
    int64_t pilot_jobs;    /* as in struct slurm_pool */
    int64_t pilot_cpus;    /* limit of a pilot that several jobs share; 0: as in pilot_plan.h */
    int64_t pilot_gpus;    /* the same */
    int64_t pilot_time_ms; /* unless its jobs need more; 0: the partition's default */
};

struct slurm_conf {
    struct list endpoints;  /* const char *: where pilots find ludwigd; empty: see pilot_reach.c */
    bool has_login_key;     /* pilots may have a key for this machine's sshd */
    const char *login_host; /* as configured; NULL: this machine's names */
    struct endpoint login;  /* login_host, parsed; host NULL, port 0: not configured */
    const char *worker;     /* path of the worker's program on nodes; NULL: beside ludwigd */
    int64_t idle_ms;        /* how long a pilot stays without work */
    struct list sites;      /* struct slurm_site */
};

struct conf {
    struct arena *arena;
    const char *share; /* absolute, as the other paths; ~ is filled in */
    const char *state;
    const char *projects;     /* where projects lie below share; NULL: in it */
    const char *share_group;  /* its members may read projects; NULL: the owners' own groups */
    struct list sockets;      /* const char *: paths, and patterns with %u */
    bool has_usual_sockets;   /* no key names sockets: <share>/.ludwig/server.sock, and root's */
    const char *socket_group; /* sockets are 0660 for it; NULL: 0666 */
    struct list admins;       /* const char * */
    struct list worker_users; /* const char * */
    struct list groups;       /* struct node_group */
    int64_t lease_ms;
    int64_t min_uid;
    const char *sshd_listen;     /* an sshd of our own, see sshdconf.h; NULL: none */
    int64_t gpus_per_user_milli; /* limits; 0: none */
    int64_t cpus_per_user_milli;
    int64_t jobs_per_user;
    int64_t open_submits; /* of one user, as the following; 0: no limit */
    int64_t queued_jobs;
    int64_t sweeps; /* that were not removed */
    int64_t user_projects;
    int64_t configurations;
    int64_t buffered_bytes;
    int64_t changes_per_second;
    struct slurm_conf slurm;
};

extern const struct key conf_keys[]; /* the last has no name */

/* Reads and checks the file; after -1 there is nothing to free. */
int conf_read(const char *path, struct conf *c, struct err *e);
/* The settings of a partition; NULL: the configuration has none. */
const struct slurm_site *conf_slurm_site(const struct conf *c, const char *partition);
/* Whether each of the pool's pilots takes one job and leaves. */
bool conf_has_one_job_each(const struct conf *c, const struct slurm_pool *pool);
void conf_free(struct conf *c);

/* Whether the path means a socket in each user's folder, with one "%u" for the folder's name. */
bool conf_is_pattern(const char *socket);
/* Splits a pattern into the folder that holds the users' folders and the path below each; the
 * caller frees both. */
void conf_pattern_split(const char *pattern, char **dir, char **below);

#endif
