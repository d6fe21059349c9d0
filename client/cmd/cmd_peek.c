/* SPDX-License-Identifier: MIT */
/* cmd_peek.c - ludwig peek */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cmd/peek.h"
#include "client/query/pages.h"
#include "client/query/selector.h"
#include "client/session/session.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "client/term/table.h"
#include "common/base/path.h"
#include "common/base/units.h"

enum {
    SHOWN_BYTES = 16 * 1024 * 1024, /* of a file, unless --bytes says otherwise */
    TAIL_BYTES = 64 * 1024          /* first look for the last lines, from the end */
};

struct options {
    int64_t lines, offset;
    const char *bytes;
    bool raw, json;
};

static const struct opt options[] = {
    { "lines", 'n', OPT_INT, "N", offsetof(struct options, lines), 0, INT64_C(1) << 53,
      "of a file, only the last N lines" },
    { "offset", 0, OPT_INT, "BYTES", offsetof(struct options, offset), 0, INT64_MAX,
      "of a file, begin behind so many bytes" },
    { "bytes", 0, OPT_STR, "SIZE", offsetof(struct options, bytes), 0, 0,
      "of a file, at most so much (500M, 2GiB); default: 16 MiB" },
    { "raw", 0, OPT_FLAG, NULL, offsetof(struct options, raw), 0, 0,
      "give a terminal what is in the file as it is: colours, and whatever else it obeys" },
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0,
      "print JSON: what lies there, without the content of files" },
    { 0 },
};

/* ---- JSON ---- */

static const struct field entry_fields[] = {
    FIELD(struct peek_entry, name, FIELD_STR, FIELD_REQUIRED, 0),
    FIELD_NAMED(struct peek_entry, type, 0, peek_type_names, PEEK_TYPE_COUNT),
    FIELD(struct peek_entry, size_bytes, FIELD_INT, 0, 0),
    FIELD(struct peek_entry, modified_at, FIELD_INT, FIELD_TIME_MS, 0),
};
const struct schema saved_entry_schema = SCHEMA(struct peek_entry, "saved_entry", entry_fields);

static const struct field place_fields[] = {
    FIELD(struct saved_place, job, FIELD_STR, FIELD_REQUIRED, 0),
    FIELD(struct saved_place, attempt, FIELD_INT, 0, 0),
    FIELD_NAMED(struct saved_place, state, 0, job_state_names, JOB_STATE_COUNT),
    FIELD(struct saved_place, node, FIELD_STR, 0, 0),
    FIELD(struct saved_place, path, FIELD_STR, FIELD_REQUIRED, 0),
    FIELD_NAMED(struct saved_place, type, 0, peek_type_names, PEEK_TYPE_COUNT),
    FIELD(struct saved_place, size_bytes, FIELD_INT, 0, 0),
    FIELD(struct saved_place, modified_at, FIELD_INT, FIELD_TIME_MS, 0),
    FIELD_OF(struct saved_place, entries, FIELD_LIST, 0, 0, &saved_entry_schema),
};
const struct schema saved_place_schema = SCHEMA(struct saved_place, "saved_place", place_fields);

/* ---- where it is read ---- */

/* One run of the command. */
struct peeker {
    const struct options *options;
    struct session session;
    struct arena *arena;
    struct target job;
    struct job_info info;
    struct share_dir *drive; /* the job has ended: its files lie there, below run_path; else NULL */
    struct saved_place place;
    int64_t max_bytes;
    bool harmless;   /* control characters are written out, for a terminal */
    struct buf rest; /* the beginning of a character that is not whole yet */
};

static int look_at_node(struct peeker *p, const struct peek_at *at, struct peek_found *found,
                        struct err *e)
{
    struct msg_get_saved request = { p->job.sweep, p->job.first, *at };
    struct msg_saved reply;

    if (rpc_call(&p->session.rpc, MSG_GET_SAVED, &request, &reply, e) < 0)
        return -1;
    if (p->place.node == NULL && reply.node != NULL)
        p->place.node = arena_strdup(p->arena, reply.node);
    if (p->place.attempt != 0 && p->place.attempt != reply.attempt)
        return err_set(e, ERR_FAILED, "job %s began anew meanwhile: ask again", p->place.job);
    p->place.attempt = reply.attempt;
    *found = *(const struct peek_found *)schema_copy(&peek_found_schema, &reply.found, p->arena);
    return 0;
}

static int type_of(enum share_type type)
{
    static const int types[] = { [SHARE_FILE] = PEEK_FILE,
                                 [SHARE_FOLDER] = PEEK_FOLDER,
                                 [SHARE_LINK] = PEEK_LINK,
                                 [SHARE_OTHER] = PEEK_OTHER };

    return types[type];
}

/* Lists all entries of a folder at once, so that found->more is never set. */
static int list_on_share(struct peeker *p, const char *path, struct peek_found *found,
                         struct err *e)
{
    const struct share_entry *entries;
    struct peek_entry *items;
    struct list all;

    if (share_list(p->drive, path, SHARE_STATS, p->arena, &all, e) < 0)
        return -1;
    entries = all.items;
    items = arena_alloc(p->arena, all.n * sizeof *items);
    for (size_t i = 0; i < all.n; i++)
        items[i] =
            (struct peek_entry){ entries[i].name, type_of(entries[i].stat.type),
                                 entries[i].stat.size_bytes, entries[i].stat.mtime_s * 1000 };
    found->entries = (struct list){ items, all.n };
    return 0;
}

static int read_on_share(struct peeker *p, const char *path, const struct peek_at *at,
                         struct peek_found *found, struct err *e)
{
    struct share_input *in = share_open_input(p->drive, path, (uint64_t)at->offset, e);
    uint8_t *bytes = arena_alloc(p->arena, (size_t)at->max_bytes);
    ssize_t n;

    if (in == NULL)
        return -1;
    n = share_read_input(in, bytes, (size_t)at->max_bytes, e);
    share_close_input(in);
    if (n >= 0)
        found->content = (struct bytes){ bytes, (size_t)n };
    return n < 0 ? -1 : 0;
}

/* Refuses symlinks in the middle of a path: the share follows them, a job's node does not. */
static int check_way(struct peeker *p, const char *path, struct err *e)
{
    for (const char *end = strchr(path, '/'); end != NULL; end = strchr(end + 1, '/')) {
        char *above = mem_strndup(path, (size_t)(end - path));
        char *whole = path_join(p->info.run_path, above);
        struct share_stat st;
        int result = share_stat(p->drive, whole, &st, e);

        free(whole);
        free(above);
        if (result == 0 && st.type == SHARE_LINK)
            result =
                err_set(e, ERR_DENIED, "%s leads through a symlink, which is not followed", path);
        if (result < 0)
            return -1;
    }
    return 0;
}

static int look_at_share(struct peeker *p, const struct peek_at *at, struct peek_found *found,
                         struct err *e)
{
    char *path =
        at->path == NULL ? mem_strdup(p->info.run_path) : path_join(p->info.run_path, at->path);
    struct share_stat st;
    int result = at->path == NULL ? 0 : check_way(p, at->path, e);

    if (result == 0)
        result = share_stat(p->drive, path, &st, e);
    *found = (struct peek_found){ 0 };
    if (result == 0) {
        found->type = type_of(st.type);
        found->size_bytes = st.size_bytes;
        found->modified_at = st.mtime_s * 1000;
    }
    if (result == 0 && found->type == PEEK_FOLDER)
        result = list_on_share(p, path, found, e);
    else if (result == 0 && found->type != PEEK_FILE)
        result = err_set(e, ERR_USAGE, "%s is neither a file nor a folder", path);
    else if (result == 0 && at->max_bytes > 0)
        result = read_on_share(p, path, at, found, e);
    free(path);
    return result;
}

static int look(struct peeker *p, const struct peek_at *at, struct peek_found *found, struct err *e)
{
    return p->drive != NULL ? look_at_share(p, at, found, e) : look_at_node(p, at, found, e);
}

/* ---- files ---- */

static int write_bytes(struct peeker *p, struct bytes content, bool is_last, struct err *e)
{
    struct buf out = { 0 };
    size_t whole;

    if (!p->harmless) {
        buf_add(&out, content.data, content.n);
        return output_write(&out, e);
    }
    buf_add(&p->rest, content.data, content.n);
    whole = is_last ? p->rest.n : safe_text_whole(buf_text(&p->rest), p->rest.n);
    safe_text_add_harmless(&out, buf_text(&p->rest), whole, "\n\t\r");
    buf_drop_front(&p->rest, whole);
    return output_write(&out, e);
}

/* Copies the bytes of the file to stdout from at->offset to "end", as far as there are any. */
static int copy_file(struct peeker *p, struct peek_at *at, int64_t end, struct err *e)
{
    struct arena *kept = p->arena, *piece = arena_create();
    struct peek_found found;
    int result = 0;

    p->arena = piece;
    while (result == 0 && at->offset < end) {
        at->max_bytes = end - at->offset < PEEK_BYTES_MAX ? end - at->offset : PEEK_BYTES_MAX;
        result = look(p, at, &found, e);
        if (result < 0 || found.content.n == 0)
            break;
        at->offset += (int64_t)found.content.n;
        result = write_bytes(p, found.content, false, e);
        arena_reset(piece);
    }
    p->arena = kept;
    arena_destroy(piece);
    return result == 0 ? write_bytes(p, (struct bytes){ 0 }, true, e) : result;
}

/* Where the last lines of a file of that size begin, at most p->max_bytes before its end. */
static int find_lines(struct peeker *p, const char *path, int64_t size, int64_t n, int64_t *begin,
                      struct err *e)
{
    int64_t first = size > p->max_bytes ? size - p->max_bytes : 0, left = n;
    int64_t at_once = TAIL_BYTES;
    struct peek_found found;

    *begin = size;
    while (*begin > first && left > 0) {
        struct peek_at at = { .path = path };
        int64_t from = *begin - at_once > first ? *begin - at_once : first;

        at.offset = from;
        at.max_bytes = *begin - from;
        if (look(p, &at, &found, e) < 0)
            return -1;
        if ((int64_t)found.content.n != at.max_bytes)
            return err_set(e, ERR_FAILED, "%s became shorter while it was read: ask again", path);
        *begin = from;
        for (size_t i = found.content.n; i-- > 0 && left > 0;) {
            bool ends_file = from + (int64_t)i == size - 1;

            if (found.content.data[i] == '\n' && !ends_file && --left == 0)
                *begin = from + (int64_t)i + 1;
        }
        at_once = at_once < PEEK_BYTES_MAX / 4 ? 4 * at_once : PEEK_BYTES_MAX;
    }
    return 0;
}

static void note_cut(const struct peeker *p, int64_t from, int64_t to)
{
    struct buf text = { 0 };

    buf_add_str(&text, "cut: ");
    units_add_size(&text, to - from);
    buf_add_str(&text, " of ");
    units_add_size(&text, p->place.size_bytes);
    if (p->options->lines != OPT_UNSET)
        buf_printf(&text, " are shown, fewer than %" PRId64 " lines; --bytes shows more",
                   p->options->lines);
    else
        buf_printf(&text, " are shown; --offset %" PRId64 " goes on there, --bytes shows more", to);
    output_note("%s", buf_text(&text));
    buf_free(&text);
}

static int show_file(struct peeker *p, const char *path, struct err *e)
{
    const struct options *o = p->options;
    int64_t size = p->place.size_bytes, begin = o->offset == OPT_UNSET ? 0 : o->offset, end;
    struct peek_at at = { .path = path };
    bool is_cut;

    if (begin > size)
        return err_set(e, ERR_USAGE, "--offset %" PRId64 ": %s has %" PRId64 " bytes", begin, path,
                       size);
    if (o->lines != OPT_UNSET && find_lines(p, path, size, o->lines, &begin, e) < 0)
        return -1;
    end = size - begin > p->max_bytes ? begin + p->max_bytes : size;
    is_cut = o->lines != OPT_UNSET ? begin > 0 && begin == size - p->max_bytes : end < size;
    at.offset = begin;
    if (copy_file(p, &at, end, e) < 0)
        return -1;
    if (is_cut)
        note_cut(p, begin, at.offset);
    return 0;
}

/* ---- folders ---- */

static int show_folder(struct peeker *p, struct err *e)
{
    static const struct column columns[] = { { "SIZE", true, false },
                                             { "MODIFIED", false, false },
                                             { "NAME", false, false } };
    const struct peek_entry *entries = p->place.entries.items;
    struct table *t;
    int result;

    if (p->place.entries.n == 0) {
        output_note(p->place.path[0] == '\0' ? "job %s has saved nothing yet"
                                             : "that folder of job %s is empty",
                    p->place.job);
        return 0;
    }
    t = table_for_stdout(columns, 3);
    for (size_t i = 0; i < p->place.entries.n; i++) {
        const struct peek_entry *x = &entries[i];
        struct buf text = { 0 };

        if (x->type == PEEK_FILE)
            units_add_size(&text, x->size_bytes);
        else
            buf_add_str(&text, peek_type_names[x->type]);
        table_add_buf(t, x->type == PEEK_FILE ? TONE_PLAIN : TONE_DIM, &text);
        if (x->modified_at > 0)
            units_add_time_local(&text, x->modified_at);
        table_add_buf(t, TONE_PLAIN, &text);
        buf_printf(&text, "%s%s", x->name, x->type == PEEK_FOLDER ? "/" : "");
        table_add_buf(t, x->type == PEEK_FOLDER ? TONE_STRONG : TONE_PLAIN, &text);
    }
    result = table_print(t, e);
    table_destroy(t);
    return result;
}

/* Adds the entries that did not fit into the first answer. */
static int take_rest(struct peeker *p, const char *path, struct peek_found *found, struct err *e)
{
    struct peek_entry *items = NULL;
    size_t n = 0, capacity = 0;
    int result = 0;

    for (;;) {
        const struct peek_entry *more = found->entries.items;
        struct peek_at at = { .path = path };

        for (size_t i = 0; i < found->entries.n; i++) {
            mem_grow((void **)&items, &capacity, n, sizeof *items);
            items[n++] = more[i];
        }
        if (result < 0 || !found->more || found->entries.n == 0 || items == NULL)
            break;
        at.after = items[n - 1].name;
        result = look(p, &at, found, e);
        if (result < 0)
            break;
    }
    p->place.entries.items = arena_alloc(p->arena, n * sizeof *items);
    p->place.entries.n = n;
    if (n > 0)
        memcpy(p->place.entries.items, items, n * sizeof *items);
    free(items);
    return result;
}

/* ---- the command ---- */

/* "./a//b/" is a/b, and "." the save folder itself, which is NULL. */
static int read_path(const char *word, struct arena *a, const char **path, struct err *e)
{
    struct buf text = { 0 };

    *path = NULL;
    for (const char *at = word; at != NULL && *at != '\0';) {
        size_t n = strcspn(at, "/");

        if (n > 0 && !(n == 1 && *at == '.')) {
            if (text.n > 0)
                buf_add_char(&text, '/');
            buf_add(&text, at, n);
        }
        at += n + strspn(at + n, "/");
    }
    if (word != NULL && word[0] == '/')
        err_set(e, ERR_USAGE, "%s: PATH is relative to the folder that the job saves to", word);
    else if (text.n > 0 && !path_is_inside(buf_text(&text)))
        err_set(e, ERR_USAGE, "%s leads out of the folder that the job saves to", word);
    else if (text.n > 0)
        *path = arena_strdup(a, buf_text(&text));
    buf_free(&text);
    return e->kind == ERR_NONE ? 0 : -1;
}

/* Where the job's files are read: on its node, or on the share once it has ended. */
static int choose_place(struct peeker *p, struct err *e)
{
    struct job_info info;

    if (pages_job(&p->session.rpc, &p->job, &info, e) < 0)
        return -1;
    p->info = *(const struct job_info *)schema_copy(&job_info_schema, &info, p->arena);
    p->place.job = p->info.job;
    p->place.state = p->info.state;
    if (p->info.follows != NULL)
        return err_set(
            e, ERR_NOT_FOUND,
            "job %s has no files: it waits for the result of job %s, which does the same "
            "(ludwig peek %s)",
            p->info.job, p->info.follows, p->info.follows);
    if (!job_is_ended((enum job_state)p->info.state))
        return 0;
    if (p->info.run_path == NULL)
        return err_set(e, ERR_NOT_FOUND, "job %s is %s, and left no files", p->info.job,
                       job_state_names[p->info.state]);
    p->place.attempt = p->info.attempt;
    p->drive = session_open_drive(&p->session, e);
    return p->drive == NULL ? -1 : 0;
}

static int show(struct peeker *p, const char *path, struct err *e)
{
    struct peek_at at = { .path = path };
    struct peek_found found;

    if (choose_place(p, e) < 0 || look(p, &at, &found, e) < 0)
        return -1;
    p->place.path = path == NULL ? "" : path;
    p->place.type = found.type;
    p->place.size_bytes = found.size_bytes;
    p->place.modified_at = found.modified_at;
    if (found.type == PEEK_FOLDER && take_rest(p, path, &found, e) < 0)
        return -1;
    if (p->options->json)
        return output_write_json(&saved_place_schema, &p->place, e);
    return found.type == PEEK_FOLDER ? show_folder(p, e) : show_file(p, path, e);
}

static int peek_job(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct opt_words job = { cli->args.words, 1 };
    struct peeker p = { .options = o,
                        .arena = cli->arena,
                        .max_bytes = SHOWN_BYTES,
                        .harmless = !o->raw && output_is_terminal(STDOUT_FILENO) };
    const char *path;
    int result;

    if (o->lines != OPT_UNSET && o->offset != OPT_UNSET)
        return err_set(e, ERR_USAGE,
                       "--lines counts from the end: --offset cannot stand beside it");
    if (o->bytes != NULL && units_parse_size(o->bytes, &p.max_bytes, e) < 0)
        return err_wrap(e, "--bytes");
    if (read_path(cli->args.n > 1 ? cli->args.words[1] : NULL, cli->arena, &path, e) < 0 ||
        selector_check(&job, e) < 0 || session_open(cli, &p.session, e) < 0)
        return -1;
    result = selector_job(&p.session.rpc, cli->args.words[0], &p.job, e);
    if (result == 0)
        result = show(&p, path, e);
    buf_free(&p.rest);
    share_close(p.drive);
    session_close(&p.session);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_peek = {
    .name = "peek",
    .args = "JOB [PATH] [OPTION]...",
    .help = "show what a job has saved so far, while it runs",
    .more = "PATH lies below the folder that the job saves to ($LUDWIG_SAVE_PATH), and is\n"
            "read on the job's node. Of a folder the names, sizes and times are printed; of\n"
            "a file its content: a terminal shows escape sequences as text (^[[31m), a pipe\n"
            "or a file gets every byte as it is. Symlinks are not followed. Once the job has\n"
            "ended, the same is read on the shared drive; `ludwig fetch` copies it.\n"
            "\n"
            "  ludwig peek 7.13\n"
            "  ludwig peek 7.13 metrics.csv -n 20\n"
            "  ludwig peek 7.13 samples/step_100.png > step_100.png\n",
    .min_args = 1,
    .max_args = 2,
    .options = options,
    .options_size = sizeof(struct options),
    .run = peek_job,
};
