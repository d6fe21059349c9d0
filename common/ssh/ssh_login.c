/* SPDX-License-Identifier: MIT */
/* ssh_login.c - what a log-in has tried, and what the server made of it */
#include <stdlib.h>
#include <string.h>

#include "common/ssh/ssh_login.h"

void login_note(struct login *l, const char *what, const char *how)
{
    if (l->tried.n > 0)
        buf_add_str(&l->tried, ", ");
    buf_printf(&l->tried, "%s (%s)", what, how);
}

static void keep_method(struct login *l, const char *what)
{
    struct ssh *s = l->s;
    char *before = s->authentication;

    s->authentication = before != NULL ? mem_printf("%s, then %s", before, what) : mem_strdup(what);
    free(before);
}

/* What the server says must not drive the terminal. */
static void tidy(char *text)
{
    for (char *p = text; *p != '\0'; p++)
        if (((unsigned char)*p < ' ' && *p != '\n') || *p == 0x7f)
            *p = '?';
}

/* text is freed. */
char *login_ask(struct login *l, char *text, bool echo)
{
    char *answer;

    tidy(text);
    answer = l->s->plan.ask(l->s->plan.context, text, echo, &l->no_answer);
    free(text);
    return answer;
}

/* A server that does has had enough; one that just is no more may come back.
 * ssh_get_disconnect_message knows of none before our own, and replaces the error. */
static bool has_said_goodbye(const struct ssh *s)
{
    return strstr(ssh_get_error(s->session), "SSH_MSG_DISCONNECT") != NULL;
}

static enum login_outcome outcome_of(struct login *l, int rc, const char *what, struct err *e)
{
    bool is_broken;

    if (rc == SSH_AUTH_SUCCESS || rc == SSH_AUTH_PARTIAL) {
        keep_method(l, what);
        return rc == SSH_AUTH_SUCCESS ? LOGIN_ACCEPTED : LOGIN_PARTIAL;
    }
    login_note(l, what, "refused");
    is_broken = !ssh_is_connected(l->s->session) ||
                (rc == SSH_AUTH_ERROR && ssh_get_error_code(l->s->session) == SSH_FATAL);
    if (!is_broken)
        return LOGIN_REFUSED;
    err_set(e, has_said_goodbye(l->s) ? ERR_DENIED : ERR_UNREACHABLE,
            "the server ended the authentication (%s); tried: %s", ssh_words(l->s),
            buf_text(&l->tried));
    return LOGIN_FAILED;
}

bool login_is_again(struct login *l, int rc, const struct ssh_patience *p, struct err *e)
{
    if (rc != SSH_AUTH_AGAIN || !ssh_is_connected(l->s->session))
        return false;
    return ssh_wait_again(l->s, p, e) == 0;
}

enum login_outcome login_settle(struct login *l, int rc, const char *what, struct err *e)
{
    if (rc != SSH_AUTH_AGAIN)
        return outcome_of(l, rc, what, e);
    if (!ssh_is_connected(l->s->session))
        return outcome_of(l, SSH_AUTH_ERROR, what, e);
    err_wrap(e, "authentication");
    if (e != NULL && e->kind == ERR_BUSY)
        e->kind = ERR_UNREACHABLE;
    return LOGIN_FAILED;
}

unsigned login_offered(const struct login *l)
{
    return (unsigned)ssh_userauth_list(l->s->session, NULL);
}
