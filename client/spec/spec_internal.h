/* SPDX-License-Identifier: MIT */
/*
 * spec_internal.h - the parts of the reader of sweep files, for each other only
 *
 * spec.c has the table of keys and what goes with all of them; spec_work.c, which calls nothing of
 * spec.c, has what is within some; spec_override.c puts the command line over them.
 *
 * Readers are for rows of spec_keys; checks look at what was read, once all of the
 * file was, and add what is wrong to the reader.
 */
#ifndef LUDWIG_CLIENT_SPEC_SPEC_INTERNAL_H
#define LUDWIG_CLIENT_SPEC_SPEC_INTERNAL_H

#include <ctype.h>
#include <string.h>

#include "client/spec/spec.h"

/* The context of the keys_reader. */
struct spec_reading {
    struct spec *spec;
    const struct key *keys; /* of the file */
    bool has_no_params;     /* params: is no map, which was told: no name can be checked */
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

/* Where the i-th text of a KEY_STRS stands: one text alone is the list. */
static inline const struct yaml_node *spec_item_at(const struct yaml_node *node, size_t i)
{
    return node->type == VALUE_LIST ? &node->items[i] : node;
}

/* spec_work.c */
int spec_read_source(struct yaml_keys_reader *r, const struct key *key,
                     const struct yaml_node *node, void *to);
int spec_read_data(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                   void *to);
/* A container that lies here goes along with the data. */
void spec_check_container(struct yaml_keys_reader *r, const struct yaml_node *root);

extern const struct key spec_resources_keys[], spec_checkpoint_keys[], spec_retry_keys[],
    spec_results_keys[];
int spec_read_env(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                  void *to);
void spec_check_work(struct yaml_keys_reader *r, const struct yaml_node *root);
extern const struct key spec_slurm_keys[];
int spec_read_slurm(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                    void *to);

/* spec.c */
/* Of a node, or of a group with its @. */
bool spec_is_node_name(const char *name);
/* Whether all names of debug: are parameters; of a list, once its first configuration is in the plan. */
void spec_check_debug(struct yaml_keys_reader *r);
/* Sets e to all errors of r, in the order of the file, with its lines when excerpts. */
int spec_end(struct yaml_keys_reader *r, bool with_excerpts, struct err *e);

#endif
