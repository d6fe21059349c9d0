/* SPDX-License-Identifier: MIT */
/*
 * record.h - folds the lines of an advisor's record into a state, and decides the next step from it
 *
 * Pure: no clock, no database.  docs/internals/advisor.md says what the lines mean.
 */
#ifndef LUDWIG_SERVER_SEARCH_RECORD_H
#define LUDWIG_SERVER_SEARCH_RECORD_H

#include "common/proto/proto.h"

/* After so many failures in a row the advisor is not asked any more. */
enum { RECORD_FAILURES_MAX = 3 };

/* How long the advisor's lines without consequence may be in all; further ones are not recorded. */
enum { RECORD_STRAY_MAX_BYTES = 8 * 1024 * 1024 };

/* The same for lines that tell values of running jobs. */
enum { RECORD_STEPS_MAX_BYTES = 32 * 1024 * 1024 };

enum { RECORD_IDS_MAX = 1000 }; /* in one line that stops or resumes jobs */

/* For each point that was given, so many replications may be resumed in a sweep. */
enum { RECORD_RESUMES_PER_POINT = 100 };

/* The state that the lines so far lead to; zeros: no lines. */
struct record {
    int64_t last;      /* seq of the last line */
    int64_t given;     /* points given so far */
    int64_t stand_ins; /* of these, random points that the submit sent along */
    int64_t late;      /* of these, points used because the advisor was late */
    int64_t asked;     /* seq of the question that waits for its answer; 0: none */
    int64_t asked_n;   /* points that this question asks for */
    int64_t state;     /* seq of the advisor's newest state; 0: none */
    int64_t upto;      /* the last line that this state covers */
    int64_t sessions;
    int64_t stray_bytes; /* length of the advisor's lines without consequence */
    int64_t
        give_bytes; /* of these, those of an answer, until it is known if points follow from it */
    int64_t step_bytes; /* length of lines that tell values of running jobs */
    int64_t resumed;    /* lines `resumed` */
    bool wants_steps;   /* the advisor wants such lines */
    bool wants_resume;  /* the advisor resumes stopped jobs, so it is asked beyond the budget */
    int failures;       /* the advisor's failures in a row */
    bool waits;         /* the advisor has nothing to give until it is told more */
    bool is_done;       /* the advisor will give no more points */
    bool is_paused;     /* ludwigd paused the sweep, as the advisor failed too often */
    bool has_ended;     /* the search is over: the advisor is asked no more */
    char name[64];      /* as the advisor calls itself; "": not known */
    char why[256];      /* the reason of its last failure */
};

/* Adds the next line of the record; its seq is larger than r->last. */
void record_add(struct record *r, const struct advice_line *line);

/* How the sweep stands now. */
struct record_now {
    bool is_running;     /* the sweep is neither paused nor over */
    int64_t outstanding; /* points that are queued or run */
    int64_t slots;       /* jobs that could run at once; 0: no worker is there */
    int64_t waited_ms;   /* since the open question was asked */
    bool is_spent;       /* the GPU hours of the budget are used up */
    int64_t stand_ins;   /* random points that the submit sent along */
    bool is_there;       /* a process of the advisor runs */
};

enum record_step {
    RECORD_NOTHING,  /* do nothing until something happens or after_ms have passed */
    RECORD_ASK,      /* ask the advisor for n points; 0: whether it resumes any, or is done */
    RECORD_STAND_IN, /* use n random points instead of an answer */
    RECORD_RESUME,   /* note that a user resumed the sweep after the failures */
    RECORD_PAUSE,    /* pause the sweep, as the advisor failed too often */
    RECORD_END       /* end the search */
};

struct record_next {
    enum record_step step;
    int64_t n;
    int64_t after_ms; /* -1: never */
};

struct record_next record_next(const struct record *r, const struct search *s,
                               const struct record_now *now);

/* Whether the advisor is asked no more because it failed too often. */
bool record_has_given_up(const struct record *r);
/* Whether a new session is sent this line of the record, after `space` and the advisor's state. */
bool record_is_passed(const struct record *r, const struct advice_line *line);

/* ---- lines of an advisor ---- */

enum said_type {
    SAID_HELLO,
    SAID_GIVE,
    SAID_STATE,
    SAID_STOP,
    SAID_RESUME,
    SAID_SAY,
    SAID_TYPE_COUNT
};

struct said {
    enum said_type type;
    int64_t re; /* give: the question's seq; stop, resume: the line that led to it; 0: none */
    struct value points; /* give: a list of maps, perhaps empty */
    bool waits, is_done; /* give */
    bool wants_steps;    /* hello: the advisor wants values of running jobs */
    bool wants_resume;   /* hello: the advisor resumes stopped jobs */
    int64_t upto;        /* state */
    struct value ids;    /* stop, resume: a list of numbers */
    const char *text;    /* say; stop, resume: why; NULL: none */
};

/* Reads a line that an advisor wrote into *said, whose texts and values are in the arena.
 * ERR_USAGE tells in one line what is wrong with it. */
int record_read(const char *line, struct arena *a, struct said *said, struct err *e);

#endif
