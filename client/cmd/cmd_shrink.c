/* SPDX-License-Identifier: MIT */
/* cmd_shrink.c - ludwig shrink: how many jobs of a sweep run at once */
#include <inttypes.h>

#include "client/query/selector.h"
#include "client/session/session.h"
#include "client/term/output.h"

struct options {
    int64_t slots;
};

static const struct opt options[] = {
    { "slots", 0, OPT_INT, "N", offsetof(struct options, slots), 0, INT64_C(1) << 31,
      "run at most N jobs (with batch: N processes) at once; 0: as many as there is room for" },
    { 0 },
};

static int shrink_sweeps(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    const struct target *items;
    struct list targets;
    struct msg_ok answer;
    struct session s;
    int result;

    if (o->slots == OPT_UNSET)
        return err_set(e, ERR_USAGE,
                       "say how many jobs may run at once: --slots 4, or --slots 0 "
                       "for as many as there is room for");
    if (selector_check(&cli->args, e) < 0 || session_open(cli, &s, e) < 0)
        return -1;
    result = selector_sweeps(&s.rpc, &cli->args, cli->arena, &targets, e);
    items = targets.items;
    for (size_t i = 0; result == 0 && i < targets.n; i++) {
        const struct msg_shrink request = { items[i].sweep, o->slots };

        result = rpc_call(&s.rpc, MSG_SHRINK, &request, &answer, e);
        if (result == 0 && o->slots > 0)
            output_note("sweep %" PRId64 ": at most %" PRId64 " of its jobs run at once; what runs "
                        "goes on",
                        items[i].sweep, o->slots);
        else if (result == 0)
            output_note("sweep %" PRId64 ": its jobs run wherever there is room", items[i].sweep);
    }
    session_close(&s);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_shrink = {
    .name = "shrink",
    .args = "SWEEP... [OPTION]...",
    .help = "let fewer jobs of a sweep run at once, so that others have room",
    .more = "Nothing is cancelled: running jobs go on, and no new one begins until there are\n"
            "fewer. SWEEP is a number, last, or all: those of yours that are not over.\n"
            "\n"
            "  ludwig shrink 7 --slots 4\n"
            "  ludwig shrink 7 --slots 0\n",
    .min_args = 1,
    .max_args = ARGS_ANY,
    .options = options,
    .options_size = sizeof(struct options),
    .run = shrink_sweeps,
};
