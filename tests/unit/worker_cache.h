/* SPDX-License-Identifier: MIT */
/*
 * worker_cache.h - packs trees to a site's share and stages them into the cache of its scratch
 *
 * Include after cmocka.h.
 */
#ifndef LUDWIG_TESTS_UNIT_WORKER_CACHE_H
#define LUDWIG_TESTS_UNIT_WORKER_CACHE_H

#include "tests/unit/pack_share.h"
#include "worker/stager/cache.h"

enum { LARGE_BYTES = 2 * PACK_PIECE_BYTES + 1000 };

struct bench {
    struct site site;
    struct store store;
    struct cache cache;
    struct pack_source_at at;
    struct digest kept[4]; /* trees that let_go refuses */
    size_t n_kept;
    struct err e; /* of the last stage */
};

/* The let_go of struct cache: whether the tree may be removed. */
static inline bool let_go(void *context, const struct digest *tree)
{
    struct bench *b = context;

    for (size_t i = 0; i < b->n_kept; i++)
        if (digest_equal(&b->kept[i], tree))
            return false;
    return true;
}

static inline void open_bench(struct bench *b)
{
    *b = (struct bench){ .n_kept = 0 };
    site_open(&b->site, NULL);
    b->cache = (struct cache){ .fd = b->site.scratch.cache_fd, .let_go = let_go, .context = b };
    b->at = (struct pack_source_at){ { .connect = sftp_server_connect, .context = &b->site.server },
                                     b->site.share,
                                     b->site.share,
                                     "demo" };
}

static inline void close_bench(struct bench *b)
{
    store_free(&b->store);
    site_close(&b->site);
}

static inline void stage(struct bench *b, const struct dataset *set)
{
    if (cache_stage(&b->cache, &b->at, set, &b->e) < 0)
        fail_msg("%s", b->e.text);
}

/* Stages a dataset, which must fail with this kind of error. */
static inline void stage_fails(struct bench *b, const struct dataset *set, enum err_kind kind)
{
    err_clear(&b->e);
    assert_int_equal(cache_stage(&b->cache, &b->at, set, &b->e), -1);
    if (b->e.kind != kind)
        fail_msg("%s: %s", err_kind_name(b->e.kind), b->e.text);
}

/* Opens the tree as for a job, and closes it again; returns its state. */
static inline enum cache_state look(struct bench *b, const struct dataset *set, bool is_doubted)
{
    struct cache_use use = { .tree = set->tree, .guard_fd = -1, .is_doubted = is_doubted };
    enum cache_state state = cache_open_tree(b->cache.fd, &use);

    use.is_doubted = false;
    cache_close_tree(b->cache.fd, &use);
    return state;
}

/* Returns the path of a file of the staged tree, below the site's top; path "": of the tree
 * itself. */
static inline const char *in_cache(struct bench *b, const struct dataset *set, const char *path)
{
    char hex[DIGEST_HEX];

    digest_hex(&set->tree, hex);
    return arena_printf(b->site.arena, "scratch/cache/%s%s%s", hex, path[0] == '\0' ? "" : "/",
                        path);
}

/* Returns LARGE_BYTES that differ with the seed; the caller frees them. */
static inline uint8_t *large_bytes(uint32_t seed)
{
    uint8_t *bytes = mem_alloc(LARGE_BYTES);

    for (size_t i = 0; i < LARGE_BYTES; i++) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(seed >> 24);
    }
    return bytes;
}

/* Packs a tree that has an entry of each kind. */
static inline struct dataset pack_small(struct bench *b)
{
    struct packing p;

    packing_begin(&p, &b->site, &b->store);
    packing_folder(&p, "empty");
    packing_file(&p, "none", "");
    packing_folder(&p, "sub");
    packing_file(&p, "sub/again", "text");
    packing_file(&p, "sub/file", "text");
    packing_link(&p, "sub/hard", "sub/file", true);
    packing_link(&p, "sub/link", "../sub/file", false);
    packing_bytes(&p, "tool", true, "#!", 2);
    return packing_end(&p);
}

#endif
