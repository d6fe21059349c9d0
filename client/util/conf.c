/* SPDX-License-Identifier: MIT */
/* conf.c - the client's configuration, and the choice of a server */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/util/conf.h"
#include "common/proto/unixsocket.h"
#include "common/base/account.h"
#include "common/base/path.h"
#include "common/proto/envvars.h"

#define AT(member) offsetof(struct conf, member)

static int read_folder(struct yaml_keys_reader *r, const struct key *key,
                       const struct yaml_node *node, void *to)
{
    char *path;

    if (node->type != VALUE_STR)
        return yaml_keys_error(r, node, "%s: expected a path, found %s", key->name,
                               value_type_name(node->type));
    path = path_expand_home(node->text);
    *(const char **)to = arena_strdup(r->arena, path);
    free(path);
    if ((*(const char **)to)[0] != '/')
        return yaml_keys_error(r, node, "%s: expected a path that begins with / or ~, found '%s'",
                               key->name, node->text);
    return 0;
}

static int read_account(struct yaml_keys_reader *r, const struct key *key,
                        const struct yaml_node *node, void *to)
{
    struct err e = { 0 };

    if (node->type == VALUE_LIST || node->type == VALUE_MAP || node->text == NULL)
        return yaml_keys_error(r, node, "%s: expected the name of an account", key->name);
    if (account_uid(node->text, to, &e) < 0)
        return yaml_keys_error(r, node, "%s: %s", key->name, e.text);
    return 0;
}

static int read_map(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                    void *to)
{
    if (node->type != VALUE_MAP)
        return yaml_keys_error(r, node, "%s: expected a map, found %s", key->name,
                               value_type_name(node->type));
    *(struct value *)to = yaml_value(node, r->arena);
    return 0;
}

const struct key conf_keys[] = {
    { .name = "server",
      .type = KEY_STR,
      .offset = AT(server),
      .help =
          "address of the server, unix:/path/server.sock or ssh://host; default: one of your own" },
    { .name = "server_user",
      .type = KEY_CUSTOM,
      .offset = AT(server_uid),
      .read = read_account,
      .help = "the account that ludwigd runs as on this machine if that is neither root nor you" },
    { .name = "share",
      .type = KEY_CUSTOM,
      .offset = AT(share),
      .read = read_folder,
      .help = "the shared drive as this machine sees it; default: ~/ludwig_data, or SFTP" },
    { .name = "user",
      .type = KEY_STR,
      .offset = AT(user),
      .help = "who you are where people share an account: sweeps show it; grants nothing" },
    { .name = "scratch",
      .type = KEY_STR,
      .offset = AT(scratch),
      .help = "where jobs run on this machine; default: $TMPDIR or /tmp" },
    { .name = "cache_size",
      .type = KEY_SIZE,
      .offset = AT(cache_size_bytes),
      .help = "how large the cache of data on this machine may grow" },
    { .name = "resources",
      .type = KEY_CUSTOM,
      .offset = AT(resources),
      .read = read_map,
      .help = "what jobs may use of this machine: {cpus: 4, gpus: 0, memory: 8GiB}" },
    { .name = "slurm",
      .type = KEY_CUSTOM,
      .offset = AT(slurm),
      .read = read_map,
      .help = "pilots of one's own server: what ludwigd.yaml has under this key" },
    { .name = NULL },
};

/* A missing file changes nothing. */
int conf_read_file(const char *path, struct conf *c, struct arena *a, struct err *e)
{
    struct err why = { 0 };

    if (yaml_keys_read_file(path, conf_keys, a, c, &why) == 0 || why.kind == ERR_NOT_FOUND)
        return 0;
    return err_set(e, why.kind, "%s", why.text);
}

char *conf_home(void)
{
    const char *home = getenv("HOME");
    const struct passwd *user;

    if (home != NULL && home[0] == '/')
        return mem_strdup(home);
    user = getpwuid(geteuid());
    return mem_strdup(user != NULL && user->pw_dir != NULL ? user->pw_dir : "/");
}

/* $variable/ludwig, or below_home in the home folder when the variable is no absolute path. */
static char *xdg_dir(const char *variable, const char *below_home)
{
    const char *dir = getenv(variable);
    char *home, *path;

    if (dir != NULL && dir[0] == '/')
        return path_join(dir, "ludwig");
    home = conf_home();
    path = mem_printf("%s/%s/ludwig", strcmp(home, "/") == 0 ? "" : home, below_home);
    free(home);
    return path;
}

char *conf_state_dir(void)
{
    return xdg_dir("XDG_STATE_HOME", ".local/state");
}

char *conf_cache_dir(void)
{
    return xdg_dir("XDG_CACHE_HOME", ".cache");
}

char *conf_embedded_share(const struct conf *c)
{
    char *home, *share;

    if (c->share != NULL)
        return mem_strdup(c->share);
    home = conf_home();
    share = path_join(home, "ludwig_data");
    free(home);
    return share;
}

int conf_read(struct conf *c, struct arena *a, struct err *e)
{
    char *dir = xdg_dir("XDG_CONFIG_HOME", ".config");
    char *path = path_join(dir, "config.yaml");
    int result = -1;

    *c = (struct conf){ 0 };
    if (conf_read_file("/etc/ludwig/config.yaml", c, a, e) == 0 &&
        conf_read_file(path, c, a, e) == 0)
        result = 0;
    free(path);
    free(dir);
    return result;
}

/* ---- choice of a server ---- */

int server_choice_make(struct server_choice *choice, const char *option, const struct conf *c,
                       struct arena *a, struct err *e)
{
    const struct {
        const char *from;
        const char *address;
    } places[] = {
        { "--server", option },
        { user_envvars[ENV_SERVER].name, getenv(user_envvars[ENV_SERVER].name) },
        { "config.yaml: server", c->server },
    };
    struct endpoint *to = &choice->endpoint;
    const char *address;
    size_t i = 0, n = sizeof places / sizeof places[0];
    int result;

    *choice = (struct server_choice){ .embedded = true };
    while (i < n && (places[i].address == NULL || places[i].address[0] == '\0'))
        i++;
    if (i == n)
        return 0;
    *choice = (struct server_choice){ .from = places[i].from };
    address = places[i].address;
    result = endpoint_parse(to, address, a, e);
    to->server_uid = c->server_uid;
    if (result == 0 && to->kind == ENDPOINT_UNIX && strlen(to->path) > unixsocket_path_max())
        result = err_set(e, ERR_USAGE, "%s: the path of a socket has at most %zu bytes", address,
                         unixsocket_path_max());
    else if (result == 0 && to->kind == ENDPOINT_SHARE)
        result = err_set(e, ERR_USAGE, "'%s': only pilots work by files on the share (write %s)",
                         address, ENDPOINT_FORMS);
    return result < 0 ? err_wrap(e, "%s", places[i].from) : 0;
}
