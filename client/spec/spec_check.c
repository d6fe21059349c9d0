/* SPDX-License-Identifier: MIT */
/* spec_check.c - what the rows of a sweep file's keys cannot say */
#include <stdlib.h>
#include <string.h>

#include "client/spec/plan_check.h"
#include "client/spec/spec_internal.h"
#include "client/term/excerpt.h"
#include "client/term/safe_text.h"
#include "common/base/path.h"
#include "common/base/suggest.h"
#include "common/base/utf8.h"
#include "common/data/json.h"
#include "common/data/template.h"

/* So many values of a condition are shown. */
enum { SHOWN_VALUES = 3 };

/* ---- the command ---- */

/* Where text stands in the file at or behind node; node itself when it does not. */
static struct yaml_node find_text(const struct spec *s, const struct yaml_node *node,
                                  const char *text)
{
    struct yaml_node at = { .line = 1, .column = 1 };
    size_t n = strlen(text);

    for (size_t i = 0; i + n <= s->text.n; i++) {
        bool is_behind =
            at.line > node->line || (at.line == node->line && at.column >= node->column);

        if (is_behind && memcmp(s->text.data + i, text, n) == 0)
            return at;
        if (s->text.data[i] == '\n') {
            at.line++;
            at.column = 1;
        } else if (utf8_begins((char)s->text.data[i])) {
            at.column++;
        }
    }
    return *node;
}

struct placeholders {
    struct yaml_keys_reader *reader;
    const struct yaml_node *node;
    struct buf seen;  /* their names, each between newlines */
    bool was_refused; /* one for all that batch: makes impossible */
};

static const struct condition *find_condition(const struct plan *plan, const char *name)
{
    const struct condition *items = plan->when.items;

    for (size_t i = 0; i < plan->when.n; i++)
        if (strcmp(items[i].name, name) == 0)
            return &items[i];
    return NULL;
}

/* "exists only where optimizer is sgd or adam" */
static void refuse_conditional(const struct placeholders *p, const struct yaml_node *at,
                               const struct condition *condition)
{
    const struct pin *pins = condition->pins.pins.items;
    struct buf where = { 0 };

    for (size_t i = 0; i < condition->pins.pins.n; i++) {
        buf_printf(&where, "%s%s is %s", i > 0 ? " and " : "", pins[i].name,
                   pins[i].n == 0 ? "so" : "");
        for (size_t k = 0; k < pins[i].n && k < SHOWN_VALUES; k++) {
            buf_add_str(&where, k > 0 ? " or " : "");
            json_add_text(&where, &pins[i].values[k]);
        }
        buf_add_str(&where, pins[i].n > SHOWN_VALUES ? " or ..." : "");
    }
    yaml_keys_error(p->reader, at,
                    "command: %s exists only where %s; the program can read it from the file that "
                    "$LUDWIG_PARAM2VAL names",
                    condition->name, where.n > 0 ? buf_text(&where) : "when: says so");
    buf_free(&where);
}

/* Each name is told once, where it stands first. */
static int check_placeholder(void *context, const char *name, size_t offset)
{
    struct placeholders *p = context;
    const struct spec *s = spec_of(p->reader);
    const struct condition *condition = find_condition(&s->plan, name);
    char *braced = mem_printf("{%s}", name), *line = mem_printf("\n%s\n", name);
    struct yaml_node at = find_text(s, p->node, braced);
    bool was_seen = strstr(buf_text(&p->seen), line) != NULL;

    (void)offset;
    if (!was_seen)
        buf_add_str(&p->seen, line);
    free(line);
    free(braced);
    if (was_seen)
        return 0;
    if (s->list == NULL && params_find(&s->plan.params, name) == NULL) {
        char *unknown = params_unknown(&s->plan.params, name);

        yaml_keys_error(p->reader, &at, "command: %s", unknown);
        free(unknown);
    } else if (s->work.batch > 1) {
        if (!p->was_refused)
            yaml_keys_error(p->reader, &at,
                            "command: {%s} cannot be filled in, as with batch: a process gets "
                            "several configurations; it finds them in the file that $LUDWIG_CHUNK "
                            "names",
                            name);
        p->was_refused = true;
    } else if (condition != NULL) {
        refuse_conditional(p, &at, condition);
    }
    return 0;
}

/* Whether an unknown key was told to mean this one. */
static bool has_misspelt(const struct key *keys, const struct yaml_node *root, const char *name)
{
    for (size_t i = 0; i < root->n; i++) {
        struct suggest nearest = { .word = root->members[i].key };

        if (spec_starts_with(nearest.word, "x-"))
            continue;
        for (const struct key *key = keys; key->name != NULL; key++)
            suggest_try(&nearest, key->name);
        if (nearest.best != NULL && strcmp(nearest.best, name) == 0)
            return true;
    }
    return false;
}

static void check_command(struct yaml_keys_reader *r, const struct yaml_node *root)
{
    const struct spec *s = spec_of(r);
    const struct yaml_node *node = yaml_get(root, "command");
    struct placeholders p = { .reader = r, .node = node };

    if (node == NULL &&
        has_misspelt(((const struct spec_reading *)r->context)->keys, root, "command"))
        return;
    if (node == NULL)
        yaml_keys_error(r, root, "there is no 'command:', so there is nothing to run");
    else if (s->work.command == NULL)
        return;
    else if (s->work.command[strspn(s->work.command, " \t\n")] == '\0')
        yaml_keys_error(r, node, "command: it is empty");
    else if (strlen(s->work.command) > COMMAND_MAX_BYTES)
        yaml_keys_error(r, node, "command: more than %d bytes", COMMAND_MAX_BYTES);
    else
        template_each(s->work.command, check_placeholder, &p);
    buf_free(&p.seen);
}

static void check_setup(struct yaml_keys_reader *r, const struct yaml_node *root)
{
    struct spec *s = spec_of(r);
    const char *const *lines = s->setup.items;
    struct buf text = { 0 };

    for (size_t i = 0; i < s->setup.n; i++)
        if (lines[i] != NULL) /* else it was refused */
            buf_printf(&text, "%s%s", i > 0 ? "\n" : "", lines[i]);
    if (text.n > COMMAND_MAX_BYTES)
        yaml_keys_error(r, yaml_get(root, "setup"), "setup: more than %d bytes", COMMAND_MAX_BYTES);
    if (text.n > 0)
        s->work.setup = arena_strndup(r->arena, buf_text(&text), text.n);
    buf_free(&text);
}

/* ---- names ---- */

/* Without project: the name of the folder. */
static void check_project(struct yaml_keys_reader *r, const struct yaml_node *root)
{
    struct spec *s = spec_of(r);
    const struct yaml_node *node = yaml_get(root, "project");

    if (node == NULL && s->folder != NULL)
        s->project = path_basename(s->folder);
    if (s->project == NULL) {
        if (node == NULL)
            yaml_keys_error(r, root, "there is no 'project:'");
    } else if (!path_is_portable_name(s->project) || s->project[0] == '.') {
        yaml_keys_error(r, node != NULL ? node : root,
                        "project: '%s' cannot be a folder on every system%s", s->project,
                        node != NULL ? "" : "; name it with 'project:'");
    }
}

static void check_name(struct yaml_keys_reader *r, const struct yaml_node *root)
{
    const char *name = spec_of(r)->name;

    if (name != NULL && strlen(name) > NAME_MAX_BYTES)
        yaml_keys_error(r, yaml_get(root, "name"), "name: more than %d bytes", NAME_MAX_BYTES);
    if (name != NULL && spec_has_control(name))
        yaml_keys_error(r, yaml_get(root, "name"), "name: a control character");
}

bool spec_is_node_name(const char *name)
{
    static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    size_t n = strlen(name);

    if (name[0] == '@')
        return n > 1;
    return n > 0 && n <= NAME_MAX_BYTES && name[0] != '-' && name[0] != '.' &&
           strspn(name, chars) == n;
}

static void check_nodes(struct yaml_keys_reader *r, const struct yaml_node *root)
{
    struct spec *s = spec_of(r);
    const struct yaml_node *node = yaml_get(root, "nodes");
    const char *const *names = s->nodes.items;

    s->has_nodes = node != NULL;
    for (size_t i = 0; s->has_nodes && i < s->nodes.n; i++)
        if (names[i] != NULL && !spec_is_node_name(names[i]))
            yaml_keys_error(r, spec_item_at(node, i), "nodes: '%s' is no name of a node or @group",
                            names[i]);
}

/* ---- parameters ---- */

void spec_check_debug(struct yaml_keys_reader *r)
{
    const struct spec *s = spec_of(r);
    const struct param *debug = s->debug.items;

    for (size_t i = 0; i < s->debug.n; i++) {
        struct yaml_node at = { .line = debug[i].line, .column = debug[i].column };
        char *unknown;

        if (params_find(&s->plan.params, debug[i].name) != NULL)
            continue;
        unknown = params_unknown(&s->plan.params, debug[i].name);
        yaml_keys_error(r, &at, "debug: %s", unknown);
        free(unknown);
    }
}

/* Of those that say what the configurations are. */
static void check_listed(struct yaml_keys_reader *r, const struct yaml_node *root)
{
    static const char *const keys[] = { "params", "method", "samples", "seed",
                                        "zip",    "when",   "exclude", "include" };

    for (size_t i = 0; i < root->n; i++)
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            struct yaml_node at = { .line = root->members[i].line,
                                    .column = root->members[i].column };

            if (strcmp(root->members[i].key, keys[k]) == 0)
                yaml_keys_error(r, &at, "%s: leave it out: --param2vals has the configurations",
                                keys[k]);
        }
}

static struct spot spot_of(const struct yaml_node *node)
{
    return node != NULL ? (struct spot){ node->line, node->column } : (struct spot){ 0, 0 };
}

static struct spot spot_of_key(const struct yaml_node *root, const char *name)
{
    for (size_t i = 0; i < root->n; i++)
        if (strcmp(root->members[i].key, name) == 0)
            return (struct spot){ root->members[i].line, root->members[i].column };
    return (struct spot){ 0, 0 };
}

/* What goes with the parameters is told now when the file is refused anyway; else it waits for
 * what the command line says. */
static void check_plan(struct yaml_keys_reader *r, const struct yaml_node *root)
{
    const struct spec_reading *reading = r->context;
    struct plan *plan = &reading->spec->plan;
    unsigned refused = reading->method_was_refused ? PLAN_METHOD : 0;

    plan->params_at = spot_of_key(root, "params");
    plan->method_at = spot_of(yaml_get(root, "method"));
    plan->samples_at = spot_of(yaml_get(root, "samples"));
    if (plan->samples_at.line > 0 && plan->samples == 0)
        refused |= PLAN_SAMPLES;
    if (r->n_errors > 0 && !reading->has_no_params)
        plan_check_rest(plan, refused, r);
}

void spec_check(struct yaml_keys_reader *r, const struct yaml_node *root)
{
    check_command(r, root);
    check_setup(r, root);
    check_project(r, root);
    check_name(r, root);
    check_nodes(r, root);
    if (spec_of(r)->list != NULL)
        check_listed(r, root);
    else
        spec_check_debug(r);
    spec_check_container(r, root);
    spec_check_work(r, root);
    check_plan(r, root);
}

/* Cuts errors to whole lines that fit into a struct err, with the number of those that do not; of
 * the first line at least what fits. */
static void cut_errors(struct buf *errors)
{
    static const size_t behind = sizeof "...\nand 18446744073709551615 more";
    size_t n = ERR_TEXT_BYTES - behind, n_more = 0;
    bool is_cut;

    if (errors->n < ERR_TEXT_BYTES)
        return;
    while (n > 0 && errors->bytes[n] != '\n')
        n--;
    if (n == 0)
        n = safe_text_whole(buf_text(errors), ERR_TEXT_BYTES - behind);
    for (size_t i = n; i < errors->n; i++)
        n_more += errors->bytes[i] == '\n';
    is_cut = errors->bytes[n] != '\n';
    errors->n = n;
    buf_printf(errors, "%s", is_cut ? "..." : "");
    if (n_more > 0)
        buf_printf(errors, "\nand %zu more", n_more);
}

int spec_end(struct yaml_keys_reader *r, bool with_excerpts, struct err *e)
{
    const struct spec *s = spec_of(r);

    excerpt_sort(&r->errors, r->file);
    cut_errors(&r->errors);
    if (yaml_keys_end(r, e) == 0)
        return 0;
    if (with_excerpts)
        excerpt_add(e, s->file, (const char *)s->text.data);
    return -1;
}
