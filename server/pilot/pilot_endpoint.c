/* SPDX-License-Identifier: MIT */
/* pilot_endpoint.c - where a user's pilots find ludwigd */
/*
 * A pilot tries in this order: ludwigd's sockets, if it runs on this machine; this machine's sshd,
 * with a key that a process with the user's rights makes (pilotkey.h); files on the share.
 */

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "common/proto/endpoint.h"
#include "common/proto/unixsocket.h"
#include "server/base/conf.h"
#include "server/inbox/inbox.h"
#include "server/pilot/pilotkey.h"
#include "server/pilot/pilots_internal.h"

enum {
    KEPT_MS = 60 * 60 * 1000, /* after this time a user's key is made or checked again */
    KEPT_FAILED_MS = 5 * 60 * 1000,
    SSH_PORT = 22
};

/* ---- users' keys ---- */

static struct pilot_key *find_key(const struct pilots *p, uid_t uid)
{
    for (size_t i = 0; i < p->n_keys; i++)
        if (p->keys[i].uid == uid)
            return &p->keys[i];
    return NULL;
}

void reach_forget(struct pilots *p)
{
    for (size_t i = 0; i < p->n_keys; i++)
        free(p->keys[i].endpoints);
    free(p->keys);
    p->keys = NULL;
    p->n_keys = p->keys_capacity = 0;
}

bool reach_is_known(const struct pilots *p, uid_t uid)
{
    const struct pilot_key *key = find_key(p, uid);

    return p->sv->conf.slurm.endpoints.n > 0 ||
           (key != NULL && key->ends_ms > units_monotonic_ms());
}

/* ---- asking for a key ---- */

/* Reads the answer: the folder of the key, and the names of this machine, each on a line. */
static char *read_answer(const struct pilots *p, const char *user, const char *said)
{
    const struct endpoint *login = &p->sv->conf.slurm.login;
    struct arena *a = arena_create();
    char *left, *dir = strtok_r(arena_strdup(a, said), "\n", &left), *host;
    struct buf out = { 0 };

    while (dir != NULL && (host = strtok_r(NULL, "\n", &left)) != NULL) {
        const char *text = arena_printf(a, strchr(host, ':') != NULL ? "[%s]" : "%s", host);
        struct endpoint parsed;

        if (login->port != 0 && login->port != SSH_PORT)
            text = arena_printf(a, "%s:%d", text, login->port);
        text = arena_printf(a, "ssh://%s@%s?keys=%s", user, text, dir);
        if (endpoint_parse(&parsed, text, a, NULL) == 0)
            buf_printf(&out, "%s%s", out.n > 0 ? "," : "", text);
    }
    arena_destroy(a);
    return buf_take(&out);
}

void reach_take(struct pilots *p, const struct account *account, struct slurm_result *result)
{
    bool is_well = result->exit_code == 0 && !result->is_late;
    char *endpoints =
        is_well ? read_answer(p, account->name, buf_text(&result->out)) : mem_strdup("");
    struct pilot_key *key = find_key(p, account->uid);

    if (!is_well) {
        char *said = buf_take(&result->said);

        said[strcspn(said, "\n")] = '\0';
        log_event(LOG_WARN, "no-pilot-key", "user", "%s", account->name, "why", "%s",
                  result->is_late ? "it took too long" : said, NULL);
        free(said);
    } else if (endpoints[0] != '\0') {
        log_event(LOG_INFO, "pilot-key", "user", "%s", account->name, "endpoints", "%s", endpoints,
                  "may", "%s", "ludwig bridge, by a line of ~/.ssh/authorized_keys", NULL);
    }
    if (key == NULL) {
        mem_grow((void **)&p->keys, &p->keys_capacity, p->n_keys, sizeof *p->keys);
        key = &p->keys[p->n_keys++];
        *key = (struct pilot_key){ .uid = account->uid };
    }
    free(key->endpoints);
    key->endpoints = endpoints;
    key->ends_ms = units_monotonic_ms() + (is_well ? KEPT_MS : KEPT_FAILED_MS);
}

/* The arguments of `ludwigd PILOTKEY_OPTION`, which with an empty socket takes the key away. */
static char **args_of(const struct pilots *p, struct arena *a)
{
    const struct slurm_conf *conf = &p->sv->conf.slurm;
    const char *const *sockets = p->sv->conf.sockets.items;
    const char *path =
        NULL; /* the socket that `ludwig bridge` leads to; NULL: each user has another one */
    char **args = arena_alloc(a, (PILOTKEY_WORDS + 3) * sizeof *args);
    char self[PATH_MAX];
    size_t n = sizeof self;

    for (size_t i = 0; conf->has_login_key && i < p->sv->conf.sockets.n && path == NULL; i++)
        if (!conf_is_pattern(sockets[i]))
            path = sockets[i];
    args[0] = arena_strdup(a, uv_exepath(self, &n) < 0 ? "ludwigd" : self);
    args[1] = arena_strdup(a, PILOTKEY_OPTION);
    args[2] = arena_strdup(a, p->sv->server_id);
    args[3] = arena_strdup(a, path != NULL ? path : "");
    args[4] = arena_strdup(a, conf->login.host != NULL ? conf->login.host : "");
    args[5] = arena_printf(a, "%d", conf->login.port != 0 ? conf->login.port : SSH_PORT);
    return args;
}

struct slurm_call *reach_ask(struct pilots *p, const struct account *account, const char *rights,
                             slurm_done_fn done, void *context, struct err *e)
{
    struct arena *a = arena_create();
    const char *home = getenv("HOME");
    /* Our own home is $HOME. */
    bool is_told = account->uid == geteuid() && home != NULL && home[0] == '/';
    const struct slurm_user user = { account->name, is_told ? home : account->home,
                                     account->shell };
    const struct slurm_command command = { .args = args_of(p, a),
                                           .env = pilots_env(&user, a),
                                           .rights = rights,
                                           .output_max_bytes = PILOTKEY_OUTPUT_MAX_BYTES };
    struct slurm_call *call = slurm_call_begin(&p->sv->loop, &command, done, context, e);

    arena_destroy(a);
    return call;
}

/* ---- the list ---- */

static void add_endpoint(struct buf *out, const char *scheme, const char *text)
{
    if (text[0] != '\0')
        buf_printf(out, "%s%s%s", out->n > 0 ? "," : "", scheme, text);
}

/* Adds a socket with this machine's boot id: on another machine, where anybody may have put
 * something at the socket's path, a pilot does not try it. */
static void add_socket(struct buf *out, const char *address, struct arena *a)
{
    char *here = unixsocket_machine();
    const char *text = arena_printf(a, "%s?boot=%s", address, here);
    struct endpoint parsed;

    free(here);
    if (endpoint_parse(&parsed, text, a, NULL) == 0)
        add_endpoint(out, "", text);
}

const char *reach_endpoints(const struct pilots *p, uid_t uid, struct arena *a)
{
    const struct conf *conf = &p->sv->conf;
    const struct pilot_key *key = find_key(p, uid);
    const char *const *named = conf->slurm.endpoints.items;
    const char *const *sockets = conf->sockets.items;
    struct buf out = { 0 };
    const char *copy;

    for (size_t i = 0; i < conf->slurm.endpoints.n; i++) {
        struct endpoint parsed;

        if (endpoint_parse(&parsed, named[i], a, NULL) == 0 && parsed.kind == ENDPOINT_UNIX &&
            parsed.host == NULL)
            add_socket(&out, named[i], a);
        else
            add_endpoint(&out, "", named[i]);
    }
    if (conf->slurm.endpoints.n == 0) {
        for (size_t i = 0; i < conf->sockets.n; i++)
            if (!conf_is_pattern(sockets[i]))
                add_socket(&out, arena_printf(a, "unix:%s", sockets[i]), a);
        add_endpoint(&out, "", key != NULL ? key->endpoints : "");
        if (inbox_kind(p->sv->inbox) != INBOX_NONE)
            add_endpoint(&out, "share:", conf->share);
    }
    copy = arena_strdup(a, buf_text(&out));
    buf_free(&out);
    return copy;
}
