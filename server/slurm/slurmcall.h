/* SPDX-License-Identifier: MIT */
/*
 * slurmcall.h - a command of Slurm's, run as its user, while the loop goes on
 *
 * When slurmctld is away each command hangs for 9 s or longer: one that takes too long is killed.
 */
#ifndef LUDWIG_SERVER_SLURM_SLURMCALL_H
#define LUDWIG_SERVER_SLURM_SLURMCALL_H

#include <stdbool.h>
#include <uv.h>

#include "common/base/buf.h"
#include "common/base/err.h"

/* Before the rights and a command: this program takes these rights and becomes that command. */
#define SLURM_CALL_AS "--as"

enum { SLURM_CALL_SAYS_MAX_BYTES = 1 << 16 }; /* on standard error; the rest is passed over */

struct slurm_call;

struct slurm_command {
    char *const *args; /* the first is looked for in env's PATH; both end in NULL */
    char *const *env;
    const char *rights; /* whose, as account_rights has them; NULL: our own */
    const char *input;  /* NULL: none */
    size_t input_n;
    uint64_t timeout_ms;
    size_t output_max_bytes;
};

struct slurm_result {
    int exit_code;    /* 127 when there is no such command; -1 when a signal ended it */
    bool is_late;     /* it was killed, as it took too long */
    bool is_too_long; /* it was killed, as it said too much */
    struct buf out, said;
};

/* On the loop.  The result is gone afterwards, but for what was taken out of it. */
typedef void (*slurm_done_fn)(void *context, struct slurm_result *result);

/* NULL with e set when nothing could be started; done is not called then.  Texts are copied. */
struct slurm_call *slurm_call_begin(uv_loop_t *loop, const struct slurm_command *command,
                                    slurm_done_fn done, void *context, struct err *e);
/* Nobody wants it any more: it is killed.  Not once done was called.  The loop frees it; one that does
 * not die keeps the loop from ending for 1 s at most. */
void slurm_call_drop(struct slurm_call *c);

/* For main.c: argv after SLURM_CALL_AS.  Comes back, with what to exit with, only if it fails. */
int slurm_call_become(char **argv);

#endif
