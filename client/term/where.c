/* SPDX-License-Identifier: MIT */
/* where.c - parses expressions of --where, and tests rows with them */
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "client/term/where.h"
#include "client/term/safe_text.h"
#include "common/base/buf.h"
#include "common/base/suggest.h"
#include "common/data/json.h"
#include "common/data/yaml.h"

/* For "did you mean", so many names are kept, from so many rows. */
enum { ROWS_LEARNED_MAX = 1000, NAMES_LEARNED_MAX = 500 };

enum where_op {
    WHERE_EQUAL,
    WHERE_DIFFERENT,
    WHERE_LESS,
    WHERE_AT_MOST,
    WHERE_GREATER,
    WHERE_AT_LEAST,
    WHERE_CONTAINS,
    WHERE_IN,
    WHERE_NOT_IN
};

struct where_literal {
    struct value value;
    struct bytes text; /* the value as written, without quotes; true and false in lower case */
};

struct where_test {
    size_t name; /* index in where.names */
    enum where_op op;
    struct where_literal *literals; /* one; for "in" and "not in" one or more */
    size_t n;
};

enum where_node_type { WHERE_TEST, WHERE_AND, WHERE_OR };

struct where_node {
    enum where_node_type type;
    bool is_negated;
    struct where_test test;   /* if type is WHERE_TEST */
    struct where_node *parts; /* else the first part */
    struct where_node *next;  /* the next part of the same and, or */
};

struct where_name {
    const char *text;
    bool is_seen;              /* a row had it, or where_learn was told */
    bool is_shadowing;         /* a row had a field and a parameter of this name */
    const struct value *value; /* in the current row; NULL: the row has no such name */
};

struct where {
    struct arena *arena;
    struct where_node *root;
    struct where_name *names;
    size_t n_names;
    size_t n_rows;        /* rows tested so far */
    const char **learned; /* names that rows have */
    size_t n_learned;
};

/* ==== reading ==== */

enum lexeme_type {
    LEX_END,
    LEX_WORD,
    LEX_QUOTED,
    LEX_OP,
    LEX_NOT,
    LEX_AND,
    LEX_OR,
    LEX_IN,
    LEX_OPEN,
    LEX_CLOSE,
    LEX_COMMA,
    LEX_WRONG /* the error is set */
};

struct lexeme {
    enum lexeme_type type;
    enum where_op op;
    const char *text; /* of words and quoted texts, without quotes, in the arena */
    size_t at, n;     /* offset and bytes in the expression */
};

struct parser {
    const char *text;
    struct lexeme now;
    int depth;
    struct where *where;
    struct arena *arena;
    struct err *e;
};

/* ---- words ---- */

static const struct {
    const char *text;
    enum where_op op;
} ops[] = {
    /* An operator stands before those that begin it: "==" before "=". */
    { "==", WHERE_EQUAL },    { "!=", WHERE_DIFFERENT }, { "<=", WHERE_AT_MOST },
    { ">=", WHERE_AT_LEAST }, { "=", WHERE_EQUAL },      { "<", WHERE_LESS },
    { ">", WHERE_GREATER },   { "~", WHERE_CONTAINS },
};

static const struct {
    const char *text;
    enum lexeme_type type;
} keywords[] = { { "not", LEX_NOT }, { "and", LEX_AND }, { "or", LEX_OR }, { "in", LEX_IN } };

static const char delimiters[] = " \t\r\n=!<>~(),'\"";

static int fail_at(struct parser *p, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int fail_at(struct parser *p, size_t at, const char *format, ...)
{
    struct buf what = { 0 };
    va_list ap;

    va_start(ap, format);
    buf_vprintf(&what, format, ap);
    va_end(ap);
    err_set(p->e, ERR_USAGE, "--where: column %zu: %s", safe_text_width(p->text, at) + 1,
            buf_text(&what));
    buf_free(&what);
    return -1;
}

static int fail_expected(struct parser *p, const char *what)
{
    const struct lexeme *l = &p->now;

    if (l->type == LEX_WRONG)
        return -1;
    if (l->type == LEX_END)
        return fail_at(p, l->at, "expected %s, found the end", what);
    if (l->type == LEX_QUOTED)
        return fail_at(p, l->at, "expected %s, found %.*s", what, (int)l->n, p->text + l->at);
    return fail_at(p, l->at, "expected %s, found '%.*s'", what, (int)l->n, p->text + l->at);
}

static bool take_op(struct parser *p, struct lexeme *l)
{
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        size_t n = strlen(ops[i].text);

        if (strncmp(p->text + l->at, ops[i].text, n) != 0)
            continue;
        l->type = LEX_OP;
        l->op = ops[i].op;
        l->n = n;
        return true;
    }
    return false;
}

/* Reads a text in quotes; a backslash escapes a quote or a backslash. */
static void take_quoted(struct parser *p, struct lexeme *l)
{
    const char *begin = p->text + l->at, *at = begin + 1;
    struct buf text = { 0 };

    for (; *at != '\0' && *at != *begin; at++) {
        if (*at == '\\' && at[1] != '\0' && strchr("\\'\"", at[1]) != NULL)
            at++;
        buf_add_char(&text, *at);
    }
    l->type = *at != '\0' ? LEX_QUOTED : LEX_WRONG;
    l->n = (size_t)(at + 1 - begin);
    l->text = buf_to_arena(&text, p->arena);
    if (*at == '\0')
        fail_at(p, l->at, "this quote is never closed");
}

static void advance_lexeme(struct parser *p)
{
    static const char marks[] = "(),";
    static const enum lexeme_type types[] = { LEX_OPEN, LEX_CLOSE, LEX_COMMA };
    struct lexeme l = { .at = p->now.at + p->now.n, .n = 1 };
    const char *mark;

    l.at += strspn(p->text + l.at, " \t\r\n");
    mark = strchr(marks, p->text[l.at]);
    if (p->text[l.at] == '\0') {
        l.n = 0; /* LEX_END */
    } else if (mark != NULL) {
        l.type = types[mark - marks];
    } else if (p->text[l.at] == '\'' || p->text[l.at] == '"') {
        take_quoted(p, &l);
    } else if (!take_op(p, &l)) {
        l.type = LEX_WORD;
        l.n = strcspn(p->text + l.at, delimiters);
        l.text = arena_strndup(p->arena, p->text + l.at, l.n);
        for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++)
            if (strcasecmp(l.text, keywords[i].text) == 0)
                l.type = keywords[i].type;
        if (l.n == 0) {
            l.type = LEX_WRONG;
            fail_at(p, l.at, "'!' stands only in '!=' (write not)");
        }
    }
    p->now = l;
}

static bool accept(struct parser *p, enum lexeme_type type)
{
    if (p->now.type != type)
        return false;
    advance_lexeme(p);
    return true;
}

/* ---- names and values ---- */

/* Reads a word as a value of a sweep file: a number, boolean, null or text.  Other YAML, such as an
 * anchor or a list, is text here. */
static struct value read_scalar(const struct lexeme *l, struct arena *a)
{
    struct yaml_node *node;

    if (l->type == LEX_QUOTED)
        return value_str(l->text);
    node = yaml_parse("", l->text, strlen(l->text), a, NULL);
    if (node == NULL || node->type == VALUE_LIST || node->type == VALUE_MAP ||
        node->type == VALUE_STR || (node->type == VALUE_NULL && strcasecmp(l->text, "null") != 0))
        return value_str(l->text);
    return node->scalar;
}

/* Reads a value and adds it to the test's literals. */
static int read_literal(struct parser *p, struct where_test *t)
{
    struct where_literal literal, *items;
    const char *text = p->now.text;

    if (p->now.type != LEX_WORD && p->now.type != LEX_QUOTED)
        return fail_expected(p, "a value");
    literal.value = read_scalar(&p->now, p->arena);
    if (literal.value.type == VALUE_NULL &&
        (t->op == WHERE_CONTAINS || (t->op >= WHERE_LESS && t->op <= WHERE_AT_LEAST)))
        return fail_at(p, p->now.at, "only = and != compare with %s", p->now.text);
    /* Keep the text of a number as written, but write a boolean in one form: true for True. */
    if (literal.value.type == VALUE_BOOL)
        text = literal.value.b ? "true" : "false";
    literal.text = (struct bytes){ (const uint8_t *)text, strlen(text) };
    if ((t->n & (t->n - 1)) == 0) { /* 0, 1, 2, 4...: the array is full */
        items = arena_alloc(p->arena, (t->n == 0 ? 1 : 2 * t->n) * sizeof *items);
        if (t->n > 0)
            memcpy(items, t->literals, t->n * sizeof *items);
        t->literals = items;
    }
    t->literals[t->n++] = literal;
    advance_lexeme(p);
    return 0;
}

static int read_name(struct parser *p, size_t *name)
{
    struct where *w = p->where;
    struct value v;

    if (p->now.type != LEX_WORD && p->now.type != LEX_QUOTED)
        return fail_expected(p, "a name");
    v = read_scalar(&p->now, p->arena);
    if (v.type != VALUE_STR)
        return fail_expected(p, "a name");
    for (*name = 0; *name < w->n_names; ++*name)
        if (strcmp(w->names[*name].text, p->now.text) == 0)
            break;
    if (*name == WHERE_NAMES_MAX)
        return fail_at(p, p->now.at, "at most %d different names", WHERE_NAMES_MAX);
    if (*name == w->n_names)
        w->names[w->n_names++] = (struct where_name){ .text = p->now.text };
    advance_lexeme(p);
    return 0;
}

/* Reads NAME OP VALUE, NAME in (VALUE, VALUE...) or NAME not in (...). */
static int read_test(struct parser *p, struct where_test *t)
{
    if (read_name(p, &t->name) < 0)
        return -1;
    if (p->now.type == LEX_OP) {
        t->op = p->now.op;
        advance_lexeme(p);
        return read_literal(p, t);
    }
    if (p->now.type != LEX_IN && p->now.type != LEX_NOT)
        return fail_expected(p, "one of = != < <= > >= ~ in");
    t->op = accept(p, LEX_NOT) ? WHERE_NOT_IN : WHERE_IN;
    if (!accept(p, LEX_IN))
        return fail_expected(p, "'in'");
    if (!accept(p, LEX_OPEN))
        return fail_expected(p, "'('");
    do
        if (read_literal(p, t) < 0)
            return -1;
    while (accept(p, LEX_COMMA));
    return accept(p, LEX_CLOSE) ? 0 : fail_expected(p, "',' or ')'");
}

/* ---- expressions ---- */

static struct where_node *read_or(struct parser *p);

static struct where_node *read_not(struct parser *p)
{
    struct where_node *node;
    bool is_negated = false;

    while (accept(p, LEX_NOT))
        is_negated = !is_negated;
    if (p->now.type != LEX_OPEN) {
        node = arena_alloc(p->arena, sizeof *node);
        node->type = WHERE_TEST;
        node->is_negated = is_negated;
        return read_test(p, &node->test) < 0 ? NULL : node;
    }
    if (p->depth == WHERE_DEPTH_MAX) {
        fail_at(p, p->now.at, "more than %d parentheses within each other", WHERE_DEPTH_MAX);
        return NULL;
    }
    p->depth++;
    advance_lexeme(p);
    node = read_or(p);
    p->depth--;
    if (node != NULL && !accept(p, LEX_CLOSE)) {
        fail_expected(p, "'and', 'or' or ')'");
        return NULL;
    }
    if (node != NULL)
        node->is_negated ^= is_negated;
    return node;
}

/* Reads parts with `between` (and, or) between them.  Returns a node with the parts; for a single
 * part, that part itself; NULL with e set on error. */
static struct where_node *read_chain(struct parser *p, enum where_node_type type,
                                     enum lexeme_type between,
                                     struct where_node *(*read_part)(struct parser *))
{
    struct where_node *first = read_part(p), *last = first, *chain;

    if (first == NULL || p->now.type != between)
        return first;
    chain = arena_alloc(p->arena, sizeof *chain);
    *chain = (struct where_node){ .type = type, .parts = first };
    while (accept(p, between)) {
        last->next = read_part(p);
        if (last->next == NULL)
            return NULL;
        last = last->next;
    }
    return chain;
}

static struct where_node *read_and(struct parser *p)
{
    return read_chain(p, WHERE_AND, LEX_AND, read_not);
}

static struct where_node *read_or(struct parser *p)
{
    return read_chain(p, WHERE_OR, LEX_OR, read_and);
}

struct where *where_parse(const char *text, struct arena *a, struct err *e)
{
    struct where *w = arena_alloc(a, sizeof *w);
    struct parser p = { .text = text, .where = w, .arena = a, .e = e };

    if (strlen(text) > WHERE_BYTES_MAX) {
        err_set(e, ERR_USAGE, "--where: longer than %d bytes", WHERE_BYTES_MAX);
        return NULL;
    }
    *w = (struct where){ .arena = a };
    w->names = arena_alloc(a, WHERE_NAMES_MAX * sizeof *w->names);
    advance_lexeme(&p);
    w->root = read_or(&p);
    if (w->root == NULL)
        return NULL;
    if (p.now.type != LEX_END) {
        fail_expected(&p, "'and', 'or' or the end");
        return NULL;
    }
    return w;
}

/* ==== a row ==== */

/* ---- values of names in a row ---- */

static const struct value *find_among(const struct member *members, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(members[i].key.str.s, name) == 0)
            return &members[i].value;
    return NULL;
}

static const struct value *find_field(const struct where_row *row, const char *name)
{
    return find_among(row->fields, row->n_fields, name);
}

/* Finds the value of a path such as "model.depth" in nested maps.  Keys may contain dots, so in
 * each map the longest key that begins the rest of the path is taken. */
static const struct value *find_path(const struct value *map, const char *path)
{
    while (map != NULL && map->type == VALUE_MAP) {
        size_t n = strlen(path), longest = 0;
        const struct value *found = NULL;

        for (size_t i = 0; i < map->map.n; i++) {
            const struct value *k = &map->map.members[i].key;
            bool begins = k->str.n <= n && memcmp(k->str.s, path, k->str.n) == 0 &&
                          (path[k->str.n] == '\0' || path[k->str.n] == '.');

            if (begins && (found == NULL || k->str.n > longest)) {
                found = &map->map.members[i].value;
                longest = k->str.n;
            }
        }
        if (longest == n)
            return found;
        map = found;
        path += longest + 1;
    }
    return NULL;
}

static const struct value *find_value(const struct where_row *row, const char *name)
{
    static const char prefix[] = "params.";
    const struct value *found = find_field(row, name);

    if (found == NULL && strncmp(name, prefix, strlen(prefix)) == 0)
        found = find_path(row->params, name + strlen(prefix));
    if (found == NULL)
        found = find_path(row->params, name);
    return found != NULL ? found : find_among(row->measures, row->n_measures, name);
}

/* ---- seen names ---- */

const char *where_name(const struct where *w, size_t i)
{
    return i < w->n_names ? w->names[i].text : NULL;
}

bool where_knows_names(const struct where *w)
{
    for (size_t i = 0; w->n_rows > 0 && i < w->n_names; i++)
        if (!w->names[i].is_seen)
            return false;
    return true;
}

int where_check_names(const struct where *w, struct err *e)
{
    for (size_t i = 0; w->n_rows > 0 && i < w->n_names; i++) {
        struct suggest nearest = { .word = w->names[i].text };

        if (w->names[i].is_seen)
            continue;
        for (size_t k = 0; k < w->n_learned; k++)
            suggest_try(&nearest, w->learned[k]);
        if (nearest.best != NULL)
            return err_set(e, ERR_USAGE, "--where: no job has '%s' (did you mean '%s'?)",
                           w->names[i].text, nearest.best);
        return err_set(e, ERR_USAGE, "--where: no job has '%s'", w->names[i].text);
    }
    return 0;
}

static void keep_name(struct where *w, const char *name)
{
    size_t k = 0;

    if (w->learned == NULL)
        w->learned = arena_alloc(w->arena, NAMES_LEARNED_MAX * sizeof *w->learned);
    while (k < w->n_learned && strcmp(w->learned[k], name) != 0)
        k++;
    if (k == w->n_learned && k < NAMES_LEARNED_MAX)
        w->learned[w->n_learned++] = arena_strdup(w->arena, name);
}

void where_learn(struct where *w, const char *name)
{
    for (size_t i = 0; i < w->n_names; i++)
        w->names[i].is_seen |= strcmp(w->names[i].text, name) == 0;
    keep_name(w, name);
}

const char *where_shadowing(const struct where *w)
{
    for (size_t i = 0; i < w->n_names; i++)
        if (w->names[i].is_shadowing)
            return w->names[i].text;
    return NULL;
}

/* ---- values that a name can have ---- */

static int check_value(const struct where_values *known, const struct where_literal *literal,
                       struct err *e)
{
    const char *text = (const char *)literal->text.data;
    struct suggest nearest = { .word = text };

    if (literal->value.type == VALUE_NULL)
        return 0;
    if (known->mistaken != NULL && strcmp(text, known->mistaken) == 0)
        return err_set(e, ERR_USAGE, "--where: %s", known->hint);
    for (size_t i = 0; i < known->n; i++) {
        if (strcmp(text, known->values[i]) == 0)
            return 0;
        suggest_try(&nearest, known->values[i]);
    }
    if (nearest.best != NULL)
        return err_set(e, ERR_USAGE, "--where: %s is never '%s' (did you mean '%s'?)", known->name,
                       text, nearest.best);
    return err_set(e, ERR_USAGE, "--where: %s is never '%s'", known->name, text);
}

static int check_node(const struct where *w, const struct where_node *node,
                      const struct where_values *known, struct err *e)
{
    const struct where_test *t = &node->test;
    bool is_exact = t->op == WHERE_EQUAL || t->op == WHERE_DIFFERENT || t->op == WHERE_IN ||
                    t->op == WHERE_NOT_IN;
    int result = 0;

    if (node->type != WHERE_TEST)
        for (const struct where_node *part = node->parts; result == 0 && part != NULL;
             part = part->next)
            result = check_node(w, part, known, e);
    else if (is_exact && strcmp(w->names[t->name].text, known->name) == 0)
        for (size_t i = 0; result == 0 && i < t->n; i++)
            result = check_value(known, &t->literals[i], e);
    return result;
}

int where_check_values(const struct where *w, const struct where_values *known, struct err *e)
{
    return check_node(w, w->root, known, e);
}

/* ---- comparing ---- */

enum order { LESS = -1, SAME, GREATER, NO_ORDER };

static struct bytes text_of(const struct value *v, struct buf *room)
{
    if (v->type == VALUE_STR)
        return (struct bytes){ (const uint8_t *)v->str.s, v->str.n };
    json_add_text(room, v);
    return buf_bytes(room);
}

static enum order compare_value(const struct value *v, const struct where_literal *literal)
{
    const struct value *l = &literal->value;
    struct buf room = { 0 };
    int difference;
    double x, y;

    if ((v->type != VALUE_INT && v->type != VALUE_FLOAT) ||
        (l->type != VALUE_INT && l->type != VALUE_FLOAT)) {
        difference = value_compare_keys(text_of(v, &room), literal->text);
        buf_free(&room);
        return difference < 0 ? LESS : difference > 0 ? GREATER : SAME;
    }
    if (v->type == VALUE_INT && l->type == VALUE_INT)
        return v->i < l->i ? LESS : v->i > l->i ? GREATER : SAME;
    x = v->type == VALUE_INT ? (double)v->i : v->f;
    y = l->type == VALUE_INT ? (double)l->i : l->f;
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y) ? SAME : NO_ORDER;
    return x < y ? LESS : x > y ? GREATER : SAME;
}

/* Whether the value passes the test.  A v of NULL (the row lacks the name) counts as null, which
 * equals null and passes no other test. */
static bool passes_test(const struct where_test *t, const struct value *v)
{
    bool is_null = v == NULL || v->type == VALUE_NULL, is_equal = false, found;
    const struct bytes part = t->literals->text;
    struct buf room = { 0 };
    struct bytes text;
    enum order order;

    for (size_t i = 0; i < t->n && !is_equal; i++) {
        bool to_null = t->literals[i].value.type == VALUE_NULL;

        is_equal =
            is_null || to_null ? is_null && to_null : compare_value(v, &t->literals[i]) == SAME;
    }
    if (t->op == WHERE_EQUAL || t->op == WHERE_IN)
        return is_equal;
    if (is_null)
        return false;
    if (t->op == WHERE_DIFFERENT || t->op == WHERE_NOT_IN)
        return !is_equal;
    if (t->op == WHERE_CONTAINS) {
        text = text_of(v, &room);
        found = part.n == 0 || memmem(text.data, text.n, part.data, part.n) != NULL;
        buf_free(&room);
        return found;
    }
    order = compare_value(v, t->literals);
    switch (t->op) {
    case WHERE_LESS: return order == LESS;
    case WHERE_AT_MOST: return order == LESS || order == SAME;
    case WHERE_GREATER: return order == GREATER;
    default: return order == GREATER || order == SAME;
    }
}

/* Whether the current row matches the node.  Recursion is as deep as the parentheses. */
static bool holds(const struct where *w, const struct where_node *node)
{
    bool decides = node->type == WHERE_OR; /* a true part decides an or, a false one an and */
    bool result = !decides;

    if (node->type == WHERE_TEST)
        return passes_test(&node->test, w->names[node->test.name].value) != node->is_negated;
    for (const struct where_node *part = node->parts; part != NULL && result != decides;
         part = part->next)
        result = holds(w, part);
    return result != node->is_negated;
}

bool where_matches(struct where *w, const struct where_row *row)
{
    const struct value *params = row->params;
    size_t n_params = params != NULL && params->type == VALUE_MAP ? params->map.n : 0;

    for (size_t i = 0; i < w->n_names; i++) {
        struct where_name *name = &w->names[i];

        name->value = find_value(row, name->text);
        name->is_seen |= name->value != NULL;
        name->is_shadowing |= n_params > 0 && find_field(row, name->text) != NULL &&
                              value_get(params, name->text) != NULL;
    }
    /* Remember the row's names for "did you mean". */
    if (w->n_rows++ < ROWS_LEARNED_MAX && !where_knows_names(w))
        for (size_t i = 0; i < row->n_fields + n_params; i++)
            keep_name(w, i < row->n_fields ? row->fields[i].key.str.s
                                           : params->map.members[i - row->n_fields].key.str.s);
    return holds(w, w->root);
}
