/* SPDX-License-Identifier: MIT */
/* cache_dir.c - files that can be made again */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "client/util/cache_dir.h"
#include "client/util/conf.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"

enum { BLOCK_BYTES = 64 * 1024 };

struct cache_dir_writer {
    char *path, *temporary;
    FILE *file;
    struct hasher *hasher;
    bool has_failed;
};

char *cache_dir_path(const char *folder, const char *key)
{
    char *cache = conf_cache_dir(), hex[DIGEST_HEX], *path;
    struct digest d;

    digest_of(key, strlen(key), &d);
    digest_hex(&d, hex);
    path = mem_printf("%s/%s/%s", cache, folder, hex);
    free(cache);
    return path;
}

/* ---- reading ---- */

FILE *cache_dir_open(const char *path, const char *magic, uint64_t *bytes)
{
    FILE *file = fopen(path, "re");
    uint8_t *block = mem_alloc(BLOCK_BYTES);
    struct hasher *h = hasher_create();
    struct digest found, expected;
    struct stat st;
    uint64_t left;
    size_t n, n_magic = strlen(magic);
    bool is_sound = false;

    if (file != NULL && fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_size >= DIGEST_BYTES) {
        *bytes = left = (uint64_t)st.st_size - DIGEST_BYTES;
        while (left > 0 &&
               (n = fread(block, 1, left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES, file)) > 0) {
            hasher_add(h, block, n);
            left -= n;
        }
        hasher_end(h, &found);
        is_sound = left == 0 && fread(&expected, sizeof expected, 1, file) == 1 &&
                   digest_equal(&found, &expected) && fseek(file, 0, SEEK_SET) == 0 &&
                   fread(block, 1, n_magic, file) == n_magic && memcmp(block, magic, n_magic) == 0;
    }
    hasher_destroy(h);
    free(block);
    if (is_sound) {
        /* The file's time is the time of its last use. */
        (void)futimens(fileno(file), NULL);
        return file;
    }
    if (file != NULL)
        fclose(file);
    return NULL;
}

/* ---- writing ---- */

/* Removes files that were not used for long. */
static void tidy_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    time_t limit = time(NULL) - (time_t)CACHE_DIR_UNUSED_DAYS * 24 * 3600;
    const struct dirent *d;
    struct stat st;

    while (dir != NULL && (d = readdir(dir)) != NULL)
        if (fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
            st.st_mtime < limit)
            (void)unlinkat(dirfd(dir), d->d_name, 0);
    if (dir != NULL)
        closedir(dir);
}

struct cache_dir_writer *cache_dir_create(const char *path, const char *magic)
{
    char *folder = path_dirname(path), hex[TOKEN_HEX];
    struct cache_dir_writer *w = mem_alloc(sizeof *w);
    struct token random;

    token_make(&random);
    token_hex(&random, hex);
    *w = (struct cache_dir_writer){ .path = mem_strdup(path),
                                    .temporary = mem_printf("%s.%s", path, hex),
                                    .hasher = hasher_create() };
    if (io_make_dirs(folder, 0700, NULL) == 0)
        w->file = fopen(w->temporary, "wxe");
    if (w->file != NULL) {
        tidy_folder(folder);
        cache_dir_add(w, magic, strlen(magic));
    } else {
        cache_dir_abandon(w);
        w = NULL;
    }
    free(folder);
    return w;
}

void cache_dir_add(struct cache_dir_writer *w, const void *bytes, size_t n)
{
    hasher_add(w->hasher, bytes, n);
    w->has_failed = w->has_failed || fwrite(bytes, 1, n, w->file) != n;
}

void cache_dir_abandon(struct cache_dir_writer *w)
{
    if (w == NULL)
        return;
    if (w->file != NULL) {
        fclose(w->file);
        (void)unlink(w->temporary);
    }
    hasher_destroy(w->hasher);
    free(w->temporary);
    free(w->path);
    free(w);
}

/* The file is not synced: after a crash of the machine a damaged one shows by its digest. */
int cache_dir_commit(struct cache_dir_writer *w)
{
    struct digest d;
    bool failed;

    hasher_end(w->hasher, &d);
    failed = w->has_failed || fwrite(&d, sizeof d, 1, w->file) != 1;
    failed = fclose(w->file) != 0 || failed;
    w->file = NULL;
    failed = failed || rename(w->temporary, w->path) < 0;
    if (failed)
        (void)unlink(w->temporary);
    cache_dir_abandon(w);
    return failed ? -1 : 0;
}
