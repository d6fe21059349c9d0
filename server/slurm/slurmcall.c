/* SPDX-License-Identifier: MIT */
/* slurmcall.c - runs Slurm's commands beside the loop, with a user's rights; bounds their number */

#include "server/slurm/slurmcall.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/base/account.h"

enum { IN, OUT, SAID, PIPES };
enum { DIES_MS = 1000, USUAL_MS = 25 * 1000 };

struct slurm_call {
    uv_process_t process;
    uv_pipe_t pipes[PIPES];
    uv_timer_t timer;
    uv_write_t write;
    char *input;
    slurm_done_fn done; /* NULL: the call was dropped */
    void *context;
    size_t output_max_bytes;
    int pid;       /* 0: the process has ended */
    int n_awaited; /* ends still awaited: of the process and its two outputs */
    int n_open;    /* open handles */
    bool is_finished;
    struct slurm_result result;
};

static void on_closed(uv_handle_t *handle)
{
    struct slurm_call *c = handle->data;

    if (--c->n_open > 0)
        return;
    buf_free(&c->result.out);
    buf_free(&c->result.said);
    free(c->input);
    free(c);
}

static void close_handle(void *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, on_closed);
}

/* Kills the process group: the process and what it started. */
static void kill_it(struct slurm_call *c)
{
    if (c->pid > 0)
        kill(-c->pid, SIGKILL);
}

static void close_last(struct slurm_call *c)
{
    close_handle(&c->timer);
    close_handle(&c->process);
}

/* A killed process stays as long as a file system on which it waits hangs: from now on the loop may
 * end before it does. */
static void on_stays(uv_timer_t *timer)
{
    struct slurm_call *c = timer->data;

    uv_unref((uv_handle_t *)timer);
    uv_unref((uv_handle_t *)&c->process);
}

static void finish(struct slurm_call *c)
{
    slurm_done_fn done = c->done;

    if (c->is_finished)
        return;
    c->is_finished = true;
    c->done = NULL;
    if (done != NULL)
        done(c->context, &c->result);
    for (int i = 0; i < PIPES; i++)
        close_handle(&c->pipes[i]);
    if (c->pid == 0)
        close_last(c);
    else
        uv_timer_start(&c->timer, on_stays, DIES_MS, 0);
}

static void one_less(struct slurm_call *c)
{
    if (--c->n_awaited == 0)
        finish(c);
}

static void on_exit_of(uv_process_t *process, int64_t status, int sig)
{
    struct slurm_call *c = process->data;

    c->result.exit_code = sig != 0 ? -1 : (int)status;
    c->pid = 0;
    if (c->is_finished)
        close_last(c);
    else
        one_less(c);
}

/* Ends a call whose command takes too long, or ended and left processes that hold its outputs. */
static void on_timeout(uv_timer_t *timer)
{
    struct slurm_call *c = timer->data;

    c->result.is_late = c->pid > 0;
    kill_it(c);
    finish(c);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *room)
{
    struct slurm_call *c = handle->data;
    struct buf *b = handle == (uv_handle_t *)&c->pipes[OUT] ? &c->result.out : &c->result.said;

    *room = uv_buf_init((char *)buf_reserve(b, suggested), (unsigned)suggested);
}

/* Adds n bytes that lie in b's spare room, unless the output has ended or gets longer than max. */
static void add_read(struct buf *b, ssize_t n, size_t max)
{
    buf_added(b, n > 0 && b->n + (size_t)n <= max ? (size_t)n : 0);
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *room)
{
    struct slurm_call *c = stream->data;

    (void)room;
    c->result.is_too_long = n > 0 && c->result.out.n + (size_t)n > c->output_max_bytes;
    add_read(&c->result.out, n, c->output_max_bytes);
    if (c->result.is_too_long) {
        kill_it(c);
        finish(c);
    } else if (n < 0) {
        uv_read_stop(stream);
        one_less(c);
    }
}

static void on_said(uv_stream_t *stream, ssize_t n, const uv_buf_t *room)
{
    struct slurm_call *c = stream->data;

    (void)room;
    add_read(&c->result.said, n, SLURM_CALL_SAYS_MAX_BYTES);
    if (n < 0) {
        uv_read_stop(stream);
        one_less(c);
    }
}

/* A failure is passed over: a command that does not read its input says why on standard error. */
static void on_written(uv_write_t *write, int status)
{
    struct slurm_call *c = write->data;

    (void)status;
    close_handle(&c->pipes[IN]);
}

static int spawn(struct slurm_call *c, uv_loop_t *loop, const struct slurm_command *command)
{
    uv_stdio_container_t stdio[PIPES] = { { .flags = UV_CREATE_PIPE | UV_READABLE_PIPE },
                                          { .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE },
                                          { .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE } };
    uv_process_options_t options = {
        .exit_cb = on_exit_of,
        .env = (char **)(uintptr_t)command->env,
        .cwd = "/",
        .flags = UV_PROCESS_DETACHED,
        .stdio_count = PIPES,
        .stdio = stdio,
    };
    size_t n = 0, k = 0;
    int rc;

    while (command->args[n] != NULL)
        n++;
    options.args = mem_alloc((n + 4) * sizeof *options.args);
    if (command->rights != NULL) { /* ludwigd --as RIGHTS COMMAND... */
        options.args[k++] = "ludwigd";
        options.args[k++] = SLURM_CALL_AS;
        options.args[k++] = (char *)(uintptr_t)command->rights;
    }
    memcpy(options.args + k, command->args, n * sizeof *options.args);
    options.file = command->rights != NULL ? "/proc/self/exe" : command->args[0];
    for (int i = 0; i < PIPES; i++)
        stdio[i].data.stream = (uv_stream_t *)&c->pipes[i];
    rc = uv_spawn(loop, &c->process, &options);
    free(options.args);
    return rc;
}

struct slurm_call *slurm_call_begin(uv_loop_t *loop, const struct slurm_command *command,
                                    slurm_done_fn done, void *context, struct err *e)
{
    struct slurm_call *c = mem_alloc(sizeof *c);
    uv_buf_t bytes;
    int rc;

    uv_timer_init(loop, &c->timer);
    for (int i = 0; i < PIPES; i++) {
        uv_pipe_init(loop, &c->pipes[i], 0);
        c->pipes[i].data = c;
    }
    c->timer.data = c->process.data = c->write.data = c;
    c->n_open = PIPES + 2;
    c->result.exit_code = -1;
    rc = spawn(c, loop, command);
    if (rc < 0) {
        finish(c); /* the process handle exists, and is closed, although no process started */
        err_set(e, rc == UV_ENOENT ? ERR_NOT_FOUND : ERR_FAILED, "start %s: %s", command->args[0],
                uv_strerror(rc));
        return NULL;
    }
    c->done = done;
    c->context = context;
    c->output_max_bytes =
        command->output_max_bytes > 0 ? command->output_max_bytes : SLURM_OUTPUT_MAX_BYTES;
    c->pid = c->process.pid;
    c->n_awaited = 3;
    uv_timer_start(&c->timer, on_timeout, command->timeout_ms > 0 ? command->timeout_ms : USUAL_MS,
                   0);
    uv_read_start((uv_stream_t *)&c->pipes[OUT], on_room, on_output);
    uv_read_start((uv_stream_t *)&c->pipes[SAID], on_room, on_said);
    if (command->input != NULL) {
        size_t n = strlen(command->input);

        c->input = mem_copy(command->input, n);
        bytes = uv_buf_init(c->input, (unsigned)n);
        if (uv_write(&c->write, (uv_stream_t *)&c->pipes[IN], &bytes, 1, on_written) == 0)
            return c;
    }
    close_handle(&c->pipes[IN]);
    return c;
}

void slurm_call_drop(struct slurm_call *c)
{
    c->done = NULL;
    kill_it(c);
    finish(c);
}

int slurm_call_become(char **argv)
{
    struct err e = { 0 };

    if (account_become(argv[0], &e) == 0) {
        execvp(argv[1], argv + 1);
        err_sys(&e, "%s", argv[1]);
    }
    fprintf(stderr, "%s\n", e.text);
    return SLURM_NO_COMMAND;
}

/* ---- how many commands run ---- */

static int64_t at_least_1(int64_t number)
{
    return number < 1 ? 1 : number;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void slurm_budget_begin(struct slurm_budget *b, int64_t now_ms)
{
    *b = (struct slurm_budget){ .bucket = SLURM_BUDGET_BUCKET,
                                .every_ms = SLURM_BUDGET_EVERY_MS,
                                .tokens = SLURM_BUDGET_BUCKET,
                                .filled_at_ms = now_ms,
                                .slot = now_ms / SLURM_BUDGET_SLOT_MS };
}

void slurm_budget_fit(struct slurm_budget *b, const struct slurm_config *config)
{
    int64_t every_ms;

    if (config->rpc_bucket <= 0)
        return;
    /* The numbers in a site's configuration may be of any size. */
    every_ms = 2000 * smaller(at_least_1(config->rpc_refill_period_s), 3600) /
               at_least_1(config->rpc_refill);
    b->bucket = smaller(b->bucket, at_least_1(config->rpc_bucket / 2));
    b->tokens = smaller(b->tokens, b->bucket);
    if (every_ms > b->every_ms)
        b->every_ms = every_ms;
}

static void fill(struct slurm_budget *b, int64_t now_ms)
{
    int64_t n = now_ms > b->filled_at_ms ? (now_ms - b->filled_at_ms) / b->every_ms : 0;

    b->filled_at_ms += n * b->every_ms;
    b->tokens = smaller(b->bucket, b->tokens + n);
}

/* Forgets counts that are an hour old. */
static void forget_old_counts(struct slurm_budget *b, int64_t now_ms)
{
    int64_t now = now_ms / SLURM_BUDGET_SLOT_MS;

    if (now - b->slot >= SLURM_BUDGET_SLOTS)
        memset(b->counts, 0, sizeof b->counts);
    else
        while (b->slot < now)
            b->counts[++b->slot % SLURM_BUDGET_SLOTS] = 0;
    if (now > b->slot)
        b->slot = now;
}

bool slurm_budget_take(struct slurm_budget *b, int64_t now_ms)
{
    fill(b, now_ms);
    if (b->tokens == 0)
        return false;
    b->tokens--;
    forget_old_counts(b, now_ms);
    b->counts[b->slot % SLURM_BUDGET_SLOTS]++;
    return true;
}

int64_t slurm_budget_wait_ms(struct slurm_budget *b, int64_t n, int64_t now_ms)
{
    int64_t lacking;

    fill(b, now_ms);
    lacking = smaller(n, b->bucket) - b->tokens;
    return lacking <= 0 ? 0 : b->filled_at_ms + lacking * b->every_ms - now_ms;
}

int64_t slurm_budget_last_hour(struct slurm_budget *b, int64_t now_ms)
{
    int64_t n = 0;

    forget_old_counts(b, now_ms);
    for (int i = 0; i < SLURM_BUDGET_SLOTS; i++)
        n += b->counts[i];
    return n;
}
