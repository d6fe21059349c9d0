/* SPDX-License-Identifier: MIT */
/* record.c - folds the lines of an advisor's record into a state, and decides the next step */

#include "server/search/record.h"

#include <string.h>

#include "common/data/json.h"

/* ---- members of a line ---- */

static const char *text_of(const struct value *map, const char *key)
{
    const struct value *v = map->type == VALUE_MAP ? value_get(map, key) : NULL;

    return v != NULL && v->type == VALUE_STR ? v->str.s : NULL;
}

static int64_t int_of(const struct value *map, const char *key)
{
    const struct value *v = map->type == VALUE_MAP ? value_get(map, key) : NULL;

    return v != NULL && v->type == VALUE_INT ? v->i : 0;
}

static bool is_true(const struct value *map, const char *key)
{
    const struct value *v = value_get(map, key);

    return v != NULL && v->type == VALUE_BOOL && v->b;
}

static int64_t count_of(const struct value *map, const char *key)
{
    const struct value *v = value_get(map, key);

    return v != NULL && v->type == VALUE_LIST ? (int64_t)v->list.n : 0;
}

/* Whether the line has "wants": ["steps"], or another word in place of steps. */
static bool has_wish(const struct value *hello, const char *word)
{
    const struct value *wants = value_get(hello, "wants");
    bool wanted = false;

    for (size_t i = 0; wants != NULL && wants->type == VALUE_LIST && i < wants->list.n; i++)
        wanted |=
            wants->list.items[i].type == VALUE_STR && strcmp(wants->list.items[i].str.s, word) == 0;
    return wanted;
}

static void keep_text(char *to, size_t n, const char *text)
{
    size_t length = text == NULL ? 0 : strnlen(text, n - 1);

    if (length > 0)
        memcpy(to, text, length);
    to[length] = '\0';
}

static bool is_type(const struct value *line, const char *type)
{
    const char *is = text_of(line, "type");

    return is != NULL && strcmp(is, type) == 0;
}

/* ---- the fold ---- */

static void fail(struct record *r, const char *why)
{
    r->failures++;
    keep_text(r->why, sizeof r->why, why);
}

static void add_down(struct record *r, int64_t seq, size_t n_bytes, const struct value *line)
{
    if (is_type(line, "step")) {
        r->step_bytes += (int64_t)n_bytes;
    } else if (is_type(line, "ask")) {
        r->asked = seq;
        r->asked_n = int_of(line, "n");
    } else if (is_type(line, "given")) {
        const char *by = text_of(line, "by");
        int64_t n = count_of(line, "points");

        r->given += n;
        r->is_done |= is_true(line, "done");
        r->waits = is_true(line, "wait");
        if (int_of(line, "re") == r->asked)
            r->asked = 0;
        if (by != NULL && strcmp(by, "advisor") == 0) {
            r->failures = 0;
            r->stray_bytes -= r->give_bytes;
            r->give_bytes = 0;
            return;
        }
        r->stand_ins += n;
        r->late += by != NULL && strcmp(by, "late") == 0 ? n : 0;
    } else if (is_type(line, "tell")) {
        r->waits = false;
    } else if (is_type(line, "resumed")) {
        r->resumed++;
    } else if (is_type(line, "refused")) {
        r->give_bytes = 0;
        fail(r, text_of(line, "why"));
    } else if (is_type(line, "end")) {
        r->has_ended = true;
        r->asked = 0;
    }
}

/* Folds a line of the advisor's.  Its points count with the `given` that follows. */
static void add_up(struct record *r, int64_t seq, size_t n, const struct value *line)
{
    if (is_type(line, "state")) {
        r->stray_bytes -= (int64_t)n;
        r->state = seq;
        r->upto = int_of(line, "upto");
    } else if (is_type(line, "give") && r->asked != 0 && int_of(line, "re") == r->asked) {
        r->give_bytes = (int64_t)n;
    } else if (is_type(line, "hello")) {
        keep_text(r->name, sizeof r->name, text_of(line, "name"));
        r->wants_steps = has_wish(line, "steps");
        r->wants_resume = has_wish(line, "resume");
    }
}

static void add_note(struct record *r, const struct value *line)
{
    if (is_type(line, "session"))
        r->sessions++;
    else if (is_type(line, "failed"))
        fail(r, text_of(line, "why"));
    else if (is_type(line, "paused"))
        r->is_paused = true;
    else if (is_type(line, "resumed")) {
        r->failures = 0;
        r->is_paused = false;
    }
}

void record_add(struct record *r, const struct advice_line *line)
{
    struct arena *a = arena_create();
    struct value v;

    r->last = line->seq;
    if (line->dir == ADVICE_UP)
        r->stray_bytes += (int64_t)strlen(line->body);
    /* An advisor's line may be no JSON at all. */
    if (json_read(line->body, strlen(line->body), a, &v, NULL) == 0 && v.type == VALUE_MAP) {
        if (line->dir == ADVICE_DOWN)
            add_down(r, line->seq, strlen(line->body), &v);
        else if (line->dir == ADVICE_UP)
            add_up(r, line->seq, strlen(line->body), &v);
        else
            add_note(r, &v);
    }
    arena_destroy(a);
}

/* ---- what is next ---- */

bool record_has_given_up(const struct record *r)
{
    return r->failures >= RECORD_FAILURES_MAX;
}

struct record_next record_next(const struct record *r, const struct search *s,
                               const struct record_now *now)
{
    struct record_next nothing = { RECORD_NOTHING, 0, -1 };
    int64_t slots = now->slots > 0 ? now->slots : 1;
    int64_t ahead = s->ahead > 0 ? s->ahead : slots;
    int64_t want = slots + ahead - now->outstanding;
    int64_t left_ms = s->patience_ms - now->waited_ms;
    bool is_random = s->falls_back && record_has_given_up(r);
    bool is_full = s->configs > 0 && r->given >= s->configs;

    if (r->has_ended || !now->is_running)
        return nothing;
    if (r->is_done || now->is_spent || (is_full && (is_random || !r->wants_resume))) {
        if (now->outstanding == 0)
            return (struct record_next){ RECORD_END, 0, -1 };
        return nothing;
    }
    if (record_has_given_up(r) && !s->falls_back)
        return (struct record_next){ r->is_paused ? RECORD_RESUME : RECORD_PAUSE, 0, -1 };
    if (s->configs > 0 && want > s->configs - r->given)
        want = s->configs - r->given;
    if (r->asked != 0 && !is_random && left_ms > 0)
        return (struct record_next){ RECORD_NOTHING, 0, left_ms };
    if (r->waits && r->asked == 0 && now->outstanding > 0)
        return nothing;
    if (is_full && r->asked == 0)
        return (struct record_next){ RECORD_ASK, 0, -1 };
    if (is_full) /* its answer, which may have no points, is late */
        return now->outstanding == 0 && now->is_there ? (struct record_next){ RECORD_END, 0, -1 }
                                                      : nothing;
    if (r->asked != 0)
        want = r->asked_n;
    if (want <= 0)
        return nothing;
    if (r->asked == 0 && !is_random)
        return (struct record_next){ RECORD_ASK, want, -1 };
    if (want > now->stand_ins - r->stand_ins)
        want = now->stand_ins - r->stand_ins;
    if (want > 0)
        return (struct record_next){ RECORD_STAND_IN, want, -1 };
    /* All random points are used: wait for the late answer; without an advisor none comes. */
    if (is_random && now->outstanding == 0)
        return (struct record_next){ RECORD_END, 0, -1 };
    return nothing;
}

bool record_is_passed(const struct record *r, const struct advice_line *line)
{
    struct arena *a;
    struct value v;
    bool is_ask;

    if (line->dir != ADVICE_DOWN || (r->state != 0 && line->seq <= r->upto))
        return false;
    a = arena_create();
    is_ask = json_read(line->body, strlen(line->body), a, &v, NULL) == 0 && is_type(&v, "ask");
    arena_destroy(a);
    return !is_ask || line->seq == r->asked;
}

/* ---- lines of an advisor ---- */

static int find_type(const char *type)
{
    static const char *const types[SAID_TYPE_COUNT] = { "hello", "give",   "state",
                                                        "stop",  "resume", "say" };
    int i = 0;

    while (i < SAID_TYPE_COUNT && (type == NULL || strcmp(types[i], type) != 0))
        i++;
    return i;
}

static int read_give(const struct value *v, struct said *said, struct err *e)
{
    const struct value *points = value_get(v, "points"), *re = value_get(v, "re");

    if (re == NULL || re->type != VALUE_INT)
        return err_set(e, ERR_USAGE, "a give needs re: the seq of the ask that it answers");
    said->re = re->i;
    said->waits = is_true(v, "wait");
    said->is_done = is_true(v, "done");
    said->points = value_list(NULL, 0);
    if (points != NULL && points->type != VALUE_NULL) {
        if (points->type != VALUE_LIST)
            return err_set(e, ERR_USAGE, "points: expected a list, found %s",
                           value_type_name(points->type));
        said->points = *points;
    }
    if (said->points.list.n == 0 && !said->waits && !said->is_done)
        return err_set(e, ERR_USAGE, "a give has points, or \"wait\": true, or \"done\": true");
    for (size_t i = 0; i < said->points.list.n; i++)
        if (said->points.list.items[i].type != VALUE_MAP)
            return err_set(e, ERR_USAGE, "points: expected {\"params\": {...}} of each, found %s",
                           value_type_name(said->points.list.items[i].type));
    return 0;
}

int record_read(const char *line, struct arena *a, struct said *said, struct err *e)
{
    const struct value *ids;
    struct err why = { 0 };
    struct value v;
    const char *type;
    int found;

    *said = (struct said){ .type = SAID_SAY };
    if (json_read(line, strlen(line), a, &v, &why) < 0)
        return err_set(e, ERR_USAGE,
                       "a line that is no JSON: '%.60s' (its log goes to standard error): %.200s",
                       line, why.text);
    if (v.type != VALUE_MAP)
        return err_set(e, ERR_USAGE, "a line is a JSON object, not %s", value_type_name(v.type));
    if (value_depth(&v) > ADVICE_DEPTH_MAX)
        return err_set(e, ERR_USAGE, "a line is nested deeper than %d", ADVICE_DEPTH_MAX);
    type = text_of(&v, "type");
    found = find_type(type);
    if (found == SAID_TYPE_COUNT)
        return err_set(e, ERR_USAGE,
                       "a line of type '%.40s': expected hello, give, state, stop, resume or say",
                       type == NULL ? "" : type);
    said->type = (enum said_type)found;
    said->re = int_of(&v, "re");
    said->text = text_of(&v, said->type == SAID_SAY ? "text" : "why");
    said->wants_steps = said->type == SAID_HELLO && has_wish(&v, "steps");
    said->wants_resume = said->type == SAID_HELLO && has_wish(&v, "resume");
    if (said->type == SAID_GIVE)
        return read_give(&v, said, e);
    if (said->type == SAID_STATE) {
        said->upto = int_of(&v, "upto");
        if (text_of(&v, "blob") == NULL || said->upto < 1)
            return err_set(e, ERR_USAGE,
                           "a state needs blob, a text, and upto: the last seq that it knows");
    } else if (said->type == SAID_STOP || said->type == SAID_RESUME) {
        ids = value_get(&v, "ids");
        if (ids == NULL || ids->type != VALUE_LIST)
            return err_set(e, ERR_USAGE, "a %s needs ids: a list of numbers", type);
        if (ids->list.n > RECORD_IDS_MAX)
            return err_set(e, ERR_USAGE, "a %s with %zu ids; at most %d in a line", type,
                           ids->list.n, RECORD_IDS_MAX);
        for (size_t i = 0; i < ids->list.n; i++)
            if (ids->list.items[i].type != VALUE_INT)
                return err_set(e, ERR_USAGE, "a %s needs ids: a list of numbers", type);
        if (said->type == SAID_RESUME && said->re < 1)
            return err_set(e, ERR_USAGE, "a resume needs re: the seq of the line that led to it");
        said->ids = *ids;
    }
    return 0;
}
