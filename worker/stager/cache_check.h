/* SPDX-License-Identifier: MIT */
/*
 * cache_check.h - whether a staged tree is still what it was when it was staged
 *
 * A site's cleaner takes files away, which shows in their folders' times; a job of the same user can
 * change one, which shows in its own size and times only.  So while jobs are at a tree its folders
 * are watched (inotify), by which nothing that was changed goes unnoticed, and nothing need be looked
 * at before a job starts.  What was not watched while jobs were at it is looked at file by file.
 */
#ifndef LUDWIG_WORKER_STAGER_CACHE_CHECK_H
#define LUDWIG_WORKER_STAGER_CACHE_CHECK_H

#include "worker/stager/cache_record.h"

/* Which rows are not what they were. */
struct damage {
    uint32_t *rows;
    size_t n, capacity;
    bool top; /* all of them: there is no such tree */
};
void damage_free(struct damage *d);

/* Only as far as its folders show; true: it is what it was. */
bool check_folders(const struct record *r, int cache_fd);
/* Every file, by several threads.  What was only touched, and has the content that it had, becomes what
 * it was; the times of folders are taken down anew. */
void check_files(struct record *r, int cache_fd, struct damage *damage);

/* Tells guard_fd (inotify) of all that is changed in the tree from now on; false: it cannot. */
bool check_watch(const struct record *r, const char *cache_dir_path, int guard_fd);
/* Not any more. */
void check_unwatch(const struct record *r, const char *cache_dir_path, int guard_fd);

#endif
