/* SPDX-License-Identifier: MIT */
/* sshdconf.c - writes sshd_config for ludwigd's own sshd, and checks folders by sshd's rules */
#include "server/base/sshdconf.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/path.h"

/* ---- listen address ---- */

static int parse_port(const char *text, int *port, struct err *e)
{
    enum { PORT_MAX = 65535 };
    char *end;
    long number = strtol(text, &end, 10);

    if (text[0] < '0' || text[0] > '9' || *end != '\0' || number > PORT_MAX)
        return err_set(e, ERR_USAGE, "'%s' is no port", text);
    *port = (int)number;
    return 0;
}

static int take_address(const char *text, struct sshd_listen *l, struct err *e)
{
    struct in6_addr any;

    l->address = text[0] == '\0' || strcmp(text, "*") == 0 ? "" : text;
    if (l->address[0] == '\0' || inet_pton(AF_INET, text, &any) == 1 ||
        inet_pton(AF_INET6, text, &any) == 1)
        return 0;
    return err_set(e, ERR_USAGE,
                   "'%s' is no IP address (expected ADDRESS:PORT, ADDRESS, PORT, or * for all"
                   " addresses)",
                   text);
}

int sshdconf_parse_listen(const char *text, struct arena *a, struct sshd_listen *l, struct err *e)
{
    char *copy = arena_strdup(a, text), *colon = strchr(copy, ':'), *end;

    *l = (struct sshd_listen){ .address = "" };
    if (copy[0] == '[') { /* "[::1]:7022" */
        end = strchr(copy, ']');
        if (end == NULL || (end[1] != '\0' && end[1] != ':'))
            return err_set(e, ERR_USAGE, "'%s' is no address", text);
        if (end[1] == ':' && parse_port(end + 2, &l->port, e) < 0)
            return -1;
        *end = '\0';
        return take_address(copy + 1, l, e);
    }
    if (colon != NULL && strchr(colon + 1, ':') != NULL) /* a bare IPv6 address */
        return take_address(copy, l, e);
    if (colon == NULL && strspn(copy, "0123456789") == strlen(copy) && copy[0] != '\0')
        return parse_port(copy, &l->port, e);
    if (colon != NULL) {
        *colon = '\0';
        if (parse_port(colon + 1, &l->port, e) < 0)
            return -1;
    }
    return take_address(copy, l, e);
}

/* ---- sshd_config ---- */

/* A user with a key gets the server's messages and SFTP, and nothing else: ForceCommand replaces
 * the command that the client asks for, for all keys, whatever their lines say. */
static const char fixed[] = "AuthenticationMethods publickey\n"
                            "PubkeyAuthentication yes\n"
                            "PasswordAuthentication no\n"
                            "KbdInteractiveAuthentication no\n"
                            "HostbasedAuthentication no\n"
                            "UsePAM no\n"
                            "StrictModes yes\n"
                            "DisableForwarding yes\n"
                            "PermitTTY no\n"
                            "PermitUserEnvironment no\n"
                            "PermitUserRC no\n"
                            "PrintMotd no\n"
                            "PrintLastLog no\n"
                            "Compression no\n"
                            "UseDNS no\n"
                            "LoginGraceTime 30\n"
                            "MaxAuthTries 6\n"
                            "MaxSessions 64\n"
                            "MaxStartups 64:30:256\n"
                            "ClientAliveInterval 15\n"
                            "ClientAliveCountMax 4\n"
                            "LogLevel INFO\n"
                            "Subsystem sftp internal-sftp\n";

int sshdconf_write(const struct sshdconf *c, struct buf *out, struct err *e)
{
    const char *const paths[] = { c->dir, c->ludwig, c->socket };
    const char *address = c->listen.address;

    /* The paths stand in a quoted word of sshd_config, where sshd expands %-signs and patterns. */
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (strpbrk(paths[i], "\"'%\\\r\n*?[") != NULL)
            return err_set(e, ERR_USAGE, "sshd: its configuration cannot name %s", paths[i]);
    buf_add_str(out, "# Written by ludwigd at each start.\n");
    if (address[0] == '\0')
        buf_printf(out, "Port %d\n", c->listen.port);
    else
        buf_printf(
            out, strchr(address, ':') != NULL ? "ListenAddress [%s]:%d\n" : "ListenAddress %s:%d\n",
            address, c->listen.port);
    buf_printf(out, "HostKey \"%s/hostkey\"\n", c->dir);
    buf_printf(out, "PidFile \"%s/pid\"\n", c->dir);
    buf_printf(out, "AuthorizedKeysFile \"%s/authorized_keys\"\n", c->dir);
    buf_add_str(out, fixed);
    /* AllowUsers takes a pattern, in which other characters could have a meaning. */
    if (c->user[0] != '\0' && strspn(c->user, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                              "0123456789._-") == strlen(c->user))
        buf_printf(out, "AllowUsers %s\n", c->user);
    buf_printf(out, "ForceCommand '%s' bridge '%s'\n", c->ludwig, c->socket);
    return 0;
}

/* ---- modes ---- */

int sshdconf_check_modes(const char *dir, const char *home, struct err *e)
{
    char *real_home = path_real(home, NULL), *at = path_real(dir, e), *up;
    int rc = at == NULL ? -1 : 0;
    struct stat st;

    while (rc == 0) {
        if (stat(at, &st) < 0)
            rc = err_sys(e, "%s", at);
        else if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & 022) != 0)
            rc = err_set(e, ERR_DENIED,
                         "sshd would accept no key, as others may write into %s (mode %04o)", at,
                         st.st_mode & 07777u);
        if (strcmp(at, "/") == 0 || (real_home != NULL && strcmp(at, real_home) == 0))
            break;
        up = path_dirname(at);
        free(at);
        at = up;
    }
    free(real_home);
    free(at);
    return rc;
}
