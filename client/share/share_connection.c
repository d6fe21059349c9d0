/* SPDX-License-Identifier: MIT */
/* share_connection.c - this machine's connection to the shared drive */
#include "client/share/share_connection.h"

enum {
    LANE_BYTES = SHARE_CONNECTION_BYTES_ENOUGH /
                 SHARE_CONNECTION_LANES_MAX, /* bytes that are worth one more connection */
    NEAR_LANES = 4,                          /* enough for all that two processors can encrypt */
    FAR_MS = 30 /* round trip from which on sshd's window of 2 MiB limits each connection */
};

struct share_dir *share_connection_read(const struct share_connection *d, struct err *e)
{
    struct share_dir *share;

    if (d->mount == NULL)
        return share_open_sftp(d->sftp, d->root);
    share = share_open_mount(d->mount, e);
    if (share == NULL)
        err_wrap(e, "the shared drive is not to be seen here (config.yaml: share: says where it "
                    "is on this machine)");
    return share;
}

size_t share_connection_lanes(const struct share_connection *d, uint64_t bytes)
{
    size_t most = d->round_trip_ms >= FAR_MS ? SHARE_CONNECTION_LANES_MAX : NEAR_LANES;
    uint64_t worth = 1 + bytes / LANE_BYTES;

    return worth < most ? (size_t)worth : most;
}

int share_connection_mend(struct share_connection *d, struct err *e)
{
    struct sftp *another;
    int fd;

    if (d->sftp != NULL && !sftp_is_broken(d->sftp))
        return 0;
    fd = d->connect(d->context, e);
    another = fd < 0 ? NULL : sftp_open(fd, e);
    if (another == NULL)
        return -1;
    sftp_close(d->sftp);
    d->sftp = another;
    return 0;
}
