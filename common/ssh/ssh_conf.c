/* SPDX-License-Identifier: MIT */
/* ssh_conf.c - ssh's own configuration for a host */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "common/ssh/ssh_conf.h"

enum {
    OUTPUT_MAX_BYTES = 1024 * 1024,
    READ_BYTES = 4096,
    LIST_MAX = 100,
    SSH_PORT = 22,
    OWN_CONNECT_MS = 10 * 1000 /* for ludwigd's pilots, which have other ways to try */
};

#ifndef __linux__
extern char **environ;
#endif

/* ---- words and lists ---- */

static bool is(const char *word, const char *other)
{
    return strcasecmp(word, other) == 0;
}

static void add_text(struct list *list, struct arena *a, const char *text)
{
    const char **items = list->items;

    if (items == NULL)
        list->items = items = arena_alloc(a, LIST_MAX * sizeof *items);
    if (list->n < LIST_MAX)
        items[list->n++] = text;
}

static char *account_home(void)
{
    const struct passwd *user = getpwuid(geteuid());

    return mem_strdup(user != NULL && user->pw_dir != NULL ? user->pw_dir : "/");
}

/* $HOME, or the account's home; caller frees. */
static char *own_home(void)
{
    const char *home = getenv("HOME");

    return home != NULL && home[0] == '/' ? mem_strdup(home) : account_home();
}

char *ssh_conf_host_port(const char *host, int port)
{
    return port == SSH_PORT ? mem_strdup(host) : mem_printf("[%s]:%d", host, port);
}

/* ---- tokens: %h, ~ ---- */

static const char *expand_tokens(struct ssh_conf *c, const char *text)
{
    char *home = own_home();
    const struct passwd *me = getpwuid(geteuid());
    char here[NI_MAXHOST] = "";
    struct buf out = { 0 };

    (void)gethostname(here, sizeof here - 1);
    for (const char *p = text; *p != '\0'; p++) {
        if (p[0] != '%' || p[1] == '\0') {
            buf_add_char(&out, *p);
            continue;
        }
        switch (*++p) {
        case '%': buf_add_char(&out, '%'); break;
        case 'd': buf_add_str(&out, home); break;
        case 'h': buf_add_str(&out, c->host); break;
        case 'i': buf_printf(&out, "%u", (unsigned)geteuid()); break;
        case 'k': buf_add_str(&out, c->known_as != NULL ? c->known_as : c->alias); break;
        case 'l': buf_add_str(&out, here); break;
        case 'L': buf_add(&out, here, strcspn(here, ".")); break;
        case 'n': buf_add_str(&out, c->alias); break;
        case 'p': buf_printf(&out, "%d", c->port); break;
        case 'r': buf_add_str(&out, c->user); break;
        case 'u': buf_add_str(&out, me != NULL ? me->pw_name : ""); break;
        default: buf_printf(&out, "%%%c", *p); break;
        }
    }
    free(home);
    return buf_to_arena(&out, c->arena);
}

/* Replaces the account's home, which `ssh -G` has put in for "~", by $HOME. */
static const char *expand_file(struct ssh_conf *c, const char *text)
{
    const char *path = expand_tokens(c, text);
    char *home = own_home(), *account = account_home();
    size_t n = strlen(account);

    if (strncmp(path, "~/", 2) == 0)
        path = arena_printf(c->arena, "%s%s", home, path + 1);
    else if (strncmp(path, account, n) == 0 && strncmp(path + n, "/.ssh/", 6) == 0)
        path = arena_printf(c->arena, "%s%s", home, path + n);
    free(account);
    free(home);
    return path;
}

static void expand_list(struct ssh_conf *c, struct list *list)
{
    const char **items = list->items;

    for (size_t i = 0; i < list->n; i++)
        items[i] = expand_file(c, items[i]);
}

/* ---- output of ssh -G: "key value" in each line ---- */

struct raw {
    const char *proxy_command, *proxy_jump, *agent;
    struct list global_known_hosts;
};

static const char *unless_none(const char *value)
{
    return value == NULL || is(value, "none") ? NULL : value;
}

static void take_setting(struct ssh_conf *c, struct raw *raw, const char *key, char *value)
{
    /* A row has one target: for a text, for yes or no, for a file, for several words. */
    const struct {
        const char *key;
        const char **text;
        bool *flag;
        struct list *file, *files;
    } settings[] = {
        { "hostname", .text = &c->host },
        { "user", .text = &c->user },
        { "hostkeyalias", .text = &c->known_as },
        { "proxycommand", .text = &raw->proxy_command },
        { "proxyjump", .text = &raw->proxy_jump },
        { "identityagent", .text = &raw->agent },
        { "identitiesonly", .flag = &c->identities_only },
        { "pubkeyauthentication", .flag = &c->may_use_keys },
        { "gssapiauthentication", .flag = &c->may_use_gssapi },
        { "kbdinteractiveauthentication", .flag = &c->may_use_kbdint },
        { "challengeresponseauthentication", .flag = &c->may_use_kbdint },
        { "passwordauthentication", .flag = &c->may_use_password },
        { "identityfile", .file = &c->identities },
        { "certificatefile", .file = &c->certificates },
        { "userknownhostsfile", .files = &c->known_hosts },
        { "globalknownhostsfile", .files = &raw->global_known_hosts },
    };
    char *save = NULL;

    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        if (!is(key, settings[i].key))
            continue;
        if (settings[i].text != NULL)
            *settings[i].text = value;
        else if (settings[i].flag != NULL)
            *settings[i].flag = is(value, "yes") || is(value, "true") || is(value, "unbound") ||
                                is(value, "host-bound");
        else if (settings[i].file != NULL && !is(value, "none"))
            add_text(settings[i].file, c->arena, value);
        else if (settings[i].files != NULL)
            for (char *w = strtok_r(value, " ", &save); w; w = strtok_r(NULL, " ", &save))
                if (!is(w, "none"))
                    add_text(settings[i].files, c->arena, w);
    }
    if (is(key, "port"))
        c->port = atoi(value);
    else if (is(key, "addressfamily"))
        c->family = is(value, "inet") ? AF_INET : is(value, "inet6") ? AF_INET6 : AF_UNSPEC;
    else if (is(key, "connecttimeout"))
        c->connect_ms = (int64_t)atoi(value) * 1000;
    else if (is(key, "serveraliveinterval"))
        c->silence_ms = (int64_t)atoi(value) * 1000;
    else if (is(key, "serveralivecountmax"))
        c->n_questions = atoi(value);
}

/* The configuration file for ssh where $HOME is not the account's home, below which ssh looks for
 * it; caller frees.  NULL: ssh finds it itself. */
static char *own_file(void)
{
    char *home = own_home(), *account = account_home(), *file = NULL;

    if (strcmp(home, account) != 0) {
        file = mem_printf("%s/.ssh/config", home);
        if (access(file, R_OK) < 0) {
            free(file);
            file = mem_strdup(access("/etc/ssh/ssh_config", R_OK) == 0 ? "/etc/ssh/ssh_config"
                                                                       : "none");
        }
    }
    free(account);
    free(home);
    return file;
}

/*
 * Turns a ProxyJump into a ProxyCommand as ssh does it: ssh to the last hop, with the hops before
 * it as its own -J.  Where $HOME has its own ssh configuration, ssh gets it with -F.
 */
static int take_jump(struct ssh_conf *c, const char *jump, struct err *e)
{
    const char *comma = strrchr(jump, ','), *last = comma != NULL ? comma + 1 : jump;
    const char *before = "", *own = "", *at, *host, *user = "", *port = "", *colon;
    char *file;

    /* A quote could end the command line's own quotes and begin another command. */
    if (jump[0] == '-' || strpbrk(jump, "'\"\\$`;&|<>() \t\n") != NULL)
        return err_set(e, ERR_USAGE, "ssh's configuration: '%s' is no ProxyJump", jump);
    if (strncmp(last, "ssh://", 6) == 0)
        last += 6;
    if (comma != NULL)
        before = arena_printf(c->arena, " -J '%.*s'", (int)(comma - jump), jump);
    file = own_file();
    if (file != NULL)
        own = arena_printf(c->arena, " -F '%s'", file);
    free(file);
    at = strrchr(last, '@');
    host = at != NULL ? at + 1 : last;
    if (at != NULL)
        user = arena_printf(c->arena, " -l '%.*s'", (int)(at - last), last);
    colon = strrchr(host, ':');
    if (colon != NULL && (host[0] != '[' || colon[-1] == ']')) {
        port = arena_printf(c->arena, " -p '%s'", colon + 1);
        host = arena_strndup(c->arena, host, (size_t)(colon - host));
    }
    if (host[0] == '[')
        host = arena_strndup(c->arena, host + 1, strlen(host) - 2);
    c->proxy_command = arena_printf(c->arena, "ssh%s%s%s%s -W '[%s]:%d' -- '%s'", own, before, user,
                                    port, c->host, c->port, host);
    return 0;
}

static void find_agent(struct ssh_conf *c, const char *setting)
{
    const char *variable = setting == NULL || is(setting, "SSH_AUTH_SOCK") ? "SSH_AUTH_SOCK" : NULL;

    if (setting != NULL && setting[0] == '$')
        variable = setting + 1;
    if (variable != NULL)
        c->agent = getenv(variable);
    else if (!is(setting, "none"))
        c->agent = expand_file(c, setting);
    if (c->agent != NULL)
        c->agent = c->agent[0] == '\0' ? NULL : arena_strdup(c->arena, c->agent);
}

static int settle_conf(struct ssh_conf *c, struct raw *raw, struct err *e)
{
    const char *command = unless_none(raw->proxy_command), *jump = unless_none(raw->proxy_jump);
    const char *const *global = raw->global_known_hosts.items, *const * own;
    bool has_own = c->known_hosts.n > 0;

    c->known_as = unless_none(c->known_as);
    if (command != NULL)
        c->proxy_command = expand_tokens(c, command);
    else if (jump != NULL && take_jump(c, jump, e) < 0)
        return -1;
    for (size_t i = 0; i < raw->global_known_hosts.n; i++)
        add_text(&c->known_hosts, c->arena, global[i]);
    expand_list(c, &c->identities);
    expand_list(c, &c->certificates);
    expand_list(c, &c->known_hosts);
    own = c->known_hosts.items;
    if (has_own && strcmp(own[0], "/dev/null") != 0)
        c->kept_in = own[0];
    find_agent(c, raw->agent);
    return 0;
}

static void set_defaults(struct ssh_conf *c, const struct endpoint *to)
{
    const struct passwd *me = getpwuid(geteuid());

    *c = (struct ssh_conf){ .arena = arena_create(),
                            .port = to->port != 0 ? to->port : SSH_PORT,
                            .may_use_keys = true,
                            .may_use_kbdint = true,
                            .may_use_password = true };
    c->alias = c->host = arena_strdup(c->arena, to->host);
    c->user = to->user != NULL                    ? arena_strdup(c->arena, to->user)
              : me != NULL && me->pw_name != NULL ? arena_strdup(c->arena, me->pw_name)
                                                  : "";
}

int ssh_conf_parse(struct ssh_conf *c, const struct endpoint *to, const char *said, struct err *e)
{
    struct raw raw = { 0 };
    char *save = NULL, *text;

    set_defaults(c, to);
    text = arena_strdup(c->arena, said);
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *value = strchr(line, ' ');

        if (value == NULL)
            continue;
        *value++ = '\0';
        take_setting(c, &raw, line, value);
    }
    if (settle_conf(c, &raw, e) == 0)
        return 0;
    ssh_conf_free(c);
    return -1;
}

/* ---- running ssh -G ---- */

int ssh_spawn(const char *const *argv, const int fds[3], pid_t *pid)
{
    posix_spawn_file_actions_t files;
    int rc = posix_spawn_file_actions_init(&files);

    if (rc != 0)
        return rc;
    if (fds[STDIN_FILENO] < 0)
        rc = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    for (int i = 0; rc == 0 && i < 3; i++)
        if (fds[i] >= 0)
            rc = posix_spawn_file_actions_adddup2(&files, fds[i], i);
    if (rc == 0)
        rc = posix_spawnp(pid, argv[0], &files, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

/* Reads to the end of file, at most OUTPUT_MAX_BYTES; -1 when the end does not come in time. */
static int read_all(int fd, struct buf *out, int64_t until_ms)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    while (out->n < OUTPUT_MAX_BYTES) {
        int64_t left_ms = until_ms - units_monotonic_ms();
        int rc = poll(&p, 1, left_ms > 0 ? (int)left_ms : 0);
        ssize_t n;

        if (rc == 0)
            return -1;
        if (rc < 0 && errno == EINTR)
            continue;
        n = read(fd, buf_reserve(out, READ_BYTES), READ_BYTES);
        if (n <= 0)
            return 0;
        buf_added(out, (size_t)n);
    }
    return 0;
}

static int refuse_conf(const struct buf *said, struct err *e)
{
    char *text = mem_strdup(buf_text(said)), *save = NULL;
    struct buf line = { 0 };

    for (char *l = strtok_r(text, "\r\n", &save); l != NULL; l = strtok_r(NULL, "\r\n", &save))
        buf_printf(&line, "%s%s", line.n > 0 ? "; " : "", l);
    err_set(e, ERR_USAGE, "ssh's configuration cannot be read: %s",
            line.n > 0 ? buf_text(&line) : "ssh -G failed");
    buf_free(&line);
    free(text);
    return -1;
}

/* Appends the output of `ssh -G`.  Returns 0, 1 when there is no ssh here, or -1 with e set. */
static int ask_ssh(const struct endpoint *to, struct buf *out, int64_t max_ms, struct err *e)
{
    int64_t until_ms = units_monotonic_ms() + max_ms;
    char *file = own_file(), *port = mem_printf("%d", to->port);
    const char *argv[12] = { "ssh", "-G" };
    int n = 2, ends[2], number, status = -1, rc;
    pid_t pid = -1;

    if (file != NULL) {
        argv[n++] = "-F";
        argv[n++] = file;
    }
    if (to->port != 0) {
        argv[n++] = "-p";
        argv[n++] = port;
    }
    if (to->user != NULL) {
        argv[n++] = "-l";
        argv[n++] = to->user;
    }
    argv[n++] = "--";
    argv[n++] = to->host;
    if (pipe(ends) < 0) {
        rc = err_sys(e, "pipe");
        goto out;
    }
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    number = ssh_spawn(argv, (const int[]){ -1, ends[1], ends[1] }, &pid);
    close(ends[1]);
    rc = number == 0 ? read_all(ends[0], out, until_ms) : 1;
    close(ends[0]);
    if (number != 0)
        goto out;
    if (rc < 0)
        (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (rc < 0)
        err_set(e, ERR_FAILED,
                "ssh -G has not said within %g s what ssh's configuration is: see whether a "
                "command in it (Match exec) or a name that it looks up hangs",
                (double)max_ms / 1000);
    else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        rc = refuse_conf(out, e);
out:
    free(port);
    free(file);
    return rc;
}

int ssh_conf_read(struct ssh_conf *c, const struct endpoint *to, int64_t max_ms, struct err *e)
{
    static const char *const keys[] = { "~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa" };
    struct buf text = { 0 };
    int missing, rc = -1;

    if (to->keys != NULL) { /* ludwigd's keys for its pilots */
        set_defaults(c, to);
        add_text(&c->identities, c->arena, arena_printf(c->arena, "%s/key", to->keys));
        add_text(&c->known_hosts, c->arena, arena_printf(c->arena, "%s/known_hosts", to->keys));
        c->known_as = ENDPOINT_KNOWN_AS;
        c->connect_ms = OWN_CONNECT_MS;
        c->identities_only = true;
        c->may_use_kbdint = c->may_use_password = false;
        return 0;
    }
    missing = ask_ssh(to, &text, max_ms, e);
    if (missing >= 0)
        rc = ssh_conf_parse(c, to, buf_text(&text), e);
    if (rc == 0 && missing) { /* ssh's default files of keys */
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
            add_text(&c->identities, c->arena, expand_file(c, keys[i]));
        c->kept_in = expand_file(c, "~/.ssh/known_hosts");
        add_text(&c->known_hosts, c->arena, c->kept_in);
        add_text(&c->known_hosts, c->arena, "/etc/ssh/ssh_known_hosts");
        c->is_guess = true;
    } else if (rc == 0 && text.n <= SSH_CONF_SAID_MAX_BYTES)
        c->said = arena_strdup(c->arena, buf_text(&text));
    buf_free(&text);
    return rc;
}

void ssh_conf_free(struct ssh_conf *c)
{
    arena_destroy(c->arena);
    *c = (struct ssh_conf){ .arena = NULL };
}
