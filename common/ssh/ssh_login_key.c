/* SPDX-License-Identifier: MIT */
/* ssh_login_key.c - logging in by keys: those in files, their certificates, and the agent's */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/ssh/prompt.h"
#include "common/ssh/ssh_cert.h"
#include "common/ssh/ssh_login_key.h"

enum {
    AGENT_FIRST = 4, /* servers take six tries; an agent with more keys than this must wait */
    PUBLIC_MAX_BYTES = 64 * 1024
};

/* ---- keys in files ---- */

/* Whether another key is worth one of the server's tries. */
static bool is_next_key_due(const struct login *l, enum login_outcome outcome)
{
    return outcome == LOGIN_REFUSED &&
           (login_offered(l) == 0 || (login_offered(l) & SSH_AUTH_METHOD_PUBLICKEY) != 0);
}

static int give_passphrase(const char *prompt, char *to, size_t n, int echo, int verify,
                           void *context)
{
    struct login *l = context;
    char *answer = login_ask(l, mem_strdup(prompt), echo != 0);
    int rc = answer == NULL || strlen(answer) >= n ? -1 : 0;

    (void)verify;
    l->was_asked = true;
    if (rc == 0)
        memcpy(to, answer, strlen(answer) + 1);
    prompt_wipe(answer);
    return rc;
}

/* libssh's own prompt does not say for which key. */
struct unlock {
    struct login *l;
    const char *file;
};

static int ask_passphrase(const char *prompt, char *to, size_t n, int echo, int verify,
                          void *context)
{
    struct unlock *u = context;
    char *text = mem_printf("Passphrase for the key %s: ", u->file);
    int rc = give_passphrase(text, to, n, echo, verify, u->l);

    (void)prompt;
    free(text);
    return rc;
}

static ssh_key load_private(struct login *l, const char *file)
{
    struct unlock u = { l, file };

    for (int i = 0; i < LOGIN_TRIES; i++) {
        ssh_key key = NULL;

        l->was_asked = false;
        if (ssh_pki_import_privkey_file(file, NULL, ask_passphrase, &u, &key) == SSH_OK)
            return key;
        if (!l->was_asked || l->no_answer.kind != ERR_NONE)
            break;
    }
    return NULL;
}

static int give_none(const char *prompt, char *to, size_t n, int echo, int verify, void *context)
{
    (void)prompt, (void)to, (void)n, (void)echo, (void)verify, (void)context;
    return -1;
}

/* NULL: a passphrase would be needed. */
static ssh_key load_open(const char *file)
{
    ssh_key key = NULL;

    return ssh_pki_import_privkey_file(file, NULL, give_none, NULL, &key) == SSH_OK ? key : NULL;
}

static ssh_key load_public(const char *file, const char *ending)
{
    char *path = mem_printf("%s%s", file, ending);
    ssh_key key = NULL;
    int rc = access(path, R_OK) < 0 ? SSH_ERROR : ssh_pki_import_pubkey_file(path, &key);

    free(path);
    return rc == SSH_OK ? key : NULL;
}

static bool is_in_agent(const struct login *l, ssh_key key)
{
    const struct ssh_agent_key *keys = l->in_agent.items;
    char *blob = NULL;
    bool is = false;

    if (ssh_pki_export_pubkey_base64(key, &blob) != SSH_OK)
        return false;
    for (size_t i = 0; !is && i < l->in_agent.n; i++)
        is = strcmp(keys[i].blob, blob) == 0;
    ssh_string_free_char(blob);
    return is;
}

static enum login_outcome offer(struct login *l, ssh_key public, const char *what, struct err *e)
{
    struct ssh_patience p = ssh_patience_of(l->s);
    int rc;

    do
        rc = ssh_userauth_try_publickey(l->s->session, NULL, public);
    while (login_is_again(l, rc, &p, e));
    /* What looks like a success is the invitation to sign. */
    return rc == SSH_AUTH_SUCCESS ? LOGIN_ACCEPTED : login_settle(l, rc, what, e);
}

static enum login_outcome sign(struct login *l, ssh_key private, const char *what, struct err *e)
{
    struct ssh_patience p = ssh_patience_of(l->s);
    int rc;

    do
        rc = ssh_userauth_publickey(l->s->session, NULL, private);
    while (login_is_again(l, rc, &p, e));
    return login_settle(l, rc, what, e);
}

static const char *why_locked(const struct login *l)
{
    if (!l->was_asked)
        return "the server takes it, but the file cannot be read";
    return l->no_answer.kind != ERR_NONE ? "the server takes it, but it needs a passphrase: ssh-add"
                                         : "wrong passphrase";
}

/* public: the key, or the certificate of it in that file (otherwise NULL).  Nobody is asked for a
 * passphrase before the server has said that it takes the key; with others that would only be one
 * round trip more. */
static enum login_outcome try_pair(struct login *l, const char *file, ssh_key public,
                                   const char *certificate, struct err *e)
{
    char *what = certificate != NULL ? mem_printf("certificate %s of key %s", certificate, file)
                                     : mem_printf("key %s", file);
    ssh_key secret = load_open(file);
    enum login_outcome outcome = secret != NULL ? LOGIN_ACCEPTED : offer(l, public, what, e);

    if (outcome == LOGIN_ACCEPTED) {
        if (secret == NULL)
            secret = load_private(l, file);
        if (secret == NULL ||
            (certificate != NULL && ssh_pki_copy_cert_to_privkey(public, secret) != SSH_OK)) {
            login_note(l, what, why_locked(l));
            outcome = LOGIN_REFUSED;
        } else {
            outcome = sign(l, secret, what, e);
        }
    }
    ssh_key_free(secret);
    free(what);
    return outcome;
}

/* A file without its public half must be opened to know what to offer. */
static enum login_outcome try_unknown(struct login *l, const char *file, struct err *e)
{
    char *what = mem_printf("key %s", file);
    ssh_key private = load_private(l, file);
    enum login_outcome outcome = LOGIN_REFUSED;

    if (private != NULL)
        outcome = sign(l, private, what, e);
    else
        login_note(l, what,
                   !l->was_asked                   ? "it cannot be read"
                   : l->no_answer.kind != ERR_NONE ? "it needs a passphrase: ssh-add"
                                                   : "wrong passphrase");
    ssh_key_free(private);
    free(what);
    return outcome;
}

static enum login_outcome try_certificate(struct login *l, const char *file, const char *path,
                                          struct err *e)
{
    ssh_key certificate = NULL;
    enum login_outcome outcome = LOGIN_REFUSED;

    if (access(path, R_OK) == 0 && ssh_pki_import_cert_file(path, &certificate) == SSH_OK)
        outcome = try_pair(l, file, certificate, path, e);
    ssh_key_free(certificate);
    return outcome;
}

/* Without the key's public half the server is to say. */
static bool may_belong(const char *certificate, const char *file)
{
    char *path = mem_printf("%s.pub", file);
    struct buf text = { 0 }, key = { 0 };
    bool may = io_read_file(certificate, PUBLIC_MAX_BYTES, &text, NULL) == 0;

    if (may && io_read_file(path, PUBLIC_MAX_BYTES, &key, NULL) == 0)
        may = ssh_cert_is_of(buf_text(&text), buf_text(&key));
    buf_free(&key);
    buf_free(&text);
    free(path);
    return may;
}

/* The one beside the key, then those that the configuration names. */
static enum login_outcome try_certificates(struct login *l, const char *file, struct err *e)
{
    const char *const *named = l->s->conf.certificates.items;
    char *beside = mem_printf("%s-cert.pub", file);
    enum login_outcome outcome = try_certificate(l, file, beside, e);

    for (size_t i = 0; is_next_key_due(l, outcome) && i < l->s->conf.certificates.n; i++)
        if (strcmp(named[i], beside) != 0 && may_belong(named[i], file))
            outcome = try_certificate(l, file, named[i], e);
    free(beside);
    return outcome;
}

static enum login_outcome try_file(struct login *l, const char *file, struct err *e)
{
    ssh_key public = load_public(file, ".pub");
    bool has_private = access(file, F_OK) == 0;
    enum login_outcome outcome = LOGIN_REFUSED;

    if (has_private)
        outcome = try_certificates(l, file, e);
    if (!has_private || !is_next_key_due(l, outcome))
        goto out;
    if (public == NULL)
        outcome = try_unknown(l, file, e);
    else if (!is_in_agent(l, public))
        outcome = try_pair(l, file, public, NULL, e);
out:
    ssh_key_free(public);
    return outcome;
}

static enum login_outcome try_files(struct login *l, struct err *e)
{
    const char *const *files = l->s->conf.identities.items;
    enum login_outcome outcome = LOGIN_REFUSED;

    for (size_t i = 0; is_next_key_due(l, outcome) && i < l->s->conf.identities.n; i++)
        outcome = try_file(l, files[i], e);
    return outcome;
}

/* ---- the agent ---- */

/* With IdentitiesOnly it may be asked for keys that are named; libssh offers all it has. */
static bool may_use_agent(struct login *l)
{
    const char *const *files = l->s->conf.identities.items;
    bool is = !l->s->conf.identities_only;

    for (size_t i = 0; !is && i < l->s->conf.identities.n; i++) {
        ssh_key public = load_public(files[i], ".pub");

        is = public != NULL && is_in_agent(l, public);
        ssh_key_free(public);
    }
    return is && l->in_agent.n > 0;
}

static char *name_agent(const struct login *l)
{
    const struct ssh_agent_key *keys = l->in_agent.items;
    struct buf out = { 0 };

    buf_add_str(&out, "agent with");
    for (size_t i = 0; i < l->in_agent.n; i++)
        buf_printf(&out, "%s %s", i == 0 ? "" : ",",
                   keys[i].name[0] != '\0' ? keys[i].name : "a key without a name");
    return buf_take(&out);
}

static enum login_outcome try_agent(struct login *l, struct err *e)
{
    struct ssh_patience p = ssh_patience_of(l->s);
    enum login_outcome outcome;
    char *what;
    int rc;

    if (!may_use_agent(l))
        return LOGIN_REFUSED;
    do
        rc = ssh_userauth_agent(l->s->session, NULL);
    while (login_is_again(l, rc, &p, e));
    what = name_agent(l);
    outcome = login_settle(l, rc, what, e);
    free(what);
    return outcome;
}

enum login_outcome login_try_keys(struct login *l, struct err *e)
{
    bool agent_first = l->in_agent.n <= AGENT_FIRST;
    enum login_outcome outcome = agent_first ? try_agent(l, e) : try_files(l, e);

    if (!is_next_key_due(l, outcome))
        return outcome;
    return agent_first ? try_files(l, e) : try_agent(l, e);
}

/* Whether it will be shown without anybody being asked for anything. */
static bool lies_open(const struct login *l, const char *file)
{
    ssh_key public = load_public(file, ".pub"), secret = NULL;
    bool is = public != NULL && is_in_agent(l, public);

    if (!is)
        secret = load_open(file);
    is = is || secret != NULL;
    ssh_key_free(public);
    ssh_key_free(secret);
    return is;
}

/* libssh shows all of an agent's keys or none; a server that takes no keys counts each as a try. */
bool login_keys_lie_open(struct login *l)
{
    const char *const *files = l->s->conf.identities.items;
    size_t n = may_use_agent(l) ? l->in_agent.n : 0;

    if (n > 1)
        return false;
    for (size_t i = 0; i < l->s->conf.identities.n; i++) {
        if (access(files[i], F_OK) < 0)
            continue;
        if (!lies_open(l, files[i]))
            return false;
        n++;
    }
    return n > 0;
}
