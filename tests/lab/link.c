/* SPDX-License-Identifier: MIT */
/* link.c - connects two bridges by a cable with delay and loss, for kernels without netem */
/*
 * usage: link TAP TAP DELAY_US LOSS_PERCENT [SEED]
 *
 * Makes both TAP devices and carries each frame from one to the other, DELAY_US later.  It
 * drops LOSS_PERCENT of the IP packets, the same ones in every run with the same traffic; ARP
 * always gets through, as no test is about it.  Prints its pid once both devices are there, and
 * runs until it is killed.
 *
 * Without loss the kernel hands over segments of up to 64 KiB, which is fast.  With loss it
 * hands over packets of the size of the MTU, as a real network would lose those.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define FRAME_MAX_BYTES  66000
#define FRAMES_IN_FLIGHT 8192
#define FRAMES_AT_ONCE   64

/* The header before each frame if the kernel hands over large segments: linux/virtio_net.h. */
#define SEGMENT_HEADER_BYTES 10

struct frame {
    uint64_t due_us;
    size_t size;
    unsigned char *bytes;
};

/* Frames on their way from one device to the other, the oldest first. */
struct way {
    int from, to;
    size_t first, count;
    struct frame frames[FRAMES_IN_FLIGHT];
};

struct link {
    struct way ways[2];
    uint64_t delay_us;
    unsigned loss_percent;
    uint64_t random;
    bool segments;
};

static void die(const char *what)
{
    fprintf(stderr, "link: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Returns true for that percentage of calls; the generator is xorshift64. */
static bool chance(struct link *l, unsigned percent)
{
    l->random ^= l->random << 13;
    l->random ^= l->random >> 7;
    l->random ^= l->random << 17;
    return l->random % 100 < percent;
}

static int tap_open(const char *name, bool segments)
{
    struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI };
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        die("/dev/net/tun");
    if (segments)
        request.ifr_flags |= IFF_VNET_HDR;
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (ioctl(fd, TUNSETIFF, &request) < 0)
        die(name);
    if (segments && ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) < 0)
        die("TUNSETOFFLOAD");
    return fd;
}

static bool is_ip(const struct link *l, const unsigned char *bytes, size_t size)
{
    const size_t at = (l->segments ? SEGMENT_HEADER_BYTES : 0) + 2 * ETH_ALEN;
    unsigned type;

    if (size < at + 2)
        return false;
    type = (unsigned)bytes[at] << 8 | bytes[at + 1];
    return type == ETH_P_IP || type == ETH_P_IPV6;
}

static void way_take(struct link *l, struct way *w, uint64_t now)
{
    static unsigned char bytes[FRAME_MAX_BYTES];

    for (int i = 0; i < FRAMES_AT_ONCE; i++) {
        ssize_t n = read(w->from, bytes, sizeof bytes);
        struct frame *f = &w->frames[(w->first + w->count) % FRAMES_IN_FLIGHT];

        if (n <= 0)
            return;
        if (w->count == FRAMES_IN_FLIGHT ||
            (is_ip(l, bytes, (size_t)n) && chance(l, l->loss_percent)))
            continue;
        f->bytes = malloc((size_t)n);
        if (f->bytes == NULL)
            die("memory");
        memcpy(f->bytes, bytes, (size_t)n);
        f->size = (size_t)n;
        f->due_us = now + l->delay_us;
        w->count++;
    }
}

/* Writes the frames that are due; returns when the next one will be, or UINT64_MAX. */
static uint64_t way_give(struct way *w, uint64_t now)
{
    while (w->count > 0) {
        struct frame *f = &w->frames[w->first];

        if (f->due_us > now)
            return f->due_us;
        /* A device that is down or full loses the frame, as a cable would. */
        if (write(w->to, f->bytes, f->size) < 0 && errno == EBADFD)
            die("write");
        free(f->bytes);
        w->first = (w->first + 1) % FRAMES_IN_FLIGHT;
        w->count--;
    }
    return UINT64_MAX;
}

static void timer_arm(int timer, uint64_t due_us)
{
    struct itimerspec at = { 0 };

    if (due_us != UINT64_MAX) {
        at.it_value.tv_sec = (time_t)(due_us / 1000000);
        at.it_value.tv_nsec = (long)(due_us % 1000000) * 1000;
    }
    if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL) < 0)
        die("timer");
}

static void carry(struct link *l)
{
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct pollfd watched[] = { { .fd = l->ways[0].from, .events = POLLIN },
                                { .fd = l->ways[1].from, .events = POLLIN },
                                { .fd = timer, .events = POLLIN } };

    if (timer < 0)
        die("timer");
    for (;;) {
        uint64_t now = now_us();
        uint64_t there = way_give(&l->ways[0], now);
        uint64_t back = way_give(&l->ways[1], now);

        timer_arm(timer, there < back ? there : back);
        if (poll(watched, 3, -1) < 0 && errno != EINTR)
            die("poll");
        now = now_us();
        for (int i = 0; i < 2; i++)
            way_take(l, &l->ways[i], now);
    }
}

int main(int argc, char **argv)
{
    static struct link l;
    int a, b;

    if (argc < 5) {
        fprintf(stderr, "usage: link TAP TAP DELAY_US LOSS_PERCENT [SEED]\n");
        return 2;
    }
    l.delay_us = strtoull(argv[3], NULL, 10);
    l.loss_percent = (unsigned)strtoul(argv[4], NULL, 10);
    l.random = argc > 5 ? strtoull(argv[5], NULL, 10) : 88172645463325252;
    l.segments = l.loss_percent == 0;
    a = tap_open(argv[1], l.segments);
    b = tap_open(argv[2], l.segments);
    l.ways[0].from = l.ways[1].to = a;
    l.ways[1].from = l.ways[0].to = b;
    printf("%d\n", (int)getpid());
    fflush(stdout);
    carry(&l);
}
