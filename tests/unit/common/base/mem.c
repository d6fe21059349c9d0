/* SPDX-License-Identifier: MIT */
/* mem.c - memory is there, or the process ends */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/mem.h"

static void new_memory_is_zeroed_and_never_null(void **state)
{
    char *p = mem_alloc(4096);
    void *none = mem_alloc(0);

    (void)state;
    for (size_t i = 0; i < 4096; i++)
        assert_int_equal(p[i], 0);
    assert_non_null(none);
    free(p);
    free(none);
}

static void copies_have_a_nul_behind_them(void **state)
{
    char *whole = mem_strdup("sweep");
    char *part = mem_strndup("sweep", 2);
    char *short_one = mem_strndup("sweep", 50);
    char *bytes = mem_copy("a\0b", 3);
    char *nothing = mem_copy(NULL, 0);

    (void)state;
    assert_string_equal(whole, "sweep");
    assert_string_equal(part, "sw");
    assert_string_equal(short_one, "sweep");
    assert_memory_equal(bytes, "a\0b", 4);
    assert_string_equal(nothing, "");
    free(whole);
    free(part);
    free(short_one);
    free(bytes);
    free(nothing);
}

static void printed_text_is_as_long_as_it_needs_to_be(void **state)
{
    char *text = mem_printf("%s/%0*d", "logs", 5000, 7);

    (void)state;
    assert_int_equal(strlen(text), 5005);
    assert_memory_equal(text, "logs/0000", 9);
    assert_string_equal(text + 5000, "00007");
    free(text);
}

static void an_array_grows_so_that_one_more_fits_and_keeps_what_it_held(void **state)
{
    size_t *numbers = NULL;
    size_t capacity = 0, times_grown = 0;

    (void)state;
    for (size_t n = 0; n < 10000; n++) {
        size_t before = capacity;

        mem_grow((void **)&numbers, &capacity, n, sizeof *numbers);
        assert_true(capacity > n);
        times_grown += capacity != before;
        numbers[n] = n;
    }
    for (size_t n = 0; n < 10000; n++)
        assert_int_equal(numbers[n], n);
    assert_in_range(times_grown, 1, 20);
    free(numbers);
}

static void resize_overflow(void)
{
    mem_resize(NULL, SIZE_MAX / 2, 3);
}

static void grow_overflow(void)
{
    void *items = NULL;
    size_t capacity = 0;

    mem_grow(&items, &capacity, SIZE_MAX, 1);
}

static void copy_overflow(void)
{
    mem_copy("x", SIZE_MAX);
}

static void arena_overflow(void)
{
    arena_alloc(arena_create(), SIZE_MAX - 3);
}

static void too_much(void)
{
/* Sanitizers report this before it comes to us. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
    mem_alloc(SIZE_MAX / 4);
#else
    _exit(1);
#endif
}

/* True when the process that tries ends with 1 by itself. */
static void assert_ends_process(void (*try)(void))
{
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        if (close(STDERR_FILENO) == 0)
            try();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
}

static void impossible_sizes_end_the_process(void **state)
{
    (void)state;
    assert_ends_process(resize_overflow);
    assert_ends_process(grow_overflow);
    assert_ends_process(copy_overflow);
    assert_ends_process(arena_overflow);
    assert_ends_process(too_much);
}

static void an_arena_hands_out_zeroed_aligned_memory_that_does_not_overlap(void **state)
{
    enum { COUNT = 3000 };
    struct arena *a = arena_create();
    static unsigned char *pieces[COUNT];

    (void)state;
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            size_t n = i % 50 == 0 ? 40 * i : i % 300;

            pieces[i] = arena_alloc(a, n);
            assert_int_equal((uintptr_t)pieces[i] % alignof(max_align_t), 0);
            for (size_t k = 0; k < n; k++)
                assert_int_equal(pieces[i][k], 0);
            memset(pieces[i], (int)(i % 255) + 1, n);
        }
        for (size_t i = 0; i < COUNT; i++)
            for (size_t n = i % 50 == 0 ? 40 * i : i % 300; n > 0; n--)
                assert_int_equal(pieces[i][n - 1], i % 255 + 1);
        arena_reset(a);
    }
    arena_destroy(a);
}

static void an_arena_that_was_reset_uses_its_memory_again(void **state)
{
    struct arena *a = arena_create();
    void *first = arena_alloc(a, 100);

    (void)state;
    assert_in_range(arena_bytes(a), 100, 100000);
    arena_alloc(a, 1000000);
    assert_in_range(arena_bytes(a), 1000000, 1100000);
    arena_reset(a);
    assert_in_range(arena_bytes(a), 100, 100000);
    assert_ptr_equal(arena_alloc(a, 100), first);
    arena_destroy(a);
}

static void an_arena_copies_strings_with_what_is_in_them(void **state)
{
    struct arena *a = arena_create();

    (void)state;
    assert_memory_equal(arena_strndup(a, "a\0bc", 3), "a\0b", 4);
    assert_string_equal(arena_strndup(a, NULL, 0), "");
    assert_string_equal(arena_strdup(a, "sweep"), "sweep");
    assert_string_equal(arena_printf(a, "%d.%d", 7, 13), "7.13");
    assert_int_equal(strlen(arena_printf(a, "%0*d", 300000, 0)), 300000);
    arena_destroy(a);
}

static void destroying_no_arena_is_fine(void **state)
{
    (void)state;
    arena_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_memory_is_zeroed_and_never_null),
        cmocka_unit_test(copies_have_a_nul_behind_them),
        cmocka_unit_test(printed_text_is_as_long_as_it_needs_to_be),
        cmocka_unit_test(an_array_grows_so_that_one_more_fits_and_keeps_what_it_held),
        cmocka_unit_test(impossible_sizes_end_the_process),
        cmocka_unit_test(an_arena_hands_out_zeroed_aligned_memory_that_does_not_overlap),
        cmocka_unit_test(an_arena_that_was_reset_uses_its_memory_again),
        cmocka_unit_test(an_arena_copies_strings_with_what_is_in_them),
        cmocka_unit_test(destroying_no_arena_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
