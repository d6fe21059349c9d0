/* SPDX-License-Identifier: MIT */
/* environment_files.c - tests of which files go along for an environment that nodes build */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/submit/environment_files.h"
#include "common/base/io.h"

struct here {
    char folder[64];
    struct arena *arena;
    struct err e;
};

static const char *at(struct here *h, const char *below)
{
    return arena_printf(h->arena, "%s/%s", h->folder, below);
}

static void make(struct here *h, const char *file, const char *text)
{
    char *path = mem_strdup(at(h, file));

    *strrchr(path, '/') = '\0';
    if (io_make_dirs(path, 0755, &h->e) < 0 ||
        io_write_file_at(AT_FDCWD, at(h, file), text, strlen(text), 0644, &h->e) < 0)
        fail_msg("%s", h->e.text);
    free(path);
}

static int set_up(void **state)
{
    struct here *h = mem_alloc(sizeof *h);

    strcpy(h->folder, "/tmp/ludwig-env.XXXXXX");
    assert_non_null(mkdtemp(h->folder));
    h->arena = arena_create();
    make(h, "wheels/a-1-py3-none-any.whl", "");
    make(h, "env/wheels/b-1-py3-none-any.whl", "");
    make(h, "env/base.txt", "a==1\n");
    make(h, "limits.txt", "a<2\n");
    make(h, "pkg/setup.py", "");
    *state = h;
    return 0;
}

static int tear_down(void **state)
{
    struct here *h = *state;

    if (io_remove_tree_at(AT_FDCWD, h->folder, &h->e) < 0)
        fail_msg("%s", h->e.text);
    arena_destroy(h->arena);
    free(h);
    return 0;
}

/* The names of what is found, with blanks between; NULL: h->e says why not. */
static const char *find(struct here *h, const char *tool, const char *file, const char *folder)
{
    struct spec s = { .file = "sweep.yaml",
                      .folder = folder,
                      .environment = { .tool = tool, .file = at(h, file) } };
    struct environment_files found;
    struct buf text = { 0 };

    err_clear(&h->e);
    if (environment_files_find(&s, h->arena, &found, &h->e) < 0)
        return NULL;
    buf_printf(&text, "%s in %s:", found.file, found.top + strlen(h->folder));
    for (size_t i = 0; i < found.files.n; i++)
        buf_printf(&text, " %s", ((const char *const *)found.files.items)[i]);
    return buf_to_arena(&text, h->arena);
}

static void what_it_names_goes_along(void **state)
{
    struct here *h = *state;

    make(h, "env/requirements.txt",
         "# -r nowhere.txt\n"
         "-r base.txt  # what all have\n"
         "-r./base.txt\n"
         "--constraint=../limits.txt\n"
         "-f wheels\n"
         "--find-links ../wheels\n"
         "--find-links https://example.org/wheels\n"
         "--find-links /opt/wheels\n"
         "--extra-index-url https://example.org/simple\n"
         "./wheels/a-1-py3-none-any.whl ; python_version > '3'\n"
         "https://example.org/c-1-py3-none-any.whl\n"
         "numpy>=1.20  --no-binary :all:\n");
    assert_string_equal(find(h, "pip", "env/requirements.txt", h->folder),
                        "env/requirements.txt in : env/requirements.txt env/base.txt limits.txt "
                        "env/wheels wheels wheels/a-1-py3-none-any.whl");
}

static void a_file_elsewhere_has_its_own_folder(void **state)
{
    struct here *h = *state;

    make(h, "env/alone.txt", "-r base.txt\n");
    assert_string_equal(find(h, "pip", "env/alone.txt", at(h, "pkg")),
                        "alone.txt in /env: alone.txt base.txt");
}

static void what_nodes_cannot_have_is_refused_with_its_line(void **state)
{
    static const char *const lines[] = { "-e .",         "--editable=pkg",  "./pkg",
                                         "-r ../up.txt", "-f ../../wheels", "-c nothere.txt" };
    struct here *h = *state;

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        make(h, "refused.txt", arena_printf(h->arena, "a\n%s\n", lines[i]));
        assert_null(find(h, "pip", "refused.txt", h->folder));
        if (strncmp(h->e.text, "refused.txt:2: ", 15) != 0)
            fail_msg("%s: %s", lines[i], h->e.text);
    }
}

static void the_pip_of_conda_names_files_too(void **state)
{
    struct here *h = *state;

    make(h, "environment.yml",
         "dependencies:\n"
         "  - python=3.12\n"
         "  - pip:\n"
         "    - -r env/base.txt\n"
         "    - \"-c limits.txt\"\n");
    assert_string_equal(find(h, "conda", "environment.yml", h->folder),
                        "environment.yml in : environment.yml env/base.txt limits.txt");
}

static void uv_needs_its_project(void **state)
{
    struct here *h = *state;

    make(h, "env/uv.lock", "");
    make(h, "env/other.lock", "");
    assert_null(find(h, "uv", "env/uv.lock", h->folder));
    assert_non_null(strstr(h->e.text, "pyproject.toml"));
    make(h, "env/pyproject.toml", "");
    make(h, "env/.python-version", "3.12\n");
    assert_string_equal(find(h, "uv", "env/uv.lock", h->folder),
                        "env/uv.lock in : env/uv.lock env/pyproject.toml env/.python-version");
    assert_null(find(h, "uv", "env/other.lock", h->folder));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_it_names_goes_along, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_elsewhere_has_its_own_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_nodes_cannot_have_is_refused_with_its_line, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_pip_of_conda_names_files_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(uv_needs_its_project, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
