/* SPDX-License-Identifier: MIT */
/* metrics.c - the last, least and largest value of each measure that a job reported */

#include "worker/saved/metrics.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/data/json.h"
#include "common/proto/metric_line.h"

enum { LINE_MAX_BYTES = 64 * 1024 };

static const char series_suffix[] = ".csv";

/* ---- lines of a file, in bounded memory ---- */

struct lines {
    int fd;
    int64_t offset;    /* where the next read begins */
    size_t begin, end; /* the bytes not handed out yet */
    bool at_end;
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
    l = mem_resize(NULL, 1, sizeof *l);
    *l = (struct lines){ .fd = fd };
    return l;
}

/* Returns the next line without its newline, or NULL; a longer one comes in useless pieces. */
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

static void set_metric(void *context, const char *name, size_t n, double value, int64_t step)
{
    struct metrics *m = context;
    struct metric *metric = metric_list_take(&m->list, name, n);

    if (metric == NULL)
        return;
    metric->value = value;
    /* A step that messages cannot carry counts as none. */
    metric->step = step < 0 || step > INT64_C(1) << 53 ? SCHEMA_NONE : step;
    if (!isfinite(value))
        return;
    metric->min = fmin(metric->min, value);
    metric->max = fmax(metric->max, value);
    metric->n++;
}

void metrics_read_lines(struct metrics *m, int dir_fd, const char *name)
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

        if (json_read(line, n, a, &v, NULL) == 0 && v.type == VALUE_MAP)
            metric_line_each(&v, set_metric, m);
        arena_reset(a);
    }
    m->n_told = m->list.n;
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

void metrics_read_series(struct metrics *m, int dir_fd, const char *name)
{
    struct lines *l;
    size_t n_name = strlen(name) - strlen(series_suffix);
    bool is_first = true;
    char *row;
    size_t n;

    for (size_t i = 0; i < m->n_told; i++)
        if (strncmp(m->list.items[i].name, name, n_name) == 0 &&
            m->list.items[i].name[n_name] == '\0')
            return;
    l = lines_open(dir_fd, name);
    if (l == NULL)
        return;
    while ((row = lines_next(l, &n)) != NULL) {
        char *text = split_row(row), *end = text;
        double value = (double)NAN; /* pandas writes a nan as an empty field */
        long long step;

        if (is_first && text == NULL) /* columns with semicolons between them, or more than two */
            break;
        if (text != NULL && *text != '\0')
            value = strtod(text, &end);
        /* Skips a first row with the names of index and series, which may be empty. */
        if (text != NULL && *end == '\0' && (end > text || *text == '\0') &&
            !(is_first && (row[0] == '\0' || text[0] == '\0'))) {
            errno = 0;
            step = strtoll(row, &end, 10);
            set_metric(m, name, n_name, value,
                       end == row || *end != '\0' || errno != 0 ? SCHEMA_NONE : step);
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

void metrics_read_folder(struct metrics *m, int dir_fd)
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
        metrics_read_series(m, dir_fd, names[i]);
        free(names[i]);
    }
    free(names);
}
