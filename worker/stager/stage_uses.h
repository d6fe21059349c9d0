/* SPDX-License-Identifier: MIT */
/*
 * stage_uses.h - which trees the jobs on scratch use, as their orders say
 */
#ifndef LUDWIG_WORKER_STAGER_STAGE_USES_H
#define LUDWIG_WORKER_STAGER_STAGE_USES_H

#include "worker/base/scratch.h"

/* Also a job of an agent before ours, of which ours may know nothing, or of a pilot beside ours, whose
 * cache is the same folder. */
bool stage_is_used(const struct scratch *s, const struct digest *tree);

#endif
