/* SPDX-License-Identifier: MIT */
/* completion_zsh.c - the script for zsh */
#include <string.h>

#include "client/cli/completion.h"
#include "client/term/command.h"

/* compadd quotes what it inserts; grep keeps from the terminal what it would obey. */
static const char head[] =
    "#compdef ludwig\n"
    "# zsh completion of ludwig, made by `ludwig completion zsh`\n"
    "\n"
    "__ludwig_ask() {\n"
    "    command ludwig \"$@\" --quiet 2>/dev/null </dev/null | command grep -E '^[A-Za-z0-9@._+-]+$' |\n"
    "        command head -n 2000\n"
    "}\n"
    "__ludwig_sweeps() {\n"
    "    local -a sweeps\n"
    "    sweeps=(last ${(f)\"$(__ludwig_ask status)\"})\n"
    "    compadd -V sweeps -a sweeps\n"
    "}\n"
    "__ludwig_jobs() {\n"
    "    local -a jobs\n"
    "    local word=$PREFIX sweep=${PREFIX%%.*}\n"
    "    if [[ $word == *.* ]]; then\n"
    "        jobs=(${(f)\"$(__ludwig_ask jobs \"$sweep\")\"})\n"
    "        jobs=(${jobs/#<->./$sweep.})\n"
    "        compadd -V jobs -a jobs\n"
    "    else\n"
    "        jobs=(last. ${^${(f)\"$(__ludwig_ask status)\"}}.)\n"
    "        compadd -V sweeps -S '' -a jobs\n"
    "    fi\n"
    "}\n"
    "__ludwig_targets() {\n"
    "    if [[ $PREFIX == *.* ]]; then\n"
    "        __ludwig_jobs\n"
    "    else\n"
    "        compadd all\n"
    "        __ludwig_sweeps\n"
    "    fi\n"
    "}\n"
    "__ludwig_nodes() {\n"
    "    local -a nodes\n"
    "    nodes=(${(f)\"$(__ludwig_ask nodes)\"})\n"
    "    compadd -a nodes\n"
    "}\n"
    "__ludwig_node_list() {\n"
    "    _sequence __ludwig_nodes\n"
    "}\n";

static const char tail[] = "\n"
                           "if [[ $funcstack[1] == _ludwig ]]; then\n"
                           "    _ludwig \"$@\"\n"
                           "else\n"
                           "    compdef _ludwig ludwig\n"
                           "fi\n";

/* Within single quotes; what _arguments and _describe take as signs has a backslash before it. */
static void add_quoted(struct buf *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strchr("[]:\\", text[i]) != NULL)
            buf_add_char(out, '\\');
        if (text[i] == '\'')
            buf_add_str(out, "'\\''");
        else
            buf_add_char(out, text[i]);
    }
}

static void add_brief(struct buf *out, const char *help)
{
    struct buf brief = { 0 };

    completion_add_brief(&brief, help);
    add_quoted(out, buf_text(&brief), brief.n);
    buf_free(&brief);
}

static void add_words(struct buf *out, const struct completion *c)
{
    buf_add_str(out, c->is_list ? "_sequence compadd - " : "(");
    for (size_t i = 0; i < c->n; i++)
        buf_printf(out, "%s%s", i > 0 ? " " : "", c->words[i]);
    if (!c->is_list)
        buf_add_char(out, ')');
}

static void add_action(struct buf *out, const struct completion *c)
{
    static const char *const functions[COMPLETE_KINDS] = {
        [COMPLETE_NOTHING] = " ",
        [COMPLETE_COMMANDS] = "__ludwig_commands",
        [COMPLETE_YAML] = "_files -g \"*.(yaml|yml)\"",
        [COMPLETE_FILES] = "_files",
        [COMPLETE_FOLDERS] = "_files -/",
        [COMPLETE_SWEEPS] = "__ludwig_sweeps",
        [COMPLETE_JOBS] = "__ludwig_jobs",
        [COMPLETE_TARGETS] = "__ludwig_targets",
        [COMPLETE_NODES] = "__ludwig_nodes",
    };

    if (c->kind == COMPLETE_WORDS)
        add_words(out, c);
    else if (c->kind == COMPLETE_NODES && c->is_list)
        buf_add_str(out, "__ludwig_node_list");
    else
        buf_add_str(out, functions[c->kind]);
}

/* "[help]", and ":ARGUMENT:what it may be" */
static void add_spec(struct buf *out, const struct command *c, const struct opt *row,
                     struct arena *a)
{
    struct completion what = completion_of_option(c, row, a);

    buf_add_char(out, '[');
    add_brief(out, row->help);
    buf_add_char(out, ']');
    if (row->type == OPT_FLAG)
        return;
    buf_add_char(out, ':');
    add_quoted(out, row->argument, strlen(row->argument));
    buf_add_char(out, ':');
    add_action(out, &what);
}

static void add_option(struct buf *out, const struct command *c, const struct opt *row,
                       struct arena *a)
{
    static const char *const signs[] = {
        [OPT_FLAG] = "", [OPT_STR] = "=", [OPT_STRS] = "=", [OPT_INT] = "=", [OPT_MAYBE] = "=-"
    };
    const char *again = row->type == OPT_STRS ? "*" : "";

    buf_printf(out, " \\\n            '%s--%s%s", again, row->name, signs[row->type]);
    add_spec(out, c, row, a);
    buf_add_char(out, '\'');
    if (row->letter == 0)
        return;
    buf_printf(out, " \\\n            '%s-%c%s", again, row->letter,
               row->type == OPT_FLAG ? "" : "+");
    add_spec(out, c, row, a);
    buf_add_char(out, '\'');
}

static void add_options(struct buf *out, const struct command *c, const struct opt *rows,
                        struct arena *a)
{
    for (; rows != NULL && rows->name != NULL; rows++)
        add_option(out, c, rows, a);
}

static void add_arguments(struct buf *out, const struct command *c, struct arena *a)
{
    bool repeats;
    size_t n = completion_n_arguments(c, &repeats);

    for (size_t i = 0; i < n; i++) {
        struct completion what = completion_of_argument(c, i, a);

        if (i == n - 1 && repeats)
            buf_add_str(out, " \\\n            '*: :");
        else
            buf_printf(out, " \\\n            '%zu: :", i + 1);
        add_action(out, &what);
        buf_add_char(out, '\'');
    }
}

static void add_commands(struct buf *out)
{
    buf_add_str(out, "__ludwig_commands() {\n    local -a commands\n    commands=(\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        buf_printf(out, "        '%s:", commands[i]->name);
        add_brief(out, commands[i]->help);
        buf_add_str(out, "'\n");
    }
    buf_add_str(out, "    )\n    _describe -t commands command commands\n}\n");
}

void completion_add_zsh(struct buf *out, struct arena *a)
{
    buf_add_str(out, head);
    add_commands(out);
    buf_add_str(out, "\n_ludwig() {\n    local curcontext=$curcontext state line ret=1\n"
                     "    local -A opt_args\n    _arguments -C");
    add_options(out, NULL, common_options, a);
    buf_add_str(out, " \\\n            '1: :__ludwig_commands' \\\n            '*:: :->arguments' "
                     "&& ret=0\n"
                     "    [[ $state == arguments ]] || return ret\n"
                     "    curcontext=${curcontext%:*:*}:ludwig-$line[1]:\n"
                     "    case $line[1] in\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        buf_printf(out, "    %s)\n        _arguments -s", commands[i]->name);
        add_options(out, commands[i], commands[i]->options, a);
        add_options(out, NULL, common_options, a);
        add_arguments(out, commands[i], a);
        buf_add_str(out, " && ret=0\n        ;;\n");
    }
    buf_add_str(out, "    esac\n    return ret\n}\n");
    buf_add_str(out, tail);
}
