/* SPDX-License-Identifier: MIT */
/*
 * slots.h - which waiting attempt starts next, and on which processors and GPUs
 *
 * First in, first out, as far as it fits beside what runs.  A small one may go
 * before a large one that does not fit, but only SLOTS_PASSED_MAX times: then
 * nothing behind the large one starts until it does.  Decides only; starts
 * nothing, asks no clock.
 *
 * An attempt of whole processors gets processors of its own, one with a fraction
 * none; all count against the total.  A whole GPU belongs to one attempt,
 * fractions share one.
 */
#ifndef LUDWIG_WORKER_AGENT_SLOTS_H
#define LUDWIG_WORKER_AGENT_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "worker/base/ring.h"

enum { SLOTS_PASSED_MAX = 20 };

struct slots_size {
    const unsigned *cpus; /* numbers of the processors there are */
    size_t n_cpus;
    int64_t cpus_milli; /* how much may be used at once; may differ from n_cpus */
    size_t n_gpus;
    int64_t memory_bytes; /* 0: not limited */
};

struct slot_need {
    int64_t cpus_milli;
    int64_t gpus_milli;
    int64_t memory_bytes; /* 0: not said */
};

/* Part of an attempt.  need and number are the owner's to set; the lists say what it got. */
struct slot_item {
    struct ring ring;
    struct slot_need need;
    int64_t number; /* order of arrival */
    int passed;
    bool is_waiting;
    bool is_running;
    unsigned *cpus; /* empty: not pinned */
    size_t n_cpus;
    unsigned *gpus; /* indices; the last one is shared if need.gpus_milli is no multiple of 1000 */
    size_t n_gpus;
};

struct slots;
struct slots *slots_create(const struct slots_size *size);
void slots_destroy(struct slots *s); /* NULL is fine; items belong to their owners */

void slot_item_init(struct slot_item *item);

/* Would it fit if nothing ran, on the GPUs that are offered now? */
bool slots_could_fit(const struct slots *s, const struct slot_need *need);

/* Queues the item at its number's place. */
void slots_add(struct slots *s, struct slot_item *item);
/* Takes it out of the queue, if it waits. */
void slots_drop(struct slots *s, struct slot_item *item);

bool slots_has_waiting(const struct slots *s);

/* Facts for slots_next, and what it finds out. */
struct slots_asking {
    bool gpus_are_known;  /* whether others use them was asked a moment ago */
    bool gpus_are_wanted; /* set: something could start if they were known */
    bool (*may_start)(const struct slot_item *item); /* NULL: each may.  One that may not is passed
                                                        over, and holds up nobody */
};

/* The next one to start: out of the queue, with all it needs.  NULL: nothing fits now. */
struct slot_item *slots_next(struct slots *s, struct slots_asking *asking);

/* Lists as many of the first GPUs as the item needs, if it is only known to have all there are. */
void slots_list_gpus(const struct slots *s, struct slot_item *item);
/* Takes an item that runs already, on the processors and GPUs in its lists. */
void slots_take(struct slots *s, struct slot_item *item);
/* Gives back what it had, if it runs, and empties its lists. */
void slots_release(struct slots *s, struct slot_item *item);

/* A GPU that other programs use is not offered; an item that has it keeps it. */
void slots_offer_gpu(struct slots *s, size_t gpu, bool is_offered);
size_t slots_gpus_offered(const struct slots *s);
/* Whether no item uses the GPU. */
bool slots_gpu_is_idle(const struct slots *s, size_t gpu);

#endif
