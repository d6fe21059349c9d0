/* SPDX-License-Identifier: MIT */
/* search.c - what early stopping and racing save, on tables of trainings: FOLDER [SEEDS] */
#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/data/json.h"
#include "server/search/race.h"
#include "server/search/stop_rule.h"

enum { LIST = 200, SLOTS_MAX = 32 };

/* --- tables ------------------------------------------------------------------------------------------- */

struct table {
    char *name;
    bool is_max, has_curves;
    size_t n_configs, n_seeds, n_epochs;
    float *
        cells; /* of config, seed, epoch: the measure, and where there are curves the seconds until then */
    double *mean; /* of each configuration's last values; nan where one is missing */
    double best, worst;
};

static double measure(const struct table *t, size_t config, size_t seed, size_t epoch)
{
    size_t i = (config * t->n_seeds + seed) * t->n_epochs + epoch;

    return t->cells[t->has_curves ? 2 * i : i];
}

/* Until the end of that many epochs.  Without curves a training takes 1. */
static double seconds(const struct table *t, size_t config, size_t seed, size_t epochs)
{
    if (epochs == 0 || !t->has_curves)
        return (double)epochs;
    return t->cells[2 * ((config * t->n_seeds + seed) * t->n_epochs + epochs - 1) + 1];
}

static double last_measure(const struct table *t, size_t config, size_t seed)
{
    return measure(t, config, seed, t->n_epochs - 1);
}

static bool is_better(const struct table *t, double x, double y)
{
    return isnan(y) ? !isnan(x) : t->is_max ? x > y : x < y;
}

static double regret(const struct table *t, size_t config)
{
    return fabs(t->mean[config] - t->best);
}

static bool is_word(const struct value *v, const char *word)
{
    return v != NULL && v->type == VALUE_STR && strcmp(v->str.s, word) == 0;
}

static int64_t header_number(const struct value *head, const char *key, const char *path)
{
    const struct value *v = value_get(head, key);

    if (v == NULL || v->type != VALUE_INT || v->i < 1) {
        fprintf(stderr, "search: %s has no number '%s'\n", path, key);
        exit(1);
    }
    return v->i;
}

static char *read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    struct buf b = { 0 };
    size_t got;

    if (f == NULL) {
        perror(path);
        exit(1);
    }
    while ((got = fread(buf_reserve(&b, 65536), 1, 65536, f)) > 0)
        buf_added(&b, got);
    fclose(f);
    *n = b.n;
    return buf_take(&b);
}

/* A configuration with a run that the source does not have has no seconds. */
static void leave_out_missing(struct table *t)
{
    const size_t size = t->n_seeds * t->n_epochs * (t->has_curves ? 2 : 1);
    size_t n = 0;

    for (size_t c = 0; c < t->n_configs; c++) {
        bool has_all = true;

        for (size_t s = 0; s < t->n_seeds && has_all; s++)
            has_all = isfinite(seconds(t, c, s, t->n_epochs));
        if (has_all)
            memmove(t->cells + size * n++, t->cells + size * c, size * sizeof *t->cells);
    }
    t->n_configs = n;
}

static void read_table(struct table *t, const char *folder, const char *file)
{
    struct arena *a = arena_create();
    char *path = mem_printf("%s/%s", folder, file), *cells_path, *text;
    const struct value *goal, *kind, *name, *configs;
    struct value head;
    struct err e = { 0 };
    size_t n, cells;

    text = read_file(path, &n);
    if (json_read(text, n, a, &head, &e) < 0) {
        fprintf(stderr, "search: %s: %s\n", path, e.text);
        exit(1);
    }
    goal = value_get(&head, "goal");
    kind = value_get(&head, "kind");
    name = value_get(&head, "file");
    configs = value_get(&head, "configs");
    if (goal == NULL || kind == NULL || name == NULL || name->type != VALUE_STR ||
        (is_word(kind, "drawn") && (configs == NULL || configs->type != VALUE_LIST))) {
        fprintf(stderr, "search: %s is no header of a table\n", path);
        exit(1);
    }
    *t = (struct table){ .name = mem_strndup(file, strlen(file) - strlen(".json")),
                         .is_max = is_word(goal, "max"),
                         .has_curves = is_word(kind, "drawn") };
    t->n_seeds = (size_t)header_number(&head, "seeds", path);
    t->n_epochs = (size_t)header_number(&head, "epochs", path);
    cells_path = mem_printf("%s/%s", folder, name->str.s);
    free(text);
    text = read_file(cells_path, &n);
    cells = n / sizeof *t->cells / (t->has_curves ? 2 : 1);
    t->n_configs = t->has_curves ? configs->list.n : cells / t->n_seeds;
    if (t->n_configs * t->n_seeds * t->n_epochs != cells) {
        fprintf(stderr, "search: %s does not have the size that %s says\n", cells_path, path);
        exit(1);
    }
    t->cells = (float *)(void *)text;
    leave_out_missing(t);
    t->mean = mem_alloc(t->n_configs * sizeof *t->mean);
    t->best = t->worst = (double)NAN;
    for (size_t c = 0; c < t->n_configs; c++) {
        for (size_t s = 0; s < t->n_seeds; s++)
            t->mean[c] += last_measure(t, c, s) / (double)t->n_seeds;
        if (is_better(t, t->mean[c], t->best))
            t->best = t->mean[c];
        if (!isnan(t->mean[c]) && (isnan(t->worst) || is_better(t, t->worst, t->mean[c])))
            t->worst = t->mean[c];
    }
    free(path);
    free(cells_path);
    arena_destroy(a);
}

/* --- a replay ----------------------------------------------------------------------------------------- */

struct random {
    uint64_t state;
};

/* splitmix64 */
static uint64_t draw(struct random *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The first n of a random order of the table's configurations. */
static size_t *draw_configs(const struct table *t, size_t n, struct random *r)
{
    size_t *order = mem_alloc(t->n_configs * sizeof *order);

    for (size_t i = 0; i < t->n_configs; i++)
        order[i] = i;
    for (size_t i = 0; i < n; i++) {
        size_t j = i + draw(r) % (t->n_configs - i), x = order[i];

        order[i] = order[j];
        order[j] = x;
    }
    return order;
}

/* What a row of the bench runs. */
struct policy {
    const char *name;
    bool runs_all;
    struct stop_spec spec;
};

/* The incumbent of a search, each time that it changes. */
struct step_of_regret {
    double hours, regret;
};

struct outcome {
    double hours, span; /* of all slots together; from the first start to the last end */
    size_t chosen;      /* index in the list */
    struct step_of_regret *steps;
    size_t n_steps, capacity;
};

struct running {
    size_t job; /* index in the list, plus 1; 0: the slot is free */
    size_t epochs;
    double offset; /* seconds between the clock and the table's */
    double next;
};

static void start(struct running *slot, const struct table *t, size_t job, size_t config,
                  size_t seed, size_t epochs, double now)
{
    *slot = (struct running){ .job = job + 1, .epochs = epochs };
    slot->offset = now - seconds(t, config, seed, epochs);
    slot->next = slot->offset + seconds(t, config, seed, epochs + 1);
}

/* Replays a list of configurations, each trained once, on n_slots slots. */
static void replay(const struct table *t, const struct policy *p, const size_t *configs,
                   size_t n_list, size_t seed, size_t n_slots, double hours_max,
                   struct outcome *out, FILE *trace)
{
    struct stop_spec spec = p->spec;
    struct running slots[SLOTS_MAX] = { 0 };
    size_t *reached = mem_alloc(n_list * sizeof *reached), n_started = 0, chosen = n_list;
    struct stop_record *record;
    double now = 0;

    *out = (struct outcome){ 0 };
    spec.is_max = t->is_max;
    record = stop_record_new(&spec);
    for (;;) {
        struct running *slot = NULL;
        struct stop_answer answer = { 0 };
        struct stop_event event;
        size_t job;

        for (size_t i = 0; i < n_slots; i++) {
            char reason[STOP_REASON_BYTES];
            int64_t again;

            if (slots[i].job > 0)
                continue;
            again = p->runs_all ? 0 : stop_record_next(record, reason);
            if (again > 0) {
                job = (size_t)again - 1;
                event = (struct stop_event){ .kind = STOP_EVENT_RESUMED,
                                             .job = again,
                                             .config = (int64_t)configs[job] };
                stop_record_add(record, &event, &answer);
                if (trace != NULL)
                    fprintf(trace, "resumed %" PRId64 "\n", again);
                start(&slots[i], t, job, configs[job], seed, reached[job], now);
            } else if (n_started < n_list) {
                start(&slots[i], t, n_started, configs[n_started], seed, 0, now);
                n_started++;
            } else {
                continue;
            }
        }
        for (size_t i = 0; i < n_slots; i++)
            if (slots[i].job > 0 && (slot == NULL || slots[i].next < slot->next))
                slot = &slots[i];
        if (slot == NULL || out->hours > hours_max)
            break;
        now = slot->next;
        job = slot->job - 1;
        event = (struct stop_event){ .kind = STOP_EVENT_VALUE,
                                     .job = (int64_t)slot->job,
                                     .config = (int64_t)configs[job],
                                     .step = (int64_t)++slot->epochs,
                                     .value = measure(t, configs[job], seed, slot->epochs - 1) };
        out->hours += seconds(t, configs[job], seed, slot->epochs) -
                      seconds(t, configs[job], seed, slot->epochs - 1);
        reached[job] = slot->epochs;
        if (!p->runs_all) {
            stop_record_add(record, &event, &answer);
            if (trace != NULL)
                fprintf(trace, "value %" PRId64 " %" PRId64 " %.9g %s\n", event.job, event.step,
                        event.value, answer.stop ? "stop" : "go");
        }
        if (slot->epochs == t->n_epochs) {
            event.kind = STOP_EVENT_ENDED;
            if (!p->runs_all)
                stop_record_add(record, &event, &answer);
            if (trace != NULL)
                fprintf(trace, "ended %" PRId64 " %" PRId64 "\n", event.job, event.step);
            if (chosen == n_list ||
                is_better(t, event.value, last_measure(t, configs[chosen], seed)) ||
                (!is_better(t, last_measure(t, configs[chosen], seed), event.value) &&
                 job < chosen)) {
                chosen = job;
                mem_grow((void **)&out->steps, &out->capacity, out->n_steps, sizeof *out->steps);
                out->steps[out->n_steps++] =
                    (struct step_of_regret){ now * (double)n_slots, regret(t, configs[job]) };
            }
            slot->job = 0;
        } else if (answer.stop) {
            event.kind = STOP_EVENT_READY;
            stop_record_add(record, &event, &answer);
            slot->job = 0;
        } else {
            slot->next = slot->offset + seconds(t, configs[job], seed, slot->epochs + 1);
        }
    }
    out->span = now;
    out->chosen = chosen;
    stop_record_free(record);
    free(reached);
}

/* Replays a list of configurations, each with up to as many replications as the table has seeds. */
static void replay_race(const struct table *t, int64_t race, const size_t *configs, size_t n_list,
                        size_t n_slots, struct outcome *out)
{
    const struct race_spec spec = { .is_max = t->is_max, .max = (int64_t)t->n_seeds, .race = race };
    struct race *r = race_new(&spec);
    struct {
        size_t index; /* in the list, plus 1; 0: the slot is free */
        int64_t rep;
        double next;
    } slots[SLOTS_MAX] = { 0 };
    size_t *n_ended = mem_alloc(n_list * sizeof *n_ended), chosen = n_list;
    size_t *n_started = mem_alloc(n_list * sizeof *n_started);
    char reason[RACE_REASON_BYTES];

    *out = (struct outcome){ 0 };
    for (;;) {
        size_t first = n_slots;

        for (size_t i = 0; i < n_slots; i++) {
            size_t next = n_list;

            /* as the queue gives them: breadth first, in the order of the list */
            for (size_t k = 0; slots[i].index == 0 && k < n_list; k++)
                if (n_started[k] < t->n_seeds &&
                    (next == n_list || n_started[k] < n_started[next]) &&
                    !race_is_out(r, (int64_t)k + 1, reason))
                    next = k;
            if (next < n_list) {
                slots[i].index = next + 1;
                slots[i].rep = (int64_t)n_started[next]++;
                slots[i].next =
                    out->span + seconds(t, configs[next], (size_t)slots[i].rep, t->n_epochs);
            }
            if (slots[i].index > 0 && (first == n_slots || slots[i].next < slots[first].next))
                first = i;
        }
        if (first == n_slots)
            break;
        out->span = slots[first].next;
        out->hours +=
            seconds(t, configs[slots[first].index - 1], (size_t)slots[first].rep, t->n_epochs);
        race_end(r, (int64_t)slots[first].index, slots[first].rep,
                 last_measure(t, configs[slots[first].index - 1], (size_t)slots[first].rep));
        n_ended[slots[first].index - 1]++;
        slots[first].index = 0;
    }
    for (size_t i = 0; i < n_list; i++)
        if (n_ended[i] == t->n_seeds &&
            (chosen == n_list || is_better(t, t->mean[configs[i]], t->mean[configs[chosen]])))
            chosen = i;
    out->chosen = chosen;
    race_free(r);
    free(n_ended);
    free(n_started);
}

/* --- questions ------------------------------------------------------------------------------------ */

static int compare_steps(const void *x, const void *y)
{
    const struct step_of_regret *a = x, *b = y;

    return a->hours < b->hours ? -1 : a->hours > b->hours;
}

/* The hours after which the mean over the seeds of the regret is at most target; inf: never. */
static double hours_until(const struct table *t, const struct outcome *outs, size_t n,
                          double target)
{
    const double nothing = fabs(t->worst - t->best); /* regret before the first training ended */
    struct step_of_regret *changes = NULL;
    size_t n_changes = 0, capacity = 0;
    double sum = (double)n * nothing, hours = HUGE_VAL;

    for (size_t i = 0; i < n; i++) {
        double before = nothing;

        for (size_t k = 0; k < outs[i].n_steps; k++) {
            mem_grow((void **)&changes, &capacity, n_changes, sizeof *changes);
            changes[n_changes++] =
                (struct step_of_regret){ outs[i].steps[k].hours, outs[i].steps[k].regret - before };
            before = outs[i].steps[k].regret;
        }
    }
    if (n_changes > 0)
        qsort(changes, n_changes, sizeof *changes, compare_steps);
    for (size_t i = 0; i < n_changes && hours == HUGE_VAL; i++)
        if ((sum += changes[i].regret) <= target * (double)n * (1 + 1e-9))
            hours = changes[i].hours;
    free(changes);
    return hours;
}

/* max_step -1 stands for the table's epochs. */
static const struct policy policies[] = {
    { .name = "full random", .runs_all = true },
    { .name = "asha", .spec = { .rule = STOP_ASHA } },
    { .name = "asha, max_step", .spec = { .rule = STOP_ASHA, .max_step = -1 } },
    { .name = "asha, checkpoint", .spec = { .rule = STOP_ASHA, .can_resume = true } },
    { .name = "asha, eta: 3", .spec = { .rule = STOP_ASHA, .eta = 3 } },
    { .name = "asha, first: 1, eta: 3", .spec = { .rule = STOP_ASHA, .first = 1, .eta = 3 } },
    { .name = "median", .spec = { .rule = STOP_MEDIAN } },
};
enum { N_POLICIES = sizeof policies / sizeof policies[0], N_BUDGETS = 2, N_SLOTS = 2 };
static const size_t budgets[N_BUDGETS] = { 100, LIST }, slot_numbers[N_SLOTS] = { 8, 32 };

/* Of one rule on one table, or of all tables: then the ratios are geometric means. */
struct figures {
    double hours, span, same, lost, until[N_BUDGETS];
};

/* nan: it was not asked; inf: it is never reached. */
static void print_number(int width, int digits, double x)
{
    if (isnan(x) || isinf(x))
        printf(" %*s", width, isnan(x) ? "-" : "never");
    else
        printf(" %*.*f", width, digits, x);
}

static void print_figures(const char *table, size_t n_slots, const char *rule,
                          const struct figures *f)
{
    printf("%-23s %5zu  %-22s", table, n_slots, rule);
    print_number(5, 2, f->hours);
    print_number(5, 2, f->same);
    print_number(5, 2, f->span);
    print_number(9, 5, f->lost);
    for (size_t b = 0; b < N_BUDGETS; b++)
        print_number(5, 2, f->until[b]);
    printf("\n");
    fflush(stdout);
}

static struct policy policy_for(const struct table *t, size_t i)
{
    struct policy p = policies[i];

    if (p.spec.max_step < 0)
        p.spec.max_step = (int64_t)t->n_epochs;
    return p;
}

/* A search goes on until it has taken that many times the hours of the larger budget. */
static const double hours_at_most = 2;

static void ask_stopping(const struct table *t, size_t n_slots, size_t n_seeds, struct figures *all)
{
    struct outcome *full = mem_alloc(n_seeds * sizeof *full);
    struct outcome *streams = mem_alloc(n_seeds * sizeof *streams);
    double targets[N_BUDGETS] = { 0 }, full_hours[N_BUDGETS] = { 0 };
    const size_t n_list = LIST < t->n_configs ? LIST : t->n_configs;

    for (size_t p = 0; p < N_POLICIES; p++) {
        const struct policy policy = policy_for(t, p);
        struct figures f = { 0 };

        for (size_t s = 0; s < n_seeds; s++) {
            struct random random = { s };
            size_t *configs = draw_configs(t, t->n_configs, &random);
            const double part = 1 / (double)n_seeds;
            struct outcome out;

            for (size_t b = 0; p == 0 && b < N_BUDGETS; b++) {
                size_t n = budgets[b] < n_list ? budgets[b] : n_list;

                replay(t, &policy, configs, n, s % t->n_seeds, n_slots, HUGE_VAL, &out, NULL);
                targets[b] += part * regret(t, configs[out.chosen]);
                free(out.steps);
            }
            replay(t, &policy, configs, n_list, s % t->n_seeds, n_slots, HUGE_VAL, &out, NULL);
            free(out.steps);
            if (p == 0)
                full[s] = out;
            f.hours += part * out.hours / full[s].hours;
            f.span += part * out.span / full[s].span;
            f.same += out.chosen == full[s].chosen ? part : 0;
            f.lost += part * (out.chosen == n_list ? fabs(t->worst - t->best)
                                                   : regret(t, configs[out.chosen])) -
                      part * regret(t, configs[full[s].chosen]);
            replay(t, &policy, configs, t->n_configs, s % t->n_seeds, n_slots,
                   hours_at_most * full[s].hours, &streams[s], NULL);
            free(configs);
        }
        for (size_t b = 0; b < N_BUDGETS; b++) {
            f.until[b] = hours_until(t, streams, n_seeds, targets[b]);
            if (p == 0)
                full_hours[b] = f.until[b];
            f.until[b] /= full_hours[b];
            all[p].until[b] += log(f.until[b]);
        }
        for (size_t s = 0; s < n_seeds; s++)
            free(streams[s].steps);
        all[p].hours += f.hours;
        all[p].span += f.span;
        all[p].same += f.same;
        print_figures(t->name, n_slots, policy.name, &f);
    }
    free(full);
    free(streams);
}

enum { RACE_FEWEST = 1, RACE_MOST = 3 };

/* The full run trains each of the list with all seeds. */
static void ask_racing(const struct table *t, size_t n_slots, size_t n_seeds, struct figures *all)
{
    const size_t n_list = LIST < t->n_configs ? LIST : t->n_configs;

    for (int64_t race = RACE_FEWEST; race <= RACE_MOST && race < (int64_t)t->n_seeds; race++) {
        struct figures f = { .until = { (double)NAN, (double)NAN } };
        char *rule = mem_printf("race: %d of %zu", (int)race, t->n_seeds);

        for (size_t s = 0; s < n_seeds; s++) {
            struct random random = { s };
            size_t *configs = draw_configs(t, n_list, &random);
            const double part = 1 / (double)n_seeds;
            struct outcome full, out;

            replay_race(t, (int64_t)t->n_seeds, configs, n_list, n_slots, &full);
            replay_race(t, race, configs, n_list, n_slots, &out);
            f.hours += part * out.hours / full.hours;
            f.span += part * out.span / full.span;
            f.same += out.chosen == full.chosen ? part : 0;
            f.lost += part * (regret(t, configs[out.chosen]) - regret(t, configs[full.chosen]));
            free(configs);
        }
        print_figures(t->name, n_slots, rule, &f);
        free(rule);
        all[race].hours += f.hours;
        all[race].span += f.span;
        all[race].same += f.same;
        all[race].lost++; /* here: the tables */
    }
}

static void print_heading(size_t n_seeds)
{
    printf(
        "# a list of %d configurations, %zu seeds; against training all of them in full:\n"
        "#   hours: of all slots; same: how often the same one is chosen; span: until the last job ends;\n"
        "#   lost: how much worse the chosen one is in the mean\n"
        "# a search, until its regret is that of full random with a budget of 100 and of 200:\n"
        "#   100, 200: hours, against those in which full random gets there on as many slots\n",
        LIST, n_seeds);
    printf("%-23s %5s  %-22s %5s %5s %5s %9s %5s %5s\n", "table", "slots", "rule", "hours", "same",
           "span", "lost", "100", "200");
}

/* Every event of one replay with its answer, for search_reference.py. */
static int print_trace(const struct table *t, size_t policy, size_t n_slots, size_t seed)
{
    struct random random = { seed };
    size_t *configs = draw_configs(t, t->n_configs, &random);
    struct policy p = policy_for(t, policy);
    struct outcome out;

    printf("spec %s %s %" PRId64 " %g %" PRId64 "\n", stop_rule_word(p.spec.rule),
           t->is_max ? "max" : "min", p.spec.first, p.spec.eta, p.spec.max_step);
    replay(t, &p, configs, LIST < t->n_configs ? LIST : t->n_configs, seed % t->n_seeds, n_slots,
           HUGE_VAL, &out, stdout);
    free(out.steps);
    free(configs);
    return 0;
}

int main(int argc, char **argv)
{
    size_t n_seeds = argc > 2 ? strtoul(argv[2], NULL, 10) : 100, n_curves = 0;
    size_t policy = 1, n_slots = SLOTS_MAX;
    struct figures all[N_SLOTS][N_POLICIES] = { 0 }, races[N_SLOTS][RACE_MOST + 1] = { 0 };
    struct dirent **files;
    int n_files;

    if (argc == 6) {
        policy = strtoul(argv[4], NULL, 10);
        n_slots = strtoul(argv[5], NULL, 10);
    }
    if (argc < 2 || argc == 4 || argc == 5 || argc > 6 || n_seeds < 1 || policy < 1 ||
        policy >= N_POLICIES || n_slots < 1 || n_slots > SLOTS_MAX) {
        fprintf(stderr, "usage: search FOLDER [SEEDS]\n"
                        "       search FOLDER SEED TABLE RULE SLOTS\n");
        return 2;
    }
    n_files = scandir(argv[1], &files, NULL, alphasort);
    if (n_files < 0)
        return perror(argv[1]), 1;
    if (argc <= 3)
        print_heading(n_seeds);
    for (int i = 0; i < n_files; i++) {
        const char *file = files[i]->d_name;
        size_t length = strlen(file);
        struct table t;

        if (length < 5 || strcmp(file + length - 5, ".json") != 0)
            continue;
        if (argc == 6) {
            if (strncmp(file, argv[3], length - 5) == 0 && argv[3][length - 5] == '\0') {
                read_table(&t, argv[1], file);
                return print_trace(&t, policy, n_slots, n_seeds);
            }
            continue;
        }
        read_table(&t, argv[1], file);
        n_curves += t.n_epochs > 1;
        for (size_t w = 0; w < N_SLOTS; w++) {
            if (t.n_epochs > 1)
                ask_stopping(&t, slot_numbers[w], n_seeds, all[w]);
            ask_racing(&t, slot_numbers[w], n_seeds, races[w]);
        }
        free(t.name);
        free(t.cells);
        free(t.mean);
    }
    for (int i = 0; i < n_files; i++)
        free(files[i]);
    free(files);
    for (size_t w = 0; w < N_SLOTS && n_curves > 0; w++)
        for (size_t p = 0; p < N_POLICIES; p++) {
            struct figures f = all[w][p];

            f.hours /= (double)n_curves;
            f.span /= (double)n_curves;
            f.same /= (double)n_curves;
            f.lost = (double)NAN;
            for (size_t b = 0; b < N_BUDGETS; b++)
                f.until[b] = exp(f.until[b] / (double)n_curves);
            print_figures("all with curves", slot_numbers[w], policies[p].name, &f);
        }
    for (size_t w = 0; w < N_SLOTS; w++)
        for (size_t race = RACE_FEWEST; race <= RACE_MOST; race++) {
            const struct figures *sum = &races[w][race];
            struct figures f = { .hours = sum->hours / sum->lost,
                                 .span = sum->span / sum->lost,
                                 .same = sum->same / sum->lost,
                                 .lost = (double)NAN,
                                 .until = { (double)NAN, (double)NAN } };
            char *rule = mem_printf("race: %zu", race);

            if (sum->lost > 0)
                print_figures("all with seeds", slot_numbers[w], rule, &f);
            free(rule);
        }
    return 0;
}
