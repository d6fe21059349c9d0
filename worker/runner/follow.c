/* SPDX-License-Identifier: MIT */
/* follow.c - what the process of a batch reports of its jobs, line by line */

#include "worker/runner/follow.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/data/json.h"
#include "worker/base/child_protocol.h"

enum { LINE_MAX_BYTES = 64 * 1024, BLOCK_BYTES = 64 * 1024, LOOK_MAX_BYTES = 1024 * 1024 };

/* ---- a line ---- */

static bool is_true(const struct value *v)
{
    return v != NULL && v->type == VALUE_BOOL && v->b;
}

/* Digits only: 0 when it is no number of a sweep or job. */
static int64_t number_of(const char *text, char **end)
{
    long long number;

    errno = 0;
    number = isdigit((unsigned char)*text) ? strtoll(text, end, 10) : 0;
    return errno == 0 ? number : 0;
}

static bool read_job(const struct value *v, struct follow_report *r)
{
    char *end;

    if (v == NULL || v->type != VALUE_STR || strlen(v->str.s) != v->str.n)
        return false;
    r->sweep = number_of(v->str.s, &end);
    if (r->sweep == 0 || *end != '.')
        return false;
    r->job = number_of(end + 1, &end);
    return r->job != 0 && *end == '\0';
}

/* A reason, or true. */
static bool read_failed(const struct value *v, struct follow_report *r)
{
    if (v != NULL && v->type == VALUE_STR && v->str.n > 0)
        r->reason = v->str.s;
    return is_true(v) || (v != NULL && v->type == VALUE_STR);
}

static bool is_about_the_job(const struct value *key)
{
    static const char *const keys[] = { "job", "done", "failed" };

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (key->str.n == strlen(keys[i]) && memcmp(key->str.s, keys[i], key->str.n) == 0)
            return true;
    return false;
}

/* As a job with a process of its own would have written it. */
static void add_measures(struct buf *out, const struct value *line, struct arena *a)
{
    struct value rest = { .type = VALUE_MAP };

    rest.map.members = arena_alloc(a, line->map.n * sizeof *rest.map.members);
    for (size_t i = 0; i < line->map.n; i++)
        if (!is_about_the_job(&line->map.members[i].key))
            rest.map.members[rest.map.n++] = line->map.members[i];
    if (rest.map.n == 0)
        return;
    json_add_value(out, &rest);
    buf_add_char(out, '\n');
}

static void take_line(struct follow *f)
{
    struct follow_report r = { .sweep = 0 };
    struct buf measures = { 0 };
    struct value line;

    if (json_read(buf_text(&f->line), f->line.n, f->arena, &line, NULL) == 0 &&
        line.type == VALUE_MAP && read_job(value_get(&line, "job"), &r)) {
        r.has_failed = read_failed(value_get(&line, "failed"), &r);
        r.is_done = !r.has_failed && is_true(value_get(&line, "done"));
        add_measures(&measures, &line, f->arena);
        r.measures = buf_bytes(&measures);
        f->each(f->context, &r);
    }
    buf_free(&measures);
    arena_reset(f->arena);
}

static void begin_line(struct follow *f)
{
    buf_clear(&f->line);
    f->is_too_long = false;
}

static void end_line(struct follow *f)
{
    if (!f->is_too_long && f->line.n > 0)
        take_line(f);
    begin_line(f);
}

void follow_feed(struct follow *f, const char *bytes, size_t n)
{
    while (n > 0) {
        const char *newline = memchr(bytes, '\n', n);
        size_t piece = newline == NULL ? n : (size_t)(newline - bytes);

        f->is_too_long |= f->line.n + piece > LINE_MAX_BYTES;
        if (!f->is_too_long)
            buf_add(&f->line, bytes, piece);
        if (newline != NULL)
            end_line(f);
        piece += newline != NULL;
        bytes += piece;
        n -= piece;
    }
}

void follow_end(struct follow *f)
{
    end_line(f);
}

/* ---- the file ---- */

/* Regular files only: a fifo would wait for a writer. */
static int open_file(struct follow *f, int64_t *size)
{
    int fd = openat(f->dir_fd, JOB_METRICS, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return -1;
    }
    if (f->inode != st.st_ino || st.st_size < f->offset) {
        begin_line(f);
        f->offset = 0;
        f->inode = st.st_ino;
    }
    *size = st.st_size;
    return fd;
}

/* What is written meanwhile is told by inotify again. */
static bool read_file(struct follow *f, int fd, int64_t size)
{
    int64_t until = size - f->offset > LOOK_MAX_BYTES ? f->offset + LOOK_MAX_BYTES : size;
    char block[BLOCK_BYTES];

    while (f->offset < until) {
        ssize_t n = pread(fd, block, sizeof block, f->offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        follow_feed(f, block, (size_t)n);
        f->offset += n;
    }
    return f->offset < size;
}

static void forget_events(int inotify_fd)
{
    _Alignas(struct inotify_event) char events[4096];

    while (inotify_fd >= 0 && read(inotify_fd, events, sizeof events) > 0)
        ;
}

bool follow_look(struct follow *f)
{
    int64_t size = 0;
    bool has_more;
    int fd;

    forget_events(f->inotify_fd); /* first: what comes now is told anew */
    fd = open_file(f, &size);
    if (fd < 0)
        return false;
    has_more = read_file(f, fd, size);
    close(fd);
    return has_more;
}

/* The folder, as there may be no file yet, or another one later. */
static int watch(int dir_fd, struct err *e)
{
    char path[sizeof "/proc/self/fd/-2147483648"];
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

    snprintf(path, sizeof path, "/proc/self/fd/%d", dir_fd);
    if (fd >= 0 && inotify_add_watch(fd, path, IN_MODIFY | IN_CREATE | IN_MOVED_TO) >= 0)
        return fd;
    err_sys(e, "watch what the process reports");
    if (fd >= 0)
        close(fd);
    return -1;
}

void follow_open(struct follow *f, int dir_fd, follow_fn each, void *context)
{
    struct err e = { 0 };

    *f = (struct follow){ .dir_fd = dir_fd, .each = each, .context = context };
    f->arena = arena_create();
    f->inotify_fd = dir_fd < 0 ? -1 : watch(dir_fd, &e);
    if (e.kind != ERR_NONE)
        log_event(LOG_WARN, "not-watched", "error", "%s", e.text, NULL);
}

void follow_close(struct follow *f)
{
    if (f->arena == NULL)
        return;
    if (f->inotify_fd >= 0)
        close(f->inotify_fd);
    if (f->dir_fd >= 0)
        close(f->dir_fd);
    buf_free(&f->line);
    arena_destroy(f->arena);
    *f = (struct follow){ .dir_fd = -1, .inotify_fd = -1 };
}
