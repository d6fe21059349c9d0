/* SPDX-License-Identifier: MIT */
/* cmd_invite.c - ludwig invite */
#include <netdb.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/session/address.h"
#include "client/session/own_sshd.h"
#include "client/term/command.h"
#include "client/term/jsonlist.h"
#include "client/term/output.h"
#include "client/term/table.h"
#include "client/util/conf.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/proto/unixsocket.h"

struct options {
    const char *name, *host, *revoke, *state;
    bool list, json;
};

static const struct opt options[] = {
    { "name", 0, OPT_STR, "NAME", offsetof(struct options, name), 0, 0,
      "the key's name (the default is its comment)" },
    { "host", 0, OPT_STR, "HOST", offsetof(struct options, host), 0, 0,
      "the name by which others reach this machine, if not its own" },
    { "list", 0, OPT_FLAG, NULL, offsetof(struct options, list), 0, 0, "list the keys" },
    { "revoke", 0, OPT_STR, "NAME", offsetof(struct options, revoke), 0, 0,
      "revoke a key; its open connections stay until they end" },
    { "state", 0, OPT_STR, "DIR", offsetof(struct options, state), 0, 0,
      "for a server with its own ludwigd.yaml: the state: folder in it" },
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { 0 },
};

enum { KEY_MAX_BYTES = 64 * 1024 };

/* The folder of the sshd's files, in a. */
static const char *find_dir(const struct options *o, struct arena *a, struct err *e)
{
    char *own = conf_state_dir();
    const char *dir = o->state != NULL ? arena_printf(a, "%s/sshd", o->state)
                                       : arena_printf(a, "%s/server/sshd", own);

    free(own);
    if (access(dir, F_OK) == 0)
        return dir;
    err_sys(e, "%s", dir);
    if (e->kind == ERR_NOT_FOUND)
        err_set(e, ERR_NOT_FOUND,
                "your server has no sshd of its own (`ludwig up --sshd` starts one)");
    return NULL;
}

/* Reads a key from the argument or the file that it names.  Both may contain blanks, so a file that
 * exists comes first. */
static int read_key(struct cli *cli, struct public_key *key, struct err *e)
{
    const char *word = cli->args.words[0];
    struct buf text = { 0 };
    int result = 0;

    if (cli->args.n == 1 && strcmp(word, "-") == 0) {
        ssize_t n = io_read_all(STDIN_FILENO, buf_reserve(&text, KEY_MAX_BYTES), KEY_MAX_BYTES);

        if (n < 0)
            result = err_sys(e, "standard input");
        else
            buf_added(&text, (size_t)n);
    } else if (cli->args.n == 1 && (strchr(word, ' ') == NULL || access(word, F_OK) == 0)) {
        result = io_read_file(word, KEY_MAX_BYTES, &text, e);
    } else {
        for (size_t i = 0; i < cli->args.n; i++)
            buf_printf(&text, "%s%s", i > 0 ? " " : "", cli->args.words[i]);
    }
    if (result == 0)
        result = own_sshd_parse_key(buf_text(&text), cli->arena, key, e);
    buf_free(&text);
    return result;
}

/* The full name of the server's machine, which may be another login node that sees the same state
 * folder. */
static const char *servers_host(const struct options *o, struct arena *a)
{
    struct addrinfo hints = { .ai_flags = AI_CANONNAME, .ai_socktype = SOCK_STREAM }, *found = NULL;
    char *state = conf_state_dir(), *here = unixsocket_host();
    struct endpoint to = { 0 };
    const char *host = arena_strdup(a, here);

    if (o->state == NULL && address_read(state, &to, a, NULL) == 0 && to.kind == ENDPOINT_SSH)
        host = to.host;
    if (getaddrinfo(host, NULL, &hints, &found) == 0 && found->ai_canonname != NULL)
        host = arena_strdup(a, found->ai_canonname);
    if (found != NULL)
        freeaddrinfo(found);
    free(here);
    free(state);
    return host;
}

static int invite(struct cli *cli, const char *dir, struct err *e)
{
    const struct options *o = cli->options;
    const struct passwd *entry = getpwuid(geteuid());
    struct invitation i = { 0 };
    struct public_key key = { 0 };
    struct guest guest;
    const char *name = o->name, *host = o->host, *user;
    struct buf out = { 0 };

    if (entry == NULL)
        return err_set(e, ERR_FAILED, "uid %u has no name here", geteuid());
    user = arena_strdup(cli->arena, entry->pw_name);
    if (read_key(cli, &key, e) < 0)
        return -1;
    if (name == NULL)
        name = own_sshd_name_of(key.comment, cli->arena);
    if (name == NULL)
        return err_set(e, ERR_USAGE, "the key has no comment to name it by; say --name NAME");
    if (host == NULL)
        host = own_sshd_address(dir, cli->arena);
    if (host == NULL)
        host = servers_host(o, cli->arena);
    if (own_sshd_invite(&i, dir, user, host, cli->arena, e) < 0 ||
        own_sshd_let_in(dir, &key, name, cli->arena, &guest, e) < 0)
        return -1;
    i.name = guest.name;
    i.fingerprint = guest.fingerprint;
    if (o->json)
        return output_write_json(&invitation_schema, &i, e);
    output_note(
        "%s may come in. On that machine, this line goes into ~/.config/ludwig/config.yaml, "
        "and the second into ~/.ssh/known_hosts:",
        i.name);
    buf_printf(&out, "server: %s\n%s\n", i.server, i.known_hosts);
    return output_write(&out, e);
}

static int list(struct cli *cli, const char *dir, struct err *e)
{
    static const struct column columns[] = { { "NAME", false, true },
                                             { "TYPE", false, true },
                                             { "FINGERPRINT", false, true } };
    const struct options *o = cli->options;
    const struct guest *items;
    struct list guests;
    struct table *t;
    int result;

    if (own_sshd_guests(dir, cli->arena, &guests, e) < 0)
        return -1;
    if (o->json)
        return jsonlist_write("guests", &guest_schema, &guests, e);
    items = guests.items;
    t = table_for_stdout(columns, 3);
    for (size_t i = 0; i < guests.n; i++) {
        table_add(t, TONE_STRONG, items[i].name);
        table_add(t, TONE_PLAIN, items[i].type);
        table_add(t, TONE_PLAIN, items[i].fingerprint);
    }
    result = table_print(t, e);
    table_destroy(t);
    return result;
}

static int invite_machine(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    const char *dir;
    int result;

    if ((cli->args.n > 0) + o->list + (o->revoke != NULL) != 1)
        return err_set(e, ERR_USAGE, "invite takes a public key, or --list, or --revoke NAME");
    dir = find_dir(o, cli->arena, e);
    if (dir == NULL)
        return -1;
    if (o->list)
        result = list(cli, dir, e);
    else if (o->revoke != NULL)
        result = own_sshd_take_back(dir, o->revoke, cli->arena, e);
    else
        result = invite(cli, dir, e);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_invite = {
    .name = "invite",
    .args = "[FILE.pub|KEY] [OPTION]...",
    .help = "allow another machine (its SSH key) to connect to your server",
    .more = "After `ludwig up --sshd`. Takes the other machine's public key: its file, its\n"
            "text, or - for standard input. Prints two lines for that machine: the server\n"
            "for its config.yaml, and the host key for its known_hosts. The key may do all\n"
            "that you may with ludwig and your files, which is as much as logging in; invite\n"
            "nobody else.\n"
            "\n"
            "  ludwig invite laptop.pub\n"
            "  ludwig invite ssh-ed25519 AAAA... alice@laptop\n",
    .max_args = ARGS_ANY,
    .options = options,
    .options_size = sizeof(struct options),
    .run = invite_machine,
};
