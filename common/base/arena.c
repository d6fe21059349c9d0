/* SPDX-License-Identifier: MIT */
/* arena.c - many small allocations that end together */
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

/* Blocks double up to the largest; what would waste much of one gets a block of its own. */
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

/* Makes a block with room for so many bytes, first in line unless they fill it alone. */
static struct block *add_block(struct arena *a, size_t bytes)
{
    size_t size = a->blocks->size < LARGEST_BLOCK_BYTES ? 2 * a->blocks->size : LARGEST_BLOCK_BYTES;

    if (bytes > size / 4)
        return a->blocks->next = block_create(bytes, a->blocks->next);
    return a->blocks = block_create(size, a->blocks);
}

static void *take(struct arena *a, size_t bytes)
{
    struct block *b = a->blocks;
    void *p;

    if (bytes > SIZE_MAX / 2)
        return mem_resize(NULL, SIZE_MAX, 2); /* ends the process */
    bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (bytes > b->size - b->used)
        b = add_block(a, bytes);
    p = b->bytes + b->used;
    b->used += bytes;
    return p;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    return memset(take(a, bytes), 0, bytes);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *copy = take(a, n + 1);

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
