/* SPDX-License-Identifier: MIT */
/* parcel.c - the files that carry a stream: their content and their names */
#include "common/connect/parcel.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- content ---- */

static const char *const end_names[PARCEL_END_COUNT] = { "no", "end", "reset" };

static const struct field fields[] = {
    FIELD(struct parcel, v, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct parcel, server, FIELD_STR, FIELD_REQUIRED, 64),
    FIELD(struct parcel, incarnation, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct parcel, conn, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct parcel, seq, FIELD_INT, FIELD_REQUIRED, INT64_MAX - 1),
    FIELD(struct parcel, ack, FIELD_INT, FIELD_REQUIRED, INT64_MAX - 1),
    FIELD(struct parcel, data, FIELD_BYTES, 0, PARCEL_DATA_MAX),
    FIELD_NAMED(struct parcel, end, FIELD_REQUIRED, end_names, PARCEL_END_COUNT),
};

const struct schema parcel_schema = SCHEMA(struct parcel, "parcel", fields);

void parcel_encode(const struct parcel *p, struct buf *out)
{
    schema_encode(&parcel_schema, p, out);
}

int parcel_decode(struct parcel *p, struct bytes file, struct arena *a, struct err *e)
{
    if (file.n > PARCEL_MAX_BYTES)
        return err_set(e, ERR_PROTOCOL, "parcel: larger than %d bytes", PARCEL_MAX_BYTES);
    if (schema_read(&parcel_schema, file, a, p, e) < 0)
        return err_wrap(e, "parcel");
    if (p->v != PARCEL_VERSION)
        return err_set(e, ERR_PROTOCOL, "parcel: version %" PRId64 ", and only %d is known here",
                       p->v, PARCEL_VERSION);
    return 0;
}

/* ---- names ---- */

void parcel_inbox_name(char name[PARCEL_NAME_BYTES], const struct token *conn, int64_t seq)
{
    char hex[TOKEN_HEX];

    token_hex(conn, hex);
    (void)snprintf(name, PARCEL_NAME_BYTES, "%s.%" PRId64, hex, seq);
}

void parcel_outbox_name(char name[PARCEL_NAME_BYTES], uid_t uid, const struct token *conn,
                        int64_t seq)
{
    char hex[TOKEN_HEX];

    token_hex(conn, hex);
    if (seq < 0)
        (void)snprintf(name, PARCEL_NAME_BYTES, "%u.%s.reset", uid, hex);
    else
        (void)snprintf(name, PARCEL_NAME_BYTES, "%u.%s.%" PRId64, uid, hex, seq);
}

static int parse_conn(const char *name, struct token *conn)
{
    char hex[TOKEN_HEX];

    if (strlen(name) < TOKEN_HEX || name[TOKEN_HEX - 1] != '.')
        return -1;
    memcpy(hex, name, TOKEN_HEX - 1);
    hex[TOKEN_HEX - 1] = '\0';
    return token_parse(hex, conn);
}

int parcel_parse_inbox_name(const char *name, struct token *conn, int64_t *seq, bool *is_temporary)
{
    enum { DIGITS_MAX = 18 };
    bool dotted = name[0] == PARCEL_TEMPORARY[0];
    const char *digits;

    if (dotted && is_temporary == NULL)
        return -1;
    name += dotted;
    if (parse_conn(name, conn) < 0)
        return -1;
    digits = name + TOKEN_HEX;
    if (digits[0] == '\0' || strlen(digits) > DIGITS_MAX ||
        strspn(digits, "0123456789") != strlen(digits) || (digits[0] == '0' && digits[1] != '\0'))
        return -1;
    *seq = strtoll(digits, NULL, 10);
    if (is_temporary != NULL)
        *is_temporary = dotted;
    return 0;
}
