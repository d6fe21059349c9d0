/* SPDX-License-Identifier: MIT */
/* doctor_machine.c - checks of this machine */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "client/doctor/doctor.h"
#include "client/pack/gitrules.h"
#include "client/util/child.h"
#include "client/util/login_node.h"
#include "common/base/fs.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/base/units.h"

enum { SLOW_SYNC_MS = 100, VERSION_MAX_BYTES = 4096 };

static const int64_t FREE_LOW_BYTES = INT64_C(2) << 30;

/* ---- state ---- */

static double now_ms(void)
{
    struct timespec now = { 0 };

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* How long a small file takes to be on the disk, or -1 with errno. */
static double sync_ms(const char *folder)
{
    char *path = mem_printf("%s/.ludwig-doctor.%ld", folder, (long)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    double start_ms = now_ms(), ms = -1;
    int number = errno;

    if (fd >= 0) {
        if (io_write_all(fd, "x", 1) == 0 && fsync(fd) == 0)
            ms = now_ms() - start_ms;
        number = errno;
        close(fd);
        (void)unlink(path);
    }
    free(path);
    errno = number;
    return ms;
}

/* What ludwigd acknowledges is on the disk first: one sync for all that comes in together. */
static void say_sync(struct doctor *d, const char *state)
{
    struct fs_type type = fs_type_of(state);
    const char *name = type.name[0] != '\0' ? type.name : "a file system that is not known";
    double ms = sync_ms(state);

    if (ms < 0)
        doctor_say(d, CHECK_PROBLEM, "see its owner, and whether the disk is full",
                   "%s: a file cannot be written there: %s", state, strerror(errno));
    else if (fs_is_network(state))
        doctor_say(d, CHECK_NOTE, "let XDG_STATE_HOME name a folder on a disk of this machine",
                   "%s is on a network file system (%s, syncs in %.1f ms), where a database is "
                   "slow and may be harmed",
                   state, name, ms);
    else
        doctor_say(d, ms > SLOW_SYNC_MS ? CHECK_NOTE : CHECK_OK,
                   ms > SLOW_SYNC_MS ? "let XDG_STATE_HOME name a folder on a faster disk" : NULL,
                   "%s, on a disk of this machine (%s, syncs in %.1f ms)", state, name, ms);
}

static void check_state_folder(struct doctor *d, const char *state, const struct stat *st)
{
    if (!S_ISDIR(st->st_mode) || st->st_uid != geteuid())
        doctor_say(d, CHECK_PROBLEM, "move it away", "%s is no folder of yours", state);
    else if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        doctor_say(d, CHECK_PROBLEM, "chmod 700 it", "others may write into %s", state);
    else
        say_sync(d, state);
}

void check_state(struct doctor *d)
{
    char *state = conf_state_dir();
    struct stat st;

    if (!d->has_choice || !d->choice.embedded)
        goto out;
    if (lstat(state, &st) == 0)
        check_state_folder(d, state, &st);
    else if (errno == ENOENT)
        doctor_say(d, CHECK_OK, NULL, "%s, which is made when the server starts", state);
    else
        doctor_say(d, CHECK_PROBLEM, NULL, "%s: %s", state, strerror(errno));
out:
    free(state);
}

/* ---- scratch ---- */

static bool is_usual(const char *path)
{
    return path != NULL && path[0] == '/' && access(path, W_OK) == 0 && !fs_is_memory(path) &&
           !fs_is_network(path);
}

/* Where a worker looks, in its order, unless scratch: says it. */
static const char *usual_scratch(void)
{
    const char *const places[] = { getenv("SLURM_TMPDIR"), getenv("SCRATCH"), getenv("TMPDIR"),
                                   "/tmp" };

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (is_usual(places[i]))
            return places[i];
    return NULL;
}

/* The path or, when it is yet to be made, the nearest above it that is there. */
static char *nearest(const char *path)
{
    char *at = mem_strdup(path);
    struct stat st;

    while (lstat(at, &st) < 0 && errno == ENOENT && strcmp(at, "/") != 0 && strcmp(at, ".") != 0) {
        char *above = path_dirname(at);

        free(at);
        at = above;
    }
    return at;
}

static int check_folder(const char *path, struct statvfs *fs)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return -1;
    if (!S_ISDIR(st.st_mode)) {
        errno = ENOTDIR;
        return -1;
    }
    return access(path, W_OK | X_OK) < 0 ? -1 : statvfs(path, fs);
}

/* there: the folder, or the one that it will be made in. */
static void say_folder(struct doctor *d, const char *path, const char *there)
{
    const char *kind = fs_is_memory(there)    ? ", in memory"
                       : fs_is_network(there) ? ", on a network"
                                              : "";
    struct fs_type type = fs_type_of(there);
    double ms = -1;
    struct buf size = { 0 };
    struct statvfs fs;
    int64_t free_bytes;

    if (check_folder(there, &fs) < 0 || (ms = sync_ms(there)) < 0) {
        doctor_say(d, CHECK_PROBLEM,
                   "name a folder that you can write into (scratch: in config.yaml)", "%s: %s%s%s",
                   path, strcmp(there, path) != 0 ? there : "",
                   strcmp(there, path) != 0 ? ": " : "", strerror(errno));
        return;
    }
    free_bytes = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
    units_add_size(&size, free_bytes);
    buf_printf(&size, " free (%s, syncs in %.1f ms)",
               type.name[0] != '\0' ? type.name : "not known", ms);
    if (free_bytes < FREE_LOW_BYTES)
        doctor_say(d, CHECK_NOTE, "make room there, or name another (scratch: in config.yaml)",
                   "%s, only %s%s", path, buf_text(&size), kind);
    else
        doctor_say(d, kind[0] != '\0' ? CHECK_NOTE : CHECK_OK,
                   kind[0] != '\0' ? "a disk of this machine suits jobs better (scratch: in "
                                     "config.yaml)"
                                   : NULL,
                   "%s, %s%s", path, buf_text(&size), kind);
    buf_free(&size);
}

static void say_scratch(struct doctor *d, const char *path)
{
    char *there = nearest(path);

    say_folder(d, path, there);
    free(there);
}

/* scratch: may name folders by {user}; those are the worker's to make. */
void check_scratch(struct doctor *d)
{
    const char *path = d->conf.scratch != NULL ? d->conf.scratch : usual_scratch();

    if (!d->has_choice || !d->choice.embedded)
        return;
    if (path == NULL)
        doctor_say(d, CHECK_PROBLEM, "name a folder (scratch: in config.yaml)",
                   "neither $TMPDIR nor /tmp is a folder on a disk that you can write into");
    else if (strchr(path, '{') == NULL)
        say_scratch(d, path);
}

/* ---- programs ---- */

static void say_program(struct doctor *d, bool found, const char *name, const char *without)
{
    if (found)
        doctor_say(d, CHECK_OK, NULL, "%s is here", name);
    else
        doctor_say(d, CHECK_NOTE, NULL, "no %s here: %s", name, without);
}

/* "slurm 22.05.8"; appends nothing when it does not say. */
static void add_slurm_version(struct buf *out)
{
    const char *const argv[] = { "sbatch", "--version", NULL };
    struct buf said = { 0 };

    if (child_capture(argv, VERSION_MAX_BYTES, &said, NULL) == 0 && said.n > 0)
        buf_printf(out, "%.*s", (int)strcspn(buf_text(&said), "\n"), buf_text(&said));
    buf_free(&said);
}

static void say_slurm(struct doctor *d)
{
    static const char *const others[] = { "scancel", "squeue", "scontrol", "sinfo" };
    struct buf version = { 0 }, missing = { 0 };

    if (!child_is_in_path("sbatch")) {
        doctor_say(d, CHECK_OK, NULL, "no sbatch here, so no Slurm to submit to");
        return;
    }
    add_slurm_version(&version);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (!child_is_in_path(others[i]))
            buf_printf(&missing, "%s%s", missing.n > 0 ? ", " : "", others[i]);
    if (version.n == 0)
        doctor_say(d, CHECK_PROBLEM, "see what `sbatch --version` says",
                   "sbatch is here, and does not say its version");
    else if (missing.n > 0)
        doctor_say(d, CHECK_PROBLEM, "install Slurm's other commands, too",
                   "sbatch is here (%s), but not %s", buf_text(&version), buf_text(&missing));
    else if (!login_node_is_here())
        doctor_say(d, CHECK_NOTE, "see what `scontrol ping` says",
                   "Slurm's commands are here (%s), and no Slurm answers them", buf_text(&version));
    else
        doctor_say(d, d->choice.embedded ? CHECK_NOTE : CHECK_OK, NULL,
                   "Slurm answers (%s), so this is a login node%s", buf_text(&version),
                   d->choice.embedded ? ", where no worker is started without --local" : "");
    buf_free(&version);
    buf_free(&missing);
}

static void say_git(struct doctor *d)
{
    struct err why = { 0 };

    if (gitrules_check(&why) < 0 && why.kind != ERR_NOT_FOUND)
        doctor_say(d, CHECK_NOTE, why.text, "git is here, and cannot be used");
    else
        say_program(d, why.kind == ERR_NONE, "git",
                    "sweeps with a .ludwigignore or .gitignore fail to be submitted");
}

void check_programs(struct doctor *d)
{
    bool has_apptainer = child_is_in_path("apptainer") || child_is_in_path("singularity");

    say_program(d, child_is_in_path("python3"), "python3", "jobs in Python fail on this machine");
    say_git(d);
    say_program(d, has_apptainer, "apptainer or singularity",
                "sweeps with container: fail on this machine");
    say_slurm(d);
}
