/* SPDX-License-Identifier: MIT */
/*
 * phases.h - how an attempt, and the process of a batch, go from one phase to the next
 *
 * Whatever happens is posted as an event: by the handlers of messages from ludwigd, runners and
 * children, by timers, and by the effects of other events.  Posting only queues the event.
 * flow_turn (flow.h) takes the events in their order, before the loop waits: for each, the table
 * names the next phase and the effect, which is then carried out.  An event that the table does not
 * list for the phase came too late: it is refused, and logged at level debug.
 *
 * docs/internals/agent.md shows the table; a test holds the page against it.
 */
#ifndef LUDWIG_WORKER_FLOW_PHASES_H
#define LUDWIG_WORKER_FLOW_PHASES_H

#include "worker/agent/agent.h"

/* event of an attempt, its name, its meaning */
#define FLOW_EVENTS(X)                                                                          \
    X(EVENT_HANDED, "handed", "ludwigd has handed it out, and it is recorded")                  \
    X(EVENT_READY, "ready", "all of its batch has what it needs")                               \
    X(EVENT_UNREADY, "unready", "that is over: its data may have been changed")                 \
    X(EVENT_FOUND, "found", "another attempt, or it, had published the job before")             \
    X(EVENT_GIVEN, "given", "its batch has a slot and a runner")                                \
    X(EVENT_STARTED, "started", "the runner says: its process runs")                            \
    X(EVENT_NAMED, "named", "a runner of an earlier agent says that it has it")                 \
    X(EVENT_ENDED, "ended", "its folder lies in ended/")                                        \
    X(EVENT_LEFT, "left", "its runner is gone, before all that an earlier agent left is known") \
    X(EVENT_SILENT, "silent", "its runner may live, but says nothing")                          \
    X(EVENT_MISSED, "missed", "its runner is gone")                                             \
    X(EVENT_UNNAMED, "unnamed", "the process of its batch ran or runs, and nobody named it")    \
    X(EVENT_IN_RUN, "in-run", "the janitor says: it lies in run/")                              \
    X(EVENT_NOWHERE, "nowhere", "the janitor says: it lies nowhere, and its runner may live")   \
    X(EVENT_NEVER, "never", "it has never started, and still can")                              \
    X(EVENT_LEFT_OUT, "left-out", "its process has started, or ended, without it")              \
    X(EVENT_STOPPED, "stopped", "it was to stop, and nothing of it is left")                    \
    X(EVENT_KILLED, "killed", "its processes are gone; what it left is to be kept")             \
    X(EVENT_FINISHED, "finished", "what it left is kept")                                       \
    X(EVENT_PUBLISHED, "published", "its report lies in published/")                            \
    X(EVENT_WITHDRAWN, "withdrawn", "its result is out of runs/ again")                         \
    X(EVENT_SETTLED, "settled", "ludwigd has its outcome")                                      \
    X(EVENT_WITHDRAW, "withdraw", "ludwigd has its outcome, and does not want its result")      \
    X(EVENT_DISCARDED, "discarded", "nothing of it is left on scratch")                         \
    X(EVENT_STOP, "stop", "ludwigd wants nothing of it")                                        \
    X(EVENT_RECALL, "recall", "it goes back, if it has not started")                            \
    X(EVENT_LOSE, "lose", "what it needs will never be had, or nobody can look after it")       \
    X(EVENT_PREEMPT, "preempt", "the Slurm job of this worker ends")                            \
    X(EVENT_STOP_EARLY, "stop-early", "ludwigd wants it to save its state, and to end")

/* event of the process of a batch, its name, its meaning */
#define PROCESS_EVENTS(X)                                                            \
    X(PROCESS_EV_GIVEN, "given", "a runner has it")                                  \
    X(PROCESS_EV_NAMED, "named", "a runner of an earlier agent says that it has it") \
    X(PROCESS_EV_MISSED, "missed", "its runner is gone")                             \
    X(PROCESS_EV_ENDED, "ended", "its runner says that it has ended")                \
    X(PROCESS_EV_ASK, "ask", "the phases of its members are up to date")             \
    X(PROCESS_EV_NOTHING, "nothing", "the janitor says: it has left nothing")        \
    X(PROCESS_EV_ORPHANED, "orphaned", "it, or one of its members, lies in run/")    \
    X(PROCESS_EV_KILL, "kill", "it is time to kill it, perhaps again")               \
    X(PROCESS_EV_ALIVE, "alive", "the kill is not over, or nobody says so")          \
    X(PROCESS_EV_DEAD, "dead", "none of its processes is left")

/* effect, its name, what it does; the code is in flow.c */
#define FLOW_EFFECTS(X)                                                                      \
    X(EFFECT_REFUSED, "-", "nothing: the event is refused")                                  \
    X(EFFECT_NONE, "none", "nothing but the phase changes")                                  \
    X(EFFECT_ADMIT, "admit", "has its data brought, or gives it back at once")               \
    X(EFFECT_QUEUE, "queue", "its batch waits for a slot")                                   \
    X(EFFECT_UNQUEUE, "unqueue", "its batch does not wait for a slot any more")              \
    X(EFFECT_GIVE, "give", "something of it may lie on scratch from here on")                \
    X(EFFECT_START, "start", "tells ludwigd that it runs, and has its log watched")          \
    X(EFFECT_TAKE_OVER, "take-over", "has its log watched, and stops it if it is unwanted")  \
    X(EFFECT_TAKE_SLOT, "take-slot", "its processors and GPUs are not given to others")      \
    X(EFFECT_ORPHAN, "orphan", "its processes are to be killed")                             \
    X(EFFECT_FINISH, "finish", "has the janitor keep what it left")                          \
    X(EFFECT_PUBLISH, "publish", "has its result published")                                 \
    X(EFFECT_STOP, "stop", "has its runner end it")                                          \
    X(EFFECT_STOP_EARLY, "stop-early", "has its runner end it, and what it saved published") \
    X(EFFECT_TELL_FOUND, "tell-found", "its outcome is done or superseded")                  \
    X(EFFECT_TELL_CANCELLED, "tell-cancelled", "its outcome is cancelled")                   \
    X(EFFECT_TELL_RECALLED, "tell-recalled", "its outcome is recalled")                      \
    X(EFFECT_TELL_LOST, "tell-lost", "its outcome is lost")                                  \
    X(EFFECT_TELL_FINISHED, "tell-finished", "its outcome is what its end was kept as")      \
    X(EFFECT_TELL_REPORT, "tell-report", "its outcome is what its report says")              \
    X(EFFECT_TELL_WITHDRAWN, "tell-withdrawn", "its outcome is withdrawn")                   \
    X(EFFECT_SETTLE, "settle", "has what is left on scratch discarded")                      \
    X(EFFECT_WITHDRAW, "withdraw", "has its result withdrawn")                               \
    X(EFFECT_FORGET, "forget", "it is held no more")                                         \
    X(EFFECT_SEEK, "seek", "frees its slot and asks the janitor for it and for its members") \
    X(EFFECT_END, "end", "frees its slot, and asks for members that have not ended")         \
    X(EFFECT_ASK, "ask", "sends the question to the janitor")                                \
    X(EFFECT_RELEASE, "release", "frees its slot, and says so in the registry")              \
    X(EFFECT_KILL_SOON, "kill-soon", "has the orphan timer look at it")                      \
    X(EFFECT_KILL, "kill", "has the janitor kill its processes")                             \
    X(EFFECT_BURY, "bury", "frees its slot; its members are lost or given back")

#define X1(name, ...) name,
enum event { FLOW_EVENTS(X1) EVENT_COUNT };
enum process_event { PROCESS_EVENTS(X1) PROCESS_EVENT_COUNT };
enum effect { FLOW_EFFECTS(X1) EFFECT_COUNT };
#undef X1

extern const char *const event_names[EVENT_COUNT];
extern const char *const process_event_names[PROCESS_EVENT_COUNT];
extern const char *const effect_names[EFFECT_COUNT];

/* A row of a table.  EFFECT_REFUSED: the event is not listed for the phase; next has no meaning. */
struct step {
    int next; /* enum phase, or enum process_phase */
    enum effect effect;
};

extern const struct step attempt_steps[PHASE_COUNT][EVENT_COUNT];
extern const struct step process_steps[PROCESS_PHASE_COUNT][PROCESS_EVENT_COUNT];

/* An event that waits for its turn; the attempt or batch of its token may be gone by then. */
struct flow_event {
    struct ring ring;
    struct token token;
    bool is_of_process;
    int event;                   /* enum event, or enum process_event */
    char *reason;                /* text for users; may be NULL */
    int64_t at;                  /* STARTED: start time, ms since 1970 */
    struct token winner;         /* FOUND: the attempt that published */
    const struct report *report; /* PUBLISHED: in the attempt's arena */
    enum attempt_event outcome;  /* KILLED: the outcome that the attempt gets */
    enum cause cause;            /* PREEMPT */
};

/* Queues an event of the attempt; reason is copied; the caller fills in other members. */
struct flow_event *flow_post(struct agent *ag, const struct attempt *a, enum event event,
                             const char *reason);
void flow_post_process(struct agent *ag, const struct batch *b, enum process_event event);
/* Takes the first event, which the caller frees by flow_event_free; NULL: there is none. */
struct flow_event *flow_take_event(struct agent *ag);
void flow_event_free(struct flow_event *ev);

#endif
