/* SPDX-License-Identifier: MIT */
/* pilot_rows.c - rows of pilots and pools, and whether a job fits into a pilot's time */

#include "server/queue/pilot_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "server/base/turn.h"
#include "server/queue/subscribe.h"
#include "server/share/server_dirs.h"
#include "server/slurm/slurmread.h"

/* ---- pools ---- */

int sweep_pools_read(struct server *sv, int64_t sweep, struct arena *a, struct sweep_pools *pools,
                     struct err *e)
{
    int64_t *items = arena_alloc(a, POOLS_MAX * sizeof *items);
    struct stmt *s = db_ask(sv->db, SQL_SWEEP_POOLS, "i", sweep);
    int rc = 0;

    *pools = (struct sweep_pools){ items, 0 };
    while (pools->n < POOLS_MAX && (rc = stmt_step(s, e)) == 1)
        items[pools->n++] = stmt_int(s, 0);
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

bool sweep_pools_have(const struct sweep_pools *pools, int64_t pool)
{
    for (size_t i = 0; i < pools->n; i++)
        if (pools->items[i] == pool)
            return true;
    return false;
}

int pool_read(struct bytes bytes, struct arena *a, struct slurm_pool *pool, struct err *e)
{
    return schema_read(&slurm_pool_schema, bytes, a, pool, e);
}

int pool_refuse(struct server *sv, const struct pilot_row *row, const char *why, struct err *e)
{
    /* Cut to the length of a reason. */
    char *text = mem_strndup(why, utf8_cut(why, strnlen(why, REASON_MAX_BYTES)));
    struct stmt *s = grown_is(row->grown)
                         ? db_ask(sv->db, SQL_POOL_REFUSE_GROWN, "iisii", row->pool, row->sweep,
                                  text, row->grown.memory_bytes, row->grown.time_ms)
                         : db_ask(sv->db, SQL_POOL_REFUSE, "iis", row->pool, row->sweep, text);
    int rc;

    while ((rc = stmt_step(s, e)) == 1)
        subscribe_touch(sv, stmt_int(s, 0));
    stmt_end(s);
    free(text);
    return rc;
}

/* ---- pilots ---- */

/* Reads the next row of the statement: 1, 0 at its end, -1. */
static int row_next(struct stmt *s, struct arena *a, struct pilot_row *row, struct err *e)
{
    int rc = stmt_step(s, e);

    if (rc <= 0)
        return rc;
    *row = (struct pilot_row){ .id = stmt_int(s, 0),
                               .pool = stmt_int(s, 1),
                               .sweep = stmt_int(s, 23),
                               .grown = { stmt_int(s, 24), stmt_int(s, 25) },
                               .task = stmt_int(s, 3),
                               .tasks = stmt_int(s, 4),
                               .name = stmt_copy(s, 5, a),
                               .comment = stmt_copy(s, 6, a),
                               .project = stmt_copy(s, 7, a),
                               .cpus = stmt_int(s, 8),
                               .gpus = stmt_int(s, 9),
                               .memory_bytes = stmt_int(s, 10),
                               .time_ms = stmt_int(s, 11),
                               .phase = (enum pilot_phase)stmt_enum(s, 12, PILOT_PHASE_COUNT),
                               .words = stmt_copy(s, 13, a),
                               .was_asked = stmt_int(s, 14) != 0,
                               .slurm_id = stmt_int(s, 15),
                               .submitted_s = stmt_int(s, 16),
                               .worker = stmt_int(s, 17),
                               .created_at = stmt_int(s, 18),
                               .started_at = stmt_int(s, 22),
                               .uid = (uid_t)stmt_int(s, 19),
                               .user = stmt_copy(s, 20, a) };
    stmt_token(s, 2, &row->token);
    return pool_read(stmt_bytes(s, 21), a, &row->spec, e) < 0 ? -1 : 1;
}

int pilots_count(struct server *sv, int64_t *waiting, int64_t *running, struct err *e)
{
    return db_get(sv->db, e, SQL_PILOTS_COUNT, ">ii", waiting, running) < 0 ? -1 : 0;
}

int pilot_rows_live(struct server *sv, struct arena *a, struct pilot_rows *rows, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_PILOTS_LIVE, "");
    struct pilot_row *items = NULL, row;
    size_t n = 0, capacity = 0;
    int rc;

    while ((rc = row_next(s, a, &row, e)) == 1) {
        mem_grow((void **)&items, &capacity, n, sizeof *items);
        items[n++] = row;
    }
    stmt_end(s);
    rows->n = n;
    rows->items = arena_alloc(a, (n + 1) * sizeof *items);
    if (n > 0)
        memcpy(rows->items, items, n * sizeof *items);
    free(items);
    return rc;
}

int pilot_row_by_token(struct server *sv, const struct token *token, int64_t task, struct arena *a,
                       struct pilot_row *row, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_PILOT_BY_TOKEN, "ti", token, task);
    int rc = row_next(s, a, row, e);

    stmt_end(s);
    return rc;
}

int pilot_row_of_worker(struct server *sv, int64_t worker, struct arena *a, struct pilot_row *row,
                        struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_PILOT_OF_WORKER, "i", worker);
    int rc = row_next(s, a, row, e);

    stmt_end(s);
    return rc;
}

int pilot_row_count_time(struct server *sv, int64_t pilot, struct err *e)
{
    if (db_run(sv->db, e, SQL_PILOT_SPENT, "ii", pilot, turn_now_ms(sv)) < 0)
        return -1;
    return db_run(sv->db, e, SQL_PILOT_COUNTED, "ii", pilot, turn_now_ms(sv)) < 0 ? -1 : 0;
}

int pilot_row_end(struct server *sv, int64_t pilot, const char *words, struct err *e)
{
    if (pilot_row_count_time(sv, pilot, e) < 0)
        return -1;
    return db_run(sv->db, e, SQL_PILOT_END, "iisi", pilot, (int64_t)PILOT_ENDED, words,
                  turn_now_ms(sv)) < 0
               ? -1
               : 0;
}

const char *pilot_row_job(const struct pilot_row *row, struct arena *a)
{
    if (row->tasks > 1)
        return arena_printf(a, "%" PRId64 "_%" PRId64, row->slurm_id, row->task);
    return arena_printf(a, "%" PRId64, row->slurm_id);
}

int64_t pilot_row_claimed_id(const char *slurm_job, struct arena *a)
{
    return slurm_job_id(arena_strndup(a, slurm_job, strcspn(slurm_job, "_")));
}

const char *pilot_row_log(const struct pilot_row *row, struct arena *a)
{
    char *folder = server_dirs_pilots_path("", row->uid); /* "/.ludwig/..." */
    const char *log =
        row->tasks > 1 ? arena_printf(a, "%s/%s_%" PRId64 ".log", folder + 1, row->name, row->task)
                       : arena_printf(a, "%s/%s.log", folder + 1, row->name);

    free(folder);
    return log;
}

int64_t pilot_need_ms(const struct pilot_need *need)
{
    if (need->time_ms > 0)
        return need->time_ms + PILOT_MARGIN_MS;
    return need->mean_ms > 0 ? 2 * need->mean_ms + PILOT_MARGIN_MS : 0;
}

/* A job of unknown run time is only given to a pilot that has nearly all of its time left. */
bool pilot_has_time(const struct conn *c, const struct pilot_need *need, int64_t now_ms)
{
    int64_t left_ms = c->pilot_ends_at_ms - now_ms, need_ms = pilot_need_ms(need);

    if (c->pilot == 0 || c->pilot_ends_at_ms == 0)
        return true;
    if (need_ms > 0)
        return left_ms >= need_ms;
    return left_ms >= c->pilot_time_ms - c->pilot_time_ms / 10 - PILOT_MARGIN_MS &&
           left_ms > PILOT_MARGIN_MS;
}
