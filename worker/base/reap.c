/* SPDX-License-Identifier: MIT */
/* reap.c - find processes by the token in their environment, and kill them */

#include "worker/base/reap.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/proto/envvars.h"

enum { ENVIRON_MAX_BYTES = 16 * 1024 * 1024 };

static bool has_entry(const struct buf *environment, const char *entry, size_t n)
{
    size_t at = 0;

    while (at < environment->n) {
        const char *text = (const char *)environment->bytes + at;
        size_t length = strnlen(text, environment->n - at);

        if (length == n && memcmp(text, entry, n) == 0)
            return true;
        at += length + 1;
    }
    return false;
}

static bool kill_if_of(int all_fd, const char *pid, const char *entry, struct buf *environment)
{
    int fd = openat(all_fd, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool found = false;

    if (fd < 0)
        return false;
    buf_clear(environment);
    if (io_read_file_at(fd, "environ", ENVIRON_MAX_BYTES, environment, NULL) == 0)
        found = has_entry(environment, entry, strlen(entry));
    /* The folder in /proc serves as a pidfd, so that a number used anew meanwhile is safe. */
    if (found && syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) < 0 &&
        (errno == ENOSYS || errno == EBADF))
        kill((pid_t)strtol(pid, NULL, 10), SIGKILL);
    close(fd);
    return found;
}

size_t reap_kill(const struct token *token)
{
    char hex[TOKEN_HEX];
    DIR *all = opendir("/proc");
    struct buf environment = { 0 };
    struct dirent *d;
    char *entry;
    size_t n = 0;

    if (all == NULL)
        return 0;
    token_hex(token, hex);
    entry = mem_printf("%s=%s", job_envvars[ENV_ATTEMPT].name, hex);
    while ((d = readdir(all)) != NULL)
        if (isdigit((unsigned char)d->d_name[0]) && strtol(d->d_name, NULL, 10) != (long)getpid())
            n += kill_if_of(dirfd(all), d->d_name, entry, &environment);
    closedir(all);
    free(entry);
    buf_free(&environment);
    return n;
}
