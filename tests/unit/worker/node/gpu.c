/* SPDX-License-Identifier: MIT */
/* gpu.c - tests of worker/node/gpu.c */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "worker/node/gpu.h"

/* "0=free 1=busy": how a list looks */
static char *show(const struct gpu_list *l)
{
    struct buf out = { 0 };

    for (size_t i = 0; i < l->n; i++) {
        const struct gpu_info *g = &l->gpus[i];

        buf_printf(&out, *g->model == '\0' ? "%s%s=%s%s:%s" : "%s%s=%s(%s):%s", i > 0 ? " " : "",
                   g->id, g->uuid, g->model, g->is_busy ? "busy" : "free");
        if (g->percent >= 0)
            buf_printf(&out, ",%lld%%", (long long)g->percent);
        if (g->used_bytes >= 0 && g->memory_bytes >= 0)
            buf_printf(&out, ",%lld/%lldM", (long long)g->used_bytes >> 20,
                       (long long)g->memory_bytes >> 20);
    }
    buf_add(&out, "", 0);
    return buf_take(&out);
}

static void assert_shows(const struct gpu_list *l, const char *expected)
{
    char *shown = show(l);

    assert_string_equal(shown == NULL ? "" : shown, expected);
    free(shown);
}

static void the_answer_of_the_child_is_read(void **state)
{
    static const struct {
        const char *text;
        const char *shown; /* NULL: refused */
    } cases[] = {
        { "", "" },
        { "gpu 0 GPU-a\n", "0=GPU-a:free" },
        { "gpu 0 GPU-a\nbusy 0 4711\nbusy 0 4712\ngpu 1 GPU-b\n", "0=GPU-a:busy 1=GPU-b:free" },
        { "gpu 0 GPU-a NVIDIA A40\n", "0=GPU-a(NVIDIA A40):free" },
        { "gpu 0 GPU-a \n", "0=GPU-a:free" },
        { "gpu 0 GPU-a\nuse 0 87 1024 46068\n", "0=GPU-a:free,87%,1024/46068M" },
        { "gpu 0 GPU-a\nbusy 0 1\nuse 0 -1 1024 46068\n", "0=GPU-a:busy,1024/46068M" },
        { "gpu 0 GPU-a\nuse 0 0 -1 -1\n", "0=GPU-a:free,0%" },
        { "gpu 0 GPU-a\ntrouble 0 GPU is lost\ngpu 1 GPU-b\n", "0=GPU-a:free 1=GPU-b:free" },
        { "gpu 0 GPU-a\ntrouble 1 GPU is lost\n", NULL },
        { "gpu 0 GPU-a\ntrouble 0\n", NULL },
        { "gpu 0 GPU-a\ntroubled 0 x\n", NULL },
        { "gpu 0 GPU-a\nuse 1 87 1024 46068\n", NULL },
        { "gpu 0 GPU-a\nuse 0 87 1024\n", NULL },
        { "gpu 0 GPU-a\nuse 0 187 1024 46068\n", NULL },
        { "gpu 0 GPU-a\nuse 0 87 9223372036854775807 1\n", NULL },
        { "gpu 0 GPU-a\nuse 0 87 1024 46068 x\n", NULL },
        { "gpu 1 GPU-a\n", NULL },
        { "gpu 0\n", NULL },
        { "gpu 0  A40\n", NULL },
        { "gpu x GPU-a\n", NULL },
        { "busy 0 1\n", NULL },
        { "gpu 0 GPU-a\nbusy 1 1\n", NULL },
        { "gpu 0 GPU-a\nbusy -1 1\n", NULL },
        { "No devices were found\n", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gpu_list l;
        struct err e = { 0 };
        int rc = gpu_parse(cases[i].text, &l, &e);

        assert_int_equal(rc, cases[i].shown == NULL ? -1 : 0);
        assert_int_equal(e.kind, cases[i].shown == NULL ? ERR_PROTOCOL : ERR_NONE);
        assert_shows(&l, cases[i].shown == NULL ? "" : cases[i].shown);
        gpu_list_free(&l);
    }
}

static void what_processes_have_is_read(void **state)
{
    struct gpu_list l;

    (void)state;
    assert_int_equal(
        gpu_parse("gpu 0 GPU-a\nbusy 0 1 5\nbusy 0 2 -1\nbusy 0 3\ngpu 1 GPU-b\nbusy 1 1 7\n", &l,
                  NULL),
        0);
    assert_int_equal(l.n_processes, 2);
    assert_int_equal(l.processes[0].pid, 1);
    assert_int_equal(l.processes[0].used_bytes, 5 << 20);
    assert_int_equal(l.processes[1].gpu, 1);
    assert_int_equal(l.processes[1].used_bytes, 7 << 20);
    gpu_list_free(&l);
}

static void what_nvidia_smi_says_becomes_the_same_lines(void **state)
{
    static const struct {
        const char *gpus, *apps, *lines;
    } cases[] = {
        { "", "", "" },
        { "0, GPU-a\n1, GPU-b\n", "", "gpu 0 GPU-a\ngpu 1 GPU-b\n" },
        { "0, GPU-a\n1, GPU-b\n", "GPU-b, 4711\nGPU-b, 4712\n",
          "gpu 0 GPU-a\ngpu 1 GPU-b\nbusy 1 4711\nbusy 1 4712\n" },
        { "0, GPU-a\n", "GPU-a, 4711, 512\nGPU-a, 4712, [N/A]\n",
          "gpu 0 GPU-a\nbusy 0 4711 512\nbusy 0 4712 -1\n" },
        { "0, GPU-a\n", "GPU-other, 1\nnonsense\n", "gpu 0 GPU-a\n" },
        { "0, GPU-a, NVIDIA RTX 6000 Ada\n", "GPU-a, 7\n",
          "gpu 0 GPU-a NVIDIA RTX 6000 Ada\nbusy 0 7\n" },
        { "0, GPU-a, NVIDIA A40, 87, 1024, 46068\n1, GPU-b, NVIDIA A40, [N/A], [N/A], 46068\n",
          "GPU-b, 7\n",
          "gpu 0 GPU-a NVIDIA A40\nuse 0 87 1024 46068\n"
          "gpu 1 GPU-b NVIDIA A40\nbusy 1 7\nuse 1 -1 -1 46068\n" },
        { "0, GPU-a, NVIDIA A40, 87, 1024\n", "", "gpu 0 GPU-a NVIDIA A40\n" },
        { "No devices were found\n", "", "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = { 0 };

        gpu_lines_of_smi(cases[i].gpus, cases[i].apps, &out);
        assert_string_equal(buf_text(&out), cases[i].lines);
        buf_free(&out);
    }
}

/* Why nothing may begin on the first GPU; "": something may. */
static void assert_reason(const char *lines, const char *expected)
{
    struct gpu_list l;
    struct err e = { 0 };
    struct buf why = { 0 };

    assert_int_equal(gpu_parse(lines, &l, &e), 0);
    assert_int_equal(gpu_add_reason(&l, 0, &why), *expected != '\0');
    assert_string_equal(buf_text(&why), expected);
    buf_free(&why);
    gpu_list_free(&l);
}

static void why_a_gpu_is_not_used_is_said(void **state)
{
    (void)state;
    assert_reason("gpu 0 GPU-a\nuse 0 0 3 46068\n", "");
    assert_reason("gpu 0 GPU-a\ngpu 1 GPU-b\nbusy 1 4711 512\n", "");
    assert_reason("gpu 0 GPU-a\nbusy 0 4711 512\n",
                  "another program computes on it (process 4711)");
    assert_reason("gpu 0 GPU-a\nbusy 0 0\n", "another program computes on it");
    assert_reason("gpu 0 GPU-a\nbusy 0 4711 512\ntrouble 0 GPU is lost\n", "GPU is lost");
    /* What a driver or a desktop keeps for itself. */
    assert_reason("gpu 0 GPU-a\nuse 0 0 2048 11264\n", "");
    assert_reason("gpu 0 GPU-a\nuse 0 0 8000 81559\n", "");
    assert_reason("gpu 0 GPU-a\nuse 0 0 10240 81559\n",
                  "10 GiB of its memory are taken, and its driver names no process that has them");
    assert_reason("gpu 0 GPU-a\nuse 0 0 -1 -1\n", "");
}

static void only_visible_gpus_are_kept_under_the_names_they_were_given(void **state)
{
    static const struct {
        const char *visible, *shown;
    } cases[] = {
        { "0,1,2", "0=GPU-aa:free 1=GPU-ab:busy 2=GPU-c:free" },
        { "2,0", "2=GPU-c:free 0=GPU-aa:free" },
        { "GPU-c", "GPU-c=GPU-c:free" },
        { "GPU-ab,2", "GPU-ab=GPU-ab:busy 2=GPU-c:free" },
        { "1,7,0", "1=GPU-ab:busy" },
        { "-1", "" },
        { "", "" },
        { "NoDevFiles", "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gpu_list l;

        gpu_parse("gpu 0 GPU-aa\ngpu 1 GPU-ab\nbusy 1 1\ngpu 2 GPU-c\n", &l, NULL);
        gpu_list_restrict(&l, cases[i].visible);
        assert_shows(&l, cases[i].shown);
        gpu_list_free(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_of_the_child_is_read),
        cmocka_unit_test(what_processes_have_is_read),
        cmocka_unit_test(what_nvidia_smi_says_becomes_the_same_lines),
        cmocka_unit_test(why_a_gpu_is_not_used_is_said),
        cmocka_unit_test(only_visible_gpus_are_kept_under_the_names_they_were_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
