/* SPDX-License-Identifier: MIT */
/*
 * own_sshd.h - the sshd of the user's own server: where it listens, and whose keys it lets in
 *
 * Whether it shall run, and where it listens, is kept in the state folder, as whatever command starts
 * the server next has to know.  STATE/sshd/authorized_keys holds a line for each key: "restrict TYPE
 * KEY ludwig:NAME".  Other lines are left alone.  What such a key may do is said in the sshd_config
 * beside it.
 */
#ifndef LUDWIG_CLIENT_SESSION_OWN_SSHD_H
#define LUDWIG_CLIENT_SESSION_OWN_SSHD_H

#include <stdbool.h>

#include "common/data/schema.h"

/* As ludwigd.yaml's sshd: listen; NULL: none.  The caller frees it. */
char *own_sshd_listen(const char *state);
/* NULL: none. */
int own_sshd_set_listen(const char *state, const char *listen, struct err *e);
/* The folder of its files, STATE/server/sshd; the caller frees it. */
char *own_sshd_dir(const char *state);
/* Whether a process of this user's listens on that port of this machine, within that time. */
bool own_sshd_listens(int port, int timeout_ms);

/* What a machine has to know to reach it. */
struct invitation {
    const char *name, *fingerprint; /* of the key that was let in */
    const char *server;             /* "ssh://alice@login1:12345" */
    const char *known_hosts;        /* "[login1]:12345 ssh-ed25519 AAAA..." */
};

extern const struct schema invitation_schema;

/* dir: own_sshd_dir.  Fills server and known_hosts from what lies there; texts live in a. */
int own_sshd_invite(struct invitation *i, const char *dir, const char *user, const char *host,
                    struct arena *a, struct err *e);
/* The port in dir; -1 with e set. */
int own_sshd_port(const char *dir, struct err *e);
/* The one address that it listens on, in a; NULL: on all of them, or it is not known. */
const char *own_sshd_address(const char *dir, struct arena *a);

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
int own_sshd_parse_key(const char *text, struct arena *a, struct public_key *key, struct err *e);
/* A name made of a comment: "alice@laptop".  In a; NULL when there is nothing in it to take. */
const char *own_sshd_name_of(const char *comment, struct arena *a);

/* Lists live in a. */
int own_sshd_guests(const char *dir, struct arena *a, struct list *guests /* struct guest */,
                    struct err *e);
/* Lets the key in; one that was let in before keeps its name.  ERR_EXISTS for a name that another
 * key has, ERR_USAGE when ssh-keygen does not take it for a key. */
int own_sshd_let_in(const char *dir, const struct public_key *key, const char *name,
                    struct arena *a, struct guest *guest, struct err *e);
int own_sshd_take_back(const char *dir, const char *name, struct arena *a, struct err *e);

#endif
