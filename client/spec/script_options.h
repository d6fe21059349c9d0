/* SPDX-License-Identifier: MIT */
/*
 * script_options.h - the options that a Python script takes
 *
 * Python's own parser reads the script, which is not run, for calls of argparse's add_argument and
 * of click's option, and for the configuration file that Hydra's main names.
 */
#ifndef LUDWIG_CLIENT_SPEC_SCRIPT_OPTIONS_H
#define LUDWIG_CLIENT_SPEC_SCRIPT_OPTIONS_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/data/value.h"

struct script_option {
    const char *name; /* as a parameter's name: learning_rate */
    const char *word; /* what precedes the value in the command: "--learning-rate ", "lr=", "" */
    const char *help; /* or NULL */
    struct value initial; /* the script's default; null: none is known */
    struct value choices; /* a list, or null */
    bool is_flag;         /* takes no value */
    bool is_long;         /* takes several words */
    bool is_needed;       /* the script does not run without this option */
};

struct script_options {
    struct script_option *items;
    size_t n;
    const char *by; /* "argparse", "click", "Hydra"; NULL: nothing was found */
};

/* Reads the options of the script at path with python3; everything in o lies in the arena.
 * Returns -1 when python3 cannot be run, or cannot read the script. */
int script_options_read(const char *path, struct arena *a, struct script_options *o, struct err *e);

#endif
