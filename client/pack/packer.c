/* SPDX-License-Identifier: MIT */
/* packer.c - trees are packed by a thread of their own, and sent by the caller meanwhile */
#include "client/pack/packer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "client/pack/send_queue.h"

/* What the thread works with. */
struct packing {
    struct tree *const *trees;
    size_t n;
    struct tree_target target;
};

static void *pack_trees(void *context)
{
    struct packing *p = context;
    struct err e = { 0 };
    int result = 0;

    for (size_t i = 0; i < p->n && result == 0; i++)
        if (!tree_is_none(p->trees[i]) && tree_pack(p->trees[i], &p->target, &e) < 0)
            result = tree_blame(p->trees[i], &e);
    send_queue_end(p->target.queue, result < 0 ? &e : NULL);
    return NULL;
}

/* ---- what the caller does with it ---- */

static int store_begin_part(void *context, unsigned slot, struct err *e)
{
    const struct packer_target *to = context;

    return store_part_begin(to->store, slot, e);
}

static int store_write_part(void *context, unsigned slot, struct bytes bytes, struct err *e)
{
    const struct packer_target *to = context;

    return store_part_write(to->store, slot, bytes, e);
}

static int store_end_part(void *context, unsigned slot, const struct pack_part *part,
                          struct bytes list, struct err *e)
{
    const struct packer_target *to = context;

    if (store_part_end(to->store, slot, part, list, e) < 0)
        return -1;
    pack_inventory_keep_list(to->inventory, &part->list, list);
    return 0;
}

static int store_put_object(void *context, enum pack_object kind, const struct digest *name,
                            struct bytes bytes, struct err *e)
{
    const struct packer_target *to = context;

    return store_object(to->store, kind, name, bytes, e);
}

static int store_touch_file(void *context, const char *path, struct err *e)
{
    const struct packer_target *to = context;

    return store_touch(to->store, path, e);
}

static void show_progress(void *context, uint64_t files, uint64_t bytes)
{
    const struct packer_target *to = context;

    uploadbar_add(to->bar, files, bytes);
}

static void store_send_out(void *context)
{
    const struct packer_target *to = context;

    store_push(to->store);
}

/* Signals are for the caller's thread. */
static int start_thread(pthread_t *thread, struct packing *p, struct err *e)
{
    sigset_t all, before;
    int number;

    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    number = pthread_create(thread, NULL, pack_trees, p);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (number == 0)
        return 0;
    errno = number;
    return err_sys(e, "start a thread");
}

int packer_send(struct tree *const *trees, size_t n, const struct packer_target *to, struct err *e)
{
    struct packing p = { trees, n, { to->inventory, send_queue_create(), to->part_bytes } };
    const struct send_queue_sink sink = {
        .to = { .context = (void *)(uintptr_t)to,
                .part_begin = store_begin_part,
                .part_write = store_write_part,
                .part_end = store_end_part,
                .object = store_put_object },
        .touch = store_touch_file,
        .progress = show_progress,
        .empty = store_send_out,
    };
    pthread_t thread;
    int result = start_thread(&thread, &p, e);

    if (result == 0) {
        result = send_queue_deliver(p.target.queue, &sink, e);
        send_queue_stop(p.target.queue);
        (void)pthread_join(thread, NULL);
    }
    send_queue_destroy(p.target.queue);
    return result;
}
