/* SPDX-License-Identifier: MIT */
/* ssh_chan.c - channels of an SSH session */
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "common/ssh/ssh_internal.h"

enum { OPEN_MAX_MS = 30 * 1000 };

enum stage { STAGE_CHANNEL, STAGE_REQUEST, STAGE_OPEN };

struct ssh_chan {
    struct ssh *s;
    ssh_channel channel;
    struct ssh_channel_callbacks_struct callbacks;
    struct ssh_channel_events events;
    void *context;
    enum ssh_target target;
    char *text;
    enum stage stage;
    bool is_requested; /* STAGE_REQUEST: it is on its way */
    int64_t deadline_ms;
    bool is_settled; /* opened or refused */
    bool is_closed;
};

static int on_data(ssh_session session, ssh_channel channel, void *data, uint32_t n, int is_stderr,
                   void *userdata)
{
    struct ssh_chan *c = userdata;

    (void)session, (void)channel;
    return (int)c->events.bytes(c->context, (struct bytes){ data, n }, is_stderr != 0);
}

static void on_eof(ssh_session session, ssh_channel channel, void *userdata)
{
    struct ssh_chan *c = userdata;

    (void)session, (void)channel;
    c->events.eof(c->context);
}

static void on_close(ssh_session session, ssh_channel channel, void *userdata)
{
    struct ssh_chan *c = userdata;

    (void)session, (void)channel;
    c->is_closed = true;
    c->events.closed(c->context);
}

static void on_status(ssh_session session, ssh_channel channel, int status, void *userdata)
{
    struct ssh_chan *c = userdata;

    (void)session, (void)channel;
    if (c->events.status != NULL)
        c->events.status(c->context, status);
}

static int listen_to(struct ssh_chan *c, struct err *e)
{
    c->callbacks = (struct ssh_channel_callbacks_struct){
        .userdata = c,
        .channel_data_function = on_data,
        .channel_eof_function = on_eof,
        .channel_close_function = on_close,
        .channel_exit_status_function = on_status,
    };
    ssh_callbacks_init(&c->callbacks);
    if (ssh_set_channel_callbacks(c->channel, &c->callbacks) == SSH_OK)
        return 0;
    return err_set(e, ERR_FAILED, "libssh: %s", ssh_words(c->s));
}

struct ssh_chan *ssh_chan_open(struct ssh *s, enum ssh_target target, const char *text,
                               const struct ssh_channel_events *events, void *context,
                               struct err *e)
{
    struct ssh_chan *c = mem_alloc(sizeof *c);

    c->s = s;
    c->target = target;
    c->text = mem_strdup(text);
    c->events = *events;
    c->context = context;
    c->deadline_ms = units_monotonic_ms() + OPEN_MAX_MS;
    s->n_opening++;
    c->channel = ssh_channel_new(s->session);
    if (c->channel != NULL && listen_to(c, e) == 0)
        return c;
    if (c->channel == NULL)
        err_set(e, ERR_FAILED, "libssh: no channel: %s", ssh_words(s));
    ssh_chan_close(c);
    return NULL;
}

/* "Channel opening failure: channel 43 error (1) administratively prohibited" */
static int refuse_open(const struct ssh_chan *c, struct err *e)
{
    const char *words = ssh_words(c->s), *number = strstr(words, "error (");
    bool is_forbidden = number != NULL && strtol(number + 7, NULL, 10) == 1;

    if (!ssh_is_connected(c->s->session))
        return err_set(e, ERR_UNREACHABLE, "the connection was lost: %s", words);
    return err_set(e, is_forbidden ? ERR_DENIED : ERR_UNREACHABLE, "%s",
                   number != NULL && strchr(number, ')') != NULL ? strchr(number, ')') + 2 : words);
}

static int open_channel(struct ssh_chan *c)
{
    switch (c->target) {
    case SSH_TO_PATH: return ssh_channel_open_forward_unix(c->channel, c->text, "localhost", 0);
    case SSH_TO_PORT:
        return ssh_channel_open_forward(c->channel, "localhost", atoi(c->text), "localhost", 0);
    case SSH_TO_COMMAND:
    case SSH_TO_SUBSYSTEM: break;
    }
    return ssh_channel_open_session(c->channel);
}

static int request(struct ssh_chan *c)
{
    if (c->target == SSH_TO_COMMAND)
        return ssh_channel_request_exec(c->channel, c->text);
    return ssh_channel_request_subsystem(c->channel, c->text);
}

static int take_step(struct ssh_chan *c, struct err *e)
{
    bool is_session = c->target == SSH_TO_COMMAND || c->target == SSH_TO_SUBSYSTEM;
    int rc;

    if (c->stage == STAGE_CHANNEL) {
        rc = open_channel(c);
        if (rc == SSH_AGAIN)
            return 0;
        if (rc != SSH_OK)
            return refuse_open(c, e);
        c->stage = is_session ? STAGE_REQUEST : STAGE_OPEN;
    }
    if (c->stage == STAGE_REQUEST) {
        c->is_requested = true;
        rc = request(c);
        if (rc == SSH_AGAIN)
            return 0;
        if (rc != SSH_OK)
            return err_set(e, ERR_DENIED, "sshd refuses %s '%s'",
                           c->target == SSH_TO_COMMAND ? "the command" : "the subsystem", c->text);
        c->stage = STAGE_OPEN;
    }
    return 1;
}

static void end_opening(struct ssh_chan *c)
{
    c->s->n_opening -= c->is_settled ? 0 : 1;
    c->is_settled = true;
}

int ssh_chan_step(struct ssh_chan *c, struct err *e)
{
    int rc = take_step(c, e);

    if (rc != 0)
        end_opening(c);
    if (rc == 0 && units_monotonic_ms() >= c->deadline_ms)
        return err_set(e, ERR_UNREACHABLE, "sshd did not answer within %d s", OPEN_MAX_MS / 1000);
    return rc;
}

bool ssh_chan_is_asked(const struct ssh_chan *c)
{
    return c->stage == STAGE_OPEN || c->is_requested;
}

void ssh_chan_close(struct ssh_chan *c)
{
    if (c == NULL)
        return;
    end_opening(c);
    if (c->channel != NULL) {
        ssh_remove_channel_callbacks(c->channel, &c->callbacks);
        ssh_channel_free(c->channel);
    }
    free(c->text);
    free(c);
}

size_t ssh_chan_window(const struct ssh_chan *c)
{
    return ssh_channel_window_size(c->channel);
}

ssize_t ssh_chan_write(struct ssh_chan *c, struct bytes bytes, struct err *e)
{
    int n = ssh_channel_write(c->channel, bytes.data, (uint32_t)bytes.n);

    if (n < 0)
        return err_set(e, ERR_UNREACHABLE, "%s", ssh_words(c->s));
    return n;
}

void ssh_chan_end(struct ssh_chan *c)
{
    (void)ssh_channel_send_eof(c->channel); /* a channel that is closed needs none */
}

size_t ssh_chan_take(struct ssh_chan *c, void *bytes, size_t n)
{
    int got = ssh_channel_read_nonblocking(c->channel, bytes, (uint32_t)n, 0);

    return got > 0 ? (size_t)got : 0;
}

bool ssh_chan_is_closed(const struct ssh_chan *c)
{
    return c->is_closed;
}
