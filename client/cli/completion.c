/* SPDX-License-Identifier: MIT */
/* completion.c - what options and arguments may be */
#include <string.h>

#include "client/cli/completion.h"
#include "common/proto/states.h"

const struct completion_shell completion_shells[] = {
    { "bash", completion_add_bash },
    { "zsh", completion_add_zsh },
    { "fish", completion_add_fish },
    { NULL, NULL },
};

static const char *const sweep_states[] = { "running", "paused", "done", "failed", "cancelled" };
static const char *const retried_states[] = { "failed", "cancelled" };
static const char *const node_states[] = { "up", "drained", "lost" };
static const char *const shells[] = { "bash", "zsh", "fish" };

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* What a word of a usage line or an option's argument may be; the first row that fits counts. */
static const struct {
    const char *command; /* NULL: any */
    const char *argument;
    struct completion what;
} rules[] = {
    { "status", "STATE", { COMPLETE_WORDS, true, sweep_states, COUNT(sweep_states) } },
    { "retry", "STATE", { COMPLETE_WORDS, true, retried_states, COUNT(retried_states) } },
    { "nodes", "STATE", { COMPLETE_WORDS, true, node_states, COUNT(node_states) } },
    { NULL, "STATE", { COMPLETE_WORDS, true, job_state_names, JOB_STATE_COUNT } },
    { NULL, "SHELL", { COMPLETE_WORDS, false, shells, COUNT(shells) } },
    { NULL, "COMMAND", { .kind = COMPLETE_COMMANDS } },
    { NULL, "SWEEP.yaml", { .kind = COMPLETE_YAML } },
    { NULL, "FILE.jsonl", { .kind = COMPLETE_FILES } },
    { NULL, "FILE.pub|KEY", { .kind = COMPLETE_FILES } },
    { NULL, "DIR", { .kind = COMPLETE_FOLDERS } },
    { NULL, "PATH|NAME", { .kind = COMPLETE_FILES } },
    { NULL, "SOCKET", { .kind = COMPLETE_FILES } },
    { NULL, "SWEEP", { .kind = COMPLETE_SWEEPS } },
    { NULL, "JOB", { .kind = COMPLETE_JOBS } },
    { NULL, "SWEEP|JOB", { .kind = COMPLETE_TARGETS } },
    { NULL, "NODE", { .kind = COMPLETE_NODES } },
    { NULL, "NODE|@GROUP", { .kind = COMPLETE_NODES } },
    { NULL, "NAME,@GROUP", { .kind = COMPLETE_NODES, .is_list = true } },
};

/* "all|params|none" is a list of what may be said. */
static struct completion alternatives(const char *text, size_t n, struct arena *a)
{
    const char **words = arena_alloc(a, (n + 1) * sizeof *words);
    struct completion c = { .kind = COMPLETE_WORDS, .words = words };

    for (size_t at = 0; at < n;) {
        size_t length = 0;

        while (at + length < n && text[at + length] != '|')
            length++;
        words[c.n++] = arena_strndup(a, text + at, length);
        at += length + 1;
    }
    return c;
}

static bool is_alternatives(const char *text, size_t n)
{
    bool has_bar = false;

    for (size_t i = 0; i < n; i++) {
        if (text[i] != '|' && text[i] != '-' && (text[i] < 'a' || text[i] > 'z'))
            return false;
        has_bar = has_bar || text[i] == '|';
    }
    return has_bar;
}

static struct completion find(const struct command *c, const char *text, size_t n, struct arena *a)
{
    for (size_t i = 0; i < COUNT(rules); i++)
        if ((rules[i].command == NULL || (c != NULL && strcmp(rules[i].command, c->name) == 0)) &&
            strlen(rules[i].argument) == n && strncmp(rules[i].argument, text, n) == 0)
            return rules[i].what;
    if (is_alternatives(text, n))
        return alternatives(text, n, a);
    return (struct completion){ .kind = COMPLETE_NOTHING };
}

struct completion completion_of_option(const struct command *c, const struct opt *row,
                                       struct arena *a)
{
    if (row->type == OPT_FLAG)
        return (struct completion){ .kind = COMPLETE_NOTHING };
    return find(c, row->argument, strlen(row->argument), a);
}

bool completion_takes_next(const struct opt *row)
{
    return row->type != OPT_FLAG && row->type != OPT_MAYBE;
}

/* ---- arguments ---- */

/* A word of the usage line without "[OPTION]...", brackets and points; false at its end. */
static bool next_argument(const char **text, const char **word, size_t *n, bool *repeats)
{
    static const char options[] = "[OPTION]...";

    for (;;) {
        const char *at = *text + strspn(*text, " ");
        size_t length = strcspn(at, " ");

        *text = at + length;
        if (length == 0)
            return false;
        if (length == strlen(options) && strncmp(at, options, length) == 0)
            continue;
        *repeats = length > 3 && strncmp(at + length - 3, "...", 3) == 0;
        length -= *repeats ? 3 : 0;
        *word = at + (at[0] == '[');
        *n = length - (at[0] == '[' ? 2 : 0);
        return true;
    }
}

size_t completion_n_arguments(const struct command *c, bool *repeats)
{
    const char *text = c->args, *word;
    size_t n_arguments = 0, n;

    *repeats = false;
    while (next_argument(&text, &word, &n, repeats))
        n_arguments++;
    return n_arguments;
}

struct completion completion_of_argument(const struct command *c, size_t i, struct arena *a)
{
    const char *text = c->args, *word;
    bool repeats;
    size_t n;

    while (next_argument(&text, &word, &n, &repeats))
        if (i-- == 0 || repeats)
            return find(c, word, n, a);
    return (struct completion){ .kind = COMPLETE_NOTHING };
}

void completion_add_brief(struct buf *out, const char *help)
{
    buf_add(out, help, strcspn(help, ";"));
}
