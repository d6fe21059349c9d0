/* SPDX-License-Identifier: MIT */
/* spec_advisor.c - method: {advisor: ...} and budget:, and the space that the advisor searches */
#include "client/spec/spec_internal.h"

enum { PATIENCE_MIN_MS = 1000, AHEAD_MAX = 100000 };

#define AT(member) offsetof(struct spec_advisor, member)

static int read_fallback(struct yaml_keys_reader *r, const struct key *key,
                         const struct yaml_node *node, void *to)
{
    if (node->type != VALUE_STR ||
        (strcmp(node->text, "random") != 0 && strcmp(node->text, "pause") != 0))
        return yaml_keys_error(r, node, "%s: expected random or pause, found %s", key->name,
                               node->type == VALUE_STR ? node->text : value_type_name(node->type));
    *(bool *)to = strcmp(node->text, "random") == 0;
    return 0;
}

const struct key spec_advisor_keys[] = {
    { .name = "advisor",
      .type = KEY_STR,
      .offset = AT(command),
      .help = "a program that chooses configurations, by lines of JSON on its standard input and "
              "output" },
    { .name = "patience",
      .type = KEY_DURATION,
      .offset = AT(patience_ms),
      .min = PATIENCE_MIN_MS,
      .help = "so long an answer is waited for; then a random configuration takes its place; "
              "default: 60s" },
    { .name = "ahead",
      .type = KEY_INT,
      .offset = AT(ahead),
      .min = 1,
      .max = AHEAD_MAX,
      .help = "so many configurations wait in the queue beside those that run; default: as many as "
              "can run at once" },
    { .name = "fallback",
      .type = KEY_CUSTOM,
      .offset = AT(falls_back),
      .read = read_fallback,
      .help = "when the advisor failed three times in a row: pause the sweep, or go on at random; "
              "default: pause",
      .schema = "\"enum\": [\"pause\", \"random\"]" },
    { .name = NULL },
};

#undef AT
#define AT(member) offsetof(struct spec_budget, member)

const struct key spec_budget_keys[] = {
    { .name = "configs",
      .type = KEY_INT,
      .offset = AT(configs),
      .min = 1,
      .max = INT64_C(1) << 40,
      .help = "so many configurations at most" },
    { .name = "gpu_hours",
      .type = KEY_MILLI,
      .offset = AT(gpu_hours_milli),
      .min = 1,
      .max = INT64_C(1) << 50,
      .help = "nothing more is asked for when jobs that have ended took so many GPU-hours" },
    { .name = NULL },
};

#undef AT

int spec_read_advisor(struct yaml_keys_reader *r, const struct yaml_node *node, int *method)
{
    struct spec *s = spec_of(r);

    *method = METHOD_RANDOM;
    if (yaml_keys_read(r, spec_advisor_keys, node, &s->advisor) < 0)
        return -1;
    if (s->advisor.command == NULL ||
        s->advisor.command[strspn(s->advisor.command, " \t\n")] == '\0')
        return yaml_keys_error(r, node, "method: expected {advisor: COMMAND}");
    return 0;
}

/* ---- checks ---- */

static void refuse(struct yaml_keys_reader *r, const struct yaml_node *root, const char *name,
                   const char *why)
{
    for (size_t i = 0; i < root->n; i++) {
        struct yaml_node at = { .line = root->members[i].line, .column = root->members[i].column };

        if (strcmp(root->members[i].key, name) == 0)
            yaml_keys_error(r, &at, "%s: %s", name, why);
    }
}

void spec_check_advisor(struct yaml_keys_reader *r, const struct yaml_node *root)
{
    static const char not_searched[] = "an advisor does not know it: leave it out";
    struct spec *s = spec_of(r);
    const struct param *params = s->plan.params.items;
    const struct yaml_node *method = yaml_get(root, "method");

    if (s->advisor.command == NULL) {
        if (method == NULL || method->type != VALUE_MAP)
            refuse(r, root, "budget", "needs method: {advisor: COMMAND}");
        return;
    }
    refuse(r, root, "samples", "an advisor has budget: {configs: N} instead");
    refuse(r, root, "zip", not_searched);
    refuse(r, root, "exclude", not_searched);
    refuse(r, root, "include", not_searched);
    if (s->budget.configs == 0 && s->budget.gpu_hours_milli == 0)
        yaml_keys_error(r, method,
                        "method: an advisor needs budget: {configs: N} or "
                        "{gpu_hours: N}, or both");
    if (s->ranking.metric == NULL)
        yaml_keys_error(r, method,
                        "method: an advisor needs results: {metric: NAME, goal: max}, "
                        "which it is told of each job");
    for (size_t i = 0; i < s->plan.params.n; i++) {
        struct yaml_node at = { .line = params[i].line, .column = params[i].column };

        if (params[i].form == PARAM_NORMAL)
            yaml_keys_error(r, &at,
                            "%s: an advisor needs a range: uniform, log_uniform, "
                            "int_uniform or log_int",
                            params[i].name);
    }
    /* So many random configurations are sent along, which stand in when the advisor is late. */
    s->plan.samples = s->budget.configs > 0 && s->budget.configs < STAND_INS_MAX ? s->budget.configs
                                                                                 : STAND_INS_MAX;
}

/* ---- the space ---- */

/* Returns the parameter's condition as {optimizer: [sgd, adam]}; null: it has none. */
static struct value condition_of(const struct plan *plan, const char *name, struct arena *a)
{
    const struct condition *conditions = plan->when.items;

    for (size_t i = 0; i < plan->when.n; i++) {
        const struct pin *pins = conditions[i].pins.pins.items;
        struct member *members;

        if (strcmp(conditions[i].name, name) != 0)
            continue;
        members = arena_alloc(a, conditions[i].pins.pins.n * sizeof *members);
        for (size_t k = 0; k < conditions[i].pins.pins.n; k++)
            members[k] = value_member(pins[k].name, value_list(pins[k].values, pins[k].n));
        return value_map(a, members, conditions[i].pins.pins.n);
    }
    return value_null();
}

bool spec_has_advisor(const struct spec *s)
{
    return s->advisor.command != NULL && s->plan.method != METHOD_GRID;
}

void spec_add_advisor(const struct spec *s, struct buf *out)
{
    buf_printf(out, "%s chooses", s->advisor.command);
    if (s->budget.configs > 0)
        buf_printf(out, " up to %lld", (long long)s->budget.configs);
    buf_add_str(out, s->budget.configs == 1 ? " configuration" : " configurations");
    if (s->reps > 1)
        buf_printf(out, " x %lld", (long long)s->reps);
    if (s->budget.gpu_hours_milli > 0)
        buf_printf(out, ", until %g GPU-hours are used", (double)s->budget.gpu_hours_milli / 1000);
}

struct search spec_search(const struct spec *s, struct arena *a)
{
    const struct param *p = s->plan.params.items;
    struct space_param *space = arena_alloc(a, (s->plan.params.n + 1) * sizeof *space);

    for (size_t i = 0; i < s->plan.params.n; i++) {
        space[i] = (struct space_param){ .name = p[i].name,
                                         .kind = SPACE_CHOICE,
                                         .values = value_list(p[i].values, p[i].n),
                                         .when = condition_of(&s->plan, p[i].name, a) };
        if (p[i].form == PARAM_FIXED) {
            space[i].kind = SPACE_FIXED;
        } else if (p[i].form == PARAM_UNIFORM || p[i].form == PARAM_LOG_UNIFORM) {
            space[i].kind = SPACE_FLOAT;
            space[i].low = p[i].low;
            space[i].high = p[i].high;
            space[i].log = p[i].form == PARAM_LOG_UNIFORM;
        } else if (p[i].form == PARAM_INT_UNIFORM || p[i].form == PARAM_LOG_INT) {
            space[i].kind = SPACE_INT;
            space[i].first = p[i].first;
            space[i].last = p[i].last;
            space[i].log = p[i].form == PARAM_LOG_INT;
        }
    }
    return (struct search){ .advisor = s->advisor.command,
                            .configs = s->budget.configs,
                            .gpu_hours_milli = s->budget.gpu_hours_milli,
                            .patience_ms = s->advisor.patience_ms > 0 ? s->advisor.patience_ms
                                                                      : ADVICE_PATIENCE_MS,
                            .ahead = s->advisor.ahead,
                            .falls_back = s->advisor.falls_back,
                            .seed = s->plan.seed,
                            .space = { space, s->plan.params.n } };
}
