/* SPDX-License-Identifier: MIT */
/*
 * ssh_cert.h - whose certificate is it?
 *
 * libssh reads certificates (ssh_pki_import_cert_file), but tells nobody of which key one is:
 * ssh_key_cmp takes a certificate and its key for keys of different types, and
 * ssh_pki_copy_cert_to_privkey looks at neither (0.10.6).
 */
#ifndef LUDWIG_COMMON_SSH_SSH_CERT_H
#define LUDWIG_COMMON_SSH_SSH_CERT_H

#include <stdbool.h>

/* Both as files of public keys have them: "TYPE BASE64 COMMENT".  False for what cannot be read. */
bool ssh_cert_is_of(const char *certificate, const char *key);

#endif
