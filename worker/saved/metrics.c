/* SPDX-License-Identifier: MIT */
/* metrics.c - the last, least and largest value of each measure that a job reported */

#include "worker/saved/metrics.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/data/json.h"
#include "common/proto/metric_line.h"

enum { LINE_MAX_BYTES = 1024 * 1024 };

static const char series_suffix[] = ".csv";

/* ---- lines of a file, in bounded memory ---- */

struct lines {
    int fd;
    int64_t offset;    /* where the next read begins */
    size_t begin, end; /* the bytes not handed out yet */
    bool at_end;
    int64_t number;    /* of the line that was handed out last, from 1 */
    bool in_long_line; /* a further piece of that line comes next */
    bool is_piece;     /* what was handed out last is not a whole line */
    char bytes[LINE_MAX_BYTES + 1];
};

/* Opens the file if it is a regular one, else returns NULL: a fifo would wait for a writer. */
static struct lines *lines_open(int dir_fd, const char *name)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    struct lines *l;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return NULL;
    }
    l = mem_resize(NULL, 1, sizeof *l); /* its many bytes need not be zero */
    l->fd = fd;
    l->offset = l->number = 0;
    l->begin = l->end = 0;
    l->at_end = l->in_long_line = l->is_piece = false;
    return l;
}

/* Returns the next line without its newline, or NULL; one that is too long comes in pieces. */
static char *lines_next(struct lines *l, size_t *n)
{
    char *line, *newline = memchr(l->bytes + l->begin, '\n', l->end - l->begin);
    int64_t data, data_end;
    ssize_t got;

    if (newline == NULL && !l->at_end) {
        memmove(l->bytes, l->bytes + l->begin, l->end - l->begin);
        l->end -= l->begin;
        l->begin = 0;
        io_find_data(l->fd, l->offset, &data, &data_end); /* a hole may be larger than any disk */
        l->offset = data;
        got = data == INT64_MAX ? 0
                                : io_read_all_at(l->fd, l->bytes + l->end, LINE_MAX_BYTES - l->end,
                                                 (uint64_t)data);
        l->at_end = got <= 0;
        l->end += got > 0 ? (size_t)got : 0;
        l->offset += got > 0 ? got : 0;
        newline = memchr(l->bytes, '\n', l->end);
    }
    if (newline == NULL && l->begin == l->end)
        return NULL;
    line = l->bytes + l->begin;
    l->number += !l->in_long_line;
    l->is_piece = l->in_long_line || (newline == NULL && !l->at_end);
    l->in_long_line = newline == NULL && !l->at_end;
    if (newline == NULL)
        newline = l->bytes + l->end;
    *n = (size_t)(newline - line);
    l->begin += *n + (newline < l->bytes + l->end);
    *newline = '\0';
    if (*n > 0 && line[*n - 1] == '\r')
        line[--*n] = '\0';
    return line;
}

/* ---- measures ---- */

/* How far a measure has come. */
struct metrics_track {
    int64_t highest_step; /* SCHEMA_NONE: no value had a step */
    bool is_told;         /* by lines of this attempt */
    bool goes_back;       /* a step was not higher than all before it */
};

struct point {
    size_t metric; /* index in the list */
    size_t number; /* in the order they came */
    int64_t step;
    double value;
};

struct metrics_points {
    struct point *items;
    size_t n, capacity;
};

static void widen(struct metric *metric, double value)
{
    if (!isfinite(value))
        return;
    metric->min = fmin(metric->min, value);
    metric->max = fmax(metric->max, value);
    metric->n++;
}

static struct metrics_track *track_of(struct metrics *m, size_t at)
{
    if (at >= m->tracks_capacity) {
        struct metrics_track *were = m->tracks;
        size_t n = m->tracks_capacity;

        m->tracks_capacity = m->list.capacity;
        m->tracks = arena_alloc(m->list.arena, m->tracks_capacity * sizeof *m->tracks);
        if (n > 0)
            memcpy(m->tracks, were, n * sizeof *m->tracks);
        for (size_t i = n; i < m->tracks_capacity; i++)
            m->tracks[i].highest_step = SCHEMA_NONE;
    }
    return &m->tracks[at];
}

/* Counts a line that was not taken, or not all of it; what: the rest of "line 7 ...". */
static void leave_out(struct metrics *m, const char *what)
{
    if (m->points == NULL && m->n_left_out++ == 0)
        m->left_out = arena_printf(m->list.arena, "line %" PRId64 " %s", m->line, what);
}

/* Returns the measure's track; NULL: the measure is not taken. */
static struct metrics_track *take_value(struct metrics *m, const char *name, size_t n, double value,
                                        int64_t step)
{
    struct metric *metric = metric_list_take(&m->list, name, n);
    size_t at = metric == NULL ? 0 : (size_t)(metric - m->list.items);
    struct metrics_track *track = metric == NULL ? NULL : track_of(m, at);

    if (track == NULL)
        return NULL;
    /* A step that messages cannot carry counts as none. */
    if (step < 0 || step > INT64_C(1) << 53)
        step = SCHEMA_NONE;
    if (m->points != NULL) {
        if (track->goes_back) {
            mem_grow((void **)&m->points->items, &m->points->capacity, m->points->n,
                     sizeof *m->points->items);
            m->points->items[m->points->n] = (struct point){ at, m->points->n, step, value };
            m->points->n++;
        }
        return track;
    }
    metric->value = value;
    metric->step = step;
    widen(metric, value);
    if (step != SCHEMA_NONE && track->highest_step != SCHEMA_NONE && step <= track->highest_step)
        track->goes_back = m->goes_back = true;
    else if (step != SCHEMA_NONE)
        track->highest_step = step;
    return track;
}

static void take_earlier(void *context, const char *name, size_t n, double value, int64_t step)
{
    (void)take_value(context, name, n, value, step);
}

static void take_told(void *context, const char *name, size_t n, double value, int64_t step)
{
    struct metrics_track *track = take_value(context, name, n, value, step);
    struct metrics *m = context;

    m->line_has_value = true;
    if (track != NULL)
        track->is_told = true;
    else
        m->line_lacks_value = true;
}

/* Says what of the attempt's own line is no measure.  Lines about jobs of a batch need no value. */
static void judge_line(struct metrics *m, const struct lines *l, const char *line,
                       const struct value *map)
{
    m->line = l->number;
    if (l->is_piece) {
        if (l->in_long_line && !m->in_long_line)
            leave_out(m, "has more than a million bytes");
        m->in_long_line = l->in_long_line;
    } else if (map == NULL && line[strspn(line, " \t")] != '\0') {
        leave_out(m, "is no JSON object");
    } else if (m->line_lacks_value) {
        leave_out(m, "has a measure too many, or one whose name is too long");
    } else if (map != NULL && !m->line_has_value && value_get(map, "job") == NULL) {
        leave_out(m, "has no number");
    }
}

static void read_lines(struct metrics *m, int dir_fd, const char *name, metric_line_fn take)
{
    struct lines *l = lines_open(dir_fd, name);
    struct arena *a;
    char *line;
    size_t n;

    if (l == NULL)
        return;
    a = arena_create();
    while ((line = lines_next(l, &n)) != NULL) {
        struct value v;
        bool is_map = !l->is_piece && json_read(line, n, a, &v, NULL) == 0 && v.type == VALUE_MAP;

        m->line_has_value = m->line_lacks_value = false;
        if (is_map)
            metric_line_each(&v, take, m);
        if (take == take_told)
            judge_line(m, l, line, is_map ? &v : NULL);
        arena_reset(a);
    }
    arena_destroy(a);
    close(l->fd);
    free(l);
}

/* ---- series ---- */

/* Ends the first field, which may be quoted, and returns the second; NULL: there are not two. */
static char *split_row(char *row)
{
    char *at = row;
    char *value;

    if (*at == '"') {
        for (at++; *at != '\0' && (at[0] != '"' || at[1] == '"'); at++)
            at += at[0] == '"';
        at += *at == '"';
    }
    at += strcspn(at, ",");
    if (*at != ',')
        return NULL;
    *at = '\0';
    value = at + 1;
    return strpbrk(value, ",\"") == NULL ? value : NULL;
}

/* Adds the value as a line that a job could have reported. */
static void add_line(struct buf *out, const struct value *name, double value, int64_t step)
{
    buf_add_char(out, '{');
    json_add_value(out, name);
    if (isfinite(value))
        buf_printf(out, ": %.17g", value);
    else
        buf_printf(out, ": %s", isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    if (step != SCHEMA_NONE)
        buf_printf(out, ", \"step\": %" PRId64, step);
    buf_add_str(out, "}\n");
}

static bool is_told(const struct metrics *m, const char *name, size_t n)
{
    for (size_t i = 0; i < m->list.n && i < m->tracks_capacity; i++)
        if (m->tracks[i].is_told && strncmp(m->list.items[i].name, name, n) == 0 &&
            m->list.items[i].name[n] == '\0')
            return true;
    return false;
}

static void read_series(struct metrics *m, int dir_fd, const char *name)
{
    struct lines *l;
    size_t n_name = strlen(name) - strlen(series_suffix);
    bool is_first = true;
    struct value called;
    char *row;
    size_t n;

    if (is_told(m, name, n_name))
        return;
    l = lines_open(dir_fd, name);
    if (l == NULL)
        return;
    called = value_strn(name, n_name);
    while ((row = lines_next(l, &n)) != NULL) {
        char *text = split_row(row), *end = text;
        double value = (double)NAN; /* pandas writes a nan as an empty field */
        int64_t step;

        if (is_first && text == NULL) /* columns with semicolons between them, or more than two */
            break;
        if (text != NULL && *text != '\0')
            value = strtod(text, &end);
        if (is_first && (end == text || *end != '\0') && *text != '\0' &&
            !metric_csv_has_step(row, text, name, n_name))
            break;
        /* Skips a first row with the names of index and series, which may be empty. */
        if (text != NULL && *end == '\0' && (end > text || *text == '\0') &&
            !(is_first && (row[0] == '\0' || text[0] == '\0'))) {
            errno = 0;
            step = strtoll(row, &end, 10);
            if (end == row || *end != '\0' || errno != 0)
                step = SCHEMA_NONE;
            (void)take_value(m, name, n_name, value, step);
            if (m->series_lines != NULL && m->points == NULL)
                add_line(m->series_lines, &called, value, step);
        }
        is_first = false;
    }
    close(l->fd);
    free(l);
}

static int compare_names(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

bool metrics_is_series(const char *path)
{
    size_t n = strlen(path), n_suffix = strlen(series_suffix);

    return n > n_suffix && strcmp(path + n - n_suffix, series_suffix) == 0 &&
           strchr(path, '/') == NULL;
}

static void read_folder(struct metrics *m, int dir_fd)
{
    DIR *dir = io_list_dir_at(dir_fd, ".", NULL);
    struct dirent *entry;
    char **names = NULL;
    size_t n = 0, capacity = 0;

    if (dir == NULL)
        return;
    while ((entry = readdir(dir)) != NULL)
        if (metrics_is_series(entry->d_name)) {
            mem_grow((void **)&names, &capacity, n, sizeof *names);
            names[n++] = mem_strdup(entry->d_name);
        }
    closedir(dir);
    if (n > 0)
        qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 0; i < n; i++) {
        read_series(m, dir_fd, names[i]);
        free(names[i]);
    }
    free(names);
}

/* ---- all of them, as one curve ---- */

static void read_files(struct metrics *m, const struct metrics_files *files)
{
    read_lines(m, files->dir_fd, files->earlier, take_earlier);
    read_lines(m, files->dir_fd, files->lines, take_told);
    if (files->saved_fd >= 0)
        read_folder(m, files->saved_fd);
}

/* By measure and step, and those of the same step as they came. */
static int compare_points(const void *x, const void *y)
{
    const struct point *p = x, *q = y;

    if (p->metric != q->metric)
        return p->metric < q->metric ? -1 : 1;
    if (p->step != q->step)
        return p->step < q->step ? -1 : 1;
    return p->number < q->number ? -1 : p->number > q->number;
}

/* Counts the ranges of measures that went back again, of each step only the last value. */
static void count_again(struct metrics *m, const struct metrics_files *files)
{
    struct metrics_points points = { 0 };

    m->points = &points;
    read_files(m, files);
    m->points = NULL;
    if (points.n > 0)
        qsort(points.items, points.n, sizeof *points.items, compare_points);
    for (size_t i = 0; i < points.n; i++) {
        const struct point *p = &points.items[i], *next = p + 1;
        struct metric *metric = &m->list.items[p->metric];

        if (i == 0 || p[-1].metric != p->metric) {
            metric->min = metric->max = (double)NAN;
            metric->n = 0;
        }
        if (i + 1 == points.n || next->metric != p->metric || next->step != p->step ||
            p->step == SCHEMA_NONE)
            widen(metric, p->value);
    }
    free(points.items);
}

void metrics_read(struct metrics *m, const struct metrics_files *files)
{
    read_files(m, files);
    if (m->goes_back)
        count_again(m, files);
}
