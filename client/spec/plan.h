/* SPDX-License-Identifier: MIT */
/*
 * plan.h - how parameters make configurations: method, zip, when, exclude, include
 *
 * A plan keeps its places in the sweep file, so that errors that the command line
 * causes later still name a line.
 *
 * A value matches a pin's when a configuration would be the same with either
 * (common/data/param_digest.h): 1 matches 1.0.  A pin on an absent parameter does not match.
 * Parameters of a zip group have no condition, so that they are always present together.
 */
#ifndef LUDWIG_CLIENT_SPEC_PLAN_H
#define LUDWIG_CLIENT_SPEC_PLAN_H

#include "client/spec/params.h"

enum method { METHOD_GRID, METHOD_RANDOM, METHOD_SOBOL, METHOD_COUNT };
extern const char *const method_names[METHOD_COUNT];

struct spot {
    unsigned line, column; /* of the file */
};

/* One parameter and the values that count as a match (when, exclude), or its one value (include):
 * at least one, unless the value was refused. */
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

/* Parameters that move together. */
struct zip_group {
    struct list names; /* const char * */
    struct spot at;
};

/* The parameter is present only where all pins match. */
struct condition {
    const char *name;
    struct pins pins;
    struct spot at;
};

struct plan {
    struct list params;                           /* struct param, in the order of the file */
    int method;                                   /* enum method */
    int64_t samples;                              /* random, sobol: their number; 0: not set */
    int64_t seed;                                 /* 0 unless set */
    struct list zip;                              /* struct zip_group */
    struct list when;                             /* struct condition */
    struct list exclude;                          /* struct pins */
    struct list include;                          /* struct pins */
    struct spot params_at, method_at, samples_at; /* 0: not in the file */
};

/* For KEY_CUSTOM rows of spec_keys. */
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
/* NULL when the parameter is in no group. */
const struct zip_group *plan_find_group(const struct plan *p, const char *name);
const struct pin *plan_find_pin(const struct pins *pins, const char *name);
/* The first place in the group's lists where all members that pins name have the pins' values;
 * SIZE_MAX when there is none. */
size_t plan_find_position(const struct plan *p, const struct zip_group *group,
                          const struct pins *pins);
/* How often a group has the name. */
size_t plan_count_name(const struct zip_group *group, const char *name);
/* How many members of a group the entry names. */
size_t plan_count_pinned(const struct zip_group *group, const struct pins *entry);

#endif
