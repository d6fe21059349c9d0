/* SPDX-License-Identifier: MIT */
/* pack_tar.c - the little of tar that parts need: regular files, and long names */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/pack/pack_tar.h"

/* ustar, as POSIX has it; all its fields are text. */
struct header {
    char name[100];
    char mode[8], uid[8], gid[8];
    char size[12], mtime[12];
    char checksum[8];
    char type;
    char link[100];
    char magic[6], version[2];
    char user[32], group[32];
    char major[8], minor[8];
    char prefix[155];
    char unused[12];
};

_Static_assert(sizeof(struct header) == TAR_BLOCK_BYTES, "a header is a block");

static const char magic[] = "ustar";

size_t tar_padding(uint64_t size)
{
    return (size_t)(-size % TAR_BLOCK_BYTES);
}

uint64_t tar_entry_bytes(uint64_t size)
{
    return TAR_BLOCK_BYTES + size + tar_padding(size);
}

/* ---- out ---- */

static unsigned sum_of(const struct header *h)
{
    struct header blank = *h;
    const uint8_t *bytes = (const uint8_t *)&blank;
    unsigned sum = 0;

    memset(blank.checksum, ' ', sizeof blank.checksum);
    for (size_t i = 0; i < sizeof blank; i++)
        sum += bytes[i];
    return sum;
}

static void put_octal(char *field, size_t n, uint64_t number)
{
    char text[32];

    snprintf(text, sizeof text, "%0*" PRIo64, (int)n - 1, number);
    memcpy(field, text, n);
}

static void add_header(struct buf *out, struct header *h, char type, unsigned mode, size_t size)
{
    h->type = type;
    put_octal(h->mode, sizeof h->mode, mode);
    put_octal(h->uid, sizeof h->uid, 0);
    put_octal(h->gid, sizeof h->gid, 0);
    put_octal(h->size, sizeof h->size, size);
    put_octal(h->mtime, sizeof h->mtime, 0);
    memcpy(h->magic, magic, sizeof h->magic);
    memcpy(h->version, "00", sizeof h->version);
    put_octal(h->checksum, sizeof h->checksum - 1, sum_of(h));
    h->checksum[sizeof h->checksum - 1] = ' ';
    buf_add(out, h, sizeof *h);
}

/* Splits the path at a slash into prefix and name; false if it does not fit. */
static bool put_path(struct header *h, const char *path)
{
    size_t n = strlen(path);
    const char *name = path;

    if (n > sizeof h->name) {
        name = strchr(path + n - sizeof h->name - 1, '/');
        if (name == NULL || (size_t)(name - path) > sizeof h->prefix)
            return false;
        memcpy(h->prefix, path, (size_t)(name - path));
        name++;
    }
    memcpy(h->name, name, n - (size_t)(name - path));
    return true;
}

/* "28 path=...\n", where the number counts itself. */
static char *path_record(const char *path)
{
    size_t rest = strlen(" path=\n") + strlen(path), n = rest;
    char digits[24];

    do
        n = rest + (size_t)snprintf(digits, sizeof digits, "%zu", n);
    while ((size_t)snprintf(digits, sizeof digits, "%zu", n) + rest != n);
    return mem_printf("%zu path=%s\n", n, path);
}

static void add_long_name(struct buf *out, const char *path)
{
    static const uint8_t zeros[TAR_BLOCK_BYTES];
    struct header h = { .name = "long-name" };
    char *record = path_record(path);
    size_t n = strlen(record);

    add_header(out, &h, 'x', 0644, n);
    buf_add(out, record, n);
    buf_add(out, zeros, tar_padding(n));
    free(record);
}

void tar_add_header(struct buf *out, const char *path, bool executable, size_t size)
{
    struct header h = { 0 };

    if (!put_path(&h, path)) {
        add_long_name(out, path);
        memcpy(h.name, path, sizeof h.name);
    }
    add_header(out, &h, '0', executable ? 0755 : 0644, size);
}

/* ---- in ---- */

static int get_octal(const char *field, size_t n, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < n; i++) {
        if (field[i] < '0' || field[i] > '7')
            return -1;
        *number = *number << 3 | (uint64_t)(field[i] - '0');
    }
    return 0;
}

int tar_read_header(const uint8_t header[TAR_BLOCK_BYTES], char *type, uint64_t *size,
                    struct err *e)
{
    struct header h;
    uint64_t sum;

    memcpy(&h, header, sizeof h);
    if (get_octal(h.checksum, 6, &sum) < 0 || sum != sum_of(&h))
        return err_set(e, ERR_PROTOCOL, "tar: a header is damaged");
    if (memcmp(h.magic, magic, sizeof h.magic) != 0 || (h.type != '0' && h.type != 'x') ||
        get_octal(h.size, sizeof h.size - 1, size) < 0)
        return err_set(e, ERR_PROTOCOL, "tar: a header of a kind that parts do not have");
    *type = h.type;
    return 0;
}
