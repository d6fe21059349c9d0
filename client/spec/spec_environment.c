/* SPDX-License-Identifier: MIT */
/* spec_environment.c - the keys of a sweep file that say in which environment its jobs run */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/spec/spec_internal.h"
#include "common/base/path.h"

enum { WORDS_MAX = 100 };

static const char *text_of(const struct yaml_node *node)
{
    return node->type == VALUE_STR && node->text[0] != '\0' &&
                   strlen(node->text) == node->scalar.str.n
               ? node->text
               : NULL;
}

/* Returns the node's path as an absolute one, in the arena; NULL: the node is no path. */
static const char *absolute_path(struct yaml_keys_reader *r, const struct yaml_node *node,
                                 bool *is_relative)
{
    const char *text = text_of(node), *folder = spec_of(r)->folder;
    char *expanded, *path;
    size_t n;

    if (text == NULL || spec_has_control(text))
        return NULL;
    while (spec_starts_with(text, "./"))
        text += 1 + strspn(text + 1, "/");
    expanded = path_expand_home(text);
    *is_relative = expanded[0] != '/';
    path = *is_relative ? path_join(folder != NULL ? folder : "", expanded) : mem_strdup(expanded);
    n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        path[--n] = '\0';
    text = arena_strdup(r->arena, path);
    free(path);
    free(expanded);
    return text;
}

/* Reads a folder's path.  A relative one must exist here; an absolute one may be on nodes only. */
static int read_path(struct yaml_keys_reader *r, const char *key, const struct yaml_node *node,
                     const char **to)
{
    const char *folder = spec_of(r)->folder;
    bool is_relative = false, is_here;
    struct stat st;

    *to = absolute_path(r, node, &is_relative);
    if (*to == NULL)
        return yaml_keys_error(r, node, "%s: expected the path of a folder, found %s", key,
                               value_type_name(node->type));
    is_here = stat(*to, &st) == 0;
    if (folder != NULL && is_relative && !is_here)
        return yaml_keys_error(r, node, "%s: there is no folder %s", key, *to);
    if (is_here && !S_ISDIR(st.st_mode))
        return yaml_keys_error(r, node, "%s: %s is no folder", key, *to);
    return 0;
}

/* {stage: PATH} names the folder; {stage: true} means that of path:, else what is active here. */
static int read_stage(struct yaml_keys_reader *r, const struct key *key,
                      const struct yaml_node *node, void *to)
{
    struct spec_environment *x = to;

    if (node->type == VALUE_BOOL) {
        x->is_staged = node->scalar.b;
        return 0;
    }
    x->is_staged = true;
    return read_path(r, key->name, node, &x->path);
}

static int read_named(struct yaml_keys_reader *r, const struct key *key,
                      const struct yaml_node *node, void *to)
{
    return read_path(r, key->name, node, &((struct spec_environment *)to)->path);
}

/* The keys that name the file that an environment is built from, and the tools that build it. */
static const struct {
    const char *key, *tool;
} recipes[] = { { "requirements", "pip" }, { "uv", "uv" }, { "conda", "conda" } };

static int read_recipe(struct yaml_keys_reader *r, const struct key *key,
                       const struct yaml_node *node, void *to)
{
    struct spec_environment *x = to;
    bool is_relative = false;
    struct stat st;

    x->file = absolute_path(r, node, &is_relative);
    if (x->file == NULL)
        return yaml_keys_error(r, node, "%s: expected the path of a file, found %s", key->name,
                               value_type_name(node->type));
    for (size_t i = 0; i < sizeof recipes / sizeof recipes[0]; i++)
        if (strcmp(recipes[i].key, key->name) == 0)
            x->tool = recipes[i].tool;
    if (spec_of(r)->folder == NULL)
        return 0;
    if (stat(x->file, &st) < 0)
        return yaml_keys_error(r, node, "%s: there is no file %s", key->name, x->file);
    return S_ISREG(st.st_mode) ? 0
                               : yaml_keys_error(r, node, "%s: %s is no file", key->name, x->file);
}

static int read_words(struct yaml_keys_reader *r, const struct key *key,
                      const struct yaml_node *node, void *to)
{
    size_t n = node->type == VALUE_LIST ? node->n : 1;
    const char **words = arena_alloc(r->arena, n * sizeof *words);

    if (n > WORDS_MAX)
        return yaml_keys_error(r, node, "%s: more than %d entries", key->name, WORDS_MAX);
    for (size_t i = 0; i < n; i++) {
        const struct yaml_node *item = spec_item_at(node, i);

        words[i] = text_of(item);
        if (words[i] == NULL || spec_has_control(words[i]))
            return yaml_keys_error(r, item, "%s: expected text, found %s", key->name,
                                   value_type_name(item->type));
    }
    *(struct list *)to = (struct list){ words, n };
    return 0;
}

/* Reads python:, a program that nodes find by PATH, or its path. */
static int read_interpreter(struct yaml_keys_reader *r, const struct key *key,
                            const struct yaml_node *node, void *to)
{
    const char *text = text_of(node);

    if (text == NULL || text[0] == '-' || strpbrk(text, " \t") != NULL || spec_has_control(text))
        return yaml_keys_error(r, node, "%s: expected a program, as python3.12 is", key->name);
    ((struct spec_environment *)to)->interpreter = text;
    return 0;
}

static const struct key environment_keys[] = {
    { .name = "path",
      .type = KEY_CUSTOM,
      .read = read_named,
      .help = "its folder; without it: the one that is active at submit" },
    { .name = "stage",
      .type = KEY_CUSTOM,
      .read = read_stage,
      .help = "true, or its folder: it is packed, and each node gets a copy" },
    { .name = "decides",
      .type = KEY_BOOL,
      .offset = offsetof(struct spec_environment, decides),
      .help = "true: jobs that were done in another environment are run again" },
    { .name = "requirements",
      .type = KEY_CUSTOM,
      .read = read_recipe,
      .help = "requirements.txt: each node builds it once, with pip" },
    { .name = "uv",
      .type = KEY_CUSTOM,
      .read = read_recipe,
      .help = "uv.lock, beside its pyproject.toml: each node builds it once, with uv" },
    { .name = "conda",
      .type = KEY_CUSTOM,
      .read = read_recipe,
      .help = "environment.yml: each node builds it once, with micromamba, mamba or conda" },
    { .name = "python",
      .type = KEY_CUSTOM,
      .read = read_interpreter,
      .help = "with which pip or uv builds it: python3.12" },
    { .name = "options",
      .type = KEY_CUSTOM,
      .offset = offsetof(struct spec_environment, options),
      .read = read_words,
      .help = "further options of the tool that builds it" },
    { .name = "files",
      .type = KEY_CUSTOM,
      .offset = offsetof(struct spec_environment, files),
      .read = read_words,
      .help = "what else it is built from: files and folders here" },
    { .name = NULL },
};

/* Refuses path: and stage: for an environment that nodes build, as it does not exist here, and
 * python:, options: and files: for one that they do not build. */
static int check_recipe(struct yaml_keys_reader *r, const struct yaml_node *map,
                        const struct spec_environment *x)
{
    static const char *const alone[] = { "path", "stage" };
    static const char *const with[] = { "python", "options", "files" };
    const struct yaml_node *node;
    size_t n = 0;

    for (size_t i = 0; i < sizeof recipes / sizeof recipes[0]; i++)
        n += yaml_get(map, recipes[i].key) != NULL;
    if (n > 1)
        return yaml_keys_error(r, map,
                               "environment: requirements:, uv: and conda: exclude each other");
    for (size_t i = 0; n > 0 && i < sizeof alone / sizeof alone[0]; i++)
        if ((node = yaml_get(map, alone[i])) != NULL)
            return yaml_keys_error(r, node,
                                   "environment: %s: it does not go with an environment that "
                                   "nodes build",
                                   alone[i]);
    for (size_t i = 0; n == 0 && i < sizeof with / sizeof with[0]; i++)
        if ((node = yaml_get(map, with[i])) != NULL)
            return yaml_keys_error(
                r, node, "environment: %s: it goes with requirements:, uv: or conda:", with[i]);
    if (x->interpreter != NULL && strcmp(x->tool, "conda") == 0)
        return yaml_keys_error(r, yaml_get(map, "python"),
                               "environment: python: the file of conda: names its Python");
    return 0;
}

int spec_read_environment(struct yaml_keys_reader *r, const struct key *key,
                          const struct yaml_node *node, void *to)
{
    struct spec_environment *x = to;

    if (node->type == VALUE_NULL)
        return 0;
    if (node->type == VALUE_MAP && yaml_get(node, "path") != NULL &&
        yaml_get(node, "stage") != NULL && yaml_get(node, "stage")->type == VALUE_STR)
        return yaml_keys_error(r, yaml_get(node, "path"),
                               "%s: stage: names a folder already; write {path: PATH, stage: true}",
                               key->name);
    if (node->type == VALUE_MAP)
        return yaml_keys_read(r, environment_keys, node, x) < 0 ? -1 : check_recipe(r, node, x);
    if (text_of(node) != NULL && strcmp(node->text, "none") == 0) {
        x->is_none = true;
        return 0;
    }
    return read_path(r, key->name, node, &x->path);
}

void spec_check_environment(struct yaml_keys_reader *r, const struct yaml_node *root)
{
    static const char *const keys[] = { "environment", "modules" };
    const struct spec *s = spec_of(r);
    const char *const *modules = s->work.environment.modules.items;

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct yaml_node *node = yaml_get(root, keys[i]);
        bool is_nothing = i == 0 ? s->environment.is_none : s->work.environment.modules.n == 0;

        if (node != NULL && node->type != VALUE_NULL && !is_nothing && s->work.container != NULL)
            yaml_keys_error(r, node,
                            "%s: it does not go with container:, as jobs there have what the image "
                            "has",
                            keys[i]);
    }
    for (size_t i = 0; i < s->work.environment.modules.n; i++)
        if (modules[i] != NULL &&
            (modules[i][0] == '\0' || modules[i][0] == '-' || strpbrk(modules[i], " \t") != NULL ||
             spec_has_control(modules[i]) || strlen(modules[i]) > 4096))
            yaml_keys_error(r, spec_item_at(yaml_get(root, "modules"), i),
                            "modules: '%s' is no name of a module, as cuda/12.4 is", modules[i]);
}
