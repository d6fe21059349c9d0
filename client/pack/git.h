/* SPDX-License-Identifier: MIT */
/*
 * git.h - which commit a folder is at
 *
 * In a large repository git takes seconds to see what has changed: it looks while something else is
 * done.
 */
#ifndef LUDWIG_CLIENT_PACK_GIT_H
#define LUDWIG_CLIENT_PACK_GIT_H

#include <stdbool.h>

#include "client/util/child.h"
#include "common/base/mem.h"

struct git_look {
    struct child_run head, status;
};

struct git_state {
    const char *commit; /* NULL: no repository, or no git here */
    bool dirty;         /* something in the folder is not as in the commit */
};

void git_begin(struct git_look *look, const char *folder);
/* Waits for it. */
struct git_state git_end(struct git_look *look, struct arena *a);
/* Should it not have been ended. */
void git_stop(struct git_look *look);

#endif
