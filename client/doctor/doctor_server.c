/* SPDX-License-Identifier: MIT */
/* doctor_server.c - checks of the configuration, of the server and of its workers */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/doctor/doctor.h"
#include "client/session/address.h"
#include "client/session/own_sshd.h"
#include "client/util/login_node.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/proto/layout.h"

enum { KEYS_MAX_BYTES = 4 * 1024 * 1024, NAMES_SHOWN_MAX = 10 };

/* ---- configuration ---- */

void check_config(struct doctor *d)
{
    const char *xdg = getenv("XDG_CONFIG_HOME");
    char *home = conf_home();
    char *own = xdg != NULL && xdg[0] == '/' ? path_join(xdg, "ludwig/config.yaml")
                                             : path_join(home, ".config/ludwig/config.yaml");
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
    free(home);
}

/* ---- the server ---- */

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
        doctor_say(d, CHECK_NOTE, "`ludwig submit` and `ludwig up` start it",
                   "no --server, $LUDWIG_SERVER or server: in config.yaml, so one of your own on "
                   "this machine, which is not running");
    else
        doctor_say(d, CHECK_PROBLEM, NULL, "%s", e.text);
    free(state);
}

void check_server(struct doctor *d)
{
    const struct server_choice *c = &d->choice;
    struct err e = { 0 };

    d->has_choice = server_choice_make(&d->choice, d->server_option, &d->conf, d->arena, &e) == 0;
    if (!d->has_choice) {
        doctor_say(d, CHECK_PROBLEM, NULL, "%s", e.text);
        return;
    }
    if (d->choice.embedded) {
        connect_own(d);
        return;
    }
    d->is_connected = rpc_open(&d->rpc, &c->endpoint, d->conf.user, &e) == 0;
    if (d->is_connected)
        doctor_say(d, CHECK_OK, NULL, "%s names %s, which answers", c->from, c->endpoint.text);
    else
        doctor_say(d, CHECK_PROBLEM,
                   e.kind == ERR_DENIED
                       ? "ask the server's admin for access to its socket"
                       : "see that ludwigd runs there and that the address is right",
                   "%s names %s: %s", c->from, c->endpoint.text, e.text);
}

/* ---- the connection to a server on another machine ---- */

static bool get_facts(struct doctor *d, struct connect_facts *facts)
{
    struct err e = { 0 };

    if (!d->is_connected || d->rpc.mux == NULL)
        return false;
    if (mux_facts(d->rpc.mux, facts, d->arena, &e) == 0)
        return true;
    doctor_say(d, CHECK_PROBLEM, NULL, "%s", e.text);
    return false;
}

void check_ssh(struct doctor *d)
{
    struct connect_facts f;
    struct buf host = { 0 };

    if (!get_facts(d, &f))
        return;
    buf_add_str(&host, f.host);
    if (f.proxy[0] == '\0' && strcmp(f.host, f.address) != 0)
        buf_printf(&host, " (%s)", f.address);
    buf_printf(&host, " port %" PRId64, f.port);
    if (f.proxy[0] != '\0')
        buf_printf(&host, " through `%s`", f.proxy);
    doctor_say(d, CHECK_OK, NULL, "%s answers, as %s", buf_text(&host), f.server_software);
    buf_free(&host);
    doctor_say(d, CHECK_OK, NULL, "its host key is known: %s %s", f.host_key_type,
               f.host_key_digest);
    doctor_say(d, CHECK_OK, NULL, "it lets you in as %s by %s, in %" PRId64 " ms; cipher %s",
               f.user, f.authentication, f.connect_ms, f.cipher);
}

void check_way(struct doctor *d)
{
    enum way way = d->rpc.way;
    const char *advice = NULL;
    struct connect_facts f;
    struct buf text = { 0 };

    if (!get_facts(d, &f))
        return;
    buf_printf(&text, "%s: %s", way_names[way], way_meanings[way]);
    for (size_t i = 0; i < f.refusals.n; i++) {
        const struct mux_refusal *r = (const struct mux_refusal *)f.refusals.items + i;

        buf_printf(&text, "; not %s: %s", r->way, r->why);
        if (advice == NULL)
            advice = r->remedy;
    }
    if (f.refusals.n > 0 && advice == NULL)
        advice = d->rpc.to.path != NULL
                     ? "see that AllowStreamLocalForwarding is not `no` in its sshd_config"
                     : arena_printf(d->arena,
                                    "with its socket in the address, as in %s/path/server.sock, "
                                    "sshd could connect to it by itself",
                                    d->rpc.to.text);
    doctor_say(d, f.refusals.n == 0 ? CHECK_OK : CHECK_NOTE, advice, "%s", buf_text(&text));
    buf_free(&text);
}

/* ---- the sshd of the user's own server, and pilots' keys ---- */

static void check_own_sshd(struct doctor *d, const char *state)
{
    char *dir = own_sshd_dir(state);
    struct list guests = { 0 };
    struct err e = { 0 };
    int port = own_sshd_port(dir, &e);

    if (port < 0)
        doctor_say(d, CHECK_PROBLEM, "`ludwig down` and `ludwig up --sshd` make it anew", "%s",
                   e.text);
    else if (d->rpc.to.kind == ENDPOINT_UNIX && !own_sshd_listens(port, 0))
        doctor_say(d, CHECK_PROBLEM, "`ludwig up --sshd=PORT` names another port",
                   "your server's own does not listen on port %d, which another program may have; "
                   "%s/ludwigd.log says more",
                   port, state);
    else if (own_sshd_guests(dir, d->arena, &guests, &e) < 0)
        doctor_say(d, CHECK_PROBLEM, "see its owner and mode", "%s", e.text);
    else if (guests.n == 0)
        doctor_say(d, CHECK_NOTE, "`ludwig invite` lets another machine's key in",
                   "your server's own listens on port %d, but nobody is invited", port);
    else
        doctor_say(d, CHECK_OK, NULL,
                   "your server's own listens on port %d for %zu key%s (ludwig invite --list)",
                   port, guests.n, guests.n == 1 ? "" : "s");
    free(dir);
}

void check_sshd(struct doctor *d)
{
    char *state = conf_state_dir(), *listen = own_sshd_listen(state);

    if (d->is_connected && d->choice.embedded && listen != NULL)
        check_own_sshd(d, state);
    free(listen);
    free(state);
}

void check_pilots(struct doctor *d)
{
    char *path = path_expand_home("~/.ssh/authorized_keys");
    struct buf text = { 0 };
    size_t n = 0;

    if (io_read_file(path, KEYS_MAX_BYTES, &text, NULL) == 0)
        for (const char *at = buf_text(&text); (at = strstr(at, " " LAYOUT_PILOT_KEY)) != NULL;
             at++)
            n++;
    if (n > 0)
        doctor_say(d, CHECK_OK, NULL,
                   "%zu key%s of pilots in Slurm may come in here, for `ludwig bridge` alone (%s, "
                   "lines with " LAYOUT_PILOT_KEY "; slurm: login_key)",
                   n, n == 1 ? "" : "s", path);
    buf_free(&text);
    free(path);
}

/* ---- version and identity ---- */

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

static bool is_in_state(const struct node_info *node, const char *state)
{
    return node->state != NULL && strcmp(node->state, state) == 0;
}

static bool is_up(const struct node_info *node)
{
    return is_in_state(node, "up");
}

static bool is_drained(const struct node_info *node)
{
    return is_in_state(node, "drained");
}

static bool is_lost(const struct node_info *node)
{
    return is_in_state(node, "lost");
}

static bool is_up_without_groups(const struct node_info *node)
{
    return is_up(node) && node->lacks_groups;
}

static bool is_up_as_one_account(const struct node_info *node)
{
    return is_up(node) && node->is_one_account;
}

/* Adds a finding with the number and names of the page's nodes for which is_one is true, if there
 * are any.  Returns their number. */
static size_t say_nodes(struct doctor *d, const struct list *page,
                        bool (*is_one)(const struct node_info *node), const char *words,
                        enum verdict_of_check verdict, const char *advice)
{
    const struct node_info *nodes = page->items;
    struct buf names = { 0 };
    size_t n = 0;

    for (size_t i = 0; i < page->n; i++)
        if (is_one(&nodes[i]) && ++n <= NAMES_SHOWN_MAX)
            buf_printf(&names, "%s%s", n > 1 ? ", " : "", nodes[i].node);
    if (n > NAMES_SHOWN_MAX)
        buf_printf(&names, " and %zu more", n - NAMES_SHOWN_MAX);
    if (n > 0)
        doctor_say(d, verdict, advice, "%s%zu %s: %s", d->has_all_nodes ? "" : "at least ", n,
                   words, buf_text(&names));
    buf_free(&names);
    return n;
}

void check_workers(struct doctor *d)
{
    struct msg_get_nodes request = { .limit = PAGE_MAX };
    bool on_login_node = d->choice.embedded && login_node_is_here(LOGIN_NODE_PING_MAX_MS);
    struct msg_node_page page;
    struct err e = { 0 };

    if (!d->is_connected)
        return;
    if (rpc_call(&d->rpc, MSG_GET_NODES, &request, &page, &e) < 0) {
        doctor_say(d, CHECK_PROBLEM, NULL, "%s", e.text);
        return;
    }
    d->has_all_nodes = page.nodes.n < PAGE_MAX;
    for (size_t i = 0; i < page.nodes.n; i++) {
        const struct node_info *node = (const struct node_info *)page.nodes.items + i;
        bool is_local = node->kind != NULL && strcmp(node->kind, node_kind_names[NODE_LOCAL]) == 0;

        if (!is_up(node))
            continue;
        d->n_gpus += node->gpus;
        d->n_local_gpus += is_local ? node->gpus : 0;
        d->n_local_workers += is_local;
    }
    if (say_nodes(d, &page.nodes, is_up, "up", CHECK_OK, NULL) > 0)
        ;
    else if (!d->has_all_nodes)
        doctor_say(d, CHECK_NOTE, NULL, "none of the first %zu is up", page.nodes.n);
    else
        doctor_say(d, on_login_node ? CHECK_NOTE : CHECK_PROBLEM,
                   d->choice.embedded ? "`ludwig up --local` starts one here"
                                      : "start ludwig-worker on a node",
                   "none is up, so that jobs wait");
    say_nodes(d, &page.nodes, is_drained, "drained", CHECK_NOTE,
              "`ludwig undrain NODE` gives it jobs again");
    say_nodes(d, &page.nodes, is_lost, "lost", CHECK_NOTE,
              "see whether the machine and its ludwig-worker run");
    say_nodes(d, &page.nodes, is_up_without_groups,
              "without control groups, where a process that a job hides may go on after its end",
              CHECK_NOTE, "let systemd start ludwig-worker, with Delegate=yes");
    say_nodes(d, &page.nodes, is_up_as_one_account,
              "with one account for the jobs of all users, who can read its worker's key and each "
              "other's files there",
              CHECK_NOTE, "run ludwig-worker as root, or serve one user with it");
}

void check_gpus(struct doctor *d)
{
    struct stat st;
    bool has_gpu_here = stat("/dev/nvidia0", &st) == 0 && S_ISCHR(st.st_mode);

    if (d->is_connected)
        doctor_say(d, CHECK_OK, NULL, "%s%" PRId64 " with the workers that are up",
                   d->has_all_nodes ? "" : "at least ", d->n_gpus);
    if (d->choice.embedded && has_gpu_here && d->n_local_workers > 0 && d->n_local_gpus == 0)
        doctor_say(d, CHECK_NOTE, "see `nvidia-smi`, and resources: in config.yaml",
                   "this machine has one that its worker does not offer");
    else if (!d->is_connected)
        doctor_say(d, CHECK_OK, NULL, "this machine has %s", has_gpu_here ? "one" : "none");
}
