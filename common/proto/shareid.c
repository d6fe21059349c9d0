/* SPDX-License-Identifier: MIT */
/* shareid.c - the file that names the owner of a share */
#include "common/proto/shareid.h"

#include <string.h>

#include "common/data/json.h"

#define MARK_BEGINNING SHAREID_NAME "-"

static const char *const inbox_names[INBOX_KIND_COUNT] = { "none", "watched", "listed" };

static const struct field fields[] = {
    FIELD(struct shareid, v, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct shareid, server, FIELD_STR, FIELD_REQUIRED, 64),
    FIELD(struct shareid, host, FIELD_STR, FIELD_REQUIRED, 256),
    FIELD(struct shareid, incarnation, FIELD_STR, 0, 64),
    FIELD_NAMED(struct shareid, inbox, 0, inbox_names, INBOX_KIND_COUNT),
    FIELD(struct shareid, why, FIELD_STR, 0, 1024),
    FIELD(struct shareid, projects, FIELD_STR, 0, 4096),
};

static const struct schema schema = SCHEMA(struct shareid, "id", fields);

void shareid_encode(const struct shareid *id, struct buf *out)
{
    schema_add_json(&schema, id, out);
    buf_add_char(out, '\n');
}

int shareid_decode(struct shareid *id, struct bytes file, struct arena *a, struct err *e)
{
    struct value map;

    if (json_read((const char *)file.data, file.n, a, &map, e) < 0 ||
        schema_decode(&schema, &map, a, id, e) < 0)
        return err_wrap(e, "the share's id");
    if (id->v != 1)
        return err_set(e, ERR_PROTOCOL, "the share's id is of another version of ludwig");
    return 0;
}

char *shareid_mark(const char *server_id)
{
    return mem_printf(MARK_BEGINNING "%s", server_id);
}

bool shareid_is_mark(const char *name)
{
    return strncmp(name, MARK_BEGINNING, strlen(MARK_BEGINNING)) == 0;
}
