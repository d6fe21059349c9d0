/* SPDX-License-Identifier: MIT */
/* sweep_why.c - how a sweep stands: counts, what its first waiting job waits for, failures */
#include "client/query/sweep_why.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/query/pages.h"
#include "client/query/sweepview.h"

static const struct field sweep_fields[] = {
    FIELD(struct sweep_why, sweep, FIELD_INT, 0, INT64_MAX),
    FIELD_NAMED(struct sweep_why, state, 0, sweep_state_names, SWEEP_STATE_COUNT),
    FIELD(struct sweep_why, lines, FIELD_STRS, 0, INT64_MAX),
};
const struct schema sweep_why_schema = SCHEMA(struct sweep_why, "sweep_why", sweep_fields);

static struct list lines_of(const struct buf *text, struct arena *a)
{
    const char *at = buf_text(text);
    const char **lines = arena_alloc(a, (text->n + 1) * sizeof *lines);
    size_t n = 0;

    while (*at != '\0') {
        size_t length = strcspn(at, "\n");

        lines[n++] = arena_strndup(a, at, length);
        at += length + (at[length] == '\n');
    }
    return (struct list){ lines, n };
}

/* Adds what the first waiting job waits for, as the server says. */
static int add_waiting(struct buf *out, struct rpc *rpc, int64_t sweep, const struct queue *q,
                       struct err *e)
{
    struct msg_ask_why ask = { .sweep = sweep };
    const char *const *lines;
    struct msg_why why;

    if (q->first == NULL)
        return 0;
    ask.job = strtoll(strchr(q->first, '.') + 1, NULL, 10);
    if (rpc_call(rpc, MSG_ASK_WHY, &ask, &why, e) < 0)
        return -1;
    if (why.job.state != JOB_QUEUED || why.lines.n == 0)
        return 0; /* the job has begun meanwhile */
    buf_printf(out, "%s, the first that waits:\n", q->first);
    lines = why.lines.items;
    for (size_t i = 0; i < why.lines.n; i++)
        buf_printf(out, "  %s\n", lines[i]);
    return 0;
}

static int add_failures(struct buf *out, struct rpc *rpc, int64_t sweep, struct err *e)
{
    struct failures failures = { 0 };

    if (failures_read(rpc, sweep, &failures, e) < 0)
        return -1;
    if (failures.n > 0) {
        buf_add_str(out, "failed:\n");
        failures_add(out, &failures);
        buf_printf(out, "\n`ludwig triage %" PRId64 "` says what they have in common\n", sweep);
    }
    failures_free(&failures);
    return 0;
}

int sweep_why_read(struct rpc *rpc, int64_t sweep, struct arena *a, struct sweep_why *why,
                   struct err *e)
{
    struct queue queue = { 0 };
    struct sweep_info info;
    struct buf text = { 0 };
    int result;

    /* The texts of info are valid until the next request. */
    if (pages_sweep(rpc, sweep, &info, e) < 0)
        return -1;
    *why = (struct sweep_why){ .sweep = sweep, .state = info.state };
    sweepview_add_counts(&text, &info);
    buf_add_char(&text, '\n');
    if (info.state == SWEEP_PAUSED)
        buf_printf(&text, "it is paused (ludwig resume %" PRId64 ")\n", sweep);
    if (info.refused != NULL)
        buf_printf(&text, "Slurm: %s\n", info.refused);
    if (info.held != NULL && info.jobs.held > 0)
        buf_printf(&text, "%s\n", info.held);
    if (info.advisor != NULL)
        buf_printf(&text, "advisor: %s\n", info.advisor);
    if (info.notice != NULL)
        buf_printf(&text, "notify: %s\n", info.notice);
    result = queue_read(rpc, &info, &queue, e);
    if (result == 0)
        result = add_waiting(&text, rpc, sweep, &queue, e);
    if (result == 0)
        result = add_failures(&text, rpc, sweep, e);
    why->lines = lines_of(&text, a);
    queue_free(&queue);
    buf_free(&text);
    return result;
}
