/* SPDX-License-Identifier: MIT */
/* lifecycle.c - puts ludwigd together, runs it, takes it apart */
#include "server/loop/lifecycle.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/path.h"
#include "common/proto/layout.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/conn/jails.h"
#include "server/conn/listen.h"
#include "server/conn/user_names.h"
#include "server/handle/handle_peek.h"
#include "server/inbox/inbox.h"
#include "server/loop/backup.h"
#include "server/loop/dispatch.h"
#include "server/loop/turn_run.h"
#include "server/notify/notices.h"
#include "server/pilot/pilots.h"

#include "server/queue/fit.h"
#include "server/queue/holds.h"
#include "server/queue/lease.h"
#include "server/queue/node_guard.h"
#include "server/queue/param_index.h"

#include "server/queue/share_packs.h"
#include "server/queue/submit_cleanup.h"
#include "server/queue/subscribe.h"
#include "server/search/advice.h"
#include "server/search/stops.h"
#include "server/share/project.h"
#include "server/share/server_dirs.h"
#include "server/sshd/sshd.h"

enum { LAST_CALL_MS = 2000 };

/* ---- opening ---- */

/* The server's id is made once for a database, so that results can name their server. */
static int open_database(struct server *sv, struct err *e)
{
    char *path = path_join(sv->conf.state, "ludwig.db"), hex[TOKEN_HEX];
    struct token t;
    int rc;

    sv->db = db_open(path, e);
    free(path);
    if (sv->db == NULL)
        return -1;
    rc = db_get(sv->db, e, SQL_META_GET, "s>s", "server_id", sv->conf.arena, &sv->server_id);
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    token_make(&t);
    token_hex(&t, hex);
    sv->server_id = arena_strndup(sv->conf.arena, hex, 16);
    return db_run(sv->db, e, SQL_META_SET, "ss", "server_id", sv->server_id) < 0 ? -1 : 0;
}

/* Also closes a server that was opened only in part. */
void server_close(struct server *sv)
{
    backup_end(sv);
    jails_destroy(sv);
    listeners_destroy(sv->listeners);
    sshd_destroy(sv->sshd);
    inbox_stop(sv->inbox);
    conns_destroy(sv->conns);
    pilots_destroy(sv->pilots);
    user_names_destroy(sv->names);
    if (sv->inbox != NULL)
        server_dirs_take_id_back(sv);
    inbox_destroy(sv->inbox);
    leases_destroy(sv->leases);
    node_guard_destroy(sv->node_guard);
    fit_forget_avoided(sv);
    holds_destroy(sv->holds);
    advice_destroy(sv->advice);
    notices_destroy(sv->notices);
    peeks_destroy(sv->peeks);
    turn_destroy(sv->turn);
    stops_destroy(sv->stops);

    param_index_destroy(sv->params);
    share_packs_destroy(sv->packings);
    uv_close((uv_handle_t *)&sv->last_call, NULL);
    uv_run(&sv->loop, UV_RUN_DEFAULT);
    if (uv_loop_close(&sv->loop) < 0)
        log_event(LOG_ERROR, "loop-not-empty", NULL);
    db_close(sv->db);

    if (sv->state_lock_fd >= 0)
        close(sv->state_lock_fd);
    conf_free(&sv->conf);
}

static void on_met(struct server *sv, uid_t uid)
{
    inbox_meet(sv->inbox, uid);
}

static void on_closed(struct server *sv, struct conn *c)
{
    subscribe_forget(c);
    dispatch_forget(c);
    if (c->worker != 0) {
        lease_begin(sv, c->worker);
        turn_add_work(sv->turn, lease_note_seen, c->worker);
    }
    share_packs_left(sv, c);
    advice_left(sv, c);
    peeks_left(sv, c);
    if (c->pilot != 0 && c->worker != 0)
        pilots_lost_sight(sv);
    if (c->has_submits)
        turn_add_work(sv->turn, submit_clear_of_conn, c->number);
}

static const struct conns_events conns_events = { on_met, on_closed };

int server_open(struct server *sv, struct err *e)
{
    int rc = uv_loop_init(&sv->loop);

    sv->state_lock_fd = -1;
    sv->leave = server_leave;
    token_make(&sv->incarnation);
    if (rc < 0) {
        conf_free(&sv->conf);
        return err_set(e, ERR_INTERNAL, "event loop: %s", uv_strerror(rc));
    }
    uv_timer_init(&sv->loop, &sv->last_call);
    sv->state_lock_fd = server_dirs_state(sv->conf.state, e);
    if (sv->state_lock_fd < 0 || open_database(sv, e) < 0)
        goto fail;
    sv->turn = turn_create(sv, e);
    if (sv->turn == NULL)
        goto fail;
    sv->packings = share_packs_create();
    sv->peeks = peeks_create(sv);
    sv->names = user_names_create(sv, &names_usual, conns_named);
    sv->conns = conns_create(sv, &conns_events);
    sv->leases = leases_create(sv, pilots_lost_sight);
    sv->holds = holds_create(sv);
    sv->node_guard = node_guard_create(sv);
    sv->stops = stops_create(sv);
    sv->advice = advice_create(sv);
    sv->notices = notices_create(sv);
    sv->listeners = listeners_create();
    sv->params = param_index_create(sv, e);
    if (sv->is_reading && sv->params != NULL)
        return 0; /* work that is due is left to the next ludwigd */
    sv->pilots = pilots_create(sv, e);
    if (sv->params != NULL && sv->pilots != NULL && leases_load(sv, e) == 0 &&
        holds_load(sv, e) == 0 && stops_load(sv, e) == 0 && advice_load(sv, e) == 0 &&
        submit_clear_all(sv, e) == 0)
        return 0;
fail:
    server_close(sv);
    return -1;
}

static int listen_at(struct server *sv, const char *socket, struct err *e)
{
    if (conf_is_pattern(socket))
        return jails_follow(sv, socket, e);
    if (server_dirs_socket_dir(sv, socket, e) < 0)
        return -1;
    return listen_on(sv, socket, sv->conf.socket_group, e);
}

/* A client that gets an answer may assume that ludwigd stays: all that can fail is done before. */
int server_listen(struct server *sv, struct err *e)
{
    const char *const *sockets = sv->conf.sockets.items;
    struct err why = { 0 };

    if (sv->is_reading)
        return sv->conf.sockets.n != 1 ? err_set(e, ERR_USAGE, "--reading takes one of sockets:")
                                       : listen_at(sv, sockets[0], e);
    project_look_for_kept(sv);
    if (server_dirs_share(sv, e) < 0)
        return -1;
    sv->inbox = inbox_create(sv);
    if (server_dirs_id(sv, e) < 0)
        return -1;
    if (sv->conf.sshd_listen == NULL)
        sshd_end_left(sv);
    else
        sv->sshd = sshd_create(sv, e);
    if (sv->conf.sshd_listen != NULL && sv->sshd == NULL)
        return -1;
    for (size_t i = 0; i < sv->conf.sockets.n; i++)
        if (listen_at(sv, sockets[i], e) < 0)
            return -1;
    /* Clients with a shell on this machine look for this socket.  It may be another ludwigd's. */
    if (sv->conf.has_usual_sockets && geteuid() == 0 &&
        listen_at(sv, LAYOUT_SYSTEM_SOCKET, &why) < 0)
        log_event(LOG_WARN, "not-listening", "socket", "%s", LAYOUT_SYSTEM_SOCKET, "why", "%s",
                  why.text, NULL);
    return 0;
}

/* ---- running ---- */

static void on_last_call(uv_timer_t *timer)
{
    (void)timer; /* server_run only looks whether it has run out */
}

void server_run(struct server *sv)
{
    while (!sv->is_leaving ||
           (conn_count(sv) > 0 && uv_is_active((const uv_handle_t *)&sv->last_call)))
        uv_run(&sv->loop, UV_RUN_ONCE);
}

void server_leave(struct server *sv, const char *why)
{
    if (sv->is_leaving)
        return;
    log_event(LOG_INFO, "leave", "why", "%s", why, NULL);
    sv->is_leaving = true;
    jails_destroy(sv);
    listeners_destroy(sv->listeners);
    sv->listeners = NULL;
    conn_end_all(sv);
    uv_timer_start(&sv->last_call, on_last_call, LAST_CALL_MS, 0);
}
