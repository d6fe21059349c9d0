/* SPDX-License-Identifier: MIT */
/*
 * attempts.h - the attempts that this agent holds, and the batches that share a process
 *
 * Each attempt, and the process of each batch, is in one phase.  Once the registry has been read,
 * flow.c alone changes phases, by the table in worker/flow/phases.c.
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
 * The members of a shared batch were handed out, wait for their data and start together; they leave
 * one by one as they end.  A batch is freed when it has neither members nor a process.
 */
struct batch {
    struct ring ring;    /* in attempts.batches, if is_shared */
    struct ring orphan;  /* in agent.orphans, while ORPHANED or KILLING */
    struct ring members; /* struct attempt, in order of arrival */
    struct token token; /* LUDWIG_ATTEMPT of the process: the batch's token, or the only member's */
    struct user *user;  /* the owner */
    enum process_phase phase;
    bool is_shared;        /* it was handed out as a batch */
    bool has_lost_runner;  /* its runner died; if no member ever began, starting it failed */
    bool is_overdue;       /* its runner did not end it in time, and was killed */
    struct runner *runner; /* the runner that has the batch; NULL: none, or not known yet */
    struct slot_item slot;
    int64_t used_disk_bytes; /* what its runner said last; see disk_room.h */
    uint64_t measured_since; /* when its runner was told to measure (loop's clock); 0: not told */
    bool has_measured;       /* the runner has answered */
};

/* What ludwigd is still to be told about an attempt; see outbox.h. */
struct telling {
    struct ring ring;
    enum { TOLD, HINT, OUTCOME, SENT } where; /* nowhere, or the outbox's ring that it is in */
    int event;                                /* enum attempt_event: the newest one */
    int64_t at;
    int64_t seq;                  /* number of the newest event */
    int64_t sent_seq;             /* number of the event that was sent */
    uint64_t due_at;              /* HINT: when to send it, by the loop's clock */
    const struct report *outcome; /* NULL: not decided yet */
    const char
        *reason; /* why it is not published yet, sent with EV_END; NULL: nothing is in the way */
};

/* An attempt that the agent holds.  Its booleans are facts that hold in more than one phase. */
struct attempt {
    struct ring ring;  /* in attempts.all, in order of arrival */
    struct ring aside; /* RUNNING: in agent.young; DISCARDING: in agent.settled */
    struct ring mate;  /* in batch.members */
    struct attempt *next_same_hash;
    struct token token;
    struct user *user;   /* the owner */
    struct arena *arena; /* owns the order, the report and the reasons below */
    struct order order;
    enum phase phase;
    struct batch *batch;     /* NULL from PUBLISHING or OUTCOME on */
    int64_t started_at;      /* ms since 1970; 0: not yet */
    const char *gpu_ids;     /* the GPUs that it was started with: "0,2"; NULL: none */
    uint64_t young_until;    /* watch its log from then on, by the loop's clock */
    uint64_t restore_due_at; /* when to ask for the checkpoint again (loop's clock); 0: never */
    uint64_t restore_delay_ms;
    bool is_looked_at;      /* the share shows no result of the job, or could not be looked at */
    bool is_restored;       /* its checkpoint is on scratch, or it needs none */
    bool is_staged;         /* the stager was asked to bring something; ludwigd shows `staging` */
    bool is_unwanted;       /* ludwigd wants it to end */
    bool is_stale;          /* it was given before the machine was restarted */
    bool is_given_up;       /* publishers died of what it left: it ends as failed */
    bool is_followed;       /* a client reads its log while it grows */
    bool may_be_on_scratch; /* the publisher must discard it */
    struct report *failed; /* report that waits for the check of its GPUs; see worker/flow/gpus.h */
    enum attempt_event finish_event; /* FINISHING: the outcome that follows */
    enum cause finish_cause;
    const char *finish_reason;
    const char *early_reason; /* why ludwigd wants it to end early; NULL: no wish */
    struct telling telling;
};

enum { ATTEMPT_BUCKETS = 4096 };

struct attempts {
    struct ring all;
    struct ring batches; /* shared batches only */
    struct attempt *buckets[ATTEMPT_BUCKETS];
    size_t n;
    size_t n_in[PHASE_COUNT];
    int64_t last_number;
};

void attempts_init(struct attempts *t);
void attempts_free(struct attempts *t);

/* Makes an attempt and puts it into its batch.  order lies in arena a, which the attempt owns from
 * here on; user stays the caller's.  NULL if the token is there already (a is then destroyed). */
struct attempt *attempts_add(struct attempts *t, struct arena *a, const struct order *order,
                             struct user *user, enum phase phase);
struct attempt *attempts_find(const struct attempts *t, const struct token *token);
void attempts_move(struct attempts *t, struct attempt *a, enum phase to);
void attempts_remove(struct attempts *t, struct attempt *a);

/* Returns the shared batch with this token; makes it if there is none. */
struct batch *attempts_batch(struct attempts *t, const struct token *token, struct user *user);
/* Finds a shared batch; NULL if there is none. */
struct batch *attempts_find_batch(const struct attempts *t, const struct token *token);
/* Finds a batch, shared or not, by the token of its process; NULL if there is none. */
struct batch *attempts_find_process(const struct attempts *t, const struct token *token);
void batch_destroy(struct batch *b);

/* Returns the first member; NULL if none is left. */
struct attempt *batch_first(const struct batch *b);
/* Returns whether the batch has neither members nor a process, so that it can be destroyed. */
bool batch_is_over(const struct batch *b);
/* Takes the attempt out of its batch, which the caller destroys if it is over by that. */
void batch_leave(struct attempt *a);

/* Returns whether the attempt is in a phase in which a runner has it, or may have it. */
bool attempt_may_run(const struct attempt *a);
/* Whether the registry holds it: it is not settled, and has started if it has an outcome. */
bool attempt_is_recorded(const struct attempt *a);
/* Returns the state to name when registering; ATTEMPT_NO: do not list it, it is settled. */
enum attempt_state attempt_state_of(const struct attempt *a);

#endif
