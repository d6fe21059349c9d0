/* SPDX-License-Identifier: MIT */
/*
 * attempts.h - the attempts that this agent holds, and the batches that share a process
 *
 * Each attempt and each batch is in one phase.  The table of
 * worker/flow/phases.c leads from phase to phase; attempts_move and flow.c alone change a phase.
 */
#ifndef LUDWIG_WORKER_AGENT_ATTEMPTS_H
#define LUDWIG_WORKER_AGENT_ATTEMPTS_H

#include "worker/agent/slots.h"
#include "worker/base/child_protocol.h"
#include "worker/base/ring.h"

struct runner;
struct user;

/* phase, its name, what it means */
#define ATTEMPT_PHASES(X)                                                                          \
    X(PHASE_NEW, "new", "ludwigd handed it out; nothing has been done for it")                     \
    X(PHASE_STAGING, "staging", "its data, its checkpoint or a look at the share are awaited")     \
    X(PHASE_QUEUED, "queued", "all of its batch is ready and waits for a slot")                    \
    X(PHASE_STARTING, "starting", "a runner has it, and has not started it yet")                   \
    X(PHASE_RUNNING, "running", "its process runs")                                                \
    X(PHASE_LEFT, "left", "an earlier agent held it; no runner has named it yet")                  \
    X(PHASE_MUTE, "mute", "as left, and the janitor is asked whether it has ended")                \
    X(PHASE_MISSING, "missing", "no runner has it; the janitor is asked what became of it")        \
    X(PHASE_UNNAMED, "unnamed", "as missing, but the process of its batch has started without it") \
    X(PHASE_ORPHANED, "orphaned", "its runner died; its processes are being killed")               \
    X(PHASE_FINISHING, "finishing", "the janitor keeps what it left for the next attempt")         \
    X(PHASE_PUBLISHING, "publishing", "it has ended; the publisher has it")                        \
    X(PHASE_OUTCOME, "outcome", "its outcome waits for the answer of ludwigd")                     \
    X(PHASE_WITHDRAWING, "withdrawing", "the publisher takes its result away again")               \
    X(PHASE_DISCARDING, "discarding", "it is settled; the publisher removes what is left of it")   \
    X(PHASE_GONE, "gone", "nothing is left of it")

#define PROCESS_PHASES(X)                                                              \
    X(PROCESS_NONE, "none", "there is no process, or none that this agent knows of")   \
    X(PROCESS_GIVEN, "given", "a runner has it, or may have it; its slot is taken")    \
    X(PROCESS_SOUGHT, "sought",                                                        \
      "the janitor is asked whether the process of a batch left something")            \
    X(PROCESS_ORPHANED, "orphaned", "its runner died; its processes are to be killed") \
    X(PROCESS_KILLING, "killing", "the janitor kills its processes at this moment")

#define X1(name, ...) name,
enum phase { ATTEMPT_PHASES(X1) PHASE_COUNT };
enum process_phase { PROCESS_PHASES(X1) PROCESS_PHASE_COUNT };
#undef X1

extern const char *const phase_names[PHASE_COUNT];
extern const char *const process_phase_names[PROCESS_PHASE_COUNT];

/*
 * Attempts that share one process, and with it a slot and a runner.  Most batches have one member.
 * The members of others were handed out as a batch: they wait for their data together, start
 * together, and leave one by one as they end.  A batch lasts until it has neither members nor a
 * process.
 */
struct batch {
    struct ring ring;    /* shared: among those in struct attempts */
    struct ring orphan;  /* ORPHANED, KILLING: among those of the agent */
    struct ring members; /* struct attempt, in order of arrival */
    struct token token;  /* LUDWIG_ATTEMPT of its process: the batch's, or of the only member */
    struct user *user;   /* the owner */
    enum process_phase phase;
    bool is_shared;        /* a fact: it was handed out as a batch */
    bool has_lost_runner;  /* a fact: its runner died; if it never began, starting it failed */
    bool is_overdue;       /* a fact: its runner did not end it in time, and was killed */
    struct runner *runner; /* that has the batch; NULL: none, or not known yet */
    struct slot_item slot;
};

/* The news of an attempt for ludwigd; see outbox.h. */
struct telling {
    struct ring ring;
    enum { TOLD, HINT, OUTCOME, SENT } where;
    int event; /* enum attempt_event: the newest */
    int64_t at;
    int64_t seq;                  /* of the newest */
    int64_t sent_seq;             /* of the one on its way */
    uint64_t due_at;              /* HINT: by the loop's clock */
    const struct report *outcome; /* NULL: not decided yet */
    const char
        *reason; /* why it is not published yet: goes with the hints; NULL: nothing is in the way */
};

/* The booleans are facts that hold in more than one phase. */
struct attempt {
    struct ring ring;  /* among all, in order of arrival */
    struct ring aside; /* RUNNING: among the young; DISCARDING: among the settled */
    struct ring mate;  /* among those of its batch */
    struct attempt *next_same_hash;
    struct token token;
    struct user *user;   /* the owner */
    struct arena *arena; /* the order, and the report */
    struct order order;
    enum phase phase;
    struct batch *batch;     /* its process's; NULL from PUBLISHING or OUTCOME on */
    int64_t started_at;      /* 0: not yet */
    uint64_t young_until;    /* by the loop's clock */
    uint64_t restore_due_at; /* ask for the checkpoint again: by the loop's clock; 0: not later */
    uint64_t restore_delay_ms;
    bool is_looked_at;      /* no attempt published before, as far as the share shows */
    bool is_restored;       /* the checkpoint it goes on from is on scratch, or there is none */
    bool is_staged;         /* data had to be brought for it: ludwigd is to know */
    bool is_unwanted;       /* ludwigd wants it to end */
    bool is_stale;          /* of a time before the machine was restarted */
    bool is_followed;       /* a client reads its log while it grows */
    bool may_be_on_scratch; /* the publisher must discard it */
    enum attempt_event finish_event; /* FINISHING: what it is to end as */
    enum cause finish_cause;
    const char *finish_reason;
    struct telling telling;
};

enum { ATTEMPT_BUCKETS = 4096 };

struct attempts {
    struct ring all;
    struct ring batches; /* batches of several attempts */
    struct attempt *buckets[ATTEMPT_BUCKETS];
    size_t n;
    size_t n_in[PHASE_COUNT];
    int64_t last_number;
};

void attempts_init(struct attempts *t);
void attempts_free(struct attempts *t);

/* order lies in the arena, which is the attempt's from here on; user stays the caller's.  NULL when
 * there is an attempt of this token already (the arena is then destroyed). */
struct attempt *attempts_add(struct attempts *t, struct arena *a, const struct order *order,
                             struct user *user, enum phase phase);
struct attempt *attempts_find(const struct attempts *t, const struct token *token);
void attempts_move(struct attempts *t, struct attempt *a, enum phase to);
void attempts_remove(struct attempts *t, struct attempt *a);

/* The batch of several attempts with this token, made if there is none. */
struct batch *attempts_batch(struct attempts *t, const struct token *token, struct user *user);
/* Finds a batch of several attempts; NULL when there is none. */
struct batch *attempts_find_batch(const struct attempts *t, const struct token *token);
/* Finds a batch of several attempts or of one, by its process; NULL when there is none. */
struct batch *attempts_find_process(const struct attempts *t, const struct token *token);
void batch_destroy(struct batch *b);

/* The first member; NULL: there is none any more. */
struct attempt *batch_first(const struct batch *b);
/* The batch has neither members nor a process. */
bool batch_is_over(const struct batch *b);
/* The attempt needs a process no more; the batch may be over by that. */
void batch_leave(struct attempt *a);

/* Whether it has no outcome yet and is in a phase in which a runner has it, or may have it. */
bool attempt_may_run(const struct attempt *a);
/* The registry has it: it is not settled, nor told without having started. */
bool attempt_is_recorded(const struct attempt *a);
/* The state that a worker names when it registers; ATTEMPT_NO: the attempt is settled. */
enum attempt_state attempt_state_of(const struct attempt *a);

#endif
