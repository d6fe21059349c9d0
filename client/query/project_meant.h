/* SPDX-License-Identifier: MIT */
/*
 * project_meant.h - finds the project that a user means by a name
 */
#ifndef LUDWIG_CLIENT_QUERY_PROJECT_MEANT_H
#define LUDWIG_CLIENT_QUERY_PROJECT_MEANT_H

#include "client/session/rpc.h"

/* Sets *name to NAME.USER where that is the user's own project and NAME is another user's; in a. */
int project_meant(struct rpc *rpc, const char **name, struct arena *a, struct err *e);

#endif
