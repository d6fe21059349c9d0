/* SPDX-License-Identifier: MIT */
/* python.c - client/python against the tables in the code */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "client/spec/spec.h"
#include "common/base/io.h"
#include "common/proto/envvars.h"

static const char upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
static const char *const files[] = { "client/python/ludwig.py", "client/python/ludwigcluster.py" };

static void read_file(const char *path, struct buf *text)
{
    struct err e = { 0 };

    if (io_read_file(path, 1 << 24, text, &e) < 0)
        fail_msg("%s", e.text);
}

/* ---- variables ---- */

static bool is_one_of(const struct envvar *vars, size_t n_vars, const char *word, size_t n)
{
    for (size_t i = 0; i < n_vars; i++)
        if (strlen(vars[i].name) == n && strncmp(vars[i].name, word, n) == 0)
            return true;
    return false;
}

static size_t check_variables(const char *path)
{
    static const char prefix[] = "LUDWIG_";
    struct buf text = { 0 };
    size_t n_found = 0;

    read_file(path, &text);
    for (const char *at = buf_text(&text); (at = strstr(at, prefix)) != NULL; n_found++) {
        size_t n = strspn(at, upper);

        if (!is_one_of(job_envvars, JOB_ENVVAR_COUNT, at, n) &&
            !is_one_of(user_envvars, USER_ENVVAR_COUNT, at, n))
            fail_msg("%s: common/proto/envvars.h has no %.*s", path, (int)n, at);
        at += n;
    }
    buf_free(&text);
    return n_found;
}

static void variables_of_jobs_are_called_so(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        assert_true(check_variables(files[i]) > 0);
}

/* ---- keys of a sweep ---- */

/* The text between the braces behind name, a tuple of words. */
static char *find_tuple(const struct buf *text, const char *name)
{
    const char *begin = strstr(buf_text(text), name), *end;

    assert_non_null(begin);
    begin += strlen(name);
    end = strchr(begin, ')');
    assert_non_null(end);
    return mem_strndup(begin, (size_t)(end - begin));
}

static bool has_word(const char *tuple, const char *word)
{
    char *quoted = mem_printf("\"%s\"", word);
    bool found = strstr(tuple, quoted) != NULL;

    free(quoted);
    return found;
}

static bool is_word_of(const char *list[], const char *word)
{
    for (; *list != NULL; list++)
        if (strcmp(*list, word) == 0)
            return true;
    return false;
}

/* What stands for it among submit's keywords; NULL: nothing. */
static const char *keyword_of(const char *key)
{
    static const char *elsewhere[] = { "project", "params", "method",  "samples", "seed",   "zip",
                                       "when",    "debug",  "exclude", "include", "budget", NULL };

    if (is_word_of(elsewhere, key))
        return NULL;
    return strcmp(key, "source") == 0 ? "src_ps" : strcmp(key, "data") == 0 ? "data_ps" : key;
}

static void submit_takes_what_a_sweep_file_says(void **state)
{
    struct buf text = { 0 };
    size_t n_keys = 0, n_words = 0;
    char *tuple;

    (void)state;
    read_file(files[0], &text);
    tuple = find_tuple(&text, "\n_SWEEP_KEYS = (");
    for (const struct key *key = spec_keys; key->name != NULL; key++) {
        const char *keyword = keyword_of(key->name);

        if (keyword == NULL)
            continue;
        if (!has_word(tuple, keyword))
            fail_msg("%s: _SWEEP_KEYS lacks %s", files[0], keyword);
        n_keys++;
    }
    for (const char *at = tuple; *at != '\0'; at++)
        n_words += *at == '"';
    assert_int_equal(n_words, 2 * n_keys);
    free(tuple);
    buf_free(&text);
}

/* ---- errors ---- */

static void exceptions_have_the_exit_codes(void **state)
{
    static const struct {
        const char *class;
        int exit_code;
    } cases[] = {
        { "class LudwigError(Exception):", EXIT_FAILED },
        { "class UsageError(LudwigError):", EXIT_USAGE },
        { "class UnreachableError(LudwigError):", EXIT_UNREACHABLE },
        { "class DeniedError(LudwigError):", EXIT_DENIED },
    };
    static const char member[] = "exit_code = ";
    struct buf text = { 0 };

    (void)state;
    read_file(files[0], &text);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *at = strstr(buf_text(&text), cases[i].class);

        assert_non_null(at);
        at = strstr(at, member);
        assert_non_null(at);
        assert_int_equal(atoi(at + strlen(member)), cases[i].exit_code);
    }
    buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_of_jobs_are_called_so),
        cmocka_unit_test(submit_takes_what_a_sweep_file_says),
        cmocka_unit_test(exceptions_have_the_exit_codes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
