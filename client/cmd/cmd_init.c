/* SPDX-License-Identifier: MIT */
/* cmd_init.c - ludwig init */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/spec/script_options.h"
#include "client/term/command.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "common/base/io.h"
#include "common/base/quote.h"
#include "common/data/template.h"
#include "common/data/yaml.h"

enum { COMMENT_COLUMN = 26, HELP_COLUMNS = 60 };

struct options {
    const char *output;
};

static const struct opt options[] = {
    { "output", 'o', OPT_STR, "FILE", offsetof(struct options, output), 0, 0,
      "write this file instead of sweep.yaml" },
    { 0 },
};

/* ---- which script ---- */

/* A script of a usual name (train.py ...), or the only script there is; NULL: it is not clear. */
static const char *find_script(struct arena *a)
{
    static const char *const usual[] = { "train.py", "main.py", "run.py" };
    const char *script = NULL;
    glob_t found = { 0 };

    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        if (access(usual[i], R_OK) == 0)
            return usual[i];
    if (glob("*.py", 0, NULL, &found) == 0 && found.gl_pathc == 1)
        script = arena_strdup(a, found.gl_pathv[0]);
    globfree(&found);
    return script;
}

static bool is_python(const char *script)
{
    const char *dot = strrchr(script, '.');

    return dot != NULL && strcmp(dot, ".py") == 0;
}

/* ---- the file ---- */

/* Appends the value as a scalar, or a list in [...]. */
static void add_scalar(struct buf *out, const struct value *v)
{
    struct buf text = { 0 };

    yaml_add_value(&text, v);
    while (text.n > 0 && text.bytes[text.n - 1] == '\n')
        text.n--;
    if (v->type == VALUE_STR && (text.n == 0 || (text.bytes[0] != '"' && text.bytes[0] != '\'' &&
                                                 strcspn(buf_text(&text), ",[]{}#\n") < text.n)))
        quote_add(out, v->str.s, v->str.n);
    else
        buf_add(out, text.bytes, text.n);
    buf_free(&text);
}

static void add_comment(struct buf *line, const char *text)
{
    struct buf clean = { 0 };

    if (text == NULL || *text == '\0')
        return;
    safe_text_add_harmless(&clean, text, strcspn(text, "\n"), "");
    while (line->n < COMMENT_COLUMN)
        buf_add_char(line, ' ');
    buf_printf(line, " # %.*s", (int)safe_text_fitting(buf_text(&clean), clean.n, HELP_COLUMNS),
               buf_text(&clean));
    buf_free(&clean);
}

/* "  lr: 0.1    # learning rate" */
static void add_param(struct buf *out, const struct script_option *o)
{
    const struct value name = value_str(o->name);
    struct buf line = { 0 };

    buf_add_str(&line, "  ");
    add_scalar(&line, &name);
    buf_add_str(&line, ": ");
    if (o->choices.type == VALUE_LIST && o->choices.list.n > 0) {
        for (size_t i = 0; i < o->choices.list.n; i++) {
            buf_add_str(&line, i == 0 ? "[" : ", ");
            add_scalar(&line, &o->choices.list.items[i]);
        }
        buf_add_char(&line, ']');
    } else if (o->initial.type != VALUE_NULL) {
        add_scalar(&line, &o->initial);
    } else {
        buf_add_str(&line, "CHANGE-ME");
    }
    add_comment(&line, o->help);
    buf_printf(out, "%s\n", buf_text(&line));
    buf_free(&line);
}

/* Whether a parameter can stand for the option: it takes one word, and a first value is known. */
static bool is_param(const struct script_option *o)
{
    bool has_value = o->choices.type == VALUE_LIST ||
                     (o->initial.type != VALUE_NULL && o->initial.type != VALUE_LIST &&
                      o->initial.type != VALUE_MAP);

    return !o->is_flag && !o->is_long && strcmp(o->name, "seed") != 0 &&
           (has_value || o->is_needed);
}

static void add_command(struct buf *out, const char *script, const struct script_options *o)
{
    struct buf command = { 0 };

    if (is_python(script))
        buf_add_str(&command, "python3 ");
    else if (strchr(script, '/') == NULL)
        buf_add_str(&command, access(script, X_OK) == 0 ? "./" : "sh ");
    template_add_word(&command, script, strlen(script));
    for (size_t i = 0; i < o->n; i++) {
        if (is_param(&o->items[i]))
            buf_printf(&command, " %s{%s}", o->items[i].word, o->items[i].name);
        else if (strcmp(o->items[i].name, "seed") == 0 && !o->items[i].is_flag)
            buf_printf(&command, " %s$LUDWIG_SEED", o->items[i].word);
    }
    buf_add_str(out, "command: ");
    if (strpbrk(buf_text(&command), "#:'\"") != NULL)
        quote_add(out, buf_text(&command), command.n);
    else
        buf_add(out, command.bytes, command.n);
    buf_add_char(out, '\n');
    buf_free(&command);
}

/* Names the options that no parameter stands for, so that the user need not look for them. */
static void add_others(struct buf *out, const struct script_options *o)
{
    for (size_t i = 0; i < o->n; i++) {
        const struct script_option *x = &o->items[i];

        if (!is_param(x) && strcmp(x->name, "seed") != 0)
            buf_printf(out, "# not in the command: %s%s%s\n", x->word,
                       x->word[0] == '\0' ? x->name : "",
                       x->is_flag   ? " (a flag)"
                       : x->is_long ? " (takes several words)"
                                    : " (without a default)");
    }
}

static void add_sweep(struct buf *out, const char *script, const struct script_options *o)
{
    size_t n = 0;

    buf_printf(
        out, "# Made by `ludwig init%s%s`%s%s.  `man ludwig-sweep` has all that can stand here;\n",
        script != NULL ? " " : "", script != NULL ? script : "",
        o->by != NULL ? " from the options of " : "", o->by != NULL ? o->by : "");
    buf_add_str(out, "# `ludwig submit sweep.yaml --dry-run` shows what it runs.\n\n");
    if (script != NULL)
        add_command(out, script, o);
    else
        buf_add_str(out,
                    "command: echo lr={lr}   # what each job runs: python3 train.py --lr {lr}\n");
    add_others(out, o);
    buf_add_str(
        out,
        "\n# A list is swept: every value with every value of the others.  A single value is the same\n"
        "# for all: make it a list to sweep it, as in  lr: [0.1, 0.01]\n"
        "params:\n");
    for (size_t i = 0; i < o->n; i++)
        if (is_param(&o->items[i])) {
            add_param(out, &o->items[i]);
            n++;
        }
    if (n == 0)
        buf_printf(out, "  %slr: [0.1, 0.01]\n", script == NULL ? "" : "# ");
    buf_add_str(
        out,
        "\n# method: random           # draws: lr: {log_uniform: [1e-4, 1e-1]}\n"
        "# samples: 20\n"
        "# reps: 3                  # each configuration three times, each with its $LUDWIG_SEED\n"
        "# data: [data]             # brought to each machine once, as $LUDWIG_DATA/data\n"
        "# resources: {cpus: 1, gpus: 0, memory: 4GiB, time: 2h}\n"
        "# results: {metric: accuracy, goal: max}   # of what `ludwig report` or $LUDWIG_METRICS got\n");
}

static int write_new(const char *path, const struct buf *text, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int result = 0;

    if (fd < 0 && errno == EEXIST)
        return err_set(e, ERR_EXISTS, "%s is there already; -o FILE writes another one", path);
    if (fd < 0)
        return err_sys(e, "write %s", path);
    if (io_write_all(fd, text->bytes, text->n) < 0)
        result = err_sys(e, "write %s", path);
    if (close(fd) < 0 && result == 0)
        result = err_sys(e, "write %s", path);
    if (result < 0)
        (void)unlink(path);
    return result;
}

static int init(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    const char *path = o->output != NULL ? o->output : "sweep.yaml";
    const char *script = cli->args.n > 0 ? cli->args.words[0] : find_script(cli->arena);
    struct script_options found = { 0 };
    struct buf text = { 0 };
    int result = 0;

    if (script != NULL && access(script, R_OK) < 0)
        return err_sys(e, "%s", script);
    if (access(path, F_OK) == 0) /* before anything else is said */
        return err_set(e, ERR_EXISTS, "%s is there already; -o FILE writes another one", path);
    if (script != NULL && is_python(script))
        result = script_options_read(script, cli->arena, &found, e);
    if (result == 0) {
        add_sweep(&text, script, &found);
        result = write_new(path, &text, e);
    }
    buf_free(&text);
    if (result == 0)
        output_note("%s written%s%s; now: ludwig submit %s --dry-run", path,
                    script != NULL ? " for " : "", script != NULL ? script : "", path);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_init = {
    .name = "init",
    .args = "[SCRIPT] [OPTION]...",
    .help = "write a sweep file for a script",
    .more = "The options of a Python script that uses argparse, click or Hydra become\n"
            "parameters with their defaults; the script is read, but not run. Without SCRIPT\n"
            "it is train.py, main.py or run.py, or the only Python script here. A file that\n"
            "is there already is not overwritten.\n",
    .max_args = 1,
    .options = options,
    .options_size = sizeof(struct options),
    .run = init,
};
