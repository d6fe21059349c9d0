/* SPDX-License-Identifier: MIT */
/*
 * courier_parts.h - what the files of the courier share
 */
#ifndef LUDWIG_COMMON_CONNECT_COURIER_PARTS_H
#define LUDWIG_COMMON_CONNECT_COURIER_PARTS_H

#include "common/connect/courier.h"
#include "common/connect/post.h"

enum {
    /* How long ludwigd may leave a file untaken: it looks at once, or every 30 s. */
    PATIENCE_WATCHED_MS = 30 * 1000,
    PATIENCE_LISTED_MS = 90 * 1000
};

struct courier {
    struct post *post;
    char *server, *host;
    struct token incarnation;
    int64_t patience_ms;
};

#endif
