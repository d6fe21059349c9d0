/* SPDX-License-Identifier: MIT */
/* slurmread.c - tests of reading what Slurm's commands print */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "server/slurm/slurmread.h"
#include "tests/unit/slurm_records.h"
#include "tests/unit/slurm_words.h"

#define S SLURM_SEPARATOR

/* ---- forms ---- */

static void test_numbers(void **state)
{
    static const struct {
        const char *text;
        int64_t number;
    } cases[] = {
        { "0", 0 },
        { "16", 16 },
        { "300 sec", 300 },
        { "64000+", 64000 },
        { "64K", 65536 },
        { "2G", (int64_t)2 << 30 },
        { "", SLURM_NONE },
        { "N/A", SLURM_NONE },
        { "UNLIMITED", SLURM_NONE },
        { "Unknown", SLURM_NONE },
        { "-1", SLURM_NONE },
        { "12x", SLURM_NONE },
        { "9007199254740992", (int64_t)1 << 53 },
        { "9007199254740993", SLURM_NONE },
        { "99999999999999999999999999", SLURM_NONE },
        { "9007199254740992G", SLURM_NONE },
        { NULL, SLURM_NONE },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (slurm_number(cases[i].text) != cases[i].number)
            fail_msg("'%s' is %lld", cases[i].text, (long long)slurm_number(cases[i].text));
}

static void test_times(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds;
    } cases[] = {
        { "30", 1800 },
        { "02:30", 150 },
        { "4:00:00", 14400 },
        { "1-02", 93600 },
        { "1-02:30", 95400 },
        { "7-00:00:00", 604800 },
        { "UNLIMITED", SLURM_NONE },
        { "n/a", SLURM_NONE },
        { "NONE", SLURM_NONE },
        { "", SLURM_NONE },
        { "1-", SLURM_NONE },
        { "-3", SLURM_NONE },
        { "1:2:3:4", SLURM_NONE },
        { "1:", SLURM_NONE },
        { "999999999999999-00:00:00", SLURM_NONE },
        { "9007199254740992:00", SLURM_NONE },
        { NULL, SLURM_NONE },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t ms = slurm_time_ms(cases[i].text);

        if (ms != (cases[i].seconds == SLURM_NONE ? SLURM_NONE : cases[i].seconds * 1000))
            fail_msg("'%s' is %lld ms", cases[i].text, (long long)ms);
    }
}

static void test_sets_of_array_tasks(void **state)
{
    static const struct {
        const char *set;
        int64_t count, has, has_not;
    } cases[] = {
        { "5", 1, 5, 4 },
        { "0-9", 10, 9, 10 },
        { "0-9%2", 10, 0, 10 },
        { "[3,7%3]", 2, 7, 5 },
        { "[4-5]", 2, 4, 3 },
        { "1-9:4", 3, 5, 4 },
        { "0-3,7-11:2%4", 7, 11, 10 },
        { "", 0, -2, 0 },
        { "a", 0, -2, 0 },
        { "9-1", 0, -2, 5 },
        { "1-9:0", 0, -2, 1 },
        { "1,2,...", 0, 2, 3 },
        { "0-99999999999999999999", 0, -2, 1 },
        { NULL, 0, -2, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *set = cases[i].set;

        if (slurm_set_count(set) != cases[i].count)
            fail_msg("'%s' are %lld", set, (long long)slurm_set_count(set));
        if (cases[i].has != -2 && !slurm_set_has(set, cases[i].has))
            fail_msg("'%s' has no %lld", set, (long long)cases[i].has);
        if (slurm_set_has(set, cases[i].has_not))
            fail_msg("'%s' has %lld", set, (long long)cases[i].has_not);
    }
}

static void test_gpus_among_generic_resources(void **state)
{
    static const struct {
        const char *gres;
        int64_t gpus;
    } cases[] = {
        { "(null)", 0 },
        { "", 0 },
        { NULL, 0 },
        { "gpu", 1 },
        { "gpu:8", 8 },
        { "gpu:a40:8", 8 },
        { "gpu:a40:8(S:0-1)", 8 },
        { "gpu:a40:4(IDX:0,2,5-6),gpu:rtx_6000:2(S:1)", 6 },
        { "gpu:h100", 1 },
        { "shard:8,gpu:2", 2 },
        { "gpus:3", 0 },
        { "gpu_mem:3", 0 },
        { "craynetwork:4,nvme:1", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (slurm_gres_gpus(cases[i].gres) != cases[i].gpus)
            fail_msg("'%s' has %lld", cases[i].gres, (long long)slurm_gres_gpus(cases[i].gres));
}

/* ---- rows ---- */

static void test_rows_that_are_no_jobs_are_passed_over(void **state)
{
    static const char text[] = "7" S "7" S "N/A" S "PENDING" S "short" S "100" S "N/A" S "N/A" S
                               "" S "alice" S "Priority" S "a name" S "(null)\n"
                               "9" S "7" S "4-9%2" S "PENDING" S "short" S "100" S "N/A" S "N/A" S
                               "" S "alice" S "JobArrayTaskLimit" S "an array" S "a comment\n"
                               "\n"
                               "8" S "8" S "N/A" S "PENDING" S "short" S "100" S "N/A" S "N/A" S
                               "" S "alice" S "Priority" S "a line\nbreak" S "(null)\n"
                               "8" S "8" S "N/A" S "PENDING" S "short" S "100" S "N/A" S "N/A" S
                               "" S "alice" S "Priority" S "one" S "too" S "many\n"
                               "0" S "8" S "N/A" S "PENDING" S "short" S "100" S "N/A" S "N/A" S
                               "" S "alice" S "Priority" S "no id" S "(null)\n"
                               "3" S "3" S "many" S "PENDING" S "short" S "100" S "N/A" S "N/A" S
                               "" S "alice" S "Priority" S "no set" S "(null)\n"
                               "slurm_load_jobs error: Unable to contact slurm controller\n"
                               "5" S "5" S "N/A" S "RUNN";
    struct arena *a = arena_create();
    struct slurm_answer answer;

    (void)state;
    assert_int_equal(slurm_read(SLURM_JOBS, text, sizeof text - 1, a, &answer, NULL), 0);
    assert_int_equal(answer.n, 2);
    assert_int_equal(answer.n_passed_over, 7);
    assert_int_equal(answer.jobs[0].id, 7);
    assert_null(answer.jobs[0].tasks);
    assert_null(answer.jobs[0].comment);
    assert_int_equal(answer.jobs[0].submitted_s, 100);
    assert_int_equal(answer.jobs[1].array_id, 7);
    assert_int_equal(slurm_set_count(answer.jobs[1].tasks), 6);
    assert_string_equal(answer.jobs[1].comment, "a comment");
    arena_destroy(a);
}

static void test_ended_jobs_say_how(void **state)
{
    static const char text[] = "30" S "25_1" S "CANCELLED by 1000" S "0:15" S "short" S "100" S
                               "101" S "102" S "node1" S "alice" S "name\n"
                               "25" S "25_[3,7%3]" S "CANCELLED by 0" S "0:0" S "short" S "100" S
                               "Unknown" S "102" S "None assigned" S "alice" S "name\n"
                               "26" S "26" S "FAILED" S "3:0" S "short" S "100" S "101" S "102" S
                               "node1" S "alice" S "name\n"
                               "27" S "27.batch" S "FAILED" S "3:0" S "short" S "100" S "101" S
                               "102" S "node1" S "alice" S "name\n";
    struct arena *a = arena_create();
    struct slurm_answer answer;

    (void)state;
    assert_int_equal(slurm_read(SLURM_ENDED, text, sizeof text - 1, a, &answer, NULL), 0);
    assert_int_equal(answer.n, 3);
    assert_int_equal(answer.n_passed_over, 1);
    assert_int_equal(answer.ended[0].id, 30);
    assert_int_equal(answer.ended[0].array_id, 25);
    assert_string_equal(answer.ended[0].tasks, "1");
    assert_int_equal(answer.ended[0].signal, 15);
    assert_int_equal(slurm_set_count(answer.ended[1].tasks), 2);
    assert_int_equal(answer.ended[2].signal, 0);
    assert_null(answer.ended[2].tasks);
    arena_destroy(a);
}

/* As the manuals and release notes of these versions show them. */
static const struct {
    const char *version, *line;
    const char *name, *qos;
} partitions[] = {
    { "21.08",
      "PartitionName=debug AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL "
      "Default=YES QoS=N/A DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 "
      "Hidden=NO MaxNodes=UNLIMITED MaxTime=UNLIMITED MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED "
      "Nodes=n[1-4] PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO "
      "OverTimeLimit=NONE PreemptMode=OFF State=UP TotalCPUs=64 TotalNodes=4 "
      "SelectTypeParameters=NONE JobDefaults=(null) DefMemPerNode=UNLIMITED "
      "MaxMemPerNode=UNLIMITED",
      "debug", NULL },
    { "22.05, with GraceTime",
      "PartitionName=user-overcap AllowGroups=ALL AllowAccounts=overcap AllowQos=ALL Default=NO "
      "QoS=N/A DefaultTime=04:00:00 GraceTime=15 MaxTime=2-00:00:00 PreemptMode=REQUEUE State=UP",
      "user-overcap", NULL },
    { "23.11, down, two more keys",
      "PartitionName=long AllowGroups=ALL DenyAccounts=guests,students AllowQos=ALL "
      "AllocNodes=ALL Default=NO QoS=long DefaultTime=1-00:00:00 DisableRootJobs=NO "
      "ExclusiveUser=NO ExclusiveTopo=NO GraceTime=0 Hidden=NO MaxNodes=UNLIMITED "
      "MaxTime=7-00:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED MaxCPUsPerSocket=UNLIMITED "
      "Nodes=n[1-4] State=DOWN TotalCPUs=64 TotalNodes=4 ResumeTimeout=GLOBAL SuspendTime=GLOBAL",
      "long", "long" },
    { "25, drained",
      "PartitionName=short AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL Default=YES QoS=N/A "
      "DefaultTime=01:00:00 GraceTime=60 MaxTime=08:00:00 State=DRAIN TRES=cpu=64,mem=1T",
      "short", NULL },
};

static void test_partitions_of_all_versions(void **state)
{
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof partitions / sizeof *partitions; i++) {
        struct slurm_answer answer;
        const struct slurm_partition *p;

        assert_int_equal(
            slurm_read_partitions(partitions[i].line, strlen(partitions[i].line), a, &answer, NULL),
            0);
        assert_int_equal(answer.n, 1);
        p = answer.partitions;
        if (strcmp(p->name, partitions[i].name) != 0 ||
            strcmp(p->qos != NULL ? p->qos : "",
                   partitions[i].qos != NULL ? partitions[i].qos : "") != 0)
            fail_msg("%s", partitions[i].version);
    }
    arena_destroy(a);
}

static void test_nodes_that_are_away_are_not_usable(void **state)
{
    static const struct {
        const char *state;
        bool is_usable;
    } cases[] = {
        { "idle", true },           { "mixed", true },     { "allocated", true },
        { "completing", true },     { "planned", true },   { "idle~", true },
        { "mixed#", true },         { "idle*", false },    { "down", false },
        { "down*", false },         { "drained", false },  { "draining", false },
        { "maint", false },         { "reserved", false }, { "inval", false },
        { "powering_down", false }, { "future", false },   { "", false },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slurm_answer answer;
        char *row = arena_printf(a,
                                 "short" S "up" S "%s" S "4" S "16" S "64000" S "a40,nvlink" S
                                 "gpu:a40:8" S "2-00:00:00" S "n/a\n",
                                 cases[i].state);

        assert_int_equal(slurm_read(SLURM_NODES, row, strlen(row), a, &answer, NULL), 0);
        assert_int_equal(answer.n, 1);
        if (answer.nodes->is_usable != cases[i].is_usable)
            fail_msg("%s", cases[i].state);
        assert_int_equal(answer.nodes->gpus, 8);
    }
    arena_destroy(a);
}

static const struct {
    const char *what, *text;
    int64_t bucket, refill;
    bool warns, has_accounting;
} configs[] = {
    { "as it comes", "SLURM_VERSION           = 21.08.5\nEnforcePartLimits       = NO\n", 0, 0,
      false, false },
    { "all that it can say",
      "SLURM_VERSION           = 23.11.4\n"
      "AccountingStorageType   = accounting_storage/slurmdbd\n"
      "EnforcePartLimits       = ANY\n"
      "SchedulerParameters     = defer,max_script_size=1000\n"
      "SlurmctldParameters     = preempt_send_user_signal,rl_enable,rl_bucket_size=50,"
      "rl_refill_rate=5\n",
      50, 5, true, true },
    { "a limit of calls with Slurm's own figures",
      "SLURM_VERSION           = 25.05.0\nSlurmctldParameters     = rl_enable\n"
      "AccountingStorageType   = (null)\n",
      30, 2, false, false },
    { "an option that only begins like it",
      "SLURM_VERSION           = 24.11.0\nSlurmctldParameters     = rl_enabled_not\n", 0, 0, false,
      false },
};

static void test_configurations(void **state)
{
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        struct slurm_config c;

        assert_int_equal(slurm_read_config(configs[i].text, strlen(configs[i].text), a, &c, NULL),
                         0);
        if (c.rpc_bucket != configs[i].bucket || c.rpc_refill != configs[i].refill ||
            c.warns_of_preemption != configs[i].warns ||
            c.has_accounting != configs[i].has_accounting)
            fail_msg("%s", configs[i].what);
        assert_memory_equal(c.version, configs[i].text + strlen("SLURM_VERSION           = "), 5);
    }
    arena_destroy(a);
}

static void test_what_is_no_configuration_is_refused(void **state)
{
    struct arena *a = arena_create();
    struct err e = { 0 };
    struct slurm_config c;

    (void)state;
    assert_int_equal(slurm_read_config("", 0, a, &c, &e), -1);
    assert_int_equal(e.kind, ERR_PROTOCOL);
    arena_destroy(a);
}

static void test_rows_without_the_mark_are_of_users(void **state)
{
    static const char text[] = "abc17\x1f"
                               "18\nabd19\nab\n\n17\x1f"
                               "19\n abc20\nabc\nabc21";
    struct buf rows = { 0 };

    (void)state;
    slurm_keep_marked(text, sizeof text - 1, "abc", &rows);
    assert_string_equal(buf_text(&rows), "17\x1f"
                                         "18\n\n21\n");
    buf_free(&rows);
}

static void test_submitted_ids(void **state)
{
    static const struct {
        const char *text;
        int64_t id; /* 0: it is none */
    } cases[] = {
        { "17\n", 17 },
        { "17;skynet\n", 17 },
        { "17", 17 },
        { "", 0 },
        { "0\n", 0 },
        { "-3\n", 0 },
        { "4294967293\n", 4294967293 },
        { "4294967294\n", 0 },
        { "18446744073709551615\n", 0 },
        { "sbatch: error: no\n", 0 },
        { "Submitted batch job 17\n", 17 },
        { "Submitted batch job 17 on cluster skynet\n", 17 },
        { "Submitted batch job x\n", 0 },
        { "Project kira-lab has 42 hours left\n17;skynet\nBye\n", 17 },
        { "3 hints:\r\n17\r\n", 17 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t id;
        struct err e = { 0 };
        int rc = slurm_read_submitted(cases[i].text, strlen(cases[i].text), &id, &e);

        assert_int_equal(rc, cases[i].id == 0 ? -1 : 0);
        if (rc == 0)
            assert_int_equal(id, cases[i].id);
    }
}

static void test_more_than_anybody_reads_is_refused(void **state)
{
    size_t n = SLURM_ROWS_MAX + 1;
    char *text = mem_alloc(n);
    struct arena *a = arena_create();
    struct slurm_answer answer;
    struct err e = { 0 };

    (void)state;
    memset(text, '\n', n);
    assert_int_equal(slurm_read(SLURM_JOBS, text, n, a, &answer, &e), -1);
    assert_int_equal(answer.n, 0);
    free(text);
    arena_destroy(a);
}

/* ---- what was recorded ---- */

/* A job is called by what is expected of it: PHASE.JOBS.WHAT; other names are nobody's. */
static bool hold_against_name(const char *name, const struct slurm_meaning *m)
{
    char *expected;
    bool is_expectation = strchr(name, '.') != NULL;

    if (!is_expectation)
        return false;
    expected = mem_printf("%s.%s.", phase_names[m->phase], jobs_names[m->jobs]);
    if (strncmp(name, expected, strlen(expected)) != 0)
        fail_msg("%s is %s%s", name, expected, slurm_state_name(m->state));
    free(expected);
    return true;
}

static void check_jobs(const char *folder)
{
    struct buf text = { 0 };
    struct arena *a = arena_create();
    struct slurm_answer answer;
    int n = 0;

    records_read(folder, "jobs", &text);
    assert_int_equal(slurm_read(SLURM_JOBS, buf_text(&text), text.n, a, &answer, NULL), 0);
    for (size_t i = 0; i < answer.n; i++) {
        const struct slurm_job *j = &answer.jobs[i];
        struct slurm_seen seen = { .squeue = SLURM_SAYS, .state = j->state, .reason = j->reason };
        struct slurm_meaning m = slurm_judge(&seen);

        n += hold_against_name(j->name, &m);
        assert_true(j->submitted_s > 1700000000);
    }
    assert_true(n >= 20);
    /* two lines of one name, and a row of too many cells */
    assert_int_equal(answer.n_passed_over, 3);
    arena_destroy(a);
    buf_free(&text);
}

static void check_ended(const char *folder)
{
    struct buf text = { 0 };
    struct arena *a = arena_create();
    struct slurm_answer answer;
    int n = 0;

    records_read(folder, "ended", &text);
    assert_int_equal(slurm_read(SLURM_ENDED, buf_text(&text), text.n, a, &answer, NULL), 0);
    for (size_t i = 0; i < answer.n; i++) {
        const struct slurm_ended *j = &answer.ended[i];
        struct slurm_seen seen = {
            .squeue = SLURM_HAS_NONE, .has_accounting = true, .sacct = SLURM_SAYS, .ended = j->state
        };
        struct slurm_meaning m = slurm_judge(&seen);

        if (strncmp(j->name, "ended.", strlen("ended.")) == 0)
            n += hold_against_name(j->name, &m);
    }
    assert_true(n >= 7);
    arena_destroy(a);
    buf_free(&text);
}

static void check_cluster(const char *folder)
{
    struct buf text = { 0 };
    struct arena *a = arena_create();
    struct slurm_answer answer;
    struct slurm_config config;

    records_read(folder, "config", &text);
    assert_int_equal(slurm_read_config(buf_text(&text), text.n, a, &config, NULL), 0);
    assert_true(atoi(config.version) >= 21);
    assert_int_equal(config.max_array_size, 1001);
    assert_int_equal(config.kill_wait_s, 5);
    assert_true(config.has_accounting);
    assert_string_equal(config.cluster, "skynet");
    records_read(folder, "partitions", &text);
    assert_int_equal(slurm_read_partitions(buf_text(&text), text.n, a, &answer, NULL), 0);
    assert_int_equal(answer.n, 5);
    assert_string_equal(answer.partitions[1].name, "short");
    assert_null(answer.partitions[1].qos);
    arena_destroy(a);
    buf_free(&text);
}

static void check_nodes(const char *folder)
{
    struct buf text = { 0 };
    struct arena *a = arena_create();
    struct slurm_answer answer;
    int64_t n = 0, usable = 0;

    records_read(folder, "nodes", &text);
    assert_int_equal(slurm_read(SLURM_NODES, buf_text(&text), text.n, a, &answer, NULL), 0);
    for (size_t i = 0; i < answer.n; i++) {
        assert_int_equal(answer.nodes[i].gpus, 8);
        assert_int_equal(answer.nodes[i].cpus, 16);
        assert_int_equal(answer.nodes[i].memory_mb, 64000);
        if (strcmp(answer.nodes[i].partition, "short") == 0) {
            n += answer.nodes[i].n;
            assert_int_equal(answer.nodes[i].max_time_ms, 48 * 3600000);
            assert_int_equal(answer.nodes[i].default_time_ms, 4 * 3600000);
            usable += answer.nodes[i].is_usable ? answer.nodes[i].n : 0;
        }
    }
    assert_int_equal(n, 3);
    assert_int_equal(usable, 2); /* one has no power */
    assert_int_equal(answer.n_passed_over, 0);
    arena_destroy(a);
    buf_free(&text);
}

static void check_accounts(const char *folder)
{
    struct buf text = { 0 };
    struct arena *a = arena_create();
    struct slurm_answer answer;
    bool has_limit = false, has_account = false;

    records_read(folder, "assocs", &text);
    assert_int_equal(slurm_read(SLURM_ASSOCS, buf_text(&text), text.n, a, &answer, NULL), 0);
    assert_true(answer.n >= 3);
    records_read(folder, "qos", &text);
    assert_int_equal(slurm_read(SLURM_QOS, buf_text(&text), text.n, a, &answer, NULL), 0);
    for (size_t i = 0; i < answer.n; i++)
        if (strcmp(answer.qos[i].name, "debug") == 0) {
            assert_int_equal(answer.qos[i].max_jobs_per_user, 1);
            has_limit = true;
        }
    assert_true(has_limit);
    records_read(folder, "users", &text);
    assert_int_equal(slurm_read(SLURM_USERS, buf_text(&text), text.n, a, &answer, NULL), 0);
    /* Of whoever recorded them; another one is root, whose account is root's. */
    for (size_t i = 0; i < answer.n; i++)
        has_account |= strcmp(answer.users[i].account, "kira-lab") == 0;
    assert_true(has_account);
    arena_destroy(a);
    buf_free(&text);
}

static void test_recorded_jobs_are_what_their_names_say(void **state)
{
    (void)state;
    records_each(check_jobs);
}

static void test_recorded_ends_are_what_their_names_say(void **state)
{
    (void)state;
    records_each(check_ended);
}

static void test_recorded_clusters_are_understood(void **state)
{
    (void)state;
    records_each(check_cluster);
    records_each(check_nodes);
    records_each(check_accounts);
}

/* ---- */

/* For tests/functional/slurm_records.sh. */
static int print_format(const char *name)
{
    static const struct {
        const char *name, *format;
    } formats[] = {
        { "JOBS_FORMAT", SLURM_JOBS_FORMAT },   { "ENDED_FIELDS", SLURM_ENDED_FIELDS },
        { "NODES_FORMAT", SLURM_NODES_FORMAT }, { "ASSOC_FIELDS", SLURM_ASSOC_FIELDS },
        { "QOS_FIELDS", SLURM_QOS_FIELDS },     { "USER_FIELDS", SLURM_USER_FIELDS },
    };

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, name) == 0)
            return puts(formats[i].format) < 0;
    return 1;
}

static int64_t kill_wait_of(const char *line)
{
    struct arena *a = arena_create();
    char *text = mem_printf("SLURM_VERSION           = 23.11.4\n%s", line);
    struct slurm_config config;
    int64_t kill_wait_s;

    assert_int_equal(slurm_read_config(text, strlen(text), a, &config, NULL), 0);
    kill_wait_s = config.kill_wait_s;
    free(text);
    arena_destroy(a);
    return kill_wait_s;
}

static void test_that_nothing_is_waited_for_is_known(void **state)
{
    (void)state;
    assert_int_equal(kill_wait_of("KillWait                = 30 sec\n"), 30);
    assert_int_equal(kill_wait_of("KillWait                = 0 sec\n"), 0);
    assert_int_equal(kill_wait_of(""), SLURM_NONE);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_that_nothing_is_waited_for_is_known),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_sets_of_array_tasks),
        cmocka_unit_test(test_gpus_among_generic_resources),
        cmocka_unit_test(test_rows_that_are_no_jobs_are_passed_over),
        cmocka_unit_test(test_ended_jobs_say_how),
        cmocka_unit_test(test_partitions_of_all_versions),
        cmocka_unit_test(test_nodes_that_are_away_are_not_usable),
        cmocka_unit_test(test_configurations),
        cmocka_unit_test(test_what_is_no_configuration_is_refused),
        cmocka_unit_test(test_submitted_ids),
        cmocka_unit_test(test_rows_without_the_mark_are_of_users),
        cmocka_unit_test(test_more_than_anybody_reads_is_refused),
        cmocka_unit_test(test_recorded_jobs_are_what_their_names_say),
        cmocka_unit_test(test_recorded_ends_are_what_their_names_say),
        cmocka_unit_test(test_recorded_clusters_are_understood),
    };

    if (argc == 3 && strcmp(argv[1], "--print") == 0)
        return print_format(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
