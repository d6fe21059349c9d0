/* SPDX-License-Identifier: MIT */
/*
 * mem.h - memory that is there
 *
 * These end the process when memory is exhausted.  Every ludwig process is built
 * to survive kill -9 at any point, so ending is the one safe answer, and no
 * caller carries an untested branch for it.  Sizes that a peer chooses are
 * bounded before they come here.
 */
#ifndef LUDWIG_COMMON_BASE_MEM_H
#define LUDWIG_COMMON_BASE_MEM_H

#include <stddef.h>
#include <stdarg.h>

void *mem_alloc(size_t bytes);                            /* zeroed; never NULL, also for 0 */
void *mem_resize(void *old, size_t n, size_t item_bytes); /* checks n * item_bytes */
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n);
void *mem_copy(const void *bytes, size_t n); /* adds a NUL behind the bytes */
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *mem_vprintf(const char *format, va_list ap) __attribute__((format(printf, 1, 0)));

/* Grows *items (an array of item_bytes each) so that n + 1 fit; *capacity is kept. */
void mem_grow(void **items, size_t *capacity, size_t n, size_t item_bytes);

/*
 * arena - many small allocations that end together
 *
 * All that is decoded from one message or file lives in one arena.
 */
struct arena;
struct arena *arena_create(void);
void arena_destroy(struct arena *a); /* NULL is fine */
void arena_reset(struct arena *a);   /* frees everything in it but keeps one block for reuse */
size_t arena_bytes(const struct arena *a);                     /* that it takes */
void *arena_alloc(struct arena *a, size_t bytes);              /* zeroed, aligned for any type */
char *arena_strndup(struct arena *a, const char *s, size_t n); /* n bytes, whatever they are */
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
