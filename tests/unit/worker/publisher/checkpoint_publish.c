/* SPDX-License-Identifier: MIT */
/* checkpoint_publish.c - tests of checkpoints that attempts leave for the next ones */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/worker_publish.h"

#define KEPT    "share/demo/.ludwig/checkpoints/param_003"
#define KEPT_A1 KEPT "/20261121-101500_num0.a1"
#define KEPT_A2 KEPT "/20261121-101500_num0.a2"

static void leave_checkpoint(struct site *s, const char *hex, const char *text)
{
    int fd = s->scratch.ended_fd;

    assert_int_equal(mkdirat(fd, arena_printf(s->arena, "%s/checkpoint", hex), 0750), 0);
    assert_int_equal(mkdirat(fd, arena_printf(s->arena, "%s/checkpoint/deep", hex), 0750), 0);
    site_write(fd, arena_printf(s->arena, "%s/checkpoint/deep/state", hex), text);
}

/* The files, the folder they are in, and the index; nothing hidden beside them. */
static void must_be_kept(struct site *s, const char *kept, const char *text)
{
    assert_string_equal(site_read(s, arena_printf(s->arena, "%s/deep/state", kept)), text);
    assert_true(site_has(s, arena_printf(s->arena, "%s/.checkpoint", kept)));
    assert_int_equal(site_count(arena_printf(s->arena, "%s/" KEPT, s->top)), 4);
}

static void what_came_to_nothing_leaves_its_checkpoint(void **state)
{
    static const int events[] = { EV_FAIL, EV_CANCEL, EV_LOSE };
    static const char *const bases[] = { NULL, "/dev/shm" };
    struct site s;

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        site_open(&s, bases[i / 3]);
        end_attempt(&s, 'a', events[i % 3]);
        leave_checkpoint(&s, HEX_A, "step 3");
        assert_int_equal(must_publish(&s, 'a').report.event, events[i % 3]);
        must_be_kept(&s, KEPT_A1, "step 3");
        must_have_moved(&s, HEX_A);
        site_close(&s);
    }
}

static void an_empty_checkpoint_is_none(void **state)
{
    struct site s;

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_FAIL);
    assert_int_equal(mkdirat(s.scratch.ended_fd, HEX_A "/checkpoint", 0750), 0);
    (void)must_publish(&s, 'a');
    assert_false(site_has(&s, "share/demo/.ludwig"));
    site_close(&s);
}

static void the_newest_checkpoint_alone_stays(void **state)
{
    struct site s;

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_FAIL);
    leave_checkpoint(&s, HEX_A, "step 3");
    (void)must_publish(&s, 'a');
    end_attempt_number(&s, 'b', 2, EV_FAIL);
    leave_checkpoint(&s, HEX_B, "step 17");
    (void)must_publish(&s, 'b');
    must_be_kept(&s, KEPT_A2, "step 17");
    site_close(&s);
}

static void a_checkpoint_that_did_not_change_is_not_copied_again(void **state)
{
    struct site s;

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_FAIL);
    leave_checkpoint(&s, HEX_A, "step 3");
    (void)must_publish(&s, 'a');
    end_attempt_number(&s, 'b', 2, EV_FAIL);
    assert_int_equal(renameat(s.scratch.published_fd, HEX_A "/checkpoint", s.scratch.ended_fd,
                              HEX_B "/checkpoint"),
                     0);
    (void)must_publish(&s, 'b');
    must_be_kept(&s, KEPT_A1, "step 3");
    site_close(&s);
}

static void a_job_that_is_done_needs_no_checkpoint(void **state)
{
    struct site s;

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_FAIL);
    leave_checkpoint(&s, HEX_A, "step 3");
    (void)must_publish(&s, 'a');
    end_attempt_number(&s, 'b', 2, EV_DONE);
    leave_checkpoint(&s, HEX_B, "step 19");
    assert_int_equal(must_publish(&s, 'b').report.event, EV_DONE);
    assert_false(site_has(&s, KEPT));
    site_close(&s);
}

static void checkpoints_of_other_jobs_stay(void **state)
{
    struct site s;
    struct err e = { 0 };
    char *other;

    (void)state;
    site_open(&s, NULL);
    other = mem_printf("%s/" KEPT "/20261121-101500_num01.a1", s.top);
    assert_int_equal(io_make_dirs(other, 0755, &e), 0);
    end_attempt_number(&s, 'b', 2, EV_DONE);
    (void)must_publish(&s, 'b');
    assert_true(site_has(&s, KEPT "/20261121-101500_num01.a1"));
    free(other);
    site_close(&s);
}

/* Whatever its attempts do that nobody waits for any more. */
static void a_job_with_a_result_keeps_no_checkpoint(void **state)
{
    static const int events[] = { EV_DONE, EV_FAIL, EV_CANCEL, EV_LOSE };
    struct site s;

    (void)state;
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        site_open(&s, NULL);
        end_attempt(&s, 'a', EV_FAIL);
        leave_checkpoint(&s, HEX_A, "step 3");
        (void)must_publish(&s, 'a');
        end_attempt_number(&s, 'c', 3, EV_DONE);
        assert_int_equal(must_publish(&s, 'c').report.event, EV_DONE);
        end_attempt_number(&s, 'b', 2, events[i]);
        leave_checkpoint(&s, HEX_B, "step 15");
        assert_int_equal(must_publish(&s, 'b').report.event,
                         events[i] == EV_DONE ? EV_SUPERSEDE : events[i]);
        assert_false(site_has(&s, KEPT));
        site_close(&s);
    }
}

static void a_checkpoint_waits_for_the_share(void **state)
{
    static const int events[] = { EV_FAIL, EV_CANCEL, EV_LOSE };
    struct site s;

    (void)state;
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        site_open(&s, NULL);
        end_attempt(&s, 'a', events[i]);
        leave_checkpoint(&s, HEX_A, "step 3");
        assert_int_equal(renameat(s.top_fd, "share/demo", s.top_fd, "away"), 0);
        assert_int_equal(publish(&s, 'a').error.kind, ERR_NOT_FOUND);
        assert_int_equal(renameat(s.top_fd, "away", s.top_fd, "share/demo"), 0);
        assert_int_equal(must_publish(&s, 'a').report.event, events[i]);
        must_be_kept(&s, KEPT_A1, "step 3");
        site_close(&s);
    }
}

static void a_project_that_takes_no_checkpoints_holds_up_nobody(void **state)
{
    struct site s;

    (void)state;
    site_become_nobody();
    site_open(&s, NULL);
    site_add_foreign(s.top_fd, "share/demo/.ludwig", 0755, "x");
    end_attempt(&s, 'a', EV_FAIL);
    leave_checkpoint(&s, HEX_A, "step 3");
    assert_int_equal(must_publish(&s, 'a').report.event, EV_FAIL);
    assert_string_equal(site_read(&s, FAILED "/model"), HEX_A);
    site_become_root();
    site_close(&s);
}

/* ---- from each state a publisher may be killed in, with a checkpoint ---- */

#define TEMP_KEPT KEPT "/.20261121-101500_num0.a1." HEX_A

static void its_copy_was_begun(struct site *s)
{
    struct err e = { 0 };
    char *copy = mem_printf("%s/" TEMP_KEPT "/deep", s->top);

    assert_int_equal(io_make_dirs(copy, 0755, &e), 0);
    site_write(s->top_fd, TEMP_KEPT "/deep/state", "st");
    site_write(s->top_fd, TEMP_KEPT "/stale", "of another try");
    free(copy);
}

static void an_older_one_was_being_removed(struct site *s)
{
    struct err e = { 0 };
    char *old = mem_printf("%s/" KEPT "/.20261121-101500_num0.a1.4." HEX_A "/deep", s->top);

    assert_int_equal(io_make_dirs(old, 0755, &e), 0);
    free(old);
}

static void an_older_one_still_lies_there(struct site *s)
{
    struct err e = { 0 };
    char *old = mem_printf("%s/" KEPT_A1 ".4/deep", s->top);

    assert_int_equal(io_make_dirs(old, 0755, &e), 0);
    free(old);
}

static void a_torn_one_has_its_name(struct site *s)
{
    struct err e = { 0 };
    char *torn = mem_printf("%s/" KEPT_A1 "/deep", s->top);

    assert_int_equal(io_make_dirs(torn, 0755, &e), 0);
    free(torn);
}

static void a_checkpoint_is_gone_on_with(void **state)
{
    static void (*const befores[])(struct site *) = {
        nothing_yet,
        its_copy_was_begun,
        an_older_one_was_being_removed,
        an_older_one_still_lies_there,
        a_torn_one_has_its_name,
        it_was_published_but_not_moved,
        it_was_published_but_not_reported,
    };
    struct site s;

    (void)state;
    for (size_t i = 0; i < sizeof befores / sizeof befores[0]; i++) {
        site_open(&s, NULL);
        end_attempt(&s, 'a', EV_FAIL);
        leave_checkpoint(&s, HEX_A, "step 3");
        befores[i](&s);
        assert_int_equal(must_publish(&s, 'a').report.event, EV_FAIL);
        must_be_kept(&s, KEPT_A1, "step 3");
        must_have_moved(&s, HEX_A);
        site_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_came_to_nothing_leaves_its_checkpoint),
        cmocka_unit_test(an_empty_checkpoint_is_none),
        cmocka_unit_test(the_newest_checkpoint_alone_stays),
        cmocka_unit_test(a_checkpoint_that_did_not_change_is_not_copied_again),
        cmocka_unit_test(a_job_that_is_done_needs_no_checkpoint),
        cmocka_unit_test(checkpoints_of_other_jobs_stay),
        cmocka_unit_test(a_job_with_a_result_keeps_no_checkpoint),
        cmocka_unit_test(a_checkpoint_waits_for_the_share),
        cmocka_unit_test(a_project_that_takes_no_checkpoints_holds_up_nobody),
        cmocka_unit_test(a_checkpoint_is_gone_on_with),
    };

    umask(0); /* as the publisher has it */
    return SITE_EITHER_WAY(tests);
}
