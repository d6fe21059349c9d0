/* SPDX-License-Identifier: MIT */
/*
 * params.h - the parameters of a sweep, from the file and from --set
 */
#ifndef LUDWIG_CLIENT_SPEC_PARAMS_H
#define LUDWIG_CLIENT_SPEC_PARAMS_H

#include "client/spec/param_form.h"

/* Reads params: of a sweep file, for a KEY_CUSTOM; to is a struct list of struct param. */
int params_read(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                void *to);
/* Reads debug:, where each parameter has one value; a list is a value as well. */
int params_read_fixed(struct yaml_keys_reader *r, const struct key *key,
                      const struct yaml_node *node, void *to);

/* Says why n bytes cannot name a parameter, in a text that the caller frees; NULL: they can. */
char *params_name_problem(const char *name, size_t n);

struct param *params_find(const struct list *params, const char *name); /* NULL: unknown */
/* "unknown parameter 'x' (did you mean 'y'?)"; the caller frees it. */
char *params_unknown(const struct list *params, const char *name);
/* "lr, hidden and 3 more"; the caller frees it. */
char *params_listed(const struct list *params);
/* Replaces parameters by those of the same name in with, all of which must be in params. */
void params_overlay(struct list *params, const struct list *with);
/* Applies --set: text is "name=VALUE", VALUE as behind "name: " in params:. */
int params_set(struct list *params, const char *text, struct arena *a, struct err *e);

#endif
