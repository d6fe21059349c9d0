/* SPDX-License-Identifier: MIT */
/* main.c - ludwig-worker: the agent, or one of its children */

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "worker/agent.h"
#include "worker/children.h"
#include "worker/clerk.h"
#include "worker/publisher.h"
#include "worker/runner.h"
#include "worker/stager.h"

static const char usage[] =
    "usage: ludwig-worker --config FILE\n"
    "\n"
    "Runs jobs for ludwigd on this machine, in the foreground; logs to stderr.\n"
    "SIGTERM ends it; jobs that run go on, and the next ludwig-worker takes them over.\n"
    "\n"
    "  --config FILE   its settings (worker.yaml)\n"
    "  --version       print the version\n"
    "  --help          print this\n";

static int gpus_main(int argc, char **argv)
{
    (void)argc, (void)argv;
    return gpu_print();
}

/* Started by the agent only.  Each has a name of its own for ps(1). */
static const struct part {
    const char *option;
    const char *process_name;
    int n_args;
    int (*run)(int argc, char **argv);
} parts[] = {
    { CHILD_RUNNER, "ludwig-runner", 1, runner_main },
    { CHILD_STAGER, "ludwig-stager", 1, stager_main },
    { CHILD_PUBLISHER, "ludwig-publish", 1, publisher_main },
    { CHILD_CLERK, "ludwig-clerk", 1, clerk_main },
    { CHILD_GPUS, "ludwig-gpus", 0, gpus_main },
};

static const struct part *find_part(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (argc == 2 + parts[i].n_args && strcmp(argv[1], parts[i].option) == 0)
            return &parts[i];
    return NULL;
}

static int refuse(const char *argument)
{
    if (argument == NULL)
        fprintf(stderr, "ludwig-worker: --config FILE is missing\n");
    else
        fprintf(stderr, "ludwig-worker: unexpected argument '%s'\n", argument);
    fprintf(stderr, "Try: ludwig-worker --help\n");
    return EXIT_USAGE;
}

/* "--config FILE" or "--config=FILE", and nothing else. */
static const char *config_of(int argc, char **argv)
{
    static const char option[] = "--config=";

    if (argc == 3 && strcmp(argv[1], "--config") == 0)
        return argv[2];
    if (argc == 2 && strncmp(argv[1], option, sizeof option - 1) == 0)
        return argv[1] + sizeof option - 1;
    return NULL;
}

int main(int argc, char **argv)
{
    const struct part *part = find_part(argc, argv);
    const char *config = config_of(argc, argv);

    if (part != NULL) {
        prctl(PR_SET_NAME, part->process_name, 0, 0, 0);
        return part->run(argc - 1, argv + 1);
    }
    if (config != NULL) {
        prctl(PR_SET_NAME, "ludwig-worker", 0, 0, 0);
        return agent_main(config, argv);
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("ludwig-worker %s\n", LUDWIG_VERSION);
        return EXIT_WELL;
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return EXIT_WELL;
    }
    return refuse(argc < 2 ? NULL : argv[1]);
}
