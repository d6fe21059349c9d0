/* SPDX-License-Identifier: MIT */
/* spec.c - tests of reading sweep files */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/spec/spec.h"
#include "client/term/opt.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/data/json.h"

static int parse(const char *text, struct arena *a, struct spec *s, struct err *e)
{
    return spec_parse("f", NULL, text, strlen(text), a, s, e);
}

static struct spec_overrides none(void)
{
    return (struct spec_overrides){ .reps = OPT_UNSET, .priority = OPT_UNSET };
}

static void every_key_reaches_its_place(void **state)
{
    static const char text[] = "project: word2vec\n"
                               "name: first try\n"
                               "command: train --lr {lr}\n"
                               "setup: source env.sh\n"
                               "source: [./train.py, model/]\n"
                               "data: [corpora, /srv/x.csv]\n"
                               "params: {lr: [0.1, 0.2], opt: adam}\n"
                               "debug: {lr: 1}\n"
                               "reps: 3\n"
                               "priority: -5\n"
                               "nodes: [a, \"@b\"]\n"
                               "resources: {cpus: 0.5, gpus: 2, memory: 2GiB, time: 90s}\n"
                               "method: random\n"
                               "samples: 7\n"
                               "seed: 9\n"
                               "container: /img.sif\n"
                               "results: {metric: loss, goal: min}\n"
                               "env: {A: 1, B: \"x\", C: 1.10, D: true}\n";
    struct arena *a = arena_create();
    const struct env_entry *env;
    const struct spec_data *data;
    struct spec s;
    struct err e = { 0 };

    (void)state;
    assert_int_equal(parse(text, a, &s, &e), 0);
    assert_string_equal(s.project, "word2vec");
    assert_string_equal(s.name, "first try");
    assert_string_equal(s.work.command, "train --lr {lr}");
    assert_string_equal(s.work.setup, "source env.sh");
    assert_true(s.has_source);
    assert_int_equal(s.source.n, 2);
    assert_string_equal(((const char **)s.source.items)[0], "train.py");
    assert_string_equal(((const char **)s.source.items)[1], "model");
    data = s.data.items;
    assert_int_equal(s.data.n, 2);
    assert_string_equal(data[0].name, "corpora");
    assert_string_equal(data[1].path, "/srv/x.csv");
    assert_string_equal(data[1].name, "x.csv");
    assert_int_equal(s.plan.params.n, 2);
    assert_int_equal(s.debug.n, 1);
    assert_int_equal(s.reps, 3);
    assert_int_equal(s.priority, -5);
    assert_true(s.has_nodes);
    assert_int_equal(s.nodes.n, 2);
    assert_int_equal(s.work.resources.cpus_milli, 500);
    assert_int_equal(s.work.resources.gpus_milli, 2000);
    assert_int_equal(s.work.resources.memory_bytes, INT64_C(2) << 30);
    assert_int_equal(s.work.resources.time_ms, 90000);
    env = s.work.env.items;
    assert_int_equal(s.work.env.n, 4);
    assert_string_equal(env[0].value, "1");
    assert_string_equal(env[2].value, "1.10");
    assert_string_equal(env[3].value, "true");
    assert_int_equal(s.plan.method, METHOD_RANDOM);
    assert_int_equal(s.plan.method_at.line, 13);
    assert_int_equal(s.plan.samples, 7);
    assert_int_equal(s.plan.samples_at.line, 14);
    assert_int_equal(s.plan.samples_at.column, 10);
    assert_int_equal(s.plan.seed, 9);
    assert_string_equal(s.work.container, "/img.sif");
    assert_string_equal(s.ranking.metric, "loss");
    assert_int_equal(s.ranking.goal, GOAL_MIN);
    arena_destroy(a);
}

static void variables_without_a_value_are_passed_from_the_shell(void **state)
{
    static const char *const texts[] = {
        "project: p\ncommand: x\nenv: [KEY, TOKEN]\n",
        "project: p\ncommand: x\nenv: {KEY: , A: 1, TOKEN: null}\n"
    };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct arena *a = arena_create();
        const char *const *passed;
        struct spec s;
        struct err e = { 0 };

        assert_int_equal(parse(texts[i], a, &s, &e), 0);
        passed = s.work.passed.items;
        assert_int_equal(s.work.passed.n, 2);
        assert_string_equal(passed[0], "KEY");
        assert_string_equal(passed[1], "TOKEN");
        assert_int_equal(s.work.env.n, i);
        arena_destroy(a);
    }
}

static void what_makes_configurations_is_read_with_its_places(void **state)
{
    static const char text[] = "project: p\n"
                               "command: x\n"
                               "params: {a: [1, 2], b: [1, 2], c: 1, d: [1, 2]}\n"
                               "zip: [[a, b]]\n"
                               "when: {d: {a: 1}}\n"
                               "exclude: [{a: 1, d: [1, 2]}]\n"
                               "include: [{a: 3, b: 4}]\n";
    struct arena *a = arena_create();
    struct err e = { 0 };
    struct spec s;

    (void)state;
    assert_int_equal(parse(text, a, &s, &e), 0);
    assert_int_equal(s.plan.zip.n, 1);
    assert_int_equal(((struct zip_group *)s.plan.zip.items)[0].names.n, 2);
    assert_int_equal(s.plan.when.n, 1);
    assert_string_equal(((struct condition *)s.plan.when.items)[0].name, "d");
    assert_int_equal(s.plan.exclude.n, 1);
    assert_int_equal(((struct pins *)s.plan.exclude.items)[0].at.line, 6);
    assert_int_equal(s.plan.include.n, 1);
    assert_int_equal(s.plan.method, METHOD_GRID);
    assert_int_equal(s.plan.method_at.line, 0);
    assert_int_equal(s.plan.samples_at.line, 0);
    arena_destroy(a);
}

static const struct slurm_pool *pool_of(const struct spec *s, size_t i)
{
    assert_true(i < s->pools.n);
    return (const struct slurm_pool *)s->pools.items + i;
}

static void slurm_is_one_pool_or_a_list_of_them(void **state)
{
    struct arena *a = arena_create();
    const struct slurm_pool *pool;
    struct err e = { 0 };
    struct spec s;

    (void)state;
    assert_int_equal(parse("project: p\ncommand: x\nslurm: {partition: short}\n", a, &s, &e), 0);
    assert_int_equal(s.pools.n, 1);
    assert_string_equal(pool_of(&s, 0)->partition, "short");
    assert_null(pool_of(&s, 0)->account);
    assert_int_equal(parse("project: p\ncommand: x\nslurm:\n"
                           "  - &a {partition: short, account: lab, qos: q, constraint: \"a|b\",\n"
                           "       gres: 'gpu:2', exclude: [n1, n2], extra: --mem=1G}\n"
                           "  - {<<: *a, partition: 7, exclude: n3}\n",
                           a, &s, &e),
                     0);
    assert_int_equal(s.pools.n, 2);
    pool = pool_of(&s, 0);
    assert_string_equal(pool->account, "lab");
    assert_string_equal(pool->qos, "q");
    assert_string_equal(pool->constraint, "a|b");
    assert_string_equal(pool->gres, "gpu:2");
    assert_int_equal(pool->exclude.n, 2);
    assert_int_equal(pool->extra.n, 1);
    assert_string_equal(((const char **)pool->extra.items)[0], "--mem=1G");
    pool = pool_of(&s, 1);
    assert_string_equal(pool->partition, "7");
    assert_string_equal(pool->account, "lab");
    assert_int_equal(pool->exclude.n, 1);
    assert_int_equal(parse("project: p\ncommand: x\nslurm: []\n", a, &s, &e), 0);
    assert_int_equal(s.pools.n, 0);
    arena_destroy(a);
}

static void retry_has_a_limit_and_a_list_of_ends(void **state)
{
    static const struct {
        const char *text;
        int64_t max;
        const char *on[4];
    } cases[] = {
        { "{}", 0, { NULL } },
        { "{max: 3}", 3, { "failed" } },
        { "{max: 0}", 0, { NULL } },
        { "{on: timeout}", 1, { "timeout" } },
        { "{max: 2, on: [preempted, node-lost, 137]}", 2, { "preempted", "node-lost", "137" } },
        { "{max: 2, on: ['3', oom, signal]}", 2, { "3", "oom", "signal" } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        char *text = arena_printf(a, "project: p\ncommand: x\nretry: %s\n", cases[i].text);
        struct err e = { 0 };
        struct spec s;

        assert_int_equal(parse(text, a, &s, &e), 0);
        assert_int_equal(s.retry.max, cases[i].max);
        for (size_t k = 0; k < s.retry.on.n; k++)
            assert_string_equal(((const char **)s.retry.on.items)[k], cases[i].on[k]);
        assert_null(cases[i].on[s.retry.on.n]);
        arena_destroy(a);
    }
}

static void a_checkpoint_has_a_signal_by_its_one_name(void **state)
{
    static const struct {
        const char *text;
        const char *signal;
        int64_t grace_ms, every_ms;
    } cases[] = {
        { "{signal: SIGUSR1}", "SIGUSR1", 60000, 0 },
        { "{signal: USR1}", "SIGUSR1", 60000, 0 },
        { "{signal: 10, grace: 5s}", "SIGUSR1", 5000, 0 },
        { "{signal: 15, grace: 0, every: 10m}", "SIGTERM", 0, 600000 },
        { "{every: 1s}", NULL, 0, 1000 },
        { "{}", NULL, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        char *text = arena_printf(a, "project: p\ncommand: x\ncheckpoint: %s\n", cases[i].text);
        struct err e = { 0 };
        struct spec s;

        assert_int_equal(parse(text, a, &s, &e), 0);
        if (cases[i].signal == NULL)
            assert_null(s.work.checkpoint.signal);
        else
            assert_string_equal(s.work.checkpoint.signal, cases[i].signal);
        assert_int_equal(s.work.checkpoint.grace_ms, cases[i].grace_ms);
        assert_int_equal(s.work.checkpoint.every_ms, cases[i].every_ms);
        arena_destroy(a);
    }
}

static void a_container_here_goes_along_with_the_data(void **state)
{
    static const struct {
        const char *text;
        const char *container;
        size_t n_data;
    } cases[] = {
        { "container: docker://python:3.11", "docker://python:3.11", 0 },
        { "container: /opt/image.sif", "/opt/image.sif", 0 },
        { "container: images/py.sif", "py.sif", 1 },
        { "data: [a.csv]\ncontainer: ./py.sif", "py.sif", 2 },
        { "data: [images/py.sif, a.csv]\ncontainer: images/py.sif", "py.sif", 2 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        char *text = arena_printf(a, "project: p\ncommand: x\n%s\n", cases[i].text);
        struct err e = { 0 };
        struct spec s;

        assert_int_equal(parse(text, a, &s, &e), 0);
        assert_string_equal(s.work.container, cases[i].container);
        assert_int_equal(s.data.n, cases[i].n_data);
        arena_destroy(a);
    }
}

static void data_of_a_map_are_linked_at_its_keys(void **state)
{
    struct arena *a = arena_create();
    const struct spec_data *data;
    struct err e = { 0 };
    struct spec s;

    (void)state;
    assert_int_equal(
        parse("project: p\ncommand: x\ndata: {./data/t.csv: all/train.csv, c: /c/d}\n", a, &s, &e),
        0);
    assert_int_equal(s.data.n, 2);
    data = s.data.items;
    assert_string_equal(data[0].link, "data/t.csv");
    assert_string_equal(data[0].name, "train.csv");
    assert_string_equal(data[0].path, "all/train.csv");
    assert_string_equal(data[1].link, "c");
    assert_string_equal(data[1].name, "d");
    assert_int_equal(parse("project: p\ncommand: x\ndata: [a]\n", a, &s, &e), 0);
    assert_null(((const struct spec_data *)s.data.items)->link);
    arena_destroy(a);
}

static void setup_is_a_text_or_a_list_of_lines(void **state)
{
    struct arena *a = arena_create();
    struct err e = { 0 };
    struct spec s;

    (void)state;
    assert_int_equal(parse("project: p\ncommand: x\nsetup: [a=1, b=2]\n", a, &s, &e), 0);
    assert_string_equal(s.work.setup, "a=1\nb=2");
    assert_int_equal(parse("project: p\ncommand: x\nsetup: |\n  a\n  b\n", a, &s, &e), 0);
    assert_string_equal(s.work.setup, "a\nb\n");
    assert_int_equal(parse("project: p\ncommand: x\nsetup: []\n", a, &s, &e), 0);
    assert_null(s.work.setup);
    arena_destroy(a);
}

static void a_short_file_gets_the_defaults(void **state)
{
    struct arena *a = arena_create();
    struct spec s;
    struct err e = { 0 };
    static const char text[] = "command: make\n";

    (void)state;
    assert_int_equal(spec_parse("f", "/home/u/my-sweep", text, strlen(text), a, &s, &e), 0);
    assert_string_equal(s.project, "my-sweep");
    assert_false(s.has_source);
    assert_false(s.has_nodes);
    assert_int_equal(s.plan.params.n, 0);
    assert_int_equal(s.reps, 1);
    assert_int_equal(s.priority, 0);
    assert_int_equal(s.work.resources.cpus_milli, 1000);
    assert_int_equal(s.work.resources.gpus_milli, 0);
    assert_int_equal(s.plan.method, METHOD_GRID);
    assert_int_equal(s.plan.samples, 0);
    assert_int_equal(s.plan.seed, 0);
    assert_int_equal(s.pools.n, 0);
    assert_int_equal(s.retry.max, 0);
    assert_int_equal(s.retry.on.n, 0);
    assert_int_equal(s.work.batch, 1);
    assert_null(s.work.container);
    assert_null(s.work.checkpoint.signal);
    assert_null(s.ranking.metric);
    assert_int_equal(s.ranking.goal, GOAL_MAX);
    arena_destroy(a);
}

static void a_goal_is_said_or_guessed(void **state)
{
    static const struct {
        const char *results;
        enum goal goal;
    } cases[] = {
        { "{metric: val_mse}", GOAL_MIN },
        { "{metric: accuracy}", GOAL_MAX },
        { "{metric: val_mse, goal: max}", GOAL_MAX },
        { "{metric: m, goal: minimize}", GOAL_MIN },
        { "{metric: m, goal: maximize}", GOAL_MAX },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = arena_printf(a, "project: p\ncommand: x\nresults: %s\n", cases[i].results);
        struct err e = { 0 };
        struct spec s;

        assert_int_equal(parse(text, a, &s, &e), 0);
        assert_int_equal(s.ranking.goal, cases[i].goal);
    }
    arena_destroy(a);
}

static void values_keep_their_types(void **state)
{
    static const struct {
        const char *param;
        const char *values; /* as JSON */
    } cases[] = {
        { "[0.1, 1e-3, 1, no, 2024-01-01, null, true, \"1\"]",
          "[0.1,0.001,1,\"no\",\"2024-01-01\",null,true,\"1\"]" },
        { "adam", "[\"adam\"]" },
        { "{values: [[1, 2], {a: 1}]}", "[[1,2],{\"a\":1}]" },
        { "{value: [1, 2]}", "[[1,2]]" },
        { "{value: {a: 1}}", "[{\"a\":1}]" },
        { "~", "[null]" },
        { "[1, 1]", "[1,1]" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        char *text = arena_printf(a, "project: p\ncommand: x\nparams:\n  q: %s\n", cases[i].param);
        const struct param *param;
        struct buf json = { 0 };
        struct err e = { 0 };
        struct spec s;

        assert_int_equal(parse(text, a, &s, &e), 0);
        param = params_find(&s.plan.params, "q");
        json_add_value(&json,
                       &(struct value){ .type = VALUE_LIST, .list = { param->values, param->n } });
        assert_string_equal(buf_text(&json), cases[i].values);
        buf_free(&json);
        arena_destroy(a);
    }
}

#define HEAD "project: p\ncommand: x {a}\nparams: {a: [1, 2]}\n"

static void every_mistake_says_where_and_what(void **state)
{
    static const struct {
        const char *text;
        const char *error;
    } cases[] = {
        { "", "f:1:1: the file is empty" },
        { "# nothing\n", "f:1:1: the file is empty" },
        { "- a\n", "f:1:1: expected 'key: value' lines, found a list" },
        { "just text\n", "f:1:1: expected 'key: value' lines, found text" },
        { "project: p\n", "f:1:1: there is no 'command:', so there is nothing to run" },
        { "command: x\n", "f:1:1: there is no 'project:'" },
        { "project: p\ncommand: ''\n", "f:2:10: command: it is empty" },
        { "project: p\ncommand: ' '\n", "f:2:10: command: it is empty" },
        { "project: p\ncommand: [x]\n", "f:2:10: command: expected text, found a list" },
        { "project: p\ncommand: x {lr}\n", "f:2:12: command: unknown parameter 'lr'" },
        { "project: p\ncommand: x {lrr}\nparams: {lr: 1}\n",
          "f:2:12: command: unknown parameter 'lrr' (did you mean 'lr'?)" },
        { "project: p\ncommand: |\n  a\n  b {c}\n", "f:4:5: command: unknown parameter 'c'" },
        { "project: p\ncommand: x {a} $(( {a} )) '{a}'\nparams: {a: [1, 2 3, 4 5]}\n",
          "f:2:20: command: {a} stands behind a backslash or in `...`, ${...} or $((...)), where its "
          "value \"2 3\" cannot be quoted; write VAR={a} on a line before, and \"$VAR\" here" },
        { "project: p\ncommand: x \\{a}\nparams: {a: 1}\ndebug: {a: ''}\n",
          "f:2:13: command: {a} stands behind a backslash or in `...`, ${...} or $((...)), where its "
          "value \"\" cannot be quoted; write VAR={a} on a line before, and \"$VAR\" here" },
        { "project: p\ncommand: x {a b}\nparams: {a b: 1, c: 2}\nwhen: {a b: {c: 2}}\n",
          "f:2:12: command: a b exists only where c is 2; the program can read it from the file that "
          "$LUDWIG_PARAM2VAL names" },
        { "project: a/b\ncommand: x\n",
          "f:1:10: project: 'a/b' cannot be a folder on every system" },
        { "project: .ludwig\ncommand: x\n",
          "f:1:10: project: '.ludwig' cannot be a folder on every system" },
        { "project: -rf\ncommand: x\n",
          "f:1:10: project: '-rf' cannot be a folder on every system" },
        { "project: CON\ncommand: x\n",
          "f:1:10: project: 'CON' cannot be a folder on every system" },
        { "project:\ncommand: x\n", "f:1:9: project: expected text, found nothing" },
        { HEAD "comand: y\n", "f:4:1: unknown key 'comand' (did you mean 'command'?)" },
        { HEAD "zzz: y\n", "f:4:1: unknown key 'zzz'" },
        { HEAD "yaml: 1\n", "f:4:1: unknown key 'yaml'" },
        { "project: p\ncomand: y {z}\n", "f:2:1: unknown key 'comand' (did you mean 'command'?)" },
        { "project: p\nx-comand: y\n",
          "f:1:1: there is no 'command:', so there is nothing to run" },
        { "project: p\ncommand: x {a} {b} {a}\n", "f:2:12: command: unknown parameter 'a'\n"
                                                  "f:2:16: command: unknown parameter 'b'" },
        { HEAD "reps: '2'\n", "f:4:7: reps: expected a whole number, found the text '2' (take the "
                              "quotes away)" },
        { HEAD "resources: {memory: 4}\n",
          "f:4:21: memory: 4 lacks a unit: write 4GiB, or 4B for bytes" },
        { HEAD "resources: {disk: 20}\n",
          "f:4:19: disk: 20 lacks a unit: write 20GiB, or 20B for bytes" },
        { HEAD "log: {max: 100}\n",
          "f:4:12: max: 100 lacks a unit: write 100GiB, or 100B for bytes" },
        { HEAD "resources: {time: 60}\n",
          "f:4:19: time: 60 lacks a unit: write 60s or 60min (Slurm means minutes)" },
        { HEAD "resources: {time: '540'}\n",
          "f:4:19: time: 540 lacks a unit: write 540s or 540min (Slurm means minutes)" },
        { HEAD "resources: {time: '4:00'}\n",
          "f:4:19: time: 4:00 is minutes and seconds to some and hours and minutes to others: write "
          "it like 30min, 4h or 00:30:00" },
        { HEAD "checkpoint: {signal: SIGUSR1, grace: 1}\n",
          "f:4:38: grace: 1 lacks a unit: write 1s or 1min (Slurm means minutes)" },
        { HEAD "resources: {memory: 1000kB}\n",
          "f:4:21: memory: 1000000 bytes is too little for any process; write it as 2GiB" },
        { HEAD "reps: 0\n", "f:4:7: reps: expected at least 1, found '0'" },
        { HEAD "reps: -1\n", "f:4:7: reps: expected no negative number, found '-1'" },
        { HEAD "reps: 4097\n", "f:4:7: reps: expected at most 4096, found '4097'" },
        { HEAD "reps: 1.5\n", "f:4:7: reps: expected a whole number, found '1.5'" },
        { HEAD "reps: {race: 2}\n", "f:4:7: reps: expected {max: 10, race: 3}" },
        { HEAD "reps: {max: 4, race: 5}\nresults: {metric: loss}\n",
          "f:4:22: race: more than max, which is 4" },
        { HEAD "reps: {max: 4, race: 2}\n",
          "f:4:7: race: needs the measure that it compares by: results: {metric: NAME}" },
        { HEAD "reps: {max: 4, race: 2}\nresults: {metric: loss}\nstop: asha\n",
          "f:4:7: race: does not go with stop: a job that is stopped early has no result" },
        { HEAD "reps: many\n", "f:4:7: reps: expected a whole number, found 'many'" },
        { HEAD "priority: 1001\n", "f:4:11: priority: expected a whole number from -1000 to 1000" },
        { HEAD "priority: high\n", "f:4:11: priority: expected a whole number from -1000 to 1000" },
        { HEAD "resources: {cpu: 1}\n", "f:4:13: unknown key 'cpu' (did you mean 'cpus'?)" },
        { HEAD "resources: {cpus: 0}\n", "f:4:19: cpus: expected at least 0.001, found '0'" },
        { HEAD "resources: {gpus: 1.5}\n",
          "f:4:19: gpus: expected a whole number, or a fraction below 1" },
        { HEAD "resources: {memory: 2 apples}\n",
          "f:4:21: memory: expected a size such as 2GiB, found '2 apples'" },
        { HEAD "resources: {time: long}\n",
          "f:4:19: time: expected a duration such as 10min, found 'long'" },
        { HEAD "resources: 4\n", "f:4:12: resources: expected a map, found '4'" },
        { HEAD "env: {LUDWIG_JOB: 1}\n",
          "f:4:7: env: LUDWIG_JOB: names that begin with LUDWIG_ are ludwig's own" },
        { HEAD "env: {a-b: 1}\n", "f:4:7: env: 'a-b' is no name for a variable" },
        { HEAD "env: {A: [1]}\n", "f:4:10: env: A: expected text, found a list" },
        { HEAD "env: A=1\n", "f:4:6: env: expected 'NAME: value' lines, or names as in"
                             " [WANDB_API_KEY], found text" },
        { HEAD "env: [LUDWIG_JOB]\n",
          "f:4:7: env: LUDWIG_JOB: names that begin with LUDWIG_ are ludwig's own" },
        { HEAD "env: [A=1]\n", "f:4:7: env: 'A=1' is no name for a variable" },
        { HEAD "env: [A, A]\n", "f:4:10: env: A stands there twice" },
        { HEAD "env: [{A: 1}]\n", "f:4:7: env: expected the name of a variable, found a map" },
        { HEAD "source: /etc\n",
          "f:4:9: source: '/etc' does not lie below the sweep file's folder" },
        { HEAD "source: [a, ../b]\n",
          "f:4:13: source: '../b' does not lie below the sweep file's folder" },
        { HEAD "source: [[a]]\n",
          "f:4:10: source: expected a path or a list of paths, found a list" },
        { HEAD "data: [{share: /b}]\n",
          "f:4:16: data: share: '/b' is no path below the shared drive" },
        { HEAD "data: [{share: b, as: c}]\n", "f:4:8: data: beside share: nothing is expected" },
        { HEAD "data: [{share: [b]}]\n", "f:4:16: data: share: expected a path, found a list" },
        { HEAD "data: [x/a, y/a]\n", "f:4:13: data: two entries would both be a" },
        { HEAD "data: {p: x/a, q: y/a}\n", "f:4:19: data: two entries would both be a" },
        { HEAD "data: {../p: a}\n",
          "f:4:8: data: '../p' is no path below the folder that jobs run in" },
        { HEAD "data: {p: [a]}\n", "f:4:11: data: p: expected a path, found a list" },
        { HEAD "data: ..\n",
          "f:4:7: data: '..' does not end in a name that every system can show" },
        { HEAD "data: 3\n", "f:4:7: data: expected a path, found a whole number" },
        { HEAD "debug: {b: 1}\n", "f:4:9: debug: unknown parameter 'b'" },
        { HEAD "name: \"a\\nb\"\n", "f:4:7: name: a control character" },
        { HEAD "nodes: [a, 'b c']\n", "f:4:12: nodes: 'b c' is no name of a node or @group" },
        { HEAD "retry: {max: 2, on: []}\n",
          "f:4:21: on: an empty list leaves nothing to try again; leave out retry: instead" },
        { HEAD "nodes: '@'\n", "f:4:8: nodes: '@' is no name of a node or @group" },
        { HEAD "method: grids\n", NULL },
        { HEAD "samples: 0\n", "f:4:10: samples: expected at least 1, found '0'" },
        { HEAD "seed: -1\n", "f:4:7: seed: expected no negative number, found '-1'" },
        { HEAD "seed: x\n", "f:4:7: seed: expected a whole number, found 'x'" },
        { HEAD "batch: 2\n",
          "f:2:12: command: {a} cannot be filled in, as with batch: a process gets several "
          "configurations; it finds them in the file that $LUDWIG_CHUNK names" },
        { HEAD "batch: 0\n", "f:4:8: batch: expected at least 1, found '0'" },
        { HEAD "batch: 513\n", "f:4:8: batch: expected at most 512, found '513'" },
        { HEAD "results: {goal: min}\n", "f:4:10: results: there is no 'metric:' to rank by" },
        { HEAD "reuse: {ignore: [a, /b]}\n",
          "f:4:21: ignore: expected a path below the sweep file's folder, or a pattern such as "
          "*.ipynb" },
        { HEAD "results: {metric: m}\n",
          "f:4:19: results: the name m does not say whether large values are good or small ones; add "
          "goal: max or goal: min" },
        { HEAD "results: {metric: m, goal: best}\n",
          "f:4:28: goal: expected max or min, found 'best'" },
        { HEAD "results: {metric: ''}\n", "f:4:19: metric: expected the name of a measure" },
        { HEAD "container: ''\n",
          "f:4:12: container: expected the path of an image, or one such as docker://python:3.11" },
        { HEAD "container: ..\n",
          "f:4:12: container: '..' does not end in a name that every system can show" },
        { HEAD "container: b/x.sif\ndata: a/x.sif\n",
          "f:4:12: container: data: has another x.sif" },
        { HEAD "environment: 3\n",
          "f:4:14: environment: expected the path of a folder, found a whole number" },
        { HEAD "environment: {stage: 3}\n",
          "f:4:22: stage: expected the path of a folder, found a whole number" },
        { HEAD "environment: {path: /e, stage: /f}\n",
          "f:4:21: environment: stage: names a folder already; write {path: PATH, stage: true}" },
        { HEAD "environment: {staged: /f}\n",
          "f:4:15: unknown key 'staged' (did you mean 'stage'?)" },
        { HEAD "container: docker://x\nenvironment: /e\nmodules: [a]\n",
          "f:5:14: environment: it does not go with container:, as jobs there have what the image "
          "has\n"
          "f:6:10: modules: it does not go with container:, as jobs there have what the image has" },
        { HEAD "modules: [a b, -c]\n",
          "f:4:11: modules: 'a b' is no name of a module, as cuda/12.4 is\n"
          "f:4:16: modules: '-c' is no name of a module, as cuda/12.4 is" },
        { HEAD "checkpoint: {signal: SIGKILL}\n",
          "f:4:22: signal: no process can catch SIGKILL (SIGUSR1 is common here)" },
        { HEAD "checkpoint: {signal: 9}\n",
          "f:4:22: signal: no process can catch SIGKILL (SIGUSR1 is common here)" },
        { HEAD "checkpoint: {signal: USR3}\n",
          "f:4:22: signal: there is no signal 'USR3' (did you mean 'SIGUSR1'?)" },
        { HEAD "checkpoint: {signal: 99}\n", "f:4:22: signal: there is no signal '99'" },
        { HEAD "checkpoint: {grace: 5s}\n",
          "f:4:21: grace: it needs a 'signal:', after which it is given" },
        { HEAD "checkpoint: {every: 10ms}\n",
          "f:4:21: every: expected at least 1 s, found '10ms'" },
        { HEAD "retry: {on: [failed, preemted]}\n",
          "f:4:22: on: unknown cause 'preemted' (did you mean 'preempted'?)" },
        { HEAD "retry: {grow: {memory: 1}}\nresources: {memory: 1GiB}\n",
          "f:4:24: grow: memory: expected a factor above 1, as 1.5, found 1" },
        { HEAD "retry: {grow: {memory: 101}}\nresources: {memory: 1GiB}\n",
          "f:4:24: grow: memory: expected a factor above 1, as 1.5, found 101" },
        { HEAD "retry: {grow: {memory: [2]}}\nresources: {memory: 1GiB}\n",
          "f:4:24: grow: memory: expected a factor above 1, as 1.5, found a list" },
        { HEAD "retry: {grow: {time: 2}}\n",
          "f:4:22: grow: time: resources: has no time:, from which it could grow" },
        { HEAD "retry: {grow: 2}\n", "f:4:15: grow: expected a map, found '2'" },
        { HEAD "retry: {up_to: {memory: 1GiB}}\n",
          "f:4:25: up_to: memory: grow: has no memory:, so it stays as it is" },
        { HEAD "resources: {memory: 1GiB}\nretry: {grow: {memory: 2}, up_to: {memory: 1GiB}}\n",
          "f:5:44: up_to: memory: 1 GiB is no more than the 1 GiB of resources:, from which it grows" },
        { HEAD "resources: {memory: 1GiB}\nretry: {on: 137, grow: {memory: 2}}\n",
          "f:5:33: grow: memory: on: does not name oom, after which it would grow" },
        { HEAD "retry: {on: 256}\n",
          "f:4:13: on: unknown cause '256' (there are failed, signal, timeout, oom, node-lost, "
          "preempted, walltime, environment, nan, gpu, and exit codes from 1 to 255)" },
        { HEAD "retry: {on: 0}\n", NULL },
        { HEAD "retry: {on: none}\n", NULL },
        { HEAD "retry: {max: 1001}\n", "f:4:14: max: expected at most 1000, found '1001'" },
        { HEAD "retry: 3\n", "f:4:8: retry: expected a map, found '3'" },
        { HEAD "slurm: short\n",
          "f:4:8: slurm: expected a map such as {partition: NAME}, found text" },
        { HEAD "slurm: {account: a}\n", "f:4:8: slurm: there is no 'partition:'" },
        { HEAD "slurm: [{partition: a}, {}]\n", "f:4:25: slurm: there is no 'partition:'" },
        { HEAD "slurm: {partition: 'a,b'}\n",
          "f:4:20: partition: 'a,b' is no name of a partition (slurm: takes a list, an entry for "
          "each)" },
        { HEAD "slurm: {partition: -x}\n", "f:4:20: partition: '-x' is no name of a partition" },
        { HEAD "slurm: {partition: a, acount: b}\n",
          "f:4:23: unknown key 'acount' (did you mean 'account'?)" },
        { HEAD "slurm: {partition: a, qos: ''}\n", "f:4:28: qos: it is empty" },
        { HEAD "slurm: {partition: a, qos: -x, exclude: [b, -c]}\n",
          "f:4:28: qos: '-x' begins with a dash\n"
          "f:4:45: exclude: '-c' begins with a dash" },
        { HEAD "slurm: {partition: a, gres: \"x\\n#\"}\n", "f:4:29: gres: a control character" },
        { HEAD "slurm: {partition: a, extra: -N2}\n",
          "f:4:30: extra: '-N2' does not begin with -- (write --name=value)" },
        { HEAD "slurm: {partition: a, extra: [--mem=1G, --]}\n",
          "f:4:41: extra: '--' is no option (write --name=value)" },
        { HEAD "slurm: {partition: a, extra: --mem 1G}\n",
          "f:4:30: extra: '--mem 1G' is no option (write --name=value)" },
        { HEAD "slurm: {partition: a, extra: \"--comment=a\\nb\"}\n",
          "f:4:30: extra: a control character\n"
          "f:4:30: extra: '--comment=a b' is no option (write --name=value)" },
        { HEAD "slurm: {partition: a, extra: --wrap=x}\n",
          "f:4:30: extra: --wrap cannot stand here: ludwig sets it" },
        { HEAD "slurm: {partition: a, extra: --parsa}\n",
          "f:4:30: extra: --parsable cannot stand here: ludwig sets it" },
        { HEAD "slurm: {partition: a, extra: --account=b}\n",
          "f:4:30: extra: --account cannot stand here: account: is for that" },
        { "project: p\ncommand: x {m} {a}\nparams: {a: [1, 2], m: 1}\n"
          "when: {m: {a: [1, 3, 4, 5]}}\n",
          "f:2:12: command: m exists only where a is 1 or 3 or 4 or ...; the program can read it "
          "from the file that $LUDWIG_PARAM2VAL names" },
        { "project: p\ncommand: x\nparams: {epochs: 1}\ndebug: {epoch: 1}\n",
          "f:4:9: debug: unknown parameter 'epoch' (did you mean 'epochs'?)" },
        { HEAD "nodes: {a: 1}\n", "f:4:8: nodes: expected text or a list of texts, found a map" },
        { "project: p\ncommand: x\nparams: [1]\n",
          "f:3:9: params: expected 'name: value' lines, found a list" },
        { "project: p\ncommand: x\nparams: {a: []}\n",
          "f:3:13: a: an empty list leaves nothing to run" },
        { "project: p\ncommand: x\nparams: {a: {values: []}}\n",
          "f:3:22: a: values: an empty list leaves nothing to run" },
        { "project: p\ncommand: x\nparams: {a: {values: 1}}\n",
          "f:3:22: a: values: expected a list, found '1'" },
        { "project: p\ncommand: x\nparams: {a: {vales: [1]}}\n",
          "f:3:14: a: unknown form 'vales' (did you mean 'values'?)" },
        { "project: p\ncommand: x\nparams: {a: {b: 1}}\n",
          "f:3:14: a: unknown form 'b' (a map as a value: a: {value: {...}})" },
        { "project: p\ncommand: x\nparams: {a: {}}\n",
          "f:3:13: a: expected one form such as {values: [1, 2]}" },
        { "project: p\ncommand: x\nparams: {a: {value: 1, values: [1]}}\n",
          "f:3:13: a: expected one form such as {values: [1, 2]}" },
        { "project: p\ncommand: x\nparams: {'': 1}\n", "f:3:10: a parameter without a name" },
        { "project: p\ncommand: x\nparams: {\"a\\nb\": 1}\n",
          "f:3:10: a control character in a parameter's name" },
        { "project: p\ncommand: x\ncommand: y\n",
          "f:3:1: 'command' appears a second time (first in line 2)" },
        { "project: p\ncommand: x\nresults: {metric: loss}\nstop: {rule: asa}\n",
          "f:4:14: rule: unknown rule 'asa' (did you mean 'asha'?)" },
        { "project: p\ncommand: x\nresults: {metric: loss}\nstop: hyperband\n",
          "f:4:7: rule: unknown rule 'hyperband' (there are asha, median, patience, threshold)" },
        { "project: p\ncommand: x\nresults: {metric: loss}\nstop: {eta: 3}\n",
          "f:4:7: stop: names no rule: asha, median, patience or threshold" },
        { "project: p\ncommand: x\nresults: {metric: loss}\nstop: {rule: asha, etta: 3}\n",
          "f:4:20: unknown key 'etta' (did you mean 'eta'?)" },
        { "project: p\ncommand: x\nresults: {metric: loss}\nstop: {rule: median, eta: 3}\n",
          "f:4:22: eta: the rule median has no such key, asha has" },
        { "project: p\ncommand: x\nresults: {metric: loss}\nstop: {rule: asha, eta: 1}\n",
          "f:4:25: eta: expected a number above 1" },
        { "project: p\ncommand: x\nresults: {metric: loss}\nstop: {rule: asha, eta: x}\n",
          "f:4:25: eta: expected a number" },
        { "project: p\ncommand: x\nresults: {metric: loss}\nstop: {rule: asha, first: 0}\n", NULL },
        { "project: p\ncommand: x\nresults: {metric: loss}\nstop: {rule: threshold, threshold: 1, resume: true}\n",
          "f:4:39: resume: the rule threshold has no such key, asha has" },
        { "project: p\ncommand: x\nparams: {lr: [1, 2]}\norder: 'lr > first'\n",
          "f:4:8: order: column 5: expected a value, found the end" },
        { "project: p\ncommand: x\nparams: {lr: [1, 2]}\norder: lrr > 1 first\n",
          "f:4:8: order: unknown parameter 'lrr' (did you mean 'lr'?)" },
        { "project: p\ncommand: x\nresults: {metric: loss}\nstop: patience\n",
          "f:4:7: stop: the rule patience needs patience:" },
        { "project: p\ncommand: x\nresults: {metric: loss}\nstop: {rule: threshold}\n",
          "f:4:7: stop: the rule threshold needs threshold:" },
        { "project: p\ncommand: x\nresults: {metric: loss}\nstop: {rule: patience, patience: 3, min_delta: -1}\n",
          "f:4:48: min_delta: expected a number that is not below 0" },
        { "project: p\ncommand: x\nresults: {metric: loss}\nstop: [asha]\n",
          "f:4:7: stop: expected {rule: asha}, or the name of a rule" },
        { "project: p\ncommand: x\nresults: {metric: loss}\nguard: {nan: yes}\n",
          "f:4:14: nan: expected stop or off" },
        { "project: p\ncommand: x\nresults: {metric: loss}\nbatch: 2\nstop: asha\n",
          "f:5:7: stop: does not go with batch: as jobs of one process cannot be ended one by one" },
        { "project: p\ncommand: x\nstop: asha\n",
          "f:3:7: stop: needs the measure that it looks at: results: {metric: NAME}" },
        { "project: p\ncommand: x\nguard: {nan: stop}\n",
          "f:3:14: nan: needs the measure that it looks at: results: {metric: NAME}" },
        { "project: p\n\tcommand: x\n", NULL },
        { "project: [\n", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        struct err e = { 0 };
        struct spec s;

        assert_int_equal(parse(cases[i].text, a, &s, &e), -1);
        assert_int_equal(e.kind, ERR_USAGE);
        if (cases[i].error != NULL)
            assert_string_equal(e.text, cases[i].error);
        else
            assert_memory_equal(e.text, "f:", 2);
        arena_destroy(a);
    }
}

static void all_mistakes_of_a_file_are_found_at_once(void **state)
{
    struct arena *a = arena_create();
    struct err e = { 0 };
    struct spec s;

    (void)state;
    assert_int_equal(
        parse("project: a/b\ncommand: x {b}\nparams: {a: [], c: {d: 1}}\nrep: 1\n", a, &s, &e), -1);
    assert_string_equal(e.text,
                        "f:1:10: project: 'a/b' cannot be a folder on every system\n"
                        "f:2:12: command: unknown parameter 'b'\n"
                        "f:3:13: a: an empty list leaves nothing to run\n"
                        "f:3:21: c: unknown form 'd' (a map as a value: c: {value: {...}})\n"
                        "f:4:1: unknown key 'rep' (did you mean 'reps'?)");
    arena_destroy(a);
}

static void what_is_wrong_among_parameters_is_told_with_the_rest(void **state)
{
    static const char text[] = "project: p\ncommand: x\nparams: {a: [1, 2], b: [1, 2, 3]}\n"
                               "zip: [[a, b]]\nwhen: {a: {z: 1}}\n";
    struct arena *a = arena_create();
    struct spec_overrides o = none();
    char *more = arena_printf(a, "%srep: 1\n", text);
    struct err e = { 0 };
    struct spec s;

    (void)state;
    /* Alone it may be put right by the command line. */
    assert_int_equal(parse(text, a, &s, &e), 0);
    assert_int_equal(spec_override(&s, &o, a, &e), -1);
    assert_memory_equal(e.text, "f:4:", 4);
    assert_non_null(strstr(e.text, "\n    4 | zip: [[a, b]]\n"));
    assert_non_null(strstr(e.text, "\nf:5:"));
    assert_int_equal(parse(more, a, &s, &e), -1);
    assert_memory_equal(e.text, "f:4:", 4);
    assert_non_null(strstr(e.text, "\nf:5:"));
    assert_non_null(strstr(e.text, "\nf:6:1: unknown key 'rep'"));
    arena_destroy(a);
}

static void a_value_of_the_command_line_must_fit_into_the_command(void **state)
{
    static const char *set[] = { "a=[1, b c]" };
    struct arena *a = arena_create();
    struct spec_overrides o = none();
    struct err e = { 0 };
    struct spec s;

    (void)state;
    assert_int_equal(parse("project: p\ncommand: x `f {a}`\nparams: {a: 1}\n", a, &s, &e), 0);
    o.set = (struct list){ set, 1 };
    assert_int_equal(spec_override(&s, &o, a, &e), -1);
    assert_non_null(strstr(e.text, "--set a: command: {a} stands behind a backslash or in `...`"));
    arena_destroy(a);
}

static void the_command_line_can_put_right_what_the_file_says(void **state)
{
    static const char *set[] = { "b=[7, 8]" };
    struct arena *a = arena_create();
    struct spec_overrides o = none();
    struct err e = { 0 };
    struct spec s;

    (void)state;
    assert_int_equal(parse("project: p\ncommand: x\nparams: {a: [1, 2], b: [1, 2, 3]}\n"
                           "zip: [[a, b]]\n",
                           a, &s, &e),
                     0);
    o.set = (struct list){ set, 1 };
    assert_int_equal(spec_override(&s, &o, a, &e), 0);
    arena_destroy(a);
}

static void partitions_of_the_command_line_go_over_the_file(void **state)
{
    struct arena *a = arena_create();
    struct spec_overrides o = none();
    struct err e = { 0 };
    struct spec s;

    (void)state;
    assert_int_equal(parse("project: p\ncommand: x\nslurm: [{partition: a, account: l},"
                           " {partition: b}, {partition: a, qos: q}]\n",
                           a, &s, &e),
                     0);
    o.partitions = "c,a";
    assert_int_equal(spec_override(&s, &o, a, &e), 0);
    assert_int_equal(s.pools.n, 3);
    assert_string_equal(pool_of(&s, 0)->partition, "c");
    assert_null(pool_of(&s, 0)->account);
    assert_string_equal(pool_of(&s, 1)->account, "l");
    assert_string_equal(pool_of(&s, 2)->qos, "q");
    o.partitions = "a,-b";
    assert_int_equal(spec_override(&s, &o, a, &e), -1);
    assert_string_equal(e.text, "--partition: '-b' is no name of a partition");
    arena_destroy(a);
}

static void places_of_the_command_line_must_be_names(void **state)
{
    static const struct {
        const char *nodes, *partitions, *error;
    } cases[] = {
        { "", NULL, "--nodes: expected names of nodes and @groups, found nothing" },
        { ",", NULL, "--nodes: expected names of nodes and @groups, found nothing" },
        { "a b", NULL, "--nodes: 'a b' is no name of a node or @group" },
        { "a,-b", NULL, "--nodes: '-b' is no name of a node or @group" },
        { "@", NULL, "--nodes: '@' is no name of a node or @group" },
        { NULL, "", "--partition: expected names of Slurm partitions, found nothing" },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct spec_overrides o = none();
        struct err e = { 0 };
        struct spec s;

        assert_int_equal(parse("project: p\ncommand: x\n", a, &s, &e), 0);
        o.nodes = cases[i].nodes;
        o.partitions = cases[i].partitions;
        assert_int_equal(spec_override(&s, &o, a, &e), -1);
        assert_int_equal(e.kind, ERR_USAGE);
        assert_string_equal(e.text, cases[i].error);
    }
    arena_destroy(a);
}

static void errors_that_do_not_fit_are_counted(void **state)
{
    enum { UNKNOWN = 200 };
    struct arena *a = arena_create();
    struct buf text = { 0 };
    struct err e = { 0 };
    struct spec s;
    const char *last;
    int n_told = 0;

    (void)state;
    buf_add_str(&text, "project: p\ncommand: x\n");
    for (int i = 0; i < UNKNOWN; i++)
        buf_printf(&text, "qqqqqqq%d: 1\n", i);
    assert_int_equal(parse(buf_text(&text), a, &s, &e), -1);
    for (const char *at = strchr(e.text, '\n'); at != NULL; at = strchr(at + 1, '\n'))
        n_told++;
    last = strrchr(e.text, '\n');
    assert_non_null(last);
    assert_string_equal(last, arena_printf(a, "\nand %d more", UNKNOWN - n_told));
    assert_int_equal(last[-1], '\'');
    buf_free(&text);
    arena_destroy(a);
}

static void an_error_longer_than_fits_hides_not_that_there_are_more(void **state)
{
    struct arena *a = arena_create();
    struct buf text = { 0 };
    struct err e = { 0 };
    struct spec s;

    (void)state;
    buf_add_str(&text, "nodes: [");
    for (int i = 0; i < 3000; i++)
        buf_add_str(&text, "\xc3\xa4");
    buf_add_str(&text, "]\nproject: p\ncommand: x\nqqqqqqq: 1\n");
    assert_int_equal(parse(buf_text(&text), a, &s, &e), -1);
    assert_non_null(strstr(e.text, "\xa4...\nand 1 more"));
    buf_free(&text);
    arena_destroy(a);
}

static void a_name_of_the_command_line_is_checked_too(void **state)
{
    struct arena *a = arena_create();
    struct spec_overrides o = none();
    struct err e = { 0 };
    struct spec s;

    (void)state;
    assert_int_equal(parse("project: p\ncommand: x\n", a, &s, &e), 0);
    o.name = "a\033b";
    assert_int_equal(spec_override(&s, &o, a, &e), -1);
    assert_string_equal(e.text, "--name: a control character");
    arena_destroy(a);
}

static void the_command_line_goes_over_the_file(void **state)
{
    static const char *set[] = { "a=[7, 8, 9]", "b=x" };
    struct arena *a = arena_create();
    struct spec_overrides o = none();
    struct err e = { 0 };
    struct spec s;

    (void)state;
    assert_int_equal(parse("project: p\ncommand: x\nname: n\nnodes: q\nreps: 2\n"
                           "params: {a: [1, 2], b: y, c: [1, 2]}\n",
                           a, &s, &e),
                     0);
    o.set = (struct list){ set, 2 };
    o.reps = 5;
    o.priority = -3;
    o.name = "other";
    o.nodes = "h1,@g";
    assert_int_equal(spec_override(&s, &o, a, &e), 0);
    assert_int_equal(params_find(&s.plan.params, "a")->n, 3);
    assert_int_equal(params_find(&s.plan.params, "a")->values[2].i, 9);
    assert_int_equal(params_find(&s.plan.params, "b")->values[0].type, VALUE_STR);
    assert_int_equal(params_find(&s.plan.params, "c")->n, 2);
    assert_int_equal(s.reps, 5);
    assert_int_equal(s.priority, -3);
    assert_string_equal(s.name, "other");
    assert_int_equal(s.nodes.n, 2);
    assert_string_equal(((const char **)s.nodes.items)[1], "@g");
    arena_destroy(a);
}

static void minimal_is_one_job_with_the_values_of_debug(void **state)
{
    static const char *set[] = { "b=77" };
    struct arena *a = arena_create();
    struct spec_overrides o = none();
    struct err e = { 0 };
    struct spec s;

    (void)state;
    assert_int_equal(parse("project: p\ncommand: x\nreps: 9\ndebug: {a: 0, b: 0, l: [1, 2]}\n"
                           "params: {a: [1, 2], b: 5, c: [3, 4], l: 1}\n",
                           a, &s, &e),
                     0);
    o.minimal = true;
    o.set = (struct list){ set, 1 };
    assert_int_equal(spec_override(&s, &o, a, &e), 0);
    assert_int_equal(s.reps, 1);
    for (size_t i = 0; i < s.plan.params.n; i++)
        assert_int_equal(((struct param *)s.plan.params.items)[i].n, 1);
    assert_int_equal(params_find(&s.plan.params, "a")->values[0].i, 0);
    assert_int_equal(params_find(&s.plan.params, "b")->values[0].i, 77);
    assert_int_equal(params_find(&s.plan.params, "c")->values[0].i, 3);
    assert_int_equal(params_find(&s.plan.params, "l")->values[0].type, VALUE_LIST);
    arena_destroy(a);
}

static void mistakes_of_set_are_named(void **state)
{
    static const struct {
        const char *set;
        const char *error;
    } cases[] = {
        { "lr", "--set takes NAME=VALUE, not 'lr'" },
        { "rl=1", "--set rl: unknown parameter 'rl' (did you mean 'lr'?)" },
        { "loss=1", "--set loss: unknown parameter 'loss' (there is only lr)" },
        { "samples=5", "--set changes parameters of the file (lr); samples: is a key: change it in "
                       "the file" },
        { "reps=5", "--set changes parameters of the file (lr); reps: is a key: change it in the "
                    "file, or with --reps" },
        { "lr=[]", "--set lr: an empty list leaves nothing to run" },
        { "lr=[1", "--set lr: expected ',' or ']', in '[1'" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        struct spec_overrides o = none();
        struct err e = { 0 };
        struct spec s;

        assert_int_equal(parse("project: p\ncommand: x\nparams: {lr: 1}\n", a, &s, &e), 0);
        o.set = (struct list){ (void *)&cases[i].set, 1 };
        assert_int_equal(spec_override(&s, &o, a, &e), -1);
        assert_int_equal(e.kind, ERR_USAGE);
        assert_string_equal(e.text, cases[i].error);
        arena_destroy(a);
    }
}

static void a_parameter_may_have_the_name_of_a_key(void **state)
{
    static const char *set = "samples=5";
    struct arena *a = arena_create();
    struct spec_overrides o = none();
    struct spec s;

    (void)state;
    assert_int_equal(parse("project: p\ncommand: x\nparams: {samples: 1}\n", a, &s, NULL), 0);
    o.set = (struct list){ &set, 1 };
    assert_int_equal(spec_override(&s, &o, a, NULL), 0);
    assert_int_equal(params_find(&s.plan.params, "samples")->values[0].i, 5);
    arena_destroy(a);
}

static void slurm_alone_may_run_it(void **state)
{
    struct arena *a = arena_create();
    struct spec_overrides o = none();
    struct err e = { 0 };
    struct spec s;

    (void)state;
    assert_int_equal(parse("project: p\ncommand: x\nslurm: {partition: q}\nnodes: []\n", a, &s, &e),
                     0);
    assert_int_equal(spec_override(&s, &o, a, &e), 0);
    assert_true(s.has_nodes);
    assert_int_equal(s.nodes.n, 0);
    arena_destroy(a);
}

static void one_mistake_among_parameters_hides_no_other(void **state)
{
    static const struct {
        const char *more, *errors;
    } cases[] = {
        { "zip: [[a], [a, b]]\nexclude: 5\nwhen: {a: {q: 1}}\ninclude: [{z: 1}]\n",
          "f:4:7: zip: a group has at least two parameters\n"
          "f:4:12: zip: a has 2 values, but b has 3\n"
          "f:5:10: exclude: expected a list such as [{lr: 0.1}], found '5'\n"
          "f:6:8: when: a stands in a zip group, and so cannot have a condition\n"
          "f:6:12: when: a: unknown parameter 'q'\n"
          "f:7:12: include: unknown parameter 'z'" },
        { "exclude: [{a: []}]\nwhen: {b: {b: 1}}\nmethod: 7\nsamples: 3\n",
          "f:4:15: exclude: a: an empty list matches nothing\n"
          "f:5:8: when: b depends on itself\n"
          "f:6:9: method: expected grid, random or sobol, found '7'" },
        { "debug: {b: 1}\nwhen: {b: 5, c: {y: 1}}\nsamples: x\nmethod: random\n",
          "f:5:11: when: b: expected values of parameters such as {lr: 0.1}, found a whole number\n"
          "f:5:14: when: unknown parameter 'c'\n"
          "f:5:18: when: c: unknown parameter 'y'\n"
          "f:6:10: samples: expected a whole number, found 'x'" },
        { "zip: [[a, b]]\ninclude: [{a: [1]}, {a: 7, n: 1}]\n",
          "f:4:7: zip: a has 2 values, but b has 3\n"
          "f:5:15: include: a: one value is expected here (one that is a list: {value: [...]})\n"
          "f:5:28: include: unknown parameter 'n'" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        struct err e = { 0 };
        struct spec s;

        assert_int_equal(parse(arena_printf(a,
                                            "project: p\ncommand: x\n"
                                            "params: {a: [1, 2], b: [1, 2, 3]}\n%s",
                                            cases[i].more),
                               a, &s, &e),
                         -1);
        assert_string_equal(e.text, cases[i].errors);
        arena_destroy(a);
    }
}

static void what_was_refused_in_params_keeps_its_name(void **state)
{
    struct arena *a = arena_create();
    struct err e = { 0 };
    struct spec s;

    (void)state;
    assert_int_equal(parse("project: p\ncommand: x {a}\nparams: {a: [], b: [1, 2]}\n"
                           "zip: [[a, b]]\nexclude: [{a: 1, c: 1}]\ninclude: [{a: 1}]\n",
                           a, &s, &e),
                     -1);
    assert_string_equal(e.text, "f:3:13: a: an empty list leaves nothing to run\n"
                                "f:5:18: exclude: unknown parameter 'c'");
    arena_destroy(a);
}

/* A file in a folder of its own, read; the error's text has the folder cut out. */
static char *read_in_folder(const char *text)
{
    char dir[] = "/tmp/ludwig-spec-XXXXXX";
    struct arena *a = arena_create();
    struct err e = { 0 };
    struct spec s;
    char *path, *found = NULL;

    assert_non_null(mkdtemp(dir));
    path = path_join(dir, "s.yaml");
    assert_int_equal(io_replace_file(path, text, strlen(text), 0600, &e), 0);
    if (spec_read(path, a, &s, &e) < 0)
        found = mem_strdup(e.text + strlen(dir) + 1);
    assert_int_equal(io_remove_tree(dir, NULL), 0);
    free(path);
    arena_destroy(a);
    return found;
}

static void errors_show_the_line_and_mark_the_column(void **state)
{
    char *text = read_in_folder("project: p\ncommand: x {lr}\n");

    (void)state;
    assert_non_null(text);
    assert_string_equal(text, "s.yaml:2:12: command: unknown parameter 'lr'\n"
                              "    2 | command: x {lr}\n"
                              "      |            ^");
    free(text);
}

static void source_and_data_must_exist(void **state)
{
    char *text = read_in_folder("project: p\ncommand: x\nsource: nope.py\n");

    (void)state;
    assert_non_null(text);
    assert_non_null(strstr(text, "s.yaml:3:9: source: there is no file or folder /tmp/"));
    free(text);
    text = read_in_folder("project: p\ncommand: x\ndata: [s.yaml, nope]\n");
    assert_non_null(text);
    assert_non_null(strstr(text, "s.yaml:3:16: data: there is no file or folder /tmp/"));
    free(text);
    assert_null(read_in_folder("project: p\ncommand: x\ndata: s.yaml\n"));
}

static void a_file_that_is_not_there_is_wrong_usage(void **state)
{
    struct arena *a = arena_create();
    struct err e = { 0 };
    struct spec s;

    (void)state;
    assert_int_equal(spec_read("/nonexistent/s.yaml", a, &s, &e), -1);
    assert_int_equal(e.kind, ERR_USAGE);
    assert_int_equal(spec_read("/tmp", a, &s, &e), -1);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_reaches_its_place),
        cmocka_unit_test(variables_without_a_value_are_passed_from_the_shell),
        cmocka_unit_test(what_makes_configurations_is_read_with_its_places),
        cmocka_unit_test(slurm_is_one_pool_or_a_list_of_them),
        cmocka_unit_test(retry_has_a_limit_and_a_list_of_ends),
        cmocka_unit_test(a_checkpoint_has_a_signal_by_its_one_name),
        cmocka_unit_test(a_container_here_goes_along_with_the_data),
        cmocka_unit_test(data_of_a_map_are_linked_at_its_keys),
        cmocka_unit_test(setup_is_a_text_or_a_list_of_lines),
        cmocka_unit_test(a_short_file_gets_the_defaults),
        cmocka_unit_test(a_goal_is_said_or_guessed),
        cmocka_unit_test(values_keep_their_types),
        cmocka_unit_test(every_mistake_says_where_and_what),
        cmocka_unit_test(all_mistakes_of_a_file_are_found_at_once),
        cmocka_unit_test(what_is_wrong_among_parameters_is_told_with_the_rest),
        cmocka_unit_test(a_value_of_the_command_line_must_fit_into_the_command),
        cmocka_unit_test(the_command_line_can_put_right_what_the_file_says),
        cmocka_unit_test(partitions_of_the_command_line_go_over_the_file),
        cmocka_unit_test(places_of_the_command_line_must_be_names),
        cmocka_unit_test(errors_that_do_not_fit_are_counted),
        cmocka_unit_test(an_error_longer_than_fits_hides_not_that_there_are_more),
        cmocka_unit_test(a_name_of_the_command_line_is_checked_too),
        cmocka_unit_test(the_command_line_goes_over_the_file),
        cmocka_unit_test(minimal_is_one_job_with_the_values_of_debug),
        cmocka_unit_test(mistakes_of_set_are_named),
        cmocka_unit_test(a_parameter_may_have_the_name_of_a_key),
        cmocka_unit_test(slurm_alone_may_run_it),
        cmocka_unit_test(one_mistake_among_parameters_hides_no_other),
        cmocka_unit_test(what_was_refused_in_params_keeps_its_name),
        cmocka_unit_test(errors_show_the_line_and_mark_the_column),
        cmocka_unit_test(source_and_data_must_exist),
        cmocka_unit_test(a_file_that_is_not_there_is_wrong_usage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
