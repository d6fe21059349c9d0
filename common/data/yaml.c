/* SPDX-License-Identifier: MIT */
/* yaml.c - YAML text to a tree whose nodes keep their line and column */

#include "common/data/yaml.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/utf8.h"
#include "common/data/value.h"

/* ---- unquoted text, by the core schema of YAML 1.2 ---- */

static bool is_one_of(const char *s, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strcmp(s, *words) == 0)
            return true;
    return false;
}

static const char *skip_sign(const char *s)
{
    return *s == '+' || *s == '-' ? s + 1 : s;
}

static const char *skip_digits(const char *s)
{
    return s + strspn(s, "0123456789");
}

static bool is_based(const char *s, const char *prefix, const char *digits)
{
    return strncmp(s, prefix, 2) == 0 && s[2] != '\0' && s[2 + strspn(s + 2, digits)] == '\0';
}

static bool is_float(const char *s)
{
    const char *whole = skip_sign(s);
    const char *at = skip_digits(whole);
    bool has_digits = at > whole;

    if (*at == '.') {
        const char *fraction = at + 1;

        at = skip_digits(fraction);
        has_digits = has_digits || at > fraction;
    }
    if (*at == 'e' || *at == 'E') {
        const char *exponent = skip_sign(at + 1);

        at = skip_digits(exponent);
        has_digits = has_digits && at > exponent;
    }
    return has_digits && *at == '\0';
}

enum number { NO_NUMBER, NUMBER, NUMBER_TOO_LARGE };

static enum number read_number(const char *s, struct value *v)
{
    static const char *const infinities[] = { ".inf", ".Inf", ".INF", NULL };
    static const char *const nans[] = { ".nan", ".NaN", ".NAN", NULL };
    const char *digits = skip_sign(s);
    int base = is_based(s, "0o", "01234567")                 ? 8
               : is_based(s, "0x", "0123456789abcdefABCDEF") ? 16
                                                             : 10;

    if (base != 10 || (*digits != '\0' && *skip_digits(digits) == '\0')) {
        errno = 0;
        *v = value_int(strtoll(base == 10 ? s : s + 2, NULL, base));
        return errno == ERANGE ? NUMBER_TOO_LARGE : NUMBER;
    }
    if (is_float(s)) {
        *v = value_float(strtod(s, NULL));
        return isinf(v->f) ? NUMBER_TOO_LARGE : NUMBER;
    }
    if (is_one_of(digits, infinities))
        *v = value_float(*s == '-' ? (double)-INFINITY : (double)INFINITY);
    else if (is_one_of(s, nans))
        *v = value_float((double)NAN);
    else
        return NO_NUMBER;
    return NUMBER;
}

/* Reads the n bytes of s, which a NUL follows; text is not copied.  false: the number is too large
 * for a value. */
static bool read_scalar(const char *s, size_t n, struct value *v)
{
    static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
    static const char *const truths[] = { "true", "True", "TRUE", NULL };
    static const char *const lies[] = { "false", "False", "FALSE", NULL };

    if (is_one_of(s, nulls))
        *v = value_null();
    else if (is_one_of(s, truths))
        *v = value_bool(true);
    else if (is_one_of(s, lies))
        *v = value_bool(false);
    else {
        enum number number = read_number(s, v);

        if (number != NO_NUMBER)
            return number != NUMBER_TOO_LARGE;
        *v = value_strn(s, n);
    }
    return true;
}

struct anchor {
    const char *name;
    struct yaml_node node;
    bool open; /* the node's end was not seen yet */
};

struct parser {
    yaml_parser_t yaml;
    const char *name;
    const char *text;
    size_t n;
    struct arena *arena;
    struct err *e;
    struct anchor *anchors;
    size_t n_anchors;
    size_t anchors_capacity;
    size_t n_nodes;
};

/* ---- errors ---- */

int yaml_error(struct err *e, const char *name, const struct yaml_node *at, const char *format, ...)
{
    va_list ap;
    char *text;

    va_start(ap, format);
    text = mem_vprintf(format, ap);
    va_end(ap);
    /* The words may quote the file, but an error stays one line. */
    for (char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    err_set(e, ERR_USAGE, "%s:%u:%u: %s", name, at->line, at->column, text);
    free(text);
    return -1;
}

static struct yaml_node node_at(yaml_mark_t mark)
{
    return (struct yaml_node){ .line = (unsigned)mark.line + 1,
                               .column = (unsigned)mark.column + 1 };
}

static int refuse_node(struct parser *p, const struct yaml_node *at, const char *what)
{
    return yaml_error(p->e, p->name, at, "%s", what);
}

/* ---- libyaml's errors, in words for people ---- */

/* A node with the line and column of the byte at offset. */
static struct yaml_node place_of(const struct parser *p, size_t offset)
{
    struct yaml_node at = { .line = 1, .column = 1 };

    for (size_t i = 0; i < offset && i < p->n; i++) {
        if (p->text[i] == '\n') {
            at.line++;
            at.column = 1;
        } else if (utf8_begins(p->text[i])) {
            at.column++;
        }
    }
    return at;
}

/* A problem in libyaml's words and in ours, and whether the broken item's beginning is shown. */
static const struct {
    const char *problem;
    const char *words;
    bool at_beginning;
} problems[] = {
    { "mapping values are not allowed in this context",
      "a ':' cannot stand here (quote values that contain one)", false },
    { "could not find expected ':'", "expected 'key: value'", true },
    { "did not find expected key", "expected a key, indented as those above", false },
    { "did not find expected '-' indicator", "expected '- ', indented as those above", false },
    { "found unexpected end of stream", "this quoted text does not end", true },
    { "found unexpected document indicator", "this quoted text does not end", true },
    { "did not find expected alphabetic or numeric character",
      "a value that begins with * or & is an alias or an anchor (quote it)", true },
    { "did not find expected ',' or ']'", "expected ',' or ']'", false },
    { "did not find expected ',' or '}'", "expected ',' or '}'", false },
    { "block sequence entries are not allowed in this context", "a '- ' cannot stand here", false },
    { "block mapping entries are not allowed in this context", "a 'key: value' cannot stand here",
      false },
    { "did not find expected <document start>", "more than one value in the file", false },
    { "found unknown escape character",
      "an unknown escape in a text in \" (text in ' takes \\ as it is)", false },
};

/* Where the line with the byte at c begins. */
static const char *line_begin(const struct parser *p, const char *c)
{
    while (c > p->text && c[-1] != '\n')
        c--;
    return c;
}

/* Explains a line that is indented more than "key: value" above it, and so continues that value.
 * Returns 0 when this is not the problem. */
static int refuse_indentation(struct parser *p, const char *c, struct yaml_node at)
{
    const char *line = line_begin(p, c), *above = line, *key, *colon;
    size_t indent = strspn(line, " ");

    do {
        if (above == p->text)
            return 0;
        above = line_begin(p, above - 1);
        key = above + strspn(above, " ");
    } while (*key == '\n' || *key == '#');
    colon = memchr(key, ':', (size_t)(line - key));
    if (indent <= (size_t)(key - above) || colon == NULL)
        return 0;
    at.column = (unsigned)indent + 1;
    return yaml_error(
        p->e, p->name, &at,
        "this line is indented more than the one above it, and so goes on with the "
        "value of '%.*s:', where no ':' can stand (take the blanks before it away, or "
        "quote that value)",
        (int)(colon - key), key);
}

/* Whether a value of a list or map in brackets, which begins in that line, lost what is behind its
 * #: as in [#ff0000, #00ff00]. */
static bool has_comment(const struct parser *p, size_t line, const char *end)
{
    const char *c = p->text;

    for (; line > 0 && c < end; c++)
        line -= *c == '\n';
    for (; c + 1 < end; c++)
        if (strchr("[{, ", c[0]) != NULL && c[1] == '#')
            return true;
    return false;
}

/* Sets the error when libyaml's parser has failed, and not for lack of memory. */
static int refuse_problem(struct parser *p)
{
    const yaml_parser_t *yaml = &p->yaml;
    struct yaml_node at = node_at(yaml->problem_mark);
    const char *c = p->text, *end = p->text + p->n;
    size_t left = yaml->problem_mark.index;

    if (yaml->error == YAML_READER_ERROR) {
        at = place_of(p, yaml->problem_offset);
        return refuse_node(p, &at,
                           strstr(yaml->problem, "control") != NULL
                               ? "a control character cannot stand here"
                               : "this is no UTF-8 text");
    }
    while (c < end && (!utf8_begins(*c) || left-- > 0)) /* the mark counts characters */
        c++;
    if (strcmp(yaml->problem, "found character that cannot start any token") == 0 ||
        strcmp(yaml->problem, "did not find expected node content") == 0) {
        if (c == end)
            return refuse_node(p, &at, "the text ends where a value was expected");
        if (*c == '\t')
            return refuse_node(p, &at, "a tab cannot indent (use blanks)");
        return yaml_error(p->e, p->name, &at, "a value cannot begin with '%c' (quote it)", *c);
    }
    if (strcmp(yaml->problem, problems[0].problem) == 0 && c < end &&
        refuse_indentation(p, c, at) < 0)
        return -1;
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++)
        if (strcmp(yaml->problem, problems[i].problem) == 0) {
            if (problems[i].at_beginning || c == end)
                at = node_at(yaml->context_mark);
            if (strncmp(problems[i].words, "expected ','", 12) == 0 &&
                has_comment(p, yaml->context_mark.line, c))
                return yaml_error(p->e, p->name, &at,
                                  "%s (a # began a comment; quote a value that has one)",
                                  problems[i].words);
            return refuse_node(p, &at, problems[i].words);
        }
    return refuse_node(p, &at, yaml->problem);
}

static int next_event(struct parser *p, yaml_event_t *event)
{
    if (yaml_parser_parse(&p->yaml, event))
        return 0;
    if (p->yaml.error == YAML_MEMORY_ERROR)
        return err_set(p->e, ERR_INTERNAL, "%s: libyaml is out of memory", p->name);
    return refuse_problem(p);
}

/* ---- scalars ---- */

static const struct {
    const char *tag;
    enum value_type type;
} tags[] = {
    { YAML_STR_TAG, VALUE_STR },   { "!", VALUE_STR },
    { YAML_INT_TAG, VALUE_INT },   { YAML_FLOAT_TAG, VALUE_FLOAT },
    { YAML_BOOL_TAG, VALUE_BOOL }, { YAML_NULL_TAG, VALUE_NULL },
    { YAML_SEQ_TAG, VALUE_LIST },  { YAML_MAP_TAG, VALUE_MAP },
};

/* Refuses a value that does not have the type of its tag; 1 counts as a float, too. */
static int check_tag(struct parser *p, struct yaml_node *node, const char *tag)
{
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        if (strcmp(tags[i].tag, tag) != 0)
            continue;
        if (tags[i].type == VALUE_STR && node->text != NULL)
            node->scalar = value_str(node->text);
        if (tags[i].type == VALUE_FLOAT && node->type == VALUE_INT)
            node->scalar = value_float((double)node->scalar.i);
        if (node->text != NULL)
            node->type = node->scalar.type;
        if (tags[i].type == node->type)
            return 0;
    }
    return yaml_error(p->e, p->name, node, "the tag %s cannot be used here", tag);
}

static int compose_scalar(struct parser *p, const yaml_event_t *event, struct yaml_node *node)
{
    const char *tag = (const char *)event->data.scalar.tag;
    size_t n = event->data.scalar.length;
    char *text = arena_strndup(p->arena, (const char *)event->data.scalar.value, n);

    node->text = text;
    node->scalar = value_strn(text, n);
    if (tag == NULL && !event->data.scalar.plain_implicit) {
        node->type = VALUE_STR;
        return 0;
    }
    if ((tag == NULL || strcmp(tag, YAML_STR_TAG) != 0) && strlen(text) == n &&
        !read_scalar(text, n, &node->scalar))
        return yaml_error(p->e, p->name, node,
                          "%s is too large for a number (quote it to keep it as text)", text);
    node->type = node->scalar.type;
    return tag == NULL ? 0 : check_tag(p, node, tag);
}

/* ---- anchors and aliases ---- */

static int too_large(struct parser *p, const struct yaml_node *at)
{
    return yaml_error(p->e, p->name, at, "more than %d values", YAML_NODES_MAX);
}

/* Counts the nodes that an alias repeats as if they were written out there. */
static int count_nodes(struct parser *p, const struct yaml_node *at, const struct yaml_node *node,
                       int depth)
{
    if (++p->n_nodes > YAML_NODES_MAX)
        return too_large(p, at);
    if (depth > YAML_DEPTH_MAX)
        return yaml_error(p->e, p->name, at, "nested more than %d deep", YAML_DEPTH_MAX);
    for (size_t i = 0; i < node->n; i++) {
        const struct yaml_node *child =
            node->type == VALUE_LIST ? &node->items[i] : &node->members[i].node;
        bool deeper = child->type == VALUE_LIST || child->type == VALUE_MAP;

        if (count_nodes(p, at, child, depth + deeper) < 0)
            return -1;
    }
    return 0;
}

static int compose_alias(struct parser *p, const char *name, int depth, struct yaml_node *node)
{
    struct yaml_node at = *node;

    for (size_t i = p->n_anchors; i-- > 0;) {
        const struct anchor *anchor = &p->anchors[i];

        if (strcmp(anchor->name, name) != 0)
            continue;
        if (anchor->open)
            return yaml_error(p->e, p->name, &at, "*%s stands inside of &%s itself", name, name);
        *node = anchor->node;
        node->line = at.line;
        node->column = at.column;
        return count_nodes(p, &at, node,
                           depth + (node->type == VALUE_LIST || node->type == VALUE_MAP));
    }
    return yaml_error(p->e, p->name, &at, "*%s: there is no &%s above", name, name);
}

/* ---- lists and maps ---- */

static int compose(struct parser *p, const yaml_event_t *event, int depth, struct yaml_node *node);

static void *move_to_arena(struct arena *a, void *items, size_t bytes)
{
    void *moved = bytes == 0 ? NULL : memcpy(arena_alloc(a, bytes), items, bytes);

    free(items);
    return moved;
}

/* Composes the value that follows. */
static int compose_next(struct parser *p, int depth, struct yaml_node *node)
{
    yaml_event_t event;
    int answer;

    if (next_event(p, &event) < 0)
        return -1;
    answer = compose(p, &event, depth, node);
    yaml_event_delete(&event);
    return answer;
}

static int compose_list(struct parser *p, int depth, struct yaml_node *node)
{
    struct yaml_node *items = NULL;
    size_t n = 0, capacity = 0;
    yaml_event_t event;
    int answer = 0;

    node->type = VALUE_LIST;
    while ((answer = next_event(p, &event)) == 0 && event.type != YAML_SEQUENCE_END_EVENT) {
        mem_grow((void **)&items, &capacity, n, sizeof *items);
        answer = compose(p, &event, depth, &items[n++]);
        yaml_event_delete(&event);
        if (answer < 0)
            break;
    }
    node->n = n;
    node->items = move_to_arena(p->arena, items, n * sizeof *items);
    return answer;
}

struct members {
    struct yaml_member *items;
    size_t n;
    size_t capacity;
    struct yaml_node *merged; /* values of << */
    size_t n_merged;
    size_t merged_capacity;
};

static struct bytes member_key(const void *items, size_t i)
{
    const struct yaml_member *m = items;

    return (struct bytes){ (const uint8_t *)m[i].key, strlen(m[i].key) };
}

static const struct yaml_member *find_member(const struct yaml_member *m, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(m[i].key, key) == 0)
            return &m[i];
    return NULL;
}

static int refuse_repeated(struct parser *p, const struct members *m)
{
    size_t i = value_find_repeated(m->items, m->n, member_key);
    struct yaml_node at;

    if (i >= m->n)
        return 0;
    at = (struct yaml_node){ .line = m->items[i].line, .column = m->items[i].column };
    return yaml_error(p->e, p->name, &at, "'%s' appears a second time (first in line %u)",
                      m->items[i].key, find_member(m->items, i, m->items[i].key)->line);
}

static void add_member(struct members *m, const struct yaml_member *member)
{
    mem_grow((void **)&m->items, &m->capacity, m->n, sizeof *m->items);
    m->items[m->n++] = *member;
}

/* The map's own keys win over merged ones, and earlier merged keys over later ones. */
static int merge_members(struct parser *p, struct members *m)
{
    for (size_t i = 0; i < m->n_merged; i++) {
        const struct yaml_node *merged = &m->merged[i];
        bool is_list = merged->type == VALUE_LIST;

        for (size_t k = 0; k < (is_list ? merged->n : 1); k++) {
            const struct yaml_node *from = is_list ? &merged->items[k] : merged;

            if (from->type != VALUE_MAP)
                return refuse_node(p, from, "'<<' takes a map or a list of maps");
            for (size_t j = 0; j < from->n; j++)
                if (find_member(m->items, m->n, from->members[j].key) == NULL)
                    add_member(m, &from->members[j]);
        }
    }
    return 0;
}

static int compose_member(struct parser *p, const yaml_event_t *event, int depth, struct members *m)
{
    struct yaml_node at = node_at(event->start_mark);
    struct yaml_member member = { .line = at.line, .column = at.column };
    size_t n;

    if (event->type != YAML_SCALAR_EVENT)
        return refuse_node(p, &at, "a key must be text (a '{' that begins a value must be quoted)");
    n = event->data.scalar.length;
    member.key = arena_strndup(p->arena, (const char *)event->data.scalar.value, n);
    if (strlen(member.key) != n)
        return refuse_node(p, &at, "a key with a NUL character");
    if (compose_next(p, depth, &member.node) < 0)
        return -1;
    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strcmp(member.key, "<<") == 0) {
        mem_grow((void **)&m->merged, &m->merged_capacity, m->n_merged, sizeof *m->merged);
        m->merged[m->n_merged++] = member.node;
    } else {
        add_member(m, &member);
    }
    return 0;
}

static int compose_map(struct parser *p, int depth, struct yaml_node *node)
{
    struct members m = { 0 };
    yaml_event_t event;
    int answer = 0;

    node->type = VALUE_MAP;
    while ((answer = next_event(p, &event)) == 0 && event.type != YAML_MAPPING_END_EVENT) {
        answer = compose_member(p, &event, depth, &m);
        yaml_event_delete(&event);
        if (answer < 0)
            break;
    }
    if (answer == 0)
        answer = refuse_repeated(p, &m);
    if (answer == 0)
        answer = merge_members(p, &m);
    node->n = m.n;
    node->members = move_to_arena(p->arena, m.items, m.n * sizeof *m.items);
    free(m.merged);
    return answer;
}

static int compose(struct parser *p, const yaml_event_t *event, int depth, struct yaml_node *node)
{
    bool is_list = event->type == YAML_SEQUENCE_START_EVENT;
    const yaml_char_t *tag =
        is_list ? event->data.sequence_start.tag : event->data.mapping_start.tag;
    const yaml_char_t *anchor = event->type == YAML_SCALAR_EVENT ? event->data.scalar.anchor
                                : is_list                        ? event->data.sequence_start.anchor
                                                                 : event->data.mapping_start.anchor;
    size_t i = p->n_anchors;

    *node = node_at(event->start_mark);
    if (event->type == YAML_ALIAS_EVENT)
        return compose_alias(p, (const char *)event->data.alias.anchor, depth, node);
    if (++p->n_nodes > YAML_NODES_MAX)
        return too_large(p, node);
    if (anchor != NULL) {
        if (i == YAML_ANCHORS_MAX)
            return yaml_error(p->e, p->name, node, "more than %d anchors", YAML_ANCHORS_MAX);
        mem_grow((void **)&p->anchors, &p->anchors_capacity, i, sizeof *p->anchors);
        p->anchors[p->n_anchors++] =
            (struct anchor){ .name = arena_strdup(p->arena, (const char *)anchor), .open = true };
    }
    if (event->type == YAML_SCALAR_EVENT) {
        if (compose_scalar(p, event, node) < 0)
            return -1;
    } else {
        if (depth >= YAML_DEPTH_MAX)
            return yaml_error(p->e, p->name, node, "nested more than %d deep", YAML_DEPTH_MAX);
        if ((is_list ? compose_list : compose_map)(p, depth + 1, node) < 0 ||
            (tag != NULL && check_tag(p, node, (const char *)tag) < 0))
            return -1;
    }
    if (anchor != NULL) {
        p->anchors[i].node = *node;
        p->anchors[i].open = false;
    }
    return 0;
}

/* ---- whole texts ---- */

/* Reads stream start, one document or none, and stream end. */
static int compose_stream(struct parser *p, struct yaml_node *root)
{
    static const yaml_event_type_t before[] = { YAML_STREAM_START_EVENT,
                                                YAML_DOCUMENT_START_EVENT };
    yaml_event_type_t type;
    yaml_event_t event;

    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        if (next_event(p, &event) < 0)
            return -1;
        type = event.type;
        yaml_event_delete(&event);
        if (type != before[i])
            return 0; /* no document */
    }
    if (compose_next(p, 0, root) < 0)
        return -1;
    do {
        struct yaml_node at;

        if (next_event(p, &event) < 0)
            return -1;
        type = event.type;
        at = node_at(event.start_mark);
        yaml_event_delete(&event);
        if (type == YAML_DOCUMENT_START_EVENT)
            return refuse_node(p, &at, "a second document begins here");
    } while (type != YAML_STREAM_END_EVENT);
    return 0;
}

struct yaml_node *yaml_parse(const char *name, const char *text, size_t n, struct arena *a,
                             struct err *e)
{
    static const char mark[] = "\xef\xbb\xbf";
    struct parser p = { .name = name, .text = text, .n = n, .arena = a, .e = e };
    struct yaml_node *root = arena_alloc(a, sizeof *root), at;
    const char *nul;
    int answer;

    if (n > YAML_BYTES_MAX) {
        err_set(e, ERR_USAGE, "%s: larger than %d MiB", name, YAML_BYTES_MAX >> 20);
        return NULL;
    }
    /* Windows editors begin files with a byte order mark, which libyaml would count as a column. */
    if (n >= sizeof mark - 1 && memcmp(text, mark, sizeof mark - 1) == 0) {
        p.text += sizeof mark - 1;
        p.n -= sizeof mark - 1;
    }
    nul = p.n == 0 ? NULL : memchr(p.text, '\0', p.n);
    if (nul != NULL) {
        at = place_of(&p, (size_t)(nul - p.text));
        refuse_node(&p, &at, "a NUL byte (is this a text file?)");
        return NULL;
    }
    if (!yaml_parser_initialize(&p.yaml)) {
        err_set(e, ERR_INTERNAL, "%s: libyaml is out of memory", name);
        return NULL;
    }
    *root = (struct yaml_node){ .line = 1, .column = 1, .text = "" };
    yaml_parser_set_encoding(&p.yaml, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&p.yaml, (const unsigned char *)p.text, p.n);
    answer = compose_stream(&p, root);
    yaml_parser_delete(&p.yaml);
    free(p.anchors);
    return answer < 0 ? NULL : root;
}

struct yaml_node *yaml_parse_file(const char *path, struct arena *a, struct err *e)
{
    struct buf text = { 0 };
    struct yaml_node *root = NULL;

    if (io_read_file(path, YAML_BYTES_MAX, &text, e) == 0)
        root = yaml_parse(path, buf_text(&text), text.n, a, e);
    buf_free(&text);
    return root;
}

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key)
{
    const struct yaml_member *m =
        map->type == VALUE_MAP ? find_member(map->members, map->n, key) : NULL;

    return m == NULL ? NULL : &m->node;
}

struct value yaml_value(const struct yaml_node *node, struct arena *a)
{
    struct value v = { .type = node->type };

    if (node->type == VALUE_LIST) {
        v.list.n = node->n;
        v.list.items = arena_alloc(a, node->n * sizeof(struct value));
        for (size_t i = 0; i < node->n; i++)
            v.list.items[i] = yaml_value(&node->items[i], a);
        return v;
    }
    if (node->type == VALUE_MAP) {
        v.map.n = node->n;
        v.map.members = arena_alloc(a, node->n * sizeof(struct member));
        for (size_t i = 0; i < node->n; i++)
            v.map.members[i] =
                value_member(node->members[i].key, yaml_value(&node->members[i].node, a));
        return v;
    }
    return node->scalar;
}
