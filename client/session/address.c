/* SPDX-License-Identifier: MIT */
/* address.c - the address of the user's own server, in a file of the state folder */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/session/address.h"
#include "client/util/conf.h"
#include "common/base/digest.h"
#include "common/base/fs.h"
#include "common/base/io.h"
#include "common/base/nfs_lookup.h"
#include "common/base/path.h"
#include "common/base/taken_name.h"
#include "common/proto/unixsocket.h"

enum {
    SOCKET_PATH_MAX = 100, /* 107 on Linux, 103 on macOS, and some room */
    ADDRESS_MAX_BYTES = 4096
};

/* Refuses a folder that is not this user's, or that others may write. */
static int check_private(const char *path, struct err *e)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return err_sys(e, "%s", path);
    if (!S_ISDIR(st.st_mode))
        return err_set(e, ERR_DENIED, "%s is no folder", path);
    if (st.st_uid != geteuid())
        return err_set(e, ERR_DENIED, "%s belongs to another user", path);
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return err_set(e, ERR_DENIED, "others may write into %s (chmod 700 it)", path);
    return 0;
}

static int make_private(const char *path, struct err *e)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_sys(e, "make folder %s", path);
    return check_private(path, e);
}

char *address_make_state_dir(struct err *e)
{
    char *state = conf_state_dir(), *parent = path_dirname(state);
    int result = io_make_dirs(parent, 0700, e);

    if (result == 0)
        result = make_private(state, e);
    free(parent);
    if (result == 0)
        return state;
    err_wrap(e, "ludwig's state folder");
    free(state);
    return NULL;
}

static char *socket_in(const char *dir, const char *name, struct err *e)
{
    char *path;

    if (make_private(dir, e) < 0 || unixsocket_check_folder(dir, 0, e) < 0)
        return NULL;
    path = path_join(dir, name);
    if (strlen(path) < SOCKET_PATH_MAX)
        return path;
    err_set(e, ERR_FAILED, "%s is too long for a socket", path);
    free(path);
    return NULL;
}

static char *socket_below(const char *parent, const char *state, const char *name, struct err *e)
{
    char *boot = unixsocket_machine();
    char *dir =
        taken_name_avoid(mem_printf("%s/ludwig-%ju", parent, (uintmax_t)geteuid()), state, boot);
    char *path = socket_in(dir, name, e);

    free(dir);
    free(boot);
    return path;
}

/* The state folder comes first: a runtime folder is removed when its user logs out, while the
 * server goes on.  In folders that a user's servers share, the socket is named by a digest of the
 * state folder's path. */
char *address_choose_socket(const char *state, struct err *e)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char hex[DIGEST_HEX], *name, *path = NULL;
    struct digest d;

    if (!fs_is_network(state))
        path = socket_in(state, "server.sock", NULL);
    if (path != NULL)
        return path;
    digest_of(state, strlen(state), &d);
    digest_hex(&d, hex);
    name = mem_printf("%.16s.sock", hex);
    if (runtime != NULL && runtime[0] == '/' && check_private(runtime, NULL) == 0) {
        char *dir = path_join(runtime, "ludwig");

        path = socket_in(dir, name, NULL);
        free(dir);
    }
    if (path == NULL && geteuid() == 0)
        path = socket_below("/run", state, name, NULL);
    if (path == NULL)
        path = socket_below("/tmp", state, name, e);
    free(name);
    return path;
}

int address_write(const char *state, const char *socket_path, struct err *e)
{
    char *path = path_join(state, "address"), *host = unixsocket_host();
    char *text = mem_printf("unix:%s\n%s\n", socket_path, host);
    int result = io_replace_file(path, text, strlen(text), 0600, e);

    free(text);
    free(host);
    free(path);
    return result;
}

void address_forget(const char *state)
{
    char *path = path_join(state, "address");

    (void)unlink(
        path); /* if that fails, a login node's next command starts the server again: no harm */
    free(path);
}

int address_read(const char *state, struct endpoint *to, struct arena *a, struct err *e)
{
    static const char prefix[] = "unix:";
    char *path = path_join(state, "address"), *here = unixsocket_host();
    const char *line, *host;
    struct buf text = { 0 };
    struct stat st;
    int result;

    /* The server may have been started on another login node a moment ago. */
    (void)nfs_lookup_stat(AT_FDCWD, path, &st);
    result = io_read_file(path, ADDRESS_MAX_BYTES, &text, e);
    if (result < 0)
        goto out;
    line = arena_strndup(a, buf_text(&text), strcspn(buf_text(&text), "\n"));
    host = buf_text(&text) + strlen(line);
    host += *host == '\n';
    host = arena_strndup(a, host, strcspn(host, "\n"));
    if (strncmp(line, prefix, strlen(prefix)) != 0 || host[0] == '\0')
        result = err_set(e, ERR_FAILED, "%s: it does not say where the server is", path);
    else if (strcmp(here, host) == 0)
        result = endpoint_parse(to, line, a, e);
    else
        result =
            endpoint_parse(to, arena_printf(a, "ssh://%s%s", host, line + strlen(prefix)), a, e);
out:
    buf_free(&text);
    free(here);
    free(path);
    return result;
}
