/* SPDX-License-Identifier: MIT */
/* stage.c - measures the steps of a worker's cache */

/*
 *   stage SHARE PROJECT SCRATCH ID   stages the dataset, or checks it if it is staged already
 *
 * Prints the time of each step as "STEP WALL_MS CPU_MS".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>

#include "common/base/mem.h"
#include "worker/base/scratch.h"
#include "worker/stager/cache.h"

static double ms(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void die(const struct err *e)
{
    fprintf(stderr, "stage: %s\n", e->text);
    exit(1);
}

static bool let_go(void *context, const struct digest *tree)
{
    (void)context;
    (void)tree;
    return false;
}

static enum cache_state look(struct scratch *s, const struct digest *tree, int guard_fd,
                             bool is_doubted, const char *step)
{
    double wall = ms(CLOCK_MONOTONIC), cpu = ms(CLOCK_PROCESS_CPUTIME_ID);
    char *path = mem_printf("%s/" SCRATCH_CACHE, s->path);
    struct cache_use use = {
        .tree = *tree, .cache_dir_path = path, .guard_fd = guard_fd, .is_doubted = is_doubted
    };
    enum cache_state state = cache_open_tree(s->cache_fd, &use);

    if (state == CACHE_WHOLE)
        printf("%s %.1f %.1f\n", step, ms(CLOCK_MONOTONIC) - wall,
               ms(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    use.is_doubted = false;
    cache_close_tree(s->cache_fd, &use);
    free(path);
    return state;
}

static void stage(struct scratch *s, const char *share, const char *project,
                  const struct dataset *set)
{
    double wall = ms(CLOCK_MONOTONIC), cpu = ms(CLOCK_PROCESS_CPUTIME_ID);
    const struct pack_source_at at = { .share = share, .drive = share, .project = project };
    struct cache cache = { .fd = s->cache_fd, .let_go = let_go };
    struct err e = { 0 };

    if (cache_stage(&cache, &at, set, &e) < 0)
        die(&e);
    printf("stage %.1f %.1f\n", ms(CLOCK_MONOTONIC) - wall, ms(CLOCK_PROCESS_CPUTIME_ID) - cpu);
}

/* As the order from ludwigd would say. */
static void find_tree(const char *share, const char *project, struct dataset *set)
{
    const struct pack_source_at at = { .share = share, .drive = share, .project = project };
    struct pack_source source;
    struct pack_reader *reader;
    struct packs packs;
    struct err e = { 0 };

    if (pack_source_open(&packs, &at, &e) < 0)
        die(&e);
    source = pack_source_source(&packs);
    reader = pack_open(&source, &set->id, &e);
    if (reader == NULL)
        die(&e);
    set->tree = *pack_tree(reader);
    pack_close(reader);
    pack_source_close(&packs);
}

int main(int argc, char **argv)
{
    struct dataset set = { .files = 0 };
    struct scratch s;
    struct err e = { 0 };
    int guard_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

    if (argc != 5 || digest_parse(argv[4], &set.id) < 0) {
        fprintf(stderr, "stage SHARE PROJECT SCRATCH ID\n");
        return 2;
    }
    find_tree(argv[1], argv[2], &set);
    if (scratch_open(&s, argv[3], &e) < 0)
        die(&e);
    if (look(&s, &set.tree, -1, false, "folders") != CACHE_WHOLE)
        stage(&s, argv[1], argv[2], &set);
    (void)look(&s, &set.tree, -1, false, "folders");
    (void)look(&s, &set.tree, guard_fd, false, "folders,guard");
    (void)look(&s, &set.tree, -1, true, "files");
    scratch_close(&s);
    return 0;
}
