/* SPDX-License-Identifier: MIT */
/* cmd_nodes.c - ludwig nodes, ludwig drain, ludwig undrain */
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <string.h>

#include "client/query/nodeinfo.h"
#include "client/session/session.h"
#include "client/term/jsonlist.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "client/term/table.h"
#include "common/base/units.h"

/* states is only for ludwig nodes. */
struct options {
    struct list states;
    bool json, quiet;
};

static const struct opt options[] = {
    { "state", 0, OPT_STRS, "STATE", offsetof(struct options, states), 0, 0,
      "only nodes that are up, drained or lost; several with commas between" },
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { "quiet", 'q', OPT_FLAG, NULL, offsetof(struct options, quiet), 0, 0,
      "print only the nodes' names, one per line" },
    { 0 },
};

enum {
    NODE,
    KIND,
    STATE,
    CPUS,
    LOAD,
    GPUS,
    USE,
    MODEL,
    MEMORY,
    DATA,
    USER,
    RUNNING,
    JOBS,
    N_COLUMNS
};

static const struct column columns[N_COLUMNS] = {
    { "NODE", false, true }, { "KIND", false, false }, { "STATE", false, false },
    { "CPUS", true, false }, { "LOAD", true, false },  { "GPUS", true, false },
    { "USE", false, true },  { "MODEL", false, true }, { "MEMORY", true, false },
    { "DATA", true, false }, { "USER", false, true },  { "RUNNING", true, false },
    { "JOBS", false, true },
};

/* How long workers have to answer for their load. */
enum { ASK_AGAIN_MS = 20, ASK_AT_MOST_MS = 600 };

enum { UP, DRAINED, LOST, N_STATES };

static const char *const state_names[N_STATES] = { "up", "drained", "lost" };
static const enum tone tones[N_STATES] = { TONE_GOOD, TONE_DIM, TONE_BAD };
static const struct opt_state node_states = {
    .names = state_names, .n = N_STATES, .allowed = ~0u, .refusal = "no node is ever"
};

/* The node's state as an index of state_names; N_STATES if this program does not know it. */
static unsigned state_of(const struct node_info *n)
{
    unsigned i = 0;

    while (i < N_STATES && (n->state == NULL || strcmp(n->state, state_names[i]) != 0))
        i++;
    return i;
}

/* Each model of a GPU is named once. */
static void add_row(struct table *t, const struct node_info *n)
{
    const char *const *models = n->gpu_models.items, *const *jobs = n->jobs.items;
    unsigned state = state_of(n);
    struct buf text = { 0 };

    table_add(t, TONE_PLAIN, n->node);
    table_add(t, TONE_PLAIN, n->kind);
    table_add(t, state < N_STATES ? tones[state] : TONE_PLAIN, n->state);
    table_printf(t, TONE_PLAIN, "%g", n->cpus);
    if (isnan(n->load))
        table_add(t, TONE_DIM, "-");
    else
        table_printf(t, TONE_PLAIN, "%.1f", n->load);
    if (n->gpus == 0)
        table_add(t, TONE_PLAIN, "0");
    else
        table_printf(t, TONE_PLAIN, "%" PRId64 " (%g free)", n->gpus, n->gpus_free);
    for (size_t i = 0; i < n->gpu_use.n; i++) {
        buf_add_str(&text, i > 0 ? ", " : "");
        nodeinfo_add_gpu_use(&text, &((const struct gpu_use *)n->gpu_use.items)[i]);
    }
    if (text.n == 0)
        buf_add_char(&text, '-');
    table_add_buf(t, n->gpu_use.n > 0 ? TONE_PLAIN : TONE_DIM, &text);
    for (size_t i = 0; i < n->gpu_models.n; i++) {
        size_t first = 0;

        while (strcmp(models[first], models[i]) != 0)
            first++;
        if (*models[i] != '\0' && first == i)
            buf_printf(&text, "%s%s", text.n > 0 ? ", " : "", models[i]);
    }
    table_add_buf(t, TONE_PLAIN, &text);
    units_add_size(&text, n->memory);
    table_add_buf(t, TONE_PLAIN, &text);
    if (n->held > 0)
        units_add_size(&text, n->held_bytes);
    if (n->held > 0)
        buf_printf(&text, " (%" PRId64 ")", n->held);
    else
        buf_add_char(&text, '-');
    table_add_buf(t, TONE_PLAIN, &text);
    table_add(t, TONE_PLAIN, n->user);
    table_printf(t, TONE_PLAIN, "%" PRId64, n->running);
    for (size_t i = 0; i < n->jobs.n; i++)
        buf_printf(&text, "%s%s", i > 0 ? " " : "", jobs[i]);
    if (n->running > (int64_t)n->jobs.n)
        buf_printf(&text, " and %" PRId64 " more", n->running - (int64_t)n->jobs.n);
    table_add_buf(t, TONE_PLAIN, &text);
}

static int show_json(const struct msg_node_page *page, struct err *e)
{
    const struct node_info *items = page->nodes.items;
    struct jsonlist json;

    jsonlist_begin(&json, "nodes");
    for (size_t i = 0; i < page->nodes.n; i++)
        jsonlist_add(&json, &node_info_schema, &items[i]);
    jsonlist_add_list(&json, "pools", &pool_trouble_schema, &page->pools);
    jsonlist_add_list(&json, "pilots", &pilots_waiting_schema, &page->pilots);
    return jsonlist_end(&json, e);
}

/* Prints nodes that are up and take no jobs, GPUs that are there and not used, and why. */
static void say_unused(const struct list *nodes)
{
    const struct node_info *items = nodes->items;

    for (size_t i = 0; i < nodes->n; i++) {
        const char *const *unused = items[i].gpus_unused.items;

        if (items[i].refused != NULL)
            output_note("%s: no jobs start there for now: %s", items[i].node, items[i].refused);
        for (size_t k = 0; k < items[i].gpus_unused.n; k++)
            output_note("%s: jobs do not use %s", items[i].node, unused[k]);
    }
}

/* Prints Slurm's machines that are not in the table, and why. */
static void say_pools(const struct list *pools)
{
    const struct pool_trouble *items = pools->items;

    for (size_t i = 0; i < pools->n; i++)
        output_note("Slurm, partition %s%s%s: no pilots: %s", items[i].partition,
                    items[i].user != NULL ? ", for " : "",
                    items[i].user != NULL ? items[i].user : "", items[i].why);
}

/* Prints pilots in Slurm's queue, and why they have not begun. */
static void say_waiting(const struct list *pilots)
{
    const struct pilots_waiting *items = pilots->items;

    for (size_t i = 0; i < pilots->n; i++) {
        struct buf text = { 0 };

        nodeinfo_add_waiting(&text, &items[i], true);
        output_note("%s", buf_text(&text));
        buf_free(&text);
    }
}

static int show_nodes(const struct options *o, const struct msg_node_page *page, struct err *e)
{
    const struct list *nodes = &page->nodes;
    static const size_t may_go[] = { RUNNING, CPUS, GPUS,  USE,  LOAD, MEMORY,
                                     DATA,    JOBS, MODEL, USER, KIND };
    const struct node_info *items = nodes->items;
    struct buf out = { 0 };
    struct table *t;
    int result;

    if (o->json)
        return show_json(page, e);
    /* A node is listed for each user with a worker there, but named once. */
    for (size_t i = 0; i < nodes->n && o->quiet; i++) {
        size_t first = 0;

        while (strcmp(items[first].node, items[i].node) != 0)
            first++;
        if (first < i)
            continue;
        safe_text_add_harmless(&out, items[i].node, strlen(items[i].node), "");
        buf_add_char(&out, '\n');
    }
    if (o->quiet)
        return output_write(&out, e);
    t = table_for_stdout(columns, N_COLUMNS);
    for (size_t i = 0; i < sizeof may_go / sizeof may_go[0]; i++)
        table_may_leave_out(t, may_go[i], NEED_COMFORT);
    for (size_t i = 0; i < nodes->n; i++)
        add_row(t, &items[i]);
    result = table_print(t, e);
    table_destroy(t);
    if (result == 0) {
        say_unused(nodes);
        say_waiting(&page->pilots);
        say_pools(&page->pools);
    }
    return result;
}

static int list_nodes(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    const struct msg_get_nodes request = { .limit = PAGE_MAX };
    int64_t deadline_ms = units_monotonic_ms() + ASK_AT_MOST_MS;
    struct msg_node_page page;
    struct node_info *nodes;
    struct session s;
    unsigned states;
    size_t n = 0;
    int result;

    if (opt_state_read(&node_states, &o->states, &states, e) < 0 || session_open(cli, &s, e) < 0)
        return -1;
    result = rpc_call(&s.rpc, MSG_GET_NODES, &request, &page, e);
    /* The server asks the workers for their load on request; names alone need not wait for that. */
    while (!o->quiet && result == 0 && page.asked > 0 && units_monotonic_ms() < deadline_ms) {
        (void)poll(NULL, 0, ASK_AGAIN_MS);
        result = rpc_call(&s.rpc, MSG_GET_NODES, &request, &page, e);
    }
    if (result == 0) {
        nodes = page.nodes.items;
        for (size_t i = 0; i < page.nodes.n; i++)
            if (states == 0 || (states >> state_of(&nodes[i]) & 1) != 0)
                nodes[n++] = nodes[i];
        page.nodes.n = n;
        result = show_nodes(o, &page, e);
    }
    session_close(&s);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_nodes = {
    .name = "nodes",
    .args = "[OPTION]...",
    .help = "list the machines that run jobs",
    .more = "LOAD: 1-minute load average.\n"
            "GPUS: those that jobs may use, and how many are free.\n"
            "USE: of each GPU, how busy it is and how much of its memory is taken.\n"
            "DATA: size of the node's cache, and the number of sources and data sets in it.\n"
            "lost: its worker was connected within the last day, but is not now.\n"
            "Workers that others brought for jobs of their own are not listed.\n"
            "Below: nodes where no jobs start for now, as where scratch is full, GPUs that\n"
            "jobs may not use now, pilots that wait in Slurm's queue, and Slurm partitions\n"
            "named by your sweeps that have no pilots; and why.\n",
    .options = options,
    .options_size = sizeof(struct options),
    .run = list_nodes,
};

/* ---- drain and undrain ---- */

static const struct opt drain_options[] = {
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { "quiet", 'q', OPT_FLAG, NULL, offsetof(struct options, quiet), 0, 0,
      "print nothing unless something goes wrong" },
    { 0 },
};

enum { NOT_KNOWN = -1 };

/* running: jobs on the node, or NOT_KNOWN. */
static void say_drained(const char *name, bool is_undone, bool is_news, int64_t running)
{
    const char *drained = is_news ? "drained" : "was drained already";

    if (is_undone)
        output_note("%s: %s", name, is_news ? "takes jobs again" : "was not drained");
    else if (running == NOT_KNOWN)
        output_note("%s: %s", name, drained);
    else if (running == 0)
        output_note("%s: %s; nothing runs there", name, drained);
    else if (running == 1)
        output_note("%s: %s; 1 job runs on to its end", name, drained);
    else
        output_note("%s: %s; %" PRId64 " jobs run on to their end", name, drained, running);
}

/* Prints a line for each node.  The answer has only sums, so the list of nodes is fetched; members
 * of a group are known to the server alone. */
static int say_each(struct cli *cli, struct rpc *rpc, bool undo, struct err *e)
{
    struct msg_get_nodes request = { .limit = PAGE_MAX };
    struct msg_node_page page;

    if (rpc_call(rpc, MSG_GET_NODES, &request, &page, e) < 0)
        return -1;
    for (size_t i = 0; i < cli->args.n; i++) {
        const char *name = cli->args.words[i];
        int64_t running = 0;

        for (size_t k = 0; k < page.nodes.n; k++) {
            const struct node_info *node = (const struct node_info *)page.nodes.items + k;

            running += strcmp(node->node, name) == 0 ? node->running : 0;
        }
        say_drained(name, undo, true, name[0] == '@' ? NOT_KNOWN : running);
    }
    return 0;
}

static int change(struct cli *cli, bool undo, struct err *e)
{
    const struct options *o = cli->options;
    struct msg_drain request = { { cli->args.words, cli->args.n }, undo };
    struct msg_drained reply;
    struct session s;
    int result;

    if (cli->args.n > TARGETS_MAX)
        return err_set(e, ERR_USAGE, "at most %d nodes at once", TARGETS_MAX);
    if (session_open(cli, &s, e) < 0)
        return -1;
    result = rpc_call(&s.rpc, MSG_DRAIN, &request, &reply, e);
    if (result == 0 && o->json)
        result = output_write_json(proto.messages[MSG_DRAINED].schema, &reply, e);
    else if (result == 0 && !o->quiet && cli->args.n > 1)
        result = say_each(cli, &s.rpc, undo, e);
    else if (result == 0 && !o->quiet)
        say_drained(cli->args.words[0], undo, reply.nodes > 0, reply.running);
    session_close(&s);
    return result < 0 ? -1 : EXIT_WELL;
}

static int run_drain(struct cli *cli, struct err *e)
{
    return change(cli, false, e);
}

static int run_undrain(struct cli *cli, struct err *e)
{
    return change(cli, true, e);
}

const struct command cmd_drain = {
    .name = "drain",
    .args = "NODE|@GROUP... [OPTION]...",
    .help = "give a node no more jobs; those running there go on",
    .more = "For the node's own user and admins. `ludwig nodes` lists the names. Jobs that\n"
            "the node was given but has not started run elsewhere.\n",
    .min_args = 1,
    .max_args = ARGS_ANY,
    .options = drain_options,
    .options_size = sizeof(struct options),
    .run = run_drain,
};

const struct command cmd_undrain = {
    .name = "undrain",
    .args = "NODE|@GROUP... [OPTION]...",
    .help = "give a drained node jobs again",
    .min_args = 1,
    .max_args = ARGS_ANY,
    .options = drain_options,
    .options_size = sizeof(struct options),
    .run = run_undrain,
};
