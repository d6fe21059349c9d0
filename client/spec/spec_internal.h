/* SPDX-License-Identifier: MIT */
/*
 * spec_internal.h - what the files that read sweep files share; nobody else includes it
 *
 * spec.c has the table of keys and the checks of the whole file; spec_work.c and
 * spec_environment.c, which call nothing of spec.c, read the values of some keys;
 * spec_override.c applies the command line.
 *
 * A spec_read_...() is the read member of a row of spec_keys (KEY_CUSTOM).  A spec_check_...()
 * runs once the whole file was read, takes its root, and adds its errors to the reader.
 */
#ifndef LUDWIG_CLIENT_SPEC_SPEC_INTERNAL_H
#define LUDWIG_CLIENT_SPEC_SPEC_INTERNAL_H

#include <ctype.h>
#include <string.h>

#include "client/spec/spec.h"

/* The context of the yaml_keys_reader. */
struct spec_reading {
    struct spec *spec;
    const struct key *keys; /* spec_keys */
    bool has_no_params;     /* params: is no map, so that no parameter's name can be checked */
    bool method_was_refused;
};

static inline struct spec *spec_of(struct yaml_keys_reader *r)
{
    return ((struct spec_reading *)r->context)->spec;
}

static inline bool spec_starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static inline bool spec_has_control(const char *text)
{
    while (*text != '\0' && !iscntrl((unsigned char)*text))
        text++;
    return *text != '\0';
}

/* Returns the node of the i-th text of a KEY_STRS, which may be a single text. */
static inline const struct yaml_node *spec_item_at(const struct yaml_node *node, size_t i)
{
    return node->type == VALUE_LIST ? &node->items[i] : node;
}

/* spec_work.c */
int spec_read_source(struct yaml_keys_reader *r, const struct key *key,
                     const struct yaml_node *node, void *to);
int spec_read_data(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                   void *to);
/* Checks container:, and adds an image on this machine to the spec's data. */
void spec_check_container(struct yaml_keys_reader *r, const struct yaml_node *root);

extern const struct key spec_resources_keys[], spec_checkpoint_keys[], spec_log_keys[],
    spec_retry_keys[], spec_results_keys[], spec_reuse_keys[];
int spec_read_env(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                  void *to);
void spec_check_work(struct yaml_keys_reader *r, const struct yaml_node *root);
int spec_read_order(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                    void *to);

/* spec_retry.c */
void spec_check_retry(struct yaml_keys_reader *r, const struct yaml_node *node);

/* spec_stop.c */
extern const struct key spec_guard_keys[];
int spec_read_guard(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                    void *to);
extern const struct key spec_stop_keys[];
int spec_read_stop(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                   void *to);
extern const struct key spec_reps_keys[];
int spec_read_reps(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                   void *to);
/* Checks stop:, reps: {race: ...} and guard: {nan: stop} against each other and other keys. */
void spec_check_stop(struct yaml_keys_reader *r, const struct yaml_node *root);

/* spec_work.c */
extern const struct key spec_slurm_keys[];
int spec_read_slurm(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                    void *to);

/* spec_environment.c */
int spec_read_environment(struct yaml_keys_reader *r, const struct key *key,
                          const struct yaml_node *node, void *to);
/* Refuses environment: and modules: beside container:, and bad names of modules. */
void spec_check_environment(struct yaml_keys_reader *r, const struct yaml_node *root);

/* spec_advisor.c */
extern const struct key spec_advisor_keys[], spec_budget_keys[];
/* Reads the map {advisor: COMMAND, ...} of method:, and sets *method to METHOD_RANDOM. */
int spec_read_advisor(struct yaml_keys_reader *r, const struct yaml_node *node, int *method);
/* Checks that the other keys go with an advisor, or without one; sets plan.samples for one. */
void spec_check_advisor(struct yaml_keys_reader *r, const struct yaml_node *root);

/* spec_notify.c */
extern const struct key spec_notify_keys[];
int spec_read_notify(struct yaml_keys_reader *r, const struct key *key,
                     const struct yaml_node *node, void *to);

/* spec.c */
/* Whether name can be the name of a node, or of a group with its @. */
bool spec_is_node_name(const char *name);
/* Checks that all names of debug: are parameters; with --param2vals, call it once the first
 * configuration is in the plan. */
void spec_check_debug(struct yaml_keys_reader *r);
/* Returns 0 if r has no errors; else -1, with all of them in e in the order of the file.
 * with_excerpts: adds the lines of the file that they name. */
int spec_end(struct yaml_keys_reader *r, bool with_excerpts, struct err *e);

#endif
