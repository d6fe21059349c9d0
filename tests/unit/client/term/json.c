/* SPDX-License-Identifier: MIT */
/* json.c - docs/json.md against the tables that JSON is made from */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/cli/help_json.h"
#include "client/cmd/peek.h"
#include "client/cmd/reproduction.h"
#include "client/doctor/doctor.h"
#include "client/pack/datasets.h"
#include "client/importance/importance.h"
#include "client/query/sweep_why.h"
#include "client/query/triage.h"
#include "client/query/usage.h"
#include "client/share/disk_usage.h"
#include "client/results/results_out.h"
#include "client/results/series.h"
#include "client/session/own_sshd.h"
#include "common/data/json.h"
#include "tests/unit/doc.h"

static const char path[] = "docs/json.md";

/* What commands print.  Those of messages are found below. */
static const struct schema *const shapes[] = {
    &submitted_schema,        &sweep_info_schema,      &job_counts_schema,
    &ranking_schema,          &job_info_schema,        NULL /* results */,
    &measure_schema,          &series_row_schema,      &node_info_schema,
    &usage_sum_schema,        &usage_info_schema,      &finding_schema,
    &invitation_schema,       &guest_schema,           &held_tree_schema,
    &pool_trouble_schema,     &dataset_info_schema,    &datasets_gone_schema,
    &dataset_schema,          &disk_usage_schema,      &importance_schema,
    &param_importance_schema, &pair_importance_schema, &sweep_why_schema,
    &triage_answer_schema,    &triage_group_schema,    &triage_reason_schema,
    &help_answer_schema,      &help_command_schema,    &help_option_schema,
    &help_exit_schema,        &reproduction_schema,    &difference_schema,
    &saved_place_schema,      &saved_entry_schema,     &gpu_use_schema,
    &pilots_waiting_schema,
};
static const enum msg_type messages[] = { MSG_WHY, MSG_CHANGED, MSG_REMOVED, MSG_DRAINED };

enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };
enum { N_MESSAGES = sizeof messages / sizeof messages[0] };

static const struct schema *shape(size_t i)
{
    if (i >= N_SHAPES)
        return proto.messages[messages[i - N_SHAPES]].schema;
    return shapes[i] != NULL ? shapes[i] : results_schema();
}

static const char *shape_name(size_t i)
{
    return i < N_SHAPES ? shape(i)->name : proto.messages[messages[i - N_SHAPES]].name;
}

static void add_type(struct buf *out, const struct field *f)
{
    bool may_be_null = (f->flags & FIELD_NULLABLE) != 0 || (f->flags & FIELD_TIME_MS) != 0 ||
                       (f->type == FIELD_STR && (f->flags & FIELD_REQUIRED) == 0);

    switch (f->type) {
    case FIELD_BOOL: buf_add_str(out, "boolean"); break;
    case FIELD_INT: buf_add_str(out, (f->flags & FIELD_TIME_MS) != 0 ? "time" : "integer"); break;
    case FIELD_FLOAT: buf_add_str(out, "number"); break;
    case FIELD_STR: buf_add_str(out, "string"); break;
    case FIELD_BYTES:
    case FIELD_TOKEN:
    case FIELD_DIGEST: buf_add_str(out, "hex digits"); break;
    case FIELD_ENUM: buf_add_str(out, "word"); break;
    case FIELD_VALUE: buf_add_str(out, "any"); break;
    case FIELD_STRUCT: buf_printf(out, "object %s", f->of->name); break;
    case FIELD_LIST: buf_printf(out, "list of %s", f->of->name); break;
    case FIELD_STRS: buf_add_str(out, "list of strings"); break;
    }
    buf_add_str(out, may_be_null ? " or null" : "");
}

/* The beginning of a field's line; what it means stands behind it. */
static void add_row(struct buf *out, const struct field *f)
{
    buf_printf(out, "| `%s` | ", f->name);
    add_type(out, f);
    buf_add_str(out, " |");
}

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return line + (*line == '\n');
}

static bool begins_with(const char *line, const char *text)
{
    return strncmp(line, text, strlen(text)) == 0;
}

/* The line behind the table's head. */
static const char *find_table(const char *doc, const char *name)
{
    static const char head[] = "\n| field | type | what |\n|---|---|---|\n";
    char *begin = mem_printf("\n### %s\n", name);
    const char *at = strstr(doc, begin), *table = at == NULL ? NULL : strstr(at, head);

    free(begin);
    if (table == NULL) {
        fail_msg("%s has no part '### %s' with a table", path, name);
        return "";
    }
    return table + strlen(head);
}

static void check_table(const char *doc, const struct schema *s, const char *name)
{
    const char *line = find_table(doc, name);

    for (size_t i = 0; i < s->n_fields; i++) {
        struct buf row = { 0 };

        add_row(&row, &s->fields[i]);
        if (!begins_with(line, buf_text(&row)))
            fail_msg("%s, %s: expected '%s', found '%.*s'", path, name, buf_text(&row),
                     (int)strcspn(line, "\n"), line);
        buf_free(&row);
        line = next_line(line);
    }
    if (begins_with(line, "| "))
        fail_msg("%s, %s: there is no field '%.*s'", path, name, (int)strcspn(line, "\n"), line);
}

static void the_page_has_every_object_with_its_fields_and_no_other(void **state)
{
    struct buf doc = { 0 };
    struct err e = { 0 };

    (void)state;
    if (io_read_file(path, 1 << 24, &doc, &e) < 0)
        fail_msg("%s", e.text);
    for (size_t i = 0; i < N_SHAPES + N_MESSAGES; i++)
        check_table(buf_text(&doc), shape(i), shape_name(i));
    buf_free(&doc);
}

/* Objects that stand in others are described too. */
static void no_object_is_left_unsaid(void **state)
{
    struct buf doc = { 0 };

    (void)state;
    assert_int_equal(io_read_file(path, 1 << 24, &doc, NULL), 0);
    for (size_t i = 0; i < N_SHAPES + N_MESSAGES; i++)
        for (size_t k = 0; k < shape(i)->n_fields; k++)
            if (shape(i)->fields[k].of != NULL)
                (void)find_table(buf_text(&doc), shape(i)->fields[k].of->name);
    buf_free(&doc);
}

/* Every field of every table is printed, and only those. */
static void json_has_the_fields_of_the_table_in_their_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SHAPES + N_MESSAGES; i++) {
        const struct schema *s = shape(i);
        void *empty = mem_alloc(s->size);
        struct arena *a = arena_create();
        struct buf json = { 0 };
        struct value v;
        struct err e = { 0 };

        schema_add_json(s, empty, &json);
        if (json_read(buf_text(&json), json.n, a, &v, &e) < 0)
            fail_msg("%s: %s: %s", s->name, e.text, buf_text(&json));
        assert_int_equal(v.map.n, s->n_fields);
        for (size_t k = 0; k < s->n_fields; k++)
            assert_string_equal(v.map.members[k].key.str.s, s->fields[k].name);
        buf_free(&json);
        arena_destroy(a);
        free(empty);
    }
}

/* Prints the tables, to be filled in. */
static int print_document(void)
{
    for (size_t i = 0; i < N_SHAPES + N_MESSAGES; i++) {
        printf("### %s\n\n| field | type | what |\n|---|---|---|\n", shape_name(i));
        for (size_t k = 0; k < shape(i)->n_fields; k++) {
            struct buf row = { 0 };

            add_row(&row, &shape(i)->fields[k]);
            printf("%s |\n", buf_text(&row));
            buf_free(&row);
        }
        printf("\n");
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_has_every_object_with_its_fields_and_no_other),
        cmocka_unit_test(no_object_is_left_unsaid),
        cmocka_unit_test(json_has_the_fields_of_the_table_in_their_order),
    };

    if (argc > 1 && strcmp(argv[1], "--print") == 0)
        return print_document();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
