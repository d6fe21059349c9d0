/* SPDX-License-Identifier: MIT */
/*
 * share_sync.h - makes a group of files durable, where the share is mounted
 *
 * On a local file system one syncfs does for all (Linux 5.8 and later say in its answer
 * what could not be written); elsewhere each file is synced, several at a time.
 */
#ifndef LUDWIG_WORKER_SHARE_SHARE_SYNC_H
#define LUDWIG_WORKER_SHARE_SHARE_SYNC_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"
#include "worker/share/share.h"

/* One syncfs is enough for what lies on this descriptor's file system. */
bool share_sync_is_by_system(int fd);

int share_sync_system(int fd, struct err *e);

/* One file or folder: 0 or errno; file systems that cannot and need not are fine. */
int share_sync_fd(int fd);

/* Files and folders of shares that are mounted. */
void share_sync_files(struct share_sync *files, size_t n);

/* A folder's own entries; file systems that cannot and need not are fine. */
int share_sync_folder(int fd, const char *name, struct err *e);

#endif
