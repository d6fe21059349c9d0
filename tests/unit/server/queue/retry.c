/* SPDX-License-Identifier: MIT */
/* retry.c - tests of which jobs are tried again, and of what is said about it */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "server/queue/retry.h"

enum { ON_MAX = 4, TRIED_MAX = 16 };

/* Attempts as letters, so that a job's life is a word. */
static const struct {
    char letter;
    struct tried tried;
} letters[] = {
    { 'f', { 0, ATTEMPT_FAILED, CAUSE_FAILED, 3, SCHEMA_NONE, "exit code 3", false } },
    { 's', { 0, ATTEMPT_FAILED, CAUSE_SIGNAL, SCHEMA_NONE, 9, NULL, false } },
    { 't', { 0, ATTEMPT_FAILED, CAUSE_TIMEOUT, SCHEMA_NONE, 15, "ran for 2 h", false } },
    { 'o', { 0, ATTEMPT_FAILED, CAUSE_OOM, SCHEMA_NONE, 9, "out of memory", false } },
    { 'l', { 0, ATTEMPT_LOST, CAUSE_NODE_LOST, SCHEMA_NONE, SCHEMA_NONE, "node-lost", false } },
    { 'p', { 0, ATTEMPT_LOST, CAUSE_PREEMPTED, SCHEMA_NONE, 9, NULL, false } },
    { 'k', { 0, ATTEMPT_LOST, CAUSE_WALLTIME, SCHEMA_NONE, 15, NULL, false } },
    { 'u', { 0, ATTEMPT_SUPERSEDED, CAUSE_NONE, SCHEMA_NONE, SCHEMA_NONE, NULL, false } },
    { 'r', { 0, ATTEMPT_RECALLED, CAUSE_NONE, SCHEMA_NONE, SCHEMA_NONE, NULL, false } },
    { 'c', { 0, ATTEMPT_CANCELLED, CAUSE_NONE, SCHEMA_NONE, 15, NULL, false } },
    { 'w', { 0, ATTEMPT_WITHDRAWN, CAUSE_NONE, 0, SCHEMA_NONE, NULL, false } },
    { 'e', { 0, ATTEMPT_FAILED, CAUSE_ENVIRONMENT, 1, SCHEMA_NONE, "no venv", true } },
    { 'n', { 0, ATTEMPT_FAILED, CAUSE_ENVIRONMENT, 1, SCHEMA_NONE, "no venv", false } },
};

static struct tried tried_of(char letter)
{
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++)
        if (letters[i].letter == letter)
            return letters[i].tried;
    fail_msg("no attempt is called '%c'", letter);
    return letters[0].tried;
}

struct policy {
    int64_t max;
    const char *on[ON_MAX];
};

static struct retry retry_of(const struct policy *p)
{
    struct retry r = { .max = p->max, .on = { (void *)(uintptr_t)p->on, 0 } };

    while (r.on.n < ON_MAX && p->on[r.on.n] != NULL)
        r.on.n++;
    return r;
}

/* tried must last as long as the verdict. */
static struct retry_verdict judge(const struct policy *p, bool has_time, const char *word,
                                  struct tried *tried)
{
    struct retry policy = retry_of(p);
    size_t n = strlen(word);

    assert_true(n <= TRIED_MAX);
    for (size_t i = 0; i < n; i++) {
        tried[i] = tried_of(word[i]);
        tried[i].attempt = (int64_t)i + 1;
    }
    return retry_judge(&policy, has_time, tried, n);
}

static const struct {
    const char *what;
    struct policy policy;
    const char *word;
    enum retry_answer answer;
    int64_t by; /* attempt; 0: none */
    const char *says;
} cases[] = {
    { "nothing happened", { 2, { "failed" } }, "", RETRY_NOTHING, 0, "" },
    { "it was only given back", { 2, { "failed" } }, "rrr", RETRY_NOTHING, 0, "" },
    { "a failure that is not named", { 2, { "oom" } }, "f", RETRY_UNLISTED, 1, "" },
    { "a failure without a policy", { 0, { NULL } }, "f", RETRY_UNLISTED, 1, "" },
    { "the first retry",
      { 2, { "failed" } },
      "f",
      RETRY_AGAIN,
      1,
      "failed before: exit code 3; tried again (1 of 2)" },
    { "the last retry",
      { 2, { "failed" } },
      "frf",
      RETRY_AGAIN,
      3,
      "failed before: exit code 3; tried again (2 of 2)" },
    { "its node lacks something, and another one may have it",
      { 0, { NULL } },
      "ee",
      RETRY_ELSEWHERE,
      2,
      "given to another node: no venv" },
    { "so often as there are nodes, at no cost",
      { 0, { NULL } },
      "eeeeeeen",
      RETRY_UNLISTED,
      8,
      "" },
    { "retries are left for what fails there",
      { 1, { "failed" } },
      "ef",
      RETRY_AGAIN,
      2,
      "failed before: exit code 3; tried again (1 of 1)" },
    { "a lack that is named costs retries",
      { 1, { "environment" } },
      "ee",
      RETRY_SPENT,
      2,
      "no venv, after 2 tries" },
    { "no retry is left",
      { 2, { "failed" } },
      "fff",
      RETRY_SPENT,
      3,
      "exit code 3, after 3 tries" },
    { "named, but never to be tried again", { 0, { "failed" } }, "f", RETRY_SPENT, 1, "" },
    { "an exit code by its number",
      { 1, { "3" } },
      "f",
      RETRY_AGAIN,
      1,
      "failed before: exit code 3; tried again (1 of 1)" },
    { "another exit code", { 1, { "4", "33" } }, "f", RETRY_UNLISTED, 1, "" },
    { "a signal as shells number it",
      { 1, { "137" } },
      "s",
      RETRY_AGAIN,
      1,
      "failed before: signal 9; tried again (1 of 1)" },
    { "a signal by its cause",
      { 1, { "signal" } },
      "s",
      RETRY_AGAIN,
      1,
      "failed before: signal 9; tried again (1 of 1)" },
    { "a timeout is no signal", { 1, { "signal" } }, "t", RETRY_UNLISTED, 1, "" },
    { "an exit code that is not named after one that is",
      { 2, { "oom" } },
      "of",
      RETRY_UNLISTED,
      2,
      "" },
    { "causes share one limit",
      { 2, { "oom", "timeout" } },
      "oto",
      RETRY_SPENT,
      3,
      "out of memory, after 3 tries" },
    { "a loss costs no retry",
      { 0, { NULL } },
      "l",
      RETRY_AGAIN,
      1,
      "lost before: node-lost; tried again (1 of 5)" },
    { "losses beside retries",
      { 1, { "failed" } },
      "lfl",
      RETRY_AGAIN,
      3,
      "lost before: node-lost; tried again (2 of 5)" },
    { "five losses",
      { 0, { NULL } },
      "lpupl",
      RETRY_AGAIN,
      5,
      "lost before: node-lost; tried again (5 of 5)" },
    { "six losses",
      { 0, { NULL } },
      "lpuplp",
      RETRY_LOST,
      6,
      "its attempts were lost too often: does it take its node along? The last time: preempted" },
    { "a place that was taken away",
      { 0, { NULL } },
      "p",
      RETRY_AGAIN,
      1,
      "lost before: preempted; tried again (1 of 5)" },
    { "a result was there already",
      { 0, { NULL } },
      "u",
      RETRY_AGAIN,
      1,
      "superseded before: another attempt had published; tried again (1 of 5)" },
    { "losses that are named count against max",
      { 1, { "node-lost" } },
      "ll",
      RETRY_SPENT,
      2,
      "node-lost, after 2 tries" },
    { "more retries than losses would be allowed",
      { 9, { "preempted" } },
      "pppppppp",
      RETRY_AGAIN,
      8,
      "lost before: preempted; tried again (8 of 9)" },
    { "how a lost process ended does not count",
      { 1, { "137" } },
      "pp",
      RETRY_AGAIN,
      2,
      "lost before: preempted; tried again (2 of 5)" },
    { "a cancelled attempt's signal neither", { 1, { "143" } }, "cc", RETRY_NOTHING, 0, "" },
    { "what was decided stays so",
      { 1, { "failed" } },
      "ffll",
      RETRY_SPENT,
      2,
      "exit code 3, after 2 tries" },
};

static void each_case_is_answered_as_it_should(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tried tried[TRIED_MAX];
        struct retry_verdict v = judge(&cases[i].policy, true, cases[i].word, tried);
        struct buf said = { 0 };

        retry_add_reason(&v, &said);
        if (v.answer != cases[i].answer || (v.by == NULL ? 0 : v.by->attempt) != cases[i].by ||
            strcmp(buf_text(&said), cases[i].says) != 0)
            fail_msg("%s: answer %d, by %d, '%s'", cases[i].what, (int)v.answer,
                     v.by == NULL ? 0 : (int)v.by->attempt, buf_text(&said));
        buf_free(&said);
    }
}

static const struct {
    const char *what;
    struct policy policy;
    bool has_time;
    const char *word;
    enum retry_answer answer;
    int64_t by;
    const char *says;
} cuts[] = {
    { "cut off once",
      { 0, { NULL } },
      false,
      "k",
      RETRY_AGAIN,
      1,
      "lost before: walltime; tried again (1 of 5)" },
    { "cut off twice, and nobody knows how long it takes",
      { 0, { NULL } },
      false,
      "klpk",
      RETRY_CUT,
      4,
      "the time of its pilot was over before it ended, 2 times: give time: (resources: {time: 2h})"
      " in the sweep, so that it gets a pilot that has enough of it" },
    { "that losses are tried again changes nothing about that",
      { 9, { "preempted" } },
      false,
      "kk",
      RETRY_CUT,
      2,
      "the time of its pilot was over before it ended, 2 times: give time: (resources: {time: 2h})"
      " in the sweep, so that it gets a pilot that has enough of it" },
    { "unless just this is said",
      { 9, { "walltime" } },
      false,
      "kkk",
      RETRY_AGAIN,
      3,
      "lost before: walltime; tried again (3 of 9)" },
    { "cut off twice, though its time is known",
      { 0, { NULL } },
      true,
      "kk",
      RETRY_AGAIN,
      2,
      "lost before: walltime; tried again (2 of 5)" },
    { "one that was cut off was preempted",
      { 1, { "preempted" } },
      true,
      "kp",
      RETRY_SPENT,
      2,
      "preempted, after 2 tries" },
};

static void who_is_cut_off_twice_has_to_say_how_long_it_takes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        struct tried tried[TRIED_MAX];
        struct retry_verdict v = judge(&cuts[i].policy, cuts[i].has_time, cuts[i].word, tried);
        struct buf said = { 0 };

        retry_add_reason(&v, &said);
        if (v.answer != cuts[i].answer || v.by->attempt != cuts[i].by ||
            strcmp(buf_text(&said), cuts[i].says) != 0)
            fail_msg("%s: answer %d, by %d, '%s'", cuts[i].what, (int)v.answer, (int)v.by->attempt,
                     buf_text(&said));
        buf_free(&said);
    }
}

/* Memory doubles and time trebles, of 10 each at first. */
static const struct {
    const char *what;
    const char *word;
    struct grown had[4];
    struct retry_up_to up_to;
    struct grown now, most;
    struct grown asks;
    const char *says;
} growths[] = {
    { "after oom it is memory",
      "o",
      { { 10, 10 } },
      { 0, 0 },
      { 10, 10 },
      { 0, 0 },
      { 20, 10 },
      "failed before: out of memory; tried again with 20 B of memory (1 of 3)" },
    { "after timeout it is time",
      "t",
      { { 10, 10 } },
      { 0, 0 },
      { 10, 10 },
      { 0, 0 },
      { 10, 30 },
      "failed before: ran for 2 h; tried again with 30 ms (1 of 3)" },
    { "after another end nothing grows",
      "f",
      { { 10, 10 } },
      { 0, 0 },
      { 10, 10 },
      { 0, 0 },
      { 10, 10 },
      "failed before: exit code 3; tried again (1 of 3)" },
    { "what has grown stays so",
      "ol",
      { { 10, 10 }, { 20, 10 } },
      { 0, 0 },
      { 20, 10 },
      { 0, 0 },
      { 20, 10 },
      "lost before: node-lost; tried again (1 of 5)" },
    { "one after the other",
      "ot",
      { { 10, 10 }, { 20, 10 } },
      { 0, 0 },
      { 20, 10 },
      { 0, 0 },
      { 20, 30 },
      "failed before: ran for 2 h; tried again with 30 ms (2 of 3)" },
    { "asked once more, it is the same",
      "oo",
      { { 10, 10 }, { 20, 10 } },
      { 0, 0 },
      { 40, 10 },
      { 0, 0 },
      { 40, 10 },
      "failed before: out of memory; tried again with 40 B of memory (2 of 3)" },
    { "up to its limit",
      "oo",
      { { 10, 10 }, { 20, 10 } },
      { 25, 0 },
      { 20, 10 },
      { 0, 0 },
      { 25, 10 },
      "failed before: out of memory; tried again with 25 B of memory (2 of 3)" },
    { "and no further",
      "oo",
      { { 10, 10 }, { 25, 10 } },
      { 25, 0 },
      { 25, 10 },
      { 0, 0 },
      { 25, 10 },
      "out of memory; that is the most that retry: up_to: allows" },
    { "to the largest machine",
      "o",
      { { 10, 10 } },
      { 25, 0 },
      { 10, 10 },
      { 15, 0 },
      { 15, 10 },
      "failed before: out of memory; tried again with 15 B of memory (1 of 3)" },
    { "and no further",
      "oo",
      { { 10, 10 }, { 15, 10 } },
      { 25, 0 },
      { 15, 10 },
      { 15, 0 },
      { 15, 10 },
      "out of memory; that is the most that a machine has which may run it" },
    { "that the largest machine has left changes nothing",
      "o",
      { { 10, 10 } },
      { 0, 0 },
      { 20, 10 },
      { 10, 0 },
      { 20, 10 },
      "failed before: out of memory; tried again with 20 B of memory (1 of 3)" },
    { "what was retried by hand goes on from there",
      "o",
      { { 40, 10 } },
      { 0, 0 },
      { 40, 10 },
      { 0, 0 },
      { 80, 10 },
      "failed before: out of memory; tried again with 80 B of memory (1 of 3)" },
    { "more than anybody can ask for is not asked for",
      "o",
      { { (INT64_C(1) << 53) - 8, 10 } },
      { 0, 0 },
      { 10, 10 },
      { 0, 0 },
      { INT64_C(1) << 53, 10 },
      "failed before: out of memory; tried again with 8 PiB of memory (1 of 3)" },
};

static void what_ran_out_grows(void **state)
{
    const struct policy on = { 3, { "failed", "oom", "timeout" } };

    (void)state;
    for (size_t i = 0; i < sizeof growths / sizeof growths[0]; i++) {
        struct tried tried[TRIED_MAX];
        struct retry_verdict v = judge(&on, true, growths[i].word, tried);
        struct retry policy = retry_of(&on);
        struct buf said = { 0 };

        policy.grow = (struct retry_grow){ 2000, 3000 };
        policy.up_to = growths[i].up_to;
        retry_grow(&v, &policy, tried, growths[i].had, strlen(growths[i].word), growths[i].now,
                   growths[i].most);
        retry_add_reason(&v, &said);
        if (!grown_equal(v.growth.asks, growths[i].asks) ||
            strcmp(buf_text(&said), growths[i].says) != 0)
            fail_msg("%s: %lld, %lld, '%s'", growths[i].what, (long long)v.growth.asks.memory_bytes,
                     (long long)v.growth.asks.time_ms, buf_text(&said));
        buf_free(&said);
    }
}

static void without_a_policy_nothing_is_named(void **state)
{
    struct tried failed = tried_of('f'), lost = tried_of('l');

    (void)state;
    assert_int_equal(retry_judge(NULL, false, &failed, 1).answer, RETRY_UNLISTED);
    assert_int_equal(retry_judge(NULL, false, &lost, 1).answer, RETRY_AGAIN);
}

/* ---- every life up to some length, under several policies ---- */

static const struct policy policies[] = {
    { 0, { NULL } },
    { 0, { "failed" } },
    { 1, { "failed" } },
    { 2, { "failed", "137" } },
    { 2, { "node-lost" } },
    { 3, { "node-lost", "preempted", "signal" } },
    { 1, { "3", "preempted" } },
};

/* The rule again, as one would say it: how far did the job get before something decided? */
static enum retry_answer expected(const struct policy *p, const char *word, int64_t *by)
{
    struct retry policy = retry_of(p);
    int64_t listed = 0, lost = 0;
    bool any = false;

    for (size_t i = 0; word[i] != '\0'; i++) {
        struct tried t = tried_of(word[i]);
        bool is_failure = strchr("fsto", word[i]) != NULL;
        bool is_loss = strchr("lp", word[i]) != NULL;
        bool is_named = retry_lists(&policy, t.cause, is_failure ? t.exit_code : SCHEMA_NONE,
                                    is_failure ? t.signal : SCHEMA_NONE);

        *by = (int64_t)i + 1;
        if (is_failure && !is_named)
            return RETRY_UNLISTED;
        any |= is_failure || is_loss || word[i] == 'u';
        listed += (is_failure || is_loss) && is_named;
        lost += (is_loss && !is_named) || word[i] == 'u';
        if (listed > p->max)
            return RETRY_SPENT;
        if (lost > 5)
            return RETRY_LOST;
    }
    return any ? RETRY_AGAIN : RETRY_NOTHING;
}

static void check_life(const struct policy *p, const char *word)
{
    struct tried tried[TRIED_MAX];
    struct retry_verdict v = judge(p, true, word, tried);
    int64_t by = 0;

    if (v.answer != expected(p, word, &by))
        fail_msg("'%s' with max %d on %s: %d", word, (int)p->max, p->on[0] ? p->on[0] : "nothing",
                 (int)v.answer);
    if (v.answer > RETRY_AGAIN)
        assert_int_equal(v.by->attempt, by);
    if (v.answer == RETRY_AGAIN)
        assert_in_range(v.n, 1, v.max);
}

static void every_life_up_to_seven_attempts_is_judged_by_the_rule(void **state)
{
    static const char alphabet[] = "fslpur";
    enum { LETTERS = sizeof alphabet - 1, LENGTH = 7 };

    (void)state;
    for (size_t p = 0; p < sizeof policies / sizeof policies[0]; p++) {
        size_t digits[LENGTH] = { 0 };
        char word[LENGTH + 1] = "";
        size_t n = 0;

        while (n <= LENGTH) {
            size_t i = 0;

            check_life(&policies[p], word);
            while (i < n && ++digits[i] == LETTERS)
                digits[i++] = 0;
            n += i == n;
            for (i = 0; i < n && n <= LENGTH; i++)
                word[i] = alphabet[digits[i]];
        }
    }
}

static void what_was_given_back_or_cancelled_changes_no_answer(void **state)
{
    static const char *const words[] = { "", "f", "ff", "fff", "llllll", "sf", "plf" };
    static const char others[] = "rcw";

    (void)state;
    for (size_t p = 0; p < sizeof policies / sizeof policies[0]; p++)
        for (size_t w = 0; w < sizeof words / sizeof words[0]; w++)
            for (size_t at = 0; at <= strlen(words[w]); at++) {
                struct tried tried[TRIED_MAX], more[TRIED_MAX];
                char word[TRIED_MAX + 1];
                struct retry_verdict plain, with;

                snprintf(word, sizeof word, "%.*s%c%s", (int)at, words[w], others[at % 3],
                         words[w] + at);
                plain = judge(&policies[p], true, words[w], tried);
                with = judge(&policies[p], true, word, more);
                assert_int_equal(with.answer, plain.answer);
                assert_int_equal(with.tries, plain.tries);
                assert_int_equal(with.n, plain.n);
            }
}

static void a_long_reason_is_cut_between_characters(void **state)
{
    struct tried tried = tried_of('f');
    struct retry policy = retry_of(&(struct policy){ 1, { "failed" } });
    struct retry_verdict v;
    char reason[REASON_MAX_BYTES + 1];
    struct buf said = { 0 };
    const char *cut;

    (void)state;
    for (size_t i = 0; i < REASON_MAX_BYTES; i += 2)
        memcpy(reason + i, "\xc3\xa9", 2);
    reason[0] = 'x'; /* the rest lies across even places */
    reason[1] = 'y';
    reason[2] = 'z';
    memmove(reason + 3, reason + 4, REASON_MAX_BYTES - 4);
    reason[REASON_MAX_BYTES - 1] = '\0';
    tried.reason = reason;
    v = retry_judge(&policy, false, &tried, 1);
    retry_add_reason(&v, &said);
    assert_true(said.n <= REASON_MAX_BYTES);
    cut = strstr(buf_text(&said), "; tried again (1 of 1)");
    assert_non_null(cut);
    assert_memory_equal(cut - 2, "\xc3\xa9", 2);
    buf_free(&said);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case_is_answered_as_it_should),
        cmocka_unit_test(who_is_cut_off_twice_has_to_say_how_long_it_takes),
        cmocka_unit_test(what_ran_out_grows),
        cmocka_unit_test(without_a_policy_nothing_is_named),
        cmocka_unit_test(every_life_up_to_seven_attempts_is_judged_by_the_rule),
        cmocka_unit_test(what_was_given_back_or_cancelled_changes_no_answer),
        cmocka_unit_test(a_long_reason_is_cut_between_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
