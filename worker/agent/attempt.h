/* SPDX-License-Identifier: MIT */
/*
 * attempt.h - an attempt that this agent holds
 *
 *   queued ─▶ given ─▶ ended ─▶ outcome ─▶ discarding ─▶ (gone)
 *     │         └─▶ orphaned ─┘    └─▶ withdrawing ─▶ outcome
 *     └────────────────────────────▲
 */
#ifndef LUDWIG_WORKER_AGENT_ATTEMPT_H
#define LUDWIG_WORKER_AGENT_ATTEMPT_H

#include "worker/base/child_protocol.h"
#include "worker/base/ring.h"

struct batch;
struct user;

enum phase {
    PHASE_QUEUED,      /* waits for its data, for a look at the share, for a slot */
    PHASE_GIVEN,       /* a runner has it */
    PHASE_ORPHANED,    /* its runner died; its processes are being killed */
    PHASE_ENDED,       /* the publisher has it */
    PHASE_OUTCOME,     /* its outcome waits for ludwigd's answer */
    PHASE_WITHDRAWING, /* the publisher takes its result away again */
    PHASE_DISCARDING   /* settled; the publisher removes what is left on scratch */
};

/* What ludwigd is yet to be told of it; see outbox.h. */
struct telling {
    struct ring ring;
    enum { TOLD, HINT, OUTCOME, SENT } where;
    int event; /* enum attempt_event: the newest */
    int64_t at;
    int64_t seq;                  /* of the newest */
    int64_t sent_seq;             /* of the one on its way */
    uint64_t due_at;              /* HINT: by the loop's clock */
    const struct report *outcome; /* NULL: not decided yet */
};

struct attempt {
    struct ring ring;  /* among all, in order of arrival */
    struct ring young; /* among those that started a moment ago */
    struct ring mate;  /* among those of its batch */
    struct attempt *next_same_hash;
    struct token token;
    struct user *user;   /* whose it is */
    struct arena *arena; /* the order, and the report */
    struct order order;
    enum phase phase;
    struct batch *batch;     /* QUEUED, GIVEN, ORPHANED: who shares its process; else NULL */
    int64_t started_at;      /* 0: not yet */
    uint64_t young_until;    /* by the loop's clock */
    bool is_looked_at;       /* nobody published it before, as far as the share knows */
    bool is_restored;        /* the checkpoint it goes on from is on scratch, or there is none */
    uint64_t restore_due_at; /* ask for it again: by the loop's clock; 0: it has been asked for */
    uint64_t restore_delay_ms;
    bool is_staging;  /* ludwigd is to know */
    bool is_stopped;  /* ludwigd wants it to end */
    bool is_stale;    /* of a time before the machine was restarted */
    bool is_followed; /* somebody reads its log while it grows */
    bool is_named;    /* GIVEN: its runner said that it has it */
    bool is_asked;    /* GIVEN, without a runner: what became of it is being asked */
    bool only_look;   /* is_asked: its runner may have it after all */
    bool has_begun;   /* is_asked: if nothing of it is found, its process had started without it */
    enum attempt_event finish_event; /* ORPHANED, is_finishing: what it is to end as */
    const char *finish_reason;
    bool is_finishing;
    bool may_be_on_scratch;
    struct telling telling;
};

#endif
