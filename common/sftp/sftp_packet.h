/* SPDX-License-Identifier: MIT */
/*
 * sftp_packet.h - the bytes of SFTP version 3
 *
 * Reading stops at the end: a missing field reads as zero or empty and sets "bad",
 * so that a caller checks "bad" once, after the last field.
 */
#ifndef LUDWIG_COMMON_SFTP_SFTP_PACKET_H
#define LUDWIG_COMMON_SFTP_SFTP_PACKET_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/sftp/sftp.h"

enum { SFTP_VERSION = 3, SFTP_HANDLE_MAX_BYTES = 256 };

enum sftp_packet_type {
    FXP_INIT = 1,
    FXP_VERSION,
    FXP_OPEN,
    FXP_CLOSE,
    FXP_READ,
    FXP_WRITE,
    FXP_LSTAT,
    FXP_FSTAT,
    FXP_SETSTAT,
    FXP_FSETSTAT,
    FXP_OPENDIR,
    FXP_READDIR,
    FXP_REMOVE,
    FXP_MKDIR,
    FXP_RMDIR,
    FXP_REALPATH,
    FXP_STAT,
    FXP_RENAME,
    FXP_READLINK,
    FXP_SYMLINK,
    FXP_STATUS = 101,
    FXP_HANDLE,
    FXP_DATA,
    FXP_NAME,
    FXP_ATTRS,
    FXP_EXTENDED = 200,
    FXP_EXTENDED_REPLY
};

enum sftp_status {
    FX_OK,
    FX_EOF,
    FX_NO_SUCH_FILE,
    FX_PERMISSION_DENIED,
    FX_FAILURE,
    FX_BAD_MESSAGE,
    FX_NO_CONNECTION,
    FX_CONNECTION_LOST,
    FX_UNSUPPORTED
};

struct packet {
    const uint8_t *at;
    size_t left;
    bool bad;
};

uint8_t packet_u8(struct packet *p);
uint32_t packet_u32(struct packet *p);
uint64_t packet_u64(struct packet *p);
struct bytes packet_string(struct packet *p);
struct sftp_attrs packet_attrs(struct packet *p);
/* Reads an entry of FXP_NAME and gives its name; the line of "ls -l" is skipped. */
struct bytes packet_name(struct packet *p, struct sftp_attrs *attrs);
bool packet_is(struct bytes s, const char *text);

void packet_add_u32(struct buf *out, uint32_t x);
void packet_add_u64(struct buf *out, uint64_t x);
void packet_add_bytes(struct buf *out, struct bytes s);
void packet_add_str(struct buf *out, const char *s);
void packet_add_attrs(struct buf *out, const struct sftp_attrs *attrs);

#endif
