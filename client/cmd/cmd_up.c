/* SPDX-License-Identifier: MIT */
/* cmd_up.c - ludwig up, ludwig down */
#include <stdlib.h>
#include <string.h>

#include "client/session/address.h"
#include "client/session/at_boot.h"
#include "client/session/embedded.h"
#include "client/session/own_sshd.h"
#include "client/session/session.h"
#include "client/term/output.h"

enum { SSHD_START_MAX_MS = 10 * 1000 };

struct options {
    bool local, at_boot;
    const char *sshd;
};

static const struct opt options[] = {
    { "local", 0, OPT_FLAG, NULL, offsetof(struct options, local), 0, 0,
      "start a worker here even on a login node of a cluster" },
    { "sshd", 0, OPT_MAYBE, "ADDRESS:PORT", offsetof(struct options, sshd), 0, 0,
      "run an sshd with the server, now and at each start; off ends that" },
    { "at-boot", 0, OPT_FLAG, NULL, offsetof(struct options, at_boot), 0, 0,
      "start them again after each reboot: by systemd, or by crontab where it does not run" },
    { 0 },
};

/* ---- the server's own sshd ---- */

/*
 * Sets the address of --sshd if it differs from the last one: the server reads it when it starts,
 * and jobs go on meanwhile.  1 when the server was stopped for that, 0, or -1 with e set.
 */
static int change_sshd(struct cli *cli, const char *option, const char *state, const char *before,
                       struct err *e)
{
    const char *listen = option[0] != '\0' ? option : before != NULL ? before : "*";
    char *made = address_make_state_dir(e);
    struct conf c;
    int result = made == NULL ? -1 : 0;

    free(made);
    if (strcmp(option, "off") == 0)
        listen = NULL;
    if (result < 0 || listen == before ||
        (listen != NULL && before != NULL && strcmp(listen, before) == 0))
        return result;
    result = conf_read(&c, cli->arena, e) < 0 ? -1 : embedded_stop_server(&c, e);
    return result < 0 || own_sshd_set_listen(state, listen, e) < 0 ? -1 : result;
}

static int check_own_server(struct cli *cli, const char *what, struct err *e)
{
    struct server_choice choice;
    struct conf c;

    if (conf_read(&c, cli->arena, e) < 0 ||
        server_choice_make(&choice, cli->server, &c, cli->arena, e) < 0)
        return -1;
    if (choice.embedded)
        return 0;
    return err_set(e, ERR_USAGE, "%s a server of your own, but %s names the one at %s", what,
                   choice.from, choice.endpoint.text);
}

static void say_sshd(const struct session *s, const char *state)
{
    char *listen = own_sshd_listen(state), *dir = own_sshd_dir(state);
    int port = listen == NULL ? -1 : own_sshd_port(dir, NULL);
    bool is_here = s->rpc.to.kind == ENDPOINT_UNIX;

    if (port > 0 && (!is_here || own_sshd_listens(port, SSHD_START_MAX_MS)))
        output_note("its sshd listens on port %d; `ludwig invite` lets other machines in", port);
    else if (port > 0)
        output_note("its sshd does not listen on port %d, but goes on trying: another program may "
                    "have that port (--sshd=PORT names another one; %s/ludwigd.log says more)",
                    port, state);
    free(listen);
    free(dir);
}

/* `up --sshd ADDRESS:PORT` is the same as `up --sshd=ADDRESS:PORT`.  An sshd that cannot start must
 * not keep the server from starting, nor end a server that runs. */
static int start_with_sshd(struct cli *cli, struct session *s, const char *state, struct err *e)
{
    const struct options *o = cli->options;
    const struct session_wants wants = { .worker = o->local };
    const char *option = o->sshd;
    int changed, result = -1;
    char *before;

    if (cli->args.n > 0) {
        if (option == NULL || option[0] != '\0')
            return err_set(e, ERR_USAGE, "up takes no '%s' (see ludwig help up)",
                           cli->args.words[0]);
        option = cli->args.words[0];
    }
    if (option == NULL)
        return session_start(cli, s, &wants, e);
    if (check_own_server(cli, "--sshd is for", e) < 0)
        return -1;
    before = own_sshd_listen(state);
    changed = change_sshd(cli, option, state, before, e);
    if (changed >= 0)
        result = session_start(cli, s, &wants, e);
    if (changed >= 0 && result < 0) {
        struct session again = { 0 };

        if (own_sshd_set_listen(state, before, NULL) == 0 && changed > 0)
            (void)session_start(cli, &again, &(struct session_wants){ 0 }, NULL);
        session_close(&again);
    }
    free(before);
    return result;
}

static int start_server(struct cli *cli, struct err *e)
{
    struct session s = { 0 };
    const struct options *o = cli->options;
    char *state = conf_state_dir();
    int result =
        o->at_boot && (check_own_server(cli, "--at-boot is for", e) < 0 || at_boot_begin(e) < 0)
            ? -1
            : start_with_sshd(cli, &s, state, e);

    if (result == 0 && s.choice.embedded) {
        output_note("up; results go to %s", s.share);
        say_sshd(&s, state);
    } else if (result == 0) {
        output_note("%s names the server at %s, which is up", s.choice.from,
                    s.choice.endpoint.text);
    }
    session_close(&s);
    free(state);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_up = {
    .name = "up",
    .args = "[OPTION]...",
    .help = "start a server and a worker of your own on this machine",
    .more = "`ludwig submit` does so by itself. They obey share:, scratch: and resources: of\n"
            "config.yaml.\n"
            "\n"
            "--at-boot writes a unit for your own systemd, or a line for crontab, that runs\n"
            "`ludwig up`, and says which; `ludwig down --at-boot` undoes that.\n"
            "\n"
            "--sshd is for machines whose own sshd others cannot use, for example because it\n"
            "wants a second factor. Its port is chosen once and kept; it accepts only keys\n"
            "that `ludwig invite` added, for ludwig and files only.\n"
            "\n"
            "  ludwig up\n"
            "  ludwig up --at-boot\n"
            "  ludwig up --sshd\n"
            "  ludwig up --sshd=127.0.0.1:7022\n",
    .max_args = 1,
    .options = options,
    .options_size = sizeof(struct options),
    .run = start_server,
};

struct down_options {
    bool at_boot;
};

static const struct opt down_options[] = {
    { "at-boot", 0, OPT_FLAG, NULL, offsetof(struct down_options, at_boot), 0, 0,
      "do not start them after a reboot any more; nothing that runs is stopped" },
    { 0 },
};

static int stop_server(struct cli *cli, struct err *e)
{
    const struct down_options *o = cli->options;
    struct conf c;

    if (o->at_boot)
        return at_boot_end(e) < 0 ? -1 : EXIT_WELL;
    if (check_own_server(cli, "down stops", e) < 0 || conf_read(&c, cli->arena, e) < 0)
        return -1;
    return embedded_down(&c, e) < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_down = {
    .name = "down",
    .args = "[OPTION]...",
    .help = "stop your own server and worker on this machine",
    .more = "Running jobs go on; the next `ludwig up` takes them over again.\n"
            "\n"
            "  ludwig down\n",
    .options = down_options,
    .options_size = sizeof(struct down_options),
    .run = stop_server,
};
