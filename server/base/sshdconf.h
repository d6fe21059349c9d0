/* SPDX-License-Identifier: MIT */
/*
 * sshdconf.h - the files of ludwigd's own sshd: where it listens, its keys, its sshd_config
 *
 *   STATE/sshd/                   0700
 *     hostkey, hostkey.pub        made once
 *     address                     "PORT\nADDRESS\n": chosen once, so that laptops find sshd again
 *     authorized_keys             a line for each key let in; `ludwig invite` writes them
 *     sshd_config, pid
 */
#ifndef LUDWIG_SERVER_BASE_SSHDCONF_H
#define LUDWIG_SERVER_BASE_SSHDCONF_H

#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/mem.h"

/* Where an sshd shall listen. */
struct sshd_listen {
    const char *address; /* "" : everywhere; an IPv6 address without its brackets */
    int port;            /* 0: one that is free */
};

/* Parses "7022", "127.0.0.1", "127.0.0.1:7022", "[::1]:7022", "*:7022" or "*"; the address lives in
 * a.  -1 with ERR_USAGE. */
int sshdconf_parse_listen(const char *text, struct arena *a, struct sshd_listen *l, struct err *e);

/* The settings from which sshd_config is written. */
struct sshdconf {
    const char *dir;    /* STATE/sshd */
    const char *user;   /* the account that ludwigd runs as, and logins use */
    const char *ludwig; /* path of the program ludwig */
    const char *socket; /* path of ludwigd's socket */
    struct sshd_listen listen;
};

/* Appends the text of sshd_config.  ERR_USAGE: a path has characters that sshd or a shell would not
 * take literally. */
int sshdconf_write(const struct sshdconf *c, struct buf *out, struct err *e);

/* Checks dir, and the folders above it up to home, as sshd does before it trusts a key file: only
 * root and ludwigd's account may write there.  -1 with e naming the first folder that fails. */
int sshdconf_check_modes(const char *dir, const char *home, struct err *e);

#endif
