/* SPDX-License-Identifier: MIT */
/* own_cgroup.c - the control group that this process is in */

#include "worker/node/own_cgroup.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/io.h"
#include "common/base/mem.h"

enum { PROC_MAX_BYTES = 4 * 1024 * 1024, MOUNT_WORDS_MAX = 32 };

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

/* Lines ID:CONTROLLERS:PATH; that of version 2 is "0::PATH". */
static char *find_path(char *groups, enum own_cgroup_wish wish, bool *is_v2)
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
        if (wish == OWN_CGROUP_OF_MEMORY && has_word(controllers, "memory")) {
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
static bool take_mount(struct own_cgroup *g, const char *root, char *line, const char *path)
{
    char *words[MOUNT_WORDS_MAX];
    size_t n = split(line, words, MOUNT_WORDS_MAX), dash = 6;
    const char *below;

    while (dash < n && strcmp(words[dash], "-") != 0)
        dash++;
    if (dash + 3 >= n || strcmp(words[dash + 1], g->is_v2 ? "cgroup2" : "cgroup") != 0 ||
        (!g->is_v2 && !has_word(words[dash + 3], "memory")))
        return false;
    below = path_below(path, words[3]);
    if (below == NULL)
        return false;
    g->folder = mem_printf("%s%s%s", root, words[4], below);
    g->top = strlen(root) + strlen(words[4]);
    return true;
}

static char *read_proc(const char *root, const char *name)
{
    char *path = mem_printf("%s/proc/self/%s", root, name);
    struct buf text = { 0 };

    if (io_read_file(path, PROC_MAX_BYTES, &text, NULL) < 0)
        buf_free(&text);
    free(path);
    return buf_take(&text);
}

void own_cgroup_find(struct own_cgroup *g, const char *root, enum own_cgroup_wish wish)
{
    char *groups = read_proc(root, "cgroup"), *mounts = read_proc(root, "mountinfo"), *rest;
    const char *path;

    *g = (struct own_cgroup){ .folder = NULL };
    path = find_path(groups, wish, &g->is_v2);
    for (char *line = path == NULL ? NULL : strtok_r(mounts, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest))
        if (take_mount(g, root, line, path))
            break;
    free(groups);
    free(mounts);
}

void own_cgroup_free(struct own_cgroup *g)
{
    free(g->folder);
    g->folder = NULL;
}
