/* SPDX-License-Identifier: MIT */
/* ssh_hostkey.c - checks the server's host key */
#include <stdlib.h>
#include <string.h>

#include "common/ssh/known_hosts.h"
#include "common/ssh/ssh_internal.h"

/* All types that libssh knows, the usual ones first. */
#define KEY_TYPES \
    "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,rsa-sha2-256"

/* The name by which the host's key is known; the caller frees it. */
static char *known_name(const struct ssh *s)
{
    if (s->conf.known_as != NULL)
        return mem_strdup(s->conf.known_as);
    return ssh_conf_host_port(s->conf.host, s->conf.port);
}

/* Asks the server for a key of a type that is known, if one is.  libssh must not read files of
 * known hosts itself, as it gives up at the first line that it cannot parse. */
int ssh_hostkey_prepare(struct ssh *s, struct err *e)
{
    char *name = known_name(s), *known, *save = NULL;
    struct buf types = { 0 }, wanted = { 0 };
    int rc = 0;

    known_hosts_types(&s->conf.known_hosts, name, &types);
    known = buf_take(&types);
    /* "ssh-rsa" is a type of key; a host key algorithm names the signature as well. */
    for (char *t = strtok_r(known, ",", &save); t != NULL; t = strtok_r(NULL, ",", &save))
        buf_printf(&wanted, "%s,", strcmp(t, "ssh-rsa") == 0 ? "rsa-sha2-512,rsa-sha2-256" : t);
    buf_add_str(&wanted, KEY_TYPES);
    if (ssh_options_set(s->session, SSH_OPTIONS_HOSTKEYS, buf_text(&wanted)) < 0 ||
        ssh_options_set(s->session, SSH_OPTIONS_KNOWNHOSTS, "/dev/null") < 0 ||
        ssh_options_set(s->session, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null") < 0)
        rc = err_set(e, ERR_INTERNAL, "libssh: %s", ssh_words(s));
    buf_free(&wanted);
    free(known);
    free(name);
    return rc;
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

/*
 * As for ssh, a host that is known without its port is known.  ssh's StrictHostKeyChecking is
 * ignored: neither "no" nor "accept-new" makes an unknown host one that may get jobs and data.
 */
static int judge_key(const struct ssh *s, const char *blob, struct err *e)
{
    char *entry = known_name(s), *command = ssh_command(s);
    const char *type = s->host_key_type, *digest = s->host_key_digest;
    struct known_key key = { entry, type, blob };
    struct known_answer known = known_hosts_ask(&s->conf.known_hosts, &key), plain;
    int rc = 0;

    if (known.verdict == KNOWN_NOT) {
        key.host = s->conf.host;
        plain = known_hosts_ask(&s->conf.known_hosts, &key);
        if (plain.verdict == KNOWN_YES)
            known = plain;
    }
    switch (known.verdict) {
    case KNOWN_YES: break;
    case KNOWN_NOT:
        rc = err_set(e, ERR_DENIED,
                     "its host key is not known here: %s %s; %sif that is the fingerprint its "
                     "admin tells you, accept it, once, with: %s",
                     type, digest,
                     s->conf.kept_in != NULL /* or ssh forgets what it accepts */
                         ? ""
                         : "ssh's configuration keeps no host keys of it: name a file as its "
                           "UserKnownHostsFile, such as ~/.ssh/known_hosts; then, ",
                     command);
        break;
    case KNOWN_OTHER_TYPE:
    case KNOWN_CHANGED:
        rc = err_set(e, ERR_DENIED,
                     "its host key is %s %s, but %s knows %s: somebody may be listening in, or "
                     "the host was set up anew; if its admin confirms the fingerprint: ssh-keygen "
                     "-f '%s' -R '%s', then %s",
                     type, digest, known.file,
                     known.verdict == KNOWN_OTHER_TYPE ? "a key of another type" : "another one",
                     known.file, entry, command);
        break;
    case KNOWN_REVOKED:
        rc = err_set(e, ERR_DENIED, "its host key %s %s is marked as revoked in %s", type, digest,
                     known.file);
        break;
    }
    free(command);
    free(entry);
    return rc < 0 ? ssh_dial_wrap(&s->conf, s->dialed.address, e) : 0;
}

int ssh_hostkey_check(struct ssh *s, struct err *e)
{
    ssh_key key = NULL;
    char *blob = NULL, *digest = NULL;
    unsigned char *hash = NULL;
    size_t n;
    int rc = -1;

    if (ssh_get_server_publickey(s->session, &key) != SSH_OK ||
        ssh_pki_export_pubkey_base64(key, &blob) != SSH_OK) {
        err_set(e, ERR_FAILED, "the server has shown no host key: %s", ssh_words(s));
        goto out;
    }
    if (ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &n) == 0)
        digest = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, n);
    if (digest == NULL) {
        err_set(e, ERR_FAILED, "the host key has no fingerprint");
        goto out;
    }
    s->host_key_digest = mem_strdup(digest);
    s->host_key_type = mem_strdup(ssh_key_type_to_char(ssh_key_type(key)));
    rc = judge_key(s, blob, e);
out:
    ssh_clean_pubkey_hash(&hash);
    ssh_string_free_char(digest);
    ssh_string_free_char(blob);
    ssh_key_free(key);
    return rc;
}
