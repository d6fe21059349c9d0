/* SPDX-License-Identifier: MIT */
/*
 * mates.h - the jobs that one process works through, as its runner keeps them
 *
 *   open ─reported, or its process ended─▶ ended ─outcome written─▶ saved
 *
 * A mate is published as soon as it is reported, while the process goes on with the
 * others.  What the process printed until then, since the report before, is its log.
 * With the process end those that it did not report: the first one is what it was at,
 * and has its outcome; the others never began, and are given back.  So every process
 * ends at least one job.
 */
#ifndef LUDWIG_WORKER_RUNNER_MATES_H
#define LUDWIG_WORKER_RUNNER_MATES_H

#include "worker/base/spare.h"
#include "worker/runner/chunk.h"
#include "worker/runner/follow.h"

enum mate_state { MATE_OPEN, MATE_ENDED, MATE_SAVED };

struct mate {
    struct token token;
    char hex[TOKEN_HEX];
    int64_t job;
    enum mate_state state;
    bool is_stopped; /* nobody wants it any more */
    struct outcome outcome;
    char *reason;          /* the outcome's, or NULL */
    int64_t not_before_ms; /* ENDED: it is saved then, by the monotonic clock */
};

struct mates {
    struct mate *items;
    size_t n; /* 0: there is no batch */
    const struct scratch *scratch;
    struct token token; /* of the process */
    char hex[TOKEN_HEX];
    int64_t sweep;
    struct mate *last;   /* the one reported last; NULL: none was */
    int64_t since_ms;    /* when that was, or the process started */
    int64_t log_offset;  /* up to here its log is in the mates' logs */
    int64_t cpu_ms;      /* that are in the mates' outcomes */
    int64_t used_cpu_ms; /* by processes that were waited for, at the last look */
    bool is_running;
    bool has_more; /* to be read at once */
    struct follow follow;
};

/* From here to mates_free there is a batch; s must live as long. *process is the order of its
 * process. */
void mates_begin(struct mates *m, const struct scratch *s, const struct order_run *run,
                 struct order *process);
/* Their folders in run/; the batch's own is made with the process. */
int mates_make_folders(const struct mates *m, struct spares *spares, const struct order_run *run,
                       const struct value *chunk, struct err *e);
/* The process runs: follows what it reports. */
void mates_follow(struct mates *m, int64_t started_at);
void mates_free(struct mates *m);

/* Those that are not saved; room for all in list.  Returns how many. */
size_t mates_list(const struct mates *m, struct token_entry *list);

/* That one is wanted no more. */
void mates_stop(struct mates *m, const struct token *token);
/* None of those that are open is wanted: the process is to end. */
bool mates_are_unwanted(const struct mates *m);

/* For poll(2), -1: none. */
int mates_fd(const struct mates *m);
/* Until something is to be looked at or saved; -1 for never. */
int mates_wait_ms(const struct mates *m);
/* Takes in what the process reported; call it when mates_fd is readable, or the wait is over.
 * used_cpu_ms: by those of its processes that were waited for. */
void mates_look(struct mates *m, int64_t used_cpu_ms);

/* They all end without having begun, for the same reason. */
void mates_refuse(struct mates *m, int event, const char *reason);
/* The process has ended like this: what becomes of those that are open. */
void mates_over(struct mates *m, const struct outcome *process);

/* The next one to be saved, NULL: none now. */
struct mate *mates_due(struct mates *m);
/* Writes its outcome and moves its folder to ended/. */
int mates_save(struct mates *m, struct mate *mate, struct err *e);
bool mates_are_saved(const struct mates *m);

#endif
