/* SPDX-License-Identifier: MIT */
/*
 * gone_results.h - finds jobs that are done, but whose results are no longer on the share
 */
#ifndef LUDWIG_CLIENT_SUBMIT_GONE_RESULTS_H
#define LUDWIG_CLIENT_SUBMIT_GONE_RESULTS_H

#include "client/share/share_connection.h"
#include "common/proto/proto.h"

/* Fills gone (struct gone_job) from reused (struct reused_job); the caller frees gone->items, also
 * after an error.  Results count as there if the drive cannot tell. */
int gone_results_find(struct share_connection *drive, const struct list *reused, struct list *gone,
                      struct err *e);

#endif
