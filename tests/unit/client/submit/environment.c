/* SPDX-License-Identifier: MIT */
/* environment.c - tests of what a submit takes of the shell that it is in */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/submit/environment.h"
#include "client/util/active_env.h"
#include "common/base/io.h"

struct here {
    char folder[64];
    struct arena *arena;
};

static const char *at(struct here *h, const char *below)
{
    return arena_printf(h->arena, "%s/%s", h->folder, below);
}

static void make(struct here *h, const char *file, const char *text)
{
    char *path = mem_strdup(at(h, file));
    struct err e = { 0 };

    *strrchr(path, '/') = '\0';
    if (io_make_dirs(path, 0755, &e) < 0 ||
        io_write_file_at(AT_FDCWD, at(h, file), text, strlen(text), 0755, &e) < 0)
        fail_msg("%s", e.text);
    free(path);
}

/* A venv of python 3.9, a conda environment of 3.12, and what is no environment. */
static int set_up(void **state)
{
    struct here *h = mem_alloc(sizeof *h);

    strcpy(h->folder, "/tmp/ludwig-env.XXXXXX");
    assert_non_null(mkdtemp(h->folder));
    h->arena = arena_create();
    make(h, "venv/pyvenv.cfg", "home = /usr/bin\nversion_info = 3.9.2.final.0\n");
    make(h, "venv/bin/python3", "");
    make(h, "conda/conda-meta/history", "");
    make(h, "conda/lib/python3.9/x", "");
    make(h, "conda/lib/python3.12/x", "");
    make(h, "conda/bin/python3", "");
    make(h, "project/.pixi/envs/default/conda-meta/history", "");
    make(h, "project/.pixi/envs/default/bin/python3", "");
    make(h, "plain/file", "");
    for (size_t i = 0; i < ACTIVE_MAKERS; i++)
        unsetenv(active_makers[i].variable);
    unsetenv("LOADEDMODULES");
    unsetenv("PIXI_PROJECT_ROOT");
    setenv("HOME", h->folder, 1);
    setenv("PATH", "/usr/bin:/bin", 1);
    *state = h;
    return 0;
}

static int tear_down(void **state)
{
    struct here *h = *state;
    struct err e = { 0 };

    if (io_remove_tree_at(AT_FDCWD, h->folder, &e) < 0)
        fail_msg("%s", e.text);
    arena_destroy(h->arena);
    free(h);
    return 0;
}

static void activate(struct here *h, const char *variable, const char *folder)
{
    setenv(variable, at(h, folder), 1);
    setenv("PATH", arena_printf(h->arena, "%s/%s/bin:%s", h->folder, folder, getenv("PATH")), 1);
}

static const char *described(const struct spec *s, struct arena *a)
{
    struct buf text = { 0 };

    environment_describe(&s->work.environment, &text);
    return buf_to_arena(&text, a);
}

static const char *take(struct here *h, struct spec *s)
{
    struct err e = { 0 };

    if (environment_take(s, h->arena, &e) < 0)
        fail_msg("%s", e.text);
    return described(s, h->arena);
}

static const char *path_of(const struct spec *s, size_t i)
{
    return ((const char *const *)s->work.environment.paths.items)[i];
}

static void nothing_active_is_the_nodes_own(void **state)
{
    struct spec s = { .folder = NULL };

    assert_string_equal(take(*state, &s), "");
    assert_null(s.work.environment.path);
}

static void a_venv_and_its_python_are_found(void **state)
{
    struct here *h = *state;
    struct spec s = { .folder = NULL };
    const struct env_entry *variables;

    activate(h, "VIRTUAL_ENV", "venv");
    assert_string_equal(take(h, &s), "venv ~/venv, python 3.9");
    assert_true(s.work.environment.was_active);
    assert_int_equal(s.work.environment.paths.n, 1);
    assert_string_equal(path_of(&s, 0), at(h, "venv/bin"));
    variables = s.work.environment.variables.items;
    assert_int_equal(s.work.environment.variables.n, 1);
    assert_string_equal(variables[0].name, "VIRTUAL_ENV");
    assert_string_equal(variables[0].value, at(h, "venv"));
}

/* conda's base is active in many shells, and a venv on top of it. */
static void the_first_in_path_counts_and_both_are_taken(void **state)
{
    struct here *h = *state;
    struct spec s = { .folder = NULL };

    activate(h, "CONDA_PREFIX", "conda");
    assert_string_equal(take(h, &s), "conda ~/conda, python 3.12");
    s = (struct spec){ .folder = NULL };
    activate(h, "VIRTUAL_ENV", "venv");
    assert_string_equal(take(h, &s), "venv ~/venv, python 3.9");
    assert_int_equal(s.work.environment.paths.n, 2);
    assert_string_equal(path_of(&s, 1), at(h, "conda/bin"));
    assert_int_equal(s.work.environment.variables.n, 2);
}

static void a_variable_without_its_programs_in_path_is_not_active(void **state)
{
    struct here *h = *state;
    struct spec s = { .folder = NULL };

    setenv("VIRTUAL_ENV", at(h, "venv"), 1);
    assert_string_equal(take(h, &s), "");
    setenv("VIRTUAL_ENV", "/no/such/venv", 1);
    setenv("PATH", "/no/such/venv/bin:/usr/bin", 1);
    assert_string_equal(take(h, &s), "");
}

static void pixi_is_told_from_conda(void **state)
{
    struct here *h = *state;
    struct spec s = { .folder = NULL };

    activate(h, "CONDA_PREFIX", "project/.pixi/envs/default");
    setenv("PIXI_PROJECT_ROOT", at(h, "project"), 1);
    assert_string_equal(take(h, &s), "pixi ~/project/.pixi/envs/default");
}

static void loaded_modules_are_taken_unless_the_file_names_some(void **state)
{
    struct here *h = *state;
    const char *named[] = { "gcc/9" };
    struct spec s = { .folder = NULL };

    setenv("LOADEDMODULES", "cuda/12.4:gcc/13", 1);
    assert_string_equal(take(h, &s), "modules cuda/12.4 gcc/13");
    assert_true(s.work.environment.modules_were_loaded);
    activate(h, "VIRTUAL_ENV", "venv");
    s = (struct spec){ .has_modules = true, .work.environment.modules = { named, 1 } };
    assert_string_equal(take(h, &s), "venv ~/venv, python 3.9, module gcc/9");
    assert_false(s.work.environment.modules_were_loaded);
    s = (struct spec){ .environment.is_none = true };
    assert_string_equal(take(h, &s), "");
    s = (struct spec){ .work.container = "docker://x" };
    assert_string_equal(take(h, &s), "");
}

static void what_the_file_names_comes_before_what_is_active(void **state)
{
    struct here *h = *state;
    struct spec s = { .environment.path = at(h, "conda") };
    struct err e = { 0 };

    activate(h, "VIRTUAL_ENV", "venv");
    assert_string_equal(take(h, &s), "conda ~/conda, python 3.12");
    assert_false(s.work.environment.was_active);
    assert_string_equal(path_of(&s, 0), at(h, "conda/bin"));
    s = (struct spec){ .environment.path = "/of/nodes" };
    assert_string_equal(take(h, &s), "folder /of/nodes");
    s = (struct spec){ .environment.path = at(h, "plain") };
    assert_int_equal(environment_take(&s, h->arena, &e), -1);
    assert_non_null(strstr(e.text, "plain is no environment: it has no folder bin"));
}

static void one_that_is_staged_is_one_of_data(void **state)
{
    struct here *h = *state;
    struct spec_data other = { .path = "/x/venv", .name = "venv" };
    struct spec s = { .environment.is_staged = true };
    const struct spec_data *data;
    struct err e = { 0 };
    char *real;

    assert_int_equal(environment_take(&s, h->arena, &e), -1);
    assert_non_null(strstr(e.text, "no environment is active here"));
    activate(h, "VIRTUAL_ENV", "venv");
    unlink(at(h, "venv/bin/python3"));
    assert_int_equal(symlink("/bin/sh", at(h, "venv/bin/python3")), 0);
    s.data = (struct list){ &other, 0 };
    assert_string_equal(take(h, &s), "venv ~/venv, python 3.9, staged");
    data = s.data.items;
    assert_int_equal(s.data.n, 1);
    assert_string_equal(data[0].path, at(h, "venv"));
    assert_string_equal(s.work.environment.data, "venv");
    real = realpath("/bin/sh", NULL);
    assert_string_equal(s.work.environment.base, real);
    free(real);
    s = (struct spec){ .environment.is_staged = true, .data = { &other, 1 } };
    err_clear(&e);
    assert_int_equal(environment_take(&s, h->arena, &e), -1);
    assert_string_equal(e.text, "environment: data: has another venv");
}

static void notes_say_what_people_would_not_expect(void **state)
{
    struct here *h = *state;
    struct spec s = { .folder = h->folder };
    struct buf note = { 0 };

    take(h, &s);
    environment_add_note(&s, &note);
    assert_string_equal(buf_text(&note),
                        "no environment is active, so jobs get the node's own Python; environment: "
                        "venv in the file takes the one here");
    buf_clear(&note);
    s = (struct spec){ .environment.path = "/of/nodes" };
    take(h, &s);
    environment_add_note(&s, &note);
    assert_string_equal(buf_text(&note), "the environment /of/nodes is not on this machine");
    buf_free(&note);
}

static void what_is_active_can_be_left_out_of_path(void **state)
{
    struct here *h = *state;
    char *left;

    activate(h, "CONDA_PREFIX", "conda");
    setenv("PATH", arena_printf(h->arena, "%s:%s:/opt/x", getenv("PATH"), at(h, "conda2/bin")), 1);
    activate(h, "VIRTUAL_ENV", "venv");
    left = active_env_path_without();
    assert_string_equal(left,
                        arena_printf(h->arena, "/usr/bin:/bin:%s:/opt/x", at(h, "conda2/bin")));
    free(left);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_active_is_the_nodes_own),
        TEST(a_venv_and_its_python_are_found),
        TEST(the_first_in_path_counts_and_both_are_taken),
        TEST(a_variable_without_its_programs_in_path_is_not_active),
        TEST(pixi_is_told_from_conda),
        TEST(loaded_modules_are_taken_unless_the_file_names_some),
        TEST(what_the_file_names_comes_before_what_is_active),
        TEST(one_that_is_staged_is_one_of_data),
        TEST(notes_say_what_people_would_not_expect),
        TEST(what_is_active_can_be_left_out_of_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
