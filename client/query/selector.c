/* SPDX-License-Identifier: MIT */
/* selector.c - words on the command line that name sweeps and jobs */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "client/query/pages.h"
#include "client/query/selector.h"
#include "client/term/progress.h"

enum { LAST_PAGE = 20 };

/* ---- targets ---- */

/* Extends t by next, which does not begin before t, if they overlap or touch. */
static bool take_in(struct target *t, const struct target *next)
{
    if (t->sweep != next->sweep || (!target_is_whole(t) && next->first > t->last + 1))
        return false;
    if (!target_is_whole(t) && next->last > t->last)
        t->last = next->last;
    return true;
}

void targets_add(struct targets *t, const struct target *more)
{
    struct target *last = t->n > 0 ? &t->items[t->n - 1] : NULL;

    if (last != NULL && !target_is_whole(more) && more->first >= last->first && take_in(last, more))
        return;
    if (t->n == t->capacity) {
        size_t capacity = t->capacity == 0 ? 16 : 2 * t->capacity;
        struct target *items = arena_alloc(t->arena, capacity * sizeof *items);

        if (t->n > 0)
            memcpy(items, t->items, t->n * sizeof *items);
        t->items = items;
        t->capacity = capacity;
    }
    t->items[t->n++] = *more;
}

/* A whole sweep, which begins at 0, comes before its jobs. */
static int compare_targets(const void *x, const void *y)
{
    const struct target *a = x, *b = y;

    if (a->sweep != b->sweep)
        return a->sweep < b->sweep ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

void targets_merge(struct targets *t)
{
    size_t n = 0;

    if (t->n == 0)
        return;
    qsort(t->items, t->n, sizeof *t->items, compare_targets);
    for (size_t i = 1; i < t->n; i++)
        if (!take_in(&t->items[n], &t->items[i]))
            t->items[++n] = t->items[i];
    t->n = n + 1;
}

/* ---- reading ---- */

/* Reads a number from 1 up, without leading zeros; false, and *text stays, if there is none. */
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

/* Reads a whole word: 7, 7.1,5,9-12, last or all.  Returns an error's text, or NULL. */
static const char *read_targets(const char *text, struct targets *targets)
{
    struct target t = { 0 };

    if (read_word(&text, "all"))
        t.sweep = SELECTOR_ALL;
    else if (read_word(&text, "last"))
        t.sweep = SELECTOR_LAST;
    else if (!read_number(&text, &t.sweep))
        return "a sweep is a number";
    if (*text == ',' && t.sweep > 0)
        return "several sweeps are words of their own: 7 8";
    if (*text == '.' && t.sweep != SELECTOR_ALL) {
        do {
            text++;
            if (*text == '0')
                return "jobs are counted from 1";
            if (!read_number(&text, &t.first))
                return "a job's number is missing";
            t.last = t.first;
            if (*text == '-' && (*++text == '0' || !read_number(&text, &t.last)))
                return "the number of the last job is missing";
            if (t.last < t.first)
                return "the last job of a range comes before its first";
            targets_add(targets, &t);
        } while (*text == ',');
        return *text != '\0' ? "jobs are numbers and ranges with commas between" : NULL;
    }
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

/* ---- last and all ---- */

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

int selector_targets(struct rpc *rpc, const char *user, const struct opt_words *words,
                     struct arena *a, struct list *targets, struct err *e)
{
    struct targets found = { .arena = a };
    /* The name is copied, as the next question may replace the welcome. */
    const struct sweep_filter not_over = {
        .user = arena_strdup(a, user != NULL ? user : rpc->welcome.user),
        .states = 1u << SWEEP_RUNNING | 1u << SWEEP_PAUSED | 1u << SWEEP_HELD
    };

    for (size_t i = 0; i < words->n; i++) {
        struct list parsed = { 0 };
        struct target *items;
        int64_t last = 0;

        if (selector_parse(words->words[i], a, &parsed, e) < 0)
            return -1;
        items = parsed.items;
        if (items[0].sweep == SELECTOR_ALL) {
            if (pages_sweeps(rpc, &not_over, take_all, &found, e) < 0)
                return -1;
            continue;
        }
        if (items[0].sweep == SELECTOR_LAST && find_last(rpc, not_over.user, &last, e) < 0)
            return -1;
        for (size_t k = 0; k < parsed.n; k++) {
            items[k].sweep = last != 0 ? last : items[k].sweep;
            targets_add(&found, &items[k]);
        }
    }
    targets_merge(&found);
    *targets = (struct list){ found.items, found.n };
    return 0;
}

struct opt_words selector_words_or_last(const struct opt_words *words)
{
    static char last[] = "last", *one = last;

    return words->n > 0 ? *words : (struct opt_words){ &one, 1 };
}

/* ---- a single sweep or job ---- */

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

/* Reads a word that must name one sweep or jobs of one sweep. */
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

int selector_sweep_or_job(struct rpc *rpc, const char *text, struct target *t, struct err *e)
{
    if (read_target(rpc, text, "one sweep or job", t, e) < 0)
        return -1;
    if (!target_is_whole(t) && t->first != t->last)
        return err_set(e, ERR_USAGE, "'%s' is more than one job (write %" PRId64 ".%" PRId64 ")",
                       text, t->sweep, t->first);
    return 0;
}

/* ---- jobs that do not exist ---- */

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
        if (t->first <= jobs || t->first <= s.last_job)
            continue;
        /* A reused job has no number in this sweep. */
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
