/* SPDX-License-Identifier: MIT */
/* cache.c - fuzz: damaged files of the client's cache: its indexes of files and of pieces */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/pack/file_index.h"
#include "client/pack/piece_index.h"
#include "common/base/io.h"
#include "common/base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FANS_BYTES = (64 * 1024 + 1) * 4, RECORD_BYTES = 28, PART_BYTES = 88, KEY_BYTES = 16 };

static char folder[] = "/tmp/ludwig-fuzz-XXXXXX";
static char *path, *copy;

static void need(int ok)
{
    if (!ok)
        abort();
}

static void remove_folder(void)
{
    (void)io_remove_tree(folder, NULL);
}

static void begin(void)
{
    if (path != NULL)
        return;
    need(mkdtemp(folder) != NULL && atexit(remove_folder) == 0);
    path = mem_printf("%s/file", folder);
    copy = mem_printf("%s/copy", folder);
}

/* Sound for whoever looks at its digest. */
static void write_sound(struct buf *content)
{
    struct digest d;

    digest_of(content->bytes, content->n, &d);
    buf_add(content, d.bytes, sizeof d.bytes);
    need(io_write_file_at(AT_FDCWD, path, content->bytes, content->n, 0600, NULL) == 0);
    buf_clear(content);
}

/* ---- the index ---- */

/* How many of these it has. */
static size_t ask_index(struct file_index_reader *r, const struct stat *st)
{
    static const char *const paths[] = { "", "a", "a/b", "a/b/c", "a.", "b", "c/d", "\xff" };
    struct pack_added file;
    size_t n = 0;

    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        if (!file_index_find(r, paths[i], st, &file))
            continue;
        need(file.size == (uint64_t)st->st_size);
        need(file.n_pieces == (file.size + PACK_PIECE_BYTES - 1) / PACK_PIECE_BYTES);
        for (size_t k = 0; k < file.n_pieces; k++)
            need(digest_equal(&file.pieces[k], &file.pieces[k]));
        n++;
    }
    return n;
}

static void try_index(const uint8_t *data, size_t size)
{
    const struct stat st = { .st_size = 0x41, .st_ino = 0x41 };
    struct buf content = { 0 };
    struct file_index_reader *r;

    buf_add_str(&content, "ludwig index 1\n");
    buf_add(&content, data, size);
    write_sound(&content);
    r = file_index_open(path);
    if (r != NULL)
        (void)ask_index(r, &st);
    file_index_close(r);
    r = file_index_open(path);
    file_index_commit(file_index_create(copy), r);
    file_index_close(r);
    r = file_index_open(copy);
    need(r != NULL && file_index_count(r) >= 0);
    file_index_close(r);
    buf_free(&content);
}

/* ---- known pieces ---- */

static void add_number(struct buf *out, uint64_t number, size_t n)
{
    buf_add(out, &number, n);
}

/* Where keys begin is either right, or as the input has it. */
static void add_fans(struct buf *out, const uint8_t *records, size_t n, const uint8_t *data)
{
    uint32_t *fans = mem_alloc(FANS_BYTES);
    size_t n_fans = FANS_BYTES / sizeof *fans;

    for (size_t i = 0; i < n; i++)
        fans[((size_t)records[i * RECORD_BYTES] << 8 | records[i * RECORD_BYTES + 1]) + 1]++;
    for (size_t k = 1; k < n_fans; k++)
        fans[k] += fans[k - 1];
    if (data[0] != 0)
        for (size_t k = data[0]; k < n_fans; k += data[0])
            fans[k] = (uint32_t)data[1] << (data[2] & 31);
    buf_add(out, fans, FANS_BYTES);
    free(fans);
}

static void ask_known(struct piece_index *k, const uint8_t *records, size_t n)
{
    size_t n_parts;
    struct piece_index_part *parts = piece_index_parts(k, &n_parts);

    for (size_t i = 0; i < n_parts; i++)
        parts[i].is_there = parts[i].is_good = i != 1;
    for (size_t i = 0; i < n; i++) {
        struct digest piece = { { 0 } };
        struct pack_place where = { 0 };

        memcpy(piece.bytes, records + i * RECORD_BYTES, KEY_BYTES);
        (void)piece_index_want(k, &piece);
        if (piece_index_find(k, &piece, i % 2 == 0, &where))
            need(where.part == &parts[0].part || where.part == &parts[2].part);
    }
}

static void learn(struct piece_index *k)
{
    struct pack_piece piece = { .size = 1 };
    struct pack_list l = { .pieces = &piece, .n = 1 };
    struct piece_index_update *u = piece_index_update_begin(copy, k);
    struct piece_index *learned;

    piece_index_update_add(u, &l);
    learned = piece_index_update_end(u);
    piece_index_close(learned != NULL ? learned : k);
}

static void try_known(const uint8_t *data, size_t size)
{
    const uint8_t *records = data + 4;
    size_t n = (size - 4) / RECORD_BYTES, n_parts = 3;
    struct buf content = { 0 };
    struct piece_index *k;

    buf_add_str(&content, "ludwig known 01\n");
    buf_add(&content, records, n * RECORD_BYTES);
    for (size_t i = 0; i < n_parts; i++) {
        uint8_t part[PART_BYTES] = { (uint8_t)i };

        buf_add(&content, part, sizeof part);
    }
    add_fans(&content, records, n, data + 1);
    add_number(&content, n + (data[0] >> 4), 8);
    add_number(&content, n_parts, 8);
    write_sound(&content);
    k = piece_index_open(path);
    ask_known(k, records, n);
    learn(k);
    buf_free(&content);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    begin();
    if (size < 4)
        return 0;
    if (data[0] & 1)
        try_known(data, size);
    else
        try_index(data + 1, size - 1);
    return 0;
}
