/* SPDX-License-Identifier: MIT */
/* mem.c - allocate, or end the process; arenas */
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"

_Noreturn static void end_process(void)
{
    static const char message[] = "ludwig: out of memory\n";

    /* write(2), as stdio may allocate; where it fails, too, the process can tell no one. */
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

/* ---- arenas ---- */

/* Blocks double up to the largest; an allocation that would waste much of one gets its own. */
enum {
    FIRST_BLOCK_BYTES = 4 * 1024,
    LARGEST_BLOCK_BYTES = 256 * 1024,
    ALIGNMENT = alignof(max_align_t)
};

struct block {
    struct block *next;
    size_t size;
    size_t used;
    alignas(max_align_t) unsigned char bytes[];
};

/* The first block is the one that is being filled. */
struct arena {
    struct block *blocks;
};

static struct block *block_create(size_t size, struct block *next)
{
    struct block *b = mem_resize(NULL, sizeof *b + size, 1);

    b->next = next;
    b->size = size;
    b->used = 0;
    return b;
}

static void free_from(struct block *b)
{
    while (b != NULL) {
        struct block *next = b->next;

        free(b);
        b = next;
    }
}

struct arena *arena_create(void)
{
    struct arena *a = mem_alloc(sizeof *a);

    a->blocks = block_create(FIRST_BLOCK_BYTES, NULL);
    return a;
}

void arena_destroy(struct arena *a)
{
    if (a == NULL)
        return;
    free_from(a->blocks);
    free(a);
}

void arena_reset(struct arena *a)
{
    free_from(a->blocks->next);
    a->blocks->next = NULL;
    a->blocks->used = 0;
}

size_t arena_bytes(const struct arena *a)
{
    size_t n = 0;

    for (const struct block *b = a->blocks; b != NULL; b = b->next)
        n += b->size;
    return n;
}

static void *take_from_arena(struct arena *a, size_t bytes)
{
    struct block *b = a->blocks;
    void *p;

    if (bytes > SIZE_MAX / 2)
        return mem_resize(NULL, SIZE_MAX, 2); /* ends the process */
    bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (bytes > b->size - b->used) {
        size_t size = b->size < LARGEST_BLOCK_BYTES ? 2 * b->size : LARGEST_BLOCK_BYTES;

        if (bytes > size / 4)
            b = b->next = block_create(bytes, b->next);
        else
            b = a->blocks = block_create(size, b);
    }
    p = b->bytes + b->used;
    b->used += bytes;
    return p;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    return memset(take_from_arena(a, bytes), 0, bytes);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *copy = take_from_arena(a, n + 1);

    if (n > 0)
        memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *format, ...)
{
    va_list ap;
    char *text, *copy;

    va_start(ap, format);
    text = mem_vprintf(format, ap);
    va_end(ap);
    copy = arena_strdup(a, text);
    free(text);
    return copy;
}
