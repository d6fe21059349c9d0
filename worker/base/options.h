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
    bool is_one;             /* else no member of this counts */
    struct token token;      /* as ludwigd knows it; zero: ludwigd has not submitted it */
    int64_t idle_ms;         /* it leaves when it had nothing to do for so long */
    int64_t kill_wait_ms;    /* how long after SIGTERM Slurm kills what is left */
    bool takes_one;          /* it takes one job in its life */
    int64_t ends_at_ms;      /* the end of its time, in ms since 1970; 0: not known */
    int64_t time_ms;         /* that Slurm gives it, */
    int64_t submitted_at_ms; /* and when it was submitted; 0: not known */
};

struct options {
    const char *conf_path; /* NULL: none */
    const char *servers;   /* an address, of a pilot also several with commas between; NULL: none */
    struct pilot_options pilot;
};

/* NULL, or the word that is wrong; options of a pilot are taken only if is_pilot. */
const char *options_read(char **words, bool is_pilot, struct options *o);

#endif
