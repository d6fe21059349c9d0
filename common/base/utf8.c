/* SPDX-License-Identifier: MIT */
/* utf8.c - characters of text, byte by byte */
#include "common/base/utf8.h"

bool utf8_begins(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

static size_t length_of(uint8_t first)
{
    return first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

size_t utf8_next(const void *s, size_t n, uint32_t *character)
{
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const uint8_t *bytes = s;
    size_t length = length_of(bytes[0]);
    uint32_t c = length == 1 ? bytes[0] : bytes[0] & (0x7fu >> length);

    if (length == 0 || length > n || bytes[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if (utf8_begins((char)bytes[i]))
            return 0;
        c = c << 6 | (bytes[i] & 0x3f);
    }
    if (c < smallest[length] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return 0;
    if (character != NULL)
        *character = c;
    return length;
}

size_t utf8_valid(const void *s, size_t n)
{
    size_t i = 0, length = 1;

    while (i < n && length > 0) {
        length = utf8_next((const uint8_t *)s + i, n - i, NULL);
        i += length;
    }
    return i;
}

size_t utf8_count(const char *s, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += utf8_begins(s[i]);
    return count;
}

size_t utf8_cut(const char *s, size_t n)
{
    while (n > 0 && !utf8_begins(s[n]))
        n--;
    return n;
}
