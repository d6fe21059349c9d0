/* SPDX-License-Identifier: MIT */
/*
 * client_plan.h - reads a plan from the text of a sweep file
 *
 * Include after cmocka.h.
 */
#ifndef LUDWIG_TESTS_UNIT_CLIENT_PLAN_H
#define LUDWIG_TESTS_UNIT_CLIENT_PLAN_H

#include <string.h>

#include "client/spec/plan_check.h"

static const struct key plan_keys[] = {
    { .name = "params",
      .type = KEY_CUSTOM,
      .offset = offsetof(struct plan, params),
      .read = params_read },
    { .name = "method",
      .type = KEY_CUSTOM,
      .offset = offsetof(struct plan, method),
      .read = plan_read_method },
    { .name = "samples", .type = KEY_INT, .offset = offsetof(struct plan, samples) },
    { .name = "seed", .type = KEY_INT, .offset = offsetof(struct plan, seed) },
    { .name = "zip",
      .type = KEY_CUSTOM,
      .offset = offsetof(struct plan, zip),
      .read = plan_read_zip },
    { .name = "when",
      .type = KEY_CUSTOM,
      .offset = offsetof(struct plan, when),
      .read = plan_read_when },
    { .name = "exclude",
      .type = KEY_CUSTOM,
      .offset = offsetof(struct plan, exclude),
      .read = plan_read_exclude },
    { .name = "include",
      .type = KEY_CUSTOM,
      .offset = offsetof(struct plan, include),
      .read = plan_read_include },
    { .name = NULL },
};

/* Returns where the node stands in the text; 0, 0 if it is NULL. */
static inline struct spot plan_spot(const struct yaml_node *node)
{
    struct spot spot = { 0 };

    if (node != NULL)
        spot = (struct spot){ node->line, node->column };
    return spot;
}

/* Returns where the key of this name stands in the map root; 0, 0 if there is none. */
static inline struct spot plan_spot_of_key(const struct yaml_node *root, const char *name)
{
    for (size_t i = 0; root->type == VALUE_MAP && i < root->n; i++)
        if (strcmp(root->members[i].key, name) == 0)
            return (struct spot){ root->members[i].line, root->members[i].column };
    return (struct spot){ 0, 0 };
}

/* Reads the plan's keys and, if there was no error, checks the plan, which lives in a.  Returns -1
 * with e set if the plan is wrong; errors call the file "f". */
static inline int plan_parse(const char *text, struct arena *a, struct plan *p, struct err *e)
{
    struct yaml_keys_reader r = { .file = "f", .arena = a };
    const struct yaml_node *root = yaml_parse("f", text, strlen(text), a, e);

    *p = (struct plan){ 0 };
    if (root == NULL)
        return -1;
    if (yaml_keys_read(&r, plan_keys, root, p) == 0) {
        p->params_at = plan_spot_of_key(root, "params");
        p->method_at = plan_spot(yaml_get(root, "method"));
        p->samples_at = plan_spot(yaml_get(root, "samples"));
        plan_check(p, &r);
    }
    return yaml_keys_end(&r, e);
}

/* Returns the plan of a text, which lives in a; an error fails the test. */
static inline struct plan *plan_from(const char *text, struct arena *a)
{
    struct plan *p = arena_alloc(a, sizeof *p);
    struct err e = { 0 };

    if (plan_parse(text, a, p, &e) < 0)
        fail_msg("%s\n%s", text, e.text);
    return p;
}

#endif
