/* SPDX-License-Identifier: MIT */
/*
 * advice_internal.h - what the files behind advice.h share: a sweep with an advisor, in memory
 *
 * advice_lines.c writes the sweep's record, advice_session.c runs the advisor's process on a
 * worker, advice.c decides what comes next.
 */
#ifndef LUDWIG_SERVER_SEARCH_ADVICE_INTERNAL_H
#define LUDWIG_SERVER_SEARCH_ADVICE_INTERNAL_H

#include "server/search/advice.h"
#include "server/search/record.h"

/* How many rows of the record one query reads. */
enum { ADVICE_LINES_AT_ONCE = 100 };

/* One process of an advisor, by the connection of its worker. */
struct advice_session {
    int64_t conn; /* its number; 0: there is no session */
    struct token token;
    char *node;
    int64_t sent;  /* lines of the record up to this one were sent or passed over */
    bool is_ready; /* the worker can take more lines */
    uint64_t
        stop_ms; /* by the loop's clock: when it is stopped after the search ended; 0: not yet */
};

struct advisee {
    int64_t sweep;
    struct arena *arena; /* holds `search` */
    struct search search;
    int64_t points_at_once; /* points in one question at most: fewer for a large search */
    struct record record;
    bool was_paused;
    bool is_stale;   /* a turn failed: memory differs from the database, and is read again */
    bool is_loading; /* the record is being read */
    struct advice_session session;
    uint64_t asked_ms; /* *_ms: by the loop's clock; when the open question was asked */
    uint64_t start_ms; /* no session begins before this */
    uint64_t slots_ms; /* when `slots` was counted; 0: never */
    uint64_t due_ms;   /* when to look at the sweep again; 0: at no set time */
    int64_t slots;
    int64_t stand_ins; /* random points that the submit sent along; SCHEMA_NONE: not known */
};

struct advice {
    struct server *sv;
    struct advisee **items;
    size_t n, capacity;
    uv_timer_t *timer; /* freed when it is closed */
};

/* Columns of a sweep's row that matter for its advisor. */
struct advised_row {
    enum sweep_state state;
    bool is_asked; /* the advisor may give more points */
    int64_t told;
    const char *metric;
    enum goal goal;
    int64_t reps, project;
    const char *project_name, *stamp;
    struct digest work;
    enum reuse reuse;
    int64_t jobs, spent_ms, gpus_milli, uid;
    const char *says;    /* what people are told of the advisor */
    int64_t outstanding; /* jobs that have not ended */
    bool has_rule;       /* a stop rule or a race of the sweep ends jobs early, too */
};

static inline uint64_t advice_now(const struct server *sv)
{
    return uv_now(&sv->loop);
}

/* ---- advice_lines.c ---- */

/* Reads on in the rows of the record.  Returns 1 when a later turn has to read more, 0, -1. */
int advice_load_record(struct server *sv, struct advisee *a, struct err *e);
int advice_append(struct server *sv, struct advisee *a, enum advice_dir dir, const char *body,
                  struct err *e);
/* Write a line of ludwigd's member by member; _end appends it to the record and frees it. */
void advice_line_begin(const struct advisee *a, struct buf *line, const char *type);
void advice_line_text(struct buf *line, const char *key, const char *text);
int advice_line_end(struct server *sv, struct advisee *a, enum advice_dir dir, struct buf *line,
                    struct err *e);
/* Appends a line with the member why, unless why is NULL: a note or an answer. */
int advice_append_why(struct server *sv, struct advisee *a, enum advice_dir dir, const char *type,
                      const char *why, struct err *e);
int advice_append_space(struct server *sv, struct advisee *a, const struct advised_row *row,
                        struct err *e);
/* Appends a question for n points. */
int advice_append_ask(struct server *sv, struct advisee *a, int64_t n, struct err *e);
/* Appends a line for each job that ended since the last call: 1 when there are more, 0, -1. */
int advice_tell_ended(struct server *sv, struct advisee *a, struct advised_row *row, struct err *e);
/* Tells the results for a point whose configuration the sweep has, or that was done before. */
int advice_tell_done(struct server *sv, struct advisee *a, const struct advised_row *row,
                     int64_t point, int64_t param, struct err *e);

/* ---- advice_session.c ---- */

/* The sweep whose advisor runs on that connection with that token, or NULL. */
struct advisee *session_find(const struct advice *x, const struct conn *c,
                             const struct token *token);
void session_forget(struct advisee *a);
/* Orders the worker to stop the advisor's process, and forgets the session: later reports of it are
 * about an unknown attempt. */
void session_stop(struct server *sv, struct advisee *a);
/* Counts in a->slots how many jobs could run at once, and finds a worker that can run the advisor,
 * if possible no pilot; *conn 0: there is none.  The caller frees *node. */
int session_survey(struct server *sv, struct advisee *a, int64_t *conn, char **node, struct err *e);
/* Begins a session, sends it lines, or ends it, as the sweep's row and record ask for. */
int session_look(struct server *sv, struct advisee *a, const struct advised_row *row, int64_t conn,
                 const char *node, struct err *e);

#endif
