/* SPDX-License-Identifier: MIT */
/*
 * nodes.h - a sweep's list of nodes: names and @groups
 *
 * The database has it as a msgpack array of strings; NULL (no bytes) is "any node", an empty array
 * is "no node".
 */
#ifndef LUDWIG_SERVER_BASE_NODES_H
#define LUDWIG_SERVER_BASE_NODES_H

#include <stdbool.h>

#include "server/base/conf.h"

/* Appends the names (const char *) in the form that the database has. */
void nodes_encode(const struct list *names, struct buf *out);
/* Whether the node has that name or, for "@group", is in that group of ludwigd.yaml. */
bool nodes_name_matches(const struct conf *conf, const char *name, const char *node);
/* Whether the node is in the list, which is encoded as nodes_encode does. */
bool nodes_match(const struct conf *conf, struct bytes encoded, const char *node);
/* Checks that every @group is known: 0, or -1 with ERR_USAGE and the nearest known name. */
int nodes_check(const struct conf *conf, const struct list *names, struct err *e);

#endif
