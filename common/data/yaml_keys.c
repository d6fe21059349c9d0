/* SPDX-License-Identifier: MIT */
/* yaml_keys.c - reads a YAML map by a table of its keys, and finds all mistakes at once */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/suggest.h"
#include "common/base/units.h"
#include "common/data/yaml_keys.h"

/* A smaller size without a unit is not taken for bytes. */
enum { BARE_SIZE_MIN_BYTES = 1000 * 1000 };

/* The words may quote the file, but an error stays one line. */
int yaml_keys_error(struct yaml_keys_reader *r, const struct yaml_node *at, const char *format, ...)
{
    size_t begin;
    va_list ap;

    if (r->n_errors++ > 0)
        buf_add_char(&r->errors, '\n');
    buf_add_str(&r->errors, r->file);
    if (at != NULL)
        buf_printf(&r->errors, ":%u:%u", at->line, at->column);
    buf_add_str(&r->errors, ": ");
    begin = r->errors.n;
    va_start(ap, format);
    buf_vprintf(&r->errors, format, ap);
    va_end(ap);
    for (size_t i = begin; i < r->errors.n; i++)
        if (r->errors.bytes[i] < ' ')
            r->errors.bytes[i] = ' ';
    return -1;
}

/* Whether the node is text that fits into a message as it is. */
static bool is_showable(const struct yaml_node *node)
{
    enum { SHOWN_MAX_BYTES = 60 };
    size_t n = node->text == NULL ? 0 : strlen(node->text);

    for (size_t i = 0; i < n; i++)
        if ((unsigned char)node->text[i] < ' ')
            return false;
    return n > 0 && n <= SHOWN_MAX_BYTES;
}

/* "reps: expected a whole number, found a list", or "... found 'many'" for a scalar */
static int expected(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                    const char *what)
{
    if (is_showable(node))
        return yaml_keys_error(r, node, "%s: expected %s, found '%s'", key->name, what, node->text);
    return yaml_keys_error(r, node, "%s: expected %s, found %s", key->name, what,
                           value_type_name(node->type));
}

static bool is_text_or_number(const struct yaml_node *node)
{
    return node->type == VALUE_STR || node->type == VALUE_INT || node->type == VALUE_FLOAT;
}

/* Whether the node is a number or a time of the clock, for which there may be two readings. */
static bool has_digits_only(const struct yaml_node *node)
{
    return is_text_or_number(node) && node->text[strspn(node->text, "0123456789.:")] == '\0';
}

static bool has_nul(const struct yaml_node *node)
{
    return node->type == VALUE_STR && strlen(node->text) != node->scalar.str.n;
}

static int read_str(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                    const char **to)
{
    if (node->type == VALUE_BOOL)
        return expected(r, key, node, "text (quote it)");
    if (!is_text_or_number(node))
        return expected(r, key, node, "text");
    if (has_nul(node))
        return yaml_keys_error(r, node, "%s: a NUL character", key->name);
    *to = node->text;
    return 0;
}

static int read_strs(struct yaml_keys_reader *r, const struct key *key,
                     const struct yaml_node *node, struct list *to)
{
    bool is_list = node->type == VALUE_LIST;
    size_t n = is_list ? node->n : 1;
    const char **items = arena_alloc(r->arena, n * sizeof *items);
    int answer = 0;

    if (node->type == VALUE_MAP || node->type == VALUE_NULL)
        return expected(r, key, node, "text or a list of texts");
    if (key->max > 0 && n > (uint64_t)key->max)
        return yaml_keys_error(r, node, "%s: more than %" PRId64 " items", key->name, key->max);
    for (size_t i = 0; i < n; i++)
        if (read_str(r, key, is_list ? &node->items[i] : node, &items[i]) < 0)
            answer = -1;
    *to = (struct list){ items, n };
    return answer;
}

/* A kind of quantity: its name, and how it is read and written. */
struct quantity {
    const char *what;
    int (*parse)(const char *text, int64_t *number, struct err *e);
    void (*add)(struct buf *out, int64_t number);
};

static void add_int(struct buf *out, int64_t i)
{
    buf_printf(out, "%" PRId64, i);
}

static const struct quantity quantities[] = {
    [KEY_INT] = { "a whole number", NULL, add_int },
    [KEY_SIZE] = { "a size such as 2GiB", units_parse_size, units_add_size },
    [KEY_DURATION] = { "a duration such as 10min", units_parse_duration, units_add_duration },
    [KEY_MILLI] = { "a number such as 0.5", units_parse_milli, units_add_milli },
};

static int refuse_bound(struct yaml_keys_reader *r, const struct key *key,
                        const struct yaml_node *node, const char *which, int64_t bound)
{
    struct buf text = { 0 };

    quantities[key->type].add(&text, bound);
    yaml_keys_error(r, node, "%s: expected at %s %s, found '%s'", key->name, which, buf_text(&text),
                    node->text);
    buf_free(&text);
    return -1;
}

static int read_bounded(struct yaml_keys_reader *r, const struct key *key,
                        const struct yaml_node *node, int64_t *to)
{
    const struct quantity *q = &quantities[key->type];
    int64_t number = node->scalar.i;
    struct err why = { 0 };
    const char *digits;

    if (key->type != KEY_INT) {
        if (!is_text_or_number(node) || q->parse(node->text, &number, &why) < 0)
            return has_digits_only(node) ? yaml_keys_error(r, node, "%s: %s", key->name, why.text)
                                         : expected(r, key, node, q->what);
        if (key->type == KEY_SIZE && units_lacks_unit(node->text) && number < BARE_SIZE_MIN_BYTES)
            return yaml_keys_error(r, node, "%s: %s lacks a unit: write %sGiB, or %sB for bytes",
                                   key->name, node->text, node->text, node->text);
    } else if (node->type == VALUE_STR && !has_nul(node) && is_showable(node)) {
        digits = node->text + (*node->text == '-');
        if (*digits != '\0' && digits[strspn(digits, "0123456789")] == '\0')
            return yaml_keys_error(
                r, node, "%s: expected a whole number, found the text '%s' (take the quotes away)",
                key->name, node->text);
    }
    if (key->type == KEY_INT && node->type != VALUE_INT)
        return expected(r, key, node, q->what);
    if (key->type == KEY_INT && number < 0)
        return expected(r, key, node, "no negative number");
    if (key->max > 0 && number > key->max)
        return refuse_bound(r, key, node, "most", key->max);
    if (number < key->min)
        return refuse_bound(r, key, node, "least", key->min);
    *to = number;
    return 0;
}

static int read_key(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                    void *to)
{
    void *at = (char *)to + key->offset;

    switch (key->type) {
    case KEY_STR: return read_str(r, key, node, at);
    case KEY_STRS: return read_strs(r, key, node, at);
    case KEY_BOOL:
        if (node->type != VALUE_BOOL)
            return expected(r, key, node, "true or false");
        *(bool *)at = node->scalar.b;
        return 0;
    case KEY_INT:
    case KEY_SIZE:
    case KEY_DURATION:
    case KEY_MILLI: return read_bounded(r, key, node, at);
    case KEY_MAP:
        if (node->type != VALUE_MAP && node->type != VALUE_NULL)
            return expected(r, key, node, "a map");
        return yaml_keys_read(r, key->of, node, at);
    case KEY_VALUE: *(struct value *)at = yaml_value(node, r->arena); return 0;
    case KEY_CUSTOM: return key->read(r, key, node, at);
    }
    return -1;
}

int yaml_keys_read(struct yaml_keys_reader *r, const struct key *rows, const struct yaml_node *node,
                   void *to)
{
    int answer = 0;

    if (node->type == VALUE_NULL) /* an empty file, or all of it is commented out */
        return 0;
    if (node->type != VALUE_MAP)
        return yaml_keys_error(r, node, "expected 'key: value' lines, found %s",
                               value_type_name(node->type));
    for (size_t i = 0; i < node->n; i++) {
        const struct yaml_member *m = &node->members[i];
        struct yaml_node at = { .line = m->line, .column = m->column };
        struct suggest s = { .word = m->key };
        const struct key *key = rows;

        while (key->name != NULL && strcmp(key->name, m->key) != 0)
            suggest_try(&s, key++->name);
        if (key->name != NULL) {
            if (read_key(r, key, &m->node, to) < 0)
                answer = -1;
        } else if (strncmp(m->key, "x-", 2) != 0) {
            answer = s.best == NULL
                         ? yaml_keys_error(r, &at, "unknown key '%s'", m->key)
                         : yaml_keys_error(r, &at, "unknown key '%s' (did you mean '%s'?)", m->key,
                                           s.best);
        }
    }
    return answer;
}

int yaml_keys_end(struct yaml_keys_reader *r, struct err *e)
{
    size_t n_errors = r->n_errors;

    if (n_errors > 0)
        err_set(e, ERR_USAGE, "%s", buf_text(&r->errors));
    buf_free(&r->errors);
    r->n_errors = 0;
    return n_errors > 0 ? -1 : 0;
}

int yaml_keys_read_file(const char *path, const struct key *rows, struct arena *a, void *to,
                        struct err *e)
{
    struct yaml_keys_reader r = { .file = path, .arena = a };
    const struct yaml_node *root = yaml_parse_file(path, a, e);

    if (root == NULL)
        return -1;
    yaml_keys_read(&r, rows, root, to);
    return yaml_keys_end(&r, e);
}
