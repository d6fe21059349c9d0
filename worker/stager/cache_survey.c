/* SPDX-License-Identifier: MIT */
/* cache_survey.c - what of a tree is there already, its folders and links */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "worker/stager/cache_stage.h"

static int fail(const struct stage *s, size_t i, const char *what, struct err *e)
{
    return err_sys(e, "%s %s", what, plan_path(&s->plan, i));
}

/* ---- folders ---- */

static int make_folder(struct stage *s, size_t i, struct err *e)
{
    const char *name;
    int dir_fd = dir_walk_to(&s->descent, plan_path(&s->plan, i), &name, e);
    struct stat st;

    if (dir_fd < 0)
        return -1;
    if (mkdirat(dir_fd, name, CACHE_FOLDER) == 0)
        return 0;
    if (errno != EEXIST)
        return fail(s, i, "create", e);
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
        return 0;
    if (io_remove_tree_at(dir_fd, name, e) < 0)
        return -1;
    return mkdirat(dir_fd, name, CACHE_FOLDER) < 0 ? fail(s, i, "create", e) : 0;
}

/* ---- files ---- */

static bool has_content(const struct stage *s, size_t i, int dir_fd, const char *name)
{
    const struct cache_row *row = &s->plan.rows[i];
    int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct digest content;
    bool is_same;

    if (fd < 0)
        return false;
    is_same = plan_content_of(fd, row->size, &content, NULL) == 0 &&
              digest_equal(&content, &row->content) && fchmod(fd, fill_mode_of(&s->plan, i)) == 0;
    close(fd);
    return is_same;
}

static bool is_whole(const struct stage *s, size_t i, int dir_fd, const char *name)
{
    struct stat st;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
        (uint64_t)st.st_size != s->plan.rows[i].size)
        return false;
    if (s->trust == TRUST_MODES)
        return (st.st_mode & 07777) == fill_mode_of(&s->plan, i);
    return has_content(s, i, dir_fd, name);
}

/* Of a live tree nothing is linked: what its files are to be replaced by is made elsewhere. */
static int survey_file(struct stage *s, struct earlier *earlier, size_t i, struct err *e)
{
    struct plan_entry *entry = &s->plan.entries[i];
    const char *name;
    int dir_fd = dir_walk_to(&s->descent, plan_path(&s->plan, i), &name, e);

    if (dir_fd < 0)
        return -1;
    if (s->trust != TRUST_NOTHING)
        entry->is_wanted = !is_whole(s, i, dir_fd, name);
    if (entry->is_wanted && !s->is_live && earlier_link(earlier, &s->plan.rows[i], dir_fd, name))
        entry->is_wanted = false;
    return 0;
}

static int survey_entry(struct stage *s, struct earlier *earlier, size_t i, struct err *e)
{
    struct plan_entry *entry = &s->plan.entries[i];

    if (!entry->is_wanted)
        return 0;
    if (s->plan.rows[i].kind == PACK_FOLDER) {
        entry->is_wanted = false;
        return make_folder(s, i, e);
    }
    return plan_is_file(&s->plan, i) ? survey_file(s, earlier, i, e) : 0;
}

int stage_survey(struct stage *s, struct err *e)
{
    struct earlier *earlier = earlier_open(s->cache->fd, &s->plan.set.tree);
    int result = 0;

    for (size_t i = 0; result == 0 && i < s->plan.n; i++)
        result = survey_entry(s, earlier, i, e);
    earlier_close(earlier);
    return result;
}

/* ---- links ---- */

static int look_at(struct dir_walk *d, const char *path, struct stat *st, struct err *e)
{
    const char *name;
    int dir_fd = dir_walk_to(d, path, &name, e);

    if (dir_fd < 0)
        return -1;
    return fstatat(dir_fd, name, st, AT_SYMLINK_NOFOLLOW) < 0 ? err_sys(e, "look at %s", path) : 0;
}

static int find_target(const struct stage *s, size_t i, size_t *target, struct err *e)
{
    *target = plan_find(&s->plan, plan_target(&s->plan, i));
    if (*target != SIZE_MAX &&
        (plan_is_file(&s->plan, *target) || s->plan.rows[*target].kind == PACK_HARD_LINK))
        return 0;
    return err_set(e, ERR_PROTOCOL, "dataset: %s is a hard link to %s, which is no file",
                   plan_path(&s->plan, i), plan_target(&s->plan, i));
}

/* Never half there: what was in its place lasts until the link is made. */
static int replace_link(const struct stage *s, size_t i, int from_fd, const char *from, int dir_fd,
                        const char *name, struct err *e)
{
    char number[24];

    snprintf(number, sizeof number, "%zu", i);
    if (linkat(from_fd, from, s->fix_fd, number, 0) < 0)
        return fail(s, i, "link", e);
    if (renameat(s->fix_fd, number, dir_fd, name) == 0)
        return 0;
    if (errno == EISDIR && io_remove_tree_at(dir_fd, name, e) < 0)
        return -1;
    return renameat(s->fix_fd, number, dir_fd, name) < 0 ? fail(s, i, "link", e) : 0;
}

static int link_to(struct stage *s, size_t i, size_t target, struct err *e)
{
    const char *name, *from;
    int dir_fd = dir_walk_to(&s->descent, plan_path(&s->plan, i), &name, e);
    int from_fd = dir_walk_to(&s->other, plan_path(&s->plan, target), &from, e);

    if (dir_fd < 0 || from_fd < 0)
        return -1;
    s->plan.entries[target].has_stat = false;
    if (s->is_live)
        return replace_link(s, i, from_fd, from, dir_fd, name, e);
    if (io_remove_tree_at(dir_fd, name, e) < 0)
        return -1;
    return linkat(from_fd, from, dir_fd, name, 0) < 0 ? fail(s, i, "link", e) : 0;
}

static int make_hard_link(struct stage *s, size_t i, struct err *e)
{
    struct stat is, should_be;
    size_t target;

    if (find_target(s, i, &target, e) < 0 ||
        look_at(&s->other, plan_path(&s->plan, target), &should_be, e) < 0)
        return -1;
    s->plan.rows[i].target = (uint32_t)target;
    if (look_at(&s->descent, plan_path(&s->plan, i), &is, NULL) == 0 &&
        is.st_ino == should_be.st_ino && is.st_dev == should_be.st_dev)
        return 0;
    s->plan.entries[i].has_stat = false;
    return link_to(s, i, target, e);
}

static bool has_target(int dir_fd, const char *name, const char *target)
{
    size_t n = strlen(target);
    char *text = mem_alloc(n + 2);
    ssize_t got = readlinkat(dir_fd, name, text, n + 2);
    bool is_same = got == (ssize_t)n && memcmp(text, target, n) == 0;

    free(text);
    return is_same;
}

static int make_symlink(struct stage *s, size_t i, struct err *e)
{
    const char *target = plan_target(&s->plan, i), *name;
    int dir_fd = dir_walk_to(&s->descent, plan_path(&s->plan, i), &name, e);

    if (dir_fd < 0)
        return -1;
    s->plan.entries[i].is_wanted = false;
    if (has_target(dir_fd, name, target))
        return 0;
    s->plan.entries[i].has_stat = false;
    if (io_remove_tree_at(dir_fd, name, e) < 0)
        return -1;
    return symlinkat(target, dir_fd, name) < 0 ? fail(s, i, "create", e) : 0;
}

int stage_links(struct stage *s, struct err *e)
{
    const struct cache_row *rows = s->plan.rows;

    for (size_t i = 0; i < s->plan.n; i++)
        if (rows[i].kind == PACK_HARD_LINK && make_hard_link(s, i, e) < 0)
            return -1;
    for (size_t i = 0; i < s->plan.n; i++)
        if (rows[i].kind == PACK_SYMLINK && make_symlink(s, i, e) < 0)
            return -1;
    return 0;
}

/* ---- what it is now ---- */

/* What was put into a tree that jobs are at is not taken for what it was if it was changed since. */
static bool was_changed(const struct stage *s, size_t i, const struct stat *st)
{
    const struct cache_row *row = &s->plan.rows[i];

    return s->is_live && plan_is_file(&s->plan, i) && row->mtime_ns != 0 &&
           (row->mtime_ns != stat_mtime_ns(st) || row->inode != st->st_ino ||
            row->size != (uint64_t)st->st_size);
}

int stage_take_rows(struct stage *s, struct err *e)
{
    struct stat st;

    for (size_t i = 0; i < s->plan.n; i++) {
        struct plan_entry *entry = &s->plan.entries[i];

        if (entry->has_stat && s->plan.rows[i].kind != PACK_FOLDER)
            continue;
        if (look_at(&s->descent, plan_path(&s->plan, i), &st, e) < 0)
            return -1;
        s->is_shared |= plan_is_file(&s->plan, i) && st.st_nlink > 1;
        if (!was_changed(s, i, &st))
            row_take(&s->plan.rows[i], &st);
        entry->has_stat = true;
    }
    return 0;
}
