/* SPDX-License-Identifier: MIT */
/* conf.c - the keys of worker.yaml */

#include "worker/base/conf.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/account.h"
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

static int read_server_user(struct yaml_keys_reader *r, const struct key *key,
                            const struct yaml_node *node, void *to)
{
    struct err e = { 0 };

    if (account_uid(text_of(node), to, &e) < 0)
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

/* cpus, gpus or memory: auto, or an amount. */
static int read_amount(struct yaml_keys_reader *r, const struct key *key,
                       const struct yaml_node *node, void *to)
{
    enum { GPUS_MAX = 1024 };
    const char *text = text_of(node), *wanted;
    int64_t *amount = to;
    bool is_right;
    char *end;

    if (strcmp(text, "auto") == 0) {
        *amount = CONF_AUTO;
        return 0;
    }
    if (strcmp(key->name, "cpus") == 0) {
        wanted = "a number of processors above 0";
        is_right = units_parse_milli(text, amount, NULL) == 0 && *amount > 0;
    } else if (strcmp(key->name, "gpus") == 0) {
        wanted = "a whole number of GPUs";
        *amount = strtoll(text, &end, 10);
        is_right = *text != '\0' && *end == '\0' && *amount >= 0 && *amount <= GPUS_MAX;
    } else {
        wanted = "a size as 16GiB";
        is_right = units_parse_size(text, amount, NULL) == 0 && *amount > 0;
    }
    return is_right ? 0 : yaml_keys_error(r, node, "%s: expected auto, or %s", key->name, wanted);
}

/* Reads yes or no as 1 or 0; where the key is missing, confine_fill chooses. */
static int read_switch(struct yaml_keys_reader *r, const struct key *key,
                       const struct yaml_node *node, void *to)
{
    const char *text = text_of(node);
    bool is_yes = strcmp(text, "yes") == 0 || strcmp(text, "true") == 0;

    if (!is_yes && strcmp(text, "no") != 0 && strcmp(text, "false") != 0)
        return yaml_keys_error(r, node, "%s: expected yes or no", key->name);
    *(int64_t *)to = is_yes;
    return 0;
}

#define ROW(member, reader, words)                               \
    {                                                            \
        .name = #member, .type = KEY_CUSTOM, .read = (reader),   \
        .offset = offsetof(struct conf, member), .help = (words) \
    }
#define AMOUNT(label, member, words)                                       \
    {                                                                      \
        .name = (label), .type = KEY_CUSTOM, .read = read_amount,          \
        .offset = offsetof(struct conf_resources, member), .help = (words) \
    }

static const struct key resource_keys[] = {
    AMOUNT("cpus", cpus_milli, "processors to use at once, or auto"),
    AMOUNT("gpus", gpus, "GPUs to use at once, or auto"),
    AMOUNT("memory", memory_bytes, "memory for all jobs together, or auto"),
    { 0 },
};

static const struct key rlimit_keys[] = {
    { .name = "core",
      .type = KEY_SIZE,
      .offset = offsetof(struct confine, core_bytes),
      .help = "of a core dump; default: of a worker that runs as root 0" },
    { .name = "open_files",
      .type = KEY_INT,
      .min = 64,
      .max = INT32_MAX,
      .offset = offsetof(struct confine, open_files),
      .help = "of each process; default: the worker's" },
    { .name = "processes",
      .type = KEY_INT,
      .min = 64,
      .max = INT32_MAX,
      .offset = offsetof(struct confine, processes),
      .help = "of each user; default: of a worker that runs as root a quarter of the machine's" },
    { 0 },
};

const struct key conf_keys[] = {
    ROW(server, read_server, "address of ludwigd: unix:/path/server.sock or ssh://host"),
    { .name = "server_user",
      .type = KEY_CUSTOM,
      .read = read_server_user,
      .offset = offsetof(struct conf, server_uid),
      .help = "the account that ludwigd runs as on this machine if that is neither root nor ours" },
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
    { .name = "disk_per_job",
      .type = KEY_SIZE,
      .offset = offsetof(struct conf, disk_per_job_bytes),
      .help = "what a job's files may take on scratch at most; default: what the job asks for" },
    { .name = "no_new_privs",
      .type = KEY_CUSTOM,
      .read = read_switch,
      .offset = offsetof(struct conf, confine.no_new_privs),
      .help = "programs of jobs get no rights by set-user-ID; default: yes if it runs as root" },
    { .name = "private_tmp",
      .type = KEY_CUSTOM,
      .read = read_switch,
      .offset = offsetof(struct conf, confine.private_tmp),
      .help = "jobs have a /tmp, /var/tmp and /dev/shm of their own; default: yes if it runs as "
              "root" },
    { .name = "rlimits",
      .type = KEY_MAP,
      .offset = offsetof(struct conf, confine),
      .of = rlimit_keys,
      .help = "limits of processes of jobs, as setrlimit(2) has them" },
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

/* Reads addresses with commas between.  A comma before anything but a scheme belongs to a path. */
static int read_servers(struct conf *c, const char *text, struct err *e)
{
    static const char *const schemes[] = { "unix:", "ssh://", "share:" };
    size_t capacity = strlen(text) / 5 + 1; /* a scheme has at least 5 bytes */

    c->servers = arena_alloc(c->arena, capacity * sizeof *c->servers);
    for (const char *at = text, *next; at != NULL; at = next) {
        size_t n;

        next = NULL;
        for (const char *comma = strchr(at, ','); next == NULL && comma != NULL;
             comma = strchr(comma + 1, ','))
            for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
                if (strncmp(comma + 1, schemes[i], strlen(schemes[i])) == 0)
                    next = comma + 1;
        n = next == NULL ? strlen(at) : (size_t)(next - at) - 1;
        if (endpoint_parse(&c->servers[c->n_servers], arena_strndup(c->arena, at, n), c->arena, e) <
            0)
            return err_wrap(e, "--server");
        c->n_servers++;
    }
    c->server = c->servers[0];
    return 0;
}

int conf_parse(const char *name, const char *text, size_t n, const char *servers, struct conf *c,
               struct err *e)
{
    const struct yaml_node *root;
    struct yaml_keys_reader r = { .file = name };

    *c = (struct conf){ .arena = arena_create(),
                        .kind = node_kind_names[NODE_PLAIN],
                        .min_uid = MIN_UID,
                        .confine = { CONFINE_UNSET, CONFINE_UNSET, CONFINE_UNSET, CONFINE_UNSET,
                                     CONFINE_UNSET },
                        .resources = { CONF_AUTO, CONF_AUTO, CONF_AUTO } };
    r.arena = c->arena;
    root = yaml_parse(name, text, n, c->arena, e);
    if (root == NULL)
        goto fail;
    if (root->type == VALUE_MAP)
        yaml_keys_read(&r, conf_keys, root, c);
    else if (root->type != VALUE_NULL)
        yaml_keys_error(&r, root, "expected a map of settings");
    if (yaml_keys_end(&r, e) < 0 || (servers != NULL && read_servers(c, servers, e) < 0))
        goto fail;
    if (c->server.text == NULL) {
        err_set(e, ERR_USAGE,
                "%s: server is missing: write server: unix:/path/server.sock or server: "
                "ssh://host",
                name);
        goto fail;
    }
    if (c->n_servers == 0) {
        c->servers = arena_alloc(c->arena, sizeof *c->servers);
        c->servers[c->n_servers++] = c->server;
    }
    for (size_t i = 0; i < c->n_servers; i++)
        c->servers[i].server_uid = c->server_uid;
    return 0;
fail:
    conf_free(c);
    return -1;
}

int conf_read(const char *path, const char *servers, struct conf *c, struct err *e)
{
    struct buf text = { 0 };
    int rc = path == NULL ? 0 : io_read_file(path, CONF_MAX_BYTES, &text, e);

    *c = (struct conf){ .arena = NULL };
    if (rc == 0)
        rc = conf_parse(path == NULL ? "--server" : path, buf_text(&text), text.n, servers, c, e);
    buf_free(&text);
    return rc;
}

void conf_free(struct conf *c)
{
    arena_destroy(c->arena);
    *c = (struct conf){ .arena = NULL };
}
