/* SPDX-License-Identifier: MIT */
/* cmd_replay.c - ludwig replay: the record of a sweep's advisor, fed to its program once more */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/query/pages.h"
#include "client/query/selector.h"
#include "client/session/session.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "client/util/child.h"
#include "client/util/spool.h"
#include "common/base/io.h"
#include "common/data/json.h"

enum { LAST_WORDS_BYTES = 2000 }; /* shown of a program that went wrong */

struct options {
    const char *with;
    bool record;
};

static const struct opt options[] = {
    { "with", 0, OPT_STR, "COMMAND", offsetof(struct options, with), 0, 0,
      "feed this program instead of the sweep's" },
    { "record", 0, OPT_FLAG, NULL, offsetof(struct options, record), 0, 0,
      "print the record, an object of JSON on each line, and run nothing" },
    { 0 },
};

/* ---- the record ---- */

struct line {
    int64_t seq;
    enum advice_dir dir;
    const char *body;
    const char *type;    /* "": it is none of ours */
    int64_t re, upto;    /* 0: not said */
    bool is_emptied;     /* a state of which only the newest is kept whole */
    bool says_otherwise; /* hello: its answers need not be the same again */
};

struct record {
    struct arena *arena;
    struct line *lines;
    size_t n, capacity;
    const char *advisor;
};

static int64_t int_of(const struct value *map, const char *key)
{
    const struct value *v = value_get(map, key);

    return v != NULL && v->type == VALUE_INT ? v->i : 0;
}

static void add_line(struct record *r, const struct advice_line *from)
{
    struct line *x;
    struct value v;
    const struct value *type, *blob, *deterministic;

    mem_grow((void **)&r->lines, &r->capacity, r->n, sizeof *r->lines);
    x = &r->lines[r->n++];
    *x = (struct line){ .seq = from->seq,
                        .dir = (enum advice_dir)from->dir,
                        .body = arena_strdup(r->arena, from->body),
                        .type = "" };
    if (json_read(x->body, strlen(x->body), r->arena, &v, NULL) < 0 || v.type != VALUE_MAP)
        return;
    type = value_get(&v, "type");
    blob = value_get(&v, "blob");
    deterministic = value_get(&v, "deterministic");
    if (type != NULL && type->type == VALUE_STR)
        x->type = type->str.s;
    x->re = int_of(&v, "re");
    x->upto = int_of(&v, "upto");
    x->is_emptied = blob != NULL && blob->type == VALUE_STR && blob->str.n == 0;
    x->says_otherwise =
        deterministic != NULL && deterministic->type == VALUE_BOOL && !deterministic->b;
}

static int fetch(struct rpc *rpc, int64_t sweep, bool prints, struct record *r, struct err *e)
{
    struct msg_get_advice request = { .sweep = sweep };
    struct pages_walk walk = { .at = 0 };
    struct msg_advice_page page;

    do {
        const struct advice_line *lines;

        if (rpc_call(rpc, MSG_GET_ADVICE, &request, &page, e) < 0 ||
            (page.next != 0 && pages_go_on(&walk, page.next, e) < 0))
            return -1;
        lines = page.lines.items;
        if (r->advisor == NULL && page.advisor != NULL)
            r->advisor = arena_strdup(r->arena, page.advisor);
        for (size_t i = 0; i < page.lines.n; i++) {
            add_line(r, &lines[i]);
            if (prints && output_write_json(&advice_line_schema, &lines[i], e) < 0)
                return -1;
        }
        request.after = page.next;
    } while (page.next != 0);
    return 0;
}

/* ---- a session, once more ---- */

static bool is_type(const struct line *x, const char *type)
{
    return strcmp(x->type, type) == 0;
}

/* Lines begin to end - 1 of the record are of one process of the advisor, but for the first, which says
 * that it began. */
struct span {
    const struct record *record;
    size_t begin, end;
};

/* Whether the process answered the question, so that it is sure that it was passed it. */
static bool has_answered(const struct span *s, int64_t seq)
{
    for (size_t i = s->begin; i < s->end; i++) {
        const struct line *x = &s->record->lines[i];

        /* A resume comes before its give; the process may have ended between them. */
        if (x->dir == ADVICE_UP && (is_type(x, "give") || is_type(x, "resume")) && x->re == seq)
            return true;
    }
    return false;
}

/* What the process was passed: space, the newest state before it began, and what that does not
 * know.  False: that state was not kept. */
static bool add_passed(const struct span *s, struct buf *text)
{
    const struct line *lines = s->record->lines, *state = NULL;

    for (size_t i = 0; i < s->begin; i++)
        if (lines[i].dir == ADVICE_UP && is_type(&lines[i], "state"))
            state = &lines[i];
    if (state != NULL && state->is_emptied)
        return false;
    for (size_t i = 0; i < s->end; i++) {
        const struct line *x = &lines[i];

        if (x->dir != ADVICE_DOWN || (i > 0 && state != NULL && x->seq <= state->upto) ||
            (is_type(x, "ask") && !has_answered(s, x->seq)))
            continue;
        buf_printf(text, "%s\n", x->body);
        if (i == 0 && state != NULL)
            buf_printf(text, "%s\n", state->body);
    }
    return true;
}

/* Runs the program with text as its standard input. */
static int run_program(const char *command, const struct buf *text, struct buf *out, struct err *e)
{
    static const char script[] = "exec <\"$1\"\neval \"$2\"";
    char *path = mem_printf("%s/ludwig-replay.XXXXXX", temp_file_folder());
    const char *argv[] = { "/bin/sh", "-c", script, "sh", path, command, NULL };
    struct buf errors = { 0 };
    int fd = mkstemp(path), rc = -1;

    if (fd < 0)
        err_sys(e, "make a file in %s", temp_file_folder());
    else if (io_write_all(fd, text->bytes, text->n) < 0)
        err_sys(e, "write %s", path);
    else
        rc = child_capture_all(argv, out, &errors, e);
    if (fd >= 0) {
        close(fd);
        (void)unlink(path);
    }
    if (rc > 0) {
        struct buf words = { 0 };
        size_t n = 0;

        while (errors.n > 0 && errors.bytes[errors.n - 1] == '\n')
            errors.n--;
        if (errors.n > LAST_WORDS_BYTES)
            n = errors.n - LAST_WORDS_BYTES;
        while (n > 0 && n < errors.n && errors.bytes[n - 1] != '\n')
            n++;
        safe_text_add_harmless(&words, (const char *)errors.bytes + n, errors.n - n, "\n\t");
        if (words.n > 0)
            output_note("%s", buf_text(&words));
        rc = err_set(e, ERR_FAILED,
                     "`%s` ended with code %d: it runs in the current folder, so go to that of the "
                     "sweep file",
                     command, rc);
        buf_free(&words);
    }
    free(path);
    buf_free(&errors);
    return rc;
}

/* Compares what the program wrote with the record: its number of answers, or -1. */
static int64_t compare(const struct span *s, int number, struct buf *out, struct err *e)
{
    const char *at = buf_text(out);
    int64_t n = 0;

    for (size_t i = s->begin; i < s->end; i++) {
        const struct line *x = &s->record->lines[i];
        size_t length = strcspn(at, "\n");
        bool is_same;

        if (x->dir != ADVICE_UP)
            continue;
        /* What was too long, or had a NUL in it, was recorded as "". */
        is_same = x->is_emptied || x->body[0] == '\0' ||
                  (length == strlen(x->body) && memcmp(at, x->body, length) == 0);
        if (!is_same) {
            struct buf was = { 0 }, is = { 0 };

            safe_text_add_harmless(&was, x->body, strnlen(x->body, 200), "");
            safe_text_add_harmless(&is, at, length < 200 ? length : 200, "");
            err_set(e, ERR_FAILED,
                    "session %d, line %" PRId64 ": the record has %s, and now it is %s", number,
                    x->seq, buf_text(&was), length == 0 ? "nothing" : buf_text(&is));
            buf_free(&was);
            buf_free(&is);
            return -1;
        }
        n += is_type(x, "give");
        at += length + (at[length] == '\n');
    }
    return n;
}

static int replay_session(const struct span *s, int number, const char *command, struct err *e)
{
    struct buf passed = { 0 }, out = { 0 };
    int64_t n = 0;

    if (!add_passed(s, &passed)) {
        output_note("session %d: the state that it began from was not kept", number);
        buf_free(&passed);
        return 0;
    }
    if (run_program(command, &passed, &out, e) < 0)
        n = -1;
    else
        n = compare(s, number, &out, e);
    if (n >= 0)
        output_note("session %d: %" PRId64 " answer%s, the same again", number, n,
                    n == 1 ? "" : "s");
    buf_free(&passed);
    buf_free(&out);
    return n < 0 ? -1 : 0;
}

static int replay(const struct record *r, const char *command, struct err *e)
{
    struct span s = { .record = r };
    int number = 0;

    for (size_t i = 0; i < r->n; i++)
        if (r->lines[i].dir == ADVICE_UP && is_type(&r->lines[i], "hello") &&
            r->lines[i].says_otherwise)
            return err_set(e, ERR_FAILED,
                           "the advisor says that its answers are not the same each time");
    for (size_t i = 0; i < r->n; i++) {
        if (r->lines[i].dir != ADVICE_NOTE || !is_type(&r->lines[i], "session"))
            continue;
        s.begin = i;
        for (s.end = i + 1; s.end < r->n; s.end++)
            if (r->lines[s.end].dir == ADVICE_NOTE && is_type(&r->lines[s.end], "session"))
                break;
        if (replay_session(&s, ++number, command, e) < 0)
            return -1;
    }
    return number > 0 ? 0 : err_set(e, ERR_FAILED, "the advisor has not run yet");
}

/* The command is run here, by whoever asks: another user's would be run with the rights of an admin. */
static int check_owner(struct rpc *rpc, int64_t sweep, struct err *e)
{
    struct sweep_info info;

    if (pages_sweep(rpc, sweep, &info, e) < 0)
        return -1;
    if (rpc_is_as(rpc, info.user))
        return 0;
    return err_set(e, ERR_DENIED,
                   "sweep %" PRId64 " is %s's, and its advisor would run here as you: look at it"
                   " with --record, and name the program with --with",
                   sweep, info.user == NULL ? "another user" : info.user);
}

static int run(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct record r = { .arena = cli->arena };
    struct session s;
    int64_t sweep;
    int result = -1;

    if (session_open(cli, &s, e) < 0)
        return -1;
    if (selector_sweep(&s.rpc, cli->args.words[0], &sweep, e) == 0)
        result = o->record || o->with != NULL ? 0 : check_owner(&s.rpc, sweep, e);
    if (result == 0)
        result = fetch(&s.rpc, sweep, o->record, &r, e);
    session_close(&s);
    if (result == 0 && !o->record)
        result = replay(&r, o->with != NULL ? o->with : r.advisor, e);
    free(r.lines);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_replay = {
    .name = "replay",
    .args = "SWEEP [OPTION]...",
    .help = "feed the record of a sweep's advisor to its program again",
    .more = "Each process of the advisor is run once more, here and in this folder, with\n"
            "what it was told then; an answer that is another one, byte by byte, is an\n"
            "error.  The program of another user's sweep is not run: name one with --with.\n"
            "\n"
            "  ludwig replay 7\n"
            "  ludwig replay 7 --record > advice.jsonl\n",
    .min_args = 1,
    .max_args = 1,
    .options = options,
    .options_size = sizeof(struct options),
    .run = run,
};
