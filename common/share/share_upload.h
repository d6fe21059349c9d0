/* SPDX-License-Identifier: MIT */
/*
 * share_upload.h - uploads new files to a project; the file that names the others comes last
 *
 * A file is written under a temporary name and gets its final name when it is whole and on the
 * disk.  Small files get their names in the order in which they were added.  So do large files over
 * SFTP; on a mount share_upload_end names a large file at once.  A file that is added as
 * SHARE_UPLOAD_LAST gets its name after all files that were added before it.  Functions may return
 * before a file has its name; a later call reports its error, and share_upload_settle waits for
 * all files.
 *
 * Over SFTP a request does not wait for the reply to the last: a server carries out the requests of
 * one connection in order, so the next rename and the sync of a folder are sent at once.  Only a
 * SHARE_UPLOAD_LAST file waits for all others.  Large files are written over several connections at
 * once, as one connection carries no more than its window per round trip.
 */
#ifndef LUDWIG_COMMON_SHARE_SHARE_UPLOAD_H
#define LUDWIG_COMMON_SHARE_SHARE_UPLOAD_H

#include "common/share/share.h"
#include "common/share/share_project.h"

enum { SHARE_UPLOAD_SLOTS = 2, SHARE_UPLOAD_FOLDERS = 6, SHARE_UPLOAD_LANES = 8 };

struct share_upload;

/* Gives a further connection for files; number: 1, 2, ...  Returns 1 with *fd, a connection to an
 * SFTP server, which the upload then owns; 0 while the connection is being made: the upload asks
 * again when *fd, which it does not own, is readable; -1 when there will be none. */
typedef int share_lane(void *context, size_t number, int *fd, struct err *e);

/* Paths are relative to root, which must outlive the upload. */
struct share_upload *share_upload_open(const struct share_dir *root,
                                       const struct share_modes *modes);
/* Frees u.  Files without a final name are removed, as far as the share can be reached.  NULL is
 * fine. */
void share_upload_close(struct share_upload *u);

/* Announces large files: over SFTP the upload may use n_lanes connections, the first included. */
void share_upload_expect(struct share_upload *u, size_t n_lanes, share_lane *lane, void *context);

/* Adds a folder for files, SHARE_UPLOAD_FOLDERS at most, and makes it unless is_there.  *number
 * stands for the folder in later calls. */
int share_upload_add_folder(struct share_upload *u, const char *path, bool is_there,
                            unsigned *number, struct err *e);

/* These write a large file piece by piece.  Each slot (0 to SHARE_UPLOAD_SLOTS - 1) holds one file
 * at a time; share_upload_end frees the slot. */
int share_upload_begin(struct share_upload *u, unsigned slot, unsigned folder, struct err *e);
int share_upload_write(struct share_upload *u, unsigned slot, struct bytes bytes, struct err *e);
int share_upload_end(struct share_upload *u, unsigned slot, const char *name, struct err *e);

/* SHARE_UPLOAD_NEW: the name is a digest, so an existing file of that name has the same content.
 * SHARE_UPLOAD_LAST: as SHARE_UPLOAD_NEW, for a file that names all others, so that it comes last.
 * SHARE_UPLOAD_REPLACE: the file replaces an existing file. */
enum share_upload_kind { SHARE_UPLOAD_NEW, SHARE_UPLOAD_LAST, SHARE_UPLOAD_REPLACE };
/* Adds a small file with this content, which is copied. */
int share_upload_put(struct share_upload *u, unsigned folder, const char *name, struct bytes bytes,
                     enum share_upload_kind kind, struct err *e);

/* Sets a file's modification time to now.  ERR_BUSY, from this call or from a later one up to
 * share_upload_settle: the file is gone; then no SHARE_UPLOAD_LAST file gets its name any more.
 * Without the right to set times nothing happens. */
int share_upload_touch(struct share_upload *u, const char *path, struct err *e);

/* Hands all bytes written over SFTP to the kernel, so that the program may do other work for a
 * while. */
void share_upload_push(struct share_upload *u);
/* Over SFTP: waits until all added files are on the disk, perhaps still without their names.  On a
 * mount it does nothing. */
int share_upload_arrive(struct share_upload *u, struct err *e);
/* Waits until all files have their names and the names are durable.  No file may be added
 * afterwards. */
int share_upload_settle(struct share_upload *u, struct err *e);

/* Bytes of new files that have their names, which need not be sent again after a broken
 * connection. */
uint64_t share_upload_settled_bytes(const struct share_upload *u);
/* Whether a new file may have its name: its rename was sent, whether or not the reply came. */
bool share_upload_may_have_settled(const struct share_upload *u);

#endif
