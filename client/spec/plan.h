/* SPDX-License-Identifier: MIT */
/*
 * plan.h - how parameters make configurations: method, zip, when, exclude, include
 *
 * A plan remembers line and column of each key, so that errors that the command line
 * causes later still name a line.
 *
 * Two values match when configurations with them are the same (common/data/param_digest.h):
 * 1 matches 1.0.  A pin on a parameter that the configuration lacks does not match.
 * Parameters of a zip group have no condition, so that they are always present together.
 */
#ifndef LUDWIG_CLIENT_SPEC_PLAN_H
#define LUDWIG_CLIENT_SPEC_PLAN_H

#include "client/spec/params.h"

enum method { METHOD_GRID, METHOD_RANDOM, METHOD_SOBOL, METHOD_COUNT };
extern const char *const method_names[METHOD_COUNT];

/* A place in the sweep file; line 0: the key is not there. */
struct spot {
    unsigned line, column;
};

/* One parameter and the values that count as a match (when, exclude), or its one value (include).
 * n is at least 1, unless the value was refused. */
struct pin {
    const char *name;
    struct value *values;
    size_t n;
    struct spot at;
};

/* Pins that must match together: {optimizer: sgd, lr: [0.1, 0.2]} */
struct pins {
    struct list pins; /* struct pin */
    struct spot at;
};

/* zip: parameters whose lists are gone through together. */
struct zip_group {
    struct list names; /* const char * */
    struct spot at;
};

/* when: the parameter is present only in configurations where all pins match. */
struct condition {
    const char *name;
    struct pins pins;
    struct spot at;
};

struct plan {
    struct list params;  /* struct param, in the order of the file */
    int method;          /* enum method */
    int64_t samples;     /* how many configurations random and sobol draw; 0: not set */
    int64_t seed;        /* 0 unless set */
    struct list zip;     /* struct zip_group */
    struct list when;    /* struct condition */
    struct list exclude; /* struct pins */
    struct list include; /* struct pins */
    struct spot params_at, method_at, samples_at;
};

/* Readers for KEY_CUSTOM rows of spec_keys; the comment behind each names the type of *to. */
int plan_read_method(struct yaml_keys_reader *r, const struct key *key,
                     const struct yaml_node *node, void *to); /* int */
int plan_read_zip(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                  void *to); /* struct list of struct zip_group */
int plan_read_when(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                   void *to); /* struct list of struct condition */
int plan_read_exclude(struct yaml_keys_reader *r, const struct key *key,
                      const struct yaml_node *node, void *to); /* struct list of struct pins */
int plan_read_include(struct yaml_keys_reader *r, const struct key *key,
                      const struct yaml_node *node,
                      void *to); /* struct list of struct pins, one value each */

const struct param *plan_find_param(const struct plan *p, const char *name); /* NULL: unknown */
/* Returns the first zip group that names the parameter; NULL: none. */
const struct zip_group *plan_find_group(const struct plan *p, const char *name);
const struct pin *plan_find_pin(const struct pins *pins, const char *name); /* NULL: none */
/* Returns the first index into the group's lists at which each member that pins name has its
 * pin's first value; SIZE_MAX when there is none. */
size_t plan_find_position(const struct plan *p, const struct zip_group *group,
                          const struct pins *pins);
/* How often the group lists the name (more than once is an error of the file). */
size_t plan_count_name(const struct zip_group *group, const char *name);
/* How many of the group's names have a pin in the entry. */
size_t plan_count_pinned(const struct zip_group *group, const struct pins *entry);

#endif
