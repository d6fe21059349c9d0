/* SPDX-License-Identifier: MIT */
/*
 * doc.h - compares a document with the tables in the code
 *
 * Paths are relative to the repository's root, where unit tests run.  Include after cmocka.h.
 */
#ifndef LUDWIG_TESTS_UNIT_DOC_H
#define LUDWIG_TESTS_UNIT_DOC_H

#include <string.h>

#include "common/base/io.h"
#include "common/data/schema.h"

/* Fails the test unless the file contains the text. */
static inline void doc_must_contain(const char *path, const char *text)
{
    struct buf doc = { 0 };
    struct err e = { 0 };

    if (io_read_file(path, 1 << 24, &doc, &e) < 0)
        fail_msg("%s", e.text);
    if (strstr(buf_text(&doc), text) == NULL)
        fail_msg("%s lacks: %s", path, text);
    buf_free(&doc);
}

/* Returns the word that the documents use for the field's type. */
static inline const char *doc_type_name(const struct field *f)
{
    switch (f->type) {
    case FIELD_BOOL: return "boolean";
    case FIELD_INT: return (f->flags & FIELD_TIME_MS) != 0 ? "time" : "integer";
    case FIELD_FLOAT: return "number";
    case FIELD_STR: return "string";
    case FIELD_BYTES: return "bytes";
    case FIELD_TOKEN: return "token";
    case FIELD_DIGEST: return "digest";
    case FIELD_ENUM: return "word";
    case FIELD_VALUE: return "any";
    case FIELD_STRUCT: return "map";
    case FIELD_LIST: return "list";
    case FIELD_STRS: return "strings";
    }
    return "?";
}

/* Appends a line like "| `sweep` | integer | yes |" for each field. */
static inline void doc_add_rows(struct buf *out, const struct schema *s)
{
    for (size_t i = 0; i < s->n_fields; i++) {
        const struct field *f = &s->fields[i];

        buf_printf(out, "| `%s` | %s", f->name, doc_type_name(f));
        if (f->of != NULL)
            buf_printf(out, " of %s", f->of->name);
        buf_printf(out, " | %s |\n", (f->flags & FIELD_REQUIRED) != 0 ? "yes" : "");
    }
}

/* Fails the test unless the page has the heading, as a line, and a table with a row for each field
 * of the schema, in the schema's order. */
static inline void doc_must_describe(const char *path, const char *heading, const struct schema *s)
{
    struct buf text = { 0 };

    buf_printf(&text, "%s\n", heading);
    doc_must_contain(path, buf_text(&text));
    buf_clear(&text);
    buf_add_str(&text, "| field | type | required |\n|---|---|---|\n");
    doc_add_rows(&text, s);
    doc_must_contain(path, buf_text(&text));
    buf_free(&text);
}

#endif
