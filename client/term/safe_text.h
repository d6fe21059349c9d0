/* SPDX-License-Identifier: MIT */
/*
 * safe_text.h - makes text harmless for a terminal, by writing control characters out
 */
#ifndef LUDWIG_CLIENT_TERM_SAFE_TEXT_H
#define LUDWIG_CLIENT_TERM_SAFE_TEXT_H

#include "common/base/buf.h"
#include "common/base/err.h"

/*
 * Appends the n bytes of s.  Control characters become ^X (ESC becomes ^[); C1 controls, marks of
 * writing direction and bytes that are no UTF-8 become \xHH, byte by byte.  Control characters in
 * keep, for example "\n\t", stay.
 */
void safe_text_add_harmless(struct buf *out, const char *s, size_t n, const char *keep);

/* Replaces text by its harmless form. */
void safe_text_clean(struct buf *text, const char *keep);
/* Makes the error's text harmless, newlines included, so that it is one line.  Returns -1; e may
 * be NULL. */
int safe_text_make_harmless(struct err *e);

/* Returns n, or less if the n bytes of s end with an incomplete character of UTF-8: the number of
 * bytes before it. */
size_t safe_text_whole(const char *s, size_t n);

/* Returns how many columns harmless text takes: one for each character. */
size_t safe_text_width(const char *s, size_t n);
/* Returns how many bytes of s fit into this many columns. */
size_t safe_text_fitting(const char *s, size_t n, size_t columns);

#endif
