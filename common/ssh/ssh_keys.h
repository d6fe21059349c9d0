/* SPDX-License-Identifier: MIT */
/*
 * ssh_keys.h - lists the keys of ssh-agent, and tells to which key a certificate belongs
 *
 * libssh asks an agent too, and offers all its keys (ssh_userauth_agent), but its functions that
 * list them are not public (libssh/agent.h is not installed).  libssh reads certificates
 * (ssh_pki_import_cert_file), but does not tell whose they are: ssh_key_cmp takes a certificate and
 * its key for keys of different types, and ssh_pki_copy_cert_to_privkey compares nothing (0.10.6).
 */
#ifndef LUDWIG_COMMON_SSH_SSH_KEYS_H
#define LUDWIG_COMMON_SSH_SSH_KEYS_H

#include <stdbool.h>

#include "common/data/schema.h"

struct ssh_agent_key {
    const char *name; /* the key's comment */
    const char *blob; /* in base64, as in a file of a public key */
};

/* Gives the keys (struct ssh_agent_key) of the agent at that socket, at most 64; none when it does
 * not answer. */
void ssh_keys_of_agent(const char *socket_path, struct arena *a, struct list *keys);

/* Whether the certificate is for the key; both are texts like a public key file, "TYPE BASE64
 * COMMENT".  False when one cannot be parsed. */
bool ssh_keys_is_certificate_of(const char *certificate, const char *key);

#endif
