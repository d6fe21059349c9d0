/* SPDX-License-Identifier: MIT */
/* slurmstate.c - tests of what Slurm's states mean, and of docs/slurm.md against the tables */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "tests/unit/doc.h"
#include "tests/unit/slurm_words.h"

#define X(value, name, ...) [value] = name,
static const char *const next_names[] = { PILOT_NEXTS(X) };
#undef X

static const struct {
    const char *what;
    struct slurm_seen seen;
    const char *expected; /* phase jobs cause next */
} cases[] = {
    /* what squeue says of one whose worker was not heard of */
    { "waits",
      { .squeue = SLURM_SAYS, .state = "PENDING", .reason = "Priority" },
      "waits stay none none" },
    { "waits, and there is no reason",
      { .squeue = SLURM_SAYS, .state = "PENDING", .reason = NULL },
      "waits stay none none" },
    { "waits for what nobody has heard of",
      { .squeue = SLURM_SAYS, .state = "PENDING", .reason = "SomethingNew" },
      "waits stay none none" },
    { "can never start",
      { .squeue = SLURM_SAYS, .state = "PENDING", .reason = "PartitionTimeLimit" },
      "never stay none none" },
    { "has its nodes",
      { .squeue = SLURM_SAYS, .state = "CONFIGURING", .reason = "None" },
      "starts stay none none" },
    { "runs",
      { .squeue = SLURM_SAYS, .state = "RUNNING", .reason = "None" },
      "runs stay none none" },
    { "a reason counts only for those that wait",
      { .squeue = SLURM_SAYS, .state = "RUNNING", .reason = "PartitionTimeLimit" },
      "runs stay none none" },
    { "reached its walltime",
      { .squeue = SLURM_SAYS, .state = "TIMEOUT", .reason = "TimeLimit" },
      "ended back walltime now" },
    { "was preempted",
      { .squeue = SLURM_SAYS, .state = "PREEMPTED", .reason = "None" },
      "ended back preempted now" },
    { "held after a failure",
      { .squeue = SLURM_SAYS, .state = "PENDING", .reason = "launch failed requeued held" },
      "stuck stay none later" },
    { "the same as scontrol writes it",
      { .squeue = SLURM_SAYS, .state = "PENDING", .reason = "launch_failed_requeued_held" },
      "stuck stay none later" },
    { "a state of a later Slurm",
      { .squeue = SLURM_SAYS, .state = "DREAMING", .reason = "None" },
      "unclear lease none none" },
    { "a state with nothing in it",
      { .squeue = SLURM_SAYS, .state = "", .reason = "" },
      "unclear lease none none" },

    /* gone from the queue */
    { "accounting knows how it ended",
      { .squeue = SLURM_HAS_NONE,
        .has_accounting = true,
        .sacct = SLURM_SAYS,
        .ended = "NODE_FAIL" },
      "ended back node-lost now" },
    { "who cancelled it",
      { .squeue = SLURM_HAS_NONE,
        .has_accounting = true,
        .sacct = SLURM_SAYS,
        .ended = "CANCELLED by 1000" },
      "ended back preempted later" },
    { "a name that was cut short",
      { .squeue = SLURM_HAS_NONE,
        .has_accounting = true,
        .sacct = SLURM_SAYS,
        .ended = "CANCELLED+" },
      "ended back preempted later" },
    { "accounting lags",
      { .squeue = SLURM_HAS_NONE, .has_accounting = true, .sacct = SLURM_SAYS, .ended = "RUNNING" },
      "ended lease none now" },
    { "accounting does not know it",
      { .squeue = SLURM_HAS_NONE, .has_accounting = true, .sacct = SLURM_HAS_NONE },
      "ended lease none now" },
    { "accounting does not answer",
      { .squeue = SLURM_HAS_NONE, .has_accounting = true },
      "ended lease none now" },
    { "there is no accounting", { .squeue = SLURM_HAS_NONE }, "ended lease none now" },

    /* an id that is another's now */
    { "its id was given to another job",
      { .squeue = SLURM_SAYS, .state = "RUNNING", .reason = "None", .is_other = true },
      "ended lease none now" },
    { "and accounting knows both",
      { .squeue = SLURM_SAYS,
        .state = "RUNNING",
        .reason = "None",
        .is_other = true,
        .has_accounting = true,
        .sacct = SLURM_SAYS,
        .ended = "COMPLETED" },
      "ended back preempted now" },
    { "and accounting has the other alone",
      { .squeue = SLURM_SAYS,
        .state = "RUNNING",
        .reason = "None",
        .is_other = true,
        .has_accounting = true,
        .sacct = SLURM_SAYS,
        .ended = "COMPLETED",
        .is_other_ended = true },
      "ended lease none now" },

    /* slurmctld does not answer */
    { "nobody answers", { .squeue = SLURM_SAID_NOTHING }, "unclear lease none none" },
    { "accounting still does",
      { .squeue = SLURM_SAID_NOTHING,
        .has_accounting = true,
        .sacct = SLURM_SAYS,
        .ended = "TIMEOUT" },
      "ended back walltime now" },
    { "accounting still says that it runs",
      { .squeue = SLURM_SAID_NOTHING,
        .has_accounting = true,
        .sacct = SLURM_SAYS,
        .ended = "RUNNING" },
      "unclear lease none none" },

    /* the worker's own word */
    { "it is connected, and Slurm has it in an older state",
      { .squeue = SLURM_SAYS, .state = "PENDING", .reason = "Priority", .worker = WORKER_THERE },
      "runs stay none none" },
    { "it is connected, and Slurm thinks that it can never start",
      { .squeue = SLURM_SAYS,
        .state = "PENDING",
        .reason = "PartitionTimeLimit",
        .worker = WORKER_THERE },
      "runs stay none none" },
    { "it is connected, and Slurm has lost it",
      { .squeue = SLURM_HAS_NONE, .has_accounting = true, .worker = WORKER_THERE },
      "runs stay none none" },
    { "it is connected, and Slurm is away", { .worker = WORKER_THERE }, "runs stay none none" },
    { "it is connected, and told to end",
      { .squeue = SLURM_SAYS, .state = "COMPLETING", .reason = "None", .worker = WORKER_THERE },
      "ends stay none none" },
    { "it is connected, and stands still",
      { .squeue = SLURM_SAYS, .state = "SUSPENDED", .reason = "None", .worker = WORKER_THERE },
      "stopped stay none none" },
    { "its connection ended, and Slurm says that it runs",
      { .squeue = SLURM_SAYS, .state = "RUNNING", .reason = "None", .worker = WORKER_AWAY },
      "runs lease none none" },
    { "its connection ended, and it was requeued",
      { .squeue = SLURM_SAYS, .state = "REQUEUED", .reason = "None", .worker = WORKER_AWAY },
      "waits back preempted none" },
    { "its connection ended, and it was requeued and is held",
      { .squeue = SLURM_SAYS,
        .state = "PENDING",
        .reason = "job requeued in held state",
        .worker = WORKER_AWAY },
      "stuck back preempted later" },
    { "its connection ended, and slurmctld came back with an older state",
      { .squeue = SLURM_SAYS, .state = "PENDING", .reason = "Priority", .worker = WORKER_AWAY },
      "unclear lease none none" },
    { "the same, with a begin that lay ahead then",
      { .squeue = SLURM_SAYS, .state = "PENDING", .reason = "BeginTime", .worker = WORKER_AWAY },
      "unclear lease none none" },
    { "the same, and slurmctld tried to start it once more",
      { .squeue = SLURM_SAYS,
        .state = "PENDING",
        .reason = "launch failed requeued held",
        .worker = WORKER_AWAY },
      "unclear lease none none" },
    { "the same, and such a one could not begin any more",
      { .squeue = SLURM_SAYS,
        .state = "PENDING",
        .reason = "PartitionTimeLimit",
        .worker = WORKER_AWAY },
      "unclear lease none none" },
    { "its connection ended with its node",
      { .squeue = SLURM_SAYS, .state = "NODE_FAIL", .reason = "NodeDown", .worker = WORKER_AWAY },
      "ended back node-lost now" },
    { "its connection ended, and it was killed",
      { .squeue = SLURM_SAYS,
        .state = "FAILED",
        .reason = "JobLaunchFailure",
        .worker = WORKER_AWAY },
      "ended back preempted later" },
    { "the same as a later Slurm says it",
      { .squeue = SLURM_SAYS,
        .state = "FAILED",
        .reason = "RaisedSignal:9(Killed)",
        .worker = WORKER_AWAY },
      "ended back preempted later" },
    { "the same as accounting has it",
      { .squeue = SLURM_HAS_NONE,
        .has_accounting = true,
        .sacct = SLURM_SAYS,
        .ended = "FAILED",
        .signal = 9,
        .worker = WORKER_AWAY },
      "ended back preempted later" },
    { "its connection ended, and it has failed by itself",
      { .squeue = SLURM_SAYS,
        .state = "FAILED",
        .reason = "NonZeroExitCode",
        .worker = WORKER_AWAY },
      "ended back node-lost later" },
    { "it could not be launched",
      { .squeue = SLURM_SAYS, .state = "FAILED", .reason = "JobLaunchFailure" },
      "ended back node-lost later" },
};

static char *said(const struct slurm_meaning *m)
{
    return mem_printf("%s %s %s %s", phase_names[m->phase], jobs_names[m->jobs],
                      cause_names[m->cause], next_names[m->next]);
}

static void test_what_slurm_says_means(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slurm_meaning m = slurm_judge(&cases[i].seen);
        char *text = said(&m);

        if (strcmp(text, cases[i].expected) != 0)
            fail_msg("%s: %s", cases[i].what, text);
        assert_true(*m.words != '\0');
        free(text);
    }
}

static const struct {
    const char *reason;
    enum pilot_phase phase;
} reasons[] = {
    { "Resources", PILOT_WAITS },
    { "BeginTime", PILOT_WAITS },
    { "ReqNodeNotAvail, UnavailableNodes:node[1-3]", PILOT_WAITS },
    { "ReqNodeNotAvail, Reserved for maintenance", PILOT_WAITS },
    { "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
      PILOT_WAITS },
    { "JobHeldUser", PILOT_HELD },
    { "JobHeldAdmin", PILOT_HELD },
    { "user env retrieval failed requeued held", PILOT_STUCK },
    { "JobHoldMaxRequeue", PILOT_STUCK },
    { "PartitionNodeLimit", PILOT_NEVER },
    { "PartitionConfig", PILOT_NEVER },
    { "BadConstraints", PILOT_NEVER },
    { "AccountNotAllowed", PILOT_NEVER },
    { "Job's account not permitted to use this partition (x allows a not b)", PILOT_NEVER },
    { "Job's_QOS_not_permitted_to_use_this_partition_(x_allows_a_not_b)", PILOT_NEVER },
    { "QOSMaxCpuPerJobLimit", PILOT_NEVER },
    { "QOSMaxWallDurationPerJobLimit", PILOT_NEVER },
    { "QOSMaxGRESPerNode", PILOT_NEVER },
    { "QOSMinCpuNotSatisfied", PILOT_NEVER },
    { "AssocMaxCpuMinutesPerJobLimit", PILOT_NEVER },
    { "AssocMaxMemPerNode", PILOT_NEVER },
    { "MaxMemPerLimit", PILOT_NEVER },
    { "AssocMaxJobsLimit", PILOT_LIMITED },
    { "AssocMaxSubmitJobLimit", PILOT_LIMITED },
    { "AssocGrpCPURunMinutesLimit", PILOT_LIMITED },
    { "AssocGrpGRES", PILOT_LIMITED },
    { "QOSGrpNodeLimit", PILOT_LIMITED },
    { "QOSMaxJobsPerUserLimit", PILOT_LIMITED },
    { "QOSMaxSubmitJobPerUserLimit", PILOT_LIMITED },
    { "QOSMaxGRESPerUser", PILOT_LIMITED },
    { "MaxGRESPerAccount", PILOT_LIMITED },
    { "MaxSubmitJobsPerAccount", PILOT_LIMITED },
    { "AssociationResourceLimit", PILOT_LIMITED },
    { "QOSJobLimit", PILOT_LIMITED },
};

static void test_reasons_of_those_that_wait(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        struct slurm_seen seen = { .squeue = SLURM_SAYS,
                                   .state = "PENDING",
                                   .reason = reasons[i].reason };
        struct slurm_meaning m = slurm_judge(&seen);

        if (m.phase != reasons[i].phase)
            fail_msg("%s: %s", reasons[i].reason, phase_names[m.phase]);
    }
}

/* Whatever Slurm says, no pilot that is connected loses its jobs. */
static void test_no_connected_worker_loses_its_jobs(void **state)
{
    (void)state;
    for (int s = 0; s < SLURM_STATE_COUNT; s++) {
        struct slurm_seen seen = { .squeue = SLURM_SAYS,
                                   .state = slurm_state_name((enum slurm_state)s),
                                   .reason = NULL,
                                   .worker = WORKER_THERE };
        struct slurm_meaning m = slurm_judge(&seen);

        assert_int_equal(m.jobs, JOBS_STAY);
        assert_int_equal(m.next, NEXT_NONE);
        assert_int_not_equal(m.phase, PILOT_ENDED);
    }
}

/* Nor does one that may still be there be replaced. */
static void test_jobs_are_lost_for_a_cause(void **state)
{
    (void)state;
    for (int s = 0; s < SLURM_STATE_COUNT; s++)
        for (int w = WORKER_NEVER; w <= WORKER_AWAY; w++) {
            struct slurm_seen seen = { .squeue = SLURM_SAYS,
                                       .state = slurm_state_name((enum slurm_state)s),
                                       .reason = NULL,
                                       .worker = (enum pilot_worker)w };
            struct slurm_meaning m = slurm_judge(&seen);

            assert_int_equal(m.jobs == JOBS_BACK, m.cause != CAUSE_NONE);
        }
}

static void test_only_the_end_of_its_time_cuts_jobs_off(void **state)
{
    (void)state;
    for (int s = 0; s < SLURM_STATE_COUNT; s++) {
        struct slurm_seen seen = { .squeue = SLURM_SAYS,
                                   .state = slurm_state_name((enum slurm_state)s),
                                   .reason = NULL,
                                   .worker = WORKER_AWAY };

        assert_int_equal(slurm_judge(&seen).cause == CAUSE_WALLTIME, s == SLURM_TIMEOUT);
    }
}

static void test_states_are_read_by_their_whole_names(void **state)
{
    (void)state;
    for (int s = 0; s < SLURM_UNKNOWN_JOB; s++)
        assert_int_equal(slurm_state_parse(slurm_state_name((enum slurm_state)s)), s);
    assert_int_equal(slurm_state_parse("CANCELLED by 0"), SLURM_CANCELLED);
    assert_int_equal(slurm_state_parse("RUN"), SLURM_NEW_STATE);
    assert_int_equal(slurm_state_parse("RUNNINGS"), SLURM_NEW_STATE);
    assert_int_equal(slurm_state_parse(" "), SLURM_NEW_STATE);
    assert_int_equal(slurm_state_parse(NULL), SLURM_NEW_STATE);
    assert_int_equal(slurm_state_parse("unknown job"), SLURM_NEW_STATE);
}

/* A reason may be of any length and any content. */
static void test_no_reason_takes_long(void **state)
{
    size_t n = 1 << 20;
    char *text = mem_alloc(n + 1);
    struct slurm_seen seen = { .squeue = SLURM_SAYS, .state = "PENDING", .reason = text };

    (void)state;
    memset(text, 'M', n);
    assert_int_equal(slurm_judge(&seen).phase, PILOT_WAITS);
    for (size_t i = 0; i < n; i++)
        text[i] = "Max"[i % 3];
    assert_int_equal(slurm_judge(&seen).phase, PILOT_WAITS);
    free(text);
}

/* They lie in databases (pilot.phase): a line here is never changed. */
static void phases_keep_their_numbers(void **state)
{
    static const char *const frozen[] = { "PILOT_UNCLEAR", "PILOT_WAITS", "PILOT_LIMITED",
                                          "PILOT_HELD",    "PILOT_STUCK", "PILOT_NEVER",
                                          "PILOT_STARTS",  "PILOT_RUNS",  "PILOT_STOPPED",
                                          "PILOT_ENDS",    "PILOT_ENDED" };
    static const char *const now[] = {
#define X(constant, number, ...) [number] = #constant,
        PILOT_PHASES(X)
#undef X
    };

    (void)state;
    assert_int_equal(sizeof now, sizeof frozen);
    for (size_t i = 0; i < sizeof now / sizeof now[0]; i++)
        assert_string_equal(now[i], frozen[i]);
}

/* ---- docs/slurm.md ---- */

static void add_words(struct buf *out)
{
    buf_add_str(out, "| phase | meaning |\n|---|---|\n");
#define X(value, number, name, words) buf_printf(out, "| %s | %s |\n", name, words);
    PILOT_PHASES(X)
#undef X
#define X(value, name, words) buf_printf(out, "| %s | %s |\n", name, words);
    buf_add_str(out, "\n| its jobs | meaning |\n|---|---|\n");
    PILOT_JOBS(X)
    buf_add_str(out, "\n| another one | meaning |\n|---|---|\n");
    PILOT_NEXTS(X)
#undef X
}

static void add_states(struct buf *out)
{
    buf_add_str(out, "| Slurm says | the pilot | phase | its jobs | cause | another one |\n"
                     "|---|---|---|---|---|---|\n");
#define X(state, name, phase, jobs, cause, next, words)                                   \
    buf_printf(out, "| %s | %s | %s | %s | %s | %s |\n", name, words, phase_names[phase], \
               jobs_names[jobs], cause == CAUSE_NONE ? "" : cause_names[cause], next_names[next]);
    SLURM_STATES(X)
    SLURM_ABSENCES(X)
#undef X
}

static void add_reasons(struct buf *out)
{
    buf_add_str(out, "| reason | phase | meaning |\n|---|---|---|\n");
#define X(pattern, phase, words) \
    buf_printf(out, "| `%s` | %s | %s |\n", pattern, phase_names[phase], words);
    SLURM_REASONS(X)
#undef X
}

static void (*const parts[])(struct buf *out) = { add_words, add_states, add_reasons };

static void test_the_document_has_the_tables(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct buf text = { 0 };

        parts[i](&text);
        doc_must_contain("docs/slurm.md", buf_text(&text));
        buf_free(&text);
    }
}

/* For who changes a table. */
static int print_tables(void)
{
    struct buf text = { 0 };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        parts[i](&text);
        buf_add_char(&text, '\n');
    }
    fputs(buf_text(&text), stdout);
    buf_free(&text);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_keep_their_numbers),
        cmocka_unit_test(test_what_slurm_says_means),
        cmocka_unit_test(test_reasons_of_those_that_wait),
        cmocka_unit_test(test_no_connected_worker_loses_its_jobs),
        cmocka_unit_test(test_jobs_are_lost_for_a_cause),
        cmocka_unit_test(test_only_the_end_of_its_time_cuts_jobs_off),
        cmocka_unit_test(test_states_are_read_by_their_whole_names),
        cmocka_unit_test(test_no_reason_takes_long),
        cmocka_unit_test(test_the_document_has_the_tables),
    };

    if (argc == 2 && strcmp(argv[1], "--print") == 0)
        return print_tables();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
