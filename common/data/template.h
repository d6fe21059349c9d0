/* SPDX-License-Identifier: MIT */
/*
 * template.h - {placeholders} of a command
 *
 * {name} stands for the parameter's value, quoted for /bin/sh; {{ and }} for
 * braces.  A placeholder is {, a name of letters, digits, _ . -, beginning with a letter or _, and
 * }, not preceded by $; other braces ({ print $1 }, ${HOME}, {1..3}) are left as they are.
 */
#ifndef LUDWIG_COMMON_DATA_TEMPLATE_H
#define LUDWIG_COMMON_DATA_TEMPLATE_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/data/value.h"

/* Appends the command with its placeholders filled in; ERR_USAGE names one without a parameter. */
int template_expand(const char *command, const struct value *params, struct buf *out,
                    struct err *e);

/* Calls each(context, name, offset in command) for every placeholder; stops at -1. */
int template_each(const char *command, int (*each)(void *context, const char *name, size_t offset),
                  void *context);

/* Appends text as one word of /bin/sh. */
void template_add_quoted(struct buf *out, const char *text, size_t n);

#endif
