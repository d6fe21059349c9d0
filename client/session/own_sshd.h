/* SPDX-License-Identifier: MIT */
/*
 * own_sshd.h - the sshd of the user's own server: its address, and the keys that it lets in
 *
 * The state folder keeps the sshd's address, or that it shall not run, for the next command that
 * starts the server.  STATE/server/sshd/authorized_keys holds a line for each key: "restrict TYPE
 * KEY ludwig:NAME". Other lines are left alone.  The sshd_config beside it says what such a key may
 * do.
 */
#ifndef LUDWIG_CLIENT_SESSION_OWN_SSHD_H
#define LUDWIG_CLIENT_SESSION_OWN_SSHD_H

#include <stdbool.h>

#include "common/data/schema.h"

/* Returns the value kept for sshd: listen in ludwigd.yaml, which the caller frees; NULL: none. */
char *own_sshd_listen(const char *state);
/* Keeps that value; listen NULL: no sshd shall run. */
int own_sshd_set_listen(const char *state, const char *listen, struct err *e);
/* Returns the folder of the sshd's files, STATE/server/sshd; the caller frees it. */
char *own_sshd_dir(const char *state);
/* Whether a process of this user's listens on that port of this machine, now or within the
 * time-out. */
bool own_sshd_listens(int port, int timeout_ms);

/* All that another machine needs to reach the sshd. */
struct invitation {
    const char *name, *fingerprint; /* of the key let in */
    const char *server;             /* "ssh://alice@login1:12345" */
    const char *known_hosts;        /* "[login1]:12345 ssh-ed25519 AAAA..." */
};

extern const struct schema invitation_schema;

/* Fills server and known_hosts from the files in dir (own_sshd_dir); texts live in a. */
int own_sshd_invite(struct invitation *i, const char *dir, const char *user, const char *host,
                    struct arena *a, struct err *e);
/* Returns the sshd's port, from the files in dir; -1 with e set. */
int own_sshd_port(const char *dir, struct err *e);
/* Returns the one address that the sshd listens on, in a; NULL: all addresses, or not known. */
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

/* Parses one line "TYPE BASE64 [COMMENT]", with nothing before it; texts live in a. */
int own_sshd_parse_key(const char *text, struct arena *a, struct public_key *key, struct err *e);
/* Makes a name of a key's comment, "alice@laptop", in a; NULL: there are no usable letters. */
const char *own_sshd_name_of(const char *comment, struct arena *a);

/* Lists the keys that were let in; the list lives in a. */
int own_sshd_guests(const char *dir, struct arena *a, struct list *guests /* struct guest */,
                    struct err *e);
/* Lets the key in; a key that was let in before keeps its name.  ERR_EXISTS: another key has the
 * name; ERR_USAGE: ssh-keygen refuses the key. */
int own_sshd_let_in(const char *dir, const struct public_key *key, const char *name,
                    struct arena *a, struct guest *guest, struct err *e);
int own_sshd_take_back(const char *dir, const char *name, struct arena *a, struct err *e);

#endif
