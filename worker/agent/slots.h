/* SPDX-License-Identifier: MIT */
/*
 * slots.h - decides which waiting batch starts next, and on which processors and GPUs
 *
 * Items start in order of arrival, if they fit beside those that run.  A small item may pass a
 * large one that does not fit, but only SLOTS_PASSED_MAX times: then nothing after the large one
 * starts before it does.  The code only decides: it starts nothing and reads no clock.
 *
 * An item that needs whole processors gets processors of its own, near the same memory (NUMA) if
 * enough are free there; with a fraction it gets none of its own.  All count against the total.  A
 * whole GPU belongs to one item; fractions can share one.
 */
#ifndef LUDWIG_WORKER_AGENT_SLOTS_H
#define LUDWIG_WORKER_AGENT_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "worker/base/ring.h"

enum { SLOTS_PASSED_MAX = 20 };

struct slots_size {
    const unsigned *cpus; /* numbers of the processors */
    size_t n_cpus;
    int64_t cpus_milli; /* how much may be used at once; may differ from 1000 * n_cpus */
    size_t n_gpus;
    int64_t memory_bytes;      /* 0: not limited */
    const unsigned *cpu_nodes; /* per processor: its NUMA node; NULL: the same for all */
};

struct slot_need {
    int64_t cpus_milli;
    int64_t gpus_milli;
    int64_t memory_bytes; /* 0: not said */
    int64_t disk_bytes;   /* on scratch; 0: not said; checked by asking->has_room */
};

/* Part of a batch, which sets need and number; the lists, freed by the batch, say what it got. */
struct slot_item {
    struct ring ring;
    struct slot_need need;
    int64_t number; /* order of arrival */
    int passed;
    bool is_waiting;
    bool is_running;
    unsigned *cpus; /* empty: not pinned */
    size_t n_cpus;
    unsigned *gpus; /* indices; if need.gpus_milli has a fraction, the last is shared */
    size_t n_gpus;
};

struct slots;
struct slots *slots_create(const struct slots_size *size);
void slots_destroy(struct slots *s); /* NULL is fine; items belong to their owners */

void slot_item_init(struct slot_item *item);

/* Returns whether it would fit if nothing ran, with the GPUs that are offered now. */
bool slots_could_fit(const struct slots *s, const struct slot_need *need);

/* Queues the item at its number's place. */
void slots_add(struct slots *s, struct slot_item *item);
/* Takes the item out of the queue, if it waits. */
void slots_drop(struct slots *s, struct slot_item *item);

bool slots_has_waiting(const struct slots *s);

/* What slots_next needs to know, and what it finds out. */
struct slots_asking {
    bool gpus_are_known;  /* it was found out just now whether other programs use the GPUs */
    bool gpus_are_wanted; /* set by slots_next: an item could start if that were known */
    bool (*may_start)(const struct slot_item *item); /* NULL: each may.  An item that may not is
                                                        passed over and holds up no other */
    bool (*has_room)(const struct slot_item *item);  /* Called for an item that needs disk and
                                                        otherwise fits; as may_start */
};

/* Takes the next item to start out of the queue and gives it all it needs; NULL: none fits now. */
struct slot_item *slots_next(struct slots *s, struct slots_asking *asking);

/* For an item known to have all GPUs that Slurm gave: lists the first GPUs, as many as it needs. */
void slots_list_gpus(const struct slots *s, struct slot_item *item);
/* Counts an item as running on the processors and GPUs in its lists. */
void slots_take(struct slots *s, struct slot_item *item);
/* Gives back what the item has, if it runs, and frees its lists. */
void slots_release(struct slots *s, struct slot_item *item);

/* Sets whether the GPU is given to items; an item that has it keeps it. */
void slots_offer_gpu(struct slots *s, size_t gpu, bool is_offered);
size_t slots_gpus_offered(const struct slots *s);
/* Whether no item uses the GPU. */
bool slots_gpu_is_idle(const struct slots *s, size_t gpu);

#endif
