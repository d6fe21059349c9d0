/* SPDX-License-Identifier: MIT */
/*
 * utf8.h - characters of text, byte by byte
 *
 * UTF-8 as RFC 3629 has it: the shortest form, up to U+10FFFF, no surrogates.
 */
#ifndef LUDWIG_COMMON_BASE_UTF8_H
#define LUDWIG_COMMON_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of the first character at s (n > 0 bytes long); 0 when s begins with no valid one, and
 * then *character (which may be NULL) stays as it was. */
size_t utf8_next(const void *s, size_t n, uint32_t *character);
/* How many bytes from the first on are UTF-8: n when all are. */
size_t utf8_valid(const void *s, size_t n);

/* Whether the byte may begin a character: false for the second and later bytes of one. */
bool utf8_begins(char c);
/* Characters of n bytes; for bytes that are not UTF-8 the count is arbitrary. */
size_t utf8_count(const char *s, size_t n);
/* The largest length up to n that cuts no character; s[n] must be readable. */
size_t utf8_cut(const char *s, size_t n);

#endif
