/* SPDX-License-Identifier: MIT */
/* pack_example.c - the example of docs/internals/packs.md is what is written */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>

#include "common/pack/pack_block.h"
#include "common/pack/pack_object.h"
#include "tests/unit/doc.h"
#include "tests/unit/pack_store.h"

static const char page[] = "docs/internals/packs.md";

static struct pack_summary make(struct store *s)
{
    struct pack_sink sink = store_sink(s);
    struct pack_writer *w = pack_writer_create(&sink);
    int hello = file_of("hello\n", 6), empty = file_of("", 0);
    struct pack_summary summary;
    struct pack_added added;

    assert_int_equal(pack_add_folder(w, "a", NULL), 0);
    assert_int_equal(pack_add_file(w, "a/b", true, hello, &added, NULL), 0);
    assert_int_equal(pack_add_hard_link(w, "a/c", "a/b", NULL), 0);
    assert_int_equal(pack_add_file(w, "a.txt", false, empty, &added, NULL), 0);
    assert_int_equal(pack_add_symlink(w, "z", "a/b", NULL), 0);
    assert_int_equal(pack_end(w, &summary, NULL), 0);
    pack_writer_destroy(w);
    close(hello);
    close(empty);
    return summary;
}

static const struct buf *object(struct store *s, const char *suffix)
{
    for (size_t i = 0; i < s->n; i++)
        if (strstr(s->items[i].path, suffix) != NULL)
            return &s->items[i].bytes;
    fail_msg("no %s", suffix);
    return NULL;
}

static void digest_must_be_there(const char *what, const struct digest *d)
{
    char hex[DIGEST_HEX], *line;

    digest_hex(d, hex);
    line = mem_printf("%s %s", what, hex);
    doc_must_contain(page, line);
    free(line);
}

/* [0, "a", 0] */
static void print(struct buf *out, const struct value *v)
{
    if (v->type == VALUE_INT) {
        buf_printf(out, "%" PRId64, v->i);
    } else if (v->type == VALUE_BIN) {
        buf_printf(out, "\"%s\"", v->str.s);
    } else {
        buf_add_char(out, '[');
        for (size_t i = 0; i < v->list.n; i++) {
            buf_add_str(out, i > 0 ? ", " : "");
            print(out, &v->list.items[i]);
        }
        buf_add_char(out, ']');
    }
}

static void the_body_is_as_shown(void **state)
{
    struct store s = { 0 };
    struct block_reader b = { 0 };
    struct digest name;
    const struct buf *stored;

    (void)state;
    make(&s);
    stored = object(&s, ".block");
    digest_of(stored->bytes, stored->n, &name);
    assert_int_equal(block_open(&b, &name, buf_bytes(stored), NULL), 0);
    assert_int_equal(b.n, 5);
    for (size_t i = 0; i < b.n; i++) {
        struct buf line = { 0 };

        print(&line, &b.items[i]);
        doc_must_contain(page, buf_text(&line));
        buf_free(&line);
    }
    block_close(&b);
    store_free(&s);
}

static void digests_are_as_shown(void **state)
{
    struct store s = { 0 };
    struct pack_summary summary = make(&s);
    const struct buf *stored = object(&s, ".list");
    struct pack_list *l;
    struct digest name;

    (void)state;
    digest_must_be_there("tree", &summary.tree);
    digest_of(stored->bytes, stored->n, &name);
    l = pack_list_decode(&name, buf_bytes(stored), NULL);
    assert_non_null(l);
    assert_int_equal(l->n, 1);
    assert_int_equal(l->pieces[0].size, 6);
    digest_must_be_there("piece 0: 6 bytes,", &l->pieces[0].digest);
    pack_list_destroy(l);
    store_free(&s);
}

static void all_forms_are_described(void **state)
{
    (void)state;
    for (int i = 0; i < PACK_FORM_COUNT; i++) {
        char *text = mem_printf("| `%s` |", pack_form_names[i]);

        doc_must_contain(page, text);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_body_is_as_shown),
        cmocka_unit_test(digests_are_as_shown),
        cmocka_unit_test(all_forms_are_described),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
