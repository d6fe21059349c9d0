/* SPDX-License-Identifier: MIT */
/*
 * share_upload.h - new files for a project, which get their names in the order they were added
 *
 * A file is written under a temporary name.  It gets its final name when it is whole and on the
 * disk, and after all files that were added before it.  Functions may return before that; then a
 * later one tells of an error, and share_upload_settle waits for all.
 *
 * Over SFTP nothing is waited for that need not be: a server obeys the requests of one connection in
 * order, so neither the next rename nor the sync of a folder waits for the answer to the last.  Only
 * a file that is added as the last one waits for all others.  Large files are written over several
 * connections at once, as one carries no more than its window per round trip.
 */
#ifndef LUDWIG_COMMON_SHARE_SHARE_UPLOAD_H
#define LUDWIG_COMMON_SHARE_SHARE_UPLOAD_H

#include "common/share/share.h"
#include "common/share/share_project.h"

enum { SHARE_UPLOAD_SLOTS = 2, SHARE_UPLOAD_FOLDERS = 6, SHARE_UPLOAD_LANES = 8 };

struct share_upload;

/* Further connections for files, with numbers from 1 on: 1 with *fd, which speaks SFTP; 0: it is
 * being made, ask again when *fd, which is not the caller's, can be read from; -1: there will be
 * none. */
typedef int share_lane(void *context, size_t number, int *fd, struct err *e);

/* Paths are relative to root, which must stay open longer. */
struct share_upload *share_upload_open(const struct share_dir *root,
                                       const struct share_modes *modes);
/* What is not whole is taken away, as far as the share can be reached.  NULL is fine. */
void share_upload_close(struct share_upload *u);

/* So much is coming: over SFTP n_lanes connections may be used, the first included. */
void share_upload_expect(struct share_upload *u, size_t n_lanes, share_lane *lane, void *context);

/* A folder that files are added to, made unless it is there; the number is how it is called later. */
int share_upload_add_folder(struct share_upload *u, const char *path, bool is_there,
                            unsigned *number, struct err *e);

/* A large file, written piece by piece; there is one in each slot. */
int share_upload_begin(struct share_upload *u, unsigned slot, unsigned folder, struct err *e);
int share_upload_write(struct share_upload *u, unsigned slot, struct bytes bytes, struct err *e);
int share_upload_end(struct share_upload *u, unsigned slot, const char *name, struct err *e);

/* SHARE_UPLOAD_NEW: a file of that name is the same, as its name is a digest.  SHARE_UPLOAD_LAST: so
 * it is, and the file makes all others count.  SHARE_UPLOAD_REPLACE: takes the place of one. */
enum share_upload_kind { SHARE_UPLOAD_NEW, SHARE_UPLOAD_LAST, SHARE_UPLOAD_REPLACE };
int share_upload_put(struct share_upload *u, unsigned folder, const char *name, struct bytes bytes,
                     enum share_upload_kind kind, struct err *e);

/* A file's time becomes now.  ERR_BUSY, by share_upload_settle at the latest: the file is gone; then
 * no last file that is added later gets its name.  Without the right to do so nothing happens. */
int share_upload_touch(struct share_upload *u, const char *path, struct err *e);

/* Hands what was written to the kernel, so that the program may do something else for a while. */
void share_upload_push(struct share_upload *u);
/* Waits until all that was added is on the disk, be it without its name. */
int share_upload_arrive(struct share_upload *u, struct err *e);
/* Waits until all has its name for good; nothing is added after it. */
int share_upload_settle(struct share_upload *u, struct err *e);

/* What was written before it settles is lost if the connection breaks: so many bytes are safe of files
 * that would not be sent again. */
uint64_t share_upload_settled_bytes(const struct share_upload *u);
/* Some may be, although the answer that says so is lost. */
bool share_upload_may_have_settled(const struct share_upload *u);

#endif
