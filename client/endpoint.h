/* SPDX-License-Identifier: MIT */
/*
 * endpoint.h - which server to talk to
 *
 * --server, then $LUDWIG_SERVER, then the configuration; else the user's own on
 * this machine, which is the embedded one.
 */
#ifndef LUDWIG_CLIENT_ENDPOINT_H
#define LUDWIG_CLIENT_ENDPOINT_H

#include <stdbool.h>

#include "client/conf.h"

struct endpoint {
    bool embedded;
    const char *socket_path; /* NULL when embedded: see embedded.h */
    const char *from;        /* who named it, for messages */
};

/* option: --server, or NULL. */
int endpoint_find(struct endpoint *ep, const char *option, const struct conf *c, struct arena *a,
                  struct err *e);
int endpoint_parse(struct endpoint *ep, const char *address, struct arena *a, struct err *e);

#endif
