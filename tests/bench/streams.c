/* SPDX-License-Identifier: MIT */
/* streams.c - measures sending bytes to a file server over several SSH sessions at once */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/connect/mux.h"
#include "common/proto/endpoint.h"
#include "common/sftp/sftp_stripe.h"

/*
 * streams ADDRESS FOLDER COUNT MIB: makes COUNT SSH sessions, each with a process of its own and an
 * SFTP channel, and writes one file over each of them, MIB MiB in total, from one thread.  Prints
 * the seconds until all bytes were acknowledged and synced, without those of connecting.
 *
 * streams ADDRESS FOLDER COUNT -: makes the sessions all at once, writes standard input to one
 * file over all of them together, and has the file synced.
 */
struct stream {
    struct mux *mux;
    struct sftp *sftp;
    struct sftp_file *file;
    uint64_t at;
};

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint8_t *make_noise(size_t n)
{
    uint8_t *bytes = mem_alloc(n);
    uint32_t x = 1;

    for (size_t i = 0; i < n; i++) {
        x = x * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(x >> 24);
    }
    return bytes;
}

static int open_stream(struct stream *s, const struct endpoint *to, const char *folder, size_t k,
                       struct err *e)
{
    static const struct mux_options options;
    char *path = mem_printf("%s/stream%zu", folder, k);
    int fd;

    s->mux = mux_start(to, &options, e);
    fd = s->mux != NULL ? mux_sftp(s->mux, e) : -1;
    s->sftp = fd >= 0 ? sftp_open(fd, e) : NULL;
    if (s->sftp != NULL)
        s->file = sftp_file_open(s->sftp, path, SFTP_WRITE | SFTP_CREATE | SFTP_TRUNCATE, 0600, e);
    free(path);
    return s->file != NULL ? 0 : -1;
}

/* 1: all is on its way; 0: some was sent, or there was no room. */
static int feed(struct stream *s, uint64_t end, const uint8_t *noise, struct err *e)
{
    while (s->at < end && sftp_file_has_room(s->file)) {
        size_t n = end - s->at < SFTP_PIECE_BYTES ? (size_t)(end - s->at) : SFTP_PIECE_BYTES;

        if (sftp_file_write(s->file, s->at, noise, n, e) < 0)
            return -1;
        s->at += n;
    }
    if (s->at < end)
        return 0;
    return sftp_file_sync_later(s->file, e) < 0 ? -1 : 1;
}

static int feed_all(struct stream *all, size_t n, uint64_t end, struct err *e)
{
    uint8_t *noise = make_noise(SFTP_PIECE_BYTES);
    struct sftp *waiting[SFTP_LANES_MAX];
    size_t n_left = n;
    int result = 0;

    while (result >= 0 && n_left > 0) {
        n_left = 0;
        for (size_t k = 0; k < n && result >= 0; k++) {
            result = all[k].at < end ? feed(&all[k], end, noise, e) : 1;
            if (result == 0)
                waiting[n_left++] = all[k].sftp;
        }
        if (result >= 0 && n_left > 0)
            result = sftp_wait_any(waiting, n_left, e);
    }
    for (size_t k = 0; k < n && result >= 0; k++)
        result = sftp_file_sync(all[k].file, e);
    free(noise);
    return result < 0 ? -1 : 0;
}

static int run(const struct endpoint *to, const char *folder, size_t n, uint64_t bytes,
               struct err *e)
{
    struct stream all[SFTP_LANES_MAX] = { { 0 } };
    double start_s;

    for (size_t k = 0; k < n; k++)
        if (open_stream(&all[k], to, folder, k, e) < 0)
            return -1;
    start_s = now_s();
    if (feed_all(all, n, bytes / n, e) < 0)
        return -1;
    printf("%.3f\n", now_s() - start_s);
    for (size_t k = 0; k < n; k++) {
        (void)sftp_file_close(all[k].file, NULL);
        sftp_close(all[k].sftp);
        mux_close(all[k].mux);
    }
    return 0;
}

/* ---- one stream over all sessions ---- */

static int begin_all(struct stream *all, size_t n, const struct endpoint *to, struct err *e)
{
    for (size_t k = 0; k < n; k++) {
        all[k].mux = mux_begin(to, &(struct mux_options){ 0 }, e);
        if (all[k].mux == NULL)
            return -1;
    }
    for (size_t k = 0; k < n; k++) {
        int fd = mux_sftp(all[k].mux, e);

        all[k].sftp = fd >= 0 ? sftp_open_later(fd, e) : NULL;
        if (all[k].sftp == NULL)
            return -1;
    }
    return 0;
}

static int greet_all(const struct stream *all, size_t n, struct sftp_lanes *lanes, struct err *e)
{
    const struct timespec pause = { 0, 1000 * 1000 };
    int rc;

    while (lanes->n < n) {
        rc = sftp_opens(all[lanes->n].sftp, e);
        if (rc < 0)
            return -1;
        if (rc > 0)
            lanes->all[lanes->n] = all[lanes->n].sftp;
        else
            nanosleep(&pause, NULL);
        lanes->n += rc > 0;
    }
    return 0;
}

struct ending {
    bool has_ended;
    struct err why;
};

static void on_end(void *context, const struct err *error)
{
    struct ending *end = context;

    end->has_ended = true;
    if (error != NULL)
        end->why = *error;
}

static int copy_input(struct sftp_lanes *lanes, const char *path, struct err *e)
{
    struct sftp_stripe *st = sftp_stripe_open(lanes, path, 0600);
    uint8_t *bytes = mem_alloc(SFTP_PIECE_BYTES);
    struct ending end = { 0 };
    int result = 0;
    size_t n;

    while (result == 0 && (n = fread(bytes, 1, SFTP_PIECE_BYTES, stdin)) > 0)
        result = sftp_stripe_write(st, (struct bytes){ bytes, n }, e);
    if (result == 0)
        result = sftp_stripe_end(st, on_end, &end, e);
    while (result == 0 && !end.has_ended)
        result = sftp_lanes_wait(lanes, e);
    free(bytes);
    return end.why.kind == ERR_NONE ? result : err_set(e, end.why.kind, "%s", end.why.text);
}

static int run_stripe(const struct endpoint *to, const char *folder, size_t n, struct err *e)
{
    struct stream all[SFTP_LANES_MAX] = { { 0 } };
    struct sftp_lanes lanes = { 0 };
    char *path = mem_printf("%s/stream", folder);
    int result = begin_all(all, n, to, e);

    if (result == 0)
        result = greet_all(all, n, &lanes, e);
    if (result == 0)
        result = copy_input(&lanes, path, e);
    for (size_t k = 0; k < n; k++) {
        sftp_close(all[k].sftp);
        mux_close(all[k].mux);
    }
    free(path);
    return result;
}

int main(int argc, char **argv)
{
    bool is_stripe = argc == 5 && strcmp(argv[4], "-") == 0;
    struct arena *a = arena_create();
    struct err e = { 0 };
    struct endpoint to;
    int result, n = argc == 5 ? atoi(argv[3]) : 0;

    if (n < 1 || n > SFTP_LANES_MAX || (!is_stripe && atoi(argv[4]) < 1)) {
        fprintf(stderr, "usage: streams ADDRESS FOLDER COUNT MIB|-\n");
        return 2;
    }
    result = endpoint_parse(&to, argv[1], a, &e);
    if (result == 0 && is_stripe)
        result = run_stripe(&to, argv[2], (size_t)n, &e);
    else if (result == 0)
        result = run(&to, argv[2], (size_t)n, (uint64_t)atoi(argv[4]) << 20, &e);
    if (result < 0)
        fprintf(stderr, "streams: %s\n", e.text);
    arena_destroy(a);
    return result < 0;
}
