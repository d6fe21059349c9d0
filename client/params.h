/* SPDX-License-Identifier: MIT */
/*
 * params.h - the parameters of a sweep and the values each of them takes
 */
#ifndef LUDWIG_CLIENT_PARAMS_H
#define LUDWIG_CLIENT_PARAMS_H

#include "common/keys.h"

struct param {
    const char *name;
    struct value *values; /* at least one */
    size_t n;
};

/* For KEY_CUSTOM: to is a struct list of struct param, read from params: of a sweep file. */
int params_read(struct keys_reader *r, const struct key *key, const struct yaml_node *node,
                void *to);
/* The same, but every value stands for itself: a list is one value (debug:). */
int params_read_fixed(struct keys_reader *r, const struct key *key, const struct yaml_node *node,
                      void *to);

struct param *params_find(const struct list *params, const char *name);
/* "unknown parameter 'x' (did you mean 'y'?)"; the caller frees it. */
char *params_unknown(const struct list *params, const char *name);
/* Takes the values of those in with, which all are in params. */
void params_overlay(struct list *params, const struct list *with);
/* text is "name=VALUE", VALUE as after "name: " in params:. */
int params_set(struct list *params, const char *text, struct arena *a, struct err *e);
/* Only the first value of each is left. */
void params_take_first(struct list *params);

#endif
