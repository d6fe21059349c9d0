/* SPDX-License-Identifier: MIT */
/* layout.c - names on the shared drive */

#include "common/proto/layout.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/path.h"

bool layout_is_project_name(const char *name)
{
    return path_is_portable_name(name) && name[0] != '.' && name[0] != '-';
}

void layout_param_name(struct buf *out, int64_t param_no)
{
    buf_printf(out, "param_%03" PRId64, param_no);
}

void layout_packs(struct buf *out, const char *project)
{
    buf_printf(out, "%s/.ludwig/packs", project);
}

void layout_sweep(struct buf *out, const char *project, int64_t sweep)
{
    buf_printf(out, "%s/sweeps/%" PRId64, project, sweep);
}

static void add_attempt(struct buf *out, int64_t attempt)
{
    if (attempt > 1)
        buf_printf(out, ".a%" PRId64, attempt);
}

void layout_log(struct buf *out, const char *project, int64_t sweep, const char *param_name,
                const char *job_name, int64_t attempt)
{
    buf_printf(out, "%s/logs/%" PRId64 "/%s_%s", project, sweep, param_name, job_name);
    add_attempt(out, attempt);
    buf_add_str(out, ".log");
}

/* The length of the text without this end, if it has it. */
static size_t without(const char *text, size_t n, const char *end)
{
    size_t n_end = strlen(end);

    return n > n_end && memcmp(text + n - n_end, end, n_end) == 0 ? n - n_end : n;
}

void layout_live_metrics(struct buf *out, const char *log_path)
{
    buf_printf(out, "%.*s." LAYOUT_METRICS, (int)without(log_path, strlen(log_path), ".log"),
               log_path);
}

void layout_earlier_metrics(struct buf *out, const char *log_path, int64_t attempt, int64_t earlier)
{
    struct buf end = { 0 };
    size_t n = without(log_path, strlen(log_path), ".log");

    add_attempt(&end, attempt);
    buf_printf(out, "%.*s", (int)without(log_path, n, buf_text(&end)), log_path);
    add_attempt(out, earlier);
    buf_add_str(out, "." LAYOUT_METRICS);
    buf_free(&end);
}

bool layout_metrics_before(struct buf *path)
{
    static const char end[] = "." LAYOUT_METRICS;
    size_t n = without(buf_text(path), path->n, end), n_digits = 0;
    const char *text = buf_text(path);
    int64_t attempt;

    while (n_digits < n && n_digits < 18 && text[n - n_digits - 1] >= '0' &&
           text[n - n_digits - 1] <= '9')
        n_digits++;
    if (n == path->n || n_digits == 0 || n < n_digits + 2 ||
        memcmp(text + n - n_digits - 2, ".a", 2) != 0)
        return false;
    attempt = strtoll(text + n - n_digits, NULL, 10);
    path->n = n - n_digits - 2;
    add_attempt(path, attempt - 1);
    buf_add_str(path, end);
    return attempt > 1;
}

void layout_run(struct buf *out, const char *project, const char *param_name, const char *job_name)
{
    buf_printf(out, "%s/runs/%s/%s", project, param_name, job_name);
}

void layout_failed(struct buf *out, const char *project, const char *param_name,
                   const char *job_name, int64_t attempt)
{
    buf_printf(out, "%s/failed/%s/%s.a%" PRId64, project, param_name, job_name, attempt);
}

void layout_stopped(struct buf *out, const char *project, const char *param_name,
                    const char *job_name, int64_t attempt)
{
    buf_printf(out, "%s/stopped/%s/%s.a%" PRId64, project, param_name, job_name, attempt);
}

void layout_checkpoints(struct buf *out, const char *project, const char *param_name)
{
    buf_printf(out, "%s/.ludwig/checkpoints/%s", project, param_name);
}

void layout_temporary(struct buf *out, const char *final_path, const struct token *token)
{
    const char *slash = strrchr(final_path, '/');
    const char *name = slash == NULL ? final_path : slash + 1;
    char hex[TOKEN_HEX];

    token_hex(token, hex);
    buf_printf(out, "%.*s.%s.%s", (int)(name - final_path), final_path, name, hex);
}
