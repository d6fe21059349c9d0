/* SPDX-License-Identifier: MIT */
/* node_guard.c - what speaks against a node, and what a played ludwigd makes of it */

#include "tests/unit/server_player.h"

#include "server/queue/fit.h"
#include "server/queue/node_guard.h"

/* ---- the record ---- */

/* A failure as "NODE USER SWEEP CONFIG CAUSE", slow ones with "slow" behind. */
static void add(struct node_record *r, const char *text)
{
    char node[16], cause[16], speed[8] = "";
    long long uid, sweep, config;

    assert_true(sscanf(text, "%15s %lld %lld %lld %15s %7s", node, &uid, &sweep, &config, cause,
                       speed) >= 5);
    node_record_failure(r, &(struct node_failure){ .node = node,
                                                   .uid = uid,
                                                   .sweep = sweep,
                                                   .config = config,
                                                   .job = config,
                                                   .cause = cause,
                                                   .is_at_once = speed[0] == '\0' });
}

static void evidence_is_counted_by_configurations(void **state)
{
    static const struct {
        const char *failures[6], *cleared;
        int64_t evidence; /* against hoff, of user 1 */
    } cases[] = {
        { { "hoff 1 7 1 cuda", "hoff 1 7 2 cuda", "hoff 1 7 3 cuda" }, NULL, 3 },
        /* replications of one configuration, other users, other nodes, slow ones */
        { { "hoff 1 7 1 cuda", "hoff 1 7 1 cuda", "hoff 1 7 2 cuda" }, NULL, 2 },
        { { "hoff 1 7 1 cuda", "hoff 2 8 1 cuda", "hoff 2 8 2 cuda" }, NULL, 1 },
        { { "hoff 1 7 1 cuda", "lang 1 7 2 other", "lang 1 7 3 other" }, NULL, 1 },
        { { "hoff 1 7 1 cuda slow", "hoff 1 7 2 cuda" }, NULL, 1 },
        /* the same cause on another node is the program's, also where it took longer */
        { { "hoff 1 7 1 cuda", "hoff 1 7 2 cuda", "lang 1 7 3 cuda" }, NULL, 0 },
        { { "hoff 1 7 1 cuda", "hoff 1 7 2 cuda", "lang 1 7 3 cuda slow" }, NULL, 0 },
        { { "hoff 1 7 1 cuda", "hoff 1 7 2 oom", "lang 1 7 3 cuda" }, NULL, 1 },
        /* of another sweep it says nothing */
        { { "hoff 1 7 1 cuda", "hoff 1 7 2 cuda", "lang 1 8 3 cuda" }, NULL, 2 },
        /* a good end there, and on another node */
        { { "hoff 1 7 1 cuda", "hoff 1 7 2 cuda" }, "hoff", 0 },
        { { "hoff 1 7 1 cuda", "hoff 1 7 2 cuda" }, "lang", 2 },
        /* what was cleared is still known to be the program's */
        { { "lang 1 7 3 cuda", "hoff 1 7 1 cuda", "hoff 1 7 2 cuda" }, "lang", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct node_record *r = node_record_create();

        for (size_t k = 0; k < 6 && cases[i].failures[k] != NULL; k++)
            add(r, cases[i].failures[k]);
        if (cases[i].cleared != NULL)
            node_record_clear(r, cases[i].cleared, 1);
        assert_int_equal(node_record_evidence(r, "hoff", 1), cases[i].evidence);
        node_record_destroy(r);
    }
}

static void the_record_does_not_grow_for_ever(void **state)
{
    struct node_record *r = node_record_create();
    char text[64];

    (void)state;
    assert_true(node_record_is_empty(r));
    for (int i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "n%d 1 7 %d cause%d", i % 700, i, i);
        add(r, text);
    }
    add(r, "hoff 1 7 9999 cuda");
    assert_int_equal(node_record_evidence(r, "hoff", 1), 1);
    assert_int_equal(node_record_evidence(r, "n5", 1), 2); /* of 5: the older ones are forgotten */
    assert_false(node_record_is_empty(r));
    node_record_destroy(r);
}

/* ---- what follows ---- */

static void ends(struct player *w, size_t at, const char *reason)
{
    int64_t now = units_now_ms();

    report(w, (struct report){ .token = w->hand[at].token,
                               .event = reason != NULL ? EV_FAIL : EV_DONE,
                               .cause = reason != NULL ? CAUSE_FAILED : CAUSE_NONE,
                               .exit_code = reason != NULL,
                               .reason = reason,
                               .at = now,
                               .started_at = now - 1000,
                               .ended_at = now });
}

static void runs(struct player *w, size_t at)
{
    report(w, (struct report){ .token = w->hand[at].token,
                               .event = EV_RUN,
                               .exit_code = SCHEMA_NONE,
                               .at = units_now_ms(),
                               .started_at = units_now_ms() });
}

/* Two nodes with two slots each, and a sweep of many jobs that is guarded. */
struct two {
    struct scene *s;
    struct player other;
};

static void open_two(struct two *t)
{
    struct submit submit = submit_of("p", 1);

    *t = (struct two){ .s = scene_open() };
    submit.begin.guard.off = false;
    t->s->sweep = submit_all(t->s->client, submit, 1, 40).sweep;
    join(t->s->f, &t->s->w, "hoff", 2);
    join(t->s->f, &t->other, "lang", 2);
}

static void close_two(struct two *t)
{
    void *state = t->s;

    peer_close(t->other.peer);
    tear_down(&state);
}

static void a_node_that_fails_all_is_avoided(void **state)
{
    struct two *t = mem_alloc(sizeof *t);
    struct player *hoff, *lang;
    struct job_counts counts;
    size_t n_hand;

    (void)state;
    open_two(t);
    hoff = &t->s->w;
    lang = &t->other;
    runs(lang, 0);
    ends(hoff, 0, "exit code 1: no CUDA device");
    ends(hoff, 1, "exit code 1: no CUDA device");
    listen_to(hoff);
    assert_null(fit_avoided(&t->s->f->sv, "hoff", getuid(), NULL));
    n_hand = hoff->n_hand;
    assert_int_equal(n_hand, 4);
    ends(hoff, 2, "exit code 1: no CUDA device");
    listen_to(hoff);
    assert_non_null(fit_avoided(&t->s->f->sv, "hoff", getuid(), NULL));
    /* One was given out and has not begun: it is asked for again; nothing else comes. */
    assert_int_equal(hoff->n_recalled, 1);
    tell(hoff, &hoff->hand[3], EV_RECALL);
    listen_to(hoff);
    assert_int_equal(hoff->n_hand, n_hand);
    /* No job has lost a try, and the sweep is not held for what its node did. */
    counts = sweep_of(t->s->client, t->s->sweep).jobs;
    assert_int_equal(counts.failed, 0);
    assert_int_equal(counts.held, 0);
    for (int64_t no = 1; no <= 4; no++)
        assert_true(job_of(t->s->client, t->s->sweep, hoff->hand[no - 1].job).state != JOB_FAILED);
    for (size_t at = 0; at < lang->n_hand; at++) {
        ends(lang, at, NULL);
        listen_to(lang);
    }
    counts = sweep_of(t->s->client, t->s->sweep).jobs;
    assert_int_equal(counts.done, 40);
    close_two(t);
    free(t);
}

static void what_fails_everywhere_is_no_nodes_fault(void **state)
{
    struct two *t = mem_alloc(sizeof *t);
    struct job_counts counts;

    (void)state;
    open_two(t);
    runs(&t->other, 0);
    for (size_t at = 0; at < 3; at++)
        ends(&t->s->w, at, "exit code 1: no module lion");
    listen_to(&t->s->w);
    assert_non_null(fit_avoided(&t->s->f->sv, "hoff", getuid(), NULL));
    ends(&t->other, 0, "exit code 1: no module lion");
    listen_to(&t->other);
    assert_null(fit_avoided(&t->s->f->sv, "hoff", getuid(), NULL));
    for (size_t at = 1; at < t->other.n_hand && at < 4; at++) {
        ends(&t->other, at, "exit code 1: no module lion");
        listen_to(&t->other);
    }
    counts = sweep_of(t->s->client, t->s->sweep).jobs;
    assert_true(counts.held > 0);
    close_two(t);
    free(t);
}

static void the_only_node_is_not_avoided(void **state)
{
    struct scene *s = scene_open();
    struct submit submit = submit_of("p", 1);
    void *end = s;

    (void)state;
    submit.begin.guard.off = false;
    s->sweep = submit_all(s->client, submit, 1, 10).sweep;
    join(s->f, &s->w, "hoff", 2);
    for (size_t at = 0; at < 3; at++)
        ends(&s->w, at, "exit code 1: no CUDA device");
    assert_null(fit_avoided(&s->f->sv, "hoff", getuid(), NULL));
    assert_int_equal(sweep_of(s->client, s->sweep).jobs.failed, 3);
    assert_true(sweep_of(s->client, s->sweep).jobs.held > 0);
    tear_down(&end);
}

/* The wait before the node is tried again doubles; the first good end makes it a node like others. */
static void a_node_is_tried_again(void **state)
{
    struct two *t = mem_alloc(sizeof *t);
    struct server *sv;
    struct player *hoff;
    int64_t until_ms;
    size_t at;

    (void)state;
    open_two(t);
    sv = &t->s->f->sv;
    sv->conf.avoid_for_ms = 400;
    hoff = &t->s->w;
    runs(&t->other, 0);
    for (at = 0; at < 3; at++)
        ends(hoff, at, "exit code 1: no CUDA device");
    tell(hoff, &hoff->hand[at++], EV_RECALL);
    for (int64_t wait_ms = 400; wait_ms <= 800; wait_ms *= 2) {
        assert_non_null(fit_avoided(sv, "hoff", getuid(), &until_ms));
        assert_in_range(until_ms - units_now_ms(), 1, wait_ms);
        assert_int_equal(hoff->n_hand, at);
        while (hoff->n_hand == at)
            listen_to(hoff);
        assert_true(units_now_ms() >= until_ms);
        /* One job tries it, though there is room for more. */
        assert_int_equal(hoff->n_hand, at + 1);
        /* It is given back, and what else was given out is asked for again. */
        ends(hoff, at, "exit code 1: no CUDA device");
        assert_int_equal(sweep_of(t->s->client, t->s->sweep).jobs.failed, 0);
        for (at++; at < hoff->n_hand; at++)
            tell(hoff, &hoff->hand[at], EV_RECALL);
    }
    assert_non_null(fit_avoided(sv, "hoff", getuid(), NULL));
    while (hoff->n_hand == at)
        listen_to(hoff);
    ends(hoff, at++, NULL);
    listen_to(hoff);
    assert_null(fit_avoided(sv, "hoff", getuid(), NULL));
    /* Three more are needed now. */
    ends(hoff, at++, "exit code 1: no CUDA device");
    assert_null(fit_avoided(sv, "hoff", getuid(), NULL));
    close_two(t);
    free(t);
}

static void a_user_may_trust_a_node(void **state)
{
    struct two *t = mem_alloc(sizeof *t);
    struct server *sv;

    (void)state;
    open_two(t);
    sv = &t->s->f->sv;
    runs(&t->other, 0);
    for (size_t at = 0; at < 3; at++)
        ends(&t->s->w, at, "exit code 1: no CUDA device");
    assert_false(node_guard_trust(sv, "lang", -1));
    assert_false(node_guard_trust(sv, "hoff", getuid() + 1));
    assert_true(node_guard_trust(sv, "hoff", getuid()));
    assert_false(node_guard_trust(sv, "hoff", -1));
    assert_null(fit_avoided(sv, "hoff", getuid(), NULL));
    close_two(t);
    free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evidence_is_counted_by_configurations),
        cmocka_unit_test(the_record_does_not_grow_for_ever),
        cmocka_unit_test(a_node_that_fails_all_is_avoided),
        cmocka_unit_test(what_fails_everywhere_is_no_nodes_fault),
        cmocka_unit_test(the_only_node_is_not_avoided),
        cmocka_unit_test(a_node_is_tried_again),
        cmocka_unit_test(a_user_may_trust_a_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
