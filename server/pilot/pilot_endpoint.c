/* SPDX-License-Identifier: MIT */
/* pilot_endpoint.c - where a user's pilots find ludwigd */
/*
 * Its sockets, for those on this machine; this machine's sshd, with a key that the user's own process
 * makes (pilotkey.h); and files on the share.  A pilot tries them in this order.
 */

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "common/proto/endpoint.h"
#include "server/base/conf.h"
#include "server/inbox/inbox.h"
#include "server/pilot/pilotkey.h"
#include "server/pilot/pilots_internal.h"

enum {
    KEPT_MS = 60 * 60 * 1000, /* then it is looked whether all of it is still there */
    KEPT_FAILED_MS = 5 * 60 * 1000,
    SSH_PORT = 22
};

/* ---- what is known of each user's key ---- */

static struct pilot_key *find(const struct pilots *p, uid_t uid)
{
    for (size_t i = 0; i < p->n_keys; i++)
        if (p->keys[i].uid == uid)
            return &p->keys[i];
    return NULL;
}

/* Owns endpoints. */
static void keep(struct pilots *p, uid_t uid, char *endpoints, int64_t for_ms)
{
    struct pilot_key *key = find(p, uid);

    if (key == NULL) {
        mem_grow((void **)&p->keys, &p->keys_capacity, p->n_keys, sizeof *p->keys);
        key = &p->keys[p->n_keys++];
        *key = (struct pilot_key){ .uid = uid };
    }
    free(key->endpoints);
    key->endpoints = endpoints;
    key->ends_ms = units_monotonic_ms() + for_ms;
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
    const struct pilot_key *key = find(p, uid);

    return p->sv->conf.slurm.endpoints.n > 0 ||
           (key != NULL && key->ends_ms > units_monotonic_ms());
}

/* ---- asking for it ---- */

/* Of the socket that `ludwig bridge` is to lead to; NULL: each user has another one. */
static const char *plain_socket(const struct conf *conf)
{
    const char *const *items = conf->sockets.items;

    for (size_t i = 0; i < conf->sockets.n; i++)
        if (!conf_is_pattern(items[i]))
            return items[i];
    return NULL;
}

/* The next line of *at, in a; NULL: there is none. */
static const char *next_line(const char **at, struct arena *a)
{
    const char *begin = *at;
    size_t n = strcspn(begin, "\n");

    if (n == 0)
        return NULL;
    *at = begin + n + (begin[n] == '\n');
    return arena_strndup(a, begin, n);
}

static void add_endpoint(struct buf *out, const struct pilots *p, const char *host, const char *dir,
                         struct arena *a)
{
    const struct endpoint *login = &p->sv->conf.slurm.login;
    const char *text = arena_printf(a, strchr(host, ':') != NULL ? "[%s]" : "%s", host);
    struct endpoint parsed;

    if (login->port != 0 && login->port != SSH_PORT)
        text = arena_printf(a, "%s:%d", text, login->port);
    text = arena_printf(a, "ssh://%s@%s?keys=%s", p->reach.user, text, dir);
    if (endpoint_parse(&parsed, text, a, NULL) == 0)
        buf_printf(out, "%s%s", out->n > 0 ? "," : "", text);
}

/* The folder, and the names of this machine. */
static char *read_answer(const struct pilots *p, const char *said)
{
    struct arena *a = arena_create();
    const char *dir = next_line(&said, a), *host;
    struct buf out = { 0 };

    while (dir != NULL && (host = next_line(&said, a)) != NULL)
        add_endpoint(&out, p, host, dir, a);
    arena_destroy(a);
    return buf_take(&out);
}

static void log_failure(const struct pilots *p, const struct slurm_result *result)
{
    const char *said = buf_text(&result->said);
    char *why = result->is_late ? mem_strdup("it took too long")
                                : mem_printf("%.*s", (int)strcspn(said, "\n"), said);

    log_event(LOG_WARN, "no-pilot-key", "user", "%s", p->reach.user, "why", "%s", why, NULL);
    free(why);
}

static void on_key(void *context, struct slurm_result *result)
{
    struct pilots *p = context;
    bool is_well = result->exit_code == 0 && !result->is_late;
    char *endpoints = is_well ? read_answer(p, buf_text(&result->out)) : mem_strdup("");

    p->call = NULL;
    if (!is_well)
        log_failure(p, result);
    else if (endpoints[0] != '\0')
        log_event(LOG_INFO, "pilot-key", "user", "%s", p->reach.user, "endpoints", "%s", endpoints,
                  "may", "%s", "ludwig bridge, by a line of ~/.ssh/authorized_keys", NULL);
    keep(p, p->reach.uid, endpoints, is_well ? KEPT_MS : KEPT_FAILED_MS);
    p->reach.done(p->reach.context);
}

/* Ours is where we were told to be at home. */
static const char *home_of(const struct account *account)
{
    const char *home = getenv("HOME");

    return account->uid == geteuid() && home != NULL && home[0] == '/' ? home : account->home;
}

static const char *own_program(struct arena *a)
{
    char self[PATH_MAX];
    size_t n = sizeof self;

    return arena_strdup(a, uv_exepath(self, &n) < 0 ? "ludwigd" : self);
}

/* PILOTKEY_OPTION and its words; without a socket the key is taken away. */
static char **args_of(const struct pilots *p, struct arena *a)
{
    const struct slurm_conf *conf = &p->sv->conf.slurm;
    const char *path = conf->has_login_key ? plain_socket(&p->sv->conf) : NULL;
    char **args = arena_alloc(a, (PILOTKEY_WORDS + 3) * sizeof *args);
    int port = conf->login.port != 0 ? conf->login.port : SSH_PORT;

    args[0] = arena_strdup(a, own_program(a));
    args[1] = arena_strdup(a, PILOTKEY_OPTION);
    args[2] = arena_strdup(a, p->sv->server_id);
    args[3] = arena_strdup(a, path != NULL ? path : "");
    args[4] = arena_strdup(a, conf->login.host != NULL ? conf->login.host : "");
    args[5] = arena_printf(a, "%d", port);
    return args;
}

int reach_ask(struct pilots *p, const struct account *account, const char *rights,
              const struct reach_asker *asker, struct err *e)
{
    struct arena *a = arena_create();
    const struct slurm_user user = { account->name, home_of(account), account->shell };
    const struct slurm_command command = { .args = args_of(p, a),
                                           .env = pilots_env(&user, a),
                                           .rights = rights,
                                           .timeout_ms = PILOTS_CALL_MS,
                                           .output_max_bytes = PILOTKEY_OUTPUT_MAX_BYTES };

    p->reach = *asker;
    p->reach.uid = account->uid;
    p->reach.user = account->name;
    p->call = slurm_call_begin(&p->sv->loop, &command, on_key, p, e);
    arena_destroy(a);
    return p->call == NULL ? -1 : 0;
}

/* ---- the list ---- */

static void add(struct buf *out, const char *scheme, const char *text)
{
    if (text[0] != '\0')
        buf_printf(out, "%s%s%s", out->n > 0 ? "," : "", scheme, text);
}

static void add_all(struct buf *out, const char *scheme, const struct list *texts)
{
    const char *const *items = texts->items;

    for (size_t i = 0; i < texts->n; i++)
        if (strcmp(scheme, "unix:") != 0 || !conf_is_pattern(items[i]))
            add(out, scheme, items[i]);
}

const char *reach_endpoints(const struct pilots *p, uid_t uid, struct arena *a)
{
    const struct conf *conf = &p->sv->conf;
    const struct pilot_key *key = find(p, uid);
    struct buf out = { 0 };
    const char *copy;

    if (conf->slurm.endpoints.n > 0) {
        add_all(&out, "", &conf->slurm.endpoints);
    } else {
        add_all(&out, "unix:", &conf->sockets);
        add(&out, "", key != NULL ? key->endpoints : "");
        if (inbox_kind(p->sv->inbox) != INBOX_NONE)
            add(&out, "share:", conf->share);
    }
    copy = arena_strdup(a, buf_text(&out));
    buf_free(&out);
    return copy;
}
