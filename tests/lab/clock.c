/* SPDX-License-Identifier: MIT */
/* clock.c - a preloaded library that gives the programs of a host a wrong clock */
/*
 * The kernel has one clock for all namespaces.  Where /etc/ld.so.preload names this library,
 * programs read the clock through these functions, which add the seconds in /etc/clock_off.
 * Times that the kernel sets, above all those of files, stay right, as on a share whose server's
 * clock is right.
 */
#include <stdint.h>
#include <stdlib.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's are reserved */

static time_t off_s;

__attribute__((constructor)) static void read_offset(void)
{
    char text[32] = "";
    int fd = open("/etc/clock_off", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    if (read(fd, text, sizeof text - 1) > 0)
        off_s = strtol(text, NULL, 10);
    close(fd);
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int clock_gettime(clockid_t clock, struct timespec *t)
{
    if (syscall(SYS_clock_gettime, clock, t) < 0)
        return -1;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        t->tv_sec += off_s;
    return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    struct timespec exact;

    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &exact) < 0)
        return -1;
    t->tv_sec = exact.tv_sec;
    t->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

int timespec_get(struct timespec *t, int base)
{
    return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, t) == 0 ? base : 0;
}

time_t time(time_t *t)
{
    struct timespec exact;

    if (clock_gettime(CLOCK_REALTIME, &exact) < 0)
        return -1;
    if (t != NULL)
        *t = exact.tv_sec;
    return exact.tv_sec;
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
