/* SPDX-License-Identifier: MIT */
/* env_recipe.c - the recipe by which a node builds an environment */

#include "worker/base/env_recipe.h"

#include <string.h>

static const struct field recipe_fields[] = {
    FIELD(struct env_recipe, tool, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct env_recipe, file, FIELD_STR, 0, 4096),
    FIELD(struct env_recipe, interpreter, FIELD_STR, 0, 4096),
    FIELD(struct env_recipe, options, FIELD_STRS, 0, 100),
    FIELD(struct env_recipe, modules, FIELD_STRS, 0, MODULES_MAX),
    FIELD_OF(struct env_recipe, variables, FIELD_LIST, 0, 1000 + PASSED_MAX, &env_entry_schema),
    FIELD(struct env_recipe, files, FIELD_DIGEST, 0, 0),
};
const struct schema env_recipe_schema = SCHEMA(struct env_recipe, "env_recipe", recipe_fields);

/* Whether the variable tells a building tool where packages come from, by how its name begins. */
static bool is_for_tools(const char *name)
{
    static const char *const begins[] = { "PIP_",       "UV_",         "CONDA_",   "MAMBA_",
                                          "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
                                          "http_proxy", "https_proxy", "no_proxy", "all_proxy" };

    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

static bool is_passed(const struct jobspec *w, const char *name)
{
    const char *const *passed = w->passed.items;

    for (size_t i = 0; i < w->passed.n; i++)
        if (strcmp(passed[i], name) == 0)
            return true;
    return false;
}

struct env_recipe env_recipe_of(const struct jobspec *w, struct arena *a)
{
    const struct environment *x = &w->environment;
    const struct data_entry *data = w->data.items;
    const struct env_entry *env = w->env.items;
    struct env_entry *variables;
    struct env_recipe r = { .tool = x->tool };

    if (x->tool == NULL || x->data == NULL)
        return (struct env_recipe){ .tool = NULL };
    r.file = x->file;
    r.interpreter = x->interpreter;
    r.options = x->options;
    r.modules = x->modules;
    for (size_t i = 0; i < w->data.n; i++)
        if (strcmp(data[i].name, x->data) == 0)
            r.files = data[i].set.tree;
    variables = arena_alloc(a, w->env.n * sizeof *variables);
    for (size_t i = 0; i < w->env.n; i++)
        if (is_for_tools(env[i].name) && !is_passed(w, env[i].name))
            variables[r.variables.n++] = env[i];
    r.variables.items = variables;
    return r;
}

const struct env_recipe *env_recipe_copy(const struct env_recipe *r, struct arena *a)
{
    return schema_copy(&env_recipe_schema, r, a);
}

struct digest env_recipe_tree(const struct jobspec *w)
{
    struct digest tree = { { 0 } };
    struct buf text = { 0 };
    struct env_recipe r;
    struct arena *a;

    if (w->environment.tool == NULL)
        return tree;
    a = arena_create();
    r = env_recipe_of(w, a);
    if (r.tool != NULL) {
        buf_add_str(&text, "ludwig environment 1\n");
        schema_encode(&env_recipe_schema, &r, &text);
        digest_of(text.bytes, text.n, &tree);
    }
    buf_free(&text);
    arena_destroy(a);
    return tree;
}
