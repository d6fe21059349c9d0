/* SPDX-License-Identifier: MIT */
/* envvars.c - the table of environment variables */

#include "common/proto/envvars.h"

#define X(constant, name, meaning) [constant] = { name, meaning },
const struct envvar job_envvars[JOB_ENVVAR_COUNT] = { JOB_ENVVARS(X) };
const struct envvar user_envvars[USER_ENVVAR_COUNT] = { USER_ENVVARS(X) };
const struct envvar notify_envvars[NOTIFY_ENVVAR_COUNT] = { NOTIFY_ENVVARS(X) };
#undef X
