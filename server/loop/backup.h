/* SPDX-License-Identifier: MIT */
/*
 * backup.h - a copy of the database beside it, while ludwigd goes on working
 *
 * A complete backup replaces the one before under the name STATE/ludwig.db.backup.
 */
#ifndef LUDWIG_SERVER_LOOP_BACKUP_H
#define LUDWIG_SERVER_LOOP_BACKUP_H

#include "server/base/server.h"

/* Begins a backup, unless one is under way.  The log says whether it succeeded. */
void backup_begin(struct server *sv);
/* Gives up the backup under way, if there is one. */
void backup_end(struct server *sv);

#endif
