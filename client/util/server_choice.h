/* SPDX-License-Identifier: MIT */
/*
 * server_choice.h - which server is meant
 *
 * --server, then $LUDWIG_SERVER, then the configuration; else the user's own on
 * this machine, which is the embedded one.
 */
#ifndef LUDWIG_CLIENT_UTIL_SERVER_CHOICE_H
#define LUDWIG_CLIENT_UTIL_SERVER_CHOICE_H

#include <stdbool.h>

#include "client/util/conf.h"
#include "common/proto/endpoint.h"

struct server_choice {
    bool embedded;
    struct endpoint endpoint; /* all zero when embedded: see embedded.h */
    const char *from;         /* who named it, for messages */
};

/* option: --server, or NULL. */
int server_choice_make(struct server_choice *choice, const char *option, const struct conf *c,
                       struct arena *a, struct err *e);

#endif
