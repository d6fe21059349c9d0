/* SPDX-License-Identifier: MIT */
/* yaml.c - fuzz: untrusted YAML; a value that was read, written and read again must be equal */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/data/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(struct arena *a, const struct yaml_node *root)
{
    struct value v = yaml_value(root, a), value_again;
    const struct yaml_node *again;
    struct buf b = { 0 };
    struct err e = { 0 };

    yaml_add_value(&b, &v);
    again = yaml_parse("again", buf_text(&b), b.n, a, &e);
    if (again == NULL) {
        fprintf(stderr, "%s\n%s", e.text, buf_text(&b));
        abort();
    }
    value_again = yaml_value(again, a);
    if (!value_equal(&v, &value_again)) {
        fprintf(stderr, "%s", buf_text(&b));
        abort();
    }
    buf_free(&b);
}

/* Every error begins with its place. */
static void check_error(const struct err *e)
{
    unsigned line, column;

    if (e->kind != ERR_USAGE || sscanf(e->text, "f:%u:%u: ", &line, &column) != 2 || line == 0 ||
        column == 0) {
        fprintf(stderr, "%s\n", e->text);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_create();
    struct err e = { 0 };
    const struct yaml_node *root = yaml_parse("f", (const char *)data, size, a, &e);

    if (root == NULL)
        check_error(&e);
    else
        check_round_trip(a, root);
    arena_destroy(a);
    return 0;
}
