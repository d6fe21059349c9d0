/* SPDX-License-Identifier: MIT */
/* ssh_cert.c - whose certificate is it? */
#include <openssl/evp.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/ssh/ssh_cert.h"

enum { LENGTH_BYTES = 4, BLOB_MAX_BYTES = 64 * 1024 };

/* The second word. */
static struct bytes find_blob(const char *line)
{
    const char *blob = line + strcspn(line, " \t");

    blob += strspn(blob, " \t");
    return (struct bytes){ (const uint8_t *)blob, strcspn(blob, " \t\r\n") };
}

static bool decode(const char *line, struct buf *out)
{
    struct bytes text = find_blob(line);
    int n;

    if (text.n < 4 || text.n > BLOB_MAX_BYTES)
        return false;
    n = EVP_DecodeBlock(buf_reserve(out, text.n), text.data, (int)text.n);
    if (n < 0)
        return false;
    n -= (text.data[text.n - 1] == '=') + (text.data[text.n - 2] == '=');
    buf_added(out, (size_t)n);
    return true;
}

/* A length and that many bytes. */
static bool skip_string(struct bytes *b)
{
    size_t n = 0;

    if (b->n < LENGTH_BYTES)
        return false;
    for (int i = 0; i < LENGTH_BYTES; i++)
        n = n << 8 | b->data[i];
    if (n > b->n - LENGTH_BYTES)
        return false;
    b->data += LENGTH_BYTES + n;
    b->n -= LENGTH_BYTES + n;
    return true;
}

static bool skip_strings(struct bytes *b, int count)
{
    while (count > 0 && skip_string(b))
        count--;
    return count == 0;
}

/* Key: type, numbers.  Certificate: type, nonce, the key's numbers, and more. */
bool ssh_cert_is_of(const char *certificate, const char *key)
{
    struct buf of_certificate = { 0 }, of_key = { 0 };
    bool is = false;

    if (decode(certificate, &of_certificate) && decode(key, &of_key)) {
        struct bytes c = buf_bytes(&of_certificate), k = buf_bytes(&of_key);

        is = skip_strings(&c, 2) && skip_strings(&k, 1) && k.n > 0 && c.n > k.n &&
             memcmp(c.data, k.data, k.n) == 0;
    }
    buf_free(&of_certificate);
    buf_free(&of_key);
    return is;
}
