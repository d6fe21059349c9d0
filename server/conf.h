/* SPDX-License-Identifier: MIT */
/*
 * conf.h - ludwigd.yaml
 */
#ifndef LUDWIG_SERVER_CONF_H
#define LUDWIG_SERVER_CONF_H

#include "common/keys.h"

struct node_group {
    const char *name;
    struct list nodes; /* const char * */
};

struct conf {
    struct arena *arena;
    const char *share; /* absolute, as the other paths; ~ is filled in */
    const char *state;
    const char *projects;     /* where projects lie below share; NULL: in it */
    const char *share_group;  /* whose members may read projects; NULL: their owners' own */
    struct list sockets;      /* const char *: paths, and patterns of jails.h */
    bool has_usual_sockets;   /* the key was not there: <share>/.ludwig/server.sock, and root's */
    const char *socket_group; /* sockets are 0660 for it; NULL: 0666 */
    struct list admins;       /* const char * */
    struct list worker_users; /* const char * */
    struct list groups;       /* struct node_group */
    int64_t lease_ms;
    int64_t min_uid;
    const char *sshd_listen;     /* an sshd of our own, see sshdconf.h; NULL: none */
    int64_t gpus_per_user_milli; /* limits; 0: none */
    int64_t cpus_per_user_milli;
    int64_t jobs_per_user;
};

extern const struct key conf_keys[]; /* ended by one without a name */

/* Reads and checks; -1 leaves nothing to free. */
int conf_read(const char *path, struct conf *c, struct err *e);
void conf_free(struct conf *c);

#endif
