/* SPDX-License-Identifier: MIT */
/* file_request.c - requests and replies that are files: their content and their names */
#include "common/connect/file_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- content ---- */

static const struct field request_fields[] = {
    FIELD(struct file_request, v, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct file_request, server, FIELD_STR, FIELD_REQUIRED, 64),
    FIELD(struct file_request, incarnation, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct file_request, conn, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct file_request, no, FIELD_INT, FIELD_REQUIRED, INT64_MAX - 1),
    FIELD(struct file_request, data, FIELD_BYTES, 0, FILE_REQUEST_DATA_MAX),
    FIELD(struct file_request, is_end, FIELD_BOOL, 0, 0),
};

static const struct field reply_fields[] = {
    FIELD(struct file_reply, v, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct file_reply, server, FIELD_STR, FIELD_REQUIRED, 64),
    FIELD(struct file_reply, conn, FIELD_TOKEN, FIELD_REQUIRED, 0),
    FIELD(struct file_reply, no, FIELD_INT, FIELD_REQUIRED, INT64_MAX - 1),
    FIELD(struct file_reply, data, FIELD_BYTES, 0, FILE_REQUEST_DATA_MAX),
    FIELD(struct file_reply, is_end, FIELD_BOOL, 0, 0),
    FIELD(struct file_reply, why, FIELD_STR, 0, ERR_TEXT_BYTES),
};

static const struct schema request_schema = SCHEMA(struct file_request, "request", request_fields);
static const struct schema reply_schema = SCHEMA(struct file_reply, "reply", reply_fields);

void file_request_encode(const struct file_request *r, struct buf *out)
{
    schema_encode(&request_schema, r, out);
}

void file_request_encode_reply(const struct file_reply *r, struct buf *out)
{
    schema_encode(&reply_schema, r, out);
}

static int decode_file(const struct schema *schema, void *to, const int64_t *version,
                       struct bytes file, struct arena *a, struct err *e)
{
    if (file.n > FILE_REQUEST_MAX_BYTES)
        return err_set(e, ERR_PROTOCOL, "a file of more than %d bytes", FILE_REQUEST_MAX_BYTES);
    if (schema_read(schema, file, a, to, e) < 0)
        return err_wrap(e, "file");
    if (*version != FILE_REQUEST_VERSION)
        return err_set(e, ERR_PROTOCOL, "a file of version %" PRId64 ", and only %d is known here",
                       *version, FILE_REQUEST_VERSION);
    return 0;
}

int file_request_decode(struct file_request *r, struct bytes file, struct arena *a, struct err *e)
{
    return decode_file(&request_schema, r, &r->v, file, a, e);
}

int file_request_decode_reply(struct file_reply *r, struct bytes file, struct arena *a,
                              struct err *e)
{
    return decode_file(&reply_schema, r, &r->v, file, a, e);
}

/* ---- names ---- */

void file_request_name(char name[FILE_REQUEST_NAME_BYTES], const struct token *conn, int64_t no)
{
    char hex[TOKEN_HEX];

    token_hex(conn, hex);
    (void)snprintf(name, FILE_REQUEST_NAME_BYTES, "%s.%" PRId64, hex, no);
}

void file_request_reply_name(char name[FILE_REQUEST_NAME_BYTES], uid_t uid,
                             const struct token *conn, int64_t no)
{
    char hex[TOKEN_HEX];

    token_hex(conn, hex);
    (void)snprintf(name, FILE_REQUEST_NAME_BYTES, "%u.%s.%" PRId64, uid, hex, no);
}

int file_request_parse_name(const char *name, struct token *conn, int64_t *no, bool *is_temporary)
{
    enum { DIGITS_MAX = 18 };
    bool is_dotted = name[0] == FILE_REQUEST_TEMPORARY[0];
    char hex[TOKEN_HEX];
    const char *digits;

    if (is_dotted && is_temporary == NULL)
        return -1;
    name += is_dotted;
    if (strlen(name) < TOKEN_HEX || name[TOKEN_HEX - 1] != '.')
        return -1;
    memcpy(hex, name, TOKEN_HEX - 1);
    hex[TOKEN_HEX - 1] = '\0';
    digits = name + TOKEN_HEX;
    if (token_parse(hex, conn) < 0 || digits[0] == '\0' || strlen(digits) > DIGITS_MAX ||
        strspn(digits, "0123456789") != strlen(digits) || (digits[0] == '0' && digits[1] != '\0'))
        return -1;
    *no = strtoll(digits, NULL, 10);
    if (is_temporary != NULL)
        *is_temporary = is_dotted;
    return 0;
}
