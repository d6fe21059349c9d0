/* SPDX-License-Identifier: MIT */
/* param_words.c - values of a sweep file that YAML reads in another way than they look */
#include "client/spec/param_words.h"

#include <string.h>

#include "client/spec/param_form.h"
#include "common/data/json.h"

/* ---- values that are null as nothing is written ---- */

const struct yaml_node *param_words_empty(const struct yaml_node *node)
{
    const struct yaml_node *found = NULL;

    if (node->type == VALUE_NULL && (node->text == NULL || node->text[0] == '\0'))
        return node;
    for (size_t i = 0; i < node->n && found == NULL; i++)
        found =
            param_words_empty(node->type == VALUE_LIST ? &node->items[i] : &node->members[i].node);
    return found;
}

/* ---- numbers that may be meant as text ---- */

static size_t digits_of(const char *text)
{
    return strspn(text, "0123456789");
}

/* Whether more than the spelling is lost when the text becomes a number: leading zeros, the zeros
 * behind a version, and an e that is a digit of a digest. */
static bool looks_like_text(const struct yaml_node *node)
{
    const char *text = node->text == NULL ? "" : node->text + strspn(node->text, "+-");
    size_t whole = digits_of(text), fraction, exponent;

    if (node->type != VALUE_INT && node->type != VALUE_FLOAT)
        return false;
    if (whole > 1 && text[0] == '0')
        return true;
    if (node->type == VALUE_INT)
        return whole == 0 || text[whole] != '\0'; /* 0x1F */
    if (text[whole] == '.') {
        fraction = digits_of(text + whole + 1);
        return text[0] != '0' && fraction > 1 && text[whole + fraction] == '0' &&
               text[whole + 1 + fraction] == '\0';
    }
    if (text[whole] != 'e' && text[whole] != 'E')
        return false;
    exponent = digits_of(text + whole + 1);
    return exponent > 0 && (whole > 2 || (text[whole + 1] == '0' && exponent > 1));
}

/* ---- text that may be meant as a list ---- */

/* Whether the text is a Hydra sweep, choice(16, 32) or range(1, 9), or numbers with commas between. */
static bool looks_like_list(const struct yaml_node *node)
{
    static const char *const calls[] = { "choice(", "range(", "interval(", "glob(" };
    const char *text = node->text, *at = text;
    size_t n_numbers = 0;

    if (node->type != VALUE_STR || text == NULL)
        return false;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (strncmp(text, calls[i], strlen(calls[i])) == 0 && text[strlen(text) - 1] == ')')
            return true;
    for (;; at++) {
        size_t n;

        at += strspn(at, " ");
        n = strspn(at, "0123456789.eE+-");
        if (n == 0 || strcspn(at, "0123456789") >= n)
            return false;
        n_numbers++;
        at += n;
        at += strspn(at, " ");
        if (*at != ',')
            return *at == '\0' && n_numbers > 1;
    }
}

/* ---- the note ---- */

struct found {
    const struct yaml_node *first;
    size_t n;
};

static void find(struct found *f, const struct yaml_node *node,
                 bool (*looks)(const struct yaml_node *node))
{
    if (looks(node)) {
        f->first = f->n == 0 ? node : f->first;
        f->n++;
    }
    for (size_t i = 0; i < node->n; i++)
        find(f, node->type == VALUE_LIST ? &node->items[i] : &node->members[i].node, looks);
}

const char *param_words_note(const struct yaml_node *node, struct arena *a)
{
    struct found numbers = { 0 };
    struct buf note = { 0 };
    const char *text;
    size_t n;

    if (looks_like_list(node)) {
        text = node->text;
        n = strcspn(text, "(");
        n = text[n] == '\0' ? 0 : n + 1;
        buf_printf(&note, "'%.*s' is one text; a list is written [%.*s]", PARAM_SHOWN_MAX_BYTES,
                   text, (int)(strlen(text) - n - (n > 0)), text + n);
        return buf_to_arena(&note, a);
    }
    find(&numbers, node, looks_like_text);
    if (numbers.n == 0)
        return NULL;
    text = numbers.first->text;
    buf_printf(&note, "%.*s is taken for the number ", PARAM_SHOWN_MAX_BYTES, text);
    json_add_value(&note, &numbers.first->scalar);
    if (numbers.n > 1)
        buf_printf(&note, ", and so are %zu more", numbers.n - 1);
    buf_printf(&note, "; '%.*s' in quotes stays text", PARAM_SHOWN_MAX_BYTES, text);
    return buf_to_arena(&note, a);
}

/* ---- forms of other tools ---- */

/* Returns the text of the first of the words that the map has; NULL: it has none. */
static const char *text_of(const struct yaml_node *map, const char *const *words)
{
    for (; *words != NULL; words++) {
        const struct yaml_node *node = yaml_get(map, *words);

        if (node != NULL && node->text != NULL && node->type != VALUE_NULL)
            return node->text;
    }
    return NULL;
}

static const struct yaml_node *list_of(const struct yaml_node *map, const char *const *words)
{
    for (; *words != NULL; words++) {
        const struct yaml_node *node = yaml_get(map, *words);

        if (node != NULL && node->type == VALUE_LIST)
            return node;
    }
    return NULL;
}

const char *param_words_form(const struct yaml_node *map, struct arena *a)
{
    static const char *const kinds[] = { "distribution", "type", "name", NULL };
    static const char *const lows[] = { "min", "low", "lower", "mu", "mean", NULL };
    static const char *const highs[] = { "max", "high", "upper", "sigma", "std", NULL };
    static const char *const steps[] = { "step", NULL };
    static const char *const options[] = { "options", "choices", "values", "categories", NULL };
    const char *kind = text_of(map, kinds), *low = text_of(map, lows), *high = text_of(map, highs);
    const char *step = text_of(map, steps);
    const struct yaml_node *list = list_of(map, options);
    struct buf form = { 0 };

    if (list != NULL && (kind != NULL || yaml_get(map, "values") == NULL)) {
        struct value v = yaml_value(list, a);

        buf_printf(&form, "{%s: ",
                   kind != NULL && strcasestr(kind, "choice") != NULL ? "choice" : "values");
        json_add_value(&form, &v);
        buf_add_char(&form, '}');
        return buf_to_arena(&form, a);
    }
    if (low == NULL || high == NULL)
        return NULL;
    if (kind == NULL)
        kind = strpbrk(low, ".eE") == NULL && strpbrk(high, ".eE") == NULL ? "int" : "uniform";
    if (strcasestr(kind, "normal") != NULL)
        buf_printf(&form, "{normal: [%s, %s]}", low, high);
    else if (step != NULL || strcasestr(kind, "range") != NULL)
        buf_printf(&form, "{range: [%s, %s%s%s]}", low, high, step != NULL ? ", " : "",
                   step != NULL ? step : "");
    else if (strcasestr(kind, "log") != NULL)
        buf_printf(&form, "{%s: [%s, %s]}",
                   strcasestr(kind, "int") != NULL ? "log_int" : "log_uniform", low, high);
    else
        buf_printf(&form, "{%s: [%s, %s]}",
                   strcasestr(kind, "int") != NULL ? "int_uniform" : "uniform", low, high);
    return buf_to_arena(&form, a);
}
