/* SPDX-License-Identifier: MIT */
/* sshd.c - ludwigd's own sshd: prepared, started, started again, ended */

#include "server/sshd/sshd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "server/base/identity.h"
#include "server/base/sshdconf.h"

struct sshd_files {
    char *dir, *config, *pid;
    const char *program;
    int port;
};

/* ---- programs ---- */

static char *ludwig_beside_us(struct err *e)
{
    char *own = path_real("/proc/self/exe", e), *dir, *path;

    if (own == NULL)
        return NULL;
    dir = path_dirname(own);
    path = path_join(dir, "ludwig");
    if (access(path, X_OK) < 0) {
        err_sys(e, "sshd: %s", path);
        free(path);
        path = NULL;
    }
    free(dir);
    free(own);
    return path;
}

/* Runs a program and waits for it; its output goes to our log. */
static int run_program(const char *const *words, struct err *e)
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

        if (null_fd >= 0 && dup2(null_fd, 0) >= 0 && dup2(null_fd, 1) >= 0)
            execvp(words[0], (char *const *)(uintptr_t)words);
        _exit(127);
    }
    if (pid < 0)
        return err_sys(e, "fork");
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return err_sys(e, "wait for %s", words[0]);
    if (status == 0)
        return 0;
    return err_set(e, ERR_FAILED, "sshd: %s failed (status %d; is it installed?)", words[0],
                   WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* ---- files ---- */

/* The public key is put in place first: where there is a host key, there are both. */
static int make_host_key(const char *dir, struct err *e)
{
    char *path = path_join(dir, "hostkey"), *public_path = path_join(dir, "hostkey.pub");
    char *fresh = mem_printf("%s.new", path), *public_fresh = mem_printf("%s.pub", fresh);
    const char *const words[] = { "ssh-keygen", "-q",      "-t", "ed25519", "-N", "",
                                  "-C",         "ludwigd", "-f", fresh,     NULL };
    int rc = 0;

    if (access(path, F_OK) < 0) {
        (void)unlink(fresh); /* left by a ludwigd that was killed: ssh-keygen would ask */
        rc = run_program(words, e);
        if (rc == 0 && rename(public_fresh, public_path) < 0)
            rc = err_sys(e, "make %s", public_path);
        if (rc == 0 && rename(fresh, path) < 0)
            rc = err_sys(e, "make %s", path);
    }
    free(public_fresh);
    free(fresh);
    free(public_path);
    free(path);
    return rc;
}

/* ---- the port ---- */

/* Chooses a port below those of outgoing connections, so that it is free at the next start. */
static int choose_port(struct sshd_listen *l, struct err *e)
{
    enum { FIRST = 10000, PORTS = 20000, TRIES = 200 };
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    bool is_v6 = strchr(l->address, ':') != NULL;
    bool is_address =
        is_v6 ? inet_pton(AF_INET6, l->address, &v6.sin6_addr) == 1
              : l->address[0] == '\0' || inet_pton(AF_INET, l->address, &v4.sin_addr) == 1;
    struct token random;

    for (int i = 0; i < TRIES; i++) {
        int fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), rc = -1;

        token_make(&random);
        l->port = FIRST + (random.bytes[0] << 8 | random.bytes[1]) % PORTS;
        v4.sin_port = v6.sin6_port = htons((uint16_t)l->port);
        if (is_address)
            rc = is_v6 ? bind(fd, (const struct sockaddr *)&v6, sizeof v6)
                       : bind(fd, (const struct sockaddr *)&v4, sizeof v4);
        if (fd >= 0)
            close(fd);
        if (rc == 0)
            return 0;
    }
    return err_sys(e, "sshd: no port could be bound on '%s'",
                   l->address[0] != '\0' ? l->address : "*");
}

/* Sets the port that was configured, or was chosen before. */
static int settle_port(const char *dir, struct sshd_listen *l, struct err *e)
{
    char *path = path_join(dir, "address");
    struct buf text = { 0 };
    int rc = 0;

    if (l->port == 0 && io_read_file(path, 256, &text, NULL) == 0)
        l->port = atoi(buf_text(&text));
    if (l->port <= 0 || l->port > 65535)
        rc = choose_port(l, e);
    buf_clear(&text);
    buf_printf(&text, "%d\n%s\n", l->port, l->address);
    if (rc == 0)
        rc = io_replace_file(path, text.bytes, text.n, 0600, e);
    buf_free(&text);
    free(path);
    return rc;
}

/* ---- sshd_config ---- */

static void sshd_files_name(const struct server *sv, struct sshd_files *f)
{
    f->dir = path_join(sv->conf.state, "sshd");
    f->config = path_join(f->dir, "sshd_config");
    f->pid = path_join(f->dir, "pid");
}

/* Finds programs, makes missing files, writes the configuration and has sshd check it.  Waits for
 * other programs: call it before the loop runs. */
static int prepare(struct server *sv, struct sshd_files *f, struct err *e)
{
    static const char *const places[] = { "/usr/sbin/sshd", "/usr/local/sbin/sshd", "/sbin/sshd" };
    const char *const *sockets = sv->conf.sockets.items;
    const struct passwd *entry;
    char *user = identity_user_name(geteuid()), *ludwig = ludwig_beside_us(e), *keys = NULL;
    struct sshdconf c = { .user = user, .ludwig = ludwig, .socket = sockets[0] };
    struct buf text = { 0 };
    int fd = -1, rc = -1;

    sshd_files_name(sv, f);
    c.dir = f->dir;
    if (ludwig == NULL)
        goto out;
    for (size_t i = 0; f->program == NULL && i < sizeof places / sizeof places[0]; i++)
        if (access(places[i], X_OK) == 0)
            f->program = places[i];
    if (f->program == NULL) {
        err_set(e, ERR_NOT_FOUND, "sshd: there is none here (openssh-server brings it)");
        goto out;
    }
    if (sshdconf_parse_listen(sv->conf.sshd_listen, sv->conf.arena, &c.listen, e) < 0)
        goto out;
    if (mkdir(f->dir, 0700) < 0 && errno != EEXIST) {
        err_sys(e, "make %s", f->dir);
        goto out;
    }
    entry = getpwuid(geteuid());
    if (entry == NULL) {
        err_set(e, ERR_DENIED, "sshd: uid %u is not known here, so nobody can log in as it",
                geteuid());
        goto out;
    }
    if (sshdconf_check_modes(f->dir, entry->pw_dir, e) < 0 || make_host_key(f->dir, e) < 0)
        goto out;
    keys = path_join(f->dir, "authorized_keys");
    fd = open(keys, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        err_sys(e, "make %s", keys);
    else if (settle_port(f->dir, &c.listen, e) == 0 && sshdconf_write(&c, &text, e) == 0 &&
             io_replace_file(f->config, text.bytes, text.n, 0600, e) == 0) {
        const char *const words[] = { f->program, "-t", "-f", f->config, NULL };

        rc = run_program(words, e);
        if (rc < 0)
            err_wrap(e, "sshd does not take its configuration %s", f->config);
    }
    if (fd >= 0)
        close(fd);
out:
    f->port = c.listen.port;
    buf_free(&text);
    free(keys);
    free(user);
    free(ludwig);
    return rc;
}

static void sshd_files_free(struct sshd_files *f)
{
    free(f->dir);
    free(f->config);
    free(f->pid);
}

enum {
    FIRST_PAUSE_MS = 500,
    LONGEST_PAUSE_MS = 60 * 1000,
    LIVED_MS = 60 * 1000, /* an sshd that lived so long is started again at once */
    END_MAX_MS = 3000,
    LINE_MAX_BYTES = 4096
};

struct sshd {
    struct server *sv;
    struct sshd_files files;
    pid_t pid; /* 0: sshd does not run */
    uint64_t started_ms, pause_ms;
    uv_signal_t ended; /* SIGCHLD */
    uv_timer_t again;
    uv_pipe_t words; /* sshd's output */
    int words_fd;    /* sshd's end of that pipe */
    struct buf line;
    char input[LINE_MAX_BYTES];
    int n_handles;
};

/* ---- an sshd that was left ---- */

/* Whether the process is an sshd with our configuration: its title names it. */
static bool is_ours(pid_t pid, const struct sshd_files *f)
{
    char *path = mem_printf("/proc/%ld/cmdline", (long)pid);
    struct buf words = { 0 };
    struct stat st;
    bool is_it = false;

    if (stat(path, &st) == 0 && st.st_uid == geteuid() &&
        io_read_file(path, LINE_MAX_BYTES, &words, NULL) == 0)
        is_it = memmem(words.bytes, words.n, f->config, strlen(f->config)) != NULL;
    buf_free(&words);
    free(path);
    return is_it;
}

static void end_old(const struct sshd_files *f)
{
    int64_t until_ms = units_monotonic_ms() + END_MAX_MS;
    struct buf text = { 0 };
    pid_t pid = 0;

    if (io_read_file(f->pid, 64, &text, NULL) == 0)
        pid = (pid_t)strtol(buf_text(&text), NULL, 10);
    buf_free(&text);
    if (pid <= 1 || !is_ours(pid, f))
        return;
    log_event(LOG_INFO, "sshd-left", "pid", "%lld", (long long)pid, NULL);
    (void)kill(pid, SIGTERM);
    while (is_ours(pid, f) && units_monotonic_ms() < until_ms)
        (void)usleep(10 * 1000);
    if (is_ours(pid, f))
        (void)kill(pid, SIGKILL);
}

void sshd_end_left(const struct server *sv)
{
    struct sshd_files f = { 0 };

    sshd_files_name(sv, &f);
    end_old(&f);
    sshd_files_free(&f);
}

/* ---- sshd's output ---- */

static void say_lines(struct sshd *s)
{
    uint8_t *end;

    while (s->line.n > 0 && (end = memchr(s->line.bytes, '\n', s->line.n)) != NULL) {
        size_t n = (size_t)(end - s->line.bytes);
        char *text = mem_strndup((const char *)s->line.bytes, n);

        text[strcspn(text, "\r")] = '\0';
        log_event(LOG_INFO, "sshd", "says", "%s", text, NULL);
        /* sshd would go on with the addresses that it got, IPv6 for example: clients that come by
         * the other would wait in vain. */
        if (strncmp(text, "Bind to port ", 13) == 0 && strstr(text, "already in use") != NULL &&
            s->pid > 0)
            (void)kill(s->pid, SIGTERM);
        free(text);
        buf_drop_front(&s->line, n + 1);
    }
    if (s->line.n > LINE_MAX_BYTES)
        buf_clear(&s->line);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *b)
{
    struct sshd *s = handle->data;

    (void)suggested;
    *b = uv_buf_init(s->input, sizeof s->input);
}

static void on_words(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
    struct sshd *s = stream->data;

    if (n < 0)
        uv_read_stop(stream);
    if (n <= 0)
        return;
    buf_add(&s->line, b->base, (size_t)n);
    say_lines(s);
}

/* One pipe serves all: sessions go on writing into the pipe of the sshd that they came from. */
static int open_words(struct sshd *s, struct err *e)
{
    int ends[2], rc;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_sys(e, "pipe");
    s->words_fd = ends[1];
    rc = uv_pipe_open(&s->words, ends[0]);
    if (rc < 0)
        close(ends[0]);
    else
        rc = uv_read_start((uv_stream_t *)&s->words, on_alloc, on_words);
    return rc < 0 ? err_set(e, ERR_FAILED, "sshd's log: %s", uv_strerror(rc)) : 0;
}

/* ---- starting ---- */

/* In the child: makes nothing but system calls until the program runs. */
static void become(const char *const *words, int log_fd, pid_t parent)
{
    int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    sigset_t none;

    sigemptyset(&none);
    if (null_fd < 0 || dup2(null_fd, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 ||
        getppid() != parent || dup2(log_fd, 2) < 0 || dup2(log_fd, 1) < 0 || setsid() < 0 ||
        signal(SIGPIPE, SIG_DFL) == SIG_ERR || sigprocmask(SIG_SETMASK, &none, NULL) < 0)
        _exit(126);
    execv(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
}

static void start(struct sshd *s);

static void on_again(uv_timer_t *timer)
{
    start(timer->data);
}

static void start_later(struct sshd *s)
{
    bool has_lived = uv_now(&s->sv->loop) - s->started_ms >= LIVED_MS;

    s->pause_ms = has_lived || s->pause_ms == 0 ? FIRST_PAUSE_MS : 2 * s->pause_ms;
    if (s->pause_ms > LONGEST_PAUSE_MS)
        s->pause_ms = LONGEST_PAUSE_MS;
    uv_timer_start(&s->again, on_again, s->pause_ms, 0);
}

static void start(struct sshd *s)
{
    const char *const words[] = { s->files.program, "-D", "-e", "-f", s->files.config, NULL };
    pid_t parent = getpid();

    s->started_ms = uv_now(&s->sv->loop);
    s->pid = fork();
    if (s->pid == 0)
        become(words, s->words_fd, parent);
    if (s->pid > 0) {
        log_event(LOG_INFO, "sshd-start", "pid", "%lld", (long long)s->pid, "port", "%d",
                  s->files.port, NULL);
        return;
    }
    s->pid = 0;
    log_event(LOG_ERROR, "sshd", "error", "%s", strerror(errno), NULL);
    start_later(s);
}

static void on_child(uv_signal_t *handle, int number)
{
    struct sshd *s = handle->data;
    int status = 0;

    (void)number;
    if (s->pid == 0 || waitpid(s->pid, &status, WNOHANG) != s->pid)
        return;
    s->pid = 0;
    log_event(LOG_WARN, "sshd-ended", WIFSIGNALED(status) ? "signal" : "status", "%d",
              WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), NULL);
    start_later(s);
}

/* ---- beginning and end ---- */

static void on_closed(uv_handle_t *handle)
{
    struct sshd *s = handle->data;

    if (--s->n_handles > 0)
        return;
    if (s->words_fd >= 0)
        close(s->words_fd);
    sshd_files_free(&s->files);
    buf_free(&s->line);
    free(s);
}

struct sshd *sshd_create(struct server *sv, struct err *e)
{
    struct err why = { 0 };
    struct sshd *s;

    if (geteuid() == 0) {
        err_set(e, ERR_USAGE,
                "sshd: it is for a ludwigd without root; as root use the machine's own");
        return NULL;
    }
    s = mem_alloc(sizeof *s);
    s->sv = sv;
    s->words_fd = -1;
    s->n_handles = 3;
    uv_signal_init(&sv->loop, &s->ended);
    uv_timer_init(&sv->loop, &s->again);
    uv_pipe_init(&sv->loop, &s->words, 0);
    s->ended.data = s->again.data = s->words.data = s;
    if (prepare(sv, &s->files, &why) < 0 || open_words(s, &why) < 0) {
        sshd_destroy(s);
        err_set(e, why.kind, "%s; `ludwig up --sshd=off` does without it", why.text);
        return NULL;
    }
    end_old(&s->files);
    uv_signal_start(&s->ended, on_child, SIGCHLD);
    start(s);
    return s;
}

void sshd_destroy(struct sshd *s)
{
    int64_t until_ms = units_monotonic_ms() + END_MAX_MS;

    if (s == NULL)
        return;
    if (s->pid > 0)
        (void)kill(s->pid, SIGTERM);
    /* Waits until sshd is gone: the next ludwigd wants its port. */
    while (s->pid > 0 && waitpid(s->pid, NULL, WNOHANG) == 0) {
        if (units_monotonic_ms() >= until_ms)
            (void)kill(s->pid, SIGKILL);
        (void)usleep(10 * 1000);
    }
    s->pid = 0;
    uv_close((uv_handle_t *)&s->ended, on_closed);
    uv_close((uv_handle_t *)&s->again, on_closed);
    uv_close((uv_handle_t *)&s->words, on_closed);
}
