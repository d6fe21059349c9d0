/* SPDX-License-Identifier: MIT */
/* template.c - finds and fills {placeholders} */

#include "common/data/json.h"
#include "common/data/template.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool starts_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_in_name(char c)
{
    return starts_name(c) || (c >= '0' && c <= '9') || c == '.' || c == '-';
}

/* Length of the name when "{name}" begins at p, else 0. */
static size_t placeholder_at(const char *command, size_t at)
{
    size_t n = 0;

    if (command[at] != '{' || (at > 0 && command[at - 1] == '$') || !starts_name(command[at + 1]))
        return 0;
    while (is_in_name(command[at + 1 + n]))
        n++;
    return command[at + 1 + n] == '}' ? n : 0;
}

static bool is_doubled(const char *at)
{
    return (at[0] == '{' || at[0] == '}') && at[0] == at[1];
}

void template_add_quoted(struct buf *out, const char *text, size_t n)
{
    buf_add_char(out, '\'');
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\'')
            buf_add_str(out, "'\\''");
        else
            buf_add_char(out, text[i]);
    }
    buf_add_char(out, '\'');
}

static bool needs_no_quotes(const char *text, size_t n)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-.,:/@%+=";

    for (size_t i = 0; i < n; i++)
        if (text[i] == '\0' || strchr(plain, text[i]) == NULL)
            return false;
    return n > 0;
}

static int add_param(const char *name, const struct value *params, struct buf *out, struct err *e)
{
    const struct value *v = value_get(params, name);
    struct buf text = { 0 };

    if (v == NULL)
        return err_set(e, ERR_USAGE, "the command names {%s}, which is no parameter", name);
    json_add_text(&text, v);
    if (needs_no_quotes(buf_text(&text), text.n))
        buf_add(out, text.bytes, text.n);
    else
        template_add_quoted(out, buf_text(&text), text.n);
    buf_free(&text);
    return 0;
}

int template_expand(const char *command, const struct value *params, struct buf *out, struct err *e)
{
    for (size_t at = 0; command[at] != '\0';) {
        size_t n = placeholder_at(command, at);

        if (is_doubled(command + at)) {
            buf_add_char(out, command[at]);
            at += 2;
        } else if (n > 0) {
            char *name = mem_strndup(command + at + 1, n);
            int rc = add_param(name, params, out, e);

            free(name);
            if (rc < 0)
                return -1;
            at += n + 2;
        } else {
            buf_add_char(out, command[at++]);
        }
    }
    return 0;
}

int template_each(const char *command, int (*each)(void *context, const char *name, size_t offset),
                  void *context)
{
    for (size_t at = 0; command[at] != '\0';) {
        size_t n = placeholder_at(command, at);

        if (is_doubled(command + at)) {
            at += 2;
        } else if (n > 0) {
            char *name = mem_strndup(command + at + 1, n);
            int rc = each(context, name, at);

            free(name);
            if (rc != 0)
                return rc;
            at += n + 2;
        } else {
            at++;
        }
    }
    return 0;
}
