/* SPDX-License-Identifier: MIT */
/*
 * schema.h - structs described by tables: encoder, decoder, validator, printer
 *
 * A message is a plain struct and a table of its fields.  From the table come
 * its msgpack form (a map by field names), the check of a peer's message, and
 * its JSON for people.  Decoded strings, lists and values live in the arena.
 *
 * Absent optional fields: numbers 0 (or SCHEMA_NONE with FIELD_NULLABLE), strings
 * NULL, bytes and lists empty, values VALUE_NULL.  Unknown fields are skipped,
 * except those whose name begins with '!', which a reader must know or refuse.
 */
#ifndef LUDWIG_COMMON_DATA_SCHEMA_H
#define LUDWIG_COMMON_DATA_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "common/base/err.h"
#include "common/data/value.h"

enum { SCHEMA_FIELDS_MAX = 64 };

#define SCHEMA_NONE INT64_MIN /* "no number" in a FIELD_NULLABLE field */

enum field_type {
    FIELD_BOOL,   /* bool */
    FIELD_INT,    /* int64_t, 0..max unless FIELD_SIGNED (then -max..max) */
    FIELD_FLOAT,  /* double */
    FIELD_STR,    /* const char *, at most max bytes, no NUL inside */
    FIELD_BYTES,  /* struct bytes, at most max bytes */
    FIELD_TOKEN,  /* struct token; in JSON hex */
    FIELD_DIGEST, /* struct digest; in JSON hex */
    FIELD_ENUM,   /* int (an enum); on the wire its name, from names[0..max-1] */
    FIELD_VALUE,  /* struct value: anything */
    FIELD_STRUCT, /* a struct of the schema of, in place */
    FIELD_LIST,   /* struct list of structs of the schema of, at most max */
    FIELD_STRS    /* struct list of const char *, at most max, each at most 4096 bytes */
};

enum field_flags {
    FIELD_REQUIRED = 1,
    FIELD_NULLABLE = 2, /* FIELD_INT, FIELD_FLOAT (NAN): absent is not zero; null in JSON */
    FIELD_SIGNED = 4,
    FIELD_TIME_MS = 8 /* moment in ms since 1970: RFC 3339 UTC in JSON, null when 0 */
};

/* items points to n structs (FIELD_LIST) or n const char * (FIELD_STRS). */
struct list {
    void *items;
    size_t n;
};

struct field {
    const char *name;
    size_t offset;
    enum field_type type;
    unsigned flags;
    int64_t max;
    const struct schema *of;
    const char *const *names; /* FIELD_ENUM */
};

struct schema {
    const char *name;
    size_t size;
    const struct field *fields;
    size_t n_fields;
};

/* A row of a table: FIELD(struct msg_cancel, reason, FIELD_STR, 0, REASON_MAX_BYTES) */
#define FIELD(structure, member, type, flags, max)                         \
    {                                                                      \
#member, offsetof(structure, member), type, flags, max, NULL, NULL \
    }
#define FIELD_OF(structure, member, type, flags, max, schema)                \
    {                                                                        \
#member, offsetof(structure, member), type, flags, max, schema, NULL \
    }
#define FIELD_NAMED(structure, member, flags, enum_names, n_names)                         \
    {                                                                                      \
#member, offsetof(structure, member), FIELD_ENUM, flags, n_names, NULL, enum_names \
    }
#define SCHEMA(structure, label, rows)                                   \
    {                                                                    \
        label, sizeof(structure), rows, sizeof(rows) / sizeof((rows)[0]) \
    }

/* Appends the struct as a msgpack map; absent optional fields are left out. */
void schema_encode(const struct schema *s, const void *from, struct buf *out);

/*
 * Fills *to (s->size bytes) from a map; if the map breaks the schema, returns -1 with ERR_PROTOCOL
 * and the field's name.  Text and values are not copied: the map must live as long as *to, best in
 * the same arena.  A null in an optional field is the same as leaving it out.
 */
int schema_decode(const struct schema *s, const struct value *map, struct arena *a, void *to,
                  struct err *e);

/* The same from msgpack bytes. */
int schema_read(const struct schema *s, struct bytes bytes, struct arena *a, void *to,
                struct err *e);

/* A copy in the arena, with copies of all that its fields point to. */
void *schema_copy(const struct schema *s, const void *from, struct arena *a);

/* Appends the struct as a JSON object, every field present. */
void schema_add_json(const struct schema *s, const void *from, struct buf *out);

#endif
