/* SPDX-License-Identifier: MIT */
/* watch.c - shows sweeps on the whole screen of a terminal: ludwig watch */
#include "client/watch/watch.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/query/pages.h"
#include "client/session/sweep_wait.h"
#include "client/term/output.h"
#include "client/term/progress.h"
#include "client/watch/feed.h"
#include "client/watch/keys.h"
#include "client/watch/terminal.h"
#include "client/watch/view.h"
#include "common/base/units.h"

enum {
    TICK_MS = 1000,      /* the screen is painted, as running times grow, if nothing else changes */
    PAINT_EVERY_MS = 50, /* changes are painted no more often; keys are answered at once */
    SIGNAL_CODE = 128
};

struct watcher {
    struct feed feed;
    struct watch_model model;
    int64_t painted_at_ms;
    bool is_stale;
};

static void paint(struct watcher *w)
{
    struct view_look look = { .has_utf8 = output_has_utf8(),
                              .now_ms = units_now_ms(),
                              .tick_ms = units_monotonic_ms() };
    size_t column, row;
    struct canvas *c;

    terminal_size(&look.columns, &look.rows);
    c = canvas_create(look.columns, look.rows, look.has_utf8);
    (void)pthread_mutex_lock(&w->feed.turn);
    view_draw(&w->model, c, &look, &column, &row);
    (void)pthread_mutex_unlock(&w->feed.turn);
    terminal_show(c, column, row);
    canvas_destroy(c);
    w->painted_at_ms = look.tick_ms;
    w->is_stale = false;
}

/* Takes all keys that were pressed; returns whether there were any. */
static bool take_keys(struct watcher *w)
{
    bool was_pressed = false;
    int key;

    while ((key = terminal_key()) >= 0) {
        was_pressed = true;
        (void)pthread_mutex_lock(&w->feed.turn);
        model_settle(&w->model);
        keys_press(&w->model, key);
        (void)pthread_mutex_unlock(&w->feed.turn);
    }
    if (was_pressed)
        feed_wake(&w->feed);
    return was_pressed;
}

static int time_left_ms(const struct watcher *w)
{
    int64_t every_ms = w->is_stale ? PAINT_EVERY_MS : TICK_MS;
    int64_t left_ms = w->painted_at_ms + every_ms - units_monotonic_ms();

    return left_ms > 0 ? (int)left_ms : 0;
}

/* Runs until the user ends it or all is over: 0; or the number of the signal that ended it. */
static int run(struct watcher *w)
{
    bool is_over = false;
    int end = 0;

    paint(w);
    while (end == 0 && !is_over) {
        struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                                { .fd = terminal_signal_fd(), .events = POLLIN },
                                { .fd = w->feed.news_fd, .events = POLLIN } };
        int n = poll(fds, 3, time_left_ms(w));
        char bytes[64];

        if (n < 0 && errno != EINTR)
            break;
        if (fds[1].revents != 0) {
            end = terminal_take_signals();
            w->is_stale = true;
            w->painted_at_ms = 0;
        }
        if (n > 0 && fds[2].revents != 0) {
            while (read(w->feed.news_fd, bytes, sizeof bytes) > 0)
                ;
            w->is_stale = true;
        }
        /* Even if poll has found no input: ncurses may have read ahead. */
        if (take_keys(w))
            w->painted_at_ms = 0;
        if ((fds[0].revents & (POLLHUP | POLLERR)) != 0 && end == 0)
            end = SIGNAL_CODE; /* the terminal is gone */
        (void)pthread_mutex_lock(&w->feed.turn);
        is_over = w->model.is_over || w->model.wants_end;
        (void)pthread_mutex_unlock(&w->feed.turn);
        if (end == 0 && !is_over && time_left_ms(w) == 0)
            paint(w);
    }
    return end;
}

/* Says on the terminal how the sweeps stand; returns the exit code, which says it, too. */
static int say_end(const struct watcher *w, int signal)
{
    int code = EXIT_WELL, going = 0;

    for (size_t i = 0; i < w->model.n_sweeps; i++) {
        const struct sweep_info *s = &w->model.sweeps[i].info;

        if (s->user == NULL || !progress_has_stopped(s))
            going++;
        else if (sweep_wait_say_end(s) != EXIT_WELL)
            code = EXIT_FAILED;
    }
    if (going > 0)
        output_note("the jobs go on");
    return signal != 0 ? EXIT_INTERRUPTED : code;
}

static int begin(struct watcher *w, struct session *session, const struct list *targets, bool all,
                 struct err *e)
{
    const struct target *items = targets->items;
    struct rpc *rpc = &session->rpc;

    w->feed = (struct feed){ .session = session, .model = &w->model, .watches_all = all };
    w->model.who = session->choice.embedded
                       ? mem_strdup(rpc->welcome.user)
                       : mem_printf("%s on %s", rpc->welcome.user, rpc->to.text);
    for (size_t i = 0; i < targets->n; i++) {
        struct watch_sweep *s = model_sweep(&w->model, items[i].sweep);
        struct sweep_info info;

        if (pages_sweep(rpc, items[i].sweep, &info, e) < 0)
            return -1;
        model_take_sweep(s, &info);
        s->may_see =
            rpc->welcome.admin || (info.user != NULL && pages_is_of(info.user, rpc->welcome.user));
    }
    return feed_begin(&w->feed, e);
}

int watch_screen(struct session *session, const struct list *targets, bool all, struct err *e)
{
    struct watcher *w = mem_alloc(sizeof *w);
    int signal, code;

    model_init(&w->model);
    if (begin(w, session, targets, all, e) < 0) {
        model_free(&w->model);
        free(w);
        return -1;
    }
    if (terminal_open(e) < 0) {
        if (feed_end(&w->feed))
            model_free(&w->model);
        return -1;
    }
    signal = run(w);
    terminal_close();
    if (!feed_end(&w->feed)) {
        output_note("the jobs go on");
        _exit(signal != 0 ? EXIT_INTERRUPTED : EXIT_WELL);
    }
    session->rpc.interrupt_fd = -1;
    code = w->model.end.kind != ERR_NONE && !w->model.wants_end && signal == 0
               ? err_set(e, w->model.end.kind, "%s", w->model.end.text)
               : say_end(w, signal);
    model_free(&w->model);
    free(w);
    return code;
}
