/* SPDX-License-Identifier: MIT */
/* conf.c - the keys of worker.yaml */

#include "worker/base/conf.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/io.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "common/proto/proto.h"

enum { CONF_MAX_BYTES = 1024 * 1024, MIN_UID = 1000 };

/* "" for a list or a map */
static const char *text_of(const struct yaml_node *node)
{
    return node->text == NULL ? "" : node->text;
}

static int read_server(struct yaml_keys_reader *r, const struct key *key,
                       const struct yaml_node *node, void *to)
{
    struct err e = { 0 };

    if (endpoint_parse(to, text_of(node), r->arena, &e) < 0)
        return yaml_keys_error(r, node, "%s: %s", key->name, e.text);
    return 0;
}

static int read_path(struct yaml_keys_reader *r, const struct key *key,
                     const struct yaml_node *node, void *to)
{
    char *path = path_expand_home(text_of(node));

    *(const char **)to = arena_strdup(r->arena, path);
    free(path);
    if (**(const char **)to != '/')
        return yaml_keys_error(r, node, "%s: expected an absolute path", key->name);
    return 0;
}

static int read_name(struct yaml_keys_reader *r, const struct key *key,
                     const struct yaml_node *node, void *to)
{
    const char *text = text_of(node);

    if (!path_is_portable_name(text))
        return yaml_keys_error(r, node, "%s: '%s' cannot be the name of a node", key->name, text);
    *(const char **)to = text;
    return 0;
}

static int read_kind(struct yaml_keys_reader *r, const struct key *key,
                     const struct yaml_node *node, void *to)
{
    int kind = node_kind_parse(text_of(node));

    if (kind < 0)
        return yaml_keys_error(r, node, "%s: expected local, node or slurm", key->name);
    *(const char **)to = node_kind_names[kind];
    return 0;
}

typedef int (*parse_amount_fn)(const char *text, int64_t *amount, struct err *e);

static int read_amount(struct yaml_keys_reader *r, const struct key *key,
                       const struct yaml_node *node, parse_amount_fn parse, int64_t *to)
{
    const char *text = text_of(node);
    struct err e = { 0 };

    if (strcmp(text, "auto") == 0) {
        *to = CONF_AUTO;
        return 0;
    }
    if (parse(text, to, &e) < 0)
        return yaml_keys_error(r, node, "%s: expected auto, or %s", key->name, e.text);
    return 0;
}

static int parse_cpus(const char *text, int64_t *milli, struct err *e)
{
    if (units_parse_milli(text, milli, NULL) < 0 || *milli <= 0)
        return err_set(e, ERR_USAGE, "a number of processors above 0");
    return 0;
}

static int parse_gpus(const char *text, int64_t *gpus, struct err *e)
{
    enum { GPUS_MAX = 1024 };
    char *end;

    *gpus = strtoll(text, &end, 10);
    if (*text == '\0' || *end != '\0' || *gpus < 0 || *gpus > GPUS_MAX)
        return err_set(e, ERR_USAGE, "a whole number of GPUs");
    return 0;
}

static int parse_memory(const char *text, int64_t *bytes, struct err *e)
{
    if (units_parse_size(text, bytes, NULL) < 0 || *bytes <= 0)
        return err_set(e, ERR_USAGE, "a size as 16GiB");
    return 0;
}

static int read_cpus(struct yaml_keys_reader *r, const struct key *key,
                     const struct yaml_node *node, void *to)
{
    return read_amount(r, key, node, parse_cpus, to);
}

static int read_gpus(struct yaml_keys_reader *r, const struct key *key,
                     const struct yaml_node *node, void *to)
{
    return read_amount(r, key, node, parse_gpus, to);
}

static int read_memory(struct yaml_keys_reader *r, const struct key *key,
                       const struct yaml_node *node, void *to)
{
    return read_amount(r, key, node, parse_memory, to);
}

#define ROW(member, reader, words)                               \
    {                                                            \
        .name = #member, .type = KEY_CUSTOM, .read = (reader),   \
        .offset = offsetof(struct conf, member), .help = (words) \
    }
#define AMOUNT(label, member, reader, words)                               \
    {                                                                      \
        .name = (label), .type = KEY_CUSTOM, .read = (reader),             \
        .offset = offsetof(struct conf_resources, member), .help = (words) \
    }

static const struct key resource_keys[] = {
    AMOUNT("cpus", cpus_milli, read_cpus, "processors to use at once, or auto"),
    AMOUNT("gpus", gpus, read_gpus, "GPUs to use at once, or auto"),
    AMOUNT("memory", memory_bytes, read_memory, "memory for all jobs together, or auto"),
    { 0 },
};

const struct key conf_keys[] = {
    ROW(server, read_server, "address of ludwigd: unix:/path/server.sock or ssh://host"),
    ROW(share, read_path, "where the shared drive is mounted here; default: as ludwigd says"),
    ROW(scratch, read_path, "local folder for jobs and the cache; {user} is replaced"),
    ROW(name, read_name, "name of this node; default: the host's"),
    ROW(kind, read_kind, "local, node or slurm"),
    ROW(state, read_path, "folder for what must outlive the worker"),
    { .name = "min_uid",
      .type = KEY_INT,
      .max = UINT32_MAX,
      .offset = offsetof(struct conf, min_uid),
      .help = "of a worker that runs as root: no jobs of users with a lower uid; default: 1000" },
    { .name = "cache_size",
      .type = KEY_SIZE,
      .offset = offsetof(struct conf, settings.cache_size_bytes),
      .help = "how large the cache of data may grow" },
    { .name = "resources",
      .type = KEY_MAP,
      .offset = offsetof(struct conf, resources),
      .of = resource_keys,
      .help = "what jobs may use together" },
    { 0 },
};

static int read_root(const char *name, const struct yaml_node *root, struct conf *c, struct err *e)
{
    struct yaml_keys_reader r = { .file = name, .arena = c->arena };

    if (root->type == VALUE_MAP)
        yaml_keys_read(&r, conf_keys, root, c);
    else if (root->type != VALUE_NULL)
        yaml_keys_error(&r, root, "expected a map of settings");
    return yaml_keys_end(&r, e);
}

static int parse(const char *name, const char *text, size_t n, struct conf *c, struct err *e)
{
    const struct yaml_node *root = yaml_parse(name, text, n, c->arena, e);

    return root == NULL ? -1 : read_root(name, root, c, e);
}

static int parse_file(const char *path, struct conf *c, struct err *e)
{
    struct buf text = { 0 };
    int rc = io_read_file(path, CONF_MAX_BYTES, &text, e);

    if (rc == 0)
        rc = parse(path, buf_text(&text), text.n, c, e);
    buf_free(&text);
    return rc;
}

static void set_defaults(struct conf *c)
{
    *c = (struct conf){ .arena = arena_create(),
                        .kind = node_kind_names[NODE_PLAIN],
                        .min_uid = MIN_UID,
                        .resources = { CONF_AUTO, CONF_AUTO, CONF_AUTO } };
}

static int check_server(const char *name, struct conf *c, struct err *e)
{
    if (c->server.text != NULL && c->n_servers == 0) {
        c->servers = arena_alloc(c->arena, sizeof *c->servers);
        c->servers[c->n_servers++] = c->server;
    }
    if (c->server.text != NULL)
        return 0;
    return err_set(e, ERR_USAGE,
                   "%s: server is missing: write server: unix:/path/server.sock or server: "
                   "ssh://host",
                   name);
}

static int end_reading(struct conf *c, int rc)
{
    if (rc < 0)
        conf_free(c);
    return rc;
}

int conf_parse(const char *name, const char *text, size_t n, struct conf *c, struct err *e)
{
    int rc;

    set_defaults(c);
    rc = parse(name, text, n, c, e);
    return end_reading(c, rc == 0 ? check_server(name, c, e) : rc);
}

/* A path may have a comma, but not before another address. */
static const char *next_server(const char *at)
{
    while ((at = strchr(at, ',')) != NULL) {
        at++;
        if (strncmp(at, "unix:", 5) == 0 || strncmp(at, "ssh://", 6) == 0 ||
            strncmp(at, "share:", 6) == 0)
            return at;
    }
    return NULL;
}

static int read_servers(struct conf *c, const char *text, struct err *e)
{
    size_t capacity = strlen(text) / 5 + 1; /* a scheme has at least so many bytes */

    c->servers = arena_alloc(c->arena, capacity * sizeof *c->servers);
    for (const char *at = text, *next; at != NULL; at = next) {
        size_t n = strlen(at);

        next = next_server(at);
        if (next != NULL)
            n = (size_t)(next - at) - 1;
        if (endpoint_parse(&c->servers[c->n_servers], arena_strndup(c->arena, at, n), c->arena, e) <
            0)
            return err_wrap(e, "--server");
        c->n_servers++;
    }
    c->server = c->servers[0];
    return 0;
}

int conf_read(const char *path, const char *servers, struct conf *c, struct err *e)
{
    int rc;

    set_defaults(c);
    rc = path == NULL ? 0 : parse_file(path, c, e);
    if (rc == 0 && servers != NULL)
        rc = read_servers(c, servers, e);
    return end_reading(c, rc == 0 ? check_server(path, c, e) : rc);
}

void conf_free(struct conf *c)
{
    arena_destroy(c->arena);
    *c = (struct conf){ .arena = NULL };
}
