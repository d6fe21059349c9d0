/* SPDX-License-Identifier: MIT */
/* peek.c - tests of what is read below a job's save folder, and what is not */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/worker_child.h"
#include "worker/janitor/peek.h"

#define HEX "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

struct looker {
    struct site site;
    struct order_peek x;
    struct arena *arena;
    struct peek_found found;
};

static void make_dir(struct looker *l, const char *path)
{
    char *below = mem_printf("scratch/%s", path);
    struct err e = { 0 };

    assert_int_equal(io_make_dirs_at(l->site.top_fd, below, 0750, &e), 0);
    free(below);
}

static void make_file(struct looker *l, const char *name, const char *text)
{
    char *path = mem_printf("scratch/run/" HEX "/save/%s", name);

    site_write(l->site.top_fd, path, text);
    free(path);
}

static char *path_of(struct looker *l, const char *name)
{
    return mem_printf("%s/run/" HEX "/save/%s", l->site.scratch.path, name);
}

static void open_looker(struct looker *l)
{
    *l = (struct looker){ .arena = arena_create() };
    site_open(&l->site, NULL);
    assert_int_equal(token_parse(HEX, &l->x.token), 0);
    make_dir(l, "run/" HEX "/save/sub/empty");
    make_file(l, "a", "0123456789");
    make_file(l, "sub/b", "b");
}

static void close_looker(struct looker *l)
{
    arena_destroy(l->arena);
    site_close(&l->site);
}

static const struct peek_found *look_from(struct looker *l, const char *path, int64_t offset,
                                          int64_t max_bytes)
{
    l->x.at = (struct peek_at){ path, offset, max_bytes, NULL };
    peek_look(l->site.scratch.path, &l->x, l->arena, &l->found);
    return &l->found;
}

static const struct peek_found *look_at(struct looker *l, const char *path)
{
    return look_from(l, path, 0, PEEK_BYTES_MAX);
}

static void content_is(const struct peek_found *found, const char *text)
{
    if (found->error != NULL)
        fail_msg("%s", found->error);
    assert_int_equal(found->type, PEEK_FILE);
    assert_int_equal(found->content.n, strlen(text));
    assert_memory_equal(found->content.data, text, strlen(text));
}

static void refused(const struct peek_found *found, enum err_kind kind, const char *words)
{
    assert_non_null(found->error);
    if (strstr(found->error, words) == NULL)
        fail_msg("'%s' is not in '%s'", words, found->error);
    assert_int_equal(found->error_kind, (int)kind);
    assert_int_equal(found->content.n, 0);
    assert_int_equal(found->entries.n, 0);
}

/* "a/f10 sub/d": names with type and, of files, size */
static const char *entries_of(struct looker *l)
{
    const struct peek_entry *items = l->found.entries.items;
    struct buf out = { 0 };

    for (size_t i = 0; i < l->found.entries.n; i++) {
        buf_printf(&out, "%s%s/%s", i > 0 ? " " : "", items[i].name,
                   peek_type_names[items[i].type]);
        if (items[i].type == PEEK_FILE)
            buf_printf(&out, "%lld", (long long)items[i].size_bytes);
    }
    return buf_to_arena(&out, l->arena);
}

static void a_file_is_read_from_any_place(void **state)
{
    struct looker l;

    (void)state;
    open_looker(&l);
    content_is(look_at(&l, "a"), "0123456789");
    assert_int_equal(l.found.size_bytes, 10);
    assert_true(l.found.modified_at > 0);
    content_is(look_from(&l, "a", 3, 4), "3456");
    content_is(look_from(&l, "a", 8, 100), "89");
    content_is(look_from(&l, "a", 10, 100), "");
    content_is(look_from(&l, "a", INT64_MAX, 100), "");
    content_is(look_from(&l, "a", 0, 0), "");
    content_is(look_at(&l, "sub/b"), "b");
    close_looker(&l);
}

static void a_folder_is_listed_in_parts(void **state)
{
    struct looker l;
    int64_t n = 0;

    (void)state;
    open_looker(&l);
    look_at(&l, NULL);
    assert_int_equal(l.found.type, PEEK_FOLDER);
    assert_string_equal(entries_of(&l), "a/file10 sub/folder");
    look_at(&l, "sub");
    assert_string_equal(entries_of(&l), "b/file1 empty/folder");
    look_at(&l, "sub/empty");
    assert_null(l.found.error);
    assert_int_equal(l.found.entries.n, 0);
    for (int i = 0; i < PEEK_ENTRIES_MAX + 10; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "sub/empty/%d", i);
        make_file(&l, name, "");
    }
    l.x.at = (struct peek_at){ .path = "sub/empty" };
    do {
        const struct peek_entry *items;

        peek_look(l.site.scratch.path, &l.x, l.arena, &l.found);
        assert_null(l.found.error);
        items = l.found.entries.items;
        for (size_t i = 1; i < l.found.entries.n; i++)
            assert_true(strcmp(items[i - 1].name, items[i].name) < 0);
        n += (int64_t)l.found.entries.n;
        l.x.at.after = items[l.found.entries.n - 1].name;
    } while (l.found.more);
    assert_int_equal(n, PEEK_ENTRIES_MAX + 10);
    close_looker(&l);
}

static void nothing_leads_out_of_the_folder(void **state)
{
    static const char *const outside[] = { "..",          "../order", "sub/../../order",
                                           "/etc/passwd", "sub//b",   "./a",
                                           "a/",          "sub/." };
    char *link, *pipe, *save;
    struct looker l;

    (void)state;
    open_looker(&l);
    site_write(l.site.top_fd, "scratch/run/" HEX "/order", "secret");
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++)
        refused(look_at(&l, outside[i]), ERR_USAGE, "no path below");
    link = path_of(&l, "link");
    assert_int_equal(symlink("..", link), 0);
    refused(look_at(&l, "link"), ERR_DENIED, "link is a symlink");
    refused(look_at(&l, "link/order"), ERR_DENIED, "leads through a symlink");
    pipe = path_of(&l, "pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    refused(look_at(&l, "pipe"), ERR_USAGE, "neither a file nor a folder");
    refused(look_at(&l, "a/b"), ERR_NOT_FOUND, "a file is in the way");
    refused(look_at(&l, "missing"), ERR_NOT_FOUND, "there is no missing");
    look_at(&l, NULL);
    assert_string_equal(entries_of(&l), "a/file10 link/link pipe/other sub/folder");
    /* Nor the folder itself. */
    free(link);
    link = path_of(&l, "../elsewhere");
    save = path_of(&l, ".");
    save[strlen(save) - 2] = '\0';
    assert_int_equal(rename(save, link), 0);
    assert_int_equal(symlink("elsewhere", save), 0);
    refused(look_at(&l, "a"), ERR_DENIED, "symlink in the place of its save folder");
    free(save);
    free(link);
    free(pipe);
    close_looker(&l);
}

static void an_attempt_is_found_where_it_lies(void **state)
{
    struct looker l;
    char *from, *to;

    (void)state;
    open_looker(&l);
    from = mem_printf("%s/run/" HEX, l.site.scratch.path);
    to = mem_printf("%s/ended/" HEX, l.site.scratch.path);
    assert_int_equal(rename(from, to), 0);
    content_is(look_at(&l, "a"), "0123456789");
    l.x.token.bytes[0] ^= 1;
    refused(look_at(&l, "a"), ERR_NOT_FOUND, "not on its node now");
    free(from);
    free(to);
    close_looker(&l);
}

static void the_child_answers_once(void **state)
{
    struct note_peeked note;
    struct looker l;
    struct agent ag;
    char *argv[2];

    (void)state;
    open_looker(&l);
    argv[0] = mem_strdup(CHILD_PEEK);
    argv[1] = l.site.scratch.path;
    ag = agent_start(peek_main, 2, argv, -1, -1);
    l.x.at = (struct peek_at){ .path = "a", .offset = 2, .max_bytes = 3 };
    agent_tell(&ag, ORDER_PEEK, &l.x);
    agent_hear(&ag, NOTE_PEEKED, &note);
    content_is(&note.found, "234");
    assert_int_equal(agent_wait(&ag), 0);
    wire_close(&ag.wire);
    free(argv[0]);
    close_looker(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_from_any_place),
        cmocka_unit_test(a_folder_is_listed_in_parts),
        cmocka_unit_test(nothing_leads_out_of_the_folder),
        cmocka_unit_test(an_attempt_is_found_where_it_lies),
        cmocka_unit_test(the_child_answers_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
