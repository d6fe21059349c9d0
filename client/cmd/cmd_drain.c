/* SPDX-License-Identifier: MIT */
/* cmd_drain.c - ludwig drain, ludwig undrain */
#include <inttypes.h>
#include <string.h>

#include "client/session/session.h"
#include "client/term/output.h"
#include "common/proto/proto.h"

struct options {
    bool json, quiet;
};

static const struct opt options[] = {
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { "quiet", 'q', OPT_FLAG, NULL, offsetof(struct options, quiet), 0, 0,
      "say nothing when all goes well" },
    { 0 },
};

enum { NOT_KNOWN = -1 };

/* running: jobs there, or NOT_KNOWN. */
static void say(const char *name, bool is_undone, bool is_news, int64_t running)
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

/* The answer counts them all together, so the nodes are asked for; who is in a group only the
 * server knows. */
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
        say(name, undo, true, name[0] == '@' ? NOT_KNOWN : running);
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
        say(cli->args.words[0], undo, reply.nodes > 0, reply.running);
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
    .help = "give a node no more jobs; those that run there go on",
    .more = "For the node's own user and admins. `ludwig nodes` lists the names; what was\n"
            "given to the node and has not started yet runs elsewhere.\n",
    .min_args = 1,
    .max_args = ARGS_ANY,
    .options = options,
    .options_size = sizeof(struct options),
    .run = run_drain,
};

const struct command cmd_undrain = {
    .name = "undrain",
    .args = "NODE|@GROUP... [OPTION]...",
    .help = "give a drained node jobs again",
    .min_args = 1,
    .max_args = ARGS_ANY,
    .options = options,
    .options_size = sizeof(struct options),
    .run = run_undrain,
};
