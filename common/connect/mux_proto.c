/* SPDX-License-Identifier: MIT */
/* mux_proto.c - messages and descriptors over a mux's control socket */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/connect/mux_proto.h"
#include "common/ssh/ssh_conf.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* macOS: both ends ignore SIGPIPE, or set SO_NOSIGPIPE */
#endif
#ifndef MSG_CMSG_CLOEXEC
#define MSG_CMSG_CLOEXEC 0
#endif

enum { TEXT_MAX_BYTES = 64 * 1024, READ_BYTES = 4096 };

static const char *const what_names[MUX_WHAT_COUNT] = {
    [MUX_SERVER] = "server", [MUX_SFTP] = "sftp"
};
#define X(constant, name, exit) [constant] = name,
static const char *const kind_names[ERR_KIND_COUNT] = { ERR_KINDS(X) };
#undef X

static const struct field nothing_fields[] = {
    FIELD(struct mux_nothing, unused, FIELD_BOOL, 0, 0),
};
static const struct schema nothing_schema = SCHEMA(struct mux_nothing, "nothing", nothing_fields);

static const struct field ready_fields[] = {
    FIELD(struct mux_ready, round_trip_ms, FIELD_INT, FIELD_NULLABLE, INT64_MAX),
    FIELD(struct mux_ready, conf_said, FIELD_STR, 0, SSH_CONF_SAID_MAX_BYTES),
};
static const struct schema ready_schema = SCHEMA(struct mux_ready, "ready", ready_fields);

static const struct field error_fields[] = {
    FIELD_NAMED(struct mux_error, kind, FIELD_REQUIRED, kind_names, ERR_KIND_COUNT),
    FIELD(struct mux_error, text, FIELD_STR, 0, TEXT_MAX_BYTES),
};
static const struct schema error_schema = SCHEMA(struct mux_error, "error", error_fields);

static const struct field question_fields[] = {
    FIELD(struct mux_question, text, FIELD_STR, FIELD_REQUIRED, TEXT_MAX_BYTES),
    FIELD(struct mux_question, echo, FIELD_BOOL, 0, 0),
};
static const struct schema question_schema =
    SCHEMA(struct mux_question, "question", question_fields);

static const struct field answer_fields[] = {
    FIELD(struct mux_answer, text, FIELD_BYTES, 0, TEXT_MAX_BYTES),
    FIELD_OF(struct mux_answer, error, FIELD_STRUCT, FIELD_REQUIRED, 0, &error_schema),
};
static const struct schema answer_schema = SCHEMA(struct mux_answer, "answer", answer_fields);

static const struct field ask_fields[] = {
    FIELD_NAMED(struct mux_ask, what, FIELD_REQUIRED, what_names, MUX_WHAT_COUNT),
};
static const struct schema ask_schema = SCHEMA(struct mux_ask, "ask", ask_fields);

static const struct field given_fields[] = {
    FIELD_NAMED(struct mux_given, way, FIELD_REQUIRED, way_names, WAY_COUNT),
};
static const struct schema given_schema = SCHEMA(struct mux_given, "given", given_fields);

static const struct field refusal_fields[] = {
    FIELD(struct mux_refusal, way, FIELD_STR, FIELD_REQUIRED, TEXT_MAX_BYTES),
    FIELD(struct mux_refusal, why, FIELD_STR, FIELD_REQUIRED, TEXT_MAX_BYTES),
    FIELD(struct mux_refusal, remedy, FIELD_STR, 0, TEXT_MAX_BYTES),
};
static const struct schema refusal_schema = SCHEMA(struct mux_refusal, "refusal", refusal_fields);

static const struct field facts_fields[] = {
    FIELD(struct connect_facts, user, FIELD_STR, FIELD_REQUIRED, TEXT_MAX_BYTES),
    FIELD(struct connect_facts, host, FIELD_STR, FIELD_REQUIRED, TEXT_MAX_BYTES),
    FIELD(struct connect_facts, port, FIELD_INT, FIELD_REQUIRED, 65535),
    FIELD(struct connect_facts, address, FIELD_STR, FIELD_REQUIRED, TEXT_MAX_BYTES),
    FIELD(struct connect_facts, proxy, FIELD_STR, FIELD_REQUIRED, TEXT_MAX_BYTES),
    FIELD(struct connect_facts, server_software, FIELD_STR, FIELD_REQUIRED, TEXT_MAX_BYTES),
    FIELD(struct connect_facts, host_key_type, FIELD_STR, FIELD_REQUIRED, TEXT_MAX_BYTES),
    FIELD(struct connect_facts, host_key_digest, FIELD_STR, FIELD_REQUIRED, TEXT_MAX_BYTES),
    FIELD(struct connect_facts, authentication, FIELD_STR, FIELD_REQUIRED, TEXT_MAX_BYTES),
    FIELD(struct connect_facts, cipher, FIELD_STR, FIELD_REQUIRED, TEXT_MAX_BYTES),
    FIELD(struct connect_facts, connect_ms, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct connect_facts, way, FIELD_STR, FIELD_REQUIRED, TEXT_MAX_BYTES),
    FIELD(struct connect_facts, server_path, FIELD_STR, FIELD_REQUIRED, TEXT_MAX_BYTES),
    FIELD_OF(struct connect_facts, refusals, FIELD_LIST, 0, 64, &refusal_schema),
};
static const struct schema facts_schema = SCHEMA(struct connect_facts, "facts", facts_fields);

static const struct message messages[MUX_TYPE_COUNT] = {
    [MUX_DIALED] = { "dialed", &ready_schema, 0, -1 },
    [MUX_READY] = { "ready", &ready_schema, 0, -1 },
    [MUX_ENDED] = { "ended", &error_schema, 0, -1 },
    [MUX_QUESTION] = { "question", &question_schema, 0, MUX_ANSWER },
    [MUX_ANSWER] = { "answer", &answer_schema, 0, -1 },
    [MUX_ASK] = { "ask", &ask_schema, 0, MUX_GIVEN },
    [MUX_GIVEN] = { "given", &given_schema, 0, -1 },
    [MUX_REFUSED] = { "refused", &error_schema, 0, -1 },
    [MUX_ASK_FACTS] = { "ask_facts", &nothing_schema, 0, MUX_FACTS },
    [MUX_FACTS] = { "facts", &facts_schema, 0, -1 },
};

const struct protocol mux_protocol = { messages, MUX_TYPE_COUNT };

/* ---- the socket ---- */

void mux_link_init(struct mux_link *l, int fd)
{
    *l = (struct mux_link){ .fd = fd };
}

void mux_link_close(struct mux_link *l)
{
    if (l->fd >= 0)
        close(l->fd);
    for (size_t i = 0; i < l->n_fds; i++)
        if (l->fds[i] >= 0)
            close(l->fds[i]);
    frame_reader_free(&l->reader);
    mux_link_init(l, -1);
}

/* Room for the control message of one descriptor. */
union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
};

/* Sends all bytes; the descriptor travels with the first one. */
static int send_all(int socket, struct bytes bytes, int give, struct err *e)
{
    for (size_t done = 0; done < bytes.n;) {
        struct iovec piece = { (void *)(uintptr_t)(bytes.data + done), bytes.n - done };
        struct msghdr m = { .msg_iov = &piece, .msg_iovlen = 1 };
        union control control = { 0 };
        ssize_t n;

        if (done == 0 && give >= 0) {
            struct cmsghdr *c;

            m.msg_control = control.bytes;
            m.msg_controllen = sizeof control.bytes;
            c = CMSG_FIRSTHDR(&m);
            c->cmsg_level = SOL_SOCKET;
            c->cmsg_type = SCM_RIGHTS;
            c->cmsg_len = CMSG_LEN(sizeof give);
            memcpy(CMSG_DATA(c), &give, sizeof give);
        }
        n = sendmsg(socket, &m, MSG_NOSIGNAL);
        if (n > 0) {
            done += (size_t)n;
        } else if (errno == EAGAIN) {
            struct pollfd p = { .fd = socket, .events = POLLOUT };

            if (poll(&p, 1, -1) < 0 && errno != EINTR)
                return err_sys(e, "poll");
        } else if (errno != EINTR) {
            return err_set(e, ERR_UNREACHABLE, "the connection's process is gone");
        }
    }
    return 0;
}

int mux_link_send(struct mux_link *l, enum mux_type type, const void *body, int give, struct err *e)
{
    static const struct mux_nothing nothing;
    struct buf frame = { 0 };
    int rc;

    if (body == NULL && messages[type].schema != &nothing_schema)
        return err_set(e, ERR_PROTOCOL, "%s has a body", messages[type].name);
    rc = message_add(&frame, &mux_protocol, (int)type, ++l->seq, 0, NULL,
                     body == NULL ? &nothing : body, e);
    if (rc == 0)
        rc = send_all(l->fd, buf_bytes(&frame), give, e);
    /* The frame is overwritten, as it may hold a password. */
    for (volatile uint8_t *p = frame.bytes; p != NULL && p < frame.bytes + frame.n; p++)
        *p = 0;
    buf_free(&frame);
    return rc;
}

static void keep_fd(struct mux_link *l, int fd)
{
    if (fd >= 0 && (l->n_fds == MUX_FDS_MAX || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)) {
        close(fd);
        fd = -1;
    }
    if (l->n_fds < MUX_FDS_MAX)
        l->fds[l->n_fds++] = fd;
}

/* Reads bytes and descriptors; returns 1 when any came, 0 when none have yet, -1 with e set. */
static int receive_some(struct mux_link *l, struct err *e)
{
    uint8_t bytes[READ_BYTES];
    struct iovec piece = { bytes, sizeof bytes };
    union control control;
    struct msghdr m = { .msg_iov = &piece,
                        .msg_iovlen = 1,
                        .msg_control = control.bytes,
                        .msg_controllen = sizeof control.bytes };
    ssize_t n = recvmsg(l->fd, &m, MSG_CMSG_CLOEXEC);
    size_t n_fds = l->n_fds;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return errno == EINTR;
    if (n <= 0)
        return err_set(e, ERR_UNREACHABLE, "the connection's process is gone");
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c != NULL; c = CMSG_NXTHDR(&m, c)) {
        int fd;

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
        keep_fd(l, fd);
    }
    /* A lost descriptor keeps its place, or the next would be taken for it. */
    if ((m.msg_flags & MSG_CTRUNC) != 0 && l->n_fds == n_fds)
        keep_fd(l, -1);
    frame_feed(&l->reader, bytes, (size_t)n);
    return 1;
}

int mux_link_receive(struct mux_link *l, struct arena *a, struct envelope *m, struct err *e)
{
    struct bytes frame;

    for (;;) {
        int rc = frame_next(&l->reader, &frame, e);

        if (rc > 0)
            return message_read(frame, &mux_protocol, a, m, e) < 0 ? -1 : 1;
        if (rc == 0)
            rc = receive_some(l, e);
        if (rc <= 0)
            return rc;
    }
}

int mux_link_take_fd(struct mux_link *l)
{
    int fd;

    if (l->n_fds == 0)
        return -1;
    fd = l->fds[0];
    memmove(l->fds, l->fds + 1, --l->n_fds * sizeof *l->fds);
    return fd;
}
