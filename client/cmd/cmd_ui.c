/* SPDX-License-Identifier: MIT */
/* cmd_ui.c - ludwig ui */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/query/pages.h"
#include "client/query/selector.h"
#include "client/session/session.h"
#include "client/term/interrupt.h"
#include "client/term/output.h"
#include "client/ui/http.h"
#include "client/ui/live.h"
#include "client/util/child.h"
#include "common/base/io.h"
#include "common/proto/unixsocket.h"

struct options {
    bool no_browser;
    int64_t port;
};

static const struct opt options[] = {
    { "no-browser", 0, OPT_FLAG, NULL, offsetof(struct options, no_browser), 0, 0,
      "only print the address" },
    { "port", 0, OPT_INT, "N", offsetof(struct options, port), 1, 65535,
      "listen on this port of 127.0.0.1; default: any that is free" },
    { 0 },
};

/* ---- the browser ---- */

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0';
}

/* The program that opens a file, with its path; NULL: this machine shows no browser to the user. */
static char *find_opener(void)
{
#ifdef __APPLE__
    return is_set("SSH_CONNECTION") ? NULL : child_find("open");
#else
    if (is_set("SSH_CONNECTION") || (!is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY")))
        return NULL;
    return child_find("xdg-open");
#endif
}

/*
 * Everybody on this machine sees the words of a command, and the address has the token: the browser
 * is given a file that only the user may read, and that leads there.  NULL: it could not be written.
 */
static char *write_door(const char *address)
{
    char *folder = conf_cache_dir(), *path = mem_printf("%s/ui-%ld.html", folder, (long)getpid());
    struct buf html = { 0 };
    int result;

    buf_printf(
        &html,
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n"
        "<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n<title>ludwig</title>\n"
        "<a href=\"%s\">ludwig ui</a>\n",
        address, address);
    result = io_make_dirs(folder, 0700, NULL);
    if (result == 0)
        result = io_replace_file(path, buf_text(&html), html.n, 0600, NULL);
    buf_free(&html);
    free(folder);
    if (result == 0)
        return path;
    free(path);
    return NULL;
}

/* Whether a browser is about to show the page.  *door: a file to remove at the end, or NULL. */
static bool open_browser(const char *address, char **door)
{
    char *opener = find_opener();
    const char *argv[] = { opener, NULL, NULL };
    bool is_open = false;

    *door = opener != NULL ? write_door(address) : NULL;
    argv[1] = *door;
    if (*door != NULL)
        is_open = child_start_daemon(argv, "/dev/null", NULL) > 0;
    free(opener);
    return is_open;
}

/* Prints how the page is reached from the machine in front of which the user sits. */
static void say_way(int port)
{
    const char *connection = getenv("SSH_CONNECTION"); /* client, its port, this machine, port */
    const struct passwd *account = getpwuid(geteuid());
    char *host = unixsocket_host();
    struct buf at = { 0 };

    if (connection != NULL) {
        for (int i = 0; i < 2 && connection != NULL; i++) {
            connection = strchr(connection, ' ');
            connection = connection != NULL ? connection + 1 : NULL;
        }
        if (connection != NULL)
            buf_add(&at, connection, strcspn(connection, " "));
    }
    output_note("on the machine with the browser: ssh -N -L %d:127.0.0.1:%d %s%s%s", port, port,
                account != NULL ? account->pw_name : "", account != NULL ? "@" : "",
                at.n > 0 ? buf_text(&at) : host);
    output_note("then open that address there");
    buf_free(&at);
    free(host);
}

/* ---- the command ---- */

/* Serves the page until Ctrl-C. */
static int serve(struct http *http, struct live *live, int interrupt_fd, struct err *e)
{
    for (;;) {
        struct pollfd interrupt = { .fd = interrupt_fd, .events = POLLIN };
        int fds[] = { interrupt_fd, -1 };

        if (live_step(live))
            http_wake(http);
        if (http_serve(http, e) < 0)
            return -1;
        fds[1] = live_fd(live);
        if (http_wait(http, fds, 2, live_patience_ms(live), e) < 0)
            return -1;
        if (poll(&interrupt, 1, 0) > 0)
            return 0;
    }
}

static int show(struct session *s, const struct options *o, const struct list *sweeps,
                int interrupt_fd, struct err *e)
{
    int64_t *chosen = arena_alloc(s->arena, (sweeps->n + 1) * sizeof *chosen);
    struct buf address = { 0 }, line = { 0 };
    char hex[TOKEN_HEX], *door = NULL;
    struct http *http = NULL;
    struct live *live;
    struct token token;
    int result = -1;

    for (size_t i = 0; i < sweeps->n; i++)
        chosen[i] = ((const struct target *)sweeps->items)[i].sweep;
    token_make(&token);
    token_hex(&token, hex);
    live = live_open(s, chosen, sweeps->n, interrupt_fd, e);
    if (live != NULL)
        http = http_open(o->port == OPT_UNSET ? 0 : (int)o->port, &token, live_answer, live, e);
    if (http != NULL) {
        buf_printf(&address, "http://127.0.0.1:%d/?token=%s", http_port(http), hex);
        if (sweeps->n == 1)
            buf_printf(&address, "&sweep=%" PRId64, chosen[0]);
        buf_printf(&line, "%s\n", buf_text(&address));
        result = output_write(&line, e);
        if (result == 0 && (o->no_browser || !open_browser(buf_text(&address), &door)))
            say_way(http_port(http));
        if (result == 0)
            output_note("Ctrl-C ends it; the jobs go on");
        if (result == 0)
            result = serve(http, live, interrupt_fd, e);
    }
    if (door != NULL)
        (void)unlink(door);
    free(door);
    http_close(http);
    live_close(live);
    buf_free(&address);
    return result;
}

static int run_ui(struct cli *cli, struct err *e)
{
    struct list sweeps = { 0 };
    struct session s;
    int result = 0, interrupt_fd;

    if (selector_check(&cli->args, e) < 0 || session_open(cli, &s, e) < 0)
        return -1;
    if (cli->args.n > 0)
        result = selector_sweeps(&s.rpc, &cli->args, cli->arena, &sweeps, e);
    for (size_t i = 0; i < sweeps.n && result == 0; i++) {
        struct sweep_info info;

        result = pages_sweep(&s.rpc, ((const struct target *)sweeps.items)[i].sweep, &info, e);
    }
    interrupt_fd = result == 0 ? interrupt_open(e) : -1;
    result = interrupt_fd < 0 ? -1 : show(&s, cli->options, &sweeps, interrupt_fd, e);
    session_close(&s);
    if (interrupt_fd >= 0)
        interrupt_close(interrupt_fd);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_ui = {
    .name = "ui",
    .args = "[SWEEP]... [OPTION]...",
    .help = "show sweeps in a browser while they run: curves, jobs, logs, nodes",
    .more = "The page of `ludwig results --html`, live, with logs that can be followed, and\n"
            "with pause, cancel, retry and drain. SWEEP is a number, last, or all: all your\n"
            "unfinished sweeps; the default is your newest ones.\n"
            "It is served on 127.0.0.1 of this machine as long as the command runs, to\n"
            "whoever has the address that it prints: keep that to yourself.\n"
            "On a login node it prints the ssh command that brings the page to your own\n"
            "machine.\n"
            "\n"
            "  ludwig ui\n"
            "  ludwig ui 7 --no-browser --port 8765\n",
    .max_args = ARGS_ANY,
    .options = options,
    .options_size = sizeof(struct options),
    .run = run_ui,
};
