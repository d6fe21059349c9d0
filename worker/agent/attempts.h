/* SPDX-License-Identifier: MIT */
/*
 * attempts.h - every attempt this agent holds
 */
#ifndef LUDWIG_WORKER_AGENT_ATTEMPTS_H
#define LUDWIG_WORKER_AGENT_ATTEMPTS_H

#include "worker/agent/attempt.h"
#include "worker/agent/batch.h"

struct attempts {
    struct ring all;
    struct ring batches; /* those that were handed out as such */
    struct attempt **buckets;
    size_t n_buckets;
    size_t n;
    int64_t last_number;
};

void attempts_init(struct attempts *t);
void attempts_free(struct attempts *t);

/* order lies in the arena, which is the attempt's from here on; user stays the caller's. NULL when
 * there is one of this token already (the arena is then destroyed). */
struct attempt *attempts_add(struct attempts *t, struct arena *a, const struct order *order,
                             struct user *user);
struct attempt *attempts_find(const struct attempts *t, const struct token *token);
void attempts_remove(struct attempts *t, struct attempt *a);

/* That of a process for several attempts, made if there is none. */
struct batch *attempts_batch(struct attempts *t, const struct token *token, struct user *user);
/* Of several attempts; NULL when there is none. */
struct batch *attempts_find_batch(const struct attempts *t, const struct token *token);
/* Of several or of one, by its process; NULL when there is none. */
struct batch *attempts_find_process(const struct attempts *t, const struct token *token);

/* What a worker says of it when it registers; ATTEMPT_NO: it is settled. */
enum attempt_state attempt_state_of(const struct attempt *a);

#endif
