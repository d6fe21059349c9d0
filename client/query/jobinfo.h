/* SPDX-License-Identifier: MIT */
/*
 * jobinfo.h - what is shown of a job, and what --where asks about it
 */
#ifndef LUDWIG_CLIENT_QUERY_JOBINFO_H
#define LUDWIG_CLIENT_QUERY_JOBINFO_H

#include "client/query/where.h"
#include "client/term/table.h"
#include "common/proto/proto.h"

enum { JOBINFO_FIELDS = 12 };

/* Points into the job. */
struct jobinfo_row {
    struct where_row row;
    struct member fields[JOBINFO_FIELDS];
};

void jobinfo_fill_row(struct jobinfo_row *row, const struct job_info *j);
/* As where_parse, and states and causes that there are none of are ERR_USAGE too.  *where is NULL
 * when text is. */
int jobinfo_parse_where(const char *text, struct arena *a, struct where **where, struct err *e);

enum tone jobinfo_tone(int state);
/* "lr=0.1 optimizer=adam" */
void jobinfo_add_params(struct buf *out, const struct value *params);
/* It waits because somebody paused it, and not its sweep. */
bool jobinfo_is_paused(const struct job_info *j);
/* What went wrong, or why it waits; nothing where there is nothing to tell. */
void jobinfo_add_reason(struct buf *out, const struct job_info *j);
/* What shells mean by exit code 126, 127 or 128 and a signal's number; false, and nothing, for
 * other codes.  out is empty. */
bool jobinfo_add_exit_words(struct buf *out, int64_t exit_code);
/* "now", "12 s ago", "3 min ago", "5 h ago", "6 d ago", then the local date: "2026-11-21". */
void jobinfo_add_ago(struct buf *out, int64_t at_ms, int64_t now_ms);
/* How long it ran or has been running; nothing before that. */
void jobinfo_add_time(struct buf *out, const struct job_info *j, int64_t now_ms);

#endif
