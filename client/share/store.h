/* SPDX-License-Identifier: MIT */
/*
 * store.h - a project's folder on the shared drive: its packs, to be looked at and added to, and its sweeps
 *
 * Paths are relative to the folder of packs, as pack_object_path gives them.  What is added gets its
 * final name when it is whole and on the disk, and after all that was added before it.  Functions may
 * return before that; then a later one tells of an error.  store_settle waits for all.
 *
 * What is made gets its mode from the project's folder, whatever the umask: below 2770 files are 0660
 * and folders 2770, below 0755 they are 0644 and 0755.
 */
#ifndef LUDWIG_CLIENT_SHARE_STORE_H
#define LUDWIG_CLIENT_SHARE_STORE_H

#include "client/share/readers.h"
#include "client/share/share_connection.h"
#include "common/pack/pack_write.h"
#include "common/proto/proto.h"

/* Where files go. */
struct place {
    struct share_connection *drive;
    const char *project;
};

/* Makes the project's folder, as ludwigd orders where it cannot do so itself. */
int store_make_project(const struct place *to, const struct folder_order *order, struct err *e);

struct store;

/* Nothing is made there before something is written. */
struct store *store_open(const struct place *to, struct err *e);
/* What is not whole is taken away, as far as the drive can be reached.  NULL is fine. */
void store_close(struct store *s);
/* "mount /srv/share p" or "sftp SERVER-ID p": the same for the same packs, whenever.  Caller frees. */
char *store_key(const struct store *s);

enum store_folder { STORE_PACKS, STORE_PARTS, STORE_BLOCKS, STORE_FOLDER_COUNT };
extern const char *const store_folder_names[STORE_FOLDER_COUNT]; /* "", "parts", "blocks" */

/* Before anything is written: nobody beside the owner can read the project's folder, then, who may not read
 * all of what goes there; *has_closed: somebody could.  Where workers of another account read through the
 * folder's group, only the files count, not the folders that they lie in here; ERR_USAGE: they may not. */
int store_limit_readers(struct store *s, const struct readers *all, const struct readers *files,
                        bool *has_closed, struct err *e);

/* What is in the folders but folders and links, in the arena, in no order; nothing where the folders
 * are not.  Without details size and time are known of manifests and temporary files alone. */
int store_list(struct store *s, bool has_details, struct arena *a,
               struct list entries[STORE_FOLDER_COUNT] /* struct share_entry */, struct err *e);
/* A small file; got is called with it, or with what went wrong, by store_fetch_all at the latest. */
int store_fetch(struct store *s, const char *path, size_t max_bytes, share_got *got, void *context,
                struct err *e);
int store_fetch_all(struct store *s, struct err *e);
/* Removes a file unless its time has changed.  1, also if it is not there; 0: it has changed. */
int store_remove_untouched(struct store *s, const char *path, int64_t mtime_s, struct err *e);
/* A file's time becomes now, so that it is not tidied up while an upload relies on it.  ERR_BUSY, by
 * store_settle at the latest: it is gone; then no manifest gets its name that is added later. */
int store_touch(struct store *s, const char *path, struct err *e);

/* As struct pack_sink has them. */
int store_part_begin(struct store *s, unsigned slot, struct err *e);
int store_part_write(struct store *s, unsigned slot, struct bytes bytes, struct err *e);
int store_part_end(struct store *s, unsigned slot, const struct pack_part *part, struct bytes list,
                   struct err *e);
int store_object(struct store *s, enum pack_object kind, const struct digest *name,
                 struct bytes bytes, struct err *e);

/* Small files for sweeps/N/; the texts are copied. */
struct store_text {
    const char *name;
    struct bytes text;
};
int store_add_sweep(struct store *s, int64_t sweep, const struct store_text *files, size_t n,
                    struct err *e);

int store_settle(struct store *s, struct err *e);
/* Before: until all that was added is on the disk, be it without its name. */
int store_arrive(struct store *s, struct err *e);
/* What was written leaves this program, so that it may do something else for a while. */
void store_push(struct store *s);
/* What was written before it settles is lost if the connection breaks: so many bytes of packs are
 * safe. */
uint64_t store_settled_bytes(const struct store *s);
/* Some may be, although the answer that says so is lost. */
bool store_may_have_settled(const struct store *s);

/* So much is coming: connections for it may be made. */
void store_expect(struct store *s, uint64_t bytes);

/* Removes what tries of this user left that ended long ago, as it was listed. */
void store_sweep(struct store *s);

#endif
