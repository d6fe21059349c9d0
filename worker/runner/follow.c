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

#include "common/base/io.h"
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

/* The rest of the line, as a job with a process of its own would have written it. */
static void add_measures(struct buf *out, const struct value *line, struct arena *a)
{
    static const char *const about_the_job[] = { "job", "done", "failed" };
    struct value rest = { .type = VALUE_MAP };

    rest.map.members = arena_alloc(a, line->map.n * sizeof *rest.map.members);
    for (size_t i = 0; i < line->map.n; i++) {
        const struct value *key = &line->map.members[i].key;
        bool is_measure = true;

        for (size_t k = 0; k < sizeof about_the_job / sizeof about_the_job[0]; k++)
            is_measure &= key->str.n != strlen(about_the_job[k]) ||
                          memcmp(key->str.s, about_the_job[k], key->str.n) != 0;
        if (is_measure)
            rest.map.members[rest.map.n++] = line->map.members[i];
    }
    if (rest.map.n == 0)
        return;
    json_add_value(out, &rest);
    buf_add_char(out, '\n');
}

static void take_line(struct follow *f)
{
    struct follow_report r = { .sweep = 0 };
    struct buf measures = { 0 };
    const struct value *job, *failed;
    struct value line;
    char *end;

    if (json_read(buf_text(&f->line), f->line.n, f->arena, &line, NULL) < 0 ||
        line.type != VALUE_MAP)
        return;
    job = value_get(&line, "job"); /* "SWEEP.JOB" */
    if (job == NULL || job->type != VALUE_STR || strlen(job->str.s) != job->str.n)
        return;
    r.sweep = number_of(job->str.s, &end);
    if (r.sweep == 0 || *end != '.')
        return;
    r.job = number_of(end + 1, &end);
    if (r.job == 0 || *end != '\0')
        return;
    failed = value_get(&line, "failed"); /* a reason, or true */
    r.has_failed = is_true(failed) || (failed != NULL && failed->type == VALUE_STR);
    if (failed != NULL && failed->type == VALUE_STR && failed->str.n > 0)
        r.reason = failed->str.s;
    r.is_done = !r.has_failed && is_true(value_get(&line, "done"));
    add_measures(&measures, &line, f->arena);
    r.measures = buf_bytes(&measures);
    f->each(f->context, &r);
    buf_free(&measures);
}

static void begin_line(struct follow *f)
{
    buf_clear(&f->line);
    f->is_too_long = false;
}

void follow_end(struct follow *f)
{
    if (!f->is_too_long && f->line.n > 0)
        take_line(f);
    arena_reset(f->arena);
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
            follow_end(f);
        piece += newline != NULL;
        bytes += piece;
        n -= piece;
    }
}

/* ---- the file ---- */

/* Regular files only: a fifo would wait for a writer.  What is written meanwhile is told by inotify
 * again. */
bool follow_look(struct follow *f)
{
    _Alignas(struct inotify_event) char events[4096];
    char block[BLOCK_BYTES];
    struct stat st;
    int64_t until;
    ssize_t n = 1;
    int fd;

    while (f->inotify_fd >= 0 && read(f->inotify_fd, events, sizeof events) > 0)
        ; /* first: what comes now is told anew */
    fd = openat(f->dir_fd, JOB_METRICS, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return false;
    }
    if (f->inode != st.st_ino || st.st_size < f->offset) {
        begin_line(f);
        f->offset = 0;
        f->inode = st.st_ino;
    }
    until = st.st_size - f->offset > LOOK_MAX_BYTES ? f->offset + LOOK_MAX_BYTES : st.st_size;
    while (f->offset < until && n > 0) {
        n = io_read_all_at(fd, block, sizeof block, (uint64_t)f->offset);
        if (n > 0) {
            follow_feed(f, block, (size_t)n);
            f->offset += n;
        }
    }
    close(fd);
    return n > 0 && f->offset < st.st_size;
}

/* The folder is watched, as there may be no file yet, or another one later. */
void follow_open(struct follow *f, int dir_fd, follow_fn each, void *context)
{
    char path[sizeof "/proc/self/fd/-2147483648"];
    struct err e = { 0 };

    *f = (struct follow){ .dir_fd = dir_fd, .inotify_fd = -1, .each = each, .context = context };
    f->arena = arena_create();
    if (dir_fd < 0)
        return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", dir_fd);
    f->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (f->inotify_fd >= 0 &&
        inotify_add_watch(f->inotify_fd, path, IN_MODIFY | IN_CREATE | IN_MOVED_TO) >= 0)
        return;
    err_sys(&e, "watch what the process reports");
    log_event(LOG_WARN, "not-watched", "error", "%s", e.text, NULL);
    if (f->inotify_fd >= 0)
        close(f->inotify_fd);
    f->inotify_fd = -1;
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
