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
    struct ssh_counter_struct counter; /* of the socket's bytes */
    uint64_t heard_bytes;
    int64_t heard_ms, keepalive_ms; /* units_monotonic_ms: last bytes heard, last question */
    int64_t connect_ms;
    size_t n_opening; /* pumps whose channel sshd has neither opened nor refused */
    char *host_key_type, *host_key_digest;
    char *authentication; /* the method that succeeded */
};

/* ssh_dial.c: waits until a libssh function that said "again" can go on. */
int ssh_wait_again(struct ssh *s, const struct ssh_patience *p, struct err *e);
/* libssh's text for its last error, in one line, without libssh's prefixes. */
const char *ssh_words(const struct ssh *s);
/* A fresh patience for one step. */
struct ssh_patience ssh_patience_of(const struct ssh *s);

/* ssh_hostkey.c: checks the server's host key; -1 with ERR_DENIED and advice if it is not known. */
int ssh_hostkey_check(struct ssh *s, struct err *e);
/* Called before the key exchange: asks first for host keys of the types that are known. */
int ssh_hostkey_prepare(struct ssh *s, struct err *e);

/* ssh_auth.c: logs in; if the server refuses, -1 with ERR_DENIED and the list of tries. */
int ssh_authenticate(struct ssh *s, struct err *e);

#endif
