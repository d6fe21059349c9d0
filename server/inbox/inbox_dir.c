/* SPDX-License-Identifier: MIT */
/* inbox_dir.c - opens users' files without being fooled, writes files that users read */
#include "server/inbox/inbox_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/beneath.h"
#include "common/base/fs.h"
#include "common/base/io.h"
#include "common/proto/layout.h"
#include "server/base/identity.h"

/* Mode bits with which other users could write into files and folders that ludwigd trusts. */
static const mode_t others_write = S_IWGRP | S_IWOTH;

/* ---- opening ---- */

static int open_ours(int dir_fd, const char *path, const char *name, struct err *e)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return err_sys(e, "open %s", path);
    if (fstat(fd, &st) < 0)
        err_sys(e, "%s", path);
    else if (st.st_uid != geteuid() && st.st_uid != 0)
        err_set(e, ERR_DENIED, "%s belongs to uid %u, not to ludwigd", path, st.st_uid);
    else if ((st.st_mode & others_write) != 0)
        err_set(e, ERR_DENIED, "others may write into %s (mode %04o)", path, st.st_mode & 07777u);
    else
        return fd;
    close(fd);
    return -1;
}

static int make_ours(int dir_fd, const char *parent, const char *name, mode_t mode, struct err *e)
{
    char *path = mem_printf("%s/%s", parent, name);
    bool is_new = mkdirat(dir_fd, name, mode) == 0;
    int fd = open_ours(dir_fd, path, name, e);

    if (fd >= 0 && is_new && fchmod(fd, mode) < 0) {
        err_sys(e, "chmod %s", path);
        close(fd);
        fd = -1;
    }
    free(path);
    return fd;
}

static int check_file_system(int fd, const char *path, struct err *e)
{
    struct fs_type type = fs_type_of_fd(fd);

    if (type.keeps_owners)
        return 0;
    return err_set(e, ERR_DENIED, "%s is on %s, which does not record who has made a file", path,
                   type.name[0] != '\0' ? type.name : "a file system ludwig does not know");
}

int inbox_dir_open(struct inbox_dir *d, const char *share, struct err *e)
{
    char *path = mem_printf("%s/%s", share, LAYOUT_SERVER_DIR);
    int fd = open_ours(AT_FDCWD, path, path, e);

    *d = (struct inbox_dir){ .in_fd = -1, .out_fd = -1, .self = geteuid() };
    d->is_root = d->self == 0;
    d->is_network = fd >= 0 && fs_type_of_fd(fd).kind == FS_NETWORK;
#ifdef LUDWIG_TEST_HOOKS
    d->is_network |= getenv("LUDWIG_INBOX_LISTED") != NULL;
#endif
    if (fd >= 0 && check_file_system(fd, path, e) == 0) {
        /* Users may enter both, but not list outbox, as the names of replies are secret. */
        d->in_fd = make_ours(fd, path, "inbox", 0755, e);
        d->out_fd = d->in_fd < 0 ? -1 : make_ours(fd, path, "outbox", 0711, e);
    }
    if (fd >= 0)
        close(fd);
    free(path);
    if (d->out_fd >= 0)
        return 0;
    inbox_dir_close(d);
    return -1;
}

void inbox_dir_close(struct inbox_dir *d)
{
    if (d->in_fd >= 0)
        close(d->in_fd);
    if (d->out_fd >= 0)
        close(d->out_fd);
    d->in_fd = d->out_fd = -1;
}

/* ---- a user's folder ---- */

/* The size of a folder itself grows with the number of names, and on many file systems never
 * shrinks. To list a large one takes seconds, for which all other users wait. */
enum { BOX_MAX_BYTES = 16 * 1024 * 1024 };

int inbox_dir_open_box(const struct inbox_dir *d, uid_t uid, struct err *e)
{
    struct stat st;
    char name[16];
    int fd;

    (void)snprintf(name, sizeof name, "%u", uid);
    fd = beneath_open_here(d->in_fd, name, O_RDONLY | O_DIRECTORY);
    if (fd < 0 && (errno == ELOOP || errno == EXDEV || errno == ENOTDIR))
        return err_set(e, ERR_DENIED, "inbox/%u is no folder of the share itself", uid);
    if (fd < 0)
        return err_sys(e, "inbox/%u", uid);
    if (fstat(fd, &st) < 0)
        err_sys(e, "inbox/%u", uid);
    else if (st.st_uid != uid)
        err_set(e, ERR_DENIED, "inbox/%u belongs to uid %u", uid, st.st_uid);
    else if ((st.st_mode & others_write) != 0)
        err_set(e, ERR_DENIED, "others may write into inbox/%u (mode %04o)", uid,
                st.st_mode & 07777u);
    else if (st.st_size > BOX_MAX_BYTES)
        err_set(e, ERR_DENIED,
                "the folder inbox/%u has had too many files in it to be listed (it takes %lld "
                "bytes); remove it, and make another one of mode 0700 for its user",
                uid, (long long)st.st_size);
    else if (check_file_system(fd, "inbox", e) == 0)
        return fd;
    close(fd);
    return -1;
}

/* A file that is being renamed by link(2) and unlink(2) has two names for a moment. */
enum { RENAME_MAX_S = 2 };

static int check_file(int fd, uid_t uid, const char *name, struct err *e)
{
    struct stat st;
    const char *what = NULL;

    if (fstat(fd, &st) < 0)
        return err_sys(e, "inbox/%u/%s", uid, name);
    if (!S_ISREG(st.st_mode))
        what = "is no regular file";
    else if (st.st_uid != uid)
        what = "belongs to somebody else";
    else if (st.st_nlink != 1)
        return err_set(e,
                       time(NULL) - st.st_ctime <= RENAME_MAX_S && st.st_ctime <= time(NULL) + 1
                           ? ERR_BUSY
                           : ERR_DENIED,
                       "inbox/%u/%s has more than one name", uid, name);
    else if ((st.st_mode & others_write) != 0)
        what = "may be written by others";
    else if (st.st_size > FILE_REQUEST_MAX_BYTES)
        what = "is larger than a request";
    return what == NULL ? 0 : err_set(e, ERR_DENIED, "inbox/%u/%s %s", uid, name, what);
}

int inbox_dir_read(int box_fd, uid_t uid, const char *name, struct buf *out, struct err *e)
{
    enum { LIMIT = FILE_REQUEST_MAX_BYTES + 1 }; /* the file may have grown since it was checked */
    int fd = beneath_open_here(box_fd, name, O_RDONLY | O_NOCTTY);
    int rc = -1;
    ssize_t n;

    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return err_sys(e, "inbox/%u/%s", uid, name);
    if (check_file(fd, uid, name, e) == 0) {
        n = io_read_all(fd, buf_reserve(out, LIMIT), LIMIT);
        if (n < 0)
            err_sys(e, "inbox/%u/%s", uid, name);
        else
            buf_added(out, (size_t)n);
        rc = n < 0 ? -1 : 1;
    }
    close(fd);
    return rc;
}

bool inbox_dir_may_remove(const struct inbox_dir *d, uid_t uid)
{
    return d->is_root || uid == d->self;
}

/* ---- the outbox ---- */

static int write_reply(const struct inbox_dir *d, uid_t uid, int fd, struct bytes content)
{
    /* A service account cannot give files away: only their secret names protect the content. */
    mode_t mode = d->is_root || uid == d->self ? 0600 : 0644;

    if (io_write_all(fd, content.data, content.n) < 0 || fchmod(fd, mode) < 0)
        return -1;
    return d->is_root && uid != d->self ? fchown(fd, uid, (gid_t)-1) : 0;
}

int inbox_dir_put(const struct inbox_dir *d, uid_t uid, const char *name, struct bytes content,
                  struct err *e)
{
    char *temporary = mem_printf(FILE_REQUEST_TEMPORARY "%s", name);
    int fd =
        openat(d->out_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int rc = 0;

    if (fd < 0) {
        err_sys(e, "outbox/%s", temporary);
        free(temporary);
        return -1;
    }
    if (write_reply(d, uid, fd, content) < 0)
        rc = err_sys(e, "outbox/%s", name);
    if (close(fd) < 0 && rc == 0)
        rc = err_sys(e, "outbox/%s", name);
    if (rc == 0 && renameat(d->out_fd, temporary, d->out_fd, name) < 0)
        rc = err_sys(e, "outbox/%s", name);
    if (rc < 0)
        (void)unlinkat(d->out_fd, temporary, 0);
    free(temporary);
    return rc;
}

void inbox_dir_drop(const struct inbox_dir *d, const char *name)
{
    (void)unlinkat(d->out_fd, name, 0);
}

/* Opens a descriptor of its own for readdir(3), which moves the descriptor's position. */
static DIR *open_to_list(int dir_fd)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (fd >= 0 && dir == NULL)
        close(fd);
    return dir;
}

void inbox_dir_clear_outbox(const struct inbox_dir *d)
{
    DIR *dir = open_to_list(d->out_fd);
    const struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        (void)unlinkat(d->out_fd, entry->d_name, 0); /* no folder, so not "." nor ".." */
    if (dir != NULL)
        closedir(dir);
}

/* ---- creation of folders ---- */

void inbox_dir_make_box(const struct inbox_dir *d, uid_t uid, gid_t gid, const char *user)
{
    char name[16];
    char *link = mem_printf(FILE_REQUEST_OF_USER "%s", user);

    (void)snprintf(name, sizeof name, "%u", uid);
    if (inbox_dir_may_remove(d, uid) && mkdirat(d->in_fd, name, 0700) == 0) {
        int fd = openat(d->in_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        /* The mode comes first: after fchown the folder is the user's, who may change it. */
        if (fd >= 0 && (fchmod(fd, 0700) < 0 || (uid != d->self && fchown(fd, uid, gid) < 0)))
            (void)unlinkat(d->in_fd, name, AT_REMOVEDIR);
        if (fd >= 0)
            close(fd);
    }
    if (strchr(user, '/') == NULL && faccessat(d->in_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        (void)!symlinkat(name, d->in_fd, link); /* a link that is there already stays as it was */
    free(link);
}

/* ---- users and folders ---- */

static bool may_have_box(const struct inbox_scan *s, const struct inbox_dir *d, uid_t uid)
{
    return identity_is_known(uid) && (uid >= s->min_uid || uid == d->self);
}

static void make_box_of(const struct inbox_scan *s, const struct inbox_dir *d, uid_t uid)
{
    gid_t gid;
    char *user;

    if (may_have_box(s, d, uid) && identity_primary_group(uid, &gid, NULL) == 0) {
        user = identity_user_name(uid);
        inbox_dir_make_box(d, uid, gid, user);
        free(user);
    } else if (uid == d->self) { /* without an account, as in containers */
        inbox_dir_make_box(d, uid, (gid_t)-1, "-");
    }
}

static int compare_uids(const void *x, const void *y)
{
    const uid_t *a = x, *b = y;

    return *a < *b ? -1 : *a > *b;
}

static void find_boxes(struct inbox_scan *s, const struct inbox_dir *d)
{
    DIR *dir = open_to_list(d->in_fd);
    const struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL && s->n_found < INBOX_USERS_MAX) {
        char *end;
        unsigned long number = strtoul(entry->d_name, &end, 10);
        uid_t uid = (uid_t)number;

        if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || *end != '\0' ||
            number >= UINT32_MAX || !identity_is_known(uid) ||
            (s->n_known > 0 &&
             bsearch(&uid, s->known, s->n_known, sizeof *s->known, compare_uids) != NULL))
            continue;
        mem_grow((void **)&s->found, &s->found_capacity, s->n_found, sizeof *s->found);
        s->found[s->n_found++] = uid;
    }
    if (dir != NULL)
        closedir(dir);
}

void inbox_scan_run(struct inbox_scan *s, const struct inbox_dir *d)
{
    s->n_found = 0;
    make_box_of(s, d, d->self);
    if (s->makes_all && d->is_root) {
        /* Only this function may call getpwent(3), whose position in the list is the process's. */
        const struct passwd *entry;
        int n = 0;

        setpwent();
        while (n < INBOX_USERS_MAX && (entry = getpwent()) != NULL)
            if (may_have_box(s, d, entry->pw_uid)) {
                inbox_dir_make_box(d, entry->pw_uid, entry->pw_gid, entry->pw_name);
                n++;
            }
        endpwent();
    }
    for (size_t i = 0; i < s->n_met; i++)
        make_box_of(s, d, s->met[i]);
    find_boxes(s, d);
    for (size_t i = 0; i < s->n_found; i++)
        make_box_of(s, d, s->found[i]); /* makes the link by name */
}

void inbox_scan_free(struct inbox_scan *s)
{
    free(s->met);
    free(s->known);
    free(s->found);
    *s = (struct inbox_scan){ 0 };
}
