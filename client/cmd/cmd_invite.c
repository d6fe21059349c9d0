/* SPDX-License-Identifier: MIT */
/* cmd_invite.c - ludwig invite */
#include <netdb.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/session/address.h"
#include "client/session/invited_keys.h"
#include "client/session/invitation.h"
#include "client/term/command.h"
#include "client/term/jsonlist.h"
#include "client/term/output.h"
#include "client/term/table.h"
#include "client/util/conf.h"
#include "client/util/unixsocket.h"
#include "common/base/io.h"
#include "common/base/path.h"

struct options {
    const char *name, *host, *revoke, *state;
    bool list, json;
};

static const struct opt options[] = {
    { "name", 0, OPT_STR, "NAME", offsetof(struct options, name), 0, 0,
      "call the key so; else as its comment says" },
    { "host", 0, OPT_STR, "HOST", offsetof(struct options, host), 0, 0,
      "the name by which others reach this machine, if it is not its own" },
    { "list", 0, OPT_FLAG, NULL, offsetof(struct options, list), 0, 0, "list the keys" },
    { "revoke", 0, OPT_STR, "NAME", offsetof(struct options, revoke), 0, 0,
      "take a key back; connections it has stay until they end" },
    { "state", 0, OPT_STR, "DIR", offsetof(struct options, state), 0, 0,
      "of a server with a ludwigd.yaml of its own: its state: folder" },
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { 0 },
};

enum { KEY_MAX_BYTES = 64 * 1024 };

/* The folder of the sshd, in a. */
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

/* ---- the key ---- */

static int read_text(const char *word, struct buf *text, struct err *e)
{
    ssize_t n;

    if (strcmp(word, "-") != 0)
        return io_read_file(word, KEY_MAX_BYTES, text, e);
    n = io_read_all(STDIN_FILENO, buf_reserve(text, KEY_MAX_BYTES), KEY_MAX_BYTES);
    if (n < 0)
        return err_sys(e, "standard input");
    buf_added(text, (size_t)n);
    return 0;
}

/* The text of a key has blanks in it; so may the name of a file that is there. */
static bool is_file(const char *word)
{
    return strchr(word, ' ') == NULL || access(word, F_OK) == 0;
}

/* Of a file, of standard input, or the words themselves. */
static int read_key(struct cli *cli, struct public_key *key, struct err *e)
{
    struct buf text = { 0 };
    int rc = 0;

    if (cli->args.n == 1 && is_file(cli->args.words[0]))
        rc = read_text(cli->args.words[0], &text, e);
    else
        for (size_t i = 0; i < cli->args.n; i++)
            buf_printf(&text, "%s%s", i > 0 ? " " : "", cli->args.words[i]);
    if (rc == 0)
        rc = invited_keys_parse_key(buf_text(&text), cli->arena, key, e);
    buf_free(&text);
    return rc;
}

static const char *choose_name(const struct options *o, const struct public_key *key,
                               struct arena *a, struct err *e)
{
    const char *name = o->name != NULL ? o->name : invited_keys_name_of(key->comment, a);

    if (name == NULL)
        err_set(e, ERR_USAGE, "the key has no comment to name it by; say --name NAME");
    return name;
}

/* ---- the invitation ---- */

/* Its state folder may be seen on several login nodes: the server runs on one of them. */
static const char *servers_host(const struct options *o, struct arena *a)
{
    char *state = conf_state_dir(), *here = unixsocket_host();
    struct endpoint to = { 0 };
    bool is_there =
        o->state == NULL && address_read(state, &to, a, NULL) == 0 && to.kind == ENDPOINT_SSH;
    const char *host = is_there ? to.host : arena_strdup(a, here);

    free(here);
    free(state);
    return host;
}

static const char *full_name(const char *host, struct arena *a)
{
    struct addrinfo hints = { .ai_flags = AI_CANONNAME, .ai_socktype = SOCK_STREAM }, *found = NULL;
    const char *name = host;

    if (getaddrinfo(host, NULL, &hints, &found) == 0 && found->ai_canonname != NULL)
        name = arena_strdup(a, found->ai_canonname);
    if (found != NULL)
        freeaddrinfo(found);
    return name;
}

static const char *choose_host(const struct options *o, const char *dir, struct arena *a)
{
    const char *address = o->host != NULL ? o->host : invitation_address(dir, a);

    return address != NULL ? address : full_name(servers_host(o, a), a);
}

static const char *own_user(struct arena *a, struct err *e)
{
    const struct passwd *entry = getpwuid(geteuid());

    if (entry != NULL)
        return arena_strdup(a, entry->pw_name);
    err_set(e, ERR_FAILED, "uid %u has no name here", geteuid());
    return NULL;
}

static int print(const struct options *o, const struct invitation *i, struct err *e)
{
    struct buf out = { 0 };

    if (o->json) {
        output_add_versioned(&out, &invitation_schema, i);
        buf_add_char(&out, '\n');
        return output_write(&out, e);
    }
    output_note(
        "%s may come in. On that machine, this line goes into ~/.config/ludwig/config.yaml, "
        "and the second into ~/.ssh/known_hosts:",
        i->name);
    buf_printf(&out, "server: %s\n%s\n", i->server, i->known_hosts);
    return output_write(&out, e);
}

static int invite(struct cli *cli, const char *dir, struct err *e)
{
    const struct options *o = cli->options;
    struct invitation i = { 0 };
    struct public_key key = { 0 };
    struct guest guest;
    const char *name, *user = own_user(cli->arena, e);

    if (user == NULL || read_key(cli, &key, e) < 0)
        return -1;
    name = choose_name(o, &key, cli->arena, e);
    if (name == NULL ||
        invitation_make(&i, dir, user, choose_host(o, dir, cli->arena), cli->arena, e) < 0 ||
        invited_keys_add(dir, &key, name, cli->arena, &guest, e) < 0)
        return -1;
    i.name = guest.name;
    i.fingerprint = guest.fingerprint;
    return print(o, &i, e);
}

/* ---- the others ---- */

static int list_json(const struct list *guests, struct err *e)
{
    const struct guest *items = guests->items;
    struct jsonlist l;

    jsonlist_begin(&l, "guests");
    for (size_t i = 0; i < guests->n; i++)
        jsonlist_add(&l, &guest_schema, &items[i]);
    return jsonlist_end(&l, e);
}

static int list_table(const struct list *guests, struct err *e)
{
    static const struct column columns[] = { { "NAME", false, true },
                                             { "TYPE", false, true },
                                             { "FINGERPRINT", false, true } };
    const struct guest *items = guests->items;
    struct table *t = table_for_stdout(columns, 3);
    struct buf out = { 0 };

    for (size_t i = 0; i < guests->n; i++) {
        table_add(t, TONE_STRONG, items[i].name);
        table_add(t, TONE_PLAIN, items[i].type);
        table_add(t, TONE_PLAIN, items[i].fingerprint);
    }
    table_flush(t, &out);
    table_destroy(t);
    return output_write(&out, e);
}

static int list(struct cli *cli, const char *dir, struct err *e)
{
    const struct options *o = cli->options;
    struct list guests;

    if (invited_keys_read(dir, cli->arena, &guests, e) < 0)
        return -1;
    return o->json ? list_json(&guests, e) : list_table(&guests, e);
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
        result = invited_keys_remove(dir, o->revoke, cli->arena, e);
    else
        result = invite(cli, dir, e);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_invite = {
    .name = "invite",
    .args = "[FILE.pub|KEY] [OPTION]...",
    .help = "let another machine reach a server of yours that runs an sshd",
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
