/* SPDX-License-Identifier: MIT */
/* cli.c - from the command line to an exit code */
#include <stdbool.h>
#include <string.h>

#include "client/cli/commands.h"
#include "client/term/output.h"

/* The question for a missing argument, by the name of the first one in the usage line. */
static const char *question(const char *args)
{
    static const struct {
        const char *argument, *question;
    } questions[] = {
        { "SWEEP|JOB|PROJECT...", "which sweep, job or project? " },
        { "SWEEP|JOB...", "which sweep or job? " },
        { "SWEEP", "which sweep? " },
        { "SWEEP.yaml", "which sweep file? " },
        { "JOB", "which job? " },
        { "NODE|@GROUP...", "which node? " },
        { "SHELL", "which shell? " },
    };
    size_t n = strcspn(args, " ");

    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++)
        if (strlen(questions[i].argument) == n && strncmp(questions[i].argument, args, n) == 0)
            return questions[i].question;
    return "";
}

static int run_command(struct cli *cli, const struct opt_words *words, struct err *e)
{
    static const struct opt no_options[] = { { 0 } };
    const struct command *c = cli->command;
    struct common_options common = { 0 };
    void *options = arena_alloc(cli->arena, c->options_size);
    struct opt_group groups[] = { { c->options != NULL ? c->options : no_options, options },
                                  { common_options, &common } };

    cli->given = *words;
    if (opt_parse(groups, 2, words, cli->arena, &cli->args, e) < 0)
        return err_wrap(e, "%s", c->name);
    if (common.help)
        return command_print_help(c, e);
    if (common.version)
        return cmd_version.run(cli, e);
    if (cli->args.n < c->min_args)
        return err_set(e, ERR_USAGE, "%susage: ludwig %s %s", question(c->args), c->name, c->args);
    if (cli->args.n > c->max_args)
        return err_set(e, ERR_USAGE, "'%s' is one argument too many; usage: ludwig %s%s%s",
                       cli->args.words[c->max_args], c->name, c->args[0] != '\0' ? " " : "",
                       c->args);
    if (common.server != NULL)
        cli->server = common.server;
    cli->options = options;
    return c->run(cli, e);
}

/* Words the error of an option before the command, words[name], if that option belongs to this or
 * another command. */
static int refuse_early(const struct opt_words *words, size_t name, struct err *e)
{
    const char *named = name < words->n ? words->words[name] : NULL;

    for (size_t i = 0; i < name; i++) {
        const char *word = words->words[i], *owner = NULL;
        size_t n = strcspn(word, "=");

        if (strncmp(word, "--", 2) != 0 || n == 2 ||
            opt_find(common_options, word + 2, n - 2, 0) != NULL)
            continue;
        for (size_t k = 0; commands[k] != NULL; k++)
            if (opt_find(commands[k]->options, word + 2, n - 2, 0) != NULL &&
                (owner == NULL || (named != NULL && strcmp(named, commands[k]->name) == 0)))
                owner = commands[k]->name;
        if (owner != NULL)
            return err_set(e, ERR_USAGE, "%.*s goes behind the command: ludwig %s %s", (int)n, word,
                           named != NULL && strcmp(named, owner) == 0 ? owner : "COMMAND", word);
    }
    return 0;
}

/* Options before the command's name are the common ones. */
static int run_words(struct cli *cli, const struct opt_words *words, struct err *e)
{
    struct common_options common = { 0 };
    struct opt_group group = { common_options, &common };
    struct opt_words before = { words->words, 0 }, rest;
    size_t name = 0;

    if (words->n >= 2 && strcmp(words->words[0], "complete") == 0 &&
        strcmp(words->words[1], "--") == 0) {
        struct buf out = { 0 };

        rest = (struct opt_words){ words->words + 2, words->n - 2 };
        complete_add_answers(&out, &rest);
        return output_write(&out, e) < 0 ? -1 : EXIT_WELL;
    }
    while (name < words->n && words->words[name][0] == '-')
        name += strcmp(words->words[name], "--server") == 0 ? 2 : 1;
    before.n = name = name < words->n ? name : words->n;
    if (refuse_early(words, name, e) < 0 || opt_parse(&group, 1, &before, cli->arena, &rest, e) < 0)
        return -1;
    cli->server = common.server;
    if (common.version)
        return cmd_version.run(cli, e);
    if (name == words->n && !common.help)
        return err_set(e, ERR_USAGE, "which command? (see ludwig help)");
    if (name == words->n)
        return command_print_help(NULL, e);
    cli->command = command_find(words->words[name], e);
    if (cli->command == NULL)
        return -1;
    if (common.help)
        return command_print_help(cli->command, e);
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
