/* SPDX-License-Identifier: MIT */
/* cargo.c - the files that a sweep takes along: its source, and its data */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/cargo.h"
#include "client/conf.h"
#include "client/out.h"
#include "client/text.h"
#include "common/io.h"
#include "common/layout.h"
#include "common/path.h"
#include "common/units.h"
#include "common/yaml.h"

/* Every job gets a copy of its source, so that a large one is seldom meant. */
enum { SOURCE_USUAL_BYTES = 100 * 1024 * 1024 };

/* Larger files are not looked into. */
enum { SWEEP_FILE_MAX_BYTES = 1024 * 1024 };

enum { SHOWN_LEFT_OUT = 8 };

/* What everything is without. */
struct left_out {
    const char **paths;
    size_t n, capacity;
};

static void leave_out(struct left_out *out, struct arena *a, const char *path)
{
    char *real = path_real(path, NULL);

    mem_grow((void **)&out->paths, &out->capacity, out->n, sizeof *out->paths);
    out->paths[out->n++] = path;
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

static bool leave_out_other(void *context, const char *from, const char *path, bool is_dir)
{
    struct cargo *c = context;

    if (is_dir ? !has_marker(from) : strchr(path, '/') != NULL || !is_sweep_file(from))
        return false;
    mem_grow((void **)&c->left, &c->left_capacity, c->n_left, sizeof *c->left);
    c->left[c->n_left++] = (struct cargo_left){ arena_strdup(c->source.arena, path), is_dir };
    return true;
}

static int compare_left(const void *x, const void *y)
{
    return strcmp(((const struct cargo_left *)x)->path, ((const struct cargo_left *)y)->path);
}

static int add_everything(struct cargo *c, const struct spec *s, struct left_out *out,
                          struct err *e)
{
    struct tree_skips skips = { .ignore = ignore_create(s->folder, true, e),
                                .leaves_out = leave_out_other,
                                .context = c };
    int result = -1;

    if (skips.ignore == NULL)
        return -1;
    leave_out_sweep(out, c->source.arena, s);
    skips.paths = out->paths;
    skips.n = out->n;
    result = tree_add(&c->source, s->folder, "", &skips, e);
    if (c->n_left > 1)
        qsort(c->left, c->n_left, sizeof *c->left, compare_left);
    ignore_destroy(skips.ignore);
    return result;
}

/* Reads the rules of the folders above path, which is below root. */
static int enter_above(struct ignore *ig, const char *root, const char *path, bool *ignored,
                       struct err *e)
{
    char *from = path_join(root, path);
    size_t n_root = strlen(root), mark;
    int result = ignore_enter(ig, root, &mark, e);

    *ignored = false;
    for (char *slash = strchr(from + n_root + 1, '/'); result == 0 && slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        *ignored = *ignored || ignore_matches(ig, from, true);
        result = ignore_enter(ig, from, &mark, e);
        *slash = '/';
    }
    *ignored = *ignored || ignore_matches(ig, from, true);
    free(from);
    return result;
}

/* What was named although the rules leave it out is taken with all that is in it. */
static int add_named(struct tree *t, const struct spec *s, const char *path,
                     const struct left_out *out, struct err *e)
{
    struct tree_skips skips = { .ignore = ignore_create(s->folder, true, e),
                                .paths = out->paths,
                                .n = out->n };
    char *from = path_join(s->folder, path);
    bool ignored;
    int result = -1;

    if (skips.ignore != NULL && enter_above(skips.ignore, s->folder, path, &ignored, e) == 0) {
        if (ignored) {
            ignore_destroy(skips.ignore);
            skips.ignore = ignore_create(s->folder, false, e);
        }
        result = tree_add(t, from, path, &skips, e);
    }
    free(from);
    ignore_destroy(skips.ignore);
    return result;
}

static bool takes_everything(const struct spec *s)
{
    const char *const *paths = s->source.items;

    for (size_t i = 0; i < s->source.n; i++)
        if (strcmp(paths[i], ".") == 0)
            return true;
    return !s->has_source;
}

static int load_source(struct cargo *c, const struct spec *s, const char *share, struct err *e)
{
    const char *const *paths = s->source.items;
    struct tree *t = &c->source;
    char *state = conf_state_dir();
    struct left_out out = { 0 };
    int result = 0;

    leave_out(&out, t->arena, state);
    if (share != NULL)
        leave_out(&out, t->arena, share);
    if (takes_everything(s))
        result = add_everything(c, s, &out, e);
    for (size_t i = 0; i < s->source.n && result == 0; i++)
        if (strcmp(paths[i], ".") != 0)
            result = add_named(t, s, paths[i], &out, e);
    free(out.paths);
    free(state);
    return result < 0 ? err_wrap(e, "source") : 0;
}

static int load_data(struct cargo *c, const struct spec *s, bool with_digests, struct err *e)
{
    const struct spec_data *data = s->data.items;

    c->data = mem_alloc(s->data.n * sizeof *c->data);
    for (size_t i = 0; i < s->data.n; i++) {
        tree_init(&c->data[i]);
        c->n_data++;
        if (tree_add(&c->data[i], data[i].path, "", NULL, e) < 0 ||
            tree_end(&c->data[i], with_digests, e) < 0)
            return err_wrap(e, "data");
    }
    return 0;
}

int cargo_load(struct cargo *c, const struct spec *s, const char *share, bool with_digests,
               struct err *e)
{
    *c = (struct cargo){ 0 };
    tree_init(&c->source);
    if (load_source(c, s, share, e) < 0)
        return -1;
    if (tree_end(&c->source, with_digests, e) < 0)
        return err_wrap(e, "source");
    return load_data(c, s, with_digests, e);
}

void cargo_free(struct cargo *c)
{
    for (size_t i = 0; i < c->n_data; i++)
        tree_free(&c->data[i]);
    free(c->data);
    free(c->left);
    tree_free(&c->source);
    *c = (struct cargo){ 0 };
}

void cargo_sign(const struct cargo *c, const struct spec *s, struct arena *a, struct work *work)
{
    const struct spec_data *data = s->data.items;
    struct data_entry *entries = arena_alloc(a, c->n_data * sizeof *entries);

    if (c->source.n > 0)
        work->source.tree = c->source.digest;
    for (size_t i = 0; i < c->n_data; i++)
        entries[i] = (struct data_entry){ data[i].name, { .tree = c->data[i].digest } };
    work->data = (struct list){ entries, c->n_data };
}

void cargo_note_size(const struct cargo *c)
{
    struct buf size = { 0 };

    if (c->source.bytes <= SOURCE_USUAL_BYTES)
        return;
    units_add_size(&size, (int64_t)c->source.bytes);
    out_note("note: the source has %s in %zu file%s, and each job gets a copy; source: in the file "
             "or a .ludwigignore can leave some out",
             buf_text(&size), c->source.n_files, c->source.n_files == 1 ? "" : "s");
    buf_free(&size);
}

void cargo_add_left_out(const struct cargo *c, struct buf *out)
{
    size_t n = c->n_left < SHOWN_LEFT_OUT ? c->n_left : SHOWN_LEFT_OUT;

    for (size_t i = 0; i < n; i++) {
        buf_add_str(out, i > 0 ? ", " : "");
        text_add_harmless(out, c->left[i].path, strlen(c->left[i].path), "");
        buf_add_str(out, c->left[i].is_results ? "/ (fetched results)" : " (a sweep file)");
    }
    if (c->n_left > n)
        buf_printf(out, " and %zu more", c->n_left - n);
}

void cargo_note_left_out(const struct cargo *c)
{
    struct buf line = { 0 };

    if (c->n_left == 0)
        return;
    cargo_add_left_out(c, &line);
    out_note("note: left out of the source: %s; what source: names is taken", buf_text(&line));
    buf_free(&line);
}

/* The same content twice is sent once. */
static bool is_repeated(const struct cargo *c, size_t i)
{
    const struct digest *digest = &c->data[i].digest;

    if (c->source.n > 0 && memcmp(&c->source.digest, digest, sizeof *digest) == 0)
        return true;
    for (size_t k = 0; k < i; k++)
        if (memcmp(&c->data[k].digest, digest, sizeof *digest) == 0)
            return true;
    return false;
}

static void count_missing(const struct tree *t, const struct place *to, uint64_t *n_files,
                          uint64_t *bytes)
{
    if (upload_has_tree(to, &t->digest))
        return;
    *n_files += t->n_files;
    *bytes += t->bytes;
}

void cargo_count_missing(const struct cargo *c, const struct place *to, uint64_t *n_files,
                         uint64_t *bytes)
{
    *n_files = 0;
    *bytes = 0;
    if (c->source.n > 0)
        count_missing(&c->source, to, n_files, bytes);
    for (size_t i = 0; i < c->n_data; i++)
        if (!is_repeated(c, i))
            count_missing(&c->data[i], to, n_files, bytes);
}

static int upload_all(const struct cargo *c, const struct place *to, struct uploadbar *bar,
                      struct err *e)
{
    if (c->source.n > 0 && upload_tree(to, &c->source, bar, e) < 0)
        return err_wrap(e, "source");
    for (size_t i = 0; i < c->n_data; i++)
        if (upload_tree(to, &c->data[i], bar, e) < 0)
            return err_wrap(e, "data");
    return 0;
}

int cargo_upload(const struct cargo *c, const struct place *to, struct err *e)
{
    struct uploadbar bar;
    uint64_t n_files, bytes;
    int result;

    cargo_count_missing(c, to, &n_files, &bytes);
    uploadbar_begin(&bar, n_files, bytes);
    result = upload_all(c, to, &bar, e);
    uploadbar_clear(&bar);
    return result;
}
