/* SPDX-License-Identifier: MIT */
/* opt.c - parses command line options described by a table; makes --help text */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "client/term/opt.h"
#include "common/base/suggest.h"
#include "common/proto/states.h"

enum { WIDTH = 79, HELP_COLUMN = 24 };

struct parser {
    const struct opt_group *groups;
    size_t n_groups;
    const struct opt_words *words;
    size_t next; /* index of the next word */
    struct arena *arena;
    struct err *e;
};

struct found {
    const struct opt *row; /* NULL: not found */
    void *to;
};

const struct opt *opt_find(const struct opt *rows, const char *name, size_t n, char letter)
{
    for (const struct opt *row = rows; row != NULL && row->name != NULL; row++)
        if (name != NULL ? strlen(row->name) == n && strncmp(row->name, name, n) == 0
                         : row->letter == letter)
            return row;
    return NULL;
}

static int set_value(const struct parser *p, struct found f, const char *text)
{
    const struct opt *row = f.row;

    if (row->type == OPT_INT) {
        long long number;
        char *end;

        errno = 0;
        number = strtoll(text, &end, 10);
        if (end == text || *end != '\0' || errno != 0 || number < row->min || number > row->max)
            return err_set(p->e, ERR_USAGE,
                           "--%s takes a whole number from %" PRId64 " to %" PRId64 ", not '%s'",
                           row->name, row->min, row->max, text);
        *(int64_t *)f.to = number;
    } else if (row->type == OPT_STRS) {
        struct list *list = f.to;
        const char **items = arena_alloc(p->arena, (list->n + 1) * sizeof *items);

        if (list->n > 0)
            memcpy(items, list->items, list->n * sizeof *items);
        items[list->n++] = text;
        list->items = items;
    } else {
        *(const char **)f.to = text;
    }
    return 0;
}

static struct found find_row(const struct parser *p, const char *name, size_t n, char letter)
{
    struct found f = { 0 };

    for (size_t i = 0; i < p->n_groups && f.row == NULL; i++) {
        f.row = opt_find(p->groups[i].rows, name, n, letter);
        f.to = f.row != NULL ? (char *)p->groups[i].to + f.row->offset : NULL;
    }
    return f;
}

/* Sets an option to its value: the attached one (as in --name=value), or else the next word. */
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
    struct found f = find_row(p, word, n, 0);
    struct suggest nearest = { .word = arena_strndup(p->arena, word, n) };

    if (f.row != NULL && f.row->type != OPT_FLAG)
        return take_value(p, f, attached);
    if (f.row != NULL && attached != NULL)
        return err_set(p->e, ERR_USAGE, "--%s takes no value", f.row->name);
    if (f.row != NULL) {
        *(bool *)f.to = true;
        return 0;
    }
    for (size_t i = 0; i < p->n_groups; i++)
        for (const struct opt *row = p->groups[i].rows; row->name != NULL; row++)
            suggest_try(&nearest, row->name);
    if (nearest.best != NULL)
        return err_set(p->e, ERR_USAGE, "unknown option --%s (did you mean --%s?)", nearest.word,
                       nearest.best);
    return err_set(p->e, ERR_USAGE, "unknown option --%s", nearest.word);
}

static int take_letters(struct parser *p, const char *letters)
{
    for (; *letters != '\0'; letters++) {
        struct found f = find_row(p, NULL, 0, *letters);

        if (f.row == NULL)
            return err_set(p->e, ERR_USAGE, "unknown option -%c", *letters);
        if (f.row->type != OPT_FLAG)
            return take_value(p, f, letters[1] != '\0' ? letters + 1 : NULL);
        *(bool *)f.to = true;
    }
    return 0;
}

int opt_parse(const struct opt_group *groups, size_t n_groups, const struct opt_words *words,
              struct arena *a, struct opt_words *rest, struct err *e)
{
    struct parser p = { groups, n_groups, words, 0, a, e };
    bool ended = false;

    for (size_t i = 0; i < n_groups; i++)
        for (const struct opt *row = groups[i].rows; row->name != NULL; row++)
            if (row->type == OPT_INT)
                *(int64_t *)(void *)((char *)groups[i].to + row->offset) = OPT_UNSET;
    *rest = (struct opt_words){ arena_alloc(a, (words->n + 1) * sizeof *rest->words), 0 };
    while (p.next < words->n) {
        char *word = words->words[p.next++];

        if (ended || word[0] != '-' || word[1] == '\0')
            rest->words[rest->n++] = word;
        else if (strcmp(word, "--") == 0)
            ended = true;
        else if ((word[1] == '-' ? take_long(&p, word + 2) : take_letters(&p, word + 1)) < 0)
            return -1;
    }
    return 0;
}

void opt_add_wrapped_to(struct buf *out, size_t width, size_t column, size_t indent,
                        const char *text)
{
    bool first = true; /* on its line */

    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        size_t n = strcspn(text, " ");

        if (!first && column + 1 + n > width) {
            buf_printf(out, "\n%*s", (int)indent, "");
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
        buf_printf(out, "%*s", (int)(HELP_COLUMN - n), "");
        opt_add_wrapped(out, HELP_COLUMN, HELP_COLUMN, row->help);
    }
}

/* ---- --state ---- */

const struct opt_state stateopt_jobs = { job_state_names,  JOB_STATE_COUNT, ~0u,
                                         "no job is ever", "paused",        OPT_STATE_PAUSED };
const struct opt_state stateopt_sweeps = { .names = sweep_state_names,
                                           .n = SWEEP_STATE_COUNT,
                                           .allowed = ~(1u << SWEEP_OPEN),
                                           .refusal = "no sweep is ever" };

static int read_state(const struct opt_state *o, const char *word, unsigned *states, struct err *e)
{
    struct suggest nearest = { .word = word };
    struct buf names = { 0 };

    for (unsigned i = 0; i < o->n; i++) {
        if ((o->allowed >> i & 1) == 0)
            continue;
        if (strcmp(o->names[i], word) == 0) {
            *states |= 1u << i;
            buf_free(&names);
            return 0;
        }
        suggest_try(&nearest, o->names[i]);
        buf_printf(&names, "%s%s", names.n > 0 ? ", " : "", o->names[i]);
    }
    if (o->mistaken != NULL && strcmp(word, o->mistaken) == 0)
        err_set(e, ERR_USAGE, "--state: %s", o->hint);
    else if (nearest.best != NULL)
        err_set(e, ERR_USAGE, "--state: %s '%s' (did you mean '%s'?)", o->refusal, word,
                nearest.best);
    else
        err_set(e, ERR_USAGE, "--state: %s '%s' (there are %s)", o->refusal, word,
                buf_text(&names));
    buf_free(&names);
    return -1;
}

int opt_state_read(const struct opt_state *o, const struct list *words, unsigned *states,
                   struct err *e)
{
    const char *const *items = words->items;
    int result = 0;

    *states = 0;
    for (size_t i = 0; result == 0 && i < words->n; i++) {
        const char *at = items[i];

        do {
            char *word = mem_strndup(at, strcspn(at, ","));

            at += strlen(word);
            result = read_state(o, word, states, e);
            free(word);
        } while (result == 0 && *at++ == ',');
    }
    return result;
}

struct list opt_state_names(const struct opt_state *o, unsigned states, struct arena *a)
{
    const char **items = arena_alloc(a, o->n * sizeof *items);
    size_t n = 0;

    for (unsigned i = 0; i < o->n; i++)
        if ((states >> i & 1) != 0)
            items[n++] = o->names[i];
    return (struct list){ items, n };
}

struct list opt_split(struct arena *a, const char *text)
{
    const char **items = arena_alloc(a, (strlen(text) + 1) * sizeof *items);
    size_t n_items = 0;

    while (*text != '\0') {
        size_t n = strcspn(text, ",");

        if (n > 0)
            items[n_items++] = arena_strndup(a, text, n);
        text += n + (text[n] == ',');
    }
    return (struct list){ items, n_items };
}
