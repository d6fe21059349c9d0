/* SPDX-License-Identifier: MIT */
/* cache.c - staged trees on scratch, each once, read-only, named by what is in them */

#include "worker/stager/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/crash_point.h"
#include "worker/stager/cache_room.h"
#include "worker/stager/cache_stage.h"

enum { SPACE_TRIES = 3 };

/* ---- using ---- */

static bool is_what_it_was(struct record *r, int cache_fd, bool is_doubted)
{
    struct damage damage;
    bool is_whole;

    if (!record_is_of_this_boot(r))
        return false;
    if (!is_doubted && r->head->use == RECORD_CLOSED && check_folders(r, cache_fd))
        return true;
    check_files(r, cache_fd, &damage);
    is_whole = !damage.top && damage.n == 0;
    damage_free(&damage);
    return is_whole;
}

static bool is_sharing(const struct record *r, const struct digest *with)
{
    return r->head->is_shared && !digest_equal(&r->head->tree, with);
}

/* Who changes a file that trees share changes it in all of them, and only one is watched for that.
 * Whether any of the others is in use; doubts: look at them file by file next time. */
static bool meet_others(int cache_fd, const struct digest *tree, bool doubts)
{
    bool are_in_use = false;
    size_t n;
    struct cache_tree *trees = cache_list(cache_fd, &n);
    struct record r;

    for (size_t i = 0; i < n; i++) {
        if (!trees[i].is_whole || !record_open(&r, cache_fd, &trees[i].tree))
            continue;
        if (is_sharing(&r, tree)) {
            are_in_use |= r.head->use != RECORD_CLOSED;
            if (doubts)
                r.head->use = RECORD_DOUBTED;
        }
        record_close(&r);
    }
    free(trees);
    return are_in_use;
}

/* Watched first, so that nothing happens between looking and watching. */
enum cache_state cache_open_tree(int cache_fd, struct cache_use *use)
{
    char name[CACHE_NAME_BYTES];
    enum cache_state state = CACHE_DAMAGED;
    struct record r;

    use->is_guarded = false;
    cache_name(&use->tree, "", name);
    if (faccessat(cache_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
        return CACHE_ABSENT;
    if (!record_open(&r, cache_fd, &use->tree))
        return CACHE_DAMAGED;
    use->is_guarded = check_watch(&r, use->cache_dir_path, use->guard_fd);
    if (is_what_it_was(&r, cache_fd,
                       use->is_doubted ||
                           (r.head->is_shared && meet_others(cache_fd, &use->tree, false)))) {
        r.head->use = RECORD_OPEN;
        state = CACHE_WHOLE;
    } else if (r.head->is_shared) {
        (void)meet_others(cache_fd, &use->tree, true);
    }
    record_close(&r);
    cache_touch(cache_fd, &use->tree);
    return state;
}

/* What others use stays open, as they may be told of changes that nobody has looked at yet. */
static void close_record(struct record *r, const struct cache_use *use)
{
    if (use->is_doubted)
        r->head->use = RECORD_DOUBTED;
    else if (r->head->use != RECORD_DOUBTED && !use->is_used_by_others)
        r->head->use = RECORD_CLOSED;
}

void cache_close_tree(int cache_fd, const struct cache_use *use)
{
    struct record r;

    if (record_open(&r, cache_fd, &use->tree)) {
        close_record(&r, use);
        check_unwatch(&r, use->cache_dir_path, use->guard_fd);
        record_close(&r);
    }
    cache_touch(cache_fd, &use->tree);
}

/* ---- what there is to begin with ---- */

/* Where the record cannot be used every file is looked at again. */
static void trust_record(struct stage *s)
{
    struct damage damage = { 0 };
    struct record r;

    s->trust = TRUST_CONTENT;
    if (!record_open(&r, s->cache->fd, &s->plan.set.tree))
        return;
    if (record_is_of_this_boot(&r) && r.head->n_rows == s->plan.n) {
        check_files(&r, s->cache->fd, &damage);
        if (!damage.top)
            s->trust = TRUST_RECORD;
    }
    for (size_t i = 0; s->trust == TRUST_RECORD && i < s->plan.n; i++) {
        struct cache_row *row = &s->plan.rows[i];

        row->inode = r.rows[i].inode;
        row->mtime_ns = r.rows[i].mtime_ns;
        row->ctime_ns = r.rows[i].ctime_ns;
        s->plan.entries[i].is_wanted = false;
        s->plan.entries[i].has_stat = true;
    }
    for (size_t i = 0; s->trust == TRUST_RECORD && i < damage.n; i++) {
        s->plan.entries[damage.rows[i]].is_wanted = true;
        s->plan.entries[damage.rows[i]].has_stat = false;
    }
    damage_free(&damage);
    record_close(&r);
}

static int begin_live(struct stage *s, struct err *e)
{
    char fix[CACHE_NAME_BYTES];

    s->is_live = true;
    cache_name(&s->plan.set.tree, "", s->name);
    cache_name(&s->plan.set.tree, CACHE_FIX, fix);
    if (io_remove_tree_at(s->cache->fd, fix, e) < 0)
        return -1;
    if (mkdirat(s->cache->fd, fix, 0700) < 0)
        return err_sys(e, "create %s", fix);
    s->fix_fd = io_open_dir_at(s->cache->fd, fix, e);
    if (s->fix_fd < 0)
        return -1;
    trust_record(s);
    return 0;
}

static bool is_single_file(const struct plan *p)
{
    return p->n == 1 && plan_path(p, 0)[0] == '\0';
}

/* What was made in this boot of the machine can be told by its modes. */
static enum stage_trust trust_in_new(const struct stage *s, const char *begun)
{
    char id[BOOT_BYTES];
    struct buf earlier = { 0 };
    struct stat st;
    bool is_same;

    if (fstatat(s->cache->fd, s->name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        S_ISDIR(st.st_mode) == is_single_file(&s->plan))
        return TRUST_NOTHING;
    boot_id(id);
    (void)io_read_file_at(s->cache->fd, begun, BOOT_BYTES, &earlier, NULL);
    is_same =
        id[0] != '\0' && earlier.n == BOOT_BYTES && memcmp(earlier.bytes, id, BOOT_BYTES) == 0;
    buf_free(&earlier);
    return is_same ? TRUST_MODES : TRUST_CONTENT;
}

static int make_new(struct stage *s, const char *begun, struct err *e)
{
    char id[BOOT_BYTES];

    boot_id(id);
    if (io_remove_tree_at(s->cache->fd, s->name, e) < 0 ||
        io_write_file_at(s->cache->fd, begun, id, BOOT_BYTES, 0600, e) < 0)
        return -1;
    if (is_single_file(&s->plan) || mkdirat(s->cache->fd, s->name, CACHE_FOLDER) == 0)
        return 0;
    return err_sys(e, "create %s", s->name);
}

static int begin_new(struct stage *s, struct err *e)
{
    char begun[CACHE_NAME_BYTES];

    cache_name(&s->plan.set.tree, CACHE_NEW, s->name);
    cache_name(&s->plan.set.tree, CACHE_BEGUN, begun);
    s->trust = trust_in_new(s, begun);
    if (s->trust == TRUST_NOTHING && make_new(s, begun, e) < 0)
        return -1;
    CRASH_POINT_POINT(stage_begun);
    return 0;
}

static int begin(struct stage *s, struct err *e)
{
    char name[CACHE_NAME_BYTES];
    struct stat st;

    cache_name(&s->plan.set.tree, "", name);
    if (fstatat(s->cache->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? begin_new(s, e) : err_sys(e, "look at %s", name);
    if (S_ISDIR(st.st_mode) != is_single_file(&s->plan))
        return begin_live(s, e);
    if (io_remove_tree_at(s->cache->fd, name, e) < 0)
        return -1;
    return begin_new(s, e);
}

/* ---- its end ---- */

static int name_it(struct stage *s, struct err *e)
{
    char name[CACHE_NAME_BYTES];

    if (s->is_live)
        return 0;
    cache_name(&s->plan.set.tree, "", name);
    if (renameat(s->cache->fd, s->name, s->cache->fd, name) < 0)
        return err_sys(e, "name %s", name);
    CRASH_POINT_POINT(stage_named);
    if (is_single_file(&s->plan))
        s->plan.entries[0].has_stat = false; /* it has another ctime now */
    dir_walk_end(&s->descent);
    memcpy(s->name, name, sizeof name);
    dir_walk_begin(&s->descent, s->cache->fd, s->name);
    return 0;
}

static int record_it(struct stage *s, struct err *e)
{
    const struct pack_totals *totals = pack_totals(s->plan.reader);
    struct record_draft draft = { .tree = s->plan.set.tree,
                                  .id = s->plan.set.id,
                                  .files = totals->files,
                                  .bytes = totals->bytes - totals->hole_bytes,
                                  .is_shared = s->is_shared,
                                  .rows = s->plan.rows,
                                  .n_rows = s->plan.n,
                                  .names = buf_bytes(&s->plan.names) };
    char name[CACHE_NAME_BYTES];
    struct stat st;

    if (fstatat(s->cache->fd, s->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys(e, "look at %s", s->name);
    draft.top_mtime_ns = stat_mtime_ns(&st);
    if (record_write(s->cache->fd, &draft, e) < 0)
        return -1;
    CRASH_POINT_POINT(stage_recorded);
    cache_name(&s->plan.set.tree, s->is_live ? CACHE_FIX : CACHE_BEGUN, name);
    return io_remove_tree_at(s->cache->fd, name, e);
}

/* ---- all of it ---- */

static int fill(struct stage *s, bool was_full, struct err *e)
{
    const struct pack_totals *totals = pack_totals(s->plan.reader);
    const struct fill f = { .plan = &s->plan,
                            .packs = s->packs,
                            .cache_fd = s->cache->fd,
                            .tree = s->name,
                            .fix_fd = s->is_live ? s->fix_fd : -1,
                            .is_patient = s->cache->is_patient,
                            .is_over = s->cache->is_over,
                            .context = s->cache->context };
    struct cache_need need = { .tree = s->plan.set.tree,
                               .tree_bytes = (uint64_t)(totals->bytes - totals->hole_bytes),
                               .was_full = was_full };

    need.bytes = plan_wanted_bytes(&s->plan, &need.files);
    if (cache_make_room(s->cache, &need, e) < 0)
        return -1;
    return fill_files(&f, e);
}

/* What was brought before the disk was full is not brought again. */
static int fill_as_there_is_room(struct stage *s, struct err *e)
{
    int result = -1;

    for (int i = 0; i < SPACE_TRIES && result < 0; i++) {
        err_clear(e);
        result = fill(s, i > 0, e);
        if (result < 0 && e->kind != ERR_NO_SPACE)
            break;
    }
    return result;
}

static int stage_plan(struct stage *s, struct err *e)
{
    if (begin(s, e) < 0)
        return -1;
    dir_walk_begin(&s->descent, s->cache->fd, s->name);
    dir_walk_begin(&s->other, s->cache->fd, s->name);
    if (stage_survey(s, e) < 0)
        return fill_was_disturbed(e);
    if (fill_as_there_is_room(s, e) < 0)
        return -1;
    CRASH_POINT_POINT(stage_filled);
    if (stage_links(s, e) < 0)
        return fill_was_disturbed(e);
    CRASH_POINT_POINT(stage_linked);
    if (name_it(s, e) < 0 || stage_take_rows(s, e) < 0 || record_it(s, e) < 0)
        return fill_was_disturbed(e);
    return 0;
}

/* What does not fit must not stay in the way of what does. */
static void make_way(struct stage *s)
{
    char name[CACHE_NAME_BYTES];

    cache_name(&s->plan.set.tree, s->is_live ? CACHE_FIX : CACHE_NEW, name);
    (void)io_remove_tree_at(s->cache->fd, name, NULL);
    cache_name(&s->plan.set.tree, CACHE_BEGUN, name);
    (void)io_remove_tree_at(s->cache->fd, name, NULL);
}

int cache_stage(struct cache *c, const struct pack_source_at *at, const struct dataset *set,
                struct err *e)
{
    struct stage s = { .cache = c, .packs = *at, .fix_fd = -1 };
    struct pack_source source;
    struct packs packs;
    int result;

    if (pack_source_open(&packs, at, e) < 0)
        return -1;
    source = pack_source_source(&packs);
    result = plan_open(&s.plan, &source, set, e);
    if (result == 0) {
        mode_t mask = umask(022); /* modes are given as they shall be */

        result = stage_plan(&s, e);
        umask(mask);
        if (result < 0 && e->kind == ERR_NO_SPACE)
            make_way(&s);
        dir_walk_end(&s.descent);
        dir_walk_end(&s.other);
        if (s.fix_fd >= 0)
            close(s.fix_fd);
    }
    plan_close(&s.plan);
    pack_source_close(&packs);
    return result;
}
