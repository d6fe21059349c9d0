/* SPDX-License-Identifier: MIT */
/* advice_lines.c - reads the record of a sweep's advisor, and appends ludwigd's lines to it */

#include "server/search/advice_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/quote.h"
#include "common/data/json.h"
#include "common/data/msgpack.h"
#include "server/base/turn.h"
#include "server/search/space.h"

enum {
    TOLD_AT_ONCE = 50,
    RUNNING_TOLD_MAX = 1000,
    LOADED_AT_ONCE = 1000,
};

int advice_load_record(struct server *sv, struct advisee *a, struct err *e)
{
    struct stmt *s =
        db_ask(sv->db, SQL_ADVICE_AFTER, "iii", a->sweep, a->record.last, (int64_t)LOADED_AT_ONCE);
    bool is_cut = false;
    int rc, n = 0;

    for (; !is_cut && (rc = stmt_step(s, e)) == 1; n++) {
        const struct advice_line line = { stmt_int(s, 0), stmt_enum(s, 1, ADVICE_DIR_COUNT),
                                          stmt_text(s, 2) };

        record_add(&a->record, &line);
        is_cut = turn_is_full(sv);
    }
    stmt_end(s);
    if (is_cut)
        return 1;
    return rc < 0 ? -1 : n == LOADED_AT_ONCE;
}

/* ---- writing the record ---- */

int advice_append(struct server *sv, struct advisee *a, enum advice_dir dir, const char *body,
                  struct err *e)
{
    const struct advice_line line = { a->record.last + 1, (int)dir, body };

    if (db_run(sv->db, e, SQL_ADVICE_ADD, "iiis", a->sweep, line.seq, (int64_t)dir, body) < 0)
        return -1;
    record_add(&a->record, &line);
    return 0;
}

void advice_line_begin(const struct advisee *a, struct buf *line, const char *type)
{
    buf_clear(line);
    buf_printf(line, "{\"v\": 1, \"seq\": %" PRId64 ", \"type\": \"%s\"", a->record.last + 1, type);
}

int advice_line_end(struct server *sv, struct advisee *a, enum advice_dir dir, struct buf *line,
                    struct err *e)
{
    int rc;

    buf_add_char(line, '}');
    rc = advice_append(sv, a, dir, buf_text(line), e);
    buf_free(line);
    return rc;
}

void advice_line_text(struct buf *line, const char *key, const char *text)
{
    buf_printf(line, ", \"%s\": ", key);
    quote_add(line, text, strlen(text));
}

int advice_append_why(struct server *sv, struct advisee *a, enum advice_dir dir, const char *type,
                      const char *why, struct err *e)
{
    struct buf line = { 0 };

    advice_line_begin(a, &line, type);
    if (why != NULL)
        advice_line_text(&line, "why", why);
    log_event(LOG_INFO, "advisor", "sweep", "%lld", (long long)a->sweep, "what", "%s", type, "why",
              "%s", why == NULL ? "" : why, NULL);
    return advice_line_end(sv, a, dir, &line, e);
}

int advice_append_space(struct server *sv, struct advisee *a, const struct advised_row *row,
                        struct err *e)
{
    const struct search *s = &a->search;
    struct buf line = { 0 };

    advice_line_begin(a, &line, "space");
    buf_add_str(&line, ", ");
    space_add_json(s, &line);
    advice_line_text(&line, "metric", row->metric == NULL ? "" : row->metric);
    buf_printf(&line, ", \"goal\": \"%s\", \"reps\": %" PRId64 ", \"seed\": %" PRId64,
               goal_names[row->goal], row->reps, s->seed);
    buf_printf(&line, ", \"sweep\": %" PRId64 ", \"budget\": {", a->sweep);
    if (s->configs > 0)
        buf_printf(&line, "\"configs\": %" PRId64 "%s", s->configs,
                   s->gpu_hours_milli > 0 ? ", " : "");
    if (s->gpu_hours_milli > 0) {
        buf_add_str(&line, "\"gpu_hours\": ");
        value_add_float(&line, (double)s->gpu_hours_milli / 1000);
    }
    buf_add_char(&line, '}');
    return advice_line_end(sv, a, ADVICE_DOWN, &line, e);
}

/* A seed of 31 bits, always the same for the same question. */
static int64_t seed_of(int64_t seed, int64_t seq)
{
    struct buf text = { 0 };
    struct digest d;

    buf_printf(&text, "ask %" PRId64 " of seed %" PRId64, seq, seed);
    digest_of(text.bytes, text.n, &d);
    buf_free(&text);
    return (int64_t)(d.bytes[0] & 0x7f) << 24 | d.bytes[1] << 16 | d.bytes[2] << 8 | d.bytes[3];
}

int advice_append_ask(struct server *sv, struct advisee *a, int64_t n, struct err *e)
{
    struct buf line = { 0 };
    struct stmt *s;
    bool is_first = true;
    int rc;

    advice_line_begin(a, &line, "ask");
    buf_printf(&line, ", \"n\": %" PRId64 ", \"seed\": %" PRId64 ", \"running\": [", n,
               seed_of(a->search.seed, a->record.last + 1));
    s = db_ask(sv->db, SQL_POINTS_RUNNING, "ii", a->sweep, (int64_t)RUNNING_TOLD_MAX);
    while ((rc = stmt_step(s, e)) == 1) {
        buf_printf(&line, "%s%" PRId64, is_first ? "" : ", ", stmt_int(s, 0));
        is_first = false;
    }
    if (rc < 0) {
        buf_free(&line);
        return -1;
    }
    buf_add_char(&line, ']');
    a->asked_ms = advice_now(sv);
    return advice_line_end(sv, a, ADVICE_DOWN, &line, e);
}

/* ---- telling what ended ---- */

/* Appends a tell for the point, from a row of SQL_ADVISED_ENDED or SQL_ADVISED_DONE. */
static int append_tell(struct server *sv, struct advisee *a, const struct advised_row *row,
                       struct stmt *s, int64_t point, const char *params, struct err *e)
{
    enum job_state state = (enum job_state)stmt_enum(s, 2, JOB_STATE_COUNT);
    int64_t started_at = stmt_int(s, 7), ended_at = stmt_int(s, 8);
    bool is_stopped = state == JOB_STOPPED;
    bool has_value = !stmt_is_null(s, 9) && isfinite(stmt_float(s, 9));
    struct buf line = { 0 }, why = { 0 };

    advice_line_begin(a, &line, "tell");
    buf_printf(&line, ", \"id\": %" PRId64 ", \"rep\": %" PRId64 ", \"params\": %s", point,
               stmt_int(s, 3), params);
    if (has_value && (job_has_published(state) || is_stopped)) {
        buf_add_str(&line, ", \"value\": ");
        value_add_float(&line, stmt_float(s, 9));
        if (!stmt_is_null(s, 10))
            buf_printf(&line, ", \"step\": %" PRId64, stmt_int(s, 10));
    } else if (job_has_published(state)) {
        buf_printf(&why, "it reported no finite value of %s", row->metric);
    } else {
        const char *reason = stmt_is_null(s, 11) ? stmt_text(s, 12) : stmt_text(s, 11);

        buf_printf(&why, "%s%s%s", job_state_names[state], reason == NULL ? "" : ": ",
                   reason == NULL ? "" : reason);
    }
    if (why.n > 0)
        advice_line_text(&line, "failed", buf_text(&why));
    if (is_stopped)
        buf_printf(&line, ", \"stopped\": true%s",
                   stmt_int(s, 13) != 0 ? ", \"checkpoint\": true" : "");
    if (!stmt_is_null(s, 7) && started_at > 0 && ended_at > started_at) {
        buf_add_str(&line, ", \"seconds\": ");
        value_add_float(&line, (double)(ended_at - started_at) / 1000);
    }
    buf_free(&why);
    return advice_line_end(sv, a, ADVICE_DOWN, &line, e);
}

static int params_to_json(struct stmt *s, struct buf *json, struct err *e)
{
    struct bytes bytes = stmt_bytes(s, 5);
    struct arena *arena = arena_create();
    struct value params;
    int rc = mp_read(bytes.data, bytes.n, arena, &params, e);

    buf_clear(json);
    if (rc == 0)
        json_add_value(json, &params);
    arena_destroy(arena);
    return rc;
}

/* Appends a tell for each point that has the row's configuration. */
static int tell_row(struct server *sv, struct advisee *a, const struct advised_row *row,
                    struct stmt *s, struct err *e)
{
    struct buf params = { 0 };
    struct stmt *points;
    int rc = params_to_json(s, &params, e);

    if (rc == 0) {
        points = db_ask(sv->db, SQL_POINTS_OF_PARAM, "ii", a->sweep, stmt_int(s, 4));
        while ((rc = stmt_step(points, e)) == 1)
            if (append_tell(sv, a, row, s, stmt_int(points, 0), buf_text(&params), e) < 0) {
                rc = -1;
                break;
            }
        stmt_end(points);
    }
    buf_free(&params);
    return rc;
}

int advice_tell_ended(struct server *sv, struct advisee *a, struct advised_row *row, struct err *e)
{
    int64_t before = row->told;
    int rc = 0, n = TOLD_AT_ONCE;

    while (rc >= 0 && n == TOLD_AT_ONCE && !turn_is_full(sv)) {
        struct stmt *s = db_ask(sv->db, SQL_ADVISED_ENDED, "iisi", a->sweep, row->told, row->metric,
                                (int64_t)TOLD_AT_ONCE);

        for (n = 0; (rc = stmt_step(s, e)) == 1; n++) {
            row->told = stmt_int(s, 1);
            if (tell_row(sv, a, row, s, e) < 0) {
                rc = -1;
                break;
            }
        }
        stmt_end(s);
    }
    if (rc >= 0 && row->told > before &&
        db_run(sv->db, e, SQL_ADVISED_TOLD, "ii", a->sweep, row->told) < 0)
        rc = -1;
    return rc < 0 ? -1 : n == TOLD_AT_ONCE;
}

int advice_tell_done(struct server *sv, struct advisee *a, const struct advised_row *row,
                     int64_t point, int64_t param, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_ADVISED_DONE, "iis", a->sweep, param, row->metric);
    struct buf params = { 0 };
    int rc;

    while ((rc = stmt_step(s, e)) == 1)
        if (params_to_json(s, &params, e) < 0 ||
            append_tell(sv, a, row, s, point, buf_text(&params), e) < 0) {
            rc = -1;
            break;
        }
    stmt_end(s);
    buf_free(&params);
    return rc;
}
