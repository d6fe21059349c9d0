/* SPDX-License-Identifier: MIT */
/* process_usage.c - what the processes below this one have used so far */

#include "worker/base/process_usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "worker/base/process_tree.h"

enum { PROC_MAX_BYTES = 64 * 1024 };

static bool read_proc(pid_t pid, const char *name, struct buf *text)
{
    char *path = mem_printf("/proc/%ld/%s", (long)pid, name);
    bool is_read;

    buf_clear(text);
    is_read = io_read_file(path, PROC_MAX_BYTES, text, NULL) == 0;
    free(path);
    return is_read;
}

static void add_cpu(struct process_usage *u, const char *stat)
{
    const char *name_end = strrchr(stat, ')'); /* the name may hold anything */
    long long user, system, user_of_children, system_of_children;
    long ticks_per_s = sysconf(_SC_CLK_TCK);

    if (name_end != NULL && ticks_per_s > 0 &&
        sscanf(name_end, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld", &user,
               &system, &user_of_children, &system_of_children) == 4)
        u->cpu_ms += (user + system + user_of_children + system_of_children) * 1000 / ticks_per_s;
}

static void add_rss(struct process_usage *u, const char *status)
{
    static const char key[] = "\nVmHWM:";
    const char *at = strstr(status, key);
    int64_t bytes = at == NULL ? 0 : (int64_t)strtoll(at + strlen(key), NULL, 10) * 1024;

    if (bytes > u->max_rss_bytes)
        u->max_rss_bytes = bytes;
}

void process_usage_look(struct process_usage *u)
{
    struct buf text = { 0 };
    size_t n;
    struct process_tree_process *all = process_tree_list(&n);

    *u = (struct process_usage){ 0 };
    for (size_t i = 0; i < n; i++) {
        if (read_proc(all[i].pid, "stat", &text))
            add_cpu(u, buf_text(&text));
        if (read_proc(all[i].pid, "status", &text))
            add_rss(u, buf_text(&text));
    }
    buf_free(&text);
    free(all);
}
