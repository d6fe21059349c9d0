/* SPDX-License-Identifier: MIT */
/* buf.c - bytes that grow */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/mem.h"

enum { FIRST_CAPACITY = 64 };

void buf_free(struct buf *b)
{
    free(b->bytes);
    *b = (struct buf){ 0 };
}

static void end_at(struct buf *b, size_t n)
{
    b->n = n;
    b->bytes[n] = '\0';
}

void buf_clear(struct buf *b)
{
    if (b->bytes != NULL)
        end_at(b, 0);
}

static void grow_buf(struct buf *b, size_t n)
{
    size_t capacity = b->capacity < FIRST_CAPACITY ? FIRST_CAPACITY : b->capacity;

    /* An impossible size ends the process in mem_resize. */
    if (n >= SIZE_MAX / 2 - b->n)
        capacity = SIZE_MAX;
    while (capacity <= b->n + n && capacity < SIZE_MAX)
        capacity *= 2;
    b->bytes = mem_resize(b->bytes, capacity, 1);
    b->capacity = capacity;
    b->bytes[b->n] = '\0';
}

uint8_t *buf_reserve(struct buf *b, size_t n)
{
    if (n >= b->capacity - b->n)
        grow_buf(b, n);
    return b->bytes + b->n;
}

void buf_added(struct buf *b, size_t n)
{
    assert(n < b->capacity - b->n);
    end_at(b, b->n + n);
}

void buf_add(struct buf *b, const void *bytes, size_t n)
{
    uint8_t *to = buf_reserve(b, n);

    if (n > 0)
        memcpy(to, bytes, n);
    end_at(b, b->n + n);
}

void buf_add_str(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_add_char(struct buf *b, char c)
{
    *buf_reserve(b, 1) = (uint8_t)c;
    end_at(b, b->n + 1);
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    buf_vprintf(b, format, ap);
    va_end(ap);
}

void buf_vprintf(struct buf *b, const char *format, va_list ap)
{
    va_list again;
    int n;

    va_copy(again, ap);
    buf_reserve(b, FIRST_CAPACITY);
    n = vsnprintf((char *)b->bytes + b->n, b->capacity - b->n, format, ap);
    assert(n >= 0);
    if ((size_t)n >= b->capacity - b->n) {
        buf_reserve(b, (size_t)n);
        vsnprintf((char *)b->bytes + b->n, (size_t)n + 1, format, again);
    }
    va_end(again);
    b->n += (size_t)n;
}

void buf_drop_front(struct buf *b, size_t n)
{
    assert(n <= b->n);
    if (n == 0)
        return;
    memmove(b->bytes, b->bytes + n, b->n - n);
    end_at(b, b->n - n);
}

const char *buf_text(const struct buf *b)
{
    return b->bytes != NULL ? (const char *)b->bytes : "";
}

char *buf_take(struct buf *b)
{
    char *text = b->bytes != NULL ? (char *)b->bytes : mem_strdup("");

    *b = (struct buf){ 0 };
    return text;
}

char *buf_to_arena(struct buf *b, struct arena *a)
{
    char *text = arena_strndup(a, buf_text(b), b->n);

    buf_free(b);
    return text;
}

struct bytes buf_bytes(const struct buf *b)
{
    return (struct bytes){ b->bytes, b->n };
}
