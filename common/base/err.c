/* SPDX-License-Identifier: MIT */
/* err.c - word errors, wrap them, and say what they mean */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/utf8.h"

#undef err_set
#undef err_sys
#undef err_wrap

static const struct {
    const char *name;
    enum exit_code exit_code;
} kinds[ERR_KIND_COUNT] = {
#define X(kind, wire, exit) [kind] = { wire, exit },
    ERR_KINDS(X)
#undef X
};

static const struct {
    int number;
    enum err_kind kind;
} kinds_by_errno[] = {
    { ENOENT, ERR_NOT_FOUND },
    { ENOTDIR, ERR_NOT_FOUND },
    { EEXIST, ERR_EXISTS },
    { ENOTEMPTY, ERR_EXISTS },
    { EACCES, ERR_DENIED },
    { EPERM, ERR_DENIED },
    { EROFS, ERR_DENIED },
    { ENOSPC, ERR_NO_SPACE },
    { EDQUOT, ERR_NO_SPACE },
    { ECONNREFUSED, ERR_UNREACHABLE },
    { ECONNRESET, ERR_UNREACHABLE },
    { EPIPE, ERR_UNREACHABLE },
    { ETIMEDOUT, ERR_UNREACHABLE },
    { EHOSTUNREACH, ERR_UNREACHABLE },
    { ENETUNREACH, ERR_UNREACHABLE },
    { EAGAIN, ERR_BUSY },
    { EBUSY, ERR_BUSY },
};

static enum err_kind kind_of_errno(int number)
{
    for (size_t i = 0; i < sizeof kinds_by_errno / sizeof kinds_by_errno[0]; i++)
        if (kinds_by_errno[i].number == number)
            return kinds_by_errno[i].kind;
    return ERR_FAILED;
}

/* A text under construction: n counts also what did not fit. */
struct line {
    char text[ERR_TEXT_BYTES];
    size_t n;
};

__attribute__((format(printf, 2, 0))) static void line_vadd(struct line *l, const char *format,
                                                            va_list ap)
{
    size_t at = l->n < sizeof l->text ? l->n : sizeof l->text - 1;
    int n = vsnprintf(l->text + at, sizeof l->text - at, format, ap);

    if (n < 0)
        l->text[at] = '\0';
    else
        l->n += (size_t)n;
}

__attribute__((format(printf, 2, 3))) static void line_add(struct line *l, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    line_vadd(l, format, ap);
    va_end(ap);
}

/* A text that did not fit ends in "...", before which no UTF-8 sequence is cut. */
static void line_end(struct line *l, char text[ERR_TEXT_BYTES])
{
    static const char dots[] = "...";

    if (l->n >= sizeof l->text) {
        l->n = utf8_cut(l->text, sizeof l->text - sizeof dots);
        memcpy(l->text + l->n, dots, sizeof dots);
        l->n += sizeof dots - 1;
    }
    memcpy(text, l->text, l->n + 1);
}

int err_set(struct err *e, enum err_kind kind, const char *format, ...)
{
    struct line l = { .n = 0 };
    va_list ap;

    if (e == NULL)
        return -1;
    va_start(ap, format);
    line_vadd(&l, format, ap);
    va_end(ap);
    e->kind = kind;
    line_end(&l, e->text);
    return -1;
}

int err_sys(struct err *e, const char *format, ...)
{
    int number = errno;
    struct line l = { .n = 0 };
    va_list ap;

    if (e == NULL)
        return -1;
    va_start(ap, format);
    line_vadd(&l, format, ap);
    va_end(ap);
    line_add(&l, ": %s", strerror(number));
    e->kind = kind_of_errno(number);
    line_end(&l, e->text);
    errno = number;
    return -1;
}

int err_wrap(struct err *e, const char *format, ...)
{
    struct line l = { .n = 0 };
    va_list ap;

    if (e == NULL)
        return -1;
    va_start(ap, format);
    line_vadd(&l, format, ap);
    va_end(ap);
    if (e->text[0] != '\0')
        line_add(&l, ": %s", e->text);
    if (e->kind == ERR_NONE)
        e->kind = ERR_FAILED;
    line_end(&l, e->text);
    return -1;
}

void err_clear(struct err *e)
{
    if (e == NULL)
        return;
    e->kind = ERR_NONE;
    e->text[0] = '\0';
}

void err_keep(struct err *first, const struct err *error)
{
    if (error != NULL && error->kind != ERR_NONE && first->kind == ERR_NONE)
        *first = *error;
}

static int is_kind(enum err_kind kind)
{
    return (unsigned)kind < ERR_KIND_COUNT;
}

const char *err_kind_name(enum err_kind kind)
{
    return kinds[is_kind(kind) ? kind : ERR_INTERNAL].name;
}

enum err_kind err_kind_parse(const char *name)
{
    for (size_t i = 0; i < ERR_KIND_COUNT; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return (enum err_kind)i;
    return ERR_INTERNAL;
}

enum exit_code err_exit_code(enum err_kind kind)
{
    return kinds[is_kind(kind) ? kind : ERR_INTERNAL].exit_code;
}
