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
#include "common/proto/notify.h"
#include "common/proto/search.h"

/* One entry of data:, or a container image that is uploaded like one. */
struct spec_data {
    const char *path;  /* of the file or folder on this machine; NULL where share is set */
    const char *name;  /* that jobs find below $LUDWIG_DATA */
    const char *share; /* relative path of data that lie on the share already; else NULL */
    const char *link;  /* as in struct data_entry */
    struct list files; /* const char *: the files below path to take; empty: all */
};

/* reuse: when a job that is done already counts as the same as a new one. */
struct spec_reuse {
    struct list ignore; /* const char *: patterns of source files whose changes do not matter */
};

/* environment: as the sweep file has it. */
struct spec_environment {
    bool is_none;     /* none: jobs use the node's own, without modules that are loaded here */
    const char *path; /* absolute folder; NULL: the environment active here, if there is one */
    bool is_staged;   /* nodes get a copy of path */
    bool decides;     /* a job that was done in another environment counts as another job */
    const char
        *tool; /* builds the environment on each node: "pip", "uv" or "conda"; NULL: none does */
    const char *file; /* absolute: what the tool builds it from, as requirements.txt */
    struct list
        files; /* const char *, relative to the sweep file's folder: what else it is built from */
    const char *interpreter; /* that the tool builds with; NULL: the tool's own choice */
    struct list options;     /* const char *: further options of the tool */
};

/* method: {advisor: ...} */
struct spec_advisor {
    const char *command; /* the advisor; NULL: the sweep has none */
    int64_t patience_ms; /* how long an answer is waited for; 0: ADVICE_PATIENCE_MS */
    int64_t ahead;       /* configurations to keep queued; 0: as many as can run at once */
    bool falls_back;     /* to random configurations when the advisor fails; else it pauses */
};

/* budget: of an advisor; a member that is 0 sets no limit. */
struct spec_budget {
    int64_t configs;
    int64_t gpu_hours_milli;
};

struct where; /* client/term/where.h */

struct spec {
    const char *file;   /* the sweep file's name on the command line, for messages */
    const char *list;   /* --param2vals: the file with the configurations; NULL: params: has them */
    const char *folder; /* the sweep file's, where relative paths begin; NULL: check no paths */
    struct bytes text;  /* the whole sweep file, as submitted */
    const char *project;
    const char *name;   /* may be NULL */
    struct list source; /* const char *: paths below folder */
    struct spec_reuse reuse;
    struct list data;  /* struct spec_data, with a container image that is uploaded */
    struct list setup; /* const char *: the lines that work.setup joins */
    struct spec_environment environment;
    struct plan plan; /* parameters, and how they make configurations */
    struct spec_advisor advisor;
    struct spec_budget budget;
    struct list debug; /* struct param: the one value of each that --minimal takes */
    int64_t reps;
    int64_t priority;
    int64_t max_running; /* 0: any number */
    struct list nodes;   /* const char * */
    struct list pools;   /* struct slurm_pool */
    struct retry retry;
    struct guard_policy guard;
    struct stop_policy stop;
    bool in_file_order;   /* order: file */
    struct where *first;  /* order: EXPR first; NULL: none */
    struct notify notify; /* notify.when is 0 where nobody is told */
    struct ranking ranking;
    struct jobspec work;  /* without digests and git's state; of environment only modules: is set */
    bool private_project; /* only the project's owner may read it */
    bool allows_secrets;  /* --allow-secrets: keys and passwords in the source are intended */
    bool has_source;      /* false: the source is all of folder that is not ignored */
    bool has_modules;     /* the file has modules:, which are in work.environment */
    bool has_nodes;       /* nodes: or --nodes was given */
    bool says_gpus;       /* resources: has gpus:, be it 0 */
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
    bool minimal; /* one job, with the values of debug: and else the first of each parameter */
};

extern const struct key spec_keys[];

/* Reads a sweep file; "-" is standard input, whose paths begin in the current folder. */
int spec_read(const char *path, struct arena *a, struct spec *s, struct err *e);
/* Reads a sweep file's text, which must end in a NUL that n does not count and outlive s. */
int spec_parse(const char *file, const char *folder, const char *text, size_t n, struct arena *a,
               struct spec *s, struct err *e);
/* Makes a sweep of one job that runs a command of n words in the current folder. */
int spec_of_words(char *const *words, size_t n, struct arena *a, struct spec *s, struct err *e);
/* Like spec_read, for a sweep file whose configurations come from --param2vals LIST. */
int spec_read_listed(const char *path, const char *list, struct arena *a, struct spec *s,
                     struct err *e);
/* Applies the command line, and does the checks that need it (plan_check): every submit calls it,
 * after spec_read. */
int spec_override(struct spec *s, const struct spec_overrides *o, struct arena *a, struct err *e);
/* Appends "python3 ... chooses up to 300 configurations, until 200 GPU-hours are used". */
void spec_add_advisor(const struct spec *s, struct buf *out);
/* Whether an advisor chooses the configurations; the plan's only stand in when it is late. */
bool spec_has_advisor(const struct spec *s);
/* Returns the space, budget and advisor of the sweep's search, in the arena. */
struct search spec_search(const struct spec *s, struct arena *a);

/* Reduces a plan for --minimal: fixes each parameter at its first value (a distribution: at its
 * median) and keeps only the conditions and the seed of the rest. */
void spec_take_first(struct plan *p, struct arena *a);

#endif
