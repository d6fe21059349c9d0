/* SPDX-License-Identifier: MIT */
/* opt_state.c - what --state takes */
#include <stdlib.h>
#include <string.h>

#include "client/term/opt_state.h"
#include "common/base/suggest.h"
#include "common/proto/states.h"

const struct opt_state stateopt_jobs = { job_state_names,  JOB_STATE_COUNT, ~0u,
                                         "no job is ever", "paused",        OPT_STATE_PAUSED };
const struct opt_state stateopt_sweeps = { .names = sweep_state_names,
                                           .n = SWEEP_STATE_COUNT,
                                           .allowed = ~(1u << SWEEP_OPEN),
                                           .refusal = "no sweep is ever" };

static bool is_allowed(const struct opt_state *o, unsigned i)
{
    return (o->allowed >> i & 1) != 0;
}

static int refuse(const struct opt_state *o, const char *word, struct err *e)
{
    struct suggest nearest = { .word = word };
    struct buf names = { 0 };

    if (o->mistaken != NULL && strcmp(word, o->mistaken) == 0)
        return err_set(e, ERR_USAGE, "--state: %s", o->hint);
    for (unsigned i = 0; i < o->n; i++)
        if (is_allowed(o, i)) {
            suggest_try(&nearest, o->names[i]);
            buf_printf(&names, "%s%s", names.n > 0 ? ", " : "", o->names[i]);
        }
    if (nearest.best != NULL)
        err_set(e, ERR_USAGE, "--state: %s '%s' (did you mean '%s'?)", o->refusal, word,
                nearest.best);
    else
        err_set(e, ERR_USAGE, "--state: %s '%s' (there are %s)", o->refusal, word,
                buf_text(&names));
    buf_free(&names);
    return -1;
}

static int read_word(const struct opt_state *o, const char *word, unsigned *states, struct err *e)
{
    for (unsigned i = 0; i < o->n; i++)
        if (is_allowed(o, i) && strcmp(o->names[i], word) == 0) {
            *states |= 1u << i;
            return 0;
        }
    return refuse(o, word, e);
}

int opt_state_read(const struct opt_state *o, const struct list *words, unsigned *states,
                   struct err *e)
{
    const char *const *items = words->items;
    int result = 0;

    *states = 0;
    for (size_t i = 0; result == 0 && i < words->n; i++) {
        const char *at = items[i];

        do {
            char *word = mem_strndup(at, strcspn(at, ","));

            at += strlen(word);
            result = read_word(o, word, states, e);
            free(word);
        } while (result == 0 && *at++ == ',');
    }
    return result;
}

struct list opt_state_names(const struct opt_state *o, unsigned states, struct arena *a)
{
    const char **items = arena_alloc(a, o->n * sizeof *items);
    size_t n = 0;

    for (unsigned i = 0; i < o->n; i++)
        if ((states >> i & 1) != 0)
            items[n++] = o->names[i];
    return (struct list){ items, n };
}
