/* SPDX-License-Identifier: MIT */
/* share_pack.c - packs files that lie on the share already; a worker runs this */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/pack/share_pack.h"
#include "client/pack/tree.h"
#include "client/term/safe_text.h"
#include "common/base/fs.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"

#define WORDS     " PROJECTS PROJECT DRIVE PATH [" ONLY_HERE "]"
#define ONLY_HERE "only-here"

static int say_done(const struct dataset *set, struct err *e)
{
    char tree[DIGEST_HEX], id[DIGEST_HEX];
    struct buf line = { 0 };
    int result;

    digest_hex(&set->tree, tree);
    digest_hex(&set->id, id);
    buf_printf(&line, "done %s %s %" PRId64 " %" PRId64 "\n", tree, id, set->files, set->bytes);
    result = io_write_all(STDOUT_FILENO, buf_text(&line), line.n);
    buf_free(&line);
    return result < 0 ? err_sys(e, "tell what came of it") : 0;
}

static int store_tree(struct tree *t, const struct place *place, struct err *e)
{
    struct uploadbar bar;
    struct tree_target to = { .store = store_open(place, e), .bar = &bar };
    int result = -1;

    if (to.store == NULL)
        return -1;
    to.inventory = pack_inventory_open(to.store, e);
    if (to.inventory != NULL && tree_count(t, to.inventory, e) == 0) {
        pack_inventory_judge(to.inventory, (uint64_t)t->unknown_bytes);
        uploadbar_begin(&bar, (uint64_t)t->unknown_files, (uint64_t)t->unknown_bytes);
        bar.told_fd = STDOUT_FILENO;
        result = tree_send(&t, 1, &to, e);
        if (result == 0)
            result = store_settle(to.store, e);
        uploadbar_clear(&bar);
    }
    pack_inventory_close(to.inventory);
    store_close(to.store);
    return result < 0 ? -1 : say_done(&t->set, e);
}

/* The arguments behind the option. */
struct words {
    const char *projects, *project, *drive, *path;
    bool is_only_reader;
};

/* Whether small files may stay in place, too: only this machine reads them, as fast as it would a
 * pack.  A file in place is not read through symlinks below the drive. */
static bool may_stay(const struct words *x, const char *top)
{
    enum fs_kind kind = fs_type_of(top).kind;
    char *drive = realpath(x->drive, NULL), *real = realpath(top, NULL);
    char *plain = drive == NULL ? NULL : path_join(drive, x->path);
    bool has_no_links = plain != NULL && real != NULL && strcmp(plain, real) == 0;

    free(plain);
    free(real);
    free(drive);
    return x->is_only_reader && (kind == FS_LOCAL || kind == FS_MEMORY) && has_no_links;
}

static int run_words(const struct words *x, struct err *e)
{
    struct share_connection drive = { .mount = x->projects };
    const struct place to = { .drive = &drive, .project = x->project };
    char *top;
    struct tree t = { .on_share = x->path, .what = "data" };
    int result;

    if (x->projects[0] != '/' || x->drive[0] != '/' || !path_is_inside(x->path) ||
        !path_is_portable_name(x->project))
        return err_set(e, ERR_USAGE, SHARE_PACK_OPTION WORDS);
    top = path_join(x->drive, x->path);
    t.plan = (struct walk_plan){ .top = top, .everything = true };
    t.stays = may_stay(x, top);
    result = store_tree(&t, &to, e);
    free(top);
    return result;
}

int share_pack_main(int argc, char **argv)
{
    bool is_only_reader = argc == 7 && strcmp(argv[6], ONLY_HERE) == 0;
    struct err e = { 0 };

    if (argc != 6 && !is_only_reader)
        err_set(&e, ERR_USAGE, SHARE_PACK_OPTION WORDS);
    else if (run_words(&(struct words){ argv[2], argv[3], argv[4], argv[5], is_only_reader }, &e) ==
             0)
        return EXIT_WELL;
    (void)safe_text_make_harmless(&e); /* the worker takes one line as the reason */
    fprintf(stderr, "%s\n", e.text);
    return (int)err_exit_code(e.kind);
}
