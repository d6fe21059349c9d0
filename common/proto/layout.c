/* SPDX-License-Identifier: MIT */
/* layout.c - names on the shared drive */

#include "common/proto/layout.h"

#include <inttypes.h>
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

void layout_log(struct buf *out, const char *project, int64_t sweep, const char *param_name,
                const char *job_name, int64_t attempt)
{
    buf_printf(out, "%s/logs/%" PRId64 "/%s_%s", project, sweep, param_name, job_name);
    if (attempt > 1)
        buf_printf(out, ".a%" PRId64, attempt);
    buf_add_str(out, ".log");
}

void layout_live_metrics(struct buf *out, const char *log_path)
{
    size_t n = strlen(log_path), n_suffix = strlen(".log");

    if (n > n_suffix && strcmp(log_path + n - n_suffix, ".log") == 0)
        n -= n_suffix;
    buf_printf(out, "%.*s." LAYOUT_METRICS, (int)n, log_path);
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
