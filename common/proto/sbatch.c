/* SPDX-License-Identifier: MIT */
/* sbatch.c - checks a user's text before it becomes an argument of sbatch */

#include "common/proto/sbatch.h"

#include <stddef.h>
#include <string.h>

#include "common/proto/jobspec.h"

enum { VALUE_MAX_BYTES = 4096 };

/* Options that are refused in extra:, and why. */
static const struct {
    const char *name; /* without the dashes */
    const char *why;
} reserved[] = {
    { "partition", "partition: is for that" },
    { "account", "account: is for that" },
    { "qos", "qos: is for that" },
    { "constraint", "constraint: is for that" },
    { "gres", "gres: is for that" },
    { "exclude", "exclude: is for that" },
    { "array", "ludwig sets it" },
    { "chdir", "ludwig sets it" },
    { "error", "ludwig sets it" },
    { "export", "ludwig sets it" },
    { "export-file", "ludwig sets it" },
    { "input", "ludwig sets it" },
    { "job-name", "ludwig sets it" },
    { "nodes", "a pilot has one node" },
    { "no-requeue", "ludwig sets it" },
    { "ntasks", "a pilot is one task" },
    { "open-mode", "ludwig sets it" },
    { "output", "ludwig sets it" },
    { "parsable", "ludwig sets it" },
    { "requeue", "ludwig sets it" },
    { "signal", "checkpoint: is for that" },
    { "wrap", "ludwig sets it" },
    { "cluster", "the server's own cluster is used" },
    { "clusters", "the server's own cluster is used" },
    { "gid", "pilots run as you" },
    { "uid", "pilots run as you" },
    { "help", "it starts nothing" },
    { "quiet", "ludwig reads what sbatch says" },
    { "test-only", "it starts nothing" },
    { "usage", "it starts nothing" },
    { "verbose", "ludwig reads what sbatch says" },
    { "version", "it starts nothing" },
    { "wait", "sbatch would not come back" },
};

/* Options that sbatch accepts without a value. */
static const char *const flags[] = { "contiguous",    "exclusive",    "get-user-env", "hold",
                                     "ignore-pbs",    "nice",         "no-kill",      "overcommit",
                                     "oversubscribe", "propagate",    "reboot",       "spread-job",
                                     "stepmgr",       "use-min-nodes" };

static bool has_control(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == '\x7f')
            return true;
    return false;
}

int sbatch_check_extra(const char *option, struct err *e)
{
    const char *name = option + 2;
    size_t n;

    if (strncmp(option, "--", 2) != 0)
        return err_set(e, ERR_USAGE, "'%s' does not begin with -- (write --name=value)", option);
    n = strcspn(name, "= ");
    if (n == 0 || has_control(option) || name[n] == ' ' || strlen(option) > VALUE_MAX_BYTES)
        return err_set(e, ERR_USAGE, "'%.200s' is no option (write --name=value)", option);
    /* sbatch accepts a prefix of a name: --out for --output. */
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strncmp(reserved[i].name, name, n) == 0)
            return err_set(e, ERR_USAGE, "--%s cannot stand here: %s", reserved[i].name,
                           reserved[i].why);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(flags[i], name) == 0)
            return 0;
    if (name[n] == '\0')
        return err_set(e, ERR_USAGE, "%s has no value (write %s=value)", option, option);
    return 0;
}

bool sbatch_is_word(const char *text)
{
    size_t n = strlen(text);

    return n > 0 && n <= VALUE_MAX_BYTES && text[0] != '-' && !has_control(text);
}

bool sbatch_is_partition(const char *name)
{
    return sbatch_is_word(name) && strlen(name) <= NAME_MAX_BYTES &&
           strpbrk(name, ", \t'\"\\") == NULL;
}
