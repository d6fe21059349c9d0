/* SPDX-License-Identifier: MIT */
/* cmd_bridge.c - ludwig bridge */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/session/address.h"
#include "client/session/sftp_server_exec.h"
#include "client/term/command.h"
#include "client/util/pump.h"
#include "client/util/conf.h"
#include "common/proto/unixsocket.h"
#include "common/base/io.h"
#include "common/connect/mux.h"
#include "common/connect/routes.h"

/* The socket of an admin's ludwigd, tried without a configuration. */
#define MACHINE_SOCKET "/run/ludwig/server.sock"

/* A connected server, and the mux of the connection if the server is on another host. */
struct far_end {
    int fd;
    struct mux *mux;
};

static int connect_to(const struct endpoint *to, struct far_end *far, struct err *e)
{
    static const struct mux_options options; /* without prompts, as there is no terminal */

    if (to->kind == ENDPOINT_UNIX) {
        far->fd = unixsocket_connect_server(to, true, e);
        return far->fd < 0 ? -1 : 0;
    }
    far->mux = mux_start(to, &options, e);
    if (far->mux != NULL)
        far->fd = mux_server(far->mux, NULL, e);
    return far->fd < 0 ? -1 : 0;
}

/* Connects to the user's own server, or else the machine's. */
static int connect_found(struct cli *cli, const struct conf *c, struct far_end *far, struct err *e)
{
    const struct endpoint machine = { .kind = ENDPOINT_UNIX,
                                      .path = MACHINE_SOCKET,
                                      .server_uid = c->server_uid };
    char *state = conf_state_dir();
    struct endpoint to = { 0 };
    struct err why = { 0 }, denied = { 0 };
    int result = address_read(state, &to, cli->arena, &why);

    free(state);
    if (result == 0)
        result = connect_to(&to, far, &why);
    if (result == 0)
        return 0;
    far->fd = unixsocket_connect_server(&machine, true, &denied);
    if (far->fd >= 0)
        return 0;
    if (denied.kind == ERR_DENIED)
        return err_set(e, denied.kind, "%s", denied.text);
    if (why.kind == ERR_NOT_FOUND || to.kind == ENDPOINT_UNIX)
        return err_set(e, ERR_UNREACHABLE,
                       "no server of yours is running on this machine, and none is at %s (is "
                       "server: missing in /etc/ludwig/config.yaml?)",
                       MACHINE_SOCKET);
    return err_set(e, why.kind, "%s", why.text);
}

/*
 * A mux sends ROUTES_HELLO first and waits for an answer; other clients may begin at once.  Bytes
 * that are not ROUTES_HELLO belong to the stream.
 */
static int greet(struct buf *first, struct err *e)
{
    while (first->n < ROUTES_HELLO_BYTES && memcmp(buf_text(first), ROUTES_HELLO, first->n) == 0) {
        ssize_t n = io_read_all(STDIN_FILENO, buf_reserve(first, 1), 1);

        if (n < 0)
            return err_sys(e, "standard input");
        if (n == 0)
            return 0;
        buf_added(first, 1);
    }
    if (memcmp(first->bytes, ROUTES_HELLO, first->n) != 0)
        return 0;
    buf_clear(first);
    if (io_write_all(STDOUT_FILENO, ROUTES_BRIDGE, strlen(ROUTES_BRIDGE)) < 0)
        return err_sys(e, "standard output");
    return 0;
}

struct options {
    bool no_sftp;
};

static const struct opt options[] = {
    { "no-sftp", 0, OPT_FLAG, NULL, offsetof(struct options, no_sftp), 0, 0,
      "not for files: messages alone" },
    { 0 },
};

/* A client asks for SFTP in the same way whether its key may only run the bridge or any command. */
static int run_bridge(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct far_end far = { .fd = -1 };
    struct server_choice choice = { 0 };
    struct buf first = { 0 };
    struct conf c;
    int result = 0;

    if (sftp_server_exec_is_meant(getenv("SSH_ORIGINAL_COMMAND")))
        return o->no_sftp
                   ? err_set(e, ERR_DENIED, "this key is for messages to ludwigd, not for files")
                   : sftp_server_exec_become(e);
    if (conf_read(&c, cli->arena, e) < 0)
        return -1;
    result = server_choice_make(
        &choice,
        cli->args.n > 0 ? arena_printf(cli->arena, "unix:%s", cli->args.words[0]) : cli->server, &c,
        cli->arena, e);
    if (result == 0)
        result = choice.embedded ? connect_found(cli, &c, &far, e)
                                 : connect_to(&choice.endpoint, &far, e);
    (void)signal(SIGPIPE, SIG_IGN);
    if (result == 0)
        result = greet(&first, e);
    if (result == 0) {
        const struct pump_ends ends = { STDIN_FILENO, STDOUT_FILENO, far.fd, buf_bytes(&first) };

        result = pump_run(&ends, e);
    }
    buf_free(&first);
    if (far.fd >= 0)
        close(far.fd);
    mux_close(far.mux);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_bridge = {
    .name = "bridge",
    .args = "[SOCKET] [OPTION]...",
    .help = "copy standard input and output to the server of this machine",
    .more = "What ssh runs on the server's side where it may not connect to ludwigd's socket\n"
            "by itself; nobody needs to type it. A key that may do nothing but this, and\n"
            "SFTP, which it serves too when asked, in ~/.ssh/authorized_keys there:\n"
            "\n"
            "  restrict,command=\"ludwig bridge\" ssh-ed25519 AAAA... alice@laptop\n"
            "\n"
            "Without SOCKET it is the server of --server, $LUDWIG_SERVER or config.yaml,\n"
            "else your own, else that of this machine at /run/ludwig/server.sock. A server\n"
            "of your own that runs on another login node is reached from here.\n",
    .max_args = 1,
    .options = options,
    .options_size = sizeof(struct options),
    .run = run_bridge,
};
