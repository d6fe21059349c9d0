/* SPDX-License-Identifier: MIT */
/* oom.c - did a job end because memory ran out? */

#include "worker/oom.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/io.h"
#include "common/mem.h"
#include "common/units.h"

enum {
    PROC_MAX_BYTES = 4 * 1024 * 1024,
    COUNTERS_MAX_BYTES = 4096,
    MOUNT_WORDS_MAX = 32,
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

/* Of words with commas between. */
static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = words; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
    }
    return false;
}

static size_t split(char *line, char **words, size_t max)
{
    char *rest;
    size_t n = 0;

    for (char *word = strtok_r(line, " ", &rest); word != NULL && n < max;
         word = strtok_r(NULL, " ", &rest))
        words[n++] = word;
    return n;
}

/* ---- the group ---- */

/* Lines ID:CONTROLLERS:PATH.  Version 1, where it has the memory, else version 2 ("0::PATH"). */
static char *find_path(char *groups, bool *is_v2)
{
    char *found = NULL, *rest;

    for (char *line = strtok_r(groups, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *controllers = strchr(line, ':');
        char *path = controllers == NULL ? NULL : strchr(controllers + 1, ':');

        if (path == NULL)
            continue;
        *controllers++ = '\0';
        *path++ = '\0';
        if (has_word(controllers, "memory")) {
            *is_v2 = false;
            return path;
        }
        if (*controllers == '\0' && strcmp(line, "0") == 0) {
            *is_v2 = true;
            found = path;
        }
    }
    return found;
}

/* What is below a mount of the folder mounted; NULL when path is not. */
static const char *path_below(const char *path, const char *mounted)
{
    size_t n = strcmp(mounted, "/") == 0 ? 0 : strlen(mounted);

    if (strncmp(path, mounted, n) != 0 || (path[n] != '/' && path[n] != '\0'))
        return NULL;
    return strcmp(path + n, "/") == 0 ? "" : path + n;
}

/* A line of mountinfo: ID PARENT DEVICE MOUNTED POINT OPTIONS [TAGS...] - TYPE SOURCE OPTIONS */
static bool take_mount(struct oom *o, char *line, const char *path)
{
    char *words[MOUNT_WORDS_MAX];
    size_t n = split(line, words, MOUNT_WORDS_MAX), dash = 6;
    const char *below;

    while (dash < n && strcmp(words[dash], "-") != 0)
        dash++;
    if (dash + 3 >= n || strcmp(words[dash + 1], o->is_v2 ? "cgroup2" : "cgroup") != 0 ||
        (!o->is_v2 && !has_word(words[dash + 3], "memory")))
        return false;
    below = path_below(path, words[3]);
    if (below == NULL)
        return false;
    o->folder = mem_printf("%s%s%s", o->root, words[4], below);
    o->top = strlen(o->root) + strlen(words[4]);
    return true;
}

static void find_folder(struct oom *o, char *groups, char *mounts)
{
    const char *path = find_path(groups, &o->is_v2);
    char *rest;

    if (path == NULL)
        return;
    for (char *line = strtok_r(mounts, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest))
        if (take_mount(o, line, path))
            return;
}

static char *read_proc(const struct oom *o, const char *name)
{
    char *path = mem_printf("%s/proc/%s", o->root, name);
    struct buf text = { 0 };

    if (io_read_file(path, PROC_MAX_BYTES, &text, NULL) < 0)
        buf_free(&text);
    free(path);
    return buf_take(&text);
}

/* A group of version 2 that nobody counts in is counted by one above it. */
static int open_kills(const struct oom *o)
{
    char *folder = mem_strdup(o->folder), *slash;
    int fd = -1;

    do {
        char *path = mem_printf("%s/%s", folder, o->is_v2 ? "memory.events" : "memory.oom_control");

        fd = open(path, O_RDONLY | O_CLOEXEC);
        free(path);
        slash = strrchr(folder, '/');
        if (slash != NULL)
            *slash = '\0';
    } while (fd < 0 && o->is_v2 && slash != NULL && strlen(folder) >= o->top);
    free(folder);
    return fd;
}

void oom_open(struct oom *o, const char *root)
{
    char *groups, *mounts;

    *o = (struct oom){ .root = mem_strdup(root), .kills_fd = -1 };
    groups = read_proc(o, "self/cgroup");
    mounts = read_proc(o, "self/mountinfo");
    find_folder(o, groups, mounts);
    free(groups);
    free(mounts);
    if (o->folder != NULL)
        o->kills_fd = open_kills(o);
}

void oom_close(struct oom *o)
{
    if (o->kills_fd >= 0)
        close(o->kills_fd);
    free(o->root);
    free(o->folder);
    *o = (struct oom){ .kills_fd = -1 };
}

/* ---- counts and limits ---- */

int64_t oom_kills(const struct oom *o)
{
    char text[COUNTERS_MAX_BYTES];
    ssize_t n;

    if (o->kills_fd < 0)
        return -1;
    n = pread(o->kills_fd, text, sizeof text - 1, 0);
    if (n < 0)
        return -1;
    text[n] = '\0';
    return number_of(text, "oom_kill");
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

int64_t oom_limit_bytes(const struct oom *o)
{
    const char *name = o->is_v2 ? "memory.max" : "memory.limit_in_bytes";
    char *memory = read_proc(o, "meminfo");
    int64_t limit = number_of(memory, "MemTotal") * 1024;
    char *folder = o->folder == NULL ? NULL : mem_strdup(o->folder);

    free(memory);
    /* A group's limit holds for all groups below it. */
    while (folder != NULL && strlen(folder) >= o->top) {
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

static void say_so(const struct oom_evidence *x, struct buf *reason)
{
    buf_add_str(reason, "out of memory: the kernel ended it");
    if (x->max_rss_bytes <= 0 || x->limit_bytes <= 0)
        return;
    buf_add_str(reason, " (peak ");
    add_sizes(reason, x->max_rss_bytes, " of ", x->limit_bytes);
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
