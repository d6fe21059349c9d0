/* SPDX-License-Identifier: MIT */
/* pilotkey.c - the SSH key with which a user's pilots reach ludwigd through this machine's sshd */

#include "server/pilot/pilotkey.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/data/authorized_keys.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/data/template.h"
#include "common/proto/endpoint.h"
#include "common/proto/layout.h"

enum {
    KEYS_MAX_BYTES = 4 * 1024 * 1024,
    SCAN_MAX_BYTES = 256 * 1024,
    LOCK_MAX_MS = 10 * 1000,
    HOST_BYTES = 256
};

struct pilotkey {
    const char *server_id, *socket_path, *host, *port;
    char *ssh_dir, *dir; /* ~/.ssh and the key's */
    char *mark;          /* the comment that marks the key's line in authorized_keys */
    char own_name[HOST_BYTES];
};

/* ---- the line in authorized_keys ---- */

static bool is_plain(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == '\\')
            return false;
    return true;
}

int pilotkey_line(const char *ludwig, const char *socket_path, const char *key, const char *mark,
                  struct buf *out, struct err *e)
{
    struct buf command = { 0 };
    size_t type = strcspn(key, " "), blob = strcspn(key + type + (key[type] == ' '), " \r\n");

    if (!is_plain(ludwig) || !is_plain(socket_path))
        return err_set(e, ERR_USAGE, "'%s' and '%s' cannot stand in authorized_keys", ludwig,
                       socket_path);
    if (key[type] != ' ' || blob == 0)
        return err_set(e, ERR_FAILED, "ssh-keygen has made no key");
    template_add_quoted(&command, ludwig, strlen(ludwig));
    buf_add_str(&command, " bridge --no-sftp ");
    template_add_quoted(&command, socket_path, strlen(socket_path));
    buf_add_str(out, "restrict,command=\"");
    for (const char *c = buf_text(&command); *c != '\0'; c++) /* within the quotes of an option */
        buf_printf(out, "%s%c", *c == '"' ? "\\" : "", *c);
    buf_printf(out, "\" %.*s %s", (int)(type + 1 + blob), key, mark);
    buf_free(&command);
    return 0;
}

void pilotkey_known_hosts(const char *scanned, struct buf *out)
{
    while (*scanned != '\0') {
        size_t n = strcspn(scanned, "\n"), name = strcspn(scanned, " \n");

        if (scanned[0] != '#' && name > 0 && name < n)
            buf_printf(out, "%s%.*s\n", ENDPOINT_KNOWN_AS, (int)(n - name), scanned + name);
        scanned += n + (scanned[n] == '\n');
    }
}

/* ---- programs ---- */

/* Runs a program and appends its output.  Returns its exit code, -1 with e set if it has none. */
static int run_program(const char *const *words, struct buf *out, struct err *e)
{
    int ends[2], status = 0, rc;
    ssize_t n;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_sys(e, "pipe");
    pid = fork();
    if (pid == 0) {
        int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

        if (null_fd >= 0 && dup2(null_fd, 0) >= 0 && dup2(ends[1], 1) >= 0)
            execvp(words[0], (char *const *)(uintptr_t)words);
        _exit(127);
    }
    close(ends[1]);
    n = io_read_all(ends[0], buf_reserve(out, SCAN_MAX_BYTES), SCAN_MAX_BYTES);
    buf_added(out, n > 0 ? (size_t)n : 0);
    close(ends[0]);
    if (pid < 0)
        return err_sys(e, "fork");
    do
        rc = waitpid(pid, &status, 0);
    while (rc < 0 && errno == EINTR);
    if (rc < 0 || !WIFEXITED(status) || WEXITSTATUS(status) == 127)
        return err_set(e, ERR_FAILED, "%s: it cannot be run here", words[0]);
    return WEXITSTATUS(status);
}

/* ---- the host and its keys ---- */

static int scan(const struct pilotkey *k, struct buf *known, struct err *e)
{
    const char *const words[] = { "ssh-keyscan", "-T", "5", "-p", k->port, "--", k->host, NULL };
    struct buf said = { 0 };
    int rc = run_program(words, &said, e);

    if (rc >= 0)
        pilotkey_known_hosts(buf_text(&said), known);
    buf_free(&said);
    if (rc >= 0 && known->n == 0)
        rc = err_set(e, ERR_UNREACHABLE, "no sshd answers at %s port %s", k->host, k->port);
    return rc < 0 ? -1 : 0;
}

/* ---- the key ---- */

static int put(const char *dir, const char *from, const char *to, struct err *e)
{
    char *old = path_join(dir, from), *path = path_join(dir, to);
    int rc = rename(old, path) < 0 ? err_sys(e, "make %s", path) : 0;

    free(path);
    free(old);
    return rc;
}

/* Makes a key.  The public half is put in place first, so that where a key is, both halves are. */
static int generate(const struct pilotkey *k, struct err *e)
{
    char *fresh = path_join(k->dir, "new"), *public_half = path_join(k->dir, "new.pub");
    const char *const words[] = { "ssh-keygen", "-q",    "-t", "ed25519", "-N", "",
                                  "-C",         k->mark, "-f", fresh,     NULL };
    struct buf said = { 0 };
    int rc;

    (void)unlink(fresh); /* left by a process that was killed: ssh-keygen would ask */
    (void)unlink(public_half);
    rc = run_program(words, &said, e);
    if (rc > 0)
        rc = err_set(e, ERR_FAILED, "ssh-keygen has failed (exit code %d)", rc);
    if (rc == 0 && (put(k->dir, "new.pub", "key.pub", e) < 0 || put(k->dir, "new", "key", e) < 0))
        rc = -1;
    buf_free(&said);
    free(public_half);
    free(fresh);
    return rc;
}

static int make_key(const struct pilotkey *k, struct buf *public_half, struct err *e)
{
    char *path = path_join(k->dir, "key"), *public_path = path_join(k->dir, "key.pub");
    int rc = access(path, F_OK) == 0 && access(public_path, F_OK) == 0 ? 0 : generate(k, e);

    if (rc == 0)
        rc = io_read_file(public_path, KEYS_MAX_BYTES, public_half, e);
    free(public_path);
    free(path);
    return rc;
}

/* Writes the key's line into authorized_keys, which may be a link; line NULL: removes it. */
static int authorize(const struct pilotkey *k, const char *line, struct err *e)
{
    char *path = path_join(k->ssh_dir, "authorized_keys");
    int rc = authorized_keys_edit(path, k->mark, line, e);

    free(path);
    return rc;
}

/* Lets the key in, to run nothing but the ludwig beside this ludwigd. */
static int let_in(const struct pilotkey *k, const struct buf *public_half, struct err *e)
{
    char *self = path_real("/proc/self/exe", e), *dir, *ludwig;
    struct buf line = { 0 };
    int rc;

    if (self == NULL)
        return -1;
    dir = path_dirname(self);
    ludwig = path_join(dir, "ludwig");
    rc = pilotkey_line(ludwig, k->socket_path, buf_text(public_half), k->mark, &line, e);
    if (rc == 0)
        rc = io_make_dirs(k->ssh_dir, 0700, e);
    if (rc == 0)
        rc = authorize(k, buf_text(&line), e);
    buf_free(&line);
    free(ludwig);
    free(dir);
    free(self);
    return rc;
}

/* ---- main function ---- */

static int make_all(struct pilotkey *k, struct err *e)
{
    struct addrinfo hints = { .ai_flags = AI_CANONNAME, .ai_socktype = SOCK_STREAM }, *found = NULL;
    struct buf known = { 0 }, public_half = { 0 };
    char *known_path = path_join(k->dir, "known_hosts");
    int rc = -1;

    if (k->host[0] == '\0') {
        k->host = k->own_name;
        if (gethostname(k->own_name, sizeof k->own_name - 1) < 0) {
            err_sys(e, "name of this machine");
            goto out;
        }
    }
    if (scan(k, &known, e) < 0 || make_key(k, &public_half, e) < 0 ||
        io_replace_file(known_path, known.bytes, known.n, 0600, e) < 0 ||
        let_in(k, &public_half, e) < 0)
        goto out;
    printf("%s\n%s\n", k->dir, k->host);
    /* The name of this machine may be a short one, which nodes of another domain do not know. */
    if (k->host == k->own_name && getaddrinfo(k->host, NULL, &hints, &found) == 0 &&
        found->ai_canonname != NULL && strcmp(found->ai_canonname, k->host) != 0 &&
        strchr(found->ai_canonname, '.') != NULL)
        printf("%s\n", found->ai_canonname);
    if (found != NULL)
        freeaddrinfo(found);
    rc = 0;
out:
    free(known_path);
    buf_free(&public_half);
    buf_free(&known);
    return rc;
}

static int work(struct pilotkey *k, const char *all, struct err *e)
{
    bool is_wanted = k->socket_path[0] != '\0';
    char *lock;
    int fd, rc;

    if (!is_wanted && access(k->dir, F_OK) < 0)
        return 0;
    if (io_make_dirs(is_wanted ? k->dir : all, 0700, e) < 0)
        return -1;
    lock = path_join(all, "lock");
    fd = io_lock_file_within(lock, LOCK_MAX_MS, e); /* a user may have two servers */
    free(lock);
    if (fd < 0)
        return -1;
    if (is_wanted)
        rc = make_all(k, e);
    else
        rc = authorize(k, NULL, e) < 0 ? -1 : io_remove_tree(k->dir, e);
    close(fd);
    return rc;
}

int pilotkey_main(char **words)
{
    const char *home = getenv("HOME");
    struct pilotkey k = { words[0], words[1], words[2], words[3], NULL, NULL, NULL, "" };
    char *all = mem_printf("%s/.local/state/ludwig/pilots", home != NULL ? home : "");
    struct err e = { 0 };
    int rc;

    umask(077);
    k.ssh_dir = mem_printf("%s/.ssh", home != NULL ? home : "");
    k.dir = path_join(all, k.server_id);
    k.mark = mem_printf(LAYOUT_PILOT_KEY "%s", k.server_id);
    if (home == NULL || home[0] != '/')
        rc = err_set(&e, ERR_FAILED, "the account has no home");
    else
        rc = work(&k, all, &e);
    if (rc < 0)
        fprintf(stderr, "%s\n", e.text);
    free(k.mark);
    free(k.dir);
    free(k.ssh_dir);
    free(all);
    return rc < 0 ? (int)err_exit_code(e.kind) : EXIT_WELL;
}
