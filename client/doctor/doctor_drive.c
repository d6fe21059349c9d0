/* SPDX-License-Identifier: MIT */
/* doctor_drive.c - checks of the shared drive over SFTP, and of whose the files are that are made */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/doctor/doctor.h"
#include "common/base/fs.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "common/proto/layout.h"
#include "common/sftp/sftp_root.h"

enum { PROJECTS_LOOKED_AT_MAX = 20 };

static const uint64_t FREE_LOW_BYTES = UINT64_C(1) << 30, FREE_BAD_BYTES = UINT64_C(100) << 20;

/* ---- the way to it ---- */

static bool open_sftp(struct doctor *d)
{
    struct err e = { 0 };
    int fd = mux_sftp(d->rpc.mux, &e);

    d->sftp = fd < 0 ? NULL : sftp_open(fd, &e);
    if (d->sftp == NULL)
        doctor_say(d, CHECK_PROBLEM, "see its sshd_config", "files cannot be sent or fetched: %s",
                   e.text);
    return d->sftp != NULL;
}

static bool find_root(struct doctor *d)
{
    const struct msg_welcome *w = &d->rpc.welcome;
    struct err e = { 0 };

    d->root = sftp_root_find(d->sftp, w->share, w->server_id, d->arena, &e);
    if (d->root == NULL)
        doctor_say(d, CHECK_PROBLEM,
                   "its admin: the folder that users are jailed to must be the share, or one above",
                   "%s", e.text);
    return d->root != NULL;
}

static void say_space(struct doctor *d)
{
    const char *where = d->root[0] == '\0' ? "the folder you are jailed to" : d->root;
    struct sftp_space space;
    struct buf size = { 0 };
    struct err e = { 0 };

    if (sftp_space(d->sftp, d->root[0] == '\0' ? "/" : d->root, &space, &e) < 0) {
        doctor_say(d, CHECK_OK, NULL, "the shared drive is %s", where);
        return;
    }
    units_add_size(&size, (int64_t)space.free_bytes);
    if (space.read_only)
        doctor_say(d, CHECK_PROBLEM, "mount it for writing there",
                   "the shared drive, %s, is read-only on the server", where);
    else
        doctor_say(d,
                   space.free_bytes < FREE_BAD_BYTES   ? CHECK_PROBLEM
                   : space.free_bytes < FREE_LOW_BYTES ? CHECK_NOTE
                                                       : CHECK_OK,
                   space.free_bytes < FREE_LOW_BYTES ? "make room there" : NULL,
                   "the shared drive is %s, %s free", where, buf_text(&size));
    buf_free(&size);
}

void check_sftp(struct doctor *d)
{
    if (!d->is_connected || d->rpc.mux == NULL || !open_sftp(d) || !find_root(d))
        return;
    say_space(d);
    if (!sftp_can(d->sftp, SFTP_CAN_SYNC))
        doctor_say(d, CHECK_NOTE, NULL,
                   "its SFTP server cannot sync files: an upload may be lost with its power");
}

/* ---- whose files are ---- */

/* Below the drive; NULL: there is none yet.  In the arena. */
static const char *own_inbox(struct doctor *d)
{
    const char *path =
        arena_printf(d->arena, LAYOUT_SERVER_DIR "/inbox/%" PRId64, d->rpc.welcome.uid);
    char *full = path_join(d->root[0] == '\0' ? "/" : d->root, path);
    struct sftp_attrs attrs;
    bool is_own = sftp_lstat(d->sftp, full, &attrs, NULL) == 0 && S_ISDIR(attrs.mode) &&
                  attrs.uid == (uint32_t)d->rpc.welcome.uid;

    free(full);
    return is_own ? path : NULL;
}

const char *doctor_own_project(struct doctor *d)
{
    const char *projects = d->rpc.welcome.projects;
    char *folder = mem_printf("%s/%s", d->root, projects != NULL ? projects : "");
    const char *found = NULL;
    struct list entries = { 0 };
    const struct sftp_entry *items;

    if (sftp_list(d->sftp, folder, d->arena, &entries, NULL) < 0)
        entries.n = 0;
    items = entries.items;
    for (size_t i = 0; i < entries.n && found == NULL; i++)
        if (items[i].name[0] != '.' && S_ISDIR(items[i].attrs.mode) &&
            (items[i].attrs.has & SFTP_OWNER) != 0 &&
            items[i].attrs.uid == (uint32_t)d->rpc.welcome.uid)
            found = projects != NULL && projects[0] != '\0'
                        ? arena_printf(d->arena, "%s/%s", projects, items[i].name)
                        : items[i].name;
    free(folder);
    return found;
}

/* Whose the server says it is; -1: it cannot be asked. */
static int64_t owner_there(struct doctor *d, const char *path, struct err *e)
{
    char *full = mem_printf("%s/%s", d->root, path);
    struct sftp_attrs attrs;
    int64_t uid = -1;

    if (sftp_lstat(d->sftp, full, &attrs, e) == 0)
        uid = (attrs.has & SFTP_OWNER) != 0 ? (int64_t)attrs.uid : -1;
    free(full);
    return uid;
}

static void say_owner(struct doctor *d, const char *how, const char *folder, int64_t uid)
{
    if (uid == d->rpc.welcome.uid)
        doctor_say(d, CHECK_OK, NULL, "files made %s are yours on the server", how);
    else
        doctor_say(
            d, CHECK_PROBLEM,
            "see root_squash, id mapping (NFS) or uid= (CIFS) of that mount, and the uids of "
            "both machines; until then results made here are not yours, and others may have "
            "your rights there",
            "a file made %s in %s belongs to uid %" PRId64
            " on the server, and you are uid %" PRId64 " there",
            how, folder, uid, d->rpc.welcome.uid);
}

static void try_sftp(struct doctor *d, const char *folder, const char *name)
{
    char *path = mem_printf("%s/%s", d->root, name);
    const struct bytes content = { (const uint8_t *)"x", 1 };
    struct err e = { 0 };
    int64_t uid;

    if (sftp_replace_file(d->sftp, path, content, 0600, &e) < 0) {
        doctor_say(d, CHECK_PROBLEM, "see its owner and mode, and whether there is room",
                   "you cannot write into %s: %s", folder, e.text);
    } else {
        uid = owner_there(d, name, &e);
        if (uid >= 0)
            say_owner(d, "over SFTP", folder, uid);
        (void)sftp_remove(d->sftp, path, NULL);
    }
    free(path);
}

/* What the mount says of a file made on it: of this user, or of whoever mounted it. */
static void say_mount(struct doctor *d, int fd)
{
    struct fs_type type = fs_type_of_fd(fd);
    struct stat st;

    if (fstat(fd, &st) == 0 && st.st_uid != geteuid())
        doctor_say(d, CHECK_NOTE,
                   "a mount of each user's own (CIFS: multiuser), or a service account for all "
                   "jobs, whose files these then are",
                   "on this %s mount every file belongs to uid %u, whoever makes it",
                   type.name[0] != '\0' ? type.name : "", (unsigned)st.st_uid);
}

/* NFS has no rights for root unless it is told to, which is well: workers write as others. */
static void say_refused(struct doctor *d, const char *folder, int number)
{
    bool is_squashed = number == EACCES && geteuid() == 0 && fs_is_network(d->share);

    if (is_squashed)
        doctor_say(
            d, CHECK_NOTE,
            "as root workers write as the jobs' owners, that is as it should be: run this as "
            "one of them to see whose their files become",
            "through the mount at %s root cannot write into %s: its server takes root for "
            "nobody (NFS: root_squash)",
            d->share, folder);
    else
        doctor_say(d, CHECK_PROBLEM,
                   "see whether the uids of both machines agree, and how the drive is mounted",
                   "through the mount at %s you cannot write into %s: %s", d->share, folder,
                   strerror(number));
}

static void try_mount(struct doctor *d, const char *folder, const char *name)
{
    char *path = path_join(d->share, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct err e = { 0 };
    int64_t uid;

    if (fd < 0) {
        say_refused(d, folder, errno);
    } else {
        say_mount(d, fd);
        uid = owner_there(d, name, &e);
        if (uid >= 0)
            say_owner(d, "through the mount", folder, uid);
        else
            doctor_say(d, CHECK_PROBLEM, "see that both are the same folder",
                       "a file made through the mount at %s is not seen on the server: %s",
                       d->share, e.text);
        close(fd);
        (void)unlink(path);
    }
    free(path);
}

void check_owners(struct doctor *d)
{
    const char *folder, *name;

    if (d->root == NULL)
        return;
    folder = doctor_own_project(d);
    if (folder == NULL)
        folder = own_inbox(d);
    if (folder == NULL) {
        doctor_say(d, CHECK_NOTE, NULL,
                   "nothing there is yours yet, so nothing was tried; your first submit makes a "
                   "project");
        return;
    }
    name = arena_printf(d->arena, "%s/.ludwig-doctor.%ld", folder, (long)getpid());
    try_sftp(d, folder, name);
    if (d->has_share && d->conf.share != NULL)
        try_mount(d, folder, name);
}
