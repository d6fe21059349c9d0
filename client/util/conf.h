/* SPDX-License-Identifier: MIT */
/*
 * conf.h - the client's configuration, and which server is meant
 *
 * /etc/ludwig/config.yaml, then $XDG_CONFIG_HOME/ludwig/config.yaml over it.
 */
#ifndef LUDWIG_CLIENT_UTIL_CONF_H
#define LUDWIG_CLIENT_UTIL_CONF_H

#include <stdbool.h>

#include "common/data/yaml_keys.h"
#include "common/proto/endpoint.h"

struct conf {
    const char *server;       /* address, or NULL */
    const char *share;        /* the shared drive as this machine sees it, or NULL */
    const char *user;         /* label where people share an account, or NULL */
    const char *scratch;      /* of the worker that runs here, or NULL */
    int64_t cache_size_bytes; /* of the same worker; 0: not limited */
    struct value resources;   /* the same worker's; VALUE_NULL: as the machine has */
    struct value slurm; /* of the user's own server, as ludwigd.yaml has it; VALUE_NULL: none */
};

extern const struct key conf_keys[];

int conf_read(struct conf *c, struct arena *a, struct err *e);
int conf_read_file(const char *path, struct conf *c, struct arena *a, struct err *e);

/* Callers free these. */
char *conf_home(void);
char *conf_state_dir(void); /* $XDG_STATE_HOME/ludwig */
char *conf_cache_dir(void); /* $XDG_CACHE_HOME/ludwig */
/* Where results go without a server elsewhere. */
char *conf_embedded_share(const struct conf *c);

/* Which server is meant: --server, then $LUDWIG_SERVER, then the configuration; else the user's
 * own on this machine, which is the embedded one. */
struct server_choice {
    bool embedded;
    struct endpoint endpoint; /* all zero when embedded: see embedded.h */
    const char *from;         /* who named it, for messages */
};

/* option: --server, or NULL. */
int server_choice_make(struct server_choice *choice, const char *option, const struct conf *c,
                       struct arena *a, struct err *e);

#endif
