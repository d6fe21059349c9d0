/* SPDX-License-Identifier: MIT */
/* upload_sftp.c - brings files to the shared drive over SFTP */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/upload_send.h"
#include "common/layout.h"
#include "common/path.h"

enum {
    VAIN_TRIES = 3, /* so often it may break without anything having been sent */
    PACKS_DEPTH = 3 /* of folders from the project's to that of packs */
};

static char *path_on(const struct place *to, const char *below)
{
    return mem_printf("%s/%s", to->drive->root, below);
}

/* ---- the project's folder ---- */

static int check_project(const struct sftp_attrs *attrs, const char *path, struct err *e)
{
    if ((attrs->has & SFTP_MODE) && S_ISDIR(attrs->mode))
        return 0;
    return err_set(e, ERR_DENIED, "the project's folder on the share, %s, is no folder", path);
}

static int look_at_project(const struct place *to, struct sftp_attrs *attrs, struct err *e)
{
    char *path = path_on(to, to->project);
    int result = sftp_lstat(to->drive->sftp, path, attrs, e);

    if (result < 0)
        err_wrap(e, "the project's folder on the share");
    else if (!(attrs->has & SFTP_MODE) || !S_ISDIR(attrs->mode))
        result =
            err_set(e, ERR_DENIED, "the project's folder on the share, %s, is no folder", path);
    free(path);
    return result;
}

static int set_group(const struct place *to, const char *path, const struct folder_order *order,
                     struct sftp_attrs *attrs, struct err *e)
{
    attrs->has = SFTP_OWNER;
    attrs->gid = (uint32_t)order->group;
    if (sftp_setstat(to->drive->sftp, path, attrs, e) == 0)
        return 0;
    return err_wrap(e,
                    "give the project's folder to group %" PRId64 ", whose members read it; are "
                    "you one?",
                    order->group);
}

static int set_project_modes(const struct place *to, const char *path,
                             const struct folder_order *order, struct err *e)
{
    struct sftp_attrs attrs, mode = { .has = SFTP_MODE, .mode = (mode_t)order->mode };

    if (look_at_project(to, &attrs, e) < 0)
        return -1;
    if (order->group != SCHEMA_NONE && (attrs.has & SFTP_OWNER) &&
        (int64_t)attrs.gid != order->group && set_group(to, path, order, &attrs, e) < 0)
        return -1;
    return sftp_setstat(to->drive->sftp, path, &mode, e);
}

static int make_project(const struct place *to, const struct folder_order *order, struct err *e)
{
    char *path = path_on(to, to->project);
    struct err why = { 0 };
    int result = drive_mend(to->drive, e);

    if (result == 0 && sftp_mkdir(to->drive->sftp, path, 0700, &why) < 0 && why.kind != ERR_EXISTS)
        result = err_set(e, why.kind,
                         "%s (ludwigd cannot make it either; its admin can name a folder with "
                         "projects: that you may write to)",
                         why.text);
    if (result == 0)
        result = set_project_modes(to, path, order, e);
    free(path);
    return result;
}

/* ---- a tree ---- */

static bool is_connected(const struct place *to)
{
    return to->drive->sftp != NULL && !sftp_is_broken(to->drive->sftp);
}

static int read_modes(const struct place *to, struct upload_modes *modes, struct err *e)
{
    struct sftp_attrs attrs;

    if (look_at_project(to, &attrs, e) < 0)
        return -1;
    *modes = upload_modes_of(attrs.mode);
    return 0;
}

/* One upload, with all its tries. */
struct trying {
    const struct place *to;
    struct upload_send send;
    char *packs; /* on the server */
    char *final;
    int n_tries;
    bool is_there;
};

/* What lies where, asked for all at once. */
struct look {
    struct sftp_attrs attrs;
    struct err why; /* ERR_NONE: it is there */
};

static void on_look(void *context, const struct sftp_answer *a)
{
    struct look *l = context;

    l->attrs = a->attrs;
    if (a->error != NULL)
        l->why = *a->error;
}

static int begin_look(struct sftp *s, const char *path, struct look *l, struct err *e)
{
    *l = (struct look){ .why = { 0 } };
    return sftp_start(s, &(struct sftp_op){ .kind = SFTP_OP_LSTAT, .path = path }, on_look, l, e);
}

struct surroundings {
    struct look final, project, packs;
};

static int look_around(struct trying *t, struct surroundings *x, struct err *e)
{
    struct sftp *s = t->to->drive->sftp;
    char *project = path_on(t->to, t->to->project);
    int result = begin_look(s, t->final, &x->final, e);

    if (result == 0)
        result = begin_look(s, project, &x->project, e);
    if (result == 0)
        result = begin_look(s, t->packs, &x->packs, e);
    free(project);
    /* Nobody may be called who finds x gone. */
    return sftp_finish(s, result == 0 ? e : NULL) < 0 ? -1 : result;
}

static int copy_error(struct err *e, const struct err *why)
{
    return err_set(e, why->kind, "%s", why->text);
}

static int make_packs(struct trying *t, const struct surroundings *x, struct err *e)
{
    if (x->project.why.kind != ERR_NONE) {
        copy_error(e, &x->project.why);
        return err_wrap(e, "the project's folder on the share");
    }
    if (check_project(&x->project.attrs, t->to->project, e) < 0)
        return -1;
    t->send.modes = upload_modes_of(x->project.attrs.mode);
    if (x->packs.why.kind == ERR_NONE)
        return 0;
    return sftp_make_dirs(t->to->drive->sftp, t->packs, t->send.modes.folder, e);
}

/* What is there already is the same: its name is the digest of its content. */
static int put_in_place(struct trying *t, struct err *e)
{
    struct sftp *s = t->to->drive->sftp;
    char *temporary = path_join(t->packs, journal_temporary(t->send.journal));
    struct err why = { 0 };
    int result = sftp_rename(s, temporary, t->final, &why);

    if (result < 0 && why.kind == ERR_EXISTS)
        result = sftp_remove_tree(s, temporary, e);
    else if (result < 0)
        err_set(e, why.kind, "%s", why.text);
    free(temporary);
    return result;
}

/* ---- what tries leave ---- */

static void on_list(void *context, const struct sftp_answer *a)
{
    *(struct list *)context = a->entries;
}

static void ignore(void *context, const struct sftp_answer *a)
{
    (void)context;
    (void)a;
}

static bool is_left_over(const struct sftp_entry *entry, const struct sftp_attrs *packs,
                         uint32_t uid)
{
    unsigned needed = SFTP_OWNER | SFTP_TIMES;

    return upload_is_temporary(entry->name) && (entry->attrs.has & needed) == needed &&
           entry->attrs.uid == uid &&
           (int64_t)packs->mtime_s - (int64_t)entry->attrs.mtime_s > LEFTOVER_AGE_S;
}

static void remove_left_over(struct sftp *s, const char *packs, const char *name)
{
    char *path = path_join(packs, name);

    (void)sftp_remove_tree(s, path, NULL);
    free(path);
}

/* Of tries that nobody went on with, by the server's clock: packs was changed just now. */
static void sweep(struct trying *t, const struct list *list, const struct surroundings *x)
{
    const struct sftp_entry *items = list->items;

    if (!(x->packs.attrs.has & SFTP_TIMES) || !(x->final.attrs.has & SFTP_OWNER))
        return;
    for (size_t i = 0; i < list->n; i++)
        if (is_left_over(&items[i], &x->packs.attrs, x->final.attrs.uid))
            remove_left_over(t->to->drive->sftp, t->packs, items[i].name);
}

/* The folder above packs and the project's own too, where packs may be new.  Where a server cannot
 * sync a folder it is as well as can be. */
static int start_syncs(struct trying *t, struct err *e)
{
    struct sftp *s = t->to->drive->sftp;
    char *folder = mem_strdup(t->packs);
    int result = 0;

    for (int i = 0; i < PACKS_DEPTH && result == 0 && sftp_can(s, SFTP_CAN_SYNC); i++) {
        char *above = path_dirname(folder);

        result = sftp_start(s, &(struct sftp_op){ .kind = SFTP_OP_SYNC, .path = folder }, ignore,
                            NULL, e);
        free(folder);
        folder = above;
    }
    free(folder);
    return result;
}

/* Syncs the rename, and clears up. */
static int settle(struct trying *t, struct err *e)
{
    struct arena *a = arena_create();
    struct sftp_op look = { .kind = SFTP_OP_LIST, .path = t->packs, .arena = a };
    struct list list = { 0 };
    struct surroundings x;
    int result = start_syncs(t, e);

    if (result == 0)
        result = sftp_start(t->to->drive->sftp, &look, on_list, &list, e);
    if (look_around(t, &x, result == 0 ? e : NULL) < 0)
        result = -1;
    if (result == 0)
        sweep(t, &list, &x);
    arena_destroy(a);
    return result;
}

/* Somebody else's rename, or one of ours whose end was cut off: it may not be synced. */
static int settle_found(struct trying *t, struct err *e)
{
    if (t->n_tries == 1 && !journal_is_resumed(t->send.journal))
        return 0;
    return start_syncs(t, e) < 0 ? -1 : sftp_finish(t->to->drive->sftp, e);
}

static int try_once(struct trying *t, struct err *e)
{
    struct surroundings x;

    if (drive_mend(t->to->drive, e) < 0 || look_around(t, &x, e) < 0)
        return -1;
    t->is_there = x.final.why.kind == ERR_NONE;
    if (t->is_there)
        return settle_found(t, e);
    if (x.final.why.kind != ERR_NOT_FOUND)
        return copy_error(e, &x.final.why);
    /* Without syncs nothing outlasts a connection for certain. */
    if (!sftp_can(t->to->drive->sftp, SFTP_CAN_SYNC))
        journal_restart(t->send.journal);
    if (make_packs(t, &x, e) < 0 || upload_send(&t->send, e) < 0 || put_in_place(t, e) < 0)
        return -1;
    return settle(t, e);
}

static int try_until_done(struct trying *t, struct err *e)
{
    int vain = 0;

    for (;;) {
        uint64_t before_bytes = t->send.sent_bytes;
        struct err why = { 0 };

        t->n_tries++;
        if (try_once(t, &why) == 0)
            return 0;
        vain = t->send.sent_bytes > before_bytes ? 0 : vain + 1;
        if (why.kind != ERR_UNREACHABLE || vain >= VAIN_TRIES)
            return copy_error(e, &why);
    }
}

static void remove_temporary(struct trying *t)
{
    if (is_connected(t->to))
        remove_left_over(t->to->drive->sftp, t->packs, journal_temporary(t->send.journal));
}

static bool has_begun(const struct trying *t)
{
    return t->send.sent_bytes > 0 || journal_is_resumed(t->send.journal);
}

static int add_promise(const struct trying *t, struct err *e)
{
    struct err why;

    if (e == NULL || !has_begun(t))
        return -1;
    why = *e;
    return err_set(e, why.kind, "%s; the next try goes on where this one stopped", why.text);
}

/* What was sent stays for the next try, unless that cannot know of it, or will send something else.
 * Where nothing was sent there may still be a folder that cannot be taken away now. */
static int finish(struct trying *t, int result, struct err *e)
{
    bool stays = result < 0 && journal_is_kept(t->send.journal) && !t->send.is_stale &&
                 (has_begun(t) || !is_connected(t->to));

    if (stays)
        add_promise(t, e);
    else if (result < 0 || (t->is_there && journal_is_resumed(t->send.journal)))
        remove_temporary(t);
    journal_close(t->send.journal, !stays);
    return result;
}

static int put_tree(const struct place *to, const struct tree *tree, struct uploadbar *bar,
                    struct err *e)
{
    struct drive *d = to->drive;
    struct trying t = { .to = to, .send = { .drive = d, .tree = tree, .bar = bar } };
    struct buf packs = { 0 };
    char name[DIGEST_HEX];
    int result;

    layout_packs(&packs, to->project);
    digest_hex(&tree->digest, name);
    t.packs = path_on(to, buf_text(&packs));
    t.final = path_join(t.packs, name);
    t.send.packs = t.packs;
    t.send.journal = journal_open(d->server_id, to->project, &tree->digest, tree->n);
    result = finish(&t, try_until_done(&t, e), e);
    free(t.final);
    free(t.packs);
    buf_free(&packs);
    return result;
}

static bool is_there(struct sftp *s, const char *path)
{
    struct sftp_attrs attrs;

    return sftp_lstat(s, path, &attrs, NULL) == 0;
}

static bool has_tree(const struct place *to, const struct digest *tree)
{
    struct buf pack = { 0 };
    char *path;
    bool there;

    layout_pack(&pack, to->project, tree);
    path = path_on(to, buf_text(&pack));
    there = drive_mend(to->drive, NULL) == 0 && is_there(to->drive->sftp, path);
    free(path);
    buf_free(&pack);
    return there;
}

/* ---- files of a sweep ---- */

static void keep_error(void *context, const struct sftp_answer *a)
{
    struct err *first = context;

    if (a->error != NULL && first->kind == ERR_NONE)
        err_set(first, a->error->kind, "%s", a->error->text);
}

static int write_text(const struct place *to, const char *dir, const struct upload_text *file,
                      mode_t mode, struct err *first, struct err *e)
{
    char *path = path_join(dir, file->name);
    struct sftp_op op = {
        .kind = SFTP_OP_PUT, .path = path, .mode = mode, .content = file->text, .sync = true
    };
    int result = sftp_start(to->drive->sftp, &op, keep_error, first, e);

    free(path);
    return result;
}

static int write_texts(const struct place *to, const char *dir, const struct upload_text *files,
                       size_t n, mode_t mode, struct err *e)
{
    struct err first = { 0 };
    int result = 0;

    for (size_t i = 0; i < n && result == 0; i++)
        result = write_text(to, dir, &files[i], mode, &first, e);
    if (sftp_finish(to->drive->sftp, result == 0 ? e : NULL) < 0)
        result = -1;
    if (result == 0 && first.kind != ERR_NONE)
        result = err_set(e, first.kind, "%s", first.text);
    return result;
}

/* A connection that breaks here breaks the opened sweep too: the caller begins anew. */
static int sweep_files(const struct place *to, int64_t number, const struct upload_text *files,
                       size_t n, struct err *e)
{
    struct upload_modes modes;
    struct buf below = { 0 };
    char *dir;
    int result = drive_mend(to->drive, e);

    layout_sweep(&below, to->project, number);
    dir = path_on(to, buf_text(&below));
    if (result == 0)
        result = read_modes(to, &modes, e);
    if (result == 0)
        result = sftp_make_dirs(to->drive->sftp, dir, modes.folder, e);
    if (result == 0)
        result = write_texts(to, dir, files, n, modes.file, e);
    free(dir);
    buf_free(&below);
    return result < 0 ? err_wrap(e, "files of the sweep") : 0;
}

const struct upload_way upload_sftp = {
    .make_project = make_project,
    .tree = put_tree,
    .has_tree = has_tree,
    .sweep_files = sweep_files,
};
