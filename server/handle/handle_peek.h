/* SPDX-License-Identifier: MIT */
/*
 * handle_peek.h - questions about the files of running jobs, which their workers answer
 *
 * Questions are kept in memory only.  A question is dropped when its asker's connection is closed,
 * and answered by an error when the worker's is closed or the worker does not answer in time.
 */
#ifndef LUDWIG_SERVER_HANDLE_HANDLE_PEEK_H
#define LUDWIG_SERVER_HANDLE_HANDLE_PEEK_H

#include "server/conn/conn.h"

struct peeks *peeks_create(struct server *sv);
void peeks_destroy(struct peeks *all); /* before the loop ends; NULL is fine */
/* Called when a connection, of an asker or a worker, is closed. */
void peeks_left(struct server *sv, const struct conn *c);

#endif
