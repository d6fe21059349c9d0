/* SPDX-License-Identifier: MIT */
/* digest.h - SHA-256 of content, and random identities */
#ifndef LUDWIG_COMMON_BASE_DIGEST_H
#define LUDWIG_COMMON_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

enum { DIGEST_BYTES = 32, DIGEST_HEX = 2 * DIGEST_BYTES + 1 };
enum { TOKEN_BYTES = 16, TOKEN_HEX = 2 * TOKEN_BYTES + 1 };

struct digest {
    uint8_t bytes[DIGEST_BYTES];
};

/* 128 random bits: an attempt, a request, a worker. */
struct token {
    uint8_t bytes[TOKEN_BYTES];
};

struct hasher;
struct hasher *hasher_create(void);
void hasher_destroy(struct hasher *h);
void hasher_add(struct hasher *h, const void *bytes, size_t n);
void hasher_end(struct hasher *h, struct digest *d); /* gives the digest; h starts anew */
void digest_of(const void *bytes, size_t n, struct digest *d);
int digest_of_fd(int fd, struct digest *d, uint64_t *size_bytes, struct err *e);

void digest_hex(const struct digest *d, char hex[DIGEST_HEX]);
int digest_parse(const char *hex, struct digest *d); /* -1 if not 64 digits 0-9a-f */
bool digest_equal(const struct digest *x, const struct digest *y);
bool digest_is_zero(const struct digest *d);

void token_make(struct token *t); /* getrandom; ends the process if the kernel has none */
void token_hex(const struct token *t, char hex[TOKEN_HEX]);
int token_parse(const char *hex, struct token *t);
bool token_equal(const struct token *x, const struct token *y);
bool token_is_zero(const struct token *t);

/* A few digests, each once.  Zero-initialised is empty. */
struct digest_set {
    struct digest *items;
    size_t n, capacity;
};

bool digest_set_has(const struct digest_set *d, const struct digest *x);
void digest_set_add(struct digest_set *d, const struct digest *x);  /* nothing when it is there */
void digest_set_drop(struct digest_set *d, const struct digest *x); /* nothing when it is not */
void digest_set_free(struct digest_set *d);

#endif
