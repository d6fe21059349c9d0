/* SPDX-License-Identifier: MIT */
/* oom.c - how much memory jobs may have and take, and whether one ended because it ran out */

#include "worker/runner/oom.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/units.h"
#include "worker/base/job_spawn.h"
#include "worker/base/process_tree.h"
#include "worker/node/node.h"

enum {
    COUNTERS_MAX_BYTES = 4096,
    FILE_MAX_BYTES = 64 * 1024,
    SHELL_SIGNAL = 128, /* shells exit with 128 + signal when a signal ended their command */
    NEAR_PERCENT = 90
};

/* Pauses between looks at a watched job, the shorter one near its limit.  GROWN_PART: growth by a
 * part of this size is worth a look that counts shared memory once. */
enum { WATCH_MS = 1000, WATCH_NEAR_MS = 100, WATCH_NEAR_PERCENT = 80, GROWN_PART = 20 };

/* ---- small texts ---- */

/* Returns the number in the line "KEY NUMBER..." or "KEY: NUMBER..."; -1: there is none. */
static int64_t number_of(const char *text, const char *key)
{
    size_t n = strlen(key);

    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        char *end;
        long long number;

        line += *line == '\n';
        if (strncmp(line, key, n) != 0 || (line[n] != ' ' && line[n] != ':'))
            continue;
        errno = 0;
        number = strtoll(line + n + 1, &end, 10);
        return end == line + n + 1 || errno != 0 || number < 0 ? -1 : number;
    }
    return -1;
}

/* Reads a file in place of text's content, which the caller frees; false: it cannot be read. */
static bool read_file(const char *folder, const char *name, struct buf *text)
{
    char *path = mem_printf("%s/%s", folder, name);
    bool is_read;

    buf_clear(text);
    is_read = io_read_file(path, FILE_MAX_BYTES, text, NULL) == 0;
    free(path);
    return is_read;
}

/* ---- the group ---- */

/* Opens the group's counters; in version 2, if it has none, those of the next group above. */
static int open_kills(const struct oom *o)
{
    char *folder = mem_strdup(o->group.folder), *slash;
    int fd = -1;

    do {
        char *path =
            mem_printf("%s/%s", folder, o->group.is_v2 ? "memory.events" : "memory.oom_control");

        fd = open(path, O_RDONLY | O_CLOEXEC);
        free(path);
        slash = strrchr(folder, '/');
        if (slash != NULL)
            *slash = '\0';
    } while (fd < 0 && o->group.is_v2 && slash != NULL && strlen(folder) >= o->group.top);
    free(folder);
    return fd;
}

void oom_open(struct oom *o, const char *root)
{
    *o = (struct oom){ .root = mem_strdup(root), .kills_fd = -1 };
    job_cgroup_find_own(&o->group, root, OWN_CGROUP_OF_MEMORY);
    if (o->group.folder != NULL)
        o->kills_fd = open_kills(o);
}

void oom_open_group(struct oom *o, const char *folder)
{
    struct own_cgroup own;

    job_cgroup_find_own(&own, "", OWN_CGROUP_V2);
    *o = (struct oom){ .root = mem_strdup(""),
                       .group = { .folder = mem_strdup(folder),
                                  .top = own.folder == NULL ? strlen(folder) : own.top,
                                  .is_v2 = true } };
    job_cgroup_free_own(&own);
    o->kills_fd = open_kills(o);
}

void oom_close(struct oom *o)
{
    if (o->kills_fd >= 0)
        close(o->kills_fd);
    free(o->root);
    job_cgroup_free_own(&o->group);
    *o = (struct oom){ .kills_fd = -1 };
}

/* ---- counts and limits ---- */

static int64_t read_counter(const struct oom *o, const char *key)
{
    char text[COUNTERS_MAX_BYTES];
    ssize_t n;

    if (o->kills_fd < 0)
        return -1;
    n = pread(o->kills_fd, text, sizeof text - 1, 0);
    if (n < 0)
        return -1;
    text[n] = '\0';
    return number_of(text, key);
}

int64_t oom_kills(const struct oom *o)
{
    return read_counter(o, "oom_kill");
}

int64_t oom_hits(const struct oom *o)
{
    return read_counter(o, "oom");
}

int64_t oom_limit_bytes(const struct oom *o)
{
    const char *name = o->group.is_v2 ? "memory.max" : "memory.limit_in_bytes";
    char *folder = o->group.folder == NULL ? NULL : mem_strdup(o->group.folder);
    struct buf text = { 0 };
    int64_t limit =
        read_file(o->root, "proc/meminfo", &text) ? node_parse_meminfo(buf_text(&text)) : 0;

    /* A group's limit holds for all groups below it. */
    while (folder != NULL && strlen(folder) >= o->group.top) {
        char *slash = strrchr(folder, '/');
        int64_t own = read_file(folder, name, &text) ? strtoll(buf_text(&text), NULL, 10) : 0;

        if (own > 0 && (limit <= 0 || own < limit)) /* "max" is 0 */
            limit = own;
        if (slash == NULL)
            break;
        *slash = '\0';
    }
    buf_free(&text);
    free(folder);
    return limit > 0 ? limit : 0;
}

/* ---- the judgement ---- */

static bool is_near(int64_t bytes, int64_t limit_bytes)
{
    return limit_bytes > 0 && bytes / NEAR_PERCENT >= limit_bytes / 100;
}

bool oom_judge(const struct oom_evidence *x, struct buf *reason)
{
    bool was_killed = WIFSIGNALED(x->status) && WTERMSIG(x->status) == SIGKILL;
    bool was_command = WIFEXITED(x->status) && WEXITSTATUS(x->status) == SHELL_SIGNAL + SIGKILL;
    int64_t limit = is_near(x->max_rss_bytes, x->memory_bytes) ? x->memory_bytes : x->limit_bytes;

    if (!was_killed && !was_command)
        return false;
    if (!x->has_kills) {
        if (!is_near(x->max_rss_bytes, limit))
            return false;
        buf_printf(reason, "%s, likely out of memory: it used ",
                   was_killed ? "killed by signal 9" : "exit code 137 (killed by signal 9)");
        units_add_size(reason, x->max_rss_bytes);
        buf_add_str(reason, " of ");
        units_add_size(reason, limit);
        return true;
    }
    buf_add_str(reason, "out of memory: the kernel ended it");
    if (x->has_own_limit && !is_near(x->max_rss_bytes, x->memory_bytes)) {
        /* No process was large alone: the reason names all of them. */
        buf_add_str(reason, " (its processes together reached ");
        units_add_size(reason, x->memory_bytes);
        buf_add_char(reason, ')');
    } else if (x->max_rss_bytes > 0 && x->limit_bytes > 0) {
        buf_add_str(reason, " (peak ");
        units_add_size(reason, x->max_rss_bytes);
        buf_add_str(reason, " of ");
        units_add_size(reason, x->has_own_limit ? x->memory_bytes : x->limit_bytes);
        buf_add_char(reason, ')');
    }
    return true;
}

/* ---- the limit of jobs ---- */

void memlimit_open(struct memlimit *m, int fd)
{
    char *link = mem_printf("/proc/self/fd/%d", fd), *folder = NULL;
    struct statfs fs;

    *m = (struct memlimit){ .max_fd = -1, .group_fd = -1, .oom = { .kills_fd = -1 } };
    if (fstatfs(fd, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC && job_spawn_knows_groups())
        folder = realpath(link, NULL);
    free(link);
    if (folder == NULL)
        return;
    *strrchr(folder, '/') = '\0';
    m->group_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (m->group_fd >= 0) {
        oom_open_group(&m->oom, folder);
        m->max_fd = fd;
    }
    free(folder);
}

void memlimit_close(struct memlimit *m)
{
    if (m->max_fd < 0)
        return;
    oom_close(&m->oom);
    close(m->group_fd);
    close(m->max_fd);
    m->max_fd = m->group_fd = -1;
}

bool memlimit_set(struct memlimit *m, int64_t bytes)
{
    struct buf stat = { 0 };
    int64_t left;
    char *text;
    bool is_set;

    if (m->max_fd < 0 || bytes <= 0)
        return false;
    /* What earlier jobs left in memory (/dev/shm) comes on top of this job's limit. */
    if (m->bytes != 0) {
        left = read_file(m->oom.group.folder, "memory.stat", &stat)
                   ? number_of(buf_text(&stat), "shmem")
                   : 0;
        bytes += left > 0 ? left : 0;
        buf_free(&stat);
    }
    if (bytes == m->bytes)
        return true;
    text = mem_printf("%lld", (long long)bytes);
    is_set = pwrite(m->max_fd, text, strlen(text), 0) == (ssize_t)strlen(text);
    m->bytes = is_set ? bytes : -1;
    free(text);
    return is_set;
}

/* ---- looking how much a job takes ---- */

void memwatch_begin(struct memwatch *w, int64_t limit_bytes, bool only_looks)
{
    *w = (struct memwatch){ .limit_bytes = limit_bytes,
                            .only_looks = only_looks,
                            .next_ms = units_monotonic_ms() + WATCH_NEAR_MS };
}

int memwatch_wait_ms(const struct memwatch *w)
{
    int64_t wait_ms = w->next_ms - units_monotonic_ms();

    if (w->limit_bytes == 0)
        return -1;
    return wait_ms < 0 ? 0 : (int)wait_ms;
}

int64_t memwatch_parse(const char *text, const char *anon, const char *shmem)
{
    int64_t anon_kb = number_of(text, anon), shmem_kb = number_of(text, shmem);

    return anon_kb < 0 || shmem_kb < 0 ? -1 : (anon_kb + shmem_kb) * 1024;
}

/* Adds up the memory of these processes; one that is gone counts nothing.  "status" counts what
 * several share in full for each, "smaps_rollup" (in_parts) in parts, which takes longer. */
static int64_t add_up(const struct process_tree_process *list, size_t n, bool in_parts)
{
    int64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        int64_t bytes = -1;

        for (int k = in_parts ? 0 : 1; bytes < 0 && k < 2; k++) {
            struct buf text = { 0 };

            if (process_read(list[i].pid, k == 0 ? "smaps_rollup" : "status", FILE_MAX_BYTES,
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

    if (bytes / WATCH_NEAR_PERCENT >= limit_bytes / 100 || growth_bytes > limit_bytes - bytes)
        return WATCH_NEAR_MS;
    return WATCH_MS;
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
    /* Looks in parts only where it may be too much, or clearly more than ever before. */
    if (most > w->limit_bytes || (n > 1 && most - most / GROWN_PART > w->most_bytes))
        bytes = add_up(list, n, true);
    else if (n == 1)
        bytes = most;
    free(list);
    if (most > w->most_bytes)
        w->most_bytes = most;
    if (most > w->limit_bytes)
        most = bytes;
    w->next_ms = now_ms + (w->only_looks ? (int)WATCH_MS
                                         : memwatch_pause_ms(most, w->bytes, w->limit_bytes));
    w->bytes = most;
    if (bytes > w->peak_bytes)
        w->peak_bytes = bytes;
    return bytes > w->limit_bytes && !w->only_looks ? bytes : 0;
}
