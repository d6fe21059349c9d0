/* SPDX-License-Identifier: MIT */
/* process_tree.c - tests of how the processes of an attempt are found */

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "worker/base/process_tree.h"

/* A process that sleeps, with one entry in its environment; it has it when this returns. */
static pid_t start_sleeper(const char *entry)
{
    enum { COPY_FD = 100 };
    char *const args[] = { "sleep", "100", NULL };
    char *copy = mem_strdup(entry);
    char *const environment[] = { "PATH=/usr/bin:/bin", copy, NULL };
    int ends[2];
    pid_t pid;
    char byte;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(ends[0]);
        /* Closed by a successful exec, so the parent's read ends then. */
        if (dup3(ends[1], COPY_FD, O_CLOEXEC) < 0)
            _exit(1);
        close(ends[1]);
        execve("/bin/sleep", args, environment);
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    free(copy);
    return pid;
}

static char *entry_of(const struct token *t, const char *behind)
{
    char hex[TOKEN_HEX];

    token_hex(t, hex);
    return mem_printf("LUDWIG_ATTEMPT=%s%s", hex, behind);
}

static void only_processes_of_the_attempt_are_killed(void **state)
{
    static const struct {
        int of; /* which of two tokens */
        const char *behind;
        bool is_killed;
    } cases[] = { { 0, "", true }, { 0, "0", false }, { 1, "", false } };
    enum { N = sizeof cases / sizeof cases[0] };
    struct token tokens[2];
    pid_t pids[N];
    int status;

    (void)state;
    token_make(&tokens[0]);
    token_make(&tokens[1]);
    for (size_t i = 0; i < N; i++) {
        char *entry = entry_of(&tokens[cases[i].of], cases[i].behind);

        pids[i] = start_sleeper(entry);
        free(entry);
    }
    assert_int_equal(process_tree_kill_marked(&tokens[0]), 1);
    for (size_t i = 0; i < N; i++) {
        if (!cases[i].is_killed) {
            assert_int_equal(waitpid(pids[i], &status, WNOHANG), 0);
            kill(pids[i], SIGTERM);
        }
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(WTERMSIG(status), cases[i].is_killed ? SIGKILL : SIGTERM);
    }
    assert_int_equal(process_tree_kill_marked(&tokens[0]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_processes_of_the_attempt_are_killed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
