/* SPDX-License-Identifier: MIT */
/* slots.c - first fit in order of arrival; an item is passed a bounded number of times */

#include "worker/agent/slots.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

enum { WHOLE = 1000 };

struct cpu {
    unsigned number, node;
    bool is_taken;
};

struct gpu {
    int64_t used_milli;
    bool is_offered;
};

struct slots {
    struct ring waiting;
    struct cpu *cpus;
    size_t n_cpus;
    struct gpu *gpus;
    size_t n_gpus;
    int64_t cpus_milli, used_cpus_milli;
    int64_t memory_bytes, used_memory_bytes;
    int64_t least_cpus_milli; /* no waiting item needs less */
};

struct slots *slots_create(const struct slots_size *size)
{
    struct slots *s = mem_alloc(sizeof *s);

    ring_init(&s->waiting);
    s->n_cpus = size->n_cpus;
    s->cpus = mem_alloc(size->n_cpus * sizeof *s->cpus);
    for (size_t i = 0; i < size->n_cpus; i++)
        s->cpus[i] =
            (struct cpu){ size->cpus[i], size->cpu_nodes == NULL ? 0 : size->cpu_nodes[i], false };
    s->n_gpus = size->n_gpus;
    s->gpus = mem_alloc(size->n_gpus * sizeof *s->gpus);
    for (size_t i = 0; i < size->n_gpus; i++)
        s->gpus[i].is_offered = true;
    s->cpus_milli = size->cpus_milli;
    s->memory_bytes = size->memory_bytes;
    s->least_cpus_milli = INT64_MAX;
    return s;
}

void slots_destroy(struct slots *s)
{
    if (s == NULL)
        return;
    free(s->cpus);
    free(s->gpus);
    free(s);
}

void slot_item_init(struct slot_item *item)
{
    *item = (struct slot_item){ .passed = 0 };
    ring_init(&item->ring);
}

static int64_t whole_gpus(const struct slot_need *need)
{
    return need->gpus_milli / WHOLE;
}

static int64_t gpu_share(const struct slot_need *need)
{
    return need->gpus_milli % WHOLE;
}

static bool memory_fits(const struct slots *s, const struct slot_need *need, int64_t used)
{
    return s->memory_bytes == 0 || need->memory_bytes == 0 ||
           need->memory_bytes <= s->memory_bytes - used;
}

bool slots_could_fit(const struct slots *s, const struct slot_need *need)
{
    int64_t gpus = whole_gpus(need) + (gpu_share(need) > 0);

    return need->cpus_milli <= s->cpus_milli && memory_fits(s, need, 0) &&
           gpus <= (int64_t)slots_gpus_offered(s);
}

void slots_add(struct slots *s, struct slot_item *item)
{
    struct ring *before = s->waiting.prev;

    while (before != &s->waiting &&
           RING_ITEM(before, struct slot_item, ring)->number > item->number)
        before = before->prev;
    ring_insert(before, &item->ring);
    item->is_waiting = true;
    if (item->need.cpus_milli < s->least_cpus_milli)
        s->least_cpus_milli = item->need.cpus_milli;
}

void slots_drop(struct slots *s, struct slot_item *item)
{
    (void)s;
    if (!item->is_waiting)
        return;
    ring_remove(&item->ring);
    item->is_waiting = false;
}

bool slots_has_waiting(const struct slots *s)
{
    return !ring_is_empty(&s->waiting);
}

/* ---- GPUs ---- */

static bool gpu_is_free(const struct gpu *g)
{
    return g->is_offered && g->used_milli == 0;
}

/* Returns the fullest GPU in use that the share fits on; SIZE_MAX if there is none. */
static size_t find_shared_gpu(const struct slots *s, int64_t share)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < s->n_gpus; i++) {
        const struct gpu *g = &s->gpus[i];

        if (g->used_milli > 0 && g->used_milli + share <= WHOLE && g->is_offered &&
            (best == SIZE_MAX || g->used_milli > s->gpus[best].used_milli))
            best = i;
    }
    return best;
}

/* ---- choosing ---- */

static size_t free_cpus_on(const struct slots *s, unsigned node)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_cpus; i++)
        n += !s->cpus[i].is_taken && s->cpus[i].node == node;
    return n;
}

/* Returns the NUMA node with the fewest free processors that suffice, which keeps room for large
 * jobs; -1: no node has enough, so that they come from several. */
static int64_t find_node(const struct slots *s, size_t n)
{
    size_t least = SIZE_MAX;
    int64_t node = -1, counted = -1;

    for (size_t i = 0; i < s->n_cpus; i++) {
        size_t n_free;

        if (s->cpus[i].is_taken || s->cpus[i].node == counted)
            continue;
        counted = s->cpus[i].node;
        n_free = free_cpus_on(s, s->cpus[i].node);
        if (n_free >= n && n_free < least) {
            least = n_free;
            node = s->cpus[i].node;
        }
    }
    return node;
}

/* Fills in the item's lists.  If more than all processors may be used, some items get none. */
static void choose_parts(const struct slots *s, struct slot_item *item)
{
    size_t n = (size_t)(item->need.cpus_milli / WHOLE), n_free = 0, gpu = 0;
    int64_t share = gpu_share(&item->need), whole = whole_gpus(&item->need);

    for (size_t i = 0; i < s->n_cpus; i++)
        n_free += !s->cpus[i].is_taken;
    if (item->need.cpus_milli % WHOLE == 0 && n > 0 && n <= n_free) {
        int64_t node = find_node(s, n);

        item->cpus = mem_resize(NULL, n, sizeof *item->cpus);
        for (size_t i = 0; item->n_cpus < n; i++)
            if (!s->cpus[i].is_taken && (node < 0 || s->cpus[i].node == node))
                item->cpus[item->n_cpus++] = s->cpus[i].number;
    }
    item->gpus = mem_resize(NULL, (size_t)whole + 1, sizeof *item->gpus);
    for (; (int64_t)item->n_gpus < whole; gpu++)
        if (gpu_is_free(&s->gpus[gpu]))
            item->gpus[item->n_gpus++] = (unsigned)gpu;
    if (share == 0)
        return;
    if (find_shared_gpu(s, share) != SIZE_MAX)
        gpu = find_shared_gpu(s, share);
    else
        while (!gpu_is_free(&s->gpus[gpu]))
            gpu++;
    item->gpus[item->n_gpus++] = (unsigned)gpu;
}

/* Counts what the item needs and lists as used, or as free again. */
static void count_used(struct slots *s, struct slot_item *item, bool is_used)
{
    int64_t sign = is_used ? 1 : -1;

    item->is_running = is_used;
    s->used_cpus_milli += sign * item->need.cpus_milli;
    s->used_memory_bytes += sign * item->need.memory_bytes;
    for (size_t i = 0; i < item->n_cpus; i++)
        for (size_t k = 0; k < s->n_cpus; k++)
            if (s->cpus[k].number == item->cpus[i])
                s->cpus[k].is_taken = is_used;
    for (size_t i = 0; i < item->n_gpus; i++)
        if (item->gpus[i] < s->n_gpus)
            s->gpus[item->gpus[i]].used_milli +=
                sign * ((int64_t)i < whole_gpus(&item->need) ? WHOLE : gpu_share(&item->need));
}

void slots_take(struct slots *s, struct slot_item *item)
{
    count_used(s, item, true);
}

enum fit { FITS, FITS_NOT, FITS_NEVER, FITS_IF_GPUS_ARE_FREE };

static enum fit try_item(const struct slots *s, const struct slot_item *item,
                         const struct slots_asking *asking)
{
    const struct slot_need *need = &item->need;
    int64_t share = gpu_share(need), n_free = 0;
    /* How many GPUs it would take that no item uses. */
    int64_t fresh = whole_gpus(need) + (share > 0 && find_shared_gpu(s, share) == SIZE_MAX);

    if (asking->may_start != NULL && !asking->may_start(item))
        return FITS_NEVER;
    for (size_t i = 0; i < s->n_gpus; i++)
        n_free += gpu_is_free(&s->gpus[i]);
    if (need->cpus_milli > s->cpus_milli - s->used_cpus_milli ||
        !memory_fits(s, need, s->used_memory_bytes) || fresh > n_free)
        return slots_could_fit(s, need) ? FITS_NOT : FITS_NEVER;
    if (need->disk_bytes > 0 && asking->has_room != NULL && !asking->has_room(item))
        return FITS_NEVER;
    return fresh == 0 || asking->gpus_are_known ? FITS : FITS_IF_GPUS_ARE_FREE;
}

struct slot_item *slots_next(struct slots *s, struct slots_asking *asking)
{
    int64_t least = INT64_MAX;

    if (s->least_cpus_milli > s->cpus_milli - s->used_cpus_milli)
        return NULL;
    for (RING_EACH(struct slot_item, item, &s->waiting, ring)) {
        enum fit fit = try_item(s, item, asking);

        if (fit == FITS) {
            slots_drop(s, item);
            item->passed = 0;
            choose_parts(s, item);
            slots_take(s, item);
            for (RING_EACH(struct slot_item, passed, &s->waiting, ring))
                passed->passed += passed->number <= item->number;
            return item;
        }
        if (fit == FITS_IF_GPUS_ARE_FREE)
            asking->gpus_are_wanted = true;
        else if (fit == FITS_NOT && item->passed >= SLOTS_PASSED_MAX)
            return NULL;
        if (item->need.cpus_milli < least)
            least = item->need.cpus_milli;
    }
    s->least_cpus_milli = least;
    return NULL;
}

void slots_list_gpus(const struct slots *s, struct slot_item *item)
{
    size_t n = (size_t)(whole_gpus(&item->need) + (gpu_share(&item->need) > 0));

    if (n > s->n_gpus)
        n = s->n_gpus;
    item->gpus = mem_resize(item->gpus, n, sizeof *item->gpus);
    for (item->n_gpus = 0; item->n_gpus < n; item->n_gpus++)
        item->gpus[item->n_gpus] = (unsigned)item->n_gpus;
}

void slots_release(struct slots *s, struct slot_item *item)
{
    if (item->is_running)
        count_used(s, item, false);
    free(item->cpus);
    free(item->gpus);
    item->cpus = item->gpus = NULL;
    item->n_cpus = item->n_gpus = 0;
}

void slots_offer_gpu(struct slots *s, size_t gpu, bool is_offered)
{
    if (gpu < s->n_gpus)
        s->gpus[gpu].is_offered = is_offered;
}

size_t slots_gpus_offered(const struct slots *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_gpus; i++)
        n += s->gpus[i].is_offered;
    return n;
}

bool slots_gpu_is_idle(const struct slots *s, size_t gpu)
{
    return gpu < s->n_gpus && s->gpus[gpu].used_milli == 0;
}
