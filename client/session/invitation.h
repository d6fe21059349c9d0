/* SPDX-License-Identifier: MIT */
/*
 * invitation.h - what a machine has to know to reach ludwigd's own sshd
 */
#ifndef LUDWIG_CLIENT_SESSION_INVITATION_H
#define LUDWIG_CLIENT_SESSION_INVITATION_H

#include "common/data/schema.h"

struct invitation {
    const char *name, *fingerprint; /* of the key that was let in */
    const char *server;             /* "ssh://alice@login1:12345" */
    const char *known_hosts;        /* "[login1]:12345 ssh-ed25519 AAAA..." */
};

extern const struct schema invitation_schema;

/* Fills server and known_hosts from what lies in dir, STATE/sshd; texts live in a. */
int invitation_make(struct invitation *i, const char *dir, const char *user, const char *host,
                    struct arena *a, struct err *e);
/* The port in dir; -1 with e set. */
int invitation_port(const char *dir, struct err *e);
/* The one address that it listens on, in a; NULL: on all of them, or it is not known. */
const char *invitation_address(const char *dir, struct arena *a);

#endif
