/* SPDX-License-Identifier: MIT */
/* cmd_limit.c - ludwig limit: how many jobs of a sweep run at once */
#include <inttypes.h>
#include <stdlib.h>

#include "client/query/selector.h"
#include "client/session/session.h"
#include "client/term/output.h"

struct options {
    int64_t slots;
};

static const struct opt options[] = {
    { "slots", 0, OPT_INT, "N", offsetof(struct options, slots), 0, MAX_RUNNING_MAX,
      "the number, in the place of the last argument; with batch: it counts processes" },
    { 0 },
};

/* Takes the last argument for the number, unless --slots says it. */
static int take_number(struct cli *cli, int64_t *slots, struct err *e)
{
    const struct options *o = cli->options;
    const char *word = cli->args.words[cli->args.n - 1];
    char *end;

    *slots = o->slots;
    if (o->slots != OPT_UNSET)
        return 0;
    *slots = strtoll(word, &end, 10);
    if (cli->args.n < 2 || end == word || *end != '\0' || *slots < 0 || *slots > MAX_RUNNING_MAX)
        return err_set(e, ERR_USAGE,
                       "say how many jobs may run at once: ludwig limit 7 4, or ludwig limit 7 0 "
                       "for as many as there is room for");
    cli->args.n--;
    return 0;
}

static int limit_sweeps(struct cli *cli, struct err *e)
{
    const struct target *items;
    struct list targets;
    struct msg_ok answer;
    struct session s;
    int64_t slots;
    int result;

    if (take_number(cli, &slots, e) < 0)
        return -1;
    if (selector_check(&cli->args, e) < 0 || session_open(cli, &s, e) < 0)
        return -1;
    result = selector_sweeps(&s.rpc, &cli->args, cli->arena, &targets, e);
    items = targets.items;
    for (size_t i = 0; result == 0 && i < targets.n; i++) {
        const struct msg_shrink request = { items[i].sweep, slots };

        result = rpc_call(&s.rpc, MSG_SHRINK, &request, &answer, e);
        if (result == 0 && slots > 0)
            output_note("sweep %" PRId64 ": at most %" PRId64 " of its jobs run at once; what runs "
                        "goes on",
                        items[i].sweep, slots);
        else if (result == 0)
            output_note("sweep %" PRId64 ": its jobs run wherever there is room", items[i].sweep);
    }
    session_close(&s);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_limit = {
    .name = "limit",
    .args = "SWEEP... N",
    .help = "let at most N jobs of a sweep run at once, so that others have room",
    .more = "Nothing is cancelled: running jobs go on, and no new one begins until there are\n"
            "fewer. 0: as many as there is room for. In a sweep file: max_running: 4. SWEEP\n"
            "is a number, last, or all: those of yours that are not over.\n"
            "\n"
            "  ludwig limit 7 4\n"
            "  ludwig limit 7 0\n",
    .min_args = 1,
    .max_args = ARGS_ANY,
    .options = options,
    .options_size = sizeof(struct options),
    .run = limit_sweeps,
};
