/* SPDX-License-Identifier: MIT */
/* container.c - tests of containers: the runtime's words, and the environment it gets */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/wait.h>

#include "tests/unit/worker_site.h"
#include "worker/runner/container.h"
#include "worker/runner/jobenv.h"

/* The words with | between them. */
static const char *joined(char *const *words, struct arena *a)
{
    struct buf text = { 0 };
    const char *copy;

    for (size_t i = 0; words[i] != NULL; i++)
        buf_printf(&text, "%s%s", i > 0 ? "|" : "", words[i]);
    copy = arena_strdup(a, buf_text(&text));
    buf_free(&text);
    return copy;
}

static struct container example(void)
{
    static const struct list none = { NULL, 0 };

    return (struct container){ .program = "/usr/bin/apptainer",
                               .prefix = "APPTAINERENV_",
                               .image = "docker://python:3",
                               .scratch = "/s",
                               .work_path = "/s/run/t/work",
                               .own = &none,
                               .text = "python3 train.py" };
}

static void the_command_runs_in_the_image_with_scratch_bound(void **state)
{
    struct arena *a = arena_create();
    struct container c = example();

    (void)state;
    assert_string_equal(joined(container_words(&c, a), a),
                        "/usr/bin/apptainer|exec|--bind|/s/run:/s/run|"
                        "--bind|/s/cache:/s/cache:ro|--pwd|/s/run/t/work|docker://python:3|"
                        "/bin/sh|-c|python3 train.py");
    c.has_gpus = true;
    c.ludwig = "/usr/local/bin/ludwig";
    c.text = "source x\npython3 'a b'";
    assert_string_equal(
        joined(container_words(&c, a), a),
        "/usr/bin/apptainer|exec|--nv|--bind|/s/run:/s/run|--bind|/s/cache:/s/cache:ro|"
        "--bind|/usr/local/bin/ludwig:/opt/ludwig/bin/ludwig:ro|--pwd|/s/run/t/work|"
        "docker://python:3|/bin/sh|-c|source x\npython3 'a b'");
    arena_destroy(a);
}

/* The form that takes them quotes its fields as CSV does. */
static void paths_that_bind_cannot_say_are_mounted(void **state)
{
    static const struct {
        const char *scratch, *words;
    } cases[] = {
        { "/a:b", "--mount|type=bind,\"src=/a:b/run\",\"dst=/a:b/run\"|"
                  "--mount|type=bind,\"src=/a:b/cache\",\"dst=/a:b/cache\",ro|" },
        { "/a,b", "--mount|type=bind,\"src=/a,b/run\",\"dst=/a,b/run\"|"
                  "--mount|type=bind,\"src=/a,b/cache\",\"dst=/a,b/cache\",ro|" },
        { "/a\"b", "--mount|type=bind,\"src=/a\"\"b/run\",\"dst=/a\"\"b/run\"|"
                   "--mount|type=bind,\"src=/a\"\"b/cache\",\"dst=/a\"\"b/cache\",ro|" },
        { "/a b", "--bind|/a b/run:/a b/run|--bind|/a b/cache:/a b/cache:ro|" },
    };
    struct arena *a = arena_create();
    struct container c = example();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *words;

        c.scratch = cases[i].scratch;
        words = joined(container_words(&c, a), a);
        assert_non_null(strstr(words, cases[i].words));
    }
    arena_destroy(a);
}

/* ---- the guard, as sh runs it ---- */

/* What "printf" as the runtime is called with. */
static const char *run_guard(struct site *s, const char *project, char *const *words)
{
    struct order o = site_order(s, 'a', "x");
    char *out = mem_printf("%s/out", s->top);
    const char *text;
    char **guarded;
    pid_t pid;
    int status;

    o.work.project = project;
    guarded = container_guard(words, &o, s->arena);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0644);

        if (fd < 0 || dup2(fd, 1) < 0)
            _exit(1);
        execv("/bin/sh", guarded);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    text = site_read(s, "out");
    free(out);
    return text;
}

static void the_project_is_bound_if_it_is_here(void **state)
{
    char *words[] = { (char[]){ "/usr/bin/printf" },
                      (char[]){ "%s|" },
                      (char[]){ "--pwd" },
                      (char[]){ "/w" },
                      (char[]){ "a 'b" },
                      (char[]){ "" },
                      NULL };
    struct site s;

    (void)state;
    site_open(&s, NULL);
    assert_string_equal(
        run_guard(&s, "demo", words),
        arena_printf(s.arena, "--bind|%s/demo:%s/demo|--pwd|/w|a 'b||", s.share, s.share));
    assert_string_equal(run_guard(&s, "other", words), "--pwd|/w|a 'b||");
    assert_int_equal(mkdirat(s.top_fd, "share/a:b", 0755), 0);
    assert_string_equal(
        run_guard(&s, "a:b", words),
        arena_printf(s.arena, "--mount|type=bind,\"src=%s/a:b\",\"dst=%s/a:b\"|--pwd|/w|a 'b||",
                     s.share, s.share));
    site_close(&s);
}

/* ---- what is found ---- */

static void add_program(struct site *s, const char *name)
{
    const char *path = arena_printf(s->arena, "programs/%s", name);

    if (!site_has(s, "programs"))
        assert_int_equal(mkdirat(s->top_fd, "programs", 0755), 0);
    site_write(s->top_fd, path, "#!/bin/sh\n");
    assert_int_equal(fchmodat(s->top_fd, path, 0755, 0), 0);
}

static void the_runtime_is_found_by_the_jobs_path(void **state)
{
    struct site s;
    struct order o;
    struct container c;
    struct err e = { 0 };
    char *env[2] = { NULL, NULL };

    (void)state;
    site_open(&s, NULL);
    o = site_order(&s, 'a', "x");
    o.work.work.container = "/images/a.sif";
    env[0] = arena_printf(s.arena, "PATH=/nowhere:%s/programs", s.top);
    assert_int_equal(container_find(&c, &o, env, "/s", s.arena, &e), -1);
    assert_int_equal(
        strncmp(e.text, "container: neither apptainer nor singularity is in PATH on ", 59), 0);
    assert_true(strlen(e.text) > 59);

    add_program(&s, "singularity");
    assert_int_equal(container_find(&c, &o, env, "/s", s.arena, &e), 0);
    assert_string_equal(c.program, arena_printf(s.arena, "%s/programs/singularity", s.top));
    assert_string_equal(c.prefix, "SINGULARITYENV_");
    add_program(&s, "apptainer");
    assert_int_equal(container_find(&c, &o, env, "/s", s.arena, &e), 0);
    assert_string_equal(c.program, arena_printf(s.arena, "%s/programs/apptainer", s.top));
    assert_string_equal(c.prefix, "APPTAINERENV_");
    assert_string_equal(c.work_path, "/s/run/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/work");
    assert_null(c.ludwig);
    assert_false(c.has_gpus);
    o.work.work.resources.gpus_milli = 500;
    assert_int_equal(container_find(&c, &o, env, "/s", s.arena, &e), 0);
    assert_true(c.has_gpus);
    site_close(&s);
}

static void the_image_is_a_path_an_address_or_one_of_the_data(void **state)
{
    static const struct {
        const char *container, *image; /* below the cache, after the digest: "*" */
    } cases[] = {
        { "/images/a.sif", "/images/a.sif" },
        { "docker://python:3", "docker://python:3" },
        { "library://a/b", "library://a/b" },
        { "a.sif", "*" },
        { "a.sif/x/y.sif", "*/x/y.sif" },
        { "b", NULL },
        { "a.si", NULL },
        { "a.sif2", NULL },
    };
    struct site s;
    struct order o;
    struct container c;
    struct data_entry entry = { .name = "a.sif" };
    char *env[2] = { NULL, NULL };
    char hex[DIGEST_HEX];

    (void)state;
    site_open(&s, NULL);
    add_program(&s, "apptainer");
    env[0] = arena_printf(s.arena, "PATH=%s/programs", s.top);
    o = site_order(&s, 'a', "x");
    digest_of("x", 1, &entry.set.tree);
    digest_hex(&entry.set.tree, hex);
    o.work.work.data = (struct list){ &entry, 1 };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err e = { 0 };
        const char *image = cases[i].image;

        o.work.work.container = cases[i].container;
        assert_int_equal(container_find(&c, &o, env, "/s", s.arena, &e), image == NULL ? -1 : 0);
        if (image == NULL)
            assert_non_null(strstr(e.text, cases[i].container));
        else if (image[0] == '*')
            assert_string_equal(c.image, arena_printf(s.arena, "/s/cache/%s%s", hex, image + 1));
        else
            assert_string_equal(c.image, image);
    }
    site_close(&s);
}

static void ludwig_is_found_behind_its_link(void **state)
{
    struct site s;
    struct order o;
    struct container c;
    struct err e = { 0 };
    char *env[2] = { NULL, NULL };

    (void)state;
    site_open(&s, NULL);
    add_program(&s, "apptainer");
    add_program(&s, "ludwig");
    env[0] = arena_printf(s.arena, "PATH=%s/programs", s.top);
    o = site_order(&s, 'a', "x");
    o.work.work.container = "/images/a.sif";
    assert_int_equal(mkdirat(s.scratch.fd, "bin", 0700), 0);
    assert_int_equal(symlinkat("../../programs/ludwig", s.scratch.fd, "bin/ludwig"), 0);
    assert_int_equal(container_find(&c, &o, env, s.scratch.path, s.arena, &e), 0);
    assert_string_equal(c.ludwig, arena_printf(s.arena, "%s/programs/ludwig", s.top));
    site_close(&s);
}

/* ---- the environment ---- */

static void what_the_sweep_says_counts_before_the_images_own(void **state)
{
    static struct env_entry own[] = {
        { "LR", "1" },          { "PATH", "/host" },       { "HOME", "/h" },
        { "PRICE", "$5" },      { "TICK", "a`b" },         { "BACK", "a\\b" },
        { "QUOTED", "a\"b c" }, { "APPTAINERENV_X", "y" }, { "APPTAINER_TMPDIR", "/t" }
    };
    static const char *const before[] = { "PATH=/host",
                                          "HOME=/h",
                                          "LUDWIG_JOB=7.13",
                                          "CUDA_VISIBLE_DEVICES=",
                                          "LR=1",
                                          "PRICE=$5",
                                          "TICK=a`b",
                                          "BACK=a\\b",
                                          "QUOTED=a\"b c",
                                          "USER=u",
                                          "APPTAINERENV_X=y",
                                          "APPTAINER_TMPDIR=/t",
                                          NULL };
    static const char *const gone[] = { "PATH", "HOME",       "PRICE",
                                        "TICK", "BACK",       "APPTAINERENV_X",
                                        "USER", "LUDWIG_JOB", "APPTAINER_TMPDIR" };
    const struct list list = { own, sizeof own / sizeof own[0] };
    struct arena *a = arena_create();
    struct container c = example();
    char *env[sizeof before / sizeof before[0]];
    char **after;

    (void)state;
    for (size_t i = 0; before[i] != NULL; i++)
        env[i] = arena_strdup(a, before[i]);
    env[sizeof before / sizeof before[0] - 1] = NULL;
    c.own = &list;
    after = container_env(&c, env, a);
    for (size_t i = 0; before[i] != NULL; i++) {
        const char *name = arena_strndup(a, before[i], strcspn(before[i], "="));

        assert_string_equal(jobenv_get(after, name), before[i] + strlen(name) + 1);
    }
    assert_string_equal(jobenv_get(after, "APPTAINERENV_LR"), "1");
    assert_string_equal(jobenv_get(after, "APPTAINERENV_QUOTED"), "a\"b c");
    assert_string_equal(jobenv_get(after, "APPTAINERENV_CUDA_VISIBLE_DEVICES"), "");
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++)
        assert_null(jobenv_get(after, arena_printf(a, "APPTAINERENV_%s", gone[i])));
    assert_null(jobenv_get(after, "APPTAINERENV_PREPEND_PATH"));
    arena_destroy(a);
}

static size_t count_of(char *const *env, const char *name)
{
    size_t count = 0;

    for (; *env != NULL; env++)
        count += strncmp(*env, name, strlen(name)) == 0 && (*env)[strlen(name)] == '=';
    return count;
}

static void ludwig_comes_first_in_path_inside(void **state)
{
    char *plain[] = { (char[]){ "A=1" }, NULL };
    char *with_own[] = { (char[]){ "SINGULARITYENV_PREPEND_PATH=/opt/conda/bin" },
                         (char[]){ "LR=1" }, (char[]){ "SINGULARITYENV_LR=2" }, NULL };
    static struct env_entry own[] = { { "LR", "1" } };
    const struct list list = { own, 1 };
    struct arena *a = arena_create();
    struct container c = example();
    char **env;

    (void)state;
    c.ludwig = "/usr/bin/ludwig";
    env = container_env(&c, plain, a);
    assert_string_equal(jobenv_get(env, "APPTAINERENV_PREPEND_PATH"), "/opt/ludwig/bin");

    /* What the sweep said for the runtime itself stays. */
    c.prefix = "SINGULARITYENV_";
    c.own = &list;
    env = container_env(&c, with_own, a);
    assert_string_equal(jobenv_get(env, "SINGULARITYENV_PREPEND_PATH"),
                        "/opt/ludwig/bin:/opt/conda/bin");
    assert_int_equal(count_of(env, "SINGULARITYENV_PREPEND_PATH"), 1);
    assert_string_equal(jobenv_get(env, "SINGULARITYENV_LR"), "2");
    assert_int_equal(count_of(env, "SINGULARITYENV_LR"), 1);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_runs_in_the_image_with_scratch_bound),
        cmocka_unit_test(paths_that_bind_cannot_say_are_mounted),
        cmocka_unit_test(the_project_is_bound_if_it_is_here),
        cmocka_unit_test(the_runtime_is_found_by_the_jobs_path),
        cmocka_unit_test(the_image_is_a_path_an_address_or_one_of_the_data),
        cmocka_unit_test(ludwig_is_found_behind_its_link),
        cmocka_unit_test(what_the_sweep_says_counts_before_the_images_own),
        cmocka_unit_test(ludwig_comes_first_in_path_inside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
