/* SPDX-License-Identifier: MIT */
/* spec.c - a sweep file, read and checked */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/excerpt.h"
#include "client/opt.h"
#include "client/spec.h"
#include "common/io.h"
#include "common/path.h"
#include "common/template.h"

enum { PRIORITY_MAX = 1000, ENTRIES_MAX = 1000, SPEC_MAX_BYTES = 16 * 1024 * 1024 };

static struct spec *spec_of(struct keys_reader *r)
{
    return r->context;
}

static bool starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* ---- values of single keys ---- */

/* "./lm/" is lm, "." is the whole folder. */
static const char *plain_path(struct arena *a, const char *path)
{
    size_t n;

    while (starts_with(path, "./"))
        path += 1 + strspn(path + 1, "/");
    n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    return n == 0 ? "." : arena_strndup(a, path, n);
}

static int check_exists(struct keys_reader *r, const struct key *key, const struct yaml_node *node,
                        const char *path)
{
    struct stat st;

    if (spec_of(r)->folder != NULL && stat(path, &st) < 0)
        return keys_error(r, node, "%s: there is no file or folder %s", key->name, path);
    return 0;
}

static int read_source_item(struct keys_reader *r, const struct key *key,
                            const struct yaml_node *node, const char **to)
{
    const char *folder = spec_of(r)->folder != NULL ? spec_of(r)->folder : "";
    char *path;
    int answer;

    if (node->type != VALUE_STR || node->text[0] == '\0')
        return keys_error(r, node, "%s: expected a path or a list of paths, found %s", key->name,
                          value_type_name(node->type));
    *to = plain_path(r->arena, node->text);
    if (strcmp(*to, ".") != 0 && !path_is_inside(*to))
        return keys_error(r, node, "%s: '%s' does not lie below the sweep file's folder", key->name,
                          node->text);
    path = path_join(folder, *to);
    answer = check_exists(r, key, node, path);
    free(path);
    return answer;
}

static int read_source(struct keys_reader *r, const struct key *key, const struct yaml_node *node,
                       void *to)
{
    bool is_list = node->type == VALUE_LIST;
    size_t n = is_list ? node->n : 1;
    const char **items = arena_alloc(r->arena, n * sizeof *items);
    int answer = 0;

    for (size_t i = 0; i < n; i++)
        if (read_source_item(r, key, is_list ? &node->items[i] : node, &items[i]) < 0)
            answer = -1;
    *(struct list *)to = (struct list){ items, n };
    spec_of(r)->has_source = true;
    return answer;
}

static char *absolute_path(const char *folder, const char *path)
{
    char *expanded = path_expand_home(path), *joined;

    if (expanded[0] == '/')
        return expanded;
    joined = path_join(folder, expanded);
    free(expanded);
    return joined;
}

static int read_data_item(struct keys_reader *r, const struct key *key,
                          const struct yaml_node *node, struct spec_data *to)
{
    const char *folder = spec_of(r)->folder != NULL ? spec_of(r)->folder : "";
    char *path;

    if (node->type == VALUE_MAP && yaml_get(node, "share") != NULL)
        return keys_error(r, node, "%s: 'share:' is not supported yet; name a local path",
                          key->name);
    if (node->type != VALUE_STR || node->text[0] == '\0')
        return keys_error(r, node, "%s: expected a path, found %s", key->name,
                          value_type_name(node->type));
    path = absolute_path(folder, plain_path(r->arena, node->text));
    to->path = arena_strdup(r->arena, path);
    to->name = path_basename(to->path);
    free(path);
    if (!path_is_portable_name(to->name))
        return keys_error(r, node, "%s: '%s' does not end in a name that every system can show",
                          key->name, node->text);
    return check_exists(r, key, node, to->path);
}

static int check_data_names(struct keys_reader *r, const struct key *key,
                            const struct yaml_node *node, const struct list *data)
{
    const struct spec_data *items = data->items;
    int answer = 0;

    for (size_t i = 1; i < data->n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(items[i].name, items[k].name) == 0) {
                answer = keys_error(r, &node->items[i], "%s: two entries would both be %s",
                                    key->name, items[i].name);
                break;
            }
    return answer;
}

static int read_data(struct keys_reader *r, const struct key *key, const struct yaml_node *node,
                     void *to)
{
    bool is_list = node->type == VALUE_LIST;
    size_t n = is_list ? node->n : 1;
    struct spec_data *items = arena_alloc(r->arena, n * sizeof *items);
    struct list *list = to;
    int answer = 0;

    if (n > ENTRIES_MAX)
        return keys_error(r, node, "%s: more than %d entries", key->name, ENTRIES_MAX);
    for (size_t i = 0; i < n; i++)
        if (read_data_item(r, key, is_list ? &node->items[i] : node, &items[i]) < 0)
            answer = -1;
    *list = (struct list){ items, n };
    return answer < 0 ? -1 : check_data_names(r, key, node, list);
}

static bool is_variable_name(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    while (isalnum((unsigned char)*name) || *name == '_')
        name++;
    return *name == '\0';
}

static int read_env_item(struct keys_reader *r, const struct key *key, const struct yaml_member *m,
                         struct env_entry *to)
{
    struct yaml_node at = { .line = m->line, .column = m->column };

    *to = (struct env_entry){ m->key, m->node.text };
    if (!is_variable_name(m->key) || strlen(m->key) > NAME_MAX_BYTES)
        return keys_error(r, &at, "%s: '%s' is no name for a variable", key->name, m->key);
    if (starts_with(m->key, "LUDWIG_"))
        return keys_error(r, &at, "%s: %s: names that begin with LUDWIG_ are ludwig's own",
                          key->name, m->key);
    if (m->node.text == NULL || m->node.type == VALUE_NULL)
        return keys_error(r, &m->node, "%s: %s: expected text, found %s", key->name, m->key,
                          value_type_name(m->node.type));
    if (m->node.type == VALUE_STR && strlen(m->node.text) != m->node.scalar.str.n)
        return keys_error(r, &m->node, "%s: %s: a NUL character", key->name, m->key);
    return 0;
}

static int read_env(struct keys_reader *r, const struct key *key, const struct yaml_node *node,
                    void *to)
{
    struct env_entry *items;
    int answer = 0;

    if (node->type == VALUE_NULL)
        return 0;
    if (node->type != VALUE_MAP)
        return keys_error(r, node, "%s: expected 'NAME: value' lines, found %s", key->name,
                          value_type_name(node->type));
    if (node->n > ENTRIES_MAX)
        return keys_error(r, node, "%s: more than %d entries", key->name, ENTRIES_MAX);
    items = arena_alloc(r->arena, node->n * sizeof *items);
    for (size_t i = 0; i < node->n; i++)
        if (read_env_item(r, key, &node->members[i], &items[i]) < 0)
            answer = -1;
    *(struct list *)to = (struct list){ items, node->n };
    return answer;
}

static int read_priority(struct keys_reader *r, const struct key *key, const struct yaml_node *node,
                         void *to)
{
    if (node->type != VALUE_INT || node->scalar.i < -PRIORITY_MAX || node->scalar.i > PRIORITY_MAX)
        return keys_error(r, node, "%s: expected a whole number from -%d to %d", key->name,
                          PRIORITY_MAX, PRIORITY_MAX);
    *(int64_t *)to = node->scalar.i;
    return 0;
}

/* ---- the keys ---- */

static const struct key resources_keys[] = {
    { .name = "cpus",
      .type = KEY_MILLI,
      .offset = offsetof(struct resources, cpus_milli),
      .max = 1000000000,
      .help = "processors, may be a fraction; without it: 1" },
    { .name = "gpus",
      .type = KEY_MILLI,
      .offset = offsetof(struct resources, gpus_milli),
      .max = 10000000,
      .help = "GPUs, may be a fraction; without it: 0" },
    { .name = "memory",
      .type = KEY_SIZE,
      .offset = offsetof(struct resources, memory_bytes),
      .max = INT64_C(1) << 53,
      .help = "main memory, as 2GiB" },
    { .name = "time",
      .type = KEY_DURATION,
      .offset = offsetof(struct resources, time_ms),
      .max = INT64_C(1) << 53,
      .help = "the longest it may run, as 2h; without it: no limit" },
    { .name = NULL },
};

#define AT(member) offsetof(struct spec, member)

const struct key spec_keys[] = {
    { .name = "project",
      .type = KEY_STR,
      .offset = AT(project),
      .help = "the folder on the shared drive; without it: the name of the sweep file's folder" },
    { .name = "name", .type = KEY_STR, .offset = AT(name), .help = "what listings call the sweep" },
    { .name = "command",
      .type = KEY_STR,
      .offset = AT(work.command),
      .help = "run by /bin/sh -c in the job's folder; {param} becomes its value, quoted" },
    { .name = "source",
      .type = KEY_CUSTOM,
      .offset = AT(source),
      .read = read_source,
      .help = "the program: paths here; without it: everything but what is ignored" },
    { .name = "data",
      .type = KEY_CUSTOM,
      .offset = AT(data),
      .read = read_data,
      .help = "paths of what jobs find under $LUDWIG_DATA" },
    { .name = "params",
      .type = KEY_CUSTOM,
      .offset = AT(params),
      .read = params_read,
      .help = "lists are swept, single values are the same for all" },
    { .name = "debug",
      .type = KEY_CUSTOM,
      .offset = AT(debug),
      .read = params_read_fixed,
      .help = "values that --minimal takes instead" },
    { .name = "reps",
      .type = KEY_INT,
      .offset = AT(reps),
      .max = REPS_MAX,
      .help = "replications of each configuration; without it: 1" },
    { .name = "resources",
      .type = KEY_MAP,
      .offset = AT(work.resources),
      .of = resources_keys,
      .help = "what one job needs" },
    { .name = "env",
      .type = KEY_CUSTOM,
      .offset = AT(work.env),
      .read = read_env,
      .help = "environment variables of the jobs" },
    { .name = "setup",
      .type = KEY_STR,
      .offset = AT(work.setup),
      .help = "shell lines before the command" },
    { .name = "nodes",
      .type = KEY_STRS,
      .offset = AT(nodes),
      .max = ENTRIES_MAX,
      .help = "names of nodes and @groups that may run it; without it: any; []: none" },
    { .name = "priority",
      .type = KEY_CUSTOM,
      .offset = AT(priority),
      .read = read_priority,
      .help = "from -1000 to 1000, larger first; without it: 0" },
    { .name = NULL },
};

/* ---- what the rows cannot say ---- */

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
        } else if ((s->text.data[i] & 0xc0) != 0x80) {
            at.column++;
        }
    }
    return *node;
}

struct placeholders {
    struct keys_reader *reader;
    const struct yaml_node *node;
};

static int check_placeholder(void *context, const char *name, size_t offset)
{
    const struct placeholders *p = context;
    const struct spec *s = spec_of(p->reader);
    char *unknown, *braced;
    struct yaml_node at;

    (void)offset;
    if (params_find(&s->params, name) != NULL)
        return 0;
    unknown = params_unknown(&s->params, name);
    braced = mem_printf("{%s}", name);
    at = find_text(s, p->node, braced);
    keys_error(p->reader, &at, "command: %s", unknown);
    free(braced);
    free(unknown);
    return 0;
}

static void check_command(struct keys_reader *r, const struct yaml_node *root)
{
    const struct spec *s = spec_of(r);
    const struct yaml_node *node = yaml_get(root, "command");
    struct placeholders p = { r, node };

    if (node == NULL)
        keys_error(r, root, "there is no 'command:', so there is nothing to run");
    else if (s->work.command == NULL)
        return;
    else if (s->work.command[strspn(s->work.command, " \t\n")] == '\0')
        keys_error(r, node, "command: it is empty");
    else if (strlen(s->work.command) > COMMAND_MAX_BYTES)
        keys_error(r, node, "command: more than %d bytes", COMMAND_MAX_BYTES);
    else
        template_each(s->work.command, check_placeholder, &p);
}

/* Without project: the name of the folder. */
static void check_project(struct keys_reader *r, const struct yaml_node *root)
{
    struct spec *s = spec_of(r);
    const struct yaml_node *node = yaml_get(root, "project");

    if (node == NULL && s->folder != NULL)
        s->project = path_basename(s->folder);
    if (s->project == NULL) {
        if (node == NULL)
            keys_error(r, root, "there is no 'project:'");
    } else if (!path_is_portable_name(s->project) || s->project[0] == '.') {
        keys_error(r, node != NULL ? node : root,
                   "project: '%s' cannot be a folder on every system%s", s->project,
                   node != NULL ? "" : "; name it with 'project:'");
    }
}

static void check_name(struct keys_reader *r, const struct yaml_node *root)
{
    struct spec *s = spec_of(r);

    if (s->name != NULL && strlen(s->name) > NAME_MAX_BYTES)
        keys_error(r, yaml_get(root, "name"), "name: more than %d bytes", NAME_MAX_BYTES);
    if (s->work.setup != NULL && strlen(s->work.setup) > COMMAND_MAX_BYTES)
        keys_error(r, yaml_get(root, "setup"), "setup: more than %d bytes", COMMAND_MAX_BYTES);
}

static void check_numbers(struct keys_reader *r, const struct yaml_node *root)
{
    struct spec *s = spec_of(r);
    const struct yaml_node *resources = yaml_get(root, "resources");

    if (s->reps < 1)
        keys_error(r, yaml_get(root, "reps"), "reps: expected at least 1");
    if (s->work.resources.cpus_milli < 1)
        keys_error(r, yaml_get(resources, "cpus"), "cpus: expected more than 0");
    if (s->work.resources.gpus_milli > 1000 && s->work.resources.gpus_milli % 1000 != 0)
        keys_error(r, yaml_get(resources, "gpus"),
                   "gpus: expected a whole number, or a fraction below 1");
}

static void check_debug(struct keys_reader *r, const struct yaml_node *root)
{
    const struct spec *s = spec_of(r);
    const struct param *debug = s->debug.items;
    const struct yaml_node *node = yaml_get(root, "debug");

    for (size_t i = 0; i < s->debug.n; i++) {
        struct yaml_node at = { .line = node->members[i].line, .column = node->members[i].column };
        char *unknown;

        if (params_find(&s->params, debug[i].name) != NULL)
            continue;
        unknown = params_unknown(&s->params, debug[i].name);
        keys_error(r, &at, "debug: %s", unknown);
        free(unknown);
    }
}

int spec_parse(const char *file, const char *folder, const char *text, size_t n, struct arena *a,
               struct spec *s, struct err *e)
{
    struct keys_reader r = { .file = file, .arena = a, .context = s };
    const struct yaml_node *root = yaml_parse(file, text, n, a, e);

    if (root == NULL)
        return -1;
    *s = (struct spec){ .file = file,
                        .folder = folder,
                        .text = { (const uint8_t *)text, n },
                        .reps = 1,
                        .work.resources.cpus_milli = 1000 };
    if (root->type == VALUE_NULL)
        return yaml_error(e, file, root, "the file is empty");
    keys_read(&r, spec_keys, root, s);
    if (root->type == VALUE_MAP) {
        check_command(&r, root);
        check_project(&r, root);
        check_name(&r, root);
        check_numbers(&r, root);
        check_debug(&r, root);
        s->has_nodes = yaml_get(root, "nodes") != NULL;
    }
    return keys_end(&r, e);
}

int spec_read(const char *path, struct arena *a, struct spec *s, struct err *e)
{
    struct buf text = { 0 };
    char *dir = path_dirname(path), *real = NULL;
    int result = -1;

    if (io_read_file(path, SPEC_MAX_BYTES, &text, e) < 0) {
        if (e != NULL && e->kind == ERR_NOT_FOUND)
            e->kind = ERR_USAGE;
        goto out;
    }
    real = path_real(dir, e);
    if (real == NULL)
        goto out;
    result = spec_parse(path, arena_strdup(a, real), arena_strndup(a, buf_text(&text), text.n),
                        text.n, a, s, e);
    if (result < 0)
        excerpt_add(e, path, &text);
out:
    free(real);
    free(dir);
    buf_free(&text);
    return result;
}

/* ---- the command line over the file ---- */

static struct list split(struct arena *a, const char *text)
{
    const char **items = arena_alloc(a, (strlen(text) + 1) * sizeof *items);
    size_t n_items = 0;

    while (*text != '\0') {
        size_t n = strcspn(text, ",");

        if (n > 0)
            items[n_items++] = arena_strndup(a, text, n);
        text += n + (text[n] == ',');
    }
    return (struct list){ items, n_items };
}

int spec_override(struct spec *s, const struct spec_overrides *o, struct arena *a, struct err *e)
{
    const char *const *set = o->set.items;

    if (o->minimal)
        params_overlay(&s->params, &s->debug);
    for (size_t i = 0; i < o->set.n; i++)
        if (params_set(&s->params, set[i], a, e) < 0)
            return -1;
    if (o->minimal)
        params_take_first(&s->params);
    if (o->reps != OPT_UNSET || o->minimal)
        s->reps = o->reps != OPT_UNSET ? o->reps : 1;
    if (o->priority != OPT_UNSET)
        s->priority = o->priority;
    if (o->name != NULL && strlen(o->name) > NAME_MAX_BYTES)
        return err_set(e, ERR_USAGE, "--name: more than %d bytes", NAME_MAX_BYTES);
    if (o->name != NULL)
        s->name = o->name;
    if (o->nodes != NULL) {
        s->nodes = split(a, o->nodes);
        s->has_nodes = true;
    }
    return 0;
}
