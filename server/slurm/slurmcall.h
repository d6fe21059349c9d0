/* SPDX-License-Identifier: MIT */
/*
 * slurmcall.h - runs Slurm's commands beside the loop, with a user's rights; bounds their number
 *
 * When slurmctld is away each command hangs for 9 s or longer, so a command that takes too long is
 * killed.  Each command costs slurmctld, which serves all users, a few calls, so a bucket of tokens
 * bounds how many commands run.
 */
#ifndef LUDWIG_SERVER_SLURM_SLURMCALL_H
#define LUDWIG_SERVER_SLURM_SLURMCALL_H

#include <stdbool.h>
#include <uv.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "server/slurm/slurmread.h"

/* The option before rights and a command: this program takes the rights and becomes the command. */
#define SLURM_CALL_AS "--as"

enum {
    SLURM_CALL_SAYS_MAX_BYTES = 1 << 16, /* of standard error; the rest is dropped */
    SLURM_NO_COMMAND = 127               /* the exit code where there is no such command */
};

struct slurm_call;

struct slurm_command {
    char *const *args; /* the first is looked for in env's PATH; both arrays end in NULL */
    char *const *env;
    const char *rights;      /* rights to take, as account_rights has them; NULL: our own */
    const char *input;       /* for standard input; NULL: none */
    uint64_t timeout_ms;     /* 0: 25 s */
    size_t output_max_bytes; /* 0: SLURM_OUTPUT_MAX_BYTES */
};

struct slurm_result {
    int exit_code;    /* 127: no such command; -1: a signal ended it */
    bool is_late;     /* the command was killed, as it took too long */
    bool is_too_long; /* the command was killed, as its output was too long */
    struct buf out, said;
};

/* Called on the loop.  The result is freed afterwards, except for buffers taken out of it. */
typedef void (*slurm_done_fn)(void *context, struct slurm_result *result);

/* Starts a command.  NULL with e set on failure: done is not called then.  Texts are copied. */
struct slurm_call *slurm_call_begin(uv_loop_t *loop, const struct slurm_command *command,
                                    slurm_done_fn done, void *context, struct err *e);
/* Kills a command whose result is not wanted any more; not allowed once done was called.  The loop
 * frees it; a process that does not die keeps the loop from ending for 1 s at most. */
void slurm_call_drop(struct slurm_call *c);

/* For main.c: argv after SLURM_CALL_AS.  Returns only if it fails, with an exit code. */
int slurm_call_become(char **argv);

enum {
    SLURM_BUDGET_BUCKET = 30,     /* tokens in a full bucket: commands at once */
    SLURM_BUDGET_EVERY_MS = 1000, /* time until the next token */
    SLURM_BUDGET_SLOTS = 60,      /* counts of commands, which cover the last hour */
    SLURM_BUDGET_SLOT_MS = 60 * 1000,
};

struct slurm_budget {
    int64_t bucket, every_ms;
    int64_t tokens;
    int64_t filled_at_ms; /* when the last token came, or would have come into a full bucket */
    int64_t slot;         /* number of the newest slot in counts */
    int64_t counts[SLURM_BUDGET_SLOTS];
};

/* Times are those of units_monotonic_ms. */
void slurm_budget_begin(struct slurm_budget *b, int64_t now_ms);
/* Lowers b to half of what the site allows a user: the rest is for the user's own commands. */
void slurm_budget_fit(struct slurm_budget *b, const struct slurm_config *config);

/* Takes a token for one command; false: there is none, and the command is not counted. */
bool slurm_budget_take(struct slurm_budget *b, int64_t now_ms);
/* Milliseconds until n commands, or a full bucket of them, may run at once; 0: they may now. */
int64_t slurm_budget_wait_ms(struct slurm_budget *b, int64_t n, int64_t now_ms);
int64_t slurm_budget_last_hour(struct slurm_budget *b, int64_t now_ms);

#endif
