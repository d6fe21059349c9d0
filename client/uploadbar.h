/* SPDX-License-Identifier: MIT */
/*
 * uploadbar.h - how far an upload is, in one line of the terminal that is written anew
 */
#ifndef LUDWIG_CLIENT_UPLOADBAR_H
#define LUDWIG_CLIENT_UPLOADBAR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"

struct uploadbar {
    bool shown; /* stderr is a terminal */
    bool has_line;
    uint64_t bytes, all_bytes;
    uint64_t files, all_files;
    uint64_t before_bytes; /* were there already: say nothing of the rate */
    int64_t began_at_ms, shown_at_ms;
};

/* All functions take NULL for none. */
void uploadbar_begin(struct uploadbar *b, uint64_t files, uint64_t bytes);
/* So much more is there. */
void uploadbar_add(struct uploadbar *b, uint64_t files, uint64_t bytes);
/* So much was there before, from another try. */
void uploadbar_add_before(struct uploadbar *b, uint64_t files, uint64_t bytes);
/* It has to be sent again. */
void uploadbar_take_back(struct uploadbar *b, uint64_t files, uint64_t bytes);
/* Takes the line away, so that something else can be written. */
void uploadbar_clear(struct uploadbar *b);

/* Appends "412 MiB of 1.0 GiB, 37 MiB/s, about 16 s left, 120 of 2000 files" and a bar before it if
 * columns allow; at most columns wide. */
void uploadbar_add_line(struct buf *out, const struct uploadbar *b, int64_t now_ms, size_t columns);

#endif
