/* SPDX-License-Identifier: MIT */
/* cmd_label.c - ludwig label: the name, the note and the tags of a sweep, afterwards */
#include <inttypes.h>
#include <string.h>

#include "client/query/pages.h"
#include "client/query/selector.h"
#include "client/session/session.h"
#include "client/term/jsonlist.h"
#include "client/term/output.h"

struct options {
    const char *name, *note;
    struct list tags, untags;
    bool json;
};

static const struct opt options[] = {
    { "name", 0, OPT_STR, "NAME", offsetof(struct options, name), 0, 0,
      "what listings call it; '' takes the name away" },
    { "note", 0, OPT_STR, "TEXT", offsetof(struct options, note), 0, 0,
      "what `ludwig status SWEEP` shows with it; '' takes it away" },
    { "tag", 't', OPT_STRS, "TAG,...", offsetof(struct options, tags), 0, 0,
      "also tag it so; `ludwig status --tag TAG` finds it" },
    { "untag", 0, OPT_STRS, "TAG,...", offsetof(struct options, untags), 0, 0,
      "take these tags away" },
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { 0 },
};

/* "a,b" and "c" are three words. */
static struct list split_words(const struct list *said, struct arena *a)
{
    const char *const *items = said->items;
    const char **words;
    size_t n = 0, most = 0;

    for (size_t i = 0; i < said->n; i++)
        most += strlen(items[i]) + 1;
    words = arena_alloc(a, most * sizeof *words);
    for (size_t i = 0; i < said->n; i++)
        for (const char *at = items[i]; *at != '\0';) {
            size_t length = strcspn(at, ",");

            if (length > 0)
                words[n++] = arena_strndup(a, at, length);
            at += length + (at[length] == ',');
        }
    return (struct list){ words, n };
}

static int label(struct cli *cli, struct rpc *rpc, struct jsonlist *json, struct err *e)
{
    const struct options *o = cli->options;
    struct msg_label request = { .name = o->name,
                                 .note = o->note,
                                 .tags = split_words(&o->tags, cli->arena),
                                 .untags = split_words(&o->untags, cli->arena) };
    struct list targets;
    const struct target *items;
    struct msg_ok answer;
    struct sweep_info info;

    if (selector_sweeps(rpc, &cli->args, cli->arena, &targets, e) < 0)
        return -1;
    items = targets.items;
    for (size_t i = 0; i < targets.n; i++) {
        request.sweep = items[i].sweep;
        if (rpc_call(rpc, MSG_LABEL, &request, &answer, e) < 0)
            return -1;
        if (!o->json)
            output_note("sweep %" PRId64 " is labelled", items[i].sweep);
        else if (pages_sweep(rpc, items[i].sweep, &info, e) < 0)
            return -1;
        else
            jsonlist_add(json, &sweep_info_schema, &info);
    }
    return 0;
}

static int run(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct jsonlist json = { 0 };
    struct session s;
    int result;

    if (o->name == NULL && o->note == NULL && o->tags.n == 0 && o->untags.n == 0)
        return err_set(e, ERR_USAGE, "say what is to change: --name, --note, --tag or --untag");
    if (selector_check(&cli->args, e) < 0 || session_open(cli, &s, e) < 0)
        return -1;
    if (o->json)
        jsonlist_begin(&json, "sweeps");
    result = label(cli, &s.rpc, &json, e);
    if (result == 0 && o->json)
        result = jsonlist_end(&json, e);
    jsonlist_drop(&json);
    session_close(&s);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_label = {
    .name = "label",
    .args = "SWEEP... [OPTION]...",
    .help = "give sweeps a name, a note or tags, at any time",
    .more = "SWEEP is a number, last, or all: those of yours that are not over.\n"
            "\n"
            "  ludwig label 7 --name baseline --tag paper,good\n"
            "  ludwig label last --note 'the learning rate was still too high'\n"
            "  ludwig status --tag paper\n",
    .min_args = 1,
    .max_args = ARGS_ANY,
    .options = options,
    .options_size = sizeof(struct options),
    .run = run,
};
