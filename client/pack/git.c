/* SPDX-License-Identifier: MIT */
/* git.c - which commit a folder is at */
#include <string.h>

#include "client/pack/git.h"

enum { COMMIT_MAX_BYTES = 200 };

void git_begin(struct git_look *look, const char *folder)
{
    const char *const head[] = { "git", "-C", folder, "rev-parse", "--verify", "HEAD", NULL };
    const char *const status[] = { "git",    "--no-optional-locks", "-C", folder,
                                   "status", "--porcelain",         "--", ".",
                                   NULL };

    (void)child_begin(&look->head, head, NULL);
    (void)child_begin(&look->status, status, NULL);
}

struct git_state git_end(struct git_look *look, struct arena *a)
{
    struct git_state state = { 0 };
    struct buf commit = { 0 }, changes = { 0 };
    bool is_repository = child_end(&look->head, COMMIT_MAX_BYTES, &commit) == 0;
    size_t n = strcspn(buf_text(&commit), "\n");

    if (is_repository && n >= 40 && strspn(buf_text(&commit), "0123456789abcdef") == n) {
        state.commit = arena_strndup(a, buf_text(&commit), n);
        /* One byte is enough to know. */
        (void)child_end(&look->status, 1, &changes);
        state.dirty = changes.n > 0;
    }
    child_stop(&look->status);
    buf_free(&commit);
    buf_free(&changes);
    return state;
}

void git_stop(struct git_look *look)
{
    child_stop(&look->head);
    child_stop(&look->status);
}
