/* SPDX-License-Identifier: MIT */
/* doctor_sshd.c - the sshd of the user's own server */
#include <stdlib.h>

#include "client/doctor/doctor.h"
#include "client/session/authorized_keys.h"
#include "client/session/invitation.h"
#include "client/session/sshd_address.h"

static void say_guests(struct doctor *d, const char *dir, int port)
{
    struct list guests = { 0 };
    struct err e = { 0 };

    if (authorized_keys_read(dir, d->arena, &guests, &e) < 0)
        doctor_say(d, CHECK_PROBLEM, "see its owner and mode", "%s", e.text);
    else if (guests.n == 0)
        doctor_say(d, CHECK_NOTE, "`ludwig invite` lets another machine's key in",
                   "your server's own listens on port %d, but nobody is invited", port);
    else
        doctor_say(d, CHECK_OK, NULL,
                   "your server's own listens on port %d for %zu key%s (ludwig invite --list)",
                   port, guests.n, guests.n == 1 ? "" : "s");
}

static void look(struct doctor *d, const char *state)
{
    char *dir = sshd_address_dir(state);
    struct err e = { 0 };
    int port = invitation_port(dir, &e);

    if (port < 0)
        doctor_say(d, CHECK_PROBLEM, "`ludwig down` and `ludwig up --sshd` make it anew", "%s",
                   e.text);
    else if (d->rpc.to.kind != ENDPOINT_UNIX || sshd_address_listens(port, 0))
        say_guests(d, dir, port);
    else
        doctor_say(d, CHECK_PROBLEM, "`ludwig up --sshd=PORT` names another port",
                   "your server's own does not listen on port %d, which another program may have; "
                   "%s/ludwigd.log says more",
                   port, state);
    free(dir);
}

void check_sshd(struct doctor *d)
{
    char *state = conf_state_dir();
    char *listen = sshd_address_listen(state);

    if (d->is_connected && d->choice.embedded && listen != NULL)
        look(d, state);
    free(listen);
    free(state);
}
