/* SPDX-License-Identifier: MIT */
/*
 * why.h - what keeps a sweep's jobs from running, as lines for people
 */
#ifndef LUDWIG_SERVER_HANDLE_WHY_H
#define LUDWIG_SERVER_HANDLE_WHY_H

#include "server/base/server.h"

enum { WHY_LINES_MAX = 200 };

struct why {
    struct server *sv;
    struct arena *arena; /* holds the lines */
    const char **lines;
    size_t n;
    size_t n_could; /* workers that could run it at some time */
};

struct why why_begin(struct server *sv, struct arena *a);
void why_say(struct why *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Of a job that waits. */
int why_queued(struct why *to, int64_t sweep, int64_t no, bool is_held, struct err *e);
/* What keeps its sweep from getting pilots. */
int why_pilots(struct why *to, int64_t sweep, struct err *e);
/* What became of its last attempt that was in vain, if any. */
int why_last_try(struct why *to, int64_t job, struct err *e);

/*
 * *note is NULL, or one line in the arena: no worker that is connected and works for the sweep's
 * owner could ever run its jobs, and why.  NULL as well while there is no such worker at all.
 */
int why_nobody(struct server *sv, int64_t sweep, struct arena *a, const char **note, struct err *e);

#endif
