/* SPDX-License-Identifier: MIT */
/* search.c - field tables of a search by an advisor */
#include "common/proto/search.h"

#include "common/proto/jobspec.h"

const char *const space_kind_names[SPACE_KIND_COUNT] = { "fixed", "choice", "float", "int" };

static const struct field space_param_fields[] = {
    FIELD(struct space_param, name, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD_NAMED(struct space_param, kind, 0, space_kind_names, SPACE_KIND_COUNT),
    FIELD(struct space_param, values, FIELD_VALUE, 0, 0),
    FIELD(struct space_param, low, FIELD_FLOAT, 0, 0),
    FIELD(struct space_param, high, FIELD_FLOAT, 0, 0),
    FIELD(struct space_param, first, FIELD_INT, FIELD_SIGNED, INT64_MAX),
    FIELD(struct space_param, last, FIELD_INT, FIELD_SIGNED, INT64_MAX),
    FIELD(struct space_param, log, FIELD_BOOL, 0, 0),
    FIELD(struct space_param, when, FIELD_VALUE, 0, 0),
};
const struct schema space_param_schema =
    SCHEMA(struct space_param, "space_param", space_param_fields);

static const struct field search_fields[] = {
    FIELD(struct search, advisor, FIELD_STR, FIELD_REQUIRED, COMMAND_MAX_BYTES),
    FIELD(struct search, configs, FIELD_INT, 0, INT64_C(1) << 40),
    FIELD(struct search, gpu_hours_milli, FIELD_INT, 0, INT64_C(1) << 50),
    FIELD(struct search, patience_ms, FIELD_INT, 0, INT64_C(1) << 40),
    FIELD(struct search, ahead, FIELD_INT, 0, 100000),
    FIELD(struct search, falls_back, FIELD_BOOL, 0, 0),
    FIELD(struct search, seed, FIELD_INT, FIELD_SIGNED, INT64_MAX),
    FIELD_OF(struct search, space, FIELD_LIST, 0, SPACE_PARAMS_MAX, &space_param_schema),
};
const struct schema search_schema = SCHEMA(struct search, "search", search_fields);
