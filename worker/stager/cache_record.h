/* SPDX-License-Identifier: MIT */
/*
 * cache_record.h - what a staged tree was when it was staged
 *
 * A file beside the tree, ".DIGEST.record", that is mapped: looking whether a tree is still what it
 * was must not cost more than looking at its folders.  It is this machine's alone, so numbers are
 * in its own byte order; one that is not as it should be counts as none.
 */
#ifndef LUDWIG_WORKER_STAGER_CACHE_RECORD_H
#define LUDWIG_WORKER_STAGER_CACHE_RECORD_H

#include <sys/stat.h>

#include "common/pack/pack.h"
#include "worker/base/dir_walk.h"

enum { CACHE_NAME_BYTES = DIGEST_HEX + 16, BOOT_BYTES = 36, CACHE_THREADS_MAX = 16 };

/* Modes of files in the cache. */
enum { CACHE_FILE = 0444, CACHE_PROGRAM = 0555, CACHE_UNFINISHED = 0600, CACHE_FOLDER = 0755 };

/* How many threads to use: as many as there are processors for us. */
unsigned cache_threads(void);

/* names of cache/DIGEST and of files beside it, ".DIGEST" and one of these */
#define CACHE_NEW    ".new"   /* a tree on its way */
#define CACHE_BEGUN  ".begun" /* in which boot of the machine it was begun */
#define CACHE_FIX    ".fix"   /* files that will replace some of the tree's */
#define CACHE_GONE   ".gone"  /* being removed */
#define CACHE_RECORD ".record"
#define CACHE_DRAFT  ".rec" /* a record that is being written */

/* The tree's own name or, with a suffix, that of a file beside it. */
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

/* Unless the record is closed, a look at the tree's folders is not enough. */
enum record_use {
    RECORD_CLOSED,
    RECORD_OPEN,   /* jobs may be at it */
    RECORD_DOUBTED /* it is damaged, or files that it shares may have been changed in another tree */
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

/* Mapped; rows and head can be written to. */
struct record {
    struct record_head *head;
    uint32_t *folders; /* the rows that are folders */
    struct cache_row *rows;
    const char *names;
    size_t map_bytes;
};

/*
 * The digest of a file's content, however it is stored: of one piece that is no hole its SHA-256;
 * else the SHA-256 over those of the pieces and, for each hole, a digest of zeros and how many
 * pieces it has.
 */
int record_content_of(int fd, uint64_t size, struct digest *content, struct err *e);
void record_add_hole(struct hasher *h, uint64_t n_pieces);

/* The id of this boot: files written in an earlier boot may have been lost with it. */
void boot_id(char id[BOOT_BYTES]);
bool record_is_of_this_boot(const struct record *r);

/* false: there is no record that can be used. */
bool record_open(struct record *r, int cache_fd, const struct digest *tree);
void record_close(struct record *r);
const char *record_path(const struct record *r, size_t row);

/*
 * Whether the tree is still what the record says.  A site's cleaner takes files away, which shows
 * in their folders' times; a job of the same user can change one, which shows in its own size and
 * times only.  So while jobs are at a tree its folders are watched (inotify), by which nothing that
 * was changed goes unnoticed, and nothing need be looked at before a job starts.  A tree not
 * watched while jobs were at it is looked at file by file.
 */
/* The rows that are not what they were; the caller frees the list. */
struct damage {
    uint32_t *rows;
    size_t n, capacity;
    bool top; /* all rows: there is no such tree */
};
/* Looks at the folders only; true: they show no change. */
bool record_check_folders(const struct record *r, int cache_fd);
/* Looks at every file, by several threads.  A file that was only touched, and has the content that
 * it had, is accepted; the times of folders are taken down anew. */
void record_check_files(struct record *r, int cache_fd, struct damage *damage);

/* Tells guard_fd (inotify) of all changes in the tree from now on; false: it cannot.  on false:
 * stops that. */
bool record_watch(const struct record *r, const char *cache_dir_path, int guard_fd, bool on);

/* Replaces the record that is there.  *head: all but magic, boot, use, written_ns, n_folders and
 * names_bytes. */
int record_write(int cache_fd, struct record_head *head, const struct cache_row *rows,
                 struct bytes names, struct err *e);

/* Looks at the path of a tree.  e: NULL where it may be missing. */
int record_stat(struct dir_walk *d, const char *path, struct stat *st, struct err *e);

/* Makes the row say what the file is now. */
void row_take(struct cache_row *row, const struct stat *st);
/* Whether the file is what the row says. */
bool row_is(const struct cache_row *row, const struct stat *st);

#endif
