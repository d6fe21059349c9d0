/* SPDX-License-Identifier: MIT */
/*
 * user_scratch.h - looks a user up for a worker of root, and makes their scratch folder
 */
#ifndef LUDWIG_WORKER_JANITOR_USER_SCRATCH_H
#define LUDWIG_WORKER_JANITOR_USER_SCRATCH_H

#include "common/base/account.h"

/*
 * Returns the path of the user's scratch folder by the configured pattern, in which {user} is
 * replaced; without {user} it names the folder with those of all users.  Makes the folders that
 * only root may make, and only in one of root's in which no other user may rename;
 * user_scratch_enter makes the rest.  The caller frees the path; NULL with e set.
 */
char *user_scratch_prepare(const char *pattern, const struct account *a, const char *host,
                           struct err *e);

/* With the user's rights: makes the missing folders of the path, refuses those of other users. */
int user_scratch_enter(const char *path, struct err *e);

/* --account NAME MIN_UID PATTERN HOST: answers with one NOTE_ACCOUNT. */
int user_scratch_main(int argc, char **argv);

#endif
