/* SPDX-License-Identifier: MIT */
/* gpu_hint.c - tells users of GPUs that their sweep does not ask for */
#include "client/submit/gpu_hint.h"

#include <dirent.h>
#include <inttypes.h>
#include <string.h>

#include "client/term/safe_text.h"

enum { SHOWN_NODES = 2 };

struct found {
    struct buf names; /* of the first SHOWN_NODES nodes with GPUs */
    int64_t gpus;
    size_t n_nodes, n_up;
};

static bool may_run_on(const struct spec *s, const char *node)
{
    const char *const *names = s->nodes.items;

    for (size_t i = 0; i < s->nodes.n; i++)
        if (names[i][0] == '@' || strcmp(names[i], node) == 0)
            return true;
    return !s->has_nodes;
}

static void find_on_nodes(struct found *f, const struct spec *s, struct rpc *rpc,
                          struct gpu_look *look)
{
    struct msg_node_page page;
    const struct node_info *nodes;

    if (rpc_answer(rpc, &look->question, &page, NULL) < 0)
        return;
    nodes = page.nodes.items;
    for (size_t i = 0; i < page.nodes.n; i++) {
        if (strcmp(nodes[i].state, "up") != 0)
            continue;
        f->n_up++;
        if (nodes[i].gpus == 0 || !may_run_on(s, nodes[i].node))
            continue;
        f->gpus += nodes[i].gpus;
        if (f->n_nodes++ >= SHOWN_NODES)
            continue;
        buf_add_str(&f->names, f->names.n > 0 ? ", " : "");
        safe_text_add_harmless(&f->names, nodes[i].node, strlen(nodes[i].node), "");
    }
    if (f->n_nodes > SHOWN_NODES)
        buf_printf(&f->names, " and %zu more", f->n_nodes - SHOWN_NODES);
}

/* Counts this machine's GPUs: by resources: of config.yaml, else as a worker started here would. */
static void find_here(struct found *f, const struct conf *conf)
{
    const struct value *said = value_get(&conf->resources, "gpus");
    DIR *cards = said == NULL ? opendir("/proc/driver/nvidia/gpus") : NULL;
    const struct dirent *card;

    if (said != NULL && said->type == VALUE_INT)
        f->gpus = said->i;
    while (cards != NULL && (card = readdir(cards)) != NULL)
        f->gpus += card->d_name[0] != '.';
    if (cards != NULL)
        closedir(cards);
    f->n_nodes = f->gpus > 0;
    buf_add_str(&f->names, "this machine");
}

static bool says_enough(const struct spec *s)
{
    return s->says_gpus || (s->has_nodes && s->nodes.n == 0);
}

void gpu_hint_ask(struct gpu_look *look, const struct spec *s, struct session *session)
{
    *look = (struct gpu_look){ .request = { .limit = PAGE_MAX }, .is_asked = !says_enough(s) };
    if (look->is_asked)
        rpc_ask(&session->rpc, &look->question, MSG_GET_NODES, &look->request);
}

void gpu_hint_add(struct buf *out, const struct spec *s, struct session *session,
                  struct gpu_look *look)
{
    struct found f = { 0 };

    if (says_enough(s))
        return;
    if (look->is_asked)
        find_on_nodes(&f, s, &session->rpc, look);
    if (f.n_up == 0 && session->choice.embedded)
        find_here(&f, &session->conf);
    if (f.gpus > 0)
        buf_printf(out,
                   "%s %s %" PRId64 " GPU%s, and these jobs get none: resources: {gpus: 1} gives "
                   "each of them one",
                   buf_text(&f.names), f.n_nodes == 1 ? "has" : "have", f.gpus,
                   f.gpus == 1 ? "" : "s");
    buf_free(&f.names);
}
