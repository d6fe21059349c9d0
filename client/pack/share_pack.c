/* SPDX-License-Identifier: MIT */
/* share_pack.c - packs what lies on the share already, for a worker */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/pack/share_pack.h"
#include "client/pack/packer.h"
#include "client/term/safe_text.h"
#include "common/base/fs.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"

#define WORDS     " PROJECTS PROJECT DRIVE PATH [" ONLY_HERE "]"
#define ONLY_HERE "only-here"

struct share_pack {
    struct share_connection drive;
    struct place to;
    struct tree tree;
    struct store *store;
    struct pack_inventory *stock;
};

static int say(struct buf *line, struct err *e)
{
    int result = io_write_all(STDOUT_FILENO, buf_text(line), line->n);

    buf_free(line);
    return result < 0 ? err_sys(e, "tell what came of it") : 0;
}

static int say_done(const struct dataset *set, struct err *e)
{
    char tree[DIGEST_HEX], id[DIGEST_HEX];
    struct buf line = { 0 };

    digest_hex(&set->tree, tree);
    digest_hex(&set->id, id);
    buf_printf(&line, "done %s %s %" PRId64 " %" PRId64 "\n", tree, id, set->files, set->bytes);
    return say(&line, e);
}

static int pack(struct share_pack *p, struct err *e)
{
    struct tree *t = &p->tree;
    struct uploadbar bar;
    int result;

    if (tree_count(t, p->stock, e) < 0)
        return -1;
    pack_inventory_judge(p->stock, (uint64_t)t->unknown_bytes);
    uploadbar_begin(&bar, (uint64_t)t->unknown_files, (uint64_t)t->unknown_bytes);
    bar.told_fd = STDOUT_FILENO;
    result = packer_send(&t, 1, &(struct packer_target){ p->stock, p->store, &bar, 0 }, e);
    if (result == 0)
        result = store_settle(p->store, e);
    uploadbar_clear(&bar);
    return result < 0 ? -1 : say_done(&t->set, e);
}

static int open_and_pack(struct share_pack *p, struct err *e)
{
    int result = -1;

    p->store = store_open(&p->to, e);
    if (p->store == NULL)
        return -1;
    p->stock = pack_inventory_open(p->store, e);
    if (p->stock != NULL)
        result = pack(p, e);
    pack_inventory_close(p->stock);
    store_close(p->store);
    return result;
}

/* The words behind the option. */
struct words {
    const char *projects, *project, *drive, *path;
    bool is_only_reader;
};

static int check(const struct words *x, struct err *e)
{
    if (x->projects[0] == '/' && x->drive[0] == '/' && path_is_inside(x->path) &&
        path_is_portable_name(x->project))
        return 0;
    return err_set(e, ERR_USAGE, SHARE_PACK_OPTION WORDS);
}

/* Who reads a file that stays follows no symlinks below the drive. */
static bool is_below_without_links(const struct words *x, const char *top)
{
    char *drive = realpath(x->drive, NULL), *real = realpath(top, NULL);
    char *plain = drive == NULL ? NULL : path_join(drive, x->path);
    bool is = plain != NULL && real != NULL && strcmp(plain, real) == 0;

    free(plain);
    free(real);
    free(drive);
    return is;
}

/* A file that is read here alone, and as fast as a pack would be, need not be copied into one. */
static bool may_stay(const struct words *x, const char *top)
{
    enum fs_kind kind = fs_type_of(top).kind;

    return x->is_only_reader && (kind == FS_LOCAL || kind == FS_MEMORY) &&
           is_below_without_links(x, top);
}

static int run(const struct words *x, struct err *e)
{
    struct share_pack p = { .drive.mount = x->projects };
    char *top;
    int result;

    if (check(x, e) < 0)
        return -1;
    top = path_join(x->drive, x->path);
    p.to = (struct place){ .drive = &p.drive, .project = x->project };
    p.tree.plan = (struct walk_plan){ .top = top, .everything = true };
    p.tree.on_share = x->path;
    p.tree.stays = may_stay(x, top);
    result = open_and_pack(&p, e);
    free(top);
    return result;
}

int share_pack_main(int argc, char **argv)
{
    struct err e = { 0 };

    bool is_only_reader = argc == 7 && strcmp(argv[6], ONLY_HERE) == 0;

    if (argc != 6 && !is_only_reader)
        err_set(&e, ERR_USAGE, SHARE_PACK_OPTION WORDS);
    else if (run(&(struct words){ argv[2], argv[3], argv[4], argv[5], is_only_reader }, &e) == 0)
        return EXIT_WELL;
    (void)safe_text_make_harmless(&e); /* who reads it takes it line by line */
    fprintf(stderr, "%s\n", e.text);
    return (int)err_exit_code(e.kind);
}
