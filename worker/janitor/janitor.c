/* SPDX-License-Identifier: MIT */
/* janitor.c - looks after one user's scratch folder for the agent, which never opens it */

#include "worker/janitor/janitor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/units.h"
#include "worker/base/child_start.h"
#include "worker/base/process_tree.h"
#include "worker/base/scratch.h"

enum {
    /* A folder that names no ludwigd is a leftover when it is older than this. */
    NAMELESS_MAX_S = 60 * 60,
    /* A checkpoint never names a ludwigd, and the job of another one may wait for long. */
    CHECKPOINT_MAX_S = 24 * 60 * 60
};

static bool is_in(int dir_fd, const char *name)
{
    return faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- one attempt ---- */

static bool is_on_scratch(const struct scratch *s, const struct token *token)
{
    char hex[TOKEN_HEX];

    token_hex(token, hex);
    return is_in(s->run_fd, hex) || is_in(s->ended_fd, hex) || is_in(s->published_fd, hex);
}

/* Moves an attempt with an outcome from run/ to ended/; false: it has none.  Its runner died after
 * writing the outcome and had nothing else to do. */
static bool move_to_ended(const struct scratch *s, const char *hex)
{
    char *path = mem_printf("%s/" JOB_OUTCOME, hex);
    bool is_there = is_in(s->run_fd, path);

    free(path);
    return is_there && renameat(s->run_fd, hex, s->ended_fd, hex) == 0;
}

/* Fills in the note with where the attempt or process lies, after moving one with an outcome to
 * ended/ unless *x forbids it.  The note's report lies in the arena.  Looks into the folders in the
 * order in which an attempt moves through them: the publisher of the agent before us may still move
 * it, and it must be seen in one of them. */
static void find_place(const struct scratch *s, const struct order_settle *x,
                       const struct token *token, struct arena *a, struct note_settled *note)
{
    bool may_end = !x->is_stale && !x->only_look;
    char hex[TOKEN_HEX];

    token_hex(token, hex);
    *note = (struct note_settled){ .token = *token, .place = PLACE_NOWHERE };
    if (is_in(s->run_fd, hex))
        note->place = may_end && move_to_ended(s, hex) ? PLACE_ENDED : PLACE_RUN;
    else if (is_in(s->ended_fd, hex))
        note->place = PLACE_ENDED;
    else if (is_in(s->published_fd, hex))
        note->place = PLACE_PUBLISHED;
    if (note->place == PLACE_PUBLISHED) {
        char *path = mem_printf("%s/" JOB_REPORT, hex);
        struct report *report = arena_alloc(a, sizeof *report);
        struct err e = { 0 };

        if (scratch_read(s->published_fd, path, &report_schema, a, report, &e) == 0)
            note->reports = (struct list){ report, 1 };
        else
            log_event(LOG_ERROR, "settle", "why", "%s", e.text, NULL);
        free(path);
    }
}

/* Writes the outcome and moves the attempt to ended/.  false: it stays where it is, as it was lost
 * or goes back and has no checkpoint, which alone would be of use. */
static bool finish(const struct scratch *s, const struct order_finish *x)
{
    const struct outcome outcome = { .event = x->event,
                                     .cause = x->cause,
                                     .exit_code = SCHEMA_NONE,
                                     .signal = SCHEMA_NONE,
                                     .reason = x->reason,
                                     .started_at = x->started_at,
                                     .ended_at = units_now_ms() };
    char hex[TOKEN_HEX];
    char *checkpoint, *path;
    bool is_of_use = x->event == EV_FAIL || x->event == EV_CANCEL, has_ended;

    token_hex(&x->token, hex);
    checkpoint = mem_printf("%s/" JOB_CHECKPOINT, hex);
    path = mem_printf("%s/" JOB_OUTCOME, hex);
    is_of_use |= is_in(s->run_fd, checkpoint) && !scratch_is_fresh_dir(s->run_fd, checkpoint);
    has_ended = is_of_use &&
                scratch_replace(s->run_fd, path, &outcome_schema, &outcome, NULL) == 0 &&
                move_to_ended(s, hex);
    free(checkpoint);
    free(path);
    return has_ended;
}

/* ---- survey ---- */

/* Calls each for every attempt that has something on scratch, perhaps twice for one.  Goes from the
 * last folder to the first, so that the agent gives no attempt two orders at once. */
static void survey(const struct scratch *s,
                   void (*each)(void *context, const struct note_remains *note), void *context)
{
    const struct {
        int fd;
        enum place place;
        time_t max_s;
    } folders[] = { { s->published_fd, PLACE_PUBLISHED, NAMELESS_MAX_S },
                    { s->ended_fd, PLACE_ENDED, NAMELESS_MAX_S },
                    { s->run_fd, PLACE_RUN, NAMELESS_MAX_S },
                    { s->log_fd, PLACE_NOWHERE, NAMELESS_MAX_S },
                    { s->checkpoints_fd, PLACE_NOWHERE, CHECKPOINT_MAX_S } };
    enum { WITH_ORDER = 3 };

    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        DIR *dir = folders[i].fd < 0 ? NULL : io_list_dir_at(folders[i].fd, ".", NULL);
        const struct dirent *entry;

        while (dir != NULL && (entry = readdir(dir)) != NULL) {
            struct note_remains note = { .place = (int)folders[i].place };
            const char *hex = entry->d_name;
            struct arena *a;
            struct order order;
            struct stat st;
            bool is_elsewhere = false;
            char *path;

            if (token_parse(hex, &note.token) < 0)
                continue;
            for (size_t k = 0; k < WITH_ORDER; k++)
                is_elsewhere |= k != i && is_in(folders[k].fd, hex);
            if (is_elsewhere)
                continue;
            a = arena_create();
            path = mem_printf("%s/" JOB_ORDER, hex);
            if (i < WITH_ORDER &&
                scratch_read(folders[i].fd, path, &order_schema, a, &order, NULL) == 0)
                note.server_id = order.server_id;
            note.is_old = fstatat(folders[i].fd, hex, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                          st.st_mtime + folders[i].max_s < time(NULL);
            each(context, &note);
            free(path);
            arena_destroy(a);
        }
        if (dir != NULL)
            closedir(dir);
    }
}

struct janitor {
    struct scratch scratch;
    struct wire wire;
    struct err why; /* why a note could not be sent */
};

static int send_note(struct janitor *c, int64_t re, int type, const void *body, struct err *e)
{
    return wire_send(&c->wire, type, re, NULL, body, e) < 0 ? -1 : 0;
}

static void tell_remains(void *context, const struct note_remains *note)
{
    struct janitor *c = context;

    if (c->why.kind == ERR_NONE)
        (void)send_note(c, 0, NOTE_REMAINS, note, &c->why);
}

static int tell_settled(struct janitor *c, const struct order_settle *x, int64_t re, struct err *e)
{
    const struct token_entry *tokens = x->tokens.items;
    bool has_process = !token_is_zero(&x->process);
    /* A runner makes the folders of a batch's attempts first, then that of the process. */
    bool has_begun = has_process && is_on_scratch(&c->scratch, &x->process);
    int rc = 0;

    for (size_t i = 0; i < x->tokens.n; i++)
        has_begun = has_begun || is_on_scratch(&c->scratch, &tokens[i].token);
    for (size_t i = 0; rc == 0 && i < has_process + x->tokens.n; i++) {
        const struct token *token =
            has_process && i == 0 ? &x->process : &tokens[i - has_process].token;
        struct arena *a = arena_create();
        struct note_settled note;

        find_place(&c->scratch, x, token, a, &note);
        note.has_begun = has_begun;
        rc = send_note(c, re, NOTE_SETTLED, &note, e);
        arena_destroy(a);
    }
    return rc;
}

static int take_order(struct janitor *c, const struct envelope *m, struct err *e)
{
    static const int types[] = { ORDER_SETTLE, ORDER_REAP, ORDER_FINISH, ORDER_SURVEY, -1 };
    union {
        struct order_settle settle;
        struct token_entry reap;
        struct order_finish finish;
        struct order_nothing survey;
    } x;
    struct note_reaped reaped;
    struct note_finished finished;
    struct order_nothing surveyed = { .all = true };

    if (child_order_body(&c->wire, m, types, &x, e) < 0)
        return -1;
    switch (m->type) {
    case ORDER_SETTLE: return tell_settled(c, &x.settle, m->seq, e);
    case ORDER_REAP:
        reaped =
            (struct note_reaped){ x.reap.token, (int64_t)process_tree_kill_marked(&x.reap.token) };
        return send_note(c, m->seq, NOTE_REAPED, &reaped, e);
    case ORDER_FINISH:
        finished = (struct note_finished){ x.finish.token, finish(&c->scratch, &x.finish) };
        return send_note(c, m->seq, NOTE_FINISHED, &finished, e);
    default:
        survey(&c->scratch, tell_remains, c);
        if (c->why.kind != ERR_NONE) {
            *e = c->why;
            return -1;
        }
        return send_note(c, m->seq, NOTE_SURVEYED, &surveyed, e);
    }
}

int janitor_main(int argc, char **argv)
{
    struct janitor c = { .why = { 0 } };
    struct err e = { 0 };
    struct envelope m;
    int rc;

    if (argc != 2 || argv[1][0] != '/') {
        err_set(&e, ERR_USAGE, "--janitor SCRATCH, absolute");
        return child_fail("janitor", &e);
    }
    umask(077);
    if (child_begin(&e) < 0)
        return child_fail("janitor", &e);
    scratch_look(&c.scratch, argv[1]);
    wire_init(&c.wire, CHILD_CHANNEL_FD, &orders);
    while ((rc = wire_receive(&c.wire, &m, &e)) == 1)
        if (take_order(&c, &m, &e) < 0) {
            rc = -1;
            break;
        }
    wire_close(&c.wire);
    scratch_close(&c.scratch);
    return rc < 0 && e.kind != ERR_UNREACHABLE ? child_fail("janitor", &e) : 0;
}
