/* SPDX-License-Identifier: MIT */
/*
 * runtime_dir.h - the folder of one server: its lock, the registry, the locks of children
 *
 * The folder is <runtime>/<server id>.  Beside it lie the worker's id, and for each address the id
 * of the server that was met there.
 */
#ifndef LUDWIG_WORKER_AGENT_RUNTIME_DIR_H
#define LUDWIG_WORKER_AGENT_RUNTIME_DIR_H

#include "worker/agent/agent.h"

/* Takes the lock, and reads what the registry says of attempts and batches. */
int runtime_dir_settle(struct agent *ag, const char *server_id, struct err *e);
/* The id of the server that was last met at this address; NULL when none was. Caller frees. */
char *runtime_dir_last_server(const struct agent *ag);
int runtime_dir_remember_server(const struct agent *ag, struct err *e);
int runtime_dir_read_worker_id(struct agent *ag, struct err *e);
/* Writes the registry anew. */
int runtime_dir_compact(struct agent *ag, struct err *e);

/* Fills in what the process of b was given, for the registry; lists live in arena. */
void runtime_dir_describe_given(const struct agent *ag, const struct batch *b, struct arena *arena,
                                struct given *g);

/* No address leads to that server any more, and no agent works for it. */
bool runtime_dir_is_abandoned(const struct agent *ag, const char *server_id);
/* A runner of that server lives. */
bool runtime_dir_has_runner(const struct agent *ag, const char *server_id);
/* Finds in that server's registry what the process was given; the lists become the slot's. */
bool runtime_dir_find_given(const struct agent *ag, const char *server_id,
                            const struct token *process, struct slot_item *slot);

#endif
