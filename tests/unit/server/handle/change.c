/* SPDX-License-Identifier: MIT */
/* change.c - tests of pause and resume, cancel --drain, retry by state, drain and undrain */

#include "tests/unit/server_player.h"

enum { CPUS = 4 };

/* ---- asking ---- */

static int64_t ask_change(struct peer *p, int type, struct target target)
{
    struct msg_pause body = { .targets = { &target, 1 } }; /* resume is the same */
    struct msg_changed changed;

    peer_ask(p, type, &body, &changed);
    return changed.jobs;
}

static struct target whole(const struct scene *s)
{
    return (struct target){ s->sweep, 0, 0 };
}

static struct target jobs(const struct scene *s, int64_t first, int64_t last)
{
    return (struct target){ s->sweep, first, last };
}

static int64_t drain_jobs(struct scene *s, struct target target)
{
    struct msg_cancel body = { .targets = { &target, 1 }, .drain = true };
    struct msg_changed changed;

    peer_ask(s->client, MSG_CANCEL, &body, &changed);
    return changed.jobs;
}

static int64_t retry_states(struct scene *s, const char **states, size_t n)
{
    struct target target = whole(s);
    struct msg_retry body = { .targets = { &target, 1 }, .states = { states, n } };
    struct msg_changed changed;

    peer_ask(s->client, MSG_RETRY, &body, &changed);
    return changed.jobs;
}

static enum job_state state_of(struct scene *s, int64_t no)
{
    return (enum job_state)job_of(s->client, s->sweep, no).state;
}

/* n jobs are queued; the worker is there, or comes when the test calls join. */
static struct scene *scene_of(int64_t n, bool is_joined)
{
    struct scene *s = scene_open();

    s->sweep = submit_all(s->client, submit_of("p", 1), 1, n).sweep;
    if (is_joined)
        join(s->f, &s->w, "n1", CPUS);
    return s;
}

static void scene_close(struct scene *s)
{
    tear_down((void *[]){ s });
}

static void restart_ludwigd(struct scene *s)
{
    if (s->w.peer != NULL)
        leave(s);
    peer_close(s->client);
    server_close(&s->f->sv);
    fixture_start(s->f);
    s->client = client_connect(s->f);
}

/* Gives back all that was recalled. */
static void give_back(struct player *w)
{
    size_t n = w->n_recalled;

    w->n_recalled = 0;
    for (size_t i = 0; i < n; i++)
        assert_int_equal(report(w, (struct report){ .token = w->recalled[i], .event = EV_RECALL }),
                         VERDICT_TAKEN);
}

static bool was_recalled(const struct player *w, const struct assignment *a)
{
    for (size_t i = 0; i < w->n_recalled; i++)
        if (token_equal(&w->recalled[i], &a->token))
            return true;
    return false;
}

/* ---- pause and resume: a whole sweep ---- */

static void a_paused_sweep_is_not_handed_out_until_it_is_resumed(void **state)
{
    struct scene *s = scene_of(3, false);

    (void)state;
    assert_int_equal(ask_change(s->client, MSG_PAUSE, whole(s)), 3);
    assert_int_equal(ask_change(s->client, MSG_PAUSE, whole(s)), 0);
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_PAUSED);
    join(s->f, &s->w, "n1", CPUS);
    assert_int_equal(s->w.n_hand, 0);
    assert_int_equal(ask_change(s->client, MSG_RESUME, whole(s)), 3);
    assert_int_equal(ask_change(s->client, MSG_RESUME, whole(s)), 0);
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 3);
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_RUNNING);
    scene_close(s);
}

static void pausing_takes_back_what_has_not_started_and_lets_the_rest_end(void **state)
{
    struct scene *s = scene_of(6, true);

    (void)state;
    assert_int_equal(s->w.n_hand, CPUS);
    tell(&s->w, &s->w.hand[0], EV_RUN);
    tell(&s->w, &s->w.hand[1], EV_STAGE);
    assert_int_equal(ask_change(s->client, MSG_PAUSE, whole(s)), 4);
    listen_to(&s->w);
    assert_int_equal(s->w.n_recalled, CPUS - 1);
    assert_false(was_recalled(&s->w, &s->w.hand[0]));
    give_back(&s->w);
    assert_int_equal(tell(&s->w, &s->w.hand[0], EV_DONE), VERDICT_TAKEN);
    assert_int_equal(s->w.n_hand, CPUS);
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_PAUSED);
    assert_int_equal(sweep_of(s->client, s->sweep).jobs.queued, 5);
    ask_change(s->client, MSG_RESUME, whole(s));
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 2 * CPUS);
    assert_int_equal(s->w.hand[CPUS].job, 2);
    scene_close(s);
}

static void a_paused_sweep_stays_paused_when_ludwigd_starts_anew(void **state)
{
    struct scene *s = scene_of(2, false);

    (void)state;
    ask_change(s->client, MSG_PAUSE, whole(s));
    restart_ludwigd(s);
    join(s->f, &s->w, "n1", CPUS);
    assert_int_equal(s->w.n_hand, 0);
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_PAUSED);
    scene_close(s);
}

static void a_paused_sweep_whose_jobs_have_all_ended_is_over(void **state)
{
    struct scene *s = scene_of(2, true);

    (void)state;
    tell(&s->w, &s->w.hand[0], EV_RUN);
    ask_change(s->client, MSG_PAUSE, whole(s));
    listen_to(&s->w);
    give_back(&s->w);
    tell(&s->w, &s->w.hand[0], EV_DONE);
    cancel(s->client, s->sweep, 2);
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_CANCELLED);
    assert_int_equal(ask_change(s->client, MSG_PAUSE, whole(s)), 0);
    assert_int_equal(ask_change(s->client, MSG_RESUME, whole(s)), 0);
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_CANCELLED);
    scene_close(s);
}

static void what_is_retried_in_a_paused_sweep_waits_with_it(void **state)
{
    struct scene *s = scene_of(2, true);

    (void)state;
    tell(&s->w, &s->w.hand[0], EV_FAIL);
    ask_change(s->client, MSG_PAUSE, whole(s));
    listen_to(&s->w);
    give_back(&s->w);
    retry(s->client, s->sweep, 1);
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 2);
    ask_change(s->client, MSG_RESUME, whole(s));
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 4);
    scene_close(s);
}

static void what_a_worker_took_along_is_asked_for_when_it_is_back(void **state)
{
    struct scene *s = scene_of(3, true);
    struct held held[3];

    (void)state;
    tell(&s->w, &s->w.hand[0], EV_RUN);
    for (int i = 0; i < 3; i++)
        held[i] = (struct held){ s->w.hand[i].token, i == 0 ? ATTEMPT_RUNNING : ATTEMPT_ASSIGNED,
                                 i == 0 ? 5000 : 0 };
    leave(s);
    ask_change(s->client, MSG_PAUSE, whole(s));
    s->w.reg.attempts = (struct list){ held, 3 };
    join(s->f, &s->w, NULL, 0);
    assert_int_equal(s->w.n_recalled_first, 2);
    assert_int_equal(s->w.n_recalled, 2);
    assert_false(was_recalled(&s->w, &s->w.hand[0]));
    scene_close(s);
}

/* ---- pause and resume: jobs ---- */

static void a_paused_job_is_passed_over(void **state)
{
    struct scene *s = scene_of(4, false);

    (void)state;
    assert_int_equal(ask_change(s->client, MSG_PAUSE, jobs(s, 1, 2)), 2);
    assert_int_equal(ask_change(s->client, MSG_PAUSE, jobs(s, 2, 3)), 1);
    assert_string_equal(job_of(s->client, s->sweep, 1).reason, "paused");
    join(s->f, &s->w, "n1", CPUS);
    assert_int_equal(s->w.n_hand, 1);
    assert_int_equal(s->w.hand[0].job, 4);
    assert_int_equal(ask_change(s->client, MSG_RESUME, jobs(s, 2, 4)), 2);
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 3);
    assert_null(job_of(s->client, s->sweep, 2).reason);
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_RUNNING);
    scene_close(s);
}

static void a_paused_job_is_taken_back_unless_it_runs(void **state)
{
    struct scene *s = scene_of(2, true);

    (void)state;
    tell(&s->w, &s->w.hand[0], EV_RUN);
    assert_int_equal(ask_change(s->client, MSG_PAUSE, jobs(s, 1, 2)), 2);
    listen_to(&s->w);
    assert_int_equal(s->w.n_recalled, 1);
    assert_true(was_recalled(&s->w, &s->w.hand[1]));
    give_back(&s->w);
    assert_int_equal(state_of(s, 1), JOB_RUNNING);
    tell(&s->w, &s->w.hand[0], EV_LOSE); /* and then it waits, too */
    assert_int_equal(s->w.n_hand, 2);
    assert_int_equal(ask_change(s->client, MSG_RESUME, jobs(s, 1, 1)), 1);
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 3);
    assert_int_equal(s->w.hand[2].job, 1);
    scene_close(s);
}

static void a_paused_job_stays_paused_when_ludwigd_starts_anew(void **state)
{
    struct scene *s = scene_of(2, false);

    (void)state;
    ask_change(s->client, MSG_PAUSE, jobs(s, 1, 1));
    restart_ludwigd(s);
    join(s->f, &s->w, "n1", CPUS);
    assert_int_equal(s->w.n_hand, 1);
    assert_int_equal(s->w.hand[0].job, 2);
    scene_close(s);
}

static void a_job_that_is_over_cannot_be_paused_and_retrying_resumes_it(void **state)
{
    struct scene *s = scene_of(1, true);

    (void)state;
    tell(&s->w, &s->w.hand[0], EV_RUN);
    ask_change(s->client, MSG_PAUSE, jobs(s, 1, 1));
    tell(&s->w, &s->w.hand[0], EV_FAIL);
    assert_int_equal(state_of(s, 1), JOB_FAILED);
    assert_int_equal(ask_change(s->client, MSG_PAUSE, jobs(s, 1, 1)), 0);
    retry(s->client, s->sweep, 1);
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 2);
    scene_close(s);
}

static void resuming_the_sweep_resumes_its_jobs(void **state)
{
    struct scene *s = scene_of(5, false);

    (void)state;
    ask_change(s->client, MSG_PAUSE, jobs(s, 2, 4));
    assert_int_equal(ask_change(s->client, MSG_PAUSE, whole(s)), 2); /* the others were already */
    ask_change(s->client, MSG_PAUSE, jobs(s, 5, 5));
    assert_int_equal(ask_change(s->client, MSG_RESUME, whole(s)), 5);
    join(s->f, &s->w, "n1", 8);
    assert_int_equal(s->w.n_hand, 5);
    ask_change(s->client, MSG_PAUSE, jobs(s, 3, 3));
    assert_int_equal(ask_change(s->client, MSG_RESUME, whole(s)), 1);
    scene_close(s);
}

static void pausing_and_resuming_many_jobs_takes_several_turns_and_counts_each_once(void **state)
{
    enum { MANY = 12000 };
    struct scene *s = scene_open();
    struct submit submit = submit_of("p", 4);

    (void)state;
    submit_begin(s->client, &submit);
    for (int64_t i = 0; i < MANY / 4; i += 1000)
        submit_chunk(s->client, &submit, i, i + 999);
    s->sweep = submit_end(s->client, &submit).sweep;
    assert_int_equal(ask_change(s->client, MSG_PAUSE, jobs(s, 2, MANY)), MANY - 1);
    ask_change(s->client, MSG_PAUSE, whole(s));
    assert_int_equal(ask_change(s->client, MSG_RESUME, whole(s)), MANY);
    assert_int_equal(ask_change(s->client, MSG_RESUME, whole(s)), 0);
    scene_close(s);
}

static void nobody_pauses_anothers_sweep(void **state)
{
    struct scene *s = scene_of(1, false);
    struct peer *other = stranger_connect(s->f, 1);
    struct target target = whole(s);
    struct msg_pause body = { .targets = { &target, 1 } };

    (void)state;
    peer_refused(other, MSG_PAUSE, &body, ERR_DENIED);
    peer_refused(other, MSG_RESUME, &body, ERR_DENIED);
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_RUNNING);
    peer_close(other);
    scene_close(s);
}

/* ---- cancel --drain ---- */

static void draining_cancels_what_waits_and_lets_end_what_runs(void **state)
{
    struct scene *s = scene_of(6, true);

    (void)state;
    tell(&s->w, &s->w.hand[0], EV_RUN);
    tell(&s->w, &s->w.hand[1], EV_END);
    tell(&s->w, &s->w.hand[2], EV_STAGE);
    assert_int_equal(drain_jobs(s, whole(s)), 6);
    assert_int_equal(drain_jobs(s, whole(s)), 0);
    listen_to(&s->w);
    assert_int_equal(s->w.n_stopped, 3); /* one of them got the slot of what is being published */
    assert_true(token_equal(&s->w.stopped[0], &s->w.hand[2].token));
    assert_int_equal(state_of(s, 1), JOB_RUNNING);
    assert_int_equal(state_of(s, 2), JOB_PUBLISHING);
    for (int64_t no = 3; no <= 6; no++)
        assert_int_equal(state_of(s, no), JOB_CANCELLED);
    assert_int_equal(tell(&s->w, &s->w.hand[0], EV_DONE), VERDICT_TAKEN);
    assert_int_equal(tell(&s->w, &s->w.hand[1], EV_DONE), VERDICT_TAKEN);
    assert_int_equal(state_of(s, 1), JOB_DONE);
    assert_int_equal(sweep_of(s->client, s->sweep).jobs.done, 2);
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_CANCELLED);
    scene_close(s);
}

static void what_runs_on_is_not_tried_again_whatever_happens(void **state)
{
    static const struct {
        enum attempt_event event;
        enum job_state becomes;
    } cases[] = {
        { EV_FAIL, JOB_FAILED },
        { EV_LOSE, JOB_CANCELLED },
        { EV_RECALL, JOB_CANCELLED },
        { EV_SUPERSEDE, JOB_CANCELLED },
    };
    const char *on[] = { "failed", "node-lost" };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scene *s = scene_open();
        struct submit submit = submit_of("p", 1);

        submit.begin.retry = (struct retry){ .max = 9, .on = { on, 2 } };
        s->sweep = submit_all(s->client, submit, 1, 1).sweep;
        join(s->f, &s->w, "n1", CPUS);
        tell(&s->w, &s->w.hand[0], EV_FAIL); /* this one is tried again */
        tell(&s->w, &s->w.hand[1], EV_RUN);
        drain_jobs(s, whole(s));
        tell(&s->w, &s->w.hand[1], cases[i].event);
        assert_int_equal(state_of(s, 1), cases[i].becomes);
        assert_int_equal(s->w.n_hand, 2);
        retry(s->client, s->sweep, 1);
        listen_to(&s->w);
        assert_int_equal(s->w.n_hand, 3);
        tell(&s->w, &s->w.hand[2], EV_FAIL); /* and now it is again */
        assert_int_equal(s->w.n_hand, 4);
        scene_close(s);
    }
}

static void what_runs_on_can_still_be_cancelled_at_once(void **state)
{
    struct scene *s = scene_of(1, true);

    (void)state;
    tell(&s->w, &s->w.hand[0], EV_RUN);
    drain_jobs(s, whole(s));
    cancel(s->client, s->sweep, 1);
    listen_to(&s->w);
    assert_int_equal(s->w.n_stopped, 1);
    assert_int_equal(state_of(s, 1), JOB_CANCELLED);
    assert_int_equal(tell(&s->w, &s->w.hand[0], EV_DONE), VERDICT_WITHDRAW);
    scene_close(s);
}

/* ---- retry by state ---- */

static void only_the_states_named_are_retried(void **state)
{
    const char *failed[] = { "failed" }, *cancelled[] = { "cancelled" };
    const char *both[] = { "cancelled", "failed" };
    struct scene *s = scene_of(4, true);

    (void)state;
    tell(&s->w, &s->w.hand[0], EV_FAIL);
    tell(&s->w, &s->w.hand[1], EV_DONE);
    cancel(s->client, s->sweep, 3);
    cancel(s->client, s->sweep, 4);
    assert_int_equal(retry_states(s, failed, 1), 1);
    assert_int_equal(state_of(s, 1), JOB_QUEUED);
    assert_int_equal(state_of(s, 3), JOB_CANCELLED);
    assert_int_equal(retry_states(s, cancelled, 1), 2);
    assert_int_equal(retry_states(s, both, 2), 0);
    cancel(s->client, s->sweep, 4);
    assert_int_equal(retry_states(s, both, 2), 1);
    cancel(s->client, s->sweep, 4);
    assert_int_equal(retry_states(s, NULL, 0), 1);
    assert_int_equal(state_of(s, 2), JOB_DONE);
    scene_close(s);
}

static void other_states_cannot_be_retried(void **state)
{
    const char *names[] = { "failed", "done" };
    struct scene *s = scene_of(1, false);
    struct target target = whole(s);
    struct msg_retry body = { .targets = { &target, 1 }, .states = { names, 2 } };

    (void)state;
    assert_non_null(strstr(peer_refused(s->client, MSG_RETRY, &body, ERR_USAGE), "'done'"));
    scene_close(s);
}

/* ---- drain and undrain ---- */

static struct msg_drained drain_node(struct peer *p, const char *name, bool undo)
{
    struct msg_drain body = { .nodes = { &name, 1 }, .undo = undo };
    struct msg_drained drained;

    peer_ask(p, MSG_DRAIN, &body, &drained);
    return drained;
}

static void a_drained_node_ends_what_runs_and_gets_nothing_more(void **state)
{
    struct scene *s = scene_of(6, true);
    struct msg_drained drained;

    (void)state;
    tell(&s->w, &s->w.hand[0], EV_RUN);
    drained = drain_node(s->client, "n1", false);
    assert_int_equal(drained.nodes, 1);
    assert_int_equal(drained.running, 1);
    listen_to(&s->w);
    assert_int_equal(s->w.n_recalled, CPUS - 1);
    assert_false(was_recalled(&s->w, &s->w.hand[0]));
    give_back(&s->w);
    assert_int_equal(tell(&s->w, &s->w.hand[0], EV_DONE), VERDICT_TAKEN);
    assert_int_equal(s->w.n_hand, CPUS);
    drained = drain_node(s->client, "n1", false);
    assert_int_equal(drained.nodes, 0);
    assert_int_equal(drained.running, 0);
    assert_int_equal(drain_node(s->client, "n1", true).nodes, 1);
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 2 * CPUS);
    scene_close(s);
}

static void what_runs_on_a_drained_node_counts_against_its_users_limits(void **state)
{
    struct scene *s = scene_of(8, false);
    struct player other = { 0 };

    (void)state;
    s->f->sv.conf.jobs_per_user = CPUS + 1;
    join(s->f, &s->w, "n1", CPUS);
    assert_int_equal(s->w.n_hand, CPUS);
    for (int i = 0; i < CPUS; i++)
        tell(&s->w, &s->w.hand[i], EV_RUN);
    assert_int_equal(drain_node(s->client, "n1", false).running, CPUS);
    join(s->f, &other, "n2", CPUS);
    assert_int_equal(other.n_hand, 1);
    peer_close(other.peer);
    scene_close(s);
}

static void a_drained_node_stays_drained_whoever_starts_anew(void **state)
{
    struct scene *s = scene_of(1, false);
    struct player another = { 0 };

    (void)state;
    join(s->f, &s->w, "n1", CPUS);
    give_back(&s->w);
    drain_node(s->client, "n1", false);
    listen_to(&s->w);
    give_back(&s->w);
    s->w.n_hand = 0;
    restart_ludwigd(s);
    join(s->f, &s->w, NULL, 0);
    assert_int_equal(s->w.n_hand, 0);
    leave(s);
    join(s->f, &another, "n1", CPUS); /* its scratch, and with it its name, was wiped */
    assert_int_equal(another.n_hand, 0);
    assert_int_equal(drain_node(s->client, "n1", true).nodes, 1);
    listen_to(&another);
    assert_int_equal(another.n_hand, 1);
    peer_close(another.peer);
    scene_close(s);
}

static void what_a_drained_worker_took_along_is_asked_for_when_it_is_back(void **state)
{
    struct scene *s = scene_of(1, true);
    struct held held = { s->w.hand[0].token, ATTEMPT_ASSIGNED, 0 };

    (void)state;
    leave(s);
    assert_int_equal(drain_node(s->client, "n1", false).nodes, 1);
    s->w.reg.attempts = (struct list){ &held, 1 };
    join(s->f, &s->w, NULL, 0);
    assert_int_equal(s->w.n_recalled_first, 1);
    assert_int_equal(s->w.n_recalled, 1);
    scene_close(s);
}

static void a_group_drains_its_nodes(void **state)
{
    static const char *members[] = { "n1", "n3", "never-seen" };
    struct node_group group = { "half", { members, 3 } };
    struct scene *s = scene_of(1, false);
    struct player w2 = { 0 }, w3 = { 0 };

    (void)state;
    s->f->sv.conf.groups = (struct list){ &group, 1 };
    join(s->f, &s->w, "n1", CPUS);
    join(s->f, &w2, "n2", CPUS);
    join(s->f, &w3, "n3", CPUS);
    assert_int_equal(drain_node(s->client, "n1", false).nodes, 1);
    assert_int_equal(drain_node(s->client, "@half", false).nodes, 1);
    assert_int_equal(drain_node(s->client, "@half", true).nodes, 2);
    assert_int_equal(drain_node(s->client, "n2", true).nodes, 0);
    s->f->sv.conf.groups = (struct list){ 0 };
    peer_close(w2.peer);
    peer_close(w3.peer);
    scene_close(s);
}

static void a_node_named_more_than_once_counts_once(void **state)
{
    const char *names[] = { "n2", "n1", "n2", "n1" };
    struct msg_drain body = { .nodes = { names, 4 } };
    struct scene *s = scene_of(2, true);
    struct player w2 = { 0 };
    struct msg_drained drained;

    (void)state;
    tell(&s->w, &s->w.hand[0], EV_RUN);
    join(s->f, &w2, "n2", CPUS);
    peer_ask(s->client, MSG_DRAIN, &body, &drained);
    assert_int_equal(drained.nodes, 2);
    assert_int_equal(drained.running, 1);
    peer_close(w2.peer);
    scene_close(s);
}

static void a_name_nobody_knows_is_refused_with_the_nearest_and_changes_nothing(void **state)
{
    static const char *members[] = { "n9" };
    struct node_group group = { "half", { members, 1 } };
    static const struct {
        const char *name, *says;
    } cases[] = {
        { "hawkin", "did you mean 'hawkins'?" },
        { "zzzzzz", "no worker was ever seen on 'zzzzzz'" },
        { "@half", "on a node of '@half'" },
        { "@halt", "did you mean '@half'?" },
        { "@zzzzzz", "'@zzzzzz'" },
    };
    struct scene *s = scene_of(1, false);

    (void)state;
    s->f->sv.conf.groups = (struct list){ &group, 1 };
    join(s->f, &s->w, "hawkins", CPUS);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *names[] = { "hawkins", cases[i].name };
        struct msg_drain body = { .nodes = { names, 2 } };
        const char *text = peer_refused(s->client, MSG_DRAIN, &body, ERR_NOT_FOUND);

        if (strstr(text, cases[i].says) == NULL)
            fail_msg("%s: %s", cases[i].name, text);
    }
    assert_int_equal(drain_node(s->client, "hawkins", true).nodes, 0);
    s->f->sv.conf.groups = (struct list){ 0 };
    scene_close(s);
}

static void only_admins_and_the_workers_own_user_drain_it(void **state)
{
    static const char *n1[] = { "n1" };
    struct msg_drain body = { .nodes = { n1, 1 } };
    struct scene *s = scene_of(1, true);
    struct peer *stranger = stranger_connect(s->f, 1);
    struct peer *owner = stranger_connect(s->f, geteuid());

    (void)state;
    assert_non_null(strstr(peer_refused(stranger, MSG_DRAIN, &body, ERR_DENIED), "n1"));
    assert_int_equal(drain_node(owner, "n1", false).nodes, 1);
    body.undo = true;
    peer_refused(stranger, MSG_DRAIN, &body, ERR_DENIED);
    peer_close(owner);
    peer_close(stranger);
    scene_close(s);
}

static void of_a_group_everybody_drains_their_own(void **state)
{
    enum { OTHER_UID = 1234 };
    static const char *members[] = { "n1", "n2" };
    struct node_group group = { "half", { members, 2 } };
    struct scene *s = scene_of(1, false);
    struct player others = { .uid = OTHER_UID };
    struct peer *other;
    struct msg_drain body = { .nodes = { &members[0], 1 } };

    (void)state;
    s->f->sv.conf.groups = (struct list){ &group, 1 };
    join(s->f, &s->w, "n1", CPUS);
    join(s->f, &others, "n2", CPUS);
    other = stranger_connect(s->f, OTHER_UID);
    assert_int_equal(drain_node(other, "@half", false).nodes, 1);
    peer_refused(other, MSG_DRAIN, &body, ERR_DENIED);
    assert_int_equal(drain_node(s->client, "n1", false).nodes, 1);
    assert_int_equal(drain_node(s->client, "@half", true).nodes, 2); /* an admin, both */
    s->f->sv.conf.groups = (struct list){ 0 };
    peer_close(other);
    peer_close(others.peer);
    scene_close(s);
}

/* An admin may queue whatever there is. */
static void no_more_are_retried_than_a_user_may_have_queued(void **state)
{
    struct scene *s = scene_of(10, false);
    const char *cancelled = "cancelled";
    struct target target = whole(s);
    struct msg_retry body = { .targets = { &target, 1 }, .states = { &cancelled, 1 } };
    struct msg_ask_why ask = { .sweep = s->sweep, .job = 1 };
    struct msg_why why;
    const char *const *lines;
    bool is_said = false;

    (void)state;
    for (int64_t no = 1; no <= 10; no++)
        cancel(s->client, s->sweep, no);
    s->f->sv.conf.queued_jobs = 6;
    s->client->conn->is_admin = false;
    assert_non_null(strstr(peer_refused(s->client, MSG_RETRY, &body, ERR_BUSY),
                           "one user may have 6 (limits: queued_jobs in ludwigd.yaml)"));
    assert_int_equal(sweep_of(s->client, s->sweep).jobs.queued, 0);
    target = jobs(s, 1, 6);
    peer_ask(s->client, MSG_RETRY, &body, NULL);
    ask.job = 7;
    peer_ask(s->client, MSG_ASK_WHY, &ask, &why);
    lines = why.lines.items;
    for (size_t i = 0; i < why.lines.n; i++)
        is_said |= strstr(lines[i], "a retry is refused now: you have 6 jobs queued") != NULL;
    assert_true(is_said);
    target = jobs(s, 7, 7);
    peer_refused(s->client, MSG_RETRY, &body, ERR_BUSY);
    s->client->conn->is_admin = true;
    peer_ask(s->client, MSG_RETRY, &body, NULL);
    assert_int_equal(sweep_of(s->client, s->sweep).jobs.queued, 7);
    scene_close(s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_paused_sweep_is_not_handed_out_until_it_is_resumed),
        cmocka_unit_test(pausing_takes_back_what_has_not_started_and_lets_the_rest_end),
        cmocka_unit_test(a_paused_sweep_stays_paused_when_ludwigd_starts_anew),
        cmocka_unit_test(a_paused_sweep_whose_jobs_have_all_ended_is_over),
        cmocka_unit_test(what_is_retried_in_a_paused_sweep_waits_with_it),
        cmocka_unit_test(what_a_worker_took_along_is_asked_for_when_it_is_back),
        cmocka_unit_test(a_paused_job_is_passed_over),
        cmocka_unit_test(a_paused_job_is_taken_back_unless_it_runs),
        cmocka_unit_test(a_paused_job_stays_paused_when_ludwigd_starts_anew),
        cmocka_unit_test(a_job_that_is_over_cannot_be_paused_and_retrying_resumes_it),
        cmocka_unit_test(resuming_the_sweep_resumes_its_jobs),
        cmocka_unit_test(pausing_and_resuming_many_jobs_takes_several_turns_and_counts_each_once),
        cmocka_unit_test(nobody_pauses_anothers_sweep),
        cmocka_unit_test(draining_cancels_what_waits_and_lets_end_what_runs),
        cmocka_unit_test(what_runs_on_is_not_tried_again_whatever_happens),
        cmocka_unit_test(what_runs_on_can_still_be_cancelled_at_once),
        cmocka_unit_test(only_the_states_named_are_retried),
        cmocka_unit_test(other_states_cannot_be_retried),
        cmocka_unit_test(a_drained_node_ends_what_runs_and_gets_nothing_more),
        cmocka_unit_test(what_runs_on_a_drained_node_counts_against_its_users_limits),
        cmocka_unit_test(a_drained_node_stays_drained_whoever_starts_anew),
        cmocka_unit_test(what_a_drained_worker_took_along_is_asked_for_when_it_is_back),
        cmocka_unit_test(a_group_drains_its_nodes),
        cmocka_unit_test(a_node_named_more_than_once_counts_once),
        cmocka_unit_test(a_name_nobody_knows_is_refused_with_the_nearest_and_changes_nothing),
        cmocka_unit_test(only_admins_and_the_workers_own_user_drain_it),
        cmocka_unit_test(of_a_group_everybody_drains_their_own),
        cmocka_unit_test(no_more_are_retried_than_a_user_may_have_queued),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
