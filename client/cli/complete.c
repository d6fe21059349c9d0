/* SPDX-License-Identifier: MIT */
/* complete.c - finds the words that may come next on a command line */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/commands.h"
#include "common/proto/states.h"

enum { LINES_MAX = 2000 }; /* of an answer of the server */

#define LETTERS_AND_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

struct answer {
    struct buf *out;
    const char *current; /* the word at the cursor, or the value attached to its option */
    const char *before;  /* part of the word at the cursor that comes before each answer, ... */
    size_t n_before;     /* ... and its length */
};

static void add_word(struct answer *a, const char *word, size_t n)
{
    buf_add(a->out, a->before, a->n_before);
    buf_printf(a->out, "%.*s\n", (int)n, word);
}

/* Adds the first clause of a help text as the meaning of the word. */
static void add_explained(struct answer *a, const char *word, const char *help)
{
    buf_printf(a->out, "%s\t%.*s\n", word, (int)strcspn(help, ";"), help);
}

static void add_commands(struct answer *a)
{
    for (size_t i = 0; commands[i] != NULL; i++)
        add_explained(a, commands[i]->name, commands[i]->help);
}

/* ---- answers from the server ---- */

/*
 * Adds the lines that `ludwig COMMAND [SWEEP] --quiet` prints, with suffix.  For jobs ("7.1")
 * prefix replaces the part before the point.  A name that a shell would run when it is accepted,
 * or that would control a terminal, is left out, as the server is not trusted.
 */
static void add_live(struct answer *a, const char *command, const char *sweep, const char *prefix,
                     const char *suffix)
{
    char *line = mem_printf("ludwig %s %s --quiet 2>/dev/null </dev/null", command, sweep);
    FILE *f = popen(line, "re");
    size_t capacity = 0;

    free(line);
    line = NULL;
    for (int i = 0; f != NULL && i < LINES_MAX && getline(&line, &capacity, f) > 0; i++) {
        size_t n = strcspn(line, "\n");
        const char *name = line;

        line[n] = '\0';
        if (n == 0 || strspn(line, LETTERS_AND_DIGITS "@._+-") != n)
            continue;
        if (prefix != NULL && strchr(line, '.') != NULL)
            name = strchr(line, '.') + 1;
        buf_add(a->out, a->before, a->n_before);
        buf_printf(a->out, "%s%s%s\n", prefix != NULL ? prefix : "", name, suffix);
    }
    free(line);
    if (f != NULL)
        (void)pclose(f);
}

static void add_sweeps_with(struct answer *a, const char *suffix)
{
    buf_add(a->out, a->before, a->n_before);
    buf_printf(a->out, "last%s\n", suffix);
    add_live(a, "status", "", NULL, suffix);
}

static void add_sweeps(struct answer *a)
{
    add_sweeps_with(a, "");
}

/* "7.": the jobs of that sweep; "7.1,5-": more of them by their numbers. */
static void add_jobs_of(struct answer *a, bool is_several)
{
    size_t n = strcspn(a->current, ".");
    const char *last = a->current + strlen(a->current);
    char *sweep, *prefix;

    if (n == 0 || strspn(a->current, LETTERS_AND_DIGITS) != n)
        return;
    while (last[-1] != ',' && last[-1] != '-' && last[-1] != '.')
        last--;
    if (!is_several)
        last = a->current + n + 1;
    sweep = mem_strndup(a->current, n);
    prefix = mem_strndup(a->current, (size_t)(last - a->current));
    add_live(a, "jobs", sweep, prefix, "");
    free(prefix);
    free(sweep);
}

/* ---- values of options, and arguments ---- */

static void add_jobs(struct answer *a)
{
    if (strchr(a->current, '.') != NULL)
        add_jobs_of(a, false);
    else
        add_sweeps_with(a, ".");
}

static void add_targets(struct answer *a)
{
    if (strchr(a->current, '.') != NULL) {
        add_jobs_of(a, true);
        return;
    }
    add_word(a, "all", 3);
    add_sweeps(a);
}

static void add_nodes(struct answer *a)
{
    add_live(a, "nodes", "", NULL, "");
}

static void add_job_states(struct answer *a)
{
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        add_word(a, job_state_names[i], strlen(job_state_names[i]));
}

static void add_retried_states(struct answer *a)
{
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        if (job_runs_again((enum job_state)i))
            add_word(a, job_state_names[i], strlen(job_state_names[i]));
}

static void add_sweep_states(struct answer *a)
{
    for (int i = SWEEP_OPEN + 1; i < SWEEP_STATE_COUNT; i++)
        add_word(a, sweep_state_names[i], strlen(sweep_state_names[i]));
}

/* Answers for an argument in a usage line or of an option; the first row that fits counts. */
static const struct {
    const char *argument;
    const char *command; /* NULL: any */
    const char *words;   /* "a|b": these words; or ":files"; NULL: by add */
    void (*add)(struct answer *a);
    bool is_list; /* several words with commas between, the last of which is completed */
} rules[] = {
    { "STATE", "status", NULL, add_sweep_states, true },
    { "STATE", "retry", NULL, add_retried_states, true },
    { "STATE", "nodes", "up|drained|lost", NULL, true },
    { "STATE", NULL, NULL, add_job_states, true },
    { "NAME,@GROUP", NULL, NULL, add_nodes, true },
    { "SHELL", .words = "bash|zsh|fish" },
    { "SWEEP.yaml", .words = ":yaml" },
    { "FILE.jsonl", .words = ":files" },
    { "SCRIPT", .words = ":files" },
    { "FILE", .words = ":files" },
    { "FILE.pub|KEY", .words = ":files" },
    { "PATH|NAME", .words = ":files" },
    { "SOCKET", .words = ":files" },
    { "DIR", .words = ":folders" },
    { "COMMAND", .add = add_commands },
    { "SWEEP", .add = add_sweeps },
    { "JOB", .add = add_jobs },
    { "SWEEP|JOB", .add = add_targets },
    { "SWEEP|JOB|PROJECT", .add = add_targets },
    { "NODE", .add = add_nodes },
    { "NODE|@GROUP", .add = add_nodes },
};

static void add_what_fits(struct answer *a, const struct command *c, const char *text, size_t n)
{
    bool is_choice =
        strspn(text, "abcdefghijklmnopqrstuvwxyz-|") >= n && memchr(text, '|', n) != NULL;

    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        const char *comma = strrchr(a->current, ',');

        if (strlen(rules[i].argument) != n || strncmp(rules[i].argument, text, n) != 0 ||
            (rules[i].command != NULL && (c == NULL || strcmp(rules[i].command, c->name) != 0)))
            continue;
        if (rules[i].is_list && comma != NULL) {
            a->n_before += (size_t)(comma + 1 - a->current);
            a->current = comma + 1;
        }
        if (rules[i].add != NULL) {
            rules[i].add(a);
            return;
        }
        if (rules[i].words[0] == ':') {
            buf_printf(a->out, "%s\n", rules[i].words);
            return;
        }
        text = rules[i].words;
        n = strlen(text);
        is_choice = true;
        break;
    }
    for (const char *end = text + n; is_choice && text < end;) {
        const char *bar = memchr(text, '|', (size_t)(end - text));

        add_word(a, text, (size_t)((bar != NULL ? bar : end) - text));
        text = bar != NULL ? bar + 1 : end;
    }
}

/* Adds the answers for argument i, from 0, by the words of the usage line without "[OPTION]..." and
 * brackets. */
static void add_argument(struct answer *a, const struct command *c, size_t i)
{
    const char *word = c->args;

    for (size_t n; n = strcspn(word, " "), n > 0; word += n + (word[n] == ' ')) {
        bool repeats = n > 3 && strncmp(word + n - 3, "...", 3) == 0;
        size_t n_name = n - (repeats ? 3 : 0);

        if (strncmp(word, "[OPTION]...", n) == 0)
            continue;
        if (i == 0 || repeats) {
            add_what_fits(a, c, word + (word[0] == '['), n_name - (word[0] == '[' ? 2 : 0));
            return;
        }
        i--;
    }
}

/* ---- place of the cursor ---- */

static void add_options(struct answer *a, const struct opt *rows)
{
    for (; rows != NULL && rows->name != NULL; rows++) {
        buf_add_str(a->out, "--");
        add_explained(a, rows->name, rows->help);
    }
}

/* The option of the command, or of all commands, for "--name", "--name=..." or "-n". */
static const struct opt *find_option(const struct command *c, const char *word)
{
    const struct opt *groups[] = { c != NULL ? c->options : NULL, common_options };
    const struct opt *row = NULL;
    size_t n = strcspn(word, "=");

    for (size_t i = 0; i < 2 && row == NULL; i++) {
        if (strncmp(word, "--", 2) == 0)
            row = opt_find(groups[i], word + 2, n - 2, 0);
        else if (word[0] == '-' && n == 2)
            row = opt_find(groups[i], NULL, 0, word[1]);
    }
    return row;
}

void complete_add_answers(struct buf *out, const struct opt_words *words)
{
    char *const *word = words->words;
    struct answer a = { out, words->n > 0 ? word[words->n - 1] : "", "", 0 };
    const struct command *c = NULL;
    const struct opt *valued = NULL; /* the option whose value stands at the cursor */
    size_t n_args = 0;
    bool has_command = false;

    for (size_t i = 0; i + 1 < words->n && valued == NULL; i++) {
        const struct opt *row = find_option(c, word[i]);

        if (row != NULL && strchr(word[i], '=') == NULL && row->type != OPT_FLAG &&
            (row->type != OPT_MAYBE || strcmp(word[i + 1], "=") == 0)) {
            /* bash passes "--state=done" as three words. */
            i += i + 2 < words->n && strcmp(word[i + 1], "=") == 0 ? 2 : 1;
            if (i + 1 >= words->n)
                valued = row;
        } else if (word[i][0] != '-') {
            if (has_command)
                n_args++;
            for (size_t k = 0; !has_command && commands[k] != NULL; k++)
                if (strcmp(commands[k]->name, word[i]) == 0)
                    c = commands[k];
            has_command = true;
        }
    }
    if (valued != NULL && strcmp(a.current, "=") == 0)
        a.current = "";
    a.before = a.current;
    if (valued == NULL && strncmp(a.current, "--", 2) == 0 && strchr(a.current, '=') != NULL) {
        valued = find_option(c, a.current);
        a.n_before = strcspn(a.current, "=") + 1;
        a.current += a.n_before;
        if (valued == NULL)
            return;
    }
    if (valued != NULL && valued->type != OPT_FLAG) {
        add_what_fits(&a, c, valued->argument, strlen(valued->argument));
    } else if (a.current[0] == '-') {
        add_options(&a, c != NULL ? c->options : NULL);
        add_options(&a, common_options);
    } else if (!has_command) {
        add_commands(&a);
    } else if (c != NULL) {
        add_argument(&a, c, n_args);
    }
}
