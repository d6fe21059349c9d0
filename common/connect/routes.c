/* SPDX-License-Identifier: MIT */
/* routes.c - finds a way from an SSH session to ludwigd */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/units.h"
#include "common/connect/route_child.h"
#include "common/connect/routes.h"
#include "common/data/template.h"
#include "common/proto/layout.h"

enum {
    TRIES_MAX = 8,
    REFUSALS_MAX = 16,
    BRIDGE_MAX_MS = 30 * 1000, /* a login shell on a busy machine may take long */
    CLOSE_MAX_MS = 2 * 1000,
    CHILD_MAX_MS = 60 * 1000
};

/* Usual paths of ludwigd's socket, where the address has none: in a jail, then on a whole
 * machine. */
static const char *const usual_paths[] = { "/.ludwig/server.sock", LAYOUT_SYSTEM_SOCKET };

#define SOCKET_BELOW_SHARE "/.ludwig/server.sock"

/* Commands often get a shorter PATH than people do. */
#define LONGER_PATH \
    "sh -c 'PATH=\"$PATH:/usr/local/bin:/opt/ludwig/bin:$HOME/.local/bin:$HOME/bin\"; exec %s'"

/* A port that no program uses: a channel to it shows whether sshd forwards at all. */
#define UNUSED_PORT "1"

enum phase { IDLE, OPENING, GREETING, BRIDGE_ENDED, PROBING, OPENING_SFTP, CHILD };

struct candidate {
    enum way way;
    const char *text;       /* path or command */
    struct ssh_pump *ahead; /* a lane opened before the try's turn; NULL: none */
};

struct routes {
    struct ssh *s;
    struct arena *arena;
    routes_adopt_fn adopt;
    void *context;
    struct candidate tries[TRIES_MAX];
    size_t n;
    size_t at;
    int good; /* the try that succeeded; -1: none yet */
    enum phase phase;
    unsigned n_moves;      /* changes of phase */
    struct ssh_pump *lane; /* the channel that this phase works at */
    struct route_child child;
    int stream_fd; /* OPENING_SFTP, CHILD for WAY_INBOX: the stream to hand out */
    int64_t deadline_ms;
    bool is_explaining; /* all tries failed; SFTP is used to find out why */
    struct mux_refusal refusals[REFUSALS_MAX];
    size_t n_refusals;
};

/* ---- list of tries ---- */

static void add_try(struct routes *w, unsigned allowed, enum way way, const char *text)
{
    if ((allowed & 1u << way) != 0 && w->n < TRIES_MAX)
        w->tries[w->n++] = (struct candidate){ .way = way, .text = text };
}

static const char *quoted(struct arena *a, const char *text)
{
    struct buf out = { 0 };

    template_add_quoted(&out, text, strlen(text));
    return buf_to_arena(&out, a);
}

struct routes *routes_create(struct ssh *s, const char *path, unsigned allowed,
                             routes_adopt_fn adopt, void *context)
{
    size_t n = path != NULL ? strlen(path) : 0, tail = strlen(SOCKET_BELOW_SHARE);
    struct routes *w = mem_alloc(sizeof *w);
    const char *bridge = "ludwig bridge", *longer, *share = "/";

    w->s = s;
    w->arena = arena_create();
    w->adopt = adopt;
    w->context = context;
    w->good = w->child.verdict_fd = w->stream_fd = -1;
    if (allowed == 0)
        allowed = ~0u;
    if (path != NULL)
        add_try(w, allowed, WAY_STREAM_LOCAL, arena_strdup(w->arena, path));
    for (size_t i = 0; path == NULL && i < sizeof usual_paths / sizeof usual_paths[0]; i++)
        add_try(w, allowed, WAY_STREAM_LOCAL, usual_paths[i]);
    if (path != NULL)
        bridge = arena_printf(w->arena, "ludwig bridge %s", quoted(w->arena, path));
    /* Within the quotes of LONGER_PATH a path needs a second layer of them. */
    longer = quoted(w->arena, bridge);
    longer = arena_strndup(w->arena, longer + 1, strlen(longer) - 2);
    add_try(w, allowed, WAY_BRIDGE, bridge);
    add_try(w, allowed, WAY_BRIDGE, arena_printf(w->arena, LONGER_PATH, longer));
    /* The share that contains the socket; in a jail it is "/". */
    if (n > tail && strcmp(path + n - tail, SOCKET_BELOW_SHARE) == 0)
        share = arena_strndup(w->arena, path, n - tail);
    add_try(w, allowed, WAY_INBOX, share);
    return w;
}

static void drop_phase(struct routes *w)
{
    ssh_pump_close(w->lane);
    w->lane = NULL;
    route_child_close(&w->child);
    if (w->stream_fd >= 0)
        close(w->stream_fd);
    w->stream_fd = -1;
    w->phase = IDLE;
}

static void drop_ahead(struct routes *w)
{
    for (size_t i = 0; i < w->n; i++) {
        ssh_pump_close(w->tries[i].ahead);
        w->tries[i].ahead = NULL;
    }
}

void routes_destroy(struct routes *w)
{
    if (w == NULL)
        return;
    drop_phase(w);
    drop_ahead(w);
    arena_destroy(w->arena);
    free(w);
}

/* ---- refusals ---- */

static void refuse_way(struct routes *w, enum way way, const char *why, const char *remedy)
{
    if (w->n_refusals < REFUSALS_MAX)
        w->refusals[w->n_refusals++] =
            (struct mux_refusal){ way_names[way], arena_strdup(w->arena, why), remedy };
}

static struct mux_refusal *refusal_of(struct routes *w, enum way way)
{
    for (size_t i = 0; i < w->n_refusals; i++)
        if (strcmp(w->refusals[i].way, way_names[way]) == 0)
            return &w->refusals[i];
    return NULL;
}

static int fail_search(struct routes *w, struct err *e)
{
    struct buf out = { 0 };

    for (size_t i = 0; i < w->n_refusals; i++) {
        const struct mux_refusal *r = &w->refusals[i];

        buf_printf(&out, "%s%s: %s", i == 0 ? "" : "; ", r->way, r->why);
        if (r->remedy != NULL)
            buf_printf(&out, " (%s)", r->remedy);
    }
    err_set(e, ERR_UNREACHABLE, "ludwigd on %s is out of reach: %s", ssh_conf_of(w->s)->alias,
            out.n > 0 ? buf_text(&out) : "no way to it may be tried");
    buf_free(&out);
    return -1;
}

/* ---- one try after the other ---- */

static int give_up_on(struct routes *w, const char *why, struct err *e);

/* Whether the search goes on in a new session if this one ends. */
static bool may_leave(const struct routes *w)
{
    bool is_last = w->at >= w->n || w->tries[w->at].way == WAY_INBOX;

    return w->phase != IDLE && w->good < 0 && !w->is_explaining && !is_last;
}

static void move_to(struct routes *w, enum phase phase)
{
    w->phase = phase;
    w->n_moves++;
    w->deadline_ms = units_monotonic_ms() + CHILD_MAX_MS;
}

static int start_lane(struct routes *w, enum phase phase, enum ssh_target target, const char *text,
                      struct err *e)
{
    struct err why = { 0 };

    move_to(w, phase);
    w->lane = ssh_pump_open(w->s, target, text, &why);
    return w->lane != NULL ? 0 : give_up_on(w, why.text, e);
}

static int start_try(struct routes *w, struct err *e)
{
    struct candidate *t = &w->tries[w->at];

    if (t->way == WAY_BRIDGE)
        return start_lane(w, OPENING, SSH_TO_COMMAND, t->text, e);
    if (t->way == WAY_INBOX)
        return start_lane(w, OPENING_SFTP, SSH_TO_SUBSYSTEM, "sftp", e);
    if (t->ahead == NULL)
        return start_lane(w, OPENING, SSH_TO_PATH, t->text, e);
    move_to(w, OPENING);
    w->lane = t->ahead;
    t->ahead = NULL;
    return 0;
}

static int next_try(struct routes *w, struct err *e)
{
    const struct mux_refusal *r;

    if (++w->at < w->n)
        return start_try(w, e);
    /* SFTP, where it is allowed, can tell why no path led to ludwigd. */
    r = refusal_of(w, WAY_STREAM_LOCAL);
    if (w->is_explaining || r == NULL || r->remedy != NULL)
        return fail_search(w, e);
    w->is_explaining = true;
    return start_lane(w, OPENING_SFTP, SSH_TO_SUBSYSTEM, "sftp", e);
}

static int give_up_on(struct routes *w, const char *why, struct err *e)
{
    const struct candidate *t = &w->tries[w->at];
    bool is_path = t->way == WAY_STREAM_LOCAL, is_second_bridge;

    /* Some servers end the connection at such a request, which does not refuse the later ways. */
    if (!ssh_is_alive(w->s) && may_leave(w))
        return 0;
    why = arena_strdup(w->arena, why);
    drop_phase(w);
    if (w->is_explaining)
        return fail_search(w, e);
    if (w->good >= 0)
        return err_set(e, ERR_UNREACHABLE, "ludwigd on %s is out of reach: %s: %s",
                       ssh_conf_of(w->s)->alias, way_names[t->way], why);
    if (is_path && (w->at + 1 == w->n || t[1].way != WAY_STREAM_LOCAL))
        return start_lane(w, PROBING, SSH_TO_PORT, UNUSED_PORT, e);
    /* The bridge in a longer PATH is the same way, and its refusal is reported once. */
    is_second_bridge = t->way == WAY_BRIDGE && w->at > 0 && t[-1].way == WAY_BRIDGE;
    if (!is_path && !is_second_bridge)
        refuse_way(w, t->way, why, NULL);
    return next_try(w, e);
}

static int found(struct routes *w, int *fd, enum way *way, struct err *e)
{
    const struct candidate *t = &w->tries[w->at];

    *fd = ssh_pump_connect(w->lane, e);
    if (*fd < 0) {
        drop_phase(w);
        return -1;
    }
    *way = t->way;
    w->adopt(w->context, w->lane);
    w->lane = NULL;
    w->phase = IDLE;
    w->good = (int)w->at;
    drop_ahead(w);
    return 1;
}

/* ---- the bridge ---- */

static const char *last_line(struct routes *w, const char *text)
{
    const char *end = text + strlen(text), *begin;

    while (end > text && (end[-1] == '\n' || end[-1] == '\r'))
        end--;
    begin = end;
    while (begin > text && begin[-1] != '\n' && begin[-1] != '\r')
        begin--;
    return arena_strndup(w->arena, begin, (size_t)(end - begin));
}

/* Whether b begins with "\0\0\0n\2", the version that an SFTP server answers. */
static bool is_sftp(struct bytes b)
{
    return b.n >= 5 && b.data[0] == 0 && b.data[1] == 0 && b.data[4] == 2;
}

/* sshd's words where only its own SFTP server may be run. */
#define SFTP_ONLY "allows sftp connections only"

static const uint8_t *find_text(struct bytes in, const char *what)
{
    size_t n = strlen(what);

    for (size_t i = 0; i + n <= in.n; i++)
        if (memcmp(in.data + i, what, n) == 0)
            return in.data + i;
    return NULL;
}

static const char *why_no_bridge(struct routes *w)
{
    struct bytes heard = ssh_pump_heard(w->lane);
    const char *said = last_line(w, ssh_pump_complaints(w->lane));
    int status = ssh_pump_exit_status(w->lane);

    if (is_sftp(heard) || strstr(ssh_pump_complaints(w->lane), SFTP_ONLY) != NULL ||
        find_text(heard, SFTP_ONLY) != NULL)
        return "the account may only transfer files (ForceCommand internal-sftp)";
    if (status == 127 || strstr(said, "not found") != NULL)
        return "there is no `ludwig` in the PATH that commands get there; install it, or let "
               "authorized_keys say command=\"/path/to/ludwig bridge\"";
    if (said[0] != '\0')
        return strncmp(said, "ludwig: ", 8) == 0 ? said + 8 : said;
    if (heard.n > 0)
        return last_line(w, arena_strndup(w->arena, (const char *)heard.data, heard.n));
    return arena_printf(w->arena, "`ludwig bridge` ended at once (exit status %d)", status);
}

/* Waits for the bridge's answer; what a login script printed before it is skipped. */
static int await_bridge(struct routes *w, int *fd, enum way *way, struct err *e)
{
    struct bytes heard = ssh_pump_heard(w->lane);
    const uint8_t *hello = find_text(heard, ROUTES_BRIDGE);

    if (hello != NULL) {
        ssh_pump_forget(w->lane, (size_t)(hello - heard.data) + strlen(ROUTES_BRIDGE));
        return found(w, fd, way, e);
    }
    if (is_sftp(heard))
        return give_up_on(w, why_no_bridge(w), e);
    if (ssh_pump_has_ended(w->lane)) {
        move_to(w, BRIDGE_ENDED);
        w->deadline_ms = units_monotonic_ms() + CLOSE_MAX_MS;
        return 0;
    }
    if (units_monotonic_ms() >= w->deadline_ms)
        return give_up_on(w, "`ludwig bridge` does not answer", e);
    return 0;
}

/* The exit status comes behind the output's end, and the next channel is opened behind the close:
 * Dropbear 2022.83 closes a session that is opened while another one's command ends. */
static int await_close(struct routes *w, struct err *e)
{
    if (!ssh_pump_is_closed(w->lane) && units_monotonic_ms() < w->deadline_ms)
        return 0;
    return give_up_on(w, why_no_bridge(w), e);
}

/* ---- phases ---- */

static int open_step(struct routes *w, int *fd, enum way *way, struct err *e)
{
    const struct bytes hello = { (const uint8_t *)ROUTES_HELLO, ROUTES_HELLO_BYTES };
    struct err why = { 0 };
    int rc = ssh_pump_step(w->lane, &why);

    if (rc == 0)
        return 0;
    if (rc < 0)
        return give_up_on(w, why.text, e);
    if (w->tries[w->at].way != WAY_BRIDGE)
        return found(w, fd, way, e);
    move_to(w, GREETING);
    w->deadline_ms = units_monotonic_ms() + BRIDGE_MAX_MS;
    if (ssh_pump_say(w->lane, hello, &why) == 0)
        return 0;
    /* A bridge that has ended already has said why. */
    return give_up_on(w, ssh_pump_has_ended(w->lane) ? why_no_bridge(w) : why.text, e);
}

/* sshd answers the same for a path that it forbids and one that it cannot connect to; the unused
 * port tells the two apart. */
static int probe_step(struct routes *w, struct err *e)
{
    struct err why = { 0 };
    int rc = ssh_pump_step(w->lane, &why);

    if (rc == 0)
        return 0;
    drop_phase(w);
    if (rc < 0 && why.kind == ERR_DENIED)
        refuse_way(
            w, WAY_STREAM_LOCAL, "sshd forbids it for this account",
            "AllowTcpForwarding local and AllowStreamLocalForwarding local in sshd_config, or no "
            "`restrict` on the key, would allow it");
    else
        refuse_way(w, WAY_STREAM_LOCAL, "sshd could not connect to ludwigd's socket", NULL);
    return next_try(w, e);
}

static int sftp_step(struct routes *w, struct err *e)
{
    struct err why = { 0 };
    const char *paths[TRIES_MAX];
    struct list list = { paths, 0 };
    int rc = ssh_pump_step(w->lane, &why), fd;

    if (rc == 0)
        return 0;
    if (rc < 0)
        return give_up_on(w, arena_printf(w->arena, "no SFTP: %s", why.text), e);
    fd = ssh_pump_connect(w->lane, &why);
    if (fd < 0)
        return give_up_on(w, why.text, e);
    w->adopt(w->context, w->lane);
    w->lane = NULL;
    w->phase = CHILD;
    w->deadline_ms = units_monotonic_ms() + CHILD_MAX_MS;
    for (size_t i = 0; i < w->n; i++)
        if (w->tries[i].way == WAY_STREAM_LOCAL)
            paths[list.n++] = w->tries[i].text;
    if (w->is_explaining)
        rc = route_child_explain(&w->child, fd, &list, &why);
    else
        rc = route_child_courier(&w->child, fd, w->tries[w->at].text, ssh_conf_of(w->s)->user,
                                 &w->stream_fd, &why);
    close(fd);
    return rc < 0 ? give_up_on(w, why.text, e) : 0;
}

static int child_step(struct routes *w, int *fd, enum way *way, struct err *e)
{
    struct mux_refusal *r = refusal_of(w, WAY_STREAM_LOCAL);
    int rc = route_child_step(&w->child);

    if (rc == 0 && units_monotonic_ms() < w->deadline_ms)
        return 0;
    if (w->is_explaining) {
        if (rc > 0 && r != NULL)
            r->why = arena_strdup(w->arena, route_child_words(&w->child));
        drop_phase(w);
        return fail_search(w, e);
    }
    if (rc <= 0)
        return give_up_on(w, rc == 0 ? "no answer" : route_child_words(&w->child), e);
    *fd = w->stream_fd;
    *way = WAY_INBOX;
    w->stream_fd = -1;
    w->good = (int)w->at;
    drop_phase(w);
    return 1;
}

/* ---- a session that ends ---- */

bool routes_leave(struct routes *w)
{
    enum way way;
    size_t n = 0;

    if (!may_leave(w))
        return false;
    way = w->tries[w->at].way;
    drop_phase(w);
    drop_ahead(w);
    refuse_way(w, way, "the server ends the connection when it is asked for that",
               "some that serve files alone do");
    for (size_t i = 0; i < w->n; i++)
        if (i > w->at && w->tries[i].way != way)
            w->tries[n++] = w->tries[i];
    w->n = n;
    w->at = 0;
    return n > 0;
}

void routes_resume(struct routes *w, struct ssh *s)
{
    w->s = s;
    w->phase = OPENING; /* routes_step begins it at once: the server need not send anything */
    w->deadline_ms = units_monotonic_ms();
}

/* ---- for the mux ---- */

void routes_begin(struct routes *w)
{
    drop_phase(w);
    w->is_explaining = false;
    if (w->good < 0) {
        w->n_refusals = 0;
        w->at = 0;
    }
    w->phase = OPENING;
    w->lane = NULL; /* routes_step begins the try */
}

int routes_step(struct routes *w, int *fd, enum way *way, struct err *e)
{
    unsigned before;
    int rc = 0;

    if (w->phase == OPENING && w->lane == NULL) {
        if (w->n == 0)
            return fail_search(w, e);
        /* While no try has succeeded, channels to all paths are opened at once. */
        for (size_t i = 0; w->good < 0 && i < w->n; i++) {
            struct candidate *t = &w->tries[i];

            if (t->way != WAY_STREAM_LOCAL || t->ahead != NULL)
                continue;
            t->ahead = ssh_pump_open(w->s, SSH_TO_PATH, t->text, NULL);
            if (t->ahead != NULL)
                (void)ssh_pump_step(t->ahead, NULL);
        }
        if (start_try(w, e) < 0)
            return -1;
    }
    do {
        before = w->n_moves;
        switch (w->phase) {
        case IDLE: return err_set(e, ERR_INTERNAL, "no way is looked for");
        case OPENING: rc = open_step(w, fd, way, e); break;
        case GREETING: rc = await_bridge(w, fd, way, e); break;
        case BRIDGE_ENDED: rc = await_close(w, e); break;
        case PROBING: rc = probe_step(w, e); break;
        case OPENING_SFTP: rc = sftp_step(w, e); break;
        case CHILD: rc = child_step(w, fd, way, e); break;
        }
    } while (rc == 0 && w->n_moves != before);
    return rc;
}

struct pollfd routes_poll(const struct routes *w)
{
    return (struct pollfd){ .fd = w->phase == CHILD ? w->child.verdict_fd : -1, .events = POLLIN };
}

int64_t routes_deadline_ms(const struct routes *w)
{
    return w->phase == IDLE ? INT64_MAX : w->deadline_ms;
}

void routes_tell(const struct routes *w, struct connect_facts *facts)
{
    const struct candidate *good = w->good >= 0 ? &w->tries[w->good] : NULL;

    facts->way = good != NULL ? way_names[good->way] : "";
    facts->server_path = good != NULL && good->way == WAY_STREAM_LOCAL ? good->text : "";
    facts->refusals = (struct list){ (void *)(uintptr_t)w->refusals, w->n_refusals };
}
