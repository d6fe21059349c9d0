/* SPDX-License-Identifier: MIT */
/* selector.c - the words for sweeps and jobs */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "client/selector.h"

/* From 1 up, without leading zeros; nothing is moved over when there is no number. */
static bool read_number(const char **text, int64_t *number)
{
    static const int64_t MAX = INT64_C(1) << 53;
    const char *at = *text;

    if (*at < '1' || *at > '9')
        return false;
    for (*number = 0; *at >= '0' && *at <= '9'; at++) {
        *number = 10 * *number + (*at - '0');
        if (*number > MAX)
            return false;
    }
    *text = at;
    return true;
}

static bool read_range(const char **text, struct target *t)
{
    if (!read_number(text, &t->first))
        return false;
    t->last = t->first;
    if (**text != '-')
        return true;
    ++*text;
    return read_number(text, &t->last) && t->last >= t->first;
}

int selector_parse(const char *text, struct target *t, struct err *e)
{
    static const char last[] = "last";
    const char *at = text;

    *t = (struct target){ 0 };
    if (strncmp(at, last, strlen(last)) == 0)
        at += strlen(last);
    else if (!read_number(&at, &t->sweep))
        goto fail;
    if (*at == '\0')
        return 0;
    if (*at++ != '.' || !read_range(&at, t) || *at != '\0')
        goto fail;
    return 0;
fail:
    return err_set(e, ERR_USAGE, "'%s' names no sweep or job (write 7, 7.13, 7.1-40 or last)",
                   text);
}

int selector_check(const struct opt_words *words, struct err *e)
{
    struct target t;

    if (words->n > TARGETS_MAX)
        return err_set(e, ERR_USAGE, "at most %d sweeps and jobs at once", TARGETS_MAX);
    for (size_t i = 0; i < words->n; i++)
        if (selector_parse(words->words[i], &t, e) < 0)
            return -1;
    return 0;
}

static int find_last(struct rpc *rpc, int64_t *sweep, struct err *e)
{
    struct msg_get_sweeps request = { .limit = 1 };
    struct msg_sweep_page page;

    if (rpc_call(rpc, MSG_GET_SWEEPS, &request, &page, e) < 0)
        return -1;
    if (page.sweeps.n == 0)
        return err_set(e, ERR_NOT_FOUND, "there is no sweep yet (see ludwig help submit)");
    *sweep = ((const struct sweep_info *)page.sweeps.items)[0].sweep;
    return 0;
}

static int read_target(struct rpc *rpc, const char *text, struct target *t, struct err *e)
{
    if (selector_parse(text, t, e) < 0)
        return -1;
    return t->sweep != 0 ? 0 : find_last(rpc, &t->sweep, e);
}

int selector_sweep(struct rpc *rpc, const char *text, int64_t *sweep, struct err *e)
{
    struct target t;

    if (read_target(rpc, text, &t, e) < 0)
        return -1;
    if (t.first != 0)
        return err_set(e, ERR_USAGE, "'%s' names jobs; this takes a whole sweep: %" PRId64, text,
                       t.sweep);
    *sweep = t.sweep;
    return 0;
}

int selector_job(struct rpc *rpc, const char *text, struct target *t, struct err *e)
{
    if (read_target(rpc, text, t, e) < 0)
        return -1;
    if (t->first == 0 || t->first != t->last)
        return err_set(e, ERR_USAGE, "'%s' is not one job (write %" PRId64 ".1)", text, t->sweep);
    return 0;
}

int selector_targets(struct rpc *rpc, const struct opt_words *words, struct arena *a,
                     struct list *targets, struct err *e)
{
    struct target *items = arena_alloc(a, words->n * sizeof *items);

    for (size_t i = 0; i < words->n; i++)
        if (read_target(rpc, words->words[i], &items[i], e) < 0)
            return -1;
    *targets = (struct list){ items, words->n };
    return 0;
}
