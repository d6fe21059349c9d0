/* SPDX-License-Identifier: MIT */
/*
 * err.h - one error value, worded by the function that fails, wrapped by its callers
 *
 * The caller owns a struct err (usually on the stack, zero-initialised).  A
 * function that can fail returns 0 or -1, or a pointer or NULL, and has then
 * set *e.  The place that fails words the error, its callers add where they were:
 * "job 7.13: node n03: open /scratch/x: No space left on device".
 * e->kind decides the exit code, whether to retry, and the word on the wire;
 * e->text is one line for people.  Passing e == NULL is allowed everywhere and
 * drops the text.
 */
#ifndef LUDWIG_COMMON_BASE_ERR_H
#define LUDWIG_COMMON_BASE_ERR_H

#include <stddef.h>

/* kind, its name on the wire, the exit code it leads to */
#define ERR_KINDS(X)                                    \
    X(ERR_NONE, "none", EXIT_WELL)                      \
    X(ERR_FAILED, "failed", EXIT_FAILED)                \
    X(ERR_USAGE, "usage", EXIT_USAGE)                   \
    X(ERR_NOT_FOUND, "not-found", EXIT_FAILED)          \
    X(ERR_EXISTS, "exists", EXIT_FAILED)                \
    X(ERR_DENIED, "denied", EXIT_DENIED)                \
    X(ERR_UNREACHABLE, "unreachable", EXIT_UNREACHABLE) \
    X(ERR_PROTOCOL, "protocol", EXIT_FAILED)            \
    X(ERR_NO_SPACE, "no-space", EXIT_FAILED)            \
    X(ERR_BUSY, "busy", EXIT_FAILED)                    \
    X(ERR_INTERNAL, "internal", EXIT_FAILED)

/* exit codes of the programs, each with its sentence in the manual */
#define EXIT_CODES(X)                                             \
    X(EXIT_WELL, 0, "all went well")                              \
    X(EXIT_FAILED, 1, "it failed, or (with --wait) a job failed") \
    X(EXIT_USAGE, 2, "wrong usage, or an invalid sweep file")     \
    X(EXIT_UNREACHABLE, 3, "the server is out of reach")          \
    X(EXIT_DENIED, 4, "not permitted")                            \
    X(EXIT_INTERRUPTED, 130, "Ctrl-C ended it; jobs go on")

enum exit_code {
#define X(name, number, sentence) name = number,
    EXIT_CODES(X)
#undef X
};

enum err_kind {
#define X(name, wire, exit) name,
    ERR_KINDS(X)
#undef X
        ERR_KIND_COUNT
};

enum { ERR_TEXT_BYTES = 2048 }; /* longer texts end in "..." */

struct err {
    enum err_kind kind;
    char text[ERR_TEXT_BYTES];
};

/* Sets kind and text.  Always returns -1, so that "return err_set(...)" works. */
int err_set(struct err *e, enum err_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Words errno: "FORMAT: strerror(errno)", kind chosen by errno.  Keeps errno.  Returns -1. */
int err_sys(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts "FORMAT: " before the text of e.  Returns -1. */
int err_wrap(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

#ifdef __clang_analyzer__ /* the analyzer sees one file at a time and not that these return -1 */
#define err_set(...)  (err_set(__VA_ARGS__), -1)
#define err_sys(...)  (err_sys(__VA_ARGS__), -1)
#define err_wrap(...) (err_wrap(__VA_ARGS__), -1)
#endif

void err_clear(struct err *e);
/* Keeps the first of several errors: copies error into *first unless *first holds one already.
 * error may be NULL or ERR_NONE: nothing happens. */
void err_keep(struct err *first, const struct err *error);

const char *err_kind_name(enum err_kind kind);
/* ERR_INTERNAL for an unknown name. */
enum err_kind err_kind_parse(const char *name);
enum exit_code err_exit_code(enum err_kind kind);

#endif
