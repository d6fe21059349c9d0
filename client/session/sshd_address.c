/* SPDX-License-Identifier: MIT */
/* sshd_address.c - remember where the sshd of the user's own server listens */
#include "client/session/sshd_address.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/base/units.h"

enum { LISTEN_MAX_BYTES = 256, TABLE_MAX_BYTES = 64 * 1024 * 1024, LOOK_EVERY_MS = 50 };

char *sshd_address_listen(const char *state)
{
    char *path = path_join(state, "sshd"), *listen = NULL;
    struct buf text = { 0 };

    if (io_read_file(path, LISTEN_MAX_BYTES, &text, NULL) == 0 && text.n > 0)
        listen = mem_strndup(buf_text(&text), strcspn(buf_text(&text), "\n"));
    buf_free(&text);
    free(path);
    return listen;
}

int sshd_address_set(const char *state, const char *listen, struct err *e)
{
    char *path = path_join(state, "sshd"), *text;
    int rc = 0;

    if (listen == NULL) {
        if (unlink(path) < 0 && errno != ENOENT)
            rc = err_sys(e, "remove %s", path);
    } else {
        text = mem_printf("%s\n", listen);
        rc = io_replace_file(path, text, strlen(text), 0600, e);
        free(text);
    }
    free(path);
    return rc;
}

char *sshd_address_dir(const char *state)
{
    return mem_printf("%s/server/sshd", state);
}

/* ---- whether it listens ---- */

/* "  0: 00000000:1B6E 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 ..." */
struct listeners {
    bool own, others;
};

static void count_line(struct listeners *found, const char *line, int port)
{
    enum { LISTENING = 0x0a };
    unsigned local_port, state, uid;

    if (sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f:] %x %*s %*s %*s %u", &local_port, &state,
               &uid) != 3 ||
        local_port != (unsigned)port || state != LISTENING)
        return;
    found->own |= uid == geteuid();
    found->others |= uid != geteuid();
}

/* The kernel says whose they are, and is not counted as a guest. */
static struct listeners look(const char *table, int port)
{
    struct listeners found = { 0 };
    struct buf text = { 0 };
    char *rest, *line;

    if (io_read_file(table, TABLE_MAX_BYTES, &text, NULL) == 0) {
        (void)buf_text(&text);
        for (line = strtok_r((char *)text.bytes, "\n", &rest); line != NULL;
             line = strtok_r(NULL, "\n", &rest))
            count_line(&found, line, port);
    }
    buf_free(&text);
    return found;
}

/* An sshd that found the port taken for IPv4 has it for IPv6, until ludwigd ends it. */
static bool listens_now(int port)
{
    struct listeners v4 = look("/proc/net/tcp", port), v6 = look("/proc/net/tcp6", port);

    return v4.own || (v6.own && !v4.others);
}

bool sshd_address_listens(int port, int timeout_ms)
{
    int64_t until_ms = units_monotonic_ms() + timeout_ms;

    while (!listens_now(port)) {
        if (units_monotonic_ms() >= until_ms)
            return false;
        (void)poll(NULL, 0, LOOK_EVERY_MS);
    }
    return true;
}
