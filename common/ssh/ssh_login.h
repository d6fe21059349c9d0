/* SPDX-License-Identifier: MIT */
/*
 * ssh_login.h - what a log-in has tried, and what the server made of it
 */
#ifndef LUDWIG_COMMON_SSH_SSH_LOGIN_H
#define LUDWIG_COMMON_SSH_SSH_LOGIN_H

#include "common/ssh/ssh_internal.h"

enum { LOGIN_TRIES = 3 }; /* of a password or passphrase that is typed */

enum login_outcome { LOGIN_FAILED = -1, LOGIN_REFUSED, LOGIN_PARTIAL, LOGIN_ACCEPTED };

/* One log-in. */
struct login {
    struct ssh *s;
    struct arena *arena;
    struct buf tried;     /* "key ~/.ssh/id_rsa (refused), ..." */
    struct list in_agent; /* struct ssh_agent_key */
    struct err no_answer; /* the user could not be asked, or did not answer */
    bool was_asked;       /* for the passphrase of the key at hand */
    unsigned done;        /* SSH_AUTH_METHOD_... that were tried */
};

/* For the message that nothing helped: WHAT (HOW). */
void login_note(struct login *l, const char *what, const char *how);
/* What the user answers, to be wiped; NULL with l->no_answer set.  text is freed. */
char *login_ask(struct login *l, char *text, bool echo);

/* What the server takes now, as its last refusal said; 0 before the first one. */
unsigned login_offered(const struct login *l);
/* libssh's functions say "again" until the server has answered, and still when it has hung up: waits, and
 * whether to call the function once more. */
bool login_is_again(struct login *l, int rc, const struct ssh_patience *p, struct err *e);
/* What its last answer, rc, means for what was tried, which is noted. */
enum login_outcome login_settle(struct login *l, int rc, const char *what, struct err *e);

#endif
