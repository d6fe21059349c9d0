/* SPDX-License-Identifier: MIT */
/* template.c - finds and fills {placeholders} */

#include "common/data/template.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/data/json.h"

/* Bytes that are plain in a word for the shell, whatever is around them. */
static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                            "_-.,:/@%+=";

enum {
    SHOWN_MAX_BYTES = 60, /* of a value, in a message */
    /* Linux takes arguments of 128 KiB at most (MAX_ARG_STRLEN), and the shell gets the whole command
     * as one.  A value leaves the rest of it room. */
    TEXT_MAX_BYTES = 128 * 1024 - 1,
    VALUE_MAX_BYTES = 128 * 1000
};

/* Replaces a placeholder in the text that shell_quotes reads: a byte that is nowhere special. */
enum { STAND_IN = '\001' };

/* A command as the shell will see it, with STAND_IN for each placeholder. */
struct reading {
    struct buf text;
    uint8_t *quotes; /* of each byte of the text */
    struct placeholder *placeholders;
    size_t *places; /* offsets of their stand-ins in the text */
    size_t n, capacity, places_capacity;
};

bool template_is_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char further[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.-";

    return text[0] != '\0' && strchr(letters, text[0]) != NULL &&
           text[strspn(text, further)] == '\0';
}

/* The name in braces, if these are a placeholder here; caller frees.  Otherwise NULL. */
static char *name_at(const char *command, size_t at, template_is_parameter_fn is_parameter,
                     const void *of)
{
    const char *c = command + at;
    size_t n = strcspn(c + 1, "{}");
    char *name;

    if (n == 0 || c[1 + n] != '}' || (at > 0 && c[-1] == '$'))
        return NULL;
    name = mem_strndup(c + 1, n);
    if (template_is_name(name) || (is_parameter != NULL && is_parameter(of, name)))
        return name;
    free(name);
    return NULL;
}

/* Whether what stands before the byte at place is a variable's name. */
static bool follows_variable(const char *text, size_t place)
{
    size_t at = place;

    while (at > 0 && (isalnum((unsigned char)text[at - 1]) || text[at - 1] == '_'))
        at--;
    return at < place && at > 0 && text[at - 1] == '$';
}

/* Whether the brace at `at` and the next one are one: {{, and the }} that closes it.  Other }} are as
 * they are, as in {"a": {"b": 1}}.  open has a byte for each { ('1') and {{ ('2') that is open. */
static bool is_doubled(struct buf *open, const char *at)
{
    bool is_twice = at[1] == at[0];

    if (at[0] == '{') {
        buf_add_char(open, is_twice ? '2' : '1');
        return is_twice;
    }
    return open->n > 0 && open->bytes[--open->n] == '2' && is_twice;
}

static void read_command(struct reading *r, const char *command,
                         template_is_parameter_fn is_parameter, const void *of)
{
    struct buf open = { 0 };

    *r = (struct reading){ 0 };
    for (size_t at = 0; command[at] != '\0'; at++) {
        char *name = command[at] == '{' ? name_at(command, at, is_parameter, of) : NULL;

        if (name == NULL) {
            buf_add_char(&r->text, command[at]);
            if (command[at] == '{' || command[at] == '}')
                at += is_doubled(&open, command + at);
            continue;
        }
        mem_grow((void **)&r->placeholders, &r->capacity, r->n, sizeof *r->placeholders);
        mem_grow((void **)&r->places, &r->places_capacity, r->n, sizeof *r->places);
        r->places[r->n] = r->text.n;
        r->placeholders[r->n++] = (struct placeholder){ .name = name, .offset = at };
        buf_add_char(&r->text, STAND_IN);
        at += strlen(name) + 1;
    }
    buf_free(&open);
    r->quotes = mem_alloc(r->text.n + 1);
    shell_quotes_find(buf_text(&r->text), r->text.n, r->quotes);
    for (size_t i = 0; i < r->n; i++) {
        r->placeholders[i].quotes = r->quotes[r->places[i]];
        r->placeholders[i].follows_variable = follows_variable(buf_text(&r->text), r->places[i]);
    }
}

static void free_reading(struct reading *r)
{
    for (size_t i = 0; i < r->n; i++)
        free((void *)(uintptr_t)r->placeholders[i].name);
    free(r->placeholders);
    free(r->places);
    free(r->quotes);
    buf_free(&r->text);
}

/* ---- values ---- */

static void add_escaped(struct buf *out, const char *text, size_t n, const char *specials)
{
    for (size_t i = 0; i < n; i++) {
        if (strchr(specials, text[i]) != NULL)
            buf_add_char(out, '\\');
        buf_add_char(out, text[i]);
    }
}

static void add_within_single(struct buf *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\'')
            buf_add_str(out, "'\\''");
        else
            buf_add_char(out, text[i]);
    }
}

void template_add_quoted(struct buf *out, const char *text, size_t n)
{
    buf_add_char(out, '\'');
    add_within_single(out, text, n);
    buf_add_char(out, '\'');
}

static bool is_plain(const char *text, size_t n)
{
    return n > 0 && strspn(text, plain) == n;
}

bool template_is_plain(const struct value *v)
{
    struct buf text = { 0 };
    bool is_so;

    json_add_text(&text, v);
    is_so = is_plain(buf_text(&text), text.n);
    buf_free(&text);
    return is_so;
}

void template_add_word(struct buf *out, const char *text, size_t n)
{
    if (is_plain(text, n))
        buf_add(out, text, n);
    else
        template_add_quoted(out, text, n);
}

/* Appends the value as its place requires, before the byte next; false when that is impossible. */
static bool add_text(struct buf *out, const struct buf *value, const struct placeholder *p,
                     char next)
{
    const char *text = buf_text(value);

    switch (p->quotes) {
    case SHELL_PLAIN:
        /* A number before < or > would be that of a descriptor. */
        if (next == '<' || next == '>' || p->follows_variable)
            template_add_quoted(out, text, value->n);
        else
            template_add_word(out, text, value->n);
        return true;
    case SHELL_SINGLE: add_within_single(out, text, value->n); return true;
    case SHELL_DOUBLE:
        buf_add_str(out, p->follows_variable ? "\"\"" : "");
        add_escaped(out, text, value->n, "$`\"\\");
        return true;
    case SHELL_HEREDOC:
    case SHELL_HEREDOC_AS_IS:
        add_escaped(out, text, value->n, p->quotes == SHELL_HEREDOC ? "$`\\" : "");
        /* A line of the value could end the document, and <<- drops tabs before a line. */
        return memchr(text, '\n', value->n) == NULL && text[0] != '\t' &&
               (!p->follows_variable || p->quotes == SHELL_HEREDOC_AS_IS);
    default: buf_add(out, text, value->n); return is_plain(text, value->n) && !p->follows_variable;
    }
}

bool template_takes(const struct placeholder *p, const struct value *v, char **why)
{
    struct buf text = { 0 }, out = { 0 }, shown = { 0 };
    bool takes;
    size_t n;

    json_add_text(&text, v);
    if (text.n > VALUE_MAX_BYTES) {
        *why = mem_printf("the value of {%s} has %zu bytes, and a command takes no more than %d; "
                          "leave it out of the command: the program can read it from the file "
                          "that $LUDWIG_PARAM2VAL names",
                          p->name, text.n, VALUE_MAX_BYTES);
        buf_free(&text);
        return false;
    }
    takes = add_text(&out, &text, p, '\0');
    json_add_value(&shown, v);
    n = shown.n > SHOWN_MAX_BYTES ? utf8_cut(buf_text(&shown), SHOWN_MAX_BYTES) : shown.n;
    *why = takes ? NULL
                 : mem_printf("{%s} stands %s, where its value %.*s%s cannot be quoted; write "
                              "VAR={%s} on a line before, and \"$VAR\" here",
                              p->name,
                              p->quotes == SHELL_UNCLEAR
                                  ? "behind a backslash or in `...`, ${...} or $((...))"
                                  : "in a here-document",
                              (int)n, buf_text(&shown), n < shown.n ? "..." : "", p->name);
    buf_free(&shown);
    buf_free(&text);
    buf_free(&out);
    return takes;
}

/* ---- commands ---- */

static bool has_member(const void *params, const char *name)
{
    return value_get(params, name) != NULL;
}

static int fill_in(const struct placeholder *p, const struct value *params, char next,
                   struct buf *out, struct err *e)
{
    const struct value *v = value_get(params, p->name);
    struct buf text = { 0 };
    char *why;

    if (v == NULL)
        return err_set(e, ERR_USAGE, "the command names {%s}, which is no parameter", p->name);
    if (!template_takes(p, v, &why)) {
        err_set(e, ERR_USAGE, "the command: %s", why);
        free(why);
        return -1;
    }
    json_add_text(&text, v);
    add_text(out, &text, p, next);
    buf_free(&text);
    return 0;
}

/* Refuses a value that makes its line end the here-document: the shell would run the lines behind.
 * places: the ends of all values in the n bytes of text. */
static int check_heredocs(const struct reading *r, const char *text, size_t n, const size_t *places,
                          struct err *e)
{
    uint8_t *quotes = mem_alloc(n + 1);
    const struct placeholder *bad = NULL;

    shell_quotes_find(text, n, quotes);
    for (size_t i = 0; i < r->n && bad == NULL; i++) {
        const struct placeholder *p = &r->placeholders[i];
        size_t line_end = places[i] + strcspn(text + places[i], "\n");

        if ((p->quotes == SHELL_HEREDOC || p->quotes == SHELL_HEREDOC_AS_IS) && line_end < n &&
            quotes[line_end] == SHELL_PLAIN)
            bad = p;
    }
    free(quotes);
    return bad == NULL ? 0
                       : err_set(e, ERR_USAGE,
                                 "the command: the value of {%s} would end the here-document that "
                                 "it stands in",
                                 bad->name);
}

int template_expand(const char *command, const struct value *params, struct buf *out, struct err *e)
{
    size_t i = 0, begin = out->n, *ends;
    struct reading r;
    int result = 0;

    read_command(&r, command, has_member, params);
    ends = mem_alloc((r.n + 1) * sizeof *ends);
    for (size_t at = 0; result == 0 && at < r.text.n; at++) {
        const char *c = buf_text(&r.text) + at;

        if (i == r.n || r.places[i] != at) {
            buf_add_char(out, *c);
            continue;
        }
        if (r.placeholders[i].quotes == SHELL_COMMENT)
            buf_printf(out, "{%s}", r.placeholders[i].name);
        else
            result = fill_in(&r.placeholders[i], params, c[1], out, e);
        ends[i++] = out->n - begin;
    }
    if (result == 0 && r.n > 0)
        result = check_heredocs(&r, buf_text(out) + begin, out->n - begin, ends, e);
    if (result == 0 && out->n - begin > TEXT_MAX_BYTES)
        result = err_set(e, ERR_USAGE,
                         "the command has %zu bytes with its values, and a shell takes no more "
                         "than %d; the program can read long ones from the file that "
                         "$LUDWIG_PARAM2VAL names",
                         out->n - begin, TEXT_MAX_BYTES);
    free(ends);
    free_reading(&r);
    return result;
}

int template_each(const char *command, template_is_parameter_fn is_parameter, const void *of,
                  int (*each)(void *context, const struct placeholder *p), void *context)
{
    struct reading r;
    int result = 0;

    read_command(&r, command, is_parameter, of);
    for (size_t i = 0; result == 0 && i < r.n; i++)
        if (r.placeholders[i].quotes != SHELL_COMMENT)
            result = each(context, &r.placeholders[i]);
    free_reading(&r);
    return result;
}
