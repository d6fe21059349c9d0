/* SPDX-License-Identifier: MIT */
/* inputs.c - counts, packs and sends the files that a sweep takes along: its source and its data */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/pack/inputs.h"
#include "client/pack/source_kind.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "client/util/conf.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "common/data/yaml.h"
#include "common/proto/layout.h"

/* Every job gets a copy of its source, so a larger source is seldom intended. */
enum { SOURCE_USUAL_BYTES = 100 * 1024 * 1024 };

enum { SHOWN_LEFT_OUT = 8 };

/* How many tries in a row may bring nothing to the share. */
enum { VAIN_TRIES = 3 };

/* The size of parts after a connection that did not last for one part. */
enum { SMALL_PART_BYTES = PACK_PIECE_BYTES };

/* Paths left out of a source without source:. */
struct left_out {
    const char **paths;
    size_t n, capacity;
};

static void leave_out(struct left_out *out, struct arena *a, const char *path)
{
    char *real = path_real(path, NULL);

    mem_grow((void **)&out->paths, &out->capacity, out->n, sizeof *out->paths);
    out->paths[out->n++] = arena_strdup(a, path);
    if (real == NULL)
        return;
    mem_grow((void **)&out->paths, &out->capacity, out->n, sizeof *out->paths);
    out->paths[out->n++] = arena_strdup(a, real);
    free(real);
}

static bool leave_out_other(void *context, const char *from, const char *path, bool is_dir)
{
    struct inputs *c = context;
    const char *what;

    for (size_t i = 0; i < c->n_left; i++)
        if (strcmp(c->left[i].path, path) == 0)
            return true;
    what = source_kind(from, path, is_dir);
    if (what == NULL)
        return false;
    mem_grow((void **)&c->left, &c->left_capacity, c->n_left, sizeof *c->left);
    c->left[c->n_left++] = (struct inputs_left){ arena_strdup(c->arena, path), what, is_dir };
    return true;
}

static bool is_ignored(const void *context, const struct walk_entry *entry)
{
    const struct inputs *c = context;

    return source_kind_matches(c->ignored, c->n_ignored, entry->path, entry->kind == PACK_FOLDER);
}

static int compare_left(const void *x, const void *y)
{
    return strcmp(((const struct inputs_left *)x)->path, ((const struct inputs_left *)y)->path);
}

/* Sets the plan's named paths to those of source:; "." stands for everything. */
static void name_paths(struct walk_plan *plan, const struct spec *s, struct arena *a)
{
    const char *const *paths = s->source.items;
    const char **named = arena_alloc(a, s->source.n * sizeof *named);

    plan->everything = !s->has_source;
    for (size_t i = 0; i < s->source.n; i++) {
        if (strcmp(paths[i], ".") == 0)
            plan->everything = true;
        else
            named[plan->n_named++] = arena_strdup(a, paths[i]);
    }
    plan->named = named;
}

static void leave_out_all(struct inputs *c, const struct spec *s, const char *share)
{
    const struct spec_data *data = s->data.items;
    struct walk_plan *plan = &c->source.plan;
    char *state = conf_state_dir();
    struct left_out out = { 0 };

    leave_out(&out, c->arena, state);
    if (share != NULL)
        leave_out(&out, c->arena, share);
    if (plan->everything) {
        leave_out(&out, c->arena,
                  arena_printf(c->arena, "%s/%s", s->folder, path_basename(s->file)));
        if (s->list != NULL)
            leave_out(&out, c->arena, s->list);
        for (size_t i = 0; i < s->data.n; i++)
            if (data[i].path != NULL && data[i].files.n == 0)
                leave_out(&out, c->arena, data[i].path);
    }
    plan->left_out = arena_alloc(c->arena, out.n * sizeof *out.paths);
    memcpy((void *)(uintptr_t)plan->left_out, out.paths, out.n * sizeof *out.paths);
    plan->n_left_out = out.n;
    free(out.paths);
    free(state);
}

static void plan_source(struct inputs *c, const struct spec *s)
{
    struct walk_plan *plan = &c->source.plan;
    size_t n;

    c->source.seeks_secrets = true;
    plan->top = arena_strdup(c->arena, s->folder);
    plan->rules = ignore_create(plan->top);
    name_paths(plan, s, c->arena);
    if (plan->everything) {
        plan->leaves_out = leave_out_other;
        plan->context = c;
    }
    leave_out_all(c, s, c->has_place ? c->to.drive->mount : NULL);
    if (plan->everything || plan->n_named > 0)
        c->trees[c->n_trees++] = &c->source;
    /* git need not look into folders that are left out as a whole. */
    n = strlen(plan->top);
    for (size_t i = 0; i < plan->n_left_out; i++) {
        const char *path = plan->left_out[i];

        if (strncmp(path, plan->top, n) == 0 && path[n] == '/' &&
            !walk_leads_to_named(plan, path + n + 1))
            ignore_skip(plan->rules, path);
    }
    c->ignored = s->reuse.ignore.items;
    c->n_ignored = s->reuse.ignore.n;
    c->compared = c->source;
    c->compared.skips = is_ignored;
    c->compared.context = c;
}

uint64_t inputs_glance_paths(const char *const *paths, size_t n)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < n && bytes < SHARE_CONNECTION_BYTES_ENOUGH; i++)
        bytes += tree_glance(paths[i], SHARE_CONNECTION_BYTES_ENOUGH - bytes);
    return bytes;
}

uint64_t inputs_glance(const struct spec *s)
{
    const struct spec_data *data = s->data.items;
    uint64_t bytes = 0;

    for (size_t i = 0; i < s->data.n; i++)
        if (data[i].path != NULL && data[i].files.n == 0)
            bytes += inputs_glance_paths(&data[i].path, 1);
    return bytes;
}

/* Adds data.  path NULL: they lie on the share.  files NULL or empty: the whole folder is taken. */
static void add_data(struct inputs *c, const char *path, const struct list *files)
{
    struct tree *t = &c->data[c->n_data++];

    t->what = "data";
    if (path == NULL)
        return;
    t->plan = (struct walk_plan){ .top = arena_strdup(c->arena, path), .everything = true };
    if (files != NULL && files->n > 0) {
        t->plan.everything = false;
        t->plan.named = files->items;
        t->plan.n_named = files->n;
    }
    c->trees[c->n_trees++] = t;
}

static void begin_plan(struct inputs *c, const struct place *to, size_t n_data)
{
    *c = (struct inputs){ .arena = arena_create(), .has_place = to != NULL };
    if (to != NULL)
        c->to = *to;
    c->data = arena_alloc(c->arena, n_data * sizeof *c->data);
    c->trees = arena_alloc(c->arena, (n_data + 1) * sizeof(struct tree *));
    c->source.what = "source";
    c->source.is_none_if_empty = true;
}

void inputs_plan(struct inputs *c, const struct spec *s, const struct place *to)
{
    const struct spec_data *data = s->data.items;
    struct stat st;

    begin_plan(c, to, s->data.n);
    c->allows_secrets = s->allows_secrets;
    plan_source(c, s);
    /* The sweep file and the list of configurations are copied to sweeps/N. */
    if (stat(s->file, &st) == 0)
        readers_add(&c->readers, &st);
    if (s->list != NULL && stat(s->list, &st) == 0)
        readers_add(&c->readers, &st);
    for (size_t i = 0; i < s->data.n; i++)
        add_data(c, data[i].path, &data[i].files);
}

void inputs_plan_paths(struct inputs *c, const char *const *paths, size_t n, const struct place *to)
{
    begin_plan(c, to, n);
    for (size_t i = 0; i < n; i++)
        add_data(c, paths[i], NULL);
}

static void close_store(struct inputs *c)
{
    pack_inventory_close(c->inventory);
    store_close(c->store);
    c->inventory = NULL;
    c->store = NULL;
}

void inputs_free(struct inputs *c)
{
    if (c->arena == NULL)
        return;
    close_store(c);
    ignore_destroy(c->source.plan.rules);
    buf_free(&c->source.secrets);
    arena_destroy(c->arena);
    free(c->left);
    *c = (struct inputs){ 0 };
}

/* ---- notes ---- */

/* A step is a pointer to the inputs themselves, whose type says how far they have come. */
static struct inputs *of_step(const void *step)
{
    return (struct inputs *)(uintptr_t)step;
}

void inputs_sign(const struct inputs_packed *packed, const struct spec *s, struct arena *a,
                 struct jobspec *work)
{
    const struct inputs *c = of_step(packed);
    const struct spec_data *data = s->data.items;
    struct data_entry *entries = arena_alloc(a, c->n_data * sizeof *entries);

    work->source = c->source.set;
    work->same_source = c->n_ignored > 0 ? c->compared.set.tree : (struct digest){ 0 };
    for (size_t i = 0; i < c->n_data; i++)
        entries[i] = (struct data_entry){ data[i].name, c->data[i].set, data[i].link };
    work->data = (struct list){ entries, c->n_data };
}

void inputs_note_size(const struct inputs *c)
{
    int64_t n_files = tree_count_files(&c->source);
    struct buf size = { 0 };

    if (c->source.totals.bytes <= SOURCE_USUAL_BYTES)
        return;
    units_add_size(&size, c->source.totals.bytes);
    output_note("note: the source has %s in %" PRId64
                " file%s, and each job gets a copy; source: in "
                "the file or a .ludwigignore can leave some out",
                buf_text(&size), n_files, n_files == 1 ? "" : "s");
    buf_free(&size);
}

void inputs_add_left_out(const struct inputs *c, struct buf *out)
{
    size_t n = c->n_left < SHOWN_LEFT_OUT ? c->n_left : SHOWN_LEFT_OUT;

    for (size_t i = 0; i < n; i++) {
        buf_add_str(out, i > 0 ? ", " : "");
        safe_text_add_harmless(out, c->left[i].path, strlen(c->left[i].path), "");
        buf_printf(out, "%s (%s)", c->left[i].is_folder ? "/" : "", c->left[i].what);
    }
    if (c->n_left > n)
        buf_printf(out, " and %zu more", c->n_left - n);
}

void inputs_note_left_out(const struct inputs *c)
{
    struct buf line = { 0 };

    if (c->n_left == 0)
        return;
    inputs_add_left_out(c, &line);
    output_note("note: not sent to the jobs: %s. List them under source: if they are needed",
                buf_text(&line));
    buf_free(&line);
}

/* ---- what is secret ---- */

static bool is_home(const char *path)
{
    const char *home = getenv("HOME");
    struct stat st, st_home;

    return home != NULL && stat(home, &st_home) == 0 && stat(path, &st) == 0 &&
           st.st_dev == st_home.st_dev && st.st_ino == st_home.st_ino;
}

/* Refuses the home folder as a source: users seldom mean to give jobs and the share all of it. */
static int check_home(const struct inputs *c, struct err *e)
{
    if (c->allows_secrets || !c->source.plan.everything || !is_home(c->source.plan.top))
        return 0;
    return err_set(e, ERR_USAGE,
                   "the source would be your whole home folder, %s: name what the jobs need with "
                   "source: in the sweep file, or move it into a folder of its own "
                   "(--allow-secrets sends all of it)",
                   c->source.plan.top);
}

static int check_secrets(const struct inputs *c, struct err *e)
{
    size_t n = c->source.n_secrets;

    if (c->allows_secrets || n == 0)
        return 0;
    return err_set(e, ERR_USAGE,
                   "the source has %zu file%s or folder%s that should not go to the shared drive: "
                   "%s%s; leave %s out with a .ludwigignore, or name %s in source:, or add "
                   "--allow-secrets, if %s meant",
                   n, n == 1 ? "" : "s", n == 1 ? "" : "s", buf_text(&c->source.secrets),
                   n > 4 ? ", ..." : "", n == 1 ? "it" : "them", n == 1 ? "it" : "them",
                   n == 1 ? "it is" : "they are");
}

int inputs_refuse(struct inputs *c, struct err *e)
{
    if (check_home(c, e) < 0)
        return -1;
    for (size_t i = 0; i < c->n_trees; i++)
        if (tree_seek_secrets(c->trees[i], e) < 0) {
            tree_blame(c->trees[i], e);
            return -1;
        }
    return check_secrets(c, e);
}

/* Closes the project's folder to users who may not read every file that is uploaded there. */
static int limit_readers(struct inputs *c, struct err *e)
{
    struct readers all = c->readers, files = c->readers;
    bool has_closed;

    for (size_t i = 0; i < c->n_trees; i++) {
        readers_join(&all, &c->trees[i]->readers);
        readers_join(&files, &c->trees[i]->files);
    }
    if (store_limit_readers(c->store, &all, &files, &has_closed, e) < 0)
        return -1;
    if (has_closed)
        output_note("note: some of the files are not for everybody to read, so the folder of "
                    "project %s was closed to those who may not",
                    c->to.project);
    return 0;
}

/* ---- the steps ---- */

const struct inputs_counted *inputs_count(struct inputs *c, struct err *e)
{
    int64_t unknown_bytes = 0;

    if (check_home(c, e) < 0)
        return NULL;
    close_store(c);
    if (c->has_place) {
        c->store = store_open(&c->to, e);
        if (c->store == NULL)
            return NULL;
    }
    c->inventory = pack_inventory_open(c->store, e);
    if (c->inventory == NULL)
        return NULL;
    for (size_t i = 0; i < c->n_trees; i++) {
        if (tree_count(c->trees[i], c->inventory, e) < 0) {
            tree_blame(c->trees[i], e);
            return NULL;
        }
        unknown_bytes += c->trees[i]->unknown_bytes;
    }
    if (check_secrets(c, e) < 0)
        return NULL;
    pack_inventory_judge(c->inventory, (uint64_t)unknown_bytes);
    if (c->n_left > 1)
        qsort(c->left, c->n_left, sizeof *c->left, compare_left);
    return (const struct inputs_counted *)c;
}

/* Finds the digest of the source without files that reuse: ignores, after the source was read. */
static int compare(struct inputs *c, struct err *e)
{
    if (c->n_ignored == 0)
        return 0;
    c->compared.totals = c->source.totals;
    c->compared.is_unchanged = true; /* no index is kept: it would lack the ignored files */
    return tree_look(&c->compared, c->inventory, e) < 0 ? tree_blame(&c->source, e) : 0;
}

const struct inputs_packed *inputs_look(const struct inputs_counted *counted, struct err *e)
{
    struct inputs *c = of_step(counted);

    for (size_t i = 0; i < c->n_trees; i++)
        if (tree_look(c->trees[i], c->inventory, e) < 0) {
            tree_blame(c->trees[i], e);
            return NULL;
        }
    return compare(c, e) < 0 ? NULL : (const struct inputs_packed *)c;
}

const struct inputs_packed *inputs_pack(const struct inputs_counted *counted, struct err *e)
{
    struct inputs *c = of_step(counted);
    const struct tree_target to = { c->inventory, c->store, &c->bar, c->part_bytes };
    int64_t n_files = 0, bytes = 0;

    if (limit_readers(c, e) < 0)
        return NULL;
    for (size_t i = 0; i < c->n_trees; i++) {
        n_files += c->trees[i]->unknown_files;
        bytes += c->trees[i]->unknown_bytes;
    }
    uploadbar_begin(&c->bar, (uint64_t)n_files, (uint64_t)bytes);
    store_expect(c->store, (uint64_t)bytes);
    if (tree_send(c->trees, c->n_trees, &to, e) == 0 && compare(c, e) == 0)
        return (const struct inputs_packed *)c;
    uploadbar_clear(&c->bar);
    return NULL;
}

void inputs_push(const struct inputs_packed *packed)
{
    store_push(of_step(packed)->store);
}

const struct inputs_arrived *inputs_arrive(const struct inputs_packed *packed, struct err *e)
{
    struct inputs *c = of_step(packed);

    if (store_arrive(c->store, e) == 0)
        return (const struct inputs_arrived *)c;
    uploadbar_clear(&c->bar);
    return NULL;
}

int inputs_add_sweep(const struct inputs_arrived *arrived, int64_t sweep,
                     const struct store_text *files, size_t n, struct err *e)
{
    return store_add_sweep(of_step(arrived)->store, sweep, files, n, e);
}

const struct inputs_settled *inputs_settle(const struct inputs_arrived *arrived, struct err *e)
{
    struct inputs *c = of_step(arrived);
    int result = store_settle(c->store, e);

    if (result == 0)
        store_sweep(c->store);
    uploadbar_clear(&c->bar);
    return result < 0 ? NULL : (const struct inputs_settled *)c;
}

int inputs_try_again(struct inputs *c, const struct err *why, struct err *e)
{
    uint64_t settled_bytes = c->store != NULL ? store_settled_bytes(c->store) : 0;
    /* The connection broke, or a file was removed that had been found on the share. */
    bool can_go_on = why->kind == ERR_UNREACHABLE || why->kind == ERR_BUSY;

    c->has_come = c->has_come || (c->store != NULL && store_may_have_settled(c->store));
    close_store(c);
    c->n_vain = settled_bytes > 0 ? 0 : c->n_vain + 1;
    if (settled_bytes == 0)
        c->part_bytes = SMALL_PART_BYTES;
    if (can_go_on && c->n_vain < VAIN_TRIES)
        return 0;
    return err_set(e, why->kind, "%s%s", why->text,
                   c->has_come && (can_go_on || why->kind == ERR_NO_SPACE)
                       ? "; the next try goes on where this one stopped"
                       : "");
}

int inputs_send(struct inputs *c, struct err *e)
{
    for (;;) {
        struct err why = { 0 };
        const struct inputs_counted *counted = inputs_count(c, &why);
        const struct inputs_packed *packed = counted == NULL ? NULL : inputs_pack(counted, &why);
        const struct inputs_arrived *arrived = packed == NULL ? NULL : inputs_arrive(packed, &why);

        if (arrived != NULL && inputs_settle(arrived, &why) != NULL)
            return 0;
        if (inputs_try_again(c, &why, e) < 0)
            return -1;
    }
}

void inputs_count_new(const struct inputs_packed *packed, int64_t *n_files, int64_t *bytes)
{
    const struct inputs *c = of_step(packed);

    *n_files = *bytes = 0;
    for (size_t i = 0; i < c->n_trees; i++) {
        *n_files += c->trees[i]->new_files;
        *bytes += c->trees[i]->new_bytes;
    }
}
