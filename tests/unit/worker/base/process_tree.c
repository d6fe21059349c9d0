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

/* As a stopped runner, below which a job has started others. */
static void what_is_below_a_stopped_process_is_killed(void **state)
{
    struct process_tree_process *children;
    struct process_look look;
    int ends[2], status, tries = 0;
    pid_t root, below;
    size_t n;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    root = fork();
    assert_true(root >= 0);
    if (root == 0) {
        below = fork();
        if (below > 0 && write(ends[1], &below, sizeof below) == (ssize_t)sizeof below)
            kill(getpid(), SIGSTOP);
        (void)pause();
        _exit(0);
    }
    assert_int_equal(read(ends[0], &below, sizeof below), sizeof below);
    assert_int_equal(waitpid(root, &status, WUNTRACED), root);
    assert_true(WIFSTOPPED(status));
    children = process_tree_children(&n);
    assert_int_equal(n, 1);
    assert_int_equal(children[0].pid, root);
    free(children);
    assert_true(process_look(root, &look));
    assert_int_equal(look.state, 'T');
    assert_int_equal(look.uid, getuid());
    assert_int_equal(process_tree_kill_below(root, getuid() + 1), 0);
    assert_int_equal(process_tree_kill_below(root, getuid()), 1);
    while (process_tree_kill_below(root, getuid()) > 0 && tries++ < 1000)
        usleep(10 * 1000);
    assert_true(process_look(below, &look)); /* nobody has waited for it */
    assert_int_equal(look.state, 'Z');
    kill(root, SIGKILL);
    assert_int_equal(waitpid(root, &status, 0), root);
    assert_false(process_look(root, &look));
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_processes_of_the_attempt_are_killed),
        cmocka_unit_test(what_is_below_a_stopped_process_is_killed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
