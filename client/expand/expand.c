/* SPDX-License-Identifier: MIT */
/* expand.c - the configurations of a sweep, one after the other */
#include <inttypes.h>
#include <stdlib.h>

#include "client/expand/expand.h"
#include "client/expand/expand_walk.h"
#include "common/data/msgpack.h"
#include "common/proto/jobspec.h"

static const struct value *value_now(const struct slot *s)
{
    if (s->given != NULL)
        return s->given;
    if (s->param->n == 0)
        return &s->drawn;
    return &s->param->values[s->wheel == NULL ? 0 : s->wheel->at];
}

static void add_slot(struct expand *x, struct slot *s)
{
    s->begin = x->point.n;
    if (!s->is_present)
        return;
    if (s->given == NULL && s->piece.n > s->n_key) {
        buf_add(&x->point, s->piece.data, s->piece.n);
        return;
    }
    buf_add(&x->point, s->piece.data, s->n_key);
    mp_add_value(&x->point, value_now(s));
}

/* Encodes anew only what changed since the last time: mostly a few fast wheels at the end. */
static void encode(struct expand *x)
{
    if (x->n_present != x->n_encoded || x->changed == 0 || x->point.n == 0) {
        buf_clear(&x->point);
        mp_add_map(&x->point, x->n_present);
        x->changed = 0;
    } else if (x->changed < x->n_slots) {
        x->point.n = x->slots[x->changed].begin;
    }
    for (size_t i = x->changed; i < x->n_slots; i++)
        add_slot(x, &x->slots[i]);
    x->n_encoded = x->n_present;
    x->changed = x->n_slots;
}

bool expand_next(struct expand *x, struct buf *out)
{
    while (x->left == 0) {
        if (x->part + 1 == x->n_parts)
            return false;
        expand_open_part(x, x->part + 1);
        x->left = x->counts[x->part];
        if (x->left > 0)
            expand_seek_part(x, 0);
    }
    encode(x);
    buf_add(out, x->point.bytes, x->point.n);
    expand_advance(x);
    return true;
}

void expand_seek(struct expand *x, int64_t index)
{
    size_t part = 0;

    while (part < x->n_parts - 1 && index >= x->counts[part])
        index -= x->counts[part++];
    expand_open_part(x, part);
    x->left = x->counts[part] - index;
    if (x->left > 0)
        expand_seek_part(x, index);
}

/* ---- making it ---- */

enum { NUMBER_BYTES = 9 }; /* no number takes more */

static size_t value_bytes(const struct value *v)
{
    struct buf encoded = { 0 };
    size_t n;

    if (v->type < VALUE_STR)
        return NUMBER_BYTES;
    mp_add_value(&encoded, v);
    n = encoded.n;
    buf_free(&encoded);
    return n;
}

/* The largest of what measure says about all values that the parameter may take. */
static size_t largest(const struct expand *x, const struct slot *s,
                      size_t (*measure)(const struct value *v))
{
    const struct pins *include = x->plan->include.items;
    size_t n_max = 0;

    for (size_t i = 0; i < s->param->n; i++) {
        size_t n = measure(&s->param->values[i]);

        n_max = n > n_max ? n : n_max;
    }
    for (size_t i = 0; i < x->plan->include.n; i++) {
        const struct pin *pin = plan_find_pin(&include[i], s->param->name);
        size_t n = pin == NULL ? 0 : measure(&pin->values[0]);

        n_max = n > n_max ? n : n_max;
    }
    return n_max;
}

static int check_depth(const struct expand *x, const char *file, struct err *e)
{
    for (size_t i = 0; i < x->n_slots; i++)
        if (largest(x, &x->slots[i], value_depth) + 1 > PARAM2VAL_DEPTH_MAX)
            return err_set(e, ERR_USAGE,
                           "%s: params: %s: a configuration may be nested %d deep at "
                           "most",
                           file, x->slots[i].param->name, PARAM2VAL_DEPTH_MAX);
    return 0;
}

static int check_size(const struct expand *x, const char *file, struct err *e)
{
    size_t n = NUMBER_BYTES; /* the head of the map */

    for (size_t i = 0; i < x->n_slots; i++) {
        size_t n_value = largest(x, &x->slots[i], value_bytes);

        n += x->slots[i].n_key + (n_value > NUMBER_BYTES ? n_value : NUMBER_BYTES);
    }
    if (n <= PARAM2VAL_MAX_BYTES)
        return 0;
    return err_set(e, ERR_USAGE,
                   "%s: params: one configuration takes more than %d bytes; put large values into "
                   "a file of data:",
                   file, PARAM2VAL_MAX_BYTES);
}

static int count_all(struct expand *x, const char *file, int64_t points_max, struct err *e)
{
    const struct plan *plan = x->plan;
    /* What says how many there are. */
    struct spot at = plan->method == METHOD_GRID ? plan->params_at : plan->samples_at;
    const char *what = points_max > POINTS_MAX ? "are too many" : "need --yes";
    const struct pins *first = plan->exclude.items;
    struct tally all = expand_tally(x, points_max);
    char *place;

    if (all.is_exact && all.points <= points_max) {
        if (all.kept > 0)
            return 0;
        return err_set(e, ERR_USAGE,
                       "%s:%u:%u: exclude: nothing is left: it matches each of the %" PRId64
                       " configurations",
                       file, first->at.line, first->at.column, all.points);
    }
    place = at.line == 0 ? mem_strdup(file) : mem_printf("%s:%u:%u", file, at.line, at.column);
    if (!all.is_exact)
        err_set(e, ERR_USAGE, "%s: more than %" PRId64 " configurations %s", place, points_max,
                what);
    else
        err_set(e, ERR_USAGE, "%s: %" PRId64 " configurations: more than %" PRId64 " %s", place,
                all.points, points_max, what);
    free(place);
    return -1;
}

/* Finds the first, and calls it all there is. */
static int take_first(struct expand *x, const char *file, struct err *e)
{
    const struct pins *first = x->plan->exclude.items;

    expand_open_part(x, 0);
    if (expand_begin_part(x))
        x->counts[0] = 1;
    else if (x->is_given_up || x->n_parts == 1)
        return err_set(e, ERR_USAGE,
                       "%s:%u:%u: exclude: nothing is left to be the first configuration", file,
                       first->at.line, first->at.column);
    else
        x->counts[1] = 1;
    x->count = 1;
    return 0;
}

struct expand *expand_create_first(const struct plan *plan, const char *file, struct err *e)
{
    struct expand *x = expand_make(plan);

    if (check_depth(x, file, e) < 0 || check_size(x, file, e) < 0 || take_first(x, file, e) < 0) {
        expand_destroy(x);
        return NULL;
    }
    expand_seek(x, 0);
    return x;
}

struct expand *expand_create(const struct plan *plan, const char *file, int64_t points_max,
                             struct err *e)
{
    struct expand *x = expand_make(plan);

    if (check_depth(x, file, e) < 0 || check_size(x, file, e) < 0 ||
        count_all(x, file, points_max, e) < 0) {
        expand_destroy(x);
        return NULL;
    }
    expand_seek(x, 0);
    return x;
}

void expand_destroy(struct expand *x)
{
    if (x == NULL)
        return;
    for (size_t i = 0; i < x->n_slots; i++)
        valueset_free(&x->slots[i].named);
    buf_free(&x->point);
    arena_destroy(x->arena);
    free(x);
}

int64_t expand_count(struct expand *x)
{
    return x->count;
}
