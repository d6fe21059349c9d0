/* SPDX-License-Identifier: MIT */
/* janitor.c - tests of the janitor: what became of attempts, by their folders on scratch */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/worker_child.h"
#include "worker/janitor/janitor.h"

#define HEX_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HEX_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define HEX_C "cccccccccccccccccccccccccccccccc"

struct janitor_site {
    struct site site;
    struct agent agent;
};

static void open_janitor(struct janitor_site *c)
{
    char *argv[2];

    site_open(&c->site, NULL);
    argv[0] = mem_strdup(CHILD_JANITOR);
    argv[1] = c->site.scratch.path;
    c->agent = agent_start(janitor_main, 2, argv, -1, -1);
    free(argv[0]);
}

static void close_janitor(struct janitor_site *c)
{
    assert_int_equal(agent_leave(&c->agent), 0);
    site_close(&c->site);
}

static struct token token_of(const char *hex)
{
    struct token token;

    assert_int_equal(token_parse(hex, &token), 0);
    return token;
}

static void make(struct janitor_site *c, const char *path, const char *text)
{
    char *below = mem_printf("scratch/%s", path);
    char *folder = mem_strndup(below, (size_t)(strrchr(below, '/') - below));
    struct err e = { 0 };

    assert_int_equal(io_make_dirs_at(c->site.top_fd, folder, 0750, &e), 0);
    if (text != NULL)
        site_write(c->site.top_fd, below, text);
    free(folder);
    free(below);
}

static void make_order(struct janitor_site *c, int dir_fd, char digit, const char *server_id)
{
    struct order o = site_order(&c->site, digit, "true");
    char hex[TOKEN_HEX];
    char *path;

    o.server_id = server_id;
    token_hex(&o.assignment.token, hex);
    (void)mkdirat(dir_fd, hex, 0750);
    path = mem_printf("%s/" JOB_ORDER, hex);
    assert_int_equal(scratch_write(dir_fd, path, &order_schema, &o, NULL), 0);
    free(path);
}

static struct note_settled settle(struct janitor_site *c, struct order_settle x, const char *hex)
{
    struct token_entry entry = { token_of(hex) };
    struct note_settled note;

    x.tokens = (struct list){ &entry, 1 };
    agent_tell(&c->agent, ORDER_SETTLE, &x);
    agent_hear(&c->agent, NOTE_SETTLED, &note);
    assert_true(token_equal(&note.token, &entry.token));
    return note;
}

static void it_says_where_an_attempt_lies(void **state)
{
    static const struct {
        const char *path;
        int place;
    } cases[] = {
        { "run/" HEX_B "/work/x", PLACE_NOWHERE }, /* another one */
        { "run/" HEX_A "/work/x", PLACE_RUN },
        { "ended/" HEX_A "/outcome", PLACE_ENDED },
        { "published/" HEX_A "/work", PLACE_PUBLISHED },
    };
    struct order_settle x = { .is_stale = false };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct janitor_site c;
        struct note_settled note;

        open_janitor(&c);
        make(&c, cases[i].path, "");
        note = settle(&c, x, HEX_A);
        assert_int_equal(note.place, cases[i].place);
        assert_int_equal(note.has_begun, cases[i].place != PLACE_NOWHERE);
        assert_int_equal(note.reports.n, 0);
        close_janitor(&c);
    }
}

static void what_its_runner_wrote_but_could_not_move_has_ended(void **state)
{
    struct janitor_site c;
    struct note_settled note;
    struct order_settle x = { .only_look = true };

    (void)state;
    open_janitor(&c);
    make(&c, "run/" HEX_A "/outcome", "");
    note = settle(&c, x, HEX_A);
    assert_int_equal(note.place, PLACE_RUN); /* it may be about to move it */
    x = (struct order_settle){ .is_stale = true };
    note = settle(&c, x, HEX_A);
    assert_int_equal(note.place, PLACE_RUN); /* and after a reboot the outcome may be torn */
    x = (struct order_settle){ .is_stale = false };
    note = settle(&c, x, HEX_A);
    assert_int_equal(note.place, PLACE_ENDED);
    assert_true(site_has(&c.site, "scratch/ended/" HEX_A "/outcome"));
    close_janitor(&c);
}

static void the_process_of_a_batch_is_answered_first(void **state)
{
    struct token_entry entries[] = { { token_of(HEX_A) }, { token_of(HEX_B) } };
    struct order_settle x = { .process = token_of(HEX_C), .tokens = { entries, 2 } };
    struct janitor_site c;
    struct note_settled note;

    (void)state;
    open_janitor(&c);
    make(&c, "run/" HEX_B "/work/x", "");
    agent_tell(&c.agent, ORDER_SETTLE, &x);
    agent_hear(&c.agent, NOTE_SETTLED, &note);
    assert_true(token_equal(&note.token, &x.process));
    assert_int_equal(note.place, PLACE_NOWHERE);
    assert_true(note.has_begun);
    agent_hear(&c.agent, NOTE_SETTLED, &note);
    assert_int_equal(note.place, PLACE_NOWHERE);
    assert_true(note.has_begun);
    agent_hear(&c.agent, NOTE_SETTLED, &note);
    assert_true(token_equal(&note.token, &entries[1].token));
    assert_int_equal(note.place, PLACE_RUN);
    close_janitor(&c);
}

static void the_report_of_a_published_one_comes_along(void **state)
{
    struct report report = { .token = token_of(HEX_A),
                             .event = EV_DONE,
                             .exit_code = SCHEMA_NONE,
                             .signal = SCHEMA_NONE,
                             .run_path = "demo/runs/param_001/x" };
    struct order_settle x = { .is_stale = false };
    struct janitor_site c;
    struct note_settled note;
    const struct report *got;

    (void)state;
    open_janitor(&c);
    assert_int_equal(mkdirat(c.site.scratch.published_fd, HEX_A, 0750), 0);
    assert_int_equal(scratch_write(c.site.scratch.published_fd, HEX_A "/" JOB_REPORT,
                                   &report_schema, &report, NULL),
                     0);
    note = settle(&c, x, HEX_A);
    assert_int_equal(note.place, PLACE_PUBLISHED);
    assert_int_equal(note.reports.n, 1);
    got = note.reports.items;
    assert_string_equal(got->run_path, "demo/runs/param_001/x");
    close_janitor(&c);
}

static bool finish_as(struct janitor_site *c, const char *hex, int event, int cause)
{
    struct order_finish x = { .token = token_of(hex),
                              .event = event,
                              .cause = cause,
                              .reason = "runner-lost",
                              .started_at = 5 };
    struct note_finished note;

    agent_tell(&c->agent, ORDER_FINISH, &x);
    agent_hear(&c->agent, NOTE_FINISHED, &note);
    return note.has_ended;
}

static bool finish(struct janitor_site *c)
{
    return finish_as(c, HEX_A, EV_LOSE, CAUSE_NONE);
}

static void only_what_left_a_checkpoint_is_ended_in_its_runners_stead(void **state)
{
    struct janitor_site c;
    struct outcome outcome;

    (void)state;
    open_janitor(&c);
    assert_false(finish(&c));
    make(&c, "run/" HEX_A "/checkpoint/", NULL);
    assert_false(finish(&c)); /* it is empty */
    make(&c, "run/" HEX_A "/checkpoint/epoch", "3");
    assert_true(finish(&c));
    assert_int_equal(scratch_read(c.site.scratch.ended_fd, HEX_A "/" JOB_OUTCOME, &outcome_schema,
                                  c.site.arena, &outcome, NULL),
                     0);
    assert_int_equal(outcome.event, EV_LOSE);
    assert_string_equal(outcome.reason, "runner-lost");
    close_janitor(&c);
}

static void what_failed_or_was_cancelled_is_ended_in_any_case(void **state)
{
    static const struct {
        const char *hex;
        int event, cause;
    } cases[] = { { HEX_A, EV_FAIL, CAUSE_TIMEOUT }, { HEX_B, EV_CANCEL, CAUSE_NONE } };
    struct janitor_site c;

    (void)state;
    open_janitor(&c);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *folder = mem_printf("run/%s/", cases[i].hex);
        char *path = mem_printf("%s/" JOB_OUTCOME, cases[i].hex);
        struct outcome outcome;

        make(&c, folder, NULL);
        assert_true(finish_as(&c, cases[i].hex, cases[i].event, cases[i].cause));
        assert_int_equal(scratch_read(c.site.scratch.ended_fd, path, &outcome_schema, c.site.arena,
                                      &outcome, NULL),
                         0);
        assert_int_equal(outcome.event, cases[i].event);
        assert_int_equal(outcome.cause, cases[i].cause);
        free(folder);
        free(path);
    }
    close_janitor(&c);
}

/* The note on this attempt; false when the survey does not name it. */
static bool survey(struct janitor_site *c, const char *hex, struct note_remains *found)
{
    struct order_nothing x = { .all = true };
    struct token token = token_of(hex);
    struct envelope m;
    bool is_found = false;

    *found = (struct note_remains){ .server_id = NULL };
    agent_tell(&c->agent, ORDER_SURVEY, &x);
    do {
        struct note_remains note;

        assert_int_equal(wire_receive(&c->agent.wire, &m, NULL), 1);
        if (m.type != NOTE_REMAINS)
            continue;
        assert_int_equal(message_body(&orders, &m, c->agent.wire.arena, &note, NULL), 0);
        if (!token_equal(&note.token, &token))
            continue;
        *found = note;
        if (note.server_id != NULL)
            found->server_id = arena_strdup(c->site.arena, note.server_id);
        is_found = true;
    } while (m.type == NOTE_REMAINS);
    assert_int_equal(m.type, NOTE_SURVEYED);
    return is_found;
}

static void a_survey_names_what_there_is_and_whose_it_is(void **state)
{
    struct janitor_site c;
    struct note_remains note;

    (void)state;
    open_janitor(&c);
    assert_false(survey(&c, HEX_A, &note));
    make(&c, "run/no-attempt/order", "");
    make_order(&c, c.site.scratch.run_fd, 'a', "server-1");
    make_order(&c, c.site.scratch.published_fd, 'b', "server-2");
    make(&c, "log/" HEX_A, ""); /* goes with its folder */
    make(&c, "log/" HEX_C, "");
    assert_true(survey(&c, HEX_A, &note));
    assert_int_equal(note.place, PLACE_RUN);
    assert_string_equal(note.server_id, "server-1");
    assert_false(note.is_old);
    assert_true(survey(&c, HEX_B, &note));
    assert_int_equal(note.place, PLACE_PUBLISHED);
    assert_string_equal(note.server_id, "server-2");
    assert_true(survey(&c, HEX_C, &note));
    assert_int_equal(note.place, PLACE_NOWHERE);
    assert_null(note.server_id);
    close_janitor(&c);
}

/* A job may put anything in its folders' place: that is its own loss, and nobody waits for it. */
static void nothing_a_job_planted_holds_it_up(void **state)
{
    struct order_settle x = { .is_stale = false };
    struct janitor_site c;
    struct note_settled settled;
    struct note_remains remains;

    (void)state;
    open_janitor(&c);
    assert_int_equal(mkdirat(c.site.scratch.published_fd, HEX_A, 0750), 0);
    assert_int_equal(mkfifoat(c.site.scratch.published_fd, HEX_A "/" JOB_REPORT, 0600), 0);
    settled = settle(&c, x, HEX_A);
    assert_int_equal(settled.place, PLACE_PUBLISHED);
    assert_int_equal(settled.reports.n, 0);
    assert_int_equal(mkdirat(c.site.scratch.run_fd, HEX_B, 0750), 0);
    assert_int_equal(symlinkat("/dev/zero", c.site.scratch.run_fd, HEX_B "/" JOB_ORDER), 0);
    assert_int_equal(symlinkat(HEX_C, c.site.scratch.run_fd, HEX_C), 0);
    assert_true(survey(&c, HEX_B, &remains));
    assert_null(remains.server_id);
    assert_true(survey(&c, HEX_C, &remains));
    assert_null(remains.server_id);
    close_janitor(&c);
}

static void without_a_scratch_folder_it_finds_nothing(void **state)
{
    struct order_settle x = { .is_stale = false };
    struct janitor_site c;
    struct note_settled note;

    (void)state;
    open_janitor(&c);
    assert_int_equal(agent_leave(&c.agent), 0);
    assert_int_equal(renameat(c.site.top_fd, "scratch", c.site.top_fd, "away"), 0);
    {
        char mode[] = CHILD_JANITOR;
        char *argv[] = { mode, c.site.scratch.path };

        c.agent = agent_start(janitor_main, 2, argv, -1, -1);
    }
    note = settle(&c, x, HEX_A);
    assert_int_equal(note.place, PLACE_NOWHERE);
    assert_false(site_has(&c.site, "scratch"));
    assert_int_equal(renameat(c.site.top_fd, "away", c.site.top_fd, "scratch"), 0);
    close_janitor(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_says_where_an_attempt_lies),
        cmocka_unit_test(what_its_runner_wrote_but_could_not_move_has_ended),
        cmocka_unit_test(the_process_of_a_batch_is_answered_first),
        cmocka_unit_test(the_report_of_a_published_one_comes_along),
        cmocka_unit_test(only_what_left_a_checkpoint_is_ended_in_its_runners_stead),
        cmocka_unit_test(what_failed_or_was_cancelled_is_ended_in_any_case),
        cmocka_unit_test(a_survey_names_what_there_is_and_whose_it_is),
        cmocka_unit_test(nothing_a_job_planted_holds_it_up),
        cmocka_unit_test(without_a_scratch_folder_it_finds_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
