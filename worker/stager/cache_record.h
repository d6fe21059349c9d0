/* SPDX-License-Identifier: MIT */
/*
 * cache_record.h - what a staged tree was when it was staged
 *
 * A file beside the tree, ".DIGEST.record", that is mapped: looking whether a tree is still what it was
 * must not cost more than looking at its folders.  It is this machine's alone, so numbers are in its
 * own byte order; one that is not as it should be counts as none.
 */
#ifndef LUDWIG_WORKER_STAGER_CACHE_RECORD_H
#define LUDWIG_WORKER_STAGER_CACHE_RECORD_H

#include <sys/stat.h>

#include "common/pack/pack.h"

enum { CACHE_NAME_BYTES = DIGEST_HEX + 16, BOOT_BYTES = 36, CACHE_THREADS_MAX = 16 };

/* Modes of what is in the cache. */
enum { CACHE_FILE = 0444, CACHE_PROGRAM = 0555, CACHE_UNFINISHED = 0600, CACHE_FOLDER = 0755 };

/* As many as there are processors for us. */
unsigned cache_threads(void);

/* cache/DIGEST and what lies beside it, ".DIGEST" and one of these */
#define CACHE_NEW    ".new"   /* a tree on its way */
#define CACHE_BEGUN  ".begun" /* in which boot of the machine it was begun */
#define CACHE_FIX    ".fix"   /* files that will replace some of the tree's */
#define CACHE_GONE   ".gone"  /* being removed */
#define CACHE_RECORD ".record"
#define CACHE_DRAFT  ".rec" /* a record that is being written */

/* The tree's own name; with a suffix: of what lies beside it. */
void cache_name(const struct digest *tree, const char *suffix, char name[CACHE_NAME_BYTES]);

/* One for each entry, in the order of the dataset. */
struct cache_row {
    struct digest content; /* of files; see plan_content */
    uint64_t size;
    uint64_t inode;
    int64_t mtime_ns, ctime_ns; /* of folders only mtime_ns counts */
    uint64_t path_at;           /* in names */
    uint32_t kind;              /* enum pack_kind */
    uint32_t target;            /* of a hard link: the row of what it shares */
};

/* Unless it is closed, looking at its folders is not enough. */
enum record_use {
    RECORD_CLOSED,
    RECORD_OPEN,   /* jobs may be at it */
    RECORD_DOUBTED /* files that it shares may have been changed in another tree */
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
    uint32_t *folders; /* which of the rows are */
    struct cache_row *rows;
    const char *names;
    size_t map_bytes;
};

/* Of this boot of the machine: what was written in an earlier one may have been lost with it. */
void boot_id(char id[BOOT_BYTES]);
bool record_is_of_this_boot(const struct record *r);

/* false: there is none that can be used. */
bool record_open(struct record *r, int cache_fd, const struct digest *tree);
void record_close(struct record *r);
const char *record_path(const struct record *r, size_t row);

/*
 * Whether the tree is still what the record says.  A site's cleaner takes files away, which shows in
 * their folders' times; a job of the same user can change one, which shows in its own size and times
 * only.  So while jobs are at a tree its folders are watched (inotify), by which nothing that was
 * changed goes unnoticed, and nothing need be looked at before a job starts.  What was not watched
 * while jobs were at it is looked at file by file.
 */
/* Which rows are not what they were; the caller frees the list. */
struct damage {
    uint32_t *rows;
    size_t n, capacity;
    bool top; /* all of them: there is no such tree */
};
/* Only as far as its folders show; true: it is what it was. */
bool record_check_folders(const struct record *r, int cache_fd);
/* Every file, by several threads.  What was only touched, and has the content that it had, becomes what
 * it was; the times of folders are taken down anew. */
void record_check_files(struct record *r, int cache_fd, struct damage *damage);

/* Tells guard_fd (inotify) of all that is changed in the tree from now on; false: it cannot. */
bool record_watch(const struct record *r, const char *cache_dir_path, int guard_fd);
/* Not any more. */
void record_unwatch(const struct record *r, const char *cache_dir_path, int guard_fd);

/* What there is to be written. */
struct record_draft {
    struct digest tree, id;
    int64_t files, bytes;
    int64_t top_mtime_ns;
    bool is_shared;
    const struct cache_row *rows;
    size_t n_rows;
    struct bytes names;
};
/* Replaces the record that is there. */
int record_write(int cache_fd, const struct record_draft *draft, struct err *e);

int64_t stat_mtime_ns(const struct stat *st);
int64_t stat_ctime_ns(const struct stat *st);
/* Times have steps: what was changed so shortly before somebody looked may have been changed again since,
 * and show the same time. */
bool is_recent(int64_t time_ns, int64_t looked_ns);
int64_t now_ns(void);
/* What it is now. */
void row_take(struct cache_row *row, const struct stat *st);
/* It is what it was. */
bool row_is(const struct cache_row *row, const struct stat *st);

#endif
