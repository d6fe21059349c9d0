/* SPDX-License-Identifier: MIT */
/* roundtrip.c - measures connecting to ludwigd, and a request with its reply */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/session/rpc.h"

/*
 * roundtrip ADDRESS COUNT: connects as a command does, asks for the newest sweeps COUNT times,
 * one after the other, and prints the way of connecting, the time until the first reply, and
 * the median and the longest time of the other replies, in ms.
 */
static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

static int ask(struct rpc *r, double *ms, struct err *e)
{
    const struct msg_get_sweeps request = { .limit = 20 };
    struct msg_sweep_page page;
    double start_ms = now_ms();
    int result = rpc_call(r, MSG_GET_SWEEPS, &request, &page, e);

    *ms = now_ms() - start_ms;
    return result;
}

static int measure(const char *address, size_t count, struct arena *a, struct err *e)
{
    double *ms = arena_alloc(a, count * sizeof *ms);
    struct endpoint to;
    struct rpc r;
    double start_ms = now_ms(), first_ms;

    if (endpoint_parse(&to, address, a, e) < 0 || rpc_open(&r, &to, NULL, e) < 0)
        return -1;
    if (ask(&r, &first_ms, e) < 0)
        goto fail;
    first_ms = now_ms() - start_ms;
    for (size_t i = 0; i < count; i++)
        if (ask(&r, &ms[i], e) < 0)
            goto fail;
    qsort(ms, count, sizeof *ms, compare);
    printf("%-18s %9.1f %9.2f %9.2f\n", way_names[r.way], first_ms, ms[count / 2], ms[count - 1]);
    rpc_close(&r);
    return 0;
fail:
    rpc_close(&r);
    return -1;
}

int main(int argc, char **argv)
{
    struct arena *a = arena_create();
    struct err e = { 0 };
    long count = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    int result = 0;

    if (count < 1) {
        fprintf(stderr, "usage: roundtrip ADDRESS COUNT\n");
        return 2;
    }
    if (measure(argv[1], (size_t)count, a, &e) < 0) {
        fprintf(stderr, "roundtrip: %s\n", e.text);
        result = 1;
    }
    arena_destroy(a);
    return result;
}
