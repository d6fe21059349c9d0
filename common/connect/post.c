/* SPDX-License-Identifier: MIT */
/* post.c - what all ways to an inbox have in common */
#include "common/connect/post.h"

#include <sys/stat.h>

static void clear_files(struct post_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        buf_clear(&files->items[i].content);
        files->items[i].is_there = false;
    }
    files->n = 0;
}

void post_turn_clear(struct post_turn *t)
{
    clear_files(&t->put);
    clear_files(&t->get);
    clear_files(&t->drop);
    buf_clear(&t->id);
    t->wants_id = false;
}

static void free_files(struct post_files *files)
{
    for (size_t i = 0; i < POST_FILES_MAX; i++)
        buf_free(&files->items[i].content);
    files->n = 0;
}

void post_turn_free(struct post_turn *t)
{
    free_files(&t->put);
    free_files(&t->get);
    free_files(&t->drop);
    buf_free(&t->id);
}

struct post_file *post_add(struct post_files *files)
{
    return files->n < POST_FILES_MAX ? &files->items[files->n++] : NULL;
}

int post_check_folder(struct post *p, const char *path, uid_t owner, mode_t mode, struct err *e)
{
    if (!S_ISDIR(mode))
        return err_set(e, ERR_DENIED, "%s is no folder, so ludwigd takes nothing from it", path);
    if (owner != p->uid)
        return err_set(e, ERR_DENIED,
                       "%s belongs to uid %u, so ludwigd takes nothing of uid %u from it", path,
                       owner, p->uid);
    if ((mode & (S_IWGRP | S_IWOTH)) != 0)
        return err_set(e, ERR_DENIED,
                       "others may write into %s, so ludwigd takes nothing from it (chmod go-w it)",
                       path);
    p->file_mode = 0600 | (mode & 0044);
    return 0;
}

int post_no_folder(const char *path, const char *user, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND,
                   "ludwigd has no inbox for you (%s): an administrator of the server makes it "
                   "with: install -d -o %s -m 700 %s",
                   path, user, path);
}
