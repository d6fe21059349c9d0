/* SPDX-License-Identifier: MIT */
/*
 * model.h - the data that `ludwig watch` shows: sweeps, jobs, nodes, curves, a log, a question
 *
 * The feed (feed.h) fills the model, keys (keys.h) change what is chosen, the view (view.h) draws
 * it.  The model does no I/O; its functions take at most a time linear in the jobs of a sweep.
 */
#ifndef LUDWIG_CLIENT_WATCH_MODEL_H
#define LUDWIG_CLIENT_WATCH_MODEL_H

#include "client/term/where.h"
#include "common/proto/proto.h"

enum {
    WATCH_SWEEPS_MAX = 50,  /* fewer than a server allows in a subscription */
    WATCH_CURVES_MAX = 8,   /* jobs whose curves are read and shown at a time */
    WATCH_POINTS_MAX = 512, /* points of a series; when it is full, every second one is dropped */
    WATCH_LOG_LINES = 2000,
    WATCH_LINE_BYTES = 4096, /* a log's line is cut to this */
    WATCH_INPUT_BYTES = 500  /* the longest filter that can be typed */
};

/* A job of a sweep; the job's number is its index in watch_sweep.jobs plus one. */
struct watch_job {
    uint8_t *info; /* struct job_info, encoded; NULL: not known */
    size_t n_info;
    int64_t started_at, ended_at;
    uint8_t state;  /* enum job_state */
    bool is_paused; /* the job itself is paused, not only its sweep */
    bool is_marked, is_pinned;
    bool matches; /* the job matches the filter */
};

struct watch_sweep {
    struct sweep_info info; /* its texts live in arena; user NULL: not known yet */
    struct arena *arena;
    bool may_see;  /* the user may see the sweep's jobs */
    bool is_whole; /* all jobs that the sweep had when it was subscribed to are known */
    struct watch_job *jobs;
    size_t n_jobs, jobs_capacity;
    int64_t *shown; /* numbers of the known jobs that match the filter, ascending */
    size_t n_shown, shown_capacity;
    bool is_stale;  /* shown is out of date; model_settle makes it anew */
    int64_t cursor; /* number of the job under the cursor; 0: the first */
};

enum watch_pane { PANE_SWEEPS, PANE_JOBS, PANE_CURVES, PANE_LOG, PANE_NODES, PANE_COUNT };

/* The values of one measure that a job has reported: y at step x. */
struct watch_series {
    char *name;
    double *x, *y;
    size_t n, capacity, n_seen, stride; /* of n_seen reported points each stride-th is kept */
    double last_x, last_y;              /* the last reported point, kept or not */
};

/* All measures that a job has reported so far. */
struct watch_curve {
    int64_t sweep, job; /* sweep 0: this place is free */
    char *path;         /* of the file with the measures */
    struct watch_series *series;
    size_t n, capacity;
    /* state of the feed, which reads the file piece by piece */
    int64_t offset;
    struct buf rest;    /* the beginning of a line whose end was not read yet */
    int64_t read_at_ms; /* monotonic; 0: not read yet */
    bool is_whole;      /* the job has ended, and the whole file was read */
};

/* A change of jobs that the user has asked for; the feed sends it after the user's yes. */
struct watch_order {
    enum msg_type type; /* MSG_CANCEL, MSG_PAUSE, MSG_RESUME or MSG_RETRY */
    struct target *targets;
    size_t n;
};

struct watch_model {
    char *who; /* user and server for the first line, "alice on server"; NULL: not shown */
    struct watch_sweep *sweeps;
    size_t n_sweeps, sweep; /* sweep: index of the chosen one */
    enum watch_pane focus;
    enum watch_pane lower;               /* on a small terminal: the pane below the jobs */
    bool has_help, is_zoomed, wants_end; /* help is shown, each job has a cell, q was pressed */
    size_t jobs_per_cell, cells_per_row; /* of the grid of jobs as it was drawn last */

    char *filter; /* in the words of --where; NULL: none */
    struct arena *filter_arena;
    struct where *where; /* the filter, parsed, in filter_arena; NULL: none */

    bool is_typing; /* the user is typing a filter, in the last row */
    char input[WATCH_INPUT_BYTES + 1];
    size_t n_input;
    char *question;                  /* NULL: none is shown */
    struct watch_order asked, order; /* of the question; for the feed to send, type 0: none */
    char *notice;                    /* a line about what was done or went wrong; NULL: none */
    bool is_notice_bad;
    int64_t notice_at_ms; /* monotonic */

    struct msg_node_page nodes;
    struct arena *nodes_arena;                           /* NULL: nodes is not known yet */
    size_t first_node;                                   /* the node in the pane's first row */
    int64_t pilots_waiting, pilots_running, slurm_calls; /* slurm_calls SCHEMA_NONE: no pilots */
    struct list why; /* const char *: why the first waiting job of why_sweep waits */
    int64_t why_sweep;
    struct arena *why_arena;

    struct watch_curve curves[WATCH_CURVES_MAX];
    char *best; /* a line about the best configuration of best_sweep so far; NULL: none is known */
    int64_t best_sweep;
    char *metric; /* the measure that the user chose; NULL: none, see model_metric */

    char *log_path; /* NULL: no log is shown */
    int64_t log_sweep, log_job;
    char **lines; /* ring buffer of the last WATCH_LOG_LINES lines */
    size_t n_lines, first_line;
    bool is_line_whole; /* the last line ends with a newline */
    size_t log_back;    /* lines scrolled back; 0: the pane follows the log */
    int64_t key_at_ms;  /* monotonic: when a key was last pressed */

    int64_t lost_at_ms;   /* monotonic: when the connection was lost; 0: it is open */
    int64_t asking_at_ms; /* monotonic: when the feed sent a request without a reply; 0: none */
    struct err end;       /* if is_over: why the feed has ended */
    bool is_over;         /* the feed has ended */
};

void model_init(struct watch_model *m);
void model_free(struct watch_model *m);

/* ---- news; these functions copy what they get ---- */

/* Returns the sweep with this number, which is added if it is new; NULL if there are
 * WATCH_SWEEPS_MAX others. */
struct watch_sweep *model_sweep(struct watch_model *m, int64_t number);
void model_take_sweep(struct watch_sweep *s, const struct sweep_info *info);
/* The paths in job are relative to the share. */
void model_take_job(struct watch_model *m, struct watch_sweep *s, const struct job_info *job);
void model_take_nodes(struct watch_model *m, const struct msg_node_page *page);
void model_take_why(struct watch_model *m, int64_t sweep, const struct list *lines);
/* Shows an empty log instead of the current one; model_add_log appends to it. */
void model_begin_log(struct watch_model *m, const char *path, int64_t sweep, int64_t job);
void model_add_log(struct watch_model *m, const char *bytes, size_t n);
/* Empties the curve, and makes it the curve of this job. */
void model_begin_curve(struct watch_curve *c, int64_t sweep, int64_t job, const char *path);
/* Adds a point of the measure called name, n bytes long; x NAN: the last point's x plus 1. */
void model_add_point(struct watch_curve *c, const char *name, size_t n, double x, double y);
/* Replaces the notice. */
void model_notice(struct watch_model *m, bool is_bad, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- looking ---- */

/* Returns the chosen sweep; NULL if there are no sweeps. */
struct watch_sweep *model_chosen(struct watch_model *m);
/* Makes the chosen sweep's list of shown jobs anew if it is stale.  Sets the cursor, once all jobs
 * are known, to the first running job or else the first one. */
void model_settle(struct watch_model *m);
/* Returns the index in shown of the job under the cursor or, if that job is not shown, of the next
 * one; of the last one if there is no next. */
size_t model_cursor(const struct watch_sweep *s);
/* Reads a job into *job, in the arena.  Returns false if the job is not known. */
bool model_job(const struct watch_sweep *s, int64_t number, struct arena *a, struct job_info *job);
/* Returns the job under the cursor; NULL if no job is shown. */
struct watch_job *model_current(struct watch_sweep *s);
/* Sets jobs to the numbers of the jobs whose curves the feed should read: pinned ones, the one
 * under the cursor, and running ones.  Returns how many. */
size_t model_wanted_curves(struct watch_model *m, int64_t jobs[WATCH_CURVES_MAX]);
/* Returns the names of all measures that some curve has, const char *, sorted and each once; the
 * list is in the arena. */
struct list model_metrics(const struct watch_model *m, struct arena *a);
/* Returns the measure to draw: of those reported the user's choice, else the sweep's ranking
 * metric, else accuracy, else loss, else the first; NULL if none was reported. */
const char *model_metric(struct watch_model *m, struct arena *a);

/* ---- moving and changing ---- */

/* Moves the cursor by so many shown jobs, at most to the first or last one. */
void model_move(struct watch_model *m, int64_t by);
/* Chooses the sweep with index i. */
void model_choose_sweep(struct watch_model *m, size_t i);
/* Moves the cursor to the next shown job that failed (step 1), or the one before (-1). */
void model_find_failed(struct watch_model *m, int step);
/* Sets the filter, in the words of --where; "": none.  If text cannot be parsed, the filter stays,
 * and the notice has the error. */
void model_set_filter(struct watch_model *m, const char *text);
/* Marks the jobs of the grid's cell under the cursor; if all are marked, removes their marks. */
void model_mark(struct watch_model *m);
/* Marks all jobs that match the filter, and no others; is_marked false: removes all marks. */
void model_mark_all(struct watch_model *m, bool is_marked);
size_t model_n_marked(const struct watch_sweep *s);
/* Pins the job under the cursor, so that its curve is always read; if it is pinned, unpins it. */
void model_pin(struct watch_model *m);
/* Asks the user whether to change (cancel, pause, resume, retry) jobs: the chosen sweep if the pane
 * of sweeps has the focus, else the marked jobs, if there are none those under the cursor. */
void model_ask(struct watch_model *m, enum msg_type type);
/* Ends the question; yes makes its change the order for the feed. */
void model_answer(struct watch_model *m, bool is_yes);

#endif
