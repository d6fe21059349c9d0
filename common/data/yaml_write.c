/* SPDX-License-Identifier: MIT */
/* yaml_write.c - values to YAML text that people and other parsers read as yaml.c does */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "common/base/quote.h"
#include "common/data/json.h"
#include "common/data/yaml.h"

/* Whether the text without quotes is read as this string, by YAML 1.1 and 1.2, also in a [list]. */
static bool is_plain(const char *s, size_t n)
{
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_/";
    static const char later[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_/"
                                "0123456789.-+=@ ";
    /* Some version of YAML takes these words for another type. */
    static const char *const words[] = { "yes", "no", "on", "off", "true", "false", "null" };

    if (n == 0 || memchr(first, s[0], sizeof first - 1) == NULL || s[n - 1] == ' ')
        return false;
    for (size_t i = 1; i < n; i++)
        if (memchr(later, s[i], sizeof later - 1) == NULL)
            return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == n && strncasecmp(words[i], s, n) == 0)
            return false;
    return true;
}

static void add_str(struct buf *out, const char *s, size_t n)
{
    if (is_plain(s, n))
        buf_add(out, s, n);
    else
        quote_add(out, s, n);
}

static void add_scalar(struct buf *out, const struct value *v)
{
    struct buf text = { 0 };
    const char *e;

    if (v->type == VALUE_STR) {
        add_str(out, v->str.s, v->str.n);
    } else if (v->type == VALUE_FLOAT && !isfinite(v->f)) {
        buf_add_str(out, isnan(v->f) ? ".nan" : v->f < 0 ? "-.inf" : ".inf");
    } else if (v->type ==
               VALUE_FLOAT) { /* YAML 1.1 takes 1e-05 for text and 1.0e-05 for a number */
        value_add_float(&text, v->f);
        e = strchr(buf_text(&text), 'e');
        if (e == NULL || strchr(buf_text(&text), '.') != NULL)
            buf_add(out, text.bytes, text.n);
        else
            buf_printf(out, "%.*s.0%s", (int)(e - buf_text(&text)), buf_text(&text), e);
        buf_free(&text);
    } else {
        json_add_value(out, v);
    }
}

/* Whether the value stays on the line of its key: scalars, lists of scalars, empty ones. */
static bool is_inline(const struct value *v)
{
    if (v->type == VALUE_MAP)
        return v->map.n == 0;
    for (size_t i = 0; v->type == VALUE_LIST && i < v->list.n; i++)
        if (v->list.items[i].type == VALUE_LIST || v->list.items[i].type == VALUE_MAP)
            return false;
    return true;
}

static void add_inline(struct buf *out, const struct value *v)
{
    if (v->type == VALUE_MAP) {
        buf_add_str(out, "{}");
    } else if (v->type == VALUE_LIST) {
        buf_add_char(out, '[');
        for (size_t i = 0; i < v->list.n; i++) {
            if (i > 0)
                buf_add_str(out, ", ");
            add_scalar(out, &v->list.items[i]);
        }
        buf_add_char(out, ']');
    } else {
        add_scalar(out, v);
    }
    buf_add_char(out, '\n');
}

static void add_indent(struct buf *out, size_t indent)
{
    while (indent-- > 0)
        buf_add_char(out, ' ');
}

/* The longest key that may stand without a '?' before it. */
enum { SIMPLE_KEY_MAX_BYTES = 1000 };

static void add_key(struct buf *out, const struct value *key, size_t indent)
{
    size_t begin = out->n;

    add_str(out, key->str.s, key->str.n);
    if (out->n - begin > SIMPLE_KEY_MAX_BYTES) {
        out->n = begin;
        buf_add_str(out, "? ");
        add_str(out, key->str.s, key->str.n);
        buf_add_char(out, '\n');
        add_indent(out, indent);
    }
    buf_add_char(out, ':');
}

/* Adds the value in lines at this indent; the first line is indented already. */
static void add_block(struct buf *out, const struct value *v, size_t indent)
{
    size_t n = v->type == VALUE_MAP ? v->map.n : v->list.n;

    for (size_t i = 0; i < n; i++) {
        const struct value *item;

        if (i > 0)
            add_indent(out, indent);
        if (v->type == VALUE_MAP) {
            item = &v->map.members[i].value;
            add_key(out, &v->map.members[i].key, indent);
        } else {
            item = &v->list.items[i];
            buf_add_char(out, '-');
        }
        if (is_inline(item)) {
            buf_add_char(out, ' ');
            add_inline(out, item);
            continue;
        }
        buf_add_char(out, v->type == VALUE_MAP ? '\n' : ' ');
        if (v->type == VALUE_MAP)
            add_indent(out, indent + 2);
        add_block(out, item, indent + 2);
    }
}

void yaml_add_value(struct buf *out, const struct value *v)
{
    if (is_inline(v))
        add_inline(out, v);
    else
        add_block(out, v, 0);
}
