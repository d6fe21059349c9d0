/* SPDX-License-Identifier: MIT */
/* inputs.c - the files that a sweep takes along: its source, and its data */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/pack/inputs.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "client/util/conf.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "common/data/yaml.h"
#include "common/proto/layout.h"

/* Every job gets a copy of its source, so that a large one is seldom meant. */
enum { SOURCE_USUAL_BYTES = 100 * 1024 * 1024 };

/* Larger files are not looked into. */
enum { SWEEP_FILE_MAX_BYTES = 1024 * 1024 };

enum { SHOWN_LEFT_OUT = 8 };

/* So often a connection may break without anything having been sent. */
enum { VAIN_TRIES = 3 };

/* After one that did not last for a part: the size of those that follow. */
enum { SMALL_PART_BYTES = PACK_PIECE_BYTES };

/* What everything is without. */
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

static void leave_out_sweep(struct left_out *out, struct arena *a, const struct spec *s)
{
    const struct spec_data *data = s->data.items;

    leave_out(out, a, arena_printf(a, "%s/%s", s->folder, path_basename(s->file)));
    if (s->list != NULL)
        leave_out(out, a, s->list);
    for (size_t i = 0; i < s->data.n; i++)
        if (data[i].path != NULL)
            leave_out(out, a, data[i].path);
}

static bool has_marker(const char *dir)
{
    char *path = path_join(dir, LAYOUT_FETCHED);
    bool found = access(path, F_OK) == 0;

    free(path);
    return found;
}

static bool is_sweep_key(const char *name)
{
    for (const struct key *key = spec_keys; key->name != NULL; key++)
        if (strcmp(key->name, name) == 0)
            return true;
    return strncmp(name, "x-", 2) == 0;
}

/* With command: and no key that a sweep file has not: else it may be something of the program's. */
static bool is_sweep_map(const struct yaml_node *root)
{
    if (root->type != VALUE_MAP || yaml_get(root, "command") == NULL)
        return false;
    for (size_t i = 0; i < root->n; i++)
        if (!is_sweep_key(root->members[i].key))
            return false;
    return true;
}

static bool is_sweep_text(const char *path, const struct buf *text)
{
    struct arena *a = arena_create();
    const struct yaml_node *root = yaml_parse(path, buf_text(text), text->n, a, NULL);
    bool is_sweep = root != NULL && is_sweep_map(root);

    arena_destroy(a);
    return is_sweep;
}

static bool is_sweep_file(const char *path)
{
    const char *dot = strrchr(path_basename(path), '.');
    struct buf text = { 0 };
    struct stat st;
    bool is_sweep = false;

    if (dot == NULL || (strcmp(dot, ".yaml") != 0 && strcmp(dot, ".yml") != 0))
        return false;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= SWEEP_FILE_MAX_BYTES &&
        io_read_file(path, SWEEP_FILE_MAX_BYTES, &text, NULL) == 0)
        is_sweep = is_sweep_text(path, &text);
    buf_free(&text);
    return is_sweep;
}

static bool is_listed(const struct inputs *c, const char *path)
{
    for (size_t i = 0; i < c->n_left; i++)
        if (strcmp(c->left[i].path, path) == 0)
            return true;
    return false;
}

static bool leave_out_other(void *context, const char *from, const char *path, bool is_dir)
{
    struct inputs *c = context;

    if (is_listed(c, path))
        return true;
    if (is_dir ? !has_marker(from) : strchr(path, '/') != NULL || !is_sweep_file(from))
        return false;
    mem_grow((void **)&c->left, &c->left_capacity, c->n_left, sizeof *c->left);
    c->left[c->n_left++] = (struct inputs_left){ arena_strdup(c->arena, path), is_dir };
    return true;
}

static int compare_left(const void *x, const void *y)
{
    return strcmp(((const struct inputs_left *)x)->path, ((const struct inputs_left *)y)->path);
}

static bool takes_everything(const struct spec *s)
{
    const char *const *paths = s->source.items;

    for (size_t i = 0; i < s->source.n; i++)
        if (strcmp(paths[i], ".") == 0)
            return true;
    return !s->has_source;
}

/* Of what source: names; "." is everything. */
static void name_paths(struct walk_plan *plan, const struct spec *s, struct arena *a)
{
    const char *const *paths = s->source.items;
    const char **named = arena_alloc(a, s->source.n * sizeof *named);

    for (size_t i = 0; i < s->source.n; i++)
        if (strcmp(paths[i], ".") != 0)
            named[plan->n_named++] = arena_strdup(a, paths[i]);
    plan->named = named;
}

static void leave_out_all(struct inputs *c, const struct spec *s, const char *share)
{
    struct walk_plan *plan = &c->source.plan;
    char *state = conf_state_dir();
    struct left_out out = { 0 };

    leave_out(&out, c->arena, state);
    if (share != NULL)
        leave_out(&out, c->arena, share);
    if (plan->everything)
        leave_out_sweep(&out, c->arena, s);
    plan->left_out = arena_alloc(c->arena, out.n * sizeof *out.paths);
    memcpy((void *)(uintptr_t)plan->left_out, out.paths, out.n * sizeof *out.paths);
    plan->n_left_out = out.n;
    free(out.paths);
    free(state);
}

/* What is left out, unless that or something in it is named. */
static void skip_left_out(const struct walk_plan *plan)
{
    size_t n = strlen(plan->top);

    for (size_t i = 0; i < plan->n_left_out; i++) {
        const char *path = plan->left_out[i];

        if (strncmp(path, plan->top, n) == 0 && path[n] == '/' &&
            !walk_leads_to_named(plan, path + n + 1))
            ignore_skip(plan->rules, path);
    }
}

static void plan_source(struct inputs *c, const struct spec *s)
{
    struct walk_plan *plan = &c->source.plan;

    plan->top = arena_strdup(c->arena, s->folder);
    plan->rules = ignore_create(plan->top);
    plan->everything = takes_everything(s);
    if (plan->everything) {
        plan->leaves_out = leave_out_other;
        plan->context = c;
    }
    name_paths(plan, s, c->arena);
    leave_out_all(c, s, c->has_place ? c->to.drive->mount : NULL);
    skip_left_out(plan);
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
        if (data[i].path != NULL)
            bytes += inputs_glance_paths(&data[i].path, 1);
    return bytes;
}

/* NULL: it does not lie here. */
static void add_data(struct inputs *c, const char *path)
{
    struct tree *t = &c->data[c->n_data++];

    if (path != NULL)
        t->plan = (struct walk_plan){ .top = arena_strdup(c->arena, path), .everything = true };
    t->what = "data";
}

static bool is_planned(const struct tree *t)
{
    return t->plan.everything || t->plan.n_named > 0;
}

/* Those that lie here. */
static void list_trees(struct inputs *c)
{
    struct packer *p = &c->packer;

    p->trees = arena_alloc(c->arena, (c->n_data + 1) * sizeof(struct tree *));
    if (is_planned(&c->source))
        p->trees[p->n++] = &c->source;
    for (size_t i = 0; i < c->n_data; i++)
        if (is_planned(&c->data[i]))
            p->trees[p->n++] = &c->data[i];
}

static int count_all(struct inputs *c, struct err *e)
{
    struct packer *p = &c->packer;
    int64_t unknown_bytes = 0;

    for (size_t i = 0; i < p->n; i++) {
        struct tree *t = p->trees[i];

        if (!packer_has_counted(p, t) && tree_count(t, c->stock, e) < 0)
            return tree_blame(t, e);
        unknown_bytes += t->unknown_bytes;
    }
    pack_inventory_judge(c->stock, (uint64_t)unknown_bytes);
    return 0;
}

static void close_stock(struct inputs *c)
{
    pack_inventory_close(c->stock);
    store_close(c->store);
    c->stock = NULL;
    c->store = NULL;
}

/* Looks at the share, and then at what there is here. */
static int look_at_all(struct inputs *c, struct err *e)
{
    close_stock(c);
    c->store = c->has_place ? store_open(&c->to, e) : NULL;
    if (c->has_place && c->store == NULL)
        return -1;
    c->stock = pack_inventory_open(c->store, e);
    packer_rest(&c->packer);
    if (c->stock == NULL || count_all(c, e) < 0)
        return -1;
    return packer_meet(&c->packer, c->stock, c->store) ? 0 : count_all(c, e);
}

/* The same again as long as the connection breaks. */
static int look_until_done(struct inputs *c, struct err *e)
{
    struct err why = { 0 };

    for (int i = 1; look_at_all(c, &why) < 0; i++)
        if (why.kind != ERR_UNREACHABLE || i == VAIN_TRIES)
            return err_set(e, why.kind, "%s", why.text);
    return 0;
}

static void begin(struct inputs *c, const struct place *to, size_t n_data)
{
    *c = (struct inputs){ .arena = arena_create() };
    c->has_place = to != NULL;
    if (to != NULL)
        c->to = *to;
    c->data = arena_alloc(c->arena, n_data * sizeof *c->data);
    c->source.what = "source";
    c->source.is_none_if_empty = true;
}

static void plan(struct inputs *c, const struct spec *s, const struct place *to)
{
    const struct spec_data *data = s->data.items;

    begin(c, to, s->data.n);
    plan_source(c, s);
    for (size_t i = 0; i < s->data.n; i++)
        add_data(c, data[i].path);
    list_trees(c);
}

static void plan_paths(struct inputs *c, const char *const *paths, size_t n, const struct place *to)
{
    begin(c, to, n);
    for (size_t i = 0; i < n; i++)
        add_data(c, paths[i]);
    list_trees(c);
}

static int look_around(struct inputs *c, struct err *e)
{
    if (look_until_done(c, e) < 0)
        return -1;
    if (c->n_left > 1)
        qsort(c->left, c->n_left, sizeof *c->left, compare_left);
    return 0;
}

int inputs_load(struct inputs *c, const struct spec *s, const struct place *to, struct err *e)
{
    plan(c, s, to);
    return look_around(c, e);
}

int inputs_load_paths(struct inputs *c, const char *const *paths, size_t n, const struct place *to,
                      struct err *e)
{
    plan_paths(c, paths, n, to);
    return look_around(c, e);
}

void inputs_begin(struct inputs *c, const struct spec *s)
{
    plan(c, s, NULL);
    packer_begin_early(&c->packer);
}

void inputs_begin_paths(struct inputs *c, const char *const *paths, size_t n)
{
    plan_paths(c, paths, n, NULL);
    packer_begin_early(&c->packer);
}

struct idle inputs_idle(struct inputs *c)
{
    return packer_idle(&c->packer);
}

int inputs_meet(struct inputs *c, const struct place *to, struct err *e)
{
    c->to = *to;
    c->has_place = true;
    return look_around(c, e);
}

void inputs_free(struct inputs *c)
{
    packer_close(&c->packer);
    close_stock(c);
    ignore_destroy(c->source.plan.rules);
    arena_destroy(c->arena);
    free(c->left);
    *c = (struct inputs){ 0 };
}

int64_t inputs_count_files(const struct tree *t)
{
    return t->totals.files + t->totals.links;
}

void inputs_sign(const struct inputs *c, const struct spec *s, struct arena *a,
                 struct jobspec *work)
{
    const struct spec_data *data = s->data.items;
    struct data_entry *entries = arena_alloc(a, c->n_data * sizeof *entries);

    work->source = c->source.set;
    for (size_t i = 0; i < c->n_data; i++)
        entries[i] = (struct data_entry){ data[i].name, c->data[i].set };
    work->data = (struct list){ entries, c->n_data };
}

void inputs_note_size(const struct inputs *c)
{
    int64_t n_files = inputs_count_files(&c->source);
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
        buf_add_str(out, c->left[i].is_results ? "/ (fetched results)" : " (a sweep file)");
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
    output_note("note: left out of the source: %s; what source: names is taken", buf_text(&line));
    buf_free(&line);
}

/* ---- sending ---- */

int inputs_look(struct inputs *c, struct err *e)
{
    c->packer.target = (struct tree_target){ .stock = c->stock };
    return packer_pack_all(&c->packer, e);
}

void inputs_count_new(const struct inputs *c, int64_t *n_files, int64_t *bytes)
{
    *n_files = c->source.new_files;
    *bytes = c->source.new_bytes;
    for (size_t i = 0; i < c->n_data; i++) {
        *n_files += c->data[i].new_files;
        *bytes += c->data[i].new_bytes;
    }
}

static void begin_bar(struct uploadbar *bar, const struct inputs *c)
{
    int64_t n_files = c->source.unknown_files, bytes = c->source.unknown_bytes;

    for (size_t i = 0; i < c->n_data; i++) {
        n_files += c->data[i].unknown_files;
        bytes += c->data[i].unknown_bytes;
    }
    uploadbar_begin(bar, (uint64_t)n_files, (uint64_t)bytes);
}

static int pack_once(struct inputs *c, uint64_t part_bytes, struct err *e)
{
    int result;

    begin_bar(&c->bar, c);
    store_expect(c->store, c->bar.all_bytes);
    c->packer.target.bar = &c->bar;
    c->packer.target.part_bytes = part_bytes;
    result = packer_pack_all(&c->packer, e);
    if (result < 0)
        uploadbar_clear(&c->bar);
    return result;
}

static int settle_once(struct inputs *c, struct err *e)
{
    int result = store_settle(c->store, e);

    if (result == 0)
        pack_inventory_sweep(c->stock);
    uploadbar_clear(&c->bar);
    return result;
}

/* The connection broke, or something was removed that was there. */
static bool can_go_on(const struct err *why)
{
    return why->kind == ERR_UNREACHABLE || why->kind == ERR_BUSY;
}

/* Where it can go on that is said. */
static int give_up(const struct err *why, bool has_come, struct err *e)
{
    bool may_pass = can_go_on(why) || why->kind == ERR_NO_SPACE;

    return err_set(e, why->kind, "%s%s", why->text,
                   may_pass && has_come ? "; the next try goes on where this one stopped" : "");
}

/* After a try that failed; what it settled need not be sent again. */
static int try_again(struct inputs *c, struct err *why, struct err *e)
{
    uint64_t settled_bytes, part_bytes = 0;
    bool has_come = false;
    int vain = 0;

    do {
        settled_bytes = store_settled_bytes(c->store);
        has_come = has_come || store_may_have_settled(c->store);
        vain = settled_bytes > 0 ? 0 : vain + 1;
        if (settled_bytes == 0)
            part_bytes = SMALL_PART_BYTES;
        if (!can_go_on(why) || vain == VAIN_TRIES || look_until_done(c, why) < 0)
            return give_up(why, has_come, e);
    } while (pack_once(c, part_bytes, why) < 0 || settle_once(c, why) < 0);
    return 0;
}

/* What was given up is not there, whoever asks. */
static int say_given_up(const struct inputs *c, struct err *e)
{
    return c->why.kind == ERR_NONE ? 0 : err_set(e, c->why.kind, "%s", c->why.text);
}

static int send_again(struct inputs *c, struct err *why, struct err *e)
{
    return try_again(c, why, &c->why) == 0 ? 0 : say_given_up(c, e);
}

int inputs_pack(struct inputs *c, struct err *e)
{
    struct err why = { 0 };

    c->is_packed = pack_once(c, 0, &why) == 0;
    return c->is_packed ? 0 : send_again(c, &why, e);
}

void inputs_push(struct inputs *c)
{
    if (c->is_packed)
        store_push(c->store);
}

/* Where nothing is on its way, the store lets go of the connection: it may be made anew now. */
int inputs_arrive(struct inputs *c, struct err *e)
{
    struct err why = { 0 };

    if (!c->is_packed) {
        close_stock(c);
        return say_given_up(c, e);
    }
    if (store_arrive(c->store, &why) == 0)
        return 0;
    c->is_packed = false;
    uploadbar_clear(&c->bar);
    return send_again(c, &why, e);
}

int inputs_settle(struct inputs *c, struct err *e)
{
    struct err why = { 0 };

    if (!c->is_packed)
        return say_given_up(c, e);
    c->is_packed = false;
    return settle_once(c, &why) == 0 ? 0 : send_again(c, &why, e);
}

int inputs_send(struct inputs *c, struct err *e)
{
    return inputs_pack(c, e) < 0 ? -1 : inputs_settle(c, e);
}
