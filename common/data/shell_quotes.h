/* SPDX-License-Identifier: MIT */
/*
 * shell_quotes.h - how /bin/sh quotes each byte of a command
 *
 * It follows quotes, $(...), here-documents and comments as dash and bash read them.  Where the two
 * differ, or what follows depends on more than this looks at, it says so instead of guessing.
 */
#ifndef LUDWIG_COMMON_DATA_SHELL_QUOTES_H
#define LUDWIG_COMMON_DATA_SHELL_QUOTES_H

#include <stddef.h>
#include <stdint.h>

/* The later it stands here, the less can be written there. */
enum shell_quotes {
    SHELL_PLAIN,         /* outside of quotes */
    SHELL_SINGLE,        /* between '...' */
    SHELL_DOUBLE,        /* between "..." */
    SHELL_HEREDOC,       /* in a here-document in which $ and ` are expanded */
    SHELL_HEREDOC_AS_IS, /* in one whose end is quoted, so that nothing is */
    SHELL_COMMENT,
    SHELL_UNCLEAR /* behind a backslash, in `...`, ${...} or $((...)), or it cannot be told */
};

/* Of each of the n bytes of text, which a NUL follows, how it is quoted. */
void shell_quotes_find(const char *text, size_t n, uint8_t *quotes);

#endif
