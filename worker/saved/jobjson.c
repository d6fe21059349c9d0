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

/* JSON has no word for what is no number. */
static struct value number_or_null(double x)
{
    return isfinite(x) ? value_float(x) : value_null();
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
    for (size_t i = 0; i < n; i++) {
        struct map m = { .n = 0 };
        char hex[DIGEST_HEX];

        digest_hex(&files[i]->digest, hex);
        put_str(&m, "path", files[i]->path);
        put_number(&m, "size", (int64_t)files[i]->size_bytes);
        put_str(&m, "sha256", arena_strdup(a, hex));
        items[i] = take_map(&m, a);
    }
    free(files);
    return list_of(items, n);
}

/* Of each measure its last value, and its range. */
static void put_metrics(struct map *m, const struct metrics *metrics, struct arena *a)
{
    struct value values = { .type = VALUE_MAP }, ranges = { .type = VALUE_MAP };

    values.map.members = arena_alloc(a, metrics->n * sizeof *values.map.members);
    ranges.map.members = arena_alloc(a, metrics->n * sizeof *ranges.map.members);
    values.map.n = ranges.map.n = metrics->n;
    for (size_t i = 0; i < metrics->n; i++) {
        const struct metric *x = &metrics->items[i];
        struct map range = { .n = 0 };

        values.map.members[i] = (struct member){ value_str(x->name), number_or_null(x->value) };
        put(&range, "min", number_or_null(x->min));
        put(&range, "max", number_or_null(x->max));
        put_number(&range, "n", x->n);
        put_number(&range, "step", x->step);
        ranges.map.members[i] = (struct member){ value_str(x->name), take_map(&range, a) };
    }
    put(m, "metrics", values);
    put(m, "metric_ranges", ranges);
}

void jobjson_add(struct buf *out, const struct jobjson *j)
{
    const struct order *o = j->order;
    const struct assignment *x = &o->assignment;
    const struct jobspec *w = &o->work.work;
    const struct outcome *u = j->outcome;
    const struct saved *s = j->saved;
    const char *command = w->command;
    struct arena *a = arena_create();
    struct map m = { .n = 0 }, git = { .n = 0 };
    struct buf text = { 0 };
    struct value v, params, *items;
    char hex[TOKEN_HEX];

    token_hex(&x->token, hex);
    put_str(&m, "token", hex);
    put_str(&m, "server_id", o->server_id);
    put_str(&m, "job", arena_printf(a, "%" PRId64 ".%" PRId64, x->sweep, x->job));
    put_number(&m, "attempt", x->attempt);
    put_number(&m, "sweep", x->sweep);
    put_str(&m, "project", o->work.project);
    put_str(&m, "param_name", x->param_name);
    put_str(&m, "job_name", x->job_name);
    put_number(&m, "rep", x->rep);
    put_number(&m, "seed", x->seed);
    if (mp_read(x->params.data, x->params.n, a, &params, NULL) < 0)
        params = value_null();
    put(&m, "params", params);
    /* As it was run, or as it was written when it could not be. */
    if (params.type == VALUE_MAP && template_expand(w->command, &params, &text, NULL) == 0)
        command = buf_to_arena(&text, a);
    buf_free(&text);
    put_str(&m, "command", command);
    if (w->git_commit != NULL) {
        put_str(&git, "commit", w->git_commit);
        put(&git, "dirty", value_bool(w->git_dirty));
    }
    put(&m, "git", w->git_commit == NULL ? value_null() : take_map(&git, a));
    put_str(&m, "host", j->host);
    put_number(&m, "exit_code", u->exit_code);
    put_number(&m, "signal", u->signal);
    put_str(&m, "cause", u->cause == CAUSE_NONE ? NULL : cause_names[u->cause]);
    put_str(&m, "reason", u->reason);
    put_time(&m, "started_at", u->started_at, a);
    put_time(&m, "ended_at", u->ended_at, a);
    put_number(&m, "max_rss_bytes", u->max_rss_bytes);
    put(&m, "cpu_seconds", value_float((double)u->cpu_ms / 1000));
    put_metrics(&m, j->metrics, a);
    put(&m, "files", files_of(s, a));
    items = arena_alloc(a, (s->n_renames + s->n_left_out) * sizeof *items);
    for (size_t i = 0; i < s->n_renames; i++) {
        struct map renamed = { .n = 0 };

        put_str(&renamed, "path", s->renames[i].path);
        put_str(&renamed, "was", s->renames[i].from);
        items[i] = take_map(&renamed, a);
    }
    if (s->n_renames > 0)
        put(&m, "renamed", list_of(items, s->n_renames));
    for (size_t i = 0; i < s->n_left_out; i++)
        items[s->n_renames + i] = value_str(s->left_out[i]);
    if (s->n_left_out > 0)
        put(&m, "left_out", list_of(items + s->n_renames, s->n_left_out));
    v = take_map(&m, a);
    json_add_pretty(out, &v);
    arena_destroy(a);
}

/* Ours are files that we may read, and begin with "token". */
int jobjson_read_token(const struct share_dir *at, const char *folder, struct token *token,
                       struct err *e)
{
    static const char key[] = "\"token\"", blanks[] = " \t\r\n";
    char *path = mem_printf("%s/%s", folder, LAYOUT_JOB_JSON), hex[TOKEN_HEX] = { 0 };
    struct buf head = { 0 };
    struct err why = { 0 };
    const char *text;
    int result = 0;

    if (share_read(at, path, HEAD_BYTES, &head, &why) == 0) {
        text = buf_text(&head);
        text += *text == '{';
        text += strspn(text, blanks);
        if (strncmp(text, key, strlen(key)) == 0) {
            text += strlen(key);
            text += strspn(text, " \t\r\n:");
            if (*text == '"') {
                strncpy(hex, text + 1, TOKEN_HEX - 1);
                result = token_parse(hex, token) == 0;
            }
        }
    } else if (why.kind != ERR_NOT_FOUND && why.kind != ERR_DENIED && why.kind != ERR_USAGE) {
        result = err_set(e, why.kind, "%s", why.text);
    }
    buf_free(&head);
    free(path);
    return result;
}
