/* SPDX-License-Identifier: MIT */
/* publish.c - publishes whatever has piled up as one group */

#include "worker/publisher/publish.h"

#include "common/base/path.h"
#include "common/base/units.h"
#include "common/proto/layout.h"
#include "common/base/crash_point.h"
#include "worker/publisher/result_publish.h"

/* ---- a group ---- */

static bool went_well(const struct publish_item *item)
{
    return item->error.kind == ERR_NONE;
}

static void prepare_all(struct result *results, struct publish_item *items, size_t n,
                        struct publish_group *g, const char *host)
{
    for (size_t i = 0; i < n; i++) {
        char hex[TOKEN_HEX];

        token_hex(&items[i].token, hex);
        results[i].token = items[i].token;
        results[i].hex = arena_strdup(g->arena, hex);
        (void)result_prepare(&results[i], g, host, &items[i].error);
    }
}

static bool any_is_placed(const struct result *results, const struct publish_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (went_well(&items[i]) &&
            (results[i].step == RESULT_PLACED || results[i].carry.step == CARRY_COPIED))
            return true;
    return false;
}

static void fence_all(struct result *results, struct publish_item *items, size_t n,
                      struct publish_group *g)
{
    for (size_t i = 0; i < n; i++)
        if (went_well(&items[i]) && result_check_synced(&results[i], g, &items[i].error) == 0)
            (void)result_fence(&results[i], g, &items[i].error);
}

static void finish_all(struct result *results, struct publish_item *items, size_t n,
                       struct publish_group *g)
{
    for (size_t i = 0; i < n; i++) {
        if (went_well(&items[i]) && result_finish(&results[i], g, &items[i].error) == 0)
            items[i].report = results[i].report;
        result_free(&results[i]);
    }
}

void publish_group(struct scratch *s, struct shares *access, const char *host,
                   struct publish_item *items, size_t n, struct arena *a)
{
    struct publish_group g = { .scratch = s, .access = access, .arena = a };
    struct result *results = arena_alloc(a, n * sizeof *results);

    prepare_all(results, items, n, &g, host);
    if (any_is_placed(results, items, n)) {
        publish_group_sync(&g);
        CRASH_POINT_POINT(group_synced);
    }
    fence_all(results, items, n, &g);
    publish_group_sync_folders(&g);
    finish_all(results, items, n, &g);
    group_end(&g);
}

/* ---- taking back ---- */

static const char *run_path_of(const struct order *o, struct arena *a)
{
    const struct assignment *x = &o->assignment;
    struct buf path = { 0 };
    const char *text;

    layout_run(&path, o->work.project, x->param_name, x->job_name);
    text = arena_strdup(a, buf_text(&path));
    buf_free(&path);
    return text;
}

/* Renamed first, so that no half-removed result is ever seen. */
static int withdraw_from(struct publish_group *g, const struct publish_group_folder *f,
                         const char *final, const char *temporary, const struct token *token,
                         struct err *e)
{
    const char *path = arena_printf(g->arena, "%s/%s", f->path, temporary);
    struct token owner;
    int rc = jobjson_read_token(f->dir, final, &owner, e);

    if (rc < 0)
        return -1;
    if (rc == 1 && token_equal(&owner, token) &&
        share_rename(f->dir, final, f->dir, temporary, e) < 0)
        return err_wrap(e, "withdraw %s", final);
    CRASH_POINT_POINT(withdraw_renamed);
    if (publish_group_remove(g, f->share->name, path, e) < 0 ||
        share_sync_dir(f->dir, f->path, e) < 0)
        return -1;
    CRASH_POINT_POINT(withdraw_removed);
    return 0;
}

static int withdraw_order(struct publish_group *g, const struct order *o, const struct token *token,
                          struct err *e)
{
    const char *path = run_path_of(o, g->arena);
    const char *name = path_basename(path);
    const char *folder = arena_strndup(g->arena, path, (size_t)(name - path) - 1);
    struct publish_group_folder *f = publish_group_folder(g, o->share, folder, e);
    struct buf temporary = { 0 };
    int result;

    if (f == NULL)
        return -1;
    layout_temporary(&temporary, name, token);
    result = withdraw_from(g, f, name, buf_text(&temporary), token, e);
    buf_free(&temporary);
    return result;
}

/* From now on, whatever agent comes: there is no result, and the job is not to run again. */
static int report_withdrawn(const struct scratch *s, const struct token *token, const char *hex,
                            struct arena *a, struct err *e)
{
    const char *path = arena_printf(a, "%s/%s", hex, JOB_REPORT);
    struct report r;

    if (scratch_read(s->published_fd, path, &report_schema, a, &r, NULL) < 0)
        r = (struct report){ .exit_code = SCHEMA_NONE, .signal = SCHEMA_NONE };
    r.token = *token;
    r.event = EV_WITHDRAW;
    r.at = units_now_ms();
    r.run_path = NULL;
    r.metrics = (struct list){ 0 };
    if (scratch_replace(s->published_fd, path, &report_schema, &r, e) < 0)
        return -1;
    CRASH_POINT_POINT(withdraw_reported);
    return 0;
}

/* Without an order it was withdrawn and discarded before. */
int publish_withdraw(struct scratch *s, struct shares *access, const struct token *token,
                     struct arena *a, struct err *e)
{
    struct publish_group g = { .scratch = s, .access = access, .arena = a };
    char hex[TOKEN_HEX];
    struct order order;
    struct err why = { 0 };
    const char *path;
    int result = 0;

    token_hex(token, hex);
    path = arena_printf(a, "%s/%s", hex, JOB_ORDER);
    if (scratch_read(s->published_fd, path, &order_schema, a, &order, &why) < 0) {
        if (why.kind != ERR_NOT_FOUND)
            result = err_set(e, why.kind, "%s", why.text);
    } else if (withdraw_order(&g, &order, token, e) < 0 ||
               report_withdrawn(s, token, hex, a, e) < 0) {
        result = -1;
    }
    group_end(&g);
    return result;
}
