/* SPDX-License-Identifier: MIT */
/* spec_data.c - the keys of a sweep file that name files: source, data, container */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/spec/spec_internal.h"
#include "common/base/path.h"

enum { ENTRIES_MAX = 1000 };

/* "./lm/" is lm, "." is the whole folder. */
static const char *plain_path(struct arena *a, const char *path)
{
    size_t n;

    while (spec_starts_with(path, "./"))
        path += 1 + strspn(path + 1, "/");
    n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    return n == 0 ? "." : arena_strndup(a, path, n);
}

static const char *folder_of(struct yaml_keys_reader *r)
{
    const char *folder = spec_of(r)->folder;

    return folder != NULL ? folder : "";
}

static int check_exists(struct yaml_keys_reader *r, const char *key, const struct yaml_node *node,
                        const char *path)
{
    struct stat st;

    if (spec_of(r)->folder != NULL && stat(path, &st) < 0)
        return yaml_keys_error(r, node, "%s: there is no file or folder %s", key, path);
    return 0;
}

static bool is_path(const struct yaml_node *node)
{
    return node->type == VALUE_STR && node->text[0] != '\0' &&
           strlen(node->text) == node->scalar.str.n;
}

/* ---- source ---- */

static int read_source_item(struct yaml_keys_reader *r, const struct key *key,
                            const struct yaml_node *node, const char **to)
{
    char *path;
    int answer;

    if (!is_path(node))
        return yaml_keys_error(r, node, "%s: expected a path or a list of paths, found %s",
                               key->name, value_type_name(node->type));
    *to = plain_path(r->arena, node->text);
    if (strcmp(*to, ".") != 0 && !path_is_inside(*to))
        return yaml_keys_error(r, node, "%s: '%s' does not lie below the sweep file's folder",
                               key->name, node->text);
    path = path_join(folder_of(r), *to);
    answer = check_exists(r, key->name, node, path);
    free(path);
    return answer;
}

int spec_read_source(struct yaml_keys_reader *r, const struct key *key,
                     const struct yaml_node *node, void *to)
{
    size_t n = node->type == VALUE_LIST ? node->n : 1;
    const char **items = arena_alloc(r->arena, n * sizeof *items);
    int answer = 0;

    for (size_t i = 0; i < n; i++)
        if (read_source_item(r, key, spec_item_at(node, i), &items[i]) < 0)
            answer = -1;
    *(struct list *)to = (struct list){ items, n };
    spec_of(r)->has_source = true;
    return answer;
}

/* ---- data ---- */

static char *absolute_path(const char *folder, const char *path)
{
    char *expanded = path_expand_home(path), *joined;

    if (expanded[0] == '/')
        return expanded;
    joined = path_join(folder, expanded);
    free(expanded);
    return joined;
}

/* A path that lies here, and its name on the node. */
static int read_local(struct yaml_keys_reader *r, const char *key, const struct yaml_node *node,
                      const char *text, struct spec_data *to)
{
    char *path = absolute_path(folder_of(r), plain_path(r->arena, text));

    to->path = arena_strdup(r->arena, path);
    to->name = path_basename(to->path);
    to->share = NULL;
    free(path);
    if (!path_is_portable_name(to->name))
        return yaml_keys_error(
            r, node, "%s: '%s' does not end in a name that every system can show", key, text);
    return check_exists(r, key, node, to->path);
}

/* Something that lies on the share already. */
static int read_shared(struct yaml_keys_reader *r, const char *key, const struct yaml_node *node,
                       struct spec_data *to)
{
    const struct yaml_node *share = yaml_get(node, "share");

    if (node->n > 1)
        return yaml_keys_error(r, node, "%s: beside share: nothing is expected", key);
    if (!is_path(share))
        return yaml_keys_error(r, share, "%s: share: expected a path, found %s", key,
                               value_type_name(share->type));
    to->path = NULL;
    to->share = plain_path(r->arena, share->text);
    to->name = path_basename(to->share);
    if (!path_is_inside(to->share))
        return yaml_keys_error(r, share, "%s: share: '%s' is no path below the shared drive", key,
                               share->text);
    if (!path_is_portable_name(to->name))
        return yaml_keys_error(r, share,
                               "%s: '%s' does not end in a name that every system can show", key,
                               share->text);
    return 0;
}

static int read_data_item(struct yaml_keys_reader *r, const struct key *key,
                          const struct yaml_node *node, struct spec_data *to)
{
    if (node->type == VALUE_MAP && yaml_get(node, "share") != NULL)
        return read_shared(r, key->name, node, to);
    if (!is_path(node))
        return yaml_keys_error(r, node, "%s: expected a path, found %s", key->name,
                               value_type_name(node->type));
    return read_local(r, key->name, node, node->text, to);
}

static int check_data_names(struct yaml_keys_reader *r, const struct key *key,
                            const struct yaml_node *node, const struct list *data)
{
    const struct spec_data *items = data->items;
    int answer = 0;

    for (size_t i = 1; i < data->n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(items[i].name, items[k].name) == 0) {
                answer = yaml_keys_error(r, &node->items[i], "%s: two entries would both be %s",
                                         key->name, items[i].name);
                break;
            }
    return answer;
}

int spec_read_data(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                   void *to)
{
    size_t n = node->type == VALUE_LIST ? node->n : 1;
    struct spec_data *items = arena_alloc(r->arena, n * sizeof *items);
    struct list *list = to;
    int answer = 0;

    if (n > ENTRIES_MAX)
        return yaml_keys_error(r, node, "%s: more than %d entries", key->name, ENTRIES_MAX);
    for (size_t i = 0; i < n; i++)
        if (read_data_item(r, key, spec_item_at(node, i), &items[i]) < 0)
            answer = -1;
    if (answer < 0)
        return -1;
    *list = (struct list){ items, n };
    return check_data_names(r, key, node, list);
}

/* ---- container ---- */

/* An image that lies here is one of data:, once. */
static void add_container(struct yaml_keys_reader *r, const struct yaml_node *node)
{
    struct spec *s = spec_of(r);
    struct spec_data image, *items;

    if (read_local(r, "container", node, s->work.container, &image) < 0)
        return;
    s->work.container = image.name;
    items = s->data.items;
    for (size_t i = 0; i < s->data.n; i++)
        if (strcmp(items[i].name, image.name) == 0) {
            if (items[i].path == NULL || strcmp(items[i].path, image.path) != 0)
                yaml_keys_error(r, node, "container: data: has another %s", image.name);
            return;
        }
    items = arena_alloc(r->arena, (s->data.n + 1) * sizeof *items);
    if (s->data.n > 0)
        memcpy(items, s->data.items, s->data.n * sizeof *items);
    items[s->data.n++] = image;
    s->data.items = items;
}

void spec_check_container(struct yaml_keys_reader *r, const struct yaml_node *root)
{
    const struct yaml_node *node = yaml_get(root, "container");
    const char *image = spec_of(r)->work.container;

    if (image == NULL)
        return;
    if (image[0] == '\0' || spec_has_control(image) || strlen(image) > 4096)
        yaml_keys_error(r, node,
                        "container: expected the path of an image, or one such as "
                        "docker://python:3.11");
    else if (image[0] != '/' && strstr(image, "://") == NULL)
        add_container(r, node);
}
