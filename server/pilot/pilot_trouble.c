/* SPDX-License-Identifier: MIT */
/* pilot_trouble.c - why a pool gets no pilots, or no more, in words for its user */

#include <inttypes.h>
#include <string.h>

#include "common/base/units.h"
#include "common/base/utf8.h"
#include "server/pilot/pilots_internal.h"
#include "server/queue/subscribe.h"

const char *pilots_limit(struct server *sv, const struct pilot_owner *of, struct arena *a)
{
    const struct pilots *p = sv->pilots;
    const struct pilots_there n = pilots_there(p, of);
    const struct slurm_site *site = conf_slurm_site(&sv->conf, of->spec->partition);
    const struct pilot_limits limits = site_limits(p, of->user, of->spec, a);

    if (site != NULL && site->max_pilots != 0 && n.of_partition >= site->max_pilots)
        return arena_printf(
            a,
            "%s has %" PRId64 " pilot%s there, and may have no more (max_pilots: %" PRId64
            "): others come when these have ended",
            of->user, n.of_partition, n.of_partition == 1 ? "" : "s", site->max_pilots);
    if (limits.submit != SLURM_NONE && n.of_account >= limits.submit)
        return arena_printf(a,
                            "%s has %" PRId64 " pilot%s, and may have no more (%s=%" PRId64
                            "): others come when these have ended",
                            of->user, n.of_account, n.of_account == 1 ? "" : "s",
                            limits.submit_what, limits.submit);
    if (limits.run != SLURM_NONE && n.of_pool >= limits.run)
        return arena_printf(a,
                            "no more than %" PRId64 " pilot%s of %s can run at once (%s): others "
                            "come when these have ended",
                            limits.run, limits.run == 1 ? "" : "s", of->user, limits.run_what);
    return NULL;
}

static const char *when(int64_t in_ms, struct arena *a)
{
    return in_ms <= 0 ? "now" : arena_printf(a, "in %" PRId64 " s", (in_ms + 999) / 1000);
}

const char *pilots_trouble(struct server *sv, int64_t pool, struct arena *a)
{
    int64_t now_ms = units_monotonic_ms();
    const struct backoff *backoff = pilots_find_backoff(sv->pilots, pool);

    if (sv->pilots->away_why != NULL)
        return arena_printf(a, "Slurm cannot be asked, which is tried again %s: %s",
                            when(sv->pilots->away_ends_ms - now_ms, a), sv->pilots->away_why);
    if (!site_is_known(sv->pilots))
        return "Slurm is being asked what there is";
    if (backoff != NULL && backoff->ends_ms > now_ms)
        return arena_printf(a, "the last one %s; the next is submitted %s", backoff->why,
                            when(backoff->ends_ms - now_ms, a));
    return backoff == NULL ? NULL : arena_printf(a, "the last one %s", backoff->why);
}

/* ---- what listings of sweeps and nodes say about a pool ---- */

/* Says that no pilot which Slurm has accepted begins by itself; NULL: one does, or has begun. */
static const char *why_none_begins(const struct pilots *p, int64_t pool, struct arena *a)
{
    const struct pilot_row *first = NULL;

    for (size_t i = 0; i < p->rows.n; i++) {
        const struct pilot_row *row = &p->rows.items[i];

        if (row->pool != pool)
            continue;
        if (row->worker != 0 || row->words == NULL ||
            (row->phase != PILOT_LIMITED && row->phase != PILOT_HELD))
            return NULL;
        first = first == NULL ? row : first;
    }
    return first == NULL
               ? NULL
               : arena_printf(a, "Slurm's job %s waits: %s", pilot_row_job(first, a), first->words);
}

static const char *standing_trouble(struct pilots *p, int64_t pool, struct arena *a)
{
    const struct backoff *backoff = pilots_find_backoff(p, pool);
    const char *text = p->away_why != NULL
                           ? arena_printf(a, "Slurm cannot be asked: %s", p->away_why)
                       : backoff != NULL ? arena_printf(a, "the last one %s", backoff->why)
                                         : why_none_begins(p, pool, a);

    return text == NULL ? NULL
                        : arena_strndup(a, text, utf8_cut(text, strnlen(text, REASON_MAX_BYTES)));
}

static int tell(struct pilots *p, int64_t pool, const char *trouble, struct err *e)
{
    struct stmt *s;
    int rc;

    if (db_run(p->sv->db, e, SQL_POOL_TROUBLE, "is", pool, trouble) < 0)
        return -1;
    s = db_ask(p->sv->db, SQL_POOL_SWEEPS, "i", pool);
    while ((rc = stmt_step(s, e)) == 1)
        subscribe_touch(p->sv, stmt_int(s, 0));
    stmt_end(s);
    return rc;
}

int pool_troubles_write(struct pilots *p, struct err *e)
{
    struct stmt *s = db_ask(p->sv->db, SQL_POOLS_OPEN, "");
    struct change {
        int64_t pool;
        const char *trouble;
        struct change *next;
    } *changes = NULL, *one;
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        const char *was = stmt_text(s, 1), *is = standing_trouble(p, stmt_int(s, 0), p->arena);

        if (was == is || (was != NULL && is != NULL && strcmp(was, is) == 0))
            continue;
        one = arena_alloc(p->arena, sizeof *one);
        *one = (struct change){ stmt_int(s, 0), is, changes };
        changes = one;
    }
    stmt_end(s);
    for (; rc == 0 && changes != NULL; changes = changes->next)
        rc = tell(p, changes->pool, changes->trouble, e);
    return rc < 0 ? -1 : 0;
}
