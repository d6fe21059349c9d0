/* SPDX-License-Identifier: MIT */
/* child_question.c - tests of questions that a child answers */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/proto/message.h"
#include "worker/agent/child_question.h"
#include "worker/base/child_protocol.h"

struct answer {
    int n;
    bool is_given;
    bool is_here;
};

static void on_answer(void *context, const void *body, const char *why)
{
    const struct note_share *note = body;
    struct answer *a = context;

    assert_non_null(why);
    *a = (struct answer){ a->n + 1, note != NULL, note != NULL && note->is_here };
}

/* The program that is started as the child is this test: see main.  before: how the child of an
 * earlier question, which is still open, answers; NULL: there is none. */
static struct answer ask_after(const char *before, const char *how, uint64_t limit_ms)
{
    struct child earlier = { .args = { CHILD_SHARE, before } };
    struct child child = { .args = { CHILD_SHARE, how } };
    struct child_question q;
    struct answer a = { 0 };
    pid_t earlier_pid = 0;
    uv_loop_t loop;
    int status;

    uv_loop_init(&loop);
    child_question_init(&q, &loop, NOTE_SHARE, limit_ms, on_answer, &a);
    if (before != NULL) {
        child_question_ask(&q, &earlier);
        earlier_pid = q.pid;
    }
    child_question_ask(&q, &child);
    while (a.n == 0)
        uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(waitpid(q.pid, NULL, 0), q.pid);
    assert_true(child_question_reaped(&q, q.pid));
    assert_false(child_question_reaped(&q, getpid()));
    child_question_close(&q);
    child_question_close(&q);
    uv_close((uv_handle_t *)&q.timer, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(a.n, 1);
    if (before != NULL) {
        assert_int_equal(waitpid(earlier_pid, &status, 0), earlier_pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    return a;
}

static struct answer ask(const char *how, uint64_t limit_ms)
{
    return ask_after(NULL, how, limit_ms);
}

static void an_answer_is_handed_on(void **state)
{
    struct answer a = ask("here", 60 * 1000);

    (void)state;
    assert_true(a.is_given);
    assert_true(a.is_here);
}

static void a_child_that_ends_without_an_answer_gives_none(void **state)
{
    (void)state;
    assert_false(ask("end", 60 * 1000).is_given);
}

static void another_message_is_no_answer(void **state)
{
    (void)state;
    assert_false(ask("other", 60 * 1000).is_given);
}

static void a_child_that_hangs_is_killed(void **state)
{
    (void)state;
    assert_false(ask("hang", 50).is_given);
}

static void a_new_question_ends_the_child_of_an_open_one(void **state)
{
    (void)state;
    alarm(60); /* the earlier child would pause for ever */
    assert_true(ask_after("hang", "here", 60 * 1000).is_given);
    alarm(0);
}

static int child_main(const char *how)
{
    struct note_share here = { .is_here = true };
    struct token_entry other = { .token = { { 1 } } };
    struct wire wire;

    wire_init(&wire, CHILD_CHANNEL_FD, &orders);
    if (strcmp(how, "here") == 0)
        wire_send(&wire, NOTE_SHARE, 0, NULL, &here, NULL);
    else if (strcmp(how, "other") == 0)
        wire_send(&wire, NOTE_WITHDRAWN, 0, NULL, &other, NULL);
    else if (strcmp(how, "hang") == 0)
        pause();
    wire_close(&wire);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_handed_on),
        cmocka_unit_test(a_child_that_ends_without_an_answer_gives_none),
        cmocka_unit_test(another_message_is_no_answer),
        cmocka_unit_test(a_child_that_hangs_is_killed),
        cmocka_unit_test(a_new_question_ends_the_child_of_an_open_one),
    };

    if (argc == 3 && strcmp(argv[1], CHILD_SHARE) == 0)
        return child_main(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
