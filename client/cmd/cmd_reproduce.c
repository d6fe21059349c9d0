/* SPDX-License-Identifier: MIT */
/* cmd_reproduce.c - ludwig reproduce: runs a job once more, and says what came out differently */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/cmd/reproduction.h"
#include "client/query/pages.h"
#include "client/query/selector.h"
#include "client/session/session.h"
#include "client/session/sweep_wait.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "client/util/shell_env.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "common/data/json.h"
#include "common/proto/layout.h"

enum { JOB_JSON_MAX_BYTES = 64 * 1024 * 1024 };

struct options {
    bool json;
    struct list env;
};

static const struct opt options[] = {
    { "env", 0, OPT_STRS, "NAME", offsetof(struct options, env), 0, 0,
      "pass this variable of the shell again: its value was forgotten when the sweep ended" },
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { 0 },
};

static const struct field difference_fields[] = {
    FIELD(struct difference, of, FIELD_STR, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct difference, name, FIELD_STR, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct difference, before, FIELD_STR, 0, INT64_MAX),
    FIELD(struct difference, now, FIELD_STR, 0, INT64_MAX),
};
const struct schema difference_schema = SCHEMA(struct difference, "difference", difference_fields);

static const struct field reproduction_fields[] = {
    FIELD(struct reproduction, job, FIELD_STR, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct reproduction, again, FIELD_STR, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct reproduction, same, FIELD_BOOL, 0, 0),
    FIELD(struct reproduction, same_metrics, FIELD_INT, 0, INT64_MAX),
    FIELD(struct reproduction, same_files, FIELD_INT, 0, INT64_MAX),
    FIELD_OF(struct reproduction, differences, FIELD_LIST, 0, INT64_MAX, &difference_schema),
};
const struct schema reproduction_schema =
    SCHEMA(struct reproduction, "reproduction", reproduction_fields);

/* ---- two job.json, compared ---- */

struct comparing {
    struct arena *arena;
    struct reproduction *to;
    size_t capacity;
};

static const char *text_of(struct arena *a, const struct value *v)
{
    struct buf text = { 0 };

    if (v == NULL || v->type == VALUE_NULL)
        return NULL;
    json_add_text(&text, v);
    return buf_to_arena(&text, a);
}

static void add_difference(struct comparing *c, const char *of, const char *name,
                           const char *before, const char *now)
{
    struct list *all = &c->to->differences;
    struct difference *items;

    if (all->n == c->capacity) {
        c->capacity = c->capacity == 0 ? 16 : 2 * c->capacity;
        items = arena_alloc(c->arena, c->capacity * sizeof *items);
        if (all->n > 0)
            memcpy(items, all->items, all->n * sizeof *items);
        all->items = items;
    }
    items = all->items;
    items[all->n++] = (struct difference){ of, name, before, now };
}

/* Compares a member; returns whether both runs have the same. */
static bool compare_member(struct comparing *c, const char *of, const char *name,
                           const struct value *before, const struct value *now)
{
    const char *x = text_of(c->arena, before), *y = text_of(c->arena, now);

    if (x == y || (x != NULL && y != NULL && strcmp(x, y) == 0))
        return true;
    add_difference(c, of, name, x, y);
    return false;
}

static void compare_metrics(struct comparing *c, const struct value *before,
                            const struct value *now)
{
    for (size_t i = 0; i < before->map.n; i++) {
        const char *name = before->map.members[i].key.str.s;

        c->to->same_metrics +=
            compare_member(c, "metric", name, &before->map.members[i].value, value_get(now, name));
    }
    for (size_t i = 0; i < now->map.n; i++)
        if (value_get(before, now->map.members[i].key.str.s) == NULL)
            compare_member(c, "metric", now->map.members[i].key.str.s, NULL,
                           &now->map.members[i].value);
}

static const char *path_of(struct arena *a, const struct value *file)
{
    const char *path = text_of(a, value_get(file, "path"));

    return path != NULL ? path : "";
}

/* Both lists are in the order of their paths. */
static void compare_files(struct comparing *c, const struct value *before, const struct value *now)
{
    for (size_t i = 0, k = 0; i < before->list.n || k < now->list.n;) {
        const struct value *x = i < before->list.n ? &before->list.items[i] : NULL;
        const struct value *y = k < now->list.n ? &now->list.items[k] : NULL;
        const char *path_x = x != NULL ? path_of(c->arena, x) : NULL;
        const char *path_y = y != NULL ? path_of(c->arena, y) : NULL;
        int order = x == NULL ? 1 : y == NULL ? -1 : strcmp(path_x, path_y);

        i += order <= 0;
        k += order >= 0;
        if (order < 0)
            compare_member(c, "file", path_x, value_get(x, "sha256"), NULL);
        else if (order > 0)
            compare_member(c, "file", path_y, NULL, value_get(y, "sha256"));
        else
            c->to->same_files +=
                compare_member(c, "file", path_x, value_get(x, "sha256"), value_get(y, "sha256"));
    }
}

/* The member of that name, or an empty value if there is none of that type. */
static const struct value *member_of(const struct value *job, const char *name,
                                     enum value_type type)
{
    static const struct value none[] = {
        [VALUE_LIST] = { .type = VALUE_LIST }, [VALUE_MAP] = { .type = VALUE_MAP }
    };
    const struct value *v = value_get(job, name);

    return v != NULL && v->type == type ? v : &none[type];
}

void reproduction_compare(struct reproduction *to, const struct value *before,
                          const struct value *now, struct arena *a)
{
    static const char *const ends[] = { "exit_code", "signal", "cause" };
    struct comparing c = { .arena = a, .to = to };

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        compare_member(&c, "end", ends[i], value_get(before, ends[i]), value_get(now, ends[i]));
    compare_metrics(&c, member_of(before, "metrics", VALUE_MAP),
                    member_of(now, "metrics", VALUE_MAP));
    compare_files(&c, member_of(before, "files", VALUE_LIST), member_of(now, "files", VALUE_LIST));
    to->same = to->differences.n == 0;
}

/* ---- the command ---- */

/* Reads what a job left on the share. */
static int read_job(struct session *s, struct arena *a, const struct target *t, struct value *to,
                    struct err *e)
{
    struct share_dir *drive;
    struct job_info job;
    struct buf text = { 0 };
    char *path;
    int result;

    if (pages_job(&s->rpc, t, &job, e) < 0)
        return -1;
    if (job.run_path == NULL)
        return err_set(e, ERR_NOT_FOUND, "job %s is %s: it has left nothing to compare with",
                       job.job, job_state_names[job.state]);
    drive = session_open_drive(s, e);
    if (drive == NULL)
        return -1;
    path = path_join(job.run_path, LAYOUT_JOB_JSON);
    result = share_read(drive, path, JOB_JSON_MAX_BYTES, &text, e);
    if (result == 0)
        result = json_read(arena_strndup(a, buf_text(&text), text.n), text.n, a, to, e);
    if (result < 0)
        err_wrap(e, "%s", path);
    buf_free(&text);
    free(path);
    share_close(drive);
    return result;
}

static void add_side(struct buf *out, const struct difference *d, const char *text)
{
    if (text == NULL)
        buf_add_str(out, "nothing");
    else if (strcmp(d->of, "file") == 0)
        buf_printf(out, "%.12s...", text);
    else
        buf_add_str(out, text);
}

static int show(const struct reproduction *r, struct err *e)
{
    const struct difference *d = r->differences.items;
    struct buf out = { 0 };

    buf_printf(
        &out, "job %s came out %s job %s: %" PRId64 " metric%s and %" PRId64 " file%s are the same",
        r->again, r->same ? "as" : "otherwise than", r->job, r->same_metrics,
        r->same_metrics == 1 ? "" : "s", r->same_files, r->same_files == 1 ? "" : "s");
    for (size_t i = 0; i < r->differences.n; i++) {
        buf_printf(&out, "\n  %s %s: ", d[i].of, d[i].name);
        add_side(&out, &d[i], d[i].before);
        buf_add_str(&out, " -> ");
        add_side(&out, &d[i], d[i].now);
    }
    safe_text_clean(&out, "\n");
    buf_add_char(&out, '\n');
    return output_write(&out, e);
}

static int run_again(struct cli *cli, struct session *s, const struct target *t, struct err *e)
{
    const struct options *o = cli->options;
    struct msg_reproduce request = { .sweep = t->sweep, .job = t->first };
    struct target again = { .first = 1, .last = 1 };
    struct msg_reproduced reply;
    struct reproduction found = { 0 };
    struct value before, now;
    int waited;

    if (o->env.n > 0 && s->rpc.welcome.is_open)
        return err_set(e, ERR_USAGE, "--env: %s", shell_env_open_server);
    if (shell_env_read(&o->env, cli->arena, &request.passed, e) < 0 ||
        read_job(s, cli->arena, t, &before, e) < 0 ||
        rpc_call(&s->rpc, MSG_REPRODUCE, &request, &reply, e) < 0)
        return -1;
    again.sweep = reply.sweep;
    found.job = arena_printf(cli->arena, "%" PRId64 ".%" PRId64, t->sweep, t->first);
    found.again = arena_printf(cli->arena, "%" PRId64 ".1", reply.sweep);
    output_note("job %s runs once more, as job %s", found.job, found.again);
    waited = sweep_wait(&s->rpc, reply.sweep, e);
    if (waited < 0 || waited == EXIT_INTERRUPTED)
        return waited;
    if (read_job(s, cli->arena, &again, &now, e) < 0)
        return -1;
    reproduction_compare(&found, &before, &now, cli->arena);
    if ((o->json ? output_write_json(&reproduction_schema, &found, e) : show(&found, e)) < 0)
        return -1;
    return found.same ? EXIT_WELL : EXIT_FAILED;
}

static int reproduce_job(struct cli *cli, struct err *e)
{
    static const struct session_wants wants = { .worker = true };
    struct session s;
    struct target t;
    int result;

    if (selector_check(&cli->args, e) < 0 || session_start(cli, &s, &wants, e) < 0)
        return -1;
    result = selector_job(&s.rpc, cli->args.words[0], &t, e);
    if (result == 0)
        result = run_again(cli, &s, &t, e);
    session_close(&s);
    return result;
}

const struct command cmd_reproduce = {
    .name = "reproduce",
    .args = "JOB [OPTION]...",
    .help = "run a job once more, and say what came out differently",
    .more = "The job runs in a sweep of its own, with the source, data, command,\n"
            "environment, parameters and seed of the first time. When it has ended, the\n"
            "values that it reported last, its files (by their content) and how it ended are\n"
            "compared. The exit code is 0 if all is the same, and 1 if not. Ctrl-C leaves\n"
            "the job running.\n"
            "\n"
            "  ludwig reproduce 7.13\n",
    .min_args = 1,
    .max_args = 1,
    .options = options,
    .options_size = sizeof(struct options),
    .run = reproduce_job,
};
