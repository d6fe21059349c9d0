/* SPDX-License-Identifier: MIT */
/*
 * connect_facts.h - the ways to ludwigd, and facts about a connection that uses one
 */
#ifndef LUDWIG_COMMON_SSH_CONNECT_FACTS_H
#define LUDWIG_COMMON_SSH_CONNECT_FACTS_H

#include <stdint.h>

#include "common/data/schema.h"

/* The ways to reach ludwigd, the fastest first: constant, name, meaning. */
#define WAYS(X)                                                              \
    X(WAY_UNIX, "unix", "a socket of this machine")                          \
    X(WAY_STREAM_LOCAL, "stream-local", "sshd connects to ludwigd's socket") \
    X(WAY_BRIDGE, "bridge", "`ludwig bridge` runs on the other side")        \
    X(WAY_INBOX, "store-and-forward", "requests and answers are files on the shared drive")

enum way {
#define X(constant, name, meaning) constant,
    WAYS(X)
#undef X
        WAY_COUNT
};

extern const char *const way_names[WAY_COUNT];
extern const char *const way_meanings[WAY_COUNT];

/* One way that was tried without success. */
struct mux_refusal {
    const char *way;    /* an item of way_names */
    const char *why;    /* why the way failed, in words */
    const char *remedy; /* the line of sshd_config that would allow the way; NULL: none is known */
};

/* Facts about the connection; unknown texts are "". */
struct connect_facts {
    const char *user, *host; /* from ssh's configuration */
    int64_t port;
    const char *address;         /* the IP address; "" behind a ProxyCommand */
    const char *proxy;           /* the ProxyCommand */
    const char *server_software; /* "SSH-2.0-OpenSSH_9.2p1" */
    const char *host_key_type;   /* "ssh-ed25519" */
    const char *host_key_digest; /* "SHA256:..." */
    const char *authentication;  /* "publickey (agent)" */
    const char *cipher;          /* "aes128-gcm@openssh.com" */
    int64_t connect_ms;          /* from the start until authenticated, prompts included */
    const char *way;             /* the way in use; "": none was asked for or none works */
    const char *server_path;     /* path of ludwigd's socket on the server, for stream-local */
    struct list refusals;        /* struct mux_refusal: the faster ways, which failed */
};

#endif
