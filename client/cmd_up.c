/* SPDX-License-Identifier: MIT */
/* cmd_up.c - ludwig up */
#include "client/embedded.h"
#include "client/out.h"
#include "client/session.h"

struct options {
    bool local;
};

static const struct opt options[] = {
    { "local", 0, OPT_FLAG, NULL, offsetof(struct options, local), 0, 0,
      "start a worker here even on a login node of a cluster" },
    { 0 },
};

static int run(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct session s = { 0 };

    if (session_start(cli, &s, o->local, e) < 0)
        return -1;
    if (s.choice.embedded)
        out_note("up; results go to %s", s.share);
    else
        out_note("%s names the server at %s, which is up", s.choice.from, s.choice.endpoint.text);
    session_close(&s);
    return EXIT_WELL;
}

const struct command cmd_up = {
    .name = "up",
    .args = "[OPTION]...",
    .help = "start a server and a worker of your own on this machine",
    .more = "`ludwig submit` does so by itself. What config.yaml says of share:, scratch:\n"
            "and resources: holds for them.\n"
            "\n"
            "  ludwig up\n",
    .options = options,
    .options_size = sizeof(struct options),
    .run = run,
};
