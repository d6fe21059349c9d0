/* SPDX-License-Identifier: MIT */
/* safe_text.c - replaces control characters in text for a terminal */
#include <stdint.h>
#include <string.h>

#include "client/term/safe_text.h"
#include "common/base/utf8.h"

void safe_text_add_harmless(struct buf *out, const char *s, size_t n, const char *keep)
{
    for (size_t i = 0; i < n;) {
        const unsigned char *at = (const unsigned char *)s + i;
        uint32_t c = 0;
        size_t length = utf8_next(at, n - i, &c);

        if (length == 1 && (*at < 0x20 || *at == 0x7f)) {
            if (*at != 0 && strchr(keep, *at) != NULL)
                buf_add_char(out, (char)*at);
            else
                buf_printf(out, "^%c", *at ^ 0x40);
        } else if (length == 0 || (c >= 0x80 && c < 0xa0) || c == 0x61c || c == 0x200e ||
                   c == 0x200f || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069)) {
            /* Marks of writing direction could make text look like other text. */
            length = length == 0 ? 1 : length;
            for (size_t k = 0; k < length; k++)
                buf_printf(out, "\\x%02x", at[k]);
        } else {
            buf_add(out, at, length);
        }
        i += length;
    }
}

void safe_text_clean(struct buf *text, const char *keep)
{
    struct buf clean = { 0 };

    safe_text_add_harmless(&clean, buf_text(text), text->n, keep);
    buf_free(text);
    *text = clean;
}

int safe_text_make_harmless(struct err *e)
{
    struct buf line = { 0 };

    if (e == NULL)
        return -1;
    safe_text_add_harmless(&line, e->text, strlen(e->text), "");
    err_set(e, e->kind, "%s", buf_text(&line));
    buf_free(&line);
    return -1;
}

size_t safe_text_whole(const char *s, size_t n)
{
    size_t begin = n;

    while (begin > 0 && n - begin < 3 && !utf8_begins(s[begin - 1]))
        begin--;
    if (begin == 0)
        return n;
    begin--;
    if ((unsigned char)s[begin] >= 0xc2 && (unsigned char)s[begin] <= 0xf4) {
        size_t length = (unsigned char)s[begin] < 0xe0 ? 2 : (unsigned char)s[begin] < 0xf0 ? 3 : 4;

        if (length > n - begin)
            return begin;
    }
    return n;
}

size_t safe_text_width(const char *s, size_t n)
{
    return utf8_count(s, n);
}

size_t safe_text_fitting(const char *s, size_t n, size_t columns)
{
    size_t i = 0;

    for (; i < n; i++)
        if (utf8_begins(s[i]) && columns-- == 0)
            break;
    return i;
}
