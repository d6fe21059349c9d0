/* SPDX-License-Identifier: MIT */
/*
 * publish.h - publishes whatever has piled up as one group
 */
#ifndef LUDWIG_WORKER_PUBLISHER_PUBLISH_H
#define LUDWIG_WORKER_PUBLISHER_PUBLISH_H

#include "worker/base/scratch.h"
#include "common/share/share.h"

enum { PUBLISH_GROUP_MAX = 256 };

struct publish_item {
    struct token token;
    struct report report; /* when it went well; its strings live in the arena */
    struct err error;     /* kind ERR_NONE: it is published and durable */
};

/* One that fails does not hold up the others; it can be tried again at any time. */
void publish_group(struct scratch *s, struct shares *access, const char *host,
                   struct publish_item *items, size_t n, struct arena *a);

/* Takes what the attempt published out of runs/; its report in published/ then says so. */
int publish_withdraw(struct scratch *s, struct shares *access, const struct token *token,
                     struct arena *a, struct err *e);

#endif
