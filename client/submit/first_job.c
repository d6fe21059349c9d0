/* SPDX-License-Identifier: MIT */
/* first_job.c - what the first job of a sweep would run */
#include "client/submit/first_job.h"

#include <stdlib.h>
#include <string.h>

#include "common/data/msgpack.h"
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
    if (o->spec.work.container == NULL)
        find_started(j, a);
}
