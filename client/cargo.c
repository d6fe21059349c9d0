/* SPDX-License-Identifier: MIT */
/* cargo.c - the files that a sweep takes along: its source, and its data */
#include <stdlib.h>
#include <string.h>

#include "client/cargo.h"
#include "client/conf.h"
#include "common/path.h"

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
    for (size_t i = 0; i < s->data.n; i++)
        leave_out(out, a, data[i].path);
}

static int add_everything(struct tree *t, const struct spec *s, struct left_out *out, struct err *e)
{
    struct tree_skips skips = { .ignore = ignore_create(s->folder, true, e) };
    int result = -1;

    if (skips.ignore == NULL)
        return -1;
    leave_out_sweep(out, t->arena, s);
    skips.paths = out->paths;
    skips.n = out->n;
    result = tree_add(t, s->folder, "", &skips, e);
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

static int load_source(struct tree *t, const struct spec *s, const char *share, struct err *e)
{
    const char *const *paths = s->source.items;
    char *state = conf_state_dir();
    struct left_out out = { 0 };
    int result = 0;

    leave_out(&out, t->arena, state);
    if (share != NULL)
        leave_out(&out, t->arena, share);
    if (takes_everything(s))
        result = add_everything(t, s, &out, e);
    else
        for (size_t i = 0; i < s->source.n && result == 0; i++)
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
    if (load_source(&c->source, s, share, e) < 0)
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
    tree_free(&c->source);
    *c = (struct cargo){ 0 };
}

void cargo_sign(const struct cargo *c, const struct spec *s, struct arena *a, struct work *work)
{
    const struct spec_data *data = s->data.items;
    struct data_entry *entries = arena_alloc(a, c->n_data * sizeof *entries);

    if (c->source.n > 0)
        work->source = c->source.digest;
    for (size_t i = 0; i < c->n_data; i++)
        entries[i] = (struct data_entry){ data[i].name, c->data[i].digest };
    work->data = (struct list){ entries, c->n_data };
}

int cargo_upload(const struct cargo *c, const struct place *to, struct err *e)
{
    if (c->source.n > 0 && upload_tree(to, &c->source, e) < 0)
        return err_wrap(e, "source");
    for (size_t i = 0; i < c->n_data; i++)
        if (upload_tree(to, &c->data[i], e) < 0)
            return err_wrap(e, "data");
    return 0;
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
