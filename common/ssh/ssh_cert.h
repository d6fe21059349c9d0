/* SPDX-License-Identifier: MIT */
/*
 * ssh_cert.h - whose certificate is it?
 */
#ifndef LUDWIG_COMMON_SSH_SSH_CERT_H
#define LUDWIG_COMMON_SSH_SSH_CERT_H

#include <stdbool.h>

/* Both as files of public keys have them: "TYPE BASE64 COMMENT".  False for what cannot be read. */
bool ssh_cert_is_of(const char *certificate, const char *key);

#endif
