/* SPDX-License-Identifier: MIT */
/*
 * store.h - reads and writes the packs and sweeps in a project's folder on the shared drive
 *
 * Paths are relative to the folder of packs, as from pack_object_path.  An added file gets its
 * final name when it is whole and on the disk, and after all files added before it.  Functions may
 * return before that; then a later call reports an error.  store_settle waits for all.
 *
 * Modes follow the project's folder, whatever the umask: below 2770 files are 0660 and folders
 * 2770, below 0755 they are 0644 and 0755.
 */
#ifndef LUDWIG_CLIENT_SHARE_STORE_H
#define LUDWIG_CLIENT_SHARE_STORE_H

#include "client/share/readers.h"
#include "client/share/share_connection.h"
#include "common/pack/pack_write.h"
#include "common/proto/proto.h"

/* The target of files. */
struct place {
    struct share_connection *drive;
    const char *project;
};

/* Makes the project's folder by ludwigd's order, where ludwigd cannot do so itself. */
int store_make_project(const struct place *to, const struct folder_order *order, struct err *e);

struct store;

/* Makes nothing on the share before the first write. */
struct store *store_open(const struct place *to, struct err *e);
/* Removes files that are not whole, as far as the drive can be reached.  NULL is fine. */
void store_close(struct store *s);
/* Returns "mount /srv/share p" or "sftp SERVER-ID p", these packs' name; the caller frees it. */
char *store_key(const struct store *s);

enum store_folder { STORE_PACKS, STORE_PARTS, STORE_BLOCKS, STORE_FOLDER_COUNT };
extern const char *const store_folder_names[STORE_FOLDER_COUNT]; /* "", "parts", "blocks" */

/* Closes the project's folder to those who may not read all that is uploaded; call it before the
 * first write.  *has_closed: somebody could read the folder before.  Where workers of another
 * account read through the folder's group, only the readers of files count, not those of the
 * folders here; ERR_USAGE: that group may not read the files. */
int store_limit_readers(struct store *s, const struct readers *all, const struct readers *files,
                        bool *has_closed, struct err *e);

/* Lists the files in the folders, in the arena, in no order; a missing folder has none.  Without
 * details only manifests and temporary files have size and time. */
int store_list(struct store *s, bool has_details, struct arena *a,
               struct list entries[STORE_FOLDER_COUNT] /* struct share_entry */, struct err *e);
/* Asks for a small file; got is called with its content or an error, by store_fetch_all at the
 * latest. */
int store_fetch(struct store *s, const char *path, size_t max_bytes, share_got *got, void *context,
                struct err *e);
int store_fetch_all(struct store *s, struct err *e);
/* Removes a file unless its time has changed.  Returns 1, also if it is missing; 0 if its time has
 * changed; -1 with e set. */
int store_remove_untouched(struct store *s, const char *path, int64_t mtime_s, struct err *e);
/* Sets a file's time to now, so that it is not removed as waste while an upload relies on it.
 * ERR_BUSY, by store_settle at the latest: the file is gone; then no manifest added later gets its
 * name. */
int store_touch(struct store *s, const char *path, struct err *e);

/* See struct pack_sink. */
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
/* Waits until all added files are on the disk, perhaps still without their names. */
int store_arrive(struct store *s, struct err *e);
/* Hands all written bytes to the kernel, so that the program may do other work for a while. */
void store_push(struct store *s);
/* Bytes of packs with a durable name, which need not be sent again after a broken connection. */
uint64_t store_settled_bytes(const struct store *s);
/* Whether a file may have its name, although the answer that would say so is lost. */
bool store_may_have_settled(const struct store *s);

/* Announces this many bytes, so that further connections may be made for them. */
void store_expect(struct store *s, uint64_t bytes);

/* Removes temporary files, found by store_list, that this user's old tries left. */
void store_sweep(struct store *s);

#endif
