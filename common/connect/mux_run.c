/* SPDX-License-Identifier: MIT */
/* mux_run.c - the process that keeps an SSH session, or couriers over a share */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/units.h"
#include "common/connect/courier.h"
#include "common/connect/mux_proto.h"
#include "common/connect/routes.h"
#include "common/ssh/ssh_pump.h"

enum {
    FAREWELL_MS = 5000, /* how long bytes written before the caller left are passed on */
    FIXED_FDS = 3       /* the control socket, the session, a child of ways */
};

struct ask {
    enum mux_what what;
    bool is_begun, is_done;
    struct ssh_pump *lane; /* being opened for this ask; NULL: by the routes, or the ask is done */
    int fd;                /* the result; -1: none, for the reason in why */
    enum way way;
    struct err why;
};

struct mux_server {
    struct mux_link control;
    const struct endpoint *to;
    const struct mux_options *options;
    struct ssh_plan plan;
    struct arena *arena; /* of one message */
    struct ssh *ssh;
    struct routes *ways;
    struct ssh_pump **lanes;
    size_t n_lanes, lanes_capacity;
    struct ask *asks; /* answered in their order */
    size_t n_asks, asks_capacity;
    struct pollfd *fds;
    size_t fds_capacity;
    bool has_given; /* a descriptor, whose session must not change any more */
    bool is_leaving;
    int64_t leave_ms;
    struct err end;
};

/* ---- messages to the caller ---- */

static void begin_leaving(struct mux_server *m)
{
    if (m->is_leaving)
        return;
    m->is_leaving = true;
    m->leave_ms = units_monotonic_ms() + FAREWELL_MS;
}

static void send_message(struct mux_server *m, enum mux_type type, const void *body, int give)
{
    if (!m->is_leaving && mux_link_send(&m->control, type, body, give, NULL) < 0)
        begin_leaving(m);
}

static void say_error(struct mux_server *m, enum mux_type type, const struct err *e)
{
    struct mux_error error = { .kind = (int)e->kind, .text = e->text };

    send_message(m, type, &error, -1);
}

/* ---- questions for the user ---- */

static char *ask_caller(void *context, const char *text, bool echo, struct err *e)
{
    struct mux_server *m = context;
    struct mux_question question = { .text = text, .echo = echo };
    struct mux_answer answer;
    struct envelope got;
    char *copy = NULL;
    int rc;

    if (!m->options->may_prompt) {
        err_set(e, ERR_DENIED, "nobody can be asked");
        return NULL;
    }
    if (mux_link_send(&m->control, MUX_QUESTION, &question, -1, e) < 0)
        return NULL;
    do
        rc = mux_link_receive(&m->control, m->arena, &got, e);
    while (rc == 0);
    if (rc > 0 &&
        (got.type != MUX_ANSWER || message_body(&mux_protocol, &got, m->arena, &answer, e) < 0))
        err_set(e, ERR_PROTOCOL, "no answer to a question");
    else if (rc > 0 && answer.error.kind != ERR_NONE)
        err_set(e, (enum err_kind)answer.error.kind, "%s", answer.error.text);
    else if (rc > 0) {
        copy = mem_copy(answer.text.data, answer.text.n);
        memset((void *)(uintptr_t)answer.text.data, 0, answer.text.n);
    }
    arena_reset(m->arena);
    return copy;
}

static struct mux_ready ready_of(const struct ssh *s)
{
    return (struct mux_ready){ ssh_round_trip_ms(s), ssh_conf_of(s)->said };
}

static void tell_dialed(void *context, const struct ssh *s)
{
    struct mux_ready dialed = ready_of(s);

    send_message(context, MUX_DIALED, &dialed, -1);
}

/* ---- lanes ---- */

static void adopt(void *context, struct ssh_pump *l)
{
    struct mux_server *m = context;

    mem_grow((void **)&m->lanes, &m->lanes_capacity, m->n_lanes, sizeof(struct ssh_pump *));
    m->lanes[m->n_lanes++] = l;
}

/* ---- asks of the caller ---- */

static void drop_ask(struct ask *ask)
{
    ssh_pump_close(ask->lane);
    if (ask->fd >= 0)
        close(ask->fd);
}

static void work_at(struct mux_server *m, struct ask *ask)
{
    bool was_begun = ask->is_begun;
    int rc;

    ask->is_begun = true;
    if (ask->what == MUX_SERVER) {
        if (!was_begun)
            routes_begin(m->ways);
        rc = routes_step(m->ways, &ask->fd, &ask->way, &ask->why);
        goto out;
    }
    if (!was_begun)
        ask->lane = ssh_pump_open(m->ssh, SSH_TO_SUBSYSTEM, "sftp", &ask->why);
    rc = ask->lane != NULL ? ssh_pump_step(ask->lane, &ask->why) : -1;
    if (rc < 0 && ask->lane != NULL)
        err_wrap(&ask->why, "SFTP");
    /* An SFTP client has much to send, and may begin before sshd has started the server. */
    if (rc == 0 && ssh_pump_is_asked(ask->lane))
        rc = 1;
    if (rc > 0)
        rc = ask->fd = ssh_pump_connect(ask->lane, &ask->why);
    if (rc > 0) {
        adopt(m, ask->lane);
        ask->lane = NULL;
    }
out:
    ask->is_done = rc != 0;
    if (rc < 0)
        ask->fd = -1;
}

/* Works at all asks at once, except that the routes search for one connection at a time. */
static void work_at_asks(struct mux_server *m)
{
    bool is_looking = false;

    for (size_t i = 0; i < m->n_asks; i++) {
        struct ask *ask = &m->asks[i];

        if (ask->is_done || (is_looking && ask->what == MUX_SERVER))
            continue;
        work_at(m, ask);
        is_looking = is_looking || (ask->what == MUX_SERVER && !ask->is_done);
    }
    while (m->n_asks > 0 && m->asks[0].is_done) {
        struct mux_given given = { .way = (int)m->asks[0].way };

        m->has_given |= m->asks[0].fd >= 0;
        if (m->asks[0].fd >= 0)
            send_message(m, MUX_GIVEN, &given, m->asks[0].fd);
        else
            say_error(m, MUX_REFUSED, &m->asks[0].why);
        drop_ask(&m->asks[0]);
        memmove(m->asks, m->asks + 1, --m->n_asks * sizeof *m->asks);
    }
}

static int take_message(struct mux_server *m, const struct envelope *got)
{
    struct connect_facts facts = { 0 };
    struct mux_ask ask;

    if (got->type == MUX_ASK_FACTS) {
        ssh_tell(m->ssh, m->arena, &facts);
        routes_tell(m->ways, &facts);
        send_message(m, MUX_FACTS, &facts, -1);
        return 0;
    }
    if (got->type != MUX_ASK || message_body(&mux_protocol, got, m->arena, &ask, NULL) < 0)
        return -1;
    mem_grow((void **)&m->asks, &m->asks_capacity, m->n_asks, sizeof *m->asks);
    m->asks[m->n_asks++] =
        (struct ask){ .what = (enum mux_what)ask.what, .fd = -1, .way = WAY_UNIX };
    return 0;
}

static void read_control(struct mux_server *m)
{
    struct envelope got;
    int rc;

    while ((rc = mux_link_receive(&m->control, m->arena, &got, NULL)) > 0) {
        rc = take_message(m, &got);
        arena_reset(m->arena);
        if (rc < 0)
            break;
    }
    if (rc < 0)
        begin_leaving(m);
}

/* ---- the loop ---- */

static size_t list_fds(struct mux_server *m)
{
    size_t n = FIXED_FDS + m->n_lanes;

    if (n > m->fds_capacity) {
        m->fds_capacity = n * 2;
        m->fds = mem_resize(m->fds, m->fds_capacity, sizeof *m->fds);
    }
    m->fds[0] = (struct pollfd){ .fd = m->is_leaving ? -1 : m->control.fd, .events = POLLIN };
    m->fds[1] = (struct pollfd){ .fd = ssh_fd(m->ssh), .events = ssh_poll_events(m->ssh) };
    m->fds[2] = routes_poll(m->ways);
    for (size_t i = 0; i < m->n_lanes; i++)
        m->fds[FIXED_FDS + i] = ssh_pump_poll(m->lanes[i]);
    return n;
}

static int do_turn(struct mux_server *m, struct err *e)
{
    size_t n = list_fds(m), n_polled = m->n_lanes, n_left = 0;
    int64_t until_ms = ssh_next_turn_ms(m->ssh), left_ms;
    struct ssh_pump *first;

    if (m->n_asks > 0 && routes_deadline_ms(m->ways) < until_ms)
        until_ms = routes_deadline_ms(m->ways);
    if (m->is_leaving && m->leave_ms < until_ms)
        until_ms = m->leave_ms;
    left_ms = until_ms - units_monotonic_ms();
    if (poll(m->fds, (nfds_t)n, left_ms > 0 ? (int)left_ms : 0) < 0) {
        memset(m->fds, 0, n * sizeof *m->fds);
        if (errno != EINTR)
            return err_sys(e, "poll");
    }
    if (m->fds[0].revents != 0)
        read_control(m);
    if (ssh_turn(m->ssh, e) < 0)
        return -1;
    for (size_t i = 0; i < n_polled; i++)
        ssh_pump_pump(m->lanes[i], m->fds[FIXED_FDS + i].revents);
    work_at_asks(m);
    if (!ssh_is_alive(m->ssh) && ssh_turn(m->ssh, e) < 0)
        return -1;
    for (size_t i = 0; i < m->n_lanes; i++)
        if (ssh_pump_is_over(m->lanes[i]))
            ssh_pump_close(m->lanes[i]);
        else
            m->lanes[n_left++] = m->lanes[i];
    m->n_lanes = n_left;
    /* The first lane writes first to a session that is nearly full, so the first place rotates. */
    if (m->n_lanes > 1) {
        first = m->lanes[0];
        memmove(m->lanes, m->lanes + 1, (m->n_lanes - 1) * sizeof(struct ssh_pump *));
        m->lanes[m->n_lanes - 1] = first;
    }
    return 0;
}

/* Goes on in a new session if another way may lead to ludwigd; otherwise -1 with the reason in
 * e. */
static int begin_anew(struct mux_server *m, struct err *e)
{
    if (m->has_given || m->is_leaving || !routes_leave(m->ways))
        return -1;
    for (size_t i = 0; i < m->n_asks; i++) {
        struct ask *ask = &m->asks[i];

        drop_ask(ask);
        *ask = (struct ask){ .what = ask->what,
                             .is_begun = ask->what == MUX_SERVER && ask->is_begun,
                             .fd = -1,
                             .way = WAY_UNIX };
    }
    for (size_t i = 0; i < m->n_lanes; i++)
        ssh_pump_close(m->lanes[i]);
    m->n_lanes = 0;
    ssh_stop(m->ssh);
    (void)signal(SIGCHLD, SIG_DFL);
    m->ssh = ssh_start(&m->plan, e);
    (void)signal(SIGCHLD, SIG_IGN);
    if (m->ssh == NULL)
        return -1;
    routes_resume(m->ways, m->ssh);
    return 0;
}

static void serve(struct mux_server *m)
{
    struct mux_ready ready = ready_of(m->ssh);
    struct err e = { 0 };

    (void)io_set_nonblocking(m->control.fd, NULL);
    (void)signal(SIGCHLD, SIG_IGN); /* children are not waited for from here on */
    m->ways = routes_create(m->ssh, m->to->path, m->options->ways, adopt, m);
    send_message(m, MUX_READY, &ready, -1);
    while (!m->is_leaving || (m->n_lanes > 0 && units_monotonic_ms() < m->leave_ms))
        if (do_turn(m, &e) < 0) {
            if (begin_anew(m, &e) < 0)
                break;
            e = (struct err){ 0 };
        }
    if (e.kind != ERR_NONE)
        say_error(m, MUX_ENDED, &e);
}

void mux_run(int control_fd, const struct endpoint *to, const struct mux_options *o)
{
    struct mux_server m = { .to = to, .options = o, .arena = arena_create() };
    struct err e = { 0 };

    m.plan = (struct ssh_plan){ .to = to,
                                .watch_fd = control_fd,
                                .ask = ask_caller,
                                .dialed = tell_dialed,
                                .conf_said = o->conf_said,
                                .context = &m };

    /* Ctrl-C is for the caller, which shares the terminal and ends the mux by closing the control
     * socket.  A ProxyCommand inherits this. */
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGQUIT, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    mux_link_init(&m.control, control_fd);
    m.ssh = ssh_start(&m.plan, &e);
    if (m.ssh != NULL)
        serve(&m);
    else
        say_error(&m, MUX_ENDED, &e);
    for (size_t i = 0; i < m.n_lanes; i++)
        ssh_pump_close(m.lanes[i]);
    for (size_t i = 0; i < m.n_asks; i++)
        drop_ask(&m.asks[i]);
    routes_destroy(m.ways);
    if (m.ssh != NULL)
        ssh_stop(m.ssh);
    free(m.asks);
    free(m.lanes);
    free(m.fds);
    mux_link_close(&m.control);
    arena_destroy(m.arena);
}

/* ---- couriers over a mounted share ---- */

/* Returns -1 when the caller is gone, or its message is none for a mux over a share. */
static int answer_for_share(struct mux_link *control, const struct envelope *got, const char *share,
                            struct arena *a)
{
    const struct mux_given given = { .way = WAY_INBOX };
    struct mux_error error;
    struct courier *c = NULL;
    struct mux_ask ask;
    struct err e = { 0 };
    int fd, rc;

    if (got->type != MUX_ASK || message_body(&mux_protocol, got, a, &ask, NULL) < 0)
        return -1;
    if (ask.what == MUX_SERVER)
        c = courier_over_folder(share, &e);
    else
        err_set(&e, ERR_DENIED, "there is no connection, only the share %s", share);
    fd = c != NULL ? courier_start(c, &e) : -1;
    if (fd < 0) {
        error = (struct mux_error){ .kind = (int)e.kind, .text = e.text };
        return mux_link_send(control, MUX_REFUSED, &error, -1, NULL);
    }
    rc = mux_link_send(control, MUX_GIVEN, &given, fd, NULL);
    close(fd);
    return rc;
}

void mux_run_share(int control_fd, const char *share)
{
    const struct mux_ready ready = { .round_trip_ms = SCHEMA_NONE };
    struct pollfd p = { .fd = control_fd, .events = POLLIN };
    struct arena *a = arena_create();
    struct mux_link control;
    struct envelope got;
    int rc;

    (void)signal(SIGPIPE, SIG_IGN);
    mux_link_init(&control, control_fd);
    rc = mux_link_send(&control, MUX_READY, &ready, -1, NULL);
    while (rc >= 0) {
        rc = mux_link_receive(&control, a, &got, NULL);
        if (rc > 0)
            rc = answer_for_share(&control, &got, share, a);
        else if (rc == 0 && poll(&p, 1, -1) < 0 && errno != EINTR)
            rc = -1;
        arena_reset(a);
    }
    mux_link_close(&control);
    arena_destroy(a);
}
