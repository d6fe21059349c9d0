/* SPDX-License-Identifier: MIT */
/*
 * backup.h - a copy of the database beside it, while ludwigd goes on working
 *
 * STATE/ludwig.db.backup gets its name when it is complete; the one before is replaced.
 */
#ifndef LUDWIG_SERVER_LOOP_BACKUP_H
#define LUDWIG_SERVER_LOOP_BACKUP_H

#include "server/base/server.h"

/* One that is being made already is left alone.  The log says what came of it. */
void backup_begin(struct server *sv);
/* Gives up one that is not complete. */
void backup_end(struct server *sv);

#endif
