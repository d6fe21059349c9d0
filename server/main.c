/* SPDX-License-Identifier: MIT */
/* main.c - ludwigd: options, signals, main */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/capability.h>

#include "common/base/capabilities.h"
#include "common/base/log.h"
#include "common/base/path.h"
#include "server/conn/conn.h"
#include "server/loop/backup.h"
#include "server/loop/lifecycle.h"
#include "server/loop/turn_run.h"
#include "server/pilot/pilotkey.h"
#include "server/share/server_dirs.h"
#include "server/slurm/slurmcall.h"

enum { SIGNALS = 3 };

struct options {
    bool counts_unfinished, is_reading;
    const char *config;
    const char *log_level;
};

static const char help[] =
    "usage: ludwigd --config FILE [--log-level LEVEL]\n"
    "\n"
    "Keeps the queue and hands out jobs. Runs in the foreground, logs to stderr.\n"
    "\n"
    "  --config FILE      read FILE (ludwigd.yaml)\n"
    "  --log-level LEVEL  debug, info (the default), warn or error\n"
    "  --unfinished       print how many sweeps are not over, of a ludwigd that does not run\n"
    "  --reading          answer what is asked, hand out nothing, end with the parent process\n"
    "  --version          print the version\n"
    "  --help             print this\n"
    "\n"
    "SIGTERM stops it; jobs that run go on. SIGUSR1 writes a backup of the database.\n"
    "\n"
    "keys of FILE:\n";

static int print_help(void)
{
    fputs(help, stdout);
    for (const struct key *key = conf_keys; key->name != NULL; key++)
        printf("  %-13s %s\n", key->name, key->help);
    return EXIT_WELL;
}

static int print_version(void)
{
    printf("ludwigd %s (protocol %d)\n", LUDWIG_VERSION, PROTO_VERSION);
    return EXIT_WELL;
}

static int wrong_usage(const char *what)
{
    fprintf(stderr, "ludwigd: %s\nTry 'ludwigd --help'.\n", what);
    return EXIT_USAGE;
}

/* Returns the exit code, or -1: the program goes on. */
static int read_options(int argc, char **argv, struct options *o)
{
    static const struct option long_options[] = { { "config", required_argument, NULL, 'c' },
                                                  { "log-level", required_argument, NULL, 'l' },
                                                  { "unfinished", no_argument, NULL, 'u' },
                                                  { "reading", no_argument, NULL, 'r' },
                                                  { "version", no_argument, NULL, 'V' },
                                                  { "help", no_argument, NULL, 'h' },
                                                  { 0 } };
    int letter;

    while ((letter = getopt_long(argc, argv, "c:h", long_options, NULL)) != -1)
        switch (letter) {
        case 'c': o->config = optarg; break;
        case 'l': o->log_level = optarg; break;
        case 'u': o->counts_unfinished = true; break;
        case 'r': o->is_reading = true; break;
        case 'V': return print_version();
        case 'h': return print_help();
        default: return wrong_usage("wrong option");
        }
    if (optind < argc)
        return wrong_usage("it takes options only");
    if (o->config == NULL)
        return wrong_usage("--config FILE is needed");
    if (log_parse_level(o->log_level) < 0)
        return wrong_usage("--log-level: debug, info, warn or error");
    return -1;
}

/* Raises the limit of descriptors, as far as the machine allows, for CONN_MAX connections and the
 * sockets of a thousand jails. */
static void raise_limits(void)
{
    const rlim_t wanted = CONN_MAX + 2 * 1000 + 100;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < wanted)
        log_event(LOG_WARN, "few-descriptors", "limit", "%lld", (long long)limit.rlim_cur, NULL);
}

/* As examples/systemd/ludwigd.service says; a test compares them. */
static const int kept_capabilities[] = { CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID,
                                         CAP_SETUID, CAP_SETGID,       CAP_KILL };
enum { N_KEPT = sizeof kept_capabilities / sizeof kept_capabilities[0] };

/* Gives up rights of root that ludwigd, which reads what strangers send, never needs. */
static int give_up_rights(struct err *e)
{
    if (geteuid() != 0)
        return 0;
    if (capabilities_keep(kept_capabilities, N_KEPT, true, e) < 0)
        return -1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_sys(e, "let no program get new rights");
    return 0;
}

struct signals {
    struct server *sv;
    uv_signal_t handles[SIGNALS];
    int n; /* of handles that have to be closed */
};

/* A second signal ends ludwigd at once, as it may be waiting for a share that hangs. */
static void on_signal(uv_signal_t *handle, int number)
{
    struct signals *s = handle->data;

    if (number == SIGUSR1) {
        backup_begin(s->sv);
        return;
    }
    for (int i = 0; i < s->n; i++)
        uv_signal_stop(&s->handles[i]);
    server_leave(s->sv, number == SIGTERM ? "SIGTERM" : "SIGINT");
}

static int watch_signals(struct signals *s, struct err *e)
{
    static const int numbers[SIGNALS] = { SIGTERM, SIGINT, SIGUSR1 };
    int rc = 0;

    signal(SIGPIPE, SIG_IGN);
    while (s->n < SIGNALS && rc == 0) {
        uv_signal_t *handle = &s->handles[s->n];

        rc = uv_signal_init(&s->sv->loop, handle);
        if (rc < 0)
            break;
        handle->data = s;
        rc = uv_signal_start(handle, on_signal, numbers[s->n++]);
    }
    return rc < 0 ? err_set(e, ERR_INTERNAL, "signals cannot be watched: %s", uv_strerror(rc)) : 0;
}

static void log_start(const struct server *sv)
{
    log_event(LOG_INFO, "start", "version", "%s", LUDWIG_VERSION, "pid", "%d", (int)getpid(),
              "server", "%s", sv->server_id, "state", "%s", sv->conf.state, "share", "%s",
              sv->conf.share, NULL);
}

static void log_stop(const struct server *sv)
{
    struct turn_stats stats = turn_stats(sv->turn);

    log_event(LOG_INFO, "stop", "turns", "%lld", (long long)stats.turns, "longest_ms", "%g",
              (double)stats.longest_ns / 1e6, NULL);
}

static int serve(struct server *sv, struct err *e)
{
    struct signals signals = { .sv = sv };
    int rc;

    if (server_open(sv, e) < 0)
        return -1;
    log_start(sv);
    rc = watch_signals(&signals, e);
    if (rc == 0)
        rc = server_listen(sv, e);
    if (rc == 0) {
        server_run(sv);
        log_stop(sv);
    }
    for (int i = 0; i < signals.n; i++)
        uv_close((uv_handle_t *)&signals.handles[i], NULL);
    server_close(sv);
    return rc;
}

/* For a client whose server does not run.  One that does keeps the database to itself. */
static int print_unfinished(struct server *sv, struct err *e)
{
    char *path = path_join(sv->conf.state, "ludwig.db");
    int fd = server_dirs_state(sv->conf.state, e);
    int64_t n = 0;
    int rc = -1;

    sv->db = fd < 0 ? NULL : db_open(path, e);
    if (sv->db != NULL)
        rc = db_get(sv->db, e, SQL_SWEEPS_UNFINISHED, ">i", &n);
    if (rc >= 0)
        printf("%lld\n", (long long)n);
    db_close(sv->db);
    if (fd >= 0)
        close(fd);
    conf_free(&sv->conf);
    free(path);
    return rc < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
    struct options options = { .log_level = "info" };
    struct server sv = { 0 };
    struct err e = { 0 };
    int code;

    if (argc > 3 && strcmp(argv[1], SLURM_CALL_AS) == 0)
        return slurm_call_become(argv + 2);
    if (argc == 2 + PILOTKEY_WORDS && strcmp(argv[1], PILOTKEY_OPTION) == 0)
        return pilotkey_main(argv + 2);
    code = read_options(argc, argv, &options);
    if (code >= 0)
        return code;
    sv.is_reading = options.is_reading;
    if (options.is_reading && prctl(PR_SET_PDEATHSIG, SIGTERM) < 0)
        return wrong_usage("--reading: it could not be told when its parent ends");
    umask(022);
    raise_limits();
    log_set_level((enum log_level)log_parse_level(options.log_level));
    if (conf_read(options.config, &sv.conf, &e) < 0 || give_up_rights(&e) < 0 ||
        (options.counts_unfinished ? print_unfinished(&sv, &e) : serve(&sv, &e)) < 0) {
        fprintf(stderr, "ludwigd: %s\n", e.text);
        return (int)err_exit_code(e.kind);
    }
    return EXIT_WELL;
}
