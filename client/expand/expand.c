/* SPDX-License-Identifier: MIT */
/* expand.c - gives the configurations of a sweep one after the other */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "client/expand/expand.h"
#include "client/expand/expand_make.h"
#include "client/spec/spec_when.h"
#include "common/data/json.h"
#include "common/data/msgpack.h"
#include "common/proto/jobspec.h"

/* ---- the current configuration ---- */

static bool passes_test(const struct test *t)
{
    const struct slot *s = t->slot;
    int number;

    if (!s->is_present)
        return false;
    number = s->given != NULL || s->param->n == 0 ? s->number
                                                  : s->numbers[s->wheel == NULL ? 0 : s->wheel->at];
    for (size_t i = 0; i < t->n; i++)
        if (t->numbers[i] == number)
            return true;
    return false;
}

static bool is_met(const struct rule *rule)
{
    for (size_t i = 0; i < rule->n; i++)
        if (!passes_test(&rule->tests[i]))
            return false;
    return true;
}

static void touch(struct expand *x, const struct slot *s)
{
    size_t number = (size_t)(s - x->slots);

    if (number < x->changed)
        x->changed = number;
}

/* Updates which conditioned slots are present, after wheels have turned. */
static void settle_slots(struct expand *x)
{
    for (size_t i = 0; i < x->n_conditioned; i++) {
        struct slot *s = x->conditioned[i];
        bool is_present = is_met(s->condition);

        if (is_present == s->is_present)
            continue;
        s->is_present = is_present;
        x->n_present += is_present ? 1 : (size_t)-1;
        touch(x, s);
    }
}

enum { KEPT = -1 };

/* Returns KEPT, or if exclude: leaves the configuration out, how many wheels, from the slowest on,
 * decide that. */
static int64_t excluded(struct expand *x)
{
    int64_t depth = KEPT;

    for (size_t i = 0; x->part == 0 && i < x->n_excludes; i++) {
        struct rule *rule = &x->excludes[i];

        if (!is_met(rule))
            continue;
        rule->is_met = true;
        if (depth == KEPT || (int64_t)rule->depth < depth)
            depth = (int64_t)rule->depth;
    }
    return depth;
}

struct tally {
    int64_t points, kept; /* all configurations, and those that exclude: does not leave out */
    bool is_exact;        /* false: the counting stopped, and there are more */
};

/* ---- grids ---- */

static bool stands_still(const struct wheel *w)
{
    return !w->slots[0]->is_present;
}

/* Turns wheels begin to end - 1 to their next combination; wheels from end on must be at their
 * beginning.  False after the last combination: then the turned wheels are at theirs, too. */
static bool turn_wheels(struct expand *x, size_t begin, size_t end, bool only_entangled)
{
    bool is_turned = false;

    for (size_t i = end; i-- > begin && !is_turned;) {
        struct wheel *w = x->turning[i];

        if (stands_still(w) || (only_entangled && !w->is_entangled))
            continue;
        is_turned = ++w->at < w->n;
        if (!is_turned)
            w->at = 0;
        touch(x, w->slots[0]);
    }
    settle_slots(x);
    return is_turned;
}

static int64_t add_saturated(int64_t x, int64_t y)
{
    int64_t sum;

    return __builtin_add_overflow(x, y, &sum) ? INT64_MAX : sum;
}

/* Counts the combinations of the wheels from begin on, which are at their beginning.  Entangled
 * wheels, which matter to exclude: and when:, turn for that; the other wheels' numbers multiply. */
static struct tally count_from(struct expand *x, size_t begin, int64_t states_max)
{
    struct tally t = { 0 };
    int64_t weight = 1;

    for (size_t i = begin; i < x->n_turning; i++)
        if (!x->turning[i]->is_entangled &&
            __builtin_mul_overflow(weight, (int64_t)x->turning[i]->n, &weight))
            weight = INT64_MAX;
    for (int64_t states = 0; states < states_max && !t.is_exact; states++) {
        t.points = add_saturated(t.points, weight);
        if (excluded(x) == KEPT)
            t.kept = add_saturated(t.kept, weight);
        t.is_exact = !turn_wheels(x, begin, x->n_turning, true);
    }
    t.is_exact = t.is_exact && t.points < INT64_MAX;
    return t;
}

/* Turns wheel i to the place where number *index is, and makes *index count from that place. */
static void seek_wheel(struct expand *x, size_t i, int64_t *index)
{
    struct wheel *w = x->turning[i];
    int64_t n = count_from(x, i + 1, INT64_MAX).kept;

    if (!w->is_entangled) {
        assert(n > 0); /* the caller's number exists */
        w->at = (size_t)(*index / n);
        *index %= n;
        return;
    }
    while (*index >= n) {
        *index -= n;
        w->at++;
        settle_slots(x);
        n = count_from(x, i + 1, INT64_MAX).kept;
    }
}

static void seek_grid(struct expand *x, int64_t index)
{
    for (size_t i = 0; i < x->n_turning; i++)
        x->turning[i]->at = 0;
    settle_slots(x);
    for (size_t i = 0; i < x->n_turning; i++)
        if (!stands_still(x->turning[i]))
            seek_wheel(x, i, &index);
}

/* ---- samples ---- */

/* Draws values of the entangled wheels, which decide whether a sample is kept, or of the others. */
static void draw(struct expand *x, bool is_entangled)
{
    for (size_t i = 0; i < x->n_wheels; i++) {
        struct wheel *w = &x->wheels[i];
        struct slot *s = w->slots[0];

        if (w->is_entangled != is_entangled || w->is_held)
            continue;
        touch(x, s);
        if (w->n > 0) {
            w->at = (size_t)sampler_below(&w->sampler, (uint64_t)x->sample, w->n);
            continue;
        }
        s->drawn = sampler_draw(&w->sampler, (uint64_t)x->sample);
        s->number = expand_number_of(s, &s->drawn);
    }
    settle_slots(x);
}

static bool is_sample_kept(struct expand *x, int64_t sample)
{
    x->sample = sample;
    draw(x, true);
    return excluded(x) == KEPT;
}

static void skip_to_kept(struct expand *x)
{
    int64_t sample = x->sample + 1;

    while (!is_sample_kept(x, sample))
        sample++;
}

/* ---- parts ---- */

/* Goes to the beginning of a part: 0 is the grid or the samples, others are entries of include:. */
static void open_part(struct expand *x, size_t part)
{
    const struct pins *include = x->plan->include.items;
    const struct pins *entry = part == 0 ? NULL : &include[part - 1];

    x->part = part;
    x->n_turning = 0;
    for (size_t i = 0; i < x->n_wheels; i++) {
        x->wheels[i].is_held = false;
        x->wheels[i].at = 0;
    }
    for (size_t i = 0; i < x->n_slots; i++) {
        struct slot *s = &x->slots[i];
        const struct pin *pin = entry == NULL ? NULL : plan_find_pin(entry, s->param->name);

        s->given = pin == NULL ? NULL : &pin->values[0];
        if (pin != NULL)
            s->number = expand_number_of(s, s->given);
        if (pin != NULL && s->wheel != NULL)
            s->wheel->is_held = true;
        touch(x, s);
    }
    for (size_t i = 0; i < x->n_wheels; i++) {
        struct wheel *w = &x->wheels[i];

        if (!w->is_held) {
            x->turning[x->n_turning++] = w;
        } else if (w->group != NULL) {
            /* Members of a group that the entry does not name take the named ones' position. */
            w->at = plan_find_position(x->plan, w->group, entry);
            if (w->at == SIZE_MAX)
                w->at = 0;
        }
    }
    settle_slots(x);
}

static bool is_grid(const struct expand *x)
{
    return x->plan->method == METHOD_GRID;
}

static struct tally count_part(struct expand *x, size_t part, int64_t points_max)
{
    int64_t n = part == 0 ? x->plan->samples : 1;
    struct tally t = { .points = n, .kept = n, .is_exact = true };

    open_part(x, part);
    if (is_grid(x))
        return count_from(x, 0, points_max + 1);
    if (part > 0 || x->n_excludes == 0 || n > points_max)
        return t;
    t.kept = 0;
    for (int64_t i = 0; i < n; i++)
        t.kept += is_sample_kept(x, i);
    return t;
}

/* Goes on to the first configuration that is kept, if need be.  False: there is none, or none in
 * tries_max tries (x->is_given_up). */
static bool begin_grid(struct expand *x, int64_t tries_max)
{
    int64_t end = excluded(x);

    for (int64_t tries = 1; end != KEPT; tries++) {
        x->is_given_up = tries == tries_max;
        if (x->is_given_up || !turn_wheels(x, 0, (size_t)end, false))
            return false;
        end = excluded(x);
    }
    return true;
}

/* Goes to the first configuration of the open part; false: the part has none, or (x->is_given_up)
 * none of the first POINTS_MAX is kept. */
static bool begin_part(struct expand *x)
{
    if (is_grid(x))
        return begin_grid(x, POINTS_MAX);
    x->is_given_up = false;
    if (x->part > 0)
        return true;
    for (int64_t i = 0; i < x->plan->samples && !x->is_given_up; i++) {
        if (is_sample_kept(x, i))
            return true;
        x->is_given_up = i + 1 == POINTS_MAX;
    }
    return false;
}

/* Goes to number index of the open part; it must exist.  For drawing, entries of include: have the
 * sample numbers behind the samples. */
static void seek_part(struct expand *x, int64_t index)
{
    if (is_grid(x) && index == 0) {
        begin_grid(x, INT64_MAX); /* number 0 exists, and needs no counting */
    } else if (is_grid(x)) {
        seek_grid(x, index);
    } else if (x->part > 0) {
        if (is_sample_kept(x, x->plan->samples + (int64_t)x->part - 1))
            draw(x, false);
    } else {
        x->sample = x->n_excludes == 0 ? index - 1 : -1;
        for (int64_t i = x->sample + 1; i <= index; i++)
            skip_to_kept(x);
        draw(x, false);
    }
}

/* Goes to the next configuration of the part; after the last, only x->left changes. */
static void advance_in_part(struct expand *x)
{
    int64_t end = (int64_t)x->n_turning;

    if (--x->left == 0)
        return;
    if (!is_grid(x)) {
        skip_to_kept(x);
        draw(x, false);
        return;
    }
    while (end != KEPT && turn_wheels(x, 0, (size_t)end, false))
        end = excluded(x);
}

/* ---- encoding ---- */

/* Encodes only the slots that changed since the last time: mostly a few fast wheels at the end. */
static void encode(struct expand *x)
{
    if (x->n_present != x->n_encoded || x->changed == 0 || x->point.n == 0) {
        buf_clear(&x->point);
        mp_add_map(&x->point, x->n_present);
        x->changed = 0;
    } else if (x->changed < x->n_slots) {
        x->point.n = x->slots[x->changed].begin;
    }
    for (size_t i = x->changed; i < x->n_slots; i++) {
        struct slot *s = &x->slots[i];
        bool is_piece = s->given == NULL && s->piece.n > s->n_key; /* piece has key and value */

        s->begin = x->point.n;
        if (!s->is_present)
            continue;
        buf_add(&x->point, s->piece.data, is_piece ? s->piece.n : s->n_key);
        if (s->given != NULL)
            mp_add_value(&x->point, s->given);
        else if (!is_piece)
            mp_add_value(&x->point, s->param->n == 0
                                        ? &s->drawn
                                        : &s->param->values[s->wheel == NULL ? 0 : s->wheel->at]);
    }
    x->n_encoded = x->n_present;
    x->changed = x->n_slots;
}

bool expand_next(struct expand *x, struct buf *out)
{
    while (x->left == 0) {
        if (x->part + 1 == x->n_parts)
            return false;
        open_part(x, x->part + 1);
        x->left = x->counts[x->part];
        if (x->left > 0)
            seek_part(x, 0);
    }
    encode(x);
    buf_add(out, x->point.bytes, x->point.n);
    advance_in_part(x);
    return true;
}

void expand_seek(struct expand *x, int64_t index)
{
    size_t part = 0;

    while (part < x->n_parts - 1 && index >= x->counts[part])
        index -= x->counts[part++];
    open_part(x, part);
    x->left = x->counts[part] - index;
    if (x->left > 0)
        seek_part(x, index);
}

/* ---- creating ---- */

enum { NUMBER_BYTES = 9 }; /* no number takes more bytes in msgpack */

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

/* The largest result of measure over all values that the parameter may take. */
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

/* Counts the configurations of each part and of all, until there are more than points_max. */
static struct tally tally(struct expand *x, int64_t points_max)
{
    struct tally all = { .is_exact = true };

    for (size_t i = 0; i < x->n_parts && all.is_exact; i++) {
        struct tally t = count_part(x, i, points_max);

        x->counts[i] = t.kept;
        all.points = add_saturated(all.points, t.points);
        all.kept = add_saturated(all.kept, t.kept);
        all.is_exact = t.is_exact;
    }
    x->count = all.kept;
    return all;
}

static int count_all(struct expand *x, const char *file, int64_t points_max, struct err *e)
{
    const struct plan *plan = x->plan;
    /* The key that decides the number of points. */
    struct spot at = plan->method == METHOD_GRID ? plan->params_at : plan->samples_at;
    const char *what = points_max > POINTS_MAX ? "are too many" : "need --yes";
    const struct pins *first = plan->exclude.items;
    struct tally all = tally(x, points_max);
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

/* Finds the first configuration, and sets the count to 1. */
static int take_first(struct expand *x, const char *file, struct err *e)
{
    const struct pins *first = x->plan->exclude.items;

    open_part(x, 0);
    if (begin_part(x))
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

struct expand *expand_create(const struct plan *plan, const char *file, int64_t points_max,
                             struct err *e)
{
    struct expand *x = expand_make(plan);

    if (check_depth(x, file, e) < 0 || check_size(x, file, e) < 0 ||
        (points_max == EXPAND_FIRST ? take_first(x, file, e) : count_all(x, file, points_max, e)) <
            0) {
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
        hash_table_destroy(x->slots[i].named);
    buf_free(&x->point);
    arena_destroy(x->arena);
    free(x);
}

int64_t expand_count(struct expand *x)
{
    return x->count;
}

/* ---- entries without effect ---- */

static void add_pin(struct buf *out, const struct pin *pin)
{
    buf_printf(out, "%s: %s", pin->name, pin->n > 1 ? "[" : "");
    for (size_t i = 0; i < pin->n; i++) {
        const struct value *v = &pin->values[i];
        bool is_bare = v->type == VALUE_STR; /* and has no control character, see below */

        for (size_t k = 0; is_bare && k < v->str.n; k++)
            is_bare = (unsigned char)v->str.s[k] >= ' ' && v->str.s[k] != 0x7f;
        buf_add_str(out, i > 0 ? ", " : "");
        (is_bare ? json_add_text : json_add_value)(out, v);
    }
    buf_add_str(out, pin->n > 1 ? "]" : "");
}

/* Adds "{lr: 0.3} matches no configuration". */
static void add_unmet(struct buf *out, const struct pins *pins)
{
    const struct pin *items = pins->pins.items;

    buf_add_char(out, '{');
    for (size_t i = 0; i < pins->pins.n; i++) {
        buf_add_str(out, i > 0 ? ", " : "");
        add_pin(out, &items[i]);
    }
    buf_add_str(out, "} matches no configuration\n");
}

static bool is_possible(const struct rule *rule)
{
    for (size_t i = 0; i < rule->n; i++) {
        const struct test *t = &rule->tests[i];
        bool any = false;

        for (size_t k = 0; k < t->n; k++)
            any = any || t->slot->is_possible[t->numbers[k]];
        if (!any)
            return false;
    }
    return true;
}

/* Adds lines like "include: momentum: 0.9 is dropped where when: leaves momentum out". */
static void add_dropped(const struct plan *p, struct buf *out)
{
    const struct pins *include = p->include.items;
    const struct param *params = p->params.items;
    enum presence *presence = mem_alloc(p->params.n * sizeof *presence);

    for (size_t i = 0; i < p->include.n && p->when.n > 0; i++) {
        const struct pin *pins = include[i].pins.items;

        spec_when_find_presence(p, &include[i], presence);
        for (size_t k = 0; k < include[i].pins.n; k++) {
            if (presence[params_find(&p->params, pins[k].name) - params] == PRESENCE_ALWAYS)
                continue;
            buf_add_str(out, "include: ");
            add_pin(out, &pins[k]);
            buf_printf(out, " is dropped where when: leaves %s out\n", pins[k].name);
        }
    }
    free(presence);
}

void expand_add_notes(const struct expand *x, struct buf *out)
{
    const struct param *params = x->plan->params.items;

    for (size_t i = 0; i < x->plan->params.n; i++)
        if (params[i].note != NULL)
            buf_printf(out, "%s: %s\n", params[i].name, params[i].note);
    for (size_t i = 0; i < x->n_conditioned; i++)
        if (!is_possible(x->conditioned[i]->condition)) {
            buf_printf(out, "when: %s: ", x->conditioned[i]->param->name);
            add_unmet(out, x->conditioned[i]->condition->pins);
        }
    for (size_t i = 0; i < x->n_excludes; i++)
        if (!x->excludes[i].is_met) {
            buf_add_str(out, "exclude: ");
            add_unmet(out, x->excludes[i].pins);
        }
    add_dropped(x->plan, out);
}
