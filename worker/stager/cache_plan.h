/* SPDX-License-Identifier: MIT */
/*
 * cache_plan.h - all entries of a dataset that is to be staged, and which of them are still wanted
 */
#ifndef LUDWIG_WORKER_STAGER_CACHE_PLAN_H
#define LUDWIG_WORKER_STAGER_CACHE_PLAN_H

#include <stdatomic.h>

#include "common/pack/pack_read.h"
#include "common/proto/jobspec.h"
#include "worker/stager/cache_record.h"

/* Beside each row. */
struct plan_entry {
    size_t first_run;
    uint32_t n_runs;
    uint64_t target_at; /* of links, in targets */
    atomic_uint left;   /* pieces that are not written yet */
    bool is_wanted;     /* it must be brought */
    bool has_stat;      /* its row says what it is now */
};

struct plan {
    struct pack_reader *reader;
    struct dataset set;
    struct cache_row *rows;
    struct plan_entry *entries;
    size_t n, rows_capacity, entries_capacity;
    struct pack_run *runs;
    size_t n_runs, runs_capacity;
    struct buf names, targets;
};

/* Reads all of the dataset's entries, and checks them.  The source must live as long. */
int plan_open(struct plan *p, const struct pack_source *source, const struct dataset *set,
              struct err *e);
void plan_close(struct plan *p);

const char *plan_path(const struct plan *p, size_t i);
const char *plan_target(const struct plan *p, size_t i);
bool plan_is_file(const struct plan *p, size_t i); /* one with a content of its own */
/* Which entry has this path; SIZE_MAX: none. */
size_t plan_find(const struct plan *p, const char *path);
/* How much room the wanted entries take, in whole blocks; *n_files: how many they are. */
uint64_t plan_wanted_bytes(const struct plan *p, uint64_t *n_files);

/*
 * The digest of a file's content, however it is stored: of one piece that is no hole its SHA-256; else the SHA-256
 * over those of the pieces and, for each hole, a digest of zeros and how many pieces it has.
 */
int plan_content_of(int fd, uint64_t size, struct digest *content, struct err *e);

/* A piece, and where it belongs. */
struct want {
    uint32_t part, piece;
    uint32_t entry;
    uint64_t offset; /* in the file */
};
/* The wanted pieces, by part and piece; the caller frees the list.  is_there: NULL, or whether a piece lies in
 * its file already. */
struct want *plan_wants(struct plan *p, size_t *n,
                        bool (*is_there)(void *context, const struct want *w), void *context);

#endif
