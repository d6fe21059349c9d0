/* SPDX-License-Identifier: MIT */
/* checkpoint_signal.c - asks a job to save its state, and finds out whether it has done so */

#include "worker/runner/checkpoint_signal.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/units.h"
#include "worker/base/process_tree.h"

enum { STATUS_MAX_BYTES = 64 * 1024, CMDLINE_MAX_BYTES = 4 * 1024 * 1024 };

static const struct {
    const char *name;
    int number;
} names[] = {
    { "HUP", SIGHUP },   { "INT", SIGINT },     { "QUIT", SIGQUIT }, { "ABRT", SIGABRT },
    { "KILL", SIGKILL }, { "USR1", SIGUSR1 },   { "USR2", SIGUSR2 }, { "PIPE", SIGPIPE },
    { "ALRM", SIGALRM }, { "TERM", SIGTERM },   { "CHLD", SIGCHLD }, { "CONT", SIGCONT },
    { "STOP", SIGSTOP }, { "TSTP", SIGTSTP },   { "TTIN", SIGTTIN }, { "TTOU", SIGTTOU },
    { "URG", SIGURG },   { "XCPU", SIGXCPU },   { "XFSZ", SIGXFSZ }, { "VTALRM", SIGVTALRM },
    { "PROF", SIGPROF }, { "WINCH", SIGWINCH }, { "IO", SIGIO },     { "PWR", SIGPWR },
};

int checkpoint_signal_number(const char *name)
{
    if (strncmp(name, "SIG", 3) == 0)
        name += 3;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i].name) == 0)
            return names[i].number;
    return 0;
}

bool checkpoint_signal_catches(const char *status, int signal)
{
    static const char mask[] = "\nSigCgt:";
    const char *at = strstr(status, mask);

    return at != NULL && (strtoull(at + strlen(mask), NULL, 16) >> (signal - 1) & 1) != 0;
}

/* ---- the processes ---- */

static bool run_the_same(pid_t x, pid_t y)
{
    struct buf of_x = { 0 }, of_y = { 0 };
    bool same;

    (void)process_read(x, "cmdline", CMDLINE_MAX_BYTES, &of_x);
    (void)process_read(y, "cmdline", CMDLINE_MAX_BYTES, &of_y);
    same = of_x.n > 0 && of_x.n == of_y.n && memcmp(of_x.bytes, of_y.bytes, of_x.n) == 0;
    buf_free(&of_x);
    buf_free(&of_y);
    return same;
}

size_t checkpoint_signal_ask(int signal, pid_t except)
{
    size_t n, asked = 0;
    struct process_tree_process *all = process_tree_list(&n);
    bool *catching = mem_alloc(n * sizeof *catching), *heirs = mem_alloc(n * sizeof *heirs);

    /* Looks at all processes before it asks any: a process that is asked may end at once. */
    for (size_t i = 0; i < n; i++) {
        struct buf status = { 0 };
        size_t parent = 0; /* parents come before their children */

        (void)process_read(all[i].pid, "status", STATUS_MAX_BYTES, &status);
        catching[i] = all[i].pid != except && checkpoint_signal_catches(buf_text(&status), signal);
        buf_free(&status);
        while (parent < i && all[parent].pid != all[i].parent)
            parent++;
        heirs[i] = catching[i] && parent < i && catching[parent] &&
                   run_the_same(all[i].pid, all[i].parent);
    }
    for (size_t i = 0; i < n; i++)
        asked += catching[i] && !heirs[i] && process_tree_signal_one(all[i].pid, signal);
    free(all);
    free(catching);
    free(heirs);
    return asked;
}

enum { SHORTLY_MS = 1000, NS_PER_MS = 1000 * 1000 };

static bool take_snapshot(struct checkpoint_snapshot *s, const struct scratch *scratch,
                          const char *hex)
{
    char *path = mem_printf("%s/" JOB_CHECKPOINT, hex);
    int fd = io_open_dir_at(scratch->run_fd, path, NULL);
    bool is_taken;

    *s = (struct checkpoint_snapshot){ .n = 0 };
    is_taken = fd >= 0 && checkpoint_snapshot_take(s, fd, NULL) == 0;
    if (fd >= 0)
        close(fd);
    free(path);
    return is_taken;
}

void checkpoint_signal_begin(struct checkpoint_request *a, const struct scratch *s, const char *hex)
{
    checkpoint_signal_free(a);
    a->at_ms = units_now_ms();
    a->is_known = take_snapshot(&a->before, s, hex);
}

bool checkpoint_signal_was_obeyed(const struct checkpoint_request *a, const struct scratch *s,
                                  const char *hex)
{
    struct checkpoint_snapshot now;
    bool has, is_known = a->is_known && take_snapshot(&now, s, hex);

    if (!is_known)
        return true;
    has = !checkpoint_snapshot_is_untouched(&a->before, &now);
    for (size_t i = 0; i < now.n; i++)
        has |= now.entries[i].type == CHECKPOINT_FILE &&
               now.entries[i].changed_ns / NS_PER_MS >= a->at_ms - SHORTLY_MS;
    checkpoint_snapshot_free(&now);
    return has;
}

void checkpoint_signal_free(struct checkpoint_request *a)
{
    if (a->is_known)
        checkpoint_snapshot_free(&a->before);
    *a = (struct checkpoint_request){ .is_known = false };
}
