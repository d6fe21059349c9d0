/* SPDX-License-Identifier: MIT */
/*
 * inboxscan.h - which users there are, and which folders
 */
#ifndef LUDWIG_SERVER_INBOX_INBOXSCAN_H
#define LUDWIG_SERVER_INBOX_INBOXSCAN_H

#include "server/inbox/inboxdir.h"

enum { INBOX_USERS_MAX = 20000 };

struct inboxscan {
    const struct inboxdir *dirs;
    uid_t min_uid;
    bool makes_all; /* folders for all users the system lists */
    uid_t *met;     /* for these as well */
    size_t n_met, met_capacity;
    uid_t *known; /* folders that need no more looking at, sorted */
    size_t n_known, known_capacity;
    uid_t *found; /* the others that there are now */
    size_t n_found, found_capacity;
};

/* May take long, where users are looked up over a network. */
void inboxscan_run(struct inboxscan *s);
void inboxscan_free(struct inboxscan *s);

#endif
