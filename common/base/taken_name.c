/* SPDX-License-Identifier: MIT */
/* taken_name.c - other names for those that a stranger has taken */
#include "common/base/taken_name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"

static const char secret_name[] = "names";

static bool is_anothers(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && st.st_uid != geteuid();
}

/* Of several programs that make it at the same time, on several hosts, one makes it for all. */
static int make_secret(const char *dir, const char *path, struct err *e)
{
    char hex[TOKEN_HEX], *fresh;
    struct token token;
    int rc;

    token_make(&token);
    token_hex(&token, hex);
    fresh = mem_printf("%s.%.8s", path, hex);
    rc = io_make_dirs(dir, 0700, e);
    if (rc == 0)
        rc = io_replace_file(fresh, hex, strlen(hex), 0600, e);
    if (rc == 0 && link(fresh, path) < 0 && errno != EEXIST)
        rc = err_sys(e, "make %s", path);
    (void)unlink(fresh);
    free(fresh);
    return rc;
}

static int read_secret(const char *dir, struct buf *out)
{
    char *path = path_join(dir, secret_name);
    int rc = io_read_file(path, TOKEN_HEX, out, NULL);

    if (rc < 0 && make_secret(dir, path, NULL) == 0)
        rc = io_read_file(path, TOKEN_HEX, out, NULL);
    free(path);
    return rc == 0 && out->n == TOKEN_HEX - 1 ? 0 : -1;
}

char *taken_name_avoid(char *path, const char *secret_dir, const char *salt)
{
    struct buf text = { 0 };
    char hex[DIGEST_HEX], *other = path;
    struct digest d;

    if (is_anothers(path) && secret_dir != NULL && read_secret(secret_dir, &text) == 0) {
        buf_printf(&text, "\n%s\n%s", path, salt);
        digest_of(text.bytes, text.n, &d);
        digest_hex(&d, hex);
        other = mem_printf("%s-%.16s", path, hex);
        free(path);
    }
    buf_free(&text);
    return other;
}
