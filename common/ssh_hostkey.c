/* SPDX-License-Identifier: MIT */
/* ssh_hostkey.c - is it the host it should be? */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ssh_parts.h"

/* libssh looks into one file of the user's and one of the machine's. */
static int look_into(struct ssh *s, const char *file, struct err *e)
{
    if (ssh_options_set(s->session, SSH_OPTIONS_KNOWNHOSTS, file) < 0 ||
        ssh_options_set(s->session, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null") < 0)
        return err_set(e, ERR_INTERNAL, "%s", ssh_words(s));
    return 0;
}

/* The server is asked for a key of the kind that is known, if one is. */
static int choose_file(struct ssh *s, struct err *e)
{
    const char *const *files = s->conf.known_hosts.items;

    for (size_t i = 0; i < s->conf.known_hosts.n; i++) {
        if (access(files[i], R_OK) < 0)
            continue;
        if (look_into(s, files[i], e) < 0)
            return -1;
        if (ssh_session_has_known_hosts_entry(s->session) == SSH_KNOWN_HOSTS_OK)
            return 0;
    }
    return look_into(s, "/dev/null", e);
}

/*
 * What is known is looked up by the name in the session, so an alias for the key takes its place.
 * ssh's StrictHostKeyChecking is not asked: neither "no" nor "accept-new" makes an unknown host one
 * that may be given jobs and data.
 */
int ssh_hostkey_prepare(struct ssh *s, struct err *e)
{
    const char *known_as = s->conf.known_as != NULL ? s->conf.known_as : s->conf.host;
    int port = s->conf.known_as != NULL ? 22 : s->conf.port, strict = 1;

    if (ssh_options_set(s->session, SSH_OPTIONS_HOST, known_as) < 0 ||
        ssh_options_set(s->session, SSH_OPTIONS_PORT, &port) < 0 ||
        ssh_options_set(s->session, SSH_OPTIONS_STRICTHOSTKEYCHECK, &strict) < 0)
        return err_set(e, ERR_INTERNAL, "%s", ssh_words(s));
    return choose_file(s, e);
}

enum verdict { KEY_KNOWN, KEY_CHANGED, KEY_OTHER, KEY_UNKNOWN };

struct finding {
    enum verdict verdict;
    const char *file; /* KEY_CHANGED: where the other key stands */
};

/* A key that one file knows is known, whatever the others say. */
static int look_up(struct ssh *s, struct finding *found, struct err *e)
{
    const char *const *files = s->conf.known_hosts.items;

    *found = (struct finding){ KEY_UNKNOWN, NULL };
    for (size_t i = 0; i < s->conf.known_hosts.n; i++) {
        enum ssh_known_hosts_e said;

        if (access(files[i], R_OK) < 0)
            continue;
        if (look_into(s, files[i], e) < 0)
            return -1;
        said = ssh_session_is_known_server(s->session);
        if (said == SSH_KNOWN_HOSTS_OK) {
            *found = (struct finding){ KEY_KNOWN, files[i] };
            return 0;
        }
        if (said == SSH_KNOWN_HOSTS_CHANGED)
            *found = (struct finding){ KEY_CHANGED, files[i] };
        else if (said == SSH_KNOWN_HOSTS_OTHER && found->verdict == KEY_UNKNOWN)
            *found = (struct finding){ KEY_OTHER, files[i] };
    }
    return 0;
}

/* "@revoked HOSTS TYPE BLOB": the hosts do not matter, a stolen key is one everywhere. */
static bool is_revoked_in(const char *file, const char *blob)
{
    FILE *f = fopen(file, "re");
    char *line = NULL;
    size_t capacity = 0, n = strlen(blob);
    bool found = false;

    while (f != NULL && !found && getline(&line, &capacity, f) > 0) {
        const char *mark = line + strspn(line, " \t");
        const char *at = strncmp(mark, "@revoked", 8) == 0 ? strstr(mark, blob) : NULL;

        found = at != NULL && (at[n] == '\0' || strchr(" \t\r\n", at[n]) != NULL);
    }
    free(line);
    if (f != NULL)
        fclose(f);
    return found;
}

static const char *file_that_revokes(struct ssh *s, ssh_key key)
{
    const char *const *files = s->conf.known_hosts.items, *found = NULL;
    char *blob = NULL;

    if (ssh_pki_export_pubkey_base64(key, &blob) != SSH_OK)
        return NULL;
    for (size_t i = 0; found == NULL && i < s->conf.known_hosts.n; i++)
        if (is_revoked_in(files[i], blob))
            found = files[i];
    ssh_string_free_char(blob);
    return found;
}

static int note_key(struct ssh *s, ssh_key key, struct err *e)
{
    unsigned char *hash = NULL;
    size_t n;
    char *digest;

    if (ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &n) < 0)
        return err_set(e, ERR_FAILED, "the host key has no fingerprint");
    digest = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, n);
    ssh_clean_pubkey_hash(&hash);
    if (digest == NULL)
        return err_set(e, ERR_FAILED, "the host key has no fingerprint");
    s->host_key_digest = mem_strdup(digest);
    s->host_key_type = mem_strdup(ssh_key_type_to_char(ssh_key_type(key)));
    ssh_string_free_char(digest);
    return 0;
}

/* The ssh command line that leads to the same host; the caller frees it. */
static char *ssh_command(const struct ssh *s)
{
    const struct endpoint *to = s->plan.to;
    struct buf out = { 0 };

    buf_add_str(&out, "ssh ");
    if (to->port != 0)
        buf_printf(&out, "-p %d ", to->port);
    if (to->user != NULL)
        buf_printf(&out, "%s@", to->user);
    buf_add_str(&out, to->host);
    return buf_take(&out);
}

static int refuse_unknown(const struct ssh *s, const char *name, struct err *e)
{
    char *command = ssh_command(s);

    err_set(e, ERR_DENIED,
            "%s: its host key is not known here: %s %s; if that is the fingerprint its admin tells "
            "you, accept it, once, with: %s",
            name, s->host_key_type, s->host_key_digest, command);
    free(command);
    return -1;
}

static int refuse_changed(const struct ssh *s, const char *name, const struct finding *found,
                          struct err *e)
{
    const char *known_as = s->conf.known_as != NULL ? s->conf.known_as : s->conf.host;
    char *entry = ssh_conf_host_port(known_as, s->conf.known_as != NULL ? 22 : s->conf.port);
    char *command = ssh_command(s);

    err_set(e, ERR_DENIED,
            "%s: its host key is %s %s, but %s knows %s: somebody may be listening in, or the host "
            "was set up anew; if its admin confirms the fingerprint: ssh-keygen -f '%s' -R '%s', "
            "then %s",
            name, s->host_key_type, s->host_key_digest, found->file,
            found->verdict == KEY_OTHER ? "a key of another type" : "another one", found->file,
            entry, command);
    free(command);
    free(entry);
    return -1;
}

static int judge(struct ssh *s, ssh_key key, struct err *e)
{
    char *name = ssh_dial_name(&s->conf, s->dialed.address);
    const char *revoked = file_that_revokes(s, key);
    struct finding found;
    int rc = -1;

    if (revoked != NULL)
        err_set(e, ERR_DENIED, "%s: its host key %s %s is marked as revoked in %s", name,
                s->host_key_type, s->host_key_digest, revoked);
    else if (look_up(s, &found, e) < 0)
        rc = -1;
    else if (found.verdict == KEY_KNOWN)
        rc = 0;
    else if (found.verdict == KEY_UNKNOWN)
        rc = refuse_unknown(s, name, e);
    else
        rc = refuse_changed(s, name, &found, e);
    free(name);
    return rc;
}

int ssh_hostkey_check(struct ssh *s, struct err *e)
{
    ssh_key key = NULL;
    int rc;

    if (ssh_get_server_publickey(s->session, &key) != SSH_OK)
        return err_set(e, ERR_FAILED, "the server has shown no host key: %s", ssh_words(s));
    rc = note_key(s, key, e);
    if (rc == 0)
        rc = judge(s, key, e);
    ssh_key_free(key);
    return rc;
}
