/* SPDX-License-Identifier: MIT */
/*
 * idle.h - something useful to do for whoever waits
 *
 * Those who wait for descriptors with poll(2) may be given one of these, and work before they wait.
 */
#ifndef LUDWIG_COMMON_BASE_IDLE_H
#define LUDWIG_COMMON_BASE_IDLE_H

#include <poll.h>
#include <stddef.h>

struct idle {
    /* Works until one of the descriptors is ready (see idle_is_over) or nothing is left to do; asks
     * none of those who wait for anything.  NULL: there is nothing to do. */
    void (*work)(void *context, struct pollfd *fds, nfds_t n);
    void *context;
};

/* i: NULL is fine. */
static inline void idle_before(const struct idle *i, struct pollfd *fds, nfds_t n)
{
    if (i != NULL && i->work != NULL)
        i->work(i->context, fds, n);
}

/* One of them is ready. */
static inline int idle_is_over(struct pollfd *fds, nfds_t n)
{
    return poll(fds, n, 0) != 0;
}

#endif
