/* SPDX-License-Identifier: MIT */
/* jobenv.c - tests of a job's environment, without running one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/proto/envvars.h"
#include "tests/unit/worker_site.h"
#include "worker/runner/jobenv.h"

static const struct jobenv_user user = { "u", "/home/u", "/bin/zsh", "/s/bin", "/usr/bin" };

static size_t count_of(char *const *env, const char *name)
{
    size_t count = 0, n = strlen(name);

    for (; *env != NULL; env++)
        count += strncmp(*env, name, n) == 0 && (*env)[n] == '=';
    return count;
}

static void the_jobs_folders_are_named(void **state)
{
    static const struct {
        const char *name, *value;
    } cases[] = {
        { "LUDWIG_PARAM2VAL", "/job/param2val.json" },
        { "LUDWIG_DATA", "/job/data" },
        { "LUDWIG_SAVE_PATH", "/job/save" },
        { "LUDWIG_CHECKPOINT", "/job/checkpoint" },
        { "LUDWIG_METRICS", "/job/metrics" },
        { "TMPDIR", "/job/tmp" },
        { "PWD", "/job/work" },
        { "HOME", "/home/u" },
        { "PATH", "/s/bin:/usr/bin" },
        { "SHELL", "/bin/zsh" },
    };
    struct site s;
    struct order o;
    char **env;

    (void)state;
    site_open(&s, NULL);
    o = site_order(&s, 'a', "x");
    env = jobenv_make(&o, &user, "/job", s.arena);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(count_of(env, cases[i].name), 1);
        assert_string_equal(jobenv_get(env, cases[i].name), cases[i].value);
    }
    assert_null(jobenv_get(env, job_envvars[ENV_CHUNK].name)); /* there is no batch */
    site_close(&s);
}

static void who_has_no_home_gets_the_jobs_folder(void **state)
{
    struct jobenv_user homeless = user;
    struct site s;
    struct order o;

    (void)state;
    site_open(&s, NULL);
    homeless.home = NULL;
    o = site_order(&s, 'a', "x");
    assert_string_equal(jobenv_get(jobenv_make(&o, &homeless, "/job", s.arena), "HOME"), "/job");
    site_close(&s);
}

static void a_share_that_is_not_mounted_has_no_path(void **state)
{
    struct site s;
    struct order o;

    (void)state;
    site_open(&s, NULL);
    o = site_order(&s, 'a', "x");
    assert_string_equal(jobenv_get(jobenv_make(&o, &user, "/job", s.arena), "LUDWIG_PROJECT_PATH"),
                        arena_printf(s.arena, "%s/demo", s.share_path));
    o.share = "sftp:4711::/srv/data";
    assert_null(jobenv_get(jobenv_make(&o, &user, "/job", s.arena), "LUDWIG_PROJECT_PATH"));
    site_close(&s);
}

static void what_the_sweep_says_comes_last_however_much_it_is(void **state)
{
    enum { MANY = 300 };
    struct env_entry own[MANY + 1];
    struct site s;
    struct order o;
    char **env;

    (void)state;
    site_open(&s, NULL);
    o = site_order(&s, 'a', "x");
    for (size_t i = 0; i < MANY; i++) {
        own[i].name = arena_printf(s.arena, "NAME_%zu", i);
        own[i].value = arena_printf(s.arena, "value=%zu", i);
    }
    own[MANY] = (struct env_entry){ "OMP_NUM_THREADS", "7" };
    o.work.work.env = (struct list){ own, MANY + 1 };
    env = jobenv_make(&o, &user, "/job", s.arena);
    for (size_t i = 0; i < MANY; i++)
        assert_string_equal(jobenv_get(env, own[i].name), own[i].value);
    assert_int_equal(count_of(env, "OMP_NUM_THREADS"), 1);
    assert_string_equal(jobenv_get(env, "OMP_NUM_THREADS"), "7");
    assert_string_equal(jobenv_get(env, "MKL_NUM_THREADS"), "2");
    assert_null(jobenv_get(env, "NAME_")); /* not by the beginning of a name */
    site_close(&s);
}

static void gpus_are_named_and_slurms_are_left_alone(void **state)
{
    static const struct {
        bool in_slurm;
        size_t n_gpus;
        const char *devices, *order, *slurm;
    } cases[] = {
        { false, 0, "", NULL, NULL },
        { false, 2, "GPU-1,3", "PCI_BUS_ID", NULL },
        { true, 0, "5,6", NULL, "42" },
        { true, 1, "GPU-1", "PCI_BUS_ID", "42" },
    };
    struct gpu_entry gpus[] = { { "GPU-1" }, { "3" } };
    struct site s;

    (void)state;
    setenv("CUDA_VISIBLE_DEVICES", "5,6", 1);
    setenv("SLURM_JOB_ID", "42", 1);
    site_open(&s, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct order o = site_order(&s, 'a', "x");
        char **env;

        o.in_slurm = cases[i].in_slurm;
        o.gpus = (struct list){ gpus, cases[i].n_gpus };
        env = jobenv_make(&o, &user, "/job", s.arena);
        assert_string_equal(jobenv_get(env, "CUDA_VISIBLE_DEVICES"), cases[i].devices);
        assert_int_equal(jobenv_get(env, "CUDA_DEVICE_ORDER") == NULL, cases[i].order == NULL);
        assert_int_equal(jobenv_get(env, "SLURM_JOB_ID") == NULL, cases[i].slurm == NULL);
    }
    site_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_jobs_folders_are_named),
        cmocka_unit_test(who_has_no_home_gets_the_jobs_folder),
        cmocka_unit_test(a_share_that_is_not_mounted_has_no_path),
        cmocka_unit_test(what_the_sweep_says_comes_last_however_much_it_is),
        cmocka_unit_test(gpus_are_named_and_slurms_are_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
