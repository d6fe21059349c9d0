/* SPDX-License-Identifier: MIT */
/*
 * finding.h - what the checks of `ludwig doctor` find
 *
 * A check says what it found, once or several times: that all is well, something to know, or a
 * problem; and what to do about it.
 */
#ifndef LUDWIG_CLIENT_DOCTOR_FINDING_H
#define LUDWIG_CLIENT_DOCTOR_FINDING_H

#include "client/session/rpc.h"
#include "client/util/conf.h"
#include "common/sftp/sftp.h"

enum verdict_of_check { CHECK_OK, CHECK_NOTE, CHECK_PROBLEM, CHECK_VERDICTS };
extern const char *const check_verdict_names[CHECK_VERDICTS];

/* One line of the answer (docs/json.md). */
struct finding {
    const char *check; /* "share" */
    int verdict;       /* enum verdict_of_check */
    const char *found;
    const char *advice; /* NULL: nothing to do */
};
extern const struct schema finding_schema;

/* What the checks know; earlier ones fill it for later ones. */
struct doctor {
    struct arena *arena;
    const char *server_option; /* --server, or NULL */
    const char *check;         /* the name of the one that runs */
    struct finding *findings;
    size_t n, capacity;

    struct conf conf;
    struct server_choice choice;
    struct rpc rpc;
    const char *share;    /* as this machine sees it, when it is known */
    const char *projects; /* where they lie there */
    struct sftp *sftp;    /* of a server over SSH */
    const char *root;     /* the share as SFTP shows it, "" or absolute; NULL: not known */

    int64_t n_gpus;          /* of the workers that are up */
    int64_t n_local_gpus;    /* of those among them that run on the server's machine ... */
    int64_t n_local_workers; /* ... and how many these are */

    bool has_conf; /* it could be read */
    bool has_choice;
    bool is_connected;
    bool has_all_nodes; /* else there may be more than were counted */
    bool has_share;     /* it is there */
};

/* advice NULL: none.  found is made by its format. */
void doctor_say(struct doctor *d, enum verdict_of_check verdict, const char *advice,
                const char *found, ...) __attribute__((format(printf, 4, 5)));
/* How much room there is: a problem when it is next to nothing.  suffix goes behind it. */
void doctor_say_space(struct doctor *d, const char *where, int64_t free_bytes, const char *suffix);

/* Of a small file that doctor_try_file made, synced and removed. */
struct tried_file {
    double sync_ms;  /* how long it took to be on the disk */
    int64_t mtime_s; /* by the clock of the drive */
};
/* 0, or -1 with errno. */
int doctor_try_file(const char *folder, struct tried_file *tried);

#endif
