/* SPDX-License-Identifier: MIT */
/*
 * doctor.h - the checks of `ludwig doctor`, and their findings
 *
 * A check is a row of DOCTOR_CHECKS: its name, and the question that it answers.  Its function
 * check_NAME adds findings: all is well (CHECK_OK), something to know (CHECK_NOTE), or a problem
 * and advice (CHECK_PROBLEM); it adds none where the question does not apply.  Checks run in the
 * order of the rows.  They write only small test files and folders, which they remove again;
 * doctor_clean alone removes other files.
 */
#ifndef LUDWIG_CLIENT_DOCTOR_DOCTOR_H
#define LUDWIG_CLIENT_DOCTOR_DOCTOR_H

#include "client/session/rpc.h"
#include "client/util/conf.h"
#include "common/sftp/sftp.h"

enum verdict_of_check { CHECK_OK, CHECK_NOTE, CHECK_PROBLEM, CHECK_VERDICTS };
extern const char *const check_verdict_names[CHECK_VERDICTS];

/* One line of the output (docs/json.md). */
struct finding {
    const char *check; /* "share" */
    int verdict;       /* enum verdict_of_check */
    const char *found;
    const char *advice; /* NULL: nothing to do */
};
extern const struct schema finding_schema;

/* The state of the checks.  Earlier checks fill it for later ones. */
struct doctor {
    struct arena *arena;
    const char *server_option; /* --server, or NULL */
    const char *check;         /* the name of the current check */
    struct finding *findings;
    size_t n, capacity;

    struct conf conf;
    struct server_choice choice;
    struct rpc rpc;
    const char *share;    /* path of the share on this machine; NULL: not known */
    const char *projects; /* path of the projects' folder on this machine; NULL: not known */
    struct sftp *sftp;    /* SFTP connection to a server that is reached over SSH; or NULL */
    const char *root;     /* path of the share in SFTP, "" or absolute; NULL: not known */

    int64_t n_gpus;          /* GPUs of the workers that are up */
    int64_t n_local_gpus;    /* GPUs of the workers that are up on the server's machine */
    int64_t n_local_workers; /* number of workers that are up on the server's machine */
    bool has_conf;           /* conf could be read */
    bool has_choice;         /* choice is set */
    bool is_connected;       /* rpc is open */
    bool has_all_nodes;      /* false: there may be more nodes than were counted */
    bool has_share;          /* share is an existing folder */
};

/* Adds a finding of the current check.  advice: what to do, NULL: nothing; found: printf format.
 * Texts are copied. */
void doctor_say(struct doctor *d, enum verdict_of_check verdict, const char *advice,
                const char *found, ...) __attribute__((format(printf, 4, 5)));
/* Adds the finding "WHERE, SIZE freeSUFFIX": a note below 1 GiB, a problem below 100 MiB. */
void doctor_say_space(struct doctor *d, const char *where, int64_t free_bytes, const char *suffix);

/* What doctor_try_file measured. */
struct tried_file {
    double sync_ms;  /* time that writing and syncing took */
    int64_t mtime_s; /* the file's modification time: on a network drive, by its server's clock */
};
/* Creates a small file in folder, syncs it and removes it.  Returns 0 with *tried set, or -1 with
 * errno set. */
int doctor_try_file(const char *folder, struct tried_file *tried);

/* Runs `ludwig-worker clean`, which removes files that killed pilots left on this machine, and adds
 * a finding for each file or folder that it removed. */
void doctor_clean(struct doctor *d);

#define DOCTOR_CHECKS(X)                                                     \
    X(config, "are the configuration files well?")                           \
    X(server, "which server is meant, and does it answer?")                  \
    X(ssh, "how does SSH get to the server's machine?")                      \
    X(way, "which way do connections take there?")                           \
    X(sshd, "does the sshd of the user's own server listen?")                \
    X(pilots, "which keys has ludwigd let in for its pilots?")               \
    X(version, "are client and server of one version?")                      \
    X(identity, "as whom does the server know the user?")                    \
    X(workers, "which workers are up?")                                      \
    X(gpus, "which GPUs do they offer?")                                     \
    X(sftp, "is the share seen over SFTP, with room in it?")                 \
    X(share, "is the share seen on this machine, with room in it?")          \
    X(projects, "may the user write into projects?")                         \
    X(owners, "whose are the files that the user makes there?")              \
    X(clock, "do the clocks of the share and of this machine agree?")        \
    X(leftovers, "are there half-made results?")                             \
    X(state, "is the state folder of the user's own server on a good disk?") \
    X(scratch, "is there scratch for jobs on this machine?")                 \
    X(programs, "are the programs here that jobs may need?")

/* The functions are in doctor_server.c (config to gpus), doctor_share.c (sftp to leftovers) and
 * doctor_machine.c (state to programs). */
#define X(name, question) void check_##name(struct doctor *d); /* question */
DOCTOR_CHECKS(X)
#undef X

#endif
