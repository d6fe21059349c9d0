/* SPDX-License-Identifier: MIT */
/* pack_part.c - parts: what anyone can open, and what nobody is led astray by */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <zstd.h>

#include "common/base/io.h"
#include "common/base/path.h"
#include "common/pack/pack_object.h"
#include "common/pack/pack_tar.h"
#include "tests/unit/pack_store.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { MIB = 1024 * 1024 };

/* In the place of the library's: none may be started. */
static bool forbids_threads;
static unsigned n_forbidden;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                   void *context)
{
    static int (*start)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

    if (forbids_threads) {
        n_forbidden++;
        return EAGAIN;
    }
    if (start == NULL)
        *(void **)&start = dlsym(RTLD_NEXT, "pthread_create");
    return start(thread, attr, run, context);
}

static uint8_t *random_bytes(size_t n, uint64_t seed)
{
    uint8_t *bytes = mem_alloc(n);

    for (size_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005 + 1442695040888963407;
        bytes[i] = (uint8_t)(seed >> 56);
    }
    return bytes;
}

/* ---- one part ---- */

struct made {
    struct buf part;
    struct pack_list *list;
};

struct making {
    struct store store;
    struct pack_sink sink;
    struct part_writer *writer;
};

static void begin(struct making *m, bool is_tar)
{
    *m = (struct making){ 0 };
    m->sink = store_sink(&m->store);
    m->sink.context = &m->store;
    m->writer = part_writer_create(&m->sink, 0, is_tar);
}

static void add(struct making *m, const char *path, bool executable, const void *bytes, size_t n)
{
    struct part_piece piece = { .path = path, .executable = executable, .content = { bytes, n } };

    digest_of(bytes, n, &piece.digest);
    assert_int_equal(part_writer_add(m->writer, &piece, NULL), 0);
}

static struct made end(struct making *m)
{
    struct made made = { 0 };
    struct pack_part part;
    struct buf path = { 0 };
    struct stored *item;
    size_t list_bytes;
    struct err e = { 0 };

    if (part_writer_end(m->writer, &part, &list_bytes, &e) < 0)
        fail_msg("%s", e.text);
    pack_part_path(&path, &part);
    item = store_find(&m->store, buf_text(&path));
    assert_non_null(item);
    made.part = item->bytes;
    item->bytes = (struct buf){ 0 };
    buf_clear(&path);
    pack_object_path(&path, PACK_LIST, &part.list);
    item = store_find(&m->store, buf_text(&path));
    assert_int_equal(item->bytes.n, list_bytes);
    made.list = pack_list_decode(&part.list, buf_bytes(&item->bytes), &e);
    assert_non_null(made.list);
    buf_free(&path);
    part_writer_destroy(m->writer);
    store_free(&m->store);
    return made;
}

static void made_free(struct made *m)
{
    buf_free(&m->part);
    pack_list_destroy(m->list);
}

/* Of a few pieces, compressible or not, as files or as pieces of large ones. */
static struct made make_sample(bool is_tar, bool shrinks)
{
    static const size_t sizes[] = { 1, 511, 512, 513, 70000, 3 };
    struct making m;

    begin(&m, is_tar);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        uint8_t *bytes = random_bytes(sizes[i], i + 1);

        if (shrinks && i == 4)
            memset(bytes, 'x', sizes[i] - 1);
        add(&m, "a/path", i % 2 == 0, bytes, sizes[i]);
        free(bytes);
    }
    return end(&m);
}

/* ---- reading ---- */

/* Reads all; NULL, or what was wrong.  Only what the list says was handed out. */
static const char *read_part(const struct pack_list *l, struct bytes stored, size_t most)
{
    static struct err e;
    struct part_reader *r = part_reader_create();
    struct reading reading = { .from = stored, .most = most };
    struct bytes content;
    struct digest digest;
    uint32_t n = 0;
    int got;

    e = (struct err){ 0 };
    part_begin(r, l, reading_read, &reading);
    while ((got = part_next(r, &content, &e)) == 1) {
        assert_int_equal(content.n, l->pieces[n].size);
        digest_of(content.data, content.n, &digest);
        assert_memory_equal(&digest, &l->pieces[n].digest, sizeof digest);
        n++;
    }
    part_reader_destroy(r);
    if (got == 0) {
        assert_int_equal(n, l->n);
        return NULL;
    }
    assert_int_equal(e.kind, ERR_PROTOCOL);
    return e.text;
}

static void refused(const struct pack_list *l, struct bytes stored, const char *why)
{
    const char *text = read_part(l, stored, 0);

    if (text == NULL)
        fail_msg("taken, although: %s", why);
    else if (strstr(text, why) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", text, why);
}

/* ---- tests ---- */

static void form_follows_content(void **state)
{
    static const struct {
        bool is_tar, shrinks;
        enum pack_form form;
    } cases[] = {
        { true, true, PACK_TAR },
        { true, false, PACK_TAR },
        { false, true, PACK_ZST },
        { false, false, PACK_RAW },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct made m = make_sample(cases[i].is_tar, cases[i].shrinks);

        assert_int_equal(m.list->part.form, cases[i].form);
        assert_int_equal(m.list->part.stored_bytes, m.part.n);
        assert_null(read_part(m.list, buf_bytes(&m.part), 0));
        assert_null(read_part(m.list, buf_bytes(&m.part), 1));
        assert_null(read_part(m.list, buf_bytes(&m.part), 1000));
        made_free(&m);
    }
}

static void what_does_not_shrink_costs_little_more_than_it_has(void **state)
{
    struct making m;
    struct made made;
    uint8_t *bytes = random_bytes(MIB, 1);

    (void)state;
    begin(&m, true);
    for (int i = 0; i < 20; i++)
        add(&m, "x", false, bytes + i, MIB - 20);
    made = end(&m);
    assert_true(made.part.n < 20 * MIB + 20 * 1024 + 2000);
    assert_null(read_part(made.list, buf_bytes(&made.part), 0));
    made_free(&made);
    free(bytes);
}

/* So much that zstd's threads have several jobs each. */
enum { LINES_BYTES = 12 * 1024 * 1024, FILE_BYTES = 8 * 1024 };

static struct buf make_lines(void)
{
    struct buf lines = { 0 };

    for (uint32_t i = 0; lines.n < LINES_BYTES; i++)
        buf_printf(&lines, "%u,%u\n", i, i * UINT32_C(2654435761));
    return lines;
}

static void add_lines(struct making *m, const struct buf *lines)
{
    for (size_t at = 0; at < LINES_BYTES; at += FILE_BYTES)
        add(m, "lines", false, lines->bytes + at, FILE_BYTES);
}

static void what_several_threads_compress_comes_out_the_same_each_time(void **state)
{
    struct buf lines = make_lines();
    struct made made[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct making m;

        begin(&m, true);
        add_lines(&m, &lines);
        made[i] = end(&m);
    }
    assert_true(made[0].part.n < LINES_BYTES / 2);
    assert_int_equal(made[0].part.n, made[1].part.n);
    assert_memory_equal(made[0].part.bytes, made[1].part.bytes, made[0].part.n);
    assert_null(read_part(made[0].list, buf_bytes(&made[0].part), 0));
    made_free(&made[0]);
    made_free(&made[1]);
    buf_free(&lines);
}

static int refuse_bytes(void *context, unsigned slot, struct bytes bytes, struct err *e)
{
    (void)context;
    (void)slot;
    (void)bytes;
    return err_set(e, ERR_NO_SPACE, "no more space");
}

static void threads_end_where_what_they_compress_cannot_be_stored(void **state)
{
    struct buf lines = make_lines();
    struct part_piece piece = { .path = "lines", .content = { lines.bytes, PACK_PIECE_BYTES } };
    struct making m;
    struct err e = { 0 };

    (void)state;
    begin(&m, false);
    m.sink.part_write = refuse_bytes;
    assert_int_equal(part_writer_add(m.writer, &piece, &e), -1);
    assert_string_equal(e.text, "no more space");
    part_writer_destroy(m.writer);
    store_free(&m.store);
    buf_free(&lines);
}

static void where_no_thread_may_be_started_it_is_compressed_all_the_same(void **state)
{
    struct buf lines = make_lines();
    struct making m;
    struct made made;

    (void)state;
    forbids_threads = true;
    begin(&m, true);
    add_lines(&m, &lines);
    made = end(&m);
    forbids_threads = false;
    assert_true(n_forbidden > 0);
    assert_true(made.part.n < LINES_BYTES / 2);
    assert_null(read_part(made.list, buf_bytes(&made.part), 0));
    made_free(&made);
    buf_free(&lines);
}

static void a_part_that_was_cut_is_refused(void **state)
{
    (void)state;
    for (int form = 0; form < 4; form++) {
        struct made m = make_sample(form & 1, form & 2);

        for (size_t n = 0; n < m.part.n; n += m.part.n < 3000 || n < 2000 ? 1 : 97)
            if (read_part(m.list, (struct bytes){ m.part.bytes, n }, 0) == NULL)
                fail_msg("form %d, %zu of %zu bytes", form, n, m.part.n);
        buf_add_char(&m.part, 'x');
        assert_non_null(read_part(m.list, buf_bytes(&m.part), 0));
        made_free(&m);
    }
}

/* zstd's frames have bits that mean nothing. */
static void a_flipped_bit_is_found_or_changes_nothing(void **state)
{
    size_t tried = 0, unnoticed = 0;

    (void)state;
    for (int form = 0; form < 4; form++) {
        struct made m = make_sample(form & 1, form & 2);

        for (size_t i = 0; i < m.part.n; i += i < 2000 || i + 50 > m.part.n ? 1 : 211) {
            m.part.bytes[i] ^= (uint8_t)(1 << i % 8);
            unnoticed += read_part(m.list, buf_bytes(&m.part), 0) == NULL;
            tried++;
            m.part.bytes[i] ^= (uint8_t)(1 << i % 8);
        }
        made_free(&m);
    }
    assert_true(unnoticed < tried / 100);
}

static void an_error_names_the_part(void **state)
{
    struct made m = make_sample(true, true);
    char hex[DIGEST_HEX];

    (void)state;
    digest_hex(&m.list->part.list, hex);
    refused(m.list, (struct bytes){ m.part.bytes, m.part.n - 1 }, hex);
    made_free(&m);
}

static void pieces_nobody_wants_are_passed_over(void **state)
{
    struct made m = make_sample(true, true);
    struct part_reader *r = part_reader_create();
    struct reading reading = { .from = buf_bytes(&m.part) };
    struct bytes content = { 0 };

    (void)state;
    part_begin(r, m.list, reading_read, &reading);
    for (uint32_t i = 0; i < m.list->n; i++)
        assert_int_equal(part_next(r, i == 3 ? &content : NULL, NULL), 1);
    assert_int_equal(content.n, 513);
    assert_int_equal(part_next(r, NULL, NULL), 0);
    /* and the reader reads another */
    reading.at = 0;
    part_begin(r, m.list, reading_read, &reading);
    assert_int_equal(part_next(r, &content, NULL), 1);
    assert_int_equal(content.n, 1);
    part_reader_destroy(r);
    made_free(&m);
}

/* ---- hostile ---- */

static void compress(const struct buf *from, struct buf *out)
{
    size_t room = ZSTD_compressBound(from->n);

    buf_added(out, ZSTD_compress(buf_reserve(out, room), room, from->bytes, from->n, 1));
}

static struct pack_list list_of(enum pack_form form, struct pack_piece *piece, size_t stored)
{
    return (struct pack_list){ .part = { .form = form, .stored_bytes = stored },
                               .pieces = piece,
                               .n = 1 };
}

static void a_bomb_is_refused_where_it_begins(void **state)
{
    struct pack_piece piece = { .size = 10 };
    struct buf zeros = { 0 }, bomb = { 0 };
    struct pack_list l;

    (void)state;
    memset(buf_reserve(&zeros, 256 * MIB), 0, 256 * MIB);
    buf_added(&zeros, 256 * MIB);
    compress(&zeros, &bomb);
    assert_true(bomb.n < 100000);
    digest_of(zeros.bytes, 10, &piece.digest);
    l = list_of(PACK_ZST, &piece, bomb.n);
    refused(&l, buf_bytes(&bomb), "something follows its end");
    buf_free(&zeros);
    buf_free(&bomb);
}

static void a_window_of_gigabytes_is_refused(void **state)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    struct pack_piece piece = { .size = PACK_PIECE_BYTES };
    struct buf out = { 0 };
    uint8_t *bytes = random_bytes(MIB, 1);
    ZSTD_inBuffer in = { bytes, MIB, 0 };
    ZSTD_outBuffer to = { buf_reserve(&out, 2 * MIB), 2 * MIB, 0 };
    struct pack_list l;

    (void)state;
    ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, 27);
    assert_false(ZSTD_isError(ZSTD_compressStream2(c, &to, &in, ZSTD_e_flush)));
    buf_added(&out, to.pos);
    l = list_of(PACK_ZST, &piece, out.n);
    refused(&l, buf_bytes(&out), "memory");
    ZSTD_freeCCtx(c);
    free(bytes);
    buf_free(&out);
}

static void set_checksum(uint8_t *header)
{
    unsigned sum = 0;

    memset(header + 148, ' ', 8);
    for (size_t i = 0; i < TAR_BLOCK_BYTES; i++)
        sum += header[i];
    snprintf((char *)header + 148, 7, "%06o", sum);
}

static void only_the_tar_that_is_written_is_read(void **state)
{
    static const struct {
        size_t at;
        const char *bytes;
        size_t n;
        bool checksum;
        const char *why;
    } cases[] = {
        { 156, "0", 1, true, NULL },
        { 0, "../../etc/passwd", 17, true, NULL }, /* names do not matter */
        { 156, "2", 1, true, "kind" },
        { 156, "5", 1, true, "kind" },
        { 156, "L", 1, true, "kind" },
        { 156, "S", 1, true, "kind" },
        { 156, "x", 1, true, "damaged" },
        { 124, "00000000006", 12, true, "not that of such a piece" },
        { 124, "77777777777", 12, true, "not that of such a piece" },
        { 124, "\x80\0\0\0\0\0\0\0\0\0\0\x05", 12, true, "kind" },
        { 257, "GNUtar", 6, true, "kind" },
        { 100, "0", 1, false, NULL },
        { 100, "7", 1, false, "damaged" },
        { 512 + 5, "x", 1, false, "no zeros" },
        { 1024, "x", 1, false, "no zeros" },
        { 2047, "x", 1, false, "no zeros" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pack_piece piece = { .size = 5 };
        struct buf tar = { 0 }, stored = { 0 };
        struct pack_list l;
        const char *problem;

        digest_of("hello", 5, &piece.digest);
        tar_add_header(&tar, "name", false, 5);
        buf_add(&tar, "hello", 5);
        memset(buf_reserve(&tar, 2000), 0, 2000);
        buf_added(&tar, tar_padding(5) + TAR_END_BYTES);
        memcpy(tar.bytes + cases[i].at, cases[i].bytes, cases[i].n);
        if (cases[i].checksum)
            set_checksum(tar.bytes);
        compress(&tar, &stored);
        l = list_of(PACK_TAR, &piece, stored.n);
        problem = read_part(&l, buf_bytes(&stored), 0);
        if ((problem == NULL) != (cases[i].why == NULL) ||
            (problem != NULL && strstr(problem, cases[i].why) == NULL))
            fail_msg("case %zu: %s", i, problem != NULL ? problem : "taken");
        buf_free(&tar);
        buf_free(&stored);
    }
}

static void a_name_without_end_is_refused(void **state)
{
    struct pack_piece piece = { .size = 5 };
    struct buf tar = { 0 }, stored = { 0 };
    struct pack_list l;

    (void)state;
    tar_add_header(&tar, "long", false, 077777777777);
    tar.bytes[156] = 'x';
    set_checksum(tar.bytes);
    compress(&tar, &stored);
    l = list_of(PACK_TAR, &piece, stored.n);
    refused(&l, buf_bytes(&stored), "a name that is too long");
    buf_free(&tar);
    buf_free(&stored);
}

static void two_frames_and_a_skippable_one_are_refused(void **state)
{
    static const uint8_t skippable[] = { 0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 'x' };
    struct pack_piece piece = { .size = 10 };
    struct buf half = { 0 }, two = { 0 }, skip = { 0 };
    struct pack_list l;

    (void)state;
    buf_add_str(&half, "hello");
    compress(&half, &two);
    compress(&half, &two);
    digest_of("hellohello", 10, &piece.digest);
    l = list_of(PACK_ZST, &piece, two.n);
    refused(&l, buf_bytes(&two), "too few bytes");

    buf_add(&skip, skippable, sizeof skippable);
    compress(&half, &skip);
    piece.size = 5;
    digest_of("hello", 5, &piece.digest);
    l = list_of(PACK_ZST, &piece, skip.n);
    refused(&l, buf_bytes(&skip), "too few bytes");
    buf_free(&half);
    buf_free(&two);
    buf_free(&skip);
}

/* ---- lists ---- */

static const char *read_list(struct pack_list *l)
{
    static struct err e;
    struct buf stored = { 0 };
    struct pack_list *again;

    e = (struct err){ 0 };
    pack_list_encode(l, &stored);
    again = pack_list_decode(&l->part.list, buf_bytes(&stored), &e);
    buf_free(&stored);
    if (again == NULL)
        return e.text;
    assert_int_equal(again->n, l->n);
    pack_list_destroy(again);
    return NULL;
}

static void lists_that_claim_what_cannot_be_are_refused(void **state)
{
    static struct pack_piece pieces[PACK_PIECES_MAX + 1];
    static const struct {
        struct pack_list list;
        uint32_t size; /* of each piece */
        const char *why;
    } cases[] = {
        { { .part = { .form = PACK_RAW, .stored_bytes = 3 }, .n = 3 }, 1, NULL },
        { { .part = { .form = PACK_RAW, .stored_bytes = 4 }, .n = 3 }, 1, "add up" },
        { { .part = { .form = PACK_RAW, .stored_bytes = 0 }, .n = 3 }, 0, "0 bytes" },
        { { .part = { .form = PACK_RAW, .stored_bytes = 0 }, .n = 0 }, 0, "digests" },
        { { .part = { .form = PACK_ZST, .stored_bytes = 9 }, .n = 8 }, PACK_PIECE_BYTES, NULL },
        { { .part = { .form = PACK_ZST, .stored_bytes = 9 }, .n = 9 }, PACK_PIECE_BYTES, "more" },
        { { .part = { .form = PACK_TAR, .stored_bytes = 9 }, .n = 8 }, PACK_PIECE_BYTES, "more" },
        { { .part = { .form = PACK_ZST, .stored_bytes = 9 }, .n = 1 },
          PACK_PIECE_BYTES + 1,
          "8388609" },
        { { .part = { .form = PACK_ZST, .stored_bytes = 9 }, .n = 1 }, UINT32_MAX, "4294967295" },
        { { .part = { .form = PACK_ZST, .stored_bytes = 1 << 30 }, .n = 1 }, 1, "a part of" },
        { { .part = { .form = PACK_ZST, .stored_bytes = (uint64_t)1 << 62 }, .n = 1 },
          1,
          "stored_bytes" },
        { { .part = { .form = PACK_ZST, .stored_bytes = (uint64_t)1 << 63 }, .n = 1 },
          1,
          "stored_bytes" },
        { { .part = { .form = PACK_ZST, .stored_bytes = 9 }, .n = PACK_PIECES_MAX }, 1, NULL },
        { { .part = { .form = PACK_ZST, .stored_bytes = 9 }, .n = PACK_PIECES_MAX + 1 },
          1,
          "digests" },
        { { .part = { .form = PACK_IN_PLACE, .stored_bytes = 2 }, .n = 1, .path = "a/b" },
          2,
          NULL },
        { { .part = { .form = PACK_IN_PLACE, .stored_bytes = 2 }, .n = 1 }, 2, "path" },
        { { .part = { .form = PACK_IN_PLACE, .stored_bytes = 2 }, .n = 1, .path = "/a" },
          2,
          "path" },
        { { .part = { .form = PACK_IN_PLACE, .stored_bytes = 2 }, .n = 1, .path = "../a" },
          2,
          "path" },
        { { .part = { .form = PACK_RAW, .stored_bytes = 2 }, .n = 1, .path = "a" }, 2, "path" },
        { { .part = { .form = PACK_FILES, .stored_bytes = 2 }, .n = 1, .path = "a" }, 2, NULL },
        { { .part = { .form = PACK_FILES, .stored_bytes = 2 }, .n = 1 }, 2, "path" },
        { { .part = { .form = PACK_FILES, .stored_bytes = 3 }, .n = 1, .path = "a" }, 2, "add up" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pack_list l = cases[i].list;
        const char *problem;

        for (uint32_t k = 0; k < l.n; k++)
            pieces[k].size = cases[i].size;
        l.pieces = pieces;
        problem = read_list(&l);
        if ((problem == NULL) != (cases[i].why == NULL) ||
            (problem != NULL && strstr(problem, cases[i].why) == NULL))
            fail_msg("case %zu: %s", i, problem != NULL ? problem : "taken");
    }
}

static void a_list_of_another_name_is_refused(void **state)
{
    struct made m = make_sample(true, true);
    struct buf stored = { 0 };
    struct digest name;
    struct err e = { 0 };

    (void)state;
    pack_list_encode(m.list, &stored);
    name = m.list->part.list;
    for (size_t i = 0; i < stored.n; i++) {
        stored.bytes[i] ^= 0x20;
        assert_null(pack_list_decode(&name, buf_bytes(&stored), &e));
        assert_non_null(strstr(e.text, "is damaged"));
        stored.bytes[i] ^= 0x20;
    }
    buf_free(&stored);
    made_free(&m);
}

/* ---- tar ---- */

static char *long_path(size_t n_folder, size_t n_name)
{
    char *path = mem_alloc(n_folder + n_name + 2);

    memset(path, 'd', n_folder + n_name + 1);
    for (size_t i = 50; i < n_folder; i += 51)
        path[i] = '/';
    path[n_folder] = '/';
    return path;
}

static void check_unpacked(const char *dir, const char *path, const char *content, mode_t mode)
{
    char *whole = path_join(dir, path);
    struct buf got = { 0 };
    struct stat st;
    struct err e = { 0 };

    if (io_read_file(whole, MIB, &got, &e) < 0)
        fail_msg("%s", e.text);
    assert_string_equal(buf_text(&got), content);
    assert_int_equal(stat(whole, &st), 0);
    assert_int_equal(st.st_mode & 0777, mode);
    buf_free(&got);
    free(whole);
}

static void tar_opens_a_part(void **state)
{
    char dir[] = "/tmp/ludwig-pack-XXXXXX";
    char *fits = long_path(120, 90), *does_not = long_path(200, 120), *file, *command;
    struct making m;
    struct made made;

    (void)state;
    assert_non_null(mkdtemp(dir));
    begin(&m, true);
    add(&m, "a", false, "one", 3);
    add(&m, "b/c d\n", true, "two", 3);
    add(&m, fits, false, "three", 5);
    add(&m, does_not, true, "four", 4);
    add(&m, "z", false, "five", 4);
    made = end(&m);
    assert_null(read_part(made.list, buf_bytes(&made.part), 0));

    file = path_join(dir, "part.tar.zst");
    assert_int_equal(io_replace_file(file, made.part.bytes, made.part.n, 0600, NULL), 0);
    command = mem_printf("cd %s && umask 022 && tar --zstd -xf part.tar.zst", dir);
    assert_int_equal(system(command), 0);
    check_unpacked(dir, "a", "one", 0644);
    check_unpacked(dir, "b/c d\n", "two", 0755);
    check_unpacked(dir, fits, "three", 0644);
    check_unpacked(dir, does_not, "four", 0755);
    check_unpacked(dir, "z", "five", 0644);
    assert_int_equal(io_remove_tree(dir, NULL), 0);
    made_free(&made);
    free(fits);
    free(does_not);
    free(file);
    free(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(form_follows_content),
        cmocka_unit_test(what_does_not_shrink_costs_little_more_than_it_has),
        cmocka_unit_test(what_several_threads_compress_comes_out_the_same_each_time),
        cmocka_unit_test(threads_end_where_what_they_compress_cannot_be_stored),
        cmocka_unit_test(where_no_thread_may_be_started_it_is_compressed_all_the_same),
        cmocka_unit_test(a_part_that_was_cut_is_refused),
        cmocka_unit_test(a_flipped_bit_is_found_or_changes_nothing),
        cmocka_unit_test(an_error_names_the_part),
        cmocka_unit_test(pieces_nobody_wants_are_passed_over),
        cmocka_unit_test(a_bomb_is_refused_where_it_begins),
        cmocka_unit_test(a_window_of_gigabytes_is_refused),
        cmocka_unit_test(only_the_tar_that_is_written_is_read),
        cmocka_unit_test(a_name_without_end_is_refused),
        cmocka_unit_test(two_frames_and_a_skippable_one_are_refused),
        cmocka_unit_test(lists_that_claim_what_cannot_be_are_refused),
        cmocka_unit_test(a_list_of_another_name_is_refused),
        cmocka_unit_test(tar_opens_a_part),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
