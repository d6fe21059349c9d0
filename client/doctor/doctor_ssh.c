/* SPDX-License-Identifier: MIT */
/* doctor_ssh.c - the connection to a server on another machine */
#include <inttypes.h>
#include <string.h>

#include "client/doctor/doctor.h"

static bool get_facts(struct doctor *d, struct connect_facts *facts)
{
    struct err e = { 0 };

    if (!d->is_connected || d->rpc.mux == NULL)
        return false;
    if (mux_facts(d->rpc.mux, facts, d->arena, &e) == 0)
        return true;
    doctor_say(d, CHECK_PROBLEM, NULL, "%s", e.text);
    return false;
}

static const char *name_host(struct doctor *d, const struct connect_facts *f)
{
    if (f->proxy[0] != '\0')
        return arena_printf(d->arena, "%s port %" PRId64 " through `%s`", f->host, f->port,
                            f->proxy);
    if (strcmp(f->host, f->address) == 0)
        return arena_printf(d->arena, "%s port %" PRId64, f->host, f->port);
    return arena_printf(d->arena, "%s (%s) port %" PRId64, f->host, f->address, f->port);
}

void check_ssh(struct doctor *d)
{
    struct connect_facts f;

    if (!get_facts(d, &f))
        return;
    doctor_say(d, CHECK_OK, NULL, "%s answers, as %s", name_host(d, &f), f.server_software);
    doctor_say(d, CHECK_OK, NULL, "its host key is known: %s %s", f.host_key_type,
               f.host_key_digest);
    doctor_say(d, CHECK_OK, NULL, "it lets you in as %s by %s, in %" PRId64 " ms; cipher %s",
               f.user, f.authentication, f.connect_ms, f.cipher);
}

/* What would allow a faster way; NULL: it is as fast as it gets. */
static const char *advise(struct doctor *d, const struct connect_facts *f)
{
    const struct mux_refusal *refusals = f->refusals.items;
    bool has_path = d->rpc.to.path != NULL;

    for (size_t i = 0; i < f->refusals.n; i++)
        if (refusals[i].remedy != NULL)
            return refusals[i].remedy;
    if (f->refusals.n == 0)
        return NULL;
    return has_path ? "see that AllowStreamLocalForwarding is not `no` in its sshd_config"
                    : arena_printf(d->arena,
                                   "with its socket in the address, as in "
                                   "%s/path/server.sock, sshd could connect to it by itself",
                                   d->rpc.to.text);
}

void check_way(struct doctor *d)
{
    enum way way = d->rpc.way;
    struct connect_facts f;
    struct buf text = { 0 };

    if (!get_facts(d, &f))
        return;
    buf_printf(&text, "%s: %s", way_names[way], way_meanings[way]);
    for (size_t i = 0; i < f.refusals.n; i++) {
        const struct mux_refusal *r = (const struct mux_refusal *)f.refusals.items + i;

        buf_printf(&text, "; not %s: %s", r->way, r->why);
    }
    doctor_say(d, f.refusals.n == 0 ? CHECK_OK : CHECK_NOTE, advise(d, &f), "%s", buf_text(&text));
    buf_free(&text);
}
