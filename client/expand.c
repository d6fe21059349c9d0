/* SPDX-License-Identifier: MIT */
/* expand.c - the configurations of a sweep, one after the other */
#include <inttypes.h>
#include <stdlib.h>

#include "client/conditions.h"
#include "client/expand_parts.h"
#include "common/json.h"
#include "common/mp.h"
#include "common/work.h"

/* ---- what is up ---- */

static const struct value *value_now(const struct slot *s)
{
    if (s->given != NULL)
        return s->given;
    if (s->param->n == 0)
        return &s->drawn;
    return &s->param->values[s->wheel == NULL ? 0 : s->wheel->at];
}

static int number_now(const struct slot *s)
{
    if (s->given != NULL || s->param->n == 0)
        return s->number;
    return s->numbers[s->wheel == NULL ? 0 : s->wheel->at];
}

static bool passes(const struct test *t)
{
    int number = number_now(t->slot);

    if (!t->slot->is_present)
        return false;
    for (size_t i = 0; i < t->n; i++)
        if (t->numbers[i] == number)
            return true;
    return false;
}

static bool is_met(const struct rule *rule)
{
    for (size_t i = 0; i < rule->n; i++)
        if (!passes(&rule->tests[i]))
            return false;
    return true;
}

static void touch(struct expand *x, const struct slot *s)
{
    size_t number = (size_t)(s - x->slots);

    if (number < x->changed)
        x->changed = number;
}

/* After wheels turned: who is there now? */
static void settle(struct expand *x)
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

/* Whether exclude: leaves it out; if so, how many wheels, from the slowest on, are enough for that. */
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

/* ---- grids ---- */

static bool stands_still(const struct wheel *w)
{
    return !w->slots[0]->is_present;
}

/*
 * On to the next of what wheels begin to end - 1 can show, the others behind them standing at their
 * beginning.  False when that was the last, and then they are at their beginning, too.
 */
static bool turn(struct expand *x, size_t begin, size_t end, bool only_entangled)
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
    settle(x);
    return is_turned;
}

struct tally {
    int64_t points, kept; /* with and without those that exclude: leaves out */
    bool is_exact;        /* else there are more */
};

static int64_t multiply(int64_t x, int64_t y)
{
    int64_t product;

    return __builtin_mul_overflow(x, y, &product) ? INT64_MAX : product;
}

static int64_t add(int64_t x, int64_t y)
{
    int64_t sum;

    return __builtin_add_overflow(x, y, &sum) ? INT64_MAX : sum;
}

/*
 * Counts what the wheels from begin on can show, which stand at their beginning.  Only those that have
 * to do with conditions or exclude: must turn for that; the others multiply.
 */
static struct tally count_from(struct expand *x, size_t begin, int64_t states_max)
{
    struct tally t = { 0 };
    int64_t weight = 1;

    for (size_t i = begin; i < x->n_turning; i++)
        if (!x->turning[i]->is_entangled)
            weight = multiply(weight, (int64_t)x->turning[i]->n);
    for (int64_t states = 0; states < states_max && !t.is_exact; states++) {
        t.points = add(t.points, weight);
        if (excluded(x) == KEPT)
            t.kept = add(t.kept, weight);
        t.is_exact = !turn(x, begin, x->n_turning, true);
    }
    t.is_exact = t.is_exact && t.points < INT64_MAX;
    return t;
}

/* Turns wheel i to where number *index is, which then counts from there. */
static void seek_wheel(struct expand *x, size_t i, int64_t *index)
{
    struct wheel *w = x->turning[i];
    int64_t n = count_from(x, i + 1, INT64_MAX).kept;

    if (!w->is_entangled) {
        w->at = (size_t)(*index / n);
        *index %= n;
        return;
    }
    while (*index >= n) {
        *index -= n;
        w->at++;
        settle(x);
        n = count_from(x, i + 1, INT64_MAX).kept;
    }
}

static void seek_grid(struct expand *x, int64_t index)
{
    for (size_t i = 0; i < x->n_turning; i++)
        x->turning[i]->at = 0;
    settle(x);
    for (size_t i = 0; i < x->n_turning; i++)
        if (!stands_still(x->turning[i]))
            seek_wheel(x, i, &index);
}

static void advance_grid(struct expand *x)
{
    int64_t end = (int64_t)x->n_turning;

    while (turn(x, 0, (size_t)end, false)) {
        end = excluded(x);
        if (end == KEPT)
            return;
    }
}

/* ---- samples ---- */

static void draw_wheel(struct expand *x, struct wheel *w)
{
    struct slot *s = w->slots[0];

    touch(x, s);
    if (w->n > 0) {
        w->at = (size_t)sampler_below(&w->sampler, (uint64_t)x->sample, w->n);
        return;
    }
    s->drawn = sampler_draw(&w->sampler, (uint64_t)x->sample);
    if (s->named.n > 0)
        s->number = valueset_find(&s->named, &s->drawn);
}

/* First those that say whether it is left out, and when it is not, the others. */
static void draw(struct expand *x, bool is_entangled)
{
    for (size_t i = 0; i < x->n_wheels; i++)
        if (x->wheels[i].is_entangled == is_entangled && !x->wheels[i].is_held)
            draw_wheel(x, &x->wheels[i]);
    settle(x);
}

static bool is_sample_kept(struct expand *x, int64_t sample)
{
    x->sample = sample;
    draw(x, true);
    return excluded(x) == KEPT;
}

static struct tally count_samples(struct expand *x, int64_t samples_max)
{
    struct tally t = { .points = x->plan->samples, .kept = x->plan->samples, .is_exact = true };

    if (x->n_excludes == 0 || t.points > samples_max)
        return t;
    t.kept = 0;
    for (int64_t i = 0; i < t.points; i++)
        t.kept += is_sample_kept(x, i);
    return t;
}

static void skip_to_kept(struct expand *x)
{
    int64_t sample = x->sample + 1;

    while (!is_sample_kept(x, sample))
        sample++;
}

static void advance_samples(struct expand *x)
{
    skip_to_kept(x);
    draw(x, false);
}

static void seek_samples(struct expand *x, int64_t index)
{
    x->sample = x->n_excludes == 0 ? index - 1 : -1;
    for (int64_t i = x->sample + 1; i <= index; i++)
        skip_to_kept(x);
    draw(x, false);
}

/* ---- parts ---- */

static void give(struct expand *x, const struct pins *entry, struct slot *s)
{
    const struct pin *pin = entry == NULL ? NULL : plan_find_pin(entry, s->param->name);

    s->given = pin == NULL ? NULL : &pin->values[0];
    if (pin != NULL && s->named.n > 0)
        s->number = valueset_find(&s->named, s->given);
    if (pin != NULL && s->wheel != NULL)
        s->wheel->is_held = true;
    touch(x, s);
}

/* Of a group that is named in part, the others stand where those that are named do. */
static void hold(const struct expand *x, const struct pins *entry, struct wheel *w)
{
    size_t position = w->group == NULL ? 0 : plan_find_position(x->plan, w->group, entry);

    w->at = position == SIZE_MAX ? 0 : position;
}

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
    for (size_t i = 0; i < x->n_slots; i++)
        give(x, entry, &x->slots[i]);
    for (size_t i = 0; i < x->n_wheels; i++) {
        if (x->wheels[i].is_held)
            hold(x, entry, &x->wheels[i]);
        else
            x->turning[x->n_turning++] = &x->wheels[i];
    }
    settle(x);
}

static bool is_grid(const struct expand *x)
{
    return x->plan->method == METHOD_GRID;
}

static struct tally count_part(struct expand *x, size_t part, int64_t points_max)
{
    open_part(x, part);
    if (is_grid(x))
        return count_from(x, 0, points_max + 1);
    if (part == 0)
        return count_samples(x, points_max);
    return (struct tally){ .points = 1, .kept = 1, .is_exact = true };
}

/* The first that is kept, with all wheels at their beginning; false when there is none. */
static bool begin_grid(struct expand *x, int64_t tries_max)
{
    int64_t end = excluded(x);

    for (int64_t tries = 1; end != KEPT; tries++) {
        x->is_given_up = tries == tries_max;
        if (x->is_given_up || !turn(x, 0, (size_t)end, false))
            return false;
        end = excluded(x);
    }
    return true;
}

static bool begin_samples(struct expand *x)
{
    int64_t n = x->plan->samples;

    x->is_given_up = false;
    for (int64_t i = 0; i < n; i++) {
        if (is_sample_kept(x, i))
            return true;
        x->is_given_up = i + 1 == POINTS_MAX;
        if (x->is_given_up)
            return false;
    }
    return false;
}

/* Whether the part that was opened has a configuration. */
static bool begin_part(struct expand *x)
{
    if (is_grid(x))
        return begin_grid(x, POINTS_MAX);
    return x->part > 0 || begin_samples(x);
}

/* Those of include: have the numbers behind the samples. */
static void seek_part(struct expand *x, int64_t index)
{
    if (is_grid(x) && index == 0)
        begin_grid(x, INT64_MAX); /* there is one, and to count all of them is not needed */
    else if (is_grid(x))
        seek_grid(x, index);
    else if (x->part == 0)
        seek_samples(x, index);
    else if (is_sample_kept(x, x->plan->samples + (int64_t)x->part - 1))
        draw(x, false);
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

/* ---- one configuration ---- */

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

static void advance(struct expand *x)
{
    if (--x->left == 0)
        return;
    if (is_grid(x))
        advance_grid(x);
    else
        advance_samples(x);
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
    advance(x);
    return true;
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

/* "FILE:LINE:COLUMN" of what says how many there are; the caller frees it. */
static char *place_of_number(const struct expand *x, const char *file)
{
    const struct plan *plan = x->plan;
    struct spot at = is_grid(x) ? plan->params_at : plan->samples_at;

    return at.line == 0 ? mem_strdup(file) : mem_printf("%s:%u:%u", file, at.line, at.column);
}

static int refuse_many(const struct expand *x, const char *file, const struct tally *all,
                       int64_t points_max, struct err *e)
{
    const char *what = points_max > POINTS_MAX ? "are too many" : "need --yes";
    char *place = place_of_number(x, file);

    if (!all->is_exact)
        err_set(e, ERR_USAGE, "%s: more than %" PRId64 " configurations %s", place, points_max,
                what);
    else
        err_set(e, ERR_USAGE, "%s: %" PRId64 " configurations: more than %" PRId64 " %s", place,
                all->points, points_max, what);
    free(place);
    return -1;
}

static int refuse_nothing(const struct expand *x, const char *file, const struct tally *all,
                          struct err *e)
{
    const struct pins *first = x->plan->exclude.items;

    return err_set(e, ERR_USAGE,
                   "%s:%u:%u: exclude: nothing is left: it matches each of the %" PRId64
                   " configurations",
                   file, first->at.line, first->at.column, all->points);
}

static int count_all(struct expand *x, const char *file, int64_t points_max, struct err *e)
{
    struct tally all = { .is_exact = true };

    for (size_t i = 0; i < x->n_parts && all.is_exact; i++) {
        struct tally t = count_part(x, i, points_max);

        x->counts[i] = t.kept;
        all.points = add(all.points, t.points);
        all.kept = add(all.kept, t.kept);
        all.is_exact = t.is_exact;
    }
    x->count = all.kept;
    if (!all.is_exact || all.points > points_max)
        return refuse_many(x, file, &all, points_max, e);
    return all.kept == 0 ? refuse_nothing(x, file, &all, e) : 0;
}

/* Finds the first, and calls it all there is. */
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

/* ---- notes ---- */

/* One line, whatever is in the text. */
static void add_shown(struct buf *out, const struct value *v)
{
    bool is_bare = v->type == VALUE_STR;

    for (size_t i = 0; is_bare && i < v->str.n; i++)
        is_bare = (unsigned char)v->str.s[i] >= ' ' && v->str.s[i] != 0x7f;
    (is_bare ? json_add_text : json_add_value)(out, v);
}

static void add_pin(struct buf *out, const struct pin *pin)
{
    buf_printf(out, "%s: %s", pin->name, pin->n > 1 ? "[" : "");
    for (size_t i = 0; i < pin->n; i++) {
        buf_add_str(out, i > 0 ? ", " : "");
        add_shown(out, &pin->values[i]);
    }
    buf_add_str(out, pin->n > 1 ? "]" : "");
}

/* "{lr: 0.3} matches no configuration" */
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

/* "include: momentum: 0.9 counts only where when: lets momentum be" */
static void add_included(const struct plan *p, const struct pins *entry,
                         const enum presence *presence, struct buf *out)
{
    const struct pin *pins = entry->pins.items;

    for (size_t i = 0; i < entry->pins.n; i++) {
        const struct param *param = params_find(&p->params, pins[i].name);

        if (presence[param - (const struct param *)p->params.items] == PRESENCE_ALWAYS)
            continue;
        buf_add_str(out, "include: ");
        add_pin(out, &pins[i]);
        buf_printf(out, " is dropped where when: leaves %s out\n", pins[i].name);
    }
}

static void add_dropped(const struct plan *p, struct buf *out)
{
    const struct pins *include = p->include.items;
    enum presence *presence;

    if (p->when.n == 0)
        return;
    presence = mem_alloc(p->params.n * sizeof *presence);
    for (size_t i = 0; i < p->include.n; i++) {
        conditions_find_presence(p, &include[i], presence);
        add_included(p, &include[i], presence, out);
    }
    free(presence);
}

void expand_add_notes(const struct expand *x, struct buf *out)
{
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
