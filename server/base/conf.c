/* SPDX-License-Identifier: MIT */
/* conf.c - the keys of ludwigd.yaml, and the checks of their values */
#include "server/base/conf.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/path.h"
#include "common/proto/layout.h"
#include "server/base/sshdconf.h"

/* Ten minutes: longer than a reboot, shorter than the patience of a user whose job is delayed. */
#define LEASE_MS     (INT64_C(10) * 60 * 1000)
#define AVOID_FOR_MS (INT64_C(60) * 1000)
/* Limits far above what people do, so small that one user's mistake leaves room for others. */
enum {
    OPEN_SUBMITS = 64,
    QUEUED_JOBS = 1000000,
    SWEEPS = 100000,
    USER_PROJECTS = 1000,
    CONFIGURATIONS = 20000000,
    BUFFERED_BYTES = 64 * 1024 * 1024,
    CHANGES_PER_SECOND = 100
};
/* The first uid that Debian and Fedora give to a person. */
#define MIN_UID 1000

static int read_groups(struct yaml_keys_reader *r, const struct key *key,
                       const struct yaml_node *node, void *to)
{
    struct list *groups = to;
    struct node_group *items;
    int answer = 0;

    if (node->type != VALUE_MAP)
        return yaml_keys_error(r, node,
                               "%s: expected lines such as 'half1: [hoff, norman]', found %s",
                               key->name, value_type_name(node->type));
    items = arena_alloc(r->arena, node->n * sizeof *items);
    for (size_t i = 0; i < node->n; i++) {
        const struct yaml_member *m = &node->members[i];
        const struct key nodes[] = { { .name = m->key, .type = KEY_STRS }, { 0 } };
        struct yaml_node line = { .type = VALUE_MAP, .members = &node->members[i], .n = 1 };

        items[i].name = m->key;
        if (yaml_keys_read(r, nodes, &line, &items[i].nodes) < 0)
            answer = -1;
    }
    *groups = (struct list){ items, node->n };
    return answer;
}

#define OF_SITE(member) offsetof(struct slurm_site, member)

static const struct key pilot_keys[] = {
    { .name = "jobs",
      .type = KEY_INT,
      .offset = OF_SITE(pilot_jobs),
      .min = 1,
      .max = 1,
      .help = "1: each job gets a Slurm job of its own" },
    { .name = "cpus",
      .type = KEY_INT,
      .offset = OF_SITE(pilot_cpus),
      .min = 1,
      .max = PILOT_CPUS_MAX,
      .help = "that several jobs share in one pilot, at most (16)" },
    { .name = "gpus",
      .type = KEY_INT,
      .offset = OF_SITE(pilot_gpus),
      .min = 1,
      .max = PILOT_CPUS_MAX,
      .help = "the same (1)" },
    { .name = "time",
      .type = KEY_DURATION,
      .offset = OF_SITE(pilot_time_ms),
      .help = "of a pilot whose jobs need no more (the partition's default)" },
    { 0 },
};

static const struct key site_keys[] = {
    { .name = "account",
      .type = KEY_STR,
      .offset = OF_SITE(account),
      .help = "charged for pilots of sweeps that name none" },
    { .name = "qos",
      .type = KEY_STR,
      .offset = OF_SITE(qos),
      .help = "of pilots of sweeps that name none" },
    { .name = "max_pilots",
      .type = KEY_INT,
      .offset = OF_SITE(max_pilots),
      .help = "of one user, running or waiting" },
    { .name = "idle",
      .type = KEY_DURATION,
      .offset = OF_SITE(idle_ms),
      .help = "how long a pilot stays without work (60s)" },
    { .name = "pilot",
      .type = KEY_MAP,
      .of = pilot_keys,
      .help = "how pilots are made: {jobs: 1}, or {cpus: 32, gpus: 4, time: 8h}" },
    { 0 },
};

static int read_sites(struct yaml_keys_reader *r, const struct key *key,
                      const struct yaml_node *node, void *to)
{
    struct list *sites = to;
    struct slurm_site *items;
    int answer = 0;

    if (node->type != VALUE_MAP)
        return yaml_keys_error(r, node,
                               "%s: expected lines such as 'overcap: {max_pilots: 20}', found %s",
                               key->name, value_type_name(node->type));
    items = arena_alloc(r->arena, node->n * sizeof *items);
    for (size_t i = 0; i < node->n; i++) {
        items[i].partition = node->members[i].key;
        if (yaml_keys_read(r, site_keys, &node->members[i].node, &items[i]) < 0)
            answer = -1;
    }
    *sites = (struct list){ items, node->n };
    return answer;
}

#define AT(member) offsetof(struct conf, member)

static const struct key slurm_keys[] = {
    { .name = "endpoints",
      .type = KEY_STRS,
      .offset = AT(slurm.endpoints),
      .max = 16,
      .help = "where pilots find ludwigd, tried in this order: unix:/PATH or"
              " ssh://[USER@]HOST[:PORT] (default: sockets, login_key, files on the share)" },
    { .name = "login_key",
      .type = KEY_BOOL,
      .offset = AT(slurm.has_login_key),
      .help =
          "pilots get a key for this machine's sshd that may run `ludwig bridge` alone (true)" },
    { .name = "login_host",
      .type = KEY_STR,
      .offset = AT(slurm.login_host),
      .help = "HOST[:PORT] at which the nodes find this machine's sshd (default: its name)" },
    { .name = "worker",
      .type = KEY_STR,
      .offset = AT(slurm.worker),
      .help = "ludwig-worker, as the nodes see it (default: beside ludwigd)" },
    { .name = "idle",
      .type = KEY_DURATION,
      .offset = AT(slurm.idle_ms),
      .help = "how long a pilot stays without work (60s)" },
    { .name = "partitions",
      .type = KEY_CUSTOM,
      .offset = AT(slurm.sites),
      .read = read_sites,
      .help = "for each partition: account, qos, max_pilots, idle, pilot" },
    { 0 },
};

static const struct key sshd_keys[] = {
    { .name = "listen",
      .type = KEY_STR,
      .offset = AT(sshd_listen),
      .help = "ADDRESS:PORT, ADDRESS, PORT or *; a port that is not named is chosen once" },
    { 0 },
};

static const struct key limits_keys[] = {
    { .name = "gpus_per_user",
      .type = KEY_MILLI,
      .offset = AT(gpus_per_user_milli),
      .help = "GPUs that one user's jobs may hold at once" },
    { .name = "cpus_per_user",
      .type = KEY_MILLI,
      .offset = AT(cpus_per_user_milli),
      .help = "processors that one user's jobs may hold at once" },
    { .name = "jobs_per_user",
      .type = KEY_INT,
      .offset = AT(jobs_per_user),
      .help = "jobs of one user that may run at once" },
    { .name = "open_submits",
      .type = KEY_INT,
      .offset = AT(open_submits),
      .help = "submits that one user may have begun and not ended (64)" },
    { .name = "queued_jobs",
      .type = KEY_INT,
      .offset = AT(queued_jobs),
      .help = "jobs of one user that may be queued (1000000)" },
    { .name = "sweeps",
      .type = KEY_INT,
      .offset = AT(sweeps),
      .help = "sweeps that one user may have, ended ones included (100000)" },
    { .name = "projects",
      .type = KEY_INT,
      .offset = AT(user_projects),
      .help = "projects that one user may have (1000)" },
    { .name = "configurations",
      .type = KEY_INT,
      .offset = AT(configurations),
      .help = "different ones that one user's projects may have had (20000000)" },
    { .name = "sweep_bytes",
      .type = KEY_SIZE,
      .offset = AT(sweep_bytes),
      .help =
          "bytes of ludwigd's database that descriptions of one user's sweeps may take (1GiB)" },
    { .name = "buffered",
      .type = KEY_SIZE,
      .offset = AT(buffered_bytes),
      .help = "of one user's messages and their answers that may wait in ludwigd (64MiB)" },
    { .name = "changes_per_second",
      .type = KEY_INT,
      .offset = AT(changes_per_second),
      .help = "requests of one user that change something; more have to wait (100)" },
    { 0 },
};

const struct key conf_keys[] = {
    { .name = "share",
      .type = KEY_STR,
      .offset = AT(share),
      .help = "the shared drive's folder, as this machine sees it" },
    { .name = "projects",
      .type = KEY_STR,
      .offset = AT(projects),
      .help = "folder below SHARE where projects lie (default: SHARE itself)" },
    { .name = "share_group",
      .type = KEY_STR,
      .offset = AT(share_group),
      .help = "group whose members may read projects (default: the owner's own)" },
    { .name = "state",
      .type = KEY_STR,
      .offset = AT(state),
      .help = "folder on a local disk for the database; nobody else's, mode 0700" },
    { .name = "sockets",
      .type = KEY_STRS,
      .offset = AT(sockets),
      .max = 16,
      .help = "unix sockets to listen on; one with a folder %u is made for every user that has"
              " such a folder (default: SHARE/.ludwig/server.sock and, as root,"
              " " LAYOUT_SYSTEM_SOCKET ")" },
    { .name = "socket_group",
      .type = KEY_STR,
      .offset = AT(socket_group),
      .help = "only this group's members may connect (default: everybody on this machine)" },
    { .name = "admins",
      .type = KEY_STRS,
      .offset = AT(admins),
      .help = "users who may change everybody's sweeps, beside root" },
    { .name = "worker_users",
      .type = KEY_STRS,
      .offset = AT(worker_users),
      .help = "accounts whose workers are given everybody's jobs" },
    { .name = "groups",
      .type = KEY_CUSTOM,
      .offset = AT(groups),
      .read = read_groups,
      .help = "names for lists of nodes, used as nodes: [\"@NAME\"]" },
    { .name = "lease",
      .type = KEY_DURATION,
      .offset = AT(lease_ms),
      .help = "how long a worker may be silent before its jobs are given out again (10min)" },
    { .name = "avoid_for",
      .type = KEY_DURATION,
      .offset = AT(avoid_for_ms),
      .help = "how long a user's jobs first avoid a node on which they fail at once, and others do"
              " not (1min); 0: no node is avoided" },
    { .name = "min_uid",
      .type = KEY_INT,
      .offset = AT(min_uid),
      .max = UINT32_MAX,
      .help = "smallest uid whose jobs are taken (1000)" },
    { .name = "sshd",
      .type = KEY_MAP,
      .of = sshd_keys,
      .help = "an sshd of ludwigd's own, where it has no root: listen" },
    { .name = "limits",
      .type = KEY_MAP,
      .of = limits_keys,
      .help = "of each user: gpus_per_user, cpus_per_user, jobs_per_user, open_submits,"
              " queued_jobs, sweeps, projects, configurations, sweep_bytes, buffered,"
              " changes_per_second" },
    { .name = "slurm",
      .type = KEY_MAP,
      .of = slurm_keys,
      .help = "pilots in Slurm: endpoints, login_key, login_host, worker, idle, partitions;"
              " nothing of it is needed" },
    { 0 },
};

/* ---- patterns of sockets: "/srv/sftp/%u/ludwig/server.sock" ---- */

#define ANY_USER "/%u/"

bool conf_is_pattern(const char *socket)
{
    return strchr(socket, '%') != NULL;
}

static int check_pattern(const char *socket, struct err *e)
{
    const char *any = strstr(socket, ANY_USER);

    if (any != NULL && any != socket && strchr(any + 3, '%') == NULL &&
        memchr(socket, '%', (size_t)(any - socket)) == NULL &&
        path_is_inside(any + strlen(ANY_USER)))
        return 0;
    return err_set(e, ERR_USAGE,
                   "sockets: '%s': %%u stands for a user's folder, once, as in"
                   " /srv/sftp/%%u/ludwig/server.sock",
                   socket);
}

void conf_pattern_split(const char *pattern, char **dir, char **below)
{
    const char *any = strstr(pattern, ANY_USER);

    *dir = mem_strndup(pattern, (size_t)(any - pattern));
    *below = mem_strdup(any + strlen(ANY_USER));
}

/* ---- checks ---- */

static int take_path(struct arena *a, const char **path, const char *key, struct err *e)
{
    char *expanded;

    if (*path == NULL)
        return err_set(e, ERR_USAGE, "%s: this key is needed", key);
    expanded = path_expand_home(*path);
    *path = arena_strdup(a, expanded);
    free(expanded);
    if ((*path)[0] != '/')
        return err_set(e, ERR_USAGE, "%s: '%s' is no absolute path", key, *path);
    return 0;
}

/* Cuts slashes at the end.  False: the path leaves the share or has a hidden or unportable name. */
static bool take_projects(struct conf *c)
{
    size_t n = strlen(c->projects);
    bool is_shown = true;

    while (n > 1 && c->projects[n - 1] == '/')
        n--;
    c->projects = arena_strndup(c->arena, c->projects, n);
    for (const char *rest = c->projects; *rest != '\0';) {
        size_t length = strcspn(rest, "/");
        const char *name = arena_strndup(c->arena, rest, length);

        is_shown &= path_is_portable_name(name) && name[0] != '.';
        rest += rest[length] == '/' ? length + 1 : length;
    }
    return is_shown && path_is_inside(c->projects);
}

static int check_conf(struct conf *c, struct err *e)
{
    struct sshd_listen listen;
    const char **sockets = arena_alloc(c->arena, sizeof *sockets), *login = c->slurm.login_host;

    if (take_path(c->arena, &c->share, "share", e) < 0 ||
        take_path(c->arena, &c->state, "state", e) < 0)
        return -1;
    if (c->projects != NULL && !take_projects(c))
        return err_set(e, ERR_USAGE,
                       "projects: '%s' is no folder below share (expected a relative path such as"
                       " lab or research/lab)",
                       c->projects);
    if (c->sockets.n == 0) {
        sockets[0] = arena_printf(c->arena, "%s/.ludwig/server.sock", c->share);
        c->sockets = (struct list){ sockets, 1 };
        c->has_usual_sockets = true;
    }
    sockets = c->sockets.items;
    for (size_t i = 0; i < c->sockets.n; i++)
        if (take_path(c->arena, &sockets[i], "sockets", e) < 0 ||
            (conf_is_pattern(sockets[i]) && check_pattern(sockets[i], e) < 0))
            return -1;
    if (c->sshd_listen != NULL && sshdconf_parse_listen(c->sshd_listen, c->arena, &listen, e) < 0)
        return err_wrap(e, "sshd: listen");
    if (login != NULL && (strpbrk(login, "/@?") != NULL ||
                          endpoint_parse(&c->slurm.login, arena_printf(c->arena, "ssh://%s", login),
                                         c->arena, NULL) < 0))
        return err_set(e, ERR_USAGE, "slurm: login_host: '%s' is not HOST or HOST:PORT", login);
    if (c->lease_ms <= 0)
        return err_set(e, ERR_USAGE, "lease: it must be longer than nothing");
    return 0;
}

int conf_read(const char *path, struct conf *c, struct err *e)
{
    *c = (struct conf){ .arena = arena_create(),
                        .lease_ms = LEASE_MS,
                        .avoid_for_ms = AVOID_FOR_MS,
                        .min_uid = MIN_UID,
                        .open_submits = OPEN_SUBMITS,
                        .queued_jobs = QUEUED_JOBS,
                        .sweeps = SWEEPS,
                        .user_projects = USER_PROJECTS,
                        .configurations = CONFIGURATIONS,
                        .sweep_bytes = INT64_C(1) << 30,
                        .buffered_bytes = BUFFERED_BYTES,
                        .changes_per_second = CHANGES_PER_SECOND };
    c->slurm.idle_ms = PILOT_IDLE_MS;
    c->slurm.has_login_key = true;
    if (yaml_keys_read_file(path, conf_keys, c->arena, c, e) == 0) {
        if (check_conf(c, e) == 0)
            return 0;
        err_wrap(e, "%s", path);
    }
    conf_free(c);
    return -1;
}

bool conf_has_one_job_each(const struct conf *c, const struct slurm_pool *pool)
{
    const struct slurm_site *site = conf_slurm_site(c, pool->partition);

    return pool->pilot_jobs == 1 || (site != NULL && site->pilot_jobs == 1);
}

const struct slurm_site *conf_slurm_site(const struct conf *c, const char *partition)
{
    const struct slurm_site *sites = c->slurm.sites.items;

    for (size_t i = 0; i < c->slurm.sites.n; i++)
        if (strcmp(sites[i].partition, partition) == 0)
            return &sites[i];
    return NULL;
}

void conf_free(struct conf *c)
{
    arena_destroy(c->arena);
    *c = (struct conf){ 0 };
}
