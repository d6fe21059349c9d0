/* SPDX-License-Identifier: MIT */
/* action.c - carries out the changes that the live page requests, as the commands do */
#include <inttypes.h>
#include <string.h>

#include "client/query/change_jobs.h"
#include "client/query/selector.h"
#include "client/ui/action.h"
#include "common/base/quote.h"
#include "common/data/json.h"

enum { WORDS_MAX = TARGETS_MAX };

static const struct {
    const char *name, *done;
    enum msg_type type;
    bool is_undone; /* undrain */
} verbs[] = {
    { "cancel", "cancelled", MSG_CANCEL, false },
    { "pause", "paused", MSG_PAUSE, false },
    { "resume", "resumed", MSG_RESUME, false },
    { "retry", "queued again", MSG_RETRY, false },
    { "drain", "drained", MSG_DRAIN, false },
    { "undrain", "takes jobs again", MSG_DRAIN, true },
};
enum { N_VERBS = sizeof verbs / sizeof verbs[0] };

/* Reads a list of texts that are not empty and have no NUL.  Returns -1 if v is anything else, an
 * empty list, or a list of more than WORDS_MAX. */
static int read_words(const struct value *v, struct arena *a, struct list *words)
{
    const char **items;

    if (v == NULL || v->type != VALUE_LIST || v->list.n == 0 || v->list.n > WORDS_MAX)
        return -1;
    items = arena_alloc(a, v->list.n * sizeof *items);
    for (size_t i = 0; i < v->list.n; i++) {
        const struct value *word = &v->list.items[i];

        if (word->type != VALUE_STR || word->str.n == 0 || strlen(word->str.s) != word->str.n)
            return -1;
        items[i] = word->str.s;
    }
    *words = (struct list){ items, v->list.n };
    return 0;
}

/* Reads targets such as "7.1-40,50".  Refuses the words last and all: they could mean another sweep
 * than the page shows, and the page knows the numbers. */
static int read_targets(const struct list *words, struct arena *a, struct list *targets,
                        struct err *e)
{
    struct targets all = { .arena = a };

    for (size_t i = 0; i < words->n; i++) {
        struct list some;

        if (selector_parse(((const char *const *)words->items)[i], a, &some, e) < 0)
            return -1;
        for (size_t k = 0; k < some.n; k++) {
            const struct target *t = (const struct target *)some.items + k;

            if (t->sweep <= 0)
                return err_set(e, ERR_USAGE, "sweeps are named by their number here");
            targets_add(&all, t);
        }
    }
    targets_merge(&all);
    *targets = (struct list){ all.items, all.n };
    return 0;
}

static bool is_set(const struct value *map, const char *name)
{
    const struct value *v = value_get(map, name);

    return v != NULL && v->type == VALUE_BOOL && v->b;
}

int action_read(struct bytes json, struct arena *a, struct action *action, struct err *e)
{
    const struct value *verb;
    struct list words;
    struct value v;

    *action = (struct action){ .verb = N_VERBS };
    if (json_read((const char *)json.data, json.n, a, &v, e) < 0)
        return err_set(e, ERR_USAGE, "the page has asked for something that is no JSON");
    verb = v.type == VALUE_MAP ? value_get(&v, "do") : NULL;
    action->finish = verb != NULL && is_set(&v, "finish");
    action->stopped = verb != NULL && is_set(&v, "stopped");
    for (int i = 0; i < N_VERBS && verb != NULL && verb->type == VALUE_STR; i++)
        action->verb = strcmp(verb->str.s, verbs[i].name) == 0 ? i : action->verb;
    if (action->verb == N_VERBS)
        return err_set(e, ERR_USAGE,
                       "the page may ask to cancel, pause, resume, retry, drain or undrain");
    if (verbs[action->verb].type == MSG_DRAIN)
        return read_words(value_get(&v, "nodes"), a, &action->nodes) == 0
                   ? 0
                   : err_set(e, ERR_USAGE, "drain: which nodes?");
    if (read_words(value_get(&v, "targets"), a, &words) < 0)
        return err_set(e, ERR_USAGE, "%s: which jobs?", verbs[action->verb].name);
    return read_targets(&words, a, &action->targets, e);
}

static int drain(struct rpc *rpc, const struct action *action, struct buf *out, struct err *e)
{
    const struct msg_drain request = { action->nodes, verbs[action->verb].is_undone };
    struct msg_drained reply;
    struct buf said = { 0 };

    if (rpc_call(rpc, MSG_DRAIN, &request, &reply, e) < 0)
        return -1;
    buf_add_str(&said, ((const char *const *)action->nodes.items)[0]);
    if (reply.nodes == 0)
        buf_add_str(&said, request.undo ? ": was not drained" : ": was drained already");
    else
        buf_printf(&said, ": %s", verbs[action->verb].done);
    if (!request.undo && reply.running > 0)
        buf_printf(&said, "; %" PRId64 " job%s to the end", reply.running,
                   reply.running == 1 ? " runs on" : "s run on");
    buf_printf(out, "{\"v\":1,\"nodes\":%" PRId64 ",\"running\":%" PRId64 ",\"said\":", reply.nodes,
               reply.running);
    quote_add(out, buf_text(&said), said.n);
    buf_add_char(out, '}');
    buf_free(&said);
    return 0;
}

int action_do(struct rpc *rpc, const struct action *action, struct buf *out, struct err *e)
{
    union change_request request = { 0 };
    enum msg_type type = verbs[action->verb].type;
    const char *stopped = job_state_names[JOB_STOPPED];
    struct msg_changed changed = { 0 };
    int64_t jobs;

    if (type == MSG_DRAIN)
        return drain(rpc, action, out, e);
    if (type == MSG_CANCEL)
        request.cancel.drain = action->finish;
    if (type == MSG_RETRY && action->stopped)
        request.retry.states = (struct list){ &stopped, 1 };
    if (selector_check_jobs(rpc, &action->targets, e) < 0 ||
        change_jobs_send(rpc, type, &request, &action->targets, &changed, e) < 0)
        return -1;
    jobs = changed.jobs;
    buf_printf(out, "{\"v\":1,\"jobs\":%" PRId64 ",\"said\":\"", jobs);
    if (jobs == 0 && changed.searches > 0)
        buf_add_str(out, "the search ended: its advisor is not asked for more");
    else if (jobs == 0)
        buf_printf(out, "nothing to %s", verbs[action->verb].name);
    else if (type == MSG_CANCEL && action->finish)
        buf_printf(out, "%" PRId64 " job%s drained: what waited is cancelled, what runs may finish",
                   jobs, jobs == 1 ? "" : "s");
    else
        buf_printf(out, "%" PRId64 " job%s %s", jobs, jobs == 1 ? "" : "s",
                   verbs[action->verb].done);
    buf_add_str(out, "\"}");
    return 0;
}
