/* SPDX-License-Identifier: MIT */
/*
 * ssh_keys.h - what keys ssh-agent holds, and whose certificate one is
 *
 * libssh asks an agent too, and offers all its keys (ssh_userauth_agent), but its functions that list
 * them are not public (libssh/agent.h is not installed).  It reads certificates
 * (ssh_pki_import_cert_file), but tells nobody of which key one is: ssh_key_cmp takes a certificate
 * and its key for keys of different types, and ssh_pki_copy_cert_to_privkey looks at neither
 * (0.10.6).
 */
#ifndef LUDWIG_COMMON_SSH_SSH_KEYS_H
#define LUDWIG_COMMON_SSH_SSH_KEYS_H

#include <stdbool.h>

#include "common/data/schema.h"

struct ssh_agent_key {
    const char *name; /* its comment */
    const char *blob; /* in base64, as in a file of a public key */
};

/* Gives the keys (struct ssh_agent_key) of the agent at that socket; one that does not answer has
 * none. */
void ssh_keys_of_agent(const char *socket_path, struct arena *a, struct list *keys);

/* Both as files of public keys have them: "TYPE BASE64 COMMENT".  False for what cannot be read. */
bool ssh_keys_is_certificate_of(const char *certificate, const char *key);

#endif
