/* SPDX-License-Identifier: MIT */
/*
 * runtime_dir.h - the agent's folder for one server: its lock, the registry, the locks of children
 *
 * The folder is <runtime>/<server id>.  Beside it, files hold the worker's id, and for each address
 * the id of the server that was met there last.
 */
#ifndef LUDWIG_WORKER_AGENT_RUNTIME_DIR_H
#define LUDWIG_WORKER_AGENT_RUNTIME_DIR_H

#include "worker/agent/agent.h"

/* Takes the locks, reads attempts and batches from the registry, and rewrites it.  Waits up to 2 s
 * for a lock: an agent that was killed a moment ago may still be going. */
int runtime_dir_settle(struct agent *ag, const char *server_id, struct err *e);
/* Returns the id of the server last met at the configured address; NULL if none.  Caller frees. */
char *runtime_dir_last_server(const struct agent *ag);
int runtime_dir_remember_server(const struct agent *ag, struct err *e);
int runtime_dir_read_worker_id(struct agent *ag, struct err *e);
/* Writes the registry anew, with what still counts. */
int runtime_dir_compact(struct agent *ag, struct err *e);

/* Fills g with what the process of b was given, for the registry; g's lists live in arena. */
void runtime_dir_describe_given(const struct agent *ag, const struct batch *b, struct arena *arena,
                                struct given *g);

/* Whether no address leads to that server any more, and no agent works for it. */
bool runtime_dir_is_abandoned(const struct agent *ag, const char *server_id);
/* Whether a runner of that server lives. */
bool runtime_dir_has_runner(const struct agent *ag, const char *server_id);
/* Finds in that server's registry what the process was given, and fills slot, which owns its lists;
 * false: not found. */
bool runtime_dir_find_given(const struct agent *ag, const char *server_id,
                            const struct token *process, struct slot_item *slot);

#endif
