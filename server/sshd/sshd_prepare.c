/* SPDX-License-Identifier: MIT */
/* sshd_prepare.c - keys, port and configuration of ludwigd's own sshd */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/path.h"
#include "server/base/identity.h"
#include "server/base/sshdconf.h"
#include "server/sshd/sshd_internal.h"

/* ---- programs ---- */

static const char *const sshd_places[] = { "/usr/sbin/sshd", "/usr/local/sbin/sshd", "/sbin/sshd",
                                           NULL };
static const char *find_sshd(struct err *e)
{
    for (const char *const *place = sshd_places; *place != NULL; place++)
        if (access(*place, X_OK) == 0)
            return *place;
    err_set(e, ERR_NOT_FOUND, "sshd: there is none here (openssh-server brings it)");
    return NULL;
}

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

/* Waits for it; what it says goes to our log. */
static int run(const char *const *words, struct err *e)
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

static int make_dir(const char *dir, struct err *e)
{
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return err_sys(e, "make %s", dir);
    return 0;
}

static int put_in_place(const char *from, const char *to, struct err *e)
{
    return rename(from, to) < 0 ? err_sys(e, "make %s", to) : 0;
}

/* The public one first: where there is a host key, there are both. */
static int generate(const char *path, const char *public_path, struct err *e)
{
    char *fresh = mem_printf("%s.new", path), *public_fresh = mem_printf("%s.pub", fresh);
    const char *const words[] = { "ssh-keygen", "-q",      "-t", "ed25519", "-N", "",
                                  "-C",         "ludwigd", "-f", fresh,     NULL };
    int rc;

    (void)unlink(fresh); /* of one who died over it: ssh-keygen would ask */
    rc = run(words, e);
    if (rc == 0)
        rc = put_in_place(public_fresh, public_path, e);
    if (rc == 0)
        rc = put_in_place(fresh, path, e);
    free(public_fresh);
    free(fresh);
    return rc;
}

static int make_host_key(const char *dir, struct err *e)
{
    char *path = path_join(dir, "hostkey"), *public_path = path_join(dir, "hostkey.pub");
    int rc = access(path, F_OK) == 0 ? 0 : generate(path, public_path, e);

    free(public_path);
    free(path);
    return rc;
}

static int make_keys(const char *dir, struct err *e)
{
    char *path = path_join(dir, "authorized_keys");
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        err_sys(e, "make %s", path);
    else
        close(fd);
    free(path);
    return fd < 0 ? -1 : 0;
}

/* ---- the port ---- */

static bool is_free(const struct sshd_listen *l, int port)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
    bool is_v6 = strchr(l->address, ':') != NULL;
    int fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), rc = -1;

    if (is_v6 && inet_pton(AF_INET6, l->address, &v6.sin6_addr) == 1)
        rc = bind(fd, (const struct sockaddr *)&v6, sizeof v6);
    else if (!is_v6 && (l->address[0] == '\0' || inet_pton(AF_INET, l->address, &v4.sin_addr) == 1))
        rc = bind(fd, (const struct sockaddr *)&v4, sizeof v4);
    if (fd >= 0)
        close(fd);
    return rc == 0;
}

/* Below those that the kernel gives to outgoing connections: it shall be free at the next start. */
static int choose_port(struct sshd_listen *l, struct err *e)
{
    enum { FIRST = 10000, PORTS = 20000, TRIES = 200 };
    struct token random;

    for (int i = 0; i < TRIES; i++) {
        token_make(&random);
        l->port = FIRST + (random.bytes[0] << 8 | random.bytes[1]) % PORTS;
        if (is_free(l, l->port))
            return 0;
    }
    return err_sys(e, "sshd: no port could be bound on '%s'",
                   l->address[0] != '\0' ? l->address : "*");
}

/* The one that was chosen before, if there is one. */
static int stored_port(const char *path)
{
    struct buf text = { 0 };
    int port = 0;

    if (io_read_file(path, 256, &text, NULL) == 0)
        port = atoi(buf_text(&text));
    buf_free(&text);
    return port > 0 && port < 65536 ? port : 0;
}

static int settle_port(const char *dir, struct sshd_listen *l, struct err *e)
{
    char *path = path_join(dir, "address"), *text;
    int rc = 0;

    if (l->port == 0)
        l->port = stored_port(path);
    if (l->port == 0)
        rc = choose_port(l, e);
    text = mem_printf("%d\n%s\n", l->port, l->address);
    if (rc == 0)
        rc = io_replace_file(path, text, strlen(text), 0600, e);
    free(text);
    free(path);
    return rc;
}

/* ---- sshd_config ---- */

static int write_config(struct sshd_files *f, const struct sshdconf *c, struct err *e)
{
    struct buf text = { 0 };
    int rc = sshdconf_write(c, &text, e);

    if (rc == 0)
        rc = io_replace_file(f->config, text.bytes, text.n, 0600, e);
    buf_free(&text);
    return rc;
}

static int check_config(const struct sshd_files *f, struct err *e)
{
    const char *const words[] = { f->program, "-t", "-f", f->config, NULL };

    return run(words, e) < 0 ? err_wrap(e, "sshd does not take its configuration %s", f->config)
                             : 0;
}

static int check_home(const char *dir, struct err *e)
{
    const struct passwd *entry = getpwuid(geteuid());

    if (entry == NULL)
        return err_set(e, ERR_DENIED, "sshd: uid %u is not known here, so nobody can log in as it",
                       geteuid());
    return sshdconf_check_modes(dir, entry->pw_dir, e);
}

static int prepare(struct server *sv, struct sshd_files *f, struct sshdconf *c, struct err *e)
{
    const char *const *sockets = sv->conf.sockets.items;
    struct arena *a = sv->conf.arena;

    f->program = find_sshd(e);
    if (f->program == NULL || sshdconf_parse_listen(sv->conf.sshd_listen, a, &c->listen, e) < 0)
        return -1;
    c->dir = f->dir;
    c->socket = sockets[0];
    if (make_dir(f->dir, e) < 0 || check_home(f->dir, e) < 0 || make_host_key(f->dir, e) < 0 ||
        make_keys(f->dir, e) < 0 || settle_port(f->dir, &c->listen, e) < 0 ||
        write_config(f, c, e) < 0)
        return -1;
    return check_config(f, e);
}

int sshd_prepare(struct server *sv, struct sshd_files *f, struct err *e)
{
    char *user = identity_user_name(geteuid()), *ludwig = ludwig_beside_us(e);
    struct sshdconf c = { .user = user, .ludwig = ludwig };
    int rc;

    sshd_files_name(sv, f);
    rc = ludwig == NULL ? -1 : prepare(sv, f, &c, e);
    f->port = c.listen.port;
    free(user);
    free(ludwig);
    return rc;
}

void sshd_files_name(const struct server *sv, struct sshd_files *f)
{
    f->dir = path_join(sv->conf.state, "sshd");
    f->config = path_join(f->dir, "sshd_config");
    f->pid = path_join(f->dir, "pid");
}

void sshd_files_free(struct sshd_files *f)
{
    free(f->dir);
    free(f->config);
    free(f->pid);
}
