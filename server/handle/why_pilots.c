/* SPDX-License-Identifier: MIT */
/* why_pilots.c - what keeps a sweep from getting pilots: Slurm's own words, or ours */

#include <inttypes.h>

#include "server/handle/why.h"
#include "server/pilot/pilots.h"
#include "server/queue/pilot_rows.h"

static void say_pilots(struct why *to, const char *partition, struct stmt *s)
{
    int64_t job = stmt_int(s, 0), n = stmt_int(s, 2);
    const char *words = stmt_is_null(s, 1) ? "Slurm was not asked about it yet" : stmt_text(s, 1);

    if (job == 0)
        why_say(to, "partition %s: %" PRId64 " pilot%s about to be submitted", partition, n,
                n == 1 ? " is" : "s are");
    else if (n == 1)
        why_say(to, "partition %s: a pilot, Slurm's job %" PRId64 ": %s", partition, job, words);
    else
        why_say(to, "partition %s: %" PRId64 " pilots, Slurm's job %" PRId64 ": %s", partition, n,
                job, words);
}

/* Those that wait: how many kinds of them there are, -1. */
static int say_waiting(struct why *to, int64_t pool, const char *partition, struct err *e)
{
    struct stmt *s = db_ask(to->sv->db, SQL_WHY_PILOTS, "i", pool);
    int n = 0, rc;

    for (; (rc = stmt_step(s, e)) == 1; n++)
        say_pilots(to, partition, s);
    return rc < 0 ? -1 : n;
}

static int say_pool(struct why *to, const struct pilot_owner *of, struct err *e)
{
    const char *trouble = pilots_trouble(to->sv, of->pool, to->arena);
    const char *limit = pilots_limit(to->sv, of, to->arena);
    const char *partition = of->spec->partition;
    int n = say_waiting(to, of->pool, partition, e);

    if (n == 0 && trouble != NULL)
        why_say(to, "partition %s: no pilot at the moment: %s", partition, trouble);
    else if (trouble != NULL)
        why_say(to, "partition %s: %s", partition, trouble);
    else if (limit != NULL)
        why_say(to, "partition %s: %s", partition, limit);
    return n < 0 ? -1 : 0;
}

int why_pilots(struct why *to, int64_t sweep, struct err *e)
{
    struct stmt *s = db_ask(to->sv->db, SQL_WHY_POOLS, "i", sweep);
    struct slurm_pool pool;
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        rc = pool_read(stmt_bytes(s, 1), to->arena, &pool, e);
        if (rc == 0 && !stmt_is_null(s, 2))
            why_say(to, "partition %s: no pilots: %s", pool.partition, stmt_text(s, 2));
        else if (rc == 0)
            rc = say_pool(to,
                          &(struct pilot_owner){ (uid_t)stmt_int(s, 3), stmt_text(s, 4),
                                                 stmt_int(s, 0), &pool },
                          e);
        if (rc < 0)
            break;
    }
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}
