/* SPDX-License-Identifier: MIT */
/* script_options.c - the options that a Python script takes */
#include "client/spec/script_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/util/child.h"
#include "common/base/path.h"
#include "common/data/json.h"
#include "common/data/yaml.h"

/* Python: prints {"calls": [...], "hydra": {...} or null}, the calls in the order of the script. */
static const char reader[] =
    "import ast, json, sys\n"
    "def literal(node):\n"
    "    try:\n"
    "        return ast.literal_eval(node)\n"
    "    except Exception:\n"
    "        return None\n"
    "calls, hydra = [], None\n"
    "with open(sys.argv[1], 'rb') as f:\n"
    "    tree = ast.parse(f.read())\n"
    "for node in ast.walk(tree):\n"
    "    if not isinstance(node, ast.Call):\n"
    "        continue\n"
    "    name = getattr(node.func, 'attr', getattr(node.func, 'id', ''))\n"
    "    of = getattr(getattr(node.func, 'value', None), 'id', '')\n"
    "    given = {k.arg: k.value for k in node.keywords}\n"
    "    said = {k: literal(v) for k, v in given.items()}\n"
    "    if name == 'main' and of == 'hydra':\n"
    "        hydra = {'path': said.get('config_path') or '.', 'name': said.get('config_name') or 'config'}\n"
    "    if name not in ('add_argument', 'option') or (name == 'option' and of not in ('click', '')):\n"
    "        continue\n"
    "    words = [w for w in map(literal, node.args) if isinstance(w, str)]\n"
    "    word = next((w for w in words if w[:2] == '--'), words[0] if words else '')\n"
    "    choices = said.get('choices')\n"
    "    if isinstance(given.get('type'), ast.Call) and getattr(given['type'].func, 'attr', '') == 'Choice':\n"
    "        choices = literal(given['type'].args[0]) if given['type'].args else None\n"
    "    if choices is not None:\n"
    "        choices = list(choices)\n"
    "    calls.append({'line': node.lineno, 'by': 'click' if name == 'option' else 'argparse',\n"
    "        'word': word, 'default': said.get('default'), 'choices': choices, 'help': said.get('help'),\n"
    "        'flag': str(said.get('action')).startswith(('store_', 'count', 'append_const', 'help', 'version'))\n"
    "            or 'BooleanOptionalAction' in ast.dump(given['action']) if 'action' in given\n"
    "            else bool(said.get('is_flag') or said.get('count')) or '/' in word,\n"
    "        'long': 'nargs' in given or bool(said.get('multiple')), 'needed': bool(said.get('required'))})\n"
    "calls.sort(key=lambda call: call['line'])\n"
    "json.dump({'calls': calls, 'hydra': hydra}, sys.stdout, default=str)\n";

static const char *text_of(const struct value *map, const char *name)
{
    const struct value *v = value_get(map, name);

    return v != NULL && v->type == VALUE_STR ? v->str.s : NULL;
}

static bool is_true(const struct value *map, const char *name)
{
    const struct value *v = value_get(map, name);

    return v != NULL && v->type == VALUE_BOOL && v->b;
}

/* "--learning-rate/-l" is learning_rate. */
static const char *name_of(const char *word, struct arena *a)
{
    char *name;

    word += strspn(word, "-");
    name = arena_strndup(a, word, strcspn(word, "/ "));
    for (char *c = name; *c != '\0'; c++)
        if (*c == '-')
            *c = '_';
    return name;
}

static struct value value_of(const struct value *map, const char *name)
{
    const struct value *v = value_get(map, name);

    return v != NULL ? *v : value_null();
}

static bool take_call(const struct value *call, struct arena *a, struct script_option *o)
{
    const char *word = text_of(call, "word");

    if (word == NULL || *word == '\0' || strcmp(word, "--help") == 0)
        return false;
    *o = (struct script_option){ .name = name_of(word, a),
                                 .word = word[0] == '-' ? arena_printf(a, "%s ", word) : "",
                                 .help = text_of(call, "help"),
                                 .initial = value_of(call, "default"),
                                 .choices = value_of(call, "choices"),
                                 .is_flag = is_true(call, "flag"),
                                 .is_long = is_true(call, "long"),
                                 .is_needed = is_true(call, "needed") || word[0] != '-' };
    return o->name[0] != '\0';
}

/* ---- Hydra ---- */

/* model: {depth: 3} is model.depth=3 on the command line. */
static void take_config(const struct yaml_node *map, const char *above, struct arena *a,
                        struct script_options *o, size_t *capacity)
{
    for (size_t i = 0; i < map->n; i++) {
        const struct yaml_member *m = &map->members[i];
        const char *name = *above == '\0' ? m->key : arena_printf(a, "%s.%s", above, m->key);

        if (*above == '\0' && (strcmp(m->key, "defaults") == 0 || strcmp(m->key, "hydra") == 0))
            continue;
        if (m->node.type == VALUE_MAP)
            take_config(&m->node, name, a, o, capacity);
        if (m->node.type == VALUE_MAP || m->node.type == VALUE_LIST || m->node.type == VALUE_NULL ||
            (m->node.type == VALUE_STR && strstr(m->node.text, "${") != NULL))
            continue;
        mem_grow((void **)&o->items, capacity, o->n, sizeof *o->items);
        o->items[o->n++] = (struct script_option){ .name = name,
                                                   .word = arena_printf(a, "%s=", name),
                                                   .initial = yaml_value(&m->node, a) };
    }
}

static int read_config(const char *script, const struct value *hydra, struct arena *a,
                       struct script_options *o, size_t *capacity, struct err *e)
{
    char *folder = path_dirname(script), *below = path_join(folder, text_of(hydra, "path"));
    const char *name = text_of(hydra, "name"), *dot = strrchr(name, '.');
    const char *path = arena_printf(a, "%s/%s%s", below, name,
                                    dot != NULL && strcmp(dot, ".yaml") == 0 ? "" : ".yaml");
    const struct yaml_node *root = yaml_parse_file(path, a, e);

    if (root != NULL && root->type == VALUE_MAP)
        take_config(root, "", a, o, capacity);
    o->by = "Hydra";
    free(below);
    free(folder);
    return root == NULL ? -1 : 0;
}

/* ---- all of them ---- */

/* An option that two commands of a script both add counts once: the first is taken. */
static bool is_there(const struct script_options *o, const char *name)
{
    for (size_t i = 0; i < o->n; i++)
        if (strcmp(o->items[i].name, name) == 0)
            return true;
    return false;
}

static int take_said(const char *path, const struct value *said, struct arena *a,
                     struct script_options *o, struct err *e)
{
    const struct value *calls = value_get(said, "calls"), *hydra = value_get(said, "hydra");
    size_t capacity = 0;

    if (hydra != NULL && hydra->type == VALUE_MAP)
        return read_config(path, hydra, a, o, &capacity, e);
    for (size_t i = 0; calls != NULL && calls->type == VALUE_LIST && i < calls->list.n; i++) {
        mem_grow((void **)&o->items, &capacity, o->n, sizeof *o->items);
        if (!take_call(&calls->list.items[i], a, &o->items[o->n]) ||
            is_there(o, o->items[o->n].name))
            continue;
        o->by = text_of(&calls->list.items[i], "by");
        o->n++;
    }
    return 0;
}

int script_options_read(const char *path, struct arena *a, struct script_options *o, struct err *e)
{
    const char *const argv[] = { "python3", "-I", "-c", reader, path, NULL };
    struct buf said = { 0 }, errors = { 0 };
    struct script_option *found;
    int status = child_capture_all(argv, &said, &errors, e), result = -1;
    struct value v;

    *o = (struct script_options){ 0 };
    if (status > 0) {
        const char *last = buf_text(&errors);

        for (const char *line = last; (line = strchr(line, '\n')) != NULL && line[1] != '\0';
             line++)
            last = line + 1;
        err_set(e, ERR_USAGE, "python3 cannot read %s: %.*s", path, (int)strcspn(last, "\n"), last);
    } else if (status == 0 && json_read(buf_text(&said), said.n, a, &v, e) == 0) {
        result = take_said(path, &v, a, o, e);
    }
    found = o->items;
    o->items = arena_alloc(a, o->n * sizeof *found);
    if (o->n > 0)
        memcpy(o->items, found, o->n * sizeof *found);
    free(found);
    buf_free(&said);
    buf_free(&errors);
    return result;
}
