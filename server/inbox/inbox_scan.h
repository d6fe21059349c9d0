/* SPDX-License-Identifier: MIT */
/*
 * inbox_scan.h - which users there are, and which folders
 */
#ifndef LUDWIG_SERVER_INBOX_INBOX_SCAN_H
#define LUDWIG_SERVER_INBOX_INBOX_SCAN_H

#include "server/inbox/inbox_dir.h"

enum { INBOX_USERS_MAX = 20000 };

struct inbox_scan {
    const struct inbox_dir *dirs;
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
void inbox_scan_run(struct inbox_scan *s);
void inbox_scan_free(struct inbox_scan *s);

#endif
