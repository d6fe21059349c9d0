/* SPDX-License-Identifier: MIT */
/*
 * change.h - commands that change jobs and say how many they changed
 */
#ifndef LUDWIG_CLIENT_CHANGE_H
#define LUDWIG_CLIENT_CHANGE_H

#include "client/command.h"
#include "common/proto.h"

/* Sends the request for the targets that the arguments name; done is "cancelled" or the like. */
int change_jobs(struct cli *cli, enum msg_type type, const char *done, struct err *e);

#endif
