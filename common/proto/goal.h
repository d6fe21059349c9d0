/* SPDX-License-Identifier: MIT */
/*
 * goal.h - whether much or little of a measure is good: as people say it, or as its name suggests
 */
#ifndef LUDWIG_COMMON_PROTO_GOAL_H
#define LUDWIG_COMMON_PROTO_GOAL_H

#include "common/proto/jobspec.h"

/* max, min, maximize, minimize and their like; GOAL_COUNT: none of them. */
enum goal goal_parse(const char *text);

/* val_loss, RMSE and the like are small when they are good, accuracy and reward large; GOAL_COUNT: the name
 * does not say it, or says both (neg_mean_squared_error). */
enum goal goal_guess(const char *metric);

#endif
