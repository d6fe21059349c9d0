/* SPDX-License-Identifier: MIT */
/* param2vals.c - configurations made by another program, one JSON object a line */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/expand/param2vals.h"
#include "client/spec/params.h"
#include "client/term/excerpt.h"
#include "common/base/hash_table.h"
#include "client/util/spool.h"
#include "common/base/suggest.h"
#include "common/base/utf8.h"
#include "common/data/json.h"
#include "common/data/msgpack.h"
#include "common/data/param_digest.h"
#include "common/data/template.h"
#include "common/proto/jobspec.h"

/* The place of every STRIDE-th configuration is kept. */
enum { STRIDE = 64 };
enum { SHOWN_ERRORS = 8 };

struct param2vals {
    struct spool spool;
    struct arena *arena; /* holds one configuration */
    int64_t count;
    uint64_t *places; /* offsets of configurations 0, STRIDE, 2 * STRIDE ... */
    size_t n_places, capacity;
    size_t at; /* offset of the next line */
};

/* ---- lines ---- */

struct line {
    const char *text;
    size_t n;
    size_t begin;
};

static bool is_blank(const struct line *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (strchr(" \t\r", l->text[i]) == NULL || l->text[i] == '\0')
            return false;
    return true;
}

/* Reads the line at *at, and moves *at behind it; false at the end. */
static bool next_line(struct bytes text, size_t *at, struct line *l)
{
    const uint8_t *end;

    if (*at >= text.n)
        return false;
    end = memchr(text.data + *at, '\n', text.n - *at);
    *l = (struct line){ .text = (const char *)text.data + *at, .begin = *at };
    l->n = end == NULL ? text.n - *at : (size_t)(end - text.data) - *at;
    *at += l->n + 1;
    return true;
}

/* The offset of the first line, behind a byte order mark. */
static size_t first_place(struct bytes text)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t n = sizeof mark - 1;

    return text.n >= n && memcmp(text.data, mark, n) == 0 ? n : 0;
}

/* ---- checking ---- */

/* A placeholder of the command. */
struct needed {
    char *name;
    enum shell_quotes quotes; /* around the place where it is hardest to fill in */
    bool follows_variable;    /* in one place at least it follows a shell variable */
    /* The text between braces may be no placeholder: the first configuration decides that. */
    bool is_doubtful;
    bool is_none;
};

struct check {
    struct param2vals *list;
    const char *file;
    struct needed *needed;
    size_t n_needed, needed_capacity;
    struct hash_table *seen;
    struct yaml_keys_reader errors;
    size_t n_errors;
    unsigned line; /* the current one */
};

/* Adds an error at an offset of the line; after SHOWN_ERRORS they are only counted. */
static int add_error(struct check *c, const struct line *l, size_t offset, char *what)
{
    size_t n = offset < l->n ? offset : l->n;
    const struct yaml_node at = { .line = c->line, .column = 1 + (unsigned)utf8_count(l->text, n) };

    if (c->n_errors++ < SHOWN_ERRORS)
        yaml_keys_error(&c->errors, &at, "%s", what);
    free(what);
    return -1;
}

static int read_line(struct check *c, const struct line *l, struct value *config)
{
    struct err why = { 0 };
    size_t offset;

    arena_reset(c->list->arena);
    if (l->n > PARAM2VALS_LINE_MAX_BYTES)
        return add_error(c, l, 0,
                         mem_printf("a line of %zu bytes is too long; put large values into a file "
                                    "of data:",
                                    l->n));
    if (json_read_exact(l->text, l->n, c->list->arena, config, &offset, &why) < 0)
        return add_error(c, l, offset,
                         mem_printf("%s%s", why.text,
                                    offset >= l->n || l->text[offset] == '\r'
                                        ? "; a configuration stands on one line"
                                        : ""));
    if (config->type == VALUE_MAP)
        return 0;
    return add_error(c, l, 0,
                     mem_printf("expected an object such as {\"lr\": 0.1}, found %s",
                                value_type_name(config->type)));
}

static int check_names(struct check *c, const struct line *l, const struct value *config)
{
    int result = 0;

    for (size_t i = 0; i < config->map.n; i++) {
        const struct value *key = &config->map.members[i].key;
        char *problem = params_name_problem(key->str.s, key->str.n);

        if (problem != NULL)
            result = add_error(c, l, 0, problem);
    }
    return result;
}

static int check_there(struct check *c, const struct line *l, const struct value *config,
                       const struct needed *needed)
{
    const struct value *v = value_get(config, needed->name);
    const struct placeholder p = { .name = needed->name,
                                   .quotes = needed->quotes,
                                   .follows_variable = needed->follows_variable };
    struct suggest nearest = { .word = needed->name };
    char *why;

    if (v != NULL && needed->is_none)
        return add_error(c, l, 0,
                         mem_printf("command: {%s} cannot be filled in for all, as the first "
                                    "configuration has no %s",
                                    needed->name, needed->name));
    if (v != NULL && !template_takes(&p, v, &why)) {
        char *what = mem_printf("command: %s", why);

        free(why);
        return add_error(c, l, 0, what);
    }
    if (v != NULL || needed->is_none)
        return 0;
    for (size_t k = 0; k < config->map.n; k++)
        suggest_try(&nearest, config->map.members[k].key.str.s);
    return add_error(c, l, 0,
                     mem_printf("command: needs %s, which is not there%s%s%s", needed->name,
                                nearest.best != NULL ? " (did you mean '" : "",
                                nearest.best != NULL ? nearest.best : "",
                                nearest.best != NULL ? "'?)" : ""));
}

static int check_needed(struct check *c, const struct line *l, const struct value *config)
{
    int result = 0;

    for (size_t i = 0; i < c->n_needed; i++) {
        struct needed *needed = &c->needed[i];

        if (needed->is_doubtful)
            needed->is_none = value_get(config, needed->name) == NULL;
        needed->is_doubtful = false;
        if (check_there(c, l, config, needed) < 0)
            result = -1;
    }
    return result;
}

static int check_extent(struct check *c, const struct line *l, const struct value *config)
{
    struct buf encoded = { 0 };
    size_t n;

    if (value_depth(config) > PARAM2VAL_DEPTH_MAX)
        return add_error(
            c, l, 0,
            mem_printf("a configuration may be nested %d deep at most", PARAM2VAL_DEPTH_MAX));
    mp_add_value(&encoded, config);
    n = encoded.n;
    buf_free(&encoded);
    if (n <= PARAM2VAL_MAX_BYTES)
        return 0;
    return add_error(c, l, 0,
                     mem_printf("one configuration takes more than %d bytes; put large values into "
                                "a file of data:",
                                PARAM2VAL_MAX_BYTES));
}

/* The number of an earlier line with the wanted configuration; 0: there is none. */
static unsigned find_twin(struct check *c, const struct digest *wanted)
{
    struct bytes text = c->list->spool.text;
    size_t at = first_place(text), offset;
    struct digest digest;
    struct value config;
    struct line l;

    for (unsigned number = 1; number < c->line && next_line(text, &at, &l); number++) {
        arena_reset(c->list->arena);
        if (is_blank(&l) ||
            json_read_exact(l.text, l.n, c->list->arena, &config, &offset, NULL) < 0)
            continue;
        param_digest(&config, &digest);
        if (memcmp(digest.bytes, wanted->bytes, DIGEST_BYTES) == 0)
            return number;
    }
    return 0;
}

/* Refuses a configuration that an earlier line has; the table keeps only a part of the digest, so a
 * hit is looked up in the text. */
static int check_new(struct check *c, const struct line *l, const struct value *config)
{
    struct digest digest;
    unsigned twin;

    param_digest(config, &digest);
    if (hash_table_add(c->seen, &digest, 0))
        return 0;
    twin = c->n_errors < SHOWN_ERRORS ? find_twin(c, &digest) : c->line;
    if (twin == 0)
        return 0;
    return add_error(c, l, 0,
                     mem_printf("the same configuration as in line %u (1 and 1.0 are the same); "
                                "--reps runs each several times",
                                twin));
}

/* ---- reading all lines ---- */

static int take_lines(struct check *c, int64_t points_max, struct err *e)
{
    struct param2vals *p = c->list;
    size_t at = first_place(p->spool.text);
    struct value config = { 0 };
    struct line l;

    while (next_line(p->spool.text, &at, &l)) {
        c->line++;
        if (is_blank(&l))
            continue;
        if (p->count == points_max)
            return err_set(e, ERR_USAGE, "%s: more than %" PRId64 " configurations %s", c->file,
                           points_max, points_max > POINTS_MAX ? "are too many" : "need --yes");
        if (p->count++ % STRIDE == 0) {
            mem_grow((void **)&p->places, &p->capacity, p->n_places, sizeof *p->places);
            p->places[p->n_places++] = l.begin;
        }
        if (read_line(c, &l, &config) == 0 && check_names(c, &l, &config) == 0 &&
            check_needed(c, &l, &config) == 0 && check_extent(c, &l, &config) == 0)
            (void)check_new(c, &l, &config);
    }
    return 0;
}

static int need_name(void *context, const struct placeholder *p)
{
    struct check *c = context;

    for (size_t i = 0; i < c->n_needed; i++)
        if (strcmp(c->needed[i].name, p->name) == 0) {
            if (c->needed[i].quotes < p->quotes)
                c->needed[i].quotes = p->quotes;
            c->needed[i].follows_variable |= p->follows_variable;
            return 0;
        }
    mem_grow((void **)&c->needed, &c->needed_capacity, c->n_needed, sizeof *c->needed);
    c->needed[c->n_needed++] = (struct needed){ .name = mem_strdup(p->name),
                                                .quotes = p->quotes,
                                                .follows_variable = p->follows_variable,
                                                .is_doubtful = !template_is_name(p->name) };
    return 0;
}

/* While a list is read, any text between braces may name a parameter. */
static bool may_be_parameter(const void *of, const char *name)
{
    (void)of;
    (void)name;
    return true;
}

static int check_all(struct param2vals *p, const struct param2vals_wanted *w, struct err *e)
{
    struct check c = { .list = p,
                       .file = spool_name(w->path),
                       .seen = hash_table_create(SIZE_MAX) };
    int result;

    c.errors.file = c.file;
    if (w->command != NULL)
        template_each(w->command, may_be_parameter, NULL, need_name, &c);
    result = take_lines(&c, w->points_max, e);
    if (c.n_errors > SHOWN_ERRORS)
        buf_printf(&c.errors.errors, "\nand %zu more", c.n_errors - SHOWN_ERRORS);
    if (result == 0 && yaml_keys_end(&c.errors, e) < 0) {
        excerpt_add(e, c.file, (const char *)p->spool.text.data);
        result = -1;
    } else if (result == 0 && p->count == 0) {
        result = err_set(e, ERR_USAGE, "%s: there is no configuration in it", c.file);
    }
    for (size_t i = 0; i < c.n_needed; i++)
        free(c.needed[i].name);
    free(c.needed);
    buf_free(&c.errors.errors);
    hash_table_destroy(c.seen);
    return result;
}

struct param2vals *param2vals_read(const struct param2vals_wanted *w, struct err *e)
{
    struct param2vals *p = mem_alloc(sizeof *p);
    int result = w->text == NULL ? spool_read(&p->spool, w->path, e)
                                 : spool_text(&p->spool, buf_text(w->text), w->text->n, e);

    p->arena = arena_create();
    if (result < 0 || check_all(p, w, e) < 0) {
        param2vals_destroy(p);
        return NULL;
    }
    param2vals_seek(p, 0);
    return p;
}

void param2vals_destroy(struct param2vals *p)
{
    if (p == NULL)
        return;
    spool_free(&p->spool);
    arena_destroy(p->arena);
    free(p->places);
    free(p);
}

/* ---- giving configurations ---- */

int64_t param2vals_count(const struct param2vals *p)
{
    return p->count;
}

struct bytes param2vals_text(const struct param2vals *p)
{
    return p->spool.text;
}

/* Reads the next configuration of the text, which was checked before; config NULL: skips it. */
static bool next_value(struct param2vals *p, struct arena *a, struct value *config)
{
    size_t offset;
    struct line l;

    while (next_line(p->spool.text, &p->at, &l))
        if (!is_blank(&l))
            return config == NULL || json_read_exact(l.text, l.n, a, config, &offset, NULL) == 0;
    return false;
}

void param2vals_seek(struct param2vals *p, int64_t index)
{
    p->at = p->places[index / STRIDE];
    for (int64_t i = 0; i < index % STRIDE; i++)
        next_value(p, NULL, NULL);
}

bool param2vals_next(struct param2vals *p, struct buf *out)
{
    struct value config;

    arena_reset(p->arena);
    if (!next_value(p, p->arena, &config))
        return false;
    mp_add_value(out, &config);
    return true;
}

struct list param2vals_first(struct param2vals *p, struct arena *a)
{
    struct value config = { .type = VALUE_MAP };
    struct param *params;

    param2vals_seek(p, 0);
    next_value(p, a, &config);
    params = arena_alloc(a, config.map.n * sizeof *params);
    for (size_t i = 0; i < config.map.n; i++)
        params[i] = (struct param){ .name = config.map.members[i].key.str.s,
                                    .form = PARAM_FIXED,
                                    .values = &config.map.members[i].value,
                                    .n = 1 };
    return (struct list){ params, config.map.n };
}
