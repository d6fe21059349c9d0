/* SPDX-License-Identifier: MIT */
/*
 * peek.h - struct saved_place, a file or folder of a job's save folder, printed by `ludwig peek`
 */
#ifndef LUDWIG_CLIENT_CMD_PEEK_H
#define LUDWIG_CLIENT_CMD_PEEK_H

#include "common/proto/proto.h"

struct saved_place {
    const char *job; /* "7.13" */
    int64_t attempt;
    int state;        /* enum job_state */
    const char *node; /* the node whose worker read the place; NULL: it was read on the share */
    const char *path; /* relative to the save folder; "": the save folder itself */
    int type;         /* PEEK_FILE or PEEK_FOLDER */
    int64_t size_bytes;
    int64_t modified_at; /* milliseconds since 1970 */
    struct list entries; /* a folder's content, struct peek_entry */
};

/* Describe `ludwig peek --json` (docs/json.md). */
extern const struct schema saved_place_schema, saved_entry_schema;

#endif
