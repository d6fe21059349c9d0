/* SPDX-License-Identifier: MIT */
/*
 * man.h - compares what a manual page lists with a table in the code
 *
 * The page lists a name in a line ".It MACRO NAME": a key as ".It Ic", a key below a key as
 * ".It Va", a key below that as ".It Cm", a variable as ".It Ev", an option as ".It Fl -NAME" or
 * ".It Fl L , -NAME".
 */
#ifndef LUDWIG_TESTS_MAN_H
#define LUDWIG_TESTS_MAN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/io.h"
#include "common/data/yaml_keys.h"

/* Returns the text of docs/man/PAGE, which the caller frees; tests run in the repository's root. */
static inline char *man_read(const char *page)
{
    char *path = mem_printf("docs/man/%s", page);
    struct buf text = { 0 };
    struct err e = { 0 };
    char *copy;

    if (io_read_file(path, 1024 * 1024, &text, &e) < 0)
        fail_msg("%s", e.text);
    copy = mem_strdup(buf_text(&text));
    buf_free(&text);
    free(path);
    return copy;
}

/* Returns the part of the page after the first line that is `line`, or begins with it and a space,
 * up to the next line that begins with end or or_end (NULL: none).  The caller frees the part. */
static inline char *man_part(const char *page, const char *line, const char *end,
                             const char *or_end)
{
    size_t n_line = strlen(line);
    const char *from = NULL, *to;

    for (const char *at = page; at != NULL && from == NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, line, n_line) == 0 && (at[n_line] == '\n' || at[n_line] == ' '))
            from = at + n_line;
        else if (*at == '\0')
            break;
    }
    if (from == NULL)
        fail_msg("the page has no line '%s'", line);
    for (to = from; *to != '\0'; to++)
        if (*to == '\n' && (strncmp(to + 1, end, strlen(end)) == 0 ||
                            (or_end != NULL && strncmp(to + 1, or_end, strlen(or_end)) == 0)))
            break;
    return mem_printf("%.*s\n", (int)(to - from), from);
}

/* Whether the part has the line ".It MACRO NAME". */
static inline bool man_lists(const char *part, const char *macro, const char *name)
{
    char *line = mem_printf("\n.It %s %s\n", macro, name);
    bool is_there = strstr(part, line) != NULL;

    free(line);
    return is_there;
}

/* Fails the test unless is_known accepts the name of every ".It MACRO NAME" in the part. */
static inline void man_each(const char *part, const char *macro,
                            bool (*is_known)(const void *context, const char *name),
                            const void *context)
{
    char *begin = mem_printf("\n.It %s ", macro);

    for (const char *at = part; (at = strstr(at, begin)) != NULL; at++) {
        const char *name = at + strlen(begin);
        char *word = mem_printf("%.*s", (int)strcspn(name, " \n"), name);

        if (!is_known(context, word))
            fail_msg("the page lists '%s', and no table does", word);
        free(word);
    }
    free(begin);
}

/* For man_each: whether the table of keys that context is has this name. */
static inline bool man_is_key(const void *context, const char *name)
{
    for (const struct key *row = context; row->name != NULL; row++)
        if (strcmp(row->name, name) == 0)
            return true;
    return false;
}

/* Fails the test unless the part lists exactly the keys in rows, and below each key that is a map
 * the keys of the map's own table. */
static inline void man_check_keys(const char *part, const char *macro, const struct key *rows)
{
    man_each(part, macro, man_is_key, rows);
    for (const struct key *row = rows; row->name != NULL; row++) {
        if (!man_lists(part, macro, row->name))
            fail_msg("the page does not list '%s'", row->name);
        if (row->of != NULL) {
            char *line = mem_printf(".It %s %s", macro, row->name);
            char *inner = man_part(part, line, ".It Ic ", ".S");

            man_check_keys(inner, strcmp(macro, "Va") == 0 ? "Cm" : "Va", row->of);
            free(inner);
            free(line);
        }
    }
}

#endif
