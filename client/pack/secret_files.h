/* SPDX-License-Identifier: MIT */
/*
 * secret_files.h - recognises files with keys and passwords, by their names and content
 */
#ifndef LUDWIG_CLIENT_PACK_SECRET_FILES_H
#define LUDWIG_CLIENT_PACK_SECRET_FILES_H

#include "client/pack/walk.h"

/* Returns what the entry is, as "a private key"; NULL: nothing that is known to be secret. */
const char *secret_files_kind(const struct walk_entry *entry);

#endif
