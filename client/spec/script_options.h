/* SPDX-License-Identifier: MIT */
/*
 * script_options.h - the options that a Python script takes
 *
 * Python's own parser reads the text of the script, which is not run: the calls of argparse's add_argument
 * and click's option, and the file that Hydra's main names.
 */
#ifndef LUDWIG_CLIENT_SPEC_SCRIPT_OPTIONS_H
#define LUDWIG_CLIENT_SPEC_SCRIPT_OPTIONS_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/data/value.h"

struct script_option {
    const char *name; /* of a parameter: learning_rate */
    const char *word; /* as the command has it before its value: "--learning-rate ", "lr=", "" */
    const char *help; /* or NULL */
    struct value initial; /* its default; null: none is known */
    struct value choices; /* a list, or null */
    bool is_flag;         /* takes no value */
    bool is_long;         /* takes several words */
    bool is_needed;       /* the script does not run without */
};

struct script_options {
    struct script_option *items;
    size_t n;
    const char *by; /* "argparse", "click", "Hydra"; NULL: nothing was found */
};

/* All in a. */
int script_options_read(const char *path, struct arena *a, struct script_options *o, struct err *e);

#endif
