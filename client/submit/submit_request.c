/* SPDX-License-Identifier: MIT */
/* submit_request.c - makes the message that begins a sweep, and summary.json */
#include <inttypes.h>
#include <string.h>

#include "client/submit/submit_request.h"
#include "client/submit/environment.h"
#include "common/base/quote.h"
#include "common/data/json.h"

/* summary.json has only the ends of longer lists, which a range or the like computed. */
enum { WRITTEN_VALUES_MAX = 1000 };

struct msg_submit_begin submit_request_begin(const struct submit_request *o,
                                             const struct jobspec *w)
{
    const struct spec *s = &o->spec;
    struct search *search = NULL;
    struct notify *notify = NULL;

    if (spec_has_advisor(s)) {
        search = arena_alloc(o->cli->arena, sizeof *search);
        *search = spec_search(s, o->cli->arena);
    }
    if (s->notify.when != 0) {
        notify = arena_alloc(o->cli->arena, sizeof *notify);
        *notify = s->notify;
    }
    return (struct msg_submit_begin){ .project = s->project,
                                      .private_project = s->private_project,
                                      .name = s->name,
                                      .reps = s->reps,
                                      .priority = s->priority,
                                      .max_running = s->max_running,
                                      .reuse = o->reuse,
                                      .nodes = s->nodes,
                                      .no_nodes = s->has_nodes && s->nodes.n == 0,
                                      .pools = s->pools,
                                      .retry = s->retry,
                                      .guard = s->guard,
                                      .stop = s->stop,
                                      .ranking = s->ranking,
                                      .search = { search, search != NULL },
                                      .notify = { notify, notify != NULL },
                                      .work = *w,
                                      .passed = o->passed };
}

/* ---- summary.json ---- */

static void add_values(struct buf *json, const struct param *p)
{
    struct value values = { .type = VALUE_LIST, .list = { p->values, p->n } };

    if (p->n <= WRITTEN_VALUES_MAX) {
        json_add_value(json, &values);
        return;
    }
    buf_printf(json, "{\"n\": %zu, \"first\": ", p->n);
    json_add_value(json, &p->values[0]);
    buf_add_str(json, ", \"last\": ");
    json_add_value(json, &p->values[p->n - 1]);
    buf_add_char(json, '}');
}

static void add_pair(struct buf *json, struct value x, struct value y)
{
    struct value items[] = { x, y };

    json_add_value(json, &(struct value){ .type = VALUE_LIST, .list = { items, 2 } });
}

/* Adds a parameter: the list of its values, or its form with arguments. */
static void add_param(struct buf *json, const struct param *p)
{
    bool is_drawn = p->form != PARAM_FIXED && p->form != PARAM_LIST;

    if (is_drawn)
        buf_printf(json, "{\"%s\": ", param_form_name(p->form));
    if (!is_drawn || p->form == PARAM_CHOICE)
        add_values(json, p);
    else if (p->form == PARAM_INT_UNIFORM || p->form == PARAM_LOG_INT)
        add_pair(json, value_int(p->first), value_int(p->last));
    else
        add_pair(json, value_float(p->low), value_float(p->high));
    if (p->digits > 0)
        buf_printf(json, ", \"round\": %d", p->digits);
    if (is_drawn)
        buf_add_char(json, '}');
}

static void add_set(struct buf *json, const struct dataset *set)
{
    char tree[DIGEST_HEX];

    digest_hex(&set->tree, tree);
    buf_printf(json, "{\"tree\": \"%s\", \"files\": %" PRId64 ", \"bytes\": %" PRId64 "}", tree,
               set->files, set->bytes);
}

/* Adds what, beside its configuration, makes a job the same job. */
static void add_work(struct buf *json, const struct jobspec *w)
{
    const struct data_entry *data = w->data.items;
    struct buf environment = { 0 };

    buf_add_str(json, "  \"command\": ");
    quote_add(json, w->command, strlen(w->command));
    buf_add_str(json, ",\n  \"source\": ");
    add_set(json, &w->source);
    buf_add_str(json, ",\n  \"data\": {");
    for (size_t i = 0; i < w->data.n; i++) {
        buf_add_str(json, i == 0 ? "" : ", ");
        quote_add(json, data[i].name, strlen(data[i].name));
        buf_add_str(json, ": ");
        add_set(json, &data[i].set);
    }
    buf_add_str(json, "},\n");
    environment_describe(&w->environment, &environment);
    if (environment.n > 0) {
        buf_add_str(json, "  \"environment\": ");
        quote_add(json, buf_text(&environment), environment.n);
        buf_add_str(json, ",\n");
    }
    buf_free(&environment);
}

void submit_request_add_summary(const struct submit_request *o, const struct jobspec *w,
                                int64_t sweep, struct buf *json)
{
    struct value commit = w->git_commit != NULL ? value_str(w->git_commit) : value_null();
    const struct plan *plan = &o->spec.plan;
    const struct param *params = plan->params.items;

    buf_printf(json,
               "{\n  \"v\": 1,\n  \"sweep\": %" PRId64 ",\n  \"configs\": %" PRId64
               ",\n  \"reps\": %" PRId64 ",\n  \"git\": {\"commit\": ",
               sweep, o->configs, o->spec.reps);
    json_add_value(json, &commit);
    buf_printf(json, ", \"dirty\": %s},\n", w->git_dirty ? "true" : "false");
    add_work(json, w);
    if (o->points.list != NULL) {
        buf_add_str(json, "  \"param2vals\": \"param2vals.jsonl\"\n}\n");
        return;
    }
    if (spec_has_advisor(&o->spec)) {
        buf_add_str(json, "  \"method\": {\"advisor\": ");
        quote_add(json, o->spec.advisor.command, strlen(o->spec.advisor.command));
        buf_printf(json, "},\n  \"seed\": %" PRId64 ",\n", plan->seed);
    } else {
        buf_printf(json, "  \"method\": \"%s\",\n", method_names[plan->method]);
    }
    if (plan->method != METHOD_GRID && !spec_has_advisor(&o->spec))
        buf_printf(json, "  \"samples\": %" PRId64 ",\n  \"seed\": %" PRId64 ",\n", plan->samples,
                   plan->seed);
    buf_add_str(json, "  \"params\": {");
    for (size_t i = 0; i < plan->params.n; i++) {
        buf_add_str(json, i == 0 ? "\n    " : ",\n    ");
        quote_add(json, params[i].name, strlen(params[i].name));
        buf_add_str(json, ": ");
        add_param(json, &params[i]);
    }
    buf_add_str(json, plan->params.n > 0 ? "\n  }" : "}");
    buf_add_str(json, "\n}\n");
}

void submit_request_add_followed(struct buf *out, int64_t n, int64_t first_sweep,
                                 int64_t last_sweep)
{
    buf_printf(out, "%" PRId64 " of them %s queued or running in sweep", n, n == 1 ? "is" : "are");
    if (first_sweep == last_sweep)
        buf_printf(out, " %" PRId64 " already", first_sweep);
    else
        buf_printf(out, "s %" PRId64 " to %" PRId64 " already", first_sweep, last_sweep);
}
