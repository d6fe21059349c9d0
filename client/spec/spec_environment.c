/* SPDX-License-Identifier: MIT */
/* spec_environment.c - the keys of a sweep file that say in which environment its jobs run */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/spec/spec_internal.h"
#include "common/base/path.h"

static const char *text_of(const struct yaml_node *node)
{
    return node->type == VALUE_STR && node->text[0] != '\0' &&
                   strlen(node->text) == node->scalar.str.n
               ? node->text
               : NULL;
}

/* What lies below the sweep file's folder must be there; an absolute path may be the nodes'. */
static int read_path(struct yaml_keys_reader *r, const char *key, const struct yaml_node *node,
                     const char **to)
{
    const char *text = text_of(node), *folder = spec_of(r)->folder;
    char *expanded, *path;
    struct stat st;
    bool is_relative, is_here;
    size_t n;

    if (text == NULL || spec_has_control(text))
        return yaml_keys_error(r, node, "%s: expected the path of a folder, found %s", key,
                               value_type_name(node->type));
    while (spec_starts_with(text, "./"))
        text += 1 + strspn(text + 1, "/");
    expanded = path_expand_home(text);
    is_relative = expanded[0] != '/';
    path = is_relative ? path_join(folder != NULL ? folder : "", expanded) : mem_strdup(expanded);
    n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        path[--n] = '\0';
    *to = arena_strdup(r->arena, path);
    is_here = stat(path, &st) == 0;
    free(path);
    free(expanded);
    if (folder != NULL && is_relative && !is_here)
        return yaml_keys_error(r, node, "%s: there is no folder %s", key, *to);
    if (is_here && !S_ISDIR(st.st_mode))
        return yaml_keys_error(r, node, "%s: %s is no folder", key, *to);
    return 0;
}

/* {stage: PATH}: that one; {stage: true}: the one that is active, or the one of path:. */
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
    { .name = NULL },
};

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
        return yaml_keys_read(r, environment_keys, node, x);
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
