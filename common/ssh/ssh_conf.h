/* SPDX-License-Identifier: MIT */
/*
 * ssh_conf.h - ssh's own configuration for a host
 *
 * `ssh -G` of OpenSSH gives it, so that Host, Match, Include, tokens and defaults mean the same as
 * for ssh itself; on a machine without ssh libssh reads the files as far as it can.  "~" means
 * $HOME, even where that is not the account's home.
 */
#ifndef LUDWIG_COMMON_SSH_SSH_CONF_H
#define LUDWIG_COMMON_SSH_SSH_CONF_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/data/schema.h"
#include "common/proto/endpoint.h"

struct ssh_conf {
    struct arena *arena;
    const char *alias; /* as the user wrote it */
    const char *host;  /* to connect to */
    const char *user;
    int port;
    int family;                /* AF_UNSPEC, AF_INET, AF_INET6 */
    int64_t connect_ms;        /* ConnectTimeout; 0: not set */
    int64_t silence_ms;        /* ServerAliveInterval; 0: not set */
    int n_questions;           /* ServerAliveCountMax: signs of life asked for in vain */
    const char *known_as;      /* HostKeyAlias, or NULL */
    const char *proxy_command; /* for sh, tokens replaced; NULL: connect directly */
    const char *agent;         /* socket of the agent; NULL: none */
    struct list identities;    /* const char *: files of private keys */
    struct list certificates;  /* const char *: files */
    struct list known_hosts;   /* const char *: the user's files, then the machine's */
    const char *kept_in;       /* file to which ssh adds accepted host keys; NULL: none */
    const char *said;          /* output of `ssh -G`; NULL: it was not run, or printed too much */
    bool is_guess;             /* there is no ssh: libssh reads the configuration itself */
    bool identities_only;
    bool may_use_keys, may_use_gssapi, may_use_kbdint, may_use_password;
};

/* `ssh -G` may run commands of the configuration (Match exec), hence the long limit. */
enum { SSH_CONF_MAX_MS = 20 * 1000, SSH_CONF_SAID_MAX_BYTES = 64 * 1024 };

/* Fills *c; an endpoint with keys of its own (to->keys) uses no configuration of ssh's.  -1 with e
 * set: ssh's configuration has an error, or cannot be read within max_ms. */
int ssh_conf_read(struct ssh_conf *c, const struct endpoint *to, int64_t max_ms, struct err *e);
/* Fills *c from said, the output of `ssh -G`. */
int ssh_conf_parse(struct ssh_conf *c, const struct endpoint *to, const char *said, struct err *e);
void ssh_conf_free(struct ssh_conf *c);

/* Starts a program with fds as its standard descriptors; where one is -1, the program gets
 * /dev/null as its input, or the parent's output.  Returns 0 or an errno number. */
int ssh_spawn(const char *const *argv, const int fds[3], pid_t *pid);
/* "[host]:port" or "host", as in known_hosts; caller frees. */
char *ssh_conf_host_port(const char *host, int port);

#endif
