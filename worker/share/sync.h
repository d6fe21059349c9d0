/* SPDX-License-Identifier: MIT */
/*
 * sync.h - makes a group of files durable, where the share is mounted
 *
 * On a local file system one syncfs does for all (Linux 5.8 and later say in its answer
 * what could not be written); elsewhere each file is synced, several at a time.
 */
#ifndef LUDWIG_WORKER_SHARE_SYNC_H
#define LUDWIG_WORKER_SHARE_SYNC_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"
#include "worker/share/share.h"

/* One syncfs is enough for what lies on this descriptor's file system. */
bool sync_is_by_system(int fd);

int sync_system(int fd, struct err *e);

/* One file or folder: 0 or errno; file systems that cannot and need not are fine. */
int sync_fd(int fd);

/* Files and folders of shares that are mounted. */
void sync_files(struct share_sync *files, size_t n);

/* A folder's own entries; file systems that cannot and need not are fine. */
int sync_folder(int fd, const char *name, struct err *e);

#endif
