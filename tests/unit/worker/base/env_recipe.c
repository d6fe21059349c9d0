/* SPDX-License-Identifier: MIT */
/* env_recipe.c - tests of which environments are the same */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/base/mem.h"
#include "worker/base/env_recipe.h"

static struct env_entry env[] = { { "LR", "1" },
                                  { "PIP_INDEX_URL", "https://a" },
                                  { "PIP_KEY", "x" } };
static const char *passed[] = { "PIP_KEY" };
static const char *modules[] = { "python/3.12" };
static const char *options[] = { "--no-deps" };
static struct data_entry data[] = { { .name = "corpus", .set = { .tree = { { 1 } } } },
                                    { .name = "environment", .set = { .tree = { { 2 } } } } };

static struct jobspec work(void)
{
    return (struct jobspec){ .command = "true",
                             .env = { env, 3 },
                             .passed = { passed, 1 },
                             .data = { data, 2 },
                             .environment = { .kind = "venv",
                                              .tool = "pip",
                                              .file = "requirements.txt",
                                              .data = "environment",
                                              .interpreter = "python3.12",
                                              .modules = { modules, 1 },
                                              .options = { options, 1 } } };
}

static void what_is_not_built_has_no_recipe(void **state)
{
    struct jobspec w = { .command = "true" };
    struct digest tree = env_recipe_tree(&w);

    (void)state;
    assert_true(digest_is_zero(&tree));
    w = work();
    w.environment.tool = NULL;
    tree = env_recipe_tree(&w);
    assert_true(digest_is_zero(&tree));
}

static void only_what_it_is_built_from_counts(void **state)
{
    struct arena *a = arena_create();
    struct jobspec w = work();
    const struct digest first = env_recipe_tree(&w);
    struct env_recipe r = env_recipe_of(&w, a);
    struct digest tree;

    (void)state;
    assert_int_equal(r.files.bytes[0], 2);
    assert_int_equal(r.variables.n, 1);
    assert_string_equal(((struct env_entry *)r.variables.items)[0].name, "PIP_INDEX_URL");

    w.command = "false";
    w.data.n = 2;
    data[0].set.tree.bytes[0] = 7;
    env[0].value = "2";
    env[2].value = "y";
    w.environment.decides = true;
    tree = env_recipe_tree(&w);
    assert_true(digest_equal(&tree, &first));

    for (int i = 0; i < 6; i++) {
        w = work();
        env[1].value = i == 0 ? "https://b" : "https://a";
        data[1].set.tree.bytes[0] = i == 1 ? 3 : 2;
        w.environment.modules.n = i != 2;
        w.environment.options.n = i != 3;
        w.environment.interpreter = i == 4 ? NULL : "python3.12";
        w.environment.tool = i == 5 ? "uv" : "pip";
        tree = env_recipe_tree(&w);
        if (digest_equal(&tree, &first))
            fail_msg("change %d makes no difference", i);
    }
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_built_has_no_recipe),
        cmocka_unit_test(only_what_it_is_built_from_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
