/* SPDX-License-Identifier: MIT */
/* user_scratch.c - a root worker finds out who a user is, and makes their scratch folder */

#include "worker/clerk/user_scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/path.h"
#include "common/base/privileges.h"
#include "worker/base/child_start.h"
#include "worker/base/child_protocol.h"
#include "worker/base/folders.h"
#include "worker/base/scratch.h"

/* ---- the folder ---- */

/* Only there does a name keep meaning what root made: elsewhere somebody might put a folder that
 * root owns in its place, and have it given away. */
static bool is_safe(int dir_fd)
{
    struct stat st;

    return fstat(dir_fd, &st) == 0 && st.st_uid == 0 &&
           ((st.st_mode & 022) == 0 || (st.st_mode & S_ISVTX) != 0);
}

static int make_theirs(int dir_fd, const char *name, const struct account *a, struct err *e)
{
    if (!is_safe(dir_fd))
        return 0;
    if (mkdirat(dir_fd, name, 0700) < 0)
        return errno == EEXIST ? 0 : err_sys(e, "create %s", name);
    if (fchownat(dir_fd, name, a->uid, a->gid, AT_SYMLINK_NOFOLLOW) < 0) {
        err_sys(e, "give %s to %s", name, a->name);
        (void)unlinkat(dir_fd, name, AT_REMOVEDIR);
        return -1;
    }
    return 0;
}

/* folder: root's part of the path; name: what in it is the user's. */
static int make_in(const char *folder, const char *name, const struct account *a, struct err *e)
{
    int dir_fd, rc;

    if (io_make_dirs(folder, 0755, e) < 0)
        return -1;
    dir_fd = io_open_dir(folder, e);
    if (dir_fd < 0)
        return -1;
    rc = make_theirs(dir_fd, name, a, e);
    close(dir_fd);
    return rc < 0 ? err_wrap(e, "%s", folder) : 0;
}

/* How much of the pattern comes before the component that names the user; 0: none does. */
static size_t before_user(const char *pattern)
{
    const char *user = strstr(pattern, FOLDERS_USER);

    while (user != NULL && *user != '/')
        user--;
    return user == NULL ? 0 : (size_t)(user - pattern);
}

static int make_base(const char *pattern, const char *base, const struct account *a, struct err *e)
{
    size_t n = before_user(pattern);
    char *folder = mem_strndup(base, n == 0 ? 1 : n); /* at least "/" */
    char *name = mem_strndup(base + n + 1, strcspn(base + n + 1, "/"));
    int rc = make_in(folder, name, a, e);

    free(folder);
    free(name);
    return rc;
}

char *user_scratch_prepare(const char *pattern, const struct account *a, const char *host,
                           struct err *e)
{
    char *base = folders_replace_user(pattern, a->name);
    char *name = mem_printf("ludwig-%s-%s", a->name, host);
    char *path = path_join(base, name);
    int rc = strstr(pattern, FOLDERS_USER) == NULL ? make_in(base, name, a, e)
                                                   : make_base(pattern, base, a, e);

    free(base);
    free(name);
    if (rc == 0)
        return path;
    free(path);
    return NULL;
}

/* Who may rename what lies in it could put anything in its place. */
static int check_folder(const char *path, struct err *e)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return err_sys(e, "scratch: %s", path);
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return err_set(e, ERR_DENIED, "%s belongs to uid %u: it must be root's or the user's", path,
                       (unsigned)st.st_uid);
    if ((st.st_mode & 022) != 0 && (st.st_mode & S_ISVTX) == 0)
        return err_set(e, ERR_DENIED,
                       "others may rename what lies in %s: close it with chmod +t %s", path, path);
    return 0;
}

/* All the way up. */
static int check_base(const char *base, struct err *e)
{
    char *path = path_real(base, e);
    int rc = path == NULL ? -1 : check_folder(path, e);

    while (rc == 0 && strcmp(path, "/") != 0) {
        char *above = path_dirname(path);

        free(path);
        path = above;
        rc = check_folder(path, e);
    }
    free(path);
    return rc;
}

int user_scratch_enter(const char *path, struct err *e)
{
    char *base = path_dirname(path);
    struct scratch s;
    int rc = io_make_dirs(base, 0700, e);

    if (rc == 0)
        rc = check_base(base, e);
    free(base);
    if (rc < 0 || folders_own(path, e) < 0 || scratch_open(&s, path, e) < 0)
        return -1;
    scratch_close(&s);
    return folders_link_ludwig(path, e);
}

/* ---- the child ---- */

struct asked {
    const char *name;
    int64_t min_uid;
    const char *pattern, *host;
};

static int take_args(int argc, char **argv, struct asked *x, struct err *e)
{
    char *end;

    if (argc != 5 || argv[3][0] != '/')
        return err_set(e, ERR_USAGE, "--account NAME MIN_UID PATTERN HOST");
    *x = (struct asked){ argv[1], strtoll(argv[2], &end, 10), argv[3], argv[4] };
    return *end == '\0' ? 0 : err_set(e, ERR_USAGE, "MIN_UID: %s", argv[2]);
}

static int look(const struct asked *x, struct account *a, struct note_account *note, struct err *e)
{
    char *rights;
    int rc;

    if (account_find(x->name, x->min_uid, a, e) < 0)
        return -1;
    note->uid = (int64_t)a->uid;
    note->home = a->home;
    note->shell = a->shell;
    note->scratch = user_scratch_prepare(x->pattern, a, x->host, e);
    if (note->scratch == NULL)
        return -1;
    note->rights = rights = privileges_text(a);
    rc = privileges_take(rights, e);
    if (rc == 0)
        rc = user_scratch_enter(note->scratch, e);
    return rc < 0 ? err_wrap(e, "scratch of user %s", x->name) : 0;
}

static int answer(const struct asked *x, struct err *e)
{
    struct note_account note = { .rights = NULL };
    struct account a = { .name = NULL };
    struct err why = { 0 };
    struct wire wire;
    int rc;

    if (look(x, &a, &note, &why) < 0) {
        note.error = why.text;
        note.is_final = a.name == NULL && (why.kind == ERR_NOT_FOUND || why.kind == ERR_DENIED);
    }
    wire_init(&wire, CHILD_CHANNEL_FD, &orders);
    rc = wire_send(&wire, NOTE_ACCOUNT, 0, NULL, &note, e) < 0 ? -1 : 0;
    wire_close(&wire);
    free((char *)note.rights);
    free((char *)note.scratch);
    account_free(&a);
    return rc;
}

int user_scratch_main(int argc, char **argv)
{
    struct asked x = { .name = NULL };
    struct err e = { 0 };

    umask(022);
    if (take_args(argc, argv, &x, &e) < 0 || child_begin(&e) < 0 || answer(&x, &e) < 0)
        return child_fail("account", &e);
    return 0;
}
