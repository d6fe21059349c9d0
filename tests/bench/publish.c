/* SPDX-License-Identifier: MIT */
/* publish.c - publishes the files of a job to the share, as a publisher does */

/*
 *   publish SHARE PROJECT SCRATCH TREE [PORT]
 *
 * TREE, on SCRATCH's file system, becomes the files that the job saved.  SHARE: a folder or, with
 * an SFTP server on PORT of this machine, "sftp:ID::PATH".  Prints how many ms it took until the
 * result was durable and had its name.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/data/msgpack.h"
#include "worker/publisher/publish.h"

static void die(const struct err *e)
{
    fprintf(stderr, "publish: %s\n", e->text);
    exit(1);
}

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int connect_to_port(void *port, struct err *e)
{
    const struct sockaddr_in to = { .sin_family = AF_INET,
                                    .sin_port = htons((uint16_t)atoi(port)),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof to) < 0)
        return err_sys(e, "connect to port %s", (const char *)port);
    return fd;
}

/* As a runner leaves it. */
static void end_attempt(const struct scratch *s, const char *share, const char *project,
                        const char *tree, struct token *token)
{
    const struct outcome outcome = { .event = EV_DONE, .signal = SCHEMA_NONE };
    struct order o = { .server_id = "bench", .share = share };
    struct buf params = { 0 };
    struct err e = { 0 };
    char hex[TOKEN_HEX];
    int fd;

    token_make(token);
    token_hex(token, hex);
    mp_add_map(&params, 0);
    o.assignment.token = *token;
    o.assignment.attempt = 1;
    o.assignment.param_name = "param_001";
    o.assignment.job_name = hex;
    o.assignment.params = buf_bytes(&params);
    o.work.project = project;
    o.work.user = "bench";
    o.work.work.command = "true";
    if (mkdirat(s->ended_fd, hex, 0700) < 0)
        err_sys(&e, "create %s", hex);
    fd = io_open_dir_at(s->ended_fd, hex, &e);
    if (fd < 0 || scratch_write(fd, JOB_ORDER, &order_schema, &o, &e) < 0 ||
        scratch_write(fd, JOB_OUTCOME, &outcome_schema, &outcome, &e) < 0 ||
        io_write_file_at(s->log_fd, hex, "", 0, 0600, &e) < 0)
        die(&e);
    if (renameat(AT_FDCWD, tree, fd, JOB_SAVE) < 0) {
        err_sys(&e, "rename %s", tree);
        die(&e);
    }
    close(fd);
    buf_free(&params);
}

int main(int argc, char **argv)
{
    struct share_source source = { .connect = connect_to_port,
                                   .context = argc == 6 ? argv[5] : NULL };
    struct publish_item item = { .error = { 0 } };
    struct arena *arena = arena_create();
    struct shares *shares;
    struct scratch scratch;
    struct err e = { 0 };
    int64_t begun_us;

    if (argc != 5 && argc != 6) {
        fprintf(stderr, "publish SHARE PROJECT SCRATCH TREE [PORT]\n");
        return 2;
    }
    umask(0); /* as a publisher's */
    if (scratch_open(&scratch, argv[3], &e) < 0)
        die(&e);
    end_attempt(&scratch, argv[1], argv[2], argv[4], &item.token);
    shares = shares_create(argc == 6 ? &source : NULL);
    begun_us = now_us();
    publish_group(&scratch, shares, "bench", &item, 1, arena);
    if (item.error.kind != ERR_NONE)
        die(&item.error);
    printf("%.1f\n", (double)(now_us() - begun_us) / 1e3);
    shares_destroy(shares);
    scratch_close(&scratch);
    arena_destroy(arena);
    return 0;
}
