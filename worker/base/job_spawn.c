/* SPDX-License-Identifier: MIT */
/* job_spawn.c - starts a job's first process */

#include "worker/base/job_spawn.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/base/child_protocol.h"

enum { STACK_BYTES = 64 * 1024, CPU_MAX = 4096, CPU_WORD_BITS = 8 * sizeof(unsigned long) };

/* What the child is given, and leaves: it runs in our memory until it executes the program. */
struct child {
    const struct job_spawn *spawn;
    pid_t parent;
    unsigned long cpus[CPU_MAX / CPU_WORD_BITS];
    bool is_pinned;
    const char *failed; /* NULL: nothing did */
    int error;
};

static void fill_cpus(struct child *c, const struct list *cpus)
{
    const struct number *numbers = cpus->items;

    for (size_t i = 0; i < cpus->n; i++) {
        uint64_t cpu = (uint64_t)numbers[i].number;

        if (cpu >= CPU_MAX)
            continue;
        c->cpus[cpu / CPU_WORD_BITS] |= 1ul << (cpu % CPU_WORD_BITS);
        c->is_pinned = true;
    }
}

static int fail_child(struct child *c, const char *what)
{
    c->failed = what;
    c->error = errno;
    return 127;
}

/* From here to execve only system calls: the parent's memory is not ours. */
static int child_main(void *context)
{
    struct child *c = context;
    const struct job_spawn *s = c->spawn;
    sigset_t none;

    if (setsid() < 0)
        return fail_child(c, "start a session");
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != c->parent)
        return fail_child(c, "die with the runner");
    if (s->shares_with_group)
        (void)umask(007);
    /* A processor that went away is no reason not to run. */
    if (c->is_pinned)
        (void)syscall(SYS_sched_setaffinity, 0, sizeof c->cpus, c->cpus);
    if (dup2(s->in_fd, 0) < 0 || dup2(s->log_fd, 1) < 0 || dup2(s->log_fd, 2) < 0)
        return fail_child(c, "open stdin, stdout, stderr");
    if (fchdir(s->work_fd) < 0)
        return fail_child(c, "enter the work folder");
    sigemptyset(&none);
    if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
        return fail_child(c, "unblock signals");
    if (s->program != NULL)
        (void)execve(s->program, s->words, s->env);
    /* The shell words what is wrong with a program, and runs scripts without "#!". */
    (void)execve(s->shell, s->shell_words, s->env);
    return fail_child(c, s->shell);
}

/* Sharing memory until execve saves copying our page tables, a fifth of the whole start. */
static pid_t start(struct child *c)
{
    char *stack = mem_resize(NULL, STACK_BYTES, 1);
    pid_t pid = clone(child_main, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, c);

    free(stack);
    return pid;
}

bool job_spawn_knows_groups(void)
{
    return syscall(SYS_clone3, NULL, (size_t)0) < 0 && errno == EINVAL;
}

/* To enter a group later would take the kernel many milliseconds. */
static pid_t start_in_group(struct child *c, int group_fd)
{
    struct clone_args args = { .flags = CLONE_VFORK | CLONE_INTO_CGROUP,
                               .exit_signal = SIGCHLD,
                               .cgroup = (unsigned long long)group_fd };
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);

    if (pid == 0)
        _exit(child_main(c));
    return pid;
}

/* What the child writes there we see, whether it is started with our memory or a copy. */
static struct child *child_create(const struct job_spawn *s, struct err *e)
{
    struct child *c =
        mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (c == MAP_FAILED) {
        err_sys(e, "start a process");
        return NULL;
    }
    *c = (struct child){ .spawn = s, .parent = getpid() };
    fill_cpus(c, s->cpus);
    return c;
}

static pid_t job_spawn_child(struct child *c, bool *is_jobs_fault, struct err *e)
{
    const struct job_spawn *s = c->spawn;
    pid_t pid = s->has_group ? start_in_group(c, s->group_fd) : start(c);

    if (pid < 0)
        return err_sys(e, "start a process");
    if (c->failed == NULL)
        return pid;
    (void)waitpid(pid, NULL, 0);
    *is_jobs_fault = c->failed == s->shell;
    errno = c->error;
    return err_sys(e, "%s", c->failed);
}

pid_t job_spawn(const struct job_spawn *s, bool *is_jobs_fault, struct err *e)
{
    struct child *c = child_create(s, e);
    pid_t pid;

    *is_jobs_fault = false;
    if (c == NULL)
        return -1;
    pid = job_spawn_child(c, is_jobs_fault, e);
    munmap(c, sizeof *c);
    return pid;
}
