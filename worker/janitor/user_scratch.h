/* SPDX-License-Identifier: MIT */
/*
 * user_scratch.h - a root worker looks a user up, and makes their scratch folder
 */
#ifndef LUDWIG_WORKER_JANITOR_USER_SCRATCH_H
#define LUDWIG_WORKER_JANITOR_USER_SCRATCH_H

#include "common/base/account.h"

/*
 * The path of the user's scratch folder by the configured pattern ({user} is replaced; where it
 * says none, each user has a folder of their own below it).  Makes the folders that only root may
 * make, and only in a folder of root's that no other user may change; user_scratch_enter makes the
 * rest.  NULL with e set.  Caller frees.
 */
char *user_scratch_prepare(const char *pattern, const struct account *a, const char *host,
                           struct err *e);

/* With the user's own rights: makes missing folders of the path, refuses those of other users. */
int user_scratch_enter(const char *path, struct err *e);

/* --account NAME MIN_UID PATTERN HOST: answers with one NOTE_ACCOUNT. */
int user_scratch_main(int argc, char **argv);

#endif
