/* SPDX-License-Identifier: MIT */
/* sftp_packet.c - the bytes of SFTP version 3 */
#include <string.h>

#include "common/sftp/sftp_packet.h"

#define HAS_EXTENDED UINT32_C(0x80000000)

enum { PERMISSIONS = 07777, MODE = 0177777 };

static const uint8_t *take_bytes(struct packet *p, size_t n)
{
    const uint8_t *at = p->at;

    if (p->bad || n > p->left) {
        p->bad = true;
        return NULL;
    }
    p->at += n;
    p->left -= n;
    return at;
}

uint8_t packet_u8(struct packet *p)
{
    const uint8_t *b = take_bytes(p, 1);

    return b == NULL ? 0 : *b;
}

uint32_t packet_u32(struct packet *p)
{
    const uint8_t *b = take_bytes(p, 4);

    if (b == NULL)
        return 0;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

uint64_t packet_u64(struct packet *p)
{
    uint64_t high = packet_u32(p);

    return high << 32 | packet_u32(p);
}

struct bytes packet_string(struct packet *p)
{
    size_t n = packet_u32(p);
    const uint8_t *at = take_bytes(p, n);

    return (struct bytes){ at, at == NULL ? 0 : n };
}

static void skip_extended(struct packet *p)
{
    uint32_t n = packet_u32(p);

    for (uint32_t i = 0; i < n && !p->bad; i++) {
        packet_string(p);
        packet_string(p);
    }
}

struct sftp_attrs packet_attrs(struct packet *p)
{
    uint32_t flags = packet_u32(p);
    struct sftp_attrs a = { .has = flags & (SFTP_SIZE | SFTP_OWNER | SFTP_MODE | SFTP_TIMES) };

    if (flags & SFTP_SIZE)
        a.size_bytes = packet_u64(p);
    if (flags & SFTP_OWNER) {
        a.uid = packet_u32(p);
        a.gid = packet_u32(p);
    }
    if (flags & SFTP_MODE)
        a.mode = (mode_t)(packet_u32(p) & MODE);
    if (flags & SFTP_TIMES) {
        a.atime_s = packet_u32(p);
        a.mtime_s = packet_u32(p);
    }
    if (flags & HAS_EXTENDED)
        skip_extended(p);
    return a;
}

struct bytes packet_name(struct packet *p, struct sftp_attrs *attrs)
{
    struct bytes name = packet_string(p);

    packet_string(p);
    *attrs = packet_attrs(p);
    return name;
}

bool packet_is(struct bytes s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.data, text, s.n) == 0;
}

void packet_add_u32(struct buf *out, uint32_t x)
{
    uint8_t b[4] = { (uint8_t)(x >> 24), (uint8_t)(x >> 16), (uint8_t)(x >> 8), (uint8_t)x };

    buf_add(out, b, sizeof b);
}

void packet_add_u64(struct buf *out, uint64_t x)
{
    packet_add_u32(out, (uint32_t)(x >> 32));
    packet_add_u32(out, (uint32_t)x);
}

void packet_add_bytes(struct buf *out, struct bytes s)
{
    packet_add_u32(out, (uint32_t)s.n);
    buf_add(out, s.data, s.n);
}

void packet_add_str(struct buf *out, const char *s)
{
    packet_add_bytes(out, (struct bytes){ (const uint8_t *)s, strlen(s) });
}

void packet_add_attrs(struct buf *out, const struct sftp_attrs *a)
{
    packet_add_u32(out, a->has);
    if (a->has & SFTP_SIZE)
        packet_add_u64(out, a->size_bytes);
    if (a->has & SFTP_OWNER) {
        packet_add_u32(out, a->uid);
        packet_add_u32(out, a->gid);
    }
    if (a->has & SFTP_MODE)
        packet_add_u32(out, a->mode & PERMISSIONS);
    if (a->has & SFTP_TIMES) {
        packet_add_u32(out, a->atime_s);
        packet_add_u32(out, a->mtime_s);
    }
}
