/* SPDX-License-Identifier: MIT */
/* embedded.c - the user's own ludwigd and worker, on this machine */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/session/address.h"
#include "client/session/embedded.h"
#include "client/session/own_sshd.h"
#include "client/term/output.h"
#include "client/util/child.h"
#include "client/util/login_node.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "common/proto/unixsocket.h"

enum {
    START_MAX_MS = 30 * 1000, /* a large queue after a crash takes a while to open */
    STOP_MAX_MS = 20 * 1000,
    LOCK_MAX_MS = 60 * 1000,
    LOOK_EVERY_MS = 10,
    LOG_TAIL_BYTES = 64 * 1024
};

static int not_answering(const struct endpoint *to, const struct err *why, struct err *e)
{
    return err_set(e, why->kind,
                   "your server was started on %s and is not reached from here: %s (`ludwig up` "
                   "there starts it again)",
                   to->host, why->text);
}

/* How many sweeps were not over when the server stopped, by `ludwigd --unfinished`; -1: unknown. */
static long count_unfinished(const char *state)
{
    char *ludwigd = child_beside_us("ludwigd", NULL), *conf = path_join(state, "ludwigd.yaml");
    const char *const argv[] = { ludwigd, "--config", conf, "--unfinished", NULL };
    struct buf said = { 0 };
    long n = -1;

    if (ludwigd != NULL && access(conf, R_OK) == 0 && child_capture(argv, 64, &said, NULL) == 0)
        n = strtol(buf_text(&said), NULL, 10);
    buf_free(&said);
    free(conf);
    free(ludwigd);
    return n;
}

static void say_none_runs(const struct conf *c, struct err *e)
{
    char *state = conf_state_dir(), *share = conf_embedded_share(c);
    long n = count_unfinished(state);

    if (n > 0)
        err_set(
            e, ERR_UNREACHABLE,
            "no server of yours is running here; when it stopped, %ld sweep%s not over: `ludwig up` "
            "goes on with %s (results so far are in %s)",
            n, n == 1 ? " was" : "s were", n == 1 ? "it" : "them", share);
    else if (n == 0)
        err_set(
            e, ERR_UNREACHABLE,
            "no server of yours is running here, and no sweep is unfinished: `ludwig up` starts it "
            "(results of earlier sweeps are in %s)",
            share);
    else
        err_set(e, ERR_UNREACHABLE,
                "no server of yours is running here (`ludwig up` starts one, and so does "
                "`ludwig submit`)");
    free(share);
    free(state);
}

int embedded_connect(struct rpc *rpc, const struct conf *c, struct err *e)
{
    struct err why = { 0 };
    struct arena *a = arena_create();
    char *state = conf_state_dir();
    struct endpoint to = { 0 };
    int result = address_read(state, &to, a, &why);

    free(state);
    if (result == 0)
        result = rpc_open(rpc, &to, c->user, &why);
    if (result < 0 && to.kind == ENDPOINT_SSH)
        not_answering(&to, &why, e);
    else if (why.kind == ERR_NOT_FOUND || why.kind == ERR_UNREACHABLE)
        say_none_runs(c, e);
    else if (result < 0)
        err_set(e, why.kind, "%s", why.text);
    arena_destroy(a);
    return result;
}

/* ---- starting ---- */

static int write_conf(const char *state, const char *name, struct member *members, size_t n,
                      struct err *e)
{
    struct value map = { .type = VALUE_MAP, .map = { members, n } };
    char *path = path_join(state, name);
    struct buf text = { 0 };
    int result;

    buf_add_str(&text, "# Written by `ludwig up`.\n");
    yaml_add_value(&text, &map);
    result = io_replace_file(path, text.bytes, text.n, 0600, e);
    buf_free(&text);
    free(path);
    return result;
}

/* Starts "PROGRAM --config STATE/CONF [OPTION]" with its output appended to STATE/LOG. */
static pid_t start_program(const char *state, const char *program, const char *conf_name,
                           const char *option, const char *log_name, struct err *e)
{
    char *path = child_beside_us(program, e);
    char *conf = path_join(state, conf_name), *log = path_join(state, log_name);
    const char *argv[] = { path, "--config", conf, option, NULL };
    pid_t pid = path == NULL ? -1 : child_start_daemon(argv, log, e);

    free(log);
    free(conf);
    free(path);
    return pid;
}

/* Sets e to the last line of the log, where the program said why it ended. */
static int say_why_it_ended(const char *state, const char *program, const char *log_name,
                            struct err *e)
{
    char *log = path_join(state, log_name);
    struct buf text = { 0 };
    int fd = open(log, O_RDONLY | O_CLOEXEC);
    off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    off_t from = size > LOG_TAIL_BYTES ? size - LOG_TAIL_BYTES : 0;
    size_t begin, end;

    if (fd >= 0 && lseek(fd, from, SEEK_SET) == from) {
        ssize_t got = io_read_all(fd, buf_reserve(&text, LOG_TAIL_BYTES), LOG_TAIL_BYTES);

        buf_added(&text, got > 0 ? (size_t)got : 0);
    }
    if (fd >= 0)
        close(fd);
    for (end = text.n; end > 0 && text.bytes[end - 1] == '\n';)
        end--;
    for (begin = end; begin > 0 && text.bytes[begin - 1] != '\n';)
        begin--;
    err_set(e, ERR_FAILED, "%s ended at once: %.*s (its log: %s)", program,
            end > begin ? (int)(end - begin) : INT_MAX,
            end > begin ? buf_text(&text) + begin : "without a word", log);
    buf_free(&text);
    free(log);
    return -1;
}

/* Waits while another command of this user starts or stops the server. */
static int lock_server(const char *state, struct err *e)
{
    char *path = path_join(state, "up.lock");
    int fd = io_lock_file_within(path, LOCK_MAX_MS, e);

    free(path);
    return fd;
}

static int wait_for_server(const char *state, pid_t pid, const char *socket_path, struct err *e)
{
    int64_t deadline_ms = units_monotonic_ms() + START_MAX_MS;

    while (!rpc_is_answered(socket_path)) {
        if (child_has_ended(pid))
            return say_why_it_ended(state, "ludwigd", "ludwigd.log", e);
        if (units_monotonic_ms() >= deadline_ms)
            return err_set(e, ERR_UNREACHABLE, "ludwigd did not answer within %d s (its log: %s)",
                           START_MAX_MS / 1000, state);
        (void)poll(NULL, 0, LOOK_EVERY_MS);
    }
    return 0;
}

static int start_server(const char *state, const struct conf *c, const char *socket_path,
                        struct err *e)
{
    char *share = conf_embedded_share(c), *server_state = path_join(state, "server");
    char *listen = own_sshd_listen(state);
    struct value path = value_str(socket_path);
    struct member sshd = value_member("listen", value_str(listen != NULL ? listen : ""));
    struct member members[5] = {
        value_member("share", value_str(share)),
        value_member("state", value_str(server_state)),
        value_member("sockets", (struct value){ .type = VALUE_LIST, .list = { &path, 1 } }),
    };
    size_t n = 3;
    pid_t pid = -1;

    if (listen != NULL)
        members[n++] =
            value_member("sshd", (struct value){ .type = VALUE_MAP, .map = { &sshd, 1 } });
    if (c->slurm.type == VALUE_MAP)
        members[n++] = value_member("slurm", c->slurm);
    if (io_make_dirs(share, 0700, e) == 0 &&
        write_conf(state, "ludwigd.yaml", members, n, e) == 0 &&
        address_write(state, socket_path, e) == 0)
        pid = start_program(state, "ludwigd", "ludwigd.yaml", NULL, "ludwigd.log", e);
    free(listen);
    free(server_state);
    free(share);
    if (pid < 0)
        return -1;
    return wait_for_server(state, pid, socket_path, e);
}

/* Numbers of workers without pilots.  Lost workers may come back. */
struct worker_counts {
    size_t local, others, lost;
};

static int count_workers(struct rpc *rpc, struct worker_counts *counts, struct err *e)
{
    struct msg_get_nodes request = { .limit = PAGE_MAX };
    struct msg_node_page page;
    const struct node_info *nodes;

    if (rpc_call(rpc, MSG_GET_NODES, &request, &page, e) < 0)
        return -1;
    nodes = page.nodes.items;
    *counts = (struct worker_counts){ 0 };
    for (size_t i = 0; i < page.nodes.n; i++) {
        if (strcmp(nodes[i].kind, node_kind_names[NODE_SLURM]) == 0)
            continue;
        if (strcmp(nodes[i].state, "lost") == 0)
            counts->lost++;
        else if (strcmp(nodes[i].kind, node_kind_names[NODE_LOCAL]) == 0)
            counts->local++;
        else
            counts->others++;
    }
    return 0;
}

static int wait_for_worker(struct rpc *rpc, const char *state, pid_t pid, struct err *e)
{
    int64_t deadline_ms = units_monotonic_ms() + START_MAX_MS;
    struct worker_counts counts;
    bool ended = false;

    for (;;) {
        if (count_workers(rpc, &counts, e) < 0)
            return -1;
        if (counts.local > 0)
            return 0;
        /* If a worker runs already, the new one ends, and the old one reconnects in a moment. */
        if (!ended && child_has_ended(pid)) {
            ended = true;
            deadline_ms = units_monotonic_ms() + 3000;
        }
        if (ended && units_monotonic_ms() >= deadline_ms)
            return say_why_it_ended(state, "ludwig-worker", "worker.log", e);
        if (units_monotonic_ms() >= deadline_ms)
            return err_set(e, ERR_FAILED, "ludwig-worker did not report within %d s (its log: %s)",
                           START_MAX_MS / 1000, state);
        (void)poll(NULL, 0, LOOK_EVERY_MS);
    }
}

static int start_worker(struct rpc *rpc, const char *state, const struct conf *c, struct err *e)
{
    char *worker_state = path_join(state, "worker");
    char *server = mem_printf("unix:%s", rpc->to.path);
    struct member members[7] = {
        value_member("server", value_str(server)),
        value_member("share", value_str(rpc->welcome.share)),
        value_member("state", value_str(worker_state)),
        value_member("kind", value_str(node_kind_names[NODE_LOCAL])),
    };
    size_t n = 4;
    pid_t pid = -1;

    if (c->scratch != NULL)
        members[n++] = value_member("scratch", value_str(c->scratch));
    if (c->cache_size_bytes > 0)
        members[n++] = value_member("cache_size", value_int(c->cache_size_bytes));
    if (c->resources.type == VALUE_MAP)
        members[n++] = value_member("resources", c->resources);
    if (write_conf(state, "worker.yaml", members, n, e) == 0)
        pid = start_program(state, "ludwig-worker", "worker.yaml", NULL, "worker.log", e);
    free(server);
    free(worker_state);
    return pid < 0 ? -1 : wait_for_worker(rpc, state, pid, e);
}

/* Connects to the address in use, if a server answers there; else starts a server at the best
 * address, but never while the same state is served on another host. */
static int connect_or_start(struct rpc *rpc, const char *state, const struct conf *c, bool *running,
                            struct err *e)
{
    struct arena *a = arena_create();
    struct endpoint to;
    struct err why = { 0 };
    char *socket_path;
    int result = address_read(state, &to, a, NULL);

    *running = result == 0 && (to.kind == ENDPOINT_SSH || rpc_is_answered(to.path));
    if (!*running) {
        socket_path = address_choose_socket(state, e);
        result = socket_path == NULL ? -1 : start_server(state, c, socket_path, e);
        to = (struct endpoint){ .kind = ENDPOINT_UNIX, .text = socket_path, .path = socket_path };
    } else {
        socket_path = NULL;
    }
    if (result == 0 && rpc_open(rpc, &to, c->user, &why) < 0)
        result = to.kind == ENDPOINT_SSH ? not_answering(&to, &why, e)
                                         : err_set(e, why.kind, "%s", why.text);
    free(socket_path);
    arena_destroy(a);
    return result;
}

/* A machine found to be a login node stays one while its Slurm does not answer.  The mark carries
 * the machine's name, as several machines may share a home. */
static bool is_login_node(const char *state)
{
    char *host = unixsocket_host();
    char *mark = mem_printf("%s/login-node-%s", state, host);
    struct err e = { 0 };
    bool is_one = login_node_is_here(LOGIN_NODE_PING_MAX_MS);

    if (is_one && access(mark, F_OK) < 0 && io_replace_file(mark, "", 0, 0600, &e) < 0)
        output_note("%s", e.text);
    else if (!is_one)
        is_one = child_is_in_path("sbatch") && access(mark, F_OK) == 0;
    free(mark);
    free(host);
    return is_one;
}

static int start_all(struct rpc *rpc, const char *state, const struct conf *c, bool wants_worker,
                     bool *has_no_worker, struct err *e)
{
    struct worker_counts counts;
    bool was_running;
    int result;

    if (connect_or_start(rpc, state, c, &was_running, e) < 0)
        return -1;
    if (c->share != NULL && strcmp(c->share, rpc->welcome.share) != 0)
        output_note("note: the server that is running uses the share %s; %s is used after "
                    "`ludwig down` and `ludwig up`",
                    rpc->welcome.share, c->share);
    if (rpc->to.kind == ENDPOINT_SSH) {
        output_note("your server runs on %s", rpc->to.host);
        return 0;
    }
    result = count_workers(rpc, &counts, e);
    if (result == 0 && counts.local > 0)
        return 0;
    if (result == 0 && (wants_worker || !is_login_node(state))) {
        result = start_worker(rpc, state, c, e);
    } else if (result == 0) {
        /* People may compute on a login node only on request. */
        output_note("no worker was started here, as this is a login node of a Slurm cluster; "
                    "--local starts one");
        /* After a start, lost workers reconnect within seconds. */
        *has_no_worker = counts.others == 0 && (was_running || counts.lost == 0);
    }
    if (result < 0)
        rpc_close(rpc);
    return result;
}

/* Whether a server on this machine, which is a login node, ended without `ludwig down`. */
static bool has_ended_alone(const char *state)
{
    struct arena *a = arena_create();
    struct endpoint to = { 0 };
    char *host = unixsocket_host();
    char *mark = mem_printf("%s/login-node-%s", state, host);
    bool has = address_read(state, &to, a, NULL) == 0 && to.kind == ENDPOINT_UNIX &&
               access(mark, F_OK) == 0;

    free(mark);
    free(host);
    arena_destroy(a);
    return has;
}

int embedded_reach(struct rpc *rpc, const struct conf *c, struct err *e)
{
    char *state = conf_state_dir();
    struct err why = { 0 };
    int result = embedded_connect(rpc, c, &why), lock_fd = -1;
    bool was_running;

    if (result < 0 && why.kind == ERR_UNREACHABLE && has_ended_alone(state)) {
        lock_fd = lock_server(state, e);
        result = lock_fd < 0 ? -1 : connect_or_start(rpc, state, c, &was_running, e);
        if (result == 0 && !was_running)
            output_note("your server had ended by itself or was killed, and was started again; "
                        "pilots that ran meanwhile go on");
    } else if (result < 0) {
        *e = why;
    }
    if (lock_fd >= 0)
        close(lock_fd);
    free(state);
    return result;
}

/* ---- for one command ---- */

/* Starts a reading server, at a socket of its own, where no other command finds it. */
static int start_reader(struct embedded_reader *reader, const char *state, const struct conf *c,
                        struct err *e)
{
    char *share = conf_embedded_share(c), *server_state = path_join(state, "server");
    char *usual = address_choose_socket(state, e);
    struct value path;
    struct member members[] = {
        value_member("share", value_str(share)),
        value_member("state", value_str(server_state)),
        value_member("sockets", (struct value){ .type = VALUE_LIST, .list = { &path, 1 } }),
    };
    pid_t pid = -1;

    if (usual != NULL) {
        reader->socket_path = mem_printf("%.*sread", (int)(strlen(usual) - strlen("sock")), usual);
        path = value_str(reader->socket_path);
        if (write_conf(state, "reading.yaml", members, 3, e) == 0)
            pid = start_program(state, "ludwigd", "reading.yaml", "--reading", "ludwigd.log", e);
    }
    free(usual);
    free(server_state);
    free(share);
    if (pid < 0)
        return -1;
    reader->pid = pid;
    return wait_for_server(state, pid, reader->socket_path, e);
}

/* Whether the server was started on this machine last: on another host it may still run. */
static bool has_run_here(const char *state)
{
    struct arena *a = arena_create();
    char *conf = path_join(state, "ludwigd.yaml");
    struct endpoint to = { 0 };
    bool has = access(conf, R_OK) == 0 &&
               (address_read(state, &to, a, NULL) < 0 || to.kind == ENDPOINT_UNIX);

    free(conf);
    arena_destroy(a);
    return has;
}

int embedded_read(struct rpc *rpc, const struct conf *c, struct embedded_reader *reader,
                  struct err *e)
{
    struct endpoint to = { .kind = ENDPOINT_UNIX };
    char *state = conf_state_dir();
    struct err why = { 0 };
    int result = embedded_reach(rpc, c, &why);

    *reader = (struct embedded_reader){ 0 };
    if (result < 0 && (why.kind != ERR_UNREACHABLE || !has_run_here(state))) {
        err_set(e, why.kind, "%s", why.text);
        free(state);
        return -1;
    }
    if (result < 0) {
        reader->lock_fd = lock_server(state, e);
        reader->is_locked = reader->lock_fd >= 0;
    }
    /* Another command may have started a server while this one waited for the lock. */
    if (result < 0 && reader->is_locked && embedded_connect(rpc, c, &why) == 0) {
        embedded_read_end(reader);
        result = 0;
    } else if (result < 0 && reader->is_locked) {
        long unfinished = count_unfinished(state);

        if (unfinished >= 0 && start_reader(reader, state, c, e) == 0) {
            to.text = to.path = reader->socket_path;
            result = rpc_open(rpc, &to, c->user, e);
        } else if (unfinished < 0) {
            err_set(e, why.kind, "%s", why.text);
        }
        if (result < 0)
            embedded_read_end(reader);
        else if (unfinished > 0)
            output_note("note: %s", why.text);
    }
    free(state);
    return result;
}

void embedded_read_end(struct embedded_reader *reader)
{
    int64_t deadline_ms = units_monotonic_ms() + STOP_MAX_MS;

    if (reader->pid > 0 && kill(reader->pid, SIGTERM) == 0)
        while (!child_has_ended(reader->pid) && units_monotonic_ms() < deadline_ms)
            (void)poll(NULL, 0, LOOK_EVERY_MS);
    if (reader->is_locked)
        close(reader->lock_fd);
    free(reader->socket_path);
    *reader = (struct embedded_reader){ 0 };
}

int embedded_up(struct rpc *rpc, const struct conf *c, bool wants_worker, bool *has_no_worker,
                struct err *e)
{
    char *state = address_make_state_dir(e);
    int lock_fd, result;

    *has_no_worker = false;
    if (state == NULL)
        return -1;
    lock_fd = lock_server(state, e);
    result = lock_fd < 0 ? -1 : start_all(rpc, state, c, wants_worker, has_no_worker, e);
    if (lock_fd >= 0)
        close(lock_fd);
    free(state);
    return result;
}

/* ---- stopping ---- */

static int ask_to_stop(struct rpc *rpc, bool workers, struct err *e)
{
    struct msg_shutdown request = { .workers = workers };
    struct msg_ok reply;
    bool lost = false;

    if (rpc_send(rpc, MSG_SHUTDOWN, NULL, &request, &lost, e) >= 0 &&
        rpc_receive(rpc, MSG_OK, &reply, &lost, e) == 0)
        return 0;
    /* The server may be gone before its answer arrives. */
    return lost ? 0 : -1;
}

/* Waits for the server's end under the lock, so that no other command starts it anew meanwhile. */
static int wait_until_gone(struct err *e)
{
    char *state = conf_state_dir(), *path = mem_printf("%s/server/lock", state);
    int lock_fd = lock_server(state, e), server_fd, result = -1;
    struct err why = { 0 };

    if (lock_fd >= 0) {
        /* ludwigd releases its state folder last of all; then the next one may start. */
        server_fd = io_lock_file_within(path, STOP_MAX_MS, &why);
        result = server_fd < 0 && why.kind == ERR_BUSY
                     ? err_set(e, ERR_BUSY, "an old ludwigd still uses %s after %d s", state,
                               STOP_MAX_MS / 1000)
                     : 0;
        if (server_fd >= 0)
            close(server_fd);
        close(lock_fd);
    }
    free(path);
    free(state);
    return result;
}

int embedded_down(const struct conf *c, struct err *e)
{
    struct rpc rpc = { 0 };
    struct msg_get_nodes get_nodes = { .limit = PAGE_MAX };
    struct msg_get_sweeps get_sweeps = { .limit = 1 };
    struct msg_node_page nodes;
    struct msg_sweep_page page;
    int64_t n_running = 0, waiting = 0, running = 0;
    char *state;
    int result;

    if (embedded_connect(&rpc, c, e) < 0)
        return -1;
    state = conf_state_dir();
    if (rpc_call(&rpc, MSG_GET_NODES, &get_nodes, &nodes, NULL) == 0)
        for (size_t i = 0; i < nodes.nodes.n; i++)
            n_running += ((const struct node_info *)nodes.nodes.items)[i].running;
    /* An older server does not tell how many pilots Slurm has. */
    if (rpc_call(&rpc, MSG_GET_SWEEPS, &get_sweeps, &page, NULL) == 0) {
        waiting = page.pilots_waiting;
        running = page.pilots_running;
    }
    result = ask_to_stop(&rpc, true, e);
    rpc_close(&rpc);
    if (result == 0)
        result = wait_until_gone(e);
    if (result == 0)
        address_forget(state);
    free(state);
    if (result == 0 && n_running > 0)
        output_note(
            "stopped; %" PRId64 " running %s on, and the next `ludwig up` takes %s up again",
            n_running, n_running == 1 ? "job goes" : "jobs go", n_running == 1 ? "it" : "them");
    else if (result == 0)
        output_note("stopped");
    if (result == 0 && waiting + running > 0)
        output_note(
            "Slurm still has pilots, %" PRId64 " wait%s and %" PRId64
            " run%s: the next `ludwig up` takes them up; else they end when they find nothing to "
            "do (scancel ends them now)",
            waiting, waiting == 1 ? "s" : "", running, running == 1 ? "s" : "");
    return result;
}

int embedded_stop_server(const struct conf *c, struct err *e)
{
    struct rpc rpc = { 0 };
    struct err why = { 0 };
    int result;

    if (embedded_connect(&rpc, c, &why) < 0)
        return why.kind == ERR_UNREACHABLE ? 0 : err_set(e, why.kind, "%s", why.text);
    if (rpc.to.kind == ENDPOINT_SSH)
        result = err_set(e, ERR_USAGE, "your server runs on %s: do that there", rpc.to.host);
    else
        result = ask_to_stop(&rpc, false, e);
    rpc_close(&rpc);
    return result < 0 || wait_until_gone(e) < 0 ? -1 : 1;
}
