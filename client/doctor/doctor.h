/* SPDX-License-Identifier: MIT */
/*
 * doctor.h - what `ludwig doctor` looks at
 *
 * A check is a function and a row of doctor_checks.  It says what it found, once or several times:
 * well, something to know, or a problem; and what to do about it.  Nothing is changed or started.
 */
#ifndef LUDWIG_CLIENT_DOCTOR_DOCTOR_H
#define LUDWIG_CLIENT_DOCTOR_DOCTOR_H

#include "client/session/rpc.h"
#include "client/util/server_choice.h"
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
    struct list nodes;    /* struct node_info, when connected */
    const char *share;    /* as this machine sees it, when it is known */
    const char *projects; /* where they lie there */
    struct sftp *sftp;    /* of a server over SSH */
    const char *root;     /* the share as SFTP shows it, "" or absolute; NULL: not known */

    bool has_conf; /* it could be read */
    bool has_choice;
    bool is_connected;
    bool has_all_nodes; /* else there may be more than these */
    bool has_share;     /* it is there */
};

/* advice NULL: none.  found is made by its format. */
void doctor_say(struct doctor *d, enum verdict_of_check verdict, const char *advice,
                const char *found, ...) __attribute__((format(printf, 4, 5)));

/* In the order they run. */
struct doctor_check {
    const char *name; /* one word */
    void (*run)(struct doctor *d);
};
extern const struct doctor_check doctor_checks[]; /* ended by one without a name */

/* doctor_server.c */
void check_config(struct doctor *d);
void check_server(struct doctor *d);
void check_version(struct doctor *d);
void check_identity(struct doctor *d);
void check_workers(struct doctor *d);
void check_gpus(struct doctor *d);
/* doctor_drive.c */
/* A project of this user, below the drive as SFTP shows it; NULL: there is none.  In the arena. */
const char *doctor_own_project(struct doctor *d);
void check_sftp(struct doctor *d);
void check_owners(struct doctor *d);
/* doctor_ssh.c */
void check_ssh(struct doctor *d);
void check_way(struct doctor *d);
/* doctor_sshd.c */
void check_sshd(struct doctor *d);
/* doctor_pilots.c */
void check_pilots(struct doctor *d);
/* doctor_share.c */
void check_share(struct doctor *d);
void check_projects(struct doctor *d);
void check_clock(struct doctor *d);
void check_leftovers(struct doctor *d);
/* doctor_machine.c */
void check_state(struct doctor *d);
void check_scratch(struct doctor *d);
void check_programs(struct doctor *d);

#endif
