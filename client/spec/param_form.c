/* SPDX-License-Identifier: MIT */
/* param_form.c - reads the forms of a parameter: lists, ranges, distributions */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/draw/portable_math.h"
#include "client/spec/param_form.h"
#include "client/spec/param_words.h"
#include "common/base/suggest.h"

/* A parameter that is being read. */
struct reading {
    struct yaml_keys_reader *r;
    bool is_named;                      /* the beginning of errors names the parameter already */
    const struct param_form_help *help; /* of the long form that is read; NULL: a short one */
    struct param *to;
};

typedef int (*read_fn)(struct reading *rd, const struct yaml_node *node);

/* ---- errors ---- */

/* Returns the node's text in quotes; its type if the text is empty or too long for a message. */
static const char *shown(struct arena *a, const struct yaml_node *node)
{
    if (node->text == NULL || node->text[0] == '\0' || strlen(node->text) > PARAM_SHOWN_MAX_BYTES)
        return value_type_name(node->type);
    return arena_printf(a, "'%s'", node->text);
}

int param_form_expected(struct yaml_keys_reader *r, const struct yaml_node *at, const char *where,
                        const char *what)
{
    return yaml_keys_error(r, at, "%s: expected %s, found %s", where, what, shown(r->arena, at));
}

/* Returns the beginning of errors: "lr: range: ". */
static const char *place_of(const struct reading *rd)
{
    const char *name = rd->is_named ? "" : arena_printf(rd->r->arena, "%s: ", rd->to->name);

    return rd->help == NULL ? name : arena_printf(rd->r->arena, "%s%s: ", name, rd->help->name);
}

static int expected(const struct reading *rd, const struct yaml_node *node, const char *what)
{
    return yaml_keys_error(rd->r, node, "%sexpected %s, found %s", place_of(rd), what,
                           shown(rd->r->arena, node));
}

static int too_many(const struct reading *rd, const struct yaml_node *node)
{
    return yaml_keys_error(rd->r, node, "%smore than %d values", place_of(rd), POINTS_MAX);
}

/* ---- plain values ---- */

static int read_fixed(struct reading *rd, const struct yaml_node *node)
{
    rd->to->form = PARAM_FIXED;
    rd->to->note = param_words_note(node, rd->r->arena);
    rd->to->values = arena_alloc(rd->r->arena, sizeof *rd->to->values);
    rd->to->values[0] = yaml_value(node, rd->r->arena);
    rd->to->n = 1;
    return 0;
}

static int read_items(struct reading *rd, const struct yaml_node *node)
{
    struct param *to = rd->to;

    if (node->type != VALUE_LIST)
        return expected(rd, node, "a list");
    if (node->n == 0)
        return yaml_keys_error(rd->r, node, "%san empty list leaves nothing to run", place_of(rd));
    to->note = param_words_note(node, rd->r->arena);
    to->values = arena_alloc(rd->r->arena, node->n * sizeof *to->values);
    to->n = node->n;
    for (size_t i = 0; i < node->n; i++)
        to->values[i] = yaml_value(&node->items[i], rd->r->arena);
    return 0;
}

static int read_list(struct reading *rd, const struct yaml_node *node)
{
    rd->to->form = PARAM_LIST;
    return read_items(rd, node);
}

static int read_choice(struct reading *rd, const struct yaml_node *node)
{
    rd->to->form = PARAM_CHOICE;
    return read_items(rd, node);
}

/* ---- numbers ---- */

static int check_length(struct reading *rd, const struct yaml_node *node, size_t min, size_t max)
{
    if (node->type != VALUE_LIST)
        return expected(rd, node, rd->help->argument);
    if (node->n < min || node->n > max)
        return yaml_keys_error(rd->r, node, "%sexpected %s, found a list of %zu", place_of(rd),
                               rd->help->argument, node->n);
    return 0;
}

static int read_number(struct reading *rd, const struct yaml_node *node, double *to)
{
    if (node->type == VALUE_INT)
        *to = (double)node->scalar.i;
    else if (node->type == VALUE_FLOAT && isfinite(node->scalar.f))
        *to = node->scalar.f;
    else
        return expected(rd, node, "a finite number");
    return 0;
}

static int read_numbers(struct reading *rd, const struct yaml_node *node, size_t min, size_t max,
                        double *to)
{
    int answer = 0;

    if (check_length(rd, node, min, max) < 0)
        return -1;
    for (size_t i = 0; i < node->n; i++)
        if (read_number(rd, &node->items[i], &to[i]) < 0)
            answer = -1;
    return answer;
}

/* Reads a whole number; 1e3 is one, too. */
static int read_whole(struct reading *rd, const struct yaml_node *node, int64_t *to)
{
    static const double whole_max = 9007199254740992.0; /* 2^53: below it each integer is exact */
    double f = node->type == VALUE_FLOAT ? node->scalar.f : 0.5;

    if (node->type == VALUE_INT)
        *to = node->scalar.i;
    else if (f > -whole_max && f < whole_max && (double)(int64_t)f == f)
        *to = (int64_t)f;
    else
        return expected(rd, node, "a whole number");
    return 0;
}

static void make_list(struct reading *rd, size_t n)
{
    rd->to->form = PARAM_LIST;
    rd->to->values = arena_alloc(rd->r->arena, n * sizeof *rd->to->values);
    rd->to->n = n;
}

static int check_values(struct reading *rd, const struct yaml_node *node)
{
    const struct value *v = rd->to->values;

    for (size_t i = 0; i < rd->to->n; i++) {
        if (!isfinite(v[i].f))
            return yaml_keys_error(rd->r, node, "%sits values are too large for a number",
                                   place_of(rd));
        if (i > 0 && v[i].f == v[i - 1].f)
            return yaml_keys_error(
                rd->r, node,
                "%sits values lie too close together: 15 digits do not tell them "
                "apart",
                place_of(rd));
    }
    return 0;
}

/* ---- range ---- */

static int refuse_step(struct reading *rd, const struct yaml_node *node, bool is_zero)
{
    const struct yaml_node *item = node->items;
    const struct yaml_node *at = node->n == 3 ? &item[2] : node;

    if (is_zero)
        return yaml_keys_error(rd->r, at, "%sa step of 0 leads nowhere", place_of(rd));
    return yaml_keys_error(rd->r, at, "%sa step of %s does not lead from %s to %s", place_of(rd),
                           node->n == 3 ? item[2].text : "1", item[0].text, item[1].text);
}

static int read_whole_range(struct reading *rd, const struct yaml_node *node)
{
    int64_t first = node->items[0].scalar.i, last = node->items[1].scalar.i;
    int64_t step = node->n == 3 ? node->items[2].scalar.i : 1;
    uint64_t way =
        last < first ? (uint64_t)first - (uint64_t)last : (uint64_t)last - (uint64_t)first;
    uint64_t stride = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;

    if (step == 0 || (first < last && step < 0) || (first > last && step > 0))
        return refuse_step(rd, node, step == 0);
    if (way / stride >= POINTS_MAX)
        return too_many(rd, node);
    make_list(rd, (size_t)(way / stride) + 1);
    for (size_t i = 0; i < rd->to->n; i++)
        rd->to->values[i] = value_int((int64_t)((uint64_t)first + i * (uint64_t)step));
    return 0;
}

/* Returns x + y, rounded to the digits of the larger operand, as the sum has no more. */
static double sum(double x, double y)
{
    return portable_round_beside(x + y, fabs(x) > fabs(y) ? x : y);
}

/* The last step may miss the end by the rounding error of the numbers. */
static int read_float_range(struct reading *rd, const struct yaml_node *node)
{
    double ends[3] = { 0, 0, 1 }, steps, digits, tolerance;
    size_t n;

    if (read_numbers(rd, node, 2, 3, ends) < 0)
        return -1;
    steps = ends[1] / ends[2] - ends[0] / ends[2];
    if (ends[2] == 0 || steps < 0)
        return refuse_step(rd, node, ends[2] == 0);
    /* The tolerance, in steps, is below a half, so that the number of steps stays right. */
    digits = 4 * DBL_EPSILON * fmax(fabs(ends[0]), fabs(ends[1])) / fabs(ends[2]);
    tolerance = fmin(fmax(1e-6, digits), 0.49);
    if (!(steps + tolerance < POINTS_MAX))
        return too_many(rd, node);
    n = (size_t)(steps + tolerance);
    make_list(rd, n + 1);
    for (size_t i = 0; i <= n; i++)
        rd->to->values[i] = value_float(sum(ends[0], ends[2] * (double)i));
    rd->to->values[0] = value_float(ends[0]);
    if (n > 0 && fabs(steps - (double)n) <= tolerance)
        rd->to->values[n] = value_float(ends[1]);
    return check_values(rd, node);
}

static int read_range(struct reading *rd, const struct yaml_node *node)
{
    bool is_whole = true;

    if (check_length(rd, node, 2, 3) < 0)
        return -1;
    for (size_t i = 0; i < node->n; i++)
        is_whole = is_whole && node->items[i].type == VALUE_INT;
    return is_whole ? read_whole_range(rd, node) : read_float_range(rd, node);
}

/* ---- linspace, logspace ---- */

struct spacing {
    double first, last;
    size_t n;
};

static int read_spacing(struct reading *rd, const struct yaml_node *node, struct spacing *s)
{
    int64_t n = 0;

    if (check_length(rd, node, 3, 3) < 0 || read_number(rd, &node->items[0], &s->first) < 0 ||
        read_number(rd, &node->items[1], &s->last) < 0)
        return -1;
    if (read_whole(rd, &node->items[2], &n) < 0)
        return -1;
    if (n < 1)
        return expected(rd, &node->items[2], "at least 1 value");
    if (n > POINTS_MAX)
        return too_many(rd, &node->items[2]);
    s->n = (size_t)n;
    return 0;
}

static int read_linspace(struct reading *rd, const struct yaml_node *node)
{
    struct spacing s = { 0 };

    if (read_spacing(rd, node, &s) < 0)
        return -1;
    make_list(rd, s.n);
    for (size_t i = 1; i + 1 < s.n; i++) {
        double part = (double)i / (double)(s.n - 1);

        rd->to->values[i] = value_float(sum(s.first * (1 - part), s.last * part));
    }
    rd->to->values[s.n - 1] = value_float(s.last);
    rd->to->values[0] = value_float(s.first);
    return check_values(rd, node);
}

static int check_power(struct reading *rd, const struct yaml_node *exponent, double power)
{
    if (isfinite(power) && power > 0)
        return 0;
    return yaml_keys_error(rd->r, exponent, "%s10^%s is too %s for a number", place_of(rd),
                           exponent->text, power > 0 ? "large" : "small");
}

static void keep_float(void *values, size_t i, double x)
{
    ((struct value *)values)[i] = value_float(x);
}

static int read_logspace(struct reading *rd, const struct yaml_node *node)
{
    struct spacing s = { 0 };
    const struct value *v;

    if (read_spacing(rd, node, &s) < 0)
        return -1;
    make_list(rd, s.n);
    v = rd->to->values;
    portable_logspace(s.first, s.last, s.n, keep_float, rd->to->values);
    /* Exponents between 0 and 1 are rare, ends in place of exponents are not. */
    if (s.first > 0 && s.first < 1 && s.last > 0 && s.last < 1)
        rd->to->note =
            arena_printf(rd->r->arena,
                         "logspace takes exponents, so this goes from %g to "
                         "%g; numbers from %g to %g are [%g, %g, %zu]",
                         v[0].f, v[s.n - 1].f, s.first, s.last, log10(s.first), log10(s.last), s.n);
    if (check_power(rd, &node->items[0], v[0].f) < 0 ||
        check_power(rd, &node->items[1], v[s.n - 1].f) < 0)
        return -1;
    return check_values(rd, node);
}

/* ---- distributions ---- */

static int refuse_order(struct reading *rd, const struct yaml_node *node)
{
    return yaml_keys_error(rd->r, node, "%s%s is above %s", place_of(rd), node->items[0].text,
                           node->items[1].text);
}

static int read_bounds(struct reading *rd, const struct yaml_node *node, enum param_form form)
{
    double bounds[2] = { 0 };

    if (read_numbers(rd, node, 2, 2, bounds) < 0)
        return -1;
    rd->to->form = form;
    rd->to->low = bounds[0];
    rd->to->high = bounds[1];
    return 0;
}

static int read_uniform(struct reading *rd, const struct yaml_node *node)
{
    if (read_bounds(rd, node, PARAM_UNIFORM) < 0)
        return -1;
    return rd->to->low > rd->to->high ? refuse_order(rd, node) : 0;
}

static int read_log_uniform(struct reading *rd, const struct yaml_node *node)
{
    if (read_bounds(rd, node, PARAM_LOG_UNIFORM) < 0)
        return -1;
    if (rd->to->low <= 0)
        return expected(rd, &node->items[0], "a number above 0");
    return rd->to->low > rd->to->high ? refuse_order(rd, node) : 0;
}

static int read_int_uniform(struct reading *rd, const struct yaml_node *node)
{
    struct param *to = rd->to;

    if (check_length(rd, node, 2, 2) < 0 || read_whole(rd, &node->items[0], &to->first) < 0 ||
        read_whole(rd, &node->items[1], &to->last) < 0)
        return -1;
    to->form = PARAM_INT_UNIFORM;
    return to->first > to->last ? refuse_order(rd, node) : 0;
}

static int read_log_int(struct reading *rd, const struct yaml_node *node)
{
    static const int64_t most = INT64_C(1000000000000000); /* a double still holds most + 0.5 */
    struct param *to = rd->to;

    if (read_int_uniform(rd, node) < 0)
        return -1;
    to->form = PARAM_LOG_INT;
    if (to->first < 1)
        return expected(rd, &node->items[0], "a whole number above 0");
    return to->last > most ? expected(rd, &node->items[1], "at most 10^15") : 0;
}

static int read_normal(struct reading *rd, const struct yaml_node *node)
{
    static const double reach = 10; /* standard deviations from the mean, which no draw exceeds */
    struct param *to = rd->to;

    if (read_bounds(rd, node, PARAM_NORMAL) < 0)
        return -1;
    if (to->high <= 0)
        return expected(rd, &node->items[1], "a standard deviation above 0");
    if (!isfinite(to->low - reach * to->high) || !isfinite(to->low + reach * to->high))
        return yaml_keys_error(rd->r, node, "%sit would draw numbers too large for a number",
                               place_of(rd));
    return 0;
}

/* ---- forms ---- */

/* name, argument, form, reader, sentence of the manual */
#define FORMS(X)                                                                               \
    X("values", "[A, B, ...]", PARAM_LIST, read_list, "each of them, as the list alone")       \
    X("value", "X", PARAM_FIXED, read_fixed, "X as it is, be it a list or a map")              \
    X("range", "[FIRST, LAST] or [FIRST, LAST, STEP]", PARAM_LIST, read_range,                 \
      "from FIRST to LAST, which is included when the steps reach it; STEP is 1 unless given") \
    X("linspace", "[FIRST, LAST, N]", PARAM_LIST, read_linspace,                               \
      "N numbers from FIRST to LAST, evenly spaced")                                           \
    X("logspace", "[FIRST, LAST, N]", PARAM_LIST, read_logspace,                               \
      "N numbers from 10^FIRST to 10^LAST, each the same multiple of the one before")          \
    X("uniform", "[LOW, HIGH]", PARAM_UNIFORM, read_uniform,                                   \
      "sampled: a number between LOW and HIGH, all equally likely")                            \
    X("log_uniform", "[LOW, HIGH]", PARAM_LOG_UNIFORM, read_log_uniform,                       \
      "sampled: a number between LOW and HIGH whose logarithm is uniform; LOW is above 0")     \
    X("int_uniform", "[LOW, HIGH]", PARAM_INT_UNIFORM, read_int_uniform,                       \
      "sampled: a whole number from LOW to HIGH, both included")                               \
    X("log_int", "[LOW, HIGH]", PARAM_LOG_INT, read_log_int,                                   \
      "sampled: the same, but its logarithm is uniform; LOW is above 0")                       \
    X("normal", "[MEAN, SD]", PARAM_NORMAL, read_normal,                                       \
      "sampled: normally distributed; SD is the standard deviation")                           \
    X("choice", "[A, B, ...]", PARAM_CHOICE, read_choice, "sampled: one of them")

const struct param_form_help param_forms[] = {
#define X(name, argument, form, read, help) { name, argument, help },
    FORMS(X)
#undef X
        { 0 }
};

/* In the order of FORMS. */
static const struct {
    enum param_form form;
    read_fn read;
} forms[] = {
#define X(name, argument, form, read, help) { form, read },
    FORMS(X)
#undef X
};

const char *param_form_name(enum param_form form)
{
    size_t i = 0;

    while (forms[i].form != form)
        i++;
    return param_forms[i].name;
}

/* Reads round: 3 beside uniform, log_uniform or normal. */
static int read_round(struct reading *rd, const struct yaml_member *m)
{
    enum param_form form = rd->to->form;
    const struct yaml_node *node = &m->node;

    if (form != PARAM_UNIFORM && form != PARAM_LOG_UNIFORM && form != PARAM_NORMAL)
        return yaml_keys_error(rd->r, node, "%sround goes with uniform, log_uniform and normal",
                               place_of(rd));
    if (node->type != VALUE_INT || node->scalar.i < 1 || node->scalar.i > PARAM_DIGITS_MAX)
        return yaml_keys_error(rd->r, node, "%sround: expected how many digits, from 1 to %d",
                               place_of(rd), PARAM_DIGITS_MAX);
    rd->to->digits = (int)node->scalar.i;
    return 0;
}

static int read_form(struct reading *rd, const struct yaml_node *node)
{
    const struct yaml_member *m = node->members, *round = NULL;
    struct suggest nearest = { 0 };
    struct yaml_node at;
    const char *theirs;

    for (size_t i = 0; i < node->n && node->n == 2; i++)
        if (strcmp(node->members[i].key, "round") == 0) {
            round = &node->members[i];
            m = &node->members[1 - i];
        }
    if (node->n != 1 && round == NULL && (theirs = param_words_form(node, rd->r->arena)) != NULL)
        return yaml_keys_error(rd->r, node, "%shere this is written %s", place_of(rd), theirs);
    if (node->n != 1 && round == NULL)
        return yaml_keys_error(rd->r, node, "%sexpected one form such as {values: [1, 2]}",
                               place_of(rd));
    nearest.word = m->key;
    for (size_t i = 0; param_forms[i].name != NULL; i++) {
        suggest_try(&nearest, param_forms[i].name);
        if (strcmp(param_forms[i].name, m->key) == 0) {
            rd->help = &param_forms[i];
            if (forms[i].read(rd, &m->node) < 0)
                return -1;
            return round == NULL ? 0 : read_round(rd, round);
        }
    }
    at = (struct yaml_node){ .line = m->line, .column = m->column };
    if (nearest.best != NULL)
        return yaml_keys_error(rd->r, &at, "%sunknown form '%s' (did you mean '%s'?)", place_of(rd),
                               m->key, nearest.best);
    return yaml_keys_error(rd->r, &at, "%sunknown form '%s' (a map as a value: %s: {value: {...}})",
                           place_of(rd), m->key, rd->to->name);
}

/* Refuses a value that is null because nothing is written there. */
static int check_is_written(struct reading *rd, const struct yaml_node *node)
{
    const struct yaml_node *empty = param_words_empty(node);

    if (empty != NULL && strchr(rd->to->name, ':') != NULL)
        return yaml_keys_error(
            rd->r, empty, "%sexpected a value (a blank belongs behind the colon)", place_of(rd));
    if (empty != NULL)
        return yaml_keys_error(rd->r, empty,
                               "%sexpected a value; write null, or quotes around it (a # begins a "
                               "comment)",
                               place_of(rd));
    return 0;
}

int param_form_read(struct yaml_keys_reader *r, const struct yaml_node *node, bool is_named,
                    struct param *to)
{
    struct reading rd = { .r = r, .is_named = is_named, .to = to };

    if (check_is_written(&rd, node) < 0)
        return -1;
    if (node->type == VALUE_LIST)
        return read_list(&rd, node);
    return node->type == VALUE_MAP ? read_form(&rd, node) : read_fixed(&rd, node);
}

int param_form_read_fixed(struct yaml_keys_reader *r, const struct yaml_node *node,
                          struct param *to)
{
    struct reading rd = { .r = r, .to = to };

    return check_is_written(&rd, node) < 0 ? -1 : read_fixed(&rd, node);
}
