/* SPDX-License-Identifier: MIT */
/* child_protocol.c - the tables of messages between the agent and its children */

#include "worker/base/child_protocol.h"

#include <string.h>

enum {
    PATH_MAX_BYTES = 4096,
    GPU_ID_MAX_BYTES = 200,
    RIGHTS_MAX_BYTES = 100 * 1024 /* fits an argument of a program; some 9,000 groups */
};

static const struct field number_fields[] = {
    FIELD(struct number, number, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
};
const struct schema number_schema = SCHEMA(struct number, "number", number_fields);

static const struct field gpu_entry_fields[] = {
    FIELD(struct gpu_entry, id, FIELD_STR, FIELD_REQUIRED, GPU_ID_MAX_BYTES),
};
const struct schema gpu_entry_schema = SCHEMA(struct gpu_entry, "gpu_entry", gpu_entry_fields);

static const struct field order_fields[] = {
    FIELD_OF(struct order, assignment, FIELD_STRUCT, FIELD_REQUIRED, 0, &assignment_schema),
    FIELD_OF(struct order, work, FIELD_STRUCT, FIELD_REQUIRED, 0, &sweep_work_schema),
    FIELD(struct order, server_id, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct order, share, FIELD_STR, FIELD_REQUIRED, PATH_MAX_BYTES),
    FIELD_OF(struct order, cpus, FIELD_LIST, 0, ORDER_CPUS_MAX, &number_schema),
    FIELD_OF(struct order, gpus, FIELD_LIST, 0, ORDER_GPUS_MAX, &gpu_entry_schema),
    FIELD(struct order, in_slurm, FIELD_BOOL, 0, 0),
    FIELD(struct order, for_another, FIELD_BOOL, 0, 0),
    FIELD(struct order, built, FIELD_DIGEST, 0, 0),
};
const struct schema order_schema = SCHEMA(struct order, "order", order_fields);

struct order order_without_passed(const struct order *o)
{
    const struct jobspec *work = &o->work.work;
    const struct env_entry *env = work->env.items;
    const char *const *passed = work->passed.items;
    struct order kept = *o;

    /* The passed values stand behind the sweep's own. */
    for (size_t i = 0; i < work->passed.n && kept.work.work.env.n > 0; i++)
        for (size_t k = 0; k < work->passed.n; k++)
            if (strcmp(env[kept.work.work.env.n - 1].name, passed[k]) == 0) {
                kept.work.work.env.n--;
                break;
            }
    return kept;
}

bool order_tree(const struct order *o, size_t i, struct dataset *set)
{
    const struct jobspec *work = &o->work.work;
    const struct data_entry *data = work->data.items;
    bool has_source = !digest_is_zero(&work->source.tree);

    if (has_source && i == 0) {
        *set = work->source;
        return true;
    }
    i -= has_source;
    if (i < work->data.n)
        *set = data[i].set;
    else
        *set = (struct dataset){ .tree = o->built };
    return i < work->data.n || (i == work->data.n && !digest_is_zero(&o->built));
}

bool order_needs_tree(const struct order *o, const struct digest *tree)
{
    struct dataset set;

    for (size_t i = 0; order_tree(o, i, &set); i++)
        if (digest_equal(&set.tree, tree))
            return true;
    return false;
}

bool order_goes_on(const struct order *o)
{
    return o->assignment.attempt > 1 || o->assignment.from.param_name != NULL;
}

bool order_is_process(const struct order *o)
{
    return !token_is_zero(&o->assignment.batch) &&
           token_equal(&o->assignment.token, &o->assignment.batch);
}

bool order_is_mate(const struct order *o)
{
    return !token_is_zero(&o->assignment.batch) && !order_is_process(o);
}

int64_t order_log_max_bytes(const struct order *o)
{
    return token_is_zero(&o->assignment.batch) ? o->work.work.log.max_bytes : 0;
}

static const struct field run_fields[] = {
    FIELD_OF(struct order_run, order, FIELD_STRUCT, FIELD_REQUIRED, 0, &order_schema),
    FIELD_OF(struct order_run, mates, FIELD_LIST, 0, HAND_MAX, &assignment_schema),
};

static const struct field stop_fields[] = {
    FIELD(struct order_stop, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct order_stop, grace_ms, FIELD_INT, 0, INT64_MAX),
};

static const struct field preempt_fields[] = {
    FIELD(struct order_preempt, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD_NAMED(struct order_preempt, cause, 0, cause_names, CAUSE_COUNT),
    FIELD(struct order_preempt, reason, FIELD_STR, 0, REASON_MAX_BYTES),
    FIELD(struct order_preempt, budget_ms, FIELD_INT, FIELD_NULLABLE, INT64_MAX),
};

static const struct field stop_early_fields[] = {
    FIELD(struct order_stop_early, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct order_stop_early, reason, FIELD_STR, 0, REASON_MAX_BYTES),
};

static const struct field measured_fields[] = {
    FIELD_OF(struct note_measured, values, FIELD_LIST, FIELD_REQUIRED, MEASURED_MAX,
             &measured_value_schema),
};

static const struct field hello_fields[] = {
    FIELD(struct note_hello, pid, FIELD_INT, FIELD_REQUIRED, INT32_MAX),
    FIELD(struct note_hello, token, FIELD_TOKEN, 0, 0),
    FIELD(struct note_hello, started_at, FIELD_INT, 0, INT64_MAX),
    FIELD_OF(struct note_hello, mates, FIELD_LIST, 0, HAND_MAX, &token_entry_schema),
};

static const struct field started_fields[] = {
    FIELD(struct note_started, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct note_started, at, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
};

static const struct field ended_fields[] = {
    FIELD(struct note_ended, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct note_ended, trouble, FIELD_STR, 0, REASON_MAX_BYTES),
};

static const struct field advise_fields[] = {
    FIELD(struct order_advise, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct order_advise, text, FIELD_STR, FIELD_REQUIRED, 2 * ADVICE_LINE_MAX_BYTES),
};

static const struct field gpu_user_fields[] = {
    FIELD(struct gpu_user, pid, FIELD_INT, 0, INT32_MAX),
    FIELD(struct gpu_user, used_bytes, FIELD_INT, 0, INT64_MAX),
};
static const struct schema gpu_user_schema = SCHEMA(struct gpu_user, "gpu_user", gpu_user_fields);

static const struct field see_gpus_fields[] = {
    FIELD(struct order_see_gpus, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD_OF(struct order_see_gpus, gpus, FIELD_LIST, 0, ORDER_GPUS_MAX, &gpu_use_schema),
    FIELD_OF(struct order_see_gpus, processes, FIELD_LIST, 0, GPU_USERS_MAX, &gpu_user_schema),
};

static const struct field advice_fields[] = {
    FIELD(struct note_advice, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct note_advice, line, FIELD_STR, 0, ADVICE_LINE_MAX_BYTES),
    FIELD(struct note_advice, is_ready, FIELD_BOOL, 0, 0),
};

static const struct field settings_fields[] = {
    FIELD(struct settings, cache_size_bytes, FIELD_INT, 0, INT64_MAX),
    FIELD(struct settings, promised_bytes, FIELD_INT, 0, INT64_MAX),
};
const struct schema settings_schema = SCHEMA(struct settings, "settings", settings_fields);

static const struct field stage_fields[] = {
    FIELD_OF(struct order_stage, set, FIELD_STRUCT, FIELD_REQUIRED, 0, &dataset_schema),
    FIELD(struct order_stage, project, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct order_stage, share, FIELD_STR, FIELD_REQUIRED, PATH_MAX_BYTES),
    FIELD(struct order_stage, drive, FIELD_STR, FIELD_REQUIRED, PATH_MAX_BYTES),
    FIELD_OF(struct order_stage, settings, FIELD_STRUCT, FIELD_REQUIRED, 0, &settings_schema),
    FIELD(struct order_stage, is_doubted, FIELD_BOOL, 0, 0),
    FIELD_OF(struct order_stage, recipe, FIELD_STRUCT, 0, 0, &env_recipe_schema),
};

static const struct field staged_fields[] = {
    FIELD(struct note_staged, tree, FIELD_DIGEST, FIELD_REQUIRED, 0),
    FIELD(struct note_staged, error, FIELD_STR, 0, ERR_TEXT_BYTES),
    FIELD(struct note_staged, retry, FIELD_BOOL, 0, 0),
    FIELD(struct note_staged, is_guarded, FIELD_BOOL, 0, 0),
};

static const struct field release_fields[] = {
    FIELD(struct order_release, tree, FIELD_DIGEST, FIELD_REQUIRED, 0),
    FIELD(struct order_release, is_doubted, FIELD_BOOL, 0, 0),
};

static const struct field cached_fields[] = {
    FIELD(struct note_cached, tree, FIELD_DIGEST, FIELD_REQUIRED, 0),
    FIELD(struct note_cached, files, FIELD_INT, 0, INT64_MAX),
    FIELD(struct note_cached, bytes, FIELD_INT, 0, INT64_MAX),
    FIELD(struct note_cached, is_gone, FIELD_BOOL, 0, 0),
};

static const struct field expect_fields[] = {
    FIELD_OF(struct order_expect, sets, FIELD_LIST, 0, EXPECTED_MAX, &dataset_schema),
    FIELD(struct order_expect, project, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct order_expect, share, FIELD_STR, FIELD_REQUIRED, PATH_MAX_BYTES),
    FIELD(struct order_expect, drive, FIELD_STR, FIELD_REQUIRED, PATH_MAX_BYTES),
    FIELD_OF(struct order_expect, settings, FIELD_STRUCT, FIELD_REQUIRED, 0, &settings_schema),
};

static const struct field nothing_fields[] = {
    FIELD(struct order_nothing, all, FIELD_BOOL, 0, 0),
};
static const struct schema nothing_schema = SCHEMA(struct order_nothing, "nothing", nothing_fields);

static const struct field restore_fields[] = {
    FIELD(struct order_restore, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct order_restore, share, FIELD_STR, FIELD_REQUIRED, PATH_MAX_BYTES),
    FIELD(struct order_restore, project, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct order_restore, param_name, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct order_restore, job_name, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct order_restore, attempt, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
    FIELD_OF(struct order_restore, from, FIELD_STRUCT, 0, 0, &checkpoint_origin_schema),
};

static const struct field restored_fields[] = {
    FIELD(struct note_restored, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct note_restored, error, FIELD_STR, 0, ERR_TEXT_BYTES),
    FIELD(struct note_restored, retry, FIELD_BOOL, 0, 0),
};

static const struct field look_fields[] = {
    FIELD(struct order_look, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct order_look, share, FIELD_STR, FIELD_REQUIRED, PATH_MAX_BYTES),
    FIELD(struct order_look, run_path, FIELD_STR, FIELD_REQUIRED, PATH_MAX_BYTES),
};

static const struct field found_fields[] = {
    FIELD(struct note_found, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct note_found, found, FIELD_BOOL, FIELD_REQUIRED, 0),
    FIELD(struct note_found, winner, FIELD_TOKEN, 0, 0),
};

static const struct field watch_fields[] = {
    FIELD(struct order_watch, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct order_watch, share, FIELD_STR, FIELD_REQUIRED, PATH_MAX_BYTES),
    FIELD(struct order_watch, log_path, FIELD_STR, FIELD_REQUIRED, PATH_MAX_BYTES),
    FIELD(struct order_watch, attempt, FIELD_INT, 0, INT64_MAX),
    FIELD(struct order_watch, every_ms, FIELD_INT, 0, INT64_MAX),
    FIELD(struct order_watch, max_bytes, FIELD_INT, 0, INT64_MAX),
    FIELD(struct order_watch, tells, FIELD_BOOL, 0, 0),
};

static const struct field grew_fields[] = {
    FIELD(struct note_grew, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct note_grew, size_bytes, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
};

static const struct field published_fields[] = {
    FIELD_OF(struct note_published, report, FIELD_STRUCT, FIELD_REQUIRED, 0, &report_schema),
    FIELD(struct note_published, error, FIELD_STR, 0, ERR_TEXT_BYTES),
};

static const char *const place_names[PLACE_COUNT] = { "nowhere", "run", "ended", "published" };

static const struct field settle_fields[] = {
    FIELD(struct order_settle, process, FIELD_TOKEN, 0, 0),
    FIELD_OF(struct order_settle, tokens, FIELD_LIST, 0, HAND_MAX, &token_entry_schema),
    FIELD(struct order_settle, is_stale, FIELD_BOOL, 0, 0),
    FIELD(struct order_settle, only_look, FIELD_BOOL, 0, 0),
};

static const struct field settled_fields[] = {
    FIELD(struct note_settled, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD_NAMED(struct note_settled, place, FIELD_REQUIRED, place_names, PLACE_COUNT),
    FIELD(struct note_settled, has_begun, FIELD_BOOL, 0, 0),
    FIELD_OF(struct note_settled, reports, FIELD_LIST, 0, 1, &report_schema),
};

static const struct field reaped_fields[] = {
    FIELD(struct note_reaped, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct note_reaped, left, FIELD_INT, 0, INT64_MAX),
};

static const struct field finish_fields[] = {
    FIELD(struct order_finish, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD_NAMED(struct order_finish, event, FIELD_REQUIRED, attempt_event_names,
                ATTEMPT_EVENT_COUNT),
    FIELD_NAMED(struct order_finish, cause, 0, cause_names, CAUSE_COUNT),
    FIELD(struct order_finish, reason, FIELD_STR, 0, REASON_MAX_BYTES),
    FIELD(struct order_finish, started_at, FIELD_INT, 0, INT64_MAX),
};

static const struct field finished_fields[] = {
    FIELD(struct note_finished, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct note_finished, has_ended, FIELD_BOOL, 0, 0),
};

static const struct field remains_fields[] = {
    FIELD(struct note_remains, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD_NAMED(struct note_remains, place, FIELD_REQUIRED, place_names, PLACE_COUNT),
    FIELD(struct note_remains, server_id, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct note_remains, is_old, FIELD_BOOL, 0, 0),
};

static const struct field pack_fields[] = {
    FIELD(struct order_pack, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct order_pack, share, FIELD_STR, FIELD_REQUIRED, PATH_MAX_BYTES),
    FIELD(struct order_pack, drive, FIELD_STR, FIELD_REQUIRED, PATH_MAX_BYTES),
    FIELD(struct order_pack, project, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct order_pack, path, FIELD_STR, FIELD_REQUIRED, PATH_MAX_BYTES),
    FIELD(struct order_pack, only_here, FIELD_BOOL, 0, 0),
};

static const struct field packed_fields[] = {
    FIELD(struct note_packed, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct note_packed, is_over, FIELD_BOOL, 0, 0),
    FIELD(struct note_packed, files, FIELD_INT, 0, INT64_C(1) << 53),
    FIELD(struct note_packed, bytes, FIELD_INT, 0, INT64_C(1) << 60),
    FIELD_OF(struct note_packed, set, FIELD_STRUCT, 0, 0, &dataset_schema),
    FIELD(struct note_packed, error, FIELD_STR, 0, ERR_TEXT_BYTES),
};

static const struct field share_fields[] = {
    FIELD(struct note_share, is_here, FIELD_BOOL, FIELD_REQUIRED, 0),
};

static const struct field gpus_fields[] = {
    FIELD(struct note_gpus, lines, FIELD_STR, FIELD_REQUIRED, 1024 * 1024),
};

static const struct field peek_fields[] = {
    FIELD(struct order_peek, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD_OF(struct order_peek, at, FIELD_STRUCT, 0, 0, &peek_at_schema),
};

static const struct field peeked_fields[] = {
    FIELD_OF(struct note_peeked, found, FIELD_STRUCT, FIELD_REQUIRED, 0, &peek_found_schema),
};

static const struct field disk_fields[] = {
    FIELD(struct note_disk, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct note_disk, used_bytes, FIELD_INT, 0, INT64_MAX),
};

static const struct field shed_fields[] = {
    FIELD(struct order_shed, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct order_shed, reason, FIELD_STR, FIELD_REQUIRED, REASON_MAX_BYTES),
};

static const struct field room_fields[] = {
    FIELD(struct order_room, bytes, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
};

static const struct field account_fields[] = {
    FIELD(struct note_account, error, FIELD_STR, 0, ERR_TEXT_BYTES),
    FIELD(struct note_account, is_final, FIELD_BOOL, 0, 0),
    FIELD(struct note_account, rights, FIELD_STR, 0, RIGHTS_MAX_BYTES),
    FIELD(struct note_account, uid, FIELD_INT, 0, UINT32_MAX),
    FIELD(struct note_account, home, FIELD_STR, 0, PATH_MAX_BYTES),
    FIELD(struct note_account, shell, FIELD_STR, 0, PATH_MAX_BYTES),
    FIELD(struct note_account, scratch, FIELD_STR, 0, PATH_MAX_BYTES),
};

/* The body of ORDER_RUN is a struct order_run, that of NOTE_HELLO a struct note_hello, ... */
#define STRUCT_OF_1(name) struct order_##name
#define STRUCT_OF_2(name) struct note_##name
#define X(constant, name, direction)           \
    static const struct schema name##_schema = \
        SCHEMA(STRUCT_OF_##direction(name), #name, name##_fields);
#define NONE(constant, name, direction)
ORDERS(X, NONE, NONE)
#undef X

static const struct message messages[ORDER_COUNT] = {
#define X(constant, name, direction) [constant] = { #name, &name##_schema, direction, -1 },
#define T(constant, name, direction) [constant] = { #name, &token_entry_schema, direction, -1 },
#define N(constant, name, direction) [constant] = { #name, &nothing_schema, direction, -1 },
    ORDERS(X, T, N)
};

const struct protocol orders = { messages, ORDER_COUNT };

int child_order_body(const struct wire *w, const struct envelope *m, const int *types, void *body,
                     struct err *e)
{
    while (*types >= 0 && *types != m->type)
        types++;
    if (*types < 0)
        return err_set(e, ERR_PROTOCOL, "order %s is not for this child", messages[m->type].name);
    return message_body(&orders, m, w->arena, body, e);
}

static const struct field outcome_fields[] = {
    FIELD_NAMED(struct outcome, event, FIELD_REQUIRED, attempt_event_names, ATTEMPT_EVENT_COUNT),
    FIELD_NAMED(struct outcome, cause, 0, cause_names, CAUSE_COUNT),
    FIELD(struct outcome, exit_code, FIELD_INT, FIELD_NULLABLE, INT32_MAX),
    FIELD(struct outcome, signal, FIELD_INT, FIELD_NULLABLE, INT32_MAX),
    FIELD(struct outcome, reason, FIELD_STR, 0, REASON_MAX_BYTES),
    FIELD(struct outcome, started_at, FIELD_INT, 0, INT64_MAX),
    FIELD(struct outcome, ended_at, FIELD_INT, 0, INT64_MAX),
    FIELD(struct outcome, max_rss_bytes, FIELD_INT, 0, INT64_MAX),
    FIELD(struct outcome, cpu_ms, FIELD_INT, 0, INT64_MAX),
    FIELD(struct outcome, gpu_looks, FIELD_INT, 0, INT64_MAX),
    FIELD(struct outcome, gpu_memory_bytes, FIELD_INT, 0, INT64_MAX),
    FIELD(struct outcome, gpu_busy_looks, FIELD_INT, 0, INT64_MAX),
    FIELD(struct outcome, gpu_percent, FIELD_FLOAT, 0, 0),
};
const struct schema outcome_schema = SCHEMA(struct outcome, "outcome", outcome_fields);
