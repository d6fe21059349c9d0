/* SPDX-License-Identifier: MIT */
/* completion_fish.c - the script for fish */
#include <string.h>

#include "client/cli/completion.h"
#include "client/term/command.h"

/* fish escapes what it inserts; string match keeps from the terminal what it would obey. */
static const char head[] =
    "# fish completion of ludwig, made by `ludwig completion fish`\n"
    "\n"
    "# The command, and then its arguments, that stand before the cursor.\n"
    "function __ludwig_words\n"
    "    set -l words (commandline -opc)\n"
    "    set -l command ''\n"
    "    set -l skip 0\n"
    "    for word in $words[2..]\n"
    "        if test $skip = 1\n"
    "            set skip 0\n"
    "        else if contains -- $word (__ludwig_valued $command)\n"
    "            set skip 1\n"
    "        else if not string match -q -- '-*' $word\n"
    "            echo $word\n"
    "            test -n \"$command\"; or set command $word\n"
    "        end\n"
    "    end\n"
    "end\n"
    "function __ludwig_needs_command\n"
    "    test (count (__ludwig_words)) = 0\n"
    "end\n"
    "function __ludwig_is\n"
    "    set -l words (__ludwig_words)\n"
    "    test (count $words) -gt 0; and test $words[1] = $argv[1]\n"
    "end\n"
    "# Whether argument number argv[2] of the command comes next, or one behind it (argv[3]).\n"
    "function __ludwig_at\n"
    "    set -l words (__ludwig_words)\n"
    "    __ludwig_is $argv[1]; or return 1\n"
    "    if test (count $argv) = 3\n"
    "        test (count $words) -ge $argv[2]\n"
    "    else\n"
    "        test (count $words) = $argv[2]\n"
    "    end\n"
    "end\n"
    "function __ludwig_ask\n"
    "    command ludwig $argv --quiet 2>/dev/null </dev/null | string match -r '^[A-Za-z0-9@._+-]+$' |\n"
    "        command head -n 2000\n"
    "end\n"
    "function __ludwig_sweeps\n"
    "    echo last\n"
    "    __ludwig_ask status\n"
    "end\n"
    "function __ludwig_jobs\n"
    "    set -l word (commandline -ct)\n"
    "    if string match -q -- '*.*' $word\n"
    "        set -l sweep (string split -m1 . -- $word)[1]\n"
    "        __ludwig_ask jobs $sweep | string replace -r '^[0-9]+\\.' \"$sweep.\"\n"
    "    else\n"
    "        echo last.\n"
    "        __ludwig_ask status | string replace -r '$' .\n"
    "    end\n"
    "end\n"
    "function __ludwig_targets\n"
    "    if string match -q -- '*.*' (commandline -ct)\n"
    "        __ludwig_jobs\n"
    "    else\n"
    "        echo all\n"
    "        __ludwig_sweeps\n"
    "    end\n"
    "end\n"
    "function __ludwig_nodes\n"
    "    __ludwig_ask nodes\n"
    "end\n"
    "# Only the last of several words with commas between is completed.\n"
    "function __ludwig_list\n"
    "    set -l before (string replace -rf '^(--[a-z-]+=)?(.*,).*$' '$2' -- (commandline -ct))\n"
    "    for word in $argv\n"
    "        echo \"$before$word\"\n"
    "    end\n"
    "end\n"
    "function __ludwig_yaml\n"
    "    set -l word (commandline -ct)\n"
    "    set -l files $word*.yaml $word*.yml $word*/\n"
    "    string join \\n -- $files\n"
    "end\n"
    "\n"
    "complete -c ludwig -e\n"
    "complete -c ludwig -f\n";

/* Within single quotes. */
static void add_quoted(struct buf *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\'' || text[i] == '\\')
            buf_add_char(out, '\\');
        buf_add_char(out, text[i]);
    }
}

static void add_brief(struct buf *out, const char *help)
{
    struct buf brief = { 0 };

    completion_add_brief(&brief, help);
    buf_add_str(out, " -d '");
    add_quoted(out, buf_text(&brief), brief.n);
    buf_add_char(out, '\'');
    buf_free(&brief);
}

static void add_words(struct buf *out, const struct completion *c)
{
    buf_add_str(out, c->is_list ? "(__ludwig_list" : "");
    for (size_t i = 0; i < c->n; i++)
        buf_printf(out, "%s%s", c->is_list || i > 0 ? " " : "", c->words[i]);
    buf_add_str(out, c->is_list ? ")" : "");
}

/* " -a '...'": what may stand there. */
static void add_action(struct buf *out, const struct completion *c)
{
    static const char *const functions[COMPLETE_KINDS] = {
        [COMPLETE_COMMANDS] = "$__ludwig_commands",
        [COMPLETE_YAML] = "(__ludwig_yaml)",
        [COMPLETE_FILES] = "(__fish_complete_path)",
        [COMPLETE_FOLDERS] = "(__fish_complete_directories)",
        [COMPLETE_SWEEPS] = "(__ludwig_sweeps)",
        [COMPLETE_JOBS] = "(__ludwig_jobs)",
        [COMPLETE_TARGETS] = "(__ludwig_targets)",
        [COMPLETE_NODES] = "(__ludwig_nodes)",
    };

    buf_add_str(out, " -a '");
    if (c->kind == COMPLETE_WORDS)
        add_words(out, c);
    else if (c->kind == COMPLETE_NODES && c->is_list)
        buf_add_str(out, "(__ludwig_list (__ludwig_nodes))");
    else
        buf_add_str(out, functions[c->kind]);
    buf_add_char(out, '\'');
}

static void add_options(struct buf *out, const struct command *c, const struct opt *rows,
                        struct arena *a)
{
    for (; rows != NULL && rows->name != NULL; rows++) {
        struct completion what = completion_of_option(c, rows, a);

        buf_add_str(out, "complete -c ludwig");
        if (c != NULL)
            buf_printf(out, " -n '__ludwig_is %s'", c->name);
        buf_printf(out, " -l %s", rows->name);
        if (rows->letter != 0)
            buf_printf(out, " -s %c", rows->letter);
        if (completion_takes_next(rows))
            buf_add_str(out, " -x");
        if (what.kind != COMPLETE_NOTHING)
            add_action(out, &what);
        add_brief(out, rows->help);
        buf_add_char(out, '\n');
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
        buf_printf(out, "complete -c ludwig -n '__ludwig_at %s %zu%s'", c->name, i + 1,
                   i == n - 1 && repeats ? " more" : "");
        if (what.kind == COMPLETE_SWEEPS || what.kind == COMPLETE_JOBS ||
            what.kind == COMPLETE_TARGETS)
            buf_add_str(out, " -k");
        add_action(out, &what);
        buf_add_char(out, '\n');
    }
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

/* Prints, one a line, the options of a command that take the next word. */
static void add_valued_function(struct buf *out)
{
    buf_add_str(out, "function __ludwig_valued\n    switch \"$argv\"\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        buf_printf(out, "        case %s\n            string join \\n --", commands[i]->name);
        add_valued(out, commands[i]->options);
        add_valued(out, common_options);
        buf_add_char(out, '\n');
    }
    buf_add_str(out, "        case '*'\n            string join \\n --");
    add_valued(out, common_options);
    buf_add_str(out, "\n    end\nend\n");
}

void completion_add_fish(struct buf *out, struct arena *a)
{
    add_valued_function(out);
    buf_add_str(out, "set -g __ludwig_commands");
    for (size_t i = 0; commands[i] != NULL; i++)
        buf_printf(out, " %s", commands[i]->name);
    buf_add_char(out, '\n');
    buf_add_str(out, head);
    for (size_t i = 0; commands[i] != NULL; i++) {
        buf_printf(out, "complete -c ludwig -n __ludwig_needs_command -a %s", commands[i]->name);
        add_brief(out, commands[i]->help);
        buf_add_char(out, '\n');
    }
    add_options(out, NULL, common_options, a);
    for (size_t i = 0; commands[i] != NULL; i++) {
        add_options(out, commands[i], commands[i]->options, a);
        add_arguments(out, commands[i], a);
    }
}
