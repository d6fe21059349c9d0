/* SPDX-License-Identifier: MIT */
/*
 * packer.h - trees are packed by a thread of their own, and sent by the caller meanwhile
 *
 *     thread: files ──▶ pack_writer ──▶ send_queue ──▶ caller: store
 *
 * The thread alone uses the inventory, the caller alone the store.  While it runs nobody may fork
 * without exec: all connections are begun before (see mux.h).
 */
#ifndef LUDWIG_CLIENT_PACK_PACKER_H
#define LUDWIG_CLIENT_PACK_PACKER_H

#include "client/pack/tree.h"
#include "client/share/store.h"
#include "client/term/progress.h"

struct packer_target {
    struct pack_inventory *inventory; /* of the store */
    struct store *store;
    struct uploadbar *bar;
    uint64_t part_bytes; /* as struct pack_sink has it */
};

/* Packs and sends them, one after the other; those without entries that are none then are left out.
 * Returns when all is on its way (store_settle waits for it) and each tree's set is known. */
int packer_send(struct tree *const *trees, size_t n, const struct packer_target *to, struct err *e);

#endif
