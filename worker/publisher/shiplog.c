/* SPDX-License-Identifier: MIT */
/* shiplog.c - brings what jobs print to the share within a second */

#include "worker/publisher/shiplog.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "common/proto/layout.h"
#include "common/share/share_project.h"
#include "worker/base/scratch.h"
#include "worker/publisher/reported.h"
#include "worker/share/sftplink.h"

/* However often a job writes, its log is shipped a few times a second. */
#define PAUSE_MS 300
/* So often it is looked whether jobs have reported more. */
#define METRICS_EVERY_MS 2000

struct watch {
    struct token token;
    char name[TOKEN_HEX];
    char *share;
    char *path;
    int64_t attempt;
    int64_t max_bytes; /* of its log; 0: no limit */
    bool is_due;       /* there is something to ship */
    int64_t retry_ms;  /* the pause after the last failure; 0: it went well */
    int64_t not_before_ms;
    bool tells;
    int64_t told_bytes;
    int64_t metrics_bytes; /* so much of what this attempt has reported is on the share */
    bool is_over;          /* that is to be removed there */
    bool is_taken;         /* the thread is shipping it */
};

struct shiplog {
    int log_fd, run_fd;
    struct shares *access; /* the thread's */
    shiplog_grew_fn grew;
    void *context;
    int inotify_fd;
    int wake_fd;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* for what follows */
    struct watch *watches;
    size_t n;
    size_t capacity;
    bool is_ending;
};

/* ---- shipping one ---- */

/* How many bytes of a log that is longer than its limit are shipped: the runner may not have cut it
 * yet. */
static int64_t limited_bytes(int fd, int64_t max_bytes)
{
    struct buf line = { 0 }, found = { 0 };
    int64_t n_bytes = max_bytes;

    scratch_log_end(&line, max_bytes);
    if (io_read_all_at(fd, buf_reserve(&found, line.n), line.n, (uint64_t)max_bytes) ==
            (ssize_t)line.n &&
        memcmp(found.bytes, line.bytes, line.n) == 0)
        n_bytes += (int64_t)line.n;
    buf_free(&line);
    buf_free(&found);
    return n_bytes;
}

/* The job may have put anything in its log's place: what is no file is taken for an empty one. */
int shiplog_ship(int log_fd, const char *name, int64_t max_bytes, const struct share_dir *to,
                 const char *to_name, mode_t mode, struct err *e)
{
    int from = openat(log_fd, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    struct share_part part;
    struct stat st;
    int result;

    if (from < 0 && errno != ENOENT && errno != ELOOP)
        return err_sys(e, "open log %s", name);
    if (from >= 0 && (fstat(from, &st) < 0 || !S_ISREG(st.st_mode))) {
        close(from);
        from = -1;
    }
    part = (struct share_part){ .fd = from };
    if (from >= 0 && max_bytes > 0 && st.st_size > max_bytes)
        part.max_bytes = limited_bytes(from, max_bytes);
    result = share_ship(to, to_name, mode, &part, e);
    if (from >= 0)
        close(from);
    return result < 0 ? err_wrap(e, "ship a log") : 0;
}

/* ---- the table of watches, under the lock ---- */

static struct watch *find_watch(struct shiplog *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->watches[i].name, name) == 0)
            return &s->watches[i];
    return NULL;
}

static void free_watch(struct watch *w)
{
    free(w->share);
    free(w->path);
}

static void wake(const struct shiplog *s)
{
    const uint64_t one = 1;

    (void)!write(s->wake_fd, &one, sizeof one);
}

void shiplog_watch(struct shiplog *s, const struct order_watch *order)
{
    char name[TOKEN_HEX];
    struct watch *w;
    struct stat st;

    token_hex(&order->token, name);
    pthread_mutex_lock(&s->lock);
    w = find_watch(s, name);
    if (w == NULL) {
        mem_grow((void **)&s->watches, &s->capacity, s->n, sizeof *s->watches);
        w = &s->watches[s->n++];
        /* What earlier attempts reported is shipped at once, also if this one reports nothing. */
        *w = (struct watch){ .token = order->token,
                             .share = mem_strdup(order->share),
                             .path = mem_strdup(order->log_path),
                             .attempt = order->attempt,
                             .max_bytes = order->max_bytes,
                             .is_due = order->attempt > 1,
                             .metrics_bytes = order->attempt > 1 ? -1 : 0 };
        memcpy(w->name, name, sizeof name);
    }
    /* Text that was written before causes no event any more. */
    w->is_due |= fstatat(s->log_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0;
    pthread_mutex_unlock(&s->lock);
    wake(s); /* a thread with nothing to watch looks for no metrics, and waits without an end */
}

void shiplog_tell(struct shiplog *s, const struct token *token, bool on)
{
    char name[TOKEN_HEX];
    struct watch *w;
    bool begins;

    token_hex(token, name);
    pthread_mutex_lock(&s->lock);
    w = find_watch(s, name);
    begins = w != NULL && on && !w->tells;
    if (w != NULL)
        w->tells = on;
    if (begins) {
        w->told_bytes = 0;
        w->is_due = true;
    }
    pthread_mutex_unlock(&s->lock);
    if (begins)
        wake(s);
}

void shiplog_forget(struct shiplog *s, const struct token *token, bool is_done)
{
    char name[TOKEN_HEX];
    struct watch *w;

    token_hex(token, name);
    pthread_mutex_lock(&s->lock);
    w = find_watch(s, name);
    if (w != NULL && is_done && (w->metrics_bytes > 0 || w->is_taken)) {
        w->is_over = w->is_due = true;
        w->not_before_ms = 0;
        wake(s);
    } else if (w != NULL) {
        free_watch(w);
        *w = s->watches[--s->n];
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- the thread ---- */

/* Takes a watch that is due, as a copy, which the caller frees; false when there is none. */
static bool take_due(struct shiplog *s, int64_t now_ms, struct watch *copy)
{
    bool found = false;

    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n && !found; i++) {
        struct watch *w = &s->watches[i];

        if (!w->is_due || w->not_before_ms > now_ms)
            continue;
        w->is_due = false;
        w->is_taken = true;
        *copy = *w;
        copy->share = mem_strdup(w->share);
        copy->path = mem_strdup(w->path);
        found = true;
    }
    pthread_mutex_unlock(&s->lock);
    return found;
}

/* ---- what jobs report ---- */

/* Under the lock: marks watches of jobs that have reported more than is on the share. */
static void look_for_metrics(struct shiplog *s)
{
    for (size_t i = 0; i < s->n; i++) {
        struct watch *w = &s->watches[i];
        char *path = mem_printf("%s/" JOB_METRICS, w->name);
        struct stat st;

        w->is_due |= fstatat(s->run_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                     S_ISREG(st.st_mode) && st.st_size > w->metrics_bytes;
        free(path);
    }
}

/* Ships what the job has reported to the folder of its log or, if w is over, removes it there. */
static int ship_metrics(struct shiplog *s, struct watch *w, const struct share_dir *to, mode_t mode,
                        struct err *e)
{
    const char *log_name = path_basename(w->path);
    struct buf name = { 0 };
    struct reported all;
    int fd, result;

    layout_live_metrics(&name, log_name);
    fd = w->is_over ? -1 : openat(s->run_fd, w->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (w->is_over)
        (void)share_remove_file(to, buf_text(&name), NULL);
    result = fd < 0 ? 0 : reported_bring(fd, to, log_name, w->attempt, e);
    if (fd >= 0 && result == 0)
        result = reported_open(&all, fd, NULL, e);
    if (fd >= 0 && result == 0) {
        if (all.sizes[REPORTED_LINES] > w->metrics_bytes)
            result = reported_ship(&all, to, buf_text(&name), mode, e);
        if (result == 0 && all.sizes[REPORTED_LINES] > w->metrics_bytes)
            w->metrics_bytes = all.sizes[REPORTED_LINES];
        reported_close(&all);
    }
    if (fd >= 0)
        close(fd);
    buf_free(&name);
    return result;
}

/* Notes how shipping went, if the log is still watched; returns whether grew is to be called. */
static bool note_end(struct shiplog *s, const struct watch *shipped, bool well, int64_t size_bytes)
{
    bool is_news = false;
    struct watch *w;

    pthread_mutex_lock(&s->lock);
    w = find_watch(s, shipped->name);
    if (w != NULL) {
        w->metrics_bytes = shipped->metrics_bytes;
        w->is_taken = false;
    }
    if (w != NULL && shipped->is_over) {
        /* A file that could not be removed is in nobody's way. */
        free_watch(w);
        *w = s->watches[--s->n];
    } else if (w != NULL && well) {
        w->retry_ms = 0;
        w->not_before_ms = 0;
        is_news = w->tells && size_bytes > w->told_bytes;
        w->told_bytes = size_bytes;
    } else if (w != NULL) {
        w->retry_ms = sftplink_pause_ms(w->retry_ms);
        w->not_before_ms = units_monotonic_ms() + w->retry_ms;
        w->is_due = true;
    }
    pthread_mutex_unlock(&s->lock);
    return is_news;
}

static void ship_due(struct shiplog *s)
{
    int64_t now_ms = units_monotonic_ms();
    struct watch w;

    while (take_due(s, now_ms, &w)) {
        struct stat st;
        /* Bytes written from here on may not be shipped now. */
        int64_t size_bytes =
            fstatat(s->log_fd, w.name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_size : 0;
        struct err e = { 0 };
        char *folder = path_dirname(w.path);
        struct share_modes modes;
        struct share_dir *share = share_open(s->access, w.share, &e);
        struct share_dir *to =
            share == NULL ? NULL : share_project_open_folder(share, folder, &modes, &e);
        bool well = to != NULL &&
                    (w.is_over || shiplog_ship(s->log_fd, w.name, w.max_bytes, to,
                                               path_basename(w.path), modes.file, &e) == 0) &&
                    ship_metrics(s, &w, to, modes.file, &e) == 0;

        if (!well && w.retry_ms == 0)
            log_event(LOG_WARN, "log-not-shipped", "attempt", "%s", w.name, "error", "%s", e.text,
                      NULL);
        if (note_end(s, &w, well, size_bytes) && s->grew != NULL)
            s->grew(s->context, &w.token, size_bytes);
        share_close(to);
        share_close(share);
        free(folder);
        free_watch(&w);
    }
}

/* How long until something is due: 0 now, -1 nothing is. */
static int wait_ms(struct shiplog *s)
{
    int64_t now_ms = units_monotonic_ms();
    int64_t first_ms = shares_rest_ms(s->access);

    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n; i++) {
        const struct watch *w = &s->watches[i];
        int64_t left_ms = w->not_before_ms > now_ms ? w->not_before_ms - now_ms : 0;

        if (w->is_due && (first_ms < 0 || left_ms < first_ms))
            first_ms = left_ms;
        if (first_ms < 0 || first_ms > METRICS_EVERY_MS)
            first_ms = METRICS_EVERY_MS;
    }
    pthread_mutex_unlock(&s->lock);
    return (int)first_ms;
}

/* Waits PAUSE_MS after the first event before shipping, so that several writes go at once. */
static void *run_shiplog(void *context)
{
    struct shiplog *s = context;

    for (;;) {
        _Alignas(struct inotify_event) char bytes[16 * 1024];
        struct pollfd p[2] = { { s->wake_fd, POLLIN, 0 }, { s->inotify_fd, POLLIN, 0 } };
        bool is_ending;
        uint64_t count;
        ssize_t n;

        pthread_mutex_lock(&s->lock);
        is_ending = s->is_ending;
        pthread_mutex_unlock(&s->lock);
        if (is_ending)
            return NULL;
        (void)poll(p, 2, wait_ms(s));
        if (p[1].revents != 0)
            (void)poll(p, 1, PAUSE_MS);
        (void)!read(s->wake_fd, &count, sizeof count);
        pthread_mutex_lock(&s->lock);
        while ((n = read(s->inotify_fd, bytes, sizeof bytes)) > 0)
            for (char *at = bytes; at < bytes + n;) {
                const struct inotify_event *event = (const void *)at;

                for (size_t i = 0; i < s->n; i++)
                    s->watches[i].is_due |=
                        (event->mask & IN_Q_OVERFLOW) != 0 ||
                        (event->len > 0 && strcmp(s->watches[i].name, event->name) == 0);
                at += sizeof *event + event->len;
            }
        look_for_metrics(s);
        pthread_mutex_unlock(&s->lock);
        ship_due(s);
        shares_rest(s->access);
    }
}

/* ---- beginning and end ---- */

struct shiplog *shiplog_create(int log_fd, int run_fd, const struct share_source *source,
                               shiplog_grew_fn grew, void *context, struct err *e)
{
    char path[sizeof "/proc/self/fd/-2147483648"];
    struct shiplog *s = mem_alloc(sizeof *s);
    int number;

    s->log_fd = log_fd;
    s->run_fd = run_fd;
    s->grew = grew;
    s->context = context;
    s->access = shares_create(source);
    s->inotify_fd = s->wake_fd = -1;
    pthread_mutex_init(&s->lock, NULL);
    snprintf(path, sizeof path, "/proc/self/fd/%d", s->log_fd);
    s->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    s->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (s->inotify_fd < 0 || s->wake_fd < 0 ||
        inotify_add_watch(s->inotify_fd, path, IN_MODIFY) < 0) {
        err_sys(e, "watch the logs");
        goto fail;
    }
    number = pthread_create(&s->thread, NULL, run_shiplog, s);
    if (number != 0) {
        errno = number;
        err_sys(e, "start a thread");
        goto fail;
    }
    s->has_thread = true;
    return s;
fail:
    shiplog_destroy(s);
    return NULL;
}

void shiplog_destroy(struct shiplog *s)
{
    if (s == NULL)
        return;
    if (s->has_thread) {
        pthread_mutex_lock(&s->lock);
        s->is_ending = true;
        pthread_mutex_unlock(&s->lock);
        wake(s);
        (void)pthread_join(s->thread, NULL);
    }
    for (size_t i = 0; i < s->n; i++)
        free_watch(&s->watches[i]);
    free(s->watches);
    if (s->inotify_fd >= 0)
        close(s->inotify_fd);
    if (s->wake_fd >= 0)
        close(s->wake_fd);
    pthread_mutex_destroy(&s->lock);
    shares_destroy(s->access);
    free(s);
}
