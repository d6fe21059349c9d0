/* SPDX-License-Identifier: MIT */
/* spec.c - fuzz: a sweep file from anybody; every error says where, a good file expands */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/expand.h"
#include "client/opt.h"
#include "client/spec.h"
#include "common/mp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each line of the text begins with a place in the file. */
static void check_error(const struct err *e)
{
    const char *line = e->text;
    unsigned at_line, at_column;

    if (e->kind != ERR_USAGE)
        abort();
    while (*line != '\0') {
        size_t n = strcspn(line, "\n");

        /* The last one may have been cut. */
        if (line[n] == '\n' && (sscanf(line, "f:%u:%u: ", &at_line, &at_column) != 2 ||
                                at_line == 0 || at_column == 0)) {
            fprintf(stderr, "%s\n", e->text);
            abort();
        }
        line += n + (line[n] == '\n');
    }
}

/* The first and the last configuration can be read. */
static void check_point(struct expand *x, int64_t index, struct arena *a)
{
    struct buf point = { 0 };
    struct value v;

    expand_seek(x, index);
    if (!expand_next(x, &point))
        abort();
    if (mp_read(point.bytes, point.n, a, &v, NULL) < 0 || v.type != VALUE_MAP)
        abort();
    buf_free(&point);
}

static void check_spec(struct spec *s, struct arena *a)
{
    struct spec_overrides minimal = { .reps = OPT_UNSET, .priority = OPT_UNSET, .minimal = true };
    struct expand *x = expand_create(&s->params, NULL);

    if (x != NULL) {
        check_point(x, 0, a);
        check_point(x, expand_count(x) - 1, a);
    }
    expand_destroy(x);
    if (s->project == NULL || s->work.command == NULL || s->reps < 1)
        abort();
    if (spec_override(s, &minimal, a, NULL) < 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_create();
    char *text = arena_strndup(a, (const char *)data, size);
    struct err e = { 0 };
    struct spec s;

    if (spec_parse("f", NULL, text, size, a, &s, &e) < 0)
        check_error(&e);
    else
        check_spec(&s, a);
    arena_destroy(a);
    return 0;
}
