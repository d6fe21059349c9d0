/* SPDX-License-Identifier: MIT */
/*
 * uploadbar.h - how far an upload is, in one line of the terminal that is written anew
 */
#ifndef LUDWIG_CLIENT_TERM_UPLOADBAR_H
#define LUDWIG_CLIENT_TERM_UPLOADBAR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"

struct uploadbar {
    bool shown; /* stderr is a terminal */
    bool has_line;
    uint64_t bytes, all_bytes;
    uint64_t files, all_files;
    int64_t began_at_ms, shown_at_ms;
    int told_fd; /* a program that reads "at FILES BYTES" each second; 0: none */
};

/* All functions take NULL for none. */
void uploadbar_begin(struct uploadbar *b, uint64_t files, uint64_t bytes);
/* So many files more, and so many bytes of files, were read and went out. */
void uploadbar_add(struct uploadbar *b, uint64_t files, uint64_t bytes);
/* Takes the line away, so that something else can be written. */
void uploadbar_clear(struct uploadbar *b);

/* Appends "412 MiB of 1.0 GiB, 37 MiB/s, about 16 s left, 120 of 2000 files" and a bar before it if
 * columns allow; at most columns wide. */
void uploadbar_add_line(struct buf *out, const struct uploadbar *b, int64_t now_ms, size_t columns);

#endif
