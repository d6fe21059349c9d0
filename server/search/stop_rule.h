/* SPDX-License-Identifier: MIT */
/*
 * stop_rule.h - which jobs of a sweep are stopped early: a pure function of recorded events
 *
 * A sweep with `stop:` has one record.  Each event of its jobs (a value was reported, a job ended,
 * a user exempted it) is added in the order in which ludwigd took it, and the answer says whether
 * the job goes on.  The answer follows from the spec and the events added before, and from nothing
 * else: no clock, no file, no randomness.  The same events in the same order give the same answers.
 *
 * What the caller keeps.  Each answer says whether to keep its event (stop_keep).  The caller keeps
 * such events in the order of adding, in the same transaction as the consequences of the answer;
 * after a restart it makes a new record of the same spec and adds the kept events in that order,
 * without acting on the answers.  The record is then as before: further events get the same
 * answers.  Kept are the first value of a job in each span of steps (stop_span; spans grow by a
 * sixth, so a job of 1,000 steps has at most 42, one of 100,000 steps 72), the best value of a job
 * under `patience`, the value that stopped it, and what ended it; never the series.
 *
 * Repeats.  A job counts once: a value in a span of steps that the job reached before, in the same
 * attempt or another one, changes nothing and gets the answer that the first value got, so a stop
 * that was lost with a connection is given again.
 *
 * Values.  nan and inf are values and lose against every number.  A job without a value in a span
 * is not judged there.  Replications: a configuration is compared by the mean of its jobs in the
 * span.
 *
 * asha and median compare a value with the values of other jobs in the same span.  Spans between
 * two values of a job get values interpolated between the two.
 */
#ifndef LUDWIG_SERVER_SEARCH_STOP_RULE_H
#define LUDWIG_SERVER_SEARCH_STOP_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

/* number, word in sweep.yaml, sentence of the manual; the numbers lie in databases */
#define STOP_RULES(X)                                                                          \
    X(STOP_ASHA, 1, "asha",                                                                    \
      "stops what is not among the best 1/eta, 1/eta^2, ... at rungs first, first * eta, ...") \
    X(STOP_MEDIAN, 2, "median", "stops what is not in the better half")                        \
    X(STOP_PATIENCE, 3, "patience", "stops what has not improved for a number of steps")       \
    X(STOP_THRESHOLD, 4, "threshold", "stops what is worse than a value from a step on")

enum stop_rule {
#define X(name, number, word, sentence) name = number,
    STOP_RULES(X)
#undef X
};

const char *stop_rule_word(enum stop_rule rule); /* NULL: no such rule */
int stop_rule_by_word(const char *word);         /* an enum stop_rule; 0: none */

/*
 * The keys below `stop:` of sweep.yaml.  0 means "not given" for each number, except for threshold,
 * which has a flag; stop_spec_check refuses what does not fit together.
 *
 *   key        rules                 default
 *   rule       all                   none
 *   metric     all                   the sweep's objective    (text, here for the reasons only)
 *   step       all                   "step"                   (the field of LUDWIG_METRICS that counts)
 *   goal       all                   the sweep's goal
 *   first      asha median threshold a tenth of a training's length (asha, median); 0 (threshold)
 *   eta        asha                  2
 *   max_step   asha median           learned: the median last step of the jobs that ended by
 *                                    themselves; nothing is stopped before the first of them ended
 *   patience   patience              none: must be given      (steps without an improvement)
 *   min_delta  patience              0                        (a smaller gain is no improvement)
 *   threshold  threshold             none: must be given
 */
struct stop_spec {
    enum stop_rule rule;
    bool is_max;        /* a large value is good */
    bool can_resume;    /* a stopped job may go on later from its checkpoint */
    const char *metric; /* NULL: "value"; for reasons; copied by stop_record_new */
    const char *step;   /* NULL: "step" */
    int64_t first;
    double eta;
    int64_t max_step;
    int64_t patience;
    double min_delta;
    bool has_threshold;
    double threshold;
};

/* -1: a key is missing, out of range, or of another rule; e names the key as in sweep.yaml. */
int stop_spec_check(const struct stop_spec *spec, struct err *e);

/* The numbers lie in databases. */
enum stop_event_kind {
    /* The job reported value at step. */
    STOP_EVENT_VALUE = 1,
    /* The job ended well by itself, even if it was just told to stop; its last step and value. */
    STOP_EVENT_ENDED = 2,
    /* It does not go on: stopped or failed for good, cancelled, removed.  Its values stay. */
    STOP_EVENT_GONE = 3,
    /* A user wants the job to run (`ludwig retry --stopped`): it is never stopped again. */
    STOP_EVENT_EXEMPT = 4,
    /* stop_record_next named the job and the caller queued it again. */
    STOP_EVENT_RESUMED = 5,
    /* The job ended as it was told and left a checkpoint: it can be resumed. */
    STOP_EVENT_READY = 6
};

struct stop_event {
    enum stop_event_kind kind;
    int64_t job;    /* not 0; unique in the sweep */
    int64_t config; /* the job's configuration, which its replications share */
    int64_t rep;    /* 0, 1, ...; a (config, rep) has one job */
    int64_t step;   /* of VALUE and ENDED; a VALUE below step 0 is ignored */
    double value;   /* of VALUE and ENDED; may be nan or inf */
};

/* What the caller does with the event. */
enum stop_keep {
    /* Drop it: it changed nothing that lasts. */
    STOP_KEEP_NO,
    /* Append it to the kept events of the sweep. */
    STOP_KEEP_ADD,
    /* Remove the job's kept VALUE events, if it has any, and append this one (patience). */
    STOP_KEEP_REPLACE
};

enum { STOP_REASON_BYTES = 240 };

struct stop_answer {
    bool stop; /* stop the job; also given again for a job that was told before */
    enum stop_keep keep;
    int64_t stopped_at;  /* if stop: the step of the value that decided, */
    double stopped_with; /* and that value */
    /* A sentence with numbers for `ludwig why` on the job's last decision, also one to go on; ""
     * when nothing was decided. */
    char reason[STOP_REASON_BYTES];
};

/* Defaults: eta of asha; asha and median first judge at 1/STOP_FIRST_PART of a training's length.
 * A later look costs hours, an earlier one loses good configurations (docs/search.md). */
enum { STOP_ETA = 2, STOP_FIRST_PART = 10 };

struct stop_record; /* opaque: the events of one sweep */

/* Makes an empty record for a spec that passed stop_spec_check; free it with stop_record_free. */
struct stop_record *stop_record_new(const struct stop_spec *spec);
void stop_record_free(struct stop_record *r); /* NULL is allowed */

/* Adds one event and sets *answer.  Costs about 4 us among 20,000 configurations. */
void stop_record_add(struct stop_record *r, const struct stop_event *event,
                     struct stop_answer *answer);

/*
 * Which stopped job goes on; none without spec.can_resume.  Call it when the sweep could use a free
 * slot, before a job is taken that has not started.  A stopped job that is ready (STOP_EVENT_READY)
 * goes on when it is among the best known by now; of several the one that got furthest, then the
 * best.  Returns the job and the reason, or 0.  Changes nothing: the caller queues the job again
 * and adds STOP_EVENT_RESUMED.  Costs O(jobs), 4 ms for 20,000.
 */
int64_t stop_record_next(const struct stop_record *r, char reason[STOP_REASON_BYTES]);

/* The steps of a training, given or learned; 0: not known yet. */
int64_t stop_record_length(const struct stop_record *r);

/* The first step of the span in which step lies: 0, 1, 2, ... 12, 14, 16, 18, 21, ...  A worker can
 * thin out reports by it: the first report in each span counts. */
int64_t stop_span(int64_t step);

#endif
