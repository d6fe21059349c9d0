/* SPDX-License-Identifier: MIT */
/* chunk.c - the jobs of a batch, as their one process is told them */

#include "worker/runner/chunk.h"

#include <inttypes.h>
#include <string.h>

#include "common/data/msgpack.h"
#include "common/data/template.h"

size_t chunk_count(const struct order_run *run)
{
    return 1 + run->mates.n;
}

const struct assignment *chunk_at(const struct order_run *run, size_t i)
{
    const struct assignment *mates = run->mates.items;

    return i == 0 ? &run->order.assignment : &mates[i - 1];
}

/* ---- one job ---- */

struct filling {
    struct arena *arena;
    struct member *at;
    const char *folder;
};

static void add(struct filling *f, const char *key, struct value value)
{
    *f->at++ = (struct member){ value_str(key), value };
}

static void add_path(struct filling *f, const char *key, const char *name)
{
    add(f, key, value_str(arena_printf(f->arena, "%s/%s", f->folder, name)));
}

static struct value describe(const struct assignment *x, const struct value *params,
                             const char *run_path, struct arena *a)
{
    enum { ENTRIES = 10 };
    struct value map = { .type = VALUE_MAP };
    struct filling f = { .arena = a };
    char hex[TOKEN_HEX];

    token_hex(&x->token, hex);
    f.folder = arena_printf(a, "%s/%s", run_path, hex);
    f.at = map.map.members = arena_alloc(a, ENTRIES * sizeof *f.at);
    add(&f, "job", value_str(arena_printf(a, "%" PRId64 ".%" PRId64, x->sweep, x->job)));
    add(&f, "param_name", value_str(x->param_name));
    add(&f, "job_name", value_str(x->job_name));
    add(&f, "rep", value_int(x->rep));
    add(&f, "seed", value_int(x->seed));
    add(&f, "restart", value_int(x->restart));
    add(&f, "params", *params);
    add_path(&f, "param2val", JOB_PARAM2VAL ".json");
    add_path(&f, "save_path", JOB_SAVE);
    add_path(&f, "checkpoint", JOB_CHECKPOINT);
    map.map.n = (size_t)(f.at - map.map.members);
    return map;
}

/* ---- all of them ---- */

int chunk_make(const struct order_run *run, const char *run_path, struct arena *a,
               struct value *chunk, struct err *e)
{
    size_t n = chunk_count(run);
    struct value *items = arena_alloc(a, n * sizeof *items);

    for (size_t i = 0; i < n; i++) {
        const struct assignment *x = chunk_at(run, i);
        struct value params;

        if (mp_read(x->params.data, x->params.n, a, &params, e) < 0)
            return err_wrap(e, "parameters of job %" PRId64, x->job);
        if (params.type != VALUE_MAP)
            return err_set(e, ERR_PROTOCOL, "the parameters of job %" PRId64 " are no map", x->job);
        items[i] = describe(x, &params, run_path, a);
    }
    *chunk = (struct value){ .type = VALUE_LIST };
    chunk->list.items = items;
    chunk->list.n = n;
    return 0;
}

int chunk_check_command(const char *command, const struct value *chunk, struct err *e)
{
    struct buf first = { 0 };
    int result = 0;

    for (size_t i = 0; result == 0 && i < chunk->list.n; i++) {
        struct buf own = { 0 };

        result = template_expand(command, value_get(&chunk->list.items[i], "params"), &own, e);
        if (result == 0 && i == 0)
            buf_add(&first, own.bytes, own.n);
        else if (result == 0 && strcmp(buf_text(&first), buf_text(&own)) != 0)
            result =
                err_set(e, ERR_USAGE,
                        "the command is another one for each job of a batch, but they have one "
                        "process: take the {placeholders} out, and read $LUDWIG_CHUNK");
        buf_free(&own);
    }
    buf_free(&first);
    return result;
}
