/* SPDX-License-Identifier: MIT */
/* yaml_keys.c - YAML maps read by tables, all mistakes found at once */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/data/yaml_keys.h"

struct resources {
    int64_t cpus_milli;
    int64_t memory_bytes;
};

static const struct key resource_keys[] = {
    { .name = "cpus",
      .type = KEY_MILLI,
      .offset = offsetof(struct resources, cpus_milli),
      .max = 64000 },
    { .name = "memory",
      .type = KEY_SIZE,
      .offset = offsetof(struct resources, memory_bytes),
      .max = (int64_t)1 << 40 },
    { 0 },
};

struct sweep {
    const char *project;
    struct list nodes;
    bool private;
    int64_t reps;
    int64_t lease_ms;
    struct resources resources;
    struct value params;
    int64_t sum;
};

/* Adds up a list, to show a key that reads itself. */
static int read_sum(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                    void *to)
{
    int64_t *sum = to;

    assert_ptr_equal(r->context, resource_keys);
    if (node->type != VALUE_LIST)
        return yaml_keys_error(r, node, "%s: expected numbers to add", key->name);
    for (size_t i = 0; i < node->n; i++)
        *sum += node->items[i].scalar.i;
    return 0;
}

static const struct key sweep_keys[] = {
    { .name = "project", .type = KEY_STR, .offset = offsetof(struct sweep, project) },
    { .name = "nodes", .type = KEY_STRS, .offset = offsetof(struct sweep, nodes), .max = 3 },
    { .name = "private", .type = KEY_BOOL, .offset = offsetof(struct sweep, private) },
    { .name = "reps", .type = KEY_INT, .offset = offsetof(struct sweep, reps), .max = 10000 },
    { .name = "lease",
      .type = KEY_DURATION,
      .offset = offsetof(struct sweep, lease_ms),
      .max = 3600 * 1000 },
    { .name = "resources",
      .type = KEY_MAP,
      .offset = offsetof(struct sweep, resources),
      .of = resource_keys },
    { .name = "params", .type = KEY_VALUE, .offset = offsetof(struct sweep, params) },
    { .name = "sum", .type = KEY_CUSTOM, .offset = offsetof(struct sweep, sum), .read = read_sum },
    { 0 },
};

/* Reads a sweep; "" or the errors. */
static const char *read_sweep(struct arena *a, const char *text, struct sweep *s)
{
    struct yaml_keys_reader r = { .file = "sweep.yaml",
                                  .arena = a,
                                  .context = (void *)resource_keys };
    struct err e = { 0 };
    const struct yaml_node *root = yaml_parse("sweep.yaml", text, strlen(text), a, &e);
    int answer;

    assert_non_null(root);
    answer = yaml_keys_read(&r, sweep_keys, root, s);
    assert_int_equal(answer, r.n_errors > 0 ? -1 : 0);
    assert_int_equal(yaml_keys_end(&r, &e), answer);
    assert_null(r.errors.bytes);
    if (answer == 0)
        return "";
    assert_int_equal(e.kind, ERR_USAGE);
    return arena_strdup(a, e.text);
}

static void each_kind_of_key_reaches_its_member(void **state)
{
    static const char text[] = "project: demo\n"
                               "nodes: [hawkins, \"@half1\", 7]\n"
                               "private: true\n"
                               "reps: 3\n"
                               "lease: 10min\n"
                               "resources: {cpus: 0.5, memory: 2GiB}\n"
                               "params: {lr: [0.1, 1e-3]}\n"
                               "sum: [1, 2, 3]\n";
    struct arena *a = arena_create();
    struct sweep s = { 0 };
    const char *const *nodes;

    (void)state;
    assert_string_equal(read_sweep(a, text, &s), "");
    assert_string_equal(s.project, "demo");
    nodes = s.nodes.items;
    assert_int_equal(s.nodes.n, 3);
    assert_string_equal(nodes[1], "@half1");
    assert_string_equal(nodes[2], "7");
    assert_true(s.private);
    assert_int_equal(s.reps, 3);
    assert_int_equal(s.lease_ms, 600000);
    assert_int_equal(s.resources.cpus_milli, 500);
    assert_int_equal(s.resources.memory_bytes, (int64_t)2 << 30);
    assert_true(value_get(&s.params, "lr")->list.items[1].f == 1e-3);
    assert_int_equal(s.sum, 6);
    arena_destroy(a);
}

static void what_is_not_there_stays_as_it_was(void **state)
{
    struct arena *a = arena_create();
    struct sweep s = { .reps = 5, .resources = { .cpus_milli = 1000 } };

    (void)state;
    assert_string_equal(read_sweep(a, "resources:\n  # cpus: 4\n", &s), "");
    assert_string_equal(read_sweep(a, "", &s), "");
    assert_int_equal(s.reps, 5);
    assert_int_equal(s.resources.cpus_milli, 1000);
    arena_destroy(a);
}

static void scalars_are_taken_in_the_forms_people_write(void **state)
{
    struct arena *a = arena_create();
    struct sweep s = { 0 };
    const char *const *nodes;

    (void)state;
    assert_string_equal(read_sweep(a,
                                   "project: 1.10\nnodes: hawkins\nlease: 90s\n"
                                   "resources: {cpus: 2, memory: 4194304}\n",
                                   &s),
                        "");
    assert_string_equal(s.project, "1.10");
    nodes = s.nodes.items;
    assert_int_equal(s.nodes.n, 1);
    assert_string_equal(nodes[0], "hawkins");
    assert_int_equal(s.lease_ms, 90000);
    assert_int_equal(s.resources.cpus_milli, 2000);
    assert_int_equal(s.resources.memory_bytes, 4194304);
    assert_string_equal(read_sweep(a, "nodes: []", &s), "");
    assert_int_equal(s.nodes.n, 0);
    arena_destroy(a);
}

static void keys_of_the_writers_own_are_a_place_for_anchors(void **state)
{
    struct arena *a = arena_create();
    struct sweep s = { 0 };

    (void)state;
    assert_string_equal(read_sweep(a, "x-common: &c {cpus: 3}\nresources: {<<: *c}", &s), "");
    assert_int_equal(s.resources.cpus_milli, 3000);
    arena_destroy(a);
}

static void a_mistake_is_one_line_that_says_what_to_do(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        { "[1]", "sweep.yaml:1:1: expected 'key: value' lines, found a list" },
        { "reps: 1\n\nparam: 1", "sweep.yaml:3:1: unknown key 'param' (did you mean 'params'?)" },
        { "qqqqqqq: 1", "sweep.yaml:1:1: unknown key 'qqqqqqq'" },
        { "resources: {cpu: 1}", "sweep.yaml:1:13: unknown key 'cpu' (did you mean 'cpus'?)" },
        { "reps: [1]", "sweep.yaml:1:7: reps: expected a whole number, found a list" },
        { "reps: many", "sweep.yaml:1:7: reps: expected a whole number, found 'many'" },
        { "reps: \"2\"", "sweep.yaml:1:7: reps: expected a whole number, found the text '2' (take "
                         "the quotes away)" },
        { "reps: '2x'", "sweep.yaml:1:7: reps: expected a whole number, found '2x'" },
        { "reps: 1.5", "sweep.yaml:1:7: reps: expected a whole number, found '1.5'" },
        { "reps:", "sweep.yaml:1:6: reps: expected a whole number, found nothing" },
        { "reps: -1", "sweep.yaml:1:7: reps: expected no negative number, found '-1'" },
        { "reps: 10001", "sweep.yaml:1:7: reps: expected at most 10000, found '10001'" },
        { "private: yes", "sweep.yaml:1:10: private: expected true or false, found 'yes'" },
        { "project: true", "sweep.yaml:1:10: project: expected text (quote it), found 'true'" },
        { "project: {a: 1}", "sweep.yaml:1:10: project: expected text, found a map" },
        { "project: \"a\\0b\"", "sweep.yaml:1:10: project: a NUL character" },
        { "nodes: {a: 1}", "sweep.yaml:1:8: nodes: expected text or a list of texts, found a map" },
        { "nodes: [a, [b]]", "sweep.yaml:1:12: nodes: expected text, found a list" },
        { "nodes: [a, b, c, d]", "sweep.yaml:1:8: nodes: more than 3 items" },
        { "lease: soon", "sweep.yaml:1:8: lease: expected a duration such as 10min, found 'soon'" },
        { "lease: 2h", "sweep.yaml:1:8: lease: expected at most 1 h, found '2h'" },
        { "resources: 3", "sweep.yaml:1:12: resources: expected a map, found '3'" },
        { "resources: {cpus: 100}", "sweep.yaml:1:19: cpus: expected at most 64, found '100'" },
        { "resources: {memory: big}",
          "sweep.yaml:1:21: memory: expected a size such as 2GiB, found 'big'" },
        { "resources: {cpus: \"a\\nb\"}",
          "sweep.yaml:1:19: cpus: expected a number such as 0.5, found text" },
        { "sum: 1", "sweep.yaml:1:6: sum: expected numbers to add" },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sweep s = { 0 };

        assert_string_equal(read_sweep(a, cases[i].text, &s), cases[i].error);
    }
    arena_destroy(a);
}

static void all_mistakes_are_found_in_one_pass(void **state)
{
    struct arena *a = arena_create();
    struct sweep s = { 0 };

    (void)state;
    assert_string_equal(read_sweep(a, "rep: 1\nresources: {gpu: 1, cpus: x}\nprivate: 1\n", &s),
                        "sweep.yaml:1:1: unknown key 'rep' (did you mean 'reps'?)\n"
                        "sweep.yaml:2:13: unknown key 'gpu'\n"
                        "sweep.yaml:2:27: cpus: expected a number such as 0.5, found 'x'\n"
                        "sweep.yaml:3:10: private: expected true or false, found '1'");
    arena_destroy(a);
}

static void a_file_is_read_by_its_table(void **state)
{
    char path[] = "/tmp/ludwig-keys-XXXXXX";
    struct arena *a = arena_create();
    struct resources res = { 0 };
    struct err e = { 0 };
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "cpus: 2\n", 8), 8);
    assert_int_equal(yaml_keys_read_file(path, resource_keys, a, &res, &e), 0);
    assert_int_equal(res.cpus_milli, 2000);
    assert_int_equal(write(fd, "cpu: 2\n", 7), 7);
    close(fd);
    assert_int_equal(yaml_keys_read_file(path, resource_keys, a, &res, &e), -1);
    assert_non_null(strstr(e.text, ":2:1: unknown key 'cpu' (did you mean 'cpus'?)"));
    unlink(path);
    assert_int_equal(yaml_keys_read_file(path, resource_keys, a, &res, &e), -1);
    assert_int_equal(e.kind, ERR_NOT_FOUND);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_key_reaches_its_member),
        cmocka_unit_test(what_is_not_there_stays_as_it_was),
        cmocka_unit_test(scalars_are_taken_in_the_forms_people_write),
        cmocka_unit_test(keys_of_the_writers_own_are_a_place_for_anchors),
        cmocka_unit_test(a_mistake_is_one_line_that_says_what_to_do),
        cmocka_unit_test(all_mistakes_are_found_in_one_pass),
        cmocka_unit_test(a_file_is_read_by_its_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
