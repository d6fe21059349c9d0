/* SPDX-License-Identifier: MIT */
/*
 * expand_notes.h - what of when:, exclude: and include: comes to nothing
 */
#ifndef LUDWIG_CLIENT_EXPAND_EXPAND_NOTES_H
#define LUDWIG_CLIENT_EXPAND_EXPAND_NOTES_H

#include "client/expand/expand_make.h"

/* Appends lines for people: "exclude: {lr: 0.3} matches no configuration" */
void expand_add_notes(const struct expand *x, struct buf *out);

#endif
