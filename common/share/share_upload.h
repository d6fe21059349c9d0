/* SPDX-License-Identifier: MIT */
/*
 * share_upload.h - new files for a project, which get their names in the order of being added
 *
 * A file is written under a temporary name.  It gets its final name when it is whole and on the
 * disk, and after all files that were added before it.  Functions may return before that; then a
 * later call reports an error, and share_upload_settle waits for all.
 *
 * Over SFTP a request does not wait for the answer to the last: a server obeys the requests of one
 * connection in order, so the next rename and the sync of a folder are sent at once.  Only the file
 * that is added as SHARE_UPLOAD_LAST waits for all others.  Large files are written over several
 * connections at once, as one connection carries no more than its window per round trip.
 */
#ifndef LUDWIG_COMMON_SHARE_SHARE_UPLOAD_H
#define LUDWIG_COMMON_SHARE_SHARE_UPLOAD_H

#include "common/share/share.h"
#include "common/share/share_project.h"

enum { SHARE_UPLOAD_SLOTS = 2, SHARE_UPLOAD_FOLDERS = 6, SHARE_UPLOAD_LANES = 8 };

struct share_upload;

/* Gives a further connection for files, with numbers from 1 on: 1 with *fd, which speaks SFTP; 0:
 * it is being made, ask again when *fd, which is not the caller's, is readable; -1: there will be
 * none. */
typedef int share_lane(void *context, size_t number, int *fd, struct err *e);

/* Paths are relative to root, which must outlive the upload. */
struct share_upload *share_upload_open(const struct share_dir *root,
                                       const struct share_modes *modes);
/* Removes files that are not whole, as far as the share can be reached.  NULL is fine. */
void share_upload_close(struct share_upload *u);

/* Announces large files: over SFTP n_lanes connections may be used, the first included. */
void share_upload_expect(struct share_upload *u, size_t n_lanes, share_lane *lane, void *context);

/* Adds a folder for files, made unless is_there; later calls name it by its number. */
int share_upload_add_folder(struct share_upload *u, const char *path, bool is_there,
                            unsigned *number, struct err *e);

/* A large file, written piece by piece; each slot has one at a time. */
int share_upload_begin(struct share_upload *u, unsigned slot, unsigned folder, struct err *e);
int share_upload_write(struct share_upload *u, unsigned slot, struct bytes bytes, struct err *e);
int share_upload_end(struct share_upload *u, unsigned slot, const char *name, struct err *e);

/* SHARE_UPLOAD_NEW: the name is a digest, so an existing file of that name is the same.
 * SHARE_UPLOAD_LAST: the same, and the file names all others, so that it comes last.
 * SHARE_UPLOAD_REPLACE: replaces an existing file. */
enum share_upload_kind { SHARE_UPLOAD_NEW, SHARE_UPLOAD_LAST, SHARE_UPLOAD_REPLACE };
int share_upload_put(struct share_upload *u, unsigned folder, const char *name, struct bytes bytes,
                     enum share_upload_kind kind, struct err *e);

/* Sets a file's time to now.  ERR_BUSY, by share_upload_settle at the latest: the file is gone;
 * then no SHARE_UPLOAD_LAST file added later gets its name.  Without the right to do so nothing
 * happens. */
int share_upload_touch(struct share_upload *u, const char *path, struct err *e);

/* Hands all written bytes to the kernel, so that the program may do other work for a while. */
void share_upload_push(struct share_upload *u);
/* Waits until all added files are on the disk, perhaps still without their names. */
int share_upload_arrive(struct share_upload *u, struct err *e);
/* Waits until all files have their durable names; nothing may be added afterwards. */
int share_upload_settle(struct share_upload *u, struct err *e);

/* Bytes of new files with a durable name, which need not be sent again after a broken
 * connection. */
uint64_t share_upload_settled_bytes(const struct share_upload *u);
/* Whether a new file may have its name, although the answer that would say so is lost. */
bool share_upload_may_have_settled(const struct share_upload *u);

#endif
