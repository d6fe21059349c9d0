/* SPDX-License-Identifier: MIT */
/* cmd_nodes.c - ludwig nodes */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "client/jsonlist.h"
#include "client/out.h"
#include "client/session.h"
#include "client/table.h"
#include "common/units.h"

struct options {
    bool json;
};

static const struct opt options[] = {
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { 0 },
};

static const struct column columns[] = {
    { "NODE", false, true },    { "KIND", false, false }, { "STATE", false, false },
    { "CPUS", true, false },    { "GPUS", true, false },  { "MEMORY", true, false },
    { "RUNNING", true, false }, { "USER", false, true },
};

static enum tone tone_of(const char *state)
{
    if (strcmp(state, "up") == 0)
        return TONE_GOOD;
    return strcmp(state, "lost") == 0 ? TONE_BAD : TONE_DIM;
}

static void add_row(struct table *t, const struct node_info *n)
{
    const char *state = n->state != NULL ? n->state : "";
    struct buf memory = { 0 };

    units_add_size(&memory, n->memory);
    table_add(t, TONE_PLAIN, n->node);
    table_add(t, TONE_PLAIN, n->kind);
    table_add(t, tone_of(state), state);
    table_printf(t, TONE_PLAIN, "%g", n->cpus);
    table_printf(t, TONE_PLAIN, "%" PRId64, n->gpus);
    table_add(t, TONE_PLAIN, buf_text(&memory));
    table_printf(t, TONE_PLAIN, "%" PRId64, n->running);
    table_add(t, TONE_PLAIN, n->user);
    buf_free(&memory);
}

static int show_json(const struct list *nodes, struct err *e)
{
    const struct node_info *items = nodes->items;
    struct jsonlist l;

    jsonlist_begin(&l, "nodes");
    for (size_t i = 0; i < nodes->n; i++)
        jsonlist_add(&l, &node_info_schema, &items[i]);
    return jsonlist_end(&l, e);
}

static int show_table(const struct list *nodes, struct err *e)
{
    const struct node_info *items = nodes->items;
    struct table *t = table_create(columns, sizeof columns / sizeof columns[0],
                                   out_columns(STDOUT_FILENO), out_has_colour(STDOUT_FILENO));
    struct buf out = { 0 };

    for (size_t i = 0; i < nodes->n; i++)
        add_row(t, &items[i]);
    table_flush(t, &out);
    table_destroy(t);
    return out_write(&out, e);
}

static int run(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct msg_get_nodes request = { .limit = PAGE_MAX };
    struct msg_node_page page;
    struct session s;
    int result;

    if (session_open(cli, &s, e) < 0)
        return -1;
    result = rpc_call(&s.rpc, MSG_GET_NODES, &request, &page, e);
    if (result == 0)
        result = o->json ? show_json(&page.nodes, e) : show_table(&page.nodes, e);
    session_close(&s);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_nodes = {
    .name = "nodes",
    .args = "[OPTION]...",
    .help = "list the machines that run jobs",
    .options = options,
    .options_size = sizeof(struct options),
    .run = run,
};
