/* SPDX-License-Identifier: MIT */
/* client_journal.c - what an upload's journal says is true, wherever it was cut off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "client/journal.h"
#include "common/io.h"
#include "common/mem.h"
#include "common/path.h"

enum { N = 20 };

static const struct digest tree = { { 1, 2, 3 } }, other_tree = { { 1, 2, 4 } };

static int begin(void **state)
{
    char path[] = "/tmp/journal-XXXXXX";

    if (mkdtemp(path) == NULL)
        return -1;
    *state = mem_strdup(path);
    return setenv("XDG_STATE_HOME", path, 1);
}

static int end(void **state)
{
    int result = io_remove_tree(*state, NULL);

    free(*state);
    return result;
}

static struct journal *open_one(void)
{
    return journal_open("server", "project", &tree, N);
}

static char *folder_path(void **state)
{
    return path_join(*state, "ludwig/uploads");
}

/* The path of the only file there; NULL: there is none. */
static char *only_file(void **state)
{
    char *folder = folder_path(state), *path = NULL;
    DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.') {
            assert_null(path);
            path = path_join(folder, entry->d_name);
        }
    if (dir != NULL)
        closedir(dir);
    free(folder);
    return path;
}

static void the_next_try_knows_what_is_there(void **state)
{
    struct journal *j = open_one();
    char *name = mem_strdup(journal_temporary(j)), *path;

    assert_true(journal_is_kept(j));
    assert_false(journal_is_resumed(j));
    journal_add(j, 3);
    journal_add(j, 4);
    journal_drop(j, 4);
    journal_add_bytes(j, 5, 100);
    journal_add_bytes(j, 5, UINT64_C(1) << 40);
    journal_close(j, false);

    j = open_one();
    assert_true(journal_is_resumed(j));
    assert_string_equal(journal_temporary(j), name);
    assert_true(journal_has(j, 3));
    assert_false(journal_has(j, 4));
    assert_false(journal_has(j, 5));
    assert_int_equal(journal_bytes(j, 5), UINT64_C(1) << 40);
    assert_int_equal(journal_bytes(j, 3), 0);
    journal_close(j, true);

    path = only_file(state);
    assert_null(path);
    j = open_one();
    assert_false(journal_is_resumed(j));
    assert_string_not_equal(journal_temporary(j), name);
    journal_close(j, true);
    free(name);
}

static void each_tree_of_each_project_and_server_has_its_own(void **state)
{
    struct journal *j = open_one(), *others[3];

    (void)state;
    journal_add(j, 3);
    others[0] = journal_open("other", "project", &tree, N);
    others[1] = journal_open("server", "other", &tree, N);
    others[2] = journal_open("server", "project", &other_tree, N);
    for (int i = 0; i < 3; i++) {
        assert_true(journal_is_kept(others[i]));
        assert_false(journal_is_resumed(others[i]));
        assert_false(journal_has(others[i], 3));
        journal_close(others[i], true);
    }
    journal_close(j, true);
}

static void two_at_once_go_their_own_ways(void **state)
{
    struct journal *j = open_one(), *second = open_one();

    (void)state;
    assert_true(journal_is_kept(j));
    assert_false(journal_is_kept(second));
    assert_string_not_equal(journal_temporary(j), journal_temporary(second));
    journal_add(second, 1);
    assert_true(journal_has(second, 1));
    journal_close(second, false);
    journal_close(j, false);
    j = open_one();
    assert_true(journal_is_resumed(j));
    assert_false(journal_has(j, 1));
    journal_close(j, true);
}

static void a_restart_forgets_all(void **state)
{
    struct journal *j = open_one();
    char *name = mem_strdup(journal_temporary(j));

    (void)state;
    journal_add(j, 1);
    journal_add_bytes(j, 2, 100);
    journal_restart(j);
    assert_string_not_equal(journal_temporary(j), name);
    assert_false(journal_has(j, 1));
    journal_close(j, false);
    j = open_one();
    assert_true(journal_is_resumed(j));
    assert_false(journal_has(j, 1));
    assert_int_equal(journal_bytes(j, 2), 0);
    assert_string_not_equal(journal_temporary(j), name);
    journal_close(j, true);
    free(name);
}

/* Entries 10 to 19, one behind the other: an early end may leave out, but not invent. */
static void a_journal_that_lost_its_end_says_nothing_wrong(void **state)
{
    struct journal *j = open_one();
    struct buf text = { 0 };
    char *path;

    for (size_t i = 10; i < N; i++)
        journal_add(j, i);
    journal_close(j, false);
    path = only_file(state);
    assert_int_equal(io_read_file(path, 10000, &text, NULL), 0);
    for (size_t n = 0; n < text.n; n++) {
        bool ended = false;

        assert_int_equal(io_write_file_at(AT_FDCWD, path, text.bytes, n, 0600, NULL), 0);
        j = open_one();
        for (size_t i = 0; i < N; i++) {
            assert_true(i >= 10 || !journal_has(j, i));
            assert_false(ended && journal_has(j, i));
            ended = ended || (i >= 10 && !journal_has(j, i));
        }
        journal_add(j, 0);
        journal_close(j, false);
        j = open_one();
        assert_true(journal_has(j, 0));
        assert_false(journal_has(j, 1));
        journal_close(j, false);
    }
    assert_int_equal(unlink(path), 0);
    buf_free(&text);
    free(path);
}

static void nonsense_is_a_new_beginning(void **state)
{
    static const char *const lines[] = { "f 20\n",  "f -1\n",           "f\n",     "g 1\n",
                                         "f 1x\n",  "\nf 1\n",          "f  1x\n", "b 1 2 3\n",
                                         "b 1 x\n", "ludwig upload 1\n" };
    struct journal *j = open_one();
    char *name = mem_strdup(journal_temporary(j)), *path;
    struct buf head = { 0 };

    journal_close(j, false);
    path = only_file(state);
    assert_int_equal(io_read_file(path, 10000, &head, NULL), 0);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct buf text = { 0 };

        buf_add(&text, head.bytes, head.n);
        buf_printf(&text, "f 7\n%sf 8\n", lines[i]);
        assert_int_equal(io_write_file_at(AT_FDCWD, path, text.bytes, text.n, 0600, NULL), 0);
        j = open_one();
        assert_true(journal_is_resumed(j));
        assert_true(journal_has(j, 7));
        assert_false(journal_has(j, 8));
        assert_false(journal_has(j, 1));
        journal_close(j, false);
        buf_free(&text);
    }
    /* From a program of another kind, or another machine with the same home. */
    head.bytes[strlen("ludwig upload ")] = '2';
    assert_int_equal(io_write_file_at(AT_FDCWD, path, head.bytes, head.n, 0600, NULL), 0);
    j = open_one();
    assert_false(journal_is_resumed(j));
    journal_close(j, false);
    assert_int_equal(io_write_file_at(AT_FDCWD, path,
                                      "ludwig upload 1\nhost elsewhere\ntemporary "
                                      ".tmp-00112233445566778899aabbccddeeff\nf 1\n",
                                      80, 0600, NULL),
                     0);
    j = open_one();
    assert_false(journal_is_resumed(j));
    assert_false(journal_has(j, 1));
    journal_close(j, true);
    buf_free(&head);
    free(name);
    free(path);
}

static void old_ones_go(void **state)
{
    struct journal *j = open_one();
    struct timespec times[2] = { { .tv_sec = time(NULL) - 8 * 24 * 3600 },
                                 { .tv_sec = time(NULL) - 8 * 24 * 3600 } };
    char *path;

    journal_close(j, false);
    path = only_file(state);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    free(path);
    j = journal_open("other", "project", &tree, N);
    journal_close(j, true);
    path = only_file(state);
    assert_null(path);
}

static void without_a_state_folder_there_is_one_in_memory(void **state)
{
    char *file = path_join(*state, "file");
    struct journal *j;

    assert_int_equal(io_write_file_at(AT_FDCWD, file, "", 0, 0600, NULL), 0);
    assert_int_equal(setenv("XDG_STATE_HOME", file, 1), 0);
    j = open_one();
    assert_false(journal_is_kept(j));
    journal_add(j, 3);
    assert_true(journal_has(j, 3));
    journal_close(j, false);
    j = open_one();
    assert_false(journal_has(j, 3));
    journal_close(j, true);
    free(file);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_next_try_knows_what_is_there),
        TEST(each_tree_of_each_project_and_server_has_its_own),
        TEST(two_at_once_go_their_own_ways),
        TEST(a_restart_forgets_all),
        TEST(a_journal_that_lost_its_end_says_nothing_wrong),
        TEST(nonsense_is_a_new_beginning),
        TEST(old_ones_go),
        TEST(without_a_state_folder_there_is_one_in_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
