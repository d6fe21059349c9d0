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

/* How many of the n > 0 bytes at s are its first character; 0: they begin with none, and
 * *character (which may be NULL) is as it was. */
size_t utf8_next(const void *s, size_t n, uint32_t *character);
/* How many bytes from the first on are UTF-8: n when all are. */
size_t utf8_valid(const void *s, size_t n);

/* Whether this byte is not a later one of a character. */
bool utf8_begins(char c);
/* Characters of n bytes; what is no UTF-8 is counted somehow. */
size_t utf8_count(const char *s, size_t n);
/* n, or less, so that the character at s[n], which must be there, is not cut. */
size_t utf8_cut(const char *s, size_t n);

#endif
