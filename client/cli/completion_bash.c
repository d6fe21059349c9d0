/* SPDX-License-Identifier: MIT */
/* completion_bash.c - the script for bash */
#include <string.h>

#include "client/cli/completion.h"
#include "client/term/command.h"

/*
 * What the server says goes through grep: a name that a shell would run when it is accepted, or
 * a terminal obey, is not offered.  compgen -W is not used, as it expands its words.
 */
static const char head[] =
    "# bash completion of ludwig, made by `ludwig completion bash`\n"
    "\n"
    "# Offers its words, or the lines of its input, that begin as the current word does.\n"
    "__ludwig_words() {\n"
    "    local word\n"
    "    for word; do\n"
    "        if [[ $word == \"$__ludwig_cur\"* ]]; then\n"
    "            COMPREPLY+=(\"$__ludwig_before$word\")\n"
    "        fi\n"
    "    done\n"
    "}\n"
    "__ludwig_lines() {\n"
    "    local line\n"
    "    while IFS= read -r line; do\n"
    "        __ludwig_words \"$line\"\n"
    "    done\n"
    "}\n"
    "# Only the last of several words with commas between is completed.\n"
    "__ludwig_list() {\n"
    "    __ludwig_before=${__ludwig_cur%\"${__ludwig_cur##*,}\"}\n"
    "    __ludwig_cur=${__ludwig_cur##*,}\n"
    "}\n"
    "__ludwig_ask() {\n"
    "    command ludwig \"$@\" --quiet 2>/dev/null </dev/null | command grep -E '^[A-Za-z0-9@._+-]+$' |\n"
    "        command head -n 2000\n"
    "}\n"
    "__ludwig_sweeps() {\n"
    "    __ludwig_lines < <(echo last; __ludwig_ask status)\n"
    "}\n"
    "__ludwig_jobs() {\n"
    "    local sweep=${__ludwig_cur%%.*}\n"
    "    if [[ $__ludwig_cur == *.* ]]; then\n"
    "        __ludwig_lines < <(__ludwig_ask jobs \"$sweep\" |\n"
    "            command sed \"s/^[0-9]*\\\\./${sweep//[!0-9a-z]/}./\")\n"
    "    else\n"
    "        __ludwig_lines < <(echo last.; __ludwig_ask status | command sed 's/$/./')\n"
    "        compopt -o nospace 2>/dev/null\n"
    "    fi\n"
    "}\n"
    "__ludwig_targets() {\n"
    "    local sweep=${__ludwig_cur%%.*} last=${__ludwig_cur##*[,-]}\n"
    "    if [[ $__ludwig_cur == *.*[,-]* ]]; then\n"
    "        # \"7.1,5-\": more jobs of the same sweep, by their numbers.\n"
    "        __ludwig_before=${__ludwig_cur%\"$last\"}\n"
    "        __ludwig_cur=$last\n"
    "        __ludwig_lines < <(__ludwig_ask jobs \"$sweep\" | command sed 's/^[0-9]*\\.//')\n"
    "    elif [[ $__ludwig_cur == *.* ]]; then\n"
    "        __ludwig_jobs\n"
    "    else\n"
    "        __ludwig_words all\n"
    "        __ludwig_sweeps\n"
    "    fi\n"
    "}\n"
    "__ludwig_commands() {\n"
    "    # shellcheck disable=SC2086 # one word each\n"
    "    __ludwig_words $__ludwig_commands\n"
    "}\n"
    "__ludwig_nodes() {\n"
    "    __ludwig_lines < <(__ludwig_ask nodes)\n"
    "}\n"
    "__ludwig_yaml() {\n"
    "    local file\n"
    "    while IFS= read -r file; do\n"
    "        case $file in\n"
    "        *.yaml | *.yml) COMPREPLY+=(\"$file\") ;;\n"
    "        *) if [[ -d $file ]]; then COMPREPLY+=(\"$file\"); fi ;;\n"
    "        esac\n"
    "    done < <(compgen -f -- \"$__ludwig_cur\")\n"
    "    compopt -o filenames 2>/dev/null\n"
    "}\n"
    "# Files (-f) or folders (-d).\n"
    "__ludwig_paths() {\n"
    "    local file\n"
    "    while IFS= read -r file; do\n"
    "        COMPREPLY+=(\"$file\")\n"
    "    done < <(compgen \"$1\" -- \"$__ludwig_cur\")\n"
    "    compopt -o filenames 2>/dev/null\n"
    "}\n";

static const char tail[] =
    "\n"
    "_ludwig() {\n"
    "    local __ludwig_cur=${COMP_WORDS[COMP_CWORD]} __ludwig_before='' command='' n=1 i\n"
    "    local prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    COMPREPLY=()\n"
    "    # \"--state=done\" comes as three words.\n"
    "    if [[ $__ludwig_cur == = ]]; then\n"
    "        __ludwig_cur=\n"
    "    elif [[ $prev == = ]]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        if [[ \" $(__ludwig_valued \"$command\") \" == *\" ${COMP_WORDS[i]} \"* ]]; then\n"
    "            if [[ ${COMP_WORDS[i + 1]} == = ]]; then ((i++)); fi\n"
    "            ((i++))\n"
    "        elif [[ ${COMP_WORDS[i]} != -* ]]; then\n"
    "            if [[ -z $command ]]; then command=${COMP_WORDS[i]}; else ((n++)); fi\n"
    "        fi\n"
    "    done\n"
    "    if [[ \" $(__ludwig_valued \"$command\") \" == *\" $prev \"* ]]; then\n"
    "        __ludwig_value \"$command\" \"$prev\"\n"
    "    elif [[ $__ludwig_cur == -* ]]; then\n"
    "        # shellcheck disable=SC2046 # one word each\n"
    "        __ludwig_words $(__ludwig_options \"$command\")\n"
    "    elif [[ -z $command ]]; then\n"
    "        __ludwig_commands\n"
    "    else\n"
    "        __ludwig_argument \"$command\" \"$n\"\n"
    "    fi\n"
    "}\n"
    "complete -F _ludwig ludwig\n";

static void add_words(struct buf *out, const struct completion *c)
{
    buf_add_str(out, "__ludwig_words");
    for (size_t i = 0; i < c->n; i++)
        buf_printf(out, " '%s'", c->words[i]);
}

static void add_action(struct buf *out, const struct completion *c)
{
    static const char *const functions[COMPLETE_KINDS] = {
        [COMPLETE_NOTHING] = ":",
        [COMPLETE_COMMANDS] = "__ludwig_commands",
        [COMPLETE_YAML] = "__ludwig_yaml",
        [COMPLETE_FILES] = "__ludwig_paths -f",
        [COMPLETE_FOLDERS] = "__ludwig_paths -d",
        [COMPLETE_SWEEPS] = "__ludwig_sweeps",
        [COMPLETE_JOBS] = "__ludwig_jobs",
        [COMPLETE_TARGETS] = "__ludwig_targets",
        [COMPLETE_NODES] = "__ludwig_nodes",
    };

    if (c->is_list)
        buf_add_str(out, "__ludwig_list && ");
    if (c->kind == COMPLETE_WORDS)
        add_words(out, c);
    else
        buf_add_str(out, functions[c->kind]);
    buf_add_str(out, " ;;\n");
}

static void add_names(struct buf *out, const struct opt *rows)
{
    for (; rows != NULL && rows->name != NULL; rows++)
        buf_printf(out, " --%s", rows->name);
}

static void add_valued(struct buf *out, const struct opt *rows)
{
    for (; rows != NULL && rows->name != NULL; rows++) {
        if (completion_takes_next(rows))
            buf_printf(out, " --%s", rows->name);
        if (completion_takes_next(rows) && rows->letter != 0)
            buf_printf(out, " -%c", rows->letter);
    }
}

/* A function that prints, for a command, the names of some of its options. */
static void add_lists(struct buf *out, const char *name,
                      void (*add)(struct buf *out, const struct opt *rows))
{
    buf_printf(out, "__ludwig_%s() {\n    case $1 in\n", name);
    for (size_t i = 0; commands[i] != NULL; i++) {
        buf_printf(out, "    %s) echo", commands[i]->name);
        add(out, commands[i]->options);
        add(out, common_options);
        buf_add_str(out, " ;;\n");
    }
    buf_add_str(out, "    *) echo");
    add(out, common_options);
    buf_add_str(out, " ;;\n    esac\n}\n");
}

static void add_values(struct buf *out, const struct command *c, struct arena *a)
{
    for (const struct opt *row = c->options; row != NULL && row->name != NULL; row++) {
        struct completion what = completion_of_option(c, row, a);

        if (what.kind == COMPLETE_NOTHING)
            continue;
        buf_printf(out, "    %s:--%s", c->name, row->name);
        if (row->letter != 0)
            buf_printf(out, " | %s:-%c", c->name, row->letter);
        buf_add_str(out, ") ");
        add_action(out, &what);
    }
}

static void add_arguments(struct buf *out, const struct command *c, struct arena *a)
{
    bool repeats;
    size_t n = completion_n_arguments(c, &repeats);

    for (size_t i = 0; i < n; i++) {
        struct completion what = completion_of_argument(c, i, a);

        if (what.kind == COMPLETE_NOTHING)
            continue;
        if (i == n - 1 && repeats)
            buf_printf(out, "    %s:*) ", c->name);
        else
            buf_printf(out, "    %s:%zu) ", c->name, i + 1);
        add_action(out, &what);
    }
}

static void add_cases(struct buf *out, const char *name, struct arena *a,
                      void (*add)(struct buf *out, const struct command *c, struct arena *a))
{
    buf_printf(out, "__ludwig_%s() {\n    case $1:$2 in\n", name);
    for (size_t i = 0; commands[i] != NULL; i++)
        add(out, commands[i], a);
    buf_add_str(out, "    esac\n}\n");
}

void completion_add_bash(struct buf *out, struct arena *a)
{
    buf_add_str(out, head);
    buf_add_str(out, "\n__ludwig_commands='");
    for (size_t i = 0; commands[i] != NULL; i++)
        buf_printf(out, "%s%s", i > 0 ? " " : "", commands[i]->name);
    buf_add_str(out, "'\n");
    add_lists(out, "options", add_names);
    buf_add_str(out, "# Those that take the next word.\n");
    add_lists(out, "valued", add_valued);
    add_cases(out, "value", a, add_values);
    buf_add_str(out, "# The command, and which of its arguments, from 1.\n");
    add_cases(out, "argument", a, add_arguments);
    buf_add_str(out, tail);
}
