/* SPDX-License-Identifier: MIT */
/*
 * jobinfo.h - a job in words, and its fields for --where
 */
#ifndef LUDWIG_CLIENT_QUERY_JOBINFO_H
#define LUDWIG_CLIENT_QUERY_JOBINFO_H

#include "client/term/where.h"
#include "client/term/table.h"
#include "common/proto/proto.h"

enum { JOBINFO_FIELDS = 19 };

/* Points into the job. */
struct jobinfo_row {
    struct where_row row;
    struct member fields[JOBINFO_FIELDS];
};

void jobinfo_fill_row(struct jobinfo_row *row, const struct job_info *j);
/* As where_parse, but unknown states and causes are ERR_USAGE, too.  *where is NULL if text is. */
int jobinfo_parse_where(const char *text, struct arena *a, struct where **where, struct err *e);

/* Whether name can be that of an entry of a folder that is not hidden, and no path; NULL cannot. */
bool jobinfo_is_one_name(const char *name);
/* Checks that the two names by which the server names the job's folder are there, and no paths. */
int jobinfo_check_names(const struct job_info *j, struct err *e);

enum tone jobinfo_tone(int state);
/* "lr=0.1 optimizer=adam" */
void jobinfo_add_params(struct buf *out, const struct value *params);
/* Whether the job waits because it was paused by itself, not with its sweep. */
bool jobinfo_is_paused(const struct job_info *j);
/* Adds why the job failed or waits; nothing for other jobs. */
void jobinfo_add_reason(struct buf *out, const struct job_info *j);
/* Adds the meaning that shells give to exit codes 126, 127, and 128 plus a signal's number; false,
 * and nothing added, for other codes.  out must be empty. */
bool jobinfo_add_exit_words(struct buf *out, int64_t exit_code);
/* "now", "12 s ago", "3 min ago", "5 h ago", "6 d ago", then the local date: "2026-11-21". */
void jobinfo_add_ago(struct buf *out, int64_t at_ms, int64_t now_ms);
/* Adds how long the job ran or has been running; nothing if it has not begun. */
void jobinfo_add_time(struct buf *out, const struct job_info *j, int64_t now_ms);

#endif
