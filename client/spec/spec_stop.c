/* SPDX-License-Identifier: MIT */
/* spec_stop.c - guard:, stop: and reps:, which hold, end or leave out jobs not worth their time */

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "client/spec/spec_internal.h"
#include "common/base/suggest.h"

/* ---- guard ---- */

static int read_nan(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                    void *to)
{
    bool is_stop = node->type == VALUE_STR && strcmp(node->text, "stop") == 0;

    *(bool *)to = is_stop;
    if (is_stop || node->type == VALUE_NULL || (node->type == VALUE_BOOL && !node->scalar.b) ||
        (node->type == VALUE_STR && strcmp(node->text, "off") == 0))
        return 0;
    return yaml_keys_error(r, node, "%s: expected stop or off", key->name);
}

const struct key spec_guard_keys[] = {
    { .name = "failures",
      .type = KEY_INT,
      .offset = offsetof(struct guard_policy, failures),
      .min = 1,
      .max = GUARD_FAILURES_MAX,
      .help = "after so many failures of one kind its like are held; default: 3" },
    { .name = "nan",
      .type = KEY_CUSTOM,
      .offset = offsetof(struct guard_policy, nan),
      .read = read_nan,
      .help =
          "stop: a job that reports nan or infinity for the metric of results: is ended, and has "
          "failed; default: off",
      .schema = "\"enum\": [\"stop\", \"off\", false, null]" },
    { .name = NULL },
};

int spec_read_guard(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                    void *to)
{
    struct guard_policy *guard = to;

    if (node->type == VALUE_NULL)
        return 0;
    if (node->type == VALUE_MAP)
        return yaml_keys_read(r, spec_guard_keys, node, to);
    guard->off = (node->type == VALUE_BOOL && !node->scalar.b) ||
                 (node->type == VALUE_STR && strcmp(node->text, "off") == 0);
    return guard->off
               ? 0
               : yaml_keys_error(r, node, "%s: expected {failures: N, nan: stop} or off, found %s",
                                 key->name, value_type_name(node->type));
}

/* ---- stop ---- */

static int read_number(struct yaml_keys_reader *r, const struct key *key,
                       const struct yaml_node *node, void *to)
{
    double number = node->type == VALUE_INT     ? (double)node->scalar.i
                    : node->type == VALUE_FLOAT ? node->scalar.f
                                                : (double)NAN;

    if (!isfinite(number))
        return yaml_keys_error(r, node, "%s: expected a number", key->name);
    *(double *)to = number;
    return 0;
}

#define AT(member) offsetof(struct stop_policy, member)
#define NUMBER     "\"type\": \"number\""

const struct key spec_stop_keys[] = {
    { .name = "rule",
      .type = KEY_STR,
      .offset = AT(rule),
      .help = "asha, median, patience or threshold: which jobs are stopped; needed",
      .schema = "\"enum\": [\"asha\", \"median\", \"patience\", \"threshold\"]" },
    { .name = "step",
      .type = KEY_STR,
      .offset = AT(step),
      .help = "what jobs report beside the metric, and counts: epoch; default: step" },
    { .name = "first",
      .type = KEY_INT,
      .offset = AT(first),
      .min = 1,
      .max = STEP_MAX,
      .help = "the first step at which a job may be stopped; default: a tenth of a training; of "
              "threshold: 1" },
    { .name = "eta",
      .type = KEY_CUSTOM,
      .offset = AT(eta),
      .read = read_number,
      .help = "of asha: one in so many goes on at each rung, and the next rung is so many times "
              "further; default: 2",
      .schema = NUMBER ", \"exclusiveMinimum\": 1" },
    { .name = "max_step",
      .type = KEY_INT,
      .offset = AT(max_step),
      .min = 1,
      .max = STEP_MAX,
      .help =
          "of asha and median: the last step of a training; default: learned from the jobs that "
          "come to their end" },
    { .name = "patience",
      .type = KEY_INT,
      .offset = AT(patience),
      .min = 1,
      .max = STEP_MAX,
      .help = "of patience: after so many steps without an improvement a job is stopped; needed" },
    { .name = "min_delta",
      .type = KEY_CUSTOM,
      .offset = AT(min_delta),
      .read = read_number,
      .help = "of patience: a smaller gain is no improvement; default: 0",
      .schema = NUMBER ", \"minimum\": 0" },
    { .name = "threshold",
      .type = KEY_CUSTOM,
      .offset = AT(threshold),
      .read = read_number,
      .help = "of threshold: a job whose metric is worse than that is stopped; needed",
      .schema = NUMBER },
    { .name = "resume",
      .type = KEY_BOOL,
      .offset = AT(resume),
      .help = "of asha and median: a job that was stopped goes on from its checkpoint when it is "
              "among the best of those known by then; default: true with checkpoint:" },
    { .name = NULL },
};

/* Which keys a rule takes beside rule and step, and which one it needs. */
static const struct {
    const char *rule, *takes, *needs;
} rules[STOP_WORDS] = {
    { "asha", " first eta max_step resume ", NULL },
    { "median", " first max_step resume ", NULL },
    { "patience", " patience min_delta ", "patience" },
    { "threshold", " first threshold ", "threshold" },
};

int spec_read_stop(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                   void *to)
{
    struct stop_policy *stop = to;

    if (node->type == VALUE_NULL || (node->type == VALUE_BOOL && !node->scalar.b) ||
        (node->type == VALUE_STR && strcmp(node->text, "off") == 0))
        return 0;
    if (node->type == VALUE_MAP)
        return yaml_keys_read(r, spec_stop_keys, node, to);
    if (node->type != VALUE_STR)
        return yaml_keys_error(r, node, "%s: expected {rule: asha}, or the name of a rule",
                               key->name);
    stop->rule = node->text;
    return 0;
}

static void check_rule(struct yaml_keys_reader *r, const struct yaml_node *at, const char *rule)
{
    struct suggest nearest = { .word = rule };

    for (int i = 0; i < STOP_WORDS; i++)
        suggest_try(&nearest, stop_words[i]);
    if (nearest.best != NULL)
        yaml_keys_error(r, at, "rule: unknown rule '%s' (did you mean '%s'?)", rule, nearest.best);
    else
        yaml_keys_error(
            r, at, "rule: unknown rule '%s' (there are asha, median, patience, threshold)", rule);
}

/* Refuses keys of other rules, and a map without the key that the rule needs. */
static void check_keys(struct yaml_keys_reader *r, const struct yaml_node *node, size_t rule)
{
    for (size_t i = 0; i < node->n; i++) {
        const struct yaml_member *m = &node->members[i];
        struct yaml_node at = { .line = m->line, .column = m->column };
        char *word = mem_printf(" %s ", m->key);
        size_t other = 0;

        while (other < STOP_WORDS && strstr(rules[other].takes, word) == NULL)
            other++;
        if (other < STOP_WORDS && strstr(rules[rule].takes, word) == NULL)
            yaml_keys_error(r, &at, "%s: the rule %s has no such key, %s has", m->key,
                            rules[rule].rule, rules[other].rule);
        free(word);
    }
    if (rules[rule].needs != NULL && yaml_get(node, rules[rule].needs) == NULL)
        yaml_keys_error(r, node, "stop: the rule %s needs %s:", rules[rule].rule,
                        rules[rule].needs);
}

/* Settles whether the rule may resume stopped jobs: by default where jobs have checkpoints; never
 * with an advisor, as it was told that the job was stopped. */
static void settle_resume(struct yaml_keys_reader *r, const struct yaml_node *root,
                          const struct yaml_node *map, size_t rule)
{
    struct spec *s = spec_of(r);
    const struct yaml_node *given = map != NULL ? yaml_get(map, "resume") : NULL;
    const struct yaml_node *checkpoint = yaml_get(root, "checkpoint");
    bool may = strstr(rules[rule].takes, " resume ") != NULL;

    if (given != NULL && s->stop.resume && may && spec_has_advisor(s))
        yaml_keys_error(r, given,
                        "resume: does not go with an advisor, which says what is tried next");
    if (given == NULL)
        s->stop.resume =
            may && checkpoint != NULL && checkpoint->type == VALUE_MAP && !spec_has_advisor(s);
}

static void check_stop(struct yaml_keys_reader *r, const struct yaml_node *root,
                       const struct yaml_node *node)
{
    struct stop_policy *stop = &spec_of(r)->stop;
    const struct yaml_node *map = node->type == VALUE_MAP ? node : NULL;
    const struct yaml_node *at = map != NULL ? yaml_get(map, "rule") : node, *found;
    size_t rule = 0;

    if (map != NULL && at == NULL)
        yaml_keys_error(r, node, "stop: names no rule: asha, median, patience or threshold");
    if (stop->rule == NULL)
        return;
    while (rule < STOP_WORDS && strcmp(rules[rule].rule, stop->rule) != 0)
        rule++;
    if (rule == STOP_WORDS) {
        check_rule(r, at, stop->rule);
        return;
    }
    settle_resume(r, root, map, rule);
    if (map != NULL)
        check_keys(r, map, rule);
    else if (rules[rule].needs != NULL)
        yaml_keys_error(r, node, "stop: the rule %s needs %s:", stop->rule, rules[rule].needs);
    if (map == NULL)
        return;
    found = yaml_get(map, "step");
    if (stop->step != NULL && (stop->step[0] == '\0' || spec_has_control(stop->step) ||
                               strlen(stop->step) > NAME_MAX_BYTES))
        yaml_keys_error(r, found, "step: expected the name of what counts, as epoch");
    found = yaml_get(map, "eta");
    if (found != NULL && (found->type == VALUE_INT || found->type == VALUE_FLOAT) &&
        !(stop->eta > 1))
        yaml_keys_error(r, found, "eta: expected a number above 1");
    found = yaml_get(map, "min_delta");
    if (found != NULL && stop->min_delta < 0)
        yaml_keys_error(r, found, "min_delta: expected a number that is not below 0");
    stop->has_threshold = yaml_get(map, "threshold") != NULL;
}

/* ---- reps ---- */

#define AT_SPEC(member) offsetof(struct spec, member)

const struct key spec_reps_keys[] = {
    { .name = "max",
      .type = KEY_INT,
      .offset = AT_SPEC(reps),
      .min = 1,
      .max = RACE_REPS_MAX,
      .help = "replications of a configuration that stays in the race; needed" },
    { .name = "race",
      .type = KEY_INT,
      .offset = AT_SPEC(stop.race),
      .min = 1,
      .max = RACE_REPS_MAX,
      .help = "replications that each configuration gets in any case; needed" },
    { .name = "best",
      .type = KEY_INT,
      .offset = AT_SPEC(stop.best),
      .min = 1,
      .max = RACE_REPS_MAX,
      .help = "so many configurations are looked for; default: 1" },
    { .name = NULL },
};

int spec_read_reps(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                   void *to)
{
    static const struct key number[] = {
        { .name = "reps", .type = KEY_INT, .offset = AT_SPEC(reps), .min = 1, .max = REPS_MAX },
        { .name = NULL },
    };
    struct yaml_member member = {
        .key = key->name, .line = node->line, .column = node->column, .node = *node
    };
    const struct yaml_node map = {
        .type = VALUE_MAP, .line = node->line, .column = node->column, .members = &member, .n = 1
    };
    struct spec *s = spec_of(r);

    (void)to;
    if (node->type != VALUE_MAP)
        return yaml_keys_read(r, number, &map, s);
    if (yaml_keys_read(r, spec_reps_keys, node, s) < 0)
        return -1;
    if (yaml_get(node, "max") == NULL || yaml_get(node, "race") == NULL)
        return yaml_keys_error(r, node, "%s: expected {max: 10, race: 3}", key->name);
    if (s->stop.race > s->reps)
        return yaml_keys_error(r, yaml_get(node, "race"), "race: more than max, which is %" PRId64,
                               s->reps);
    return 0;
}

static void check_race(struct yaml_keys_reader *r, const struct yaml_node *root)
{
    const struct spec *s = spec_of(r);
    const struct yaml_node *at = yaml_get(root, "reps");

    if (s->stop.race == 0 || s->stop.race > s->reps || yaml_get(at, "max") == NULL)
        return;
    if (yaml_get(root, "results") == NULL || s->ranking.metric == NULL)
        yaml_keys_error(r, at,
                        "race: needs the measure that it compares by: results: {metric: NAME}");
    if (s->stop.rule != NULL)
        yaml_keys_error(r, at,
                        "race: does not go with stop: a job that is stopped early has no result");
    if (spec_has_advisor(s))
        yaml_keys_error(r, at, "race: does not go with an advisor, which says what is tried next");
}

void spec_check_stop(struct yaml_keys_reader *r, const struct yaml_node *root)
{
    const struct spec *s = spec_of(r);
    const struct yaml_node *stop = yaml_get(root, "stop"), *guard = yaml_get(root, "guard");
    const struct yaml_node *nan =
        guard == NULL || guard->type != VALUE_MAP ? NULL : yaml_get(guard, "nan");
    const struct {
        const char *name;
        const struct yaml_node *at;
        bool is_on;
    } asking[] = { { "stop", stop, s->stop.rule != NULL }, { "nan", nan, s->guard.nan } };

    if (stop != NULL)
        check_stop(r, root, stop);
    check_race(r, root);
    for (size_t i = 0; i < sizeof asking / sizeof asking[0]; i++) {
        if (!asking[i].is_on || asking[i].at == NULL)
            continue;
        if (yaml_get(root, "results") == NULL || s->ranking.metric == NULL)
            yaml_keys_error(r, asking[i].at,
                            "%s: needs the measure that it looks at: results: {metric: NAME}",
                            asking[i].name);
        if (s->work.batch > 1)
            yaml_keys_error(
                r, asking[i].at,
                "%s: does not go with batch: as jobs of one process cannot be ended one "
                "by one",
                asking[i].name);
    }
}
