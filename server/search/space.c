/* SPDX-License-Identifier: MIT */
/* space.c - the space that an advisor searches: describes it, and checks the points it gives */

#include "server/search/space.h"

#include <math.h>
#include <string.h>

#include "common/base/quote.h"
#include "common/data/json.h"
#include "common/data/param_digest.h"
#include "common/proto/jobspec.h"

enum { CHOICES_SHOWN_BYTES = 200 }; /* and no further one, of the choices of a parameter */

static size_t find(const struct search *s, const char *name)
{
    const struct space_param *p = s->space.items;
    size_t i = 0;

    while (i < s->space.n && strcmp(p[i].name, name) != 0)
        i++;
    return i;
}

static int check_when(const struct search *s, const struct space_param *p, struct err *e)
{
    if (p->when.type == VALUE_NULL)
        return 0;
    if (p->when.type != VALUE_MAP)
        return err_set(e, ERR_USAGE, "search: %s: when is no map", p->name);
    for (size_t i = 0; i < p->when.map.n; i++) {
        const struct member *m = &p->when.map.members[i];

        if (find(s, m->key.str.s) == s->space.n || m->value.type != VALUE_LIST)
            return err_set(e, ERR_USAGE, "search: %s: when names '%s'", p->name, m->key.str.s);
    }
    return 0;
}

/* Counts the parameter's values and conditions. */
static size_t count_values(const struct space_param *p)
{
    size_t n = p->values.type == VALUE_LIST ? p->values.list.n : 0;

    for (size_t i = 0; p->when.type == VALUE_MAP && i < p->when.map.n; i++)
        n += 1 + (p->when.map.members[i].value.type == VALUE_LIST
                      ? p->when.map.members[i].value.list.n
                      : 0);
    return n;
}

/* The cost: each name, of the space and in a condition, is looked up among the parameters. */
int64_t space_points_at_once(const struct search *s)
{
    const struct space_param *p = s->space.items;
    size_t steps = 1 + 2 * s->space.n * s->space.n;

    for (size_t i = 0; i < s->space.n; i++)
        steps +=
            count_values(&p[i]) + (p[i].when.type == VALUE_MAP ? p[i].when.map.n * s->space.n : 0);
    return steps > SPACE_STEPS_MAX / 2 ? 1 : (int64_t)(SPACE_STEPS_MAX / steps);
}

int space_check(const struct search *s, struct err *e)
{
    const struct space_param *p = s->space.items;
    size_t n_values = 0;

    for (size_t i = 0; i < s->space.n; i++)
        n_values += count_values(&p[i]);
    if (n_values > SPACE_VALUES_MAX)
        return err_set(e, ERR_USAGE, "search: %zu values and conditions; at most %d", n_values,
                       SPACE_VALUES_MAX);
    if (s->advisor[0] == '\0')
        return err_set(e, ERR_USAGE, "method: advisor: it is empty");
    for (size_t i = 0; i < s->space.n; i++) {
        bool has_values = p[i].kind == SPACE_FIXED || p[i].kind == SPACE_CHOICE;

        if (has_values               ? p[i].values.type != VALUE_LIST || p[i].values.list.n == 0
            : p[i].kind == SPACE_INT ? p[i].first > p[i].last || (p[i].log && p[i].first < 1)
                                     : !(p[i].low <= p[i].high))
            return err_set(e, ERR_USAGE, "search: %s: no value is possible", p[i].name);
        if (find(s, p[i].name) != i)
            return err_set(e, ERR_USAGE, "search: %s: it stands twice", p[i].name);
        if (check_when(s, &p[i], e) < 0)
            return -1;
    }
    return 0;
}

/* ---- told ---- */

static void add_name(struct buf *out, const char *name, bool is_first)
{
    buf_add_str(out, is_first ? "" : ", ");
    quote_add(out, name, strlen(name));
    buf_add_str(out, ": ");
}

static void add_param(struct buf *out, const struct space_param *p)
{
    buf_printf(out, "{\"kind\": \"%s\"", space_kind_names[p->kind]);
    if (p->kind == SPACE_CHOICE) {
        buf_add_str(out, ", \"choices\": ");
        json_add_value(out, &p->values);
    } else if (p->kind == SPACE_INT) {
        buf_printf(out, ", \"low\": %lld, \"high\": %lld%s", (long long)p->first,
                   (long long)p->last, p->log ? ", \"log\": true" : "");
    } else {
        buf_add_str(out, ", \"low\": ");
        value_add_float(out, p->low);
        buf_add_str(out, ", \"high\": ");
        value_add_float(out, p->high);
        buf_printf(out, ", \"log\": %s", p->log ? "true" : "false");
    }
    if (p->when.type == VALUE_MAP) {
        buf_add_str(out, ", \"when\": ");
        json_add_value(out, &p->when);
    }
    buf_add_char(out, '}');
}

void space_add_json(const struct search *s, struct buf *out)
{
    const struct space_param *p = s->space.items;
    bool is_first = true;

    buf_add_str(out, "\"params\": {");
    for (size_t i = 0; i < s->space.n; i++) {
        if (p[i].kind == SPACE_FIXED)
            continue;
        add_name(out, p[i].name, is_first);
        add_param(out, &p[i]);
        is_first = false;
    }
    buf_add_str(out, "}, \"fixed\": {");
    is_first = true;
    for (size_t i = 0; i < s->space.n; i++) {
        if (p[i].kind != SPACE_FIXED)
            continue;
        add_name(out, p[i].name, is_first);
        json_add_value(out, &p[i].values.list.items[0]);
        is_first = false;
    }
    buf_add_char(out, '}');
}

/* ---- given ---- */

static int refuse(const struct space_param *p, const struct value *v, const char *expected,
                  struct err *e)
{
    struct buf text = { 0 };

    json_add_value(&text, v);
    err_set(e, ERR_USAGE, "%s: expected %.300s, found %.100s%s", p->name, expected, buf_text(&text),
            v->type == VALUE_STR ? ", a text" : "");
    buf_free(&text);
    return -1;
}

static int take_float(const struct space_param *p, const struct value *v, struct value *to,
                      struct err *e)
{
    double x = v->type == VALUE_INT ? (double)v->i : v->type == VALUE_FLOAT ? v->f : NAN;
    struct buf range = { 0 };

    *to = value_float(x);
    if (x >= p->low && x <= p->high)
        return 0;
    buf_add_str(&range, "a number from ");
    value_add_float(&range, p->low);
    buf_add_str(&range, " to ");
    value_add_float(&range, p->high);
    refuse(p, v, buf_text(&range), e);
    buf_free(&range);
    return -1;
}

static int take_int(const struct space_param *p, const struct value *v, struct value *to,
                    struct err *e)
{
    struct buf range = { 0 };
    bool is_whole = v->type == VALUE_INT;

    *to = *v;
    if (v->type == VALUE_FLOAT && fabs(v->f) < 0x1p62 && (double)(int64_t)v->f == v->f) {
        *to = value_int((int64_t)v->f);
        is_whole = true;
    }
    if (is_whole && to->i >= p->first && to->i <= p->last)
        return 0;
    buf_printf(&range, "a whole number from %lld to %lld", (long long)p->first, (long long)p->last);
    refuse(p, v, buf_text(&range), e);
    buf_free(&range);
    return -1;
}

/* The space's own value counts, as 1 may be given for 1.0. */
static int take_choice(const struct space_param *p, const struct value *v, struct value *to,
                       struct err *e)
{
    struct buf choices = { 0 };

    for (size_t i = 0; i < p->values.list.n; i++)
        if (param_equal(&p->values.list.items[i], v)) {
            *to = p->values.list.items[i];
            return 0;
        }
    buf_add_str(&choices, p->kind == SPACE_FIXED ? "its only value " : "one of ");
    for (size_t i = 0; i < p->values.list.n && choices.n < CHOICES_SHOWN_BYTES; i++) {
        buf_add_str(&choices, i == 0 ? "" : ", ");
        json_add_value(&choices, &p->values.list.items[i]);
    }
    refuse(p, v, buf_text(&choices), e);
    buf_free(&choices);
    return -1;
}

/* The states of parameters while their presence is found. */
enum presence { UNKNOWN, LOOKING, ABSENT, PRESENT };

struct taking {
    const struct search *search;
    const struct value *params;
    struct value *values;
    enum presence *presence;
};

static int take_param(struct taking *t, size_t i, struct err *e);

/* Whether all conditions are met, whose parameters are taken first. */
static int is_met(struct taking *t, const struct space_param *p, struct err *e)
{
    for (size_t i = 0; p->when.type == VALUE_MAP && i < p->when.map.n; i++) {
        const struct member *m = &p->when.map.members[i];
        size_t other = find(t->search, m->key.str.s), k = 0;

        if (t->presence[other] == LOOKING)
            return err_set(e, ERR_USAGE, "%s: its condition is a circle", p->name);
        if (t->presence[other] == UNKNOWN && take_param(t, other, e) < 0)
            return -1;
        if (t->presence[other] == ABSENT)
            return 0;
        while (k < m->value.list.n && !param_equal(&m->value.list.items[k], &t->values[other]))
            k++;
        if (k == m->value.list.n)
            return 0;
    }
    return 1;
}

static int take_param(struct taking *t, size_t i, struct err *e)
{
    const struct space_param *p = (const struct space_param *)t->search->space.items + i;
    const struct value *v = value_get(t->params, p->name);
    int rc;

    if (t->presence[i] != UNKNOWN)
        return 0;
    t->presence[i] = LOOKING;
    rc = is_met(t, p, e);
    if (rc < 0)
        return -1;
    t->presence[i] = rc == 1 ? PRESENT : ABSENT;
    if (rc == 0) /* a value for a parameter that `when` leaves out is ignored */
        return 0;
    if (v == NULL && p->kind != SPACE_FIXED)
        return err_set(e, ERR_USAGE, "%s: it is missing in params of a point", p->name);
    if (p->kind == SPACE_FIXED && v == NULL)
        v = &p->values.list.items[0];
    if (p->kind == SPACE_FLOAT)
        return take_float(p, v, &t->values[i], e);
    if (p->kind == SPACE_INT)
        return take_int(p, v, &t->values[i], e);
    return take_choice(p, v, &t->values[i], e);
}

/* Takes what stands beside the parameters of a point. */
static int take_from(const struct value *point, int64_t *from, struct err *e)
{
    *from = 0;
    for (size_t i = 0; i < point->map.n; i++) {
        const struct member *m = &point->map.members[i];
        const char *key = m->key.str.s;

        if (strcmp(key, "from") == 0 && m->value.type == VALUE_INT && m->value.i > 0)
            *from = m->value.i;
        else if (strcmp(key, "from") == 0 && m->value.type != VALUE_NULL)
            return err_set(e, ERR_USAGE, "from: expected the number of a configuration, found %s",
                           m->value.type == VALUE_INT ? "one below 1"
                                                      : value_type_name(m->value.type));
        else if (strcmp(key, "from") != 0 && strcmp(key, "params") != 0)
            return err_set(e, ERR_USAGE,
                           "a point is {\"params\": {...}, \"from\": ID}, and has no '%.40s' "
                           "beside them",
                           key);
    }
    return 0;
}

int space_take(const struct search *s, const struct value *point, struct arena *a,
               struct value *config, int64_t *from, struct err *e)
{
    const struct space_param *p = s->space.items;
    struct member *members = arena_alloc(a, (s->space.n + 1) * sizeof *members);
    struct taking t = { .search = s, .params = value_get(point, "params") };
    size_t n = 0;

    if (take_from(point, from, e) < 0)
        return -1;
    if (t.params == NULL || t.params->type != VALUE_MAP)
        return err_set(e, ERR_USAGE, "a point needs params: a map");
    for (size_t i = 0; i < t.params->map.n; i++)
        if (find(s, t.params->map.members[i].key.str.s) == s->space.n)
            return err_set(e, ERR_USAGE, "'%.80s' is no parameter of the sweep",
                           t.params->map.members[i].key.str.s);
    t.values = arena_alloc(a, (s->space.n + 1) * sizeof *t.values);
    t.presence = arena_alloc(a, (s->space.n + 1) * sizeof *t.presence);
    memset(t.presence, 0, (s->space.n + 1) * sizeof *t.presence);
    for (size_t i = 0; i < s->space.n; i++)
        if (take_param(&t, i, e) < 0)
            return -1;
    for (size_t i = 0; i < s->space.n; i++)
        if (t.presence[i] == PRESENT)
            members[n++] = value_member(p[i].name, t.values[i]);
    *config = value_map(a, members, n);
    return 0;
}
