/* SPDX-License-Identifier: MIT */
/*
 * man.h - what a manual page lists, to hold it against a table
 *
 * A listed thing is a line ".It MACRO NAME"; keys are ".It Ic", keys inside of
 * them ".It Va", variables ".It Ev", options ".It Fl -NAME" or ".It Fl L , -NAME".
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

/* Tests run from the top of the tree. */
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

/* From the line that is exactly this to the next that begins with one of the ends; freed by the
 * caller. */
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

static inline bool man_lists(const char *part, const char *macro, const char *name)
{
    char *line = mem_printf("\n.It %s %s\n", macro, name);
    bool is_there = strstr(part, line) != NULL;

    free(line);
    return is_there;
}

/* Every ".It MACRO NAME" of the part must be accepted. */
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

static inline bool man_is_key(const void *context, const char *name)
{
    for (const struct key *row = context; row->name != NULL; row++)
        if (strcmp(row->name, name) == 0)
            return true;
    return false;
}

/* The rows are the page's, and the other way round; maps with a table of their own as well. */
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
