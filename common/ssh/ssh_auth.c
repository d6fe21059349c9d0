/* SPDX-License-Identifier: MIT */
/* ssh_auth.c - show the server who we are */
#include <stdlib.h>

#include "common/ssh/prompt.h"
#include "common/ssh/ssh_login_key.h"

enum { ROUNDS_MAX = 8 }; /* a server may want several things, one after the other */

/* ---- what is typed, and tickets ---- */

static char *prompt_text(const struct login *l, const char *before, const char *text)
{
    const struct ssh_conf *c = &l->s->conf;

    return mem_printf("%s%s(%s@%s) %s", before, before[0] != '\0' ? "\n" : "", c->user, c->alias,
                      text);
}

static enum login_outcome unanswered(struct login *l, const char *what)
{
    login_note(l, what, l->no_answer.text);
    return LOGIN_REFUSED;
}

static enum login_outcome try_password(struct login *l, struct err *e)
{
    enum login_outcome outcome = LOGIN_REFUSED;

    for (int i = 0; outcome == LOGIN_REFUSED && i < LOGIN_TRIES; i++) {
        struct ssh_patience p;
        char *password = login_ask(l, prompt_text(l, "", "password: "), false);
        int rc;

        if (password == NULL)
            return unanswered(l, "password");
        p = ssh_patience_of(l->s);
        do
            rc = ssh_userauth_password(l->s->session, NULL, password);
        while (login_is_again(l, rc, &p, e));
        prompt_wipe(password);
        outcome = login_settle(l, rc, "password", e);
    }
    return outcome;
}

/* Answers all of one round's questions. */
static int answer_questions(struct login *l)
{
    ssh_session session = l->s->session;
    const char *before = ssh_userauth_kbdint_getinstruction(session);
    int n = ssh_userauth_kbdint_getnprompts(session);

    for (int i = 0; i < n; i++) {
        char echo = 0;
        const char *text = ssh_userauth_kbdint_getprompt(session, (unsigned)i, &echo);
        char *answer =
            login_ask(l, prompt_text(l, i == 0 && before != NULL ? before : "", text), echo != 0);
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

static enum login_outcome converse(struct login *l, bool *was_asked, struct err *e)
{
    struct ssh_patience p = ssh_patience_of(l->s);
    int rc;

    do {
        rc = ssh_userauth_kbdint(l->s->session, NULL, NULL);
        if (rc == SSH_AUTH_INFO) {
            int n = answer_questions(l);

            if (n < 0) {
                *was_asked = false;
                return unanswered(l, "keyboard-interactive");
            }
            *was_asked = *was_asked || n > 0;
            p = ssh_patience_of(l->s);
        }
    } while (rc == SSH_AUTH_INFO || login_is_again(l, rc, &p, e));
    return login_settle(l, rc, "keyboard-interactive", e);
}

static enum login_outcome try_kbdint(struct login *l, struct err *e)
{
    enum login_outcome outcome = LOGIN_REFUSED;
    bool was_asked = true;

    for (int i = 0; outcome == LOGIN_REFUSED && was_asked && i < LOGIN_TRIES; i++) {
        was_asked = false;
        outcome = converse(l, &was_asked, e);
    }
    return outcome;
}

static enum login_outcome try_gssapi(struct login *l, struct err *e)
{
    struct ssh_patience p = ssh_patience_of(l->s);
    int rc;

    do
        rc = ssh_userauth_gssapi(l->s->session);
    while (login_is_again(l, rc, &p, e));
    return login_settle(l, rc, "gssapi-with-mic", e);
}

/* ---- all of them ---- */

struct method {
    unsigned bit;
    const char *name;
    enum login_outcome (*try)(struct login *l, struct err *e);
};

static const struct method methods[] = {
    { SSH_AUTH_METHOD_PUBLICKEY, "publickey", login_try_keys },
    { SSH_AUTH_METHOD_GSSAPI_MIC, "gssapi-with-mic", try_gssapi },
    { SSH_AUTH_METHOD_INTERACTIVE, "keyboard-interactive", try_kbdint },
    { SSH_AUTH_METHOD_PASSWORD, "password", try_password },
    { SSH_AUTH_METHOD_HOSTBASED, "hostbased", NULL },
};
enum { N_METHODS = sizeof methods / sizeof methods[0] };

static unsigned allowed(const struct ssh_conf *c)
{
    return (c->may_use_keys ? SSH_AUTH_METHOD_PUBLICKEY : 0) |
           (c->may_use_gssapi ? SSH_AUTH_METHOD_GSSAPI_MIC : 0) |
           (c->may_use_kbdint ? SSH_AUTH_METHOD_INTERACTIVE : 0) |
           (c->may_use_password ? SSH_AUTH_METHOD_PASSWORD : 0);
}

static enum login_outcome try_round(struct login *l, struct err *e)
{
    enum login_outcome outcome = LOGIN_REFUSED;

    for (size_t i = 0; outcome == LOGIN_REFUSED && i < N_METHODS; i++) {
        unsigned bit = methods[i].bit;

        if ((login_offered(l) & allowed(&l->s->conf) & ~l->done & bit) == 0)
            continue;
        outcome = methods[i].try(l, e);
        /* After a first key a server may want a second one. */
        if (outcome != LOGIN_PARTIAL || bit != SSH_AUTH_METHOD_PUBLICKEY)
            l->done |= bit;
    }
    return outcome;
}

static char *name_methods(unsigned bits)
{
    struct buf out = { 0 };

    for (size_t i = 0; i < N_METHODS; i++)
        if ((bits & methods[i].bit) != 0)
            buf_printf(&out, "%s%s", out.n > 0 ? ", " : "", methods[i].name);
    if (out.n == 0)
        buf_add_str(&out, "nothing known here");
    return buf_take(&out);
}

static const char *advice(const struct login *l)
{
    if ((login_offered(l) & SSH_AUTH_METHOD_PUBLICKEY) == 0)
        return "";
    return l->tried.n > 0 ? "; is the public key in ~/.ssh/authorized_keys there (ssh-copy-id)?"
                          : "; there is no key here yet (ssh-keygen, then ssh-copy-id)";
}

static int refuse(const struct login *l, struct err *e)
{
    const struct ssh_conf *c = &l->s->conf;
    char *name = ssh_dial_name(c, l->s->dialed.address), *takes = name_methods(login_offered(l));

    err_set(e, ERR_DENIED, "%s lets nobody in as %s: it takes %s; tried: %s%s", name, c->user,
            takes, l->tried.n > 0 ? buf_text(&l->tried) : "nothing", advice(l));
    free(takes);
    free(name);
    return -1;
}

/* Nearly every server takes keys: it is not asked first what it takes.  One that takes none yet may
 * want one later, after a password. */
static enum login_outcome try_keys_at_once(struct login *l, struct err *e)
{
    enum login_outcome outcome;

    if (!l->s->conf.may_use_keys || !login_keys_lie_open(l))
        return LOGIN_REFUSED;
    outcome = login_try_keys(l, e);
    if (outcome != LOGIN_REFUSED)
        return outcome;
    if ((login_offered(l) & SSH_AUTH_METHOD_PUBLICKEY) != 0)
        l->done |= SSH_AUTH_METHOD_PUBLICKEY;
    else
        buf_clear(&l->tried);
    return LOGIN_REFUSED;
}

/* A server that takes nothing says what it would take. */
static enum login_outcome ask_what(struct login *l, struct err *e)
{
    struct ssh_patience p = ssh_patience_of(l->s);
    int rc;

    do
        rc = ssh_userauth_none(l->s->session, NULL);
    while (login_is_again(l, rc, &p, e));
    return rc == SSH_AUTH_DENIED ? LOGIN_PARTIAL : login_settle(l, rc, "none", e);
}

static int log_in(struct login *l, struct err *e)
{
    enum login_outcome outcome = try_keys_at_once(l, e);

    if (outcome == LOGIN_REFUSED)
        outcome = login_offered(l) != 0 ? LOGIN_PARTIAL : ask_what(l, e);
    for (int i = 0; outcome == LOGIN_PARTIAL && i < ROUNDS_MAX; i++)
        outcome = try_round(l, e);
    if (outcome == LOGIN_ACCEPTED)
        return 0;
    return outcome == LOGIN_FAILED ? -1 : refuse(l, e);
}

int ssh_authenticate(struct ssh *s, struct err *e)
{
    struct login l = { .s = s, .arena = arena_create() };
    int rc;

    if (s->conf.agent != NULL)
        ssh_agent_keys(s->conf.agent, l.arena, &l.in_agent);
    rc = log_in(&l, e);
    buf_free(&l.tried);
    arena_destroy(l.arena);
    return rc;
}
