/* SPDX-License-Identifier: MIT */
/* node.c - processors, memory and names of this machine */

#include "worker/node/node.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"

enum { SMALL_FILE_MAX_BYTES = 64 * 1024, CPUS_AT_FIRST = 1024, CPUS_AT_MOST = 1024 * 1024 };

/* Reads a file, without its last newline; NULL: it cannot be read.  The caller frees the text. */
static char *read_text(const char *path)
{
    struct buf text = { 0 };

    if (io_read_file(path, SMALL_FILE_MAX_BYTES, &text, NULL) < 0) {
        buf_free(&text);
        return NULL;
    }
    if (text.n > 0 && text.bytes[text.n - 1] == '\n')
        text.bytes[--text.n] = '\0';
    return buf_take(&text);
}

static void lower(int64_t *limit, int64_t to)
{
    if (to > 0 && to < *limit)
        *limit = to;
}

static int64_t read_number(const char *folder, const char *file)
{
    char *path = path_join(folder, file);
    char *text = read_text(path);
    int64_t number = text == NULL ? -1 : strtoll(text, NULL, 10);

    free(path);
    free(text);
    return number;
}

static int64_t milli_of(long long quota, long long period)
{
    return quota > 0 && period > 0 ? (int64_t)((double)quota / (double)period * 1000 + 0.5) : 0;
}

static bool names_controller(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = list; (at = strstr(at, name)) != NULL; at += n)
        if ((at == list || at[-1] == ',') && (at[n] == ',' || at[n] == '\0'))
            return true;
    return false;
}

/* Reads the limits of a group of version 2 (list ""), or of version 1 with these controllers. */
static void read_group(const char *folder, const char *list, struct node_limits *limits)
{
    char *path, *text, *end;
    long long quota;

    if (*list == '\0') {
        path = path_join(folder, "cpu.max"); /* "max 100000" or "150000 100000" */
        text = read_text(path);
        if (text != NULL && strncmp(text, "max", 3) != 0) {
            quota = strtoll(text, &end, 10);
            lower(&limits->cpus_milli, milli_of(quota, strtoll(end, NULL, 10)));
        }
        free(path);
        free(text);
        lower(&limits->memory_bytes, read_number(folder, "memory.max"));
    } else if (names_controller(list, "cpu")) {
        lower(&limits->cpus_milli, milli_of(read_number(folder, "cpu.cfs_quota_us"),
                                            read_number(folder, "cpu.cfs_period_us")));
    } else if (names_controller(list, "memory")) {
        lower(&limits->memory_bytes, read_number(folder, "memory.limit_in_bytes"));
    }
}

/* Reads each group's folder and those above it up to the mount.  Folders that a container does not
 * see are passed over: the mount that it sees is then its own group. */
void node_read_limits(const char *groups, const char *root, struct node_limits *limits)
{
    char *lines = mem_strdup(groups), *rest = lines, *line;

    limits->cpus_milli = limits->memory_bytes = INT64_MAX;
    while ((line = strsep(&rest, "\n")) != NULL) { /* "0::/path", or "4:cpu,cpuacct:/path" */
        char *list = strchr(line, ':');
        char *group = list == NULL ? NULL : strchr(list + 1, ':');
        char *folder;
        size_t mount_n;

        if (group == NULL)
            continue;
        list++;
        *group++ = '\0';
        mount_n = strlen(root) + (*list == '\0' ? 0 : strlen(list) + 1);
        folder = *list == '\0' ? mem_printf("%s%s", root, group)
                               : mem_printf("%s/%s%s", root, list, group);
        while (strlen(folder) > mount_n) {
            read_group(folder, list, limits);
            *strrchr(folder, '/') = '\0';
        }
        read_group(folder, list, limits);
        free(folder);
    }
    free(lines);
}

int64_t node_parse_meminfo(const char *text)
{
    static const char key[] = "MemTotal:";
    const char *at = strstr(text, key);

    return at == NULL ? 0 : strtoll(at + sizeof key - 1, NULL, 10) * 1024;
}

/* Returns the processor's NUMA node; 0 where the kernel knows of none. */
static unsigned node_of_cpu(unsigned cpu)
{
    char *path = mem_printf("/sys/devices/system/cpu/cpu%u", cpu);
    DIR *dir = opendir(path);
    const struct dirent *entry;
    unsigned node = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (sscanf(entry->d_name, "node%u", &node) == 1)
            break;
    if (dir != NULL)
        closedir(dir);
    free(path);
    return node;
}

/* Reads the affinity mask; the kernel refuses one too small for its processors with EINVAL. */
static int look_at_cpus(struct node *n, struct err *e)
{
    int rc = -1;

    for (size_t n_max = CPUS_AT_FIRST; rc < 0 && n_max <= CPUS_AT_MOST; n_max *= 4) {
        cpu_set_t *set = CPU_ALLOC(n_max);

        if (set == NULL)
            break;
        CPU_ZERO_S(CPU_ALLOC_SIZE(n_max), set);
        rc = sched_getaffinity(0, CPU_ALLOC_SIZE(n_max), set);
        if (rc == 0)
            n->cpus = mem_alloc((size_t)CPU_COUNT_S(CPU_ALLOC_SIZE(n_max), set) * sizeof *n->cpus);
        for (size_t i = 0; rc == 0 && i < n_max; i++)
            if (CPU_ISSET_S(i, CPU_ALLOC_SIZE(n_max), set))
                n->cpus[n->n_cpus++] = (unsigned)i;
        CPU_FREE(set);
        if (rc < 0 && errno != EINVAL)
            break;
    }
    if (rc < 0)
        return err_sys(e, "processor affinity");
    n->cpu_nodes = mem_alloc(n->n_cpus * sizeof *n->cpu_nodes);
    for (size_t i = 0; i < n->n_cpus; i++)
        n->cpu_nodes[i] = node_of_cpu(n->cpus[i]);
    return 0;
}

bool node_ask(const char *command, struct buf *out)
{
    FILE *pipe = popen(command, "re");
    char part[4096];
    size_t n;

    if (pipe == NULL)
        return false;
    while ((n = fread(part, 1, sizeof part, pipe)) > 0)
        buf_add(out, part, n);
    return pclose(pipe) == 0;
}

int node_look(struct node *n, struct err *e)
{
    char *groups = read_text("/proc/self/cgroup"), *meminfo = read_text("/proc/meminfo");
    char host[256] = "";
    struct node_limits limits;
    int rc = -1;

    *n = (struct node){ .boot_id = read_text("/proc/sys/kernel/random/boot_id") };
    if (gethostname(host, sizeof host - 1) < 0)
        err_sys(e, "host name");
    else if (n->boot_id == NULL || *n->boot_id == '\0')
        err_set(e, ERR_FAILED, "/proc/sys/kernel/random/boot_id cannot be read");
    else
        rc = look_at_cpus(n, e);
    if (rc == 0) {
        n->host = mem_strdup(host);
        node_read_limits(groups == NULL ? "" : groups, "/sys/fs/cgroup", &limits);
        n->cpus_milli = (int64_t)n->n_cpus * 1000;
        lower(&n->cpus_milli, limits.cpus_milli);
        n->memory_bytes = node_parse_meminfo(meminfo == NULL ? "" : meminfo);
        if (n->memory_bytes == 0)
            n->memory_bytes = INT64_MAX;
        lower(&n->memory_bytes, limits.memory_bytes);
        if (n->memory_bytes == INT64_MAX)
            n->memory_bytes = 0;
    } else {
        node_free(n);
    }
    free(groups);
    free(meminfo);
    return rc;
}

void node_free(struct node *n)
{
    free(n->host);
    free(n->boot_id);
    free(n->cpus);
    free(n->cpu_nodes);
    *n = (struct node){ .n_cpus = 0 };
}
