/* SPDX-License-Identifier: MIT */
/* spec.c - fuzz: untrusted sweep files; each error tells its place, a valid file expands */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/expand/expand.h"
#include "client/spec/spec.h"
#include "client/submit/submit_request.h"
#include "client/term/opt.h"
#include "common/data/msgpack.h"

/* Grids of more points are refused, so that each input takes a moment only. */
enum { POINTS = 2000, STEPS = 5 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void complain(const struct err *e)
{
    fprintf(stderr, "%s\n", e->text);
    abort();
}

/* Each line of the text begins with a place in the file, or is an excerpt of it. */
static void check_error(const struct err *e)
{
    const char *line = e->text;
    unsigned at_line, at_column;

    if (e->kind != ERR_USAGE || line[0] == '\0')
        complain(e);
    while (*line != '\0') {
        size_t n = strcspn(line, "\n");

        /* The last one may have been cut. */
        if (line[n] == '\n' && line[0] != ' ' &&
            (sscanf(line, "f:%u:%u: ", &at_line, &at_column) != 2 || at_line == 0 ||
             at_column == 0))
            complain(e);
        line += n + (line[n] == '\n');
    }
}

static struct buf next_point(struct expand *x)
{
    struct buf point = { 0 };

    if (!expand_next(x, &point))
        abort();
    return point;
}

/* It is a map, and the same again. */
static void check_point(struct expand *x, int64_t index, struct arena *a)
{
    struct buf point, again;
    struct value v;

    expand_seek(x, index);
    point = next_point(x);
    expand_seek(x, index);
    again = next_point(x);
    if (point.n != again.n || memcmp(point.bytes, again.bytes, point.n) != 0 ||
        mp_read(point.bytes, point.n, a, &v, NULL) < 0 || v.type != VALUE_MAP)
        abort();
    buf_free(&point);
    buf_free(&again);
}

static void check_points(struct expand *x, struct arena *a)
{
    struct buf rest = { 0 }, notes = { 0 };
    int64_t n = expand_count(x);

    if (n < 1)
        abort();
    for (int64_t i = 0; i < n && i < STEPS; i++)
        check_point(x, i, a);
    check_point(x, n - 1, a);
    if (expand_next(x, &rest))
        abort();
    expand_add_notes(x, &notes);
    buf_free(&notes);
    buf_free(&rest);
}

static void check_expand(const struct spec *s, struct arena *a)
{
    struct err e = { 0 };
    struct expand *x = expand_create(&s->plan, "f", POINTS, &e);

    if (x != NULL)
        check_points(x, a);
    else if (e.kind != ERR_USAGE || e.text[0] == '\0')
        complain(&e);
    expand_destroy(x);
}

static void check_order(const struct spec *s)
{
    struct submit_request o = { .spec = *s, .configs = 1 };
    struct buf summary = { 0 };

    submit_request_add_summary(&o, &s->work, 1, &summary);
    buf_free(&summary);
}

/* With and without the options that change most. */
static void check_spec(const struct spec *read, struct arena *a, bool minimal)
{
    struct spec_overrides over = { .reps = OPT_UNSET,
                                   .priority = OPT_UNSET,
                                   .minimal = minimal,
                                   .partitions = minimal ? "a,b" : NULL };
    struct spec s = *read;
    struct err e = { 0 };

    if (s.project == NULL || s.work.command == NULL || s.reps < 1 || s.work.batch < 1)
        abort();
    if (spec_override(&s, &over, a, &e) < 0) {
        check_error(&e);
        return;
    }
    check_expand(&s, a);
    check_order(&s);
}

static double number_of(const struct yaml_node *node)
{
    return node->type == VALUE_INT     ? (double)node->scalar.i
           : node->type == VALUE_FLOAT ? node->scalar.f
                                       : 0;
}

/* How many values such a form has, about. */
static double count_values(const char *form, const struct yaml_node *list)
{
    double third;

    if (list->type != VALUE_LIST || list->n < 2)
        return 0;
    third = list->n > 2 ? number_of(&list->items[2]) : 1;
    if (strcmp(form, "linspace") == 0 || strcmp(form, "logspace") == 0)
        return third;
    if (strcmp(form, "range") != 0)
        return 0;
    return fabs((number_of(&list->items[1]) - number_of(&list->items[0])) / third);
}

/* Long lists are right, but take longer than they teach; those that are too long are refused. */
static bool is_slow(const struct yaml_node *node)
{
    for (size_t i = 0; i < node->n; i++) {
        const struct yaml_node *child =
            node->type == VALUE_MAP ? &node->members[i].node : &node->items[i];
        double n = node->type == VALUE_MAP ? count_values(node->members[i].key, child) : 0;

        if ((n > POINTS && n < POINTS_MAX + 1.0) || is_slow(child))
            return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_create();
    char *text = arena_strndup(a, (const char *)data, size);
    const struct yaml_node *root = yaml_parse("f", text, size, a, NULL);
    struct err e = { 0 };
    struct spec s;

    if (root != NULL && is_slow(root)) {
        arena_destroy(a);
        return 0;
    }
    if (spec_parse("f", NULL, text, size, a, &s, &e) < 0) {
        check_error(&e);
    } else {
        check_spec(&s, a, false);
        check_spec(&s, a, true);
    }
    arena_destroy(a);
    return 0;
}
