/* SPDX-License-Identifier: MIT */
/*
 * git.h - which commit a folder is at
 */
#ifndef LUDWIG_CLIENT_GIT_H
#define LUDWIG_CLIENT_GIT_H

#include <stdbool.h>

#include "common/mem.h"

struct git_state {
    const char *commit; /* NULL: no repository, or no git here */
    bool dirty;         /* something in the folder is not as in the commit */
};

void git_look(const char *folder, struct arena *a, struct git_state *g);

#endif
