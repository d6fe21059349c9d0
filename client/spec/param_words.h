/* SPDX-License-Identifier: MIT */
/*
 * param_words.h - values of a sweep file that YAML reads in another way than they look
 *
 * 007 is the number 7, 680841e1 is 6808410.0, and what follows a # is a comment: values that are
 * meant as ids, versions or colours then are something else.  Other tools write the forms of a
 * parameter in other ways.
 */
#ifndef LUDWIG_CLIENT_SPEC_PARAM_WORDS_H
#define LUDWIG_CLIENT_SPEC_PARAM_WORDS_H

#include "common/data/yaml.h"

/* Returns the first value, of the node and of all within it, that is null because nothing is
 * written there; NULL: there is none. */
const struct yaml_node *param_words_empty(const struct yaml_node *node);

/* Returns what is to be said about numbers that may be meant as text, and text that may be meant as
 * a list: a sentence in the arena, with the words that keep the value.  NULL: nothing. */
const char *param_words_note(const struct yaml_node *node, struct arena *a);

/* Returns the form for a map of W&B's, seml's or Optuna's, as {distribution: uniform, min: 0, max:
 * 1}: "{uniform: [0, 1]}", in the arena; NULL: it is none of theirs. */
const char *param_words_form(const struct yaml_node *map, struct arena *a);

#endif
