/* SPDX-License-Identifier: MIT */
/*
 * cache_record.h - what a staged tree was when it was staged
 *
 * The record is a file beside the tree, ".DIGEST.record".  It is mapped, so that looking whether a
 * tree is still what it was costs no more than looking at the tree's folders.  Only this machine
 * reads it, so numbers are in its own byte order; a malformed record counts as none.
 */
#ifndef LUDWIG_WORKER_STAGER_CACHE_RECORD_H
#define LUDWIG_WORKER_STAGER_CACHE_RECORD_H

#include <sys/stat.h>

#include "common/pack/pack.h"
#include "worker/base/dir_walk.h"

enum { CACHE_NAME_BYTES = DIGEST_HEX + 16, BOOT_BYTES = 36, CACHE_THREADS_MAX = 16 };

/* Modes of files in the cache. */
enum { CACHE_FILE = 0444, CACHE_PROGRAM = 0555, CACHE_UNFINISHED = 0600, CACHE_FOLDER = 0755 };

/* Returns how many threads to use: one for each processor that this process may use, 16 at most. */
unsigned cache_threads(void);

/* Suffixes of files beside the tree cache/DIGEST, whose names are ".DIGEST" and one of these. */
#define CACHE_NEW    ".new"   /* a tree on its way */
#define CACHE_BEGUN  ".begun" /* in which boot of the machine that was begun */
#define CACHE_FIX    ".fix"   /* files that will replace some of the tree's */
#define CACHE_GONE   ".gone"  /* being removed */
#define CACHE_RECORD ".record"
#define CACHE_DRAFT  ".rec" /* a record that is being written */

/* Sets name to the tree's own (suffix "") or to that of a file beside it. */
void cache_name(const struct digest *tree, const char *suffix, char name[CACHE_NAME_BYTES]);

/* A row for each entry, in the order of the dataset. */
struct cache_row {
    struct digest content; /* of files; see record_content_of */
    uint64_t size;
    uint64_t inode;
    int64_t mtime_ns, ctime_ns; /* of folders only mtime_ns counts */
    uint64_t path_at;           /* in names */
    uint32_t kind;              /* enum pack_kind */
    uint32_t target;            /* of a hard link: the row of the file that it shares */
};

/* Whether a look at the tree's folders is enough: only if the record is closed. */
enum record_use {
    RECORD_CLOSED,
    RECORD_OPEN,   /* jobs may use the tree, and change it */
    RECORD_DOUBTED /* the tree is damaged, or files that it shares may be changed in another one */
};

struct record_head {
    char magic[8];
    char boot[BOOT_BYTES];
    uint32_t use;       /* enum record_use */
    uint32_t is_shared; /* some of its files are other trees' as well */
    struct digest tree, id;
    int64_t files, bytes;
    int64_t top_mtime_ns; /* of the tree's own folder */
    int64_t written_ns;
    uint64_t n_rows, n_folders, names_bytes;
};

/* A mapped record; its rows and head can be written to. */
struct record {
    struct record_head *head;
    uint32_t *folders; /* the rows that are folders */
    struct cache_row *rows;
    const char *names;
    size_t map_bytes;
};

/* Computes the digest of a file's content, however the file is stored: of one piece that is no hole
 * its SHA-256; else the SHA-256 over the digests of the pieces and, for each hole, a digest of
 * zeros and the hole's length in pieces. */
int record_content_of(int fd, uint64_t size, struct digest *content, struct err *e);
void record_add_hole(struct hasher *h, uint64_t n_pieces);

/* Sets id to this boot's, or to zeros: not known.  Files of earlier boots may have been lost. */
void boot_id(char id[BOOT_BYTES]);
bool record_is_of_this_boot(const struct record *r);

/* Maps the tree's record; false: there is none that can be used. */
bool record_open(struct record *r, int cache_fd, const struct digest *tree);
void record_close(struct record *r);
const char *record_path(const struct record *r, size_t row);

/*
 * Whether the tree is still what the record says.  A site's cleaner removes files, which shows in
 * the times of their folders; a job of the same user can change a file, which shows only in that
 * file's size and times.  So while jobs use a tree its folders are watched (inotify): no change
 * goes unnoticed then, and nothing need be looked at before a job starts.  A tree that was not
 * watched while jobs used it is looked at file by file.
 */
/* The rows whose entries are not what they were; the caller frees rows. */
struct damage {
    uint32_t *rows;
    size_t n, capacity;
    bool top; /* there is no such tree at all; rows is empty */
};
/* Looks at the folders only; returns whether they show no change. */
bool record_check_folders(const struct record *r, int cache_fd);
/* Looks at every file, by several threads, and fills in *damage.  A file that was only touched, and
 * has its content, is accepted; the record takes the present times of folders and such files. */
void record_check_files(struct record *r, int cache_fd, struct damage *damage);

/* on: makes guard_fd (inotify) tell of all changes in the tree; returns whether it does.  Not on:
 * ends that. */
bool record_watch(const struct record *r, const char *cache_dir_path, int guard_fd, bool on);

/* Writes a closed record, in place of one that is there.  The caller fills in *head, but leaves
 * magic, boot, use, written_ns, n_folders and names_bytes zero. */
int record_write(int cache_fd, struct record_head *head, const struct cache_row *rows,
                 struct bytes names, struct err *e);

/* Fills *st for a path of the tree that d walks through.  e: NULL where it may be missing. */
int record_stat(struct dir_walk *d, const char *path, struct stat *st, struct err *e);

/* Sets the row's inode and times to those that the file has now. */
void row_take(struct cache_row *row, const struct stat *st);
/* Whether the file is what the row says. */
bool row_is(const struct cache_row *row, const struct stat *st);

#endif
