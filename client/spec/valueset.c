/* SPDX-License-Identifier: MIT */
/* valueset.c - a few values, numbered, and which of them another one is */
#include <stdlib.h>
#include <string.h>

#include "client/spec/valueset.h"
#include "common/data/param_digest.h"

void valueset_free(struct valueset *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->texts[i]);
    free(s->texts);
    *s = (struct valueset){ 0 };
}

void valueset_add(struct valueset *s, const struct value *v)
{
    struct buf text = { 0 };

    param_digest_add(&text, v);
    mem_grow((void **)&s->texts, &s->capacity, s->n, sizeof *s->texts);
    s->texts[s->n++] = buf_take(&text);
}

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

void valueset_sort(struct valueset *s)
{
    size_t n = 0;

    if (s->n == 0)
        return;
    qsort(s->texts, s->n, sizeof *s->texts, compare_texts);
    for (size_t i = 0; i < s->n; i++) {
        if (n > 0 && strcmp(s->texts[n - 1], s->texts[i]) == 0)
            free(s->texts[i]);
        else
            s->texts[n++] = s->texts[i];
    }
    s->n = n;
}

int valueset_find(const struct valueset *s, const struct value *v)
{
    struct buf buf = { 0 };
    const char *text, **found;

    if (s->n == 0)
        return VALUESET_NONE;
    param_digest_add(&buf, v);
    text = buf_text(&buf);
    found = bsearch(&text, s->texts, s->n, sizeof *s->texts, compare_texts);
    buf_free(&buf);
    return found == NULL ? VALUESET_NONE : (int)(found - (const char **)s->texts);
}
