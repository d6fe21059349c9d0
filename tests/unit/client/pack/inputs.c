/* SPDX-License-Identifier: MIT */
/* inputs.c - tests of what would be uploaded */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "client/pack/inputs.h"
#include "common/base/io.h"
#include "common/base/path.h"

struct site {
    char *dir, *share, *file;
    struct share_connection drive;
    struct place to;
    struct arena *arena;
};

static void put(const struct site *site, const char *path, const char *text)
{
    char *full = path_join(site->dir, path), *above = path_dirname(full);

    assert_int_equal(io_make_dirs(above, 0755, NULL), 0);
    assert_int_equal(io_replace_file(full, text, strlen(text), 0644, NULL), 0);
    free(above);
    free(full);
}

static int open_site(void **state)
{
    char dir[] = "/tmp/ludwig-cargo-XXXXXX";
    struct site *site = mem_alloc(sizeof *site);

    if (mkdtemp(dir) == NULL)
        return -1;
    *site = (struct site){ .dir = mem_strdup(dir),
                           .share = path_join(dir, "share"),
                           .file = path_join(dir, "s.yaml"),
                           .arena = arena_create() };
    site->drive.mount = site->share;
    site->to = (struct place){ .drive = &site->drive, .project = "p" };
    *state = site;
    if (setenv("XDG_CACHE_HOME", arena_printf(site->arena, "%s/cache", dir), 1) < 0)
        return -1;
    return io_make_dirs(site->share, 0755, NULL);
}

static int close_site(void **state)
{
    struct site *site = *state;
    int result = io_remove_tree(site->dir, NULL);

    arena_destroy(site->arena);
    free(site->file);
    free(site->share);
    free(site->dir);
    free(site);
    return result;
}

static void load(struct inputs *c, const struct site *site, const char *yaml)
{
    struct err e = { 0 };
    struct spec s;

    *c = (struct inputs){ 0 };
    put(site, "s.yaml", yaml);
    if (spec_read(site->file, site->arena, &s, &e) < 0)
        fail_msg("%s", e.text);
    inputs_plan(c, &s, &site->to);
    if (inputs_count(c, &e) == NULL)
        fail_msg("%s", e.text);
}

static void expect_new(struct inputs *c, int64_t n_files, int64_t bytes)
{
    int64_t n_found = 99, bytes_found = 99;

    inputs_count_new(inputs_look(inputs_count(c, NULL), NULL), &n_found, &bytes_found);
    assert_int_equal(n_found, n_files);
    assert_int_equal(bytes_found, bytes);
}

static void what_is_on_the_share_is_not_new(void **state)
{
    const struct site *site = *state;
    struct folder_order order = { 0750, SCHEMA_NONE };
    struct inputs c;

    put(site, "run.sh", "1234567890");
    put(site, "data/a", "12345");
    put(site, "data/b/c", "1");
    load(&c, site, "project: p\ncommand: x\nsource: run.sh\ndata: data\n");
    expect_new(&c, 3, 16);
    inputs_free(&c);
    load(&c, site, "project: p\ncommand: x\nsource: run.sh\ndata: data\n");
    assert_int_equal(store_make_project(&site->to, &order, NULL), 0);
    assert_int_equal(inputs_send(&c, NULL), 0);
    inputs_free(&c);
    load(&c, site, "project: p\ncommand: x\nsource: run.sh\ndata: data\n");
    expect_new(&c, 0, 0);
    inputs_free(&c);
    put(site, "data/b/c", "22");
    load(&c, site, "project: p\ncommand: x\nsource: run.sh\ndata: data\n");
    expect_new(&c, 1, 2);
    inputs_free(&c);
}

static void the_same_content_is_new_once(void **state)
{
    const struct site *site = *state;
    struct inputs c;

    put(site, "one", "12345");
    put(site, "two", "12345");
    load(&c, site, "project: p\ncommand: x\nsource: []\ndata: [one, two]\n");
    expect_new(&c, 1, 5);
    inputs_free(&c);
}

static void a_container_of_ones_own_is_among_the_data(void **state)
{
    const struct site *site = *state;
    struct jobspec work = { 0 };
    struct inputs c;
    struct spec s;

    put(site, "images/py.sif", "123");
    put(site, "s.yaml", "project: p\ncommand: x\nsource: []\ncontainer: images/py.sif\n");
    assert_int_equal(spec_read(site->file, site->arena, &s, NULL), 0);
    inputs_plan(&c, &s, &site->to);
    inputs_sign(inputs_look(inputs_count(&c, NULL), NULL), &s, site->arena, &work);
    assert_int_equal(work.data.n, 1);
    assert_string_equal(((struct data_entry *)work.data.items)[0].name, "py.sif");
    assert_string_equal(s.work.container, "py.sif");
    expect_new(&c, 1, 3);
    inputs_free(&c);
}

static bool has_entry(const struct tree *t, const char *path)
{
    struct walk *w = walk_begin(&t->plan, NULL);
    struct walk_entry entry;
    bool found = false;

    assert_non_null(w);
    while (!found && walk_next(w, &entry, NULL) == 1)
        found = strcmp(entry.path, path) == 0;
    walk_end(w);
    return found;
}

/* A folder in which a sweep was tried out, and its results fetched. */
static void fill_used_folder(const struct site *site)
{
    put(site, "run.sh", "x");
    put(site, "other.yaml", "command: y\n");
    put(site, "third.yml", "params: {a: 1}\nx-own: 2\ncommand: [\"\"]\n");
    put(site, "model.yaml", "model: {command: y}\n");
    put(site, "broken.yaml", "command: [\n");
    put(site, "train.yaml", "command: run\nlr: 3\n");
    put(site, "notes.txt", "command: y\n");
    put(site, "conf/deep.yaml", "command: y\n");
    put(site, "exp-1/.ludwig-results", "x");
    put(site, "exp-1/a/b", "x");
    put(site, "conf/exp/.ludwig-results", "x");
}

static void expect_used_folder(const struct inputs *c)
{
    static const char *const kept[] = { "run.sh", "model.yaml",     "broken.yaml", "notes.txt",
                                        "conf",   "conf/deep.yaml", "train.yaml" };

    assert_int_equal(tree_count_files(&c->source) + c->source.totals.folders,
                     sizeof kept / sizeof kept[0]);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        assert_true(has_entry(&c->source, kept[i]));
    assert_int_equal(c->n_left, 4);
    assert_string_equal(c->left[0].path, "conf/exp");
    assert_string_equal(c->left[0].what, "fetched results");
    assert_string_equal(c->left[1].path, "exp-1");
    assert_string_equal(c->left[2].path, "other.yaml");
    assert_string_equal(c->left[2].what, "a sweep file");
    assert_string_equal(c->left[3].path, "third.yml");
}

static void other_sweeps_and_fetched_results_are_no_part_of_everything(void **state)
{
    const struct site *site = *state;
    struct inputs c;

    fill_used_folder(site);
    load(&c, site, "project: p\ncommand: x\n");
    expect_used_folder(&c);
    inputs_free(&c);
    load(&c, site, "project: p\ncommand: x\nsource: .\n");
    expect_used_folder(&c);
    inputs_free(&c);
}

static void environments_packages_and_what_runs_wrote_are_no_part_of_everything(void **state)
{
    static const char *const left[] = { "env", "lib/node_modules", "outputs", "venv", "wandb" };
    static const char *const kept[] = { "run.py", "lib/outputs/a.py", "mlruns/__init__.py" };
    const struct site *site = *state;
    struct inputs c;

    put(site, "run.py", "x");
    put(site, "venv/bin/python", "x");
    put(site, "env/pyvenv.cfg", "x");
    put(site, "outputs/log.txt", "x");
    put(site, "wandb/a", "x");
    put(site, "lib/outputs/a.py", "x");
    put(site, "lib/node_modules/a", "x");
    put(site, "mlruns/__init__.py", "x");
    load(&c, site, "project: p\ncommand: x\n");
    assert_int_equal(c.source.totals.files, sizeof kept / sizeof kept[0]);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        assert_true(has_entry(&c.source, kept[i]));
    assert_int_equal(c.n_left, sizeof left / sizeof left[0]);
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
        assert_string_equal(c.left[i].path, left[i]);
    inputs_free(&c);
    load(&c, site, "project: p\ncommand: x\nsource: [., outputs]\n");
    assert_true(has_entry(&c.source, "outputs/log.txt"));
    assert_false(has_entry(&c.source, "wandb"));
    inputs_free(&c);
}

static struct digest work_of(const struct site *site, const char *sweep)
{
    struct jobspec work;
    struct digest digest;
    struct inputs c;
    struct spec s;

    put(site, "s.yaml", sweep);
    assert_int_equal(spec_read(site->file, site->arena, &s, NULL), 0);
    work = s.work;
    inputs_plan(&c, &s, &site->to);
    inputs_sign(inputs_look(inputs_count(&c, NULL), NULL), &s, site->arena, &work);
    jobspec_digest(&work, &digest);
    inputs_free(&c);
    return digest;
}

static void changes_in_what_reuse_ignores_do_not_count(void **state)
{
    static const char plain[] = "project: p\ncommand: x\n";
    static const char some[] =
        "project: p\ncommand: x\nreuse: {ignore: [README.md, notebooks/, doc/*.txt]}\n";
    const struct site *site = *state;
    struct digest bare, first, again;

    put(site, ".ludwigignore", "/cache\n");
    put(site, "run.py", "x");
    bare = work_of(site, plain);
    put(site, "README.md", "x");
    put(site, "lib/README.md", "x");
    put(site, "notebooks/deep/a.ipynb", "x");
    put(site, "doc/a.txt", "x");
    first = work_of(site, some);
    put(site, "README.md", "other");
    put(site, "lib/README.md", "other");
    put(site, "notebooks/b.ipynb", "x");
    put(site, "doc/a.txt", "other");
    again = work_of(site, some);
    assert_memory_equal(&first, &again, sizeof first);
    put(site, "doc/a.md", "x");
    again = work_of(site, some);
    assert_memory_not_equal(&first, &again, sizeof first);
    /* What is not there and what does not count are the same, but for folders. */
    again = work_of(site, plain);
    assert_memory_not_equal(&bare, &again, sizeof bare);
    again = work_of(site,
                    "project: p\ncommand: x\nreuse: {ignore: [README.md, notebooks, lib, doc]}\n");
    assert_memory_equal(&bare, &again, sizeof bare);
    /* Of what source: names as well. */
    bare = work_of(site, "project: p\ncommand: x\nsource: [run.py]\n");
    again = work_of(site, "project: p\ncommand: x\nsource: [run.py, README.md]\n"
                          "reuse: {ignore: README.md}\n");
    assert_memory_equal(&bare, &again, sizeof bare);
}

static void what_is_named_is_taken_along(void **state)
{
    const struct site *site = *state;
    struct inputs c;

    fill_used_folder(site);
    load(&c, site, "project: p\ncommand: x\nsource: [., other.yaml, exp-1]\n");
    assert_true(has_entry(&c.source, "run.sh"));
    assert_true(has_entry(&c.source, "other.yaml"));
    assert_true(has_entry(&c.source, "exp-1/a/b"));
    assert_false(has_entry(&c.source, "third.yml"));
    assert_false(has_entry(&c.source, "s.yaml"));
    inputs_free(&c);
}

static void what_is_left_out_is_told_in_a_line(void **state)
{
    static const char file[] = "a sweep file";
    static struct inputs_left left[] = {
        { "1\n", "fetched results", true },
        { "2", file, false },
        { "3", file, false },
        { "4", file, false },
        { "5", file, false },
        { "6", file, false },
        { "7", file, false },
        { "8", file, false },
        { "9", file, false },
        { "10", file, false },
    };
    struct inputs c = { .left = left, .n_left = 2 };
    struct buf line = { 0 };

    (void)state;
    inputs_add_left_out(&c, &line);
    assert_string_equal(buf_text(&line), "1^J/ (fetched results), 2 (a sweep file)");
    buf_clear(&line);
    c.n_left = 10;
    inputs_add_left_out(&c, &line);
    assert_non_null(strstr(buf_text(&line), ", 8 (a sweep file) and 2 more"));
    buf_free(&line);
}

static void what_is_ignored_is_not_told_as_left_out(void **state)
{
    const struct site *site = *state;
    struct inputs c;

    fill_used_folder(site);
    put(site, ".ludwigignore", "exp*\n*.yml\n");
    load(&c, site, "project: p\ncommand: x\n");
    assert_int_equal(c.n_left, 1);
    assert_string_equal(c.left[0].path, "other.yaml");
    inputs_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_on_the_share_is_not_new, open_site, close_site),
        cmocka_unit_test_setup_teardown(the_same_content_is_new_once, open_site, close_site),
        cmocka_unit_test_setup_teardown(a_container_of_ones_own_is_among_the_data, open_site,
                                        close_site),
        cmocka_unit_test_setup_teardown(other_sweeps_and_fetched_results_are_no_part_of_everything,
                                        open_site, close_site),
        cmocka_unit_test_setup_teardown(
            environments_packages_and_what_runs_wrote_are_no_part_of_everything, open_site,
            close_site),
        cmocka_unit_test_setup_teardown(changes_in_what_reuse_ignores_do_not_count, open_site,
                                        close_site),
        cmocka_unit_test_setup_teardown(what_is_named_is_taken_along, open_site, close_site),
        cmocka_unit_test(what_is_left_out_is_told_in_a_line),
        cmocka_unit_test_setup_teardown(what_is_ignored_is_not_told_as_left_out, open_site,
                                        close_site),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
