/* SPDX-License-Identifier: MIT */
/* thread_task.c - what may hang is done on a thread of its own, or not at all */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>

#include "server/base/thread_task.h"
#include "tests/unit/skip.h"

struct work {
    pthread_t thread; /* on which it was run */
    bool was_run, is_over, is_destroyed;
    struct err why;
};

static void run(void *context)
{
    struct work *w = context;

    w->thread = pthread_self();
    w->was_run = true;
}

static void after(void *context, const struct err *why)
{
    struct work *w = context;

    w->is_over = true;
    if (why != NULL)
        w->why = *why;
}

static void destroy(void *context)
{
    ((struct work *)context)->is_destroyed = true;
}

/* With room_bytes of memory for threads. */
static void do_work(struct work *w, rlim_t room_bytes)
{
    struct thread_job job = { run, after, destroy, w };
    struct rlimit before, limit;
    uv_loop_t loop;

    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit = (struct rlimit){ room_bytes, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    thread_task_begin(&loop, &job);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_false(w->is_over); /* it is told by the loop */
    while (!w->is_destroyed)
        uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_true(w->is_over);
}

static void without_a_thread_it_fails_and_the_loop_does_not_run_it(void **state)
{
    struct work w = { 0 };

    (void)state;
#ifdef SANITIZED
    skip_because("a sanitizer ends the process where there is no room");
#endif
    do_work(&w, 1);
    assert_false(w.was_run);
    assert_int_equal(w.why.kind, ERR_BUSY);
    assert_non_null(strstr(w.why.text, "no thread"));
}

static void it_is_run_on_another_thread(void **state)
{
    struct work w = { 0 };

    (void)state;
    do_work(&w, RLIM_INFINITY);
    assert_true(w.was_run);
    assert_false(pthread_equal(w.thread, pthread_self()));
    assert_int_equal(w.why.kind, ERR_NONE);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_thread_it_fails_and_the_loop_does_not_run_it),
        cmocka_unit_test(it_is_run_on_another_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
