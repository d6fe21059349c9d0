/* SPDX-License-Identifier: MIT */
/* oom.c - did a job end because memory ran out? */

#include "worker/runner/oom.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/units.h"
#include "worker/node/node.h"

enum {
    COUNTERS_MAX_BYTES = 4096,
    STAT_MAX_BYTES = 64 * 1024,
    MEMINFO_MAX_BYTES = 64 * 1024,
    SHELL_SIGNAL = 128, /* shells exit with 128 + signal when a signal ended their command */
    NEAR_PERCENT = 90
};

/* ---- small texts ---- */

/* The line's number, when it is "KEY NUMBER..." or "KEY: NUMBER..."; -1: there is none. */
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

/* ---- the group ---- */

/* A group of version 2 that nobody counts in is counted by one above it. */
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
    own_cgroup_find(&o->group, root, OWN_CGROUP_OF_MEMORY);
    if (o->group.folder != NULL)
        o->kills_fd = open_kills(o);
}

void oom_open_group(struct oom *o, const char *folder)
{
    struct own_cgroup own;

    own_cgroup_find(&own, "", OWN_CGROUP_V2);
    *o = (struct oom){ .root = mem_strdup(""),
                       .group = { .folder = mem_strdup(folder),
                                  .top = own.folder == NULL ? strlen(folder) : own.top,
                                  .is_v2 = true } };
    own_cgroup_free(&own);
    o->kills_fd = open_kills(o);
}

void oom_close(struct oom *o)
{
    if (o->kills_fd >= 0)
        close(o->kills_fd);
    free(o->root);
    own_cgroup_free(&o->group);
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

int64_t oom_left_bytes(const struct oom *o)
{
    char *path = mem_printf("%s/memory.stat", o->group.folder);
    struct buf text = { 0 };
    int64_t bytes = 0;

    if (io_read_file(path, STAT_MAX_BYTES, &text, NULL) == 0)
        bytes = number_of(buf_text(&text), "shmem");
    buf_free(&text);
    free(path);
    return bytes < 0 ? 0 : bytes;
}

static int64_t least(int64_t x, int64_t y)
{
    return x > 0 && (y <= 0 || x < y) ? x : y;
}

static int64_t read_limit(const char *folder, const char *name)
{
    char *path = mem_printf("%s/%s", folder, name);
    struct buf text = { 0 };
    int64_t limit = 0;

    if (io_read_file(path, COUNTERS_MAX_BYTES, &text, NULL) == 0)
        limit = strtoll(buf_text(&text), NULL, 10); /* "max" is 0 */
    buf_free(&text);
    free(path);
    return limit;
}

static int64_t machine_bytes(const char *root)
{
    char *path = mem_printf("%s/proc/meminfo", root);
    struct buf text = { 0 };
    int64_t bytes = 0;

    if (io_read_file(path, MEMINFO_MAX_BYTES, &text, NULL) == 0)
        bytes = node_parse_meminfo(buf_text(&text));
    buf_free(&text);
    free(path);
    return bytes;
}

int64_t oom_limit_bytes(const struct oom *o)
{
    const char *name = o->group.is_v2 ? "memory.max" : "memory.limit_in_bytes";
    int64_t limit = machine_bytes(o->root);
    char *folder = o->group.folder == NULL ? NULL : mem_strdup(o->group.folder);

    /* A group's limit holds for all groups below it. */
    while (folder != NULL && strlen(folder) >= o->group.top) {
        char *slash = strrchr(folder, '/');

        limit = least(read_limit(folder, name), limit);
        if (slash == NULL)
            break;
        *slash = '\0';
    }
    free(folder);
    return limit > 0 ? limit : 0;
}

/* ---- the judgement ---- */

static bool is_near(int64_t bytes, int64_t limit_bytes)
{
    return limit_bytes > 0 && bytes / NEAR_PERCENT >= limit_bytes / 100;
}

static void add_sizes(struct buf *out, int64_t used, const char *between, int64_t limit)
{
    units_add_size(out, used);
    buf_add_str(out, between);
    units_add_size(out, limit);
}

/* Many small processes are as much as a large one. */
static void say_together(int64_t bytes, struct buf *reason)
{
    buf_add_str(reason, " (its processes together reached ");
    units_add_size(reason, bytes);
    buf_add_char(reason, ')');
}

static void say_so(const struct oom_evidence *x, struct buf *reason)
{
    buf_add_str(reason, "out of memory: the kernel ended it");
    if (x->has_own_limit && !is_near(x->max_rss_bytes, x->memory_bytes)) {
        say_together(x->memory_bytes, reason);
        return;
    }
    if (x->max_rss_bytes <= 0 || x->limit_bytes <= 0)
        return;
    buf_add_str(reason, " (peak ");
    add_sizes(reason, x->max_rss_bytes, " of ",
              x->has_own_limit ? x->memory_bytes : x->limit_bytes);
    buf_add_char(reason, ')');
}

bool oom_judge(const struct oom_evidence *x, struct buf *reason)
{
    bool was_killed = WIFSIGNALED(x->status) && WTERMSIG(x->status) == SIGKILL;
    bool was_command = WIFEXITED(x->status) && WEXITSTATUS(x->status) == SHELL_SIGNAL + SIGKILL;
    int64_t limit = is_near(x->max_rss_bytes, x->memory_bytes) ? x->memory_bytes : x->limit_bytes;

    if (!was_killed && !was_command)
        return false;
    if (x->has_kills) {
        say_so(x, reason);
        return true;
    }
    if (!is_near(x->max_rss_bytes, limit))
        return false;
    buf_printf(reason, "%s, likely out of memory: it used ",
               was_killed ? "killed by signal 9" : "exit code 137 (killed by signal 9)");
    add_sizes(reason, x->max_rss_bytes, " of ", limit);
    return true;
}
