/* SPDX-License-Identifier: MIT */
/* flow_peek.c - has a child read what a running job has saved so far, when ludwigd asks */

#include "worker/flow/flow_peek.h"

#include <stdlib.h>

enum {
    ANSWER_MAX_MS = 10 * 1000, /* a disk may hang; ludwigd waits for twice as long */
    AT_ONCE = 8,               /* children at once; half of them for one user's jobs */
    AT_ONCE_OF_USER = AT_ONCE / 2,
    FORGOTTEN = -1 /* number of a question whose answer is dropped */
};

/* A place for a question; it is free when it has no question and its last child is gone. */
struct peek_place {
    struct agent *agent;
    struct user *user; /* NULL: there is no question */
    int64_t number;    /* of ludwigd's question */
    struct child_question child;
};

struct flow_peeks {
    struct peek_place places[AT_ONCE];
};

/* The connection is still that of the question: flow_peek_forget drops those of an earlier one. */
static void answer(struct agent *ag, int64_t number, const struct peek_found *found)
{
    struct msg_saved_read m = { number, *found };

    server_link_send(ag->link, MSG_SAVED_READ, 0, &m);
}

static void answer_error(struct agent *ag, int64_t number, enum err_kind kind, const char *why)
{
    answer(ag, number, &(struct peek_found){ .error_kind = (int)kind, .error = why });
}

static void on_answer(void *context, const void *body, const char *why)
{
    const struct note_peeked *note = body;
    struct peek_place *p = context;

    p->user = NULL;
    if (p->number == FORGOTTEN)
        return;
    if (note != NULL)
        answer(p->agent, p->number, &note->found);
    else
        answer_error(p->agent, p->number, ERR_FAILED, why);
}

/* Returns a free place; NULL: there is none, or the user has AT_ONCE_OF_USER already. */
static struct peek_place *find_place(struct flow_peeks *peeks, const struct user *u)
{
    struct peek_place *found = NULL;
    int n = 0;

    for (size_t i = 0; i < AT_ONCE; i++) {
        struct peek_place *p = &peeks->places[i];

        n += p->user == u;
        if (p->user == NULL && p->child.pid == 0)
            found = p;
    }
    return n < AT_ONCE_OF_USER ? found : NULL;
}

void flow_peek_begin(struct agent *ag, const struct msg_read_saved *m)
{
    const struct attempt *a = attempts_find(&ag->attempts, &m->token);
    struct order_peek order = { m->token, m->at };
    struct child child = { .args = { CHILD_PEEK } };
    struct peek_place *p;

    if (a == NULL) {
        answer_error(ag, m->number, ERR_NOT_FOUND, "its node has it no more: ask again");
        return;
    }
    if (a->user->owner.scratch == NULL) {
        answer_error(ag, m->number, ERR_BUSY,
                     "its node does not know yet who its user is there: try again");
        return;
    }
    p = find_place(ag->peeks, a->user);
    if (p == NULL) {
        answer_error(ag, m->number, ERR_BUSY,
                     "its node is busy with other questions like this one: try again");
        return;
    }
    p->user = a->user;
    p->number = m->number;
    child.owner = &a->user->owner;
    child.args[1] = a->user->owner.scratch;
    child_question_ask(&p->child, &child);
    if (p->user != NULL)
        child_question_tell(&p->child, ORDER_PEEK, &order);
}

/* ludwigd, started anew, may use the same numbers for other users' questions. */
void flow_peek_forget(struct agent *ag)
{
    for (size_t i = 0; i < AT_ONCE; i++)
        ag->peeks->places[i].number = FORGOTTEN;
}

bool flow_peek_reaped(struct agent *ag, pid_t pid)
{
    for (size_t i = 0; ag->peeks != NULL && i < AT_ONCE; i++)
        if (child_question_reaped(&ag->peeks->places[i].child, pid))
            return true;
    return false;
}

void flow_peek_init(struct agent *ag)
{
    ag->peeks = mem_alloc(sizeof *ag->peeks);
    for (size_t i = 0; i < AT_ONCE; i++) {
        struct peek_place *p = &ag->peeks->places[i];

        p->agent = ag;
        child_question_init(&p->child, &ag->loop, NOTE_PEEKED, ANSWER_MAX_MS, on_answer, p);
    }
}

void flow_peek_close(struct agent *ag)
{
    for (size_t i = 0; ag->peeks != NULL && i < AT_ONCE; i++)
        child_question_close(&ag->peeks->places[i].child);
}

void flow_peek_free(struct agent *ag)
{
    free(ag->peeks);
}
