/* SPDX-License-Identifier: MIT */
/* jobjson.c - job.json, which lies with every result and names its attempt */

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
static struct value text_or_null(const char *s)
{
    return s == NULL ? value_null() : value_str(s);
}

static struct value int_or_null(int64_t number)
{
    return number == SCHEMA_NONE ? value_null() : value_int(number);
}

static struct value amount_or_null(int64_t amount)
{
    return amount > 0 ? value_int(amount) : value_null();
}

static struct value time_or_null(int64_t at, struct arena *a)
{
    struct buf text = { 0 };

    if (at <= 0)
        return value_null();
    units_add_time_utc(&text, at);
    return value_str(buf_to_arena(&text, a));
}

/* Returns null for nan and infinity, which JSON does not have. */
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
        char hex[DIGEST_HEX];

        digest_hex(&files[i]->digest, hex);
        const struct member file[] = {
            value_member("path", value_str(files[i]->path)),
            value_member("size", value_int((int64_t)files[i]->size_bytes)),
            value_member("sha256", value_str(arena_strdup(a, hex))),
        };

        items[i] = value_map(a, file, 3);
    }
    free(files);
    return value_list(items, n);
}

/* Describes the environment that the job ran in; null: only the node's own. */
static struct value environment_of(const struct environment *x, struct arena *a)
{
    const char *const *names = x->modules.items;
    struct value *modules = arena_alloc(a, x->modules.n * sizeof *modules);

    for (size_t i = 0; i < x->modules.n; i++)
        modules[i] = value_str(names[i]);
    const struct member members[] = { value_member("kind", text_or_null(x->kind)),
                                      value_member("path", text_or_null(x->path)),
                                      value_member("python", text_or_null(x->python)),
                                      value_member("staged",
                                                   value_bool(x->data != NULL && x->tool == NULL)),
                                      value_member("modules", value_list(modules, x->modules.n)),
                                      value_member("built_by", text_or_null(x->tool)),
                                      value_member("file", text_or_null(x->file)) };

    return x->path == NULL && x->tool == NULL && x->modules.n == 0
               ? value_null()
               : value_map(a, members, x->tool != NULL ? 7 : 5);
}

void jobjson_add(struct buf *out, const struct jobjson *j)
{
    const struct order *o = j->order;
    const struct assignment *x = &o->assignment;
    const struct jobspec *w = &o->work.work;
    const struct outcome *u = j->outcome;
    const struct saved *s = j->saved;
    size_t n = 0, n_metrics = j->metrics->list.n;
    const char *command = w->command;
    struct arena *a = arena_create();
    struct value *renamed = arena_alloc(a, s->n_renames * sizeof *renamed);
    struct value *left_out = arena_alloc(a, s->n_left_out * sizeof *left_out);
    struct member *values = arena_alloc(a, n_metrics * sizeof *values);
    struct member *ranges = arena_alloc(a, n_metrics * sizeof *ranges);
    struct buf text = { 0 };
    struct value v, params;
    char hex[TOKEN_HEX];

    token_hex(&x->token, hex);
    if (mp_read(x->params.data, x->params.n, a, &params, NULL) < 0)
        params = value_null();
    /* The command with the parameters' values, or as the user wrote it if they do not fit. */
    if (params.type == VALUE_MAP && template_expand(w->command, &params, &text, NULL) == 0)
        command = buf_to_arena(&text, a);
    buf_free(&text);
    for (size_t i = 0; i < n_metrics; i++) {
        const struct metric *m = &j->metrics->list.items[i];
        const struct member range[] = { value_member("min", number_or_null(m->min)),
                                        value_member("max", number_or_null(m->max)),
                                        value_member("n", int_or_null(m->n)),
                                        value_member("step", int_or_null(m->step)) };

        values[i] = value_member(m->name, number_or_null(m->value));
        ranges[i] = value_member(m->name, value_map(a, range, 4));
    }
    for (size_t i = 0; i < s->n_renames; i++) {
        const struct member names[] = { value_member("path", value_str(s->renames[i].path)),
                                        value_member("was", value_str(s->renames[i].from)) };

        renamed[i] = value_map(a, names, 2);
    }
    for (size_t i = 0; i < s->n_left_out; i++)
        left_out[i] = value_str(s->left_out[i]);

    const struct member git[] = { value_member("commit", text_or_null(w->git_commit)),
                                  value_member("dirty", value_bool(w->git_dirty)) };
    struct member members[MEMBERS_MAX] = {
        value_member("token", value_str(hex)),
        value_member("server_id", text_or_null(o->server_id)),
        value_member("job", value_str(arena_printf(a, "%" PRId64 ".%" PRId64, x->sweep, x->job))),
        value_member("attempt", int_or_null(x->attempt)),
        value_member("sweep", int_or_null(x->sweep)),
        value_member("project", text_or_null(o->work.project)),
        value_member("param_name", text_or_null(x->param_name)),
        value_member("job_name", text_or_null(x->job_name)),
        value_member("rep", int_or_null(x->rep)),
        value_member("seed", int_or_null(x->seed)),
        value_member("params", params),
        value_member("command", text_or_null(command)),
        value_member("git", w->git_commit == NULL ? value_null() : value_map(a, git, 2)),
        value_member("environment", environment_of(&w->environment, a)),
        value_member("host", text_or_null(j->host)),
        value_member("exit_code", int_or_null(u->exit_code)),
        value_member("signal", int_or_null(u->signal)),
        value_member("cause",
                     u->cause == CAUSE_NONE ? value_null() : value_str(cause_names[u->cause])),
        value_member("reason", text_or_null(u->reason)),
        value_member("started_at", time_or_null(u->started_at, a)),
        value_member("ended_at", time_or_null(u->ended_at, a)),
        value_member("max_rss_bytes", int_or_null(u->max_rss_bytes)),
        value_member("cpu_seconds", value_float((double)u->cpu_ms / 1000)),
        value_member("gpu_memory_bytes",
                     int_or_null(u->gpu_looks > 0 ? u->gpu_memory_bytes : SCHEMA_NONE)),
        value_member("gpu_percent",
                     number_or_null(u->gpu_busy_looks > 0 ? u->gpu_percent : (double)NAN)),
        value_member("memory_bytes", amount_or_null(w->resources.memory_bytes)),
        value_member("time_ms", amount_or_null(w->resources.time_ms)),
        value_member("metrics", value_map(a, values, n_metrics)),
        value_member("metric_ranges", value_map(a, ranges, n_metrics)),
        value_member("files", files_of(s, a)),
    };

    while (members[n].key.type == VALUE_STR)
        n++;
    if (s->n_renames > 0)
        members[n++] = value_member("renamed", value_list(renamed, s->n_renames));
    if (s->n_left_out > 0)
        members[n++] = value_member("left_out", value_list(left_out, s->n_left_out));
    if (j->metrics->n_left_out > 0) {
        const struct member lines[] = {
            value_member("lines", value_int((int64_t)j->metrics->n_left_out)),
            value_member("first", value_str(j->metrics->left_out)),
        };

        members[n++] = value_member("not_taken", value_map(a, lines, 2));
    }
    v = value_map(a, members, n);
    json_add_pretty(out, &v);
    arena_destroy(a);
}

/* A job.json is ours if we may read it and its first member is "token". */
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
