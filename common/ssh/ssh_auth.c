/* SPDX-License-Identifier: MIT */
/* ssh_auth.c - logs in by keys, their certificates and an agent, tickets, answers and passwords */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/ssh/prompt.h"
#include "common/ssh/ssh_internal.h"
#include "common/ssh/ssh_keys.h"

enum {
    LOGIN_TRIES = 3, /* of a typed password or passphrase */
    AGENT_FIRST = 4, /* servers take six tries; an agent with more keys than this is asked later */
    ROUNDS_MAX = 8,  /* a server may want several methods, one after the other */
    PUBLIC_MAX_BYTES = 64 * 1024
};

enum login_outcome { LOGIN_FAILED = -1, LOGIN_REFUSED, LOGIN_PARTIAL, LOGIN_ACCEPTED };

/* One log-in. */
struct login {
    struct ssh *s;
    struct arena *arena;
    struct buf tried;     /* "key ~/.ssh/id_rsa (refused), ..." */
    struct list in_agent; /* struct ssh_agent_key */
    const char *locked;   /* the file for whose passphrase ask_passphrase asks */
    bool was_asked;       /* the user was asked for that passphrase */
    struct err no_answer; /* the user could not be asked, or did not answer */
    unsigned done;        /* SSH_AUTH_METHOD_... that were tried */
};

/* ---- tries and their outcome ---- */

/* Adds "WHAT (HOW)" to l->tried, for the message that no try succeeded. */
static void note_try(struct login *l, const char *what, const char *how)
{
    if (l->tried.n > 0)
        buf_add_str(&l->tried, ", ");
    buf_printf(&l->tried, "%s (%s)", what, how);
}

/* Gives the user's answer, to be wiped; NULL with l->no_answer set.  Frees text. */
static char *ask_user(struct login *l, char *text, bool echo)
{
    char *answer;

    /* The server's text must not control the terminal. */
    for (char *p = text; *p != '\0'; p++)
        if (((unsigned char)*p < ' ' && *p != '\n') || *p == 0x7f)
            *p = '?';
    answer = l->s->plan.ask(l->s->plan.context, text, echo, &l->no_answer);
    free(text);
    return answer;
}

enum call { CALL_NONE, CALL_OFFER, CALL_SIGN, CALL_AGENT, CALL_GSSAPI, CALL_KBDINT, CALL_PASSWORD };

/* Calls a libssh function; with: the key or the password.  These functions return "again" until the
 * server has answered, and even after it has hung up. */
static int call_libssh(struct login *l, enum call which, void *with, struct err *e)
{
    struct ssh_patience p = ssh_patience_of(l->s);
    ssh_session session = l->s->session;
    int rc = SSH_AUTH_ERROR;

    do
        switch (which) {
        case CALL_NONE: rc = ssh_userauth_none(session, NULL); break;
        case CALL_OFFER: rc = ssh_userauth_try_publickey(session, NULL, with); break;
        case CALL_SIGN: rc = ssh_userauth_publickey(session, NULL, with); break;
        case CALL_AGENT: rc = ssh_userauth_agent(session, NULL); break;
        case CALL_GSSAPI: rc = ssh_userauth_gssapi(session); break;
        case CALL_KBDINT: rc = ssh_userauth_kbdint(session, NULL, NULL); break;
        case CALL_PASSWORD: rc = ssh_userauth_password(session, NULL, with); break;
        }
    while (rc == SSH_AUTH_AGAIN && ssh_is_connected(session) && ssh_wait_again(l->s, &p, e) == 0);
    return rc;
}

/* Gives the outcome of a try by what; rc: the server's answer.  Notes the try if it was refused. */
static enum login_outcome settle_try(struct login *l, int rc, const char *what, struct err *e)
{
    struct ssh *s = l->s;
    bool is_connected = ssh_is_connected(s->session) != 0, has_said_goodbye;

    if (rc == SSH_AUTH_AGAIN && is_connected) {
        err_wrap(e, "authentication");
        if (e != NULL && e->kind == ERR_BUSY)
            e->kind = ERR_UNREACHABLE;
        return LOGIN_FAILED;
    }
    if (rc == SSH_AUTH_SUCCESS || rc == SSH_AUTH_PARTIAL) {
        char *before = s->authentication;

        s->authentication =
            before != NULL ? mem_printf("%s, then %s", before, what) : mem_strdup(what);
        free(before);
        return rc == SSH_AUTH_SUCCESS ? LOGIN_ACCEPTED : LOGIN_PARTIAL;
    }
    note_try(l, what, "refused");
    if (is_connected && (rc != SSH_AUTH_ERROR || ssh_get_error_code(s->session) != SSH_FATAL))
        return LOGIN_REFUSED;
    /* A server that sends a disconnect message refuses the log-in; one that just vanishes may come
     * back.  ssh_get_disconnect_message is empty before we disconnect, and replaces the error. */
    has_said_goodbye = strstr(ssh_get_error(s->session), "SSH_MSG_DISCONNECT") != NULL;
    err_set(e, has_said_goodbye ? ERR_DENIED : ERR_UNREACHABLE,
            "the server ended the authentication (%s); tried: %s", ssh_words(s),
            buf_text(&l->tried));
    return LOGIN_FAILED;
}

/* The methods that the server takes now, from its last refusal; 0 before the first one. */
static unsigned offered(const struct login *l)
{
    return (unsigned)ssh_userauth_list(l->s->session, NULL);
}

/* ---- keys in files ---- */

/* Whether another key is worth one of the server's tries. */
static bool is_next_key_due(const struct login *l, enum login_outcome outcome)
{
    return outcome == LOGIN_REFUSED &&
           (offered(l) == 0 || (offered(l) & SSH_AUTH_METHOD_PUBLICKEY) != 0);
}

/* Callback for a passphrase; libssh's own prompt would not name the key. */
static int ask_passphrase(const char *prompt, char *to, size_t n, int echo, int verify,
                          void *context)
{
    struct login *l = context;
    char *answer = ask_user(l, mem_printf("Passphrase for the key %s: ", l->locked), echo != 0);
    int rc = answer == NULL || strlen(answer) >= n ? -1 : 0;

    (void)prompt, (void)verify;
    l->was_asked = true;
    if (rc == 0)
        memcpy(to, answer, strlen(answer) + 1);
    prompt_wipe(answer);
    return rc;
}

static ssh_key load_private(struct login *l, const char *file)
{
    l->locked = file;
    for (int i = 0; i < LOGIN_TRIES; i++) {
        ssh_key key = NULL;

        l->was_asked = false;
        if (ssh_pki_import_privkey_file(file, NULL, ask_passphrase, l, &key) == SSH_OK)
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

/* Loads a private key that has no passphrase; else NULL. */
static ssh_key load_open(const char *file)
{
    ssh_key key = NULL;

    return ssh_pki_import_privkey_file(file, NULL, give_none, NULL, &key) == SSH_OK ? key : NULL;
}

static ssh_key load_public(const char *file)
{
    char *path = mem_printf("%s.pub", file);
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

/* public: the key, or its certificate, read from the file certificate (which is otherwise NULL).
 * The user is asked for a passphrase only after the server has said that it takes the key; for a
 * key without passphrase that question would only cost a round trip. */
static enum login_outcome try_pair(struct login *l, const char *file, ssh_key public,
                                   const char *certificate, struct err *e)
{
    char *what = certificate != NULL ? mem_printf("certificate %s of key %s", certificate, file)
                                     : mem_printf("key %s", file);
    ssh_key secret = load_open(file);
    enum login_outcome outcome = LOGIN_REFUSED;

    if (secret == NULL) {
        int rc = call_libssh(l, CALL_OFFER, public, e);

        /* SSH_AUTH_SUCCESS only means that the server invites us to sign. */
        if (rc != SSH_AUTH_SUCCESS) {
            outcome = settle_try(l, rc, what, e);
            goto out;
        }
        secret = load_private(l, file);
    }
    if (secret != NULL &&
        (certificate == NULL || ssh_pki_copy_cert_to_privkey(public, secret) == SSH_OK))
        outcome = settle_try(l, call_libssh(l, CALL_SIGN, secret, e), what, e);
    else
        note_try(l, what,
                 !l->was_asked ? "the server takes it, but the file cannot be read"
                 : l->no_answer.kind != ERR_NONE
                     ? "the server takes it, but it needs a passphrase: ssh-add"
                     : "wrong passphrase");
out:
    ssh_key_free(secret);
    free(what);
    return outcome;
}

/* Whether the certificate may be for the key: true also without the key's public half, as the
 * server finds out. */
static bool may_belong(const char *certificate, const char *file)
{
    char *path = mem_printf("%s.pub", file);
    struct buf text = { 0 }, key = { 0 };
    bool may = io_read_file(certificate, PUBLIC_MAX_BYTES, &text, NULL) == 0;

    if (may && io_read_file(path, PUBLIC_MAX_BYTES, &key, NULL) == 0)
        may = ssh_keys_is_certificate_of(buf_text(&text), buf_text(&key));
    buf_free(&key);
    buf_free(&text);
    free(path);
    return may;
}

/* Tries the certificate beside the key, then those that the configuration names. */
static enum login_outcome try_certificates(struct login *l, const char *file, struct err *e)
{
    const char *const *named = l->s->conf.certificates.items;
    char *beside = mem_printf("%s-cert.pub", file);
    enum login_outcome outcome = LOGIN_REFUSED;

    for (size_t i = 0; is_next_key_due(l, outcome) && i <= l->s->conf.certificates.n; i++) {
        const char *path = i == 0 ? beside : named[i - 1];
        ssh_key certificate = NULL;

        if (i > 0 && (strcmp(path, beside) == 0 || !may_belong(path, file)))
            continue;
        if (access(path, R_OK) == 0 && ssh_pki_import_cert_file(path, &certificate) == SSH_OK)
            outcome = try_pair(l, file, certificate, path, e);
        ssh_key_free(certificate);
    }
    free(beside);
    return outcome;
}

/* Tries a private key without its public half, which must be decrypted before it can be offered. */
static enum login_outcome try_unknown(struct login *l, const char *file, struct err *e)
{
    char *what = mem_printf("key %s", file);
    ssh_key private = load_private(l, file);
    enum login_outcome outcome = LOGIN_REFUSED;

    if (private != NULL)
        outcome = settle_try(l, call_libssh(l, CALL_SIGN, private, e), what, e);
    else
        note_try(l, what,
                 !l->was_asked                   ? "it cannot be read"
                 : l->no_answer.kind != ERR_NONE ? "it needs a passphrase: ssh-add"
                                                 : "wrong passphrase");
    ssh_key_free(private);
    free(what);
    return outcome;
}

static enum login_outcome try_files(struct login *l, struct err *e)
{
    const char *const *files = l->s->conf.identities.items;
    enum login_outcome outcome = LOGIN_REFUSED;

    for (size_t i = 0; is_next_key_due(l, outcome) && i < l->s->conf.identities.n; i++) {
        ssh_key public;

        if (access(files[i], F_OK) < 0)
            continue;
        outcome = try_certificates(l, files[i], e);
        if (!is_next_key_due(l, outcome))
            break;
        public = load_public(files[i]);
        if (public == NULL)
            outcome = try_unknown(l, files[i], e);
        else if (!is_in_agent(l, public))
            outcome = try_pair(l, files[i], public, NULL, e);
        ssh_key_free(public);
    }
    return outcome;
}

/* ---- the agent ---- */

/* With IdentitiesOnly the agent must hold a key that the configuration names; libssh offers all. */
static bool may_use_agent(struct login *l)
{
    const char *const *files = l->s->conf.identities.items;
    bool is = !l->s->conf.identities_only;

    for (size_t i = 0; !is && i < l->s->conf.identities.n; i++) {
        ssh_key public = load_public(files[i]);

        is = public != NULL && is_in_agent(l, public);
        ssh_key_free(public);
    }
    return is && l->in_agent.n > 0;
}

static enum login_outcome try_agent(struct login *l, struct err *e)
{
    const struct ssh_agent_key *keys = l->in_agent.items;
    struct buf what = { 0 };
    enum login_outcome outcome;

    if (keys == NULL || !may_use_agent(l))
        return LOGIN_REFUSED;
    buf_add_str(&what, "agent with");
    for (size_t i = 0; i < l->in_agent.n; i++)
        buf_printf(&what, "%s %s", i == 0 ? "" : ",",
                   keys[i].name[0] != '\0' ? keys[i].name : "a key without a name");
    outcome = settle_try(l, call_libssh(l, CALL_AGENT, NULL, e), buf_text(&what), e);
    buf_free(&what);
    return outcome;
}

/* Tries the keys one after the other, until the server takes one or wants no more. */
static enum login_outcome try_keys(struct login *l, struct err *e)
{
    bool agent_first = l->in_agent.n <= AGENT_FIRST;
    enum login_outcome outcome = agent_first ? try_agent(l, e) : try_files(l, e);

    if (!is_next_key_due(l, outcome))
        return outcome;
    return agent_first ? try_files(l, e) : try_agent(l, e);
}

/* Whether keys can be offered without asking the user for a passphrase, at most one of them from
 * the agent: libssh offers all its keys or none, and a server that takes none counts each. */
static bool do_keys_lie_open(struct login *l)
{
    const char *const *files = l->s->conf.identities.items;
    size_t n = may_use_agent(l) ? l->in_agent.n : 0;

    if (n > 1)
        return false;
    for (size_t i = 0; i < l->s->conf.identities.n; i++) {
        ssh_key public, secret = NULL;
        bool lies_open;

        if (access(files[i], F_OK) < 0)
            continue;
        public = load_public(files[i]);
        lies_open = public != NULL && is_in_agent(l, public);
        if (!lies_open)
            secret = load_open(files[i]);
        lies_open = lies_open || secret != NULL;
        ssh_key_free(public);
        ssh_key_free(secret);
        if (!lies_open)
            return false;
        n++;
    }
    return n > 0;
}

/* ---- typed answers, and tickets ---- */

static char *prompt_text(const struct login *l, const char *before, const char *text)
{
    const struct ssh_conf *c = &l->s->conf;

    return mem_printf("%s%s(%s@%s) %s", before, before[0] != '\0' ? "\n" : "", c->user, c->alias,
                      text);
}

static enum login_outcome unanswered(struct login *l, const char *what)
{
    note_try(l, what, l->no_answer.text);
    return LOGIN_REFUSED;
}

static enum login_outcome try_password(struct login *l, struct err *e)
{
    enum login_outcome outcome = LOGIN_REFUSED;

    for (int i = 0; outcome == LOGIN_REFUSED && i < LOGIN_TRIES; i++) {
        char *password = ask_user(l, prompt_text(l, "", "password: "), false);
        int rc;

        if (password == NULL)
            return unanswered(l, "password");
        rc = call_libssh(l, CALL_PASSWORD, password, e);
        prompt_wipe(password);
        outcome = settle_try(l, rc, "password", e);
    }
    return outcome;
}

/* Asks the user all questions of one round; gives their number, or -1 without an answer. */
static int answer_questions(struct login *l)
{
    ssh_session session = l->s->session;
    const char *before = ssh_userauth_kbdint_getinstruction(session);
    int n = ssh_userauth_kbdint_getnprompts(session);

    for (int i = 0; i < n; i++) {
        char echo = 0;
        const char *text = ssh_userauth_kbdint_getprompt(session, (unsigned)i, &echo);
        char *answer =
            ask_user(l, prompt_text(l, i == 0 && before != NULL ? before : "", text), echo != 0);
        int rc;

        if (answer == NULL)
            return -1;
        rc = ssh_userauth_kbdint_setanswer(session, (unsigned)i, answer);
        prompt_wipe(answer);
        if (rc < 0)
            return -1;
    }
    return n;
}

static enum login_outcome try_kbdint(struct login *l, struct err *e)
{
    enum login_outcome outcome = LOGIN_REFUSED;
    bool was_asked = true;

    for (int i = 0; outcome == LOGIN_REFUSED && was_asked && i < LOGIN_TRIES; i++) {
        int rc;

        was_asked = false;
        while ((rc = call_libssh(l, CALL_KBDINT, NULL, e)) == SSH_AUTH_INFO) {
            int n = answer_questions(l);

            if (n < 0)
                return unanswered(l, "keyboard-interactive");
            was_asked = was_asked || n > 0;
        }
        outcome = settle_try(l, rc, "keyboard-interactive", e);
    }
    return outcome;
}

static enum login_outcome try_gssapi(struct login *l, struct err *e)
{
    return settle_try(l, call_libssh(l, CALL_GSSAPI, NULL, e), "gssapi-with-mic", e);
}

/* ---- all methods ---- */

static const struct method {
    unsigned bit;
    const char *name;
    enum login_outcome (*try)(struct login *l, struct err *e);
} methods[] = {
    { SSH_AUTH_METHOD_PUBLICKEY, "publickey", try_keys },
    { SSH_AUTH_METHOD_GSSAPI_MIC, "gssapi-with-mic", try_gssapi },
    { SSH_AUTH_METHOD_INTERACTIVE, "keyboard-interactive", try_kbdint },
    { SSH_AUTH_METHOD_PASSWORD, "password", try_password },
    { SSH_AUTH_METHOD_HOSTBASED, "hostbased", NULL },
};
enum { N_METHODS = sizeof methods / sizeof methods[0] };

static enum login_outcome try_round(struct login *l, struct err *e)
{
    const struct ssh_conf *c = &l->s->conf;
    unsigned allowed = (c->may_use_keys ? SSH_AUTH_METHOD_PUBLICKEY : 0) |
                       (c->may_use_gssapi ? SSH_AUTH_METHOD_GSSAPI_MIC : 0) |
                       (c->may_use_kbdint ? SSH_AUTH_METHOD_INTERACTIVE : 0) |
                       (c->may_use_password ? SSH_AUTH_METHOD_PASSWORD : 0);
    enum login_outcome outcome = LOGIN_REFUSED;

    for (size_t i = 0; outcome == LOGIN_REFUSED && i < N_METHODS; i++) {
        unsigned bit = methods[i].bit;

        if ((offered(l) & allowed & ~l->done & bit) == 0)
            continue;
        outcome = methods[i].try(l, e);
        /* After a first key a server may want a second one. */
        if (outcome != LOGIN_PARTIAL || bit != SSH_AUTH_METHOD_PUBLICKEY)
            l->done |= bit;
    }
    return outcome;
}

static int refuse_login(const struct login *l, struct err *e)
{
    const struct ssh_conf *c = &l->s->conf;
    char *name = ssh_dial_name(c, l->s->dialed.address);
    const char *advice = "";
    struct buf takes = { 0 };

    for (size_t i = 0; i < N_METHODS; i++)
        if ((offered(l) & methods[i].bit) != 0)
            buf_printf(&takes, "%s%s", takes.n > 0 ? ", " : "", methods[i].name);
    if (takes.n == 0)
        buf_add_str(&takes, "nothing known here");
    if ((offered(l) & SSH_AUTH_METHOD_PUBLICKEY) != 0)
        advice = l->tried.n > 0
                     ? "; is the public key in ~/.ssh/authorized_keys there (ssh-copy-id)?"
                     : "; there is no key here yet (ssh-keygen, then ssh-copy-id)";
    err_set(e, ERR_DENIED, "%s lets nobody in as %s: it takes %s; tried: %s%s", name, c->user,
            buf_text(&takes), l->tried.n > 0 ? buf_text(&l->tried) : "nothing", advice);
    buf_free(&takes);
    free(name);
    return -1;
}

static int log_in(struct login *l, struct err *e)
{
    enum login_outcome outcome = LOGIN_REFUSED;
    int rc;

    /* Nearly every server takes keys, so keys are tried without asking for its methods first.  A
     * server that takes no key yet may want one later, after a password. */
    if (l->s->conf.may_use_keys && do_keys_lie_open(l)) {
        outcome = try_keys(l, e);
        if (outcome == LOGIN_REFUSED && (offered(l) & SSH_AUTH_METHOD_PUBLICKEY) != 0)
            l->done |= SSH_AUTH_METHOD_PUBLICKEY;
        else if (outcome == LOGIN_REFUSED)
            buf_clear(&l->tried);
    }
    if (outcome == LOGIN_REFUSED && offered(l) != 0) {
        outcome = LOGIN_PARTIAL;
    } else if (outcome == LOGIN_REFUSED) {
        rc = call_libssh(l, CALL_NONE, NULL, e);
        /* A server that refuses "none" names the methods that it takes. */
        outcome = rc == SSH_AUTH_DENIED ? LOGIN_PARTIAL : settle_try(l, rc, "none", e);
    }
    for (int i = 0; outcome == LOGIN_PARTIAL && i < ROUNDS_MAX; i++)
        outcome = try_round(l, e);
    if (outcome == LOGIN_ACCEPTED)
        return 0;
    return outcome == LOGIN_FAILED ? -1 : refuse_login(l, e);
}

int ssh_authenticate(struct ssh *s, struct err *e)
{
    struct login l = { .s = s, .arena = arena_create() };
    int rc;

    if (s->conf.agent != NULL)
        ssh_keys_of_agent(s->conf.agent, l.arena, &l.in_agent);
    rc = log_in(&l, e);
    buf_free(&l.tried);
    arena_destroy(l.arena);
    return rc;
}
