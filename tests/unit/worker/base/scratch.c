/* SPDX-License-Identifier: MIT */
/* scratch.c - tests of folders of earlier attempts, used again */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/worker_run.h"
#include "worker/base/scratch.h"

static void publish_and_give(struct run *r, const char *hex, size_t *count)
{
    assert_int_equal(renameat(r->site.scratch.ended_fd, hex, r->site.scratch.published_fd, hex), 0);
    site_write(r->site.scratch.published_fd, arena_printf(r->site.arena, "%s/report", hex), "r");
    assert_true(scratch_keep_spare(&r->site.scratch, hex, count));
}

static void a_spare_folder_shows_nothing_of_the_attempt_before(void **state)
{
    struct run r;
    struct order o;
    size_t count = 0;

    (void)state;
    open_run(&r);
    run_command(&r, "echo 1 >x; echo 1 >$TMPDIR/y; echo 1 >$LUDWIG_SAVE_PATH/z; echo 1 >../w; "
                    "ln ../param2val.json ../../../keep; ln -sf ../../../keep ../param2val.yaml; "
                    "mkdir ../data; chmod 000 ../param2val.msgpack; echo 1 >$LUDWIG_METRICS; "
                    "echo 1 >$LUDWIG_CHECKPOINT/c");
    publish_and_give(&r, r.job.hex, &count);
    assert_int_equal(count, 1);
    o = site_order(&r.site, 'b', "find .. | sort; cat ../param2val.json; cat ../param2val.yaml");
    buf_clear(&r.site.params);
    mp_add_map(&r.site.params, 1);
    mp_add_str(&r.site.params, "n", 1);
    mp_add_int(&r.site.params, 5);
    o.assignment.params = buf_bytes(&r.site.params);
    start_order(&r, &o);
    end(&r);
    assert_string_equal(
        site_read(&r.site, "scratch/log/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"),
        "..\n../checkpoint\n../order\n../outcome.new\n../param2val.json\n../param2val.msgpack\n"
        "../param2val.yaml\n../report\n../save\n../tmp\n../work\n"
        "{\n  \"n\": 5\n}\nn: 5\n");
    assert_non_null(strstr(site_read(&r.site, "scratch/keep"), "0.1"));
    assert_int_equal(site_count(arena_printf(r.site.arena, "%s/spare", r.site.scratch.path)), 0);
    close_run(&r);
}

static void a_spare_folders_empty_checkpoint_makes_way(void **state)
{
    struct run r;
    struct order o;
    struct err e = { 0 };
    size_t count = 0;

    (void)state;
    open_run(&r);
    run_command(&r, "/bin/true");
    publish_and_give(&r, r.job.hex, &count);
    assert_int_equal(site_count(arena_printf(r.site.arena, "%s/spare/%s/checkpoint",
                                             r.site.scratch.path, r.job.hex)),
                     0);
    o = site_order(&r.site, 'b', "cat $LUDWIG_CHECKPOINT/state");
    o.assignment.attempt = 2;
    assert_int_equal(io_make_dirs_at(r.site.scratch.fd,
                                     "checkpoints/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", 0750, &e),
                     0);
    site_write(r.site.scratch.fd, "checkpoints/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb/state", "s");
    start_order(&r, &o);
    end(&r);
    assert_string_equal(site_read(&r.site, "scratch/log/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"), "s");
    close_run(&r);
}

static void spare_folders_are_used_again_and_cleared(void **state)
{
    struct run r;
    struct stat first, second;
    size_t count = 0;

    (void)state;
    open_run(&r);
    run_command(&r, "/bin/true");
    assert_int_equal(fstatat(r.site.scratch.ended_fd, r.job.hex, &first, 0), 0);
    publish_and_give(&r, r.job.hex, &count);
    run_command(&r, "/bin/true");
    assert_int_equal(fstatat(r.site.scratch.ended_fd, r.job.hex, &second, 0), 0);
    assert_true(first.st_ino == second.st_ino);
    publish_and_give(&r, r.job.hex, &count);
    scratch_clear_spares(&r.site.scratch, &count);
    assert_int_equal(count, 0);
    assert_int_equal(site_count(r.site.scratch.path), 7);
    close_run(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spare_folders_empty_checkpoint_makes_way),
        cmocka_unit_test(a_spare_folder_shows_nothing_of_the_attempt_before),
        cmocka_unit_test(spare_folders_are_used_again_and_cleared),
    };

    if (run_begin() < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
