/* SPDX-License-Identifier: MIT */
/*
 * io.h - whole reads and writes, files, and trees, each result checked
 *
 * All descriptors made here are close-on-exec.  EINTR and short transfers are
 * dealt with.  Errors name the path.
 */
#ifndef LUDWIG_COMMON_BASE_IO_H
#define LUDWIG_COMMON_BASE_IO_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/buf.h"
#include "common/base/err.h"

int io_write_all(int fd, const void *bytes, size_t n); /* -1 with errno */
/* The same from offset at on; the file's position stays. */
int io_write_all_at(int fd, const void *bytes, size_t n, uint64_t at);
/* Reads until n bytes or end of file; returns the number of bytes read, or -1 with errno. */
ssize_t io_read_all(int fd, void *bytes, size_t n);
/* The same from offset at on; the file's position stays. */
ssize_t io_read_all_at(int fd, void *bytes, size_t n, uint64_t at);

/* Appends the file to out; ERR_USAGE when it is larger than max_bytes. */
int io_read_file(const char *path, size_t max_bytes, struct buf *out, struct err *e);
int io_read_file_at(int dir_fd, const char *name, size_t max_bytes, struct buf *out, struct err *e);
/* Creates or replaces the file in place. */
int io_write_file_at(int dir_fd, const char *name, const void *bytes, size_t n, mode_t mode,
                     struct err *e);
/* Temporary name in the same folder, fsync, rename, fsync of the folder. */
int io_replace_file(const char *path, const void *bytes, size_t n, mode_t mode, struct err *e);

/* mkdir -p; existing folders are fine and keep their modes. */
int io_make_dirs(const char *path, mode_t mode, struct err *e);
int io_make_dirs_at(int dir_fd, const char *path, mode_t mode, struct err *e);
/* rm -rf below dir_fd; a missing name is fine.  Never follows symlinks. */
int io_remove_tree_at(int dir_fd, const char *name, struct err *e);
int io_remove_tree(const char *path, struct err *e);

/* Opens a folder (O_DIRECTORY | O_CLOEXEC); -1 with e set. */
int io_open_dir(const char *path, struct err *e);
int io_open_dir_at(int dir_fd, const char *name, struct err *e);
/* The same for readdir(3); the caller closes it.  NULL with e set. */
DIR *io_list_dir_at(int dir_fd, const char *name, struct err *e);

/* Opens an entry that is no symlink; one whose mode denies its owner gets these bits first. */
int io_open_own(int dir_fd, const char *name, int flags, mode_t bits);
/* The target of a symlink, however long it is; the caller frees it.  NULL with e set. */
char *io_read_link_at(int dir_fd, const char *path, struct err *e);

/* The first bytes from there on that lie in no hole; INT64_MAX: none do, or it is not known. */
void io_find_data(int fd, int64_t from, int64_t *begin, int64_t *end);
/* Copies the rest of in to out: reflink, copy_file_range, read/write, whichever works.  Holes stay
 * holes where the end of out grows. */
int io_copy_fd(int in_fd, int out_fd, uint64_t *copied_bytes, struct err *e);
/* The same piece by piece: copies max_bytes of the rest or, where a reflink costs nothing, all of
 * it.  *copied_bytes is 0 at the end. */
int io_copy_some(int in_fd, int out_fd, uint64_t max_bytes, uint64_t *copied_bytes, struct err *e);
/*
 * Copies a tree (files with their execute bits, folders, symlinks as they are;
 * devices, sockets and fifos are refused by name) below to_fd/to_name, which
 * must not exist; entries copied before a failure stay there.  Modes: the source's,
 * plus 0600 for files and 0700 for folders, minus the umask.
 */
int io_copy_tree_at(int from_fd, const char *from_name, int to_fd, const char *to_name,
                    struct err *e);

int io_set_nonblocking(int fd, struct err *e);
/* flock(LOCK_EX | LOCK_NB) on a file that is created if need be: the descriptor, or
 * -1 with ERR_BUSY when another process holds the lock. */
int io_lock_file(const char *path, struct err *e);
/* The same, but waits up to timeout_ms for the lock. */
int io_lock_file_within(const char *path, int timeout_ms, struct err *e);

/* In a process that was just forked: closes all descriptors above 2 but these. */
void io_close_all_but(const int *keep, size_t n);
/* Turns standard input and output into /dev/null; stderr stays as it is. */
void io_detach(void);

#endif
