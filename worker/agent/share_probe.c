/* SPDX-License-Identifier: MIT */
/* share_probe.c - asks a child whether ludwigd's share is to be seen on this machine as well */

#include "worker/agent/share_probe.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/path.h"
#include "common/proto/layout.h"
#include "common/proto/shareid.h"
#include "worker/base/child_main.h"
#include "worker/base/child_protocol.h"
#include "worker/node/unix_socket.h"

enum { ANSWER_MAX_MS = 10 * 1000, QUEUED_MAX_BYTES = 1024 };

/* ---- the child ---- */

static bool names(struct bytes file, const char *server_id)
{
    struct arena *a = arena_create();
    struct shareid id;
    bool is_it = shareid_decode(&id, file, a, NULL) == 0 && strcmp(id.server, server_id) == 0;

    arena_destroy(a);
    return is_it;
}

bool share_is_of(const char *path, const char *server_id)
{
    char *file = path_join(path, LAYOUT_SERVER_DIR "/" SHAREID_NAME);
    struct buf text = { 0 };
    bool is_it = io_read_file(file, SHAREID_MAX_BYTES, &text, NULL) == 0 &&
                 names(buf_bytes(&text), server_id);

    buf_free(&text);
    free(file);
    return is_it;
}

int share_probe_main(int argc, char **argv)
{
    struct note_share note = { .is_here = false };
    struct err e = { 0 };
    struct wire wire;
    int rc;

    if (argc != 3)
        err_set(&e, ERR_USAGE, "--share PATH SERVER_ID");
    if (argc != 3 || child_begin(&e) < 0)
        return child_main_fail("share", &e);
    wire_init(&wire, CHILD_CHANNEL_FD, &orders);
    note.is_here = share_is_of(argv[1], argv[2]);
    rc = wire_send(&wire, NOTE_SHARE, 0, NULL, &note, &e) < 0;
    wire_close(&wire);
    return rc;
}

/* ---- the agent ---- */

static void end(struct share_probe *x, bool is_here)
{
    uv_timer_stop(&x->timer);
    chan_destroy(x->chan);
    x->chan = NULL;
    if (x->pid > 0)
        kill(x->pid, SIGKILL);
    x->answered(x->context, is_here);
}

static void on_readable(void *context, struct chan *c)
{
    struct share_probe *x = context;
    struct note_share note = { .is_here = false };
    struct err e = { 0 };
    struct envelope m;
    int rc = chan_next(c, x->arena, &m, &e);

    if (rc == 1 && (m.type != NOTE_SHARE || message_body(&orders, &m, x->arena, &note, &e) < 0))
        rc = -1;
    arena_reset(x->arena);
    if (rc != 0)
        end(x, rc == 1 && note.is_here);
}

static void on_closed(void *context, struct chan *c, const struct err *why)
{
    (void)c, (void)why;
    end(context, false);
}

static void on_too_late(uv_timer_t *timer)
{
    end(timer->data, false);
}

static int start(struct share_probe *x, const char *path, const char *server_id)
{
    static const struct chan_events events = { on_readable, NULL, on_closed };
    struct child child = {
        .args = { CHILD_SHARE, path, server_id }, .stdout_fd = -1, .lock_fd = -1, .listen_fd = -1
    };
    int ours, rc;

    if (unix_socket_pair(&ours, &child.channel_fd, NULL) < 0)
        return -1;
    rc = child_start(&child, &x->pid, NULL);
    close(child.channel_fd);
    if (rc == 0)
        x->chan = chan_create(x->loop, ours, &orders, &events, x, QUEUED_MAX_BYTES, NULL);
    else
        close(ours);
    return x->chan == NULL ? -1 : 0;
}

void share_probe_init(struct share_probe *x, uv_loop_t *loop,
                      void (*answered)(void *context, bool is_here), void *context)
{
    *x = (struct share_probe){ .loop = loop, .answered = answered, .context = context };
    x->arena = arena_create();
    uv_timer_init(loop, &x->timer);
    x->timer.data = x;
}

void share_probe_start(struct share_probe *x, const char *path, const char *server_id)
{
    chan_destroy(x->chan);
    x->chan = NULL;
    x->pid = 0; /* the one before ends by itself, and nobody needs to know */
    if (start(x, path, server_id) < 0)
        end(x, false);
    else
        uv_timer_start(&x->timer, on_too_late, ANSWER_MAX_MS, 0);
}

void share_probe_close(struct share_probe *x)
{
    if (x->loop == NULL)
        return;
    chan_destroy(x->chan);
    x->chan = NULL;
    if (x->pid > 0)
        kill(x->pid, SIGKILL);
    arena_destroy(x->arena);
    x->loop = NULL;
}

bool share_probe_reaped(struct share_probe *x, pid_t pid)
{
    if (x->pid == 0 || x->pid != pid)
        return false;
    x->pid = 0;
    return true;
}
