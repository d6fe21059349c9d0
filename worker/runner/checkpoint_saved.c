/* SPDX-License-Identifier: MIT */
/* checkpoint_saved.c - whether a job that was asked to save its state has done so */

#include "worker/runner/checkpoint_saved.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/units.h"

enum { SHORTLY_MS = 1000, NS_PER_MS = 1000 * 1000 };

static bool take(struct checkpoint_snapshot *s, const struct scratch *scratch, const char *hex)
{
    char *path = mem_printf("%s/" JOB_CHECKPOINT, hex);
    int fd = io_open_dir_at(scratch->run_fd, path, NULL);
    bool is_taken;

    *s = (struct checkpoint_snapshot){ .n = 0 };
    is_taken = fd >= 0 && checkpoint_snapshot_take(s, fd, NULL) == 0;
    if (fd >= 0)
        close(fd);
    free(path);
    return is_taken;
}

void checkpoint_saved_begin(struct checkpoint_saved *a, const struct scratch *s, const char *hex)
{
    checkpoint_saved_free(a);
    a->at_ms = units_now_ms();
    a->is_known = take(&a->before, s, hex);
}

static bool has_newer(const struct checkpoint_snapshot *s, int64_t than_ms)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->entries[i].type == CHECKPOINT_SNAPSHOT_FILE &&
            s->entries[i].changed_ns / NS_PER_MS >= than_ms)
            return true;
    return false;
}

bool checkpoint_saved_has_saved(const struct checkpoint_saved *a, const struct scratch *s,
                                const char *hex)
{
    struct checkpoint_snapshot now;
    bool has;

    if (!a->is_known || !take(&now, s, hex))
        return true;
    has = !checkpoint_snapshot_is_untouched(&a->before, &now) ||
          has_newer(&now, a->at_ms - SHORTLY_MS);
    checkpoint_snapshot_free(&now);
    return has;
}

void checkpoint_saved_free(struct checkpoint_saved *a)
{
    if (a->is_known)
        checkpoint_snapshot_free(&a->before);
    *a = (struct checkpoint_saved){ .is_known = false };
}
