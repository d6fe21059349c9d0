/* SPDX-License-Identifier: MIT */
/* mem.c - allocate, or end the process */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"

_Noreturn static void end_process(void)
{
    static const char message[] = "ludwig: out of memory\n";

    /* Not stdio, which may allocate; and if this fails there is nobody left to tell. */
    if (write(STDERR_FILENO, message, sizeof message - 1) < 0)
        _exit(EXIT_FAILURE);
    _exit(EXIT_FAILURE);
}

void *mem_alloc(size_t bytes)
{
    void *p = calloc(1, bytes > 0 ? bytes : 1);

    if (p == NULL)
        end_process();
    return p;
}

void *mem_resize(void *old, size_t n, size_t item_bytes)
{
    size_t bytes;
    void *p;

    if (__builtin_mul_overflow(n, item_bytes, &bytes))
        end_process();
    p = realloc(old, bytes > 0 ? bytes : 1);
    if (p == NULL)
        end_process();
    return p;
}

void *mem_copy(const void *bytes, size_t n)
{
    size_t room;
    char *copy;

    if (__builtin_add_overflow(n, (size_t)1, &room))
        end_process();
    copy = mem_resize(NULL, room, 1);
    if (n > 0)
        memcpy(copy, bytes, n);
    copy[n] = '\0';
    return copy;
}

char *mem_strdup(const char *s)
{
    return mem_copy(s, strlen(s));
}

char *mem_strndup(const char *s, size_t n)
{
    return mem_copy(s, strnlen(s, n));
}

char *mem_printf(const char *format, ...)
{
    va_list ap;
    char *text;

    va_start(ap, format);
    text = mem_vprintf(format, ap);
    va_end(ap);
    return text;
}

char *mem_vprintf(const char *format, va_list ap)
{
    char *text;

    if (vasprintf(&text, format, ap) < 0)
        end_process();
    return text;
}

void mem_grow(void **items, size_t *capacity, size_t n, size_t item_bytes)
{
    enum { FIRST_CAPACITY = 8 };

    if (n < *capacity)
        return;
    if (n > SIZE_MAX / 2)
        end_process();
    *capacity = n < FIRST_CAPACITY ? FIRST_CAPACITY : 2 * n;
    *items = mem_resize(*items, *capacity, item_bytes);
}
