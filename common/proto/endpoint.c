/* SPDX-License-Identifier: MIT */
/* endpoint.c - the address of a ludwigd */
#include <stdbool.h>
#include <string.h>

#include "common/proto/endpoint.h"

enum {
    PORT_MAX = 65535,
    REMOTE_PATH_MAX_BYTES = 107, /* the longest path that sshd accepts on Linux */
    HOST_MAX_BYTES = 255
};

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"
#define KEYS    "?keys="
#define BOOT    "?boot="

static const char user_chars[] = LETTERS DIGITS "._+@\\-";
static const char host_chars[] = LETTERS DIGITS "._-";
static const char ipv6_chars[] = LETTERS DIGITS ":.%_-"; /* %eth0 names the interface */

/* The rest of text behind the prefix; NULL: text does not begin with it. */
static const char *after(const char *text, const char *prefix)
{
    size_t n = strlen(prefix);

    return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

/* A leading - is refused, as the next program would take it for an option. */
static bool consists_of(const char *text, const char *chars)
{
    return text[0] != '\0' && text[0] != '-' && text[strspn(text, chars)] == '\0';
}

static bool is_plain_path(const char *path)
{
    for (const char *p = path; *p != '\0'; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            return false;
    return path[0] == '/';
}

/* Parses the path of a socket or share, which stands behind the scheme. */
static int parse_path(struct endpoint *ep, enum endpoint_kind kind, const char *path,
                      struct arena *a, struct err *e)
{
    if (!is_plain_path(path))
        return err_set(e, ERR_USAGE, "'%s': behind %s an absolute path is expected, as in %s",
                       ep->text, kind == ENDPOINT_UNIX ? "unix:" : "share:",
                       kind == ENDPOINT_UNIX ? "unix:/run/ludwig/server.sock" : "share:/srv/data");
    ep->kind = kind;
    ep->path = arena_strdup(a, path);
    return 0;
}

/* text: "/path/server.sock?boot=ID" */
static int parse_unix(struct endpoint *ep, const char *text, struct arena *a, struct err *e)
{
    char *rest = arena_strdup(a, text), *query = strstr(rest, BOOT);

    if (query != NULL) {
        *query = '\0';
        ep->host = query + strlen(BOOT);
        if (!consists_of(ep->host, host_chars) || strlen(ep->host) > HOST_MAX_BYTES)
            return err_set(e, ERR_USAGE, "'%s': '%s' is no boot id", ep->text, ep->host);
    }
    return parse_path(ep, ENDPOINT_UNIX, rest, a, e);
}

static int parse_port(struct endpoint *ep, const char *digits, struct err *e)
{
    int port = 0;

    for (const char *p = digits; *p >= '0' && *p <= '9' && port <= PORT_MAX; p++)
        port = port * 10 + *p - '0';
    if (!consists_of(digits, DIGITS) || port < 1 || port > PORT_MAX)
        return err_set(e, ERR_USAGE, "'%s': '%s' is no port (1 to %d)", ep->text, digits, PORT_MAX);
    ep->port = port;
    return 0;
}

/* text: "host:port", which is in the arena and is changed. */
static int parse_host(struct endpoint *ep, char *text, struct err *e)
{
    char *colon = strchr(text, ':');

    if (text[0] == '[') { /* "[fe80::1%eth0]" or "[::1]:22" */
        char *end = strchr(text, ']');

        if (end == NULL || (end[1] != '\0' && end[1] != ':'))
            return err_set(e, ERR_USAGE, "'%s': an IPv6 address is written as in ssh://[::1]:22",
                           ep->text);
        *end = '\0';
        ep->host = text + 1;
        if (strchr(ep->host, ':') == NULL || ep->host[strspn(ep->host, ipv6_chars)] != '\0')
            return err_set(e, ERR_USAGE, "'%s': '%s' is no IPv6 address", ep->text, ep->host);
        return end[1] == ':' ? parse_port(ep, end + 2, e) : 0;
    }
    if (colon != NULL && strchr(colon + 1, ':') != NULL)
        return err_set(e, ERR_USAGE, "'%s': an IPv6 address is written in brackets: ssh://[%s]",
                       ep->text, text);
    if (colon != NULL)
        *colon = '\0';
    ep->host = text;
    if (text[0] == '\0')
        return err_set(e, ERR_USAGE, "'%s' names no host", ep->text);
    if (!consists_of(text, host_chars) || strlen(text) > HOST_MAX_BYTES)
        return err_set(e, ERR_USAGE, "'%s': '%s' cannot be the name of a host", ep->text, text);
    return colon != NULL ? parse_port(ep, colon + 1, e) : 0;
}

/* text: "user@host:port/path?keys=/folder"; a user's name may contain an @. */
static int parse_ssh(struct endpoint *ep, const char *text, struct arena *a, struct err *e)
{
    char *rest = arena_strdup(a, text), *query = strstr(rest, KEYS), *user = NULL, *host, *at;
    size_t n;

    ep->kind = ENDPOINT_SSH;
    if (query != NULL) {
        *query = '\0';
        ep->keys = query + strlen(KEYS);
        if (!is_plain_path(ep->keys))
            return err_set(e, ERR_USAGE, "'%s': behind " KEYS " an absolute path is expected",
                           ep->text);
    }
    n = strcspn(rest, "/");
    host = arena_strndup(a, rest, n);
    at = strrchr(host, '@');
    if (at != NULL) {
        *at = '\0';
        user = host;
        host = at + 1;
    }
    if (user != NULL && strchr(user, ':') != NULL)
        return err_set(e, ERR_USAGE,
                       "a password has no place in an address: write ssh://user@host; it is asked "
                       "for, or better, use a key");
    if (user != NULL && !consists_of(user, user_chars))
        return err_set(e, ERR_USAGE, "'%s': '%s' cannot be the name of a user", ep->text, user);
    ep->user = user;
    if (parse_host(ep, host, e) < 0)
        return -1;
    if (rest[n] != '/' || rest[n + 1] == '\0')
        return 0;
    ep->path = rest + n;
    if (!is_plain_path(ep->path))
        return err_set(e, ERR_USAGE, "the path of '%s' has control characters", ep->text);
    if (strlen(ep->path) > REMOTE_PATH_MAX_BYTES)
        return err_set(e, ERR_USAGE, "'%s': the path of a socket has at most %d bytes", ep->text,
                       REMOTE_PATH_MAX_BYTES);
    return 0;
}

int endpoint_parse(struct endpoint *ep, const char *text, struct arena *a, struct err *e)
{
    const char *path = after(text, "unix:"), *rest = after(text, "ssh://");
    const char *share = after(text, "share:");

    *ep = (struct endpoint){ .text = arena_strdup(a, text) };
    if (path != NULL)
        return parse_unix(ep, path, a, e);
    if (rest != NULL)
        return parse_ssh(ep, rest, a, e);
    if (share != NULL)
        return parse_path(ep, ENDPOINT_SHARE, share, a, e);
    return err_set(e, ERR_USAGE, "'%s' is no address of a server (write %s)", text, ENDPOINT_FORMS);
}
