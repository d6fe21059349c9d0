/* SPDX-License-Identifier: MIT */
/* user_lookup.c - ask a child who a user is on this machine, and again later if it is nobody */

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "worker/agent/agent.h"
#include "worker/agent/user.h"
#include "worker/node/unix_socket.h"

enum {
    ANSWER_MAX_MS = 20 * 1000, /* of a user database that may be far away */
    QUEUED_MAX_BYTES = 1024,   /* the child is told nothing */
    /* Until it is asked again: after trouble, and after a refusal. */
    AGAIN_AT_FIRST_MS = 10 * 1000,
    AGAIN_AT_MOST_MS = 10 * 60 * 1000
};

static void on_again(uv_timer_t *timer);

/* ---- what its children find in their environment ---- */

struct env {
    char **entries;
    size_t n, capacity;
};

static void add_entry(struct env *env, char *entry)
{
    mem_grow((void **)&env->entries, &env->capacity, env->n + 1, sizeof *env->entries);
    env->entries[env->n++] = entry;
    env->entries[env->n] = NULL;
}

/* Of ours only how this machine speaks and what its time is. */
static bool is_inherited(const char *entry)
{
    static const char *const begins[] = { "LANG=", "LC_", "TZ=" };

    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (strncmp(entry, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

static char **make_env(const char *name, const struct note_account *note)
{
    struct env env = { .n = 0 };

    add_entry(&env, mem_printf("HOME=%s", note->home == NULL ? "/" : note->home));
    add_entry(&env,
              mem_printf("SHELL=%s",
                         note->shell == NULL || note->shell[0] == '\0' ? "/bin/sh" : note->shell));
    add_entry(&env, mem_printf("USER=%s", name));
    add_entry(&env, mem_printf("LOGNAME=%s", name));
    for (char **entry = environ; *entry != NULL; entry++)
        if (is_inherited(*entry))
            add_entry(&env, mem_strdup(*entry));
    return env.entries;
}

/* ---- answers ---- */

static void ask_again_later(struct user *u, bool is_final)
{
    u->account_delay_ms = u->account_delay_ms == 0 ? AGAIN_AT_FIRST_MS : 2 * u->account_delay_ms;
    if (is_final || u->account_delay_ms > AGAIN_AT_MOST_MS)
        u->account_delay_ms = AGAIN_AT_MOST_MS;
    uv_timer_start(&u->account_timer, on_again, u->account_delay_ms, 0);
}

static void refuse(struct user *u, const char *why, bool is_final)
{
    bool is_new = u->state != USER_REFUSED || strcmp(u->why, why) != 0 || u->is_gone != is_final;

    ask_again_later(u, is_final);
    if (!is_new)
        return;
    log_event(LOG_WARN, "user-refused", "user", "%s", u->name, "why", "%s", why, NULL);
    free(u->why);
    u->why = mem_strdup(why);
    u->state = USER_REFUSED;
    u->is_gone = is_final;
    u->agent->user_events->refused(u);
}

static void accept_user(struct user *u, const struct note_account *note)
{
    owner_clear(&u->owner);
    u->owner.rights = mem_strdup(note->rights);
    u->owner.env = make_env(u->name, note);
    u->owner.scratch = mem_strdup(note->scratch);
    log_event(LOG_INFO, "user", "user", "%s", u->name, "uid", "%lld", (long long)note->uid,
              "scratch", "%s", note->scratch, NULL);
    uv_timer_stop(&u->account_timer);
    u->account_delay_ms = 0;
    u->is_gone = false;
    u->state = USER_KNOWN;
    u->agent->user_events->known(u);
}

static void take_note(struct user *u, const struct note_account *note)
{
    if (note->error != NULL)
        refuse(u, note->error, note->is_final);
    else if (note->rights == NULL || note->scratch == NULL || note->scratch[0] != '/')
        refuse(u, "who it is on this machine was not answered well", false);
    else
        accept_user(u, note);
}

static void close_account(struct user *u)
{
    chan_destroy(u->account);
    u->account = NULL;
}

static void give_up(struct user *u, const char *why)
{
    char *text = mem_printf("who %s is on this machine cannot be found out: %s", u->name, why);

    close_account(u);
    if (u->account_pid > 0)
        kill(u->account_pid, SIGKILL);
    refuse(u, text, false);
    free(text);
}

static void on_readable(void *context, struct chan *c)
{
    struct user *u = context;
    struct note_account note;
    struct err e = { 0 };
    struct envelope m;
    int rc = chan_next(c, u->account_arena, &m, &e);

    if (rc == 1 && m.type != NOTE_ACCOUNT)
        rc = err_set(&e, ERR_PROTOCOL, "unexpected %s", orders.messages[m.type].name);
    if (rc == 1 && message_body(&orders, &m, u->account_arena, &note, &e) < 0)
        rc = -1;
    if (rc == 1) {
        close_account(u);
        take_note(u, &note);
    }
    arena_reset(u->account_arena);
    if (rc < 0)
        give_up(u, e.text);
}

static void on_closed(void *context, struct chan *c, const struct err *why)
{
    (void)c;
    give_up(context, why->kind == ERR_NONE ? "the one who was asked ended" : why->text);
}

/* ---- asking ---- */

static void on_too_late(uv_timer_t *timer)
{
    give_up(timer->data, "the user database does not answer");
}

static int start(struct user *u, struct err *e)
{
    static const struct chan_events events = { on_readable, NULL, on_closed };
    const struct agent *ag = u->agent;
    char *min_uid = mem_printf("%" PRId64, ag->conf.min_uid);
    struct child child = { .args = { CHILD_ACCOUNT, u->name, min_uid, ag->folders.pattern,
                                     ag->node.host },
                           .stdout_fd = -1,
                           .lock_fd = -1,
                           .listen_fd = -1 };
    int ours, rc = unix_socket_pair(&ours, &child.channel_fd, e);

    if (rc == 0) {
        rc = child_start(&child, &u->account_pid, e);
        close(child.channel_fd);
        if (rc == 0)
            u->account =
                chan_create(&u->agent->loop, ours, &orders, &events, u, QUEUED_MAX_BYTES, e);
        else
            close(ours);
    }
    free(min_uid);
    return u->account == NULL ? -1 : 0;
}

/* One that is being killed may take its time. */
static void ask_now(struct user *u)
{
    struct err e = { 0 };

    if (u->account != NULL)
        return;
    if (u->account_pid > 0)
        ask_again_later(u, false);
    else if (start(u, &e) < 0)
        give_up(u, e.text);
    else
        uv_timer_start(&u->account_timer, on_too_late, ANSWER_MAX_MS, 0);
}

static void on_again(uv_timer_t *timer)
{
    ask_now(timer->data);
}

void user_lookup(struct user *u)
{
    if (u->state != USER_UNKNOWN)
        return;
    u->state = USER_ASKED;
    if (u->name == NULL)
        refuse(u, "ludwigd does not say whose job it is", true);
    else
        ask_now(u);
}

bool user_lookup_reaped(struct user *u, pid_t pid)
{
    if (u->account_pid == 0 || u->account_pid != pid)
        return false;
    u->account_pid = 0;
    return true;
}

void user_lookup_close(struct user *u)
{
    close_account(u);
    arena_destroy(u->account_arena);
}
