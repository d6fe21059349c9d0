/* SPDX-License-Identifier: MIT */
/* selector.c - the words for sweeps and jobs */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "client/query/pages.h"
#include "client/query/selector.h"
#include "client/query/targets.h"
#include "client/term/progress.h"

enum { LAST_PAGE = 20 };

/* ---- reading ---- */

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

static bool read_word(const char **text, const char *word)
{
    size_t n = strlen(word);

    if (strncmp(*text, word, n) != 0)
        return false;
    *text += n;
    return true;
}

/* 13 or 1-40; what is wrong with it, or NULL. */
static const char *read_range(const char **text, struct target *t)
{
    if (**text == '0')
        return "jobs are counted from 1";
    if (!read_number(text, &t->first))
        return "a job's number is missing";
    t->last = t->first;
    if (**text != '-')
        return NULL;
    ++*text;
    if (**text == '0' || !read_number(text, &t->last))
        return "the number of the last job is missing";
    return t->last < t->first ? "the last job of a range comes before its first" : NULL;
}

/* 1,5,9-12 up to the end. */
static const char *read_ranges(const char *text, struct target t, struct targets *targets)
{
    for (;;) {
        const char *wrong = read_range(&text, &t);

        if (wrong != NULL)
            return wrong;
        targets_add(targets, &t);
        if (*text == '\0')
            return NULL;
        if (*text++ != ',')
            return "jobs are numbers and ranges with commas between";
    }
}

static const char *read_targets(const char *text, struct targets *targets)
{
    struct target t = { 0 };

    if (read_word(&text, "all"))
        t.sweep = SELECTOR_ALL;
    else if (read_word(&text, "last"))
        t.sweep = SELECTOR_LAST;
    else if (!read_number(&text, &t.sweep))
        return "a sweep is a number";
    if (*text == '.' && t.sweep != SELECTOR_ALL)
        return read_ranges(text + 1, t, targets);
    if (*text == ',' && t.sweep > 0)
        return "several sweeps are words of their own: 7 8";
    if (*text != '\0')
        return "this is more than a sweep";
    targets_add(targets, &t);
    return NULL;
}

int selector_parse(const char *text, struct arena *a, struct list *targets, struct err *e)
{
    struct targets found = { .arena = a };
    const char *wrong = read_targets(text, &found);

    if (wrong != NULL)
        return err_set(e, ERR_USAGE,
                       "'%s' names no sweep or job: %s (write 7, 7.13, 7.1-40, 7.1,5,9, last or "
                       "all)",
                       text, wrong);
    *targets = (struct list){ found.items, found.n };
    return 0;
}

int selector_check(const struct opt_words *words, struct err *e)
{
    struct arena *a = arena_create();
    struct list targets;
    int result = 0;

    for (size_t i = 0; result == 0 && i < words->n; i++)
        result = selector_parse(words->words[i], a, &targets, e);
    arena_destroy(a);
    return result;
}

/* ---- asking which sweeps they are ---- */

static int take_first(void *context, const struct msg_sweep_page *page, struct err *e)
{
    const struct sweep_info *sweeps = page->sweeps.items;

    (void)e;
    if (page->sweeps.n > 0)
        *(int64_t *)context = sweeps[0].sweep;
    return page->sweeps.n > 0;
}

static int find_last(struct rpc *rpc, const char *user, int64_t *sweep, struct err *e)
{
    struct sweep_filter filter = { .user = user, .page = LAST_PAGE };

    *sweep = 0;
    if (pages_sweeps(rpc, &filter, take_first, sweep, e) < 0)
        return -1;
    if (*sweep != 0)
        return 0;
    if (strcmp(user, rpc->welcome.user) == 0)
        return err_set(e, ERR_NOT_FOUND,
                       "you have no sweep here yet, so there is no last one (see ludwig help "
                       "submit)");
    return err_set(e, ERR_NOT_FOUND, "%s has no sweep here, so there is no last one", user);
}

static int take_all(void *context, const struct msg_sweep_page *page, struct err *e)
{
    const struct sweep_info *sweeps = page->sweeps.items;

    (void)e;
    for (size_t i = 0; i < page->sweeps.n; i++)
        targets_add(context, &(struct target){ .sweep = sweeps[i].sweep });
    return 0;
}

/* Adds what a word stands for. */
static int add_meant(struct rpc *rpc, const char *user, const char *text, struct targets *targets,
                     struct err *e)
{
    struct sweep_filter not_over = { .user = user,
                                     .states = 1u << SWEEP_RUNNING | 1u << SWEEP_PAUSED };
    struct list parsed;
    struct target *items;
    int64_t last = 0;

    if (selector_parse(text, targets->arena, &parsed, e) < 0)
        return -1;
    items = parsed.items;
    if (items[0].sweep == SELECTOR_ALL)
        return pages_sweeps(rpc, &not_over, take_all, targets, e);
    if (items[0].sweep == SELECTOR_LAST && find_last(rpc, user, &last, e) < 0)
        return -1;
    for (size_t i = 0; i < parsed.n; i++) {
        items[i].sweep = last != 0 ? last : items[i].sweep;
        targets_add(targets, &items[i]);
    }
    return 0;
}

int selector_targets(struct rpc *rpc, const char *user, const struct opt_words *words,
                     struct arena *a, struct list *targets, struct err *e)
{
    struct targets found = { .arena = a };

    /* The welcome, where the name stands, may come anew with the next question. */
    user = arena_strdup(a, user != NULL ? user : rpc->welcome.user);
    for (size_t i = 0; i < words->n; i++)
        if (add_meant(rpc, user, words->words[i], &found, e) < 0)
            return -1;
    targets_merge(&found);
    *targets = (struct list){ found.items, found.n };
    return 0;
}

/* ---- one alone ---- */

static int refuse_jobs(const char *text, const struct target *t, struct err *e)
{
    return err_set(e, ERR_USAGE, "'%s' names jobs; this takes whole sweeps: %" PRId64, text,
                   t->sweep);
}

int selector_sweeps(struct rpc *rpc, const struct opt_words *words, struct arena *a,
                    struct list *targets, struct err *e)
{
    const struct target *items;

    if (selector_targets(rpc, NULL, words, a, targets, e) < 0)
        return -1;
    items = targets->items;
    for (size_t i = 0; i < targets->n; i++)
        for (size_t k = 0; !target_is_whole(&items[i]) && k < words->n; k++)
            if (strchr(words->words[k], '.') != NULL)
                return refuse_jobs(words->words[k], &items[i], e);
    return 0;
}

/* The target of a word that names one sweep or jobs of it. */
static int read_target(struct rpc *rpc, const char *text, const char *wanted, struct target *t,
                       struct err *e)
{
    struct arena *a = arena_create();
    struct list parsed = { 0 };
    int result = selector_parse(text, a, &parsed, e);

    *t = result == 0 ? *(const struct target *)parsed.items : (struct target){ 0 };
    if (result == 0 && (parsed.n != 1 || t->sweep == SELECTOR_ALL))
        result = err_set(e, ERR_USAGE, "'%s' is more than one; this takes %s", text, wanted);
    if (result == 0 && t->sweep == SELECTOR_LAST)
        result = find_last(rpc, arena_strdup(a, rpc->welcome.user), &t->sweep, e);
    arena_destroy(a);
    return result;
}

int selector_sweep(struct rpc *rpc, const char *text, int64_t *sweep, struct err *e)
{
    struct target t;

    if (read_target(rpc, text, "one sweep", &t, e) < 0)
        return -1;
    if (!target_is_whole(&t))
        return refuse_jobs(text, &t, e);
    *sweep = t.sweep;
    return 0;
}

int selector_job(struct rpc *rpc, const char *text, struct target *t, struct err *e)
{
    if (read_target(rpc, text, "one job", t, e) < 0)
        return -1;
    if (target_is_whole(t) || t->first != t->last)
        return err_set(e, ERR_USAGE, "'%s' is not one job (write %" PRId64 ".1)", text, t->sweep);
    return 0;
}

/* ---- jobs that are not there ---- */

int selector_check_jobs(struct rpc *rpc, const struct list *targets, struct err *e)
{
    struct sweep_info s = { 0 };

    for (size_t i = 0; i < targets->n; i++) {
        const struct target *t = (const struct target *)targets->items + i;
        int64_t jobs;

        if (target_is_whole(t))
            continue;
        if (s.sweep != t->sweep && pages_sweep(rpc, t->sweep, &s, e) < 0)
            return -1;
        jobs = progress_jobs(&s.jobs);
        if (t->first <= jobs)
            continue;
        /* A job that was done before has no number in this sweep. */
        if (jobs == 0 && s.reused > 0)
            return err_set(e, ERR_NOT_FOUND,
                           "there is no job %" PRId64 ".%" PRId64 ": all %" PRId64
                           " were done before, in earlier sweeps (ludwig results %" PRId64
                           " shows them)",
                           t->sweep, t->first, s.reused, t->sweep);
        return err_set(e, ERR_NOT_FOUND,
                       "there is no job %" PRId64 ".%" PRId64 ": sweep %" PRId64 " has %" PRId64
                       " job%s%s",
                       t->sweep, t->first, t->sweep, jobs, jobs == 1 ? "" : "s",
                       s.reused > 0 ? " of its own" : "");
    }
    return 0;
}
