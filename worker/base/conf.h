/* SPDX-License-Identifier: MIT */
/*
 * conf.h - the settings of worker.yaml
 */
#ifndef LUDWIG_WORKER_BASE_CONF_H
#define LUDWIG_WORKER_BASE_CONF_H

#include "common/data/yaml_keys.h"
#include "common/proto/endpoint.h"
#include "worker/base/child_protocol.h"
#include "worker/base/confine.h"

enum { CONF_AUTO = -1 };

struct conf_resources {
    int64_t cpus_milli;   /* CONF_AUTO: what the affinity mask and control group allow */
    int64_t gpus;         /* CONF_AUTO: all there are */
    int64_t memory_bytes; /* CONF_AUTO: what machine and control group allow */
};

struct conf {
    struct arena *arena;
    struct endpoint server; /* the one of servers that is in use */
    uid_t server_uid;       /* user whose ludwigd is trusted besides root's and our own; 0: none */
    struct endpoint *servers; /* to be tried in this order */
    size_t n_servers;
    const char *share;          /* where the share is mounted here; NULL: where ludwigd says */
    const char *scratch;        /* pattern of the scratch folder; NULL: folders.h chooses one */
    const char *name;           /* this node's name; NULL: the host's */
    const char *kind;           /* local, node, slurm */
    const char *state;          /* the runtime folder; NULL: chosen by XDG's variables */
    int64_t min_uid;            /* a worker of root runs no jobs of users with a lower uid */
    int64_t disk_per_job_bytes; /* what a job's files may take at most; 0: what it asks for */
    struct confine confine;     /* what jobs may not do */
    struct settings settings;
    struct conf_resources resources;
};

extern const struct key conf_keys[]; /* ends with one that has no name */

/* Reads the settings in text, the content of the file called name.  servers: NULL, or addresses,
 * with commas between, that replace the file's.  conf_free frees *c, as does a failure. */
int conf_parse(const char *name, const char *text, size_t n, const char *servers, struct conf *c,
               struct err *e);
/* Reads the settings in the file path, which may be NULL if servers is not. */
int conf_read(const char *path, const char *servers, struct conf *c, struct err *e);
void conf_free(struct conf *c);

#endif
