/* SPDX-License-Identifier: MIT */
/*
 * spec.h - a sweep file, read and checked
 *
 * Each key is a row of spec_keys.  Every mistake is FILE:LINE:COLUMN, and all of a
 * file are found in one run, told in the order of its lines.  Everything lives in
 * the arena it was read into.
 */
#ifndef LUDWIG_CLIENT_SPEC_SPEC_H
#define LUDWIG_CLIENT_SPEC_SPEC_H

#include "client/spec/plan.h"
#include "common/data/yaml_keys.h"
#include "common/proto/jobspec.h"

/* Something of data, or the container: where it lies, and its name below $LUDWIG_DATA. */
struct spec_data {
    const char *path;
    const char *name;
    const char *share; /* it lies on the share already, there, and path is NULL; or NULL */
};

struct spec {
    const char *file;   /* as it was named */
    const char *list;   /* --param2vals: what has the configurations; NULL: this file */
    const char *folder; /* where it lies: relative paths begin here; NULL: nowhere */
    struct bytes text;  /* all of it, as submitted */
    const char *project;
    bool private_project; /* nobody but its owner may read it */
    bool allows_secrets;  /* --allow-secrets: keys and passwords in the source are meant */
    const char *name;     /* may be NULL */
    struct list source;   /* const char *, below folder */
    bool has_source;      /* false: everything */
    struct list data;     /* struct spec_data; a container that is uploaded is one, too */
    struct list setup;    /* const char *: lines, as work.setup has them */
    struct plan plan;     /* parameters, and how they make configurations */
    struct list debug;    /* struct param, one value each */
    int64_t reps;
    int64_t priority;
    struct list nodes; /* const char * */
    bool has_nodes;
    struct list pools; /* struct slurm_pool */
    struct retry retry;
    struct ranking ranking;
    struct jobspec work; /* without digests and git's state */
};

/* What the command line says over the file. */
struct spec_overrides {
    struct list set;        /* const char *: name=VALUE */
    const char *project;    /* NULL: as in the file */
    const char *name;       /* the same */
    const char *nodes;      /* names with commas between; NULL: as in the file */
    const char *partitions; /* the same; over slurm: */
    int64_t reps;           /* OPT_UNSET: as in the file; priority too */
    int64_t priority;
    bool allow_secrets;
    bool minimal; /* one job: each parameter's first value, debug: over that */
};

extern const struct key spec_keys[];

/* "-": from standard input; paths in it then begin in the current folder. */
int spec_read(const char *path, struct arena *a, struct spec *s, struct err *e);
/* text must end in a NUL that n does not count. */
int spec_parse(const char *file, const char *folder, const char *text, size_t n, struct arena *a,
               struct spec *s, struct err *e);
/* For a file that goes with --param2vals LIST. */
int spec_read_listed(const char *path, const char *list, struct arena *a, struct spec *s,
                     struct err *e);
/* Puts the command line over the file, and checks what only then can be checked (plan_check): every
 * submit calls it, after spec_read. */
int spec_override(struct spec *s, const struct spec_overrides *o, struct arena *a, struct err *e);
/* What --minimal leaves of a plan: the first value of each parameter (of sampled ones, the middle),
 * and of the rest only what the conditions say. */
void spec_take_first(struct plan *p, struct arena *a);

#endif
