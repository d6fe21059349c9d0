/* SPDX-License-Identifier: MIT */
/*
 * goal.h - whether a large or a small value of a metric is good: from a word, or guessed by its
 * name
 */
#ifndef LUDWIG_COMMON_PROTO_GOAL_H
#define LUDWIG_COMMON_PROTO_GOAL_H

#include "common/proto/jobspec.h"

/* Parses max, min, maximize, minimize and the like, in any case; GOAL_COUNT: text is none of
 * them. */
enum goal goal_parse(const char *text);

/* Guesses from a metric's name: val_loss, RMSE and the like are good when small, accuracy and
 * reward when large.  GOAL_COUNT: the name tells neither, or both (neg_mean_squared_error). */
enum goal goal_guess(const char *metric);

#endif
