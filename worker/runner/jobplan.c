/* SPDX-License-Identifier: MIT */
/* jobplan.c - what is executed for an order: its words and its environment */

#include "worker/runner/jobplan.h"

#include <string.h>
#include <unistd.h>

#include "common/data/template.h"
#include "worker/base/shell_words.h"
#include "worker/runner/container.h"

static void plan_plain(struct job_spawn *p, const struct jobspec *w, const char *command,
                       const char *text, struct arena *a)
{
    char **shell_words = arena_alloc(a, 4 * sizeof *shell_words);

    p->shell = "/bin/sh";
    if (w->setup == NULL)
        p->words = shell_words_split(command, a);
    else if (access("/bin/bash", X_OK) == 0)
        p->shell = "/bin/bash"; /* what people write there ("source", conda) is meant for it */
    if (p->words != NULL)
        p->program = shell_words_program(p->words[0], jobenv_get(p->env, "PATH"), a);
    shell_words[0] = arena_strdup(a, p->shell + strlen("/bin/"));
    shell_words[1] = arena_strdup(a, "-c");
    shell_words[2] = arena_strdup(a, text);
    p->shell_words = shell_words;
}

int jobplan_make(struct job_spawn *p, const struct order *o, const struct value *params,
                 const char *scratch, const struct jobenv_user *user, struct arena *a,
                 struct err *e)
{
    const struct jobspec *w = &o->work.work;
    const char *command, *text;
    struct buf expanded = { 0 };
    struct container c;
    char hex[TOKEN_HEX];
    int rc = template_expand(w->command, params, &expanded, e);

    if (rc == 0 && strlen(buf_text(&expanded)) != expanded.n)
        rc = err_set(e, ERR_USAGE, "the command has a NUL byte in it");
    command = buf_to_arena(&expanded, a);
    if (rc < 0)
        return -1;
    /*
     * The lines of setup: run in the command's own shell, so that what they set is there for it.  One
     * that fails does not stop the command: many scripts that are sourced there, conda's for one, do
     * not work under set -e.  Whoever wants that writes it as the first line.
     */
    text = w->setup == NULL ? command : arena_printf(a, "%s\n%s", w->setup, command);
    p->shares_with_group = o->for_another;
    token_hex(&o->assignment.token, hex);
    p->env = jobenv_make(o, user, arena_printf(a, "%s/" SCRATCH_RUN "/%s", scratch, hex), a);
    if (w->container == NULL) {
        plan_plain(p, w, command, text, a);
        return 0;
    }
    if (container_find(&c, o, p->env, scratch, a, e) < 0)
        return -1;
    c.text = text;
    p->shell = "/bin/sh";
    p->shell_words = container_guard(container_words(&c, a), o, a);
    p->env = container_env(&c, p->env, a);
    return 0;
}
