/* SPDX-License-Identifier: MIT */
/*
 * sshdconf.h - the files of ludwigd's own sshd: where it listens, its keys, its sshd_config
 *
 *   STATE/sshd/                   0700
 *     hostkey, hostkey.pub        made once
 *     address                     "PORT\nADDRESS\n": chosen once, so that laptops find it again
 *     authorized_keys             a line for each key that may come; `ludwig invite` writes them
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

/* "7022", "127.0.0.1", "127.0.0.1:7022", "[::1]:7022", "*:7022", "*".  Texts live in a. */
int sshdconf_parse_listen(const char *text, struct arena *a, struct sshd_listen *l, struct err *e);

/* The contents of sshd_config. */
struct sshdconf {
    const char *dir;
    const char *user;   /* whose account it is */
    const char *ludwig; /* the program */
    const char *socket; /* of ludwigd */
    struct sshd_listen listen;
};

/* Paths that sshd's configuration or a shell would read as something else are refused. */
int sshdconf_write(const struct sshdconf *c, struct buf *out, struct err *e);

/* Checks dir, and the folders above it up to home, as sshd does before it trusts a key file: other
 * users must not be able to write there.  -1 with e set names the folder that they can write to. */
int sshdconf_check_modes(const char *dir, const char *home, struct err *e);

#endif
