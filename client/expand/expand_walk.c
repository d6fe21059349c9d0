/* SPDX-License-Identifier: MIT */
/* expand_walk.c - from one configuration of a grid or of samples to the next */
#include <assert.h>
#include <stdlib.h>

#include "client/expand/expand_walk.h"

/* ---- what is up ---- */

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
        assert(n > 0); /* as there is a configuration of that number */
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

void expand_open_part(struct expand *x, size_t part)
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
    expand_open_part(x, part);
    if (is_grid(x))
        return count_from(x, 0, points_max + 1);
    if (part == 0)
        return count_samples(x, points_max);
    return (struct tally){ .points = 1, .kept = 1, .is_exact = true };
}

struct tally expand_tally(struct expand *x, int64_t points_max)
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
    return all;
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
bool expand_begin_part(struct expand *x)
{
    if (is_grid(x))
        return begin_grid(x, POINTS_MAX);
    return x->part > 0 || begin_samples(x);
}

/* Those of include: have the numbers behind the samples. */
void expand_seek_part(struct expand *x, int64_t index)
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

void expand_advance(struct expand *x)
{
    if (--x->left == 0)
        return;
    if (is_grid(x))
        advance_grid(x);
    else
        advance_samples(x);
}
