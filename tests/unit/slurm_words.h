/* SPDX-License-Identifier: MIT */
/*
 * slurm_words.h - the names in the tables of server/slurm/slurmstate.h, to print them
 */
#ifndef LUDWIG_TESTS_UNIT_SLURM_WORDS_H
#define LUDWIG_TESTS_UNIT_SLURM_WORDS_H

#include "server/slurm/slurmstate.h"

#define X(value, number, name, ...) [value] = name,
static const char *const phase_names[] = { PILOT_PHASES(X) };
#undef X
#define X(value, name, ...) [value] = name,
static const char *const jobs_names[] = { PILOT_JOBS(X) };
#undef X

#endif
