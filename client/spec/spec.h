/* SPDX-License-Identifier: MIT */
/*
 * spec.h - reads and checks a sweep file
 *
 * Each key is a row of spec_keys.  Errors begin with FILE:LINE:COLUMN, and all errors of
 * a file are found in one run, in the order of its lines.  Everything lives in the arena.
 */
#ifndef LUDWIG_CLIENT_SPEC_SPEC_H
#define LUDWIG_CLIENT_SPEC_SPEC_H

#include "client/spec/plan.h"
#include "common/data/yaml_keys.h"
#include "common/proto/jobspec.h"

/* An entry of data:, or the container: its path, and its name below $LUDWIG_DATA. */
struct spec_data {
    const char *path;
    const char *name;
    const char *share; /* path on the share, if it lies there already, and path is NULL; or NULL */
    const char *link;  /* as data_entry has it */
    struct list files; /* const char *: only these below path; none: all of it */
};

/* When jobs that are done already count as the same. */
struct spec_reuse {
    struct list ignore; /* const char *: what of the source does not matter */
};

/* environment: what was said. */
struct spec_environment {
    bool is_none;     /* the node's own, and no modules that are loaded here */
    const char *path; /* absolute; NULL: the one that is active here, if there is one */
    bool is_staged;   /* nodes get a copy */
    bool decides;     /* a job done in another one is another job */
    const char
        *tool; /* that builds it on each node, as struct environment has it; NULL: none does */
    const char *file; /* absolute: what it is built from, */
    struct list
        files; /* const char *, below the sweep file's folder: and what goes along with that */
    const char *interpreter; /* that builds it; NULL: the tool's own choice */
    struct list options;     /* const char *: further ones of the tool */
};

struct spec {
    const char *file;   /* its name on the command line */
    const char *list;   /* --param2vals: file with the configurations; NULL: this file */
    const char *folder; /* the file's folder, where relative paths begin; NULL: none */
    struct bytes text;  /* all of it, as submitted */
    const char *project;
    const char *name;   /* may be NULL */
    struct list source; /* const char *, below folder */
    struct spec_reuse reuse;
    struct list data;  /* struct spec_data; a container that is uploaded is one, too */
    struct list setup; /* const char *: lines, of which work.setup is made */
    struct spec_environment environment;
    struct plan plan;  /* parameters, and how they make configurations */
    struct list debug; /* struct param, one value each */
    int64_t reps;
    int64_t priority;
    struct list nodes; /* const char * */
    struct list pools; /* struct slurm_pool */
    struct retry retry;
    struct guard_policy guard;
    bool in_file_order; /* order: file */
    struct ranking ranking;
    struct jobspec work;  /* without digests and git's state; of environment only modules: */
    bool private_project; /* only its owner may read it */
    bool allows_secrets;  /* --allow-secrets: keys and passwords in the source are meant */
    bool has_source;      /* false: everything */
    bool has_modules;     /* modules: was said; they are in work.environment */
    bool has_nodes;
    bool says_gpus; /* resources: says how many, be it none */
};

/* Options of the command line that override the file. */
struct spec_overrides {
    struct list set;   /* const char *: name=VALUE */
    const char *name;  /* NULL: as in the file */
    const char *nodes; /* names with commas between; NULL: as in the file */
    const char
        *partitions; /* names with commas between, which override slurm:; NULL: as in the file */
    int64_t reps;    /* OPT_UNSET: as in the file; priority too */
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
/* A sweep of one job that runs these words in the current folder, as if a file there said so. */
int spec_of_words(char *const *words, size_t n, struct arena *a, struct spec *s, struct err *e);
/* For a file that goes with --param2vals LIST. */
int spec_read_listed(const char *path, const char *list, struct arena *a, struct spec *s,
                     struct err *e);
/* Applies the command line, and does the checks that need it (plan_check): every submit calls it,
 * after spec_read. */
int spec_override(struct spec *s, const struct spec_overrides *o, struct arena *a, struct err *e);
/* Reduces a plan for --minimal: the first value of each parameter (of sampled ones, the middle),
 * and of the rest only the conditions. */
void spec_take_first(struct plan *p, struct arena *a);

#endif
