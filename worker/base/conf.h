/* SPDX-License-Identifier: MIT */
/*
 * conf.h - worker.yaml
 */
#ifndef LUDWIG_WORKER_BASE_CONF_H
#define LUDWIG_WORKER_BASE_CONF_H

#include "common/data/yaml_keys.h"
#include "common/proto/endpoint.h"
#include "worker/base/child_protocol.h"

enum { CONF_AUTO = -1 };

struct conf_resources {
    int64_t cpus_milli;   /* CONF_AUTO: what the affinity mask and control group allow */
    int64_t gpus;         /* CONF_AUTO: all there are */
    int64_t memory_bytes; /* CONF_AUTO: likewise */
};

struct conf {
    struct arena *arena;
    struct endpoint server;   /* the one of servers that is in use */
    uid_t server_uid;         /* whose server is believed besides root's and our own; 0: nobody's */
    struct endpoint *servers; /* to be tried in this order */
    size_t n_servers;
    const char *share;          /* its mount here; NULL: where ludwigd says */
    const char *scratch;        /* NULL: chosen */
    const char *name;           /* NULL: the host's */
    const char *kind;           /* local, node, slurm */
    const char *state;          /* NULL: by XDG */
    int64_t min_uid;            /* of a root worker: no jobs of users below it */
    int64_t disk_per_job_bytes; /* what a job's files may take at most; 0: what it asks for */
    struct settings settings;
    struct conf_resources resources;
};

extern const struct key conf_keys[]; /* the last has no name */

/* text: the content of the file called name.  servers: addresses, with commas between, that go
 * before the file's, or NULL. */
int conf_parse(const char *name, const char *text, size_t n, const char *servers, struct conf *c,
               struct err *e);
/* With servers, path may be NULL. */
int conf_read(const char *path, const char *servers, struct conf *c, struct err *e);
void conf_free(struct conf *c);

#endif
