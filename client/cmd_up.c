/* SPDX-License-Identifier: MIT */
/* cmd_up.c - ludwig up */
#include <stdlib.h>
#include <string.h>

#include "client/address.h"
#include "client/embedded.h"
#include "client/invitation.h"
#include "client/out.h"
#include "client/ownsshd.h"
#include "client/session.h"

struct options {
    bool local;
    const char *sshd;
};

static const struct opt options[] = {
    { "local", 0, OPT_FLAG, NULL, offsetof(struct options, local), 0, 0,
      "start a worker here even on a login node of a cluster" },
    { "sshd", 0, OPT_MAYBE, "ADDRESS:PORT", offsetof(struct options, sshd), 0, 0,
      "let the server run an sshd of its own, now and whenever it starts; off ends that" },
    { 0 },
};

/* ---- the sshd of its own ---- */

/* What is to hold from now on, as ownsshd_listen has it; the caller frees it. */
static char *wanted(const char *option, const char *before)
{
    if (strcmp(option, "off") == 0)
        return NULL;
    if (option[0] != '\0')
        return mem_strdup(option);
    return mem_strdup(before != NULL ? before : "*");
}

static bool is_same(const char *x, const char *y)
{
    return x == NULL || y == NULL ? x == y : strcmp(x, y) == 0;
}

/* The server reads it when it starts; jobs go on meanwhile. */
static int change_sshd(struct cli *cli, const char *state, const char *before, struct err *e)
{
    const struct options *o = cli->options;
    char *listen = wanted(o->sshd, before), *made = address_make_state_dir(e);
    struct conf c;
    int result = made == NULL ? -1 : 0;

    if (result == 0 && !is_same(listen, before))
        result = conf_read(&c, cli->arena, e) < 0 || embedded_stop_server(&c, e) < 0
                     ? -1
                     : ownsshd_set(state, listen, e);
    free(made);
    free(listen);
    return result;
}

static int is_own_server(struct cli *cli, struct err *e)
{
    struct choice choice;
    struct conf c;

    if (conf_read(&c, cli->arena, e) < 0 ||
        choice_make(&choice, cli->server, &c, cli->arena, e) < 0)
        return -1;
    if (choice.embedded)
        return 0;
    return err_set(e, ERR_USAGE, "--sshd is for a server of your own, but %s names the one at %s",
                   choice.from, choice.endpoint.text);
}

static void say_sshd(const char *state)
{
    char *listen = ownsshd_listen(state), *dir = ownsshd_dir(state);
    int port = listen == NULL ? -1 : invitation_port(dir, NULL);

    if (port > 0)
        out_note("its sshd listens on port %d; `ludwig invite` lets other machines in", port);
    free(listen);
    free(dir);
}

/* An sshd that cannot be shall not keep the server from starting the next time. */
static int start(struct cli *cli, struct session *s, const char *state, struct err *e)
{
    const struct options *o = cli->options;
    char *before = ownsshd_listen(state);
    int result = 0;

    if (o->sshd != NULL)
        result = is_own_server(cli, e) < 0 || change_sshd(cli, state, before, e) < 0 ? -1 : 0;
    if (result == 0 && session_start(cli, s, o->local, e) < 0) {
        result = -1;
        if (o->sshd != NULL)
            (void)ownsshd_set(state, before, NULL);
    }
    free(before);
    return result;
}

static int run(struct cli *cli, struct err *e)
{
    struct session s = { 0 };
    char *state = conf_state_dir();
    int result = start(cli, &s, state, e);

    if (result == 0 && s.choice.embedded) {
        out_note("up; results go to %s", s.share);
        say_sshd(state);
    } else if (result == 0) {
        out_note("%s names the server at %s, which is up", s.choice.from, s.choice.endpoint.text);
    }
    session_close(&s);
    free(state);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_up = {
    .name = "up",
    .args = "[OPTION]...",
    .help = "start a server and a worker of your own on this machine",
    .more = "`ludwig submit` does so by itself. What config.yaml says of share:, scratch:\n"
            "and resources: holds for them.\n"
            "\n"
            "--sshd is for machines whose own sshd other machines cannot use, say because it\n"
            "wants a second factor. It listens on a port that is chosen once and kept; only\n"
            "keys that `ludwig invite` let in may come, for ludwig and files alone.\n"
            "\n"
            "  ludwig up\n"
            "  ludwig up --sshd\n"
            "  ludwig up --sshd=127.0.0.1:7022\n",
    .options = options,
    .options_size = sizeof(struct options),
    .run = run,
};
