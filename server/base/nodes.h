/* SPDX-License-Identifier: MIT */
/*
 * nodes.h - a sweep's list of nodes: names and @groups
 *
 * Kept in the database as a msgpack array of strings; NULL (no bytes) is "any", an
 * empty array is "none".
 */
#ifndef LUDWIG_SERVER_BASE_NODES_H
#define LUDWIG_SERVER_BASE_NODES_H

#include <stdbool.h>

#include "server/base/conf.h"

/* Appends the form kept in the database. */
void nodes_encode(const struct list *names, struct buf *out);
/* Whether node has that name, or is in that @group. */
bool nodes_name_matches(const struct conf *conf, const char *name, const char *node);
/* Is the node in the list? */
bool nodes_match(const struct conf *conf, struct bytes encoded, const char *node);
/* Checks that every @group is known: 0, or -1 with ERR_USAGE and the nearest known name. */
int nodes_check(const struct conf *conf, const struct list *names, struct err *e);

#endif
