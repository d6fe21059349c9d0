/* SPDX-License-Identifier: MIT */
/*
 * invited_keys.h - the public keys that may come in through ludwigd's own sshd
 *
 * STATE/sshd/authorized_keys holds a line for each: "restrict TYPE KEY ludwig:NAME".  Other lines
 * are left alone.  What such a key may do is said in the sshd_config beside it.
 */
#ifndef LUDWIG_CLIENT_SESSION_INVITED_KEYS_H
#define LUDWIG_CLIENT_SESSION_INVITED_KEYS_H

#include "common/data/schema.h"

struct guest {
    const char *name;
    const char *type;        /* "ssh-ed25519" */
    const char *fingerprint; /* "SHA256:..." */
};

extern const struct schema guest_schema;

struct public_key {
    const char *type, *blob, *comment; /* comment: "" if there is none */
};

/* One line "TYPE BASE64 [COMMENT]", and nothing before it; texts live in a. */
int invited_keys_parse_key(const char *text, struct arena *a, struct public_key *key,
                           struct err *e);
/* A name made of a comment: "alice@laptop".  In a; NULL when there is nothing in it to take. */
const char *invited_keys_name_of(const char *comment, struct arena *a);
int invited_keys_check_name(const char *name, struct err *e);

/* dir: STATE/sshd.  Lists live in a. */
int invited_keys_read(const char *dir, struct arena *a, struct list *guests /* struct guest */,
                      struct err *e);
/* Lets the key in; one that was let in before keeps its name.  ERR_EXISTS for a name that another
 * key has, ERR_USAGE when ssh-keygen does not take it for a key. */
int invited_keys_add(const char *dir, const struct public_key *key, const char *name,
                     struct arena *a, struct guest *guest, struct err *e);
int invited_keys_remove(const char *dir, const char *name, struct arena *a, struct err *e);

#endif
