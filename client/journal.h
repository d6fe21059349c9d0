/* SPDX-License-Identifier: MIT */
/*
 * journal.h - how far an upload has come, for the try that goes on with it
 *
 * Lies in the state folder of this machine, one file for each server, project and tree, locked
 * while an upload is under way: another one of the same tree goes its own way.  It names the
 * temporary folder on the share and lists what the server has acknowledged as synced to its disk,
 * and nothing else; to lose its end does no harm.  Where none can be kept there is one in memory
 * alone.
 */
#ifndef LUDWIG_CLIENT_JOURNAL_H
#define LUDWIG_CLIENT_JOURNAL_H

#include <stdbool.h>

#include "common/digest.h"

struct journal;

/* n: the number of entries of the tree. */
struct journal *journal_open(const char *server_id, const char *project, const struct digest *tree,
                             size_t n);
/* Removes the file if nobody shall go on. */
void journal_close(struct journal *j, bool is_finished);

/* Of what is made on the share until it is whole. */
const char *journal_temporary(const struct journal *j);
/* Whether another try, now or then, has begun already. */
bool journal_is_resumed(const struct journal *j);
/* Whether a later try will know of it. */
bool journal_is_kept(const struct journal *j);
/* Forgets all, under another temporary name. */
void journal_restart(struct journal *j);

/* Entry i is whole and synced; or it was found otherwise. */
void journal_add(struct journal *j, size_t i);
void journal_drop(struct journal *j, size_t i);
bool journal_has(const struct journal *j, size_t i);
/* So much of the beginning of entry i is synced. */
void journal_add_bytes(struct journal *j, size_t i, uint64_t bytes);
uint64_t journal_bytes(const struct journal *j, size_t i);

#endif
