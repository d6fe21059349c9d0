/* SPDX-License-Identifier: MIT */
/* job_spawn.c - starts a job's first process */

#include "worker/base/job_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/base/child_protocol.h"
#include "worker/base/confine.h"

enum { STACK_BYTES = 64 * 1024, CPU_MAX = 4096, CPU_WORD_BITS = 8 * sizeof(unsigned long) };

/* What the child reads and writes: it shares this memory with us until it executes the program. */
struct child {
    const struct job_spawn *spawn;
    pid_t parent;
    unsigned long cpus[CPU_MAX / CPU_WORD_BITS];
    bool is_pinned;
    const char *failed; /* the step that failed; NULL: none */
    int error;
};

static int fail_child(struct child *c, const char *what)
{
    c->failed = what;
    c->error = errno;
    return 127;
}

/* Makes only system calls until execve, as the memory may be the parent's. */
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
    confine_give_way();
    confine_no_helper();
    if (s->file_max_bytes > 0) {
        const struct rlimit most = { (rlim_t)s->file_max_bytes, (rlim_t)s->file_max_bytes };

        (void)setrlimit(RLIMIT_FSIZE, &most); /* a lower one stays */
    }
    /* The job runs even if its processors have gone away. */
    if (c->is_pinned)
        (void)syscall(SYS_sched_setaffinity, 0, sizeof c->cpus, c->cpus);
    if (dup2(s->in_fd, 0) < 0 || dup2(s->out_fd > 0 ? s->out_fd : s->log_fd, 1) < 0 ||
        dup2(s->log_fd, 2) < 0)
        return fail_child(c, "open stdin, stdout, stderr");
    if (fchdir(s->work_fd) < 0)
        return fail_child(c, "enter the work folder");
    sigemptyset(&none);
    if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
        return fail_child(c, "unblock signals");
    if (s->program != NULL)
        (void)execve(s->program, s->words, s->env);
    /* The shell says what is wrong with a program, and runs scripts without "#!". */
    (void)execve(s->shell, s->shell_words, s->env);
    return fail_child(c, s->shell);
}

bool job_spawn_knows_groups(void)
{
    return syscall(SYS_clone3, NULL, (size_t)0) < 0 && errno == EINVAL;
}

/* *c is in shared memory: it brings the child's error back also where clone3 copies our memory. */
pid_t job_spawn(const struct job_spawn *s, bool *is_jobs_fault, struct err *e)
{
    const struct number *cpus = s->cpus->items;
    struct child *c =
        mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid;

    *is_jobs_fault = false;
    if (c == MAP_FAILED)
        return err_sys(e, "start a process");
    *c = (struct child){ .spawn = s, .parent = getpid() };
    for (size_t i = 0; i < s->cpus->n; i++) {
        uint64_t cpu = (uint64_t)cpus[i].number;

        if (cpu >= CPU_MAX)
            continue;
        c->cpus[cpu / CPU_WORD_BITS] |= 1ul << (cpu % CPU_WORD_BITS);
        c->is_pinned = true;
    }
    if (s->has_group) { /* entering a group later would take the kernel many milliseconds */
        struct clone_args args = { .flags = CLONE_VFORK | CLONE_INTO_CGROUP,
                                   .exit_signal = SIGCHLD,
                                   .cgroup = (unsigned long long)s->group_fd };

        pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
        if (pid == 0)
            _exit(child_main(c));
    } else { /* sharing memory until execve saves copying our page tables, a fifth of the start */
        char *stack = mem_resize(NULL, STACK_BYTES, 1);

        pid = clone(child_main, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, c);
        free(stack);
    }
    if (pid < 0) {
        err_sys(e, "start a process");
    } else if (c->failed != NULL) {
        (void)waitpid(pid, NULL, 0);
        *is_jobs_fault = c->failed == s->shell;
        errno = c->error;
        pid = err_sys(e, "%s", c->failed);
    }
    munmap(c, sizeof *c);
    return pid;
}

/* ---- commands that need no shell ---- */

/* Reserved words and builtins of dash, bash and POSIX. */
static bool is_shells_own(const char *word)
{
    static const char *const own[] = {
        ".",        ":",       "[",       "alias",  "bg",      "bind",     "break",    "builtin",
        "caller",   "case",    "cd",      "chdir",  "command", "compgen",  "complete", "compopt",
        "continue", "coproc",  "declare", "dirs",   "disown",  "do",       "done",     "echo",
        "elif",     "else",    "enable",  "esac",   "eval",    "exec",     "exit",     "export",
        "false",    "fc",      "fg",      "fi",     "for",     "function", "getopts",  "hash",
        "help",     "history", "if",      "in",     "jobs",    "kill",     "let",      "local",
        "logout",   "mapfile", "popd",    "printf", "pushd",   "pwd",      "read",     "readarray",
        "readonly", "return",  "select",  "set",    "shift",   "shopt",    "source",   "suspend",
        "test",     "then",    "time",    "times",  "trap",    "true",     "type",     "typeset",
        "ulimit",   "umask",   "unalias", "unset",  "until",   "wait",     "while",
    };

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(word, own[i]) == 0)
            return true;
    return false;
}

/* Copies a word to *to and moves *from behind it; false: the command needs a shell. */
static bool take_word(const char **from, char **to)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:,+@%=";
    const char *at = *from;

    while (*at != '\0' && *at != ' ' && *at != '\t') {
        if (*at == '\'') {
            const char *end = strchr(at + 1, '\'');

            if (end == NULL)
                return false;
            memcpy(*to, at + 1, (size_t)(end - at - 1));
            *to += end - at - 1;
            at = end + 1;
        } else if (strchr(plain, *at) != NULL) {
            *(*to)++ = *at++;
        } else {
            return false;
        }
    }
    *(*to)++ = '\0';
    *from = at;
    return true;
}

char **job_spawn_words(const char *command, struct arena *a)
{
    char **words = arena_alloc(a, (strlen(command) / 2 + 2) * sizeof *words);
    char *to = arena_alloc(a, strlen(command) + 1);
    size_t n = 0;

    for (const char *at = command + strspn(command, " \t"); *at != '\0'; at += strspn(at, " \t")) {
        words[n++] = to;
        if (!take_word(&at, &to))
            return NULL;
    }
    if (n == 0 || words[0][0] == '\0' || strchr(words[0], '=') != NULL || is_shells_own(words[0]))
        return NULL;
    return words;
}

const char *job_spawn_program(const char *word, const char *path, struct arena *a)
{
    struct stat st;

    if (strchr(word, '/') != NULL)
        return word;
    while (path != NULL && *path != '\0') {
        size_t n = strcspn(path, ":");
        const char *candidate = arena_printf(a, "%.*s/%s", (int)n, path, word);

        if (n > 0 && path[0] == '/' && stat(candidate, &st) == 0 && S_ISREG(st.st_mode) &&
            access(candidate, X_OK) == 0)
            return candidate;
        path += n + (path[n] == ':');
    }
    return NULL;
}
