/* SPDX-License-Identifier: MIT */
/* publish.c - publishes whatever has piled up as one group */

#include "worker/publisher/publish.h"

#include "common/base/path.h"
#include "common/base/units.h"
#include "common/proto/layout.h"
#include "common/base/crash_point.h"
#include "worker/publisher/result.h"

/* ---- a group ---- */

void publish_group(struct scratch *s, struct shares *access, const char *host,
                   struct publish_item *items, size_t n, struct arena *a)
{
    struct publish_group g = { .scratch = s, .access = access, .arena = a };
    struct result *results = arena_alloc(a, n * sizeof *results);
    bool any_is_placed = false;

    for (size_t i = 0; i < n; i++) {
        char hex[TOKEN_HEX];

        token_hex(&items[i].token, hex);
        results[i].token = items[i].token;
        results[i].hex = arena_strdup(a, hex);
        if (result_prepare(&results[i], &g, host, &items[i].error) == 0)
            any_is_placed |=
                results[i].step == RESULT_PLACED || results[i].carry.step == CARRY_COPIED;
    }
    if (any_is_placed) {
        publish_group_sync(&g);
        CRASH_POINT_POINT(group_synced);
    }
    for (size_t i = 0; i < n; i++)
        if (items[i].error.kind == ERR_NONE &&
            result_check_synced(&results[i], &g, &items[i].error) == 0)
            (void)result_fence(&results[i], &g, &items[i].error);
    publish_group_sync_folders(&g);
    for (size_t i = 0; i < n; i++) {
        if (items[i].error.kind == ERR_NONE && result_finish(&results[i], &g, &items[i].error) == 0)
            items[i].report = results[i].report;
        saved_free(&results[i].saved);
    }
    publish_group_end(&g);
}

/* ---- taking back ---- */

/* Renamed first, so that no half-removed result is ever seen. */
static int withdraw_result(struct publish_group *g, const struct order *o,
                           const struct token *token, struct err *e)
{
    const struct assignment *x = &o->assignment;
    struct buf text = { 0 };
    const char *path, *name, *folder, *temporary;
    struct publish_group_folder *f;
    struct token owner;
    int rc;

    layout_run(&text, o->work.project, x->param_name, x->job_name);
    path = buf_to_arena(&text, g->arena);
    name = path_basename(path);
    folder = arena_strndup(g->arena, path, (size_t)(name - path) - 1);
    layout_temporary(&text, name, token);
    temporary = buf_to_arena(&text, g->arena);
    f = publish_group_folder(g, o->share, folder, e);
    if (f == NULL)
        return -1;
    rc = jobjson_read_token(f->dir, name, &owner, e);
    if (rc < 0)
        return -1;
    if (rc == 1 && token_equal(&owner, token) &&
        share_rename(f->dir, name, f->dir, temporary, e) < 0)
        return err_wrap(e, "withdraw %s", name);
    CRASH_POINT_POINT(withdraw_renamed);
    if (publish_group_remove(g, o->share, arena_printf(g->arena, "%s/%s", folder, temporary), e) <
            0 ||
        share_sync_dir(f->dir, f->path, e) < 0)
        return -1;
    CRASH_POINT_POINT(withdraw_removed);
    return 0;
}

/* Its report then says, to whatever agent comes: there is no result, and the job is not to run again.
 * Without an order it was withdrawn and discarded before. */
int publish_withdraw(struct scratch *s, struct shares *access, const struct token *token,
                     struct arena *a, struct err *e)
{
    struct publish_group g = { .scratch = s, .access = access, .arena = a };
    char hex[TOKEN_HEX];
    const char *report;
    struct order order;
    struct report r;
    struct err why = { 0 };
    int result;

    token_hex(token, hex);
    report = arena_printf(a, "%s/%s", hex, JOB_REPORT);
    if (scratch_read(s->published_fd, arena_printf(a, "%s/%s", hex, JOB_ORDER), &order_schema, a,
                     &order, &why) < 0)
        return why.kind == ERR_NOT_FOUND ? 0 : err_set(e, why.kind, "%s", why.text);
    result = withdraw_result(&g, &order, token, e);
    publish_group_end(&g);
    if (result < 0)
        return -1;
    if (scratch_read(s->published_fd, report, &report_schema, a, &r, NULL) < 0)
        r = (struct report){ .exit_code = SCHEMA_NONE, .signal = SCHEMA_NONE };
    r.token = *token;
    r.event = EV_WITHDRAW;
    r.at = units_now_ms();
    r.run_path = NULL;
    r.metrics = (struct list){ 0 };
    if (scratch_replace(s->published_fd, report, &report_schema, &r, e) < 0)
        return -1;
    CRASH_POINT_POINT(withdraw_reported);
    return 0;
}
