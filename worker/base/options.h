/* SPDX-License-Identifier: MIT */
/*
 * options.h - the command line of ludwig-worker
 */
#ifndef LUDWIG_WORKER_BASE_OPTIONS_H
#define LUDWIG_WORKER_BASE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/digest.h"

/* Options of a worker inside a Slurm job. */
struct pilot_options {
    bool is_one;             /* it is a pilot; else no other member counts */
    struct token token;      /* ludwigd's name for it; zero: ludwigd has not submitted it */
    int64_t idle_ms;         /* it leaves after so long without anything to do */
    int64_t kill_wait_ms;    /* how long after SIGTERM Slurm sends SIGKILL */
    bool takes_one;          /* it takes only one job in its life */
    int64_t ends_at_ms;      /* when Slurm ends it, in ms since 1970; 0: not known */
    int64_t time_ms;         /* the time that Slurm gives it; 0: not known */
    int64_t submitted_at_ms; /* when it was submitted, in ms since 1970; 0: not known */
};

struct options {
    const char *conf_path; /* NULL: none */
    const char *servers;   /* an address, or several with commas between; NULL: none */
    struct pilot_options pilot;
};

/* Reads words into *o, pilot options only if is_pilot; returns NULL, or the word that is wrong. */
const char *options_read(char **words, bool is_pilot, struct options *o);

#endif
