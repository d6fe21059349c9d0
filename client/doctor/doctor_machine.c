/* SPDX-License-Identifier: MIT */
/* doctor_machine.c - checks of this machine: state folder, scratch, programs; and doctor_clean */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "client/doctor/doctor.h"
#include "client/pack/ignore.h"
#include "client/util/child.h"
#include "client/util/login_node.h"
#include "common/base/fs.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "common/proto/scratch_place.h"

enum { SLOW_SYNC_MS = 100, VERSION_MAX_BYTES = 4096 };

static const int64_t FREE_LOW_BYTES = INT64_C(2) << 30;

/* ---- state ---- */

void check_state(struct doctor *d)
{
    char *state = conf_state_dir();
    struct fs_type type = fs_type_of(state);
    const char *name = type.name[0] != '\0' ? type.name : "a file system that is not known";
    struct tried_file tried;
    struct stat st;

    if (!d->has_choice || !d->choice.embedded)
        ;
    else if (lstat(state, &st) < 0 && errno == ENOENT)
        doctor_say(d, CHECK_OK, NULL, "%s, which is made when the server starts", state);
    else if (lstat(state, &st) < 0)
        doctor_say(d, CHECK_PROBLEM, NULL, "%s: %s", state, strerror(errno));
    else if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
        doctor_say(d, CHECK_PROBLEM, "move it away", "%s is no folder of yours", state);
    else if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        doctor_say(d, CHECK_PROBLEM, "chmod 700 it", "others may write into %s", state);
    /* The time for a sync matters: ludwigd syncs its database before it acknowledges requests. */
    else if (doctor_try_file(state, &tried) < 0)
        doctor_say(d, CHECK_PROBLEM, "see its owner, and whether the disk is full",
                   "%s: a file cannot be written there: %s", state, strerror(errno));
    else if (fs_is_network(state))
        doctor_say(d, CHECK_NOTE, "let XDG_STATE_HOME name a folder on a disk of this machine",
                   "%s is on a network file system (%s, syncs in %.1f ms), where a database is "
                   "slow and may be harmed",
                   state, name, tried.sync_ms);
    else
        doctor_say(
            d, tried.sync_ms > SLOW_SYNC_MS ? CHECK_NOTE : CHECK_OK,
            tried.sync_ms > SLOW_SYNC_MS ? "let XDG_STATE_HOME name a folder on a faster disk"
                                         : NULL,
            "%s, on a disk of this machine (%s, syncs in %.1f ms)", state, name, tried.sync_ms);
    free(state);
}

/* ---- scratch ---- */

/* Adds a finding about the scratch folder path.  there: path, or the existing folder above path in
 * which the worker will make it. */
static void say_folder(struct doctor *d, const char *path, const char *there)
{
    const char *kind = fs_is_memory(there)    ? ", in memory"
                       : fs_is_network(there) ? ", on a network"
                                              : "";
    struct fs_type type = fs_type_of(there);
    struct tried_file tried;
    struct buf size = { 0 };
    struct statvfs fs;
    struct stat st;
    int64_t free_bytes;
    bool is_usable = stat(there, &st) == 0;

    if (is_usable && !S_ISDIR(st.st_mode)) {
        errno = ENOTDIR;
        is_usable = false;
    }
    if (!is_usable || access(there, W_OK | X_OK) < 0 || statvfs(there, &fs) < 0 ||
        doctor_try_file(there, &tried) < 0) {
        doctor_say(d, CHECK_PROBLEM,
                   "name a folder that you can write into (scratch: in config.yaml)", "%s: %s%s%s",
                   path, strcmp(there, path) != 0 ? there : "",
                   strcmp(there, path) != 0 ? ": " : "", strerror(errno));
        return;
    }
    free_bytes = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
    units_add_size(&size, free_bytes);
    buf_printf(&size, " free (%s, syncs in %.1f ms)",
               type.name[0] != '\0' ? type.name : "not known", tried.sync_ms);
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

/* A path with {user} is not checked, because the worker makes a folder for each user. */
void check_scratch(struct doctor *d)
{
    char *user = scratch_place_user();
    const char *path = d->conf.scratch != NULL ? d->conf.scratch : scratch_place_choose(user);
    struct stat st;
    char *there;

    free(user);
    if (!d->has_choice || !d->choice.embedded)
        return;
    if (path == NULL)
        doctor_say(d, CHECK_PROBLEM, "name a folder (scratch: in config.yaml)",
                   "none of $TMPDIR, /tmp and /var/tmp is a folder that you can write into and "
                   "others cannot take away");
    if (path == NULL || strchr(path, '{') != NULL)
        return;
    /* Of a missing folder check the nearest existing folder above it. */
    there = mem_strdup(path);
    while (lstat(there, &st) < 0 && errno == ENOENT && strcmp(there, "/") != 0 &&
           strcmp(there, ".") != 0) {
        char *above = path_dirname(there);

        free(there);
        there = above;
    }
    say_folder(d, path, there);
    free(there);
}

/* ---- files of killed pilots ---- */

void doctor_clean(struct doctor *d)
{
    struct buf out = { 0 }, errors = { 0 };
    struct err e = { 0 };
    char *worker = child_beside_us("ludwig-worker", &e);
    const char *const argv[] = { worker, "clean", d->conf.scratch, NULL };
    int status = worker == NULL ? -1 : child_capture_all(argv, &out, &errors, &e);
    char *text = buf_to_arena(&out, d->arena), *line, *rest = text;

    if (status < 0)
        doctor_say(d, CHECK_PROBLEM, NULL, "%s", e.text);
    else if (status > 0)
        doctor_say(d, CHECK_PROBLEM, NULL, "%.*s", (int)strcspn(buf_text(&errors), "\n"),
                   buf_text(&errors));
    else if (*text == '\0')
        doctor_say(d, CHECK_OK, NULL, "pilots that were killed have left nothing on this machine");
    while ((line = strsep(&rest, "\n")) != NULL)
        if (*line != '\0')
            doctor_say(d, CHECK_OK, NULL, "removed %s, which a killed pilot had left", line);
    buf_free(&errors);
    free(worker);
}

/* ---- programs ---- */

static void say_program(struct doctor *d, bool found, const char *name, const char *without)
{
    if (found)
        doctor_say(d, CHECK_OK, NULL, "%s is here", name);
    else
        doctor_say(d, CHECK_NOTE, NULL, "no %s here: %s", name, without);
}

static void say_slurm(struct doctor *d)
{
    static const char *const others[] = { "scancel", "squeue", "scontrol", "sinfo" };
    const char *const argv[] = { "sbatch", "--version", NULL };
    struct buf version = { 0 }, missing = { 0 }; /* version: "slurm 22.05.8" */
    int n;                                       /* bytes in the first line of version */
    bool answers = login_node_is_here(LOGIN_NODE_PING_MAX_MS);

    if (!child_is_in_path("sbatch")) {
        doctor_say(d, CHECK_OK, NULL, "no sbatch here, so no Slurm to submit to");
        return;
    }
    if (child_capture(argv, VERSION_MAX_BYTES, &version, NULL) < 0)
        buf_clear(&version);
    n = (int)strcspn(buf_text(&version), "\n");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (!child_is_in_path(others[i]))
            buf_printf(&missing, "%s%s", missing.n > 0 ? ", " : "", others[i]);
    if (version.n == 0 && !answers)
        doctor_say(d, CHECK_NOTE, "see what `scontrol ping` says",
                   "sbatch is here, and no Slurm answers it");
    else if (version.n == 0)
        doctor_say(d, CHECK_PROBLEM, "see what `sbatch --version` says",
                   "sbatch is here, and does not say its version");
    else if (missing.n > 0)
        doctor_say(d, CHECK_PROBLEM, "install Slurm's other commands, too",
                   "sbatch is here (%.*s), but not %s", n, buf_text(&version), buf_text(&missing));
    else if (!answers)
        doctor_say(d, CHECK_NOTE, "see what `scontrol ping` says",
                   "Slurm's commands are here (%.*s), and no Slurm answers them", n,
                   buf_text(&version));
    else
        doctor_say(d, d->choice.embedded ? CHECK_NOTE : CHECK_OK, NULL,
                   "Slurm answers (%.*s), so this is a login node%s", n, buf_text(&version),
                   d->choice.embedded ? ", where no worker is started without --local" : "");
    buf_free(&version);
    buf_free(&missing);
}

void check_programs(struct doctor *d)
{
    struct err why = { 0 };
    bool has_apptainer = child_is_in_path("apptainer") || child_is_in_path("singularity");

    say_program(d, child_is_in_path("python3"), "python3", "jobs in Python fail on this machine");
    if (ignore_check_git(&why) < 0 && why.kind != ERR_NOT_FOUND)
        doctor_say(d, CHECK_NOTE, why.text, "git is here, and cannot be used");
    else
        say_program(d, why.kind == ERR_NONE, "git",
                    "sweeps with a .ludwigignore or .gitignore fail to be submitted");
    say_program(d, has_apptainer, "apptainer or singularity",
                "sweeps with container: fail on this machine");
    say_slurm(d);
}
