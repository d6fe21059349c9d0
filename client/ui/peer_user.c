/* SPDX-License-Identifier: MIT */
/* peer_user.c - finds which user of this machine a connection to 127.0.0.1 comes from */
#include "client/ui/peer_user.h"

#ifdef __linux__
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 of;
};

union answer {
    struct nlmsghdr head;
    char bytes[4096];
};

/* Sends the question to the kernel and reads its answer, which is there when send returns, so that
 * this never waits. */
static bool ask(int fd, const struct question *q, struct inet_diag_msg *found)
{
    union answer a;
    ssize_t n;

    if (send(fd, q, sizeof *q, 0) != (ssize_t)sizeof *q)
        return false;
    n = recv(fd, &a, sizeof a, MSG_DONTWAIT);
    if (n < (ssize_t)NLMSG_LENGTH(sizeof *found) || a.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return false;
    memcpy(found, NLMSG_DATA(&a.head), sizeof *found);
    return true;
}

bool peer_user_find(const struct sockaddr_in *peer, const struct sockaddr_in *own, uid_t *uid)
{
    struct question q = {
        .head = { .nlmsg_len = sizeof q,
                  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                  .nlmsg_flags = NLM_F_REQUEST },
        .of = { .sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = UINT32_MAX }
    };
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    struct inet_diag_msg found;
    bool is_known;

    /* The question is about the socket at the other end, whose source address is peer. */
    q.of.id.idiag_sport = peer->sin_port;
    q.of.id.idiag_src[0] = peer->sin_addr.s_addr;
    q.of.id.idiag_dport = own->sin_port;
    q.of.id.idiag_dst[0] = own->sin_addr.s_addr;
    q.of.id.idiag_cookie[0] = q.of.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    is_known = fd >= 0 && ask(fd, &q, &found);
    if (fd >= 0)
        close(fd);
    if (is_known)
        *uid = found.idiag_uid;
    return is_known;
}
#else
bool peer_user_find(const struct sockaddr_in *peer, const struct sockaddr_in *own, uid_t *uid)
{
    (void)peer;
    (void)own;
    (void)uid;
    return false;
}
#endif
