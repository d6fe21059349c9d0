/* SPDX-License-Identifier: MIT */
/*
 * conf.h - the client's configuration, and the choice of a server
 *
 * It reads /etc/ludwig/config.yaml, then $XDG_CONFIG_HOME/ludwig/config.yaml, which overrides it.
 */
#ifndef LUDWIG_CLIENT_UTIL_CONF_H
#define LUDWIG_CLIENT_UTIL_CONF_H

#include <stdbool.h>

#include "common/data/yaml_keys.h"
#include "common/proto/endpoint.h"

struct conf {
    const char *server;       /* address, or NULL */
    uid_t server_uid;         /* user whose server is trusted beside root's and our own; 0: none */
    const char *share;        /* path of the shared drive on this machine, or NULL */
    const char *user;         /* label of a person of a shared account, or NULL */
    const char *scratch;      /* of the user's own worker on this machine, or NULL */
    int64_t cache_size_bytes; /* of that worker; 0: no limit */
    struct value resources;   /* of that worker; VALUE_NULL: all of the machine */
    struct value slurm; /* slurm: in ludwigd.yaml of the user's own server; VALUE_NULL: none */
};

extern const struct key conf_keys[];

int conf_read(struct conf *c, struct arena *a, struct err *e);
int conf_read_file(const char *path, struct conf *c, struct arena *a, struct err *e);

/* Callers free these. */
char *conf_home(void);
char *conf_state_dir(void); /* $XDG_STATE_HOME/ludwig */
char *conf_cache_dir(void); /* $XDG_CACHE_HOME/ludwig */
/* Returns the folder of the embedded server's share. */
char *conf_embedded_share(const struct conf *c);

/* The chosen server: --server, then $LUDWIG_SERVER, then the configuration; else the user's own on
 * this machine, which is the embedded one. */
struct server_choice {
    bool embedded;
    struct endpoint endpoint; /* all zero when embedded: see embedded.h */
    const char *from;         /* the source of the address, for messages */
};

/* Chooses the server; option is the value of --server, or NULL. */
int server_choice_make(struct server_choice *choice, const char *option, const struct conf *c,
                       struct arena *a, struct err *e);

#endif
