/* SPDX-License-Identifier: MIT */
/* stall.c - how long clients wait for ludwigd during bulk submits and bulk writes beside it */

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "common/data/msgpack.h"
#include "common/proto/proto.h"

/*
 * stall LUDWIGD FOLDER SECONDS: starts ludwigd with its state in FOLDER; one client submits
 * sweeps without pause, one process writes and syncs 16 MiB at a time in the same folder, and a
 * second client sends a small request again and again.  The longest time until its reply is the
 * longest stall of the event loop, seen from outside; ludwigd logs its own longest turn when it
 * ends.
 */
enum { CHUNK_CONFIGS = 1000, CHUNKS = 20, BULK_BYTES = 16 << 20 };

struct bench {
    const char *socket_path;
    atomic_bool is_over;
    int64_t configs;
    int64_t rounds;
    int64_t longest_us;
    int64_t total_us;
};

static void die(const char *what, const struct err *e)
{
    fprintf(stderr, "stall: %s: %s\n", what, e->text);
    exit(1);
}

static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int try_connect(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Asks and takes the answer into *reply; the wire's arena holds it. */
static void ask(struct wire *w, int type, const void *request, void *reply)
{
    struct envelope m;
    struct token id;
    struct err e = { 0 };

    token_make(&id);
    if (wire_send(w, type, 0, proto.messages[type].flags & CHANGES ? &id : NULL, request, &e) < 0 ||
        wire_receive(w, &m, &e) != 1)
        die(proto.messages[type].name, &e);
    if (m.type == MSG_ERROR) {
        struct msg_error error;

        message_body(&proto, &m, w->arena, &error, &e);
        fprintf(stderr, "stall: %s: %s\n", proto.messages[type].name, error.text);
        exit(1);
    }
    if (message_body(&proto, &m, w->arena, reply, &e) < 0)
        die(proto.messages[type].name, &e);
}

static void open_wire(struct wire *w, const char *path)
{
    struct msg_hello hello = { .version = PROTO_VERSION, .program = "ludwig" };
    struct msg_welcome welcome;
    int fd = try_connect(path);

    for (int i = 0; fd < 0 && i < 500; i++) {
        usleep(10000);
        fd = try_connect(path);
    }
    wire_init(w, fd, &proto);
    ask(w, MSG_HELLO, &hello, &welcome);
}

static void add_chunk(struct buf *out, int64_t first)
{
    mp_add_list(out, CHUNK_CONFIGS);
    for (int64_t i = first; i < first + CHUNK_CONFIGS; i++) {
        mp_add_map(out, 2);
        mp_add_str(out, "lr", 2);
        mp_add_float(out, (double)i / 7);
        mp_add_str(out, "index", 5);
        mp_add_int(out, i);
    }
}

static void submit(struct wire *w, int64_t first)
{
    struct msg_submit_begin begin = { .project = "stall", .reps = 1, .no_nodes = true };
    struct msg_submit_open open;
    struct msg_submit_end end;
    struct msg_submitted submitted;
    struct digest chain = { 0 };
    struct hasher *h = hasher_create();

    begin.work.command = "true";
    begin.work.resources.cpus_milli = 1000;
    ask(w, MSG_SUBMIT_BEGIN, &begin, &open);
    for (int i = 0; i < CHUNKS; i++) {
        struct buf configs = { 0 };
        struct msg_submit_chunk chunk = { .sweep = open.sweep, .index = i };
        struct msg_submit_taken taken;

        add_chunk(&configs, first + i * CHUNK_CONFIGS);
        chunk.configs = buf_bytes(&configs);
        hasher_add(h, chain.bytes, sizeof chain.bytes);
        hasher_add(h, configs.bytes, configs.n);
        hasher_end(h, &chain);
        ask(w, MSG_SUBMIT_CHUNK, &chunk, &taken);
        buf_free(&configs);
    }
    end = (struct msg_submit_end){ .sweep = open.sweep,
                                   .configs = CHUNKS * CHUNK_CONFIGS,
                                   .chain = chain };
    ask(w, MSG_SUBMIT_END, &end, &submitted);
    hasher_destroy(h);
}

static void *submit_all(void *context)
{
    struct bench *b = context;
    struct wire w;

    open_wire(&w, b->socket_path);
    while (!b->is_over) {
        submit(&w, b->configs);
        b->configs += CHUNKS * CHUNK_CONFIGS;
    }
    wire_close(&w);
    return NULL;
}

static void probe(struct bench *b, int64_t until_ms)
{
    struct msg_get_nodes question = { 1 };
    struct msg_node_page answer;
    struct wire w;

    open_wire(&w, b->socket_path);
    while (units_monotonic_ms() < until_ms) {
        int64_t began_us = now_us(), took_us;

        ask(&w, MSG_GET_NODES, &question, &answer);
        took_us = now_us() - began_us;
        b->rounds++;
        b->total_us += took_us;
        if (took_us > b->longest_us)
            b->longest_us = took_us;
        usleep(500);
    }
    wire_close(&w);
}

static pid_t write_in_bulk(const char *folder)
{
    char *path = path_join(folder, "bulk");
    pid_t pid = fork();

    if (pid == 0) {
        char *bytes = mem_alloc(BULK_BYTES);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        memset(bytes, 'x', BULK_BYTES);
        for (;;)
            if (pwrite(fd, bytes, BULK_BYTES, 0) < 0 || fsync(fd) < 0)
                _exit(1);
    }
    free(path);
    return pid;
}

static pid_t start_server(const char *program, const char *folder, const char *socket_path)
{
    char *conf = path_join(folder, "ludwigd.yaml");
    char *text = mem_printf("share: %s/share\nstate: %s/state\nsockets: [%s]\n", folder, folder,
                            socket_path);
    struct err e = { 0 };
    pid_t pid;

    if (io_replace_file(conf, text, strlen(text), 0600, &e) < 0)
        die("configuration", &e);
    pid = fork();
    if (pid == 0) {
        execl(program, program, "--config", conf, "--log-level", "debug", (char *)NULL);
        _exit(127);
    }
    free(conf);
    free(text);
    return pid;
}

int main(int argc, char **argv)
{
    struct bench b = { 0 };
    struct err e = { 0 };
    char *folder;
    pthread_t submitter;
    pid_t server, writer;

    if (argc != 4) {
        fprintf(stderr, "usage: stall LUDWIGD FOLDER SECONDS\n");
        return 2;
    }
    if (io_make_dirs(argv[2], 0700, &e) < 0 || (folder = path_real(argv[2], &e)) == NULL)
        die("folder", &e);
    b.socket_path = path_join(folder, "s");
    server = start_server(argv[1], folder, b.socket_path);
    writer = write_in_bulk(folder);
    pthread_create(&submitter, NULL, submit_all, &b);
    probe(&b, units_monotonic_ms() + 1000 * atoi(argv[3]));
    b.is_over = true;
    pthread_join(submitter, NULL);
    kill(writer, SIGKILL);
    kill(server, SIGTERM);
    waitpid(writer, NULL, 0);
    waitpid(server, NULL, 0);
    printf("configurations submitted  %lld\n", (long long)b.configs);
    printf("round trips beside them   %lld, mean %.2f ms, longest %.2f ms\n", (long long)b.rounds,
           (double)b.total_us / (double)(b.rounds > 0 ? b.rounds : 1) / 1000,
           (double)b.longest_us / 1000);
    return 0;
}
