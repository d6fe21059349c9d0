/* SPDX-License-Identifier: MIT */
/* slurm.c - fuzz: output of Slurm's commands, with names that any user may choose */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/slurm/slurmread.h"
#include "server/slurm/slurmstate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Rows are not made of nothing. */
static void check_count(const struct slurm_answer *answer, const char *text, size_t n)
{
    size_t lines = n > 0;

    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    if (answer->n + answer->n_passed_over > lines)
        abort();
}

static void check_number(int64_t number)
{
    if (number < SLURM_NONE || number > (int64_t)1 << 53)
        abort();
}

static void check_jobs(const struct slurm_answer *answer)
{
    for (size_t i = 0; i < answer->n; i++) {
        const struct slurm_job *j = &answer->jobs[i];
        struct slurm_seen seen = { .squeue = SLURM_SAYS, .state = j->state, .reason = j->reason };
        struct slurm_meaning m = slurm_judge(&seen);

        if (j->id <= 0 || j->array_id <= 0 || (m.jobs == JOBS_BACK) != (m.cause != CAUSE_NONE))
            abort();
        if (j->tasks != NULL && slurm_set_count(j->tasks) <= 0)
            abort();
        check_number(j->submitted_s);
        (void)slurm_set_has(j->tasks, j->id);
    }
}

static void check_ended(const struct slurm_answer *answer)
{
    for (size_t i = 0; i < answer->n; i++) {
        const struct slurm_ended *j = &answer->ended[i];
        struct slurm_seen seen = {
            .squeue = SLURM_HAS_NONE, .has_accounting = true, .sacct = SLURM_SAYS, .ended = j->state
        };

        if (j->id <= 0 || slurm_judge(&seen).phase != PILOT_ENDED)
            abort();
        check_number(j->signal);
    }
}

static void check_nodes(const struct slurm_answer *answer)
{
    for (size_t i = 0; i < answer->n; i++)
        if (answer->nodes[i].n < 0 || answer->nodes[i].gpus < 0)
            abort();
}

static void check_partitions(const struct slurm_answer *answer)
{
    for (size_t i = 0; i < answer->n; i++)
        if (answer->partitions[i].name == NULL)
            abort();
}

static void check_nothing(const struct slurm_answer *answer)
{
    (void)answer;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        enum slurm_rows rows;
        void (*check)(const struct slurm_answer *answer);
    } readers[] = {
        { SLURM_JOBS, check_jobs },   { SLURM_ENDED, check_ended },
        { SLURM_NODES, check_nodes }, { SLURM_ASSOCS, check_nothing },
        { SLURM_QOS, check_nothing }, { SLURM_USERS, check_nothing },
    };
    const char *text = (const char *)data;
    struct arena *a = arena_create();
    struct slurm_answer partitions;
    struct slurm_config config;
    int64_t id;

    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        struct slurm_answer answer;

        if (slurm_read(readers[i].rows, text, size, a, &answer, NULL) < 0)
            abort();
        check_count(&answer, text, size);
        readers[i].check(&answer);
    }
    if (slurm_read_partitions(text, size, a, &partitions, NULL) < 0)
        abort();
    check_count(&partitions, text, size);
    check_partitions(&partitions);
    if (slurm_read_config(text, size, a, &config, NULL) == 0)
        check_number(config.rpc_bucket);
    if (slurm_read_submitted(text, size, &id, NULL) == 0)
        check_number(id);
    arena_destroy(a);
    return 0;
}
