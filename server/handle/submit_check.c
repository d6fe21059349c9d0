/* SPDX-License-Identifier: MIT */
/* submit_check.c - a submit that may come from any client is refused before anything is made for it */
#include "server/handle/submit_check.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/path.h"
#include "server/base/nodes.h"
#include "server/conn/permission.h"
#include "server/share/project.h"

static int check_text(const char *text, const char *what, struct err *e)
{
    for (; text != NULL && *text != '\0'; text++)
        if (iscntrl((unsigned char)*text))
            return err_set(e, ERR_USAGE, "%s: a control character", what);
    return 0;
}

static int check_resources(const struct resources *r, struct err *e)
{
    if (r->cpus_milli == 0 && r->gpus_milli == 0)
        return err_set(e, ERR_USAGE, "resources: a job needs processors or GPUs");
    if (r->gpus_milli > 1000 && r->gpus_milli % 1000 != 0)
        return err_set(e, ERR_USAGE,
                       "resources: gpus must be a fraction below 1 or a whole number");
    return 0;
}

static bool is_host_name(const char *s)
{
    size_t n = strlen(s);

    return n > 0 && n <= NAME_MAX_BYTES && s[0] != '-' && s[0] != '.' &&
           strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") == n;
}

static int check_nodes(const struct conf *conf, const struct msg_submit_begin *req, struct err *e)
{
    const char *const *nodes = req->nodes.items;

    if (req->no_nodes && req->nodes.n > 0)
        return err_set(e, ERR_USAGE, "nodes: some and none");
    for (size_t i = 0; i < req->nodes.n; i++)
        if (nodes[i][0] != '@' && !is_host_name(nodes[i]))
            return err_set(e, ERR_USAGE, "nodes: '%s' is no name of a node or @group", nodes[i]);
    return nodes_check(conf, &req->nodes, e);
}

static bool is_variable_name(const char *s)
{
    if (*s == '\0' || isdigit((unsigned char)*s))
        return false;
    for (; *s != '\0'; s++)
        if (!isalnum((unsigned char)*s) && *s != '_')
            return false;
    return true;
}

static int check_work(const struct jobspec *w, struct err *e)
{
    const struct env_entry *env = w->env.items;
    const struct data_entry *data = w->data.items;

    if (w->command[0] == '\0')
        return err_set(e, ERR_USAGE, "command: it is empty");
    for (size_t i = 0; i < w->env.n; i++)
        if (!is_variable_name(env[i].name))
            return err_set(e, ERR_USAGE, "env: '%s' is no name of a variable", env[i].name);
    for (size_t i = 0; i < w->data.n; i++)
        if (!path_is_portable_name(data[i].name))
            return err_set(e, ERR_USAGE, "data: '%s' is no name that every system can show",
                           data[i].name);
    if (check_text(w->container, "container", e) < 0 ||
        check_text(w->checkpoint.signal, "checkpoint: signal", e) < 0)
        return -1;
    return check_resources(&w->resources, e);
}

static bool is_cause(const char *name)
{
    for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++)
        if (strcmp(cause_names[i], name) == 0)
            return true;
    return false;
}

/* "1" to "255", as retry_lists compares them. */
static bool is_exit_code(const char *text)
{
    size_t n = strlen(text);

    return n >= 1 && n <= 3 && text[0] != '0' && strspn(text, "0123456789") == n &&
           strtol(text, NULL, 10) <= 255;
}

static int check_retry(const struct retry *r, struct err *e)
{
    const char *const *on = r->on.items;

    for (size_t i = 0; i < r->on.n; i++)
        if (!is_cause(on[i]) && !is_exit_code(on[i]))
            return err_set(e, ERR_USAGE,
                           "retry: on: '%s' is neither a cause nor an exit code from 1 to 255",
                           on[i]);
    return 0;
}

/* They become arguments of sbatch. */
static int check_argument(const char *text, const char *what, bool is_option, struct err *e)
{
    if (text == NULL)
        return 0;
    if (text[0] == '\0' || (text[0] == '-') != is_option)
        return err_set(e, ERR_USAGE, "slurm: %s: '%s' is none", what, text);
    return check_text(text, "slurm", e);
}

static int check_arguments(const struct list *texts, const char *what, bool is_option,
                           struct err *e)
{
    const char *const *items = texts->items;

    for (size_t i = 0; i < texts->n; i++)
        if (check_argument(items[i], what, is_option, e) < 0)
            return -1;
    return 0;
}

static int check_pools(const struct list *pools, struct err *e)
{
    const struct slurm_pool *p = pools->items;

    for (size_t i = 0; i < pools->n; i++)
        if (check_argument(p[i].partition, "partition", false, e) < 0 ||
            check_argument(p[i].account, "account", false, e) < 0 ||
            check_argument(p[i].qos, "qos", false, e) < 0 ||
            check_argument(p[i].constraint, "constraint", false, e) < 0 ||
            check_argument(p[i].gres, "gres", false, e) < 0 ||
            check_arguments(&p[i].exclude, "exclude", false, e) < 0 ||
            check_arguments(&p[i].extra, "extra", true, e) < 0)
            return -1;
    return 0;
}

static int check_ranking(const struct ranking *r, struct err *e)
{
    if (r->metric != NULL && r->metric[0] == '\0')
        return err_set(e, ERR_USAGE, "results: metric: it is empty");
    return check_text(r->metric, "results: metric", e);
}

int submit_check(const struct conf *conf, const struct conn *c, const struct msg_submit_begin *req,
                 struct err *e)
{
    if (req->reps < 1)
        return err_set(e, ERR_USAGE, "reps: at least 1");
    if (may_submit(conf, c, e) < 0 || project_check_name(req->project, e) < 0 ||
        check_text(req->name, "name", e) < 0 || check_nodes(conf, req, e) < 0 ||
        check_pools(&req->pools, e) < 0 || check_retry(&req->retry, e) < 0 ||
        check_ranking(&req->ranking, e) < 0)
        return -1;
    return check_work(&req->work, e);
}
