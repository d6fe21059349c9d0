/* SPDX-License-Identifier: MIT */
/* jobinfo.c - what is shown of a job, and what --where asks about it */
#include <inttypes.h>

#include "client/jobinfo.h"
#include "common/json.h"
#include "common/units.h"

static struct value text_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? value_str(text) : value_null();
}

static struct value number_or_null(int64_t number)
{
    return number != SCHEMA_NONE ? value_int(number) : value_null();
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
    };

    for (size_t i = 0; i < JOBINFO_FIELDS; i++)
        row->fields[i] = fields[i];
    row->row = (struct where_row){ row->fields, JOBINFO_FIELDS, &j->params };
}

enum tone jobinfo_tone(int state)
{
    switch (state) {
    case JOB_DONE: return TONE_GOOD;
    case JOB_FAILED: return TONE_BAD;
    case JOB_QUEUED:
    case JOB_CANCELLED: return TONE_DIM;
    default: return TONE_BUSY;
    }
}

void jobinfo_add_params(struct buf *out, const struct value *params)
{
    for (size_t i = 0; params->type == VALUE_MAP && i < params->map.n; i++) {
        const struct member *m = &params->map.members[i];

        buf_printf(out, "%s%s=", i > 0 ? " " : "", m->key.str.s);
        json_add_text(out, &m->value);
    }
}

void jobinfo_add_reason(struct buf *out, const struct job_info *j)
{
    if (j->reason != NULL && j->reason[0] != '\0')
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
