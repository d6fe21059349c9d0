/* SPDX-License-Identifier: MIT */
/* cmd_report.c - ludwig report */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/command.h"
#include "common/envvars.h"
#include "common/json.h"
#include "common/work.h"

static bool read_whole(const char *text, struct value *v)
{
    char *end;

    errno = 0;
    *v = value_int(strtoll(text, &end, 10));
    return end != text && *end == '\0' && errno == 0;
}

static bool read_decimal(const char *text, struct value *v)
{
    char *end;

    *v = value_float(strtod(text, &end));
    return end != text && *end == '\0';
}

static int read_number(const char *name, const char *text, struct value *v, struct err *e)
{
    bool is_step = strcmp(name, "step") == 0;

    if (read_whole(text, v) && (!is_step || v->i >= 0))
        return 0;
    if (is_step)
        return err_set(e, ERR_USAGE, "step=%s: expected a whole number from 0", text);
    if (!read_decimal(text, v))
        return err_set(e, ERR_USAGE, "%s=%s: expected a number", name, text);
    return 0;
}

static int add_measure(struct buf *line, const char *word, struct arena *a, struct err *e)
{
    size_t n = strcspn(word, "=");
    char *name = arena_strndup(a, word, n);
    struct value v;

    if (word[n] != '=' || n == 0)
        return err_set(e, ERR_USAGE, "expected NAME=VALUE, not '%s'", word);
    if (n > NAME_MAX_BYTES)
        return err_set(e, ERR_USAGE, "a name has at most %d bytes", NAME_MAX_BYTES);
    if (read_number(name, word + n + 1, &v, e) < 0)
        return -1;
    buf_add_str(line, line->n > 1 ? ", " : "");
    json_add_str(line, name, n);
    buf_add_str(line, ": ");
    json_add_value(line, &v);
    return 0;
}

/* One write, so that lines of several processes do not mix. */
static int append(const char *path, const struct buf *line, struct err *e)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    ssize_t n;
    int result = 0;

    if (fd < 0)
        return err_sys(e, "open %s", path);
    do
        n = write(fd, line->bytes, line->n);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        result = err_sys(e, "write to %s", path);
    else if ((size_t)n < line->n)
        result = err_set(e, ERR_NO_SPACE, "write to %s: only a part could be written", path);
    close(fd);
    return result;
}

static int run(struct cli *cli, struct err *e)
{
    const char *path = getenv(job_envvars[ENV_METRICS].name);
    struct buf line = { 0 };
    int result = 0;

    if (path == NULL || path[0] == '\0')
        return err_set(e, ERR_USAGE, "report works inside of a job only ($%s is not set)",
                       job_envvars[ENV_METRICS].name);
    buf_add_char(&line, '{');
    for (size_t i = 0; i < cli->args.n && result == 0; i++)
        result = add_measure(&line, cli->args.words[i], cli->arena, e);
    buf_add_str(&line, "}\n");
    if (result == 0)
        result = append(path, &line, e);
    buf_free(&line);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_report = {
    .name = "report",
    .args = "NAME=VALUE...",
    .help = "record measures of the job that this runs in",
    .more = "For example: ludwig report accuracy=0.93 step=4\n",
    .min_args = 1,
    .max_args = ARGS_ANY,
    .run = run,
};
