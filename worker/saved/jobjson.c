/* SPDX-License-Identifier: MIT */
/* jobjson.c - job.json, which lies with every result and says whose it is */

#include "worker/saved/jobjson.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "common/data/json.h"
#include "common/data/msgpack.h"
#include "common/data/template.h"
#include "common/proto/layout.h"

enum { HEAD_BYTES = 256, MEMBERS_MAX = 40 };

/* ---- a map in the making ---- */

struct map {
    struct member members[MEMBERS_MAX];
    size_t n;
};

static void put(struct map *m, const char *key, struct value v)
{
    m->members[m->n++] = (struct member){ value_str(key), v };
}

static void put_str(struct map *m, const char *key, const char *s)
{
    put(m, key, s == NULL ? value_null() : value_str(s));
}

static void put_number(struct map *m, const char *key, int64_t number)
{
    put(m, key, number == SCHEMA_NONE ? value_null() : value_int(number));
}

static void put_time(struct map *m, const char *key, int64_t at, struct arena *a)
{
    struct buf text = { 0 };

    if (at > 0)
        units_add_time_utc(&text, at);
    put_str(m, key, at > 0 ? arena_strdup(a, buf_text(&text)) : NULL);
    buf_free(&text);
}

static struct value take_map(const struct map *m, struct arena *a)
{
    struct value v = { .type = VALUE_MAP };

    v.map.members = arena_alloc(a, m->n * sizeof *m->members);
    memcpy(v.map.members, m->members, m->n * sizeof *m->members);
    v.map.n = m->n;
    return v;
}

static struct value list_of(struct value *items, size_t n)
{
    struct value v = { .type = VALUE_LIST };

    v.list.items = items;
    v.list.n = n;
    return v;
}

/* ---- its parts ---- */

/* As it was run, or as it was written when it could not be. */
static const char *command_of(const struct order *o, const struct value *params, struct arena *a)
{
    struct buf text = { 0 };
    const char *command = o->work.work.command;

    if (params->type == VALUE_MAP && template_expand(command, params, &text, NULL) == 0)
        command = arena_strdup(a, buf_text(&text));
    buf_free(&text);
    return command;
}

static struct value git_of(const struct jobspec *w, struct arena *a)
{
    struct map m = { .n = 0 };

    if (w->git_commit == NULL)
        return value_null();
    put_str(&m, "commit", w->git_commit);
    put(&m, "dirty", value_bool(w->git_dirty));
    return take_map(&m, a);
}

/* JSON has no word for what is no number. */
static struct value number_or_null(double x)
{
    return isfinite(x) ? value_float(x) : value_null();
}

static struct value metrics_of(const struct metrics *metrics, struct arena *a)
{
    struct value v = { .type = VALUE_MAP };

    v.map.members = arena_alloc(a, metrics->n * sizeof *v.map.members);
    for (size_t i = 0; i < metrics->n; i++)
        v.map.members[v.map.n++] = (struct member){ value_str(metrics->items[i].name),
                                                    number_or_null(metrics->items[i].value) };
    return v;
}

static struct value range_of(const struct metric *metric, struct arena *a)
{
    struct map m = { .n = 0 };

    put(&m, "min", number_or_null(metric->min));
    put(&m, "max", number_or_null(metric->max));
    put_number(&m, "n", metric->n);
    put_number(&m, "step", metric->step);
    return take_map(&m, a);
}

static struct value ranges_of(const struct metrics *metrics, struct arena *a)
{
    struct value v = { .type = VALUE_MAP };

    v.map.members = arena_alloc(a, metrics->n * sizeof *v.map.members);
    for (size_t i = 0; i < metrics->n; i++)
        v.map.members[v.map.n++] =
            (struct member){ value_str(metrics->items[i].name), range_of(&metrics->items[i], a) };
    return v;
}

static struct value file_of(const struct saved_entry *entry, struct arena *a)
{
    char hex[DIGEST_HEX];
    struct map m = { .n = 0 };

    digest_hex(&entry->digest, hex);
    put_str(&m, "path", entry->path);
    put_number(&m, "size", (int64_t)entry->size_bytes);
    put_str(&m, "sha256", arena_strdup(a, hex));
    return take_map(&m, a);
}

static int compare_paths(const void *x, const void *y)
{
    return strcmp((*(const struct saved_entry *const *)x)->path,
                  (*(const struct saved_entry *const *)y)->path);
}

static struct value files_of(const struct saved *s, struct arena *a)
{
    const struct saved_entry **files = mem_resize(NULL, s->n, sizeof(void *));
    struct value *items = arena_alloc(a, s->n * sizeof *items);
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->entries[i].type == SAVED_FILE)
            files[n++] = &s->entries[i];
    if (n > 0)
        qsort(files, n, sizeof(void *), compare_paths);
    for (size_t i = 0; i < n; i++)
        items[i] = file_of(files[i], a);
    free(files);
    return list_of(items, n);
}

static struct value renames_of(const struct saved *s, struct arena *a)
{
    struct value *items = arena_alloc(a, s->n_renames * sizeof *items);

    for (size_t i = 0; i < s->n_renames; i++) {
        struct map m = { .n = 0 };

        put_str(&m, "path", s->renames[i].path);
        put_str(&m, "was", s->renames[i].from);
        items[i] = take_map(&m, a);
    }
    return list_of(items, s->n_renames);
}

static struct value left_out_of(const struct saved *s, struct arena *a)
{
    struct value *items = arena_alloc(a, s->n_left_out * sizeof *items);

    for (size_t i = 0; i < s->n_left_out; i++)
        items[i] = value_str(s->left_out[i]);
    return list_of(items, s->n_left_out);
}

/* ---- the whole ---- */

static void put_who(struct map *m, const struct order *o, struct arena *a)
{
    const struct assignment *x = &o->assignment;
    char hex[TOKEN_HEX];

    token_hex(&x->token, hex);
    put_str(m, "token", arena_strdup(a, hex));
    put_str(m, "server_id", o->server_id);
    put_str(m, "job", arena_printf(a, "%" PRId64 ".%" PRId64, x->sweep, x->job));
    put_number(m, "attempt", x->attempt);
    put_number(m, "sweep", x->sweep);
    put_str(m, "project", o->work.project);
    put_str(m, "param_name", x->param_name);
    put_str(m, "job_name", x->job_name);
    put_number(m, "rep", x->rep);
    put_number(m, "seed", x->seed);
}

static void put_what(struct map *m, const struct jobjson *j, struct arena *a)
{
    const struct order *o = j->order;
    struct value params;

    if (mp_read(o->assignment.params.data, o->assignment.params.n, a, &params, NULL) < 0)
        params = value_null();
    put(m, "params", params);
    put_str(m, "command", command_of(o, &params, a));
    put(m, "git", git_of(&o->work.work, a));
    put_str(m, "host", j->host);
}

static void put_outcome(struct map *m, const struct outcome *x, struct arena *a)
{
    put_number(m, "exit_code", x->exit_code);
    put_number(m, "signal", x->signal);
    put_str(m, "cause", x->cause == CAUSE_NONE ? NULL : cause_names[x->cause]);
    put_str(m, "reason", x->reason);
    put_time(m, "started_at", x->started_at, a);
    put_time(m, "ended_at", x->ended_at, a);
    put_number(m, "max_rss_bytes", x->max_rss_bytes);
    put(m, "cpu_seconds", value_float((double)x->cpu_ms / 1000));
}

void jobjson_add(struct buf *out, const struct jobjson *j)
{
    struct arena *a = arena_create();
    struct map m = { .n = 0 };
    struct value v;

    put_who(&m, j->order, a);
    put_what(&m, j, a);
    put_outcome(&m, j->outcome, a);
    put(&m, "metrics", metrics_of(j->metrics, a));
    put(&m, "metric_ranges", ranges_of(j->metrics, a));
    put(&m, "files", files_of(j->saved, a));
    if (j->saved->n_renames > 0)
        put(&m, "renamed", renames_of(j->saved, a));
    if (j->saved->n_left_out > 0)
        put(&m, "left_out", left_out_of(j->saved, a));
    v = take_map(&m, a);
    json_add_pretty(out, &v);
    arena_destroy(a);
}

/* ---- reading it ---- */

/* The value of the first member, if that is "token". */
static int token_of_head(const char *text, struct token *token)
{
    static const char key[] = "\"token\"";
    const char *at = text;
    char hex[TOKEN_HEX] = { 0 };

    at += *at == '{';
    at += strspn(at, " \t\r\n");
    if (strncmp(at, key, strlen(key)) != 0)
        return -1;
    at += strlen(key);
    at += strspn(at, " \t\r\n:");
    if (*at != '"')
        return -1;
    strncpy(hex, at + 1, TOKEN_HEX - 1);
    return token_parse(hex, token);
}

/* Ours are files that we may read. */
static bool is_none_of_ours(const struct err *e)
{
    return e->kind == ERR_NOT_FOUND || e->kind == ERR_DENIED || e->kind == ERR_USAGE;
}

int jobjson_read_token(const struct share_dir *at, const char *folder, struct token *token,
                       struct err *e)
{
    char *path = mem_printf("%s/%s", folder, LAYOUT_JOB_JSON);
    struct buf head = { 0 };
    struct err why = { 0 };
    int result;

    if (share_read(at, path, HEAD_BYTES, &head, &why) == 0)
        result = token_of_head(buf_text(&head), token) == 0;
    else
        result = is_none_of_ours(&why) ? 0 : err_set(e, why.kind, "%s", why.text);
    buf_free(&head);
    free(path);
    return result;
}
