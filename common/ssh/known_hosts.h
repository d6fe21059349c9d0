/* SPDX-License-Identifier: MIT */
/*
 * known_hosts.h - looks up a host and its key in files of known hosts
 *
 * The files are as in sshd(8): plain names, patterns, hashed names, @revoked.  Lines that cannot be
 * parsed are skipped.  Host certificates (@cert-authority) are not used.
 *
 * libssh's own ssh_session_get_known_hosts_entry reads one file of the user's and one of the
 * system's, knows no @revoked, and gives up at the first line that it cannot parse; ssh takes
 * several files, and such lines are common where newer keys or markers are used.
 */
#ifndef LUDWIG_COMMON_SSH_KNOWN_HOSTS_H
#define LUDWIG_COMMON_SSH_KNOWN_HOSTS_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/data/schema.h"

/* When lines of the files give several verdicts, the one furthest down in this list holds. */
enum known_verdict {
    KNOWN_NOT,        /* no key of this host is known */
    KNOWN_OTHER_TYPE, /* only keys of other types are known */
    KNOWN_CHANGED,    /* another key of this type is known */
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
    const char *file; /* the file with the verdict; NULL for KNOWN_NOT */
};

/* Looks key up in files (const char *: paths); files that cannot be read are skipped. */
struct known_answer known_hosts_ask(const struct list *files, const struct known_key *key);
/* Appends the types of the host's known keys, each followed by a comma. */
void known_hosts_types(const struct list *files, const char *host, struct buf *out);

/* Whether names, a line's first word (patterns with commas, or a hash), includes this host. */
bool known_hosts_match(const char *names, const char *host);

#endif
