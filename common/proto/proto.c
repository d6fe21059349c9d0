/* SPDX-License-Identifier: MIT */
/* proto.c - the field tables of all messages */

#include "common/proto/proto.h"

#include <string.h>

#define COUNT_MAX   (INT64_C(1) << 53)
#define TIME_MAX_MS (INT64_C(1) << 53)
#define JOBS_MAX    (INT64_C(1) << 40)

enum { GPU_MODELS_MAX = 10000, SHARE_PATH_MAX = 4000, NOTE_MAX_BYTES = 16000 };

const char *const reuse_names[REUSE_COUNT] = { "all", "params", "none" };

const char *const node_kind_names[NODE_KIND_COUNT] = { "local", "node", "slurm" };

const char *const peek_type_names[PEEK_TYPE_COUNT] = { "file", "folder", "link", "other" };

int node_kind_parse(const char *name)
{
    for (int kind = 0; kind < NODE_KIND_COUNT; kind++)
        if (strcmp(node_kind_names[kind], name) == 0)
            return kind;
    return -1;
}

#define X(name, wire, exit) wire,
static const char *const error_names[ERR_KIND_COUNT] = { ERR_KINDS(X) };
#undef X

/* ---- parts ---- */

#define PART(name) const struct schema name##_schema = SCHEMA(struct name, #name, name##_fields)

static const struct field job_counts_fields[] = {
#define X(constant, number, name, ...) FIELD(struct job_counts, name, FIELD_INT, 0, COUNT_MAX),
    JOB_STATES(X)
#undef X
};
PART(job_counts);

static const struct field sweep_info_fields[] = {
    FIELD(struct sweep_info, sweep, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct sweep_info, project, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct sweep_info, name, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct sweep_info, user, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD_NAMED(struct sweep_info, state, 0, sweep_state_names, SWEEP_STATE_COUNT),
    FIELD(struct sweep_info, priority, FIELD_INT, FIELD_SIGNED, 1000),
    FIELD(struct sweep_info, configs, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct sweep_info, reps, FIELD_INT, 0, REPS_MAX),
    FIELD(struct sweep_info, reused, FIELD_INT, 0, COUNT_MAX),
    FIELD_OF(struct sweep_info, jobs, FIELD_STRUCT, 0, 0, &job_counts_schema),
    FIELD(struct sweep_info, submitted_at, FIELD_INT, FIELD_TIME_MS, TIME_MAX_MS),
    FIELD(struct sweep_info, ended_at, FIELD_INT, FIELD_TIME_MS, TIME_MAX_MS),
    FIELD(struct sweep_info, mean_ms, FIELD_INT, 0, TIME_MAX_MS),
    FIELD_OF(struct sweep_info, ranking, FIELD_STRUCT, 0, 0, &ranking_schema),
    FIELD(struct sweep_info, refused, FIELD_STR, 0, REASON_MAX_BYTES),
    FIELD(struct sweep_info, last_job, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct sweep_info, note, FIELD_STR, 0, NOTE_MAX_BYTES),
    FIELD(struct sweep_info, tags, FIELD_STR, 0, NOTE_MAX_BYTES),
    FIELD(struct sweep_info, held, FIELD_STR, 0, REASON_MAX_BYTES),
    FIELD(struct sweep_info, slots, FIELD_INT, 0, JOBS_MAX),
    FIELD(struct sweep_info, advisor, FIELD_STR, 0, REASON_MAX_BYTES),
    FIELD(struct sweep_info, notice, FIELD_STR, 0, REASON_MAX_BYTES),
};
PART(sweep_info);

static const struct field job_info_fields[] = {
    FIELD(struct job_info, job, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct job_info, param_name, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct job_info, job_name, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct job_info, rep, FIELD_INT, 0, REPS_MAX),
    FIELD_NAMED(struct job_info, state, FIELD_REQUIRED, job_state_names, JOB_STATE_COUNT),
    FIELD(struct job_info, attempt, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct job_info, node, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct job_info, partition, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct job_info, exit_code, FIELD_INT, FIELD_NULLABLE, 255),
    FIELD(struct job_info, signal, FIELD_INT, FIELD_NULLABLE, 255),
    FIELD(struct job_info, cause, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct job_info, reason, FIELD_STR, 0, REASON_MAX_BYTES),
    FIELD(struct job_info, queued_at, FIELD_INT, FIELD_TIME_MS, TIME_MAX_MS),
    FIELD(struct job_info, started_at, FIELD_INT, FIELD_TIME_MS, TIME_MAX_MS),
    FIELD(struct job_info, ended_at, FIELD_INT, FIELD_TIME_MS, TIME_MAX_MS),
    FIELD(struct job_info, params, FIELD_VALUE, 0, 0),
    FIELD(struct job_info, run_path, FIELD_STR, 0, 4096),
    FIELD(struct job_info, log_path, FIELD_STR, 0, 4096),
    FIELD(struct job_info, follows, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct job_info, metrics_path, FIELD_STR, 0, 4096),
    FIELD(struct job_info, max_rss_bytes, FIELD_INT, FIELD_NULLABLE, COUNT_MAX),
    FIELD(struct job_info, cpu_seconds, FIELD_FLOAT, FIELD_NULLABLE, 0),
    FIELD(struct job_info, memory_bytes, FIELD_INT, FIELD_NULLABLE, COUNT_MAX),
    FIELD(struct job_info, time_ms, FIELD_INT, FIELD_NULLABLE, COUNT_MAX),
    FIELD(struct job_info, gpu_memory_bytes, FIELD_INT, FIELD_NULLABLE, COUNT_MAX),
    FIELD(struct job_info, gpu_percent, FIELD_FLOAT, FIELD_NULLABLE, 0),
    FIELD(struct job_info, resumed, FIELD_STR, 0, REASON_MAX_BYTES),
    FIELD(struct job_info, gpu_ids, FIELD_STR, 0, GPU_IDS_MAX_BYTES),
};
PART(job_info);

static const struct field job_result_fields[] = {
    FIELD(struct job_result, job, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct job_result, param_name, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct job_result, rep, FIELD_INT, 0, REPS_MAX),
    FIELD_NAMED(struct job_result, state, FIELD_REQUIRED, job_state_names, JOB_STATE_COUNT),
    FIELD(struct job_result, params, FIELD_VALUE, 0, 0),
    FIELD_OF(struct job_result, metrics, FIELD_LIST, 0, METRICS_MAX, &metric_schema),
    FIELD(struct job_result, run_path, FIELD_STR, 0, 4096),
    FIELD(struct job_result, reason, FIELD_STR, 0, REASON_MAX_BYTES),
    FIELD(struct job_result, metrics_path, FIELD_STR, 0, 4096),
    FIELD(struct job_result, max_rss_bytes, FIELD_INT, FIELD_NULLABLE, COUNT_MAX),
    FIELD(struct job_result, cpu_seconds, FIELD_FLOAT, FIELD_NULLABLE, 0),
    FIELD(struct job_result, gpu_memory_bytes, FIELD_INT, FIELD_NULLABLE, COUNT_MAX),
    FIELD(struct job_result, gpu_percent, FIELD_FLOAT, FIELD_NULLABLE, 0),
};
PART(job_result);

static const struct field held_tree_fields[] = {
    FIELD(struct held_tree, tree, FIELD_DIGEST, FIELD_REQUIRED, 0),
    FIELD(struct held_tree, bytes, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct held_tree, user, FIELD_STR, 0, NAME_MAX_BYTES),
};
PART(held_tree);

static const struct field pool_trouble_fields[] = {
    FIELD(struct pool_trouble, partition, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct pool_trouble, user, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct pool_trouble, why, FIELD_STR, FIELD_REQUIRED, REASON_MAX_BYTES),
};
PART(pool_trouble);

static const struct field gpu_use_fields[] = {
    FIELD(struct gpu_use, percent, FIELD_INT, FIELD_NULLABLE, COUNT_MAX),
    FIELD(struct gpu_use, used_bytes, FIELD_INT, FIELD_NULLABLE, INT64_MAX),
    FIELD(struct gpu_use, memory_bytes, FIELD_INT, FIELD_NULLABLE, INT64_MAX),
};
PART(gpu_use);

static const struct field pilots_waiting_fields[] = {
    FIELD(struct pilots_waiting, partition, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct pilots_waiting, user, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct pilots_waiting, slurm_job, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct pilots_waiting, pilots, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct pilots_waiting, why, FIELD_STR, 0, REASON_MAX_BYTES),
};
PART(pilots_waiting);

static const struct field digest_entry_fields[] = {
    FIELD(struct digest_entry, digest, FIELD_DIGEST, FIELD_REQUIRED, 0),
};
PART(digest_entry);

static const struct field dataset_info_fields[] = {
    FIELD(struct dataset_info, project, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct dataset_info, owner, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct dataset_info, name, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD_OF(struct dataset_info, set, FIELD_STRUCT, FIELD_REQUIRED, 0, &dataset_schema),
    FIELD(struct dataset_info, added_at, FIELD_INT, FIELD_TIME_MS, TIME_MAX_MS),
    FIELD(struct dataset_info, used_at, FIELD_INT, FIELD_TIME_MS, TIME_MAX_MS),
    FIELD(struct dataset_info, sweep, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct dataset_info, unfinished, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct dataset_info, nodes, FIELD_STRS, 0, HOLDS_MAX),
};
PART(dataset_info);

static const struct field node_info_fields[] = {
    FIELD(struct node_info, node, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct node_info, kind, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct node_info, state, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct node_info, cpus, FIELD_FLOAT, 0, 0),
    FIELD(struct node_info, gpus, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct node_info, gpus_free, FIELD_FLOAT, 0, 0),
    FIELD(struct node_info, gpu_models, FIELD_STRS, 0, GPU_MODELS_MAX),
    FIELD(struct node_info, memory, FIELD_INT, 0, INT64_MAX),
    FIELD(struct node_info, load, FIELD_FLOAT, FIELD_NULLABLE, 0),
    FIELD(struct node_info, running, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct node_info, jobs, FIELD_STRS, 0, COUNT_MAX),
    FIELD(struct node_info, users, FIELD_STRS, 0, COUNT_MAX),
    FIELD(struct node_info, user, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct node_info, held_bytes, FIELD_INT, 0, INT64_MAX),
    FIELD(struct node_info, held, FIELD_INT, 0, COUNT_MAX),
    FIELD_OF(struct node_info, holds, FIELD_LIST, 0, HOLDS_MAX, &held_tree_schema),
    FIELD(struct node_info, refused, FIELD_STR, 0, ERR_TEXT_BYTES),
    FIELD(struct node_info, lacks_groups, FIELD_BOOL, 0, 0),
    FIELD(struct node_info, is_one_account, FIELD_BOOL, 0, 0),
    FIELD_OF(struct node_info, gpu_use, FIELD_LIST, 0, GPU_MODELS_MAX, &gpu_use_schema),
    FIELD(struct node_info, gpus_unused, FIELD_STRS, 0, GPU_MODELS_MAX),
    FIELD(struct node_info, disk, FIELD_INT, 0, INT64_MAX),
};
PART(node_info);

static const struct field usage_info_fields[] = {
    FIELD(struct usage_info, sweep, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct usage_info, project, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct usage_info, name, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct usage_info, user, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct usage_info, submitted_at, FIELD_INT, FIELD_TIME_MS, TIME_MAX_MS),
    FIELD(struct usage_info, attempts, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct usage_info, hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_info, cpu_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_info, gpu_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_info, busy_cpu_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_info, pilot_cpu_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_info, pilot_gpu_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_info, ended_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_info, memory_gib_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_info, used_memory_gib_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_info, limit_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_info, max_rss_bytes, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct usage_info, max_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_info, gpu_memory_bytes, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct usage_info, seen_gpu_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_info, busy_gpu_hours, FIELD_FLOAT, 0, 0),
};
PART(usage_info);

static const struct field target_fields[] = {
    FIELD(struct target, sweep, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct target, first, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct target, last, FIELD_INT, 0, COUNT_MAX),
};
PART(target);

static const struct field held_fields[] = {
    FIELD(struct held, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD_NAMED(struct held, state, FIELD_REQUIRED, attempt_state_names, ATTEMPT_STATE_COUNT),
    FIELD(struct held, started_at, FIELD_INT, 0, TIME_MAX_MS),
};
PART(held);

static const struct field refusal_fields[] = {
    FIELD(struct refusal, user, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct refusal, reason, FIELD_STR, FIELD_REQUIRED, ERR_TEXT_BYTES),
};
PART(refusal);

static const struct field token_entry_fields[] = {
    FIELD(struct token_entry, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
};
PART(token_entry);

static const struct field checkpoint_origin_fields[] = {
    FIELD(struct checkpoint_origin, param_name, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct checkpoint_origin, job_name, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct checkpoint_origin, attempt, FIELD_INT, 0, COUNT_MAX),
};
const struct schema checkpoint_origin_schema =
    SCHEMA(struct checkpoint_origin, "checkpoint_origin", checkpoint_origin_fields);

static const struct field assignment_fields[] = {
    FIELD(struct assignment, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct assignment, sweep, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct assignment, job, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct assignment, attempt, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct assignment, param_name, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct assignment, job_name, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct assignment, rep, FIELD_INT, 0, REPS_MAX),
    FIELD(struct assignment, seed, FIELD_INT, 0, INT64_MAX),
    FIELD(struct assignment, restart, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct assignment, params, FIELD_BYTES, FIELD_REQUIRED, PARAM2VAL_MAX_BYTES),
    FIELD(struct assignment, batch, FIELD_TOKEN, 0, 0),
    FIELD(struct assignment, advises, FIELD_BOOL, 0, 0),
    FIELD(struct assignment, notifies, FIELD_BOOL, 0, 0),
    FIELD_OF(struct assignment, from, FIELD_STRUCT, 0, 0, &checkpoint_origin_schema),
};
PART(assignment);

static const struct field sweep_work_fields[] = {
    FIELD(struct sweep_work, sweep, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct sweep_work, project, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct sweep_work, user, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD_OF(struct sweep_work, work, FIELD_STRUCT, FIELD_REQUIRED, 0, &work_schema),
    FIELD_OF(struct sweep_work, live, FIELD_STRUCT, 0, 0, &live_schema),
};
PART(sweep_work);

static const struct field report_fields[] = {
    FIELD(struct report, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct report, seq, FIELD_INT, 0, COUNT_MAX),
    FIELD_NAMED(struct report, event, FIELD_REQUIRED, attempt_event_names, ATTEMPT_EVENT_COUNT),
    FIELD(struct report, at, FIELD_INT, FIELD_TIME_MS, TIME_MAX_MS),
    FIELD(struct report, started_at, FIELD_INT, FIELD_TIME_MS, TIME_MAX_MS),
    FIELD(struct report, ended_at, FIELD_INT, FIELD_TIME_MS, TIME_MAX_MS),
    FIELD(struct report, exit_code, FIELD_INT, FIELD_NULLABLE, 255),
    FIELD(struct report, signal, FIELD_INT, FIELD_NULLABLE, 255),
    FIELD(struct report, max_rss_bytes, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct report, cpu_ms, FIELD_INT, 0, COUNT_MAX),
    FIELD_NAMED(struct report, cause, 0, cause_names, CAUSE_COUNT),
    FIELD(struct report, reason, FIELD_STR, 0, REASON_MAX_BYTES),
    FIELD(struct report, run_path, FIELD_STR, 0, 4096),
    FIELD(struct report, winner, FIELD_TOKEN, 0, 0),
    FIELD_OF(struct report, metrics, FIELD_LIST, 0, METRICS_MAX, &metric_schema),
    FIELD(struct report, has_checkpoint, FIELD_BOOL, 0, 0),
    FIELD(struct report, gpu_looks, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct report, gpu_memory_bytes, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct report, gpu_busy_looks, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct report, gpu_percent, FIELD_FLOAT, 0, 0),
    FIELD(struct report, gpu_ids, FIELD_STR, 0, GPU_IDS_MAX_BYTES),
};
PART(report);

static const struct field verdict_entry_fields[] = {
    FIELD(struct verdict_entry, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct verdict_entry, seq, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD_NAMED(struct verdict_entry, verdict, FIELD_REQUIRED, verdict_names, VERDICT_COUNT),
};
PART(verdict_entry);

static const struct field measured_part_fields[] = {
    FIELD(struct measured, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct measured, step, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct measured, value, FIELD_FLOAT, FIELD_REQUIRED, 0),
};
const struct schema measured_value_schema =
    SCHEMA(struct measured, "measured_value", measured_part_fields);

static const struct field folder_order_fields[] = {
    FIELD(struct folder_order, mode, FIELD_INT, 0, 07777),
    FIELD(struct folder_order, group, FIELD_INT, FIELD_NULLABLE, UINT32_MAX),
};
PART(folder_order);

static const struct field reused_job_fields[] = {
    FIELD(struct reused_job, id, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct reused_job, run_path, FIELD_STR, FIELD_REQUIRED, 4096),
};
PART(reused_job);

static const struct field gone_job_fields[] = {
    FIELD(struct gone_job, id, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
};
PART(gone_job);

static const struct field early_config_fields[] = {
    FIELD(struct early_config, at, FIELD_INT, 0, CONFIGS_PER_CHUNK_MAX),
    FIELD(struct early_config, all_reps, FIELD_BOOL, 0, 0),
};
PART(early_config);

static const struct field peek_at_fields[] = {
    FIELD(struct peek_at, path, FIELD_STR, 0, 4095),
    FIELD(struct peek_at, offset, FIELD_INT, 0, INT64_MAX),
    FIELD(struct peek_at, max_bytes, FIELD_INT, 0, PEEK_BYTES_MAX),
    FIELD(struct peek_at, after, FIELD_STR, 0, 255),
};
PART(peek_at);

static const struct field peek_entry_fields[] = {
    FIELD(struct peek_entry, name, FIELD_STR, FIELD_REQUIRED, 255),
    FIELD_NAMED(struct peek_entry, type, FIELD_REQUIRED, peek_type_names, PEEK_TYPE_COUNT),
    FIELD(struct peek_entry, size_bytes, FIELD_INT, 0, INT64_MAX),
    FIELD(struct peek_entry, modified_at, FIELD_INT, FIELD_TIME_MS, TIME_MAX_MS),
};
PART(peek_entry);

static const struct field peek_found_fields[] = {
    FIELD_NAMED(struct peek_found, error_kind, 0, error_names, ERR_KIND_COUNT),
    FIELD(struct peek_found, error, FIELD_STR, 0, ERR_TEXT_BYTES),
    FIELD_NAMED(struct peek_found, type, 0, peek_type_names, PEEK_TYPE_COUNT),
    FIELD(struct peek_found, size_bytes, FIELD_INT, 0, INT64_MAX),
    FIELD(struct peek_found, modified_at, FIELD_INT, FIELD_TIME_MS, TIME_MAX_MS),
    FIELD(struct peek_found, content, FIELD_BYTES, 0, PEEK_BYTES_MAX),
    FIELD_OF(struct peek_found, entries, FIELD_LIST, 0, PEEK_ENTRIES_MAX, &peek_entry_schema),
    FIELD(struct peek_found, more, FIELD_BOOL, 0, 0),
};
PART(peek_found);

/* ---- messages, in the order of MESSAGES ---- */

static const struct field ok_fields[] = {
    FIELD(struct msg_ok, well, FIELD_BOOL, FIELD_REQUIRED, 0),
};

static const struct field error_fields[] = {
    FIELD_NAMED(struct msg_error, kind, FIELD_REQUIRED, error_names, ERR_KIND_COUNT),
    FIELD(struct msg_error, text, FIELD_STR, FIELD_REQUIRED, ERR_TEXT_BYTES),
};

static const struct field pilot_claim_fields[] = {
    FIELD(struct pilot_claim, token, FIELD_TOKEN, 0, 0),
    FIELD(struct pilot_claim, slurm_job, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct pilot_claim, ends_at_ms, FIELD_INT, FIELD_TIME_MS, TIME_MAX_MS),
};
PART(pilot_claim);

static const struct field hello_fields[] = {
    FIELD(struct msg_hello, version, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct msg_hello, program, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct msg_hello, host, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct msg_hello, user_label, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD_OF(struct msg_hello, pilot, FIELD_STRUCT, 0, 0, &pilot_claim_schema),
};

static const struct field welcome_fields[] = {
    FIELD(struct msg_welcome, version, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct msg_welcome, server_id, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct msg_welcome, server_version, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct msg_welcome, user, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct msg_welcome, uid, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_welcome, admin, FIELD_BOOL, 0, 0),
    FIELD(struct msg_welcome, share, FIELD_STR, 0, 4096),
    FIELD(struct msg_welcome, projects, FIELD_STR, 0, 4096),
    FIELD(struct msg_welcome, makes_projects, FIELD_BOOL, 0, 0),
    FIELD(struct msg_welcome, is_open, FIELD_BOOL, 0, 0),
};

static const struct field project_open_fields[] = {
    FIELD_OF(struct msg_project_open, folder, FIELD_STRUCT, 0, 0, &folder_order_schema),
    FIELD(struct msg_project_open, project, FIELD_STR, 0, NAME_MAX_BYTES),
};

static const struct field submit_begin_fields[] = {
    FIELD(struct msg_submit_begin, project, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct msg_submit_begin, private_project, FIELD_BOOL, 0, 0),
    FIELD(struct msg_submit_begin, name, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct msg_submit_begin, reps, FIELD_INT, FIELD_REQUIRED, REPS_MAX),
    FIELD(struct msg_submit_begin, priority, FIELD_INT, FIELD_SIGNED, 1000),
    /* The "!" makes an older ludwigd refuse the field: it would run more at once. */
    { "!max_running", offsetof(struct msg_submit_begin, max_running), FIELD_INT, 0, MAX_RUNNING_MAX,
      NULL, NULL },
    FIELD_NAMED(struct msg_submit_begin, reuse, 0, reuse_names, REUSE_COUNT),
    FIELD(struct msg_submit_begin, nodes, FIELD_STRS, 0, 1000),
    FIELD(struct msg_submit_begin, no_nodes, FIELD_BOOL, 0, 0),
    FIELD_OF(struct msg_submit_begin, pools, FIELD_LIST, 0, POOLS_MAX, &slurm_pool_schema),
    FIELD_OF(struct msg_submit_begin, retry, FIELD_STRUCT, 0, 0, &retry_schema),
    FIELD_OF(struct msg_submit_begin, guard, FIELD_STRUCT, 0, 0, &guard_schema),
    /* The "!" makes an older ludwigd refuse the field: it would stop no job. */
    { "!stop", offsetof(struct msg_submit_begin, stop), FIELD_STRUCT, 0, 0, &stop_policy_schema,
      NULL },
    FIELD_OF(struct msg_submit_begin, ranking, FIELD_STRUCT, 0, 0, &ranking_schema),
    /* The "!" makes an older ludwigd refuse the field: it would run the random points as the
     * sweep. */
    { "!search", offsetof(struct msg_submit_begin, search), FIELD_LIST, 0, 1, &search_schema,
      NULL },
    FIELD_OF(struct msg_submit_begin, work, FIELD_STRUCT, FIELD_REQUIRED, 0, &work_schema),
    /* The "!" makes an older ludwigd refuse the field: its jobs would not get these variables. */
    { "!passed", offsetof(struct msg_submit_begin, passed), FIELD_LIST, 0, PASSED_MAX,
      &env_entry_schema, NULL },
    /* The "!" makes an older ludwigd refuse the field: it would send no notifications. */
    { "!notify", offsetof(struct msg_submit_begin, notify), FIELD_LIST, 0, 1, &notify_schema,
      NULL },
};

static const struct schema begins_schema =
    SCHEMA(struct msg_submit_begin, "submit_begin", submit_begin_fields);

static const struct field open_project_fields[] = {
    FIELD(struct msg_open_project, project, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct msg_open_project, private_project, FIELD_BOOL, 0, 0),
    FIELD(struct msg_open_project, wants_pilots, FIELD_BOOL, 0, 0),
    FIELD_OF(struct msg_open_project, begins, FIELD_LIST, 0, 1, &begins_schema),
};

static const struct field submit_open_fields[] = {
    FIELD(struct msg_submit_open, sweep, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD_OF(struct msg_submit_open, folder, FIELD_STRUCT, 0, 0, &folder_order_schema),
};

static const struct field submit_chunk_fields[] = {
    FIELD(struct msg_submit_chunk, sweep, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct msg_submit_chunk, index, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct msg_submit_chunk, configs, FIELD_BYTES, FIELD_REQUIRED, FRAME_MAX_BYTES),
    FIELD_OF(struct msg_submit_chunk, early, FIELD_LIST, 0, CONFIGS_PER_CHUNK_MAX,
             &early_config_schema),
};

static const struct field submit_taken_fields[] = {
    FIELD(struct msg_submit_taken, index, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD_OF(struct msg_submit_taken, reused, FIELD_LIST, 0, REUSED_TOLD_MAX, &reused_job_schema),
};

static const struct field submit_end_fields[] = {
    FIELD(struct msg_submit_end, sweep, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct msg_submit_end, configs, FIELD_INT, FIELD_REQUIRED, JOBS_MAX),
    FIELD(struct msg_submit_end, chain, FIELD_DIGEST, FIELD_REQUIRED, 0),
    FIELD_OF(struct msg_submit_end, gone, FIELD_LIST, 0, REUSED_TOLD_MAX, &gone_job_schema),
};

static const struct field submitted_fields[] = {
    FIELD(struct msg_submitted, sweep, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct msg_submitted, project, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct msg_submitted, configs, FIELD_INT, FIELD_REQUIRED, JOBS_MAX),
    FIELD(struct msg_submitted, reps, FIELD_INT, FIELD_REQUIRED, REPS_MAX),
    FIELD(struct msg_submitted, jobs, FIELD_INT, FIELD_REQUIRED, JOBS_MAX),
    FIELD(struct msg_submitted, reused, FIELD_INT, FIELD_REQUIRED, JOBS_MAX),
    FIELD(struct msg_submitted, queued, FIELD_INT, FIELD_REQUIRED, JOBS_MAX),
    FIELD(struct msg_submitted, done_otherwise, FIELD_INT, 0, JOBS_MAX),
    FIELD(struct msg_submitted, done_in, FIELD_STR, 0, 8192),
    FIELD(struct msg_submitted, note, FIELD_STR, 0, REASON_MAX_BYTES),
    FIELD(struct msg_submitted, followed, FIELD_INT, 0, JOBS_MAX),
    FIELD(struct msg_submitted, followed_first, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_submitted, followed_last, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_submitted, ran_jobs, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_submitted, max_rss_bytes, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_submitted, longest_ms, FIELD_INT, 0, COUNT_MAX),
};
const struct schema submitted_schema = SCHEMA(struct msg_submitted, "submitted", submitted_fields);

static const struct field cancel_fields[] = {
    FIELD_OF(struct msg_cancel, targets, FIELD_LIST, FIELD_REQUIRED, TARGETS_MAX, &target_schema),
    FIELD(struct msg_cancel, drain, FIELD_BOOL, 0, 0),
};

static const struct field retry_fields[] = {
    FIELD_OF(struct msg_retry, targets, FIELD_LIST, FIELD_REQUIRED, TARGETS_MAX, &target_schema),
    FIELD(struct msg_retry, states, FIELD_STRS, 0, JOB_STATE_COUNT),
    { "!passed", offsetof(struct msg_retry, passed), FIELD_LIST, 0, PASSED_MAX, &env_entry_schema,
      NULL },
};

static const struct field pause_fields[] = {
    FIELD_OF(struct msg_pause, targets, FIELD_LIST, FIELD_REQUIRED, TARGETS_MAX, &target_schema),
};

static const struct field resume_fields[] = {
    FIELD_OF(struct msg_resume, targets, FIELD_LIST, FIELD_REQUIRED, TARGETS_MAX, &target_schema),
};

static const struct field order_fields[] = {
    FIELD_OF(struct msg_order, targets, FIELD_LIST, FIELD_REQUIRED, TARGETS_MAX, &target_schema),
    FIELD(struct msg_order, behind, FIELD_BOOL, 0, 0),
};

static const struct field shrink_fields[] = {
    FIELD(struct msg_shrink, sweep, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct msg_shrink, slots, FIELD_INT, 0, JOBS_MAX),
};

static const struct field changed_fields[] = {
    FIELD(struct msg_changed, jobs, FIELD_INT, FIELD_REQUIRED, JOBS_MAX),
    FIELD(struct msg_changed, searches, FIELD_INT, 0, COUNT_MAX),
};

static const struct field reproduce_fields[] = {
    FIELD(struct msg_reproduce, sweep, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct msg_reproduce, job, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
    { "!passed", offsetof(struct msg_reproduce, passed), FIELD_LIST, 0, PASSED_MAX,
      &env_entry_schema, NULL },
};

static const struct field reproduced_fields[] = {
    FIELD(struct msg_reproduced, sweep, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
};

const char *const remove_step_names[REMOVE_STEP_COUNT] = { "look", "begin", "end" };

static const struct field remove_fields[] = {
    FIELD_OF(struct msg_remove, targets, FIELD_LIST, FIELD_REQUIRED, TARGETS_MAX, &target_schema),
    FIELD_NAMED(struct msg_remove, step, FIELD_REQUIRED, remove_step_names, REMOVE_STEP_COUNT),
};

static const struct field removed_fields[] = {
    FIELD(struct msg_removed, jobs, FIELD_INT, FIELD_REQUIRED, JOBS_MAX),
};

static const struct field label_fields[] = {
    FIELD(struct msg_label, sweep, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct msg_label, name, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct msg_label, note, FIELD_STR, 0, NOTE_MAX_BYTES),
    FIELD(struct msg_label, tags, FIELD_STRS, 0, TAGS_MAX),
    FIELD(struct msg_label, untags, FIELD_STRS, 0, TAGS_MAX),
};

static const struct field drain_fields[] = {
    FIELD(struct msg_drain, nodes, FIELD_STRS, FIELD_REQUIRED, TARGETS_MAX),
    FIELD(struct msg_drain, undo, FIELD_BOOL, 0, 0),
};

static const struct field drained_fields[] = {
    FIELD(struct msg_drained, nodes, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct msg_drained, running, FIELD_INT, 0, COUNT_MAX),
};

static const struct field preview_fields[] = {
    FIELD(struct msg_preview, project, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct msg_preview, reps, FIELD_INT, FIELD_REQUIRED, REPS_MAX),
    FIELD_NAMED(struct msg_preview, reuse, 0, reuse_names, REUSE_COUNT),
    FIELD(struct msg_preview, work, FIELD_DIGEST, FIELD_REQUIRED, 0),
    FIELD(struct msg_preview, configs, FIELD_BYTES, FIELD_REQUIRED, FRAME_MAX_BYTES),
    FIELD(struct msg_preview, tells_reused, FIELD_BOOL, 0, 0),
};

static const struct field previewed_fields[] = {
    FIELD(struct msg_previewed, project, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct msg_previewed, owner, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct msg_previewed, is_own, FIELD_BOOL, 0, 0),
    FIELD(struct msg_previewed, reused, FIELD_INT, 0, JOBS_MAX),
    FIELD(struct msg_previewed, ran_jobs, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_previewed, ran_ms, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_previewed, followed, FIELD_INT, 0, JOBS_MAX),
    FIELD(struct msg_previewed, followed_first, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_previewed, followed_last, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_previewed, unfinished, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_previewed, max_rss_bytes, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_previewed, longest_ms, FIELD_INT, 0, COUNT_MAX),
    FIELD_OF(struct msg_previewed, jobs, FIELD_LIST, 0, REUSED_TOLD_MAX, &reused_job_schema),
};

static const struct field get_sweeps_fields[] = {
    FIELD(struct msg_get_sweeps, sweep, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_get_sweeps, before, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_get_sweeps, limit, FIELD_INT, 0, PAGE_MAX),
};

static const struct field sweep_page_fields[] = {
    FIELD_OF(struct msg_sweep_page, sweeps, FIELD_LIST, 0, PAGE_MAX, &sweep_info_schema),
    FIELD(struct msg_sweep_page, more, FIELD_BOOL, 0, 0),
    FIELD(struct msg_sweep_page, slurm_calls, FIELD_INT, FIELD_NULLABLE, COUNT_MAX),
    FIELD(struct msg_sweep_page, pilots_waiting, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_sweep_page, pilots_running, FIELD_INT, 0, COUNT_MAX),
};

static const struct field get_jobs_fields[] = {
    FIELD(struct msg_get_jobs, sweep, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct msg_get_jobs, after, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_get_jobs, last, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_get_jobs, limit, FIELD_INT, 0, PAGE_MAX),
    FIELD(struct msg_get_jobs, states, FIELD_STRS, 0, JOB_STATE_COUNT),
};

static const struct field job_page_fields[] = {
    FIELD_OF(struct msg_job_page, jobs, FIELD_LIST, 0, PAGE_MAX, &job_info_schema),
    FIELD(struct msg_job_page, next, FIELD_INT, 0, COUNT_MAX),
};

static const struct field get_results_fields[] = {
    FIELD(struct msg_get_results, sweep, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct msg_get_results, after, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_get_results, limit, FIELD_INT, 0, PAGE_MAX),
};

static const struct field result_page_fields[] = {
    FIELD_OF(struct msg_result_page, results, FIELD_LIST, 0, PAGE_MAX, &job_result_schema),
    FIELD(struct msg_result_page, next, FIELD_INT, 0, COUNT_MAX),
};

static const struct field get_nodes_fields[] = {
    FIELD(struct msg_get_nodes, limit, FIELD_INT, 0, PAGE_MAX),
};

static const struct field node_page_fields[] = {
    FIELD_OF(struct msg_node_page, nodes, FIELD_LIST, 0, PAGE_MAX, &node_info_schema),
    FIELD(struct msg_node_page, asked, FIELD_INT, 0, COUNT_MAX),
    FIELD_OF(struct msg_node_page, pools, FIELD_LIST, 0, NODE_POOLS_MAX, &pool_trouble_schema),
    FIELD_OF(struct msg_node_page, pilots, FIELD_LIST, 0, NODE_POOLS_MAX, &pilots_waiting_schema),
};

static const struct field get_data_fields[] = {
    FIELD(struct msg_get_data, project, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct msg_get_data, after, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_get_data, limit, FIELD_INT, 0, PAGE_MAX),
};

static const struct field data_page_fields[] = {
    FIELD_OF(struct msg_data_page, data, FIELD_LIST, 0, PAGE_MAX, &dataset_info_schema),
    FIELD(struct msg_data_page, next, FIELD_INT, 0, COUNT_MAX),
};

const char *const packing_state_names[PACKING_STATE_COUNT] = { "waiting", "running", "done" };

static const struct field pack_share_fields[] = {
    FIELD(struct msg_pack_share, project, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct msg_pack_share, path, FIELD_STR, FIELD_REQUIRED, SHARE_PATH_MAX),
    FIELD(struct msg_pack_share, pass, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_pack_share, seen, FIELD_INT, 0, COUNT_MAX),
};

static const struct field share_packed_fields[] = {
    FIELD(struct msg_share_packed, pass, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct msg_share_packed, seen, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD_NAMED(struct msg_share_packed, state, FIELD_REQUIRED, packing_state_names,
                PACKING_STATE_COUNT),
    FIELD(struct msg_share_packed, node, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct msg_share_packed, reason, FIELD_STR, 0, REASON_MAX_BYTES),
    FIELD(struct msg_share_packed, files, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_share_packed, bytes, FIELD_INT, 0, INT64_C(1) << 60),
    FIELD_OF(struct msg_share_packed, set, FIELD_STRUCT, 0, 0, &dataset_schema),
};

static const struct field get_usage_fields[] = {
    FIELD(struct msg_get_usage, before, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_get_usage, since, FIELD_INT, 0, TIME_MAX_MS),
    FIELD(struct msg_get_usage, limit, FIELD_INT, 0, PAGE_MAX),
};

static const struct field usage_page_fields[] = {
    FIELD_OF(struct msg_usage_page, rows, FIELD_LIST, 0, PAGE_MAX, &usage_info_schema),
    FIELD(struct msg_usage_page, more, FIELD_BOOL, 0, 0),
};

static const struct field ask_why_fields[] = {
    FIELD(struct msg_ask_why, sweep, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct msg_ask_why, job, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
};

static const struct field why_fields[] = {
    FIELD_OF(struct msg_why, job, FIELD_STRUCT, FIELD_REQUIRED, 0, &job_info_schema),
    FIELD(struct msg_why, lines, FIELD_STRS, 0, 1000),
};

static const struct field subscribe_fields[] = {
    FIELD(struct msg_subscribe, sweep, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct msg_subscribe, job, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_subscribe, cursor, FIELD_INT, FIELD_SIGNED, COUNT_MAX),
    FIELD(struct msg_subscribe, jobs, FIELD_BOOL, 0, 0),
    FIELD(struct msg_subscribe, log, FIELD_BOOL, 0, 0),
};

static const struct field changes_fields[] = {
    FIELD(struct msg_changes, cursor, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct msg_changes, more, FIELD_BOOL, 0, 0),
    FIELD_OF(struct msg_changes, sweep, FIELD_STRUCT, FIELD_REQUIRED, 0, &sweep_info_schema),
    FIELD_OF(struct msg_changes, jobs, FIELD_LIST, 0, PAGE_MAX, &job_info_schema),
    FIELD(struct msg_changes, log_bytes, FIELD_INT, 0, COUNT_MAX),
};

static const struct field shutdown_fields[] = {
    FIELD(struct msg_shutdown, workers, FIELD_BOOL, 0, 0),
};

static const struct field register_fields[] = {
    FIELD(struct msg_register, worker, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct msg_register, incarnation, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct msg_register, boot_id, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct msg_register, node, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct msg_register, kind, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct msg_register, cpus_milli, FIELD_INT, FIELD_REQUIRED, 1000000000),
    FIELD(struct msg_register, gpus, FIELD_INT, 0, 10000),
    FIELD(struct msg_register, gpu_models, FIELD_STRS, 0, GPU_MODELS_MAX),
    FIELD(struct msg_register, gpus_unused, FIELD_STRS, 0, GPU_MODELS_MAX),
    FIELD(struct msg_register, memory_bytes, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_register, own_jobs_only, FIELD_BOOL, 0, 0),
    FIELD(struct msg_register, lacks_groups, FIELD_BOOL, 0, 0),
    FIELD(struct msg_register, reads_saved, FIELD_BOOL, 0, 0),
    FIELD(struct msg_register, is_one_account, FIELD_BOOL, 0, 0),
    FIELD_OF(struct msg_register, attempts, FIELD_LIST, 0, 100000, &held_schema),
    FIELD_OF(struct msg_register, refused, FIELD_LIST, 0, REFUSED_MAX, &refusal_schema),
    FIELD(struct msg_register, said_at, FIELD_INT, FIELD_TIME_MS, TIME_MAX_MS),
    FIELD(struct msg_register, disk_bytes, FIELD_INT, 0, COUNT_MAX),
};

static const struct field registered_fields[] = {
    FIELD(struct msg_registered, lease_ms, FIELD_INT, FIELD_REQUIRED, TIME_MAX_MS),
    FIELD_OF(struct msg_registered, stop, FIELD_LIST, 0, 100000, &token_entry_schema),
};

static const struct field hand_fields[] = {
    FIELD(struct msg_hand, hand, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD_OF(struct msg_hand, sweeps, FIELD_LIST, FIELD_REQUIRED, HAND_MAX, &sweep_work_schema),
    FIELD_OF(struct msg_hand, assignments, FIELD_LIST, FIELD_REQUIRED, HAND_MAX,
             &assignment_schema),
};

static const struct field took_fields[] = {
    FIELD(struct msg_took, hand, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
};

static const struct field report_message_fields[] = {
    FIELD_OF(struct msg_report, reports, FIELD_LIST, FIELD_REQUIRED, REPORTS_MAX, &report_schema),
    FIELD(struct msg_report, said_at, FIELD_INT, FIELD_TIME_MS, TIME_MAX_MS),
};

static const struct field verdicts_fields[] = {
    FIELD_OF(struct msg_verdicts, verdicts, FIELD_LIST, FIELD_REQUIRED, REPORTS_MAX,
             &verdict_entry_schema),
};

static const struct field stop_attempts_fields[] = {
    FIELD_OF(struct msg_stop_attempts, tokens, FIELD_LIST, FIELD_REQUIRED, 100000,
             &token_entry_schema),
};

static const struct field recall_fields[] = {
    FIELD_OF(struct msg_recall, tokens, FIELD_LIST, FIELD_REQUIRED, 100000, &token_entry_schema),
};

static const struct field follow_log_fields[] = {
    FIELD(struct msg_follow_log, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct msg_follow_log, on, FIELD_BOOL, 0, 0),
};

static const struct field log_grew_fields[] = {
    FIELD(struct msg_log_grew, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct msg_log_grew, size_bytes, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
};

static const struct field ask_load_fields[] = {
    FIELD(struct msg_ask_load, now, FIELD_BOOL, FIELD_REQUIRED, 0),
};

static const struct field load_fields[] = {
    FIELD(struct msg_load, load_milli, FIELD_INT, FIELD_NULLABLE, COUNT_MAX),
    FIELD_OF(struct msg_load, gpu_use, FIELD_LIST, 0, GPU_MODELS_MAX, &gpu_use_schema),
    FIELD(struct msg_load, asks_gpus, FIELD_BOOL, 0, 0),
};

static const struct field holds_fields[] = {
    FIELD(struct msg_holds, user, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct msg_holds, all, FIELD_BOOL, 0, 0),
    FIELD_OF(struct msg_holds, trees, FIELD_LIST, 0, HOLDS_MAX, &held_tree_schema),
    FIELD_OF(struct msg_holds, gone, FIELD_LIST, 0, HOLDS_MAX, &digest_entry_schema),
};

static const struct field expect_fields[] = {
    FIELD(struct msg_expect, user, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct msg_expect, project, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD_OF(struct msg_expect, sets, FIELD_LIST, 0, EXPECTED_MAX, &dataset_schema),
};

static const struct field pack_fields[] = {
    FIELD(struct msg_pack, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct msg_pack, project, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct msg_pack, path, FIELD_STR, FIELD_REQUIRED, SHARE_PATH_MAX),
    FIELD(struct msg_pack, user, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct msg_pack, only_here, FIELD_BOOL, 0, 0),
};

static const struct field packed_fields[] = {
    FIELD(struct msg_packed, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct msg_packed, is_over, FIELD_BOOL, 0, 0),
    FIELD(struct msg_packed, files, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_packed, bytes, FIELD_INT, 0, INT64_C(1) << 60),
    FIELD_OF(struct msg_packed, set, FIELD_STRUCT, 0, 0, &dataset_schema),
    FIELD(struct msg_packed, error, FIELD_STR, 0, ERR_TEXT_BYTES),
};

static const struct field advise_fields[] = {
    FIELD(struct msg_advise, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct msg_advise, text, FIELD_STR, FIELD_REQUIRED, 2 * ADVICE_LINE_MAX_BYTES),
};

static const struct field advice_fields[] = {
    FIELD(struct msg_advice, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct msg_advice, line, FIELD_STR, 0, ADVICE_LINE_MAX_BYTES),
    FIELD(struct msg_advice, is_ready, FIELD_BOOL, 0, 0),
};

const char *const advice_dir_names[ADVICE_DIR_COUNT] = { "down", "up", "note" };

static const struct field advice_line_fields[] = {
    FIELD(struct advice_line, seq, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD_NAMED(struct advice_line, dir, FIELD_REQUIRED, advice_dir_names, ADVICE_DIR_COUNT),
    FIELD(struct advice_line, body, FIELD_STR, FIELD_REQUIRED, ADVICE_LINE_MAX_BYTES),
};
PART(advice_line);

static const struct field get_advice_fields[] = {
    FIELD(struct msg_get_advice, sweep, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct msg_get_advice, after, FIELD_INT, 0, COUNT_MAX),
};

static const struct field advice_page_fields[] = {
    FIELD_OF(struct msg_advice_page, lines, FIELD_LIST, 0, PAGE_MAX, &advice_line_schema),
    FIELD(struct msg_advice_page, next, FIELD_INT, 0, COUNT_MAX),
    FIELD(struct msg_advice_page, advisor, FIELD_STR, 0, COMMAND_MAX_BYTES),
};

static const struct field leave_fields[] = {
    FIELD(struct msg_leave, reason, FIELD_STR, 0, REASON_MAX_BYTES),
};

static const struct field retire_fields[] = {
    FIELD(struct msg_retire, reason, FIELD_STR, 0, REASON_MAX_BYTES),
};

static const struct field retiring_fields[] = {
    FIELD(struct msg_retiring, reason, FIELD_STR, 0, REASON_MAX_BYTES),
    FIELD(struct msg_retiring, is_over, FIELD_BOOL, 0, 0),
    FIELD(struct msg_retiring, gives_back, FIELD_BOOL, 0, 0),
};

static const struct field alive_fields[] = {
    FIELD(struct msg_alive, well, FIELD_BOOL, FIELD_REQUIRED, 0),
};

static const struct field measured_fields[] = {
    FIELD_OF(struct msg_measured, values, FIELD_LIST, FIELD_REQUIRED, MEASURED_MAX,
             &measured_value_schema),
};

static const struct field stop_early_fields[] = {
    FIELD(struct msg_stop_early, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct msg_stop_early, reason, FIELD_STR, 0, REASON_MAX_BYTES),
};

static const struct field get_saved_fields[] = {
    FIELD(struct msg_get_saved, sweep, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct msg_get_saved, job, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD_OF(struct msg_get_saved, at, FIELD_STRUCT, 0, 0, &peek_at_schema),
};

static const struct field saved_fields[] = {
    FIELD(struct msg_saved, node, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct msg_saved, attempt, FIELD_INT, 0, COUNT_MAX),
    FIELD_OF(struct msg_saved, found, FIELD_STRUCT, FIELD_REQUIRED, 0, &peek_found_schema),
};

static const struct field read_saved_fields[] = {
    FIELD(struct msg_read_saved, number, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD(struct msg_read_saved, token, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD_OF(struct msg_read_saved, at, FIELD_STRUCT, 0, 0, &peek_at_schema),
};

static const struct field saved_read_fields[] = {
    FIELD(struct msg_saved_read, number, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
    FIELD_OF(struct msg_saved_read, found, FIELD_STRUCT, FIELD_REQUIRED, 0, &peek_found_schema),
};

static const struct field get_work_fields[] = {
    FIELD(struct msg_get_work, sweep, FIELD_INT, FIELD_REQUIRED, COUNT_MAX),
};

static const struct field got_work_fields[] = {
    FIELD_OF(struct msg_got_work, work, FIELD_STRUCT, FIELD_REQUIRED, 0, &sweep_work_schema),
};

#define report_fields report_message_fields
#define X(constant, number, name, flags, reply)      \
    static const struct schema msg_##name##_schema = \
        SCHEMA(struct msg_##name, #name, name##_fields);
MESSAGES(X)
#undef X

static const struct message messages[MSG_COUNT] = {
#define X(constant, number, name, flags, reply) \
    [constant] = { #name, &msg_##name##_schema, flags, reply },
    MESSAGES(X)
#undef X
};

const struct protocol proto = { messages, MSG_COUNT };

/* ---- msg_alive ---- */

enum { ALIVE_EVERY_MAX_MS = 20 * 1000 };

int64_t proto_alive_every_ms(int64_t lease_ms)
{
    int64_t every_ms = lease_ms / 4;

    if (every_ms > ALIVE_EVERY_MAX_MS)
        every_ms = ALIVE_EVERY_MAX_MS;
    return every_ms > 0 ? every_ms : 1;
}

int64_t proto_silent_after_ms(int64_t lease_ms)
{
    int64_t every_ms = proto_alive_every_ms(lease_ms);

    return 2 * every_ms + every_ms / 4;
}
