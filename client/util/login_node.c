/* SPDX-License-Identifier: MIT */
/* login_node.c - whether this machine is a login node of a Slurm cluster */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "client/util/child.h"
#include "client/util/login_node.h"
#include "common/base/units.h"

enum { PING_MAX_MS = 1000, PING_MAX_BYTES = 4096 };

/* Appends what the child writes until it has written all, or the time is over. */
static void read_in_time(const struct child_run *run, struct buf *out)
{
    int64_t deadline_ms = units_monotonic_ms() + PING_MAX_MS, left_ms;

    while (out->n < PING_MAX_BYTES && (left_ms = deadline_ms - units_monotonic_ms()) > 0) {
        struct pollfd from = { run->stdout_fd, POLLIN, 0 };
        ssize_t n;

        if (poll(&from, 1, (int)left_ms) <= 0)
            continue;
        n = read(run->stdout_fd, buf_reserve(out, PING_MAX_BYTES), PING_MAX_BYTES);
        if (n == 0 || (n < 0 && errno != EINTR))
            return;
        buf_added(out, n > 0 ? (size_t)n : 0);
    }
}

/* "Slurmctld(primary) at head is UP", and a line for each backup. */
static bool slurm_answers(void)
{
    static const char *const argv[] = { "scontrol", "ping", NULL };
    struct buf said = { 0 };
    struct child_run run;
    bool is_up;

    if (child_begin(&run, argv, NULL) < 0)
        return false;
    read_in_time(&run, &said);
    child_stop(&run);
    is_up = strstr(buf_text(&said), " is UP") != NULL;
    buf_free(&said);
    return is_up;
}

bool login_node_is_here(void)
{
    return child_is_in_path("sbatch") && slurm_answers();
}
