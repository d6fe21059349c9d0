/* SPDX-License-Identifier: MIT */
/* user_names.c - names are asked for aside: who hangs there holds up nobody else */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "server/conn/user_names.h"

enum { HANGS = 1000, NAMELESS = 2000, WAIT_MS = 60 * 1000 }; /* uids from HANGS to NAMELESS hang */

/* A name service: threads come here. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t goes_on;
    bool hangs;
    int n_inside, n_most, n_asked;
} service = { .lock = PTHREAD_MUTEX_INITIALIZER, .goes_on = PTHREAD_COND_INITIALIZER };

static char *find(uid_t uid)
{
    bool may_hang = uid >= HANGS && uid < NAMELESS;

    pthread_mutex_lock(&service.lock);
    service.n_asked++;
    service.n_inside++;
    if (service.n_inside > service.n_most)
        service.n_most = service.n_inside;
    while (may_hang && service.hangs)
        pthread_cond_wait(&service.goes_on, &service.lock);
    service.n_inside--;
    pthread_cond_broadcast(&service.goes_on);
    pthread_mutex_unlock(&service.lock);
    return mem_printf(uid < NAMELESS ? "user%u" : "#%u", uid);
}

static int asked(void)
{
    int n;

    pthread_mutex_lock(&service.lock);
    n = service.n_asked;
    pthread_mutex_unlock(&service.lock);
    return n;
}

static int inside(void)
{
    int n;

    pthread_mutex_lock(&service.lock);
    n = service.n_inside;
    pthread_mutex_unlock(&service.lock);
    return n;
}

static void hang(bool hangs)
{
    pthread_mutex_lock(&service.lock);
    service.hangs = hangs;
    pthread_cond_broadcast(&service.goes_on);
    pthread_mutex_unlock(&service.lock);
}

struct site {
    struct server sv; /* first: answered gets it */
    int n_answers;
    char *last;
};

static void on_answer(struct server *sv, uid_t uid, const char *name)
{
    struct site *s = (struct site *)sv;

    (void)uid;
    s->n_answers++;
    free(s->last);
    s->last = mem_strdup(name);
}

static struct site *site_open(uint64_t fresh_ms, uint64_t kept_ms)
{
    const struct user_names_how how = { find, fresh_ms, kept_ms };
    struct site *s = mem_alloc(sizeof *s);

    service.n_asked = service.n_most = 0;
    uv_loop_init(&s->sv.loop);
    s->sv.names = user_names_create(&s->sv, &how, on_answer);
    return s;
}

static void end(struct site *s)
{
    user_names_destroy(s->sv.names);
    uv_run(&s->sv.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&s->sv.loop), 0);
    free(s->last);
    free(s);
}

static void wait_for_answers(struct site *s, int n)
{
    int64_t until_ms = units_monotonic_ms() + WAIT_MS;

    while (s->n_answers < n) {
        assert_true(units_monotonic_ms() < until_ms);
        uv_run(&s->sv.loop, UV_RUN_NOWAIT);
    }
    uv_run(&s->sv.loop, UV_RUN_NOWAIT);
}

static void rest(struct site *s, int ms)
{
    int64_t until_ms = units_monotonic_ms() + ms;

    while (units_monotonic_ms() < until_ms)
        uv_run(&s->sv.loop, UV_RUN_NOWAIT);
    uv_update_time(&s->sv.loop);
}

static void a_name_is_asked_for_once_and_then_known(void **state)
{
    struct site *s = site_open(60 * 1000, 0);

    (void)state;
    assert_null(user_names_get(s->sv.names, 7));
    assert_null(user_names_get(s->sv.names, 7));
    wait_for_answers(s, 1);
    assert_string_equal(s->last, "user7");
    assert_string_equal(user_names_get(s->sv.names, 7), "user7");
    rest(s, 20);
    assert_int_equal(s->n_answers, 1);
    assert_int_equal(asked(), 1);
    end(s);
}

static void who_hangs_holds_up_nobody_else(void **state)
{
    struct site *s = site_open(60 * 1000, 0);

    (void)state;
    hang(true);
    assert_null(user_names_get(s->sv.names, HANGS));
    assert_null(user_names_get(s->sv.names, 7));
    wait_for_answers(s, 1);
    assert_string_equal(s->last, "user7");
    assert_null(user_names_get(s->sv.names, HANGS));
    hang(false);
    wait_for_answers(s, 2);
    assert_string_equal(user_names_get(s->sv.names, HANGS), "user1000");
    assert_int_equal(asked(), 2);
    end(s);
}

static void it_can_end_while_somebody_hangs(void **state)
{
    struct site *s = site_open(60 * 1000, 0);
    int64_t until_ms = units_monotonic_ms() + WAIT_MS;

    (void)state;
    hang(true);
    assert_null(user_names_get(s->sv.names, HANGS));
    while (inside() == 0)
        assert_true(units_monotonic_ms() < until_ms);
    end(s);
    hang(false);
    while (inside() > 0)
        assert_true(units_monotonic_ms() < until_ms);
}

static void only_so_many_are_asked_for_at_once(void **state)
{
    enum { N = 3 * USER_NAMES_AT_ONCE };
    struct site *s = site_open(60 * 1000, 0);

    (void)state;
    hang(true);
    for (uid_t i = 0; i < N; i++)
        assert_null(user_names_get(s->sv.names, HANGS + i));
    while (inside() < USER_NAMES_AT_ONCE)
        rest(s, 1);
    rest(s, 50);
    assert_int_equal(inside(), USER_NAMES_AT_ONCE);
    hang(false);
    wait_for_answers(s, N);
    assert_int_equal(service.n_most, USER_NAMES_AT_ONCE);
    for (uid_t i = 0; i < N; i++)
        assert_non_null(user_names_get(s->sv.names, HANGS + i));
    end(s);
}

static void that_there_is_no_name_is_not_kept(void **state)
{
    struct site *s = site_open(60 * 1000, 60 * 1000);

    (void)state;
    assert_null(user_names_get(s->sv.names, NAMELESS));
    wait_for_answers(s, 1);
    assert_string_equal(s->last, "#2000");
    assert_null(user_names_get(s->sv.names, NAMELESS));
    wait_for_answers(s, 2);
    end(s);
}

static void an_old_one_serves_while_it_is_asked_for_anew(void **state)
{
    struct site *s = site_open(20, 60 * 1000);

    (void)state;
    assert_null(user_names_get(s->sv.names, HANGS));
    wait_for_answers(s, 1);
    rest(s, 40);
    hang(true);
    assert_string_equal(user_names_get(s->sv.names, HANGS), "user1000");
    while (asked() < 2)
        rest(s, 1);
    assert_string_equal(user_names_get(s->sv.names, HANGS), "user1000");
    assert_int_equal(asked(), 2);
    hang(false);
    wait_for_answers(s, 2);
    end(s);
}

static void one_that_is_too_old_does_not(void **state)
{
    struct site *s = site_open(10, 10);

    (void)state;
    assert_null(user_names_get(s->sv.names, 7));
    wait_for_answers(s, 1);
    rest(s, 40);
    assert_null(user_names_get(s->sv.names, 7));
    wait_for_answers(s, 2);
    end(s);
}

static void those_of_long_ago_make_room(void **state)
{
    struct site *s = site_open(60 * 1000, 0);

    (void)state;
    for (uid_t i = 0; i < 64; i++)
        assert_null(user_names_get(s->sv.names, i));
    wait_for_answers(s, 64);
    rest(s, 5);
    for (uid_t i = 0; i < NAMES_MAX; i++)
        assert_null(user_names_get(s->sv.names, 10000 + i));
    wait_for_answers(s, 64 + NAMES_MAX);
    assert_null(user_names_get(s->sv.names, 0));
    wait_for_answers(s, 65 + NAMES_MAX);
    end(s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_asked_for_once_and_then_known),
        cmocka_unit_test(who_hangs_holds_up_nobody_else),
        cmocka_unit_test(it_can_end_while_somebody_hangs),
        cmocka_unit_test(only_so_many_are_asked_for_at_once),
        cmocka_unit_test(that_there_is_no_name_is_not_kept),
        cmocka_unit_test(an_old_one_serves_while_it_is_asked_for_anew),
        cmocka_unit_test(one_that_is_too_old_does_not),
        cmocka_unit_test(those_of_long_ago_make_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
