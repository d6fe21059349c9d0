/* SPDX-License-Identifier: MIT */
/* where.c - fuzz: untrusted expressions; errors tell their place, not (E) negates E */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/query/jobinfo.h"
#include "client/term/where.h"
#include "client/term/safe_text.h"
#include "common/data/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char params[] =
    "{\"lr\": 0.01, \"n\": 64, \"flag\": true, \"nothing\": null, \"a.b\": 5,"
    " \"loss\": NaN, \"model\": {\"depth\": 3, \"a\": {\"b\": {}}},"
    " \"layers\": [64, \"x\"], \"text\": \"adam w\"}";

static void check_error(const char *text, const struct err *e)
{
    size_t column;

    if (e->kind != ERR_USAGE || strncmp(e->text, "--where: ", strlen("--where: ")) != 0)
        abort();
    if (sscanf(e->text, "--where: column %zu: ", &column) == 1 &&
        (column == 0 || column > safe_text_width(text, strlen(text)) + 1)) {
        fprintf(stderr, "%s\n", e->text);
        abort();
    }
}

static bool matches(struct where *w, struct arena *a)
{
    struct job_info j = { .job = "7.13", .node = "hoff", .exit_code = 7, .signal = SCHEMA_NONE };
    struct jobinfo_row row;

    if (json_read(params, strlen(params), a, &j.params, NULL) < 0)
        abort();
    jobinfo_fill_row(&row, &j);
    return where_matches(w, &row.row);
}

/* Only a limit may refuse it. */
static void check_is(const char *text, bool expected, struct arena *a)
{
    struct err e = { 0 };
    struct where *w = where_parse(text, a, &e);

    if (w == NULL && strstr(e.text, "longer than") == NULL && strstr(e.text, "parentheses") == NULL)
        abort();
    if (w != NULL && matches(w, a) != expected)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_create();
    char *text = arena_strndup(a, (const char *)data, size);
    struct err e = { 0 };
    struct where *w = where_parse(text, a, &e);

    if (w == NULL) {
        check_error(text, &e);
    } else {
        bool result = matches(w, a);

        where_check_names(w, &e);
        check_is(arena_printf(a, "not (%s)", text), !result, a);
        check_is(arena_printf(a, "n = 1 or (%s) and n = 64", text), result, a);
    }
    arena_destroy(a);
    return 0;
}
