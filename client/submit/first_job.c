/* SPDX-License-Identifier: MIT */
/* first_job.c - what the first job of a sweep would run */
#include "client/submit/first_job.h"

#include <stdlib.h>
#include <string.h>

#include "common/data/msgpack.h"
#include "common/data/shell_quotes.h"
#include "common/data/template.h"

/* Returns the first configuration, in a; null when there is none. */
static struct value first_config(const struct submit_request *o, struct arena *a)
{
    struct value config = value_null();
    struct buf point = { 0 };

    points_seek(&o->points, 0);
    if (!points_next(&o->points, &point) || mp_read(point.bytes, point.n, a, &config, NULL) < 0)
        config = value_null();
    buf_free(&point);
    return config;
}

/* ---- parameters that the command does not name ---- */

struct unused {
    const char **names;
    size_t n;
};

static bool is_unused(const void *context, const char *name)
{
    const struct unused *u = context;

    for (size_t i = 0; i < u->n; i++)
        if (strcmp(u->names[i], name) == 0)
            return true;
    return false;
}

static int strike_out(void *context, const struct placeholder *p)
{
    struct unused *u = context;
    size_t n = 0;

    for (size_t i = 0; i < u->n; i++)
        if (strcmp(u->names[i], p->name) != 0)
            u->names[n++] = u->names[i];
    u->n = n;
    return 0;
}

static struct list find_unused(const struct submit_request *o, const struct value *config,
                               struct arena *a)
{
    const struct list *params = &o->spec.plan.params;
    const struct param *items = params->items;
    size_t n_config = config->type == VALUE_MAP ? config->map.n : 0;
    size_t n = o->points.list == NULL ? params->n : n_config;
    struct unused all = { arena_alloc(a, n * sizeof(char *)), n }, left = all;

    for (size_t i = 0; i < n; i++)
        all.names[i] = o->points.list == NULL ? items[i].name : config->map.members[i].key.str.s;
    left.names = arena_alloc(a, n * sizeof(char *));
    memcpy((void *)left.names, (const void *)all.names, n * sizeof(char *));
    template_each(o->spec.work.command, is_unused, &all, strike_out, &left);
    return (struct list){ left.names, left.n };
}

/* ---- values that another program reads as its own language ---- */

/* Programs that run text: the argument of the option, or, where that is NULL, all arguments. */
static const struct reader {
    const char *name, *option;
} readers[] = {
    { "eval", NULL }, { "ssh", NULL },    { "parallel", NULL }, { "watch", NULL }, { "trap", NULL },
    { "sh", "c" },    { "bash", "c" },    { "dash", "c" },      { "zsh", "c" },    { "ksh", "c" },
    { "fish", "c" },  { "su", "c" },      { "script", "c" },    { "python", "c" }, { "perl", "e" },
    { "ruby", "e" },  { "Rscript", "e" }, { "node", "e" },      { "julia", "e" },
};

/* Finds the reader that a word names, "/usr/bin/python3.11" as python; NULL: none. */
static const struct reader *find_reader(const char *word)
{
    const char *slash = strrchr(word, '/'), *name = slash == NULL ? word : slash + 1;

    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        size_t n = strlen(readers[i].name);

        if (strncmp(name, readers[i].name, n) == 0 &&
            name[n + strspn(name + n, "0123456789.")] == '\0')
            return &readers[i];
    }
    return NULL;
}

/* Returns the command's word from *at on, without its quotes, and moves *at behind it. */
static char *read_word(const char *command, const uint8_t *quotes, size_t *at, size_t end)
{
    struct buf word = { 0 };

    while (*at < end && quotes[*at] == SHELL_PLAIN && strchr(" \t", command[*at]) != NULL)
        (*at)++;
    for (; *at < end && (quotes[*at] != SHELL_PLAIN || strchr(" \t", command[*at]) == NULL);
         (*at)++)
        if (quotes[*at] != SHELL_PLAIN || strchr("'\"", command[*at]) == NULL)
            buf_add_char(&word, command[*at]);
    return buf_take(&word);
}

/* Returns the reader, as "sh -c", of the word that has the byte at place, in a; NULL: none. */
static const char *reader_of(const char *command, size_t place, struct arena *a)
{
    size_t n = strlen(command), begin = 0;
    uint8_t *quotes = mem_alloc(n + 1);
    const struct reader *r = NULL;
    const char *found = NULL;
    char *name = NULL;
    bool takes_word = false;

    shell_quotes_find(command, n, quotes);
    for (size_t i = 0; i < place; i++)
        if (quotes[i] == SHELL_PLAIN && strchr("\n;&|()", command[i]) != NULL)
            begin = i + 1;
    for (size_t at = begin; found == NULL && at <= place;) {
        char *word = read_word(command, quotes, &at, n);

        if (r != NULL && at > place && r->option == NULL) {
            found = arena_strdup(a, name);
        } else if (r != NULL && r->option != NULL && word[0] == '-' && word[1] != '-' &&
                   strstr(word, r->option) != NULL) { /* "-lc": the next word is what it runs */
            char *text = read_word(command, quotes, &at, n);

            if (at > place)
                found = arena_printf(a, "%s %s", name, word);
            free(text);
            r = NULL;
        } else if (r != NULL && r->option != NULL && word[0] != '-' && !takes_word) {
            r = NULL; /* the word is a script, to which further options belong */
        } else if (find_reader(word) != NULL && at <= place) {
            r = find_reader(word);
            free(name);
            name = word;
            word = NULL;
        }
        /* An option's argument, or su's user: "bash -eo pipefail -c", "python3 -W error -c". */
        takes_word =
            r != NULL && (word == NULL ? strcmp(r->name, "su") == 0
                                       : word[0] == '-' && word[1] != 0 &&
                                             strchr("oWX", word[strlen(word) - 1]) != NULL);
        free(word);
    }
    free(name);
    free(quotes);
    return found;
}

struct again {
    const struct submit_request *o;
    const struct value *config;
    struct first_job *j;
    struct arena *arena;
};

/* Whether the parameter's value in the first configuration and all listed ones stay the same text
 * when a shell reads them again. */
static bool is_plain_everywhere(const struct again *x, const char *name)
{
    const struct param *items = x->o->spec.plan.params.items;
    const struct value *first = value_get(x->config, name);
    bool is_plain = first == NULL || template_is_plain(first);

    for (size_t i = 0; i < x->o->spec.plan.params.n; i++)
        for (size_t k = 0; strcmp(items[i].name, name) == 0 && k < items[i].n; k++)
            is_plain = is_plain && template_is_plain(&items[i].values[k]);
    return is_plain;
}

static int look_again(void *context, const struct placeholder *p)
{
    struct again *x = context;
    const char *reader;

    if (x->j->reader != NULL || is_plain_everywhere(x, p->name))
        return 0;
    reader = reader_of(x->o->spec.work.command, p->offset, x->arena);
    if (reader != NULL) {
        x->j->reader = reader;
        x->j->read_again = arena_strdup(x->arena, p->name);
    }
    return 0;
}

static bool is_member(const void *config, const char *name)
{
    return value_get(config, name) != NULL;
}

/* ---- what it starts ---- */

/* Whether a word may name a program in PATH: none of the shell's own, no assignment, no path. */
static bool is_program(const char *word, size_t n)
{
    static const char *const own[] = { "cd",   "export", "set",  "exec", "exit",   "source",
                                       "eval", "echo",   "test", "true", "printf", "if",
                                       "for",  "while",  "case", "then", "do",     "else",
                                       "fi",   "done",   "unset" };
    static const char chars[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-";

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strlen(own[i]) == n && strncmp(own[i], word, n) == 0)
            return false;
    return n > 0 && strspn(word, chars) >= n;
}

/* Finds the command's first Python, else its first program. */
static void find_started(struct first_job *j, struct arena *a)
{
    bool begins = true; /* whether a simple command begins here */
    bool is_python = false;

    for (const char *at = j->command; *at != '\0' && !is_python;) {
        size_t n = strcspn(at, " \t\n;&|()");
        char *name = mem_strndup(at, n), *path = NULL;

        is_python = strncmp(name, "python", 6) == 0;
        if (is_program(name, n) && (is_python || (begins && j->program == NULL)))
            path = child_find(name);
        is_python = is_python && path != NULL;
        if (path != NULL) {
            j->program = arena_strdup(a, name);
            j->program_path = arena_strdup(a, path);
        }
        free(path);
        free(name);
        begins = begins && (n == 0 || memchr(at, '=', n) != NULL);
        at += n;
        begins = begins || (*at != '\0' && strchr("\n;&|(", *at) != NULL);
        at += *at != '\0';
    }
}

void first_job_find(const struct submit_request *o, struct arena *a, struct first_job *j)
{
    struct value config = first_config(o, a);
    struct buf command = { 0 };

    *j = (struct first_job){ .command = o->spec.work.command };
    if (template_expand(o->spec.work.command, &config, &command, NULL) == 0)
        j->command = buf_to_arena(&command, a);
    buf_free(&command);
    j->unused = find_unused(o, &config, a);
    template_each(o->spec.work.command, is_member, &config, look_again,
                  &(struct again){ o, &config, j, a });
    if (o->spec.work.container == NULL)
        find_started(j, a);
}
