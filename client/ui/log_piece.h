/* SPDX-License-Identifier: MIT */
/*
 * log_piece.h - reads a piece of a job's log for the live page
 */
#ifndef LUDWIG_CLIENT_UI_LOG_PIECE_H
#define LUDWIG_CLIENT_UI_LOG_PIECE_H

#include "common/share/share.h"

enum { LOG_PIECE_MAX_BYTES = 256 * 1024 };

struct log_piece {
    int64_t begin, end; /* offsets of the piece's first byte and of the byte behind it */
    int64_t size;       /* size of the log in bytes, as this machine sees it now */
};

/* Appends at most LOG_PIECE_MAX_BYTES of the log.  before -1: bytes from the offset `from` on, or
 * the last ones if from is -1; else the bytes that end at the offset `before`.  Returns 1, 0 if
 * there is no log, -1 with e set. */
int log_piece_read(const struct share_dir *fs, const char *path, int64_t from, int64_t before,
                   struct log_piece *piece, struct buf *out, struct err *e);

#endif
