/* SPDX-License-Identifier: MIT */
/* user_scratch.c - looks a user up for a worker of root, and makes their scratch folder */

#include "worker/janitor/user_scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/path.h"
#include "common/base/account.h"
#include "common/proto/scratch_place.h"
#include "worker/base/child_start.h"
#include "worker/base/child_protocol.h"
#include "worker/base/folders.h"
#include "worker/base/scratch.h"

/* ---- the folder ---- */

/* Renames a stranger's folder that has the name of the user's: only root can, and without that the
 * user's jobs would never get a scratch folder. */
static void set_aside(int dir_fd, const char *name, const struct account *a)
{
    char hex[TOKEN_HEX], *aside;
    struct token token;
    struct stat st;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_uid == 0 ||
        st.st_uid == a->uid)
        return;
    token_make(&token);
    token_hex(&token, hex);
    aside = mem_printf(".%s.%.8s", name, hex);
    log_event(LOG_WARN, "name-taken", "name", "%s", name, "uid", "%lld", (long long)st.st_uid,
              "now", "%s", aside, NULL);
    (void)renameat(dir_fd, name, dir_fd, aside);
    free(aside);
}

/* Makes the user's folder name in folder, root's part of the path, and gives it to the user.  Does
 * so only where nobody but root may rename: elsewhere a user might put a folder of root's in its
 * place, and root would give that away. */
static int make_in(const char *folder, const char *name, const struct account *a, struct err *e)
{
    struct stat st;
    int dir_fd, rc = 0;

    if (io_make_dirs(folder, 0755, e) < 0)
        return -1;
    dir_fd = io_open_dir(folder, e);
    if (dir_fd < 0)
        return -1;
    if (fstat(dir_fd, &st) < 0 || st.st_uid != 0 ||
        ((st.st_mode & 022) != 0 && (st.st_mode & S_ISVTX) == 0)) {
        close(dir_fd);
        return 0;
    }
    if ((st.st_mode & S_IWOTH) != 0)
        set_aside(dir_fd, name, a);
    if (mkdirat(dir_fd, name, 0700) < 0) {
        rc = errno == EEXIST ? 0 : err_sys(e, "create %s", name);
    } else if (fchownat(dir_fd, name, a->uid, a->gid, AT_SYMLINK_NOFOLLOW) < 0) {
        rc = err_sys(e, "give %s to %s", name, a->name);
        (void)unlinkat(dir_fd, name, AT_REMOVEDIR);
    }
    close(dir_fd);
    return rc < 0 ? err_wrap(e, "%s", folder) : 0;
}

char *user_scratch_prepare(const char *pattern, const struct account *a, const char *host,
                           struct err *e)
{
    const char *user = strstr(pattern, FOLDERS_USER);
    char *base = folders_replace_user(pattern, a->name);
    char *name = mem_printf("ludwig-%s-%s", a->name, host);
    char *path = path_join(base, name);
    int rc;

    if (user == NULL) {
        rc = make_in(base, name, a, e);
    } else { /* components before the one with {user} are root's: at least "/" */
        size_t n;
        char *folder, *theirs;

        while (*user != '/')
            user--;
        n = (size_t)(user - pattern);
        folder = mem_strndup(base, n == 0 ? 1 : n);
        theirs = mem_strndup(base + n + 1, strcspn(base + n + 1, "/"));
        rc = make_in(folder, theirs, a, e);
        free(folder);
        free(theirs);
    }
    free(base);
    free(name);
    if (rc == 0)
        return path;
    free(path);
    return NULL;
}

int user_scratch_enter(const char *path, struct err *e)
{
    char *base = path_dirname(path);
    struct scratch s;
    int rc = io_make_dirs(base, 0700, e);

    if (rc == 0)
        rc = scratch_place_check(base, NULL, e);
    free(base);
    if (rc < 0 || folders_own(path, e) < 0 || scratch_open(&s, path, e) < 0)
        return -1;
    scratch_close(&s);
    return folders_link_ludwig(path, e);
}

/* ---- the child ---- */

int user_scratch_main(int argc, char **argv)
{
    struct note_account note = { .rights = NULL };
    struct account a = { .name = NULL };
    struct err e = { 0 }, why = { 0 };
    char *end = NULL, *rights = NULL, *scratch = NULL;
    struct wire wire;
    int64_t min_uid = argc == 5 ? strtoll(argv[2], &end, 10) : 0;
    int rc = 0;

    umask(022);
    if (argc != 5 || argv[3][0] != '/')
        rc = err_set(&e, ERR_USAGE, "--account NAME MIN_UID PATTERN HOST");
    else if (*end != '\0')
        rc = err_set(&e, ERR_USAGE, "MIN_UID: %s", argv[2]);
    if (rc < 0 || child_begin(&e) < 0)
        return child_fail("account", &e);
    if (account_find(argv[1], min_uid, &a, &why) == 0) {
        note.uid = (int64_t)a.uid;
        note.home = a.home;
        note.shell = a.shell;
        note.scratch = scratch = user_scratch_prepare(argv[3], &a, argv[4], &why);
        if (scratch != NULL) {
            note.rights = rights = account_rights(&a);
            if (account_become(rights, &why) < 0 || user_scratch_enter(scratch, &why) < 0)
                err_wrap(&why, "scratch of user %s", argv[1]);
        }
    }
    if (why.kind != ERR_NONE) {
        note.error = why.text;
        note.is_final = a.name == NULL && (why.kind == ERR_NOT_FOUND || why.kind == ERR_DENIED);
    }
    wire_init(&wire, CHILD_CHANNEL_FD, &orders);
    rc = wire_send(&wire, NOTE_ACCOUNT, 0, NULL, &note, &e) < 0 ? -1 : 0;
    wire_close(&wire);
    free(rights);
    free(scratch);
    account_free(&a);
    return rc < 0 ? child_fail("account", &e) : 0;
}
