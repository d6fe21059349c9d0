/* SPDX-License-Identifier: MIT */
/* ownsshd.c - remember where the sshd of the user's own server listens */
#include "client/ownsshd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/io.h"
#include "common/mem.h"
#include "common/path.h"

enum { LISTEN_MAX_BYTES = 256 };

char *ownsshd_listen(const char *state)
{
    char *path = path_join(state, "sshd"), *listen = NULL;
    struct buf text = { 0 };

    if (io_read_file(path, LISTEN_MAX_BYTES, &text, NULL) == 0 && text.n > 0)
        listen = mem_strndup(buf_text(&text), strcspn(buf_text(&text), "\n"));
    buf_free(&text);
    free(path);
    return listen;
}

int ownsshd_set(const char *state, const char *listen, struct err *e)
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

char *ownsshd_dir(const char *state)
{
    return mem_printf("%s/server/sshd", state);
}
