/* SPDX-License-Identifier: MIT */
/* cache_room.c - tests of making room for trees */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sched.h>
#include <sys/mount.h>

#include "tests/unit/skip.h"
#include "tests/unit/worker_cache.h"

static struct dataset pack_of(struct bench *b, char digit, size_t n)
{
    uint8_t *bytes = mem_alloc(n);
    struct dataset set;
    struct packing p;

    memset(bytes, digit, n);
    packing_begin(&p, &b->site, &b->store);
    packing_bytes(&p, "file", false, bytes, n);
    set = packing_end(&p);
    free(bytes);
    return set;
}

static void used_at(struct bench *b, const struct dataset *set, time_t s)
{
    const struct timespec times[2] = { { s, 0 }, { s, 0 } };
    char hex[DIGEST_HEX];

    digest_hex(&set->tree, hex);
    assert_int_equal(
        utimensat(b->cache.fd, arena_printf(b->site.arena, ".%s.record", hex), times, 0), 0);
}

static bool holds(struct bench *b, const struct dataset *set)
{
    return site_has(&b->site, in_cache(b, set, ""));
}

static void the_least_recently_used_goes_first(void **state)
{
    struct bench b;
    struct dataset sets[4];
    size_t n;
    struct cache_tree *trees;

    (void)state;
    open_bench(&b);
    b.cache.settings.cache_size_bytes = 3000;
    for (int i = 0; i < 3; i++) {
        sets[i] = pack_of(&b, (char)('a' + i), 1000);
        stage(&b, &sets[i]);
    }
    used_at(&b, &sets[0], 3000);
    used_at(&b, &sets[1], 1000);
    used_at(&b, &sets[2], 2000);
    b.kept[b.n_kept++] = sets[1].tree;
    sets[3] = pack_of(&b, 'd', 900);
    stage(&b, &sets[3]);
    assert_true(holds(&b, &sets[0]));
    assert_true(holds(&b, &sets[1])); /* in use */
    assert_false(holds(&b, &sets[2]));
    trees = cache_list(b.cache.fd, &n);
    assert_int_equal(n, 3);
    free(trees);
    close_bench(&b);
}

static void what_is_in_use_never_goes(void **state)
{
    struct bench b;
    struct dataset first, second, third;

    (void)state;
    open_bench(&b);
    b.cache.settings.cache_size_bytes = 2000;
    first = pack_of(&b, 'a', 1500);
    second = pack_of(&b, 'b', 1500);
    third = pack_of(&b, 'c', 2500);
    stage(&b, &first);
    b.kept[b.n_kept++] = first.tree;
    stage_fails(&b, &second, ERR_NO_SPACE);
    assert_null(strchr(b.e.text, '\n'));
    assert_true(holds(&b, &first));
    assert_int_equal(look(&b, &first, true), CACHE_WHOLE);
    b.n_kept = 0;
    stage_fails(&b, &third, ERR_NO_SPACE);
    assert_true(holds(&b, &first)); /* it would not help */
    stage(&b, &second);
    assert_false(holds(&b, &first));
    close_bench(&b);
}

static void what_a_dead_process_was_removing_is_gone(void **state)
{
    struct bench b;
    struct dataset set;
    char hex[DIGEST_HEX];

    (void)state;
    open_bench(&b);
    set = pack_small(&b);
    stage(&b, &set);
    digest_hex(&set.tree, hex);
    assert_int_equal(
        renameat(b.cache.fd, hex, b.cache.fd, arena_printf(b.site.arena, ".%s.gone", hex)), 0);
    site_write(b.cache.fd, arena_printf(b.site.arena, ".%s.rec", hex), "half a record");
    cache_sweep(b.cache.fd, NULL);
    assert_false(site_has(&b.site, arena_printf(b.site.arena, "scratch/cache/.%s.rec", hex)));
    assert_int_equal(look(&b, &set, false), CACHE_ABSENT);
    assert_int_equal(cache_remove(b.cache.fd, &set.tree, &b.e), 0);
    assert_int_equal(site_count(arena_printf(b.site.arena, "%s/cache", b.site.scratch.path)), 0);
    close_bench(&b);
}

/* ---- a small disk ---- */

enum { DISK_BYTES = 4 * 1024 * 1024, MEDIUM_BYTES = 1024 * 1024 };

/* Only this process sees it. */
static void give_small_disk(struct bench *b)
{
    char *at = mem_printf("%s/cache", b->site.scratch.path);

    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("disk", at, "tmpfs", 0, "size=4m") < 0) {
        free(at);
        site_close(&b->site);
        skip_because("takes root or a mount namespace");
        return;
    }
    close(b->site.scratch.cache_fd);
    close(b->site.top_fd); /* it is of the mounts before */
    b->site.top_fd = io_open_dir(b->site.top, &b->e);
    b->cache.fd = b->site.scratch.cache_fd = io_open_dir(at, &b->e);
    free(at);
}

static void take_small_disk(struct bench *b)
{
    char *at = mem_printf("%s/cache", b->site.scratch.path);

    close(b->cache.fd);
    assert_int_equal(umount2(at, MNT_DETACH), 0);
    b->cache.fd = b->site.scratch.cache_fd = io_open_dir(at, &b->e);
    free(at);
}

static struct dataset pack_noise(struct bench *b, uint32_t seed, size_t n)
{
    uint8_t *bytes = large_bytes(seed);
    struct dataset set;
    struct packing p;

    packing_begin(&p, &b->site, &b->store);
    packing_bytes(&p, "file", false, bytes, n);
    set = packing_end(&p);
    free(bytes);
    return set;
}

static void what_is_not_in_use_makes_room(void **state)
{
    struct bench b;
    struct dataset first, second, third;

    (void)state;
    open_bench(&b);
    give_small_disk(&b);
    first = pack_noise(&b, 1, 2 * MEDIUM_BYTES);
    second = pack_noise(&b, 2, 2 * MEDIUM_BYTES);
    third = pack_noise(&b, 3, 5 * MEDIUM_BYTES);
    stage(&b, &first);
    b.kept[b.n_kept++] = first.tree;
    stage_fails(&b, &second, ERR_NO_SPACE);
    assert_true(holds(&b, &first));
    b.n_kept = 0;
    stage(&b, &second);
    assert_false(holds(&b, &first));
    stage_fails(&b, &third, ERR_NO_SPACE);
    assert_int_equal(site_count(arena_printf(b.site.arena, "%s/cache", b.site.scratch.path)), 0);
    take_small_disk(&b);
    close_bench(&b);
}

/* It would fit, but for the twentieth that stays free. */
static void some_of_the_disk_stays_free(void **state)
{
    enum { JUST_TOO_MUCH = DISK_BYTES - DISK_BYTES / 40 };
    struct bench b;
    struct dataset set, smaller;

    (void)state;
    open_bench(&b);
    give_small_disk(&b);
    set = pack_noise(&b, 1, JUST_TOO_MUCH);
    smaller = pack_noise(&b, 2, DISK_BYTES - DISK_BYTES / 10);
    stage_fails(&b, &set, ERR_NO_SPACE);
    assert_non_null(strstr(b.e.text, "204.8 KiB stay free"));
    stage(&b, &smaller);
    assert_int_equal(look(&b, &smaller, true), CACHE_WHOLE);
    take_small_disk(&b);
    close_bench(&b);
}

/* Somebody fills the disk after we looked how much room there is. */
static bool fill_disk(void *context)
{
    struct bench *b = context;
    char *ballast = mem_alloc(DISK_BYTES);
    int fd = openat(b->cache.fd, "ballast", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd >= 0) {
        memset(ballast, 1, DISK_BYTES);
        assert_true(write(fd, ballast, DISK_BYTES) < DISK_BYTES);
        close(fd);
    }
    free(ballast);
    return false;
}

static void a_disk_that_gets_full_meanwhile_is_made_room_on(void **state)
{
    struct bench b;
    struct dataset first, second;

    (void)state;
    open_bench(&b);
    give_small_disk(&b);
    first = pack_noise(&b, 1, 2 * MEDIUM_BYTES);
    second = pack_noise(&b, 2, MEDIUM_BYTES);
    stage(&b, &first);
    b.cache.is_over = fill_disk;
    b.kept[b.n_kept++] = first.tree;
    stage_fails(&b, &second, ERR_NO_SPACE);
    assert_null(strchr(b.e.text, '\n'));
    assert_int_equal(
        site_count(arena_printf(b.site.arena, "%s/cache -maxdepth 1", b.site.scratch.path)),
        3); /* the first, its record and the ballast */
    assert_int_equal(unlinkat(b.cache.fd, "ballast", 0), 0);
    b.n_kept = 0;
    stage(&b, &second);
    assert_false(holds(&b, &first));
    assert_int_equal(look(&b, &second, true), CACHE_WHOLE);
    take_small_disk(&b);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_recently_used_goes_first),
        cmocka_unit_test(what_is_in_use_never_goes),
        cmocka_unit_test(what_a_dead_process_was_removing_is_gone),
        cmocka_unit_test(what_is_not_in_use_makes_room),
        cmocka_unit_test(some_of_the_disk_stays_free),
        cmocka_unit_test(a_disk_that_gets_full_meanwhile_is_made_room_on),
    };

    return SITE_EITHER_WAY(tests);
}
