/* SPDX-License-Identifier: MIT */
/* cmd_report.c - ludwig report */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/term/command.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/base/quote.h"
#include "common/base/utf8.h"
#include "common/data/json.h"
#include "common/proto/envvars.h"
#include "common/proto/jobspec.h"

struct options {
    const char *job;
    const char *failed; /* the reason; NULL: not failed */
    bool done;
};

static const struct opt options[] = {
    { "job", 0, OPT_STR, "JOB", offsetof(struct options, job), 0, 0,
      "which job of the chunk it is, as 7.13" },
    { "done", 0, OPT_FLAG, NULL, offsetof(struct options, done), 0, 0,
      "this job of the chunk is done" },
    { "failed", 0, OPT_MAYBE, "REASON", offsetof(struct options, failed), 0, 0,
      "this job of the chunk has failed" },
    { 0 },
};

enum { NAMED_MAX = 20 }; /* jobs in a message */

static const size_t CHUNK_MAX_BYTES = (size_t)BATCH_MAX * (PARAM2VAL_MAX_BYTES + 64 * 1024);

/* ---- measures ---- */

static bool read_number(const char *text, struct value *v)
{
    char *end;

    errno = 0;
    *v = value_int(strtoll(text, &end, 10));
    if (end != text && *end == '\0' && errno == 0)
        return true;
    *v = value_float(strtod(text, &end));
    return end != text && *end == '\0';
}

static int add_measure(struct buf *line, const char *word, struct arena *a, struct err *e)
{
    /* Keys of lines beside measures, where several jobs share a file. */
    static const char *const reserved[] = { "job", "done", "failed" };
    size_t n = strcspn(word, "=");
    char *name = arena_strndup(a, word, n);
    const char *text = word + n + 1;
    struct value v;
    bool is_number;

    if (word[n] != '=' || n == 0)
        return err_set(e, ERR_USAGE, "expected NAME=VALUE, not '%s'", word);
    if (n > NAME_MAX_BYTES)
        return err_set(e, ERR_USAGE, "a name has at most %d bytes", NAME_MAX_BYTES);
    is_number = read_number(text, &v);
    if (strcmp(name, "step") == 0 && (!is_number || v.type != VALUE_INT || v.i < 0))
        return err_set(e, ERR_USAGE, "step=%s: expected a whole number from 0", text);
    if (!is_number)
        return err_set(e, ERR_USAGE, "%s=%s: expected a number", name, text);
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (strcmp(name, reserved[i]) == 0)
            return err_set(e, ERR_USAGE, "'%s' cannot be the name of a measure", name);
    buf_add_str(line, line->n > 1 ? ", " : "");
    quote_add(line, name, n);
    buf_add_str(line, ": ");
    json_add_value(line, &v);
    return 0;
}

/* ---- jobs ---- */

/* Whether text is a job: "7.13". */
static bool is_job(const char *text)
{
    size_t sweep = strspn(text, "0123456789");
    size_t job = text[sweep] == '.' ? strspn(text + sweep + 1, "0123456789") : 0;

    return text[0] != '0' && sweep > 0 && sweep <= 16 && job > 0 && job <= 16 &&
           text[sweep + 1] != '0' && text[sweep + 1 + job] == '\0';
}

/* The file with the jobs that share this process by batch:; NULL: there is none. */
static const char *chunk_path(void)
{
    const char *path = getenv(job_envvars[ENV_CHUNK].name);

    return path != NULL && path[0] != '\0' ? path : NULL;
}

static const char *job_of(const struct value *item)
{
    const struct value *job = item->type == VALUE_MAP ? value_get(item, "job") : NULL;

    return job != NULL && job->type == VALUE_STR ? job->str.s : "";
}

/* Refuses a job that is not in chunk.json, beside chunk.msgpack; the error names the jobs there. */
static int check_in_chunk(const char *job, struct err *e)
{
    char *dir = path_dirname(chunk_path()), *path = path_join(dir, "chunk.json");
    struct arena *a = arena_create();
    struct buf text = { 0 }, names = { 0 };
    struct value jobs = { 0 };
    bool is_there = false;
    int result = io_read_file(path, CHUNK_MAX_BYTES, &text, e);

    if (result == 0 && json_read(buf_text(&text), text.n, a, &jobs, e) < 0)
        result = err_wrap(e, "%s", path);
    else if (result == 0 && jobs.type != VALUE_LIST)
        result = err_set(e, ERR_FAILED, "%s: it is no list of jobs", path);
    for (size_t i = 0; result == 0 && i < jobs.list.n; i++) {
        is_there = is_there || strcmp(job_of(&jobs.list.items[i]), job) == 0;
        if (i < NAMED_MAX)
            buf_printf(&names, "%s%s", i > 0 ? ", " : "", job_of(&jobs.list.items[i]));
    }
    if (result == 0 && jobs.list.n > NAMED_MAX)
        buf_printf(&names, " and %zu more", jobs.list.n - NAMED_MAX);
    if (result == 0 && !is_there)
        result = err_set(e, ERR_USAGE, "--job: %s is none of this chunk's jobs, which are %s", job,
                         buf_text(&names));
    buf_free(&names);
    buf_free(&text);
    arena_destroy(a);
    free(path);
    free(dir);
    return result;
}

/* Checks --job, --done and --failed.  The last two are for batches: a job with its own process is
 * done, or has failed, when that process ends. */
static int check_job(const struct options *o, struct err *e)
{
    const char *own = getenv(job_envvars[ENV_JOB].name);
    bool shares = chunk_path() != NULL;

    if (o->job != NULL && !is_job(o->job))
        return err_set(e, ERR_USAGE, "--job takes the id of a job, as 7.13, not '%s'", o->job);
    if (o->done && o->failed != NULL)
        return err_set(e, ERR_USAGE, "a job is either --done or --failed");
    if (shares && o->job == NULL)
        return err_set(e, ERR_USAGE,
                       "this process works through several jobs: --job ID says "
                       "which one is meant");
    if (shares)
        return check_in_chunk(o->job, e);
    if (o->done || o->failed != NULL)
        return err_set(e, ERR_USAGE,
                       "--%s is for jobs that share a process (batch: in the sweep); this one is "
                       "done when it exits with 0, and has failed otherwise",
                       o->done ? "done" : "failed");
    if (o->job != NULL && (own == NULL || strcmp(o->job, own) != 0))
        return err_set(e, ERR_USAGE, "--job: this runs in job %s, not in %s",
                       own != NULL ? own : "(unknown)", o->job);
    return 0;
}

/* ---- the command ---- */

/* Separates measures and, with --failed, the reason: "loss=0.5" is a measure; a word with blanks or
 * without a number is a reason: "loss = nan", "rc=SIGSEGV". */
static int sort_words(const struct cli *cli, struct opt_words *measures, const char **reason,
                      struct err *e)
{
    const struct options *o = cli->options;
    size_t n_reasons = 0;

    *reason = o->failed;
    *measures = (struct opt_words){ arena_alloc(cli->arena, cli->args.n * sizeof(char *)), 0 };
    for (size_t i = 0; i < cli->args.n; i++) {
        char *word = cli->args.words[i];
        const char *number = strchr(word, '=');
        struct value v;

        if (o->failed == NULL ||
            (number != NULL && number > word && word[strcspn(word, " \t\n")] == '\0' &&
             read_number(number + 1, &v))) {
            measures->words[measures->n++] = word;
            continue;
        }
        if (o->failed[0] != '\0' || n_reasons++ > 0)
            return err_set(e, ERR_USAGE,
                           "'%s' is one reason too many: say --failed='REASON', in quotes", word);
        *reason = word;
    }
    if (measures->n == 0 && !o->done && o->failed == NULL)
        return err_set(e, ERR_USAGE, "usage: ludwig report %s", cli->command->args);
    return 0;
}

static void begin_line(struct buf *line, const struct options *o)
{
    buf_add_char(line, '{');
    if (o->job == NULL || chunk_path() == NULL)
        return;
    buf_add_str(line, "\"job\": ");
    quote_add(line, o->job, strlen(o->job));
}

/* Adds how long the log of the process is: what it prints from now on is the next job's.  The log is
 * stdout or stderr, where neither leads elsewhere. */
static void add_log(struct buf *line)
{
    struct stat st;

    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
            buf_printf(line, ", \"log\": [%llu, %lld]", (unsigned long long)st.st_ino,
                       (long long)st.st_size);
            return;
        }
}

/* Adds a line with the measures, if any, and a line for the job's end, if it is over. */
static int add_lines(struct buf *lines, const struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct opt_words measures;
    struct buf line = { 0 };
    const char *reason;
    int result = 0;

    if (sort_words(cli, &measures, &reason, e) < 0 || check_job(o, e) < 0)
        return -1;
    begin_line(&line, o);
    for (size_t i = 0; i < measures.n && result == 0; i++)
        result = add_measure(&line, measures.words[i], cli->arena, e);
    if (measures.n > 0)
        buf_printf(lines, "%s}\n", buf_text(&line));
    buf_free(&line);
    if (!o->done && o->failed == NULL)
        return result;
    begin_line(lines, o);
    if (o->done) {
        buf_add_str(lines, ", \"done\": true");
    } else {
        /* The reason is cut between characters to its limit. */
        size_t n = strlen(reason);

        buf_add_str(lines, ", \"failed\": ");
        quote_add(lines, reason, n <= REASON_MAX_BYTES ? n : utf8_cut(reason, REASON_MAX_BYTES));
    }
    add_log(lines);
    buf_add_str(lines, "}\n");
    return result;
}

/* One write, so that lines of several processes do not mix. */
static int report_measures(struct cli *cli, struct err *e)
{
    const char *path = getenv(job_envvars[ENV_METRICS].name);
    struct buf lines = { 0 };
    int result = -1, fd;
    ssize_t n;

    if (path == NULL || path[0] == '\0')
        return err_set(e, ERR_USAGE, "report works inside of a job only ($%s is not set)",
                       job_envvars[ENV_METRICS].name);
    if (add_lines(&lines, cli, e) < 0)
        goto out;
    fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        err_sys(e, "open %s", path);
        goto out;
    }
    do
        n = write(fd, lines.bytes, lines.n);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        err_sys(e, "write to %s", path);
    else if ((size_t)n < lines.n)
        err_set(e, ERR_NO_SPACE, "write to %s: only a part could be written", path);
    else
        result = EXIT_WELL;
    close(fd);
out:
    buf_free(&lines);
    return result;
}

const struct command cmd_report = {
    .name = "report",
    .args = "NAME=VALUE... [step=N] [OPTION]...",
    .help = "record metrics of the job that this runs in",
    .more = "Every number beside step is a measure; the last value of each is its result.\n"
            "If several jobs share a process (batch: in the sweep), --job says which one is\n"
            "meant, and --done or --failed=REASON that this one has ended, whatever becomes\n"
            "of the others. Put a reason with blanks in quotes.\n"
            "\n"
            "  ludwig report accuracy=0.93 step=4\n"
            "  ludwig report --job 7.13 accuracy=0.93 --done\n"
            "  ludwig report --job 7.13 --failed='loss is not a number'\n",
    .max_args = ARGS_ANY,
    .options = options,
    .options_size = sizeof(struct options),
    .run = report_measures,
};
