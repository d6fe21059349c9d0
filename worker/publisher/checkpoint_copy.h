/* SPDX-License-Identifier: MIT */
/*
 * checkpoint_copy.h - copies checkpoints to the share, those of running attempts every so often
 *
 * The job may go on writing meanwhile.  When all is copied the folder is looked at again,
 * and what changed is copied again, until one look finds what the look before had found:
 * then the copy is the folder as it was at that moment, provided that files are not
 * rewritten in place faster than their times change.
 */
#ifndef LUDWIG_WORKER_PUBLISHER_CHECKPOINT_COPY_H
#define LUDWIG_WORKER_PUBLISHER_CHECKPOINT_COPY_H

#include "common/share/share_project.h"
#include "worker/base/scratch.h"
#include "worker/saved/checkpoint.h"

/* ---- a copy ---- */

struct checkpoint_copy {
    int from_fd;                       /* the job's folder */
    struct checkpoint_snapshot now;    /* what this round copies */
    struct checkpoint_snapshot before; /* what was copied in the round before */
    struct share_dir *to;              /* the copy; NULL: not begun */
    char *temporary;                   /* name of the copy */
    struct share_modes modes;
    unsigned round;
    size_t at;              /* index in now of the entry to copy next */
    int in_fd;              /* the file being copied; -1: none */
    struct share_file *out; /* that file on the share; NULL: none */
    int64_t copied_bytes;
};

/* Looks at <token>/checkpoint in run_fd (or ended/): 1 with *k to be closed; 0 when nothing lies
 * there, -1 with e set. */
int checkpoint_copy_open(struct checkpoint_copy *k, int run_fd, const char *token_hex,
                         struct err *e);
void checkpoint_copy_close(struct checkpoint_copy *k);

/* Whether the job's newest copy in this folder of the share, of its attempts up to this one, is the
 * same as the folder: 1 or 0, -1 with e set.  *newest is its name, if there is one. */
int checkpoint_copy_is_kept(const struct checkpoint_copy *k, const struct share_dir *at,
                            const char *job_name, int64_t attempt, struct checkpoint_name *newest,
                            struct err *e);

/* Begins the copy at/temporary, in place of what lies there. */
int checkpoint_copy_begin(struct checkpoint_copy *k, const struct share_dir *at,
                          const char *temporary, const struct share_modes *modes, struct err *e);
/* Copies a piece: 1 when there is more to do, 0 when it is whole, -1 with e set (ERR_BUSY: the job
 * does not stop changing it). */
int checkpoint_copy_go_on(struct checkpoint_copy *k, struct err *e);
/* The paths, below the folder where the copy lies, that must be durable before the copy gets its
 * name. */
const char **checkpoint_copy_paths(const struct checkpoint_copy *k, struct arena *a, size_t *n);

/*
 * ---- of attempts that run ----
 *
 * The publisher copies one checkpoint at a time, piece by piece, between its other work, and only
 * if it changed since the copy before.  What a lost node has not copied yet is lost with it.
 */

struct checkpoint_copies;

/* s and access stay the caller's. */
struct checkpoint_copies *checkpoint_copies_create(const struct scratch *s, struct shares *access);
void checkpoint_copies_destroy(struct checkpoint_copies *k); /* NULL is fine */

/* Copies checkpoints from now on, for the first time after every_ms.  Asking twice is fine. */
void checkpoint_copies_watch(struct checkpoint_copies *k, const struct token *token,
                             int64_t every_ms);
/* The attempt has ended; a copy that was begun is dropped. */
void checkpoint_copies_forget(struct checkpoint_copies *k, const struct token *token);

/* How long until there is something to do: 0: it is due, -1: never. */
int64_t checkpoint_copies_wait_ms(const struct checkpoint_copies *k);
/* Copies a piece, if there is something to do. */
void checkpoint_copies_turn(struct checkpoint_copies *k);

#endif
