/* SPDX-License-Identifier: MIT */
/* login_node.c - tells whether this machine is a login node of a Slurm cluster */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "client/util/child.h"
#include "client/util/login_node.h"
#include "common/base/units.h"

enum { PING_MAX_BYTES = 4096 };

bool login_node_is_here(int64_t ping_max_ms)
{
    static const char *const argv[] = { "scontrol", "ping", NULL };
    int64_t deadline_ms = units_monotonic_ms() + ping_max_ms, left_ms;
    struct buf said = { 0 };
    struct child_run run;
    bool has_ended = false, is_up;

    if (!child_is_in_path("sbatch") || child_begin(&run, argv, NULL) < 0)
        return false;
    while (!has_ended && said.n < PING_MAX_BYTES &&
           (left_ms = deadline_ms - units_monotonic_ms()) > 0) {
        struct pollfd from = { run.stdout_fd, POLLIN, 0 };
        ssize_t n;

        if (poll(&from, 1, (int)left_ms) <= 0)
            continue;
        n = read(run.stdout_fd, buf_reserve(&said, PING_MAX_BYTES), PING_MAX_BYTES);
        has_ended = n == 0 || (n < 0 && errno != EINTR);
        buf_added(&said, n > 0 ? (size_t)n : 0);
    }
    child_stop(&run);
    /* "Slurmctld(primary) at head is UP", and a line for each backup. */
    is_up = strstr(buf_text(&said), " is UP") != NULL;
    buf_free(&said);
    return is_up;
}
