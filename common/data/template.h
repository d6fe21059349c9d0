/* SPDX-License-Identifier: MIT */
/*
 * template.h - {placeholders} of a command
 *
 * {name} stands for the parameter's value, quoted for /bin/sh as its place requires: a word of its
 * own outside of quotes, and escaped text within '...', "..." and here-documents.  {{ is a brace,
 * and so is the }} that closes it; other }} are two.  A name is that of any parameter.  Other text between braces is the name of a missing
 * parameter if it is letters, digits, _ . - behind a letter or _; else ({ print $1 }, {1..3}) it is
 * left as it is, as ${HOME} and comments are.
 */
#ifndef LUDWIG_COMMON_DATA_TEMPLATE_H
#define LUDWIG_COMMON_DATA_TEMPLATE_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/data/shell_quotes.h"
#include "common/data/value.h"

struct placeholder {
    const char *name;
    size_t offset;            /* of its { in the command */
    enum shell_quotes quotes; /* where it stands */
    bool follows_variable;    /* as in $x{name}, whose value must not become part of that name */
};

/* Whether name, a text between braces, is a parameter. */
typedef bool (*template_is_parameter_fn)(const void *context, const char *name);

/* Appends the command with its placeholders filled in; fails with ERR_USAGE and the name of one
 * that has no parameter, or whose value cannot be quoted at its place. */
int template_expand(const char *command, const struct value *params, struct buf *out,
                    struct err *e);

/* Calls each for every placeholder that the shell sees; stops at -1. */
int template_each(const char *command, template_is_parameter_fn is_parameter, const void *of,
                  int (*each)(void *context, const struct placeholder *p), void *context);

/* Whether text between braces would be the name of a missing parameter (see above). */
bool template_is_name(const char *text);
/* Whether v can be put there; otherwise *why says in words why not; the caller frees it. */
bool template_takes(const struct placeholder *p, const struct value *v, char **why);

/* Whether the value's text means the same wherever a shell reads it, quoted or not. */
bool template_is_plain(const struct value *v);
/* Appends text as one word of /bin/sh, with quotes where it needs them. */
void template_add_word(struct buf *out, const char *text, size_t n);
/* The same with quotes in any case. */
void template_add_quoted(struct buf *out, const char *text, size_t n);

#endif
