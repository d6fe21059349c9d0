/* SPDX-License-Identifier: MIT */
/* git.c - which commit a folder is at */
#include <string.h>

#include "client/child.h"
#include "client/git.h"

enum { COMMIT_MAX_BYTES = 200 };

static bool is_commit(const char *s, size_t n)
{
    return n >= 40 && strspn(s, "0123456789abcdef") == n;
}

void git_look(const char *folder, struct arena *a, struct git_state *g)
{
    const char *const head[] = { "git", "-C", folder, "rev-parse", "--verify", "HEAD", NULL };
    const char *const status[] = { "git",    "--no-optional-locks", "-C", folder,
                                   "status", "--porcelain",         "--", ".",
                                   NULL };
    struct buf out = { 0 };

    *g = (struct git_state){ 0 };
    if (child_capture(head, COMMIT_MAX_BYTES, &out, NULL) == 0) {
        size_t n = strcspn(buf_text(&out), "\n");

        if (is_commit(buf_text(&out), n))
            g->commit = arena_strndup(a, buf_text(&out), n);
    }
    buf_clear(&out);
    /* One byte is enough to know. */
    if (g->commit != NULL && child_capture(status, 1, &out, NULL) >= 0)
        g->dirty = out.n > 0;
    buf_free(&out);
}
