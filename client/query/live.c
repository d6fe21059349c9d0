/* SPDX-License-Identifier: MIT */
/* live.c - the last values that jobs without a result have reported */
#include "client/query/live.h"

#include <inttypes.h>
#include <string.h>

#include "common/data/json.h"
#include "common/proto/layout.h"
#include "common/proto/metric_line.h"
#include "common/proto/metric_list.h"

/* A larger file than WHOLE_MAX_BYTES is not read whole: only its last END_BYTES are. */
enum { WHOLE_MAX_BYTES = 64 * 1024, END_BYTES = 16 * 1024, WORDS_MAX = 4 };

static void take_value(void *context, const char *name, size_t n, double value, int64_t step)
{
    struct metric *m = metric_list_take(context, name, n);

    if (m == NULL)
        return;
    m->value = value;
    m->step = step;
}

/* Passes over lines that are no JSON, such as one whose beginning or end is missing. */
static void take_lines(struct live *job, struct arena *a, struct bytes content)
{
    struct metric_list l = { .arena = a };
    struct arena *of_line = arena_create();
    const char *at = (const char *)content.data, *end = at + content.n;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t n = newline == NULL ? (size_t)(end - at) : (size_t)(newline - at);
        struct value map;

        if (json_read(at, n, of_line, &map, NULL) == 0 && map.type == VALUE_MAP)
            metric_line_each(&map, take_value, &l);
        arena_reset(of_line);
        at += n + 1;
    }
    arena_destroy(of_line);
    job->metrics = (struct list){ l.items, l.n };
}

struct fetched {
    struct live *job;
    const char *path;
    struct arena *arena;
    bool is_large, is_missing;
};

static void take_file(void *context, const struct err *error, struct bytes content)
{
    struct fetched *f = context;

    if (error == NULL || error->kind == ERR_NONE)
        take_lines(f->job, f->arena, content);
    else
        f->is_large = error->kind == ERR_USAGE;
    f->is_missing = error != NULL && error->kind == ERR_NOT_FOUND;
}

/* Goes on to the file of the attempt before, where the last attempt has none yet. */
static bool turn_back(struct fetched *f)
{
    struct buf path = { 0 };
    bool is_there;

    buf_add_str(&path, f->path);
    is_there = layout_metrics_before(&path);
    f->path = arena_strdup(f->arena, buf_text(&path));
    f->is_missing = false;
    buf_free(&path);
    return is_there;
}

static void read_end(const struct share_dir *fs, const struct fetched *f)
{
    struct share_input *in = share_open_input(fs, f->path, 0, NULL);
    struct buf end = { 0 };
    int64_t size_bytes = 0;
    char bytes[END_BYTES];
    ssize_t n;

    if (in == NULL)
        return;
    if (share_input_size(in, &size_bytes, NULL) == 0) {
        share_seek_input(in, size_bytes > END_BYTES ? size_bytes - END_BYTES : 0);
        while (end.n < 2 * END_BYTES && (n = share_read_input(in, bytes, sizeof bytes, NULL)) > 0)
            buf_add(&end, bytes, (size_t)n);
        take_lines(f->job, f->arena, buf_bytes(&end));
    }
    buf_free(&end);
    share_close_input(in);
}

void live_read(const struct share_dir *fs, struct live *jobs, size_t n, struct arena *a)
{
    struct fetched *fetched = arena_alloc(a, n * sizeof *fetched);
    size_t n_asked = n;

    for (size_t i = 0; i < n; i++)
        fetched[i] = (struct fetched){ .job = &jobs[i], .path = jobs[i].path, .arena = a };
    while (n_asked > 0) {
        size_t n_again = 0;

        for (size_t i = 0; i < n_asked; i++)
            if (share_fetch(fs, fetched[i].path, WHOLE_MAX_BYTES, take_file, &fetched[i], NULL) < 0)
                break;
        (void)share_fetch_all(fs, NULL);
        for (size_t i = 0; i < n_asked; i++) {
            if (fetched[i].is_large)
                read_end(fs, &fetched[i]);
            if (fetched[i].is_missing && turn_back(&fetched[i]))
                fetched[n_again++] = fetched[i];
        }
        n_asked = n_again;
    }
}

void live_add_words(struct buf *out, const struct list *metrics)
{
    const struct metric *items = metrics->items;
    int64_t step = SCHEMA_NONE;

    for (size_t i = 0; i < metrics->n; i++) {
        if (items[i].step > step)
            step = items[i].step;
        if (i < WORDS_MAX)
            buf_printf(out, "%s%s ~%.6g", i > 0 ? ", " : "", items[i].name, items[i].value);
    }
    if (metrics->n > WORDS_MAX)
        buf_printf(out, ", %zu more", metrics->n - WORDS_MAX);
    if (step != SCHEMA_NONE && metrics->n > 0)
        buf_printf(out, ", step %" PRId64, step);
}
