/* SPDX-License-Identifier: MIT */
/* pack_hostile.c - manifests and blocks that lie */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>

#include <zstd.h>

#include "common/data/msgpack.h"
#include "common/pack/pack_block.h"
#include "common/pack/pack_object.h"
#include "common/pack/pack.h"
#include "common/pack/pack_tree.h"
#include "tests/unit/pack_store.h"

static void compress(struct bytes from, struct buf *out)
{
    size_t room = ZSTD_compressBound(from.n);

    buf_added(out, ZSTD_compress(buf_reserve(out, room), room, from.data, from.n, 3));
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- paths ---- */

static void a_slash_comes_before_all_other_bytes(void **state)
{
    static const char *const sorted[] = { "",    "a",     "a/b", "a/b/c", "a/b!", "a/c",
                                          "a\n", "a.txt", "aa",  "b",     "\x80", "\xff" };

    (void)state;
    for (size_t i = 0; i < COUNT(sorted); i++)
        for (size_t k = 0; k < COUNT(sorted); k++) {
            int order = pack_path_compare(sorted[i], sorted[k]);

            if ((i < k && order >= 0) || (i > k && order <= 0) || (i == k && order != 0))
                fail_msg("%s, %s: %d", sorted[i], sorted[k], order);
        }
}

static void paths_that_are_too_long_are_refused(void **state)
{
    char path[PACK_PATH_MAX + 2];

    (void)state;
    memset(path, 'x', sizeof path);
    for (size_t i = 0; i < sizeof path; i++)
        if (i % 256 == 255)
            path[i] = '/';
    path[PACK_PATH_MAX + 1] = '\0';
    path[PACK_PATH_MAX] = 'x';
    assert_int_equal(pack_path_check(path, PACK_PATH_MAX + 1, NULL), -1);
    path[PACK_PATH_MAX - 1] = 'x';
    path[PACK_PATH_MAX] = '\0';
    path[PACK_PATH_MAX - 2] = '/';
    assert_int_equal(pack_path_check(path, PACK_PATH_MAX, NULL), 0);
    path[255] = 'x';
    assert_int_equal(pack_path_check(path, PACK_PATH_MAX, NULL), -1);
    assert_int_equal(pack_path_check("a\0b", 3, NULL), -1);
}

/* ---- reading whatever it is ---- */

/* NULL, or what was wrong. */
static const char *read_tree(struct store *s, const struct digest *id)
{
    static struct err e;
    struct pack_source source = store_source(s);
    struct pack_reader *r;
    struct pack_entry entry;
    int got;

    e = (struct err){ 0 };
    r = pack_open(&source, id, &e);
    if (r == NULL)
        return e.text;
    while ((got = pack_next(r, &entry, &e)) == 1)
        ;
    pack_close(r);
    return got == 0 ? NULL : e.text;
}

static void expect(size_t i, const char *problem, const char *why)
{
    if ((problem == NULL) != (why == NULL) || (problem != NULL && strstr(problem, why) == NULL))
        fail_msg("case %zu: %s", i, problem != NULL ? problem : "taken");
}

/* ---- entries that break the rules, in blocks that are otherwise right ---- */

enum { PIECES = 5 }; /* of the one part: whole pieces, but for the last of 7 bytes */

static struct pack_part put_part(struct store *s, bool is_of_files)
{
    struct pack_piece pieces[PIECES] = { { .size = 0 } };
    struct pack_list l = { .part = { .form = PACK_ZST, .stored_bytes = 100 },
                           .pieces = pieces,
                           .n = PIECES };
    struct buf stored = { 0 };

    for (size_t i = 0; i < PIECES; i++) {
        pieces[i].size = i + 1 < PIECES ? PACK_PIECE_BYTES : 7;
        pieces[i].digest.bytes[0] = (uint8_t)(i + 1);
    }
    if (is_of_files) {
        l.part.form = PACK_FILES;
        l.part.stored_bytes = (PIECES - 1) * (uint64_t)PACK_PIECE_BYTES + 7;
        l.path = "top";
    }
    pack_list_encode(&l, &stored);
    store_object(s, PACK_LIST, &l.part.list, buf_bytes(&stored), NULL);
    buf_free(&stored);
    return l.part;
}

static void put_block(struct store *s, struct block_writer *b, const struct pack_part *part,
                      struct manifest_block *row, struct arena *a)
{
    struct block_closed closed;
    struct buf stored = { 0 };
    struct bytes lists = { part->list.bytes, 0 };

    block_writer_end(b, &closed);
    lists.n = closed.n_parts * DIGEST_BYTES;
    assert_int_equal(block_encode(&closed, lists, &stored, NULL), 0);
    digest_of(stored.bytes, stored.n, &row->name);
    row->first =
        (struct bytes){ (const uint8_t *)arena_strdup(a, closed.first), strlen(closed.first) };
    row->entries = (int64_t)closed.n;
    store_object(s, PACK_BLOCK, &row->name, buf_bytes(&stored), NULL);
    block_closed_free(&closed);
    buf_free(&stored);
}

static struct digest put_manifest(struct store *s, const struct pack_manifest *m)
{
    struct buf stored = { 0 };
    struct digest id;

    manifest_encode(m, &stored);
    digest_of(stored.bytes, stored.n, &id);
    store_object(s, PACK_MANIFEST, &id, buf_bytes(&stored), NULL);
    buf_free(&stored);
    return id;
}

/* A tree of one block; what of it is a lie comes in m, whose other members are made here. */
struct lie {
    struct pack_entry entries[4];
    struct pack_run runs[2]; /* of the first entry, if it is a file */
    size_t n, n_runs;
    struct pack_totals totals;
    bool is_of_files; /* the part's form */
    const char *why;  /* NULL: it is no lie */
};

static const char *tell(const struct lie *lie)
{
    static const struct pack_totals none = { 0 };
    struct store s = { 0 };
    struct arena *a = arena_create();
    struct pack_part part = put_part(&s, lie->is_of_files);
    struct block_writer *b = block_writer_create();
    struct manifest_block row;
    struct pack_manifest m = { .parts = &part, .n_parts = 1, .blocks = &row, .n_blocks = 1 };
    struct digest id;
    const char *problem;

    for (size_t i = 0; i < lie->n; i++) {
        struct pack_entry entry = lie->entries[i];

        if (i == 0) {
            entry.runs = lie->runs;
            entry.n_runs = lie->n_runs;
        }
        assert_int_equal(block_writer_add(b, &entry, NULL), 0);
    }
    put_block(&s, b, &part, &row, a);
    m.totals = lie->totals;
    if (memcmp(&m.totals, &none, sizeof none) == 0)
        m.totals = (struct pack_totals){ 9, 9, 9, (int64_t)1 << 50, 0 };
    id = put_manifest(&s, &m);
    problem = read_tree(&s, &id);
    block_writer_destroy(b);
    store_free(&s);
    arena_destroy(a);
    return problem;
}

#define FILES(...) \
    .entries = { { .path = "f", .kind = PACK_FILE } }, .n = 1, .runs = { __VA_ARGS__ }
#define PIECE ((int64_t)PACK_PIECE_BYTES)

/* "less than" and "not what": all entries were taken, and the end noticed that the manifest of these tests
 * has neither totals nor digest. */
static void entries_that_break_the_rules_are_refused(void **state)
{
    static const struct lie lies[] = {
        { { { "a", .kind = PACK_FOLDER }, { "a/b", .kind = PACK_FOLDER } },
          .n = 2,
          .why = "less than" },
        { { { "a", .kind = PACK_FOLDER } },
          .n = 1,
          .totals = { 1, 0, 0, 0, 0 },
          .why = "not what" },
        { { { "", .kind = PACK_FOLDER } }, .n = 1, .why = "empty" },
        { { { "", .kind = PACK_SYMLINK, .target = "x" } }, .n = 1, .why = "empty" },
        { { { "a", .kind = PACK_FOLDER }, { "", .kind = PACK_FILE } }, .n = 2, .why = "empty" },
        { { { "", .kind = PACK_FILE }, { "a", .kind = PACK_FILE } }, .n = 2, .why = "one file" },
        { { { "/etc", .kind = PACK_FOLDER } }, .n = 1, .why = "not a path" },
        { { { "..", .kind = PACK_FOLDER } }, .n = 1, .why = "not a path" },
        { { { "../a", .kind = PACK_FOLDER } }, .n = 1, .why = "not a path" },
        { { { ".", .kind = PACK_FOLDER } }, .n = 1, .why = "not a path" },
        { { { "a", .kind = PACK_FOLDER }, { "a/..", .kind = PACK_FOLDER } },
          .n = 2,
          .why = "not a path" },
        { { { "a", .kind = PACK_FOLDER }, { "a/../../b", .kind = PACK_FILE } },
          .n = 2,
          .why = "not a path" },
        { { { "a", .kind = PACK_FOLDER }, { "a/", .kind = PACK_FILE } },
          .n = 2,
          .why = "not a path" },
        { { { "a", .kind = PACK_FOLDER }, { "a", .kind = PACK_FILE } },
          .n = 2,
          .why = "out of order" },
        { { { "b", .kind = PACK_FOLDER }, { "a", .kind = PACK_FOLDER } },
          .n = 2,
          .why = "out of order" },
        { { { "a/b", .kind = PACK_FOLDER } }, .n = 1, .why = "the folder of a/b" },
        { { { "a", .kind = PACK_FILE }, { "a/b", .kind = PACK_FILE } },
          .n = 2,
          .why = "the folder of" },
        { { { "a", .kind = PACK_SYMLINK, .target = "/etc" }, { "a/passwd", .kind = PACK_FILE } },
          .n = 2,
          .why = "the folder of" },
        { { { "a", .kind = PACK_FOLDER },
            { "aa", .kind = PACK_FILE },
            { "aa/b", .kind = PACK_FILE } },
          .n = 3,
          .why = "the folder of" },
        { { { "a", .kind = PACK_FOLDER },
            { "a/b", .kind = PACK_FOLDER },
            { "a/c", .kind = PACK_FOLDER },
            { "a/b/d", .kind = PACK_FOLDER } },
          .n = 4,
          .why = "out of order" },
        { { { "a", .kind = PACK_SYMLINK, .target = "" } }, .n = 1, .why = "points nowhere" },
        { { { "a", .kind = PACK_HARD_LINK, .target = "b" } },
          .n = 1,
          .why = "did not come before" },
        { { { "a", .kind = PACK_HARD_LINK, .target = "a" } },
          .n = 1,
          .why = "did not come before" },
        { { { "a", .kind = PACK_HARD_LINK, .target = "../a" } }, .n = 1, .why = "not a path" },
        { { { "a", .kind = PACK_HARD_LINK, .target = "/a" } }, .n = 1, .why = "not a path" },
        /* where content lies */
        { FILES({ 0, 0, 1, 0 }), .n_runs = 1, .why = "less than" },
        { FILES({ 0, 0, PIECES, 0 }), .n_runs = 1, .why = "less than" },
        { FILES({ 0, 0, PIECES + 1, 0 }), .n_runs = 1, .why = "behind the end" },
        { FILES({ 0, PIECES, 1, 0 }), .n_runs = 1, .why = "behind the end" },
        { FILES({ 0, PACK_PIECES_MAX - 1, PACK_PIECES_MAX, 0 }), .n_runs = 1,
          .why = "behind the end" },
        { FILES({ 0, PACK_PIECES_MAX, 1, 0 }), .n_runs = 1, .why = "where nothing is" },
        { FILES({ 0, UINT32_MAX, 1, 0 }), .n_runs = 1, .why = "where nothing is" },
        { FILES({ 0, 0, 0, 0 }), .n_runs = 1, .why = "where nothing is" },
        { FILES({ 0, 4, 1, 0 }, { 0, 0, 1, 0 }), .n_runs = 2, .why = "too small" },
        { FILES({ 0, 4, 1, 0 }, { PACK_HOLE, 0, 0, PIECE }), .n_runs = 2, .why = "too small" },
        { FILES({ PACK_HOLE, 0, 0, PIECE }), .n_runs = 1, .why = "less than" },
        { FILES({ PACK_HOLE, 0, 0, PIECE }), .n_runs = 1, .totals = { 0, 1, 0, PIECE, PIECE },
          .why = "not what" },
        { FILES({ PACK_HOLE, 0, 0, PIECE }, { PACK_HOLE, 0, 0, PIECE }), .n_runs = 2,
          .why = "two holes" },
        { FILES({ PACK_HOLE, 0, 0, 0 }), .n_runs = 1, .why = "where nothing is" },
        { FILES({ PACK_HOLE, 0, 0, (uint64_t)1 << 63 }), .n_runs = 1, .why = "where nothing is" },
        { FILES({ PACK_HOLE, 0, 0, PACK_FILE_BYTES_MAX }, { 0, 4, 1, 0 }), .n_runs = 2,
          .why = "larger than any" },
        { FILES({ 0, 4, 1, 0 }), .n_runs = 1, .is_of_files = true, .why = "less than" },
        { FILES({ 0, 0, 2, 0 }), .n_runs = 1, .is_of_files = true, .why = "not all of it" },
        { FILES({ 0, 0, 1, 0 }, { 0, 4, 1, 0 }), .n_runs = 2, .is_of_files = true,
          .why = "not all of it" },
        { FILES({ PACK_HOLE, 0, 0, PIECE }, { 0, 4, 1, 0 }), .n_runs = 2, .is_of_files = true,
          .why = "not all of it" },
        /* totals */
        { FILES({ 0, 4, 1, 0 }), .n_runs = 1, .totals = { 0, 1, 0, 7, 0 }, .why = "not what" },
        { FILES({ 0, 4, 1, 0 }), .n_runs = 1, .totals = { 0, 1, 0, 6, 0 },
          .why = "more than was declared" },
        { FILES({ 0, 4, 1, 0 }), .n_runs = 1, .totals = { 0, 0, 0, 7, 0 },
          .why = "more than was declared" },
        { FILES({ 0, 4, 1, 0 }), .n_runs = 1, .totals = { 0, 1, 0, 7, 7 },
          .why = "more than was declared" },
        { FILES({ 0, 4, 1, 0 }), .n_runs = 1, .totals = { 0, 1, 0, 7, 8 }, .why = "more holes" },
        { FILES({ 0, 4, 1, 0 }), .n_runs = 1, .totals = { 0, 1, 0, INT64_MAX, 0 }, .why = "bytes" },
        { FILES({ 0, 4, 1, 0 }), .n_runs = 1, .totals = { 0, 1, 0, INT64_MIN, 0 }, .why = "bytes" },
        { { { "a", .kind = PACK_FOLDER } },
          .n = 1,
          .totals = { 0, 1, 0, 0, 0 },
          .why = "more than was declared" },
        { { { "a", .kind = PACK_SYMLINK, .target = "b" } },
          .n = 1,
          .totals = { 1, 0, 0, 0, 0 },
          .why = "more than was declared" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(lies); i++)
        expect(i, tell(&lies[i]), lies[i].why);
}

/* ---- bodies that are no lists of entries ---- */

static const char *read_body(const char *json_like, size_t n)
{
    static struct err e;
    struct buf packed = { 0 }, stored = { 0 };
    struct stored_block s = { .v = PACK_VERSION, .body_bytes = (int64_t)n };
    struct block_reader b = { 0 };
    struct pack_entry entry;
    struct digest name;
    int got;

    e = (struct err){ 0 };
    compress((struct bytes){ (const uint8_t *)json_like, n }, &packed);
    s.body = buf_bytes(&packed);
    schema_encode(&block_schema, &s, &stored);
    digest_of(stored.bytes, stored.n, &name);
    got = block_open(&b, &name, buf_bytes(&stored), &e);
    while (got == 0 && (got = block_next(&b, &entry, &e)) == 1)
        got = 0;
    block_close(&b);
    buf_free(&packed);
    buf_free(&stored);
    return got < 0 ? e.text : NULL;
}

#define BODY(text) text, sizeof(text) - 1

static void bodies_that_are_no_entries_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *why;
    } cases[] = {
        { BODY("\x90"), NULL },
        { BODY("\x91\x93\x00\xc4\x01X\x00"), NULL },              /* [[0, X, 0]] */
        { BODY("\x91\x94\x00\xc4\x01X\x01\x90"), NULL },          /* an empty file */
        { BODY("\x80"), "no list" },                              /* {} */
        { BODY("\x91\x00"), "entry 0 is none" },                  /* [0] */
        { BODY("\x91\x92\x00\xc4\x01X"), "entry 0 is none" },     /* [[0, X]] */
        { BODY("\x91\x93\x00\xc4\x01X\x05"), "entry 0 is none" }, /* kind 5 */
        { BODY("\x91\x93\x00\xc4\x01X\xff"), "entry 0 is none" }, /* kind -1 */
        { BODY("\x91\x93\x01\xc4\x01X\x00"), "no path" },         /* keeps what is not there */
        { BODY("\x91\x93\xff\xc4\x01X\x00"), "no path" },
        { BODY("\x91\x93\x00\xa1X\x00"), "no path" }, /* a string */
        { BODY("\x91\x93\x00\xc4\x01\x00\x00"), "no path" },
        { BODY("\x92\x93\x00\xc4\x01X\x00\x93\x02\xc4\x01X\x00"), "no path" },
        { BODY("\x91\x93\x00\xc4\x01X\x01"), "follows nothing" },
        { BODY("\x91\x93\x00\xc4\x01X\x03"), "few or too many" },
        { BODY("\x91\x94\x00\xc4\x01X\x00\x90"), "few or too many" },
        { BODY("\x91\x94\x00\xc4\x01X\x01\x91\x00"), "list of threes" },
        { BODY("\x91\x94\x00\xc4\x01X\x01\x93\x00\x00\x01"), "where nothing is" }, /* no part 0 */
        { BODY("\x91\x94\x00\xc4\x01X\x01\x93\xfe\x00\x01"), "where nothing is" },
        { BODY("\x91\x94\x00\xc4\x01X\x03\xc4\x02X\x00"), "points nowhere" },
        { BODY("\x91"), "more items" },
        { BODY("\xdd\xff\xff\xff\xff"), "more items" },
        { BODY("\x90\x90"), "follows the value" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        expect(i, read_body(cases[i].bytes, cases[i].n), cases[i].why);
}

static void a_body_that_unpacks_to_more_than_it_says_is_refused(void **state)
{
    static uint8_t zeros[1 << 20];
    static const int64_t claims[] = {
        0, 1, (1 << 20) - 1, (1 << 20) + 1, BLOCK_BODY_BYTES_MAX + 1, INT64_MAX
    };
    struct buf packed = { 0 };

    (void)state;
    compress((struct bytes){ zeros, sizeof zeros }, &packed);
    for (size_t i = 0; i < COUNT(claims); i++) {
        struct stored_block s = { .v = PACK_VERSION,
                                  .body_bytes = claims[i],
                                  .body = buf_bytes(&packed) };
        struct block_reader b = { 0 };
        struct buf stored = { 0 };
        struct digest name;

        schema_encode(&block_schema, &s, &stored);
        digest_of(stored.bytes, stored.n, &name);
        assert_int_equal(block_open(&b, &name, buf_bytes(&stored), NULL), -1);
        block_close(&b);
        buf_free(&stored);
    }
    buf_free(&packed);
}

/* ---- manifests ---- */

static void another_number_of_entries_or_first_path_is_refused(void **state)
{
    static const struct {
        int64_t entries;
        const char *first;
        const char *why;
    } cases[] = {
        { 1, "a", "not what" }, { 2, "a", "as many" }, { 0, "a", "as many" },
        { 1, "b", "begins" },   { 1, "aa", "begins" }, { 1, "", "begins" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct store s = { 0 };
        struct arena *a = arena_create();
        struct pack_part part = put_part(&s, false);
        struct block_writer *b = block_writer_create();
        struct manifest_block row;
        struct pack_manifest m = { .blocks = &row, .n_blocks = 1, .totals = { .folders = 1 } };
        struct digest id;

        block_writer_add(b, &(struct pack_entry){ .path = "a" }, NULL);
        put_block(&s, b, &part, &row, a);
        row.entries = cases[i].entries;
        row.first = (struct bytes){ (const uint8_t *)cases[i].first, strlen(cases[i].first) };
        id = put_manifest(&s, &m);
        expect(i, read_tree(&s, &id), cases[i].why);
        block_writer_destroy(b);
        arena_destroy(a);
        store_free(&s);
    }
}

static void parts_that_the_manifest_does_not_have_or_has_otherwise_are_refused(void **state)
{
    static const char *const whys[] = { "not what", "refers to a part", "not that of its part",
                                        "not that of its part",
                                        "a part of 9223372036854775808 bytes" };

    (void)state;
    for (size_t i = 0; i < COUNT(whys); i++) {
        struct store s = { 0 };
        struct arena *a = arena_create();
        struct pack_part part = put_part(&s, false), right = part;
        struct block_writer *b = block_writer_create();
        struct pack_run run = { 0, 0, 1, 0 };
        struct pack_entry entry = { .path = "a", .kind = PACK_FILE, .runs = &run, .n_runs = 1 };
        struct manifest_block row;
        struct pack_manifest m = { .parts = &part,
                                   .n_parts = 1,
                                   .blocks = &row,
                                   .n_blocks = 1,
                                   .totals = { .files = 1, .bytes = PIECE } };
        struct digest id;

        block_writer_add(b, &entry, NULL);
        put_block(&s, b, &right, &row, a);
        part.list.bytes[31] ^= i == 1;
        part.stored_bytes += i == 2;
        part.form = i == 3 ? PACK_TAR : PACK_ZST;
        if (i == 4)
            part.stored_bytes = (uint64_t)1 << 63;
        id = put_manifest(&s, &m);
        expect(i, read_tree(&s, &id), whys[i]);
        block_writer_destroy(b);
        arena_destroy(a);
        store_free(&s);
    }
}

/* msgpack has numbers that int64_t has not. */
static void a_manifest_of_a_tree_of_2_to_the_63_bytes_is_refused(void **state)
{
    static const uint8_t key[] = "\245bytes", huge[] = { 0xcf, 0x80, 0, 0, 0, 0, 0, 0, 0 };
    struct store s = { 0 };
    struct pack_manifest m = { .totals = { .files = 1, .bytes = INT64_MAX } };
    struct buf stored = { 0 };
    struct digest id;
    uint8_t *at;

    (void)state;
    manifest_encode(&m, &stored);
    at = memmem(stored.bytes, stored.n, key, sizeof key - 1);
    assert_non_null(at);
    memcpy(at + sizeof key - 1, huge, sizeof huge);
    digest_of(stored.bytes, stored.n, &id);
    store_object(&s, PACK_MANIFEST, &id, buf_bytes(&stored), NULL);
    expect(0, read_tree(&s, &id), "beyond 64 bits with sign");
    buf_free(&stored);
    store_free(&s);
}

/* ---- damage ---- */

static struct digest make_tree(struct store *s)
{
    struct pack_sink sink = store_sink(s);
    struct pack_writer *w = pack_writer_create(&sink);
    struct pack_summary summary;
    struct pack_added added;
    char path[16];

    for (int i = 0; i < 300; i++) {
        int fd = file_of(&i, sizeof i);

        snprintf(path, sizeof path, "f%03d", i);
        assert_int_equal(pack_add_file(w, path, false, fd, &added, NULL), 0);
        close(fd);
    }
    assert_int_equal(pack_end(w, &summary, NULL), 0);
    pack_writer_destroy(w);
    return summary.id;
}

static void each_flipped_bit_and_each_cut_in_an_object_is_found(void **state)
{
    struct store s = { 0 };
    struct digest id = make_tree(&s);

    (void)state;
    assert_null(read_tree(&s, &id));
    for (size_t i = 0; i < s.n; i++) {
        struct buf *b = &s.items[i].bytes;
        size_t n = b->n;

        if (strstr(s.items[i].path, ".tar.zst") != NULL)
            continue; /* see common_pack_part */
        for (size_t k = 0; k < n; k += 1 + k / 100) {
            b->bytes[k] ^= (uint8_t)(1 << k % 8);
            assert_non_null(strstr(read_tree(&s, &id), "is damaged"));
            b->bytes[k] ^= (uint8_t)(1 << k % 8);
            b->n = k;
            assert_non_null(strstr(read_tree(&s, &id), "is damaged"));
            b->n = n;
        }
    }
    assert_null(read_tree(&s, &id));
    store_free(&s);
}

static void what_is_missing_is_not_found(void **state)
{
    struct store s = { 0 };
    struct digest id = make_tree(&s);

    (void)state;
    for (size_t i = 0; i < s.n; i++) {
        char first = s.items[i].path[0];

        if (strstr(s.items[i].path, ".tar.zst") != NULL)
            continue;
        s.items[i].path[0] = '-';
        assert_non_null(strstr(read_tree(&s, &id), "is not there"));
        s.items[i].path[0] = first;
    }
    store_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slash_comes_before_all_other_bytes),
        cmocka_unit_test(paths_that_are_too_long_are_refused),
        cmocka_unit_test(entries_that_break_the_rules_are_refused),
        cmocka_unit_test(bodies_that_are_no_entries_are_refused),
        cmocka_unit_test(a_body_that_unpacks_to_more_than_it_says_is_refused),
        cmocka_unit_test(another_number_of_entries_or_first_path_is_refused),
        cmocka_unit_test(parts_that_the_manifest_does_not_have_or_has_otherwise_are_refused),
        cmocka_unit_test(a_manifest_of_a_tree_of_2_to_the_63_bytes_is_refused),
        cmocka_unit_test(each_flipped_bit_and_each_cut_in_an_object_is_found),
        cmocka_unit_test(what_is_missing_is_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
