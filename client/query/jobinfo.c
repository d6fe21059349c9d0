/* SPDX-License-Identifier: MIT */
/* jobinfo.c - says in words what a job is and does; gives its fields for --where */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "client/query/jobinfo.h"
#include "client/term/opt.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "common/data/json.h"

static struct value text_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? value_str(text) : value_null();
}

static struct value number_or_null(int64_t number)
{
    return number != SCHEMA_NONE ? value_int(number) : value_null();
}

bool jobinfo_is_one_name(const char *name)
{
    return name != NULL && path_is_portable_name(name) && name[0] != '.';
}

int jobinfo_check_names(const struct job_info *j, struct err *e)
{
    if (jobinfo_is_one_name(j->param_name) && jobinfo_is_one_name(j->job_name))
        return 0;
    return err_set(e, ERR_PROTOCOL, "the server names the folder of job %s '%s/%s'", j->job,
                   j->param_name != NULL ? j->param_name : "",
                   j->job_name != NULL ? j->job_name : "");
}

void jobinfo_fill_row(struct jobinfo_row *row, const struct job_info *j)
{
    const struct member fields[JOBINFO_FIELDS] = {
        { value_str("job"), value_str(j->job) },
        { value_str("param_name"), text_or_null(j->param_name) },
        { value_str("job_name"), text_or_null(j->job_name) },
        { value_str("rep"), value_int(j->rep) },
        { value_str("state"), value_str(job_state_names[j->state]) },
        { value_str("attempt"), value_int(j->attempt) },
        { value_str("node"), text_or_null(j->node) },
        { value_str("partition"), text_or_null(j->partition) },
        { value_str("exit_code"), number_or_null(j->exit_code) },
        { value_str("signal"), number_or_null(j->signal) },
        { value_str("cause"), text_or_null(j->cause) },
        { value_str("reason"), text_or_null(j->reason) },
        { value_str("max_rss_bytes"), number_or_null(j->max_rss_bytes) },
        { value_str("cpu_seconds"),
          isnan(j->cpu_seconds) ? value_null() : value_float(j->cpu_seconds) },
        { value_str("memory_bytes"), number_or_null(j->memory_bytes) },
        { value_str("time_ms"), number_or_null(j->time_ms) },
        { value_str("gpu_memory_bytes"), number_or_null(j->gpu_memory_bytes) },
        { value_str("gpu_percent"),
          isnan(j->gpu_percent) ? value_null() : value_float(j->gpu_percent) },
        { value_str("gpu_ids"), text_or_null(j->gpu_ids) },
    };

    for (size_t i = 0; i < JOBINFO_FIELDS; i++)
        row->fields[i] = fields[i];
    row->row = (struct where_row){ .fields = row->fields,
                                   .n_fields = JOBINFO_FIELDS,
                                   .params = &j->params };
}

int jobinfo_parse_where(const char *text, struct arena *a, struct where **where, struct err *e)
{
    static const struct where_values known[] = {
        { "state", job_state_names, JOB_STATE_COUNT, "paused", OPT_STATE_PAUSED },
        { "cause", cause_names, CAUSE_COUNT, "none",
          "where nothing went wrong there is no cause: cause = null" },
    };

    *where = text != NULL ? where_parse(text, a, e) : NULL;
    if (*where == NULL)
        return text == NULL ? 0 : -1;
    return where_check_values(*where, &known[0], e) < 0 ||
                   where_check_values(*where, &known[1], e) < 0
               ? -1
               : 0;
}

enum tone jobinfo_tone(int state)
{
    static const enum tone tones[] = { [JOB_LOOKS_PLAIN] = TONE_BUSY,
                                       [JOB_LOOKS_DIM] = TONE_DIM,
                                       [JOB_LOOKS_GOOD] = TONE_GOOD,
                                       [JOB_LOOKS_BAD] = TONE_BAD };

    return tones[job_look((enum job_state)state)];
}

void jobinfo_add_params(struct buf *out, const struct value *params)
{
    for (size_t i = 0; params->type == VALUE_MAP && i < params->map.n; i++) {
        const struct member *m = &params->map.members[i];

        buf_printf(out, "%s%s=", i > 0 ? " " : "", m->key.str.s);
        json_add_text(out, &m->value);
    }
}

bool jobinfo_is_paused(const struct job_info *j)
{
    return j->state == JOB_QUEUED && j->reason != NULL && strcmp(j->reason, "paused") == 0;
}

void jobinfo_add_reason(struct buf *out, const struct job_info *j)
{
    if (jobinfo_is_paused(j))
        buf_printf(out, "paused (ludwig resume %s)", j->job);
    else if (j->reason != NULL && j->reason[0] != '\0')
        buf_add_str(out, j->reason);
    else if (j->signal != SCHEMA_NONE && j->signal != 0)
        buf_printf(out, "signal %" PRId64, j->signal);
    else if (j->exit_code != SCHEMA_NONE && j->exit_code != 0)
        buf_printf(out, "exit code %" PRId64, j->exit_code);
}

void jobinfo_add_time(struct buf *out, const struct job_info *j, int64_t now_ms)
{
    int64_t end_ms = j->ended_at != 0 ? j->ended_at : now_ms;

    if (j->started_at != 0 && end_ms >= j->started_at)
        units_add_duration(out, end_ms - j->started_at);
}

void jobinfo_add_ago(struct buf *out, int64_t at_ms, int64_t now_ms)
{
    static const struct {
        int64_t end_s, unit_s;
        const char *unit;
    } steps[] = { { 60, 1, "s" },
                  { 3600, 60, "min" },
                  { 86400, 3600, "h" },
                  { INT64_C(7) * 86400, 86400, "d" } };
    int64_t ago_s = (now_ms - at_ms) / 1000;
    size_t begin = out->n;

    /* Another machine's clock may be ahead of this one's. */
    if (ago_s <= 0) {
        buf_add_str(out, "now");
        return;
    }
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (ago_s < steps[i].end_s) {
            buf_printf(out, "%" PRId64 " %s ago", ago_s / steps[i].unit_s, steps[i].unit);
            return;
        }
    units_add_time_local(out, at_ms);
    if (out->n > begin + strlen("2026-11-21"))
        out->n = begin + strlen("2026-11-21");
    out->bytes[out->n] = '\0';
}

bool jobinfo_add_exit_words(struct buf *out, int64_t exit_code)
{
    static const struct {
        int number;
        const char *name;
    } signals[] = {
        { SIGHUP, "HUP" },   { SIGINT, "INT" },   { SIGQUIT, "QUIT" }, { SIGILL, "ILL" },
        { SIGABRT, "ABRT" }, { SIGBUS, "BUS" },   { SIGFPE, "FPE" },   { SIGKILL, "KILL" },
        { SIGUSR1, "USR1" }, { SIGSEGV, "SEGV" }, { SIGUSR2, "USR2" }, { SIGPIPE, "PIPE" },
        { SIGALRM, "ALRM" }, { SIGTERM, "TERM" }, { SIGXCPU, "XCPU" }, { SIGXFSZ, "XFSZ" },
    };

    if (exit_code == 126)
        buf_add_str(out, "exit code 126: the command was found and could not be executed");
    else if (exit_code == 127)
        buf_add_str(out, "exit code 127: the command was not found");
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (signals[i].number == exit_code - 128)
            buf_printf(out, "exit code %" PRId64 ": as after signal %d, %s", exit_code,
                       signals[i].number, signals[i].name);
    return out->n > 0;
}
