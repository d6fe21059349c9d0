/* SPDX-License-Identifier: MIT */
/* submit_cleanup.c - a submit from begin to end, and all the ways it may stop in between */
#include "tests/unit/server_fixture.h"

#include <sqlite3.h>

#include "common/proto/jobspec.h"
#include "server/base/identity.h"
#include "server/base/turn_internal.h"
#include "server/conn/handler.h"
#include "server/queue/submit_cleanup.h"

static int64_t count_sweeps(struct peer *p)
{
    struct msg_get_sweeps all = { .limit = 100 };
    struct msg_sweep_page page;

    peer_ask(p, MSG_GET_SWEEPS, &all, &page);
    return (int64_t)page.sweeps.n;
}

static struct msg_job_page jobs_of(struct peer *p, int64_t sweep)
{
    struct msg_get_jobs all = { .sweep = sweep, .limit = PAGE_MAX };
    struct msg_job_page page;

    peer_ask(p, MSG_GET_JOBS, &all, &page);
    return page;
}

static const struct job_info *job_at(const struct msg_job_page *page, size_t i)
{
    assert_true(i < page->jobs.n);
    return (const struct job_info *)page->jobs.items + i;
}

static int64_t count_open(struct fixture *f)
{
    struct stmt *s = db_ask(f->sv.db, SQL_OPEN_ALL, "");
    int64_t n = 0;

    while (stmt_step(s, NULL) == 1)
        n++;
    return n;
}

static void each_configuration_and_replication_becomes_a_queued_job(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct msg_submitted done = submit_all(p, submit_of("demo", 2), 1, 3);
    struct msg_job_page page = jobs_of(p, done.sweep);

    (void)state;
    assert_int_equal(done.configs, 3);
    assert_int_equal(done.reps, 2);
    assert_int_equal(done.jobs, 6);
    assert_int_equal(done.queued, 6);
    assert_int_equal(done.reused, 0);
    assert_string_equal(done.project, "demo");
    assert_int_equal(page.jobs.n, 6);
    assert_string_equal(job_at(&page, 3)->param_name, "param_002");
    assert_int_equal(job_at(&page, 3)->rep, 1);
    assert_int_equal(job_at(&page, 3)->state, JOB_QUEUED);
    assert_non_null(strstr(job_at(&page, 3)->job_name, "_num1"));
    assert_int_equal(value_get(&job_at(&page, 3)->params, "x")->i, 2);
    peer_close(p);
    fixture_close(f);
}

static void a_sweep_is_invisible_until_its_last_chunk(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct submit s = submit_of("demo", 1);
    struct msg_get_jobs get = { 0 };

    (void)state;
    submit_begin(p, &s);
    submit_chunk(p, &s, 1, 3);
    assert_int_equal(count_sweeps(p), 0);
    get.sweep = s.sweep;
    peer_refused(p, MSG_GET_JOBS, &get, ERR_NOT_FOUND);
    submit_chunk(p, &s, 4, 6);
    submit_end(p, &s);
    assert_int_equal(count_sweeps(p), 1);
    peer_close(p);
    fixture_close(f);
}

static void a_configuration_keeps_its_number_in_every_later_submit(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct msg_submitted second;
    struct msg_job_page page;

    (void)state;
    submit_all(p, submit_of("demo", 1), 1, 3);
    second = submit_all(p, submit_of("demo", 1), 3, 4);
    page = jobs_of(p, second.sweep);
    assert_string_equal(job_at(&page, 0)->param_name, "param_003");
    assert_string_equal(job_at(&page, 1)->param_name, "param_004");
    peer_close(p);
    fixture_close(f);
}

static void numbers_are_compared_as_numbers(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct submit s = submit_of("demo", 1);
    struct buf one = { 0 };
    struct msg_submitted done;

    (void)state;
    mp_add_list(&one, 2);
    mp_add_map(&one, 1);
    mp_add_str(&one, "x", 1);
    mp_add_int(&one, 1);
    mp_add_map(&one, 1);
    mp_add_str(&one, "x", 1);
    mp_add_float(&one, 1.0);
    submit_begin(p, &s);
    submit_bytes(p, &s, buf_bytes(&one), 2);
    done = submit_end(p, &s);
    assert_int_equal(done.configs, 1);
    assert_int_equal(done.jobs, 1);
    buf_free(&one);
    peer_close(p);
    fixture_close(f);
}

static void a_configuration_sent_twice_is_taken_once(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct submit s = submit_of("demo", 2);
    struct msg_submitted done;

    (void)state;
    submit_begin(p, &s);
    submit_chunk(p, &s, 1, 4);
    submit_chunk(p, &s, 3, 6);
    done = submit_end(p, &s);
    assert_int_equal(done.configs, 6);
    assert_int_equal(done.queued, 12);
    peer_close(p);
    fixture_close(f);
}

static void jobs_of_one_second_get_different_names(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct submit a = submit_of("demo", 2);
    struct submit b = submit_of("demo", 2);
    struct msg_job_page pages[2];

    (void)state;
    submit_begin(p, &a); /* both stamps are made at once, hardly ever across a second's end */
    submit_begin(p, &b);
    submit_chunk(p, &a, 1, 1);
    submit_chunk(p, &b, 1, 1);
    submit_end(p, &a);
    submit_end(p, &b);
    pages[0] = jobs_of(p, a.sweep);
    pages[1] = jobs_of(p, b.sweep);
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 2; k++)
            assert_string_not_equal(job_at(&pages[0], i)->job_name, job_at(&pages[1], k)->job_name);
    peer_close(p);
    fixture_close(f);
}

/* ---- reuse ---- */

static const struct {
    const char *what;
    enum reuse reuse;
    const char *command;
    int64_t reps;
    int64_t reused, queued, otherwise;
} reuse_cases[] = {
    { "the same again needs nothing", REUSE_ALL, "true", 2, 6, 0, 0 },
    { "more reps are topped up", REUSE_ALL, "true", 4, 6, 6, 0 },
    { "fewer reps reuse as many", REUSE_ALL, "true", 1, 3, 0, 0 },
    { "another command runs again", REUSE_ALL, "false", 2, 0, 6, 6 },
    { "unless only params count", REUSE_PARAMS, "false", 3, 6, 3, 0 },
    { "none runs all", REUSE_NONE, "true", 2, 0, 6, 0 },
};

static void what_is_done_is_reused_as_asked(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof reuse_cases / sizeof reuse_cases[0]; i++) {
        struct fixture *f = fixture_open();
        struct peer *p = client_connect(f);
        struct peer *w = worker_connect(f);
        struct submit again = submit_of("demo", reuse_cases[i].reps);
        struct msg_submitted done;

        submit_all(p, submit_of("demo", 2), 1, 3);
        for (size_t n = 0; n < 6;)
            n += worker_do_hand(w, report_done());
        again.begin.reuse = (int)reuse_cases[i].reuse;
        again.begin.work.command = reuse_cases[i].command;
        done = submit_all(p, again, 1, 3);
        if (done.reused != reuse_cases[i].reused || done.queued != reuse_cases[i].queued)
            fail_msg("%s: %d reused, %d queued", reuse_cases[i].what, (int)done.reused,
                     (int)done.queued);
        assert_int_equal(done.done_otherwise, reuse_cases[i].otherwise);
        assert_int_equal(done.jobs, 3 * reuse_cases[i].reps);
        peer_close(w);
        peer_close(p);
        fixture_close(f);
    }
}

static void a_sweep_with_nothing_to_run_is_done_at_once(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *w = worker_connect(f);
    struct msg_get_sweeps get = { 0 };
    struct msg_sweep_page page;
    const struct sweep_info *info;

    (void)state;
    submit_all(p, submit_of("demo", 1), 1, 2);
    for (size_t n = 0; n < 2;)
        n += worker_do_hand(w, report_done());
    get.sweep = submit_all(p, submit_of("demo", 1), 1, 2).sweep;
    peer_ask(p, MSG_GET_SWEEPS, &get, &page);
    info = page.sweeps.items;
    assert_int_equal(info->state, SWEEP_DONE);
    assert_int_equal(info->reused, 2);
    assert_true(info->ended_at > 0);
    peer_close(w);
    peer_close(p);
    fixture_close(f);
}

static void a_job_that_failed_is_not_reused(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *w = worker_connect(f);

    (void)state;
    submit_all(p, submit_of("demo", 1), 1, 1);
    assert_int_equal(worker_do_hand(w, report_failed(3)), 1);
    assert_int_equal(submit_all(p, submit_of("demo", 1), 1, 1).queued, 1);
    peer_close(w);
    peer_close(p);
    fixture_close(f);
}

/* ---- what is refused ---- */

static void break_reps(struct msg_submit_begin *b)
{
    b->reps = 0;
}

static void break_project(struct msg_submit_begin *b)
{
    b->project = "../etc";
}

static void hide_project(struct msg_submit_begin *b)
{
    b->project = ".ludwig";
}

static void break_name(struct msg_submit_begin *b)
{
    b->name = "two\nlines";
}

static void empty_command(struct msg_submit_begin *b)
{
    b->work.command = "";
}

static void need_nothing(struct msg_submit_begin *b)
{
    b->work.resources.cpus_milli = 0;
}

static void need_half_more(struct msg_submit_begin *b)
{
    b->work.resources.gpus_milli = 1500;
}

static void name_strange_node(struct msg_submit_begin *b)
{
    static const char *names[] = { "a b" };

    b->nodes = (struct list){ names, 1 };
}

static void name_unknown_group(struct msg_submit_begin *b)
{
    static const char *names[] = { "@nobody" };

    b->nodes = (struct list){ names, 1 };
}

static void break_variable(struct msg_submit_begin *b)
{
    static struct env_entry env[] = { { "A-B", "1" } };

    b->work.env = (struct list){ env, 1 };
}

static void break_data_name(struct msg_submit_begin *b)
{
    static struct data_entry data[] = { { "../x", { .tree = { { 1 } } }, NULL } };

    b->work.data = (struct list){ data, 1 };
}

static void retry_on(struct msg_submit_begin *b, const char **names, size_t n)
{
    b->retry = (struct retry){ .max = 2, .on = { names, n } };
}

static void retry_on_nonsense(struct msg_submit_begin *b)
{
    static const char *names[] = { "oom", "preempt" };

    retry_on(b, names, 2);
}

static void retry_on_nothing_wrong(struct msg_submit_begin *b)
{
    static const char *names[] = { "none" };

    retry_on(b, names, 1);
}

static void retry_on_success(struct msg_submit_begin *b)
{
    static const char *names[] = { "0" };

    retry_on(b, names, 1);
}

static void retry_on_256(struct msg_submit_begin *b)
{
    static const char *names[] = { "256" };

    retry_on(b, names, 1);
}

static void retry_on_007(struct msg_submit_begin *b)
{
    static const char *names[] = { "007" };

    retry_on(b, names, 1);
}

static void rank_by_nothing(struct msg_submit_begin *b)
{
    b->ranking.metric = "";
}

static void rank_by_escape(struct msg_submit_begin *b)
{
    b->ranking.metric = "\033[31m";
}

static struct slurm_pool pool;

static void pool_of(struct msg_submit_begin *b, struct slurm_pool p)
{
    pool = p;
    b->pools = (struct list){ &pool, 1 };
}

static void pool_with_an_option_for_a_partition(struct msg_submit_begin *b)
{
    pool_of(b, (struct slurm_pool){ .partition = "--wrap=rm" });
}

static void pool_with_an_empty_account(struct msg_submit_begin *b)
{
    pool_of(b, (struct slurm_pool){ .account = "" });
}

static void pool_with_two_lines(struct msg_submit_begin *b)
{
    pool_of(b, (struct slurm_pool){ .constraint = "a40\n#SBATCH" });
}

static void pool_with_a_script(struct msg_submit_begin *b)
{
    static const char *extra[] = { "--exclusive", "script.sh" };

    pool_of(b, (struct slurm_pool){ .extra = { extra, 2 } });
}

static void break_container(struct msg_submit_begin *b)
{
    b->work.container = "image\n.sif";
}

static const struct {
    const char *what;
    void (*breaks)(struct msg_submit_begin *b);
    const char *says;
} wrong_begins[] = {
    { "no replication", break_reps, "reps" },
    { "a project that climbs", break_project, "project" },
    { "a project that hides", hide_project, "project" },
    { "a name of two lines", break_name, "name" },
    { "no command", empty_command, "command" },
    { "neither processor nor GPU", need_nothing, "resources" },
    { "one and a half GPUs", need_half_more, "gpus" },
    { "a node that cannot be", name_strange_node, "nodes" },
    { "a group nobody knows", name_unknown_group, "@nobody" },
    { "a variable with a dash", break_variable, "A-B" },
    { "data outside of their folder", break_data_name, "../x" },
    { "a cause there is not", retry_on_nonsense, "'preempt'" },
    { "trying again what went well", retry_on_nothing_wrong, "'none'" },
    { "the exit code of success", retry_on_success, "'0'" },
    { "an exit code there is not", retry_on_256, "'256'" },
    { "an exit code written otherwise", retry_on_007, "'007'" },
    { "a ranking by nothing", rank_by_nothing, "results: metric" },
    { "a ranking that colours the terminal", rank_by_escape, "results: metric" },
    { "an option where a partition is due", pool_with_an_option_for_a_partition, "partition" },
    { "an empty account", pool_with_an_empty_account, "account" },
    { "a constraint of two lines", pool_with_two_lines, "slurm" },
    { "a script among the options", pool_with_a_script, "script.sh" },
    { "a container of two lines", break_container, "container" },
};

static void a_wrong_begin_is_refused_and_says_why(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);

    (void)state;
    for (size_t i = 0; i < sizeof wrong_begins / sizeof wrong_begins[0]; i++) {
        struct submit s = submit_of("demo", 1);
        const char *text;

        wrong_begins[i].breaks(&s.begin);
        text = peer_refused(p, MSG_SUBMIT_BEGIN, &s.begin, ERR_USAGE);
        if (strstr(text, wrong_begins[i].says) == NULL)
            fail_msg("%s: %s", wrong_begins[i].what, text);
    }
    assert_int_equal(count_open(f), 0);
    peer_close(p);
    fixture_close(f);
}

static void what_is_asked_for_is_kept(void **state)
{
    const char *on[] = { "oom", "node-lost", "137" };
    const char *exclude[] = { "clippy" }, *extra[] = { "--exclusive" };
    struct slurm_pool pools[] = { { .partition = "short", .exclude = { exclude, 1 } },
                                  { .partition = "overcap", .extra = { extra, 1 } } };
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct submit s = submit_of("demo", 1);
    struct msg_get_sweeps get = { 0 };
    struct msg_sweep_page page;
    struct retry retry;
    struct stmt *row;

    (void)state;
    s.begin.retry = (struct retry){ .max = 7, .on = { on, 3 } };
    s.begin.pools = (struct list){ pools, 2 };
    s.begin.ranking = (struct ranking){ "loss", GOAL_MIN };
    s.begin.work.batch = 12;
    get.sweep = submit_all(p, s, 1, 1).sweep;
    peer_ask(p, MSG_GET_SWEEPS, &get, &page);
    assert_string_equal(((const struct sweep_info *)page.sweeps.items)->ranking.metric, "loss");
    assert_int_equal(((const struct sweep_info *)page.sweeps.items)->ranking.goal, GOAL_MIN);
    row = db_ask(f->sv.db, SQL_SWEEP_RETRY, "i", get.sweep);
    assert_int_equal(stmt_step(row, NULL), 1);
    assert_int_equal(schema_read(&retry_schema, stmt_bytes(row, 0), f->arena, &retry, NULL), 0);
    assert_int_equal(retry.max, 7);
    assert_int_equal(retry.on.n, 3);
    assert_string_equal(((const char *const *)retry.on.items)[2], "137");
    stmt_end(row);
    row = db_ask(f->sv.db, SQL_SWEEP_NEEDS, "i", get.sweep);
    assert_int_equal(stmt_step(row, NULL), 1);
    assert_int_equal(stmt_int(row, 7), 12);
    stmt_end(row);
    peer_close(p);
    fixture_close(f);
}

static void more_than_a_table_allows_ends_the_connection(void **state)
{
    struct fixture *f = fixture_open();

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct peer *p = client_connect(f);
        struct submit s = submit_of("demo", 1);
        struct slurm_pool pools[POOLS_MAX + 1] = { { 0 } };
        struct envelope m;

        s.begin.work.batch = i == 0 ? BATCH_MAX + 1 : 0;
        s.begin.retry.max = i == 1 ? RETRIES_MAX + 1 : 0;
        s.begin.pools = (struct list){ pools, i == 2 ? POOLS_MAX + 1 : 0 };
        peer_refused(p, MSG_SUBMIT_BEGIN, &s.begin, ERR_PROTOCOL);
        assert_int_equal(peer_receive_any(p, &m), -1);
        peer_close(p);
    }
    assert_int_equal(count_open(f), 0);
    fixture_close(f);
}

static void a_project_belongs_to_who_first_used_it(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *other = stranger_connect(f, 1);
    struct submit s = submit_of("demo", 1);
    const char *text;
    char *user = identity_user_name(geteuid());

    (void)state;
    submit_all(p, s, 1, 1);
    text = peer_refused(other, MSG_SUBMIT_BEGIN, &s.begin, ERR_DENIED);
    assert_non_null(strstr(text, "project: NAME"));
    assert_non_null(strstr(text, user));
    free(user);
    peer_close(other);
    peer_close(p);
    fixture_close(f);
}

static void the_project_gets_its_folder(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    char *path = mem_printf("%s/share/demo", f->dir);
    struct stat st;

    (void)state;
    submit_all(p, submit_of("demo", 1), 1, 1);
    assert_int_equal(stat(path, &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    free(path);
    peer_close(p);
    fixture_close(f);
}

static void uids_of_the_system_may_not_submit(void **state)
{
    struct fixture *f = fixture_open();
    struct submit s = submit_of("demo", 1);
    struct peer *p;

    (void)state;
    f->sv.conf.min_uid = 1000;
    p = stranger_connect(f, 999);
    peer_refused(p, MSG_SUBMIT_BEGIN, &s.begin, ERR_DENIED);
    peer_close(p);
    fixture_close(f);
}

static void a_chunk_out_of_order_is_refused(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct submit s = submit_of("demo", 1);
    struct buf configs = { 0 };
    struct msg_submit_chunk chunk;

    (void)state;
    add_configs(&configs, 1, 2);
    submit_begin(p, &s);
    chunk = (struct msg_submit_chunk){ s.sweep, 1, buf_bytes(&configs), { 0 } };
    peer_refused(p, MSG_SUBMIT_CHUNK, &chunk, ERR_PROTOCOL);
    submit_chunk(p, &s, 1, 2); /* nothing was lost */
    assert_int_equal(submit_end(p, &s).queued, 2);
    buf_free(&configs);
    peer_close(p);
    fixture_close(f);
}

static void a_chunk_that_is_no_list_of_maps_leaves_nothing(void **state)
{
    static const uint8_t list_of_number[] = { 0x92, 0x81, 0xa1, 'x', 1, 7 };
    static const uint8_t cut_off[] = { 0x92, 0x81, 0xa1, 'x', 1 };
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct submit s = submit_of("demo", 1);
    struct msg_submit_chunk chunk = { 0 };
    struct msg_job_page page;

    (void)state;
    submit_begin(p, &s);
    chunk.sweep = s.sweep;
    chunk.configs = (struct bytes){ list_of_number, sizeof list_of_number };
    peer_refused(p, MSG_SUBMIT_CHUNK, &chunk, ERR_PROTOCOL);
    chunk.configs = (struct bytes){ cut_off, sizeof cut_off };
    peer_refused(p, MSG_SUBMIT_CHUNK, &chunk, ERR_PROTOCOL);
    submit_chunk(p, &s, 5, 5);
    submit_end(p, &s);
    page = jobs_of(p, s.sweep);
    assert_int_equal(page.jobs.n, 1);
    assert_string_equal(job_at(&page, 0)->param_name, "param_001"); /* {x: 1} was taken back */
    peer_close(p);
    fixture_close(f);
}

static void a_chunk_of_too_many_is_refused(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct submit s = submit_of("demo", 1);
    struct buf configs = { 0 };
    struct msg_submit_chunk chunk;

    (void)state;
    add_configs(&configs, 1, CONFIGS_PER_CHUNK_MAX + 1);
    submit_begin(p, &s);
    chunk = (struct msg_submit_chunk){ s.sweep, 0, buf_bytes(&configs), { 0 } };
    peer_refused(p, MSG_SUBMIT_CHUNK, &chunk, ERR_PROTOCOL);
    buf_clear(&configs);
    s.begin.reps = REPS_MAX;
    add_configs(&configs, 1, 2);
    submit_begin(p, &s);
    chunk = (struct msg_submit_chunk){ s.sweep, 0, buf_bytes(&configs), { 0 } };
    peer_refused(p, MSG_SUBMIT_CHUNK, &chunk, ERR_PROTOCOL);
    submit_chunk(p, &s, 1, 1); /* one always fits */
    assert_int_equal(submit_end(p, &s).queued, REPS_MAX);
    buf_free(&configs);
    peer_close(p);
    fixture_close(f);
}

/* ---- how much work a chunk is, in steps of SQLite's machine: the same on every computer ---- */

enum { STEPS_PER_TICK = 10 };
static int64_t n_ticks;
static sqlite3 *counted;

static int count_tick(void *unused)
{
    (void)unused;
    n_ticks++;
    return 0;
}

static int count_on(sqlite3 *handle, char **why, const void *api)
{
    (void)why;
    (void)api;
    counted = handle;
    sqlite3_progress_handler(handle, STEPS_PER_TICK, count_tick, NULL);
    return SQLITE_OK;
}

static struct fixture *fixture_open_counted(void)
{
    struct fixture *f;

    assert_int_equal(sqlite3_auto_extension((void (*)(void))count_on), SQLITE_OK);
    f = fixture_open();
    sqlite3_reset_auto_extension();
    return f;
}

static void jobs_of_one_second_cost_no_more_for_earlier_submits(void **state)
{
    enum { SUBMITS = 6, REPS = 1000, STEPS_PER_JOB_MAX = 600 };
    struct fixture *f = fixture_open_counted();
    struct peer *p = client_connect(f);
    struct submit submits[SUBMITS];
    int64_t most = 0;

    (void)state;
    for (int i = 0; i < SUBMITS; i++) {
        submits[i] = submit_of("demo", REPS);
        submits[i].begin.reuse = REUSE_NONE;
        submit_begin(p, &submits[i]);
    }
    assert_int_equal(
        sqlite3_exec(counted, "UPDATE sweep SET stamp = '20261121-101500'", NULL, NULL, NULL),
        SQLITE_OK);
    for (int i = 0; i < SUBMITS; i++) {
        n_ticks = 0;
        submit_chunk(p, &submits[i], 1, 1);
        if (n_ticks > most)
            most = n_ticks;
    }
    for (int i = 0; i < SUBMITS; i++)
        assert_int_equal(submit_end(p, &submits[i]).queued, REPS);
    if (most * STEPS_PER_TICK > (int64_t)REPS * STEPS_PER_JOB_MAX)
        fail_msg("a chunk of %d jobs took %lld steps", REPS, (long long)(most * STEPS_PER_TICK));
    peer_close(p);
    fixture_close(f);
}

/* Calls the handler as a turn does that is full already: it may take one step and no more. */
static void a_full_turn_takes_one_step_of_a_chunk(void **state)
{
    enum { REPS = 50, STEPS_PER_CALL_MAX = 2000 };
    struct fixture *f = fixture_open_counted();
    struct peer *p = client_connect(f);
    struct submit s = submit_of("demo", REPS);
    struct envelope envelope = { .type = MSG_SUBMIT_CHUNK };
    struct ask ask = { .conn = p->conn, .envelope = &envelope, .arena = f->arena };
    struct msg_submit_taken taken = { 0 };
    struct msg_submit_chunk chunk;
    struct buf configs = { 0 };
    struct err e = { 0 };
    int n_calls = 0, rc = 1;

    (void)state;
    submit_begin(p, &s);
    add_configs(&configs, 1, 2);
    chunk = (struct msg_submit_chunk){ s.sweep, 0, buf_bytes(&configs), { 0 } };
    assert_int_equal(db_begin(f->sv.db, &e), 0);
    for (; rc == 1; n_calls++) {
        n_ticks = 0;
        f->sv.turn->changes_before = db_changes(f->sv.db) - TURN_ROWS_MAX;
        rc = handle_submit_chunk(&f->sv, &ask, &chunk, &taken, &e);
        assert_true(n_ticks * STEPS_PER_TICK <= STEPS_PER_CALL_MAX);
    }
    assert_int_equal(db_commit(f->sv.db, &e), 0);
    assert_int_equal(rc, 0);
    assert_true(n_calls >= 2 * REPS);
    /* The sweep is as it is after one call. */
    s.sent = 2;
    s.index = 1;
    s.chain = chain_after(&s.chain, buf_bytes(&configs));
    assert_int_equal(submit_end(p, &s).queued, 2 * REPS);
    buf_free(&configs);
    peer_close(p);
    fixture_close(f);
}

/* As when a turn's commit fails after another turn has taken a part. */
static void a_chunk_that_broke_off_is_not_taken_again(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct submit s = submit_of("demo", 10);
    struct envelope envelope = { .type = MSG_SUBMIT_CHUNK };
    struct ask ask = { .conn = p->conn, .envelope = &envelope, .arena = f->arena };
    struct msg_submit_taken taken = { 0 };
    struct msg_submit_chunk chunk;
    struct msg_submit_end end;
    struct buf configs = { 0 };
    struct err e = { 0 };

    (void)state;
    submit_begin(p, &s);
    add_configs(&configs, 1, 2);
    chunk = (struct msg_submit_chunk){ s.sweep, 0, buf_bytes(&configs), { 0 } };
    assert_int_equal(db_begin(f->sv.db, &e), 0);
    f->sv.turn->changes_before = db_changes(f->sv.db) - TURN_ROWS_MAX;
    assert_int_equal(handle_submit_chunk(&f->sv, &ask, &chunk, &taken, &e), 1);
    assert_int_equal(db_commit(f->sv.db, &e), 0);
    peer_refused(p, MSG_SUBMIT_CHUNK, &chunk, ERR_PROTOCOL);
    for (s.sent = 0; s.sent < 3; s.sent++) {
        end = submit_ending(&s);
        peer_refused(p, MSG_SUBMIT_END, &end, s.sent == 0 ? ERR_PROTOCOL : ERR_NOT_FOUND);
        fixture_settle(f);
    }
    buf_free(&configs);
    peer_close(p);
    fixture_close(f);
}

/* ---- limits of one user ---- */

static void one_user_has_limits(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f), *q = client_connect(f);
    struct submit s = submit_of("demo", 10), more = submit_of("demo", 1),
                  third = submit_of("new", 1);
    struct msg_submit_chunk chunk;
    struct buf configs = { 0 };
    struct msg_open_project open = { .project = "newer" };

    (void)state;
    f->sv.conf.open_submits = 2;
    f->sv.conf.queued_jobs = 25;
    f->sv.conf.sweeps = 3;
    f->sv.conf.user_projects = 1;
    submit_begin(p, &s);
    submit_begin(q, &more);
    third.begin.project = "demo";
    assert_non_null(strstr(peer_refused(p, MSG_SUBMIT_BEGIN, &third.begin, ERR_BUSY),
                           "you have 2 submits open, and one user may have 2 (limits:"
                           " open_submits in ludwigd.yaml)"));
    submit_chunk(p, &s, 1, 2);
    add_configs(&configs, 3, 8);
    chunk = (struct msg_submit_chunk){ more.sweep, 0, buf_bytes(&configs), { 0 } };
    assert_non_null(strstr(peer_refused(q, MSG_SUBMIT_CHUNK, &chunk, ERR_BUSY),
                           "you have 20 jobs queued, and one user may have 25"));
    submit_chunk(q, &more, 3, 7);
    submit_end(p, &s);
    submit_end(q, &more);
    third.begin.project = "new";
    assert_non_null(strstr(peer_refused(p, MSG_SUBMIT_BEGIN, &third.begin, ERR_BUSY), "projects"));
    peer_refused(p, MSG_OPEN_PROJECT, &open, ERR_BUSY);
    third.begin.project = "demo";
    submit_begin(p, &third);
    assert_non_null(
        strstr(peer_refused(p, MSG_SUBMIT_BEGIN, &third.begin, ERR_BUSY), "`ludwig rm`"));
    buf_free(&configs);
    peer_close(p);
    peer_close(q);
    fixture_close(f);
}

/* Those of submits that were not ended count as well: they keep their numbers. */
static void one_user_has_so_many_configurations(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct submit s = submit_of("demo", 1), again = submit_of("demo", 1);
    struct msg_submit_chunk chunk;
    struct buf configs = { 0 };

    (void)state;
    f->sv.conf.configurations = 10;
    submit_begin(p, &s);
    submit_chunk(p, &s, 1, 8);
    add_configs(&configs, 7, 11);
    chunk =
        (struct msg_submit_chunk){ .sweep = s.sweep, .index = 1, .configs = buf_bytes(&configs) };
    assert_non_null(strstr(peer_refused(p, MSG_SUBMIT_CHUNK, &chunk, ERR_BUSY),
                           "you have 8 configurations in your projects, and one user may have 10"
                           " (limits: configurations in ludwigd.yaml)"));
    submit_chunk(p, &s, 7, 10);
    submit_end(p, &s);
    submit_begin(p, &again);
    submit_chunk(p, &again, 1, 10);
    submit_end(p, &again);
    buf_free(&configs);
    peer_close(p);
    fixture_close(f);
}

static void a_submit_that_does_not_add_up_is_cleared_away(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct submit s = submit_of("demo", 1);
        struct msg_submit_end end;

        submit_begin(p, &s);
        if (i < 2)
            submit_chunk(p, &s, 1, 3);
        end = submit_ending(&s);
        end.configs += i == 0;
        end.chain.bytes[5] ^= i == 1;
        peer_refused(p, MSG_SUBMIT_END, &end, i < 2 ? ERR_PROTOCOL : ERR_USAGE);
        fixture_settle(f);
        assert_int_equal(count_open(f), 0);
        peer_refused(p, MSG_SUBMIT_END, &end, ERR_NOT_FOUND);
    }
    assert_int_equal(count_sweeps(p), 0);
    peer_close(p);
    fixture_close(f);
}

static void count_leftovers(struct fixture *f, int64_t sweep, int64_t *rows)
{
    struct stmt *s =
        db_ask(f->sv.db, SQL_JOB_PAGE, "iiii", sweep, (int64_t)0, INT64_MAX, INT64_MAX);

    *rows = 0;
    while (stmt_step(s, NULL) == 1)
        ++*rows;
}

static void a_submit_dies_with_its_connection(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct submit s = submit_of("demo", 3);
    int64_t rows;

    (void)state;
    submit_begin(p, &s);
    submit_chunk(p, &s, 1, CONFIGS_PER_CHUNK_MAX);
    count_leftovers(f, s.sweep, &rows);
    assert_int_equal(rows, 3 * CONFIGS_PER_CHUNK_MAX);
    assert_true(rows > CLEAR_AT_ONCE); /* several turns */
    peer_close(p);
    fixture_settle(f);
    assert_int_equal(count_open(f), 0);
    count_leftovers(f, s.sweep, &rows);
    assert_int_equal(rows, 0);
    fixture_close(f);
}

static void a_submit_dies_with_ludwigd(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct submit s = submit_of("demo", 1);

    (void)state;
    submit_begin(p, &s);
    submit_chunk(p, &s, 1, 10);
    server_close(&f->sv); /* before the connection ends, or that could clear it away */
    wire_close(&p->wire);
    fixture_start(f);
    assert_int_equal(count_open(f), 1);
    fixture_settle(f);
    assert_int_equal(count_open(f), 0);
    free(p);
    fixture_close(f);
}

static void nobody_adds_to_anothers_submit(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *other = client_connect(f);
    struct submit s = submit_of("demo", 1);
    struct buf configs = { 0 };
    struct msg_submit_chunk chunk;

    (void)state;
    add_configs(&configs, 1, 1);
    submit_begin(p, &s);
    chunk = (struct msg_submit_chunk){ s.sweep, 0, buf_bytes(&configs), { 0 } };
    peer_refused(other, MSG_SUBMIT_CHUNK, &chunk, ERR_NOT_FOUND);
    buf_free(&configs);
    peer_close(other);
    peer_close(p);
    fixture_close(f);
}

static void asking_twice_to_begin_opens_one_sweep(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct submit s = submit_of("demo", 1);
    struct msg_submit_open first, again;
    struct token id;

    (void)state;
    token_make(&id);
    peer_send_as(p, MSG_SUBMIT_BEGIN, &id, &s.begin);
    peer_expect(p, MSG_SUBMIT_OPEN, &first);
    peer_send_as(p, MSG_SUBMIT_BEGIN, &id, &s.begin);
    peer_expect(p, MSG_SUBMIT_OPEN, &again);
    assert_int_equal(first.sweep, again.sweep);
    assert_int_equal(count_open(f), 1);
    peer_close(p);
    fixture_close(f);
}

static void asking_twice_to_end_answers_twice_the_same(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct submit s = submit_of("demo", 2);
    struct msg_submitted first, again;
    struct msg_submit_end end;
    struct token id;

    (void)state;
    token_make(&id);
    submit_begin(p, &s);
    submit_chunk(p, &s, 1, 3);
    end = submit_ending(&s);
    peer_send_as(p, MSG_SUBMIT_END, &id, &end);
    peer_expect(p, MSG_SUBMITTED, &first);
    peer_close(p); /* the answer may have been lost: it is asked for on a new connection */
    p = client_connect(f);
    peer_send_as(p, MSG_SUBMIT_END, &id, &end);
    peer_expect(p, MSG_SUBMITTED, &again);
    assert_int_equal(again.sweep, first.sweep);
    assert_int_equal(again.queued, 6);
    assert_int_equal(count_sweeps(p), 1);
    peer_close(p);
    fixture_close(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_configuration_and_replication_becomes_a_queued_job),
        cmocka_unit_test(a_sweep_is_invisible_until_its_last_chunk),
        cmocka_unit_test(a_configuration_keeps_its_number_in_every_later_submit),
        cmocka_unit_test(numbers_are_compared_as_numbers),
        cmocka_unit_test(a_configuration_sent_twice_is_taken_once),
        cmocka_unit_test(jobs_of_one_second_get_different_names),
        cmocka_unit_test(what_is_done_is_reused_as_asked),
        cmocka_unit_test(a_sweep_with_nothing_to_run_is_done_at_once),
        cmocka_unit_test(a_job_that_failed_is_not_reused),
        cmocka_unit_test(a_wrong_begin_is_refused_and_says_why),
        cmocka_unit_test(what_is_asked_for_is_kept),
        cmocka_unit_test(more_than_a_table_allows_ends_the_connection),
        cmocka_unit_test(a_project_belongs_to_who_first_used_it),
        cmocka_unit_test(the_project_gets_its_folder),
        cmocka_unit_test(uids_of_the_system_may_not_submit),
        cmocka_unit_test(a_chunk_out_of_order_is_refused),
        cmocka_unit_test(a_chunk_that_is_no_list_of_maps_leaves_nothing),
        cmocka_unit_test(a_chunk_of_too_many_is_refused),
        cmocka_unit_test(jobs_of_one_second_cost_no_more_for_earlier_submits),
        cmocka_unit_test(a_full_turn_takes_one_step_of_a_chunk),
        cmocka_unit_test(a_chunk_that_broke_off_is_not_taken_again),
        cmocka_unit_test(one_user_has_limits),
        cmocka_unit_test(one_user_has_so_many_configurations),
        cmocka_unit_test(a_submit_that_does_not_add_up_is_cleared_away),
        cmocka_unit_test(a_submit_dies_with_its_connection),
        cmocka_unit_test(a_submit_dies_with_ludwigd),
        cmocka_unit_test(nobody_adds_to_anothers_submit),
        cmocka_unit_test(asking_twice_to_begin_opens_one_sweep),
        cmocka_unit_test(asking_twice_to_end_answers_twice_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
