/* SPDX-License-Identifier: MIT */
/* child.c - runs other programs, with a list of words and never through a shell */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include "client/util/active_env.h"
#include "client/util/child.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"

enum { READ_BYTES = 64 * 1024 };

/* The arguments for starting a child; descriptors are -1 for /dev/null. */
struct start {
    const char *const *argv;
    int stdout_fd, stderr_fd;
    bool is_daemon;
    const char *path; /* its PATH; NULL: ours */
};

static int make_pipe(int ends[2], struct err *e)
{
    if (pipe(ends) < 0)
        return err_sys(e, "pipe");
    for (int i = 0; i < 2; i++)
        if (fcntl(ends[i], F_SETFD, FD_CLOEXEC) < 0) {
            err_sys(e, "pipe");
            close(ends[0]);
            close(ends[1]);
            return -1;
        }
    return 0;
}

/* Starts a child.  The pipe closes when the program runs, or carries errno. */
static pid_t start_child(const struct start *s, struct err *e)
{
    int ends[2], number = 0;
    pid_t pid;
    ssize_t n;

    if (make_pipe(ends, e) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        sigset_t none;

        if (null_fd >= 0 && dup2(null_fd, STDIN_FILENO) >= 0 &&
            dup2(s->stdout_fd >= 0 ? s->stdout_fd : null_fd, STDOUT_FILENO) >= 0 &&
            dup2(s->stderr_fd >= 0 ? s->stderr_fd : null_fd, STDERR_FILENO) >= 0 &&
            signal(SIGPIPE, SIG_DFL) != SIG_ERR && signal(SIGXFSZ, SIG_DFL) != SIG_ERR &&
            sigemptyset(&none) == 0 && sigprocmask(SIG_SETMASK, &none, NULL) == 0 &&
            (s->path == NULL || setenv("PATH", s->path, 1) == 0) &&
            (!s->is_daemon || (setsid() >= 0 && chdir("/") == 0)))
            execvp(s->argv[0], (char *const *)(uintptr_t)s->argv);
        number = errno;
        (void)!io_write_all(ends[1], &number, sizeof number);
        _exit(127);
    }
    if (pid < 0)
        err_sys(e, "fork");
    close(ends[1]);
    n = pid < 0 ? 0 : io_read_all(ends[0], &number, sizeof number);
    close(ends[0]);
    if (n == 0)
        return pid;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    errno = number;
    return err_sys(e, "start %s", s->argv[0]);
}

static int wait_for(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int child_begin(struct child_run *run, const char *const *argv, struct err *e)
{
    struct start s = { .argv = argv, .stderr_fd = -1 };
    int ends[2];
    pid_t pid;

    *run = (struct child_run){ 0 };
    if (make_pipe(ends, e) < 0)
        return -1;
    s.stdout_fd = ends[1];
    pid = start_child(&s, e);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return -1;
    }
    *run = (struct child_run){ pid, ends[0] };
    return 0;
}

static int end_run(struct child_run *run)
{
    pid_t pid = run->pid;

    close(run->stdout_fd);
    *run = (struct child_run){ 0 };
    return wait_for(pid);
}

int child_end(struct child_run *run, size_t max_bytes, struct buf *out)
{
    ssize_t n;

    if (run->pid <= 0)
        return -1;
    n = io_read_all(run->stdout_fd, buf_reserve(out, max_bytes), max_bytes);
    if (n > 0)
        buf_added(out, (size_t)n);
    return end_run(run);
}

void child_stop(struct child_run *run)
{
    if (run->pid <= 0)
        return;
    (void)kill(run->pid, SIGKILL);
    (void)end_run(run);
}

int child_capture(const char *const *argv, size_t max_bytes, struct buf *out, struct err *e)
{
    struct child_run run;

    return child_begin(&run, argv, e) < 0 ? -1 : child_end(&run, max_bytes, out);
}

int child_capture_all(const char *const *argv, struct buf *out, struct buf *errors, struct err *e)
{
    struct buf *const to[] = { out, errors };
    int ends[2][2];
    struct pollfd fds[2];
    pid_t pid;

    if (make_pipe(ends[0], e) < 0)
        return -1;
    if (make_pipe(ends[1], e) < 0) {
        close(ends[0][0]);
        close(ends[0][1]);
        return -1;
    }
    pid = start_child(&(struct start){ argv, ends[0][1], ends[1][1], false, NULL }, e);
    for (int i = 0; i < 2; i++) {
        close(ends[i][1]);
        fds[i] = (struct pollfd){ pid < 0 ? -1 : ends[i][0], POLLIN, 0 };
    }
    /* Both pipes are read at once, as the child waits with one while the other is full. */
    while (pid > 0 && (fds[0].fd >= 0 || fds[1].fd >= 0)) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR) {
            err_sys(e, "poll");
            (void)kill(pid, SIGKILL);
            (void)wait_for(pid);
            pid = -1;
        }
        for (int i = 0; i < 2 && pid > 0; i++) {
            ssize_t n;

            if (fds[i].fd < 0 || fds[i].revents == 0)
                continue;
            n = read(fds[i].fd, buf_reserve(to[i], READ_BYTES), READ_BYTES);
            if (n > 0)
                buf_added(to[i], (size_t)n);
            else if (n == 0 || errno != EINTR)
                fds[i].fd = -1;
            fds[i].revents = 0;
        }
    }
    close(ends[0][0]);
    close(ends[1][0]);
    return pid < 0 ? -1 : wait_for(pid);
}

pid_t child_start_daemon(const char *const *argv, const char *log_path, struct err *e)
{
    int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    struct start s = { .argv = argv, .stdout_fd = log, .stderr_fd = log, .is_daemon = true };
    char *path;
    pid_t pid;

    if (log < 0)
        return err_sys(e, "open %s", log_path);
    /* It outlives this shell, and so must not run later sweeps in what happens to be active here. */
    path = active_env_path_without();
    s.path = path;
    pid = start_child(&s, e);
    free(path);
    close(log);
    return pid;
}

bool child_has_ended(pid_t pid)
{
    return waitpid(pid, NULL, WNOHANG) == pid;
}

char *child_beside_us(const char *name, struct err *e)
{
    char *own, *dir, *path;
#ifdef __APPLE__
    uint32_t n = 0;
    char *raw;

    _NSGetExecutablePath(NULL, &n);
    raw = mem_alloc(n + 1);
    if (_NSGetExecutablePath(raw, &n) != 0)
        raw[0] = '\0';
    own = path_real(raw, e);
    free(raw);
#else
    own = path_real("/proc/self/exe", e);
#endif
    if (own == NULL)
        return NULL;
    dir = path_dirname(own);
    path = path_join(dir, name);
    if (access(path, X_OK) < 0) {
        err_sys(e, "there is no %s beside %s: %s", name, own, path);
        free(path);
        path = NULL;
    }
    free(dir);
    free(own);
    return path;
}

char *child_find(const char *name)
{
    const char *dir = getenv("PATH");

    while (dir != NULL && *dir != '\0') {
        size_t n = strcspn(dir, ":");

        if (n > 0) {
            char *path = mem_printf("%.*s/%s", (int)n, dir, name);

            if (access(path, X_OK) == 0)
                return path;
            free(path);
        }
        dir += n + (dir[n] == ':');
    }
    return NULL;
}

bool child_is_in_path(const char *name)
{
    char *path = child_find(name);

    free(path);
    return path != NULL;
}
