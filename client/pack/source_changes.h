/* SPDX-License-Identifier: MIT */
/*
 * source_changes.h - tells what has changed in a source since the project's previous sweep
 */
#ifndef LUDWIG_CLIENT_PACK_SOURCE_CHANGES_H
#define LUDWIG_CLIENT_PACK_SOURCE_CHANGES_H

#include "client/pack/inputs.h"
#include "client/session/session.h"

/* Appends "train.py changed since sweep 41; outputs/log.txt is new"; nothing where the source has
 * not changed, or that cannot be found out. c was looked at or packed, with a place; sweep is the
 * new sweep's number, 0 if it has none yet. */
void source_changes_add(struct buf *out, struct session *session, const struct inputs *c,
                        int64_t sweep);

#endif
