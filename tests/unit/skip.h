/* SPDX-License-Identifier: MIT */
/*
 * skip.h - for tests: one that cannot be run here says why
 */
#ifndef LUDWIG_TESTS_SKIP_H
#define LUDWIG_TESTS_SKIP_H

#include <stdio.h>

/* Ends the test, which counts as skipped; tests/run shows the reason. */
#define skip_because(why)                            \
    do {                                             \
        (void)fputs("# skipped: " why "\n", stdout); \
        skip();                                      \
    } while (0)

#endif
