/* SPDX-License-Identifier: MIT */
/* disk_room.c - room on scratch that is promised to jobs which asked for it (resources: {disk}) */

#include "worker/flow/disk_room.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "worker/flow/phases.h"
#include "worker/flow/pilot_end.h"

enum {
    LOOK_EVERY_MS = 60 * 1000,
    /* How long to wait for a runner that was told to measure its job; it may be stopped. */
    MEASURE_MAX_MS = 5 * 1000,
    /* How long a job that was ended may take to free its room before another one is ended. */
    SHED_PAUSE_MS = 10 * 1000,
    /* A job whose files take less than this part of what is missing is not ended. */
    SHED_FRACTION = 8,
    ASK_PAUSE_MS = 5 * 1000,
    /* ludwigd is told of a change by more than this part. */
    TELL_FRACTION = 8
};

/* A file system and its free bytes. */
struct disk {
    dev_t device;
    int64_t free_bytes;
};

/* Looks at the file system of path; false: unknown. */
static bool look(const char *path, struct disk *d)
{
    struct statvfs fs;
    struct stat st;

    if (path == NULL || stat(path, &st) < 0 || statvfs(path, &fs) < 0 || fs.f_blocks == 0)
        return false;
    *d = (struct disk){ st.st_dev, (int64_t)((uint64_t)fs.f_bavail * fs.f_frsize) };
    return true;
}

static bool is_on(const struct user *u, dev_t device)
{
    struct stat st;

    return u->owner.scratch != NULL && stat(u->owner.scratch, &st) == 0 && st.st_dev == device;
}

/* Bytes on one file system: promised to running processes and not yet taken, taken of what was
 * promised, and in cached trees that no job uses. */
struct promised {
    int64_t left_bytes, taken_bytes, spare_bytes;
};

static void add_process(struct promised *p, const struct batch *b)
{
    int64_t all = b->slot.need.disk_bytes;
    int64_t taken = b->used_disk_bytes < all ? b->used_disk_bytes : all;

    p->left_bytes += all - taken;
    p->taken_bytes += taken;
}

static bool is_in_use(const struct user *u, const struct digest *tree)
{
    for (size_t i = 0; i < u->n_trees; i++)
        if (digest_equal(&u->trees[i].set.tree, tree))
            return u->trees[i].is_held;
    return false;
}

/* Returns the attempt's batch if that runs and this is its first member; else NULL. */
static struct batch *running_batch(const struct attempt *a)
{
    return a->batch != NULL && a->batch->slot.is_running && a == batch_first(a->batch) ? a->batch
                                                                                       : NULL;
}

static struct promised promised_on(const struct agent *ag, dev_t device)
{
    struct promised p = { 0 };

    for (RING_EACH(const struct attempt, a, &ag->attempts.all, ring)) {
        const struct batch *b = running_batch(a);

        if (b != NULL && b->slot.need.disk_bytes > 0 && is_on(a->user, device))
            add_process(&p, b);
    }
    for (RING_EACH(const struct user, u, &ag->users, ring)) {
        bool is_here = is_on(u, device);

        for (size_t i = 0; is_here && i < u->cached.n; i++)
            if (!u->cached.trees[i].is_gone && !is_in_use(u, &u->cached.trees[i].tree))
                p.spare_bytes += u->cached.trees[i].bytes;
    }
    return p;
}

int64_t disk_room_promised(const struct user *u)
{
    struct disk d;

    if (u->agent->is_in_slurm || !look(u->owner.scratch, &d))
        return 0;
    return promised_on(u->agent, d.device).left_bytes;
}

/* ---- what ludwigd knows of it ---- */

/* Assumes that users' scratch folders are on the file system of the folder above them. */
int64_t disk_room_total(const struct agent *ag)
{
    const char *pattern = ag->folders.scratch != NULL ? ag->folders.scratch : ag->folders.pattern;
    const char *user = strstr(pattern, FOLDERS_USER);
    char *path = mem_strndup(pattern, user == NULL ? strlen(pattern) : (size_t)(user - pattern));
    struct promised p;
    struct disk d;
    bool is_known = !ag->is_in_slurm && look(path, &d);

    free(path);
    if (!is_known)
        return 0;
    p = promised_on(ag, d.device);
    return d.free_bytes + p.taken_bytes + p.spare_bytes + 1; /* 0 would say that it is not known */
}

static void tell_if_changed(struct agent *ag)
{
    int64_t now = disk_room_total(ag), was = ag->told_disk_bytes;

    if (now - was > was / TELL_FRACTION || was - now > was / TELL_FRACTION)
        ag->is_register_due = true;
}

/* The turn of the loop that this timer causes also starts what waits for room. */
static void on_look(uv_timer_t *timer)
{
    struct agent *ag = timer->data;

    if (ag->is_registered)
        tell_if_changed(ag);
}

void disk_room_start(struct agent *ag)
{
    if (!ag->is_in_slurm)
        uv_timer_start(&ag->disk_timer, on_look, LOOK_EVERY_MS, LOOK_EVERY_MS);
}

/* ---- jobs that ask for some ---- */

/* Has the stagers remove trees that no job uses until so much is free. */
static void ask_for_room(struct agent *ag, const struct user *asker, dev_t device, int64_t bytes)
{
    const struct order_room order = { bytes };

    if (uv_now(&ag->loop) < ag->room_asked_until)
        return;
    ag->room_asked_until = uv_now(&ag->loop) + ASK_PAUSE_MS;
    for (RING_EACH(struct user, u, &ag->users, ring))
        if (u->stager.chan != NULL && (u == asker || (u->cached.n > 0 && is_on(u, device))))
            service_send(&u->stager, ORDER_ROOM, &order);
}

static void send_back(struct agent *ag, const struct batch *b, int64_t there_bytes)
{
    struct buf why = { 0 };

    buf_add_str(&why, "it needs ");
    units_add_size(&why, b->slot.need.disk_bytes);
    buf_add_str(&why, " on scratch (resources: disk), and there are ");
    units_add_size(&why, there_bytes);
    for (RING_EACH(const struct attempt, a, &b->members, mate))
        flow_post(ag, a, EVENT_RECALL, buf_text(&why));
    buf_free(&why);
    ag->is_register_due = true;
}

bool disk_room_fits(const struct slot_item *item)
{
    const struct batch *b = RING_ITEM(item, const struct batch, slot);
    struct agent *ag = b->user->agent;
    int64_t need = item->need.disk_bytes;
    struct promised p;
    struct disk d;

    if (ag->is_in_slurm || !look(b->user->owner.scratch, &d))
        return true;
    p = promised_on(ag, d.device);
    if (need <= d.free_bytes - p.left_bytes)
        return true;
    if (need > d.free_bytes + p.taken_bytes + p.spare_bytes)
        send_back(ag, b, d.free_bytes + p.taken_bytes + p.spare_bytes);
    else if (p.spare_bytes > 0)
        ask_for_room(ag, b->user, d.device, need + p.left_bytes);
    return false;
}

/* ---- jobs that ask for none, and take it ---- */

/* Has all jobs measured that were promised nothing, and finds the one whose files take most; false:
 * a runner has not answered yet. */
static bool find_largest(struct agent *ag, dev_t device, struct batch **largest)
{
    const uint64_t now = uv_now(&ag->loop);
    bool is_complete = true;

    *largest = NULL;
    for (RING_EACH(const struct attempt, a, &ag->attempts.all, ring)) {
        struct batch *b = running_batch(a);

        if (b == NULL || b->runner == NULL || b->slot.need.disk_bytes > 0 ||
            a->order.assignment.advises || !is_on(a->user, device))
            continue;
        if (b->measured_since == 0) {
            runner_measure(b->runner);
            b->measured_since = now + 1;
        }
        is_complete &= b->has_measured || now > b->measured_since + MEASURE_MAX_MS;
        if (*largest == NULL || b->used_disk_bytes > (*largest)->used_disk_bytes)
            *largest = b;
    }
    return is_complete;
}

static void shed(struct agent *ag, struct batch *b, int64_t free_bytes, int64_t promised_bytes)
{
    const struct attempt *a = batch_first(b);
    struct buf why = { 0 };

    buf_add_str(&why, "out of disk: scratch has ");
    units_add_size(&why, free_bytes);
    buf_add_str(&why, " left and others were promised ");
    units_add_size(&why, promised_bytes);
    buf_add_str(&why, "; its files take ");
    units_add_size(&why, b->used_disk_bytes);
    buf_add_str(&why, ", and it asked for none (resources: disk)");
    log_event(LOG_WARN, "ended-for-room", "sweep", "%lld", (long long)a->order.assignment.sweep,
              "job", "%lld", (long long)a->order.assignment.job, "why", "%s", buf_text(&why), NULL);
    runner_shed(b->runner, buf_text(&why));
    buf_free(&why);
    ag->shed_until = uv_now(&ag->loop) + SHED_PAUSE_MS;
}

void disk_room_said(struct agent *ag, struct runner *r, const struct note_disk *note)
{
    struct batch *b = runner_batch(r), *largest;
    struct promised p;
    struct disk d;

    if (b == NULL || !token_equal(&b->token, &note->token))
        return;
    b->used_disk_bytes = note->used_bytes;
    b->has_measured = true;
    if (ag->is_in_slurm || uv_now(&ag->loop) < ag->shed_until || !look(b->user->owner.scratch, &d))
        return;
    p = promised_on(ag, d.device);
    if (d.free_bytes >= p.left_bytes || !find_largest(ag, d.device, &largest))
        return;
    if (largest != NULL && p.left_bytes - d.free_bytes <= SHED_FRACTION * largest->used_disk_bytes)
        shed(ag, largest, d.free_bytes, p.left_bytes);
}
