/* SPDX-License-Identifier: MIT */
/* main.c - ludwig-worker: the agent, or one of its children */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "common/base/account.h"
#include "common/connect/mux.h"
#include "worker/agent/probes.h"
#include "worker/base/child_start.h"
#include "worker/base/confine.h"
#include "worker/base/process_tree.h"
#include "worker/janitor/janitor.h"
#include "worker/janitor/peek.h"
#include "worker/janitor/user_scratch.h"
#include "worker/loop/lifecycle.h"
#include "worker/loop/pilot.h"
#include "worker/node/pilot_cleanup.h"
#include "worker/publisher/publish_leftover.h"
#include "worker/publisher/publisher.h"
#include "worker/runner/runner.h"
#include "worker/runner/staged_env.h"
#include "worker/stager/share_packer.h"
#include "worker/stager/stager.h"

static const char usage[] =
    "usage: ludwig-worker [--config FILE] [--server ADDRESS]\n"
    "       ludwig-worker pilot --server ADDRESS[,ADDRESS...] [--pilot TOKEN] [--idle MS]\n"
    "       ludwig-worker clean [SCRATCH]\n"
    "\n"
    "Runs jobs for ludwigd on this machine, in the foreground; logs to stderr.\n"
    "SIGTERM ends it; jobs that run go on, and the next ludwig-worker takes them over.\n"
    "\n"
    "  --config FILE      its settings (worker.yaml)\n"
    "  --server ADDRESS   of ludwigd, before the one in the settings, which are not needed\n"
    "                     then: unix:/path/server.sock or ssh://[user@]host[:port]\n"
    "  pilot              be a worker inside a Slurm job, until there is nothing more to do: the\n"
    "                     one command of the batch scripts that ludwigd submits\n"
    "  clean              remove what pilots that were killed have left on this machine, and print\n"
    "                     it; their results are published before\n"
    "  --version          print the version\n"
    "  --help             print this\n";

static int mux_part_main(int argc, char **argv)
{
    struct err e = { 0 };

    (void)argc;
    /* Orphaned couriers become our children: the agent ends strangers among its own. */
    if (process_tree_become_reaper(&e) < 0)
        return child_fail("ssh", &e);
    return mux_main(CHILD_CHANNEL_FD, argv[1]);
}

static int leftovers_main(int argc, char **argv)
{
    static const struct pilot_cleanup how = { .publish = publish_leftover };

    return pilot_cleanup_main(argc, argv, &how);
}

/* The parts of this program that only the agent and its children start, with names for ps(1). */
static const struct part {
    const char *option;
    const char *process_name;
    int n_args; /* -N: N or more */
    int (*run)(int argc, char **argv);
} parts[] = {
    { CHILD_RUNNER, "ludwig-runner", 2, runner_main },
    { CHILD_STAGER, "ludwig-stager", 2, stager_main },
    { CHILD_PUBLISHER, "ludwig-publish", 2, publisher_main },
    { CHILD_JANITOR, "ludwig-janitor", 1, janitor_main },
    { CHILD_PACKER, "ludwig-packer", 1, share_packer_main },
    { CHILD_ACCOUNT, "ludwig-account", 4, user_scratch_main },
    { CHILD_GPUS, "ludwig-gpus", 0, gpu_probe_main },
    { CHILD_SHARE, "ludwig-share", 2, share_probe_main },
    { CHILD_LEFTOVERS, "ludwig-leftover", 3, leftovers_main },
    { CHILD_PEEK, "ludwig-peek", 1, peek_main },
    { CHILD_MUX, "ludwig-ssh", 1, mux_part_main },
    { CHILD_ENVIRONMENT, "ludwig-env", -(STAGED_ENV_ARGUMENTS + 1), staged_env_main },
};

static const struct part *find_part(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (argc > 1 && strcmp(argv[1], parts[i].option) == 0 &&
            (parts[i].n_args < 0 ? argc >= 2 - parts[i].n_args : argc == 2 + parts[i].n_args))
            return &parts[i];
    return NULL;
}

static int refuse_word(const char *argument)
{
    if (argument == NULL)
        fprintf(stderr, "ludwig-worker: --config FILE or --server ADDRESS is missing\n");
    else
        fprintf(stderr, "ludwig-worker: unexpected argument '%s'\n", argument);
    fprintf(stderr, "Try: ludwig-worker --help\n");
    return EXIT_USAGE;
}

static int run_agent(char **argv)
{
    bool is_pilot = argv[1] != NULL && strcmp(argv[1], PILOT_AGENT) == 0;
    struct options options;
    const char *wrong = options_read(argv + 1 + is_pilot, is_pilot, &options);

    if (wrong != NULL || (options.conf_path == NULL && options.servers == NULL))
        return refuse_word(wrong);
    prctl(PR_SET_NAME, "ludwig-worker", 0, 0, 0);
    return lifecycle_run(&options, argv);
}

static int run_pilot(char **words)
{
    struct options options;
    const char *wrong = options_read(words, true, &options);

    if (wrong != NULL || (options.conf_path == NULL && options.servers == NULL))
        return refuse_word(wrong);
    return pilot_main(&options);
}

static int run_part(const struct part *part, int argc, char **argv)
{
    prctl(PR_SET_NAME, part->process_name, 0, 0, 0);
    return part->run(argc - 1, argv + 1);
}

static void tell_folder(const char *folder)
{
    puts(folder);
}

/* For `ludwig doctor --clean`: removes pilots' leftovers and prints the folders' paths. */
static int run_clean(const char *scratch)
{
    static const struct pilot_cleanup how = { .publish = publish_leftover,
                                              .address = "",
                                              .tell = tell_folder };
    struct err e = { 0 };

    if (pilot_cleanup_here(scratch, &how, &e) == 0)
        return EXIT_WELL;
    fprintf(stderr, "ludwig-worker: %s\n", e.text);
    return (int)err_exit_code(e.kind);
}

/* Confines "--as RIGHTS --runner SCRATCH CONFINEMENT" while this process is still root. */
static int confine_runner(char **argv, struct err *e)
{
    struct confine c;

    if (confine_read(argv[5], &c, e) < 0)
        return -1;
    return confine_as_root(&c, (uid_t)strtoul(argv[2], NULL, 10), argv[4], e);
}

/* For "--as RIGHTS --stager SCRATCH ADDRESS", which builds environments by the user's programs. */
static const struct confine of_stager = { 1, 0, 0, CONFINE_UNSET, CONFINE_UNSET };

static int confine_stager(char **argv, struct confine *c, struct err *e)
{
    *c = of_stager;
    confine_fill(c, true);
    return confine_as_root(c, (uid_t)strtoul(argv[2], NULL, 10), argv[4], e);
}

/* Takes "--as RIGHTS", and then a part. */
static int run_part_as(int argc, char **argv)
{
    const struct part *part = find_part(argc - 2, argv + 2);
    struct confine c;
    struct err e = { 0 };

    if (part == NULL)
        return refuse_word(CHILD_AS);
    if (part->run != runner_main)
        confine_helper();
    if ((part->run == runner_main && confine_runner(argv, &e) < 0) ||
        (part->run == stager_main && confine_stager(argv, &c, &e) < 0) ||
        account_become(argv[2], &e) < 0 ||
        (part->run == stager_main && confine_self(&c, argv[4], &e) < 0))
        return child_fail(part->process_name, &e);
    return run_part(part, argc - 2, argv + 2);
}

int main(int argc, char **argv)
{
    const struct part *part = find_part(argc, argv);

    if (part != NULL)
        return run_part(part, argc, argv);
    if (argc > 3 && strcmp(argv[1], CHILD_AS) == 0)
        return run_part_as(argc, argv);
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("ludwig-worker %s\n", LUDWIG_VERSION);
        return EXIT_WELL;
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return EXIT_WELL;
    }
    if ((argc == 2 || argc == 3) && strcmp(argv[1], "clean") == 0)
        return run_clean(argv[2]);
    if (argc > 1 && strcmp(argv[1], PILOT_COMMAND) == 0)
        return run_pilot(argv + 2);
    return run_agent(argv);
}
