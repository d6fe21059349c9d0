/* SPDX-License-Identifier: MIT */
/* cli.c - from the command line to an exit code */
#include <stdbool.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/commands.h"
#include "client/cli/complete.h"
#include "client/term/output.h"

static const struct opt no_options[] = { { 0 } };

static int say_help(const struct command *c, struct err *e)
{
    struct buf text = { 0 };

    if (c != NULL)
        command_add_help(&text, c);
    else
        command_add_overview(&text);
    return output_write(&text, e) < 0 ? -1 : EXIT_WELL;
}

/* What is asked for an argument that is missing, by what usage calls the first one. */
static const char *question(const char *args)
{
    static const struct {
        const char *argument, *question;
    } questions[] = {
        { "SWEEP|JOB...", "which sweep or job? " }, { "SWEEP", "which sweep? " },
        { "SWEEP.yaml", "which sweep file? " },     { "JOB", "which job? " },
        { "NODE|@GROUP...", "which node? " },       { "SHELL", "which shell? " },
    };
    size_t n = strcspn(args, " ");

    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++)
        if (strlen(questions[i].argument) == n && strncmp(questions[i].argument, args, n) == 0)
            return questions[i].question;
    return "";
}

static int check_n_args(const struct cli *cli, struct err *e)
{
    const struct command *c = cli->command;

    if (cli->args.n < c->min_args)
        return err_set(e, ERR_USAGE, "%susage: ludwig %s %s", question(c->args), c->name, c->args);
    if (cli->args.n > c->max_args)
        return err_set(e, ERR_USAGE, "'%s' is one argument too many; usage: ludwig %s %s",
                       cli->args.words[c->max_args], c->name, c->args);
    return 0;
}

static int run_command(struct cli *cli, const struct opt_words *words, struct err *e)
{
    const struct command *c = cli->command;
    struct common_options common = { 0 };
    void *options = arena_alloc(cli->arena, c->options_size);
    struct opt_group groups[] = { { c->options != NULL ? c->options : no_options, options },
                                  { common_options, &common } };

    if (opt_parse(groups, 2, words, cli->arena, &cli->args, e) < 0)
        return err_wrap(e, "%s", c->name);
    if (common.help)
        return say_help(c, e);
    if (common.version)
        return cmd_version.run(cli, e);
    if (check_n_args(cli, e) < 0)
        return -1;
    if (common.server != NULL)
        cli->server = common.server;
    cli->options = options;
    return c->run(cli, e);
}

/* Where the command's name stands among the words; options before it are the common ones. */
static size_t find_name(const struct opt_words *words)
{
    size_t i = 0;

    while (i < words->n && words->words[i][0] == '-')
        i += strcmp(words->words[i], "--server") == 0 ? 2 : 1;
    return i < words->n ? i : words->n;
}

static const struct opt *find_row(const struct opt *rows, const char *name, size_t n)
{
    for (const struct opt *row = rows; row != NULL && row->name != NULL; row++)
        if (strlen(row->name) == n && strncmp(row->name, name, n) == 0)
            return row;
    return NULL;
}

/* The command that is named behind the option if it has that option, else any that does. */
static const struct command *find_owner(const char *named, const char *option, size_t n,
                                        bool *is_named)
{
    const struct command *any = NULL;

    *is_named = false;
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (find_row(commands[i]->options, option, n) == NULL)
            continue;
        any = commands[i];
        *is_named = named != NULL && strcmp(named, any->name) == 0;
        if (*is_named)
            break;
    }
    return any;
}

/* Of an option that stands before the command and belongs to commands. */
static int refuse_early(const struct opt_words *words, size_t name, struct err *e)
{
    const char *named = name < words->n ? words->words[name] : NULL;

    for (size_t i = 0; i < name; i++) {
        const char *word = words->words[i];
        size_t n = strcspn(word, "=");
        const struct command *owner;
        bool is_named;

        if (strncmp(word, "--", 2) != 0 || n == 2 ||
            find_row(common_options, word + 2, n - 2) != NULL)
            continue;
        owner = find_owner(named, word + 2, n - 2, &is_named);
        if (owner != NULL)
            return err_set(e, ERR_USAGE, "%.*s goes behind the command: ludwig %s %s", (int)n, word,
                           is_named ? owner->name : "COMMAND", word);
    }
    return 0;
}

/* The hidden command for the shells' scripts: "complete -- WORD...". */
static int print_completions(const struct opt_words *words, struct err *e)
{
    struct opt_words line = { words->words + 2, words->n - 2 };
    struct buf out = { 0 };

    complete_add_answers(&out, &line);
    return output_write(&out, e) < 0 ? -1 : EXIT_WELL;
}

static int run_words(struct cli *cli, const struct opt_words *words, struct err *e)
{
    size_t name = find_name(words);
    struct opt_words before = { words->words, name }, rest;
    struct common_options common = { 0 };
    struct opt_group group = { common_options, &common };

    if (words->n >= 2 && strcmp(words->words[0], "complete") == 0 &&
        strcmp(words->words[1], "--") == 0)
        return print_completions(words, e);
    if (refuse_early(words, name, e) < 0 || opt_parse(&group, 1, &before, cli->arena, &rest, e) < 0)
        return -1;
    cli->server = common.server;
    if (common.version)
        return cmd_version.run(cli, e);
    if (name == words->n && !common.help)
        return err_set(e, ERR_USAGE, "which command? (see ludwig help)");
    if (name == words->n)
        return say_help(NULL, e);
    cli->command = command_find(words->words[name], e);
    if (cli->command == NULL)
        return -1;
    if (common.help)
        return say_help(cli->command, e);
    rest = (struct opt_words){ words->words + name + 1, words->n - name - 1 };
    return run_command(cli, &rest, e);
}

int cli_main(const struct opt_words *words)
{
    struct cli cli = { .arena = arena_create() };
    struct err e = { 0 };
    int code = run_words(&cli, words, &e);

    arena_destroy(cli.arena);
    if (code >= 0)
        return code;
    output_error(&e);
    return (int)err_exit_code(e.kind);
}
