/* SPDX-License-Identifier: MIT */
/*
 * shell_quotes.h - how /bin/sh quotes each byte of a command
 *
 * It follows quotes, $(...), here-documents and comments as dash and bash read them.  Where the two
 * differ, or the quoting depends on more than it looks at, it gives SHELL_UNCLEAR and no guess.
 */
#ifndef LUDWIG_COMMON_DATA_SHELL_QUOTES_H
#define LUDWIG_COMMON_DATA_SHELL_QUOTES_H

#include <stddef.h>
#include <stdint.h>

/* In this order, fewer and fewer texts can be written at such a byte. */
enum shell_quotes {
    SHELL_PLAIN,         /* outside of quotes */
    SHELL_SINGLE,        /* between '...' */
    SHELL_DOUBLE,        /* between "..." */
    SHELL_HEREDOC,       /* in a here-document in which $ and ` are expanded */
    SHELL_HEREDOC_AS_IS, /* in a here-document whose end is quoted, so that nothing is expanded */
    SHELL_COMMENT,
    SHELL_UNCLEAR /* behind a backslash, in `...`, ${...} or $((...)), or not known */
};

/* Sets quotes[i] (enum shell_quotes) for each of the n bytes of text, which a NUL follows. */
void shell_quotes_find(const char *text, size_t n, uint8_t *quotes);

#endif
