/* SPDX-License-Identifier: MIT */
/* where_parse.c - read an expression of --where */
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "client/query/where_tree.h"
#include "client/term/safe_text.h"
#include "common/data/json.h"
#include "common/data/yaml.h"

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
    const char *text; /* of words and quoted ones, in the arena */
    size_t at, n;     /* where it stands */
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
    /* longer ones first */
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

/* Between quotes; a backslash takes a quote's or a backslash's meaning away. */
static void take_quoted(struct parser *p, struct lexeme *l)
{
    const char *begin = p->text + l->at, *at = begin + 1;
    struct buf text = { 0 };

    for (; *at != '\0' && *at != *begin; at++) {
        if (*at == '\\' && at[1] != '\0' && strchr("\\'\"", at[1]) != NULL)
            at++;
        buf_add_char(&text, *at);
    }
    l->type = LEX_QUOTED;
    l->n = (size_t)(at + 1 - begin);
    l->text = arena_strdup(p->arena, buf_text(&text));
    buf_free(&text);
    if (*at == '\0') {
        l->type = LEX_WRONG;
        fail_at(p, l->at, "this quote is never closed");
    }
}

static void take_word(struct parser *p, struct lexeme *l)
{
    l->type = LEX_WORD;
    l->n = strcspn(p->text + l->at, delimiters);
    l->text = arena_strndup(p->arena, p->text + l->at, l->n);
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++)
        if (strcasecmp(l->text, keywords[i].text) == 0)
            l->type = keywords[i].type;
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

static void advance(struct parser *p)
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
        if (p->text[l.at] == '!') {
            l.type = LEX_WRONG;
            fail_at(p, l.at, "'!' stands only in '!=' (write not)");
        } else {
            take_word(p, &l);
        }
    }
    p->now = l;
}

static bool accept(struct parser *p, enum lexeme_type type)
{
    if (p->now.type != type)
        return false;
    advance(p);
    return true;
}

/* ---- names and values ---- */

/* As a sweep file reads it; what is more than a word to YAML, as an anchor, is text here. */
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

/* Numbers are told as they were written, the others in their one form: true, not True. */
static void set_text(struct where_literal *literal, const char *text, struct arena *a)
{
    struct buf canonical = { 0 };

    if (literal->value.type == VALUE_BOOL) {
        json_add_text(&canonical, &literal->value);
        text = arena_strdup(a, buf_text(&canonical));
        buf_free(&canonical);
    }
    literal->text = (struct bytes){ (const uint8_t *)text, strlen(text) };
}

static int read_literal(struct parser *p, enum where_op op, struct where_literal *literal)
{
    if (p->now.type != LEX_WORD && p->now.type != LEX_QUOTED)
        return fail_expected(p, "a value");
    literal->value = read_scalar(&p->now, p->arena);
    if (literal->value.type == VALUE_NULL &&
        (op == WHERE_CONTAINS || (op >= WHERE_LESS && op <= WHERE_AT_LEAST)))
        return fail_at(p, p->now.at, "only = and != compare with %s", p->now.text);
    set_text(literal, p->now.text, p->arena);
    advance(p);
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
    advance(p);
    return 0;
}

static void add_literal(struct parser *p, struct where_test *t, size_t *capacity,
                        const struct where_literal *literal)
{
    if (t->literals == NULL || t->n == *capacity) {
        size_t more = t->literals == NULL ? 4 : 2 * *capacity;
        struct where_literal *items = arena_alloc(p->arena, more * sizeof *items);

        if (t->literals != NULL)
            memcpy(items, t->literals, t->n * sizeof *items);
        t->literals = items;
        *capacity = more;
    }
    t->literals[t->n++] = *literal;
}

/* (VALUE, VALUE...) */
static int read_list(struct parser *p, struct where_test *t)
{
    struct where_literal literal;
    size_t capacity = 0;

    if (!accept(p, LEX_OPEN))
        return fail_expected(p, "'('");
    do {
        if (read_literal(p, t->op, &literal) < 0)
            return -1;
        add_literal(p, t, &capacity, &literal);
    } while (accept(p, LEX_COMMA));
    return accept(p, LEX_CLOSE) ? 0 : fail_expected(p, "',' or ')'");
}

static int read_in(struct parser *p, struct where_test *t)
{
    t->op = accept(p, LEX_NOT) ? WHERE_NOT_IN : WHERE_IN;
    if (!accept(p, LEX_IN))
        return fail_expected(p, "'in'");
    return read_list(p, t);
}

static int read_test(struct parser *p, struct where_test *t)
{
    if (read_name(p, &t->name) < 0)
        return -1;
    if (p->now.type == LEX_IN || p->now.type == LEX_NOT)
        return read_in(p, t);
    if (p->now.type != LEX_OP)
        return fail_expected(p, "one of = != < <= > >= ~ in");
    t->op = p->now.op;
    advance(p);
    t->literals = arena_alloc(p->arena, sizeof *t->literals);
    t->n = 1;
    return read_literal(p, t->op, t->literals);
}

/* ---- expressions ---- */

static struct where_node *read_or(struct parser *p);

static struct where_node *make_node(struct parser *p, enum where_node_type type)
{
    struct where_node *node = arena_alloc(p->arena, sizeof *node);

    node->type = type;
    return node;
}

static struct where_node *read_parentheses(struct parser *p)
{
    struct where_node *node;

    if (p->depth == WHERE_DEPTH_MAX) {
        fail_at(p, p->now.at, "more than %d parentheses within each other", WHERE_DEPTH_MAX);
        return NULL;
    }
    p->depth++;
    advance(p);
    node = read_or(p);
    p->depth--;
    if (node != NULL && !accept(p, LEX_CLOSE)) {
        fail_expected(p, "'and', 'or' or ')'");
        return NULL;
    }
    return node;
}

static struct where_node *read_not(struct parser *p)
{
    struct where_node *node;
    bool is_negated = false;

    while (accept(p, LEX_NOT))
        is_negated = !is_negated;
    if (p->now.type == LEX_OPEN) {
        node = read_parentheses(p);
    } else {
        node = make_node(p, WHERE_TEST);
        if (read_test(p, &node->test) < 0)
            return NULL;
    }
    if (node != NULL)
        node->is_negated ^= is_negated;
    return node;
}

/* PART between PART between PART; one alone stays what it is. */
static struct where_node *read_chain(struct parser *p, enum where_node_type type,
                                     enum lexeme_type between,
                                     struct where_node *(*read_part)(struct parser *))
{
    struct where_node *first = read_part(p), *last = first, *chain;

    if (first == NULL || p->now.type != between)
        return first;
    chain = make_node(p, type);
    chain->parts = first;
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
    advance(&p);
    w->root = read_or(&p);
    if (w->root == NULL)
        return NULL;
    if (p.now.type != LEX_END) {
        fail_expected(&p, "'and', 'or' or the end");
        return NULL;
    }
    return w;
}
