/* SPDX-License-Identifier: MIT */
/* datasets_prune.c - removes sources and data from the shared drive that no sweep needs */
#include <inttypes.h>
#include <string.h>

#include "client/pack/datasets_prune.h"
#include "client/term/output.h"
#include "common/base/units.h"

enum { KEPT_DAYS = 30, LEAST_ID = 6 };

static const int64_t DAY_S = 24 * 3600;

/* What a word turned out to name. */
struct pick {
    const char *word;
    const char *project; /* NULL: nothing yet */
    struct digest id;    /* if the word is the begin of one; else zero */
};

/* ---- which go ---- */

static int take_name(struct pick *p, const char *project, struct err *e)
{
    if (p->project != NULL && strcmp(p->project, project) != 0)
        return err_set(e, ERR_USAGE,
                       "%s and %s both have a dataset '%s'; --project says which is meant",
                       p->project, project, p->word);
    p->project = project;
    return 0;
}

static int take_id(struct pick *p, const char *project, const struct digest *id, struct err *e)
{
    if (!digest_is_zero(&p->id) && !digest_equal(&p->id, id))
        return err_set(e, ERR_USAGE, "several ids begin with '%s'; say more of the one meant",
                       p->word);
    p->project = project;
    p->id = *id;
    return 0;
}

static bool begins_id(const char *word, const struct digest *id)
{
    char hex[DIGEST_HEX];

    digest_hex(id, hex);
    return strlen(word) >= LEAST_ID && strncmp(hex, word, strlen(word)) == 0;
}

/* 1: the set is meant; 0; -1. */
static int compare(struct pick *p, const struct datasets *d, const char *project,
                   const struct packed *set, struct err *e)
{
    struct dataset_use use = datasets_use(d, project, set, p->word);

    if (use.has_name ? take_name(p, project, e) < 0
                     : begins_id(p->word, &set->id) && take_id(p, project, &set->id, e) < 0)
        return -1;
    if (!use.has_name && !begins_id(p->word, &set->id))
        return 0;
    if (use.unfinished == 0)
        return 1;
    return err_set(e, ERR_BUSY, "%s is needed by %" PRId64 " sweep%s not over", p->word,
                   use.unfinished, use.unfinished == 1 ? " that is" : "s that are");
}

/* What a tidying goes by. */
struct tidying {
    struct datasets *sets;
    struct pick *picks; /* NULL: what is old goes */
    size_t n_picks;
    bool removes;
    int64_t now_s;
};

static int choose_picked(const struct tidying *t, const char *project, struct datasets_stored *p,
                         struct err *e)
{
    for (size_t i = 0; i < p->n_sets; i++) {
        p->sets[i].stays = true;
        for (size_t k = 0; k < t->n_picks; k++) {
            int rc = compare(&t->picks[k], t->sets, project, &p->sets[i], e);

            if (rc < 0)
                return -1;
            if (rc > 0)
                p->sets[i].stays = false;
        }
    }
    return 0;
}

static void choose_old(const struct tidying *t, const char *project, struct datasets_stored *p)
{
    for (size_t i = 0; i < p->n_sets; i++) {
        struct packed *set = &p->sets[i];
        struct dataset_use use = datasets_use(t->sets, project, set, NULL);
        int64_t used_s = use.used_at / 1000;

        if (used_s < set->mtime_s)
            used_s = set->mtime_s;
        set->stays = use.unfinished > 0 || used_s > t->now_s - KEPT_DAYS * DAY_S;
    }
}

/* ---- one project after the other ---- */

static void say_waste(const struct datasets_stored *p, const char *project, bool removed)
{
    struct buf size = { 0 };
    size_t n_sets = 0;

    for (size_t i = 0; i < p->n_sets; i++)
        n_sets += !p->sets[i].stays;
    units_add_size(&size, p->waste_bytes);
    if (p->n_waste == 0)
        output_note("%s: nothing can go", project);
    else
        output_note("%s: %zu dataset%s, %zu file%s, %s %s", project, n_sets, n_sets == 1 ? "" : "s",
                    p->n_waste, p->n_waste == 1 ? "" : "s", buf_text(&size),
                    removed ? "removed" : "can go: --yes removes them");
    buf_free(&size);
}

static int tidy_opened(const struct tidying *t, const struct datasets_project *project,
                       struct datasets_stored *p, struct err *e)
{
    bool is_picky = t->picks != NULL;

    if (is_picky && choose_picked(t, project->name, p, e) < 0)
        return -1;
    if (is_picky && !t->removes)
        return 0;
    if (!is_picky)
        choose_old(t, project->name, p);
    datasets_stored_find_waste(p, t->now_s);
    if (t->removes && datasets_stored_remove_waste(p, t->now_s, e) < 0)
        return -1;
    if (is_picky ? p->n_waste > 0 : !project->is_guessed || p->n_sets > 0)
        say_waste(p, project->name, t->removes);
    return 0;
}

static int tidy(const struct tidying *t, const struct datasets_project *project, struct err *e)
{
    struct place to = { .drive = session_drive(t->sets->session, e), .project = project->name };
    struct datasets_stored p;
    struct err why = { 0 };
    int result;

    if (to.drive == NULL)
        return -1;
    if (datasets_stored_open(&p, &to, &why) < 0)
        return project->is_guessed && why.kind == ERR_DENIED ? 0
                                                             : err_set(e, why.kind, "%s", why.text);
    result = tidy_opened(t, project, &p, e);
    datasets_stored_close(&p);
    return result;
}

static int tidy_all(const struct tidying *t, struct err *e)
{
    size_t n;
    const struct datasets_project *projects = datasets_projects(t->sets, true, &n);

    for (size_t i = 0; i < n; i++)
        if (tidy(t, &projects[i], e) < 0)
            return -1;
    return 0;
}

/* ---- what callers see ---- */

int datasets_prune_remove(struct datasets *d, const char *const *words, size_t n, struct err *e)
{
    struct tidying t = { .sets = d, .n_picks = n, .now_s = units_now_ms() / 1000 };

    t.picks = arena_alloc(d->session->arena, n * sizeof *t.picks);
    for (size_t i = 0; i < n; i++)
        t.picks[i].word = words[i];
    if (datasets_fetch(d, e) < 0 || tidy_all(&t, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (t.picks[i].project == NULL)
            return err_set(e, ERR_NOT_FOUND, "there is no dataset '%s' (ludwig data ls lists them)",
                           words[i]);
    t.removes = true;
    return tidy_all(&t, e);
}

int datasets_prune_collect(struct datasets *d, bool removes, struct err *e)
{
    struct tidying t = { .sets = d, .removes = removes, .now_s = units_now_ms() / 1000 };

    return datasets_fetch(d, e) < 0 ? -1 : tidy_all(&t, e);
}
