/* SPDX-License-Identifier: MIT */
/* err.c - word errors, wrap them, and name their kinds */
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
    { ELOOP, ERR_DENIED },
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

/* Sets the text to FORMAT, ": " and after, or FORMAT alone where after is "".  A text that does not
 * fit ends in "...", before which no UTF-8 sequence is cut. */
__attribute__((format(printf, 2, 0))) static void word_text(struct err *e, const char *format,
                                                            va_list ap, const char *after)
{
    static const char dots[] = "...";
    char text[ERR_TEXT_BYTES] = "";
    int n = vsnprintf(text, sizeof text, format, ap);
    size_t length = n < 0 ? 0 : (size_t)n;

    if (length < sizeof text && after[0] != '\0') {
        n = snprintf(text + length, sizeof text - length, ": %s", after);
        length += n < 0 ? 0 : (size_t)n;
    }
    if (length >= sizeof text) {
        length = utf8_cut(text, sizeof text - sizeof dots);
        memcpy(text + length, dots, sizeof dots);
        length += sizeof dots - 1;
    }
    memcpy(e->text, text, length + 1);
}

int err_set(struct err *e, enum err_kind kind, const char *format, ...)
{
    va_list ap;

    if (e == NULL)
        return -1;
    va_start(ap, format);
    word_text(e, format, ap, "");
    va_end(ap);
    e->kind = kind;
    return -1;
}

int err_sys(struct err *e, const char *format, ...)
{
    int number = errno;
    va_list ap;

    if (e == NULL)
        return -1;
    va_start(ap, format);
    /* The C library's words for ELOOP are about chains of symlinks. */
    word_text(e, format, ap,
              number == ELOOP ? "a symlink is in the way, and none is followed here"
                              : strerror(number));
    va_end(ap);
    e->kind = kind_of_errno(number);
    errno = number;
    return -1;
}

int err_wrap(struct err *e, const char *format, ...)
{
    va_list ap;

    if (e == NULL)
        return -1;
    va_start(ap, format);
    word_text(e, format, ap, e->text);
    va_end(ap);
    if (e->kind == ERR_NONE)
        e->kind = ERR_FAILED;
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
