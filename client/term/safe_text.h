/* SPDX-License-Identifier: MIT */
/*
 * safe_text.h - makes foreign text harmless for a terminal
 */
#ifndef LUDWIG_CLIENT_TERM_SAFE_TEXT_H
#define LUDWIG_CLIENT_TERM_SAFE_TEXT_H

#include "common/base/buf.h"
#include "common/base/err.h"

/*
 * Appends s with control characters written out: ESC as ^[, others as ^X,
 * C1 controls and bytes that are no UTF-8 as \x9b.
 * Bytes in keep ("\n\t") stay.
 */
void safe_text_add_harmless(struct buf *out, const char *s, size_t n, const char *keep);

/* The same in place. */
void safe_text_clean(struct buf *text, const char *keep);
/* Makes an error's text one harmless line, also with odd names of files in it; -1. */
int safe_text_make_harmless(struct err *e);

/* Bytes of s without an incomplete character at its end. */
size_t safe_text_whole(const char *s, size_t n);

/* Columns that harmless text takes: one for each character. */
size_t safe_text_width(const char *s, size_t n);
/* Bytes of s that fit into this many columns. */
size_t safe_text_fitting(const char *s, size_t n, size_t columns);

#endif
