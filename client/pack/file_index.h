/* SPDX-License-Identifier: MIT */
/*
 * file_index.h - what the files of a tree were when they were read last
 *
 * In the order of the walk, so that walk and index are read beside each other, whatever their size.
 */
#ifndef LUDWIG_CLIENT_PACK_FILE_INDEX_H
#define LUDWIG_CLIENT_PACK_FILE_INDEX_H

#include <sys/stat.h>

#include "common/pack/pack_write.h"

struct file_index_reader;
struct file_index_writer;

/* path: see cache_dir_path.  NULL: there is none. */
struct file_index_reader *file_index_open(const char *path);
void file_index_close(struct file_index_reader *r); /* NULL is fine */
/* How many files it has. */
int64_t file_index_count(const struct file_index_reader *r);

/* Asked in the order of pack_path.h.  1: the file is what it was, *file, valid until the next call;
 * 0: it must be read. */
bool file_index_find(struct file_index_reader *r, const char *path, const struct stat *st,
                     struct pack_added *file);

struct file_index_writer *file_index_create(const char *path); /* NULL: it cannot be written */
/* began_at: before the file was read (CLOCK_REALTIME).  What was changed so shortly before that
 * another change would not show is not noted.  NULL: it was found. */
void file_index_add(struct file_index_writer *w, const char *path, const struct stat *st,
                    const struct pack_added *file, const struct timespec *began_at);
/* rest: what is behind the last path that it was asked for is taken over; or NULL.  w: NULL is fine. */
void file_index_commit(struct file_index_writer *w, struct file_index_reader *rest);

#endif
