/* SPDX-License-Identifier: MIT */
/*
 * params.h - the parameters of a sweep, from the file and from --set
 */
#ifndef LUDWIG_CLIENT_SPEC_PARAMS_H
#define LUDWIG_CLIENT_SPEC_PARAMS_H

#include "client/spec/param_form.h"

/* For KEY_CUSTOM: to is a struct list of struct param, read from params: of a sweep file. */
int params_read(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                void *to);
/* The same, but each node is one value: a list is a value, too (debug:). */
int params_read_fixed(struct yaml_keys_reader *r, const struct key *key,
                      const struct yaml_node *node, void *to);

/* The problem of a name of n bytes, which the caller frees; NULL: none. */
char *params_name_problem(const char *name, size_t n);

struct param *params_find(const struct list *params, const char *name);
/* "unknown parameter 'x' (did you mean 'y'?)"; the caller frees it. */
char *params_unknown(const struct list *params, const char *name);
/* "lr, hidden and 3 more"; the caller frees it. */
char *params_listed(const struct list *params);
/* Takes the values of the parameters in with, which all are in params. */
void params_overlay(struct list *params, const struct list *with);
/* text is "name=VALUE", VALUE as after "name: " in params:. */
int params_set(struct list *params, const char *text, struct arena *a, struct err *e);

#endif
