/* SPDX-License-Identifier: MIT */
/* ssh_keys.c - lists the keys of ssh-agent, and tells to which key a certificate belongs */
#include <openssl/evp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/io.h"
#include "common/proto/unixsocket.h"
#include "common/ssh/ssh_keys.h"

enum {
    LENGTH_BYTES = 4,
    REQUEST_IDENTITIES = 11,
    IDENTITIES_ANSWER = 12,
    ANSWER_MAX_BYTES = 256 * 1024,
    BLOB_MAX_BYTES = 64 * 1024,
    KEYS_MAX = 64,
    PATIENCE_MS = 5000
};

static uint32_t number_at(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Takes a string with its length in front of it from b; false when there is none. */
static bool take_string(struct bytes *b, struct bytes *string)
{
    uint32_t n;

    if (b->n < LENGTH_BYTES || (n = number_at(b->data)) > b->n - LENGTH_BYTES)
        return false;
    *string = (struct bytes){ b->data + LENGTH_BYTES, n };
    b->data += LENGTH_BYTES + n;
    b->n -= LENGTH_BYTES + n;
    return true;
}

void ssh_keys_of_agent(const char *socket_path, struct arena *a, struct list *keys)
{
    static const uint8_t question[] = { 0, 0, 0, 1, REQUEST_IDENTITIES };
    int fd = unixsocket_connect(socket_path, NULL);
    struct pollfd p = { .fd = fd, .events = POLLIN };
    struct ssh_agent_key *items = arena_alloc(a, KEYS_MAX * sizeof *items);
    struct bytes answer, blob, name;
    uint8_t head[LENGTH_BYTES], *body;
    uint32_t n;

    *keys = (struct list){ items, 0 };
    if (fd < 0)
        return;
    if (io_write_all(fd, question, sizeof question) < 0 || poll(&p, 1, PATIENCE_MS) != 1 ||
        io_read_all(fd, head, sizeof head) != (ssize_t)sizeof head ||
        (n = number_at(head)) > ANSWER_MAX_BYTES)
        goto out;
    body = arena_alloc(a, n);
    if (io_read_all(fd, body, n) != (ssize_t)n || n < 5 || body[0] != IDENTITIES_ANSWER)
        goto out;
    answer = (struct bytes){ body + 5, n - 5 }; /* behind the number of keys */
    while (keys->n < KEYS_MAX && take_string(&answer, &blob) && take_string(&answer, &name)) {
        unsigned char *base64 = arena_alloc(a, blob.n / 3 * 4 + 5);

        EVP_EncodeBlock(base64, blob.data, (int)blob.n);
        items[keys->n++] =
            (struct ssh_agent_key){ arena_strndup(a, (const char *)name.data, name.n),
                                    (const char *)base64 };
    }
out:
    close(fd);
}

/* ---- certificates ---- */

/* Decodes the line's second word from base64. */
static bool decode_key(const char *line, struct buf *out)
{
    const char *text = line + strcspn(line, " \t");
    size_t size;
    int n;

    text += strspn(text, " \t");
    size = strcspn(text, " \t\r\n");
    if (size < 4 || size > BLOB_MAX_BYTES)
        return false;
    n = EVP_DecodeBlock(buf_reserve(out, size), (const unsigned char *)text, (int)size);
    if (n < 0)
        return false;
    n -= (text[size - 1] == '=') + (text[size - 2] == '=');
    buf_added(out, (size_t)n);
    return true;
}

/* A key is type, numbers; a certificate is type, nonce, the key's numbers, and more. */
bool ssh_keys_is_certificate_of(const char *certificate, const char *key)
{
    struct buf of_certificate = { 0 }, of_key = { 0 };
    bool is = false;

    if (decode_key(certificate, &of_certificate) && decode_key(key, &of_key)) {
        struct bytes c = buf_bytes(&of_certificate), k = buf_bytes(&of_key), skipped;

        is = take_string(&c, &skipped); /* its type */
        is = is && take_string(&c, &skipped) && take_string(&k, &skipped) && k.n > 0 && c.n > k.n && memcmp(c.data, k.data, k.n) == 0;
    }
    buf_free(&of_certificate);
    buf_free(&of_key);
    return is;
}
