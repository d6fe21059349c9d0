/* SPDX-License-Identifier: MIT */
/*
 * ssh_internal.h - the session struct and functions shared by the files that use libssh
 */
#ifndef LUDWIG_COMMON_SSH_SSH_INTERNAL_H
#define LUDWIG_COMMON_SSH_SSH_INTERNAL_H

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include "common/ssh/ssh.h"

struct ssh {
    ssh_session session;
    ssh_event event;
    struct ssh_conf conf;
    struct ssh_plan plan;
    struct ssh_dialed dialed;
    struct ssh_counter_struct counter; /* of the socket */
    uint64_t heard_bytes;
    int64_t heard_ms, keepalive_ms; /* units_monotonic_ms */
    int64_t connect_ms;
    size_t n_opening; /* pumps */
    char *host_key_type, *host_key_digest;
    char *authentication; /* the method that succeeded */
};

/* ssh_dial.c: waits until a libssh function that said "again" can go on. */
int ssh_wait_again(struct ssh *s, const struct ssh_patience *p, struct err *e);
/* libssh's text for its last error, in one line, without libssh's prefixes. */
const char *ssh_words(const struct ssh *s);
/* A fresh patience for one step. */
struct ssh_patience ssh_patience_of(const struct ssh *s);

/* ssh_hostkey.c: checks the server's host key; ERR_DENIED with what to do. */
int ssh_hostkey_check(struct ssh *s, struct err *e);
/* Call it before the key exchange: chooses the types of host key to ask for by the known ones. */
int ssh_hostkey_prepare(struct ssh *s, struct err *e);

/* ssh_auth.c: logs in; ERR_DENIED with the list of tries. */
int ssh_authenticate(struct ssh *s, struct err *e);

#endif
