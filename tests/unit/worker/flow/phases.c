/* SPDX-License-Identifier: MIT */
/* phases.c - tests of the agent's table of phases and events, and of docs/internals/agent.md against it */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/doc.h"
#include "worker/flow/phases.h"

#define PAGE "docs/internals/agent.md"

static enum phase after(enum phase phase, enum event event)
{
    const struct step *s = &attempt_steps[phase][event];

    assert_int_not_equal(s->effect, EFFECT_REFUSED);
    return (enum phase)s->next;
}

static bool is_refused(enum phase phase, enum event event)
{
    return attempt_steps[phase][event].effect == EFFECT_REFUSED;
}

static void an_attempt_goes_from_its_hand_to_nothing(void **state)
{
    static const enum event way[] = {
        EVENT_HANDED, EVENT_READY,     EVENT_GIVEN,   EVENT_STARTED,
        EVENT_ENDED,  EVENT_PUBLISHED, EVENT_SETTLED, EVENT_DISCARDED
    };
    enum phase phase = PHASE_NEW;

    (void)state;
    for (size_t i = 0; i < sizeof way / sizeof way[0]; i++)
        phase = after(phase, way[i]);
    assert_int_equal(phase, PHASE_GONE);
}

/* A stop that comes while a runner has it must not be taken for the end. */
static void a_stop_ends_at_once_what_no_runner_can_have(void **state)
{
    (void)state;
    for (int p = PHASE_STARTING; p <= PHASE_UNNAMED; p++)
        assert_int_equal(after((enum phase)p, EVENT_STOP), p);
    assert_int_equal(after(PHASE_STAGING, EVENT_STOP), PHASE_OUTCOME);
    assert_int_equal(after(PHASE_QUEUED, EVENT_STOP), PHASE_OUTCOME);
}

static void only_what_has_not_been_given_away_can_be_recalled(void **state)
{
    (void)state;
    for (int p = 0; p < PHASE_COUNT; p++)
        assert_int_equal(is_refused((enum phase)p, EVENT_RECALL),
                         p != PHASE_STAGING && p != PHASE_QUEUED);
}

static void an_outcome_is_decided_once(void **state)
{
    (void)state;
    for (int p = PHASE_OUTCOME; p < PHASE_COUNT; p++)
        for (int ev = 0; ev < EVENT_COUNT; ev++)
            if (!is_refused((enum phase)p, (enum event)ev))
                assert_true(after((enum phase)p, (enum event)ev) >= PHASE_OUTCOME);
    for (int ev = 0; ev < EVENT_COUNT; ev++)
        assert_true(is_refused(PHASE_GONE, (enum event)ev));
}

/* ---- the queue ---- */

static void events_wait_in_their_order(void **state)
{
    struct agent ag = { .end = AGENT_GOES_ON };
    struct attempt a = { .token = { { 1 } } }, b = { .token = { { 2 } } };
    struct batch process = { .token = { { 3 } } };
    struct flow_event *ev;

    (void)state;
    ring_init(&ag.events);
    assert_null(flow_take_event(&ag));
    flow_post(&ag, &a, EVENT_STARTED, NULL)->at = 17;
    flow_post_process(&ag, &process, PROCESS_EV_ENDED);
    flow_post(&ag, &b, EVENT_RECALL, "why");
    ev = flow_take_event(&ag);
    assert_true(token_equal(&ev->token, &a.token));
    assert_int_equal(ev->event, EVENT_STARTED);
    assert_int_equal(ev->at, 17);
    flow_event_free(ev);
    ev = flow_take_event(&ag);
    assert_true(ev->is_of_process);
    assert_int_equal(ev->event, PROCESS_EV_ENDED);
    flow_event_free(ev);
    ev = flow_take_event(&ag);
    assert_true(token_equal(&ev->token, &b.token));
    assert_string_equal(ev->reason, "why");
    flow_event_free(ev);
    assert_null(flow_take_event(&ag));
}

/* ---- the page ---- */

/* | phase | event | next | effect | */
static void must_show(const char *phase, const char *event, const char *next, enum effect effect)
{
    struct buf row = { 0 };

    buf_printf(&row, "| %s | %s | %s | %s |\n", phase, event, next, effect_names[effect]);
    doc_must_contain(PAGE, buf_text(&row));
    buf_free(&row);
}

static size_t count_rows(const char *page, const char *begin, const char *end)
{
    const char *at = strstr(page, begin), *last = strstr(page, end);
    size_t n = 0;

    assert_non_null(at);
    assert_non_null(last);
    while ((at = strstr(at, "\n| ")) != NULL && at < last) {
        at++;
        n++;
    }
    return n - 1; /* the head */
}

static void the_page_shows_the_tables_and_nothing_else(void **state)
{
    struct buf page = { 0 };
    size_t n = 0, n_process = 0;

    (void)state;
    for (int p = 0; p < PHASE_COUNT; p++)
        for (int ev = 0; ev < EVENT_COUNT; ev++) {
            const struct step *s = &attempt_steps[p][ev];

            if (s->effect == EFFECT_REFUSED)
                continue;
            must_show(phase_names[p], event_names[ev], phase_names[s->next], s->effect);
            n++;
        }
    for (int p = 0; p < PROCESS_PHASE_COUNT; p++)
        for (int ev = 0; ev < PROCESS_EVENT_COUNT; ev++) {
            const struct step *s = &process_steps[p][ev];

            if (s->effect == EFFECT_REFUSED)
                continue;
            must_show(process_phase_names[p], process_event_names[ev], process_phase_names[s->next],
                      s->effect);
            n_process++;
        }
    assert_int_equal(io_read_file(PAGE, 1 << 24, &page, NULL), 0);
    assert_int_equal(count_rows(buf_text(&page), "## Steps of an attempt", "## Steps of a process"),
                     n);
    assert_int_equal(count_rows(buf_text(&page), "## Steps of a process", "## Facts"), n_process);
    buf_free(&page);
}

static void the_page_names_every_phase_event_and_effect(void **state)
{
    (void)state;
#define X(name, text, meaning) doc_must_contain(PAGE, "| `" text "` | " meaning " |\n");
    ATTEMPT_PHASES(X)
    PROCESS_PHASES(X)
    FLOW_EVENTS(X)
    PROCESS_EVENTS(X)
    FLOW_EFFECTS(X)
#undef X
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_attempt_goes_from_its_hand_to_nothing),
        cmocka_unit_test(a_stop_ends_at_once_what_no_runner_can_have),
        cmocka_unit_test(only_what_has_not_been_given_away_can_be_recalled),
        cmocka_unit_test(an_outcome_is_decided_once),
        cmocka_unit_test(events_wait_in_their_order),
        cmocka_unit_test(the_page_shows_the_tables_and_nothing_else),
        cmocka_unit_test(the_page_names_every_phase_event_and_effect),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
