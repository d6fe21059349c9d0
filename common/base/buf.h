/* SPDX-License-Identifier: MIT */
/*
 * buf.h - bytes that grow
 *
 * Zero-initialised is empty.  bytes[n] is always NUL once anything was added,
 * so a buf of text is also a C string (buf_text gives "" for an empty one).
 */
#ifndef LUDWIG_COMMON_BASE_BUF_H
#define LUDWIG_COMMON_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>
#include <stdarg.h>

struct arena;

struct buf {
    uint8_t *bytes;
    size_t n;
    size_t capacity;
};

/* Bytes that the struct does not own. */
struct bytes {
    const uint8_t *data;
    size_t n;
};

void buf_free(struct buf *b);  /* and makes it empty again */
void buf_clear(struct buf *b); /* keeps the memory */
void buf_add(struct buf *b, const void *bytes, size_t n);
void buf_add_str(struct buf *b, const char *s);
void buf_add_char(struct buf *b, char c);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *format, va_list ap)
    __attribute__((format(printf, 2, 0)));
/* Room for n more bytes; write there and call buf_added. */
uint8_t *buf_reserve(struct buf *b, size_t n);
void buf_added(struct buf *b, size_t n);
void buf_drop_front(struct buf *b, size_t n);
const char *buf_text(const struct buf *b);
/* Hands the text over to the caller, who frees it; b is empty afterwards. */
char *buf_take(struct buf *b);
/* The text as a string in the arena; the buf is freed. */
char *buf_to_arena(struct buf *b, struct arena *a);
struct bytes buf_bytes(const struct buf *b);

#endif
