/* SPDX-License-Identifier: MIT */
/* digest.c - SHA-256 of content, and random identities */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "common/base/digest.h"
#include "common/base/mem.h"

struct hasher {
    EVP_MD_CTX *context;
};

/* Ends the process where libcrypto has no SHA-256 or the kernel no random numbers. */
static void require(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "ludwig: %s does not work here\n", what);
    abort();
}

struct hasher *hasher_create(void)
{
    struct hasher *h = mem_alloc(sizeof *h);

    h->context = EVP_MD_CTX_new();
    require(h->context != NULL && EVP_DigestInit_ex(h->context, EVP_sha256(), NULL), "SHA-256");
    return h;
}

void hasher_destroy(struct hasher *h)
{
    if (h == NULL)
        return;
    EVP_MD_CTX_free(h->context);
    free(h);
}

void hasher_add(struct hasher *h, const void *bytes, size_t n)
{
    require(EVP_DigestUpdate(h->context, bytes, n), "SHA-256");
}

void hasher_end(struct hasher *h, struct digest *d)
{
    require(EVP_DigestFinal_ex(h->context, d->bytes, NULL) &&
                EVP_DigestInit_ex(h->context, NULL, NULL),
            "SHA-256");
}

void digest_of(const void *bytes, size_t n, struct digest *d)
{
    require(EVP_Digest(bytes, n, d->bytes, NULL, EVP_sha256(), NULL), "SHA-256");
}

int digest_of_fd(int fd, struct digest *d, uint64_t *size_bytes, struct err *e)
{
    enum { PIECE_BYTES = 256 * 1024 };
    struct hasher *h = hasher_create();
    uint8_t *piece = mem_resize(NULL, PIECE_BYTES, 1);
    uint64_t size = 0;
    ssize_t n;

    while ((n = read(fd, piece, PIECE_BYTES)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        hasher_add(h, piece, (size_t)n);
        size += (uint64_t)n;
    }
    if (n < 0) {
        err_sys(e, "read");
    } else {
        hasher_end(h, d);
        if (size_bytes != NULL)
            *size_bytes = size;
    }
    free(piece);
    hasher_destroy(h);
    return n < 0 ? -1 : 0;
}

static void hex_write(const uint8_t *bytes, size_t n, char *hex)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        *hex++ = digits[bytes[i] >> 4];
        *hex++ = digits[bytes[i] & 15];
    }
    *hex = '\0';
}

/* Capitals are refused: a digest names files and rows, and so has one spelling. */
static int hex_read(const char *hex, uint8_t *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t parsed[DIGEST_BYTES];

    if (strlen(hex) != 2 * n || strspn(hex, digits) != 2 * n)
        return -1;
    for (size_t i = 0; i < n; i++)
        parsed[i] = (uint8_t)((strchr(digits, hex[2 * i]) - digits) << 4 |
                              (strchr(digits, hex[2 * i + 1]) - digits));
    memcpy(bytes, parsed, n);
    return 0;
}

void digest_hex(const struct digest *d, char hex[DIGEST_HEX])
{
    hex_write(d->bytes, sizeof d->bytes, hex);
}

int digest_parse(const char *hex, struct digest *d)
{
    return hex_read(hex, d->bytes, sizeof d->bytes);
}

void token_make(struct token *t)
{
    require(getentropy(t->bytes, sizeof t->bytes) == 0, "getrandom");
}

void token_hex(const struct token *t, char hex[TOKEN_HEX])
{
    hex_write(t->bytes, sizeof t->bytes, hex);
}

int token_parse(const char *hex, struct token *t)
{
    return hex_read(hex, t->bytes, sizeof t->bytes);
}

bool digest_equal(const struct digest *x, const struct digest *y)
{
    return memcmp(x, y, sizeof *x) == 0;
}

bool digest_is_zero(const struct digest *d)
{
    static const struct digest zero;

    return digest_equal(d, &zero);
}

bool token_equal(const struct token *x, const struct token *y)
{
    return memcmp(x->bytes, y->bytes, sizeof x->bytes) == 0;
}

bool token_is_zero(const struct token *t)
{
    return token_equal(t, &(struct token){ 0 });
}

/* ---- sets ---- */

static size_t find_item(const struct digest_set *d, const struct digest *x)
{
    size_t i = 0;

    while (i < d->n && !digest_equal(&d->items[i], x))
        i++;
    return i;
}

bool digest_set_has(const struct digest_set *d, const struct digest *x)
{
    return find_item(d, x) < d->n;
}

void digest_set_add(struct digest_set *d, const struct digest *x)
{
    if (digest_set_has(d, x))
        return;
    mem_grow((void **)&d->items, &d->capacity, d->n, sizeof *d->items);
    d->items[d->n++] = *x;
}

void digest_set_drop(struct digest_set *d, const struct digest *x)
{
    size_t i = find_item(d, x);

    if (i < d->n)
        d->items[i] = d->items[--d->n];
}

void digest_set_free(struct digest_set *d)
{
    free(d->items);
    *d = (struct digest_set){ 0 };
}
