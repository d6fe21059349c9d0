/* SPDX-License-Identifier: MIT */
/* session.c - what a command needs to talk to the server */
#include "client/session/session.h"

#include <stdlib.h>
#include <unistd.h>

#include "client/session/embedded.h"
#include "client/session/sftp_test_child.h"
#include "common/base/path.h"
#include "common/sftp/sftp_root.h"

static int find_server(struct cli *cli, struct session *s, struct err *e)
{
    *s = (struct session){ .arena = cli->arena };
    if (conf_read(&s->conf, cli->arena, e) < 0)
        return -1;
    return server_choice_make(&s->choice, cli->server, &s->conf, cli->arena, e);
}

/* An embedded server's share is its own; elsewhere this machine may see another path. */
static void keep_share(struct cli *cli, struct session *s)
{
    bool is_named = s->conf.share != NULL && !s->choice.embedded;
    const char *drive = is_named ? s->conf.share : s->rpc.welcome.share;
    char *share;

    s->projects = arena_strdup(cli->arena, s->rpc.welcome.projects);
    share = s->projects[0] != '\0' ? path_join(drive, s->projects) : mem_strdup(drive);
    s->share = arena_strdup(cli->arena, share);
    free(share);
}

static bool is_mounted(const struct session *s);
static void begin_lanes(struct session *s);
static void hold_lanes(void *context);
static void drop_held_lanes(void *context);

int session_begin(struct cli *cli, struct session *s, struct err *e)
{
    static const struct mux_events events = { .dialed = hold_lanes, .asks = drop_held_lanes };
    const struct rpc_company company = { &s->idle, &events, s };

    if (find_server(cli, s, e) < 0)
        return -1;
    if (!s->choice.embedded)
        rpc_begin(&s->rpc, &s->choice.endpoint, s->conf.user, &company);
    return 0;
}

/* SFTP greets while ludwigd does. */
static void open_files(void *context)
{
    struct session *s = context;
    int fd;

    if (s->rpc.mux == NULL || s->opening != NULL || s->drive.sftp != NULL)
        return;
    fd = mux_sftp(s->rpc.mux, NULL);
    s->opening = fd < 0 ? NULL : sftp_open_later(fd, NULL);
    if (s->opening == NULL)
        return;
    sftp_set_idle(s->opening, &s->idle);
    (void)sftp_opens(s->opening, NULL);
}

static int reach(struct session *s, struct err *e)
{
    if (rpc_wait(&s->rpc, e) < 0)
        return -1;
    if (s->rpc.mux != NULL)
        s->drive.round_trip_ms = mux_round_trip_ms(s->rpc.mux);
    begin_lanes(s);
    s->rpc.wants_sftp = s->expects_files && !is_mounted(s) && !sftp_test_child_is_wanted();
    if (s->rpc.wants_sftp && s->rpc.mux != NULL)
        s->rpc.greeting = open_files;
    if (rpc_greet(&s->rpc, e) < 0)
        return -1;
    s->rpc.greeting = NULL;
    /* That to sshd is not all of it where something between passes bytes on. */
    if (s->rpc.round_trip_ms > s->drive.round_trip_ms)
        s->drive.round_trip_ms = s->rpc.round_trip_ms;
    begin_lanes(s);
    return 0;
}

static int reach_named(struct session *s, struct err *e)
{
    if (reach(s, e) == 0)
        return 0;
    return err_wrap(e, "the server that %s names is out of reach", s->choice.from);
}

int session_open(struct cli *cli, struct session *s, struct err *e)
{
    int result = session_begin(cli, s, e);

    if (result == 0)
        result = s->choice.embedded ? embedded_connect(&s->rpc, &s->conf, e) : reach_named(s, e);
    if (result == 0)
        keep_share(cli, s);
    return result;
}

int session_reach(struct cli *cli, struct session *s, bool wants_worker, struct err *e)
{
    int result = s->choice.embedded
                     ? embedded_up(&s->rpc, &s->conf, wants_worker, &s->has_no_worker, e)
                     : reach_named(s, e);

    if (result == 0)
        keep_share(cli, s);
    return result;
}

int session_start(struct cli *cli, struct session *s, bool wants_worker, struct err *e)
{
    return session_begin(cli, s, e) < 0 ? -1 : session_reach(cli, s, wants_worker, e);
}

const char *session_drive_path(const struct session *s, struct arena *a, const char *path)
{
    if (path == NULL || path[0] == '\0' || s->projects[0] == '\0')
        return path;
    return arena_printf(a, "%s/%s", s->projects, path);
}

void session_job_paths(const struct session *s, struct arena *a, struct job_info *j)
{
    j->run_path = session_drive_path(s, a, j->run_path);
    j->log_path = session_drive_path(s, a, j->log_path);
}

static int reconnect(struct session *s, struct err *e)
{
    if (s->is_subscribed)
        return err_set(e, ERR_UNREACHABLE, "the connection to the server was lost");
    return rpc_reopen(&s->rpc, e);
}

int session_sftp(struct session *s, struct err *e)
{
    struct err why = { 0 };
    int fd = -1;

    if (s->choice.embedded || s->choice.endpoint.kind != ENDPOINT_SSH)
        return err_set(e, ERR_INTERNAL, "this server is not reached over SSH");
    if (session_is_connected(s))
        fd = mux_sftp(s->rpc.mux, &why);
    /* That the connection is lost may have been learned only now. */
    if (fd < 0 && session_is_connected(s))
        return err_set(e, why.kind, "%s", why.text);
    if (fd < 0 && reconnect(s, e) == 0)
        fd = mux_sftp(s->rpc.mux, e);
    return fd;
}

/* ---- the shared drive ---- */

/* A server of this machine has its files here; another's may be mounted here. */
static bool is_mounted(const struct session *s)
{
    bool is_here = s->choice.embedded || s->choice.endpoint.kind == ENDPOINT_UNIX;

    return !sftp_test_child_is_wanted() && (is_here || s->conf.share != NULL);
}

bool session_is_far(const struct session *s)
{
    return !is_mounted(s);
}

bool session_sees_drive(const struct session *s)
{
    return is_mounted(s) && access(s->share, F_OK) == 0;
}

const char *session_shown_path(const struct session *s, struct arena *a, const char *path)
{
    return session_sees_drive(s) ? arena_printf(a, "%s/%s", s->share, path)
                                 : session_drive_path(s, a, path);
}

static int connect_files(void *context, struct err *e)
{
    return sftp_test_child_is_wanted() ? sftp_test_child_start(e) : session_sftp(context, e);
}

static const char *conf_said(const struct session *s)
{
    return s->rpc.mux != NULL ? mux_conf_said(s->rpc.mux) : NULL;
}

static struct mux_options lane_options(const struct session *s, bool is_held)
{
    return (struct mux_options){ .conf_said = conf_said(s), .is_held = is_held };
}

/* Nothing is asked on the terminal for it: where that would be needed there is one connection, as
 * sshd may shut out who is refused several times. */
static int begin_lane(struct session *s, struct session_lane *lane, struct err *e)
{
    const struct mux_options options = lane_options(s, false);

    if (s->rpc.mux != NULL && mux_has_prompted(s->rpc.mux))
        return err_set(e, ERR_DENIED, "somebody would have to be asked");
    if (lane->mux == NULL)
        lane->mux = mux_begin(&s->rpc.to, &options, e);
    if (lane->mux == NULL)
        return -1;
    lane->is_held = false;
    lane->is_asked = true;
    return mux_ask_sftp(lane->mux, e);
}

static int connect_lane(void *context, size_t number, int *fd, struct err *e)
{
    struct session *s = context;
    struct session_lane *lane = &s->lanes[number];
    int rc;

    if (number >= SHARE_CONNECTION_LANES_MAX)
        return err_set(e, ERR_INTERNAL, "no more connections");
    if (sftp_test_child_is_wanted()) {
        *fd = sftp_test_child_start(e);
        return *fd < 0 ? -1 : 1;
    }
    rc = lane->is_asked ? mux_take(lane->mux, fd, NULL, e) : begin_lane(s, lane, e);
    if (rc == 0) {
        *fd = mux_control_fd(lane->mux);
        return 0;
    }
    lane->is_asked = false;
    if (rc < 0) {
        mux_close(lane->mux);
        lane->mux = NULL;
    }
    return rc;
}

/* So many are likely to be wanted, the first connection included. */
static size_t count_lanes(const struct session *s)
{
    if (!s->expects_files || is_mounted(s) || s->rpc.mux == NULL || sftp_test_child_is_wanted())
        return 0;
    return share_connection_lanes(&s->drive, s->expected_bytes);
}

/* Those that are not asked for anything yet. */
static void begin_lanes(struct session *s)
{
    size_t n = count_lanes(s);

    for (size_t i = 1; i < n; i++)
        if (!s->lanes[i].is_asked)
            (void)begin_lane(s, &s->lanes[i], NULL);
}

/* They connect beside the first, and log in once that has: what is wrong with a key sshd hears of
 * once. */
static void hold_lanes(void *context)
{
    struct session *s = context;
    struct mux_options options;
    size_t n;

    s->drive.round_trip_ms = s->rpc.mux != NULL ? mux_round_trip_ms(s->rpc.mux) : SCHEMA_NONE;
    options = lane_options(s, true);
    n = count_lanes(s);
    for (size_t i = 1; i < n; i++) {
        struct session_lane *lane = &s->lanes[i];

        if (lane->mux != NULL)
            continue;
        lane->mux = mux_begin(&s->rpc.to, &options, NULL);
        lane->is_held = lane->mux != NULL;
    }
}

/* While a user thinks about a password nothing need be kept open. */
static void drop_held_lanes(void *context)
{
    struct session *s = context;

    for (size_t i = 0; i < SHARE_CONNECTION_LANES_MAX; i++)
        if (s->lanes[i].is_held) {
            mux_close(s->lanes[i].mux);
            s->lanes[i] = (struct session_lane){ 0 };
        }
}

static struct sftp_root *search_root(struct session *s)
{
    const struct msg_welcome *w = &s->rpc.welcome;

    return sftp_root_begin(s->drive.sftp, w->share, w->server_id, s->arena);
}

static int find_root(struct session *s, struct err *e)
{
    const struct msg_welcome *w = &s->rpc.welcome;
    struct sftp_root *search = s->search != NULL ? s->search : search_root(s);
    const char *root;

    s->search = NULL;
    root = sftp_root_end(search, s->arena, e);
    if (root == NULL)
        return -1;
    s->drive.server_id = arena_strdup(s->arena, w->server_id);
    s->drive.root =
        s->projects[0] == '\0' ? root : arena_printf(s->arena, "%s/%s", root, s->projects);
    return 0;
}

/* One that was begun early.  What is asked of it waits for the server's greeting as well. */
static void take_opening(struct session *s)
{
    struct sftp *opening = s->opening;

    s->opening = NULL;
    if (s->drive.sftp == NULL)
        s->drive.sftp = opening;
    else
        sftp_close(opening);
}

void session_drive_soon(struct session *s)
{
    take_opening(s);
    if (s->drive.sftp != NULL && s->drive.root == NULL && s->search == NULL)
        s->search = search_root(s);
}

/* What is of the connection that there was. */
static void drop_search(struct session *s)
{
    sftp_root_drop(s->search);
    s->search = NULL;
}

/* A connection that is broken has answered all that it was asked. */
static int mend(struct session *s, struct err *e)
{
    if (s->drive.sftp != NULL && sftp_is_broken(s->drive.sftp))
        drop_search(s);
    return share_connection_mend(&s->drive, e);
}

struct share_connection *session_drive(struct session *s, struct err *e)
{
    struct share_connection *d = &s->drive;
    struct err why = { 0 };

    if (d->mount == NULL && d->connect == NULL && is_mounted(s))
        d->mount = s->share;
    if (d->mount != NULL)
        return d;
    d->connect = connect_files;
    d->lane = connect_lane;
    d->context = s;
    d->idle = &s->idle;
    take_opening(s);
    if (mend(s, e) < 0)
        return NULL;
    if (d->root != NULL || find_root(s, &why) == 0)
        return d;
    /* That the connection is lost may have been learned only now. */
    if (sftp_is_broken(d->sftp) && mend(s, &why) == 0 && find_root(s, &why) == 0)
        return d;
    err_set(e, why.kind, "%s", why.text);
    return NULL;
}

bool session_is_connected(const struct session *s)
{
    bool is_far = !s->choice.embedded && s->choice.endpoint.kind == ENDPOINT_SSH;

    return !is_far || (s->rpc.mux != NULL && mux_is_alive(s->rpc.mux));
}

void session_close(struct session *s)
{
    sftp_close(s->opening);
    sftp_close(s->drive.sftp);
    drop_search(s);
    for (size_t i = 0; i < SHARE_CONNECTION_LANES_MAX; i++)
        mux_close(s->lanes[i].mux);
    rpc_close(&s->rpc);
}
