/* SPDX-License-Identifier: MIT */
/* help_json.c - the tables of commands, options and exit codes as JSON, for programs */
#include <string.h>

#include "client/cli/commands.h"
#include "client/cli/help_json.h"
#include "client/term/output.h"

static const struct field option_fields[] = {
    FIELD(struct help_option, name, FIELD_STR, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct help_option, letter, FIELD_STR, 0, INT64_MAX),
    FIELD(struct help_option, value, FIELD_STR, 0, INT64_MAX),
    FIELD(struct help_option, type, FIELD_STR, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct help_option, min, FIELD_INT, FIELD_NULLABLE | FIELD_SIGNED, INT64_MAX),
    FIELD(struct help_option, max, FIELD_INT, FIELD_NULLABLE | FIELD_SIGNED, INT64_MAX),
    FIELD(struct help_option, value_optional, FIELD_BOOL, 0, 0),
    FIELD(struct help_option, repeats, FIELD_BOOL, 0, 0),
    FIELD(struct help_option, help, FIELD_STR, FIELD_REQUIRED, INT64_MAX),
};
const struct schema help_option_schema = SCHEMA(struct help_option, "help_option", option_fields);

static const struct field command_fields[] = {
    FIELD(struct help_command, name, FIELD_STR, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct help_command, group, FIELD_STR, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct help_command, usage, FIELD_STR, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct help_command, help, FIELD_STR, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct help_command, more, FIELD_STR, 0, INT64_MAX),
    FIELD(struct help_command, min_args, FIELD_INT, 0, INT64_MAX),
    FIELD(struct help_command, max_args, FIELD_INT, FIELD_NULLABLE, INT64_MAX),
    FIELD(struct help_command, json, FIELD_BOOL, 0, 0),
    FIELD_OF(struct help_command, options, FIELD_LIST, 0, INT64_MAX, &help_option_schema),
};
const struct schema help_command_schema =
    SCHEMA(struct help_command, "help_command", command_fields);

static const struct field exit_fields[] = {
    FIELD(struct help_exit, code, FIELD_INT, 0, INT64_MAX),
    FIELD(struct help_exit, meaning, FIELD_STR, FIELD_REQUIRED, INT64_MAX),
};
const struct schema help_exit_schema = SCHEMA(struct help_exit, "help_exit", exit_fields);

static const struct field help_fields[] = {
    FIELD(struct help_answer, version, FIELD_STR, FIELD_REQUIRED, INT64_MAX),
    FIELD_OF(struct help_answer, commands, FIELD_LIST, 0, INT64_MAX, &help_command_schema),
    FIELD_OF(struct help_answer, common_options, FIELD_LIST, 0, INT64_MAX, &help_option_schema),
    FIELD_OF(struct help_answer, exit_codes, FIELD_LIST, 0, INT64_MAX, &help_exit_schema),
};
const struct schema help_answer_schema = SCHEMA(struct help_answer, "help", help_fields);

static struct list describe_options(struct arena *a, const struct opt *rows)
{
    struct help_option *options;
    size_t n = 0;

    while (rows != NULL && rows[n].name != NULL)
        n++;
    options = arena_alloc(a, n * sizeof *options);
    for (size_t i = 0; i < n; i++) {
        const struct opt *row = &rows[i];
        bool is_number = row->type == OPT_INT, is_flag = row->type == OPT_FLAG;

        options[i] = (struct help_option){
            .name = arena_printf(a, "--%s", row->name),
            .letter = row->letter != 0 ? arena_printf(a, "-%c", row->letter) : NULL,
            .value = row->argument,
            .type = is_flag     ? "flag"
                    : is_number ? "integer"
                                : "string",
            .min = is_number ? row->min : SCHEMA_NONE,
            .max = is_number ? row->max : SCHEMA_NONE,
            .value_optional = row->type == OPT_MAYBE,
            .repeats = row->type == OPT_STRS,
            .help = row->help,
        };
    }
    return (struct list){ options, n };
}

static void describe_command(struct help_command *to, const struct command *c, struct arena *a)
{
    *to = (struct help_command){
        .name = c->name,
        .group = command_group(c),
        .usage = arena_printf(a, "ludwig %s%s%s", c->name, c->args[0] != '\0' ? " " : "", c->args),
        .help = c->help,
        .more = c->more,
        .min_args = (int64_t)c->min_args,
        .max_args = c->max_args == ARGS_ANY ? SCHEMA_NONE : (int64_t)c->max_args,
        .json = opt_find(c->options, "json", strlen("json"), 0) != NULL,
        .options = describe_options(a, c->options),
    };
}

void help_describe(struct help_answer *to, const struct command *only, struct arena *a)
{
#define X(name, number, text) { number, text },
    static struct help_exit exits[] = { EXIT_CODES(X) };
#undef X
    struct help_command *described;
    size_t n = 0;

    while (commands[n] != NULL)
        n++;
    described = arena_alloc(a, n * sizeof *described);
    *to = (struct help_answer){ .version = LUDWIG_VERSION,
                                .common_options = describe_options(a, common_options),
                                .exit_codes = { exits, sizeof exits / sizeof exits[0] },
                                .commands = { described, 0 } };
    for (size_t i = 0; i < n; i++)
        if (only == NULL || commands[i] == only)
            describe_command(&described[to->commands.n++], commands[i], a);
}
