/* SPDX-License-Identifier: MIT */
/* user.c - the users whose jobs this agent runs, and their accounts on this machine */

#include "worker/agent/user.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/account.h"
#include "common/base/io.h"
#include "common/base/log.h"
#include "worker/agent/agent.h"

enum {
    /* How long a user's stager and publisher stay without work: the next job may come soon. */
    REST_AFTER_MS = 60 * 1000,
    ANSWER_MAX_MS = 20 * 1000, /* a user database may be far away */
    /* Delay until an account is asked for again: the first after trouble, and after a refusal. */
    AGAIN_AT_FIRST_MS = 10 * 1000,
    AGAIN_AT_MOST_MS = 10 * 60 * 1000
};

static void init_service(struct user *u, struct service *s, const char *name, const char *mode,
                         const struct service_events *events)
{
    service_init(s, &u->agent->loop);
    s->name = name;
    s->mode = mode;
    s->owner = &u->owner;
    s->dir_fd = u->agent->home_fd;
    s->events = events;
    s->user = u;
}

static void on_account(void *context, const void *body, const char *why);

/* An SSH key that is only for messages gives no access to files. */
const char *user_share_address(const struct conf *c)
{
    return c->server.kind == ENDPOINT_SSH && c->server.keys == NULL ? c->server.text : "";
}

static struct user *create_user(struct agent *ag, const char *name)
{
    const struct user_events *events = ag->user_events;
    struct user *u = mem_alloc(sizeof *u);
    uv_timer_t *timers[] = { &u->account_timer, &u->rest_timer,    &u->staging_timer,
                             &u->pause_timer,   &u->janitor_timer, &u->survey_timer };

    u->agent = ag;
    u->name = name == NULL ? NULL : mem_strdup(name);
    u->owner.name = name == NULL ? NULL : mem_strdup(name);
    child_question_init(&u->account, &ag->loop, NOTE_ACCOUNT, ANSWER_MAX_MS, on_account, u);
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++) {
        uv_timer_init(&ag->loop, timers[i]);
        timers[i]->data = u;
    }
    init_service(u, &u->stager, "stager", CHILD_STAGER, events->stager);
    init_service(u, &u->publisher, "publisher", CHILD_PUBLISHER, events->publisher);
    u->stager.address = u->publisher.address = user_share_address(&ag->conf);
    u->guard_fd = -1;
    init_service(u, &u->janitor, "janitor", CHILD_JANITOR, events->janitor);
    init_service(u, &u->packer, "packer", CHILD_PACKER, events->packer);
    ring_add_last(&ag->users, &u->ring);
    return u;
}

/* Called each time the uid is found; it does not change, so events.named is called once. */
static void name_uid(struct user *u, uid_t uid)
{
    if (u->guard_fd < 0)
        u->agent->user_events->named(u, uid);
    u->stager.extra_fd = u->guard_fd;
}

struct user *user_create_self(struct agent *ag, const char *scratch)
{
    struct user *u = create_user(ag, NULL);

    u->owner.scratch = mem_strdup(scratch);
    u->state = USER_KNOWN;
    name_uid(u, geteuid());
    return u;
}

struct user *user_of(struct agent *ag, const char *name)
{
    bool is_self =
        !ag->changes_uid && (geteuid() != 0 || name == NULL || account_is_own_name(name));
    struct user *u;

    for (RING_EACH(struct user, known, &ag->users, ring))
        if (owner_is(&known->owner, is_self ? NULL : name))
            return known;
    u = create_user(ag, name);
    if (ag->changes_uid)
        return u;
    /* A worker that runs as root, and is not for others, runs only root's own jobs. */
    u->state = USER_REFUSED;
    u->why = mem_strdup("this worker runs as root, and jobs of its own account only: "
                        "kind: node is for those of others");
    return u;
}

/* ---- users of earlier agents ---- */

void user_recall_all(struct agent *ag)
{
    DIR *d = io_list_dir_at(ag->home_fd, ".", NULL);
    const struct dirent *entry;

    /* "publisher.NAME.lock" has been there since the user's first publisher. */
    while (d != NULL && (entry = readdir(d)) != NULL) {
        static const char begin[] = "publisher.", end[] = ".lock";
        size_t n = strlen(entry->d_name), n_begin = sizeof begin - 1, n_end = sizeof end - 1;
        char *name;

        if (n <= n_begin + n_end || strncmp(entry->d_name, begin, n_begin) != 0 ||
            strcmp(entry->d_name + n - n_end, end) != 0)
            continue;
        name = mem_strndup(entry->d_name + n_begin, n - n_begin - n_end);
        user_lookup(user_of(ag, name));
        free(name);
    }
    if (d != NULL)
        closedir(d);
}

/* ---- accounts ---- */

/* Makes the environment of a user's children: of the agent's only language and time zone. */
static char **make_env(const char *name, const struct note_account *note)
{
    static const char *const inherited[] = { "LANG=", "LC_", "TZ=" };
    size_t n = 0, capacity = 4;
    char **env;

    for (char **entry = environ; *entry != NULL; entry++)
        capacity++;
    env = mem_alloc((capacity + 1) * sizeof *env);
    env[n++] = mem_printf("HOME=%s", note->home == NULL ? "/" : note->home);
    env[n++] = mem_printf("SHELL=%s",
                          note->shell == NULL || note->shell[0] == '\0' ? "/bin/sh" : note->shell);
    env[n++] = mem_printf("USER=%s", name);
    env[n++] = mem_printf("LOGNAME=%s", name);
    for (char **entry = environ; *entry != NULL; entry++)
        for (size_t i = 0; i < sizeof inherited / sizeof inherited[0]; i++)
            if (strncmp(*entry, inherited[i], strlen(inherited[i])) == 0)
                env[n++] = mem_strdup(*entry);
    return env;
}

static void ask_account(struct user *u);

static void on_again(uv_timer_t *timer)
{
    ask_account(timer->data);
}

static void ask_again_later(struct user *u, bool is_final)
{
    u->account_delay_ms = u->account_delay_ms == 0 ? AGAIN_AT_FIRST_MS : 2 * u->account_delay_ms;
    if (is_final || u->account_delay_ms > AGAIN_AT_MOST_MS)
        u->account_delay_ms = AGAIN_AT_MOST_MS;
    uv_timer_start(&u->account_timer, on_again, u->account_delay_ms, 0);
}

/* Asks for the account; later, if the child asked before is still being killed. */
static void ask_account(struct user *u)
{
    char *min_uid = mem_printf("%" PRId64, u->agent->conf.min_uid);
    struct child child = { .args = { CHILD_ACCOUNT, u->name, min_uid, u->agent->folders.pattern,
                                     u->agent->node.host } };

    if (u->account.pid > 0)
        ask_again_later(u, false);
    else
        child_question_ask(&u->account, &child);
    free(min_uid);
}

static void refuse_user(struct user *u, const char *why, bool is_final)
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

static void on_account(void *context, const void *body, const char *why)
{
    const struct note_account *note = body;
    struct user *u = context;

    if (note == NULL) {
        char *text = mem_printf("who %s is on this machine cannot be found out: %s", u->name, why);

        refuse_user(u, text, false);
        free(text);
    } else if (note->error != NULL) {
        refuse_user(u, note->error, note->is_final);
    } else if (note->rights == NULL || note->scratch == NULL || note->scratch[0] != '/') {
        refuse_user(u, "who it is on this machine was not answered well", false);
    } else {
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
        name_uid(u, (uid_t)note->uid);
        u->agent->user_events->known(u);
    }
}

void user_lookup(struct user *u)
{
    if (u->state != USER_UNKNOWN)
        return;
    u->state = USER_ASKED;
    if (u->name == NULL)
        refuse_user(u, "ludwigd does not say whose job it is", true);
    else
        ask_account(u);
}

/* ---- leftovers on scratch ---- */

void user_add_leftover(struct user *u, const struct token *token)
{
    mem_grow((void **)&u->leftovers, &u->leftovers_capacity, u->n_leftovers, sizeof *u->leftovers);
    u->leftovers[u->n_leftovers++] = *token;
}

void user_discard_leftovers(struct user *u)
{
    if (u->n_leftovers > u->n_leftovers_sent && u->publisher.chan == NULL)
        service_need(&u->publisher);
    while (u->n_leftovers > u->n_leftovers_sent && u->publisher.chan != NULL)
        service_send(&u->publisher, ORDER_DISCARD,
                     &(struct token_entry){ u->leftovers[u->n_leftovers_sent++] });
}

/* Answers come in the order in which leftovers were sent, so the first entries match. */
void user_forget_leftover(struct user *u, const struct token *token)
{
    struct token *all = u->leftovers;
    size_t i = 0;

    while (i < u->n_leftovers_sent && !token_equal(&all[i], token))
        i++;
    if (i == u->n_leftovers_sent)
        return;
    u->n_leftovers_sent--;
    u->n_leftovers--;
    memmove(&all[i], &all[i + 1], (u->n_leftovers - i) * sizeof *all);
}

/* ---- resting ---- */

struct attempt *user_next(const struct user *u, const struct attempt *after)
{
    const struct ring *all = &u->agent->attempts.all;

    for (struct ring *at = after == NULL ? all->next : after->ring.next; at != all; at = at->next)
        if (RING_ITEM(at, struct attempt, ring)->user == u)
            return RING_ITEM(at, struct attempt, ring);
    return NULL;
}

struct attempt *user_attempt(const struct user *u, const struct token *token)
{
    struct attempt *a = attempts_find(&u->agent->attempts, token);

    return a != NULL && a->user == u ? a : NULL;
}

static bool is_busy(const struct user *u)
{
    return u->state != USER_KNOWN || u->is_surveying || u->n_foreign > 0 || u->n_leftovers > 0 ||
           u->janitor.chan != NULL || user_next(u, NULL) != NULL ||
           u->agent->user_events->is_busy(u) || u->expected.n > 0;
}

static void forget_trees(struct user *u)
{
    for (size_t i = 0; i < u->n_trees; i++) {
        free(u->trees[i].project);
        free(u->trees[i].share);
    }
    u->n_trees = 0;
}

/* Lets the children of an idle user leave.  When the user has jobs again, the account is asked for
 * anew: its groups may have changed. */
static void on_rest(uv_timer_t *timer)
{
    struct user *u = timer->data;

    if (is_busy(u)) {
        if (user_next(u, NULL) == NULL)
            uv_timer_start(timer, on_rest, REST_AFTER_MS, 0);
        return;
    }
    service_rest(&u->stager);
    service_rest(&u->publisher);
    forget_trees(u);
    owner_clear(&u->owner);
    u->state = USER_UNKNOWN;
}

void user_may_rest(struct user *u)
{
    if (u->owner.rights != NULL && !uv_is_active((uv_handle_t *)&u->rest_timer))
        uv_timer_start(&u->rest_timer, on_rest, REST_AFTER_MS, 0);
}

/* ---- end ---- */

void user_close(struct user *u)
{
    child_question_close(&u->account);
    service_close(&u->stager);
    service_close(&u->publisher);
    service_close(&u->janitor);
    service_close(&u->packer);
}

void user_free(struct user *u)
{
    ring_remove(&u->ring);
    u->agent->user_events->gone(u);
    forget_trees(u);
    cache_news_free(&u->cached);
    if (u->guard_fd >= 0)
        close(u->guard_fd);
    owner_clear(&u->owner);
    free(u->owner.name);
    free(u->trees);
    free(u->leftovers);
    free(u->pause_why);
    free(u->why);
    free(u->name);
    free(u);
}

bool user_reaped(struct user *u, pid_t pid)
{
    return child_question_reaped(&u->account, pid) || service_reaped(&u->stager, pid) ||
           service_reaped(&u->publisher, pid) || service_reaped(&u->janitor, pid) ||
           service_reaped(&u->packer, pid);
}
