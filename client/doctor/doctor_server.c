/* SPDX-License-Identifier: MIT */
/* doctor_server.c - checks of the configuration and of the server */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/doctor/doctor.h"
#include "client/session/address.h"
#include "client/util/login_node.h"
#include "common/base/path.h"

/* ---- configuration ---- */

static char *user_config(void)
{
    const char *xdg = getenv("XDG_CONFIG_HOME");
    char *home, *path;

    if (xdg != NULL && xdg[0] == '/')
        return mem_printf("%s/ludwig/config.yaml", xdg);
    home = conf_home();
    path = mem_printf("%s/.config/ludwig/config.yaml", strcmp(home, "/") == 0 ? "" : home);
    free(home);
    return path;
}

void check_config(struct doctor *d)
{
    char *own = user_config();
    const char *const paths[] = { "/etc/ludwig/config.yaml", own };
    struct err e = { 0 };
    size_t n = 0;

    d->has_conf = conf_read(&d->conf, d->arena, &e) == 0;
    if (!d->has_conf) {
        d->conf = (struct conf){ 0 };
        doctor_say(d, CHECK_PROBLEM, "mend the file", "%s", e.text);
    }
    for (size_t i = 0; i < 2 && d->has_conf; i++)
        if (access(paths[i], R_OK) == 0) {
            doctor_say(d, CHECK_OK, NULL, "read %s", paths[i]);
            n++;
        }
    if (d->has_conf && n == 0)
        doctor_say(d, CHECK_OK, NULL, "neither %s nor %s is there, and neither is needed", paths[0],
                   paths[1]);
    free(own);
}

/* ---- the server ---- */

static void not_running(struct doctor *d)
{
    doctor_say(d, CHECK_NOTE, "`ludwig submit` and `ludwig up` start it",
               "no --server, $LUDWIG_SERVER or server: in config.yaml, so one of your own on this "
               "machine, which is not running");
}

static void connect_own(struct doctor *d)
{
    char *state = conf_state_dir();
    struct endpoint to = { 0 };
    struct err e = { 0 };
    int found = address_read(state, &to, d->arena, &e);

    if (found == 0)
        d->is_connected = rpc_open(&d->rpc, &to, d->conf.user, &e) == 0;
    if (d->is_connected && to.kind == ENDPOINT_UNIX)
        doctor_say(d, CHECK_OK, NULL, "your own on this machine, at %s", to.path);
    else if (d->is_connected)
        doctor_say(d, CHECK_OK, NULL, "your own on %s, reached by %s", to.host,
                   way_names[d->rpc.way]);
    else if (to.kind == ENDPOINT_UNIX &&
             (found < 0 ? e.kind == ERR_NOT_FOUND : e.kind == ERR_UNREACHABLE))
        not_running(d);
    else
        doctor_say(d, CHECK_PROBLEM, NULL, "%s", e.text);
    free(state);
}

static void connect_named(struct doctor *d)
{
    const struct server_choice *c = &d->choice;
    struct err e = { 0 };

    d->is_connected = rpc_open(&d->rpc, &c->endpoint, d->conf.user, &e) == 0;
    if (d->is_connected)
        doctor_say(d, CHECK_OK, NULL, "%s names %s, which answers", c->from, c->endpoint.text);
    else if (e.kind == ERR_DENIED)
        doctor_say(d, CHECK_PROBLEM, "ask the server's admin for access to its socket",
                   "%s names %s: %s", c->from, c->endpoint.text, e.text);
    else
        doctor_say(d, CHECK_PROBLEM, "see that ludwigd runs there and that the address is right",
                   "%s names %s: %s", c->from, c->endpoint.text, e.text);
}

void check_server(struct doctor *d)
{
    struct err e = { 0 };

    d->has_choice = server_choice_make(&d->choice, d->server_option, &d->conf, d->arena, &e) == 0;
    if (!d->has_choice)
        doctor_say(d, CHECK_PROBLEM, NULL, "%s", e.text);
    else if (d->choice.embedded)
        connect_own(d);
    else
        connect_named(d);
}

void check_version(struct doctor *d)
{
    const char *theirs = d->rpc.welcome.server_version;

    if (!d->is_connected)
        doctor_say(d, CHECK_OK, NULL, "ludwig " LUDWIG_VERSION);
    else if (strcmp(theirs, LUDWIG_VERSION) == 0)
        doctor_say(d, CHECK_OK, NULL, "ludwig and the server are " LUDWIG_VERSION);
    else
        doctor_say(d, CHECK_NOTE, "install the same version on both, the server first",
                   "ludwig is " LUDWIG_VERSION ", the server is %s", theirs);
}

void check_identity(struct doctor *d)
{
    const struct msg_welcome *w = &d->rpc.welcome;

    if (!d->is_connected)
        return;
    doctor_say(d, CHECK_OK, NULL, "the server knows you as %s (uid %" PRId64 ")%s%s%s",
               w->user[0] != '\0' ? w->user : "nobody with a name", w->uid,
               w->admin ? ", an admin" : "", d->conf.user != NULL ? ", labelled " : "",
               d->conf.user != NULL ? d->conf.user : "");
}

/* ---- workers ---- */

static void keep_nodes(struct doctor *d, const struct list *nodes)
{
    struct node_info *copies = arena_alloc(d->arena, nodes->n * sizeof *copies);
    const struct node_info *items = nodes->items;

    for (size_t i = 0; i < nodes->n; i++) {
        copies[i] = items[i];
        copies[i].node = arena_strdup(d->arena, items[i].node != NULL ? items[i].node : "");
        copies[i].kind = arena_strdup(d->arena, items[i].kind != NULL ? items[i].kind : "");
        copies[i].state = arena_strdup(d->arena, items[i].state != NULL ? items[i].state : "");
        copies[i].user = NULL;
    }
    d->nodes = (struct list){ copies, nodes->n };
    d->has_all_nodes = nodes->n < PAGE_MAX;
}

/* The names of nodes in that state; how many there are. */
static size_t add_names(const struct doctor *d, const char *state, struct buf *names)
{
    const struct node_info *nodes = d->nodes.items;
    size_t n = 0;

    for (size_t i = 0; i < d->nodes.n; i++) {
        if (strcmp(nodes[i].state, state) != 0)
            continue;
        if (n < 10)
            buf_printf(names, "%s%s", n > 0 ? ", " : "", nodes[i].node);
        n++;
    }
    if (n > 10)
        buf_printf(names, " and %zu more", n - 10);
    return n;
}

static bool has_node(const struct doctor *d, const char *state)
{
    const struct node_info *nodes = d->nodes.items;

    for (size_t i = 0; i < d->nodes.n; i++)
        if (strcmp(nodes[i].state, state) == 0)
            return true;
    return false;
}

static size_t say_nodes(struct doctor *d, enum verdict_of_check verdict, const char *state,
                        const char *advice)
{
    struct buf names = { 0 };
    size_t n = add_names(d, state, &names);

    if (n > 0)
        doctor_say(d, verdict, advice, "%s%zu %s: %s", d->has_all_nodes ? "" : "at least ", n,
                   state, buf_text(&names));
    buf_free(&names);
    return n;
}

void check_workers(struct doctor *d)
{
    struct msg_get_nodes request = { .limit = PAGE_MAX };
    bool on_login_node = d->choice.embedded && login_node_is_here();
    struct msg_node_page page;
    struct err e = { 0 };

    if (!d->is_connected)
        return;
    if (rpc_call(&d->rpc, MSG_GET_NODES, &request, &page, &e) < 0) {
        doctor_say(d, CHECK_PROBLEM, NULL, "%s", e.text);
        return;
    }
    keep_nodes(d, &page.nodes);
    say_nodes(d, CHECK_OK, "up", NULL);
    if (!has_node(d, "up") && !d->has_all_nodes)
        doctor_say(d, CHECK_NOTE, NULL, "none of the first %zu is up", d->nodes.n);
    else if (!has_node(d, "up"))
        doctor_say(d, on_login_node ? CHECK_NOTE : CHECK_PROBLEM,
                   d->choice.embedded ? "`ludwig up --local` starts one here"
                                      : "start ludwig-worker on a node",
                   "none is up, so that jobs wait");
    say_nodes(d, CHECK_NOTE, "drained", "`ludwig undrain NODE` gives it jobs again");
    say_nodes(d, CHECK_NOTE, "lost", "see whether the machine and its ludwig-worker run");
}

/* What the driver shows of this machine. */
static bool has_gpu_here(void)
{
    struct stat st;

    return stat("/dev/nvidia0", &st) == 0 && S_ISCHR(st.st_mode);
}

void check_gpus(struct doctor *d)
{
    const struct node_info *nodes = d->nodes.items;
    int64_t n = 0, n_local = 0, n_workers = 0;

    for (size_t i = 0; i < d->nodes.n; i++) {
        bool is_local = strcmp(nodes[i].kind, node_kind_names[NODE_LOCAL]) == 0;

        if (strcmp(nodes[i].state, "up") != 0)
            continue;
        n += nodes[i].gpus;
        n_local += is_local ? nodes[i].gpus : 0;
        n_workers += is_local;
    }
    if (d->is_connected)
        doctor_say(d, CHECK_OK, NULL, "%s%" PRId64 " with the workers that are up",
                   d->has_all_nodes ? "" : "at least ", n);
    if (d->choice.embedded && has_gpu_here() && n_workers > 0 && n_local == 0)
        doctor_say(d, CHECK_NOTE, "see `nvidia-smi`, and resources: in config.yaml",
                   "this machine has one that its worker does not offer");
    else if (!d->is_connected)
        doctor_say(d, CHECK_OK, NULL, "this machine has %s", has_gpu_here() ? "one" : "none");
}
