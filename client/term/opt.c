/* SPDX-License-Identifier: MIT */
/* opt.c - command line options by a table */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "client/term/opt.h"
#include "common/base/suggest.h"
#include "common/data/schema.h"

enum { WIDTH = 79, HELP_COLUMN = 24 };

struct parser {
    const struct opt_group *groups;
    size_t n_groups;
    const struct opt_words *words;
    size_t next; /* word to read */
    struct arena *arena;
    struct opt_words *rest;
    struct err *e;
};

struct found {
    const struct opt *row;
    void *to;
};

static void set_defaults(const struct opt_group *group)
{
    for (const struct opt *row = group->rows; row->name != NULL; row++)
        if (row->type == OPT_INT)
            *(int64_t *)(void *)((char *)group->to + row->offset) = OPT_UNSET;
}

static bool is_row(const struct opt *row, const char *name, size_t n, char letter)
{
    if (name != NULL)
        return strlen(row->name) == n && strncmp(row->name, name, n) == 0;
    return row->letter == letter;
}

/* By its name of n bytes or, when that is NULL, by its letter. */
static struct found find(const struct parser *p, const char *name, size_t n, char letter)
{
    for (size_t i = 0; i < p->n_groups; i++)
        for (const struct opt *row = p->groups[i].rows; row->name != NULL; row++)
            if (is_row(row, name, n, letter))
                return (struct found){ row, (char *)p->groups[i].to + row->offset };
    return (struct found){ NULL, NULL };
}

static int refuse_unknown(const struct parser *p, const char *word, size_t n)
{
    char *name = arena_strndup(p->arena, word, n);
    struct suggest nearest = { .word = name };

    for (size_t i = 0; i < p->n_groups; i++)
        for (const struct opt *row = p->groups[i].rows; row->name != NULL; row++)
            suggest_try(&nearest, row->name);
    if (nearest.best != NULL)
        return err_set(p->e, ERR_USAGE, "unknown option --%s (did you mean --%s?)", name,
                       nearest.best);
    return err_set(p->e, ERR_USAGE, "unknown option --%s", name);
}

static int read_int(const struct parser *p, const struct opt *row, const char *text, int64_t *to)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < row->min || number > row->max)
        return err_set(p->e, ERR_USAGE,
                       "--%s takes a whole number from %" PRId64 " to %" PRId64 ", not '%s'",
                       row->name, row->min, row->max, text);
    *to = number;
    return 0;
}

static void append(struct arena *a, struct list *list, const char *text)
{
    const char **items = arena_alloc(a, (list->n + 1) * sizeof *items);

    if (list->n > 0)
        memcpy(items, list->items, list->n * sizeof *items);
    items[list->n++] = text;
    list->items = items;
}

static int set_value(const struct parser *p, struct found f, const char *text)
{
    if (f.row->type == OPT_INT)
        return read_int(p, f.row, text, f.to);
    if (f.row->type == OPT_STRS)
        append(p->arena, f.to, text);
    else
        *(const char **)f.to = text;
    return 0;
}

/* The value of an option: what is attached to it or else the next word. */
static int take_value(struct parser *p, struct found f, const char *attached)
{
    if (attached == NULL && f.row->type == OPT_MAYBE)
        return set_value(p, f, "");
    if (attached == NULL && p->next == p->words->n)
        return err_set(p->e, ERR_USAGE, "--%s takes a value: %s", f.row->name, f.row->argument);
    return set_value(p, f, attached != NULL ? attached : p->words->words[p->next++]);
}

static int take_long(struct parser *p, const char *word)
{
    size_t n = strcspn(word, "=");
    const char *attached = word[n] == '=' ? word + n + 1 : NULL;
    struct found f = find(p, word, n, 0);

    if (f.row == NULL)
        return refuse_unknown(p, word, n);
    if (f.row->type != OPT_FLAG)
        return take_value(p, f, attached);
    if (attached != NULL)
        return err_set(p->e, ERR_USAGE, "--%s takes no value", f.row->name);
    *(bool *)f.to = true;
    return 0;
}

static int take_letters(struct parser *p, const char *letters)
{
    for (; *letters != '\0'; letters++) {
        struct found f = find(p, NULL, 0, *letters);

        if (f.row == NULL)
            return err_set(p->e, ERR_USAGE, "unknown option -%c", *letters);
        if (f.row->type != OPT_FLAG)
            return take_value(p, f, letters[1] != '\0' ? letters + 1 : NULL);
        *(bool *)f.to = true;
    }
    return 0;
}

static int take_word(struct parser *p, char *word, bool *ended)
{
    if (*ended || word[0] != '-' || word[1] == '\0') {
        p->rest->words[p->rest->n++] = word;
        return 0;
    }
    if (strcmp(word, "--") == 0) {
        *ended = true;
        return 0;
    }
    return word[1] == '-' ? take_long(p, word + 2) : take_letters(p, word + 1);
}

int opt_parse(const struct opt_group *groups, size_t n_groups, const struct opt_words *words,
              struct arena *a, struct opt_words *rest, struct err *e)
{
    struct parser p = { groups, n_groups, words, 0, a, rest, e };
    bool ended = false;

    for (size_t i = 0; i < n_groups; i++)
        set_defaults(&groups[i]);
    *rest = (struct opt_words){ arena_alloc(a, (words->n + 1) * sizeof *rest->words), 0 };
    while (p.next < words->n)
        if (take_word(&p, words->words[p.next++], &ended) < 0)
            return -1;
    return 0;
}

static void add_blanks(struct buf *out, size_t n)
{
    buf_printf(out, "%*s", (int)n, "");
}

void opt_add_wrapped_to(struct buf *out, size_t width, size_t column, size_t indent,
                        const char *text)
{
    bool first = true; /* on its line */

    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        size_t n = strcspn(text, " ");

        if (!first && column + 1 + n > width) {
            buf_add_char(out, '\n');
            add_blanks(out, indent);
            column = indent;
            first = true;
        }
        buf_printf(out, "%s%.*s", first ? "" : " ", (int)n, text);
        column += n + (first ? 0 : 1);
        first = false;
        text += n;
    }
    buf_add_char(out, '\n');
}

void opt_add_wrapped(struct buf *out, size_t column, size_t indent, const char *text)
{
    opt_add_wrapped_to(out, WIDTH, column, indent, text);
}

void opt_add_help(struct buf *out, const struct opt *rows)
{
    for (const struct opt *row = rows; row->name != NULL; row++) {
        size_t begin = out->n, n;

        if (row->letter != 0)
            buf_printf(out, "  -%c, --%s", row->letter, row->name);
        else
            buf_printf(out, "      --%s", row->name);
        if (row->type == OPT_MAYBE)
            buf_printf(out, "[=%s]", row->argument);
        else if (row->type != OPT_FLAG)
            buf_printf(out, " %s", row->argument);
        n = out->n - begin;
        if (n + 2 > HELP_COLUMN) {
            buf_add_char(out, '\n');
            n = 0;
        }
        add_blanks(out, HELP_COLUMN - n);
        opt_add_wrapped(out, HELP_COLUMN, HELP_COLUMN, row->help);
    }
}
