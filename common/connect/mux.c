/* SPDX-License-Identifier: MIT */
/* mux.c - starts a mux, and asks it for descriptors */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/connect/mux_proto.h"
#include "common/proto/unixsocket.h"
#include "common/ssh/prompt.h"

struct mux {
    struct mux_link link;
    struct arena *arena;
    pid_t pid; /* 0: the mux is no child of this process */
    int interrupt_fd;
    bool is_ready; /* the mux has connected */
    int64_t round_trip_ms;
    char *conf_said;
    bool has_prompted;
    bool is_soon;   /* an SFTP session was asked for, and mux_sftp has not handed it out yet */
    int soon_fd;    /* that SFTP session; -1: not here yet */
    struct err end; /* why the mux ended */
    bool has_ended;
};

struct mux *mux_attach(int control_fd)
{
    struct mux *m = mem_alloc(sizeof *m);

    (void)io_set_nonblocking(control_fd, NULL);
    mux_link_init(&m->link, control_fd);
    m->arena = arena_create();
    m->interrupt_fd = m->soon_fd = -1;
    m->round_trip_ms = SCHEMA_NONE;
    return m;
}

void mux_close(struct mux *m)
{
    if (m == NULL)
        return;
    if (m->soon_fd >= 0)
        close(m->soon_fd);
    mux_link_close(&m->link);
    if (m->pid > 0 && !m->is_ready)
        (void)kill(m->pid, SIGTERM); /* it may hang in looking up a name */
    while (m->pid > 0 && waitpid(m->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    arena_destroy(m->arena);
    free(m->conf_said);
    free(m);
}

bool mux_is_alive(const struct mux *m)
{
    return !m->has_ended;
}

int64_t mux_round_trip_ms(const struct mux *m)
{
    return m->round_trip_ms;
}

const char *mux_conf_said(const struct mux *m)
{
    return m->conf_said;
}

bool mux_has_prompted(const struct mux *m)
{
    return m->has_prompted;
}

/* ---- messages from the mux ---- */

static int answer_question(struct mux *m, const struct envelope *got, struct err *e)
{
    struct mux_question question;
    struct mux_answer answer = { 0 };
    struct err why = { 0 };
    char *text;
    int rc;

    if (message_body(&mux_protocol, got, m->arena, &question, e) < 0)
        return -1;
    m->has_prompted = true;
    text = prompt_ask(question.text, question.echo, &why);
    if (text != NULL)
        answer.text = (struct bytes){ (const uint8_t *)text, strlen(text) };
    answer.error = (struct mux_error){ (int)why.kind, why.text };
    rc = mux_link_send(&m->link, MUX_ANSWER, &answer, -1, e);
    prompt_wipe(text);
    return rc;
}

static int take_error(struct mux *m, const struct envelope *got, struct err *e)
{
    struct mux_error error;

    if (message_body(&mux_protocol, got, m->arena, &error, e) < 0)
        return -1;
    return err_set(e, (enum err_kind)error.kind, "%s", error.text);
}

/* Returns 1 with a message that answers a question, 0 without one, -1 with e set.  It reads past
 * other messages: one that was read ahead behind them no longer makes the socket readable. */
static int next_message(struct mux *m, struct envelope *got, struct err *e)
{
    if (m->has_ended)
        return err_set(e, m->end.kind, "%s", m->end.text);
    for (;;) {
        struct mux_ready ready;
        int rc;

        arena_reset(m->arena);
        rc = mux_link_receive(&m->link, m->arena, got, e);
        if (rc < 0) {
            m->has_ended = true;
            err_set(&m->end, ERR_UNREACHABLE, "the connection's process is gone");
        }
        if (rc <= 0)
            return rc;
        if (got->type == MUX_ENDED) {
            m->has_ended = true;
            (void)take_error(m, got, &m->end);
            return err_set(e, m->end.kind, "%s", m->end.text);
        }
        if (got->type == MUX_QUESTION) {
            if (answer_question(m, got, e) < 0)
                return -1;
            continue;
        }
        if (got->type != MUX_READY && got->type != MUX_DIALED)
            return 1;
        /* A server that ended the first session is dialed again behind MUX_READY. */
        m->is_ready = m->is_ready || got->type == MUX_READY;
        if (message_body(&mux_protocol, got, m->arena, &ready, NULL) < 0)
            continue;
        m->round_trip_ms = ready.round_trip_ms;
        if (m->conf_said == NULL && ready.conf_said != NULL)
            m->conf_said = mem_strdup(ready.conf_said);
    }
}

/* ---- waiting for a message ---- */

/* Waits for the next message, which must be of this type; a refusal is an error. */
static int await_message(struct mux *m, enum mux_type type, struct envelope *got, struct err *e)
{
    struct pollfd fds[] = { { .fd = m->link.fd, .events = POLLIN },
                            { .fd = m->interrupt_fd, .events = POLLIN } };
    int rc;

    while ((rc = next_message(m, got, e)) == 0) {
        if (type == MUX_READY && m->is_ready)
            return 0;
        while (poll(fds, 2, -1) < 0)
            if (errno != EINTR)
                return err_sys(e, "poll");
        if (fds[1].revents != 0 && fds[0].revents == 0)
            return err_set(e, ERR_UNREACHABLE, "interrupted");
    }
    if (rc < 0)
        return -1;
    if (got->type == MUX_REFUSED)
        return take_error(m, got, e);
    return got->type == (int)type ? 0 : err_set(e, ERR_PROTOCOL, "the mux answers out of turn");
}

/* ---- starting a mux ---- */

struct mux *mux_begin(const struct endpoint *to, const struct mux_options *o, struct err *e)
{
    struct mux *m;
    int ends[2];
    pid_t pid;

    if (unixsocket_pair(ends, e) < 0)
        return NULL;
#ifdef SO_NOSIGPIPE
    (void)setsockopt(ends[0], SOL_SOCKET, SO_NOSIGPIPE, &(int){ 1 }, sizeof(int));
#endif
    pid = fork();
    if (pid == 0) {
        io_close_all_but(&ends[1], 1);
        io_detach();
        mux_run(ends[1], to, o);
        _exit(0);
    }
    close(ends[1]);
    m = mux_attach(ends[0]);
    m->pid = pid;
    m->interrupt_fd = o->interrupt_fd > 0 ? o->interrupt_fd : -1;
    if (pid > 0)
        return m;
    err_sys(e, "fork");
    mux_close(m);
    return NULL;
}

int mux_wait(struct mux *m, struct err *e)
{
    struct envelope got;

    return m->is_ready ? 0 : await_message(m, MUX_READY, &got, e);
}

struct mux *mux_start(const struct endpoint *to, const struct mux_options *o, struct err *e)
{
    struct mux *m = mux_begin(to, o, e);

    if (m == NULL || mux_wait(m, e) == 0)
        return m;
    m->is_ready = false;
    mux_close(m);
    return NULL;
}

/* ---- asking for descriptors ---- */

/* Sends a message; if the mux is gone, sets e to its last message, which may still be unread. */
static int send_message(struct mux *m, enum mux_type type, const void *body, struct err *e)
{
    struct envelope got;

    if (!m->has_ended && mux_link_send(&m->link, type, body, -1, NULL) == 0)
        return 0;
    while (!m->has_ended)
        (void)next_message(m, &got, NULL);
    return err_set(e, m->end.kind, "%s", m->end.text);
}

static int ask_for_fd(struct mux *m, enum mux_what what, struct err *e)
{
    struct mux_ask body = { .what = (int)what };

    return send_message(m, MUX_ASK, &body, e);
}

/* The descriptor of a MUX_GIVEN; -1: none came along. */
static int take_given(struct mux *m, const struct envelope *got, enum way *way, struct err *e)
{
    struct mux_given given;
    int fd = mux_link_take_fd(&m->link);

    if (message_body(&mux_protocol, got, m->arena, &given, e) < 0 || fd < 0) {
        if (fd >= 0)
            close(fd);
        return err_set(e, ERR_PROTOCOL, "no descriptor came along; are too many files open here?");
    }
    if (way != NULL)
        *way = (enum way)given.way;
    return fd;
}

static int await_given(struct mux *m, enum way *way, struct err *e)
{
    struct envelope got;

    return await_message(m, MUX_GIVEN, &got, e) < 0 ? -1 : take_given(m, &got, way, e);
}

/* Takes the answer for mux_sftp first, as answers come in the order of the questions. */
static void await_soon(struct mux *m, struct err *e)
{
    if (!m->is_soon || m->soon_fd >= 0)
        return;
    m->soon_fd = await_given(m, NULL, e);
    m->is_soon = m->soon_fd >= 0;
}

static int get(struct mux *m, enum mux_what what, enum way *way, struct err *e)
{
    await_soon(m, NULL);
    return ask_for_fd(m, what, e) < 0 ? -1 : await_given(m, way, e);
}

int mux_server(struct mux *m, enum way *way, struct err *e)
{
    return get(m, MUX_SERVER, way, e);
}

int mux_server_and_sftp(struct mux *m, enum way *way, struct err *e)
{
    await_soon(m, NULL);
    if (ask_for_fd(m, MUX_SERVER, e) < 0)
        return -1;
    if (!m->is_soon)
        m->is_soon = ask_for_fd(m, MUX_SFTP, NULL) == 0;
    return await_given(m, way, e);
}

int mux_sftp(struct mux *m, struct err *e)
{
    bool was_soon = m->is_soon;
    int fd;

    await_soon(m, e);
    fd = m->soon_fd;
    m->is_soon = false;
    m->soon_fd = -1;
    return was_soon ? fd : get(m, MUX_SFTP, NULL, e);
}

int mux_facts(struct mux *m, struct connect_facts *facts, struct arena *a, struct err *e)
{
    const struct schema *schema = mux_protocol.messages[MUX_FACTS].schema;
    struct buf copy = { 0 };
    struct envelope got;
    struct bytes bytes;

    await_soon(m, NULL);
    if (send_message(m, MUX_ASK_FACTS, NULL, e) < 0 || await_message(m, MUX_FACTS, &got, e) < 0 ||
        message_body(&mux_protocol, &got, m->arena, facts, e) < 0)
        return -1;
    /* The facts' texts live only as long as the message, so the facts are copied as a whole. */
    schema_encode(schema, facts, &copy);
    bytes = (struct bytes){ (const uint8_t *)arena_strndup(a, (const char *)copy.bytes, copy.n),
                            copy.n };
    buf_free(&copy);
    return schema_read(schema, bytes, a, facts, e);
}

/* ---- for event loops ---- */

int mux_main(int control_fd, const char *address)
{
    struct mux_options options = { 0 };
    struct arena *a = arena_create();
    struct endpoint to;
    struct err e = { 0 };
    int rc = endpoint_parse(&to, address, a, &e);

    io_close_all_but(&control_fd, 1);
    io_detach();
    if (rc == 0 && to.keys != NULL)
        options.ways = 1u << WAY_BRIDGE; /* the key allows only this way; sshd logs other tries */
    if (rc == 0 && to.kind == ENDPOINT_SHARE)
        mux_run_share(control_fd, to.path);
    else if (rc == 0)
        mux_run(control_fd, &to, &options);
    arena_destroy(a);
    return rc < 0 ? (int)err_exit_code(e.kind) : 0;
}

int mux_control_fd(const struct mux *m)
{
    return m->link.fd;
}

int mux_ask_server(struct mux *m, struct err *e)
{
    return ask_for_fd(m, MUX_SERVER, e);
}

int mux_ask_sftp(struct mux *m, struct err *e)
{
    return ask_for_fd(m, MUX_SFTP, e);
}

int mux_take(struct mux *m, int *fd, enum way *way, struct err *e)
{
    struct envelope got;
    int rc = next_message(m, &got, e);

    if (rc <= 0)
        return rc;
    if (got.type == MUX_REFUSED)
        return take_error(m, &got, e);
    *fd = take_given(m, &got, way, e);
    return *fd < 0 || io_set_nonblocking(*fd, e) < 0 ? -1 : 1;
}
