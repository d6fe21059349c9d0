/* SPDX-License-Identifier: MIT */
/*
 * nodeinfo.h - says in words what a GPU does and what pilots wait for
 */
#ifndef LUDWIG_CLIENT_QUERY_NODEINFO_H
#define LUDWIG_CLIENT_QUERY_NODEINFO_H

#include "common/base/buf.h"
#include "common/proto/proto.h"

/* "87% 12/45 GiB", a dash for what is not known. */
void nodeinfo_add_gpu_use(struct buf *out, const struct gpu_use *use);
/* "partition short: 3 pilots, Slurm's job 17: waits for resources: others come first (Priority)" */
void nodeinfo_add_waiting(struct buf *out, const struct pilots_waiting *w, bool has_user);

#endif
