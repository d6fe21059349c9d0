/* SPDX-License-Identifier: MIT */
/* ssh_agent.c - what keys ssh-agent holds, to name them and to ask for no passphrase it knows */
#include <openssl/evp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/ssh/ssh.h"

enum {
    REQUEST_IDENTITIES = 11,
    IDENTITIES_ANSWER = 12,
    ANSWER_MAX_BYTES = 256 * 1024,
    KEYS_MAX = 64,
    PATIENCE_MS = 5000
};

static int connect_to(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd;

    if (strlen(path) >= sizeof address.sun_path)
        return -1;
    memcpy(address.sun_path, path, strlen(path));
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static uint32_t number_at(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Takes a string with its length in front of it from b; false when there is none. */
static bool take_string(struct bytes *b, struct bytes *string)
{
    uint32_t n;

    if (b->n < 4 || (n = number_at(b->data)) > b->n - 4)
        return false;
    *string = (struct bytes){ b->data + 4, n };
    b->data += 4 + n;
    b->n -= 4 + n;
    return true;
}

/* The answer without its length, or nothing. */
static struct bytes ask(int fd, struct arena *a)
{
    static const uint8_t question[] = { 0, 0, 0, 1, REQUEST_IDENTITIES };
    struct pollfd p = { .fd = fd, .events = POLLIN };
    struct bytes nothing = { 0 };
    uint8_t head[4], *body;
    uint32_t n;

    if (io_write_all(fd, question, sizeof question) < 0 || poll(&p, 1, PATIENCE_MS) != 1 ||
        io_read_all(fd, head, sizeof head) != (ssize_t)sizeof head)
        return nothing;
    n = number_at(head);
    if (n > ANSWER_MAX_BYTES)
        return nothing;
    body = arena_alloc(a, n);
    if (io_read_all(fd, body, n) != (ssize_t)n)
        return nothing;
    return (struct bytes){ body, n };
}

static const char *to_base64(struct bytes b, struct arena *a)
{
    unsigned char *text = arena_alloc(a, b.n / 3 * 4 + 5);

    EVP_EncodeBlock(text, b.data, (int)b.n);
    return (const char *)text;
}

static void read_keys(struct bytes answer, struct arena *a, struct list *keys)
{
    struct ssh_agent_key *items = arena_alloc(a, KEYS_MAX * sizeof *items);
    struct bytes blob, name;

    if (answer.n < 5 || answer.data[0] != IDENTITIES_ANSWER)
        return;
    answer.data += 5;
    answer.n -= 5;
    while (keys->n < KEYS_MAX && take_string(&answer, &blob) && take_string(&answer, &name))
        items[keys->n++] =
            (struct ssh_agent_key){ arena_strndup(a, (const char *)name.data, name.n),
                                    to_base64(blob, a) };
    keys->items = items;
}

void ssh_agent_keys(const char *socket_path, struct arena *a, struct list *keys)
{
    int fd = connect_to(socket_path);

    *keys = (struct list){ 0 };
    if (fd < 0)
        return;
    read_keys(ask(fd, a), a, keys);
    close(fd);
}
