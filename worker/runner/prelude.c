/* SPDX-License-Identifier: MIT */
/* prelude.c - what a job's shell does before it runs the command */

#include "worker/runner/prelude.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/utf8.h"
#include "worker/base/job_spawn.h"
#include "worker/base/shell_modules.h"

#define JOB_TROUBLE "trouble"

/* ---- scripts, for any shell ---- */

static const char begin[] = "ludwig_to=$PWD/../" JOB_TROUBLE "\n"
                            "ludwig_fails() {\n"
                            "printf '%s\\n' \"$1\" \"$2\" >\"$ludwig_to\"\n"
                            "printf 'ludwig: %s\\n' \"$2\" >&2\n"
                            "exit 1\n"
                            "}\n";

/* `look` takes as $1 the environment's folder, $2 the text where it is missing, $3 the text where
 * its interpreter is; behind these come the arguments of shell_modules_load. */
enum { SCRIPT_ARGUMENTS = 6 };

static const char look[] =
    "[ -d \"$1/bin\" ] || ludwig_fails environment \"$2\"\n"
    "for ludwig_x in \"$1/bin/python3\" \"$1/bin/python\"; do\n"
    "[ ! -h \"$ludwig_x\" ] || [ -x \"$ludwig_x\" ] ||\n"
    "ludwig_fails environment \"$3 $(readlink -f \"$ludwig_x\" || readlink \"$ludwig_x\")\"\n"
    "done\n";

/* Makes a shell that ends before the end of setup: say so; left out if setup: sets traps itself. */
static const char guard[] =
    "ludwig_ends() {\n"
    "ludwig_x=$?\n"
    "ludwig_fails failed \"setup: ${BASH_COMMAND:-a line of it} ended it with exit code $ludwig_x,"
    " so the command was not run\"\n"
    "}\n"
    "trap ludwig_ends EXIT\n";

static const char unguard[] = "trap - EXIT\n"
                              "unset -f ludwig_ends\n";

static const char end[] = "unset ludwig_to ludwig_x ludwig_was ludwig_path ludwig_module\n"
                          "unset -f ludwig_fails\n";

/* ---- putting them together ---- */

bool prelude_is_needed(const struct jobspec *w)
{
    return w->setup != NULL || w->environment.path != NULL || w->environment.modules.n > 0;
}

/* A line of setup: that fails ends the shell; one of the command only if setup: says `set -e`. */
static void add_setup(const struct jobspec *w, struct buf *text)
{
    bool has_traps = strstr(w->setup, "trap") != NULL;

    buf_printf(text, "%sset -e\n%s\n%s%s", has_traps ? "" : guard, w->setup,
               strstr(w->setup, "set -e") != NULL ? "" : "set +e\n", has_traps ? "" : unguard);
}

const char *prelude_host(struct arena *a)
{
    char host[HOST_NAME_MAX + 1] = "this machine";

    (void)gethostname(host, sizeof host - 1);
    return arena_strdup(a, host);
}

static const char *join_paths(const struct list *paths, struct arena *a)
{
    const char *const *items = paths->items;
    struct buf text = { 0 };

    for (size_t i = 0; i < paths->n; i++)
        buf_printf(&text, "%s%s", i > 0 ? ":" : "", items[i]);
    return buf_to_arena(&text, a);
}

/* Fills in the scripts' arguments, modules last. */
static void add_arguments(const struct environment *x, char **to, struct arena *a)
{
    static const char way_out[] =
        "environment: none in the sweep file takes the node's own, {stage: true} brings this one";
    const char *host = prelude_host(a), *path = x->path != NULL ? x->path : "";
    const char *const *modules = x->modules.items;
    size_t n = 0;

    to[n++] = arena_strdup(a, path);
    to[n++] = x->was_active
                  ? arena_printf(a,
                                 "the environment %s was active when you submitted; %s does not "
                                 "have it (%s)",
                                 path, host, way_out)
                  : arena_printf(a, "the sweep names the environment %s; %s does not have it (%s)",
                                 path, host, way_out);
    to[n++] = arena_printf(
        a, "the environment %s needs an interpreter that %s does not have:", path, host);
    to[n++] = arena_strdup(a, join_paths(&x->paths, a));
    to[n++] = arena_printf(a, "the sweep needs modules, as %s, and %s has no command `module`",
                           x->modules.n > 0 ? modules[0] : "", host);
    to[n++] = arena_printf(a, "%s could not load the module", host);
    for (size_t i = 0; i < x->modules.n; i++)
        to[n++] = arena_strdup(a, modules[i]);
}

char **prelude_words(const struct jobspec *w, const char *shell, const char *command,
                     struct arena *a)
{
    const struct environment *x = &w->environment;
    char **words = arena_alloc(a, (SCRIPT_ARGUMENTS + x->modules.n + 6) * sizeof *words);
    struct buf text = { 0 };
    bool is_plain = false;

    words[0] = arena_strdup(a, shell);
    words[1] = arena_strdup(a, "-c");
    words[2] = arena_strdup(a, command);
    if (!prelude_is_needed(w))
        return words;
    buf_add_str(&text, begin);
    /* staged_env.c has looked at an environment in the cache before this shell is started. */
    buf_add_str(&text, x->path != NULL && x->data == NULL ? look : "");
    buf_add_str(&text, x->modules.n > 0 ? shell_modules_load : "");
    buf_add_str(&text, "set --\n"); /* a script sourced without arguments would see ours */
    if (w->setup != NULL)
        add_setup(w, &text);
    else /* the program takes the shell's place, as if it were started without one */
        is_plain = job_spawn_words(command, a) != NULL;
    buf_printf(&text, "%s%s%s", end, is_plain ? "exec " : "", command);
    words[2] = buf_to_arena(&text, a);
    words[3] = words[0];
    add_arguments(x, words + 4, a);
    return words;
}

const char *prelude_text_inside(const struct jobspec *w, const char *command, struct arena *a)
{
    struct buf text = { 0 };

    if (w->setup == NULL)
        return command;
    buf_add_str(&text, begin);
    add_setup(w, &text);
    buf_printf(&text, "%s%s", end, command);
    return buf_to_arena(&text, a);
}

/* ---- what came of it ---- */

int prelude_fail(const char *job_path, enum cause cause, const char *why, struct err *e)
{
    char *path = mem_printf("%s/" JOB_TROUBLE, job_path);
    char *text = mem_printf("%s\n%s\n", cause_names[cause], why);
    int rc = io_replace_file(path, text, strlen(text), 0600, e);

    free(text);
    free(path);
    return rc;
}

bool prelude_has_failed(int dir_fd, const char *folder, enum cause *cause, struct buf *reason)
{
    static const char environment[] = "environment\n", failed[] = "failed\n";
    char *path = mem_printf("%s/" JOB_TROUBLE, folder), text[REASON_MAX_BYTES + 1];
    /* The job may have put anything there. */
    int fd = openat(dir_fd, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : io_read_all(fd, text, REASON_MAX_BYTES);
    size_t n, begins;

    free(path);
    if (fd >= 0)
        close(fd);
    if (got <= 0)
        return false;
    text[got] = '\0';
    *cause = CAUSE_FAILED;
    if (strncmp(text, environment, sizeof environment - 1) == 0) {
        *cause = CAUSE_ENVIRONMENT;
        begins = sizeof environment - 1;
    } else if (strncmp(text, failed, sizeof failed - 1) == 0) {
        begins = sizeof failed - 1;
    } else {
        return false;
    }
    for (char *c = text + begins; *c != '\0'; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    n = utf8_valid(text + begins, strlen(text + begins));
    while (n > 0 && text[begins + n - 1] == ' ')
        n--;
    buf_add(reason, text + begins, n);
    return true;
}
