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

/* The length of the piece at this place: a placeholder, whose name is *name then (the caller frees
 * it), a doubled brace or a single character, for which *name is NULL. */
static size_t piece_at(const char *command, size_t at, char **name)
{
    const char *c = command + at;
    size_t n = 1;

    *name = NULL;
    if (*c == '{' && (at == 0 || c[-1] != '$') && starts_name(c[1])) {
        while (starts_name(c[n]) || (c[n] >= '0' && c[n] <= '9') || c[n] == '.' || c[n] == '-')
            n++;
        if (c[n] == '}') {
            *name = mem_strndup(c + 1, n - 1);
            return n + 1;
        }
    }
    return (*c == '{' || *c == '}') && c[0] == c[1] ? 2 : 1;
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

int template_expand(const char *command, const struct value *params, struct buf *out, struct err *e)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-.,:/@%+=";
    char *name;

    for (size_t at = 0, n; command[at] != '\0'; at += n) {
        struct buf text = { 0 };
        const struct value *v;
        int rc = 0;

        n = piece_at(command, at, &name);
        if (name == NULL) {
            buf_add_char(out, command[at]);
            continue;
        }
        v = value_get(params, name);
        if (v == NULL)
            rc = err_set(e, ERR_USAGE, "the command names {%s}, which is no parameter", name);
        else
            json_add_text(&text, v);
        if (text.n > 0 && strspn(buf_text(&text), plain) == text.n)
            buf_add(out, text.bytes, text.n);
        else if (rc == 0)
            template_add_quoted(out, buf_text(&text), text.n);
        buf_free(&text);
        free(name);
        if (rc < 0)
            return -1;
    }
    return 0;
}

int template_each(const char *command, int (*each)(void *context, const char *name, size_t offset),
                  void *context)
{
    for (size_t at = 0, n; command[at] != '\0'; at += n) {
        char *name;
        int rc;

        n = piece_at(command, at, &name);
        rc = name == NULL ? 0 : each(context, name, at);
        free(name);
        if (rc != 0)
            return rc;
    }
    return 0;
}
