/* SPDX-License-Identifier: MIT */
/* invitation.c - the address and the host key of ludwigd's own sshd */
#include "client/session/invitation.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/io.h"
#include "common/base/path.h"
#include "common/proto/endpoint.h"

enum { FILE_MAX_BYTES = 16 * 1024 };

static const struct field fields[] = {
    FIELD(struct invitation, name, FIELD_STR, FIELD_REQUIRED, 64),
    FIELD(struct invitation, fingerprint, FIELD_STR, FIELD_REQUIRED, 128),
    FIELD(struct invitation, server, FIELD_STR, FIELD_REQUIRED, 4096),
    FIELD(struct invitation, known_hosts, FIELD_STR, FIELD_REQUIRED, 16384),
};

const struct schema invitation_schema = SCHEMA(struct invitation, "invitation", fields);

static int read_file(const char *dir, const char *name, struct buf *text, struct err *e)
{
    char *path = path_join(dir, name);
    int rc = io_read_file(path, FILE_MAX_BYTES, text, e);

    free(path);
    return rc < 0 ? err_wrap(e, "ludwigd's sshd") : 0;
}

int invitation_port(const char *dir, struct err *e)
{
    struct buf text = { 0 };
    int port = -1;

    if (read_file(dir, "address", &text, e) == 0) {
        port = atoi(buf_text(&text));
        if (port <= 0)
            port = err_set(e, ERR_FAILED, "%s/address says no port", dir);
    }
    buf_free(&text);
    return port;
}

const char *invitation_address(const char *dir, struct arena *a)
{
    const char *address = NULL, *line;
    struct buf text = { 0 };

    if (read_file(dir, "address", &text, NULL) == 0 &&
        (line = strchr(buf_text(&text), '\n')) != NULL)
        address = arena_strndup(a, line + 1, strcspn(line + 1, "\n"));
    buf_free(&text);
    if (address == NULL || address[0] == '\0' || strcmp(address, "0.0.0.0") == 0 ||
        strcmp(address, "::") == 0)
        return NULL;
    return address;
}

/* Without the comment. */
static const char *host_key(const char *dir, struct arena *a, struct err *e)
{
    struct buf text = { 0 };
    const char *key = NULL;
    size_t n;

    if (read_file(dir, "hostkey.pub", &text, e) == 0) {
        n = strcspn(buf_text(&text), " ");
        n += buf_text(&text)[n] == ' ' ? 1 + strcspn(buf_text(&text) + n + 1, " \n") : 0;
        key = arena_strndup(a, buf_text(&text), n);
    }
    buf_free(&text);
    return key;
}

int invitation_make(struct invitation *i, const char *dir, const char *user, const char *host,
                    struct arena *a, struct err *e)
{
    bool is_v6 = strchr(host, ':') != NULL;
    int port = invitation_port(dir, e);
    const char *key = port < 0 ? NULL : host_key(dir, a, e);
    struct endpoint ep;

    if (key == NULL)
        return -1;
    i->server = arena_printf(a, is_v6 ? "ssh://%s@[%s]:%d" : "ssh://%s@%s:%d", user, host, port);
    i->known_hosts = arena_printf(a, "[%s]:%d %s", host, port, key);
    return endpoint_parse(&ep, i->server, a, e);
}
