/* SPDX-License-Identifier: MIT */
/*
 * skip.h - skips a test that cannot run here, with a reason
 */
#ifndef LUDWIG_TESTS_SKIP_H
#define LUDWIG_TESTS_SKIP_H

#include <stdio.h>

/* Ends the test and counts it as skipped.  why: a string literal, which tests/run shows. */
#define skip_because(why)                            \
    do {                                             \
        (void)fputs("# skipped: " why "\n", stdout); \
        skip();                                      \
    } while (0)

/* Built with a sanitizer for memory or threads, as clang or gcc tells. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif

#endif
