/* SPDX-License-Identifier: MIT */
/* cmd_down.c - ludwig down */
#include "client/session/embedded.h"
#include "client/term/command.h"
#include "client/util/server_choice.h"

static int stop_server(struct cli *cli, struct err *e)
{
    struct server_choice choice;
    struct conf c;

    if (conf_read(&c, cli->arena, e) < 0 ||
        server_choice_make(&choice, cli->server, &c, cli->arena, e) < 0)
        return -1;
    if (!choice.embedded)
        return err_set(e, ERR_USAGE, "down stops a server of your own, but %s names the one at %s",
                       choice.from, choice.endpoint.text);
    return embedded_down(&c, e) < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_down = {
    .name = "down",
    .args = "",
    .help = "stop your own server and worker on this machine",
    .more = "Jobs that run go on; the next `ludwig up` takes them up again.\n"
            "\n"
            "  ludwig down\n",
    .run = stop_server,
};
