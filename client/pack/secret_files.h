/* SPDX-License-Identifier: MIT */
/*
 * secret_files.h - files that hold keys and passwords, by their usual names and what is in them
 */
#ifndef LUDWIG_CLIENT_PACK_SECRET_FILES_H
#define LUDWIG_CLIENT_PACK_SECRET_FILES_H

#include "client/pack/walk.h"

/* What it is, as "a private key"; NULL: nothing that is known to be secret. */
const char *secret_files_kind(const struct walk_entry *entry);

#endif
