/* SPDX-License-Identifier: MIT */
/* memwatch.c - does a job use more memory than it asked for? */

#include "worker/runner/memwatch.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/units.h"
#include "worker/base/process_tree.h"

enum {
    EVERY_MS = 1000,
    /* Above so much of its limit it is looked at more often. */
    NEAR_PERCENT = 80,
    NEAR_EVERY_MS = 100,
    TEXT_MAX_BYTES = 64 * 1024
};

void memwatch_begin(struct memwatch *w, int64_t limit_bytes)
{
    w->limit_bytes = limit_bytes;
    w->bytes = 0;
    w->next_ms = units_monotonic_ms() + NEAR_EVERY_MS;
}

int memwatch_wait_ms(const struct memwatch *w)
{
    int64_t wait_ms = w->next_ms - units_monotonic_ms();

    if (w->limit_bytes == 0)
        return -1;
    return wait_ms < 0 ? 0 : (int)wait_ms;
}

/* "RssAnon:	     140 kB" */
static int64_t line_bytes(const char *text, const char *key)
{
    size_t n = strlen(key);

    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, n) == 0 && line[n] == ':')
            return strtoll(line + n + 1, NULL, 10) * 1024;
    }
    return -1;
}

int64_t memwatch_parse(const char *text, const char *anon, const char *shmem)
{
    int64_t anon_bytes = line_bytes(text, anon), shmem_bytes = line_bytes(text, shmem);

    return anon_bytes < 0 || shmem_bytes < 0 ? -1 : anon_bytes + shmem_bytes;
}

/* Of all these processes; what is gone counts nothing.  In status, what several share counts in full for
 * each; their parts of that are in smaps_rollup, which takes the kernel longer to say. */
static int64_t add_up(const struct process_tree_process *list, size_t n, bool in_parts)
{
    int64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        int64_t bytes = -1;

        for (int k = in_parts ? 0 : 1; bytes < 0 && k < 2; k++) {
            struct buf text = { 0 };

            if (process_read(list[i].pid, k == 0 ? "smaps_rollup" : "status", TEXT_MAX_BYTES,
                             &text))
                bytes = memwatch_parse(buf_text(&text), k == 0 ? "Pss_Anon" : "RssAnon",
                                       k == 0 ? "Pss_Shmem" : "RssShmem");
            buf_free(&text);
        }
        sum += bytes < 0 ? 0 : bytes;
    }
    return sum;
}

int memwatch_pause_ms(int64_t bytes, int64_t before_bytes, int64_t limit_bytes)
{
    int64_t growth_bytes = bytes - before_bytes;

    if (bytes / NEAR_PERCENT >= limit_bytes / 100 || growth_bytes > limit_bytes - bytes)
        return NEAR_EVERY_MS;
    return EVERY_MS;
}

int64_t memwatch_look(struct memwatch *w)
{
    int64_t now_ms = units_monotonic_ms(), most, bytes = 0;
    struct process_tree_process *list;
    size_t n;

    if (w->limit_bytes == 0 || now_ms < w->next_ms)
        return 0;
    list = process_tree_list(&n);
    most = add_up(list, n, false);
    if (most > w->limit_bytes)
        most = bytes = add_up(list, n, true);
    free(list);
    w->next_ms = now_ms + memwatch_pause_ms(most, w->bytes, w->limit_bytes);
    w->bytes = most;
    return bytes > w->limit_bytes ? bytes : 0;
}
