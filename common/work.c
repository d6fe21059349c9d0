/* SPDX-License-Identifier: MIT */
/* work.c - field tables of a sweep's work, and what makes two jobs the same */

#include "common/work.h"

static const struct field env_entry_fields[] = {
    FIELD(struct env_entry, name, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct env_entry, value, FIELD_STR, FIELD_REQUIRED, COMMAND_MAX_BYTES),
};
const struct schema env_entry_schema = SCHEMA(struct env_entry, "env_entry", env_entry_fields);

static const struct field data_entry_fields[] = {
    FIELD(struct data_entry, name, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct data_entry, digest, FIELD_DIGEST, FIELD_REQUIRED, 0),
};
const struct schema data_entry_schema = SCHEMA(struct data_entry, "data_entry", data_entry_fields);

static const struct field resources_fields[] = {
    FIELD(struct resources, cpus_milli, FIELD_INT, 0, 1000000000),
    FIELD(struct resources, gpus_milli, FIELD_INT, 0, 10000000),
    FIELD(struct resources, memory_bytes, FIELD_INT, 0, INT64_C(1) << 53),
    FIELD(struct resources, time_ms, FIELD_INT, 0, INT64_C(1) << 53),
};
const struct schema resources_schema = SCHEMA(struct resources, "resources", resources_fields);

static const struct field work_fields[] = {
    FIELD(struct work, command, FIELD_STR, FIELD_REQUIRED, COMMAND_MAX_BYTES),
    FIELD(struct work, setup, FIELD_STR, 0, COMMAND_MAX_BYTES),
    FIELD_OF(struct work, env, FIELD_LIST, 0, 1000, &env_entry_schema),
    FIELD_OF(struct work, resources, FIELD_STRUCT, FIELD_REQUIRED, 0, &resources_schema),
    FIELD(struct work, source, FIELD_DIGEST, 0, 0),
    FIELD_OF(struct work, data, FIELD_LIST, 0, 1000, &data_entry_schema),
    FIELD(struct work, git_commit, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct work, git_dirty, FIELD_BOOL, 0, 0),
};
const struct schema work_schema = SCHEMA(struct work, "work", work_fields);

static const struct field metric_fields[] = {
    FIELD(struct metric, name, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct metric, value, FIELD_FLOAT, FIELD_REQUIRED, 0),
    FIELD(struct metric, step, FIELD_INT, FIELD_NULLABLE, INT64_C(1) << 53),
};
const struct schema metric_schema = SCHEMA(struct metric, "metric", metric_fields);

void work_digest(const struct work *w, struct digest *d)
{
    struct work same = *w;
    struct buf text = { 0 };

    same.resources = (struct resources){ 0 };
    same.git_commit = NULL;
    same.git_dirty = false;
    buf_add_str(&text, "ludwig work 1\n");
    schema_encode(&work_schema, &same, &text);
    digest_of(text.bytes, text.n, d);
    buf_free(&text);
}
