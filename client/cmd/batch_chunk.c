/* SPDX-License-Identifier: MIT */
/* batch_chunk.c - the jobs of the process that this runs in */
#include <stdlib.h>
#include <string.h>

#include "client/cmd/batch_chunk.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/data/json.h"
#include "common/proto/envvars.h"
#include "common/proto/jobspec.h"

enum { NAMED_MAX = 20 };

static const size_t CHUNK_MAX_BYTES = (size_t)BATCH_MAX * (PARAM2VAL_MAX_BYTES + 64 * 1024);

static const char *batch_chunk_path(void)
{
    const char *path = getenv(job_envvars[ENV_CHUNK].name);

    return path != NULL && path[0] != '\0' ? path : NULL;
}

bool batch_chunk_is_here(void)
{
    return batch_chunk_path() != NULL;
}

/* "chunk.json" beside "chunk.msgpack" */
static char *json_path(void)
{
    char *dir = path_dirname(batch_chunk_path()), *path = path_join(dir, "chunk.json");

    free(dir);
    return path;
}

static const char *job_of(const struct value *item)
{
    const struct value *job = item->type == VALUE_MAP ? value_get(item, "job") : NULL;

    return job != NULL && job->type == VALUE_STR ? job->str.s : "";
}

static int refuse(const struct value *jobs, const char *job, struct err *e)
{
    struct buf names = { 0 };

    for (size_t i = 0; i < jobs->list.n && i < NAMED_MAX; i++)
        buf_printf(&names, "%s%s", i > 0 ? ", " : "", job_of(&jobs->list.items[i]));
    if (jobs->list.n > NAMED_MAX)
        buf_printf(&names, " and %zu more", jobs->list.n - NAMED_MAX);
    err_set(e, ERR_USAGE, "--job: %s is none of this chunk's jobs, which are %s", job,
            buf_text(&names));
    buf_free(&names);
    return -1;
}

static int find(const struct value *jobs, const char *path, const char *job, struct err *e)
{
    if (jobs->type != VALUE_LIST)
        return err_set(e, ERR_FAILED, "%s: it is no list of jobs", path);
    for (size_t i = 0; i < jobs->list.n; i++)
        if (strcmp(job_of(&jobs->list.items[i]), job) == 0)
            return 0;
    return refuse(jobs, job, e);
}

int batch_chunk_check(const char *job, struct err *e)
{
    char *path = json_path();
    struct arena *a = arena_create();
    struct buf text = { 0 };
    struct value jobs;
    int result = io_read_file(path, CHUNK_MAX_BYTES, &text, e);

    if (result == 0 && json_read(buf_text(&text), text.n, a, &jobs, e) < 0)
        result = err_wrap(e, "%s", path);
    if (result == 0)
        result = find(&jobs, path, job, e);
    buf_free(&text);
    arena_destroy(a);
    free(path);
    return result;
}
