/* SPDX-License-Identifier: MIT */
/* session.c - a command's connection to its server and the shared drive */
#include "client/session/session.h"

#include <stdlib.h>
#include <unistd.h>

#include "client/session/embedded.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/proto/layout.h"
#include "common/proto/shareid.h"
#include "common/proto/unixsocket.h"
#include "common/sftp/sftp_root.h"

/* For tests, in builds with LUDWIG_TEST_HOOKS alone: the command of an SFTP server to use instead
 * of one behind SSH.  NULL: there is none. */
static const char *test_server(void)
{
#ifdef LUDWIG_TEST_HOOKS
    return getenv("LUDWIG_TEST_SFTP");
#else
    return NULL;
#endif
}

/* Starts that server; gives a descriptor connected to its standard input and output. */
static int start_test_server(struct err *e)
{
    int ends[2];
    pid_t pid;

    if (unixsocket_pair(ends, e) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        if (dup2(ends[1], STDIN_FILENO) >= 0 && dup2(ends[1], STDOUT_FILENO) >= 0)
            execl("/bin/sh", "sh", "-c", test_server(), (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    if (pid > 0)
        return ends[0];
    err_sys(e, "fork");
    close(ends[0]);
    return -1;
}

/* Sets s->share, the folder of projects: below share: of config.yaml, if that is set and the server
 * is not embedded, else below the drive's path that the server names. */
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

/* Whether the drive is mounted here: it is where the server runs on this machine, and elsewhere if
 * the configuration says so. */
static bool is_mounted(const struct session *s)
{
    bool is_here = s->choice.embedded || s->choice.endpoint.kind == ENDPOINT_UNIX;

    return test_server() == NULL && (is_here || s->conf.share != NULL);
}

/* ---- further connections for files ---- */

/* Begins a further connection, unless the first one asked on the terminal: this one could not ask,
 * and sshd may shut out users after several refusals. */
static int begin_lane(struct session *s, struct session_lane *lane, struct err *e)
{
    const struct mux_options options = {
        .conf_said = s->rpc.mux != NULL ? mux_conf_said(s->rpc.mux) : NULL,
    };

    if (s->rpc.mux != NULL && mux_has_prompted(s->rpc.mux))
        return err_set(e, ERR_DENIED, "another connection would ask for a password, too");
    if (lane->mux == NULL)
        lane->mux = mux_begin(&s->rpc.to, &options, e);
    if (lane->mux == NULL)
        return -1;
    lane->is_asked = true;
    return mux_ask_sftp(lane->mux, e);
}

static int connect_lane(void *context, size_t number, int *fd, struct err *e)
{
    struct session *s = context;
    struct session_lane *lane;
    int rc;

    if (number >= SHARE_CONNECTION_LANES_MAX)
        return err_set(e, ERR_INTERNAL, "no more connections");
    if (test_server() != NULL) {
        *fd = start_test_server(e);
        return *fd < 0 ? -1 : 1;
    }
    lane = &s->lanes[number];
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

/* Begins the connections that will be wanted, without waiting for them.  The first connection has
 * logged in by now, so that sshd sees a wrong key only once. */
static void begin_lanes(struct session *s, const struct session_wants *wants)
{
    size_t n = share_connection_lanes(&s->drive, wants->files_bytes);

    for (size_t i = 1; i < n; i++)
        if (!s->lanes[i].is_asked)
            (void)begin_lane(s, &s->lanes[i], NULL);
}

/* ---- connecting ---- */

static int connect_server(struct session *s, const struct session_wants *wants, struct err *e)
{
    struct rpc *r = &s->rpc;
    bool with_sftp;
    int fd;

    rpc_begin(r, &s->choice.endpoint, s->conf.user);
    if (rpc_wait(r, e) < 0)
        return -1;
    with_sftp = wants->sends_files && r->mux != NULL && !is_mounted(s) && test_server() == NULL;
    if (with_sftp) {
        s->drive.round_trip_ms = mux_round_trip_ms(r->mux);
        begin_lanes(s, wants);
    }
    if (rpc_hello(r, with_sftp, e) < 0)
        return -1;
    /* The SFTP server greets while ludwigd's answer is on its way. */
    fd = with_sftp ? mux_sftp(r->mux, NULL) : -1;
    s->drive.sftp = fd < 0 ? NULL : sftp_open_later(fd, NULL);
    if (s->drive.sftp != NULL)
        (void)sftp_opens(s->drive.sftp, NULL);
    if (rpc_welcome(r, e) < 0)
        return -1;
    /* The round trip to ludwigd is longer than that to sshd where a relay lies between. */
    if (r->round_trip_ms > s->drive.round_trip_ms)
        s->drive.round_trip_ms = r->round_trip_ms;
    if (with_sftp)
        begin_lanes(s, wants);
    return 0;
}

/* wants NULL: the server is not started. */
static int begin_session(struct cli *cli, struct session *s, const struct session_wants *wants,
                         bool only_reads, struct err *e)
{
    static const struct session_wants nothing;
    int result;

    *s = (struct session){ .arena = cli->arena };
    if (conf_read(&s->conf, cli->arena, e) < 0 ||
        server_choice_make(&s->choice, cli->server, &s->conf, cli->arena, e) < 0)
        return -1;
    if (!s->choice.embedded)
        result = connect_server(s, wants != NULL ? wants : &nothing, e);
    else if (only_reads)
        result = embedded_read(&s->rpc, &s->conf, &s->reader, e);
    else if (wants == NULL)
        result = embedded_reach(&s->rpc, &s->conf, e);
    else
        result = embedded_up(&s->rpc, &s->conf, wants->worker, &s->has_no_worker, e);
    if (result == 0)
        keep_share(cli, s);
    else if (!s->choice.embedded)
        err_wrap(e, "the server that %s names is out of reach", s->choice.from);
    return result;
}

int session_open(struct cli *cli, struct session *s, struct err *e)
{
    return begin_session(cli, s, NULL, false, e);
}

int session_read(struct cli *cli, struct session *s, struct err *e)
{
    return begin_session(cli, s, NULL, true, e);
}

int session_start(struct cli *cli, struct session *s, const struct session_wants *wants,
                  struct err *e)
{
    return begin_session(cli, s, wants, false, e);
}

struct share_dir *session_without_server(struct session *s, struct err *e)
{
    char *own = s->choice.embedded ? conf_embedded_share(&s->conf) : NULL, *path = NULL;
    const char *drive = own != NULL ? own : s->conf.share;
    struct shareid id = { 0 };
    struct buf text = { 0 };
    struct share_dir *dir = NULL;

    if (drive == NULL) {
        err_set(e, ERR_NOT_FOUND, "share: in config.yaml does not say where the drive is mounted");
        return NULL;
    }
    path = path_join(drive, LAYOUT_SERVER_DIR "/" SHAREID_NAME);
    if (io_read_file(path, SHAREID_MAX_BYTES, &text, e) == 0 &&
        shareid_decode(&id, buf_bytes(&text), s->arena, e) == 0) {
        s->projects = id.projects != NULL ? id.projects : "";
        s->share = s->projects[0] == '\0' ? arena_strdup(s->arena, drive)
                                          : arena_printf(s->arena, "%s/%s", drive, s->projects);
        dir = share_open_mount(s->share, e);
    }
    buf_free(&text);
    free(path);
    free(own);
    return dir;
}

/* Turns a path relative to the folder of projects, as the server has it, into the drive's. */
static const char *drive_path(const struct session *s, struct arena *a, const char *path)
{
    if (path == NULL || path[0] == '\0' || s->projects[0] == '\0')
        return path;
    return arena_printf(a, "%s/%s", s->projects, path);
}

void session_job_paths(const struct session *s, struct arena *a, struct job_info *j)
{
    j->run_path = drive_path(s, a, j->run_path);
    j->log_path = drive_path(s, a, j->log_path);
    j->metrics_path = drive_path(s, a, j->metrics_path);
}

/* Gives an SFTP server's descriptor (mux_sftp) over the connection for questions, which is made
 * anew if it is lost, unless a subscription does that.  For servers over SSH only. */
static int connect_sftp(struct session *s, struct err *e)
{
    struct err why = { 0 };
    int fd = -1;

    if (s->choice.embedded || s->choice.endpoint.kind != ENDPOINT_SSH)
        return err_set(e, ERR_INTERNAL, "this server is not reached over SSH");
    if (session_is_connected(s))
        fd = mux_sftp(s->rpc.mux, &why);
    /* mux_sftp may be the first to notice that the connection is lost. */
    if (fd < 0 && session_is_connected(s))
        return err_set(e, why.kind, "%s", why.text);
    if (fd < 0 && s->is_subscribed)
        return err_set(e, ERR_UNREACHABLE, "the connection to the server was lost");
    if (fd < 0 && rpc_reopen(&s->rpc, e) == 0)
        fd = mux_sftp(s->rpc.mux, e);
    return fd;
}

/* ---- the shared drive ---- */

bool session_sees_drive(const struct session *s)
{
    return is_mounted(s) && access(s->share, F_OK) == 0;
}

const char *session_shown_path(const struct session *s, struct arena *a, const char *path)
{
    return session_sees_drive(s) ? arena_printf(a, "%s/%s", s->share, path)
                                 : drive_path(s, a, path);
}

static int connect_files(void *context, struct err *e)
{
    return test_server() != NULL ? start_test_server(e) : connect_sftp(context, e);
}

static int find_root(struct session *s, struct err *e)
{
    const struct msg_welcome *w = &s->rpc.welcome;
    const char *root = sftp_root_find(s->drive.sftp, w->share, w->server_id, s->arena, e);

    if (root == NULL)
        return -1;
    s->drive.server_id = arena_strdup(s->arena, w->server_id);
    s->drive.root =
        s->projects[0] == '\0' ? root : arena_printf(s->arena, "%s/%s", root, s->projects);
    return 0;
}

struct share_connection *session_drive_here(struct session *s)
{
    struct share_connection *d = &s->drive;

    if (d->mount == NULL && d->connect == NULL && is_mounted(s))
        d->mount = s->share;
    return d;
}

struct share_connection *session_drive(struct session *s, struct err *e)
{
    struct share_connection *d = session_drive_here(s);
    struct err why = { 0 };

    if (d->mount != NULL)
        return d;
    d->connect = connect_files;
    d->lane = connect_lane;
    d->context = s;
    if (share_connection_mend(d, e) < 0)
        return NULL;
    if (d->root != NULL || find_root(s, &why) == 0)
        return d;
    /* This may be the first time that the lost connection shows. */
    if (sftp_is_broken(d->sftp) && share_connection_mend(d, &why) == 0 && find_root(s, &why) == 0)
        return d;
    err_set(e, why.kind, "%s", why.text);
    return NULL;
}

struct share_dir *session_open_drive(struct session *s, struct err *e)
{
    const struct share_connection *drive = session_drive(s, e);

    return drive != NULL ? share_connection_read(drive, e) : NULL;
}

bool session_is_connected(const struct session *s)
{
    bool is_far = !s->choice.embedded && s->choice.endpoint.kind == ENDPOINT_SSH;

    return !is_far || (s->rpc.mux != NULL && mux_is_alive(s->rpc.mux));
}

void session_close(struct session *s)
{
    sftp_close(s->drive.sftp);
    for (size_t i = 0; i < SHARE_CONNECTION_LANES_MAX; i++)
        mux_close(s->lanes[i].mux);
    rpc_close(&s->rpc);
    embedded_read_end(&s->reader);
}
