/* SPDX-License-Identifier: MIT */
/* quote.c - text in double quotes, as JSON and the log write it */

#include "common/base/quote.h"

#include <inttypes.h>
#include <stdbool.h>

#include "common/base/utf8.h"

/* Whether the character is invisible, or YAML or a terminal could misread it. */
static bool is_escaped(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
           c == 0xfffe || c == 0xffff;
}

static void add_escaped(struct buf *out, uint32_t c)
{
    static const char letters[] = "\bb\ff\nn\rr\tt\"\"\\\\";

    for (const char *l = letters; *l != '\0'; l += 2)
        if (c == (uint32_t)*l) {
            buf_add_char(out, '\\');
            buf_add_char(out, l[1]);
            return;
        }
    buf_printf(out, "\\u%04" PRIx32, c);
}

void quote_add(struct buf *out, const char *s, size_t n)
{
    const uint8_t *at = (const uint8_t *)s;
    const uint8_t *end = at + n;

    buf_add_char(out, '"');
    while (at < end) {
        uint32_t c;
        size_t n_bytes = utf8_next(at, (size_t)(end - at), &c);

        if (n_bytes == 0)
            buf_add_str(out, "\xef\xbf\xbd");
        else if (is_escaped(c) || c == '"' || c == '\\')
            add_escaped(out, c);
        else
            buf_add(out, at, n_bytes);
        at += n_bytes == 0 ? 1 : n_bytes;
    }
    buf_add_char(out, '"');
}
