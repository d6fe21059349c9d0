/* SPDX-License-Identifier: MIT */
/*
 * known_hosts.h - what files of known hosts say of a host and its key
 *
 * As sshd(8) describes them: plain names, patterns, hashed names, @revoked.  Lines that are not
 * understood say nothing.  Host certificates (@cert-authority) are not used.
 *
 * libssh's own ssh_session_get_known_hosts_entry looks into one file of the user's and one of the
 * system's, knows no @revoked, and gives up at the first line that it does not understand; ssh takes
 * several files, and such lines are common where newer keys or markers are.
 */
#ifndef LUDWIG_COMMON_SSH_KNOWN_HOSTS_H
#define LUDWIG_COMMON_SSH_KNOWN_HOSTS_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/data/schema.h"

/* Of several that are said, the last in this list holds. */
enum known_verdict {
    KNOWN_NOT,        /* nothing about this host */
    KNOWN_OTHER_TYPE, /* a key, of another type */
    KNOWN_CHANGED,    /* a key of this type, and not this one */
    KNOWN_YES,
    KNOWN_REVOKED /* this key is not to be trusted, on any host */
};

struct known_key {
    const char *host; /* as in the files: "host" or "[host]:port" */
    const char *type; /* "ssh-ed25519" */
    const char *blob; /* base64 */
};

struct known_answer {
    enum known_verdict verdict;
    const char *file; /* that says so; NULL for KNOWN_NOT */
};

/* files: const char *; those that cannot be read say nothing. */
struct known_answer known_hosts_ask(const struct list *files, const struct known_key *key);
/* Appends the types of the keys that are known of the host, with commas between and behind. */
void known_hosts_types(const struct list *files, const char *host, struct buf *out);

/* Whether a line's first word means this host. */
bool known_hosts_match(const char *names, const char *host);

#endif
