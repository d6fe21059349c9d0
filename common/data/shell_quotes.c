/* SPDX-License-Identifier: MIT */
/* shell_quotes.c - how /bin/sh quotes each byte of a command */
#include "common/data/shell_quotes.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/buf.h"

/* What is open around a byte; outside of all of them the shell reads as within a substitution. */
enum { IN_DOUBLE = '"', IN_SUBSTITUTION = '$', IN_PARENTHESES = '(', IN_HEREDOC = '<' };

struct heredoc {
    struct buf end; /* the line that ends the here-document */
    bool is_announced, is_as_is, drops_tabs;
};

struct reader {
    const char *text;
    size_t n, at;
    uint8_t *quotes;
    struct buf open; /* a byte for each, the innermost last */
    struct heredoc heredoc;
    bool is_in_word, begins_line;
};

static void mark(struct reader *r, size_t n, enum shell_quotes quotes)
{
    for (; n > 0 && r->at < r->n; n--)
        r->quotes[r->at++] = (uint8_t)quotes;
}

/* Ends reading: from here on the quoting is unclear. */
static void give_up(struct reader *r)
{
    mark(r, r->n - r->at, SHELL_UNCLEAR);
}

static int innermost(const struct reader *r)
{
    return r->open.n > 0 ? r->open.bytes[r->open.n - 1] : 0;
}

static void enter(struct reader *r, int what)
{
    buf_add_char(&r->open, (char)what);
    r->is_in_word = false;
    r->begins_line = what == IN_HEREDOC;
}

/* ---- what stands outside of quotes, in "..." and in here-documents alike ---- */

/* Reads up to the next ` without a backslash before it. */
static void read_backquotes(struct reader *r)
{
    size_t n = 1;

    while (r->at + n < r->n && r->text[r->at + n] != '`')
        n += r->text[r->at + n] == '\\' ? 2 : 1;
    mark(r, n + 1, SHELL_UNCLEAR);
}

/* Reads $((...)), if counting parentheses is enough to find its end. */
static void read_arithmetic(struct reader *r)
{
    size_t n = 3, depth = 2;

    for (; r->at + n < r->n && depth > 0; n++) {
        char c = r->text[r->at + n];

        if (strchr("'\"`\\#<;\n", c) != NULL || (c == '$' && r->text[r->at + n + 1] == '(')) {
            give_up(r);
            return;
        }
        depth += c == '(';
        depth -= c == ')';
    }
    mark(r, n, SHELL_UNCLEAR);
}

static void read_dollar(struct reader *r, enum shell_quotes quotes)
{
    const char *c = r->text + r->at;
    size_t n;

    r->is_in_word = true;
    if (c[1] == '(' && c[2] == '(') {
        read_arithmetic(r);
    } else if (c[1] == '(') {
        mark(r, 2, quotes);
        enter(r, IN_SUBSTITUTION);
    } else if (c[1] == '{') {
        n = 2 + strcspn(c + 2, "'\"`\\${}\n");
        if (c[n] == '}')
            mark(r, n + 1, SHELL_UNCLEAR);
        else
            give_up(r);
    } else if (c[1] == '[' || (c[1] == '\'' && quotes == SHELL_PLAIN) ||
               (c[1] == '$' && c[2] == '(')) {
        give_up(r); /* bash and dash read this differently */
    } else {
        mark(r, c[1] != '\0' && strchr("@*#?-$!0123456789", c[1]) != NULL ? 2 : 1, quotes);
    }
}

/* Reads what begins with a backslash, a ` or a $; false: the next byte is none of these. */
static bool read_special(struct reader *r, enum shell_quotes quotes)
{
    switch (r->text[r->at]) {
    case '\\':
        r->is_in_word = r->is_in_word || r->text[r->at + 1] != '\n';
        mark(r, 2, SHELL_UNCLEAR);
        return true;
    case '`':
        r->is_in_word = true;
        read_backquotes(r);
        return true;
    case '$': read_dollar(r, quotes); return true;
    default: return false;
    }
}

/* ---- here-documents ---- */

/* Reads the word that ends a here-document; gives the byte behind it, NULL if it is not simple. */
static const char *read_heredoc_word(struct heredoc *h, const char *at)
{
    char open = 0; /* the quote that is open */

    for (; *at != '\0' && *at != '\n' && (open != 0 || strchr(" \t;&|<>()", *at) == NULL); at++) {
        if (*at == '\\' && open != '\'') {
            if (open != 0 || at[1] == '\0' || at[1] == '\n')
                return NULL;
            h->is_as_is = true;
            buf_add_char(&h->end, *++at);
        } else if (open != 0 ? *at == open : *at == '\'' || *at == '"') {
            open = open != 0 ? 0 : *at;
            h->is_as_is = true;
        } else {
            buf_add_char(&h->end, *at);
        }
    }
    return open == 0 && h->end.n > 0 && strpbrk(buf_text(&h->end), "$`\001") == NULL ? at : NULL;
}

/* Reads "<<-'END'".  If the line has another one, or END is not plain, it is not known where the
 * document lies. */
static void announce_heredoc(struct reader *r)
{
    const char *text = r->text, *at = text + r->at + 2;
    struct heredoc *h = &r->heredoc;
    bool is_first = r->open.n == 0 && !h->is_announced;

    buf_clear(&h->end);
    *h = (struct heredoc){ .end = h->end, .is_announced = true, .drops_tabs = *at == '-' };
    at += h->drops_tabs;
    at = read_heredoc_word(h, at + strspn(at, " \t"));
    if (is_first && at != NULL)
        mark(r, (size_t)(at - text) - r->at, SHELL_UNCLEAR);
    else
        give_up(r);
}

/* Whether the line that begins here ends the here-document. */
static bool is_heredoc_end(const struct reader *r)
{
    const char *line = r->text + r->at;
    const struct buf *end = &r->heredoc.end;

    line += r->heredoc.drops_tabs ? strspn(line, "\t") : 0;
    return strcspn(line, "\n") == end->n && memcmp(line, end->bytes, end->n) == 0;
}

static void read_heredoc(struct reader *r)
{
    enum shell_quotes quotes = r->heredoc.is_as_is ? SHELL_HEREDOC_AS_IS : SHELL_HEREDOC;
    bool begins_line = r->begins_line;

    r->begins_line = false;
    if (begins_line && is_heredoc_end(r)) {
        mark(r, strcspn(r->text + r->at, "\n"), SHELL_UNCLEAR);
        r->open.n--;
        r->heredoc.is_announced = false;
        r->is_in_word = false;
    } else if (r->heredoc.is_as_is || !read_special(r, quotes)) {
        r->begins_line = r->text[r->at] == '\n';
        mark(r, 1, quotes);
    }
}

/* ---- outside of quotes, and in "..." ---- */

static void read_double(struct reader *r)
{
    if (r->text[r->at] == '"') {
        mark(r, 1, SHELL_DOUBLE);
        r->open.n--;
        r->is_in_word = true;
    } else if (!read_special(r, SHELL_DOUBLE)) {
        mark(r, 1, SHELL_DOUBLE);
    }
}

static void read_single(struct reader *r)
{
    const char *end = memchr(r->text + r->at + 1, '\'', r->n - r->at - 1);

    mark(r, 1, SHELL_PLAIN);
    mark(r, end != NULL ? (size_t)(end - r->text) - r->at : r->n, SHELL_SINGLE);
    mark(r, 1, SHELL_PLAIN);
    r->is_in_word = true;
}

static void read_newline(struct reader *r)
{
    mark(r, 1, SHELL_PLAIN);
    r->is_in_word = false;
    if (!r->heredoc.is_announced)
        return;
    if (r->open.n == 0)
        enter(r, IN_HEREDOC);
    else
        give_up(r);
}

/* In $(...) the parentheses of case cannot be counted. */
static bool is_case(const struct reader *r)
{
    const char *c = r->text + r->at;

    return !r->is_in_word && strncmp(c, "case", 4) == 0 && c[4] != '\0' &&
           strchr(" \t\n\\", c[4]) != NULL &&
           memchr(buf_text(&r->open), IN_SUBSTITUTION, r->open.n) != NULL;
}

static void read_operator(struct reader *r)
{
    const char *c = r->text + r->at;
    int closes = innermost(r);

    r->is_in_word = false;
    if (*c == ')' && (closes == IN_PARENTHESES || closes == IN_SUBSTITUTION)) {
        mark(r, 1, SHELL_PLAIN);
        r->open.n--;
        r->is_in_word = closes == IN_SUBSTITUTION;
    } else if (*c == '(') {
        mark(r, 1, SHELL_PLAIN);
        enter(r, IN_PARENTHESES);
    } else if (strncmp(c, "<<<", 3) == 0) {
        mark(r, 3, SHELL_PLAIN);
    } else if (strncmp(c, "<<", 2) == 0) {
        announce_heredoc(r);
    } else {
        mark(r, 1, SHELL_PLAIN);
    }
}

static void read_plain(struct reader *r)
{
    const char *c = r->text + r->at;

    if (read_special(r, SHELL_PLAIN))
        return;
    if (*c == '\'') {
        read_single(r);
    } else if (*c == '"') {
        mark(r, 1, SHELL_PLAIN);
        enter(r, IN_DOUBLE);
    } else if (*c == '#' && !r->is_in_word) {
        mark(r, strcspn(c, "\n"), SHELL_COMMENT);
    } else if (*c == '\n') {
        read_newline(r);
    } else if (is_case(r) || strncmp(c, "((", 2) == 0) {
        give_up(r);
    } else if (*c != '\0' && strchr(" \t;&|()<>", *c) != NULL) {
        read_operator(r);
    } else {
        mark(r, 1, SHELL_PLAIN);
        r->is_in_word = true;
    }
}

void shell_quotes_find(const char *text, size_t n, uint8_t *quotes)
{
    struct reader r = { .text = text, .n = n, .quotes = quotes };

    while (r.at < n) {
        if (innermost(&r) == IN_DOUBLE)
            read_double(&r);
        else if (innermost(&r) == IN_HEREDOC)
            read_heredoc(&r);
        else
            read_plain(&r);
    }
    buf_free(&r.open);
    buf_free(&r.heredoc.end);
}
