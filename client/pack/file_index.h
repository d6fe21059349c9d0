/* SPDX-License-Identifier: MIT */
/*
 * file_index.h - size, times and pieces of a tree's files when they were last read
 *
 * Files are in the order of the walk, so that walk and index are read side by side in little
 * memory.
 */
#ifndef LUDWIG_CLIENT_PACK_FILE_INDEX_H
#define LUDWIG_CLIENT_PACK_FILE_INDEX_H

#include <sys/stat.h>

#include "common/pack/pack_write.h"

struct file_index_reader;
struct file_index_writer;

/* Opens the index at path (see cache_dir_path); NULL: there is none. */
struct file_index_reader *file_index_open(const char *path);
void file_index_close(struct file_index_reader *r); /* NULL is fine */
int64_t file_index_count(const struct file_index_reader *r);

/* Looks a file up; paths must come in the order of pack_path_compare.  true: the file is unchanged,
 * and *file, valid until the next call, has its pieces; false: the file must be read. */
bool file_index_find(struct file_index_reader *r, const char *path, const struct stat *st,
                     struct pack_added *file);

struct file_index_writer *file_index_create(const char *path); /* NULL: the cache is not writable */
/* Adds a file that was read from began_at on (CLOCK_REALTIME; NULL: file_index_find has found it).
 * Skips one that changed so shortly before that a further change would not show in its times. */
void file_index_add(struct file_index_writer *w, const char *path, const struct stat *st,
                    const struct pack_added *file, const struct timespec *began_at);
/* Writes the index and frees w, which may be NULL. The entries of rest, unless NULL, behind the
 * last added path are taken over. */
void file_index_commit(struct file_index_writer *w, struct file_index_reader *rest);

#endif
